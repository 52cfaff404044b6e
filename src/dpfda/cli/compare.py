"""`dpfda compare`: mechanisms against each other on simulated curves; nothing it prints is private."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpfda.cli.tables import progress_bars
from dpfda.cli.targets import check_picture, check_targets, same_file, save_picture
from dpfda.errors import UsageError

if TYPE_CHECKING:
    from dpfda.studies.comparison import Errors

# Written out, since looking them up would load the numeric libraries for --help; a test compares them.
SCENARIOS = ("S-1", "S-2", "S-3", "S-4")
CALIBRATIONS = ("exact", "published", "both")


@click.command()
@click.option(
    "--scenario", required=True, type=click.Choice(SCENARIOS), help="True mean of the curves, from Lin and Reimherr."
)
@click.option("--n", required=True, type=click.IntRange(min=1), help="Number of curves, one of each person.")
@click.option("--epsilon", required=True, type=float, help="Privacy loss, e.g. 1.")
@click.option("--delta", required=True, type=float, help="0 for pure privacy, else e.g. 1e-6.")
@click.option(
    "--mechanisms", metavar="NAME,NAME,...", help="Which to compare, e.g. auto,k-norm,iclp-qr.  [default: all]"
)
@click.option(
    "--calibration",
    type=click.Choice(CALIBRATIONS),
    default="exact",
    show_default=True,
    help="Sensitivities of the papers' mechanisms: exact, as published, or one after the other.",
)
@click.option("--bound", type=float, help="Bound on the curves.  [default: the largest norm in each sample]")
@click.option(
    "--errors",
    type=click.Choice(["gaussian", "heavy"]),
    default="gaussian",
    show_default=True,
    help="How curves vary around the mean.",
)
@click.option(
    "--repetitions", default=20, show_default=True, type=click.IntRange(min=2), help="Samples, and releases of each."
)
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Seed of curves and noise.")
@click.option("--out", type=click.Path(path_type=Path), help="Also write the table (csv).")
@click.option("--plot", "picture", type=click.Path(path_type=Path), help="Also write a picture (png, pdf, svg).")
@click.option("--overwrite", is_flag=True, help="Replace files that exist.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare(
    scenario: str,
    n: int,
    epsilon: float,
    delta: float,
    mechanisms: str | None,
    calibration: str,
    bound: float | None,
    errors: Errors,
    repetitions: int,
    seed: int,
    out: Path | None,
    picture: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Compare mechanisms on simulated curves, where the true mean is known; a study, not private.

    \b
    Examples:
      dpfda compare --scenario S-2 --n 1000 --epsilon 1 --delta 0
      dpfda compare --scenario S-3 --n 5000 --epsilon 1 --delta 0.01 --mechanisms auto,gp \\
          --calibration both --out compare.csv --plot compare.png
    """
    check_picture(picture)
    files = [path for path in (out, picture) if path is not None]
    if same_file(*files):
        raise UsageError("The table and the picture must be different files. Name another with --out or --plot.")
    check_targets(files, overwrite=overwrite)
    from dpfda.studies.comparison import MECHANISMS
    from dpfda.studies.comparison import compare as run

    names = MECHANISMS if mechanisms is None else tuple(name.strip() for name in mechanisms.split(","))
    with progress_bars() as track:
        found = run(
            scenario,
            n=n,
            epsilon=epsilon,
            delta=delta,
            mechanisms=names,
            calibration=calibration,
            repetitions=repetitions,
            seed=seed,
            bound=bound,
            errors=errors,
            track=track,
        )
    if out is not None:
        found.table().save(out)
    if picture is not None:
        save_picture(found, picture)
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=1))
        return
    from dpfda.cli.tables import print_notes, print_table
    from dpfda.studies.outcome import STAMP

    click.echo(STAMP)
    print_table(replace(found, rows=tuple(row for row in found.rows if row.total is not None)).table())
    refused = [f"{row.mechanism} ({row.calibration}): {row.note}" for row in found.rows if row.total is None]
    print_notes((*refused, *found.notes))
    if files:
        click.echo(f"\nWritten: {', '.join(map(str, files))}")

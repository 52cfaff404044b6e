"""Come here for `dpfda plan`: what a release would do and how large its error would be, before there are data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

import dpfda
from dpfda.apps.options import MECHANISMS, check_bound, kernel_of, numbers, public_options
from dpfda.apps.targets import check_picture, check_targets

if TYPE_CHECKING:
    from dpfda.planner import Ranking


@click.group()
def plan() -> None:
    """Plan a release: reads no data and costs nothing.

    \b
    Example:
      dpfda plan mean --n 142 --epsilon 1 --delta 1e-6 --bound 1
    """


@plan.command("mean")
@click.option("--n", required=True, type=click.IntRange(min=1), help="Number of people, public or guessed.")
@public_options
@click.option("--grid-size", type=click.IntRange(min=1), help="Number of points at which curves are known.")
@click.option("--plot", "picture", type=click.Path(path_type=Path), help="Also write a picture (png, pdf, svg).")
@click.option("--overwrite", is_flag=True, help="Replace a picture that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan_mean(
    n: int,
    domain: str,
    epsilon: float,
    delta: float,
    bound: float | None,
    limits: str | None,
    neighbours: str,
    mechanism: str,
    calibration: str,
    kernel: str | None,
    eta: float | None,
    penalty: float | None,
    basis: str | None,
    size: int | None,
    grid_size: int | None,
    picture: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Say what a release of a mean curve would do, and what error to expect of it and of every other mechanism.

    Errors are in closed form, the worst over means as smooth as the plan says; no data are read, nothing is charged.

    \b
    Examples:
      dpfda plan mean --n 142 --epsilon 1 --delta 1e-6 --bound 1
      dpfda plan mean --n 5000 --epsilon 0.5 --delta 0 --limits 60,210 --domain 1,18 --plot plan.png
      dpfda plan mean --n 500 --epsilon 1 --delta 0 --bound 1 --mechanism iclp-qr --size 20
    """
    check_bound(bound, limits)
    check_picture(picture)
    check_targets([picture] if picture is not None else [], overwrite=overwrite)
    est = dpfda.MeanFunction(
        epsilon=epsilon,
        delta=delta,
        bound=bound,
        limits=None if limits is None else numbers(limits, "--limits", count=2),  # type: ignore[arg-type]
        domain=numbers(domain, "--domain", count=2),
        neighbours=neighbours,
        mechanism=mechanism,
        calibration=calibration,
        kernel=kernel_of(kernel),
        eta=eta,
        penalty=penalty,
        basis=basis,
        size=size,
    )
    made = est.plan(n, grid_size=grid_size)
    ranking = made.table()
    if picture is not None:
        made.plot().savefig(picture, dpi=150)
    if as_json:
        click.echo(json.dumps({**made.to_dict(), "table": ranking.to_dict()["rows"]}, indent=1))
        return
    click.echo(made.text())
    print_ranking(ranking)
    if picture is not None:
        click.echo(f"\nWritten: {picture}")


def print_ranking(ranking: Ranking) -> None:
    """Print the mechanisms that can meet the budget, best first, and why the others cannot."""
    from dpfda.apps.tables import print_notes, print_table
    from dpfda.planner.ranking import COLUMNS
    from dpfda.studies.reproduction import Table

    title = f"Predicted squared errors, the worst over {ranking.within.text}"
    total = COLUMNS.index("total")
    print_table(Table(title, COLUMNS, tuple(row for row in ranking.rows if row[total] is not None)))
    # One reason for each: that of the exact calibration comes first.
    reasons: dict[str, str] = {}
    for row in ranking.entries:
        if row.prediction is None and row.mechanism in MECHANISMS:
            reasons.setdefault(row.mechanism, f"{row.mechanism}: {row.note}")
    print_notes(tuple(reasons.values()))

"""Come here for `dpfda release`: a private summary of a file."""

from __future__ import annotations

import json
from pathlib import Path

import click

import dpfda
from dpfda.apps.options import check_bound, kernel_of, numbers, release_options
from dpfda.apps.targets import check_picture, check_targets, same_file, save_picture
from dpfda.errors import UsageError

NOTHING = " Nothing was charged."


@click.group()
def release() -> None:
    """Release a private summary of a file.

    \b
    Example:
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
    """


@release.command("mean")
@release_options
def release_mean(
    file: Path,
    unit: str,
    values: str | None,
    grid: str,
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
    planned_n: int | None,
    smoothing: str,
    dataset: str | None,
    out: Path | None,
    picture: Path | None,
    overwrite: bool,
    dry_run: bool,
    force: bool,
    as_json: bool,
    workers: int | None,
) -> None:
    """Release the mean curve of FILE, a wide CSV or Parquet table: one row a curve, one column a grid point.

    \b
    Examples:
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
      dpfda release mean growth.csv --unit row --values 'age_*' --grid header --domain 1,18 \\
          --epsilon 1 --delta 0 --limits 60,210 --out growth.json --plot growth.png
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 0 --bound 1 --dry-run
    """
    from dpfda.records import read_header

    check_bound(bound, limits)
    _check_count(neighbours, planned_n)
    est = dpfda.MeanFunction(
        epsilon=epsilon,
        delta=delta,
        bound=bound,
        limits=None if limits is None else numbers(limits, "--limits", count=2),  # type: ignore[arg-type]
        domain=numbers(domain, "--domain", count=2),
        neighbours=neighbours,
        planned_n=planned_n,
        mechanism=mechanism,
        calibration=calibration,
        kernel=kernel_of(kernel),
        eta=eta,
        penalty=penalty,
        basis=basis,
        size=size,
        smoothing=smoothing,
        dataset=dataset or file.stem,
        workers=workers,
    )
    curves = dpfda.read_curves(
        file, values=values, unit=None if unit == "row" else unit, grid="header" if grid == "header" else None
    )
    if unit == "row" and "row" in read_header(file):
        raise UsageError(
            "--unit row says that every row is another person, but there is a column 'row' too. Rename the column."
        )
    plan = est.plan_for(curves)
    target = out or Path(f"{file.stem}-mean.json")
    _check_outputs(file, target, picture, overwrite=overwrite or dry_run)
    if plan.hidden and not force:
        raise UsageError(
            f"With n = {plan.n} and epsilon {epsilon:g} {plan.hidden}: nothing could be seen. Raise --epsilon, or say "
            "--force to go on. Nothing was charged."
        )
    if dry_run:
        about = (("protects", f"one {curves.unit or 'row'}, {neighbours}"), ("values", curves.columns))
        click.echo(json.dumps(plan.to_dict(), indent=1) if as_json else plan.text(*about))
        return
    result = est.fit(curves).release_
    result.save(target)
    if picture is not None:
        save_picture(result, picture)
    if as_json:
        click.echo(json.dumps(result.certificate.to_dict(), indent=1))
    else:
        click.echo(result.certificate.text())
        click.echo(f"\nWritten: {target}" + (f", {picture}" if picture else ""))


def _check_count(neighbours: str, planned_n: int | None) -> None:
    """What the estimator would refuse too, here in the words of the command line."""
    counted = neighbours == "add-or-remove-one"
    if counted and planned_n is None:
        raise UsageError(
            "Under add-or-remove-one the number of units is private and may not be read. "
            "State a public guess, e.g. --planned-n 5000."
        )
    if planned_n is not None and not counted:
        raise UsageError("--planned-n is for --neighbours add-or-remove-one; under replace-one the number is public.")


def _check_outputs(file: Path, target: Path, picture: Path | None, *, overwrite: bool) -> None:
    """Everything about the output is checked before anything is charged."""
    check_picture(picture, after=NOTHING)
    paths = [target, *([picture] if picture is not None else [])]
    if same_file(file, *paths):
        raise UsageError(
            "The data, the release and the picture must be different files. Name another with --out or --plot."
            + NOTHING
        )
    check_targets(paths, overwrite=overwrite, after=NOTHING)

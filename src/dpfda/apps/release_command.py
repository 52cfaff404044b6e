"""Come here for `dpfda release`: a private summary of a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import dpfda
from dpfda.apps.options import CENTRE, COMPONENTS, COVARIANCE, FILE, MEAN, options, output_options
from dpfda.apps.targets import check_picture, check_targets, same_file, save_picture
from dpfda.apps.wishes import Output, Source, Wishes, check_bound, grouped
from dpfda.errors import UsageError

NOTHING = " Nothing was charged."


@click.group()
def release() -> None:
    """Release a private summary of a file.

    \b
    Examples:
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
      dpfda release covariance scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
      dpfda release components scans.csv --k 2 --unit ID --values 't*' --epsilon 1 --delta 0 --bound 1
    """


@release.command("mean")
@options(FILE, MEAN, output_options("mean"))
@grouped(Source, Wishes, Output)
def release_mean(source: Source, wishes: Wishes, output: Output, *, calibration: str) -> None:
    """Release the mean curve of FILE, a wide CSV or Parquet table: one row a curve, one column a grid point.

    \b
    Examples:
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
      dpfda release mean growth.csv --unit row --values 'age_*' --grid header --domain 1,18 \\
          --epsilon 1 --delta 0 --limits 60,210 --out growth.json --plot growth.png
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 0 --bound 1 --dry-run
    """
    check_bound(wishes.bound, wishes.limits)
    parameters = _parameters(source, wishes, output)
    _release(dpfda.MeanFunction(**parameters, calibration=calibration), source, output, kind="mean")


@release.command("covariance")
@options(FILE, COVARIANCE, [CENTRE], output_options("covariance"))
@grouped(Source, Wishes, Output)
def release_covariance(
    source: Source, wishes: Wishes, output: Output, *, mean: str | None, centre: Path | None
) -> None:
    """Release the covariance function of the curves in FILE, a wide CSV or Parquet table as for the mean.

    Mean and second moments come in one release, for one budget.

    \b
    Examples:
      dpfda release covariance scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
      dpfda release covariance growth.csv --unit row --values 'age_*' --grid header --domain 1,18 \\
          --epsilon 1 --delta 0 --limits 60,210 --out growth.json --plot growth.png
      dpfda release covariance scans.csv --unit ID --values 't*' --epsilon 1 --delta 0 --bound 1 \\
          --centre scans-mean.json --mean centre
    """
    check_bound(wishes.bound, wishes.limits, what="A covariance function")
    parameters = _parameters(source, wishes, output)
    est = dpfda.CovarianceFunction(**parameters, mean=mean, centre=_centre(centre))
    _release(est, source, output, kind="covariance")


@release.command("components")
@options(FILE, COMPONENTS, [CENTRE], output_options("components"))
@grouped(Source, Wishes, Output)
def release_components(
    source: Source,
    wishes: Wishes,
    output: Output,
    *,
    k: int,
    mean: str | None,
    base: str,
    explained_variance: float | None,
    centre: Path | None,
) -> None:
    """Release the first principal components of the curves in FILE, a wide CSV or Parquet table as for the mean.

    \b
    Examples:
      dpfda release components scans.csv --k 2 --unit ID --values 't*' --epsilon 1 --delta 0 --bound 1
      dpfda release components scans.csv --k 3 --unit ID --values 't*' --epsilon 1 --delta 1e-6 \\
          --bound 1 --out parts.json --plot parts.png
      dpfda release components scans.csv --k 1 --unit ID --values 't*' --epsilon 1 --delta 0 \\
          --bound 1 --mechanism exponential --explained-variance 0.2 --centre scans-mean.json
    """
    from dpfda.estimators.components import FPCA

    check_bound(wishes.bound, wishes.limits, what="A principal component")
    est = FPCA(
        k,
        **_parameters(source, wishes, output),
        mean=mean,
        base=base,
        explained_variance=explained_variance,
        centre=_centre(centre),
    )
    _release(est, source, output, kind="components")


def _parameters(source: Source, wishes: Wishes, output: Output) -> dict[str, Any]:
    """The parameters of an estimator; what it would refuse is refused here in the words of the command line."""
    counted = wishes.neighbours == "add-or-remove-one"
    if counted and output.planned_n is None:
        raise UsageError(
            "Under add-or-remove-one the number of units is private and may not be read. "
            "State a public guess, e.g. --planned-n 5000."
        )
    if output.planned_n is not None and not counted:
        raise UsageError("--planned-n is for --neighbours add-or-remove-one; under replace-one the number is public.")
    return wishes.parameters() | {
        "planned_n": output.planned_n,
        "smoothing": output.smoothing,
        "dataset": output.dataset or source.file.stem,
        "workers": output.workers,
    }


def _centre(path: Path | None) -> Any:
    """A mean release that is subtracted first: it has been paid for, so it is public."""
    if path is None:
        return None
    mean = dpfda.load(path)
    if not isinstance(mean, dpfda.Release):
        raise UsageError(f"--centre takes the file of a mean, and {str(path)!r} holds a {mean.certificate.what}.")
    return mean


def _release(est: Any, source: Source, output: Output, *, kind: str) -> None:
    """Check everything, read, release, write and print; the same for every kind of release."""
    from dpfda.records import read_header

    row = source.unit == "row"
    curves = dpfda.read_curves(
        source.file,
        values=source.values,
        unit=None if row else source.unit,
        grid="header" if source.grid == "header" else None,
    )
    if row and "row" in read_header(source.file):
        raise UsageError(
            "--unit row says that every row is another person, but there is a column 'row' too. Rename the column."
        )
    plan = est.plan_for(curves)
    target = output.out or Path(f"{source.file.stem}-{kind}.json")
    _check_outputs(source.file, target, output.picture, overwrite=output.overwrite or output.dry_run)
    hidden = getattr(plan, "hidden", "")  # a mechanism that adds no noise hides nothing in it
    if hidden and not output.force:
        raise UsageError(
            f"With n = {plan.n} and epsilon {est.epsilon:g} {hidden}: nothing could be seen. Raise --epsilon, or say "
            "--force to go on. Nothing was charged."
        )
    if output.dry_run:
        about = (("protects", f"one {curves.unit or 'row'}, {est.neighbours}"), ("values", curves.columns))
        click.echo(json.dumps(plan.to_dict(), indent=1) if output.as_json else plan.text(*about))
        return
    result = est.fit(curves).release_
    result.save(target)
    if output.picture is not None:
        save_picture(result, output.picture)
    if output.as_json:
        click.echo(json.dumps(result.certificate.to_dict(), indent=1))
    else:
        click.echo(result.certificate.text())
        click.echo(f"\nWritten: {target}" + (f", {output.picture}" if output.picture else ""))


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

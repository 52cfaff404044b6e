"""Come here for `dpfda release`: a private summary of a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import dpfda
from dpfda.apps.covariates import LIMITS, NAMES, RIDGE, check_columns, limits_of, names_of, read_covariates
from dpfda.apps.options import CENTRE, COMPONENTS, COVARIANCE, FILE, MEAN, REGRESSION, options, output_options
from dpfda.apps.targets import check_picture, check_targets, same_file, save_picture
from dpfda.apps.wishes import Output, Process, Source, Wishes, check_bound, grouped
from dpfda.apps.wording import said_of_moments
from dpfda.errors import DataError, UsageError

NOTHING = " Nothing was charged."


@click.group()
def release() -> None:
    """Release a private summary of a file.

    \b
    Examples:
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
      dpfda release covariance scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
      dpfda release components scans.csv --k 2 --unit ID --values 't*' --epsilon 1 --delta 0 --bound 1
      dpfda release regression scans.csv --covariates 'age,sex=female|male' --covariate-limits 18:90 \\
          --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
    """


@release.command("mean")
@options(FILE, MEAN, output_options("mean"))
@grouped(Source, Wishes, Process, Output)
def release_mean(source: Source, wishes: Wishes, process: Process, output: Output, *, calibration: str) -> None:
    """Release the mean curve of FILE, a wide CSV or Parquet table: one row a curve, one column a grid point.

    \b
    Examples:
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
      dpfda release mean growth.csv --unit row --values 'age_*' --grid header --domain 1,18 \\
          --epsilon 1 --delta 0 --limits 60,210 --out growth.json --plot growth.png
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 0 --bound 1 --dry-run
    """
    check_bound(wishes.bound, wishes.limits)
    parameters = _parameters(source, wishes, output) | process.parameters()
    _release(dpfda.MeanFunction(**parameters, calibration=calibration), source, output, kind="mean")


@release.command("covariance")
@options(FILE, COVARIANCE, [CENTRE], output_options("covariance"))
@grouped(Source, Wishes, Process, Output)
def release_covariance(
    source: Source, wishes: Wishes, process: Process, output: Output, *, mean: str | None, centre: Path | None
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
    parameters = _parameters(source, wishes, output) | process.parameters()
    est = dpfda.CovarianceFunction(**parameters, mean=mean, centre=_centre(centre))
    with said_of_moments():
        _release(est, source, output, kind="covariance")


@release.command("components")
@options(FILE, COMPONENTS, [CENTRE], output_options("components"))
@grouped(Source, Wishes, Process, Output)
def release_components(
    source: Source,
    wishes: Wishes,
    process: Process,
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
    check_bound(wishes.bound, wishes.limits, what="A principal component")
    est = dpfda.FPCA(
        k,
        **_parameters(source, wishes, output),
        **process.parameters(),
        mean=mean,
        base=base,
        explained_variance=explained_variance,
        centre=_centre(centre),
    )
    with said_of_moments():
        _release(est, source, output, kind="components")


@release.command("regression")
@options(FILE, [NAMES], LIMITS, REGRESSION, [CENTRE, RIDGE], output_options("regression"))
@grouped(Source, Wishes, Output)
def release_regression(
    source: Source,
    wishes: Wishes,
    output: Output,
    *,
    covariates: str,
    covariate_limits: str | None,
    covariate_bound: float | None,
    no_intercept: bool,
    centre: Path | None,
    ridge: float | None,
) -> None:
    """Release the coefficient functions of the curves in FILE regressed on covariates, columns of the same table.

    Each person counts once, with the averages of covariates and curve: coefficients compare people, not visits of one
    person. A covariate that is no number counts as missing.

    \b
    Examples:
      dpfda release regression scans.csv --covariates 'age,sex=female|male' --covariate-limits 18:90 \\
          --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
      dpfda release regression scans.csv --covariates age --covariate-limits 18:90 --unit ID \\
          --values 't*' --epsilon 1 --delta 0 --limits 0,1 --plot age.png --dry-run
    """
    check_bound(wishes.bound, wishes.limits, what="A regression of curves")
    named = names_of(covariates)
    est = dpfda.FunctionOnScalarRegression(
        **_parameters(source, wishes, output),
        covariate_limits=limits_of(covariate_limits, covariate_bound, named),
        covariate_bound=covariate_bound,
        covariate_levels=named.levels or None,
        intercept=not no_intercept,
        centre=_centre(centre),
        ridge="auto" if ridge is None else ridge,
    )
    check_columns(source, named)
    curves = _curves(source)
    facts = est.facts(curves)
    plan = est.plan(facts.planned, covariates=named.columns, grid_size=len(facts.grid))
    if _ready(est, plan, curves, source, output, kind="regression"):
        result = est.fit(read_covariates(source, named), curves).release_
        _write(result, source, output, kind="regression", panels=len(result.names))


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
    """Check everything, read, release, write and print: the same for every summary of curves alone."""
    curves = _curves(source)
    if _ready(est, est.plan_for(curves), curves, source, output, kind=kind):
        _write(est.fit(curves).release_, source, output, kind=kind)


def _curves(source: Source) -> dpfda.Curves:
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
    return curves


def _ready(
    est: Any,
    plan: Any,
    curves: dpfda.Curves,
    source: Source,
    output: Output,
    *,
    kind: str,
) -> bool:
    """Whether to go on: everything has been checked, and this is no dry run, whose plan is printed."""
    _check_outputs(source, output, kind=kind)
    hidden = getattr(plan, "hidden", "")  # a mechanism that adds no noise hides nothing in it
    if hidden and not output.force:
        raise UsageError(
            f"With n = {plan.n} and epsilon {est.epsilon:g} {hidden}: nothing could be seen. Raise --epsilon, or say "
            "--force to go on. Nothing was charged."
        )
    if output.dry_run:
        lines = (
            ("protects", f"one {curves.unit or 'row'}, {est.neighbours}"),
            ("values", curves.columns),
            *_uneven(source, curves),
        )
        click.echo(json.dumps(plan.to_dict(), indent=1) if output.as_json else plan.text(*lines))
    return not output.dry_run


def _uneven(source: Source, curves: dpfda.Curves) -> tuple[tuple[str, str], ...]:
    """A hint where an even grid is taken although the header has numbers that are not evenly spaced."""
    from itertools import pairwise

    from dpfda.records import read_header
    from dpfda.records.curves import choose_columns, header_grid

    if curves.grid is not None:
        return ()
    try:
        unit = None if source.unit == "row" else source.unit
        numbers = header_grid(choose_columns(read_header(source.file), source.values, unit)).tolist()
    except DataError:
        return ()
    steps = [high - low for low, high in pairwise(numbers)]
    if not steps or min(steps) <= 0 or max(steps) - min(steps) < 1e-6 * max(steps):
        return ()
    return (("hint", "the header has numbers that are not evenly spaced: --grid header takes them"),)


def _write(result: Any, source: Source, output: Output, *, kind: str, panels: int = 1) -> None:
    """Write a release and its picture, and print its card."""
    target = _target(source, output, kind)
    result.save(target)
    if output.picture is not None:
        save_picture(result, output.picture, panels=panels)
    if output.as_json:
        click.echo(json.dumps(result.certificate.to_dict(), indent=1))
    else:
        click.echo(result.certificate.text())
        click.echo(f"\nWritten: {target}" + (f", {output.picture}" if output.picture else ""))


def _target(source: Source, output: Output, kind: str) -> Path:
    return output.out or Path(f"{source.file.stem}-{kind}.json")


def _check_outputs(source: Source, output: Output, *, kind: str) -> None:
    """Everything about the output is checked before anything is charged."""
    check_picture(output.picture, after=NOTHING)
    paths = [_target(source, output, kind), *([output.picture] if output.picture is not None else [])]
    if same_file(source.file, *paths):
        raise UsageError(
            "The data, the release and the picture must be different files. Name another with --out or --plot."
            + NOTHING
        )
    check_targets(paths, overwrite=output.overwrite or output.dry_run, after=NOTHING)

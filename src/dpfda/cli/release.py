"""`dpfda release`: a private summary of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import dpfda
from dpfda.cli.columns import check_columns, empty_covariates, limits_of, names_of, read_covariates
from dpfda.cli.derived import Statistics
from dpfda.cli.options import (
    CENTRE,
    COMPONENTS,
    COVARIANCE,
    COVARIATE_LIMITS,
    COVARIATES,
    FILE,
    MEAN,
    REGRESSION,
    RIDGE,
    options,
    output_options,
)
from dpfda.cli.releasing import NOTHING, check_row, opened, output_parameters, ready, write
from dpfda.cli.targets import check_targets
from dpfda.cli.values import (
    CurveOptions,
    OutputOptions,
    ProcessOptions,
    SourceOptions,
    candidates_of,
    check_bound,
    grouped,
    kernel_of,
)
from dpfda.cli.words import notice
from dpfda.errors import UsageError

if TYPE_CHECKING:
    from dpfda.records.files import Table


OPEN = click.option(
    "--open",
    "oracle",
    type=click.Path(path_type=Path),
    help="Also keep the release in a store that answers at any points for ever, e.g. oracle.db; free.",
)


@click.group(cls=Statistics)
def release() -> None:
    """Release a private summary of a file.

    \b
    Examples:
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
      dpfda release covariance scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
      dpfda release components scans.csv --k 2 --unit ID --values 't*' --epsilon 1 --delta 0 --bound 1
      dpfda release regression scans.csv --covariates 'age,sex=female|male' --covariate-limits 18:90 \\
          --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
      dpfda release density people.csv --points age --unit ID --domain 0,100 --epsilon 1 --delta 0
      dpfda release classifier people.csv --points 'age,height' --label group --classes a,b \\
          --unit ID --domain '0,100;100,220' --epsilon 1 --delta 1e-6
      dpfda release regressor people.csv --points age --response change --response-bound 20 \\
          --unit ID --domain 0,100 --epsilon 1 --delta 1e-6
      dpfda release function fit.csv --points t --value f --domain 0,1 --kernel matern-3/2,0.2 \\
          --sensitivity 0.003 --epsilon 1 --delta 1e-6
    """


@release.command("mean")
@options(FILE, MEAN, [OPEN], output_options("mean"))
@grouped(SourceOptions, CurveOptions, ProcessOptions, OutputOptions)
def release_mean(
    source: SourceOptions,
    choices: CurveOptions,
    process: ProcessOptions,
    output: OutputOptions,
    *,
    calibration: str | None,
    candidates: Path | None,
    penalty_kernel: str | None,
    oracle: Path | None,
) -> None:
    """Release the mean curve of FILE, a wide CSV or Parquet table: one row a curve, one column a grid point.

    \b
    Examples:
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
      dpfda release mean growth.csv --unit row --values 'age_*' --grid header --domain 1,18 \\
          --epsilon 1 --delta 0 --limits 60,210 --out growth.json --plot growth.png
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 0 --bound 1 --dry-run
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 0 --bound 1 \\
          --mechanism dictionary --candidates shapes.csv
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1 \\
          --mechanism gp --kernel matern-3/2,0.2 --open oracle.db
    """
    check_bound(choices.bound, choices.limits, source=source)
    table = opened(source.file)
    penalising = kernel_of(penalty_kernel, "penalty_kernel")
    chosen = candidates_of(choices.mechanism, candidates, choices.domain)
    settings = {**process.settings(), "calibration": calibration, "penalty_kernel": penalising, "candidates": chosen}
    parameters = _parameters(table, choices, output, "mean", settings)
    if oracle is not None:
        check_targets([oracle], overwrite=False, after=NOTHING)
    est = dpfda.MeanFunction(**parameters)
    release_curves(est, table, source, output, kind="mean")
    if oracle is not None and not output.dry_run:
        est.open(oracle).close()
        notice(f"Answers: {oracle}. dpfda evaluate {oracle} --at 0.5 asks it, dpfda serve shows it.")


@release.command("covariance")
@options(FILE, COVARIANCE, [CENTRE], output_options("covariance"))
@grouped(SourceOptions, CurveOptions, ProcessOptions, OutputOptions)
def release_covariance(
    source: SourceOptions,
    choices: CurveOptions,
    process: ProcessOptions,
    output: OutputOptions,
    *,
    mean: str | None,
    centre: Path | None,
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
    check_bound(choices.bound, choices.limits, what="A covariance function", source=source)
    table = opened(source.file)
    parameters = _parameters(table, choices, output, "covariance", process.settings())
    est = dpfda.CovarianceFunction(**parameters, mean=mean, centre=centre_of(centre))
    release_curves(est, table, source, output, kind="covariance")


@release.command("components")
@options(FILE, COMPONENTS, [CENTRE], output_options("components"))
@grouped(SourceOptions, CurveOptions, ProcessOptions, OutputOptions)
def release_components(
    source: SourceOptions,
    choices: CurveOptions,
    process: ProcessOptions,
    output: OutputOptions,
    *,
    k: int,
    mean: str | None,
    base: str | None,
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
    check_bound(choices.bound, choices.limits, what="A principal component", source=source)
    table = opened(source.file)
    settings = {**process.settings(), "base": base}
    parameters = _parameters(table, choices, output, "components", settings)
    est = dpfda.FPCA(
        k,
        **parameters,
        mean=mean,
        explained_variance=explained_variance,
        centre=centre_of(centre),
    )
    release_curves(est, table, source, output, kind="components")


@release.command("regression")
@options(FILE, [COVARIATES], COVARIATE_LIMITS, REGRESSION, [CENTRE, RIDGE], output_options("regression"))
@grouped(SourceOptions, CurveOptions, ProcessOptions, OutputOptions)
def release_regression(
    source: SourceOptions,
    choices: CurveOptions,
    process: ProcessOptions,
    output: OutputOptions,
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
    check_bound(choices.bound, choices.limits, what="A regression of curves", source=source)
    named = names_of(covariates)
    table = opened(source.file)
    parameters = _parameters(table, choices, output, "regression", process.settings())
    est = dpfda.FunctionOnScalarRegression(
        **parameters,
        covariate_limits=limits_of(covariate_limits, covariate_bound, named),
        covariate_bound=covariate_bound,
        covariate_levels=named.levels or None,
        intercept=not no_intercept,
        centre=centre_of(centre),
        ridge="auto" if ridge is None else ridge,
    )
    check_columns(table, source, named)
    curves = curves_of(table, source, named.columns)
    # A dry run asks about the charge alone, which is the same without them.
    beside = empty_covariates(curves, named) if output.dry_run else read_covariates(table, named)
    ordered = est.order(beside, curves)
    if ready(est, ordered, _about(est, curves), source.file, output, kind="regression"):
        result = est.fit_order(ordered).release_
        write(est, result, source.file, output, kind="regression", panels=len(result.names))


def _parameters(
    table: Table, choices: CurveOptions, output: OutputOptions, kind: str, settings: dict[str, Any]
) -> dict[str, Any]:
    """The parameters of an estimator; what it would refuse is refused here in the words of the command line."""
    made = output_parameters(table, choices.neighbours, output, kind=kind)
    return choices.parameters(kind, **settings) | made | {"smoothing": output.smoothing, "reading": output.reading}


def centre_of(path: Path | None) -> Any:
    """A mean release that is subtracted first: it has been paid for, so it is public."""
    if path is None:
        return None
    mean = dpfda.load(path)
    if not isinstance(mean, dpfda.Release):
        raise UsageError(f"--centre takes the file of a mean, and {str(path)!r} holds a {mean.certificate.what}.")
    return mean


def release_curves(est: Any, table: Table, source: SourceOptions, output: OutputOptions, *, kind: str) -> None:
    """Check everything, read, release, write and print: the same for every summary of curves alone."""
    curves = curves_of(table, source)
    ordered = est.order(curves)
    if ready(est, ordered, _about(est, curves), source.file, output, kind=kind):
        write(est, est.fit_order(ordered).release_, source.file, output, kind=kind)


def _about(est: Any, curves: dpfda.Curves) -> tuple[tuple[str, str], ...]:
    """What a dry run says about the file."""
    protects = ("protects", f"one {curves.unit or 'row'}, {est.neighbours}")
    return (protects, ("values", curves.columns), *curves.notes)


def curves_of(table: Table, source: SourceOptions, beside: tuple[str, ...] = ()) -> dpfda.Curves:
    """The curves of a file, read when they are needed; `beside` are columns that are used otherwise."""
    from dpfda.records.files import curves_in

    check_row(table, source.unit)
    return curves_in(
        table,
        values=source.values,
        unit=None if source.unit == "row" else source.unit,
        grid=source.grid,
        rows=source.rows,
        beside=beside,
    )

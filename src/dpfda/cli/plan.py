"""`dpfda plan`: what a release would do and how large its error would be, before there are data."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import dpfda
from dpfda.cli.columns import limits_of, names_of
from dpfda.cli.derived import Statistics
from dpfda.cli.options import (
    COMPONENTS,
    COVARIANCE,
    COVARIATE_LIMITS,
    GRID_SIZE,
    JSON,
    MEAN,
    PEOPLE,
    PLANNED_COVARIATES,
    REGRESSION,
    options,
)
from dpfda.cli.targets import check_picture, check_targets
from dpfda.cli.values import CurveOptions, ProcessOptions, candidates_of, check_bound, grouped, kernel_of
from dpfda.cli.words import in_words
from dpfda.errors import UsageError
from dpfda.mechanisms import ExponentialDraw
from dpfda.mechanisms.table import AUTO, typed_for

if TYPE_CHECKING:
    from dpfda.statistics.mean.plan import Ranking

PICTURE = [
    click.option("--plot", "picture", type=click.Path(path_type=Path), help="Also write a picture (png, pdf, svg)."),
    click.option("--overwrite", is_flag=True, help="Replace a picture that exists."),
]
COUNT = [
    click.option("--covariate-count", type=click.IntRange(min=1), help="How many covariates, with --covariate-bound.")
]
Rows = tuple[tuple[str, float | None, str], ...]


@click.group(cls=Statistics)
def plan() -> None:
    """Plan a release: reads no data and costs nothing.

    \b
    Examples:
      dpfda plan mean --n 142 --epsilon 1 --delta 1e-6 --bound 1
      dpfda plan covariance --n 5000 --epsilon 1 --delta 1e-6 --bound 1
      dpfda plan components --n 5000 --k 2 --epsilon 1 --delta 0 --bound 1
      dpfda plan regression --n 5000 --covariate-limits 18:90,0:1 --epsilon 1 --delta 1e-6 --bound 1
      dpfda plan density --n 5000 --domain 0,100 --epsilon 1 --delta 0
      dpfda plan classifier --n 10000 --dimension 2 --domain 0,1 --epsilon 1 --delta 1e-6
      dpfda plan regressor --n 10000 --domain 0,1 --response-bound 2 --epsilon 1 --delta 1e-6
      dpfda plan function --domain 0,1 --kernel matern-3/2,0.2 --sensitivity 0.003 \\
          --epsilon 1 --delta 1e-6
    """


@plan.command("mean")
@options(PEOPLE, MEAN, GRID_SIZE, PICTURE, JSON)
@grouped(CurveOptions, ProcessOptions)
def plan_mean(
    choices: CurveOptions,
    process: ProcessOptions,
    *,
    n: int,
    calibration: str | None,
    candidates: Path | None,
    penalty_kernel: str | None,
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
    from dpfda.statistics.mean.plan import make_plan

    check_bound(choices.bound, choices.limits)
    check_picture(picture)
    check_targets([picture] if picture is not None else [], overwrite=overwrite)
    penalising = kernel_of(penalty_kernel, "penalty_kernel")
    settings = {**process.settings(), "calibration": calibration, "penalty_kernel": penalising}
    chosen = candidates_of(choices.mechanism, candidates, choices.domain)
    if chosen is None:
        made = make_plan(choices.request("mean", n, grid_size, **settings))
    else:  # around the centre, as the estimator takes them
        made = dpfda.MeanFunction(**choices.parameters("mean", **settings, candidates=chosen)).plan(
            n, grid_size=grid_size
        )
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


@plan.command("covariance")
@options(PEOPLE, COVARIANCE, GRID_SIZE, JSON)
@grouped(CurveOptions, ProcessOptions)
def plan_covariance(
    choices: CurveOptions, process: ProcessOptions, *, n: int, mean: str | None, grid_size: int | None, as_json: bool
) -> None:
    """Say what a release of a covariance function would do, and what error to expect of every mechanism.

    Errors are predicted for a reference population; no data are read, nothing is charged.

    \b
    Examples:
      dpfda plan covariance --n 5000 --epsilon 1 --delta 1e-6 --bound 1
      dpfda plan covariance --n 382 --epsilon 1 --delta 0 --limits 0,1 --mean centre --json
    """
    check_bound(choices.bound, choices.limits, what="A covariance function")
    stated = choices.parameters("covariance", **process.settings())
    made = dpfda.CovarianceFunction(**stated, mean=mean).plan(n, grid_size=grid_size)
    show_plan(made, made.table(), "root mean square error", as_json=as_json)


@plan.command("components")
@options(PEOPLE, COMPONENTS, GRID_SIZE, JSON)
@grouped(CurveOptions, ProcessOptions)
def plan_components(
    choices: CurveOptions,
    process: ProcessOptions,
    *,
    n: int,
    k: int,
    mean: str | None,
    base: str | None,
    explained_variance: float | None,
    grid_size: int | None,
    as_json: bool,
) -> None:
    """Say what a release of principal components would do, and how far their span would be off by every mechanism.

    Distances are predicted for a reference population; no data are read, nothing is charged.

    \b
    Examples:
      dpfda plan components --n 5000 --k 2 --epsilon 1 --delta 0 --bound 1
      dpfda plan components --n 382 --k 1 --epsilon 1 --delta 0 --limits 0,1 --mechanism exponential
    """
    from dpfda.statistics.components.plan import DRAWN, table

    check_bound(choices.bound, choices.limits, what="A principal component")
    stated = choices.parameters("components", **process.settings(), base=base)
    est = dpfda.FPCA(k, **stated, mean=mean, explained_variance=explained_variance)
    made = est.plan(n, grid_size=grid_size)
    joint = mean != "centre" and choices.mechanism not in DRAWN
    name = made.to_dict()["mechanism"]
    rows = table(replace(made.request, mechanism=AUTO), k=k, joint=joint, base=base or ExponentialDraw().base)
    marked = tuple((each, error, "chosen" if each == name else note) for each, error, note in rows)
    show_plan(made, marked, f"squared distance of the span, of at most {k}", as_json=as_json)


@plan.command("regression")
@options(PEOPLE, [PLANNED_COVARIATES], COVARIATE_LIMITS, COUNT, REGRESSION, GRID_SIZE, JSON)
@grouped(CurveOptions, ProcessOptions)
def plan_regression(
    choices: CurveOptions,
    process: ProcessOptions,
    *,
    n: int,
    covariates: str | None,
    covariate_limits: str | None,
    covariate_bound: float | None,
    no_intercept: bool,
    covariate_count: int | None,
    grid_size: int | None,
    as_json: bool,
) -> None:
    """Say what a regression of curves on covariates would do, and what error to expect of every mechanism.

    Errors are those of predicted curves, for reference covariates; no data are read, nothing is charged. Each person
    counts once, with the averages of covariates and curve: coefficients compare people, not visits of one person.

    \b
    Examples:
      dpfda plan regression --n 5000 --covariate-limits 18:90,0:1 --epsilon 1 --delta 1e-6 --bound 1
      dpfda plan regression --n 5000 --covariates 'age,sex=female|male' --covariate-limits 18:90 \\
          --epsilon 1 --delta 1e-6 --bound 1
      dpfda plan regression --n 382 --covariate-bound 3 --covariate-count 2 --epsilon 1 --delta 0 \\
          --bound 1
    """
    check_bound(choices.bound, choices.limits, what="A regression of curves")
    named = None if covariates is None else names_of(covariates)
    limits = limits_of(covariate_limits, covariate_bound, named)
    if (covariate_count is None) == (limits is None and named is None):
        raise UsageError(
            "--covariate-count goes with --covariate-bound, where neither ranges nor --covariates say how many there "
            "are."
        )
    est = dpfda.FunctionOnScalarRegression(
        **choices.parameters("regression", **process.settings()),
        covariate_limits=limits,
        covariate_bound=covariate_bound,
        covariate_levels=None if named is None else named.levels or None,
        intercept=not no_intercept,
    )
    made = est.plan(n, covariates=covariate_count if named is None else named.columns, grid_size=grid_size)
    show_plan(made, made.table(), "root mean square error", as_json=as_json)


def show_plan(made: Any, rows: Rows, measure: str, *, as_json: bool, title: str = "") -> None:
    """Print a plan, the mechanisms that can meet the budget, best first, and why the others cannot."""
    from dpfda.cli.tables import print_notes, print_table
    from dpfda.studies.outcome import Table

    rows = tuple((name, error, in_words(note)) for name, error, note in rows)
    if as_json:
        names = ("mechanism", "predicted", "note")
        listed = [dict(zip(names, row, strict=True)) for row in rows]
        click.echo(json.dumps({**made.to_dict(), "measure": measure, "table": listed}, indent=1))
        return
    click.echo(made.text())
    can = tuple(row for row in rows if row[1] is not None)
    title = title or f"Predicted {measure}, for a reference population"
    print_table(Table(title, ("mechanism", measure, "note"), can))
    # What holds for several is said once.
    why: dict[str, list[str]] = {}
    for name, error, note in rows:
        if error is None:
            why.setdefault(note, []).append(name)
    print_notes(tuple(f"{', '.join(names)}: {note}" for note, names in why.items()))


def print_ranking(ranking: Ranking) -> None:
    """Print the mechanisms that can meet the budget, best first, and why the others cannot."""
    from dpfda.cli.tables import print_notes, print_table
    from dpfda.statistics.mean.plan import COLUMNS
    from dpfda.studies.outcome import Table

    title = f"Predicted squared errors, the worst over {ranking.within.text}"
    total = COLUMNS.index("total")
    print_table(Table(title, COLUMNS, tuple(row for row in ranking.rows if row[total] is not None)))
    # One reason for each: that of the exact calibration comes first.
    reasons: dict[str, str] = {}
    for row in ranking.entries:
        if row.prediction is None and row.mechanism in typed_for("mean"):
            reasons.setdefault(row.mechanism, f"{row.mechanism}: {in_words(row.note)}")
    print_notes(tuple(reasons.values()))

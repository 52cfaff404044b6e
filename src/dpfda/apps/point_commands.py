"""Come here for `dpfda release` and `dpfda plan` of what points tell: densities, classifiers and regressors."""

from __future__ import annotations

import math
from typing import Any

import click

import dpfda
from dpfda.apps.columns import read_labels, read_numbers, read_points
from dpfda.apps.options import options, output_options
from dpfda.apps.plan_command import JSON, PEOPLE, show_plan
from dpfda.apps.point_options import (
    CLASSES,
    CLASSIFIER_LOSSES,
    DENSITY,
    LABEL,
    POINT_FILE,
    REGRESSOR_LOSSES,
    RESPONSE,
    RESPONSE_BOUND,
    UNIT,
    UNIT_OR_COUNTS,
    machine_options,
)
from dpfda.apps.point_wishes import BOUGHT, DensityWishes, MachineWishes, PointSource, classes_of
from dpfda.apps.releasing import NOTHING, check_row, output_parameters, ready, write
from dpfda.apps.wishes import Output, grouped
from dpfda.errors import DataError, UsageError

SIDES = [
    click.option("--dimension", type=click.IntRange(min=1), help="Coordinates of a point, where --domain is for all.")
]
NOISE = "noise before smoothing, root mean square"
OF_FUNCTION = "noise in the function, root mean square"


@click.command("density")
@options(POINT_FILE, UNIT_OR_COUNTS, DENSITY, output_options("density"))
@grouped(PointSource, DensityWishes, Output)
def release_density(source: PointSource, wishes: DensityWishes, output: Output, *, counts: str | None) -> None:
    """Release the density of the points in FILE, a CSV or Parquet table: one row a point, one column a coordinate.

    A person with several points counts once, with all of them. With --counts a row stands for many people, as in a
    table of deaths by age: the number of people is then the sum of that column. What cannot be read is left out.

    \b
    Examples:
      dpfda release density people.csv --points age --unit ID --domain 0,100 --epsilon 1 --delta 0
      dpfda release density visits.parquet --points 'lon,lat' --unit ID --domain '5,15;47,55' \\
          --epsilon 1 --delta 1e-6 --out map.json --plot map.png
      dpfda release density deaths.csv --points age --counts deaths --edges 0,1,5:110:5 \\
          --epsilon 1 --delta 0 --dry-run
    """
    est = dpfda.DensityFunction(
        **wishes.parameters(),
        **output_parameters(source.file, wishes.neighbours, output),
        smoothing=output.smoothing,
        workers=output.workers,
    )
    points = _points(source, {} if counts is None else {counts: "the counts"})
    many = None if counts is None else read_numbers(points, counts, what="counts")
    made = est.plan(_size(est, points, many, "There are no points: a density needs at least one."))
    _check_sides(points, made.cells.domain.dimension, output, what="densities")
    protected = "person" if counts is not None else points.unit or "row"
    bought = f"bought for epsilon = {est.bandwidth_epsilon} on top; planned with a tenth of each side"
    about = (
        ("protects", f"one {protected}, {est.neighbours}"),
        ("points", points.columns),
        *((("counts", f"column {counts}"),) if counts is not None else ()),
        *((("bandwidth", bought),) if wishes.bandwidth == BOUGHT else ()),
    )
    if ready(est, made, about, source.file, output, kind="density", hidden=hidden_in(made)):
        write(est.fit(points, counts=many).release_, source.file, output, kind="density")


@click.command("density")
@options(PEOPLE, DENSITY, JSON)
@grouped(DensityWishes)
def plan_density(wishes: DensityWishes, *, n: int, as_json: bool) -> None:
    """Say what a release of a density would do, and how large the noise of every mechanism would be.

    Noise is in the units of the density, before what smoothing takes away of it. No data are read, nothing is charged.

    \b
    Examples:
      dpfda plan density --n 5000 --domain 0,100 --epsilon 1 --delta 0
      dpfda plan density --n 100000 --domain '0,1;0,1' --epsilon 0.5 --delta 1e-6 --json
      dpfda plan density --n 1000 --domain 0,1 --epsilon 1 --delta 0.01 --mechanism gp --bandwidth 0.1
    """
    made = dpfda.DensityFunction(**wishes.parameters()).plan(n)
    title = "Noise before smoothing; kernels of the papers smooth before it, and blur the density itself"
    show_plan(made, made.table(), NOISE, as_json=as_json, title=title)


@click.command("classifier")
@options(POINT_FILE, LABEL, [CLASSES, UNIT], machine_options(CLASSIFIER_LOSSES), output_options("classifier"))
@grouped(PointSource, MachineWishes, Output)
def release_classifier(source: PointSource, wishes: MachineWishes, output: Output, *, label: str, classes: str) -> None:
    """Release a classifier of two classes, a private support vector machine, from points and labels in FILE.

    FILE is a CSV or Parquet table with one row a point, a column for each coordinate and one for the label. A person
    with several rows counts once, with the average of their losses.

    \b
    Examples:
      dpfda release classifier people.csv --points 'age,height' --label group --classes a,b \\
          --unit ID --domain '0,100;100,220' --epsilon 1 --delta 1e-6
      dpfda release classifier people.csv --points 'x*' --label ill --classes 0,1 --unit row \\
          --domain 0,1 --kernel gaussian,0.3 --loss logistic --epsilon 1 --delta 0 --plot ill.png
    """
    named = classes_of(classes)
    stated = wishes.parameters() | output_parameters(source.file, wishes.neighbours, output)
    points = _points(source, {label: "the label"})
    labels, found = read_labels(points, label, named)
    est = dpfda.KernelClassifier(**stated, classes=found)
    _release_machine(est, points, labels, source, output, kind="classifier")


@click.command("regressor")
@options(POINT_FILE, [RESPONSE], RESPONSE_BOUND, [UNIT], machine_options(REGRESSOR_LOSSES), output_options("regressor"))
@grouped(PointSource, MachineWishes, Output)
def release_regressor(
    source: PointSource,
    wishes: MachineWishes,
    output: Output,
    *,
    response: str,
    response_bound: float,
    threshold: float | None,
) -> None:
    """Release a regression function, a private kernel machine, from points and responses in FILE.

    FILE is a CSV or Parquet table with one row a point, a column for each coordinate and one for the response. A person
    with several rows counts once, with the average of their losses.

    \b
    Examples:
      dpfda release regressor people.csv --points age --response change --response-bound 20 \\
          --unit ID --domain 0,100 --epsilon 1 --delta 1e-6
      dpfda release regressor people.csv --points 'x*' --response y --response-bound 2 --unit row \\
          --domain 0,1 --loss absolute --penalty 0.01 --epsilon 1 --delta 0 --dry-run
    """
    stated = wishes.parameters() | output_parameters(source.file, wishes.neighbours, output)
    est = dpfda.KernelRegressor(**stated, response_bound=response_bound, threshold=threshold)
    points = _points(source, {response: "the response"})
    responses = read_numbers(points, response, what="responses")
    _release_machine(est, points, responses, source, output, kind="regressor")


@click.command("classifier")
@options(PEOPLE, SIDES, machine_options(CLASSIFIER_LOSSES), JSON)
@grouped(MachineWishes)
def plan_classifier(wishes: MachineWishes, *, n: int, dimension: int | None, as_json: bool) -> None:
    """Say what a release of a classifier would do, and how large the noise of every mechanism would be.

    Margins are 1: noise well below that leaves decisions as they are. No data are read, nothing is charged.

    \b
    Examples:
      dpfda plan classifier --n 10000 --dimension 2 --domain 0,1 --epsilon 1 --delta 1e-6
      dpfda plan classifier --n 10000 --domain '0,1;18,90' --epsilon 1 --delta 0 --loss logistic
    """
    _plan_machine(dpfda.KernelClassifier(**wishes.parameters()), n, dimension, as_json=as_json)


@click.command("regressor")
@options(PEOPLE, SIDES, RESPONSE_BOUND, machine_options(REGRESSOR_LOSSES), JSON)
@grouped(MachineWishes)
def plan_regressor(
    wishes: MachineWishes,
    *,
    n: int,
    dimension: int | None,
    response_bound: float,
    threshold: float | None,
    as_json: bool,
) -> None:
    """Say what a release of a regression function would do, and how large the noise of every mechanism would be.

    Noise is in the units of the responses. No data are read, nothing is charged.

    \b
    Examples:
      dpfda plan regressor --n 10000 --domain 0,1 --response-bound 2 --epsilon 1 --delta 1e-6
      dpfda plan regressor --n 10000 --dimension 3 --domain 0,1 --response-bound 2 --epsilon 1 \\
          --delta 0 --loss absolute --json
    """
    est = dpfda.KernelRegressor(**wishes.parameters(), response_bound=response_bound, threshold=threshold)
    _plan_machine(est, n, dimension, as_json=as_json)


def _points(source: PointSource, beside: dict[str, str]) -> dpfda.Curves:
    """The points of a file, when it is clear who is protected."""
    if (source.unit is None) == ("the counts" not in beside.values()):
        raise UsageError(
            "Say who is protected, by one of the two: --unit COLUMN, or --unit row if every row is another person; or "
            "--counts COLUMN if a row stands for so many people, one point each."
        )
    points = read_points(source.file, source.points, unit=source.column, beside=beside)
    check_row(source.file, source.unit)
    return points


def _size(est: Any, points: dpfda.Curves, counts: Any, empty: str) -> int:
    """The number of units to plan with: counted where it is public, else the public guess."""
    from dpfda.records.given_points import as_points
    from dpfda.records.points import count_units

    unit = dpfda.Unit(points.unit or "row", est.neighbours)
    if not unit.size_is_public:
        return int(est.planned_n)
    size = (
        points.size_under(unit)
        if counts is None
        else count_units(as_points(points, points.source.width, counts=counts))
    )
    if size == 0:
        raise DataError(empty + NOTHING)
    return size


def _check_sides(points: dpfda.Curves, sides: int, output: Output, *, what: str) -> None:
    """One column for each side; and a picture only where there is one, before anything is charged."""
    columns = points.source.width
    if columns != sides:
        raise UsageError(
            f"--points names {columns} column{'s' * (columns > 1)} ({points.columns}) and the domain has {sides} "
            f"side{'s' * (sides > 1)}: one for each." + NOTHING
        )
    if output.picture is not None and sides > 2:
        raise UsageError(
            f"--plot draws {what} of one or two coordinates, and there are {sides}. Leave it out." + NOTHING
        )


def hidden_in(made: Any) -> str:
    """Why nothing could be seen of a density, or nothing.

    A smooth function of mean square one averages to at most about the root of two over people; noise beyond that in
    every leading coordinate leaves nothing to see, however it is smoothed.
    """
    leading = float(made.noise.variances[:2].min())
    return "the noise would be larger than any density could be" if leading > 2 and made.basis.orthonormal else ""


def _release_machine(
    est: Any, points: dpfda.Curves, targets: Any, source: PointSource, output: Output, *, kind: str
) -> None:
    """Check everything, plan, release, write and print: the same for both machines."""
    from dpfda.bases import as_domain

    stated, columns = as_domain(est.domain).dimension, points.source.width
    _check_sides(points, columns if stated == 1 else stated, output, what="machines")
    n = _size(est, points, None, "There are no records: a machine needs at least one.")
    made = est.plan(n, dimension=columns)
    about = (("protects", f"one {points.unit or 'row'}, {est.neighbours}"), ("points", points.columns))
    if ready(est, made, about, source.file, output, kind=kind, hidden=drowned_in(made)):
        write(est.fit(points, targets).release_, source.file, output, kind=kind)


def drowned_in(made: Any) -> str:
    """Why nothing could be seen of a machine, or nothing: noise beyond the margin, or the bound on responses."""
    loss = made.request.loss
    share = made.noise_rms / loss.scale
    if not math.isfinite(share) or share <= 1:
        return ""
    return f"the noise in the function would be {share:.0%} of the {'margin' if loss.margin else 'bound on responses'}"


def _plan_machine(est: Any, n: int, dimension: int | None, *, as_json: bool) -> None:
    made = est.plan(n, dimension=dimension)
    title = f"Noise in the function at a penalty of {made.penalty:.4g}; that of iclp-qr weighs more on rough functions"
    show_plan(made, made.table(), OF_FUNCTION, as_json=as_json, title=title)


RELEASES: tuple[click.Command, ...] = (release_density, release_classifier, release_regressor)
PLANS: tuple[click.Command, ...] = (plan_density, plan_classifier, plan_regressor)

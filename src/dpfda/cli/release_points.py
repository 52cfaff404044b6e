"""`dpfda release` and `dpfda plan` for points: densities, classifiers and regressors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

import dpfda
from dpfda.cli.columns import (
    Counts,
    called_after,
    check_drawn,
    check_numbers,
    check_sides,
    classes_in,
    protected_points,
    read_labels,
    read_numbers,
)
from dpfda.cli.options import (
    CLASSES,
    DENSITY,
    JSON,
    LABEL,
    PEOPLE,
    POINT_FILE,
    RESPONSE,
    RESPONSE_BOUND,
    UNIT,
    UNIT_OR_COUNTS,
    machine_options,
    options,
    output_options,
)
from dpfda.cli.plan import show_plan
from dpfda.cli.releasing import opened, output_parameters, ready, write
from dpfda.cli.values import (
    BOUGHT,
    DensityOptions,
    MachineOptions,
    OutputOptions,
    PointSourceOptions,
    classes_of,
    grouped,
)

ERROR = "root mean square error"


@click.command("density")
@options(POINT_FILE, UNIT_OR_COUNTS, DENSITY, output_options("density"))
@grouped(PointSourceOptions, DensityOptions, OutputOptions)
def release_density(
    source: PointSourceOptions, choices: DensityOptions, output: OutputOptions, *, counts: str | None
) -> None:
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
    table = opened(source.file)
    stated = choices.parameters() | output_parameters(table, choices.neighbours, output, kind="density")
    est = dpfda.DensityFunction(
        **stated,
        smoothing=output.smoothing,
        reading=output.reading,
    )
    points = protected_points(table, source, {} if counts is None else {counts: "the counts"})
    many = None if counts is None else Counts(points, counts)
    sides = stated_domain(est).dimension
    check_sides(points, sides)
    check_drawn(sides, output, what="densities")
    # A dry run reads counts only where their sum is the public number of people.
    unread = output.dry_run and (choices.neighbours == "add-or-remove-one" or output.n is not None)
    records = called_after(points, "counts", counts)
    numbers = None if many is None else [0] * records.rows if unread else many.numbers
    ordered = est.order(records, counts=numbers)
    if ready(est, ordered, about_density(est, points, counts, choices), source.file, output, kind="density"):
        write(est, est.fit_order(ordered).release_, source.file, output, kind="density")


def stated_domain(est: dpfda.DensityFunction) -> dpfda.Domain:
    """The domain that was stated, or that of the edges."""
    from dpfda.bases import as_domain
    from dpfda.bases.cells import cells_between

    if est.domain is not None:
        return as_domain(est.domain)
    assert est.edges is not None
    return cells_between(est.edges).domain


@click.command("density")
@options(PEOPLE, DENSITY, JSON)
@grouped(DensityOptions)
def plan_density(choices: DensityOptions, *, n: int, as_json: bool) -> None:
    """Say what a release of a density would do, and what error to expect of every mechanism.

    Errors are in the units of the density, for a reference density that the plan names. No data are read, nothing is
    charged.

    \b
    Examples:
      dpfda plan density --n 5000 --domain 0,100 --epsilon 1 --delta 0
      dpfda plan density --n 100000 --domain '0,1;0,1' --epsilon 0.5 --delta 1e-6 --json
      dpfda plan density --n 1000 --domain 0,1 --epsilon 1 --delta 0.01 --mechanism gp --bandwidth 0.1
    """
    made = dpfda.DensityFunction(**choices.parameters()).plan(n)
    title = "Expected error for the reference density, with sampling, noise and smoothing"
    show_plan(made, made.table(), ERROR, as_json=as_json, title=title)


def about_density(
    est: Any, points: dpfda.Curves, counts: str | None, choices: DensityOptions
) -> tuple[tuple[str, str], ...]:
    """What a dry run says about the file."""
    protected = "person" if counts is not None else points.unit or "row"
    bought = f"bought for epsilon = {est.bandwidth_epsilon} on top; planned with a tenth of each side"
    return (
        ("protects", f"one {protected}, {est.neighbours}"),
        ("points", points.columns),
        *((("counts", f"column {counts}"),) if counts is not None else ()),
        *((("bandwidth", bought),) if choices.bandwidth in BOUGHT else ()),
    )


SIDES = [
    click.option(
        "--dimension", type=click.IntRange(min=1), help="Number of coordinates of a point, where --domain is for all."
    )
]
NOISE = "noise in the function, root mean square"


@click.command("classifier")
@options(POINT_FILE, LABEL, [CLASSES, UNIT], machine_options("classifier"), output_options("classifier"))
@grouped(PointSourceOptions, MachineOptions, OutputOptions)
def release_classifier(
    source: PointSourceOptions, choices: MachineOptions, output: OutputOptions, *, label: str, classes: str
) -> None:
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
    table = opened(source.file)
    stated = choices.parameters() | output_parameters(table, choices.neighbours, output, kind="classifier")
    points = protected_points(table, source, {label: "the label"})
    found = classes_in(points, label, named)
    est = dpfda.KernelClassifier(**stated, classes=found)
    _release_machine(
        est, points, lambda: read_labels(points, label, found), source, output, kind="classifier", beside=label
    )


@click.command("regressor")
@options(POINT_FILE, [RESPONSE], RESPONSE_BOUND, [UNIT], machine_options("regressor"), output_options("regressor"))
@grouped(PointSourceOptions, MachineOptions, OutputOptions)
def release_regressor(
    source: PointSourceOptions,
    choices: MachineOptions,
    output: OutputOptions,
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
    table = opened(source.file)
    stated = choices.parameters() | output_parameters(table, choices.neighbours, output, kind="regressor")
    est = dpfda.KernelRegressor(**stated, response_bound=response_bound, threshold=threshold)
    points = protected_points(table, source, {response: "the response"})
    check_numbers(points, response)
    _release_machine(
        est,
        points,
        lambda: read_numbers(points, response, what="responses"),
        source,
        output,
        kind="regressor",
        beside=response,
    )


@click.command("classifier")
@options(PEOPLE, SIDES, machine_options("classifier"), JSON)
@grouped(MachineOptions)
def plan_classifier(choices: MachineOptions, *, n: int, dimension: int | None, as_json: bool) -> None:
    """Say what a release of a classifier would do, and how large the noise of every mechanism would be.

    Margins are 1: noise well below that leaves decisions as they are. No data are read, nothing is charged.

    \b
    Examples:
      dpfda plan classifier --n 10000 --dimension 2 --domain 0,1 --epsilon 1 --delta 1e-6
      dpfda plan classifier --n 10000 --domain '0,1;18,90' --epsilon 1 --delta 0 --loss logistic
    """
    _plan_machine(dpfda.KernelClassifier(**choices.parameters()), n, dimension, as_json=as_json)


@click.command("regressor")
@options(PEOPLE, SIDES, RESPONSE_BOUND, machine_options("regressor"), JSON)
@grouped(MachineOptions)
def plan_regressor(
    choices: MachineOptions,
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
    est = dpfda.KernelRegressor(**choices.parameters(), response_bound=response_bound, threshold=threshold)
    _plan_machine(est, n, dimension, as_json=as_json)


def _release_machine(
    est: Any,
    points: dpfda.Curves,
    targets: Callable[[], Any],
    source: PointSourceOptions,
    output: OutputOptions,
    *,
    kind: str,
    beside: str,
) -> None:
    """Check everything, plan, release, write and print: the same for both machines."""
    from dpfda.bases import as_domain

    stated, columns = as_domain(est.domain).dimension, points.source.width
    check_sides(points, columns if stated == 1 else stated)
    check_drawn(columns, output, what="machines")
    about = (("protects", f"one {points.unit or 'row'}, {est.neighbours}"), ("points", points.columns))
    records = called_after(points, "labels" if kind == "classifier" else "responses", beside)
    # A dry run asks about the charge alone, which is the same without them.
    ordered = est.order(records, empty_targets(est, records.rows) if output.dry_run else targets())
    if ready(est, ordered, about, source.file, output, kind=kind):
        write(est, est.fit_order(ordered).release_, source.file, output, kind=kind)


def empty_targets(est: Any, rows: int) -> Any:
    """A label or response for each row that says nothing, where only the charge is asked about."""
    import numpy as np

    classes = getattr(est, "classes", None)
    return np.zeros(rows) if classes is None else np.full(rows, classes[0])


def _plan_machine(est: Any, n: int, dimension: int | None, *, as_json: bool) -> None:
    made = est.plan(n, dimension=dimension)
    title = f"Noise in the function at a penalty of {made.penalty:.4g}; that of iclp-qr weighs more on rough functions"
    show_plan(made, made.table(), NOISE, as_json=as_json, title=title)

"""`dpfda release density` and `dpfda plan density`."""

from __future__ import annotations

from typing import Any

import click

import dpfda
from dpfda.cli.columns import Counts, called_after, check_drawn, check_sides, protected_points
from dpfda.cli.options import DENSITY, JSON, PEOPLE, POINT_FILE, UNIT_OR_COUNTS, options, output_options
from dpfda.cli.plan import show_plan
from dpfda.cli.releasing import opened, output_parameters, ready, write
from dpfda.cli.values import BOUGHT, DensityOptions, OutputOptions, PointSourceOptions, grouped

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
        *((("bandwidth", bought),) if choices.bandwidth == BOUGHT else ()),
    )

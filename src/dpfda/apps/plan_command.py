"""Come here for `dpfda plan`: what a release would do and how large its error would be, before there are data."""

from __future__ import annotations

import json
from pathlib import Path

import click

import dpfda
from dpfda.apps.options import MECHANISMS, check_bound, numbers
from dpfda.apps.targets import check_picture, check_targets, save_picture


@click.group()
def plan() -> None:
    """Plan a release: reads no data and costs nothing.

    \b
    Example:
      dpfda plan mean --n 142 --epsilon 1 --delta 1e-6 --bound 1
    """


@plan.command("mean")
@click.option("--n", required=True, type=click.IntRange(min=1), help="Number of people, public or guessed.")
@click.option("--epsilon", required=True, type=float, help="Privacy loss, e.g. 1.")
@click.option("--delta", required=True, type=float, help="0 for pure privacy, else e.g. 1e-6.")
@click.option("--bound", type=float, help="Public bound on a curve's root mean square.")
@click.option("--limits", metavar="LOW,HIGH", help="Instead of a bound: the public range of values.")
@click.option("--domain", default="0,1", show_default=True, metavar="LOW,HIGH", help="Public domain of the curves.")
@click.option(
    "--neighbours",
    type=click.Choice(["replace-one", "add-or-remove-one"]),
    default="replace-one",
    show_default=True,
    help="Under add-or-remove-one the number of units is private too.",
)
@click.option("--mechanism", type=click.Choice(MECHANISMS), default="auto", show_default=True, help="Law of the noise.")
@click.option("--grid-size", type=click.IntRange(min=1), help="Number of points at which curves are known.")
@click.option("--plot", "picture", type=click.Path(path_type=Path), help="Also write a picture (png, pdf, svg).")
@click.option("--overwrite", is_flag=True, help="Replace a picture that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan_mean(
    n: int,
    epsilon: float,
    delta: float,
    bound: float | None,
    limits: str | None,
    domain: str,
    neighbours: str,
    mechanism: str,
    grid_size: int | None,
    picture: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Say what a release of a mean curve would do, how large its noise would be, and how others would fare.

    \b
    Examples:
      dpfda plan mean --n 142 --epsilon 1 --delta 1e-6 --bound 1
      dpfda plan mean --n 5000 --epsilon 0.5 --delta 0 --limits 60,210 --domain 1,18 --plot plan.png
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
    )
    made = est.plan(n, grid_size=grid_size)
    if picture is not None:
        save_picture(made, picture)
    if as_json:
        click.echo(json.dumps(made.to_dict(), indent=1))
        return
    click.echo(made.text())
    if picture is not None:
        click.echo(f"\nWritten: {picture}")

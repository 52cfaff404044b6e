"""`dpfda release function` and `dpfda plan function`: a function computed elsewhere, from a table of its values."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import dpfda
from dpfda.arrays import brief
from dpfda.cli.columns import point_columns
from dpfda.cli.options import JSON, NEIGHBOURS, PATH, SPENT, mechanism_options, option, options, output_options
from dpfda.cli.releasing import NOTHING, opened, output_parameters, ready, write
from dpfda.cli.values import OutputOptions, domain_of, kernel_of
from dpfda.errors import DataError, UsageError

if TYPE_CHECKING:
    from dpfda.arrays import Array
    from dpfda.records.files import Table

CLAIM = [
    option("domain", "function", multiple=True),
    *SPENT,
    option("sensitivity", required=True),
    option("norm", default="kernel"),
    option("kernel", "function"),
    click.option(
        "--covariance",
        type=PATH,
        help="Instead of a kernel, for a plain vector: CSV file of a positive definite matrix M without a header; the "
        "norm is then |M^(-1/2) v|.",
    ),
    *mechanism_options("function"),
    option("basis", "function", choices=("mercer", "landmarks")),
    option("size"),
    NEIGHBOURS,
    option("unit", default="person"),
]
VALUES = [
    click.argument("file", type=PATH),
    click.option(
        "--points",
        multiple=True,
        metavar="COLUMN,...",
        help="Columns of the points at which values are known, one for each side of the domain.  [default: the values "
        "are coordinates in the kernel's eigenfunctions, or a plain vector]",
    ),
    click.option("--value", required=True, metavar="COLUMN", help="The column of values."),
]
UNUSED = ("planned_n", "force", "workers")  # the sensitivity is stated: no number of units is guessed, nothing read
OUTPUT = [option("smoothing", "function", default="none"), *output_options("function")]
PLANNED = [
    click.option("--n", type=click.IntRange(min=1), help="Public number of units, if it is to stand on the card."),
    click.option(
        "--grid-size", type=click.IntRange(min=2), help="Values on so many equally spaced points of each side."
    ),
    click.option("--coordinates", type=click.IntRange(min=1), help="So many coordinates in the kernel's functions."),
]


def _without(groups: list[Any], names: tuple[str, ...]) -> list[Any]:
    """Options without some of them."""

    def named(each: Any) -> str:
        return str(each(lambda: None).__click_params__[0].name)

    return [each for each in groups if named(each) not in names]


def _parameters(stated: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the estimator, from options."""
    covariance, kernel = stated.pop("covariance"), kernel_of(stated.pop("kernel"))
    if (covariance is None) == (kernel is None):
        raise UsageError(
            "A function needs the kernel of its noise, e.g. --kernel matern-3/2,0.2, or a plain vector --covariance "
            "FILE, and not both." + NOTHING,
            parameter="kernel",
        )
    domain = stated.pop("domain")
    return {
        **stated,
        "kernel": _matrix(covariance) if covariance is not None else kernel,
        "domain": (domain_of(domain) if domain else None),
    }


def _matrix(file: Path) -> Any:
    """A matrix of numbers in a CSV file without a header."""
    import numpy as np

    try:
        return np.loadtxt(file, delimiter=",", ndmin=2)
    except (OSError, ValueError):
        raise DataError(
            f"{str(file)!r} is no CSV file of a matrix of numbers without a header. Check --covariance." + NOTHING
        ) from None


def _source(table: Table, name: str, what: str) -> Any:
    """One column of a table, not read yet."""
    from dpfda.records.columns import check_column

    check_column(list(table.columns), name, what)
    return table.source((name,), None)


def _column(table: Table, name: str, what: str) -> Array:
    """A column of numbers, (q,), NaN where a cell is none."""
    import numpy as np

    source = _source(table, name, what)
    found: Array | None = None
    with suppress(Exception):
        found = np.concatenate([np.empty((0, 1)), *source.batches(2**16)])[:, 0]
    if found is None:
        # Out here and with one constant text: nothing about what stands in it.
        raise DataError(f"The column of {what} could not be read. Check that the file can be read." + NOTHING)
    return found


def _grid(table: Table, points: tuple[str, ...], value: str) -> Array | None:
    """The public points in a table, (q, p); None where its values are coordinates."""
    import numpy as np

    if not points:
        return None
    chosen = point_columns(list(table.columns), points, {value: "the value"})
    grid = np.stack([_column(table, name, "a coordinate") for name in chosen], axis=1)
    if not np.isfinite(grid).all():
        raise DataError(
            f"The points in {brief(', '.join(chosen))} must all be finite numbers: they are public." + NOTHING
        )
    return grid


@click.command("function")
@options(VALUES, CLAIM, _without(OUTPUT, UNUSED))
def release_function(
    file: Path,
    points: tuple[str, ...],
    value: str,
    n: int | None,
    smoothing: str,
    dataset: str | None,
    ledger: str | None,
    anchor: Path | None,
    key: str | None,
    out: Path | None,
    picture: Path | None,
    *,
    overwrite: bool,
    dry_run: bool,
    as_json: bool,
    **stated: Any,
) -> None:
    """Release a function of your own, whose values stand in FILE, a CSV or Parquet table: one row a point.

    It was computed from records elsewhere, in whatever way. That replacing one unit moves it by at most --sensitivity
    is your claim, for all data and not only for yours: nothing can check it here, the card says so, and where it is
    false the guarantee does not hold. The file holds the function without noise: it is as private as the records.

    \b
    Examples:
      dpfda release function fit.csv --points t --value f --domain 0,1 --kernel matern-3/2,0.2 \\
          --sensitivity 0.003 --epsilon 1 --delta 1e-6
      dpfda release function fit.csv --value c --domain 0,1 --kernel matern-3/2,0.2 \\
          --norm weighted-l1 --sensitivity 0.01 --epsilon 1 --delta 0 --dry-run
      dpfda release function totals.csv --value total --covariance shape.csv --sensitivity 2 \\
          --epsilon 1 --delta 1e-6 --ledger sqlite:///budget.db --dataset survey
    """
    import numpy as np

    table = opened(file)
    output = OutputOptions(
        n=n,
        planned_n=None,
        dataset=dataset,
        out=out,
        picture=picture,
        overwrite=overwrite,
        dry_run=dry_run,
        force=False,
        as_json=as_json,
        smoothing=smoothing,
        ledger=ledger,
        anchor=anchor,
        key=key,
    )
    neighbours = stated["neighbours"]
    made = output_parameters(table, "replace-one", output, kind="function")
    est = dpfda.PerturbedFunction(**_parameters(stated), smoothing=smoothing, **made)
    grid = _grid(table, points, value)
    # How many there are is all that a dry run needs.
    unread = np.zeros(_source(table, value, "the value").rows())
    values = unread if dry_run else _column(table, value, "the value")
    ordered = est.order(values, grid=grid)
    where = f"{len(values)} values, {value} at {', '.join(points)}" if points else f"{len(values)} entries, {value}"
    if ready(
        est, ordered, (("protects", f"one {est.unit}, {neighbours}"), ("values", where)), file, output, kind="function"
    ):
        write(est, est.fit_order(ordered).release_, file, output, kind="function")


@click.command("function")
@options(CLAIM, PLANNED, JSON)
def plan_function(
    n: int | None, grid_size: int | None, coordinates: int | None, *, as_json: bool, **stated: Any
) -> None:
    """Say how large the noise on a function of your own would be for a stated sensitivity.

    By default for a function that can be asked anywhere; no data are read, nothing is charged.

    \b
    Examples:
      dpfda plan function --domain 0,1 --kernel matern-3/2,0.2 --sensitivity 0.003 \\
          --epsilon 1 --delta 1e-6
      dpfda plan function --domain 0,1 --kernel matern-3/2,0.2 --norm weighted-l1 --sensitivity 0.01 \\
          --coordinates 20 --epsilon 1 --delta 0 --json
    """
    if grid_size is not None and coordinates is not None:
        raise UsageError("--grid-size and --coordinates say two different things of the values. Leave one of them out.")
    est = dpfda.PerturbedFunction(**_parameters(stated), n=n)
    grid = None
    if grid_size is not None:
        from dpfda.bases import as_domain

        grid = as_domain(est.domain or (0.0, 1.0)).grid(grid_size)
    made = est.plan(grid=grid, coordinates=coordinates)
    click.echo(json.dumps(made.to_dict(), indent=1) if as_json else made.text())

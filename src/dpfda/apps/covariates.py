"""Come here for covariates on the command line: their names, their limits, and their columns in a file."""

from __future__ import annotations

from glob import escape
from typing import TYPE_CHECKING, Any

import click

import dpfda
from dpfda.apps.wishes import Source
from dpfda.errors import DataError, UsageError

if TYPE_CHECKING:
    import numpy as np

NAMES = click.option(
    "--covariates",
    required=True,
    metavar="NAME,NAME",
    help="Columns that the curves are regressed on: numbers; write categories as 0 and 1.",
)
LIMITS = [
    click.option(
        "--covariate-limits",
        metavar="LOW:HIGH,...",
        help="Public range of each covariate, in their order, e.g. 18:90,0:1; not read from the data.",
    ),
    click.option(
        "--covariate-bound",
        type=float,
        help="Instead of ranges: public bound on the Euclidean norm of the covariates together.",
    ),
    click.option("--no-intercept", is_flag=True, help="Fit no intercept: it is the public centre."),
]
RIDGE = click.option(
    "--ridge",
    type=float,
    help="Added to the diagonal of the moments of scaled covariates.  [default: chosen after the noise, free]",
)


def names_of(text: str) -> tuple[str, ...]:
    """Names separated by commas."""
    names = tuple(part.strip() for part in text.split(","))
    if not all(names) or len({*names, "intercept"}) <= len(names):
        raise UsageError(
            f"--covariates takes different names separated by commas, e.g. age,sex, none of them 'intercept'; got "
            f"{text!r}."
        )
    return names


def limits_of(text: str | None, bound: float | None) -> list[tuple[float, float]] | None:
    """Pairs of numbers, one for each covariate; what the estimator would refuse too, here in words of the command."""
    if (text is None) == (bound is None):
        raise UsageError(
            "Covariates need public ranges known in advance, e.g. --covariate-limits 18:90,0:1, or else "
            "--covariate-bound 3, and not both. They may not be read from the data."
        )
    if text is None:
        return None
    try:
        pairs = [tuple(float(end) for end in part.split(":")) for part in text.split(",")]
    except ValueError:
        pairs = []
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise UsageError(
            f"--covariate-limits takes one range LOW:HIGH for each covariate, separated by commas, e.g. 18:90,0:1; got "
            f"{text!r}."
        )
    return [(low, high) for low, high in pairs]


def check_columns(source: Source, names: tuple[str, ...], limits: list[tuple[float, float]] | None) -> None:
    """Covariates are columns of the file, none is a value of the curves too, and each has its range."""
    from dpfda.records import read_header
    from dpfda.records.curves import choose_columns

    if limits is not None and len(limits) != len(names):
        raise UsageError(
            f"There are {len(names)} covariates and {len(limits)} ranges in --covariate-limits: one range for each."
        )
    header = read_header(source.file)
    for name in names:
        choose_columns(header, escape(name), None)  # refuses a name that is not there
    values = choose_columns(header, source.values, None if source.unit == "row" else source.unit)
    both = [name for name in names if name in values or name == source.unit]
    if both:
        raise UsageError(
            f"Column {both[0]!r} cannot be a covariate and a value of the curves, or the privacy unit, at once. Name "
            "the value columns by another pattern."
        )


def read_covariates(source: Source, names: tuple[str, ...]) -> Any:
    """The columns of covariates as a table with their names; a cell that is no number is missing."""
    import numpy as np
    import pyarrow as pa

    columns = {name: dpfda.read_curves(source.file, values=escape(name)) for name in names}
    table = _read(columns)
    if table is None:
        # Out here and with one constant text: nothing about the records.
        raise DataError("The covariates could not be read. Check that the file can be read. Nothing was charged.")
    return pa.table({name: pa.array(np.asarray(column)) for name, column in table.items()})


def _read(columns: dict[str, dpfda.Curves]) -> dict[str, np.ndarray[Any, Any]] | None:
    import numpy as np

    try:
        return {name: np.concatenate([*curves.batches(2**16)])[:, 0] for name, curves in columns.items()}
    except Exception:
        return None

"""Covariates on the command line: their names, their limits, and their columns in a file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpfda.arrays import brief
from dpfda.cli.values import SourceOptions
from dpfda.errors import DataError, UsageError

if TYPE_CHECKING:
    from dpfda.records.files import Table


@dataclass(frozen=True, slots=True)
class Named:
    """The columns that are covariates, and the declared levels of some of them."""

    columns: tuple[str, ...]
    levels: dict[str, tuple[str, ...]]

    @property
    def ranges(self) -> int:
        """How many of them need a range."""
        return len(self.columns) - len(self.levels)


def names_of(text: str) -> Named:
    """Names separated by commas, some with levels."""
    columns, levels = [], {}
    for part in text.split(","):
        name, sign, listed = (piece.strip() for piece in part.partition("="))
        columns.append(name)
        if sign:
            levels[name] = tuple(level.strip() for level in listed.split("|"))
            if len(set(levels[name])) < max(2, len(levels[name])) or not all(levels[name]):
                raise UsageError(
                    "--covariates takes two or more different levels of a column, separated by |, e.g. "
                    f"'age,sex=female|male'; got {brief(part.strip())}."
                )
    if not all(columns) or len({*columns, "intercept"}) <= len(columns):
        raise UsageError(
            f"--covariates takes different names separated by commas, e.g. age,sex, none of them 'intercept'; got "
            f"{brief(text)}."
        )
    return Named(tuple(columns), levels)


def limits_of(text: str | None, bound: float | None, named: Named | None) -> list[tuple[float, float]] | None:
    """Pairs of numbers, one for each covariate; what the estimator would refuse too, here in words of the command."""
    needed = named is None or named.ranges > 0
    if text is None and bound is None and not needed:
        return None
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
    if not pairs or any(len(pair) != 2 or not -math.inf < pair[0] < pair[1] < math.inf for pair in pairs):
        raise UsageError(
            "--covariate-limits takes one range LOW:HIGH, LOW below HIGH, for each covariate, separated by commas, "
            f"e.g. 18:90,0:1; got {brief(text)}."
        )
    if named is not None and len(pairs) != named.ranges:
        without = " without levels" if named.levels else ""
        raise UsageError(
            f"There are {named.ranges} covariates{without} and {len(pairs)} ranges in --covariate-limits: one range "
            "for each."
        )
    return [(low, high) for low, high in pairs]


def check_columns(table: Table, source: SourceOptions, named: Named) -> None:
    """Covariates are columns of the file, and none is a value of the curves too."""
    from dpfda.records.columns import check_column, choose_columns

    header = list(table.columns)
    for name in named.columns:
        check_column(header, name, "a covariate")
    values = choose_columns(header, source.values, None if source.unit == "row" else source.unit)
    both = [name for name in named.columns if name in values or name == source.unit]
    if both:
        raise UsageError(
            f"Column {brief(both[0])} cannot be a covariate and a value of the curves, or the privacy unit, at once. "
            "Name the value columns by another pattern."
        )


def read_covariates(table: Table, named: Named) -> Any:
    """The columns of covariates as a table with their names; texts where levels are declared."""
    covariates = _read(table, named)
    if covariates is None:
        # Out here and with one constant text: nothing about the records.
        raise DataError("The covariates could not be read. Check that the file can be read. Nothing was charged.")
    return covariates


def empty_covariates(curves: Any, named: Named) -> Any:
    """A table of missing covariates, as many as there are rows, where only the charge is asked about."""
    import numpy as np
    import pyarrow as pa

    texts, missing = pa.array(np.full(curves.rows, "")), pa.array(np.full(curves.rows, np.nan))
    return pa.table({name: texts if name in named.levels else missing for name in named.columns})


def _read(table: Table, named: Named) -> Any:
    import numpy as np
    import pyarrow as pa

    from dpfda.records.files import ParquetTable

    try:
        if isinstance(table, ParquetTable):
            from pyarrow import parquet

            return parquet.read_table(table.file, columns=list(named.columns))
        columns = {}
        for name in named.columns:
            reader = table.source((name,), name)
            if name in named.levels:
                columns[name] = pa.array(reader.texts(name), pa.large_string())
            else:
                columns[name] = pa.array(np.concatenate([np.empty((0, 1)), *reader.batches(2**16)])[:, 0])
        return pa.table(columns)
    except Exception:
        return None

"""Records that are covariates and a curve: two tables side by side, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.arrays import Array, ArrayLike
from dpfda.errors import DataError, UsageError
from dpfda.messages import arg
from dpfda.records.cells import as_numbers, check_unit_type, columns_of
from dpfda.records.columns import choose_columns
from dpfda.records.curves import Curves, Source
from dpfda.records.forgetting import reads_records
from dpfda.records.headers import called
from dpfda.records.identity import Identity, identify, named_units
from dpfda.records.memory import ArraySource, from_array, is_listed
from dpfda.records.tables import as_arrow, has_columns, is_pandas, table_of, with_units


@dataclass(frozen=True, slots=True)
class JoinedSource:
    """Rows that begin with covariates and go on with a curve; whose they are is said by the curves."""

    covariates: np.ndarray[Any, Any]  # (n, p)
    curves: Source

    @property
    def width(self) -> int:
        return int(self.covariates.shape[1]) + self.curves.width

    def rows(self) -> int:
        return self.curves.rows()

    def identity(self) -> Identity | None:
        return self.curves.identity()

    def batches(self, rows: int) -> Iterator[Array]:
        start = 0
        for batch in self.curves.batches(rows):
            yield np.concatenate([as_numbers(self.covariates[start : start + len(batch)]), batch], axis=1)
            start += len(batch)


def join(covariates: np.ndarray[Any, Any], curves: Curves) -> Curves:
    """Records of covariates and curves; the grid of the curves is left to the public facts."""
    if len(covariates) != curves.rows:
        # No numbers here: that of the rows may be private.
        raise UsageError(
            "Two tables that belong together must have the same number of rows: covariates or counts, one for each "
            "curve or point."
        )
    return Curves(JoinedSource(covariates, curves.source), None, curves.unit, curves.columns, curves.unused)


@reads_records
def curves_in_order(data: Any, *, grid: ArrayLike | str | None, units: object) -> Curves:
    """Curves in the order in which they were given, so that covariates can stand beside them."""
    from dpfda.records import as_curves

    if isinstance(data, Curves):
        curves = as_curves(data, grid=grid, units=units)
        if isinstance(curves.source, ArraySource) and curves.source.units is not None:
            raise UsageError(
                "These Curves have been put in the order of their units, and covariates would no longer fit. "
                "Pass the table or matrix itself, with ",
                arg("grid="),
                " and ",
                arg("units="),
                ".",
                parameter="units",
            )
        return curves
    data = with_units(data, units)
    rest, ids, name = without(data, units) if isinstance(units, str) else (data, *named_units(units))
    rest = rest.reset_index(drop=True) if is_pandas(rest) else rest
    curves = as_curves(rest, grid=grid, units=None)
    if units is None:
        return curves
    table = curves.source.table  # type: ignore[attr-defined]
    return Curves(ArraySource(table, identify(ids, len(table))), curves.grid, name, curves.columns, curves.unused)


def without(frame: Any, unit: str) -> tuple[Any, object, str]:
    """A table without the column that says whose rows they are, and that column."""
    if hasattr(frame, "iloc") and hasattr(frame, "columns"):
        columns = [str(name) for name in frame.columns]
        choose_columns(columns, "*", unit)  # refuses a name that is not there, or stands twice
        place = columns.index(unit)
        return frame.drop(columns=frame.columns[place]), frame.iloc[:, place], unit
    if not hasattr(frame, "__arrow_c_stream__"):
        raise UsageError(
            arg("units", unit),
            " names a column, and a matrix has none. Pass one identifier for each row.",
            parameter="units",
            value=unit,
        )
    table = as_arrow(frame)
    choose_columns(table.column_names, "*", unit)
    check_unit_type(table.schema, unit)
    return table.drop_columns([unit]), table[unit], unit


def as_covariates(data: Any, size: int | None) -> tuple[np.ndarray[Any, Any], tuple[str, ...] | None]:
    """Covariates as a matrix, one row a record, and the names of its columns if it has any.

    `size` is the number of covariates if it was stated. Only types are looked at: a cell that is no number is missing.
    """
    if hasattr(data, "iloc"):
        table, names = _from_pandas(data)
    elif hasattr(data, "__arrow_c_stream__"):
        table, names = _from_arrow(data)
    else:
        table, names = _from_array(data, size), None
    if size is not None and table.shape[1] != size:
        raise UsageError(
            f"There are {table.shape[1]} covariate(s) in Z and {size} pair(s) in ",
            arg("covariate_limits"),
            ": one pair for each.",
            parameter="covariate_limits",
        )
    return table, names


def no_numbers(what: str) -> DataError:
    return DataError(
        f"{what} no numbers. Covariates are numbers; make 0/1 columns of categories, e.g. by pandas.get_dummies."
    )


def _from_pandas(data: Any) -> tuple[np.ndarray[Any, Any], tuple[str, ...] | None]:
    if not hasattr(data, "columns"):
        if data.dtype.kind not in "fiub":
            raise no_numbers("The covariate holds")
        return as_numbers(data.to_numpy())[:, None], None if data.name is None else (str(data.name),)
    names = tuple(str(name) for name in data.columns)
    for place, name in enumerate(names):
        if data.iloc[:, place].dtype.kind not in "fiub":
            raise no_numbers(f"{called(name, names)} of the covariates holds")
    if not names:
        raise UsageError("There are no covariates: Z has no columns.", parameter="Z")
    return np.stack([as_numbers(data.iloc[:, place].to_numpy()) for place in range(len(names))], axis=1), names


def _from_arrow(data: Any) -> tuple[np.ndarray[Any, Any], tuple[str, ...] | None]:
    import pyarrow as pa

    table = as_arrow(data) if has_columns(data) else table_of(data).rename_columns(["z1"])
    for name in table.column_names:
        kind = table.schema.field(name).type
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
            raise no_numbers(f"{called(name, table.column_names)} of the covariates holds")
    if not table.column_names:
        raise UsageError("There are no covariates: Z has no columns.", parameter="Z")
    return columns_of(table, table.column_names), tuple(table.column_names)


def _from_array(data: Any, size: int | None) -> np.ndarray[Any, Any]:
    if is_listed(data):
        if size is None:
            raise UsageError(
                "A list has no public width: each of its rows could have its own. Pass ",
                arg("covariate_limits"),
                ", or covariates as an array: numpy.asarray(Z, dtype=float).",
                parameter="covariate_limits",
            )
        # Row by row: numpy would read all of them as text because of one word.
        return np.asarray(from_array(data, np.arange(size, dtype=np.float64), None).source.table)  # type: ignore[attr-defined]
    if isinstance(data, np.ma.MaskedArray):
        data = np.ma.filled(data.astype(np.float64), np.nan)
    array = np.asarray(data)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise UsageError(
            f"Covariates are a matrix, one row a record and one column a covariate, or a vector for one covariate; got "
            f"{np.asarray(data).ndim} dimension(s){'' if array.ndim != 2 else ' and no columns'}.",
            parameter="Z",
        )
    if array.dtype.kind not in "fiub":
        raise no_numbers(
            f"The covariates are an array of type {array.dtype.name if array.dtype.kind != 'U' else 'text'}:"
        )
    return array

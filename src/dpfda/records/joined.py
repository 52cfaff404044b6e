"""Records that are covariates and a curve, side by side; covariates as numbers or as stated levels of categories."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.arrays import Array, ArrayLike, brief
from dpfda.errors import DataError, UsageError
from dpfda.messages import arg
from dpfda.records.cell_values import (
    as_numbers,
    cells_of,
    check_dtype,
    check_types,
    check_unit_type,
    columns_of,
    number,
)
from dpfda.records.columns import called, choose_columns
from dpfda.records.curves import Curves, Source
from dpfda.records.data_frames import (
    as_arrow,
    check_same_rows,
    from_pandas,
    has_columns,
    is_pandas,
    table_of,
    with_units,
)
from dpfda.records.forgetting import reads_records
from dpfda.records.identity import Identity, identify, named_units
from dpfda.records.memory import ArraySource, from_array, is_listed


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
    check_same_rows(data, ids, "units")
    rest = rest.reset_index(drop=True) if is_pandas(rest) else rest
    curves = as_curves(rest, grid=grid, units=None)
    if units is None:
        return curves
    assert isinstance(curves.source, ArraySource)  # of records in memory
    table = curves.source.table
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
    """The error for covariates whose declared type is not a number."""
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
        listed = from_array(data, np.arange(size, dtype=np.float64), None).source
        assert isinstance(listed, ArraySource)
        return listed.table
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


Levels = Mapping[str, tuple[str, ...]]  # by the name of a column, the first of each is what others are compared with


def check_levels(levels: object) -> dict[str, tuple[str, ...]]:
    """Public levels of columns as texts; at least two for each, all different."""
    if levels is None:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for name, each in levels.items() if isinstance(levels, Mapping) else [(levels, ())]:
        listed = tuple(each) if isinstance(each, list | tuple) else ()
        keys = {_key(level) for level in listed}
        if not isinstance(name, str) or len(listed) < 2 or len(keys) < len(listed) or None in keys:
            raise UsageError(
                parameter="covariate_levels",
                value=levels,
                rule=(
                    "gives the public levels of columns, two or more that differ, as texts or numbers, e.g. "
                    "{'sex': ('female', 'male')}"
                ),
            )
        found[name] = tuple(str(level).strip() for level in listed)
    return found


def columns_for(name: str, levels: Levels) -> tuple[str, ...]:
    """The covariates that a column becomes: itself, or one for each of its levels but the first."""
    return tuple(f"{name}={level}" for level in levels[name][1:]) if name in levels else (name,)


@reads_records
def covariate_table(data: Any, levels: Levels, size: int | None) -> tuple[np.ndarray[Any, Any], tuple[str, ...] | None]:
    """Covariates as a matrix, one row a record, and the names of its columns if it has any.

    `size` is the number of columns without levels if it was stated. No cell decides whether there is an error: one that
    is no number, or none of the levels of its column, is missing, whatever type the whole column has because of it.
    """
    if not levels:
        return as_covariates(_numbers(data), size)
    columns = _columns(data)
    names = [name for name, _ in columns]
    for name in levels:
        if names.count(name) != 1:
            raise UsageError(
                parameter="covariate_levels", rule=f"names {brief(name)}, which must be one column of Z, among {names}"
            )
    plain = len(names) - len(levels)
    if size is not None and plain != size:
        raise UsageError(
            f"There are {plain} covariate(s) without levels in Z and {size} pair(s) in ",
            arg("covariate_limits"),
            ": one pair for each of them, none for those with levels.",
            parameter="covariate_limits",
        )
    made = [column for name in names for column in columns_for(name, levels)]
    if len(set(made)) < len(made):
        raise UsageError(f"Columns and levels make two covariates of one name: {', '.join(made)}. Rename a column.")
    parts = [
        indicators(_cells(column, name), levels[name]) if name in levels else _floats(column, name)[:, None]
        for name, column in columns
    ]
    return np.concatenate(parts, axis=1), tuple(made)


def indicators(cells: Iterable[object], levels: tuple[str, ...]) -> Array:
    """A column of 0 and 1 for each level but the first; NaN where a cell is none of the levels, (n, levels - 1)."""
    places = {_key(level): place for place, level in enumerate(levels)}
    codes = np.array([places.get(_key(cell), -1) for cell in cells], dtype=np.int64)
    table: Array = (codes[:, None] == np.arange(1, len(levels))).astype(np.float64)
    table[codes < 0] = np.nan
    return table


def _key(cell: object) -> float | str | None:
    """What a cell is compared by: a number however it is written, or its text; None: it is missing.

    Numbers, because one missing cell turns a column of 1 into 1.0 and one word turns it into text.
    """
    value = number(cell)
    if math.isfinite(value):
        return value
    return (cell.strip() or None) if isinstance(cell, str) else None


def _floats(column: Any, name: str) -> Array:
    """Numbers where cells are numbers, NaN elsewhere; the same for a cell whatever the others make of the type."""
    kind = str(getattr(column, "type", getattr(column, "dtype", "")))
    if kind == "category" or kind.startswith("dictionary"):
        # By its type, which somebody has declared, not by what a cell holds.
        raise DataError(
            f"Column {brief(name)} of the covariates is a category. Declare its levels, e.g. ",
            arg("covariate_levels", {name: ("a", "b")}),
            ", or make 0/1 columns by pandas.get_dummies with fixed categories.",
        )
    try:
        if hasattr(column, "iloc"):
            return from_pandas(column.to_frame(name), [name])[:, 0]
        if hasattr(column, "to_pylist"):
            import pyarrow as pa

            check_types(pa.schema([(name, column.type)]), [name])
            return columns_of(pa.table({name: column}), [name])[:, 0]
    except DataError:
        raise no_numbers(f"{called(name, [name])} of the covariates holds") from None
    array = np.asarray(column)
    check_dtype(array.dtype, "The covariates are an array")
    return as_numbers(array)


def _numbers(data: Any) -> Any:
    """The same table or array with numbers alone."""
    if is_listed(data):
        return data  # read row by row, each cell by itself
    if hasattr(data, "iloc"):
        import pandas as pd

        if not hasattr(data, "columns"):
            return pd.Series(_floats(data, str(data.name)), name=data.name)
        if not len(data.columns):
            return data
        numbers = np.stack([_floats(column, name) for name, column in _columns(data)], axis=1)
        return pd.DataFrame(numbers, columns=[str(name) for name in data.columns])
    if hasattr(data, "__arrow_c_stream__"):
        import pyarrow as pa

        columns = _columns(data)
        return pa.Table.from_arrays(
            [pa.array(_floats(column, name)) for name, column in columns], [name for name, _ in columns]
        )
    if isinstance(data, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(data), np.nan, _floats(np.asarray(data.data), ""))
    array = np.asarray(data)
    return array if array.dtype.kind in "fiubV" else _floats(array, "")


def _columns(data: Any) -> list[tuple[str, Any]]:
    """The columns of a data frame or table, in their order."""
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        return [(str(name), data.iloc[:, place]) for place, name in enumerate(data.columns)]
    if not hasattr(data, "__arrow_c_stream__"):
        raise UsageError(
            parameter="covariate_levels", rule="names columns: pass covariates as a data frame or table that has them"
        )
    if has_columns(data):
        table = as_arrow(data)
    else:
        table = (as_arrow(data.to_frame()) if hasattr(data, "to_frame") else table_of(data)).rename_columns(["z1"])
    return [(name, table.column(place)) for place, name in enumerate(table.column_names)]


def _cells(column: Any, name: str) -> np.ndarray[Any, Any]:
    """A column as an array, of numbers or of objects; a declared type that holds neither numbers nor texts is none."""
    if not hasattr(column, "to_pylist"):
        array = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
        check_dtype(array.dtype, f"Column {brief(name)} of the covariates is")
        return array
    import pyarrow as pa

    kind = column.type
    check_types(pa.schema([(name, kind)]), [name])
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        # Unsafe casts round large integers; safe ones would raise, because of one record.
        return np.asarray(column.cast(pa.float64(), safe=False))
    cells = np.empty(len(column), dtype=object)
    cells[:] = [cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell for cell in cells_of(column)]
    return cells

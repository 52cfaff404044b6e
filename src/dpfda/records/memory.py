"""Come here for curves that are already in memory: arrays, scikit-fda objects, data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.arrays import Array, ArrayLike
from dpfda.errors import DataError, UsageError
from dpfda.records.cells import as_numbers, check_types, check_unit_type, columns_of, ids_of, number
from dpfda.records.curves import Curves, Ids, choose_columns, grid_of, name_columns
from dpfda.records.headers import called
from dpfda.records.units import UnitIndex, check_units, named, named_units


@dataclass(frozen=True, slots=True)
class ArraySource:
    """Rows of a matrix; converted a batch at a time."""

    table: np.ndarray[Any, Any]  # (n, q)
    unit_ids: Ids | None

    @property
    def width(self) -> int:
        return int(self.table.shape[1])

    def rows(self) -> int:
        return len(self.table)

    def ids(self) -> Ids | None:
        return self.unit_ids

    def batches(self, rows: int) -> Iterator[Array]:
        for start in range(0, len(self.table), rows):
            yield as_numbers(self.table[start : start + rows])


def from_array(values: ArrayLike, grid: Array | None, units: object) -> Curves:
    """Curves from a matrix, one row a curve."""
    table = _matrix(values, grid)
    if table.dtype.kind == "c":
        raise UsageError("Complex data not supported: curves are real functions.")
    # No message says how many rows there are: that may be private.
    if table.ndim != 2:
        raise UsageError(
            f"Curves are a matrix, one row a curve and one column a grid point, got {table.ndim} dimension(s). "
            "Reshape your data: a single curve with X.reshape(1, -1), surfaces with X.reshape(len(X), -1) and grid=."
        )
    if table.shape[1] == 0:
        raise UsageError("0 feature(s) (shape=(, 0)) while a minimum of 1 is required: no values in the curves.")
    if units is None:
        return Curves(_reordered(table, None), grid, None)
    given, name = named_units(units)
    return Curves(_reordered(table, check_units(given, len(table))), grid, name)


def _matrix(values: ArrayLike, grid: Array | None) -> np.ndarray[Any, Any]:
    if hasattr(values, "tocsr") or type(values).__module__.startswith("scipy.sparse"):
        raise UsageError("Sparse input is not supported: curves are dense. Use X.toarray().")
    if isinstance(values, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(values), np.nan, as_numbers(np.asarray(values.data)))
    if isinstance(values, Iterable) and not (isinstance(values, str | Mapping | Set) or is_array(values)):
        if grid is None:
            raise UsageError(
                "A list has no public width: each of its rows could have its own. Pass grid=, so that every row is cut "
                "or padded to it, or an array: numpy.asarray(X, dtype=float)."
            )
        table = [_row(row, len(grid)) for row in values]
        return np.array(table, dtype=np.float64).reshape(len(table), len(grid))
    with suppress(Exception):
        return np.asarray(values)
    raise UsageError("The curves cannot be read as an array. Pass a matrix of numbers, one row a curve.")


def is_array(values: object) -> bool:
    """Whether it has one type for all its cells; numpy would choose one for a list, by all of them together."""
    with suppress(TypeError, ValueError):  # dates are no numbers in a buffer
        memoryview(values)  # type: ignore[arg-type]
        return True
    return any(hasattr(values, name) for name in ("__array__", "__array_interface__", "__array_struct__", "__dlpack__"))


def _row(row: Any, width: int) -> list[float]:
    """One record of a list, cut or padded; by itself, since numpy would read all rows as text because of one word."""
    cells: list[float] = []
    with suppress(Exception):
        # A text is one cell, not a row of letters; so is an array without dimensions.
        alone = isinstance(row, str | bytes) or not hasattr(row, "__iter__") or getattr(row, "ndim", 1) == 0
        cells = [number(cell) for cell in ([row[()] if hasattr(row, "ndim") else row] if alone else row)][:width]
    return cells + [float("nan")] * (width - len(cells))


def _reordered(table: np.ndarray[Any, Any], ids: Ids | None) -> ArraySource:
    """Rows with those of each unit together, so that one pass suffices."""
    if ids is None:
        return ArraySource(table, None)
    index = UnitIndex.build(ids)
    if index.grouped:
        return ArraySource(table, index.codes)
    order = np.argsort(np.where(index.codes < 0, index.size, index.codes), kind="stable")
    return ArraySource(table[order], index.codes[order])


def from_fdatagrid(data: Any, grid: Array | None, units: object) -> Curves:
    """Curves from a scikit-fda FDataGrid, read by its attributes."""
    if grid is not None:
        raise UsageError("An FDataGrid has its own grid: leave grid= out.")
    values = np.asarray(data.data_matrix)
    if values.shape[-1] != 1:
        raise UsageError(f"Curves must have one value at each point, got {values.shape[-1]}. Release each by itself.")
    axes = np.meshgrid(*[np.asarray(axis, dtype=np.float64) for axis in data.grid_points], indexing="ij")
    points = np.stack([axis.ravel() for axis in axes], axis=1)
    return from_array(values.reshape(len(values), -1), points[:, 0] if points.shape[1] == 1 else points, units)


def from_frame(
    frame: Any, *, values: str | None = None, unit: object = None, grid: ArrayLike | str | None = None
) -> Curves:
    """Curves from a wide table: a pandas frame, or whatever speaks the Arrow C stream (polars, duckdb, pyarrow)."""
    if not (hasattr(frame, "iloc") and hasattr(frame, "columns")):
        return from_table(frame, values=values, unit=unit, grid=grid)
    columns = [str(name) for name in frame.columns]
    column = unit if isinstance(unit, str) else None
    chosen = choose_columns(columns, values, column)
    place_of = {name: place for place, name in enumerate(columns)}  # a search for each of many columns would not end
    types = list(frame.dtypes)
    words = [name for name in chosen if types[place_of[name]].kind not in "fiubO"]
    if words:
        raise DataError(
            f"{called(words[0], columns)} does not hold numbers. Name the value columns, e.g. "
            "dpfda.records.from_frame(frame, values='t*', unit='ID')."
        )
    table = np.stack([as_numbers(frame.iloc[:, place_of[name]].to_numpy()) for name in chosen], axis=1)
    ids = frame.iloc[:, place_of[column]] if column is not None else unit
    curves = from_array(table, grid_of(grid, chosen), ids)
    return Curves(curves.source, curves.grid, column or curves.unit, name_columns(chosen, columns))


def from_table(frame: Any, *, values: str | None, unit: object, grid: ArrayLike | str | None) -> Curves:
    """Curves from anything that speaks the Arrow C stream."""
    import pyarrow as pa

    try:
        table = pa.table(frame)
    except (TypeError, pa.ArrowInvalid):
        raise UsageError("Curves are a table, one row a curve and one column a grid point, not one column.") from None
    column = unit if isinstance(unit, str) else None
    chosen = choose_columns(table.column_names, values, column)
    check_types(table.schema, chosen)
    if column is not None:
        check_unit_type(table.schema, column)
    matrix = columns_of(table, chosen)
    ids = named(ids_of(table[column])) if column is not None else unit
    curves = from_array(matrix, grid_of(grid, chosen), ids)
    return Curves(curves.source, curves.grid, column or curves.unit, name_columns(chosen, table.column_names))

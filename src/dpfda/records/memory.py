"""Curves in memory: arrays, scikit-fda objects, data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from dpfda.arrays import Array, ArrayLike
from dpfda.errors import UsageError
from dpfda.messages import arg
from dpfda.records.cell_values import as_numbers, check_dtype, check_types, check_unit_type, columns_of, number
from dpfda.records.columns import Values, check_curve, check_rows, choose_columns, grid_of, in_few_words, listed, unused
from dpfda.records.curves import Curves
from dpfda.records.data_frames import as_arrow, check_same_rows, from_pandas, is_pandas, names_of
from dpfda.records.forgetting import reads_records
from dpfda.records.identity import Identity, identify, named_units


@dataclass(frozen=True, slots=True)
class ArraySource:
    """Rows of a matrix; converted a batch at a time."""

    table: np.ndarray[Any, Any]  # (n, q)
    units: Identity | None

    @property
    def width(self) -> int:
        return int(self.table.shape[1])

    def rows(self) -> int:
        return len(self.table)

    def identity(self) -> Identity | None:
        return self.units

    def batches(self, rows: int) -> Iterator[Array]:
        for start in range(0, len(self.table), rows):
            yield as_numbers(self.table[start : start + rows])


def from_array(values: ArrayLike, grid: Array | None, units: object) -> Curves:
    """Curves from a matrix, one row a curve."""
    table = _matrix(values, grid)
    check_dtype(table.dtype, "The curves are an array")
    # No message says how many rows there are: that may be private.
    if table.ndim != 2:
        raise UsageError(
            f"Curves are a matrix, one row a curve and one column a grid point, got {table.ndim} "
            "dimension(s). Reshape your data: a single curve with X.reshape(1, -1), surfaces with "
            "X.reshape(len(X), -1) and ",
            arg("grid="),
            ".",
            parameter="X",
        )
    if table.shape[1] == 0:
        raise UsageError(
            "0 feature(s) (shape=(, 0)) while a minimum of 1 is required: no values in the curves.", parameter="X"
        )
    if units is None:
        return Curves(ArraySource(table, None), grid, None)
    given, name = named_units(units)
    return Curves(_reordered(table, identify(given, len(table))), grid, name)


def _matrix(values: Any, grid: Array | None) -> np.ndarray[Any, Any]:
    if hasattr(values, "tocsr") or type(values).__module__.startswith("scipy.sparse"):
        raise UsageError("Sparse input is not supported: curves are dense. Use X.toarray().", parameter="X")
    if isinstance(values, np.ma.MaskedArray):
        check_dtype(values.dtype, "The curves are an array")
        return np.where(np.ma.getmaskarray(values), np.nan, as_numbers(np.asarray(values.data)))
    if is_listed(values):
        if grid is None:
            raise UsageError(
                "A list has no public width: each of its rows could have its own. Pass ",
                arg("grid="),
                ", so that every row is cut or padded to it, or an array: numpy.asarray(X, dtype=float).",
                parameter="grid",
            )
        table = [_row(row, len(grid)) for row in values]
        return np.array(table, dtype=np.float64).reshape(len(table), len(grid))
    with suppress(Exception):
        return np.asarray(values)
    raise UsageError("The curves cannot be read as an array. Pass a matrix of numbers, one row a curve.", parameter="X")


def is_listed(values: object) -> bool:
    """Whether it holds rows or cells one by one, as a list does, each with a type of its own."""
    return isinstance(values, Iterable) and not (isinstance(values, str | bytes | Mapping | Set) or is_array(values))


def is_array(values: Any) -> bool:
    """Whether it has one type for all its cells; numpy would choose one for a list, by all of them together."""
    with suppress(TypeError, ValueError):  # a ValueError for dates, which a buffer cannot hold
        memoryview(values)
        return True
    return any(hasattr(values, name) for name in ("__array__", "__array_interface__", "__array_struct__", "__dlpack__"))


def _row(row: Any, width: int) -> list[float]:
    """One record of a list, cut or padded; by itself, since numpy would read all rows as text because of one word."""
    cells: list[float] = []
    with suppress(Exception):
        # A text is one cell, not a row of letters; so is an array without dimensions. The keys of a mapping, or the
        # members of a set, are no values in an order.
        alone = isinstance(row, str | bytes) or not hasattr(row, "__iter__") or getattr(row, "ndim", 1) == 0
        if isinstance(row, Mapping | Set) or getattr(row, "ndim", 1) > 1:
            row = ()
        row = [row[()] if hasattr(row, "ndim") else row] if alone else row
        cells = [number(cell) for cell in islice(row, width)]  # an iterator may have no end
    return cells + [float("nan")] * (width - len(cells))


def _reordered(table: np.ndarray[Any, Any], units: Identity) -> ArraySource:
    """Rows with those of each unit together, so that one pass suffices."""
    if units.grouped:
        return ArraySource(table, units)
    order = np.argsort(np.where(units.codes < 0, units.size, units.codes), kind="stable")
    return ArraySource(table[order], units[order])


def from_fdatagrid(data: Any, grid: Array | None, units: object) -> Curves:
    """Curves from a scikit-fda FDataGrid, read by its attributes."""
    if grid is not None:
        raise UsageError("An FDataGrid has its own grid: leave ", arg("grid="), " out.", parameter="grid")
    values = np.asarray(data.data_matrix)
    if values.shape[-1] != 1:
        raise UsageError(
            f"Curves must have one value at each point, got {values.shape[-1]}. Release each by itself.", parameter="X"
        )
    axes = np.meshgrid(*[np.asarray(axis, dtype=np.float64) for axis in data.grid_points], indexing="ij")
    points = np.stack([axis.ravel() for axis in axes], axis=1)
    return from_array(values.reshape(len(values), -1), points[:, 0] if points.shape[1] == 1 else points, units)


@reads_records
def from_frame(
    frame: Any,
    *,
    values: Values | None = None,
    unit: object = None,
    grid: ArrayLike | str | None = None,
    rows: str | None = None,
) -> Curves:
    """Curves from a wide table: a pandas frame, or whatever speaks the Arrow C stream (polars, duckdb, pyarrow).

    Arguments as for `dpfda.read_curves`; `unit` may be a vector of identifiers too.
    """
    table = _table(frame)
    column = unit if isinstance(unit, str) else None
    columns = names_of(table) if is_pandas(table) else list(table.column_names)
    chosen = choose_columns(columns, values, column)
    check_curve(chosen, columns)
    left = unused(columns, (*chosen, *(() if column is None else (column,))))
    check_rows(rows, left)
    curves = _curves(table, columns, chosen, unit, grid_of(grid, chosen))
    return replace(curves, unused=listed(left, columns) if left else "")


@reads_records
def points_from_frame(frame: Any, unit: object) -> Curves:
    """Points from a table: all columns but the unit's are coordinates."""
    table = _table(frame)
    columns = names_of(table) if is_pandas(table) else list(table.column_names)
    return _curves(table, columns, choose_columns(columns, "*", unit if isinstance(unit, str) else None), unit, None)


def _table(frame: Any) -> Any:
    return frame if is_pandas(frame) else as_arrow(frame)


def _curves(table: Any, columns: list[str], chosen: list[str], unit: object, grid: Array | None) -> Curves:
    """The chosen columns of a pandas frame or an Arrow table; `unit` names a column, or holds the identifiers."""
    column = unit if isinstance(unit, str) else None
    if is_pandas(table):
        matrix = from_pandas(table, chosen)
        ids = table.iloc[:, columns.index(column)] if column is not None else unit
        check_same_rows(table, named_units(ids)[0], "units")
    else:
        check_types(table.schema, chosen)
        if column is not None:
            check_unit_type(table.schema, column)
        matrix = columns_of(table, chosen)
        ids = table[column] if column is not None else unit
    curves = from_array(matrix, grid, ids)
    return Curves(curves.source, curves.grid, column or curves.unit, in_few_words(chosen, columns))

"""Cells as numbers, one by one, without an error that would show one.

One rule for every container. What a *declared* type says about a whole column is public: dates, times and nested
values are refused before anything is charged (`check_types`, `check_dtype`). Every other type can be the work of one
person's cell: one word makes text of a numpy array, a pandas, Arrow or polars column, one complex number makes all of
them complex. There each cell is read by itself: a number counts however it is written, anything else is a gap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from dpfda.arrays import Array, brief
from dpfda.errors import DataError, UsageError
from dpfda.records.columns import called

TRUTH = {"true": 1.0, "false": 0.0}  # as text: a word in a column of truth values makes all of them text
CELLWISE = "fiubcmUSTO"  # kinds of numpy types that are read cell by cell, if they are no numbers to begin with

# Types of polars that Arrow cannot hold, or holds as addresses in memory. Each can be the work of one cell.
BEYOND_ARROW = ("Object", "Int128", "UInt128")


def as_numbers(table: np.ndarray[Any, Any]) -> Array:
    """An array as doubles, NaN where a cell holds no number; never an error, which would show a cell."""
    if table.dtype.kind in "fiub":
        # A number beyond doubles would warn, and the warning would be about one record.
        with np.errstate(all="ignore"):
            return table.astype(np.float64, copy=False)
    if table.dtype.kind == "c":
        return np.where(table.imag == 0, table.real, np.nan).astype(np.float64, copy=False)
    if table.dtype.kind == "m":
        # One span of time makes spans of all whole numbers in an array; what is missing among them is a gap.
        return np.where(np.isnat(table), np.nan, table.astype(np.int64).astype(np.float64))
    return np.array([number(cell) for cell in table.ravel()], dtype=np.float64).reshape(table.shape)


def cells_of(column: Any) -> list[Any]:
    """The cells of an Arrow column, one by one; texts come as bytes, since one that is no UTF-8 would be an error."""
    import pyarrow as pa

    with suppress(pa.ArrowException):  # polars has texts that Arrow cannot convert, and they are UTF-8
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            column = column.cast(pa.large_binary())
    return [_held(cell) for cell in column]


def _held(cell: Any) -> object:
    try:
        return cell.as_py()
    except Exception:  # a date beyond all calendars
        return None


def number(cell: object) -> float:
    """The number in one cell, NaN if there is none; the same whatever the other cells of the column hold."""
    if type(cell) is float:
        return cell
    with suppress(Exception):
        if isinstance(cell, bytes):
            cell = cell.decode("utf-8", "replace")
        if isinstance(cell, str):
            return _written(cell)
        if isinstance(cell, complex | np.complexfloating):
            # One complex number makes complex numbers of all others, without an imaginary part.
            return float(cell.real) if cell.imag == 0 else math.nan
        if isinstance(cell, Real | Decimal | np.bool_) and not isinstance(cell, np.timedelta64):
            with np.errstate(all="ignore"):
                return float(cell)
    return math.nan


def _written(text: str) -> float:
    text = text.strip()
    if text.lower() in TRUTH:
        return TRUTH[text.lower()]
    return number(complex(text)) if text.endswith("j)") else float(text)


def columns_of(batch: Any, names: Iterable[str]) -> Array:
    """The named columns of an Arrow table or batch as a matrix, (m, q), column after column in memory."""
    columns = [batch.column(name) for name in names]
    matrix = np.empty((len(columns), batch.num_rows))
    with np.errstate(all="ignore"):
        for row, column in zip(matrix, columns, strict=True):
            row[:] = doubles(column)
    return matrix.T


def doubles(column: Any) -> np.ndarray[Any, Any]:
    """An Arrow column as numbers, NaN where a cell holds none."""
    import pyarrow as pa
    from pyarrow import compute

    kind = column.type
    if pa.types.is_floating(kind):
        return np.asarray(column)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        # Unsafe casts round large integers; safe ones would raise, because of one record.
        return np.asarray(column.cast(pa.float64(), safe=False))
    if isinstance(kind, pa.BaseExtensionType):
        return doubles(column.cast(kind.storage_type))
    if pa.types.is_dictionary(kind):
        return doubles(column.cast(kind.value_type))
    if pa.types.is_run_end_encoded(kind):
        return doubles(compute.run_end_decode(column))
    # As bytes: text that is no UTF-8 would raise.
    return np.array([number(cell) for cell in column.cast(pa.large_binary()).to_pylist()], dtype=np.float64)


def check_unit_type(schema: Any, name: str) -> None:
    """Refuse a column of identifiers whose declared type is nested: lists and structures name no unit."""
    import pyarrow as pa

    kind = schema.field(name).type
    if pa.types.is_nested(kind) and not pa.types.is_run_end_encoded(kind):
        raise DataError(f"Column {brief(name)} holds {kind}, which cannot name a privacy unit. Use text or numbers.")


def check_types(schema: Any, names: list[str] | tuple[str, ...]) -> None:
    """Refuse columns whose declared types no single cell can bring about, and which hold no numbers."""
    for name in names:
        kind = schema.field(name).type
        if not _cellwise(kind):
            raise DataError(
                f"{called(name, schema.names)} holds {kind}, not numbers.",
                fix="Choose the value columns by a pattern: 't*'.",
            )


def _cellwise(kind: Any) -> bool:
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return _cellwise(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _cellwise(kind.value_type)
    return not (pa.types.is_temporal(kind) or pa.types.is_nested(kind))


def check_dtype(kind: Any, what: str) -> None:
    """Refuse a numpy type that no single cell can bring about: dates, records of fields."""
    if kind.kind not in CELLWISE:
        raise UsageError(f"{what} of type {kind.name if kind.names is None else 'record'}, not of numbers.")

"""Come here for how cells become numbers, without an error that would show one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.errors import DataError
from dpfda.records.headers import called

# What tools write where a row does not say whose it is.
NO_ID = ["", "NA", "<NA>", "N/A", "n/a", "NaN", "nan", "NaT", "None", "NULL", "null", "."]


def as_numbers(table: np.ndarray[Any, Any]) -> Array:
    """Numbers where there are numbers, NaN elsewhere; never an error that would show a cell."""
    if table.dtype.kind in "fiub":
        # A number beyond doubles would warn, and the warning would be about one record.
        with np.errstate(all="ignore"):
            return table.astype(np.float64, copy=False)
    return np.array([number(cell) for cell in table.ravel()], dtype=np.float64).reshape(table.shape)


def number(cell: object) -> float:
    if isinstance(cell, complex | np.complexfloating | np.ndarray):
        return float("nan")  # float() of these would warn
    try:
        return float(cell)  # type: ignore[arg-type]
    except Exception:
        return float("nan")


def columns_of(batch: Any, names: Iterable[str]) -> Array:
    """The named columns of an Arrow table or batch as a matrix, (m, q), column after column in memory."""
    columns = [batch.column(name) for name in names]
    matrix = np.empty((len(columns), batch.num_rows))
    with np.errstate(all="ignore"):
        for row, column in zip(matrix, columns, strict=True):
            row[:] = np.asarray(_doubles(column))
    return matrix.T


def _doubles(column: Any) -> Any:
    import pyarrow as pa

    # Unsafe casts round large integers; safe ones would raise, because of one record.
    return column if pa.types.is_floating(column.type) else column.cast(pa.float64(), safe=False)


def ids_of(column: Any) -> Integers:
    """Numbers for the identifiers in an Arrow column, the same for the same identifier, -1 where it is missing.

    Never by way of numpy, where one missing identifier would turn all whole numbers into doubles and merge large ones.
    """
    import pyarrow as pa
    from pyarrow import compute

    chunked = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    if pa.types.is_dictionary(chunked.type):
        return _renumbered(chunked)
    if pa.types.is_floating(chunked.type):
        doubles = chunked.cast(pa.float64())
        # Adding zero makes one number of 0.0 and -0.0.
        chunked = compute.if_else(compute.is_finite(doubles), compute.add(doubles, 0.0), None)
    elif "string" in str(chunked.type):
        text = chunked.cast(pa.large_string())
        unknown = compute.is_in(compute.utf8_trim_whitespace(text), pa.array(NO_ID, pa.large_string()))
        chunked = compute.if_else(unknown, None, text)
    elif "binary" in str(chunked.type):
        raw = chunked.cast(pa.large_binary())
        unknown = compute.is_in(raw, pa.array([word.encode() for word in NO_ID], pa.large_binary()))
        chunked = compute.if_else(unknown, None, raw)
    encoded = chunked.dictionary_encode()
    parts = [np.asarray(chunk.indices.fill_null(-1), dtype=np.int64) for chunk in encoded.chunks]
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _renumbered(column: Any) -> Integers:
    """Numbers for a column whose chunks have dictionaries of their own, in which one number means several people."""
    import pyarrow as pa

    words = [chunk.dictionary for chunk in column.chunks]
    ends = np.cumsum([len(part) for part in words], dtype=np.int64)
    common = np.split(ids_of(pa.chunked_array(words, column.type.value_type)), ends)  # the last part is empty
    parts = [
        np.append(numbers, -1)[np.asarray(chunk.indices.cast(pa.int64()).fill_null(len(numbers)))]
        for numbers, chunk in zip(common[:-1], column.chunks, strict=True)
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def check_unit_type(schema: Any, name: str) -> None:
    import pyarrow as pa

    kind = schema.field(name).type
    if pa.types.is_nested(kind):
        raise DataError(f"Column {name!r} holds {kind}, which cannot name a privacy unit. Use text or numbers.")


def check_types(schema: Any, names: list[str] | tuple[str, ...]) -> None:
    import pyarrow as pa

    for name in names:
        kind = schema.field(name).type
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
            raise DataError(
                f"{called(name, schema.names)} holds {kind}, not numbers. Choose the value columns by a pattern: 't*'."
            )

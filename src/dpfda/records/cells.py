"""Come here for how cells become numbers, without an error that would show one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import DataError
from dpfda.records.headers import called


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

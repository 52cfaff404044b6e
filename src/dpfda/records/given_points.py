"""Come here for points as people hold them: vectors, matrices, data frames, and rows that stand for many people."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import UsageError
from dpfda.records.cells import as_numbers
from dpfda.records.curves import Curves
from dpfda.records.joined import curves_in_order, join, without
from dpfda.records.memory import from_array, from_frame


def as_points(data: Any, dimension: int, *, units: object = None, counts: object = None) -> Curves:
    """Points of so many coordinates, one row a point; with `counts` each row is led by how many units it stands for.

    `units` and `counts` are vectors, or names of columns of a data frame; only one of them makes sense at a time.
    """
    if units is not None and counts is not None:
        raise UsageError(
            "units and counts exclude each other: a row that stands for many people cannot be one person's. With "
            "counts every person has one point."
        )
    if isinstance(counts, str):
        data, counts, _ = without(data, counts)
    records = _records(data, dimension, units)
    if records.source.width != dimension:
        raise UsageError(
            f"A point has {dimension} coordinate(s), one for each side of the domain, got {records.source.width} "
            "column(s). State the domain with one interval for each coordinate, or choose columns."
        )
    return records if counts is None else join(_column(counts)[:, None], records)


def _records(data: Any, dimension: int, units: object) -> Curves:
    if isinstance(data, Curves):
        return curves_in_order(data, grid=None, units=units)
    if (hasattr(data, "iloc") or hasattr(data, "__arrow_c_stream__")) and _has_columns(data):
        return from_frame(data, values="*", unit=units)
    if hasattr(data, "tocsr"):
        return from_array(data, None, units)  # which refuses it
    if isinstance(data, list | tuple):
        # Row by row, each cut or padded by itself; what is missing counts as unreadable.
        return from_array(data, np.arange(dimension, dtype=np.float64), units)
    vector = np.ma.asarray(data) if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
    return from_array(vector[:, None] if vector.ndim == 1 else vector, None, units)


def _has_columns(data: Any) -> bool:
    return hasattr(data, "columns") or hasattr(data, "column_names")


def _column(counts: Any) -> Array:
    """How many units each row stands for, as numbers; NaN where that cannot be read."""
    listed = list(counts) if isinstance(counts, list | tuple) else None
    array = np.array(listed, dtype=object) if listed is not None else np.asarray(counts)
    if array.ndim != 1:
        raise UsageError(f"counts is one whole number for each row, got {array.ndim} dimension(s).")
    return as_numbers(array)

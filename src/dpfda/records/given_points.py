"""Come here for points as people hold them: vectors, matrices, data frames, and rows that stand for many people."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dpfda.arrays import Array, brief
from dpfda.errors import UsageError
from dpfda.records.cells import as_numbers, check_dtype, check_types, columns_of, number
from dpfda.records.columns import check_count
from dpfda.records.curves import Curves
from dpfda.records.forgetting import reads_records
from dpfda.records.joined import curves_in_order, join, without
from dpfda.records.memory import from_array, is_array, is_listed, points_from_frame
from dpfda.records.tables import as_arrow, from_pandas, has_columns, is_arrow, is_pandas, names_of, table_of, with_units


@reads_records
def as_points(data: Any, dimension: int, *, units: object = None, counts: object = None) -> Curves:
    """Points of so many coordinates, one row a point; with `counts` each row is led by how many people it stands for.

    `units` and `counts` are vectors, or names of columns of a data frame; only one of them makes sense at a time.
    """
    if units is not None and counts is not None:
        raise UsageError(
            "units and counts exclude each other: a row that stands for many people cannot be one person's. With "
            "counts every person has one point."
        )
    column = None if counts is None else _counts(data, counts)
    rest = without(data, counts)[0] if isinstance(counts, str) else data
    records = _records(rest, dimension, units, counted=counts is not None)
    if column is not None and records.unit is not None:
        raise UsageError(
            f"These points belong to units by their column {brief(records.unit)}, and counts exclude that."
        )
    if records.source.width != dimension:
        raise UsageError(
            f"A point has {dimension} coordinate(s), one for each side of the domain, got {records.source.width} "
            "column(s). State the domain with one interval for each coordinate, or choose columns."
        )
    return records if column is None else join(column[:, None], records)


def _records(data: Any, dimension: int, units: object, *, counted: bool) -> Curves:
    if isinstance(data, Curves):
        return curves_in_order(data, grid=None, units=units)
    if (hasattr(data, "iloc") or hasattr(data, "__arrow_c_stream__")) and has_columns(data):
        return points_from_frame(data if counted else with_units(data, units), units)
    if hasattr(data, "to_frame"):
        # One column of a pandas or polars frame, whose declared type numpy would not know.
        return replace(points_from_frame(data.to_frame(), units), columns="")
    if is_arrow(data):
        return replace(points_from_frame(table_of(data), units), columns="")
    if hasattr(data, "tocsr"):
        return from_array(data, None, units)  # which refuses it
    if not is_array(data):
        # Row by row, each cut or padded by itself; what is missing counts as unreadable.
        return from_array(data, np.arange(dimension, dtype=np.float64), units)
    vector = data if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
    return from_array(vector[:, None] if vector.ndim == 1 else vector, None, units)


def _counts(data: Any, counts: Any) -> Array:
    """How many units each row stands for, as numbers; NaN where that cannot be read."""
    if isinstance(counts, str):
        return _named_column(data, counts)
    if hasattr(counts, "to_frame") or is_arrow(counts) or is_pandas(counts):
        columns = counts
        if not has_columns(counts):
            columns = counts.to_frame() if hasattr(counts, "to_frame") else table_of(counts)
        records = points_from_frame(columns, None)
        if records.source.width != 1:
            raise UsageError(f"counts is one whole number for each row, got {records.source.width} columns.")
        for name in names_of(columns) if is_pandas(columns) else as_arrow(columns).column_names:
            check_count(name)
        return np.concatenate([np.empty((0, 1)), *records.batches(2**16)])[:, 0]
    if isinstance(counts, np.ma.MaskedArray) and counts.ndim == 1:
        check_dtype(counts.dtype, "counts is an array")
        return np.where(np.ma.getmaskarray(counts), np.nan, as_numbers(np.asarray(counts.data)))
    if is_listed(counts):
        return np.array([number(cell) for cell in counts], dtype=np.float64)
    array = np.asarray(counts)
    if array.ndim != 1:
        raise UsageError(f"counts is one whole number for each row, got {array.ndim} dimension(s).")
    check_dtype(array.dtype, "counts is an array")
    return as_numbers(array)


def _named_column(data: Any, name: str) -> Array:
    """A column of numbers of a data frame; `without` has a word for those that have none."""
    without(data, name)
    check_count(name)
    if is_pandas(data):
        return from_pandas(data, [name])[:, 0]
    table = as_arrow(data)
    check_types(table.schema, [name])
    return columns_of(table, [name])[:, 0]

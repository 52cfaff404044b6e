"""Points from any container, alone or with a label or response beside them."""

from __future__ import annotations

import math
import unicodedata
from dataclasses import replace
from typing import Any

import numpy as np

from dpfda.arrays import Array, Label, brief
from dpfda.errors import UsageError
from dpfda.records.cell_values import CELLWISE, as_numbers, cells_of, check_dtype, check_types, columns_of, number
from dpfda.records.columns import check_count
from dpfda.records.curves import Curves
from dpfda.records.data_frames import (
    as_arrow,
    check_same_rows,
    declares_cells,
    from_pandas,
    has_columns,
    is_arrow,
    is_pandas,
    names_of,
    table_of,
    with_units,
)
from dpfda.records.forgetting import reads_records
from dpfda.records.identity import identify, named_units
from dpfda.records.joined import curves_in_order, join, without
from dpfda.records.memory import ArraySource, from_array, is_array, is_listed, points_from_frame


@reads_records
def as_points(data: Any, dimension: int, *, units: object = None, counts: object = None) -> Curves:
    """Points of so many coordinates, one row a point; with `counts` each row is led by how many people it stands for.

    `units` and `counts` are vectors, or names of columns of a data frame; only one of them makes sense at a time.
    """
    if units is not None and counts is not None:
        raise UsageError(
            "units and counts exclude each other: a row that stands for many people cannot be one person's. With "
            "counts every person has one point.",
            parameter="units",
        )
    check_same_rows(data, counts, "counts")
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
            "column(s). State the domain with one interval for each coordinate, or choose columns.",
            parameter="domain",
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
        return _counts_of_column(counts)
    if isinstance(counts, np.ma.MaskedArray) and counts.ndim == 1:
        check_dtype(counts.dtype, "counts is an array")
        return np.where(np.ma.getmaskarray(counts), np.nan, as_numbers(np.asarray(counts.data)))
    if is_listed(counts):
        return np.array([number(cell) for cell in counts], dtype=np.float64)
    array = np.asarray(counts)
    if array.ndim != 1:
        raise UsageError(parameter="counts", rule=f"is one whole number for each row, got {array.ndim} dimension(s)")
    check_dtype(array.dtype, "counts is an array")
    return as_numbers(array)


def _counts_of_column(counts: Any) -> Array:
    """The numbers of a column of pandas, polars or Arrow, or of a table that has one column."""
    columns = counts
    if not has_columns(counts):
        columns = counts.to_frame() if hasattr(counts, "to_frame") else table_of(counts)
    records = points_from_frame(columns, None)
    if records.source.width != 1:
        raise UsageError(
            parameter="counts", rule=f"is one whole number for each row, got {records.source.width} columns"
        )
    for name in names_of(columns) if is_pandas(columns) else as_arrow(columns).column_names:
        check_count(name)
    return np.concatenate([np.empty((0, 1)), *records.batches(2**16)])[:, 0]


def _named_column(data: Any, name: str) -> Array:
    """A column of numbers of a data frame; `without` has a word for those that have none."""
    without(data, name)
    check_count(name)
    if is_pandas(data):
        return from_pandas(data, [name])[:, 0]
    table = as_arrow(data)
    check_types(table.schema, [name])
    return columns_of(table, [name])[:, 0]


WORDS = {"true": 1.0, "false": 0.0, "nan": float("nan")}  # how arrays and files write truth values


@reads_records
def width_of(data: Any) -> int | None:
    """How many coordinates a point has, from the layout alone; None where each row could say something else."""
    if isinstance(data, Curves):
        return data.source.width
    shape = getattr(data, "shape", None)
    if shape is None and not isinstance(data, list | tuple) and hasattr(data, "__array__"):
        shape = np.asarray(data).shape
    if shape is None and (hasattr(data, "num_columns") or hasattr(data, "schema")):
        shape = (0, len(data.schema))
    return None if shape is None or len(shape) != 2 else int(shape[1])


@reads_records
def labelled(data: Any, targets: Array, dimension: int, *, units: object = None) -> Curves:
    """Records of a target and a point, in the order in which they were given; `units` says whose each row is."""
    if isinstance(data, Curves):
        points = curves_in_order(data, grid=None, units=units)
    else:
        if len(getattr(data, "shape", (0, 0))) == 1:
            raise UsageError(
                "Expected 2D array, got 1D array instead. Reshape your data: one row a point, X.reshape(-1, 1) for "
                "points with one coordinate.",
                parameter="X",
            )
        data = with_units(data, units)
        data, units, name = without(data, units) if isinstance(units, str) else (data, *named_units(units))
        check_same_rows(data, units, "units")
        points = as_points(data.reset_index(drop=True) if is_pandas(data) else data, dimension)
        if units is not None:
            assert isinstance(points.source, ArraySource)  # of records in memory
            table = points.source.table
            points = Curves(ArraySource(table, identify(units, len(table))), None, name, points.columns)
    if points.source.width != dimension:
        raise UsageError(
            f"A point has {dimension} coordinate(s), one for each side of the domain, got {points.source.width} "
            "column(s). State the domain with one interval for each coordinate, or choose columns.",
            parameter="domain",
        )
    if len(targets) != points.rows:
        # No numbers here: that of the rows may be private.
        raise UsageError(
            "X and y must have the same number of rows: one label or response for each point.", parameter="y"
        )
    return join(targets[:, None], points)


@reads_records
def as_targets(targets: Any) -> np.ndarray[Any, Any]:
    """Labels or responses as a vector of cells; nothing but their layout is refused, for one cell can set a dtype."""
    if targets is None:
        raise UsageError("A kernel machine requires y to be passed, but the target y is None.", parameter="y")
    targets = _only_column(targets)
    check_declared(targets)
    array = _array(targets)
    if array.ndim == 2 and array.shape[-1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise UsageError(parameter="y", rule=f"is one label or response for each row, got {array.ndim} dimension(s)")
    if array.dtype.kind not in CELLWISE:
        raise UsageError(
            parameter="y",
            rule=f"holds {array.dtype}: labels and responses are numbers or texts",
            fix="Convert it first.",
        )
    return as_numbers(array) if array.dtype.kind == "m" else array


def _only_column(targets: Any) -> Any:
    """The column of a table that has one; other tables have the wrong shape, and what is no table is left as it is."""
    if is_pandas(targets):
        columns = [targets.iloc[:, place] for place in range(targets.shape[1])]
    elif hasattr(targets, "get_columns"):
        columns = targets.get_columns()  # of polars
    elif is_arrow(targets) and has_columns(targets):
        columns = as_arrow(targets).columns
    else:
        return targets
    return columns[0] if len(columns) == 1 else np.empty((0, len(columns)))


def _array(targets: Any) -> np.ndarray[Any, Any]:
    """The cells of any container as an array; an empty table where they cannot be read."""
    if isinstance(targets, np.ma.MaskedArray):
        targets = np.ma.filled(targets.astype(object), None)
    elif hasattr(targets, "to_pylist"):
        targets = cells_of(targets)  # Arrow's to_numpy() fails because of one null
    elif hasattr(targets, "to_numpy"):
        targets = _cells(targets)
    if is_listed(targets):
        # One by one: numpy would read all of them as text because of one word.
        targets = list(targets)
        array = np.empty(len(targets), dtype=object)
        for place, target in enumerate(targets):
            array[place] = target
        return array
    try:
        return np.asarray(targets)
    except Exception:  # uneven lists, objects of the user's own: without their text, which may be somebody's
        return np.empty((0, 0))


def _cells(targets: Any) -> Any:
    """A column of pandas or polars as an array, or as a list where numpy has no type that is wide enough."""
    if type(getattr(targets, "dtype", None)).__name__ == "ArrowDtype":
        return cells_of(targets.array.__arrow_array__())
    try:
        return targets.to_numpy()
    except Exception:
        return targets.to_list()


def check_declared(targets: Any) -> None:
    """Refuse labels and responses whose declared type, of a table's column, holds neither numbers nor texts."""
    kind: Any = getattr(targets, "type", getattr(targets, "dtype", None))
    if hasattr(targets, "iloc"):
        wrong = not declares_cells(kind)
    elif hasattr(kind, "num_fields"):
        import pyarrow as pa

        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        wrong = pa.types.is_nested(kind) or pa.types.is_temporal(kind)
    else:
        wrong = any(bool(getattr(kind, name, bool)()) for name in ("is_nested", "is_temporal"))
    if wrong:
        raise UsageError(
            parameter="y",
            rule=f"holds {kind}: labels and responses are numbers or texts",
            fix="Convert the column first.",
        )


def responses(targets: Any) -> Array:
    """Responses as numbers, NaN where there is none: each by itself, (n,)."""
    array = as_targets(targets)
    if array.dtype.kind in "fiub":
        return as_numbers(array)
    cells = [_plain(cell) for cell in array.tolist()]
    return np.array([cell if isinstance(cell, float) else np.nan for cell in cells], dtype=np.float64)


def signs(targets: Any, classes: tuple[Label, Label]) -> Array:
    """Labels as -1 for the first class, 1 for the second, NaN for anything else: each by itself, (n,).

    Numbers are compared as numbers and texts as texts, whatever holds them: 1, 1.0, True, "1" and b"1" are one label.
    One word in a numpy array turns all other labels into texts, and they must mean the same as before.
    """
    first, second = (label_of(label) for label in classes)
    array = as_targets(targets)
    if array.dtype.kind in "iub" or array.dtype == np.float64:
        values = as_numbers(array)
        low, high = (np.nan if isinstance(each, str) else each for each in (first, second))
        return np.where(values == high, 1.0, np.where(values == low, -1.0, np.nan))
    if array.dtype.kind == "f":
        array = array.astype(str)  # the shortest decimal number, which is what a text array would hold
    table = {first: -1.0, second: 1.0}
    return np.array([table.get(label_of(cell), np.nan) for cell in array.tolist()], dtype=np.float64)


def label_of(cell: object) -> float | str | None:
    """What a label is compared by: a finite number, or a text; None for what is neither.

    >>> label_of(1), label_of(True), label_of(" 1.0"), label_of("TRUE"), label_of("ill "), label_of(None)
    (1.0, 1.0, 1.0, 1.0, 'ill', None)
    """
    found = _plain(cell)
    return None if isinstance(found, float) and not math.isfinite(found) else found


def _plain(cell: object) -> float | str | None:
    """A cell as a number if it can be read as one, else as a text, else None; never an error that would show it."""
    alone = _alone(cell)
    if not isinstance(alone, str):
        found = number(alone)
        return None if math.isnan(found) else found
    text = unicodedata.normalize("NFKC", alone).strip()
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    found = number(text.replace("_", " "))  # Python would take an underscore for a part of a number
    return (text or None) if math.isnan(found) else found


def _alone(cell: object) -> object:
    """A number or a text in the form that it has by itself, whatever the type of all cells; None for dates and rows."""
    if isinstance(cell, list | tuple) and len(cell) == 1:
        cell = cell[0]  # a column written as rows of one cell
    if isinstance(cell, np.ndarray) and cell.size == 1:
        cell = cell.item()
    if isinstance(cell, list | tuple | np.ndarray | np.datetime64 | np.timedelta64):
        return None
    if isinstance(cell, bytes):
        return cell.decode("utf-8", errors="replace")
    if isinstance(cell, np.floating) and not isinstance(cell, float):
        return str(cell)
    if isinstance(cell, complex | np.complexfloating) and cell.imag == 0:
        return cell.real
    return cell

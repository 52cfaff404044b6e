"""Columns of pandas frames and of whatever speaks Arrow, as numbers or as Arrow columns, by their declared types."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import DataError, UsageError
from dpfda.messages import arg
from dpfda.records.cell_values import BEYOND_ARROW, CELLWISE, as_numbers, check_types, doubles
from dpfda.records.columns import called
from dpfda.records.spellings import written


def is_pandas(frame: object) -> bool:
    """Whether it is a pandas frame."""
    return hasattr(frame, "iloc") and hasattr(frame, "columns")


def names_of(frame: Any) -> list[str]:
    """The names of the columns of a pandas frame."""
    if getattr(frame.columns, "nlevels", 1) > 1:
        raise DataError(
            "The columns of this frame have names of several levels. Give each one name first, e.g. "
            "frame.columns = ['_'.join(map(str, name)) for name in frame.columns]."
        )
    return [str(name) for name in frame.columns]


def with_units(frame: Any, units: object) -> Any:
    """A frame whose index is a column too if it holds the units; refused if nothing says whose rows they are.

    An index with a name, as `set_index` and `pivot_table` make them, is not read as values and may well be the person.
    """
    names = [str(name) for name in getattr(getattr(frame, "index", None), "names", ()) if name is not None]
    if not is_pandas(frame) or not names:
        return frame
    if units is None:
        raise UsageError(
            f"The index of this frame has a name, {', '.join(names)}, and is not read. If it says whose "
            "row each is, pass ",
            arg("units", names[0]),
            "; if every row is another person, frame.reset_index(drop=True).",
            parameter="units",
        )
    named = isinstance(units, str) and units in names and units not in names_of(frame)
    return frame.reset_index(level=units) if named else frame


def check_same_rows(data: object, beside: object, parameter: str) -> None:
    """Refuse two pandas objects whose rows stand in different orders by their indexes: one would be read as another's.

    Rows are paired by their places, as numpy does it, where pandas would pair them by their names. The names of rows
    are layout: no value of a cell is looked at. Two tables of different lengths have an error of their own.
    """
    ours, theirs = (getattr(each, "index", None) if hasattr(each, "iloc") else None for each in (data, beside))
    if ours is None or theirs is None or len(ours) != len(theirs) or ours.equals(theirs):
        return
    raise UsageError(
        parameter=parameter,
        rule="has another pandas index than the other table, and rows are paired by their places, not by the index",
        fix=f"Put its rows into their order first: {parameter}.loc[X.index]; or, if they are in that order, say so by "
        f"{parameter}.to_numpy().",
    )


def from_pandas(frame: Any, names: list[str]) -> Array:
    """The named columns of a pandas frame as a matrix, (n, q)."""
    listed = names_of(frame)
    place_of = {name: place for place, name in enumerate(listed)}  # a search for each of many columns would not end
    columns = {name: frame.iloc[:, place_of[name]] for name in names}
    for name, column in columns.items():
        if not declares_cells(column.dtype):
            raise DataError(
                f"{called(name, listed)} does not hold numbers. Name the value columns, e.g. "
                "dpfda.records.from_frame(frame, values='t*', unit='ID')."
            )
    return np.stack([numbers_in(column) for column in columns.values()], axis=1)


def numbers_in(column: Any) -> Array:
    """A pandas column as numbers, each cell by itself, NaN where it holds none."""
    arrow = getattr(column.dtype, "pyarrow_dtype", None)
    if arrow is None:
        return as_numbers(np.asarray(column.to_numpy()))
    import pyarrow as pa

    with np.errstate(all="ignore"):
        return np.array(doubles(pa.chunked_array(column.array.__arrow_array__())), dtype=np.float64)


def declares_cells(dtype: Any) -> bool:
    """Whether cells of a pandas column are read one by one: not if its type declares dates, spans or nested values."""
    import pyarrow as pa

    if hasattr(dtype, "pyarrow_dtype"):
        try:
            check_types(pa.schema([("column", dtype.pyarrow_dtype)]), ["column"])
        except DataError:
            return False
        return True
    if hasattr(dtype, "categories"):
        return dtype.categories is None or declares_cells(dtype.categories.dtype)
    spans = hasattr(dtype, "freq") or hasattr(dtype, "closed")  # periods and intervals are kept as objects
    # A span of time is a declared type here: among numbers, one would make objects of all.
    return not spans and dtype.kind in CELLWISE.replace("m", "")


def as_arrow(frame: Any) -> Any:
    """An Arrow table from whatever speaks the Arrow C stream; what Arrow cannot hold is handed over as text."""
    import pyarrow as pa

    if hasattr(frame, "get_columns") and any(str(kind) in BEYOND_ARROW for kind in frame.dtypes):
        return pa.table(
            {
                column.name: _texts(column) if str(column.dtype) in BEYOND_ARROW else column
                for column in frame.get_columns()
            }
        )
    try:
        stream = pa.RecordBatchReader.from_stream(frame)
    except (TypeError, pa.ArrowException):
        raise UsageError(
            "Curves are a table, one row a curve and one column a grid point, not one column.", parameter="X"
        ) from None
    # Whatever fails from here on fails at a record, and has no word of its own: see `forgets_records`.
    return stream.read_all()


def has_columns(data: Any) -> bool:
    """Whether it is a table, by what it says about itself: frames, Arrow tables, and readers of them."""
    return any(hasattr(data, name) for name in ("columns", "column_names", "schema"))


def table_of(column: Any) -> Any:
    """A table of one Arrow column."""
    import pyarrow as pa

    return pa.table({"x1": pa.chunked_array(column if hasattr(column, "__arrow_c_stream__") else [column])})


def is_arrow(column: object) -> bool:
    """Whether it speaks Arrow, as one array or in chunks."""
    return hasattr(column, "__arrow_c_stream__") or hasattr(column, "__arrow_c_array__")


def _texts(column: Any) -> Any:
    """The cells of a polars column as texts, which keep every number to the last digit."""
    import pyarrow as pa

    cells = [cell if isinstance(cell, bytes) else _text(cell) for cell in column.to_list()]
    return pa.array(cells, type=pa.large_binary())


def _text(cell: object) -> bytes | None:
    try:
        text = written(cell)
        return None if text is None else text.encode("utf-8", "replace")
    except Exception:
        return None

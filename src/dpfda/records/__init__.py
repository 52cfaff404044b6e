"""Private data in: reading it, encoding each record by itself, clipping units, exact sums.

The files, in the order in which a record meets them:

    files.py        curves in CSV and Parquet files
    csv_files.py    the CSV reader
    memory.py       curves in arrays, data frames and scikit-fda objects
    data_frames.py  columns of pandas and Arrow tables
    columns.py      names of columns, which are points of one curve, and where they lie
    cell_values.py  cells as numbers, one by one
    curves.py       `Curves`: a source of rows, a grid, a unit
    identity.py     which rows belong to one privacy unit
    spellings.py    what two spellings of one identifier have in common
    encoder.py      the values of one record to one vector
    fold.py         the exact sum over all units
    points.py       points of densities, as masses in cells
    joined.py       covariates beside curves
    labelled.py     points with labels or responses
    reading.py      batches, threads, progress bar
    forgetting.py   decorators that keep records out of errors
"""

from __future__ import annotations

from typing import Any

from dpfda.arrays import ArrayLike
from dpfda.errors import UsageError
from dpfda.messages import arg
from dpfda.records.columns import as_grid, grid_of
from dpfda.records.curves import Curves
from dpfda.records.data_frames import with_units
from dpfda.records.encoder import Encoder, smallest_cap
from dpfda.records.files import open_table, read_curves
from dpfda.records.fold import Clipping, Encode, exact_sum
from dpfda.records.forgetting import reads_records
from dpfda.records.memory import from_array, from_fdatagrid, from_frame

__all__ = [
    "Clipping",
    "Curves",
    "Encode",
    "Encoder",
    "as_curves",
    "exact_sum",
    "from_frame",
    "open_table",
    "read_curves",
    "smallest_cap",
]


@reads_records
def as_curves(data: Any, *, grid: ArrayLike | str | None = None, units: object = None) -> Curves:
    """Curves from whatever people hold: Curves, a scikit-fda FDataGrid, a data frame, or a matrix.

    As in `fit`, rows count as units where none are stated, and the card says that this was assumed.
    """
    if isinstance(data, Curves):
        if grid is not None or units is not None:
            raise UsageError(
                "These Curves have their own grid and units: leave ",
                arg("grid="),
                " and ",
                arg("units="),
                " out.",
                parameter="grid",
            )
        return data
    if hasattr(data, "data_matrix") and hasattr(data, "grid_points"):
        return from_fdatagrid(data, grid_of(grid, []), units)
    if hasattr(data, "domain_range"):
        raise UsageError(
            f"A {type(data).__name__} of scikit-fda has no common grid of points. Evaluate it on one first, e.g. "
            "X.to_grid(points).",
            parameter="X",
        )
    if hasattr(data, "iloc") or hasattr(data, "__arrow_c_stream__"):
        return from_frame(with_units(data, units), unit=units, grid=grid)
    if isinstance(grid, str) and grid != "even":
        raise UsageError(
            arg("grid", grid),
            " is for tables, whose columns have names. Pass the points themselves.",
            parameter="grid",
            value=grid,
        )
    return from_array(data, None if isinstance(grid, str) else as_grid(grid), units)

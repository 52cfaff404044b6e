"""Private data in: reading it, encoding each record by itself, clipping units, exact sums."""

from __future__ import annotations

from typing import Any

from dpfda.arrays import ArrayLike
from dpfda.errors import UsageError
from dpfda.messages import arg
from dpfda.records.columns import as_grid, grid_of
from dpfda.records.curves import Curves
from dpfda.records.encoder import Encoder, smallest_cap
from dpfda.records.files import read_curves, read_header
from dpfda.records.fold import Clipping, Encode, exact_sum
from dpfda.records.forgetting import reads_records
from dpfda.records.memory import from_array, from_fdatagrid, from_frame
from dpfda.records.tables import with_units

__all__ = [
    "Clipping",
    "Curves",
    "Encode",
    "Encoder",
    "as_curves",
    "exact_sum",
    "from_frame",
    "read_curves",
    "read_header",
    "smallest_cap",
]


@reads_records
def as_curves(data: Any, *, grid: ArrayLike | str | None, units: object) -> Curves:
    """Curves from whatever people hold: Curves, a scikit-fda FDataGrid, a data frame, or a matrix."""
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

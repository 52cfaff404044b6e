"""Come here for records that are a point and its label or response, read side by side, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import UsageError
from dpfda.records.cells import as_numbers, number
from dpfda.records.curves import Curves
from dpfda.records.given_points import as_points
from dpfda.records.joined import curves_in_order, join, without
from dpfda.records.memory import ArraySource
from dpfda.records.units import check_units, named_units


def width_of(data: Any) -> int | None:
    """How many coordinates a point has, from the layout alone; None where each row could say something else."""
    if isinstance(data, Curves):
        return data.source.width
    shape = getattr(data, "shape", None)
    if shape is None and not isinstance(data, list | tuple) and hasattr(data, "__array__"):
        shape = np.asarray(data).shape
    if shape is None and hasattr(data, "num_columns"):
        shape = (0, data.num_columns)
    return None if shape is None or len(shape) != 2 else int(shape[1])


def labelled(data: Any, targets: Array, dimension: int, *, units: object = None) -> Curves:
    """Records of a target and a point, in the order in which they were given; `units` says whose each row is."""
    if isinstance(data, Curves):
        points = curves_in_order(data, grid=None, units=units)
    else:
        if len(getattr(data, "shape", (0, 0))) == 1:
            raise UsageError(
                "Expected 2D array, got 1D array instead. Reshape your data: one row a point, X.reshape(-1, 1) for "
                "points with one coordinate."
            )
        data, units, name = without(data, units) if isinstance(units, str) else (data, *named_units(units))
        points = as_points(data, dimension)
        if units is not None:
            table = points.source.table  # type: ignore[attr-defined]
            points = Curves(ArraySource(table, check_units(units, len(table))), None, name, points.columns)
    if points.source.width != dimension:
        raise UsageError(
            f"A point has {dimension} coordinate(s), one for each side of the domain, got {points.source.width} "
            "column(s). State the domain with one interval for each coordinate, or choose columns."
        )
    if len(targets) != points.rows:
        # No numbers here: that of the rows may be private.
        raise UsageError("X and y must have the same number of rows: one label or response for each point.")
    return join(targets[:, None], points)


def as_targets(targets: Any) -> np.ndarray[Any, Any]:
    """Labels or responses as a vector; a list one by one, since numpy would read all as text because of one word."""
    if targets is None:
        raise UsageError("A kernel machine requires y to be passed, but the target y is None.")
    if hasattr(targets, "to_numpy"):
        targets = targets.to_numpy()
    if isinstance(targets, list | tuple):
        array = np.empty(len(targets), dtype=object)
        for place, target in enumerate(targets):
            array[place] = target
    else:
        try:
            array = np.asarray(targets)
        except Exception:  # uneven lists, objects of the user's own: without their text, which may be somebody's
            array = np.empty((0, 0))
    if array.ndim == 2:
        array = array[:, 0] if array.shape[-1] == 1 else array
    if array.ndim != 1:
        raise UsageError(f"y is one label or response for each row, got {array.ndim} dimension(s).")
    if array.dtype.kind == "c":
        raise UsageError("Complex data not supported: labels and responses are real.")
    return array


def signs(targets: Any, classes: tuple[int | float | str | bool, int | float | str | bool] | None) -> Array:
    """Labels as -1 for the first class, 1 for the second, NaN for anything else: each by itself, (n,).

    Without classes labels are numbers, and those above zero are of the second class.
    """
    array = as_targets(targets)
    text = classes is not None and isinstance(classes[0], str)
    # By the type of the whole column, which is public; single labels say nothing.
    if array.dtype.kind == "U" and not text:
        raise UsageError("These labels are text: state both of them, e.g. classes=('healthy', 'ill').")
    if array.dtype.kind in "fiub" and text:
        raise UsageError(f"These labels are numbers, and classes={classes!r} are text. State them as numbers.")
    if classes is None or not isinstance(classes[0], str):
        values = as_numbers(array)
        if classes is None:
            return np.where(np.isnan(values), np.nan, np.where(values > 0, 1.0, -1.0))
        return np.where(values == number(classes[1]), 1.0, np.where(values == number(classes[0]), -1.0, np.nan))
    found = [_text(label) for label in array.tolist()]
    table = {classes[0]: -1.0, classes[1]: 1.0}
    return np.array([table.get(label, np.nan) for label in found], dtype=np.float64)


def _text(label: object) -> str:
    return label if isinstance(label, str) else ""

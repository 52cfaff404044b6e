"""Come here for the array types that signatures name, and for the one rule that turns input into points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpfda.errors import UsageError

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
ArrayLike = npt.ArrayLike


def as_points(points: ArrayLike, dimension: int) -> Array:
    """Points as rows, (m, dimension); on a line a plain sequence of numbers will do.

    >>> as_points([0.0, 0.5], dimension=1).shape
    (2, 1)
    """
    array = np.asarray(points, dtype=np.float64)
    if array.ndim <= 1 and dimension == 1:
        return array.reshape(-1, 1)
    if array.ndim == 1 and array.size == dimension:
        return array.reshape(1, dimension)
    if array.ndim != 2 or array.shape[1] != dimension:
        raise UsageError(
            f"Points in {dimension} dimension(s) must have shape (m, {dimension}), got {array.shape}. "
            "Put one point in each row."
        )
    return array

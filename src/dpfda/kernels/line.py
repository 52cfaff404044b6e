"""Come here for kernels of two points on a line, which may know the interval on which they live."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from dpfda.arrays import Array, ArrayLike, as_points, brief, is_whole
from dpfda.errors import UsageError
from dpfda.kernels.base import Kernel


class OnLine(Kernel):
    """A kernel on a line, or on part of it. Duties of a subclass: `at`; it may say more: `interval`."""

    __slots__ = ()

    @abstractmethod
    def at(self, s: Array, t: Array) -> Array:
        """Values at checked points, (m, 1) and (1, n) to (m, n)."""

    @property
    def interval(self) -> tuple[float, float]:
        """Where the kernel is positive definite."""
        return -math.inf, math.inf

    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        return self.at(self._inside(s), self._inside(t).T)

    def decay(self, dimension: int = 1) -> float:
        """The smoothness; a kernel on a line has no other dimension."""
        if not is_whole(dimension, 1, 1):
            raise UsageError(
                f"{type(self).__name__} lives on a line, got dimension {brief(dimension)}. "
                "Use Tensor() with one kernel for each axis."
            )
        return self.smoothness

    def _inside(self, points: ArrayLike) -> Array:
        low, high = self.interval
        rows = as_points(points, 1)
        slack = 1e-9 * (high - low) if math.isfinite(high - low) else 0.0  # the last digit of a printed grid
        if not (np.isfinite(rows) & (rows >= low - slack) & (rows <= high + slack)).all():
            # No point in the message: points may be records.
            raise UsageError(
                f"{type(self).__name__} is a kernel on [{low:g}, {high:g}], got points outside or not finite. "
                "Move the points into the interval or choose a stationary kernel, e.g. Matern(1.5, rho=1.0)."
            )
        return np.clip(rows, low, high)

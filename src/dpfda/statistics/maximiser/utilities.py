"""Utilities that know their own range and curvature: squared and robust distances."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import UsageError


@dataclass(frozen=True, slots=True)
class SquaredDistance:
    """`-|x - b|^2`, whose maximiser is the mean; with a base measure the penalised mean of Awan et al., Example 3.5."""

    @property
    def __name__(self) -> str:
        return "minus the sum of squared distances"

    def __call__(self, units: Array, point: Array) -> Array:
        return np.asarray(-np.sum((units - point) ** 2, axis=1))

    def range(self, farthest: float) -> tuple[float, float]:
        """Where it lies for units and points that are at most so far apart."""
        return -(farthest**2), 0.0

    def curvature(self, distances: Array) -> Array:
        """At least so strongly it bends at these distances: the same everywhere."""
        return np.full(np.shape(distances), 2.0)


FARTHEST = 2000.0  # knots between a unit and a point; beyond, draws take minutes


@dataclass(frozen=True, slots=True)
class RobustDistance:
    """`-knot^2 (sqrt(1 + |x - b|^2 / knot^2) - 1)`: about half the square within the knot, about linear beyond.

    A smooth Huber loss of whole curves. With a small knot its maximiser is the spatial median: a curve far away pulls
    no harder than one nearby. It bends least along the line to the unit, by `(1 + r^2 / knot^2)^(-3/2)` at distance r.
    """

    knot: float

    def __post_init__(self) -> None:
        if not (isinstance(self.knot, int | float) and 0 < self.knot < math.inf):
            raise UsageError(
                parameter="knot", value=self.knot, rule="must be a positive number, in the units of the curves"
            )

    @property
    def __name__(self) -> str:
        return f"minus the sum of robust distances with knot {self.knot:g}"

    def __call__(self, units: Array, point: Array) -> Array:
        return -self._loss(np.sum((units - point) ** 2, axis=1) / self.knot**2)

    def _loss(self, squares: Array) -> Array:
        # The same as knot^2 (sqrt(1 + x) - 1), without a difference of two numbers near one.
        return np.asarray(self.knot**2 * squares / (np.sqrt(1 + squares) + 1))

    def range(self, farthest: float) -> tuple[float, float]:
        """Where it lies for units and points that are at most so far apart."""
        return -float(self._loss(np.array((farthest / self.knot) ** 2))), 0.0

    def check(self, farthest: float) -> None:
        """Refuse a knot that is next to a kink for units and points that are at most so far apart."""
        if farthest > FARTHEST * self.knot:
            raise UsageError(
                parameter="knot",
                value=self.knot,
                rule=f"must be at least {farthest / FARTHEST:.3g}, a thousandth of the bound",
                fix="So near a kink a draw may take very long. Take a larger knot, or a smaller bound.",
            )

    def curvature(self, distances: Array) -> Array:
        """At least so strongly it bends at these distances."""
        return np.asarray((1 + (distances / self.knot) ** 2) ** -1.5)

    def across(self, distances: Array) -> Array:
        """So strongly it bends across the line to the unit: far away that is most of all directions."""
        return np.asarray((1 + (distances / self.knot) ** 2) ** -0.5)

"""Come here for the public interval or box on which functions live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array, ArrayLike, as_points
from dpfda.errors import UsageError


@dataclass(frozen=True, slots=True)
class Domain:
    """A box, the product of intervals; an interval is a box with one side.

    >>> Domain(((0.0, 24.0),)).dimension
    1
    """

    sides: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        for low, high in self.sides:
            if not (-1e100 <= low < high <= 1e100):
                raise UsageError(
                    f"A domain needs finite ends with low < high on each side, got ({low!r}, {high!r}). "
                    "Write an interval as (0.0, 1.0), a box as [(0.0, 1.0), (0.0, 2.0)]."
                )
        if not self.sides:
            raise UsageError("A domain needs at least one side, e.g. (0.0, 1.0).")

    @property
    def dimension(self) -> int:
        return len(self.sides)

    @property
    def lengths(self) -> tuple[float, ...]:
        return tuple(high - low for low, high in self.sides)

    def points(self, points: ArrayLike) -> Array:
        """Checked points as rows; a point outside the domain is an error, since bases say nothing there."""
        rows = as_points(points, self.dimension)
        if not np.isfinite(rows).all():
            raise UsageError("Points must be finite numbers, got NaN or infinity among them.")
        for axis, (low, high) in enumerate(self.sides):
            least, most = (rows[:, axis].min(), rows[:, axis].max()) if len(rows) else (low, high)
            slack = 1e-9 * (high - low)  # the last digit of a printed grid is not a mistake
            if least < low - slack or most > high + slack:
                raise UsageError(
                    f"Points must lie in the domain [{low:g}, {high:g}], got points from {least:g} to {most:g}. "
                    "Leave these points out, or state a wider domain from the start."
                )
        lows, highs = np.array(self.sides).T
        return np.clip(rows, lows, highs)

    def to_unit(self, points: Array) -> Array:
        """Points moved to the unit cube, (m, p)."""
        lows, highs = np.array(self.sides).T
        unit: Array = (points - lows) / (highs - lows)
        return unit

    def grid(self, size: int) -> Array:
        """Equally spaced points with both ends, (size^p, p)."""
        axes = [np.linspace(low, high, size) for low, high in self.sides]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


DomainLike = Domain | Sequence[float] | Sequence[Sequence[float]]


def as_domain(domain: DomainLike) -> Domain:
    """A domain from the forms people type: `(0, 1)` or `[(0, 1), (0, 2)]`.

    >>> as_domain((0, 1)) == as_domain([(0.0, 1.0)])
    True
    """
    if isinstance(domain, Domain):
        return domain
    try:
        array = np.array(domain, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape == (2,):
        array = array.reshape(1, 2)
    if array.ndim != 2 or array.shape[1] != 2:
        raise UsageError(f"A domain is an interval (0.0, 1.0) or a list of intervals, got {domain!r}.")
    return Domain(tuple((float(low), float(high)) for low, high in array))

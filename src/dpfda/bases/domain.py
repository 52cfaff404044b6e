"""The public interval or box on which functions live."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array, ArrayLike, as_points, as_real, brief, is_whole, public_numbers
from dpfda.errors import UsageError

NARROWEST = 1e-12  # the length of a side over the size of its ends: some thousand doubles lie between them
WIDEST, SHORTEST, LARGEST_VOLUME = 1e60, 1e-60, 1e120  # fourth powers of them are still doubles
MOST_SIDES = 64
MOST_POINTS = 2**24  # of one grid
MOST_ASKED = 10_000_000  # points, or pairs of them, in one call


@dataclass(frozen=True, slots=True)
class Domain:
    """A box, the product of intervals; an interval is a box with one side.

    >>> Domain(((0.0, 24.0),)).dimension
    1
    """

    sides: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        if not isinstance(self.sides, tuple) or not all(
            isinstance(side, tuple) and len(side) == 2 for side in self.sides
        ):
            raise UsageError(f"The sides of a domain are pairs (low, high), got {brief(self.sides)}.")
        for low, high in self.sides:
            if not (-WIDEST <= as_real(low) < as_real(high) <= WIDEST):
                raise UsageError(
                    f"A domain needs finite ends with low < high on each side, got ({brief(low)}, {brief(high)}). "
                    "Write an interval as (0.0, 1.0), a box as [(0.0, 1.0), (0.0, 2.0)]."
                )
            if high - low < max(SHORTEST, NARROWEST * max(abs(low), abs(high))):
                raise UsageError(
                    f"The domain from {brief(low)} to {brief(high)} is too short for points in it to be told apart in "
                    "double precision. Move its start to zero, or state it in other units."
                )
        if not 1 / LARGEST_VOLUME <= math.prod(self.lengths) <= LARGEST_VOLUME:
            raise UsageError("The volume of this domain is beyond double precision. State its sides in other units.")
        if not 1 <= len(self.sides) <= MOST_SIDES:
            raise UsageError(
                f"A domain needs at least one side, e.g. (0.0, 1.0), and at most {MOST_SIDES}, got {len(self.sides)}."
            )

    @property
    def dimension(self) -> int:
        """The number of sides."""
        return len(self.sides)

    @property
    def lengths(self) -> tuple[float, ...]:
        """The length of each side."""
        return tuple(high - low for low, high in self.sides)

    def points(self, points: ArrayLike) -> Array:
        """Checked points as rows; a point outside the domain is an error, since bases say nothing there."""
        rows = as_points(points, self.dimension)
        check_asked(len(rows))
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
        if not is_whole(size, 1, int(MOST_POINTS ** (1 / self.dimension) + 1e-9)):
            raise UsageError(
                f"A grid has a whole number of points on each side, at least 1 and at most {MOST_POINTS} in all, got "
                f"{brief(size)} on {self.dimension} side(s)."
            )
        if size == 1:
            return np.array([[low for low, _ in self.sides]])
        axes = [np.linspace(low, high, size) for low, high in self.sides]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def check_asked(count: int, most: int = MOST_ASKED, what: str = "points") -> None:
    """So many points can be asked for in one call: a view of one number can be longer than memory."""
    if count > most:
        raise UsageError(
            f"At most {most} {what} can be asked for at once here, got {count}. Take fewer, or ask in several calls."
        )


DomainLike = Domain | Sequence[float] | Sequence[Sequence[float]]


def as_domain(domain: DomainLike) -> Domain:
    """A domain from the forms people type: `(0, 1)` or `[(0, 1), (0, 2)]`.

    >>> as_domain((0, 1)) == as_domain([(0.0, 1.0)])
    True
    """
    if isinstance(domain, Domain):
        return domain
    try:
        array = public_numbers(domain, "The ends of a domain")
    except UsageError:
        array = np.empty(0)
    if array.shape == (2,):
        array = array.reshape(1, 2)
    if array.ndim != 2 or array.shape[1] != 2:
        raise UsageError(f"A domain is an interval (0.0, 1.0) or a list of intervals, got {brief(domain)}.")
    return Domain(tuple((float(low), float(high)) for low, high in array))

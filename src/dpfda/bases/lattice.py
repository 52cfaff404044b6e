"""The public integer lattice on which units are clipped and summed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array, as_real
from dpfda.errors import UsageError

RADIUS = 2**24  # squares of norms stay below 2^53, so they are exact in doubles
FRACTIONS = 16  # vectors are kept to a sixteenth of a step until the records of a unit have been averaged
MOST_UNITS = 2**38  # times the radius stays below 2^63: sums cannot overflow


@dataclass(frozen=True, slots=True)
class Lattice:
    """Integer vectors inside a ball of `RADIUS` steps; one step is `bound / RADIUS` in the units of the curve."""

    bound: float

    def __post_init__(self) -> None:
        bound = as_real(self.bound)
        if not 0 < bound < math.inf:
            raise UsageError(
                parameter="bound",
                value=self.bound,
                rule="must be a positive finite number, in the units of the curves",
                fix="It may not be read from the data.",
            )
        # So that variances of covariances, which are fourth powers, neither overflow nor vanish.
        if not 1e-60 <= bound <= 1e60:
            raise UsageError(
                parameter="bound", value=self.bound, rule="must lie between 1e-60 and 1e60", fix="Change the units."
            )
        object.__setattr__(self, "bound", bound)

    @property
    def step(self) -> float:
        """The distance of neighbouring lattice points, in the units of coordinates."""
        return self.bound / RADIUS

    def clip(self, vectors: Array, out: Array | None = None) -> Array:
        """Scale every column into the ball and round it towards zero; says nothing about which ones needed it.

        Columns are units, in steps but not yet whole, (size, m). The result holds integers as doubles, and every
        column's squared norm is at most `RADIUS**2` in exact arithmetic, which is what the sensitivity rests on.
        """
        return into_ball(vectors, RADIUS, out)


def into_ball(vectors: Array, radius: int, out: Array | None = None) -> Array:
    """Columns scaled into a ball of whole steps and rounded towards zero: exactly inside it, (size, m)."""
    # A shade inside, so that rounding of the factor cannot push a vector out; maximum() rather than a mask.
    inside = radius * (1 - 1e-12)
    factor = inside / np.maximum(np.sqrt(squared_norms(vectors)), inside)
    clipped: Array = np.empty(vectors.shape) if out is None else out
    for source, target in zip(vectors, clipped, strict=True):
        np.trunc(np.multiply(source, factor, out=target), out=target)
    # Integers below 2^25 squared and summed are exact in doubles. No column fails this; if one did, it would count as
    # empty rather than break the bound.
    clipped[:, ~(squared_norms(clipped) <= radius**2)] = 0.0
    return clipped


def squared_norms(vectors: Array) -> Array:
    """Squared Euclidean norms of columns, coordinate after coordinate.

    The order of additions is fixed, so a column's norm does not depend on the batch it stands in.
    """
    total, square = np.zeros((2, vectors.shape[1]))
    # Row after row rather than all at once: a row stays in the processor's cache from one operation to the next.
    for row in vectors:
        total += np.multiply(row, row, out=square)
    return total

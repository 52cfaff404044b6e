"""Come here for exact draws below an envelope: normal proposals, one kind near a place and one farther away."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Protocol

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.mechanisms.ball import Coordinate
from dpfda.mechanisms.decision import Booleans, decide, exponential, exponential_exactly, wide
from dpfda.mechanisms.randomness import Randomness

BATCH = 8  # proposals that are made together


class Sum(Protocol):
    """An objective: a sum over units of whole steps."""

    @property
    def units(self) -> Array: ...
    def __call__(self, point: Integers | Array) -> int: ...


@dataclass(frozen=True, eq=False)
class Target:
    """Weights `exp(rate total(b) - sum_j precisions[j] b_j^2)` on the integer vectors of a ball."""

    total: Sum
    rate: float
    precisions: Array
    radius: int

    def exponent(self, point: Integers, place: Integers, gain: int) -> Fraction:
        """The exact log weight of a point over that of another, whose objective is smaller by `gain`."""
        prior = sum(
            Fraction(precision) * ((int(b) - int(a)) * (int(b) + int(a)))
            for precision, a, b in zip(self.precisions.tolist(), place, point, strict=True)
        )
        return Fraction(self.rate) * gain - prior

    def inside(self, points: Integers) -> Booleans:
        # Coordinate by coordinate first: squares of those that are left cannot overflow.
        near: Booleans = np.asarray((np.abs(points) <= self.radius).all(axis=1))
        clipped = np.where(near[:, None], points, 0)
        return np.asarray(near & ((clipped * clipped).sum(axis=1) <= self.radius**2))


@dataclass(frozen=True, eq=False)
class Component:
    """Proposals `place + z` with weights `exp(height - sum_j precisions[j] z_j^2)`, for `least < |z| <= most`."""

    height: float
    precisions: Array
    most: int
    least: int = -1  # none: the place itself belongs to it too

    @property
    def log_mass(self) -> float:
        """But for `pi^(m/2)`; a discrete normal law whose deviation is 64 steps has this mass to 10^-30000."""
        return self.height - 0.5 * float(np.log(self.precisions).sum())

    def holds(self, moves: Integers) -> Booleans:
        near: Booleans = np.asarray((np.abs(moves) <= self.most).all(axis=1))
        clipped = np.where(near[:, None], moves, 0)
        squares = (clipped * clipped).sum(axis=1)
        return np.asarray(near & (squares <= self.most**2) & (squares > self.least * abs(self.least)))

    def draw(self, size: int, randomness: Randomness) -> Integers:
        laws = (Coordinate.build(Fraction(0), Fraction(precision)) for precision in self.precisions.tolist())
        return np.stack([law.draw(size, randomness) for law in laws], axis=1)

    def exponent(self, moves: Integers) -> Fraction:
        return Fraction(self.height) - sum(
            Fraction(precision) * int(move) ** 2
            for precision, move in zip(self.precisions.tolist(), moves, strict=True)
        )


@dataclass(frozen=True, eq=False)
class Envelope:
    """A bound on all weights, relative to that at `place`: one component, or two that share out the ball."""

    place: Integers
    base: int  # the objective at the place
    components: tuple[Component, ...]

    @property
    def log_mass(self) -> float:
        return float(np.logaddexp.reduce([component.log_mass for component in self.components]))

    def pick(self, size: int, randomness: Randomness) -> Integers:
        """The component of each of several proposals, in exact proportion to their masses, (size,)."""
        if len(self.components) == 1:
            return np.zeros(size, dtype=np.int64)
        near, far = self.components
        # Logarithms are known but for a few roundings of their size, and so many times less in the share itself.
        error = 2.0**-44 * (len(self.place) * 64 + abs(near.height) + abs(far.height))
        more = near.log_mass - far.log_mass
        low, high = (1 / (1 + math.exp(min(more + off, 700.0))) for off in (error, -error))
        low = low * (1 - 2.0**-50) if more + error < 700 else 0.0  # so far out it is left open
        bounds = np.full(size, low), np.full(size, high * (1 + 2.0**-50))
        return np.asarray(decide(*bounds, lambda _, digits: _far_share(near, far, digits), randomness), dtype=np.int64)

    def draw(self, target: Target, randomness: Randomness) -> Integers | None:
        """The first accepted one of a batch of proposals, if any."""
        picked = self.pick(BATCH, randomness)
        moves = np.zeros((BATCH, len(self.place)), dtype=np.int64)
        held = np.zeros(BATCH, dtype=bool)
        for index, component in enumerate(self.components):
            mine = np.flatnonzero(picked == index)
            if len(mine):
                moves[mine] = component.draw(len(mine), randomness)
                held[mine] = component.holds(moves[mine])
        points = self.place + np.where(held[:, None], moves, 0)
        held &= target.inside(points)
        for row in np.flatnonzero(held):
            gain = target.total(points[row]) - self.base
            below = self.components[picked[row]].exponent(moves[row]) - target.exponent(points[row], self.place, gain)
            # A weight above its envelope: what was stated about the utility is false, and the guarantee does not hold.
            # Accepted all the same. The law is then the lower one of weight and envelope, another one for every data
            # set but positive everywhere; an error would be an output too, one that some data sets have almost surely
            # and their neighbours never. And nobody could be told of it: that it happened depends on the units.
            if accept([max(below, Fraction(0))], randomness)[0]:
                drawn: Integers = points[row]
                return drawn
        return None


def _far_share(near: Component, far: Component, digits: int) -> tuple[Decimal, Decimal]:
    """Bounds on the far component's share of the mass, by correctly rounded decimals."""
    with localcontext(wide(digits)):
        ratio = Decimal(1)
        for one, other in zip(near.precisions.tolist(), far.precisions.tolist(), strict=True):
            ratio *= Decimal(one) / Decimal(other)
        lower = Decimal(far.height) - Decimal(near.height)
        odds = ratio.sqrt() * lower.exp()
        share = odds / (1 + odds)
        # Two operations for each coordinate and some more, each correctly rounded; the exponential magnifies one.
        error = share * (2 * len(near.precisions) + 100 + 2 * abs(lower)) * Decimal(10) ** (1 - digits)
        return share - error, share + error


def accept(exponents: list[Fraction], randomness: Randomness) -> Booleans:
    """Yes with probability exactly `exp(-exponent)`, for each of several that are 0 or more."""
    rounded = np.array([float(exponent) for exponent in exponents])

    def refine(row: int, digits: int) -> tuple[Decimal, Decimal]:
        with localcontext(wide(digits)):
            exactly = Decimal(exponents[row].numerator) / Decimal(exponents[row].denominator)
        return exponential_exactly(exactly, exactly, digits)

    return decide(*exponential(rounded, 2.0**-52 * rounded), refine, randomness)

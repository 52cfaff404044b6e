"""Come here for one principal component: exact draws of a unit vector with density `exp(-sum excess x^2)`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.mechanisms.frames.envelopes import Central, central_volume, least_tilt
from dpfda.mechanisms.randomness import Randomness


@dataclass(frozen=True, slots=True)
class Single:
    """Proposals on the whole sphere from an angular central Gaussian law (Kent, Ganeiber and Mardia 2018)."""

    central: Central

    @property
    def volume(self) -> float:
        """The logarithm of the integral of the envelope, without a constant of the dimension."""
        return central_volume(self.central, self.central.excess)

    def propose(self, size: int, randomness: Randomness) -> Array:
        """What is accepted of so many proposals, (at most size, 1 + n)."""
        normals = randomness.normal((size, len(self.central.excess))) / np.sqrt(self.central.precision)
        first, others, accept = self.central.place(normals, randomness)
        kept = accepted(accept, randomness)
        return np.concatenate([first[kept, None], others[kept]], axis=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A point on the circle of the two leading coordinates, then normals for all others, kept inside the ball.

    A unit vector is `(sqrt(1 - |x|^2) (cos t, sin t), x)` with uniform measure `dt dx`. Given the angle, x has
    exponent `-sum (excess - s) x^2`, `s = second sin(t)^2`: normals of precision `2 (excess - s + tilt)`. The angle has
    density `exp(-s) prod (excess - s + tilt)^(-1/2)` then, and since a logarithm is concave this lies below
    `exp(-slope sin(t)^2)`, touching at the two axes. Large excesses are its strength.
    """

    second: float
    excess: Array  # (n - 1,)
    tilt: float

    @property
    def slope(self) -> float:
        """The slope of the chord, from below: a smaller one is an envelope still."""
        logs = np.log1p(-self.second / (self.excess + self.tilt))
        return self.second + 0.5 * float(np.sum(logs)) - 2.0**-44 * (self.second - float(np.sum(logs)))

    @property
    def circle(self) -> Single:
        """The law of the point on the circle; where the slope is negative the two axes change places."""
        excess = np.array([abs(self.slope)])
        return Single(Central(excess, 1, 2, least_tilt(excess, 1)))

    @property
    def volume(self) -> float:
        """The logarithm of the integral of the envelope, without the same constant."""
        from scipy.special import i0e

        spread = math.log(float(i0e(abs(self.slope) / 2))) + max(-self.slope, 0.0) + 0.5 * math.log(math.pi)
        return self.tilt + spread - 0.5 * float(np.log(self.excess + self.tilt).sum())

    def propose(self, size: int, randomness: Randomness) -> Array:
        """What is accepted of so many proposals, (at most size, 1 + n)."""
        circle = _on_circle(self.circle, size, randomness)[:, :: 1 if self.slope >= 0 else -1]
        squares = circle[:, 1] ** 2
        widths = self.excess + self.tilt - self.second * squares[:, None]
        # Jensen's price: the chord of the concave logarithm against the logarithm itself.
        chord = np.outer(squares, np.log1p(-self.second / (self.excess + self.tilt))).sum(axis=1)
        price = 0.5 * (chord - np.log(widths / (self.excess + self.tilt)).sum(axis=1))
        others = randomness.normal(widths.shape) / np.sqrt(2 * widths)
        rest = 1 - np.einsum("ni,ni->n", others, others)
        kept = accepted(np.where(rest > 0, price - self.tilt * rest, -np.inf), randomness)
        return np.concatenate([circle[kept] * np.sqrt(rest[kept, None]), others[kept]], axis=1)


def fit_single(excess: Array) -> Single | Pair:
    """The law with the smaller envelope for one unit vector `(a, x)`, excesses of x ascending."""
    single = Single(Central(excess, 1, len(excess) + 1, least_tilt(excess, 1)))
    if len(excess) == 1:
        return single
    second, others = float(excess[0]), excess[1:]
    least = least_tilt(others, 0) / 2
    gap = float(others[0]) - second
    # The best tilt has no closed form where the two leading coordinates mix; any with positive widths will do.
    tilts = [least, *(least + step for step in (0.25, 0.5, 1.0, 2.0))]
    pairs = [Pair(second, others, tilt) for tilt in tilts if gap + tilt > 1e-9 * (second + 1)]
    best = min(pairs, key=lambda pair: pair.volume, default=None)
    return single if best is None or single.volume <= best.volume else best


def accepted(log_probability: Array, randomness: Randomness) -> Integers:
    """The rows that a uniform number lets pass."""
    return np.flatnonzero(np.log(randomness.uniform((len(log_probability),))) < log_probability).astype(np.int64)


def _on_circle(single: Single, size: int, randomness: Randomness) -> Array:
    """Points of the circle, as many as were asked for, (size, 2)."""
    found, missing = [], size
    while missing > 0:
        found.append(single.propose(math.ceil(1.7 * missing) + 4, randomness)[:missing])
        missing -= len(found[-1])
    return np.concatenate(found)

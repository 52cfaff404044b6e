"""Come here for the laws that frames are proposed from: one unit vector at a time, with what each proposal is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array
from dpfda.mechanisms.randomness import Randomness


@dataclass(frozen=True, slots=True)
class Central:
    """An angular central Gaussian law above `|a|^(weight-1) exp(-sum excess x^2)` on unit vectors `(a, x)`.

    With `y = sum excess x^2` and `d` the number of dimensions that weight and x make together,
    `exp(-y) (1 + 2y/tilt)^(d/2)` is largest at `y = (d - tilt)/2`, whatever the tilt (Kent, Ganeiber and Mardia 2018,
    for weight 1). Small excesses are its strength: where there are none it is exact.
    """

    excess: Array  # (n,)
    weight: int
    dimension: int
    tilt: float

    @property
    def precision(self) -> Array:
        return 1 + 2 * self.excess / self.tilt

    def place(self, normals: Array, randomness: Randomness) -> tuple[Array, Array, Array]:
        """Unit vectors from normals of this precision, (N, n): a, x and the logarithm of the acceptance."""
        lengths = np.sqrt(np.sum(randomness.normal((len(normals), self.weight)) ** 2, axis=1))
        norms = np.sqrt(lengths**2 + np.einsum("ni,ni->n", normals, normals))
        x = normals / norms[:, None]
        y = x**2 @ self.excess
        half = self.dimension / 2
        accept = half * np.log1p(2 * y / self.tilt) - y + (self.dimension - self.tilt) / 2
        return lengths / norms, x, accept - half * math.log(self.dimension / self.tilt)


@dataclass(frozen=True, slots=True)
class Normal:
    """A normal law above `(1 - |x|^2)^((weight-2)/2) exp(-sum excess x^2)` inside the unit ball, for weights from 2.

    Its precision is `2 (excess + tilt)`: inside the ball `tilt |x|^2` is bounded. Large excesses are its strength.
    """

    excess: Array  # (n,)
    weight: int
    tilt: float

    @property
    def precision(self) -> Array:
        return 2 * (self.excess + self.tilt)

    @property
    def log_bound(self) -> float:
        """The largest value of `(weight-2)/2 log(1 - s) + tilt s` for s in the unit interval."""
        power = (self.weight - 2) / 2
        if power >= self.tilt:
            return 0.0
        return self.tilt - power + (power * math.log(power / self.tilt) if power else 0.0)

    def place(self, normals: Array, randomness: Randomness) -> tuple[Array, Array, Array]:
        """Unit vectors `(sqrt(1 - |x|^2), x)` as for the other law; outside of the ball nothing is accepted."""
        squares = np.einsum("ni,ni->n", normals, normals)
        rest = np.maximum(1 - squares, 0.0)
        inside = rest > 0
        power = (self.weight - 2) / 2
        accept = power * np.log(np.where(inside, rest, 1.0)) + self.tilt * squares - self.log_bound
        return np.sqrt(rest), normals, np.where(inside, accept, -np.inf)


def fit(excess: Array, weight: int) -> Central | Normal:
    """The law with the smaller envelope; either is correct, and so is any tilt.

    What is sampled lies outside of `weight - 1` directions not known yet, most likely those of the smallest excesses.
    """
    others = np.sort(excess)[weight - 1 :]
    dimension = len(others) + weight
    tilt = least_tilt(others, weight)
    central = Central(excess, weight, dimension, tilt)
    if weight == 1:
        return central
    normal = Normal(excess, weight, max(least_tilt(others, weight - 2), weight - 2) / 2)
    if normal.tilt + float(excess.min()) <= 0:
        return central
    volume_of_central = central_volume(central, others)
    volume_of_normal = normal.log_bound - 0.5 * float(np.log(others + normal.tilt).sum())
    return normal if volume_of_normal < volume_of_central else central


def central_volume(central: Central, others: Array) -> float:
    """The logarithm of the integral of the envelope over x in the unit ball, without `pi^(n/2)`."""
    half = central.dimension / 2
    bound = half * math.log(central.dimension / central.tilt) - (central.dimension - central.tilt) / 2
    stretch = 0.5 * float(np.log1p(2 * others / central.tilt).sum())
    return bound - stretch + math.lgamma(central.weight / 2) - math.lgamma(half)


def least_tilt(excess: Array, weight: int) -> float:
    """The root of `weight/b + sum 1/(b + 2 excess) = 1`, at which an envelope is smallest; 0 if there is none."""
    tilt = float(weight)
    if weight == 0:
        smallest = 2 * float(excess.min())
        if smallest >= 1 and float((0.5 / excess).sum()) <= 1:
            return 0.0
        tilt = max(1 - smallest, 1e-6)  # at the smallest excess alone the sum is 1 or more there, or nearly
    # The left side is convex and falls: from below Newton's steps never pass the root.
    for _ in range(60):
        widths = tilt + 2 * excess
        above = weight / tilt + float((1 / widths).sum()) - 1
        if above < 1e-9:
            break
        tilt += above / (weight / tilt**2 + float((1 / widths**2).sum()))
    return tilt

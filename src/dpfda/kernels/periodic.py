"""A kernel whose process is periodic: hours of a day, days of a year, angles."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array
from dpfda.kernels.base import OnLine, positive, register


@register(example=lambda: Periodic(length=0.8, period=0.5))
@dataclass(frozen=True, slots=True)
class Periodic(OnLine):
    """The Gaussian kernel of the chord between two points of a circle, `exp(-2 sin^2(pi d / period) / length^2)`.

    The length scale is relative to the circle's radius. On a box use `Tensor`: of a distance in the plane this formula
    is not positive definite.
    """

    length: float
    period: float
    # Not Markov: its paths are analytic, and what lies between two points also lies around the circle.

    def __post_init__(self) -> None:
        example = "e.g. Periodic(length=1.0, period=24.0)"
        object.__setattr__(self, "length", positive(self.length, "length", example))
        object.__setattr__(self, "period", positive(self.period, "period", example))

    def at(self, s: Array, t: Array) -> Array:
        # fmod is exact, and sin(pi x) is not for large x: after a thousand periods the value is still right.
        turn = np.fmod(np.abs(s - t), self.period) / self.period
        chord: Array = np.sin(math.pi * turn) / self.length
        return np.exp(-2 * chord * chord)

    @property
    def smoothness(self) -> float:
        return math.inf

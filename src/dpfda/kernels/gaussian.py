"""The Gaussian kernel and its mixture over length scales, the rational quadratic."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array
from dpfda.kernels.base import Isotropic, positive, register


@register(by_range={"gaussian": lambda rho: Gaussian(rho)})
@dataclass(frozen=True, slots=True)
class Gaussian(Isotropic):
    """The Gaussian kernel in the papers' parameter, `exp(-d^2 / rho)`.

    >>> float(Gaussian(rho=2.0)([0.0], [2.0])[0, 0]) == math.exp(-2.0)
    True
    """

    rho: float
    # Not Markov: its paths are analytic, so any piece of one tells the whole of it.

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive(self.rho, "rho", "e.g. Gaussian(rho=1.0)"))

    @classmethod
    def from_length(cls, length: float) -> Gaussian:
        """The same kernel by its length scale, `exp(-d^2 / (2 length^2))`."""
        return cls(2 * positive(length, "length", "e.g. Gaussian.from_length(0.5)") ** 2)

    def at_distance(self, distance: Array) -> Array:
        return np.exp(-(distance * distance) / self.rho)

    @property
    def smoothness(self) -> float:
        return math.inf


@register(example=lambda: RationalQuadratic(length=0.4, shape=1.5))
@dataclass(frozen=True, slots=True)
class RationalQuadratic(Isotropic):
    """A mixture of Gaussian kernels over length scales, `(1 + d^2 / (2 shape length^2))^-shape`."""

    length: float
    shape: float
    # Not Markov, for the reason that a Gaussian kernel is not.

    def __post_init__(self) -> None:
        example = "e.g. RationalQuadratic(length=1.0, shape=2.0)"
        object.__setattr__(self, "length", positive(self.length, "length", example))
        object.__setattr__(self, "shape", positive(self.shape, "shape", example))

    def at_distance(self, distance: Array) -> Array:
        # log1p keeps the digits of a small d^2 when a large shape, close to the Gaussian limit, multiplies them.
        return np.exp(-self.shape * np.log1p(np.square(distance / self.length) / (2 * self.shape)))

    @property
    def smoothness(self) -> float:
        return math.inf

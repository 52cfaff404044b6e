"""The density of a Gaussian release against its noise alone, for those who study mechanisms. Not private."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpfda.arrays import Array, ArrayLike, public_numbers, values_of
from dpfda.errors import UsageError
from dpfda.mechanisms import SeededRandomness
from dpfda.mechanisms.gaussian import GaussianLaw
from dpfda.releases import Release
from dpfda.statistics.function.plan import FunctionPlan


@dataclass(frozen=True, eq=False)
class ReleaseDensity:
    """`dP_D/dQ`: how much more likely a release of the function f_D is than the noise alone.

    Lemma 3.1 of Mirshani et al. (2019). P_D is the law of `f_D + s Z`, Q that of `s Z`, Z a Gaussian process. With the
    norm and the inner product of the process's space the density at x is `exp((<x, f_D> - |f_D|^2 / 2) / s^2)`. Here x
    and f_D are what the plan's finite basis holds of them, so it is the density of what is released. It knows the exact
    function: nothing of it may be published.

    >>> import numpy as np
    >>> from dpfda import PerturbedFunction, kernels
    >>> from dpfda.studies.release_density import ReleaseDensity
    >>> est = PerturbedFunction(epsilon=1.0, delta=1e-6, sensitivity=0.1, kernel=kernels.Matern(1.5, 0.2))
    >>> density = ReleaseDensity(est.plan(), lambda t: 0.1 * np.exp(-t))
    >>> bool(density(density.coordinates) > 1 > density(0 * density.coordinates))
    True
    """

    plan: FunctionPlan
    function: Any  # a callable of points, or values at the plan's points
    coordinates: Array = field(init=False, repr=False)  # of f_D, before any noise, (size,)

    def __post_init__(self) -> None:
        if not isinstance(self.plan, FunctionPlan) or not isinstance(self.plan.noise, GaussianLaw):
            raise UsageError(
                parameter="plan",
                rule="must be the plan of a PerturbedFunction with Gaussian noise, which needs delta > 0",
            )
        where = self.plan.points[:, 0] if self.plan.points.shape[1] == 1 else self.plan.points
        values = values_of(self.function, where, what="the function") if callable(self.function) else self.function
        object.__setattr__(self, "coordinates", self.plan.coordinates(values))

    @property
    def deviations(self) -> Array:
        """The deviation of the noise in each coordinate, (size,)."""
        return np.sqrt(self.plan.noise.variances)

    @property
    def length(self) -> float:
        """`|f_D| / s`, the number of deviations by which the function moves the noise."""
        return float(np.linalg.norm(self.coordinates / self.deviations))

    def log(self, released: Release | ArrayLike) -> float:
        """The logarithm of the density at a release, or at its noisy coordinates."""
        given = released.noisy if isinstance(released, Release) else public_numbers(released, "Coordinates")
        if given.shape != self.coordinates.shape:
            raise UsageError(
                parameter="released", value=given.shape, rule=f"must have {len(self.coordinates)} coordinates"
            )
        whitened = self.coordinates / self.deviations
        return float(whitened @ (given / self.deviations) - whitened @ whitened / 2)

    def __call__(self, released: Release | ArrayLike) -> float:
        """The density at a release, or at its noisy coordinates; infinite where it is beyond a double."""
        logarithm = self.log(released)
        return math.exp(logarithm) if logarithm < 700 else math.inf

    def loss(self, other: ReleaseDensity, released: Release | ArrayLike) -> float:
        """The privacy loss `log dP_D/dP_D'` at a release; under P_D it is normal with mean `m^2/2` and deviation m.

        Here m is `|f_D - f_D'| / s`: at most the ratio of the claimed sensitivity to the scale, if the claim holds.
        """
        return self.log(released) - other.log(released)

    def draw(self, randomness: SeededRandomness, count: int = 1) -> Array:
        """Simulated noisy coordinates, from a seeded source and so not private, (count, size)."""
        return self.coordinates + randomness.normal((count, len(self.coordinates))) * self.deviations

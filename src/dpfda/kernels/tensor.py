"""Products of kernels over the axes of a box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array, ArrayLike, as_points, brief, is_whole
from dpfda.errors import UsageError
from dpfda.kernels.base import Kernel, as_kernel, register, slowest


@register
@dataclass(frozen=True, slots=True)
class Tensor(Kernel):
    """The product over axes, one kernel for each: `K(s, t) = prod_i K_i(s_i, t_i)`."""

    factors: tuple[Kernel, ...]
    # Not Markov: in a box a point has no two neighbours.

    def __post_init__(self) -> None:
        if not isinstance(self.factors, tuple | list) or not self.factors:
            raise UsageError(
                f"Tensor needs one kernel for each axis, got {brief(self.factors)}. "
                "Write e.g. Tensor((Gaussian(rho=1.0), BrownianMotion())).",
                parameter="factors",
                value=self.factors,
            )
        object.__setattr__(self, "factors", tuple(as_kernel(factor) for factor in self.factors))

    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        one, other = as_points(s, len(self.factors)), as_points(t, len(self.factors))
        total = np.ones((len(one), len(other)))
        for axis, factor in enumerate(self.factors):
            total *= factor(one[:, axis], other[:, axis])
        return total

    @property
    def smoothness(self) -> float:
        return slowest(*(factor.smoothness for factor in self.factors))

    def decay(self, dimension: int = 1) -> float:
        """That of the roughest axis, up to logarithms: eigenvalues are products of the axes' own."""
        if not is_whole(dimension, len(self.factors), len(self.factors)):
            raise UsageError(
                f"This tensor product has {len(self.factors)} axes, got dimension {brief(dimension)}. "
                f"Ask for decay({len(self.factors)}).",
                parameter="dimension",
                value=dimension,
            )
        return slowest(*(factor.decay(1) for factor in self.factors))

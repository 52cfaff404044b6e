"""Come here for what a kernel is, to write one of your own (one method joins the family), and for sums and products."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np

from dpfda.arrays import Array, ArrayLike, brief, values_of
from dpfda.errors import UsageError
from dpfda.kernels.parameters import count, positive


class Kernel(ABC):
    """A positive-definite function of two points.

    Duties of a subclass: a frozen dataclass (kernels are keys of the cache of decompositions) with `__call__`.
    It may say more: `smoothness`, the exponent b of its eigenvalues' decay `j^-b` on an interval (inf if faster than
    every power, nan if not known), and `markov`, whether value and derivatives at two neighbours tell all about what
    lies between.
    """

    __slots__ = ()
    __array_ufunc__: ClassVar[None] = None  # so that np.float64(2.0) * kernel asks the kernel, not numpy

    @abstractmethod
    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        """The matrix of values, (m, p) and (n, p) to (m, n); on a line plain sequences will do."""

    @property
    def smoothness(self) -> float:
        return math.nan

    @property
    def markov(self) -> bool:
        return False

    def decay(self, dimension: int = 1) -> float:
        """The exponent of the eigenvalues' decay on a box; a stationary kernel's `b` becomes `(b - 1 + p) / p`."""
        count(dimension, "The dimension of a box", "e.g. 2")
        return (self.smoothness - 1 + dimension) / dimension

    # Sum, Product and Scaled stand below in this file: each needs the other, so neither file could come first.
    def __add__(self, other: Kernel) -> Sum:
        if isinstance(other, Kernel):
            return Sum(self, other)
        return NotImplemented

    def __mul__(self, other: Kernel | float) -> Product | Scaled:
        if isinstance(other, Kernel):
            return Product(self, other)
        return self.__rmul__(other)

    def __rmul__(self, factor: float) -> Scaled:
        if isinstance(factor, Real):
            return Scaled(self, factor)
        return NotImplemented


def as_kernel(value: object) -> Kernel:
    """The kernel itself, or an error that says what was given instead."""
    if not isinstance(value, Kernel):
        raise UsageError(f"A kernel is needed here, got {brief(value)}. Write for example Gaussian(rho=1.0).")
    return value


def slowest(*exponents: float) -> float:
    """The least exponent; one that is not known makes the answer not known, as Python's own `min` would not."""
    return float(np.min(exponents))


@dataclass(frozen=True, slots=True)
class Sum(Kernel):
    """The sum of two kernels: the covariance of a sum of independent processes."""

    left: Kernel
    right: Kernel
    # Not Markov, even if both sides are: the value of the sum does not tell the values of its parts.

    def __post_init__(self) -> None:
        as_kernel(self.left)
        as_kernel(self.right)

    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        return values_of(self.left, s, t, what="a kernel") + values_of(self.right, s, t, what="a kernel")

    @property
    def smoothness(self) -> float:
        return slowest(self.left.smoothness, self.right.smoothness)

    def decay(self, dimension: int = 1) -> float:
        """That of the rougher side: by Weyl's inequality it decides."""
        return slowest(self.left.decay(dimension), self.right.decay(dimension))


@dataclass(frozen=True, slots=True)
class Product(Kernel):
    """The product of two kernels: the covariance of a product of independent processes."""

    left: Kernel
    right: Kernel
    # Not said to be Markov: a few products are (two exponentials), most are not, and a wrong yes would break noise
    # that is drawn online.

    def __post_init__(self) -> None:
        as_kernel(self.left)
        as_kernel(self.right)

    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        return values_of(self.left, s, t, what="a kernel") * values_of(self.right, s, t, what="a kernel")

    @property
    def smoothness(self) -> float:
        return slowest(self.left.smoothness, self.right.smoothness)

    def decay(self, dimension: int = 1) -> float:
        """That of the rougher side: a product convolves the spectra, and the heavier tail stays."""
        return slowest(self.left.decay(dimension), self.right.decay(dimension))


@dataclass(frozen=True, slots=True)
class Scaled(Kernel):
    """A kernel times a positive number: the variance of its process, times that number."""

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        as_kernel(self.kernel)
        object.__setattr__(self, "factor", positive(self.factor, "The factor of a kernel", "e.g. 2.0 * kernel"))

    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        return self.factor * values_of(self.kernel, s, t, what="a kernel")

    @property
    def smoothness(self) -> float:
        return self.kernel.smoothness

    @property
    def markov(self) -> bool:
        return self.kernel.markov

    def decay(self, dimension: int = 1) -> float:
        """That of the kernel: a factor moves all eigenvalues alike."""
        return self.kernel.decay(dimension)

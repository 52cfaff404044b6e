"""The eigenfunctions of a kernel: the basis in which its noise process has independent coordinates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from dpfda import kernels
from dpfda.arrays import Array, as_plain_ints, as_real, brief, told
from dpfda.bases.base import Basis, check_size, register
from dpfda.bases.domain import Domain, DomainLike, as_domain
from dpfda.bases.galerkin import Decomposition, box_spectrum, interval_spectrum
from dpfda.bases.known_spectra import closed_form, sides
from dpfda.bases.projection import NODES, waves
from dpfda.bases.tensor import Tensor
from dpfda.errors import DpfdaError, UsageError
from dpfda.kernels import Kernel

MOST_EIGENFUNCTIONS = 1024  # on one interval


@register(build=lambda **fields: mercer_from_dict(**fields))
@dataclass(frozen=True, slots=True)
class Mercer(Basis):
    """Eigenfunctions of `f -> mean over t of K(., t) f(t)`, largest eigenvalue first, positive at the upper end.

    Without a closed form, eigenvalues below 1e-14 of the largest are given as zero, and their functions as polynomials
    orthogonal to the others: in double precision the kernel says nothing about them.
    """

    kernel: Kernel
    domain: Domain
    size: int
    power: float = 1.0
    family: ClassVar[str] = "mercer"

    def __post_init__(self) -> None:
        check_size("Mercer", self.size, most=MOST_EIGENFUNCTIONS)
        as_plain_ints(self, "size")
        if not isinstance(self.kernel, Kernel):
            raise UsageError(
                f"A Mercer basis needs a kernel of dpfda.kernels, got {brief(self.kernel)}.",
                parameter="kernel",
                value=self.kernel,
            )
        if not 0 < as_real(self.power) < math.inf:
            raise UsageError(
                f"The power of the eigenvalues must be positive and finite, got {brief(self.power)}.",
                parameter="power",
                value=self.power,
            )
        decompose(self.kernel, self.domain, self.size)  # what cannot be decomposed fails here, not in use

    @property
    def eigenvalues(self) -> Array:
        return decompose(self.kernel, self.domain, self.size).eigenvalues ** self.power

    @property
    def frequencies(self) -> Array:
        """The index; on a box in p dimensions its p-th root, since half-waves fill a volume."""
        return np.arange(self.size, dtype=np.float64) ** (1 / self.domain.dimension)

    def breaks(self, axis: int) -> Array:
        degree = decompose(self.kernel, self.domain, self.size).degree
        # On a box functions are polynomials of low degree, for which a few panels are exact.
        return waves(degree) if self.domain.dimension == 1 else np.linspace(0.0, 1.0, degree // NODES + 2)

    def functions(self, points: Array, order: tuple[int, ...]) -> Array:
        decomposition = decompose(self.kernel, self.domain, self.size)
        scale = math.prod(length**o for length, o in zip(self.domain.lengths, order, strict=True))
        table = decomposition.functions(self.domain.to_unit(points), order)
        return table if scale == 1 else table / scale

    def describe(self) -> dict[str, Any]:
        return {**Basis.describe(self), "kernel": kernels.describe(self.kernel), "power": self.power}


@lru_cache(maxsize=64)
def decompose(kernel: Kernel, domain: Domain, size: int) -> Decomposition:
    """The leading eigenvalues and eigenfunctions: in closed form where it is known, else by polynomials."""
    try:
        if domain.dimension > 1:
            return box_spectrum(kernel, domain, size)
        return closed_form(kernel, domain, size) or interval_spectrum(kernel, domain, size)
    except DpfdaError:
        raise
    except Exception as error:  # a kernel of the user's own, which is public code on public points
        raise UsageError(
            f"The kernel {brief(kernel)} could not be decomposed: {told(error)}.", parameter="kernel", value=kernel
        ) from error


def mercer(kernel: Kernel, domain: DomainLike, size: int, *, power: float = 1.0) -> Mercer | Tensor:
    """The leading eigenfunctions of a kernel, with `eigenvalues` raised to a power.

    On a box a kernel that is a product over its sides gives the product of their eigenfunctions.

    >>> from dpfda.kernels import BrownianMotion
    >>> mercer(BrownianMotion(), (0, 1), size=3).eigenvalues.round(6).tolist()
    [0.405285, 0.045032, 0.016211]
    """
    box = as_domain(domain)
    factors = sides(kernel, box.dimension) if box.dimension > 1 else None
    if factors is None:
        return Mercer(kernel, box, size, power)
    if len(factors) != box.dimension:
        raise UsageError(
            f"This kernel has {len(factors)} factors, but the domain has {box.dimension} side(s).",
            parameter="kernel",
            value=len(factors),
        )
    check_size("Mercer", size, most=Tensor.most)
    return _products(factors, box, int(size), power)


def _products(factors: tuple[Kernel, ...], box: Domain, size: int, power: float) -> Tensor:
    longest = min(size, math.ceil(size ** (1 / len(factors))) + 4)
    while True:
        bases = tuple(
            Mercer(factor, Domain((side,)), longest, power) for factor, side in zip(factors, box.sides, strict=True)
        )
        basis = Tensor(bases, size)
        # Eigenvalues fall: if no product uses the last function of a side, none would use a later one.
        if longest == size or basis.index.max() < longest - 1:
            return basis
        longest = min(size, 2 * longest)


def mercer_from_dict(kernel: dict[str, Any], domain: DomainLike, size: int, *, power: float = 1.0) -> Mercer:
    """A Mercer basis from plain data."""
    return Mercer(kernels.from_dict(kernel), as_domain(domain), size, power)

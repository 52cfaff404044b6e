"""How rough the noise in a released function is, and which derivatives of the function therefore exist.

A sum over the coordinates of a release is always finite: it says nothing. What decides is how fast the noise falls with
the frequency, by the exponent that its kernel states, and how fast the smoothing lets it fall.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dpfda.arrays import Array, brief
from dpfda.bases import Basis
from dpfda.bases.combined import Combined
from dpfda.bases.mercer import Mercer
from dpfda.bases.tensor import Tensor
from dpfda.errors import UsageError
from dpfda.mechanisms.table import MECHANISMS
from dpfda.releases.smoothing import ORDERS, least_order

WAY_OUT = "sobolev-{order}"


@dataclass(frozen=True, slots=True)
class Side:
    """The noise along some sides of a domain: its spectrum integrates `f^(2 k)` for derivatives with `2 k < decay`."""

    sides: slice
    decay: float  # of a kernel with eigenvalues j^-b on an interval b - 1; of white noise minus the number of sides
    steepness: int  # 1: derivatives of the basis grow like the frequency; 2: like its square, as those of polynomials

    def excess(self, order: tuple[int, ...]) -> float:
        """By which power of the frequency the squared noise of a derivative grows, 0 or more where it has no limit."""
        total = 2 * sum(order[self.sides]) * self.steepness
        return total + (self.steepness - 1) * (total > 0) - self.decay


@dataclass(frozen=True, slots=True)
class Roughness:
    """The noise in a function by its decay, and how much of it smoothing has taken away."""

    noise: str  # in words
    sides: tuple[Side, ...]
    smoothing: str  # its name
    ordered: bool  # whether the basis has an order of roughness, so that a smoothing can shrink rough functions

    def has(self, order: tuple[int, ...], smoothing: str | None = None) -> bool:
        """Whether the noise in this derivative is finite, however many coordinates are released."""
        if not any(order):
            return True
        name = self.smoothing if smoothing is None else smoothing
        shrinks = 4.0 * least_order(name) if self.ordered else 0.0
        over = [side.excess(order) for side in self.sides]
        return max(over) < 0 or sum(max(each, 0.0) for each in over) < shrinks

    def smooth_enough(self, order: tuple[int, ...]) -> str | None:
        """The name of the weakest ridge that gives the release this derivative; None: no smoothing does."""
        names = (WAY_OUT.format(order=each) for each in ORDERS)
        return next((name for name in names if self.has(order, name)), None)

    def check(self, order: tuple[int, ...]) -> None:
        """Refuse a derivative that the noise does not have."""
        if self.has(order):
            return
        shown = order[0] if len(order) == 1 else order
        name = self.smooth_enough(order)
        raise UsageError(
            parameter="order",
            value=shown,
            rule=(
                f"must be that of a derivative which the noise has: {self.noise}, smoothed by {brief(self.smoothing)}, "
                "has none of this order, and what finitely many coordinates give in its place grows with their number"
            ),
            fix=(
                "Release it in a basis that is ordered by frequency, and smooth it."
                if name is None
                else f"Smooth the release first, which is free: release.smooth({brief(name)}).derivative({shown}) in "
                f"Python, --derivative {shown} --smoothing {name} for dpfda evaluate."
            ),
        )


def roughness_of(basis: Basis, variances: Array, smoothing: str, *, mechanism: str = "") -> Roughness | None:
    """The roughness of noise with these variances of coordinates; None where there is none to speak of.

    None too where the few functions of the release are its smoothing: public combinations, and mechanisms with a finite
    representation.
    """
    made = MECHANISMS[mechanism].make if mechanism in MECHANISMS else None
    if not variances.any() or getattr(made, "truncates", False) or isinstance(basis, Combined):
        return None
    ordered = bool(basis.frequencies.any())
    factors = basis.factors if isinstance(basis, Tensor) else (basis,)
    edges = np.cumsum([0, *(factor.domain.dimension for factor in factors)]).tolist()
    slices = [slice(low, high) for low, high in pairwise(edges)]
    if _has_kernel(basis) and (getattr(made, "drawn", False) or _in_proportion(basis, variances)):
        sides = tuple(
            Side(where, _decay(factor) - 1.0, factor.steepness) for factor, where in zip(factors, slices, strict=True)
        )
        noise = f"a process with the covariance {' x '.join(str(_kernel(factor)) for factor in factors)}"
    else:
        sides = tuple(
            Side(where, -float(factor.domain.dimension), factor.steepness)
            for factor, where in zip(factors, slices, strict=True)
        )
        noise = "noise that does not fall with the frequency"
    return Roughness(noise, sides, smoothing, ordered)


def roughness_of_draw(basis: Basis, mechanism: str) -> Roughness | None:
    """The roughness of functions that were drawn in the eigenfunctions of a kernel; None for all others."""
    drawn = mechanism in MECHANISMS and getattr(MECHANISMS[mechanism].make, "drawn", False)
    return (
        roughness_of(basis, np.ones(basis.size), "none", mechanism=mechanism) if drawn and _has_kernel(basis) else None
    )


def _has_kernel(basis: Basis) -> bool:
    """Whether its functions are the eigenfunctions of a kernel."""
    return all(isinstance(factor, Mercer) for factor in (basis.factors if isinstance(basis, Tensor) else (basis,)))


def _in_proportion(basis: Basis, variances: Array) -> bool:
    """Whether coordinates have variances in proportion to the eigenvalues: a process with the kernel as covariance."""
    eigenvalues = basis.eigenvalues
    assert eigenvalues is not None
    ratios = variances[eigenvalues > 0] / eigenvalues[eigenvalues > 0]
    return bool(ratios.size and ratios.max() <= (1 + 1e-6) * ratios.min())


def _kernel(factor: Basis) -> object:
    assert isinstance(factor, Mercer)
    return factor.kernel


def _decay(factor: Basis) -> float:
    """The exponent of the eigenvalues' decay on an interval; 1, no derivative at all, where nobody states it."""
    assert isinstance(factor, Mercer)
    stated = factor.kernel.smoothness * factor.power
    return 1.0 if math.isnan(stated) else stated

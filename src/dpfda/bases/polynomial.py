"""Orthonormal Legendre polynomials, and Bernstein polynomials."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.arrays import Array
from dpfda.bases.base import Basis, IntervalBasis, register
from dpfda.bases.domain import Domain, DomainLike, as_domain
from dpfda.bases.projection import Method, waves


def legendre_table(unit: Array, size: int, order: int = 0) -> Array:
    """Orthonormal Legendre polynomials on [0, 1], or a derivative of them, any shape to (size, *shape).

    The d-th derivative of P_k is (2d-1)!! times the Gegenbauer polynomial of degree k - d and parameter d + 1/2. Its
    recurrence runs over differences, in the distance to the nearer end, where it loses no digits.
    """
    lower = unit < 0.5
    near = np.where(lower, unit, 1 - unit)
    table = np.zeros((size, *unit.shape))
    value, difference = np.ones_like(unit), np.zeros_like(unit)  # relative to the polynomial at the end
    scale = math.prod(range(1, 2 * order, 2)) * 2.0**order
    for n in range(size - order):
        if n > 0:
            difference = ((n - 1) * difference - (4 * n + 4 * order - 2) * near * value) / (n + 2 * order)
            value = value + difference
        table[order + n] = value * (scale * math.comb(n + 2 * order, n) * math.sqrt(2 * (order + n) + 1))
    table[order + 1 :: 2] *= np.where(lower, -1.0, 1.0)
    return table


@register(least_size=1)
@dataclass(frozen=True, slots=True)
class Legendre(IntervalBasis):
    """Orthonormal polynomials of degree 0, 1, 2, ..."""

    domain: Domain
    size: int
    family: ClassVar[str] = "legendre"
    steepness: ClassVar[int] = 2  # P_k has the slope k (k + 1) / 2 at the ends

    def unit_functions(self, unit: Array, order: int) -> Array:
        return legendre_table(unit, self.size, order).T


@register(least_size=1)
@dataclass(frozen=True, slots=True)
class Bernstein(IntervalBasis):
    """The functions `sqrt(size) C(K, k) u^k (1 - u)^(K - k)` with K = size - 1.

    Not orthonormal, but its Gram matrix is at most the identity: the function is never larger than its coordinates.
    """

    domain: Domain
    size: int
    family: ClassVar[str] = "bernstein"
    most: ClassVar[int] = 256  # a table takes as many steps as there are functions, and so do all their pairs

    @property
    def orthonormal(self) -> bool:
        return False

    @property
    def frequencies(self) -> Array:
        """All zero: the index is a place, not a roughness, so smoothing leaves these coordinates alone."""
        return np.zeros(self.size)

    def breaks(self, axis: int) -> Array:
        return waves(self.size)

    def unit_functions(self, unit: Array, order: int) -> Array:
        degree = self.size - 1
        if order > degree:
            return np.zeros((len(unit), self.size))
        # De Casteljau: positive terms only, so that nothing cancels.
        table = np.ones((len(unit), 1))
        for _ in range(degree - order):
            table = np.pad(table * (1 - unit)[:, None], ((0, 0), (0, 1))) + np.pad(
                table * unit[:, None], ((0, 0), (1, 0))
            )
        for raised in range(degree - order + 1, degree + 1):
            table = raised * (np.pad(table, ((0, 0), (1, 0))) - np.pad(table, ((0, 0), (0, 1))))
        return table * math.sqrt(self.size)

    def project(self, points: Array, method: Method) -> Array:
        """The Bernstein operator: coordinate k is the curve at k/K over sqrt(size), by linear interpolation.

        It reproduces straight lines and is a mean of values everywhere, so it never leaves the range of the curve.
        """
        if method != "auto":
            return Basis.project(self, points, method)
        low, high = self.domain.sides[0]
        places = np.linspace(low, high, self.size) if self.size > 1 else np.array([(low + high) / 2])
        knots = points[:, 0]
        left = np.clip(np.searchsorted(knots, places, side="right") - 1, 0, len(knots) - 1)
        right = np.minimum(left + 1, len(knots) - 1)
        gap = np.where(right > left, knots[right] - knots[left], 1.0)
        share = np.where(right > left, np.clip((places - knots[left]) / gap, 0.0, 1.0), 0.0)
        matrix = np.zeros((self.size, len(knots)))
        rows = np.arange(self.size)
        np.add.at(matrix, (rows, left), 1 - share)
        np.add.at(matrix, (rows, right), share)
        return matrix / math.sqrt(self.size)


def legendre(domain: DomainLike, size: int) -> Legendre:
    """Orthonormal polynomials up to degree size - 1.

    >>> legendre((-1, 1), size=3).evaluate([0, 1, 0], [1.0]).round(6).tolist()
    [1.732051]
    """
    return Legendre(as_domain(domain), size)


def bernstein(domain: DomainLike, size: int) -> Bernstein:
    """Bernstein polynomials of degree size - 1; coordinates are values of the curve over sqrt(size).

    >>> bernstein((0, 1), size=4).coordinates([0.0, 1.0], [0.0, 1.0]).round(6).tolist()
    [0.0, 0.166667, 0.333333, 0.5]
    """
    return Bernstein(as_domain(domain), size)

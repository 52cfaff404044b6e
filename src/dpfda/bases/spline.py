"""B-splines: piecewise polynomials, with coordinates ordered from smooth to rough."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, as_plain_ints, brief, is_whole
from dpfda.bases.base import IntervalBasis, check_size, register
from dpfda.bases.domain import Domain, DomainLike, as_domain
from dpfda.bases.quadrature import composite
from dpfda.errors import UsageError

LARGEST_DEGREE = 15  # products of two pieces are then integrated exactly


@register(least_size=4)
@dataclass(frozen=True, slots=True)
class BSpline(IntervalBasis):
    """All splines of one degree with equally spaced knots, orthonormal, in the order of Demmler and Reinsch.

    The functions diagonalise the mean square of the second derivative (of the first, for degree 1), so that smoothing
    can shrink them one by one. With `size` functions there are `size - degree` pieces.
    """

    domain: Domain
    size: int
    degree: int = 3
    family: ClassVar[str] = "bspline"
    most: ClassVar[int] = 1024  # which are made orthogonal to each other

    def __post_init__(self) -> None:
        if not is_whole(self.degree, 1, LARGEST_DEGREE):
            raise UsageError(f"The degree of a spline must be a whole number from 1 to 15, got {brief(self.degree)}.")
        as_plain_ints(self, "degree")
        check_size("BSpline", self.size, least=self.degree + 1, most=self.most)
        IntervalBasis.__post_init__(self)

    def breaks(self, axis: int) -> Array:
        return np.linspace(0.0, 1.0, self.size - self.degree + 1)

    def unit_functions(self, unit: Array, order: int) -> Array:
        return _splines(self.size, self.degree, demmler_reinsch(self.size, self.degree), unit, order)

    def describe(self) -> dict[str, Any]:
        return {**IntervalBasis.describe(self), "degree": self.degree}


def _knots(size: int, degree: int) -> Array:
    return np.pad(np.linspace(0.0, 1.0, size - degree + 1), degree, mode="edge")


def _splines(size: int, degree: int, weights: Array, unit: Array, order: int) -> Array:
    """Combinations of B-splines or of their derivatives, with weights (size, k), (m,) -> (m, k)."""
    from scipy.interpolate import BSpline as Evaluator

    if order > degree:
        return np.zeros((len(unit), weights.shape[1]))
    result: Array = Evaluator(_knots(size, degree), weights, degree)(unit, nu=order)
    return result


@lru_cache(maxsize=16)
def demmler_reinsch(size: int, degree: int) -> Array:
    """Weights of the B-splines in each function, (size, size): `C' G C = I` and `C' R C` diagonal and increasing."""
    from scipy.linalg import eigh

    nodes, weights = composite(np.linspace(0.0, 1.0, size - degree + 1))
    flat = nodes.ravel()
    smooth = min(2, degree)

    def inner(order: int) -> Array:
        table = _splines(size, degree, np.eye(size), flat, order)
        return (table.T * weights.ravel()) @ table

    gram = inner(0)
    result: Array = eigh(inner(smooth), gram)[1]
    # The penalty does not tell constant and line apart, so they are put in by hand: the line has its B-spline weights
    # at the Greville points.
    knots = _knots(size, degree)
    greville = np.array([knots[k + 1 : k + degree + 1].mean() for k in range(size)])
    polynomials = np.stack([np.ones(size), math.sqrt(12) * (greville - 0.5)], axis=1)[:, :smooth]
    rest = result[:, smooth:]
    rest = rest - polynomials @ (polynomials.T @ gram @ rest)
    result = np.concatenate([polynomials, rest * np.where(rest[-1] < 0, -1.0, 1.0)], axis=1)
    for _ in range(3):  # Newton's iteration for the nearest orthonormal system removes the rounding of eigh
        result = result @ (1.5 * np.eye(size) - 0.5 * result.T @ gram @ result)
    result.flags.writeable = False
    return result


def bspline(domain: DomainLike, size: int, *, degree: int = 3) -> BSpline:
    """Splines with equally spaced knots, orthonormal and ordered from smooth to rough.

    >>> bspline((0, 1), size=6).matrix([1.0])[0, :2].round(6).tolist()
    [1.0, 1.732051]
    """
    return BSpline(as_domain(domain), size, degree)

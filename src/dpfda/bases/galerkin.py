"""The spectrum of any kernel on an interval or a small box, by polynomials of high degree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Protocol

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.bases.domain import Domain
from dpfda.bases.polynomial import legendre_table
from dpfda.bases.quadrature import gauss, product
from dpfda.bases.trigonometric import cosine_derivative
from dpfda.errors import UsageError
from dpfda.kernels.base import Kernel


class Decomposition(Protocol):
    """Eigenvalues, largest first, and orthonormal eigenfunctions on the unit cube."""

    @property
    def eigenvalues(self) -> Array:
        """The leading eigenvalues, largest first, (size,)."""

    @property
    def degree(self) -> int:
        """About how many half-waves an eigenfunction has along one side, at most."""

    def functions(self, unit: Array, order: tuple[int, ...]) -> Array:
        """Values of all eigenfunctions, or of a derivative, (m, p) -> (m, size)."""


@dataclass(frozen=True, slots=True)
class Waves:
    """Eigenfunctions `amplitude cos(speed (u - centre) + phase)`, the phase in quarter turns."""

    eigenvalues: Array
    amplitudes: Array
    speeds: Array
    quarters: Array
    centre: float

    @property
    def degree(self) -> int:
        return len(self.eigenvalues)

    def functions(self, unit: Array, order: tuple[int, ...]) -> Array:
        angles = (unit - self.centre) * self.speeds
        table = np.empty_like(angles)
        for quarter in range(4):
            mine = self.quarters == quarter
            table[:, mine] = cosine_derivative(angles[:, mine], order[0] + quarter)
        table *= self.amplitudes * self.speeds ** order[0]
        return table


@dataclass(frozen=True, slots=True)
class Series:
    """Eigenfunctions as sums of products of orthonormal Legendre polynomials, `degree` of them on each side."""

    eigenvalues: Array
    coefficients: Array  # (degree^p, size)
    degree: int

    def functions(self, unit: Array, order: tuple[int, ...]) -> Array:
        table = np.ones((len(unit), 1))
        for column, derivative in zip(unit.T, order, strict=True):
            factor = legendre_table(column, self.degree, derivative).T
            table = (table[:, :, None] * factor[:, None, :]).reshape(len(unit), table.shape[1] * self.degree)
        return table @ self.coefficients


@dataclass(frozen=True, slots=True)
class Completed:
    """A series on an interval that uses up its polynomials, and after it the polynomials of all higher degrees."""

    series: Series  # with as many functions as polynomials
    size: int

    @property
    def eigenvalues(self) -> Array:
        """Zero beyond the series."""
        eigenvalues = np.zeros(self.size)
        eigenvalues[: self.series.degree] = self.series.eigenvalues
        return eigenvalues

    @property
    def degree(self) -> int:
        return self.size

    def functions(self, unit: Array, order: tuple[int, ...]) -> Array:
        table = legendre_table(unit[:, 0], self.size, order[0]).T
        low, high = table[:, : self.series.degree], table[:, self.series.degree :]
        return np.concatenate([low @ self.series.coefficients, high], axis=1)


INTERVAL_DEGREES = (32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
SMOOTH_DEGREES = (64, 128, 256, 512, 1024)
BOX_DEGREES = {2: (6, 8, 12, 16, 24, 32), 3: (4, 6, 8, 10)}
# How well `A v = eigenvalue v` holds when A is taken with a higher degree, in units of the largest eigenvalue. It
# bounds the error of eigenvalues, and over the gap to the next eigenvalue that of eigenfunctions.
SETTLED = 1e-12
SLOW = 2e-11  # accepted where higher degrees help little: eigenvalues are then a thousand times better than this
ALMOST = 1e-9  # accepted at the highest degree, for kernels with a strong kink on the diagonal
ROUGHLY = 1e-3  # the same on a box, where the diagonal is not split off
NOISE = 1e-14  # rounding of eigenvalues, in the same units
GRADING = 3
MARGIN = 8  # rows beyond those that are needed, and as many left empty, before a smooth kernel counts as resolved
BLOCK = 8_192  # numbers in one array, so that the few arrays of a recurrence stay in the processor's cache


def interval_spectrum(kernel: Kernel, domain: Domain, size: int) -> Series | Completed:
    """Eigenvalues to about 13 digits of the largest, for kernels that are smooth on each side of the diagonal."""
    degrees = [degree for degree in INTERVAL_DEGREES if degree >= size + 8]
    if len(degrees) < 2:
        raise UsageError(
            f"Eigenfunctions of this kernel are computed up to size {INTERVAL_DEGREES[-2] - 8}, got {size}. Take a "
            "smaller size, or a kernel with closed form (Exponential, BrownianMotion)."
        )
    smooth = smooth_spectrum(kernel, domain, size) if kernel.smoothness == math.inf else None
    if smooth is not None:
        return smooth
    result = _settled(lambda degree: interval_matrix(kernel, domain, degree), degrees, size, enough=ALMOST)
    if result is None:
        raise UsageError(
            f"The {size} leading eigenvalues of {kernel} do not settle with polynomials of degree {degrees[-1]}: its "
            f"range is too short for the domain {domain.sides[0]}, or it is not smooth away from the diagonal. Take a "
            "smaller size, a longer range, or the cosine basis."
        )
    return result


def smooth_spectrum(kernel: Kernel, domain: Domain, size: int) -> Series | Completed | None:
    """The same for a kernel that is smooth on the diagonal too, or None if a plain Gauss rule cannot follow it.

    Its eigenvalues fall so fast that few polynomials tell all that double precision can: the degree is theirs, and
    functions beyond are plain polynomials of higher degree.
    """
    for highest in SMOOTH_DEGREES:
        matrix = smooth_matrix(kernel, domain, highest)
        # The norm of all rows from here on: what an eigenvector of the leading block leaves over is no larger.
        left = np.sqrt(np.cumsum(np.sum(matrix * matrix, axis=1)[::-1])[::-1])
        degree = int(np.sum(left > SETTLED * np.diag(matrix).max())) + MARGIN
        if degree <= highest - MARGIN:
            break
    else:
        return None
    series = _spectrum(matrix[:degree, :degree], degree, min(size, degree))
    return series if size <= degree else Completed(series, size)


def box_spectrum(kernel: Kernel, domain: Domain, size: int) -> Series:
    """Eigenvalues on a box, to rounding for smooth kernels; for kernels with a kink, to about three digits."""
    if domain.dimension not in BOX_DEGREES:
        raise UsageError(
            f"Eigenfunctions on a box are computed in up to 3 dimensions, got {domain.dimension}. Use a Tensor kernel, "
            "one factor for each side."
        )
    degrees = [degree for degree in BOX_DEGREES[domain.dimension] if degree**domain.dimension >= 2 * size]
    if len(degrees) < 2:
        largest = BOX_DEGREES[domain.dimension][-2] ** domain.dimension // 2
        raise UsageError(
            f"On a box in {domain.dimension} dimensions at most {largest} eigenfunctions are computed, got {size}. "
            "Take a smaller size, or a Tensor kernel."
        )
    result = _settled(lambda degree: box_matrix(kernel, domain, degree), degrees, size, enough=ROUGHLY)
    if result is None:
        raise UsageError(
            f"The {size} leading eigenvalues of {kernel} do not settle on this box: its range is too short. Take a "
            "smaller size, a longer range, or a Tensor kernel."
        )
    return result


def interval_matrix(kernel: Kernel, domain: Domain, degree: int) -> Array:
    """The integral operator in orthonormal Legendre polynomials, (degree, degree).

    The square is cut along the diagonal: with t = s u the integrand is smooth on the triangle, and by symmetry one
    triangle is enough. Nodes u are graded towards the diagonal, so that algebraic kinks there are integrated too.
    """
    low, length = domain.sides[0][0], domain.lengths[0]
    s, s_weights = gauss(degree + 32)
    x, x_weights = gauss((GRADING * degree) // 2 + 48)
    u = 1 - (1 - x) ** GRADING
    u_weights = x_weights * GRADING * (1 - x) ** (GRADING - 1)
    inner = np.empty((len(s), degree))  # the integral over t of K(s, t) P_l(t)
    rows = max(1, BLOCK // len(u))
    for start in range(0, len(s), rows):
        block = s[start : start + rows]
        t = block[:, None] * u
        values = np.stack([kernel([low + length * a], low + length * b)[0] for a, b in zip(block, t, strict=True)])
        inner[start : start + rows] = _legendre_sums(values * u_weights * block[:, None], t, degree)
    triangle = (legendre_table(s, degree) * s_weights) @ inner
    return triangle + triangle.T


def _legendre_sums(weights: Array, unit: Array, degree: int) -> Array:
    """`weights` times the first `degree` orthonormal Legendre polynomials, summed over each row, (rows, degree).

    The recurrence of `legendre_table`, whose table would not fit into the processor's cache.
    """
    lower = unit < 0.5
    near = np.where(lower, unit, 1 - unit)
    signed = (weights, np.where(lower, -weights, weights))  # odd polynomials change sign at the lower end
    value, difference, product = np.ones_like(unit), np.zeros_like(unit), np.empty_like(unit)
    result: Array = np.empty((len(unit), degree))
    for n in range(degree):
        if n > 0:
            np.multiply(near, value, out=product)
            product *= (4 * n - 2) / n
            difference *= (n - 1) / n
            difference -= product
            value += difference
        np.einsum("ij,ij->i", signed[n % 2], value, out=result[:, n])
    result *= np.sqrt(2 * np.arange(degree) + 1.0)
    return result


def smooth_matrix(kernel: Kernel, domain: Domain, degree: int) -> Array:
    """The same for a smooth kernel, by one Gauss rule for both variables."""
    nodes, weighted = _rule(degree)
    points = domain.sides[0][0] + domain.lengths[0] * nodes
    result = weighted @ kernel(points, points) @ weighted.T
    return (result + result.T) / 2


@lru_cache(maxsize=8)
def _rule(degree: int) -> tuple[Array, Array]:
    """Nodes, and polynomials there times the weights, (degree, m); the same for every kernel."""
    nodes, weights = gauss(degree + 16)
    weighted = legendre_table(nodes, degree) * weights
    weighted.flags.writeable = False
    return nodes, weighted


def box_matrix(kernel: Kernel, domain: Domain, degree: int) -> Array:
    """The integral operator in products of Legendre polynomials, by a product Gauss rule, (degree^p, degree^p)."""
    nodes, weights = product([gauss(degree + 6)] * domain.dimension)
    lows = np.array([low for low, _ in domain.sides])
    points = lows + nodes * np.array(domain.lengths)
    table = Series(np.zeros(0), np.eye(degree**domain.dimension), degree).functions(nodes, (0,) * domain.dimension)
    weighted = table * weights[:, None]
    result = weighted.T @ kernel(points, points) @ weighted
    return (result + result.T) / 2


def _settled(build: Callable[[int], Array], degrees: list[int], size: int, *, enough: float) -> Series | None:
    """The spectrum at the first degree that a higher one confirms; a low degree keeps derivatives free of rounding."""
    matrix = build(degrees[0])
    residual = math.inf
    for degree, higher in pairwise(degrees):
        result = _spectrum(matrix, degree, size)
        matrix = build(higher)
        before, residual = residual, _residual(result, matrix, higher)
        if residual <= SETTLED or before / 50 < residual <= SLOW:
            return result
    return _spectrum(matrix, degrees[-1], size) if residual <= enough else None


def _residual(series: Series, matrix: Array, degree: int) -> float:
    dimension = _dimension(len(matrix), degree)
    table = series.coefficients.reshape((series.degree,) * dimension + (-1,))
    padding = [(0, degree - series.degree)] * dimension + [(0, 0)]
    vectors = np.pad(table, padding).reshape(len(matrix), -1)
    errors = np.linalg.norm(matrix @ vectors - vectors * series.eigenvalues, axis=0)
    return float(errors.max() / max(series.eigenvalues[0], np.finfo(np.float64).tiny))


def _dimension(rows: int, degree: int) -> int:
    return round(math.log(rows) / math.log(degree))


def _spectrum(matrix: Array, degree: int, size: int) -> Series:
    eigenvalues, vectors = np.linalg.eigh(matrix)
    eigenvalues, vectors = eigenvalues[::-1].copy(), vectors[:, ::-1].copy()
    degrees = np.indices((degree,) * _dimension(len(matrix), degree)).reshape(-1, len(matrix))
    # Below rounding eigenvectors are noise. Zero is as good an eigenvalue there, and polynomials made orthogonal to
    # the others are as good eigenfunctions, and the same on every machine.
    kept = int(np.sum(eigenvalues > NOISE * max(eigenvalues[0], 0.0)))
    eigenvalues[kept:] = 0.0
    _separate(eigenvalues[:kept], vectors, degrees)  # before the cut, which may go through a tie
    eigenvalues, vectors = eigenvalues[:size].copy(), vectors[:, :size].copy()
    if kept < size:
        vectors = _completed(vectors[:, :kept], np.argsort(degrees.sum(axis=0), kind="stable"), size)
    # Legendre polynomials are sqrt(2k+1) at the upper end, with slope k(k+1) times that: eigenfunctions are made
    # positive there, or just before where they vanish at the end.
    value = np.sqrt(np.prod(2.0 * degrees + 1, axis=0))
    corner, slope = value @ vectors, (value * np.sum(degrees * (degrees + 1.0), axis=0)) @ vectors
    vectors *= np.where(np.where(np.abs(corner) > 1e-6, corner, -slope) < 0, -1.0, 1.0)
    eigenvalues.flags.writeable = vectors.flags.writeable = False
    return Series(eigenvalues, vectors, degree)


def _separate(eigenvalues: Array, vectors: Array, degrees: Integers) -> None:
    """Fix the eigenfunctions within ties, where eigh returns any rotation: diagonalise a mean degree there."""
    if len(eigenvalues) < 2:
        return
    gaps = eigenvalues[:-1] - eigenvalues[1:]
    tied = (gaps <= NOISE * eigenvalues[0]) & (gaps <= 1e-6 * eigenvalues[1:])
    starts = [0, *(np.flatnonzero(~tied) + 1), len(eigenvalues)]
    weights = (1 + 0.37 * np.arange(len(degrees))) @ degrees  # sides count differently, or mirror images still tie
    for start, stop in pairwise(starts):
        if stop - start > 1:
            part = vectors[:, start:stop]
            vectors[:, start:stop] = part @ np.linalg.eigh((part.T * weights) @ part)[1]


def _completed(vectors: Array, order: Integers, size: int) -> Array:
    """More orthonormal columns: the polynomials that come late in the order given, made orthogonal to all before."""
    kept = vectors.shape[1]
    complement = np.linalg.qr(vectors, mode="complete")[0][:, kept:]
    # Any basis of the complement will do here: turned into the projections of these polynomials it is always the same.
    rotation = np.linalg.qr(complement[order[kept:]].T)[0]
    return np.concatenate([vectors, complement @ rotation[:, : size - kept]], axis=1)

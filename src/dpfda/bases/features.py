"""Feature maps of a kernel: landmarks (Nyström), random Fourier and Mercer features."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpfda import kernels
from dpfda.arrays import Array, ArrayLike, as_plain_ints, brief, values_of
from dpfda.bases.base import MOST_FEATURES, Basis, check_size, register
from dpfda.bases.domain import Domain, DomainLike, as_domain
from dpfda.bases.mercer import Mercer, mercer
from dpfda.bases.tensor import Tensor
from dpfda.errors import UsageError
from dpfda.kernels import Anisotropic, Exponential, Gaussian, Kernel, Matern, Scaled

CUT = 1e-10  # of the largest variance: what earlier landmarks leave of a later one has to be above it
POOL = 4  # candidates for each landmark that is chosen
AT_ONCE = 2**22  # kernel values held at a time
MOST_LANDMARKS = 1024  # each is compared with all before it
NODES = 4096  # quasi-random points for means over a box in more than two dimensions


@register(build=lambda **fields: landmarks_from_dict(**fields), feature_map=True)
@dataclass(frozen=True, slots=True)
class Landmarks(Basis):
    """The functions `z(x) = L^-1 K(points, x)` with `K(points, points) = L L'`, L lower triangular.

    They are orthonormal in the space of the kernel, so `z(x)'z(y)` is the kernel projected on the landmarks and
    `|z(x)|^2 <= K(x, x)`. L is unique, unlike eigenvectors: a file read elsewhere gives the same functions. The points
    stand in an order in which each adds something: `landmarks()` finds it.
    """

    kernel: Kernel
    domain: Domain
    points: tuple[tuple[float, ...], ...]
    size: int = field(init=False)
    family: ClassVar[str] = "landmarks"

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise UsageError(
                f"Landmarks need a kernel of dpfda.kernels, got {brief(self.kernel)}.",
                parameter="kernel",
                value=self.kernel,
            )
        object.__setattr__(self, "size", len(self.points))
        check_size("landmarks", self.size, most=MOST_LANDMARKS)
        self.domain.points(np.array(self.points))  # refuses points elsewhere
        factor(self.kernel, self.points)  # refuses points that add nothing to those before them

    @property
    def orthonormal(self) -> bool:
        return False

    @property
    def frequencies(self) -> Array:
        """All zero: these functions have no order of roughness, so smoothing leaves them alone."""
        return np.zeros(self.size)

    def functions(self, points: Array, order: tuple[int, ...]) -> Array:
        from scipy.linalg import solve_triangular

        if any(order):
            raise UsageError(
                f"Functions spanned by landmarks have no derivatives here, got order {order}. Ask for 0.",
                parameter="order",
                value=order,
            )
        lower, where = factor(self.kernel, self.points), np.array(self.points)
        table = np.empty((len(points), self.size))
        rows = max(1, AT_ONCE // self.size)
        for start in range(0, len(points), rows):
            sections = self.kernel(where, points[start : start + rows])
            table[start : start + rows] = solve_triangular(lower, sections, lower=True, overwrite_b=True).T
        return table

    def breaks(self, axis: int) -> Array:
        # On a line as many panels as landmarks, at whose points sections may bend; fewer on each side of a box.
        panels = self.size + 1 if self.domain.dimension == 1 else math.ceil(math.sqrt(self.size) / 4) + 1
        return np.linspace(0.0, 1.0, panels + 1)

    def nodes(self) -> tuple[Array, Array]:
        return _nodes(self)

    def describe(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "domain": [list(side) for side in self.domain.sides],
            "points": [list(point) for point in self.points],
            "kernel": kernels.describe(self.kernel),
        }


def _nodes(features: Basis) -> tuple[Array, Array]:
    """Points and weights for means over the domain: a product rule in one or two dimensions, else quasi-random points.

    In more dimensions a product rule would have too many points; means over these are good to about a percent.
    """
    if features.domain.dimension <= 2:
        return Basis.nodes(features)
    return spread(features.domain, NODES), np.full(NODES, 1 / NODES)


@lru_cache(maxsize=16)
def factor(kernel: Kernel, points: tuple[tuple[float, ...], ...]) -> Array:
    """The Cholesky factor of the kernel at landmarks, read-only, (m, m)."""
    where = np.array(points)
    order, lower = _pivots(kernel, where, len(points), ordered=True)
    if len(order) < len(points):
        raise UsageError(
            f"Landmark {len(order) + 1} of {len(points)} adds nothing to those before it in double precision. Leave it "
            "out, or let dpfda.bases.landmarks() choose an order.",
            parameter="points",
        )
    lower.flags.writeable = False
    return lower


def _pivots(kernel: Kernel, where: Array, size: int, *, ordered: bool) -> tuple[list[int], Array]:
    """Places of landmarks in the order in which each adds most, and their factor; fewer where nothing is left to add.

    Pivoted Cholesky: what is left of a point is the variance that those before it do not explain.
    """
    squares = [values_of(kernel, point[None], point[None], what="the kernel").reshape(-1)[:1] for point in where]
    left = np.concatenate([np.empty(0), *squares])
    if left.shape != (len(where),):
        raise UsageError(
            "A kernel gives a matrix of values, one row for each point of the one side.", parameter="kernel"
        )
    if not (np.isfinite(left).all() and left.max() > 0):
        raise UsageError("Landmarks need a kernel with a positive finite value at some of them.", parameter="kernel")
    least = CUT * left.max()
    columns = np.zeros((len(where), size))
    order: list[int] = []
    for step in range(size):
        # The first among those that are equal but for rounding: the same on every machine.
        best = step if ordered else int(np.argmax(left >= left.max() * (1 - 1e-9)))
        if left[best] <= least:
            break
        column = kernel(where, where[best : best + 1])[:, 0] - columns[:, :step] @ columns[best, :step]
        columns[:, step] = column / math.sqrt(left[best])
        columns[order, step] = 0.0  # exactly zero but for rounding
        columns[best, step] = math.sqrt(left[best])
        left = left - columns[:, step] ** 2
        order.append(best)
        left[order] = -1.0
    return order, np.ascontiguousarray(columns[order][:, : len(order)])


def spread(domain: DomainLike, size: int) -> Array:
    """Public points all over a box: evenly spaced on an interval, a low-discrepancy sequence else, (size, p)."""
    from scipy.stats.qmc import Sobol

    box = as_domain(domain)
    check_size("landmarks", size, most=POOL * MOST_LANDMARKS)
    size = int(size)
    if box.dimension == 1:
        return box.grid(size) if size > 1 else np.array([[sum(box.sides[0]) / 2]])
    # Without scrambling it is the same everywhere; the first point, a corner, is left out.
    unit = Sobol(box.dimension, scramble=False).random_base2(math.ceil(math.log2(size + 1)))[1 : size + 1]
    lows, highs = np.array(box.sides).T
    points: Array = lows + (highs - lows) * unit
    return points


def landmarks(
    kernel: Kernel, domain: DomainLike, points: ArrayLike | None = None, *, size: int | None = None
) -> Landmarks:
    """Landmarks at public points, or at `size` points chosen so that each adds most to those before it.

    Points that add nothing in double precision are left out, so a smooth kernel may give fewer functions than asked.

    >>> from dpfda.kernels import Gaussian
    >>> landmarks(Gaussian(rho=1.0), [(0, 1), (0, 1)], size=9).size
    9
    """
    box = as_domain(domain)
    if not isinstance(kernel, Kernel):
        raise UsageError(
            f"Landmarks need a kernel of dpfda.kernels, got {brief(kernel)}.", parameter="kernel", value=kernel
        )
    if (points is None) == (size is None):
        raise UsageError(
            "Landmarks need exactly one of points and size: where they stand, or how many to choose.",
            parameter="points",
        )
    if points is None:
        assert size is not None
        check_size("landmarks", size, most=MOST_LANDMARKS)
        where = spread(box, POOL * int(size))
    else:
        where = box.points(points)
        check_size("landmarks", len(where), most=POOL * MOST_LANDMARKS)
    order, _ = _pivots(kernel, where, len(where) if size is None else size, ordered=False)
    return Landmarks(kernel, box, tuple(tuple(point) for point in where[order].tolist()))


def landmarks_from_dict(kernel: Mapping[str, Any], domain: DomainLike, points: list[list[float]]) -> Landmarks:
    """Landmarks from plain data, in the order in which they were written."""
    return Landmarks(kernels.from_dict(kernel), as_domain(domain), tuple(tuple(map(float, point)) for point in points))


LEAST = 1e-12  # of the largest eigenvalue: below it double precision says nothing about an eigenfunction
MOST_SIDES = 3  # products of eigenfunctions are few enough up to here
CORNERS = 10  # sides up to which all corners of a box are looked at


@register(build=lambda **fields: mercer_features_from_dict(**fields), feature_map=True)
@dataclass(frozen=True, slots=True)
class MercerFeatures(Basis):
    """The functions `lambda_j^(power/2) phi_j` of a kernel's eigenvalues and eigenfunctions, largest first.

    They are orthonormal in the space of the power of the kernel that has these eigenvalues: the kernel itself for
    power 1, `C^eta` of Lin and Reimherr for power eta.
    """

    kernel: Kernel
    domain: Domain
    size: int
    power: float = 1.0
    family: ClassVar[str] = "mercer-features"

    def __post_init__(self) -> None:
        check_size("Mercer", self.size)
        as_plain_ints(self, "size")
        if self.domain.dimension > MOST_SIDES:
            raise UsageError(
                f"Eigenfunctions are products over at most {MOST_SIDES} sides, got a domain with "
                f"{self.domain.dimension}. Use landmarks there.",
                parameter="domain",
                value=self.domain.dimension,
            )
        self.whole()

    def whole(self) -> Mercer | Tensor:
        """The eigenfunctions themselves, orthonormal over the domain."""
        return mercer(self.kernel, self.domain, self.size, power=self.power)

    @property
    def orthonormal(self) -> bool:
        return False

    @property
    def eigenvalues(self) -> Array:
        values = self.whole().eigenvalues
        assert values is not None
        return values

    @property
    def frequencies(self) -> Array:
        """The index of each function: eigenvalues fall with it."""
        return self.whole().frequencies

    def breaks(self, axis: int) -> Array:
        return self.whole().breaks(axis)

    def functions(self, points: Array, order: tuple[int, ...]) -> Array:
        return self.whole().functions(points, order) * np.sqrt(self.eigenvalues)

    def gram(self) -> Array:
        return np.diag(self.eigenvalues)

    def describe(self) -> dict[str, Any]:
        return {**Basis.describe(self), "kernel": kernels.describe(self.kernel), "power": self.power}


@register(build=lambda **fields: fourier_features_from_dict(**fields), feature_map=True)
@dataclass(frozen=True, slots=True)
class FourierFeatures(Basis):
    """Cosines and sines of public frequencies, `sqrt(K(0)/m) (cos w'x, sin w'x)`: exactly `|z(x)|^2 = K(0)`."""

    domain: Domain
    waves: tuple[tuple[float, ...], ...]  # (m, p) frequencies, spread like the spectral density of a kernel
    variance: float
    size: int = field(init=False)
    family: ClassVar[str] = "fourier-features"

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", 2 * len(self.waves))
        check_size("Fourier features", self.size, most=MOST_FEATURES)
        table = np.array(self.waves, dtype=np.float64)
        if table.shape != (len(self.waves), self.domain.dimension) or not np.isfinite(table).all():
            raise UsageError(
                f"Fourier features need rows of {self.domain.dimension} finite frequencies, got shape {table.shape}.",
                parameter="waves",
                value=table.shape,
            )
        if not 0 < self.variance < math.inf:
            raise UsageError(
                f"The variance of a kernel must be positive and finite, got {brief(self.variance)}.",
                parameter="variance",
                value=self.variance,
            )

    @property
    def orthonormal(self) -> bool:
        return False

    @property
    def frequencies(self) -> Array:
        """In half-waves over the domain, by the fastest side."""
        fastest = np.abs(np.array(self.waves) * np.array(self.domain.lengths)).max(axis=1) / math.pi
        return np.repeat(fastest, 2)

    def functions(self, points: Array, order: tuple[int, ...]) -> Array:
        if any(order):
            raise UsageError(
                f"Fourier features have no derivatives here, got order {order}. Ask for 0.",
                parameter="order",
                value=order,
            )
        angles = points @ np.array(self.waves).T
        table = np.empty((len(points), self.size))
        table[:, ::2], table[:, 1::2] = np.cos(angles), np.sin(angles)
        table *= math.sqrt(self.variance / len(self.waves))
        return table

    def gram(self) -> Array:
        if self.domain.dimension > 2:
            return Basis.gram(self)
        # Products of two waves are half the waves of their difference and sum, whose means are known: no points are
        # needed, of which fast waves would take very many.
        waves, half = np.array(self.waves), np.array(self.domain.lengths) / 2
        middle = np.array(self.domain.sides).mean(axis=1)

        def mean(faster: Array) -> npt.NDArray[np.complex128]:
            found: npt.NDArray[np.complex128] = np.exp(1j * (faster @ middle))
            found *= np.prod(np.sinc(faster * half / math.pi), axis=-1)
            return found

        result = np.empty((self.size, self.size))
        for row, wave in enumerate(waves):
            apart, together = mean(wave - waves), mean(wave + waves)
            result[2 * row, ::2] = (apart + together).real
            result[2 * row + 1, 1::2] = (apart - together).real
            result[2 * row, 1::2] = (together - apart).imag
            result[2 * row + 1, ::2] = (together + apart).imag
        result *= self.variance / (2 * len(waves))
        return (result + result.T) / 2

    def nodes(self) -> tuple[Array, Array]:
        return _nodes(self)

    def describe(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "domain": [list(side) for side in self.domain.sides],
            "waves": [list(wave) for wave in self.waves],
            "variance": self.variance,
        }


def mercer_features(kernel: Kernel, domain: DomainLike, size: int, *, power: float = 1.0) -> MercerFeatures:
    """The leading features of a kernel, or of a power of it; fewer where eigenvalues vanish in double precision.

    >>> from dpfda.kernels import Exponential
    >>> float(mercer_features(Exponential(0.5), (0, 1), 40).matrix([0.3]).sum() > 0)
    1.0
    """
    found = MercerFeatures(kernel, as_domain(domain), size)
    kept = int(np.sum(found.eigenvalues > LEAST * found.eigenvalues[0]))
    return MercerFeatures(kernel, found.domain, kept, power)


def mercer_features_from_dict(
    kernel: Mapping[str, Any], domain: DomainLike, size: int, *, power: float = 1.0
) -> MercerFeatures:
    """Features from plain data, exactly as many as were written."""
    return MercerFeatures(kernels.from_dict(kernel), as_domain(domain), size, power)


def fourier_features(kernel: Kernel, domain: DomainLike, size: int) -> FourierFeatures:
    """Features of a stationary kernel at `size / 2` public frequencies, without any draw.

    >>> from dpfda.kernels import Gaussian
    >>> fourier_features(Gaussian(rho=1.0), [(0, 1)] * 5, 100).size
    100
    """
    box = as_domain(domain)
    check_size("Fourier features", size, least=2, most=MOST_FEATURES)
    waves, variance = _spectrum(kernel, box.dimension, int(size) // 2)
    return FourierFeatures(box, tuple(tuple(wave) for wave in waves.tolist()), variance)


def fourier_features_from_dict(domain: DomainLike, waves: list[list[float]], variance: float) -> FourierFeatures:
    """Features from plain data."""
    return FourierFeatures(as_domain(domain), tuple(tuple(map(float, wave)) for wave in waves), float(variance))


def _spectrum(kernel: Kernel, dimension: int, count: int) -> tuple[Array, float]:
    """Quasi-random frequencies with the law of a kernel's spectral density, (count, dimension), and its variance."""
    from scipy.special import gammaincinv, ndtri

    if isinstance(kernel, Scaled):
        waves, variance = _spectrum(kernel.kernel, dimension, count)
        return waves, variance * kernel.factor
    if isinstance(kernel, Anisotropic):
        waves, variance = _spectrum(kernel.kernel, dimension, count)
        # The distance |L^-1 (s - t)| has waves w'L^-1 (s - t).
        return np.linalg.solve(np.array(kernel.matrix).T, waves.T).T, variance
    if isinstance(kernel, Gaussian):
        return math.sqrt(2 / kernel.rho) * ndtri(_cube(count, dimension)), 1.0
    if isinstance(kernel, Matern | Exponential):
        order = kernel.order if isinstance(kernel, Matern) else 0.5
        # A multivariate t law: normal frequencies over the root of a gamma variable of shape and rate `order`.
        unit = _cube(count, dimension + 1)
        mixing = gammaincinv(order, unit[:, -1:]) / order
        return ndtri(unit[:, :-1]) / np.sqrt(np.maximum(mixing, 1e-12)) / kernel.rho, 1.0
    raise UsageError(
        f"Fourier features are known for Gaussian, Matérn and exponential kernels, scaled or with a length matrix, got "
        f"{brief(kernel)}. Use landmarks for others.",
        parameter="kernel",
        value=kernel,
    )


def _cube(count: int, dimension: int) -> Array:
    """Points inside the unit cube: midpoints on a line, a low-discrepancy sequence else, (count, dimension)."""
    if dimension == 1:
        return (np.arange(count)[:, None] + 0.5) / count
    return spread([(0.0, 1.0)] * dimension, count)


@lru_cache(maxsize=64)
def reach(basis: Basis) -> float:
    """The largest length of a feature vector over public points: all over the domain, its corners, its landmarks.

    A public number to scale records down to, not a proof: whoever relies on it clips what is longer.
    """
    dimension = basis.domain.dimension
    points = [spread(basis.domain, NODES), basis.domain.grid(2 if dimension <= CORNERS else 1)]
    if isinstance(basis, Landmarks):
        points.append(np.array(basis.points))
    table = basis.matrix(np.concatenate(points))
    return float(np.sqrt(np.einsum("ij,ij->i", table, table).max()))

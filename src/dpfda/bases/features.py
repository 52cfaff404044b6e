"""Come here for feature maps of a kernel: z(x)'z(y) is near K(x, y), and |z(x)|^2 never above K(x, x)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpfda import kernels
from dpfda.arrays import Array, brief
from dpfda.bases.base import MOST_FEATURES, Basis, check_size
from dpfda.bases.domain import Domain, DomainLike, as_domain
from dpfda.bases.landmarks import NODES, Landmarks, spread
from dpfda.bases.mercer import Mercer, mercer
from dpfda.bases.tensor import Tensor
from dpfda.errors import UsageError
from dpfda.kernels import Anisotropic, Exponential, Gaussian, Kernel, Matern, Scaled

LEAST = 1e-12  # of the largest eigenvalue: below it double precision says nothing about an eigenfunction
MOST_SIDES = 3  # products of eigenfunctions are few enough up to here
CORNERS = 10  # sides up to which all corners of a box are looked at


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
        if self.domain.dimension > MOST_SIDES:
            raise UsageError(
                f"Eigenfunctions are products over at most {MOST_SIDES} sides, got a domain with "
                f"{self.domain.dimension}. Use landmarks there."
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
        return self.whole().frequencies

    def breaks(self, axis: int) -> Array:
        return self.whole().breaks(axis)

    def functions(self, points: Array, order: tuple[int, ...]) -> Array:
        return self.whole().functions(points, order) * np.sqrt(self.eigenvalues)

    def gram(self) -> Array:
        return np.diag(self.eigenvalues)

    def describe(self) -> dict[str, Any]:
        return {**Basis.describe(self), "kernel": kernels.describe(self.kernel), "power": self.power}


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
                f"Fourier features need rows of {self.domain.dimension} finite frequencies, got shape {table.shape}."
            )
        if not 0 < self.variance < math.inf:
            raise UsageError(f"The variance of a kernel must be positive and finite, got {brief(self.variance)}.")

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
            raise UsageError(f"Fourier features have no derivatives here, got order {order}. Ask for 0.")
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
        if self.domain.dimension <= 2:
            return Basis.nodes(self)
        return spread(self.domain, NODES), np.full(NODES, 1 / NODES)

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
    waves, variance = _spectrum(kernel, box.dimension, size // 2)
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
        f"{brief(kernel)}. Use landmarks for others."
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

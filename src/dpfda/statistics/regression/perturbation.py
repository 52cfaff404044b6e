"""How far noise in normal equations can have moved their solution, everywhere at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpfda.arrays import Array
from dpfda.bases import Basis
from dpfda.bases.symmetric import places, side_of, unpack
from dpfda.mechanisms import GaussianLaw, NoiseLaw
from dpfda.releases.bands import multiplier, quantile, sample_size, suprema_of

SHARE = 0.1  # of the chance to fail, for noise in the moments


@dataclass(frozen=True, eq=False)
class Equations:
    """Noisy normal equations: `(S + E) beta = T + F`, entries of S and rows of T, and the laws of E and F.

    S is symmetric, T has a row of coordinates for each coefficient. The exact coefficients solve `S beta = T`.
    """

    basis: Basis
    moments: Array  # (side, side), S + E
    products: Array  # (side, size), T + F
    of_moments: NoiseLaw  # the law of E, each entry kept once
    of_products: NoiseLaw  # the law of F, row after row

    @property
    def variances(self) -> Array:
        """Variances of F, (side, size)."""
        return self.of_products.variances.reshape(self.products.shape)

    def reach(self, combination: Array, level: float, points: Array) -> tuple[Array, Array]:
        """The solution's combination of coefficients at points, and how far off it may be at all of them, each (m,).

        From `S beta = T` and `(S + E) solution = T + F` follows `beta - solution = S^-1 (E solution - F)`: exactly, so
        `u'(beta - solution) = h'E solution - h'F` with `h = S^-1 u`, a vector that no noise has touched. Nobody knows
        it, but `c = (S + E)^-1 u` is known and `h - c = (S + E)^-1 E h`. Two events, each but for a share of the chance
        to fail: E lies in an ellipsoid and a ball of its law, which bounds `|h - c|` and `|h'E x|` for every x; and
        `|h'F|` stays within a quantile over the domain. All lengths are taken after scaling by the deviations of F's
        rows, so that the length of h is the deviation of h'F. Infinite where E may be as large as the smallest
        eigenvalue of S + E: then S may be singular, and beta anything.
        """
        failure, scales = 1 - level, self._scales
        length, norm = spread(self.of_moments, scales, 1 - SHARE * failure)
        smallest = float(np.linalg.eigvalsh(self.moments / np.outer(scales, scales))[0])
        if smallest <= norm:
            return np.zeros(len(points)), np.full(len(points), np.inf)
        solved = np.linalg.solve(self.moments, self.products)
        c = np.asarray(np.linalg.solve(self.moments, combination), dtype=np.float64)
        size, off = float(np.linalg.norm(scales * c)), norm / smallest
        beyond = size * off / (1 - off)  # |h - c| at most, since |h| <= |c| + off |h|
        times = self._multiplier(c, 1 - (1 - SHARE) * failure)
        values, reaches = [], []
        for functions in self.basis.tables(points):
            solution = solved @ functions.T  # (side, m)
            lengths = np.sqrt(np.sum((scales[:, None] * solution) ** 2, axis=0))
            turned = np.minimum(length * self._turned(c, solution), norm * size * lengths) + norm * beyond * lengths
            deviations = np.sqrt(self.variances @ (functions**2).T)  # (side, m)
            own = np.sqrt(c**2 @ deviations**2)
            # Where all rows have the same law but for their scale, the last factor is the same for all of them.
            moved = own + beyond * (deviations / scales[:, None]).max(axis=0)
            values.append(combination @ solution)
            reaches.append(times * moved + turned)
        return np.concatenate(values), np.concatenate(reaches)

    @property
    def _scales(self) -> Array:
        """The size of the noise in each row of the products, the largest 1, (side,)."""
        rows = np.sqrt(self.variances.sum(axis=1))
        scales: Array = rows / rows.max()
        return scales

    def deviation(self, combination: Array, points: Array) -> Array:
        """The standard deviation of what the noise did to a combination, to first order, (m,)."""
        c = np.asarray(np.linalg.solve(self.moments, combination), dtype=np.float64)
        solved = np.asarray(np.linalg.solve(self.moments, self.products), dtype=np.float64)
        parts = [
            np.hypot(np.sqrt(functions**2 @ (c**2 @ self.variances)), self._turned(c, solved @ functions.T))
            for functions in self.basis.tables(points)
        ]
        return np.concatenate(parts)

    def _turned(self, c: Array, values: Array) -> Array:
        """The standard deviation of `c'E x` for columns x, (side, m) -> (m,)."""
        first, second = places(len(c))
        weights = c[first, None] * values[second] + np.where(first != second, c[second], 0.0)[:, None] * values[first]
        return np.sqrt(self.of_moments.variances @ weights**2)

    def _multiplier(self, c: Array, level: float) -> float:
        """How many deviations cover all of `h'F` with at least this probability, for c and for whatever h may be.

        Gaussian rows of one shape make the same law of any h. Radial rows do not quite: sums of several lie between the
        law of a single row and the Gaussian one, so beside c itself these ends are looked at.
        """
        scales = np.sqrt(c**2 @ self.variances)
        normal = multiplier(self.basis, GaussianLaw((1,) * len(scales), tuple(scales.tolist())), level)
        if self.of_products.stable:
            return normal
        law = self.of_products.in_ratios()
        rows = max(quantile(_suprema(self.basis, law, len(c), row), level) for row in range(len(c)))
        return max(normal, rows, quantile(suprema(self.basis, self.of_products, c), level))


def suprema(basis: Basis, noise: NoiseLaw, c: Array) -> Array:
    """Sorted suprema over the domain of `|c'F(t)|` in deviations, for a deterministic sample of the law of F."""
    # Only ratios of scales matter, so equal laws in other units share a sample.
    law = noise.in_ratios()
    paths = np.einsum("i,mik->mk", c.astype(np.float32), _paths(law, len(c)))
    return suprema_of(basis, paths, c**2 @ law.variances.reshape(len(c), -1))


@lru_cache(maxsize=32)
def _suprema(basis: Basis, noise: NoiseLaw, side: int, row: int) -> Array:
    return suprema(basis, noise, np.eye(side)[row])


def _sample(noise: NoiseLaw) -> Array:
    """A deterministic sample of a law: a low-discrepancy sequence, each point in the middle of its cell."""
    from scipy.stats import qmc

    size = sample_size(noise.size)
    return noise.from_uniforms(qmc.Sobol(noise.dimension, scramble=False).random(size) + 0.5 / size)


@lru_cache(maxsize=4)
def _paths(noise: NoiseLaw, side: int) -> npt.NDArray[np.float32]:
    """A sample of noise in the products, (m, side, size); six digits are plenty, and half the memory."""
    sample = _sample(noise).astype(np.float32)
    return sample.reshape(len(sample), side, -1)


@lru_cache(maxsize=16)
def _lengths(noise: NoiseLaw, scales: tuple[float, ...]) -> tuple[Array, Array]:
    sample = _sample(noise)
    norms = np.abs(np.linalg.eigvalsh(unpack(sample) / np.outer(scales, scales))).max(axis=1)
    return np.sqrt(sample**2 @ (1 / noise.variances)), norms


@lru_cache(maxsize=64)
def _spread(noise: NoiseLaw, scales: tuple[float, ...], level: float) -> tuple[float, float]:
    lengths, norms = _lengths(noise, scales)
    length, norm = quantile(np.sort(lengths), level), quantile(np.sort(norms), level)
    both = quantile(np.sort(np.maximum(lengths / length, norms / norm)), level)
    return length * both, norm * both


def spread(noise: NoiseLaw, scales: Array, level: float) -> tuple[float, float]:
    """How large noise in a symmetric matrix gets but for a chance, both at once.

    In deviations of its entries, and in operator norm after rows and columns have been divided by `scales`.
    """
    # Rounded down, which makes the norm larger, so that samples are shared.
    rounded = tuple(float(f"{scale * (1 - 1e-6):.6g}") for scale in scales)
    length, norm = _spread(noise.in_ratios(), rounded, level)
    return length, norm * max(noise.scales)


def best_ridges(moments: Array, rows: Array, of_moments: NoiseLaw, size: float) -> Array:
    """What is added to each eigenvalue of the moments, ascending, from them and from public numbers alone, (side,).

    `rows` are mean squares of the noise in each row of the products, `size` is that of a coefficient to expect. In the
    direction of an eigenvalue a the squared error is about `(v + r^2 b^2) / (a + r)^2`, v the noise and b the
    coefficient: least at `r = v / (a b^2)`. Never so little that the sum comes nearer to zero than noise reaches.
    """
    side = side_of(of_moments.size)
    _, reach = spread(of_moments, np.ones(side), 0.99)
    eigenvalues, vectors = np.linalg.eigh(moments)
    noise = vectors.T**2 @ (rows + unpack(of_moments.variances).sum(axis=1) * size**2)
    # An eigenvalue of next to nothing, or below, tells nothing: its direction is left to be zero.
    positive = np.maximum(eigenvalues, 1e-3 * reach)
    ridges: Array = np.maximum(noise / (positive * size**2) + positive, reach) - eigenvalues
    return ridges

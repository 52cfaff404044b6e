"""Come here for how far noise in normal equations can have moved their solution, everywhere at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpfda.arrays import Array
from dpfda.bases import Basis
from dpfda.errors import UsageError
from dpfda.privacy import Noise
from dpfda.releases.bands import multiplier, sample_size
from dpfda.symmetric import places, side_of, unpack

SHARES = {"products": 0.85, "moments": 0.1, "rest": 0.05}  # of the chance to fail


@dataclass(frozen=True, eq=False)
class Equations:
    """Noisy normal equations: `(S + E) beta = T + F`, entries of S and rows of T, and the laws of E and F.

    S is symmetric, T has a row of coordinates for each coefficient. The exact coefficients solve `S beta = T`.
    """

    basis: Basis
    moments: Array  # (side, side), S + E
    products: Array  # (side, size), T + F
    of_moments: Noise  # the law of E, each entry kept once
    of_products: Noise  # the law of F, row after row

    @property
    def variances(self) -> Array:
        """Variances of F, (side, size)."""
        return self.of_products.variances.reshape(self.products.shape)

    def reach(self, combination: Array, level: float, points: Array) -> tuple[Array, Array]:
        """The solution's combination of coefficients at points, and how far off it may be at all of them, each (m,).

        With `D = beta - solution` the equations say `(S + E) D = E beta - F`. So `u'D = c'E (solution + D) - c'F` with
        `c = (S + E)^-1 u`, which knows nothing of F. Three events, each but for a share of the chance to fail:
        `|c'F|` stays within its exact quantile over the domain; E within an ellipsoid and a ball of its law, so that
        `|c'E x|` is known for every x; and |D|, which enters in second order only, within the fixed point of the same
        inequality for all coefficients. Infinite where E may be as large as the smallest eigenvalue of S + E: then S
        may be singular, and the coefficients anything.
        """
        functions = self.basis.matrix(points)
        side = len(self.moments)
        failure = 1 - level
        length, norm = spread(self.of_moments, 1 - SHARES["moments"] * failure)
        smallest = float(np.linalg.eigvalsh(self.moments)[0])
        if smallest <= norm:
            return np.zeros(len(functions)), np.full(len(functions), np.inf)
        solution = np.linalg.solve(self.moments, self.products) @ functions.T  # (side, m)
        size_of_solution = np.sqrt(np.sum(solution**2, axis=0))

        def first_order(c: Array, chance: float) -> Array:
            deviation = np.sqrt(functions**2 @ (c**2 @ self.variances))
            by_law = length * self._turned(c, solution)
            by_norm = norm * float(np.linalg.norm(c)) * size_of_solution
            reach: Array = self._multiplier(c, 1 - chance) * deviation + np.minimum(by_law, by_norm)
            return reach

        inverse = np.linalg.inv(self.moments)
        each = [first_order(row, SHARES["rest"] * failure / side) for row in inverse]
        farthest = np.sqrt(np.sum(np.square(each), axis=0)) / (1 - norm / smallest)
        c = inverse @ combination
        reach = first_order(c, SHARES["products"] * failure) + norm * float(np.linalg.norm(c)) * farthest
        return combination @ solution, reach

    def deviation(self, combination: Array, points: Array) -> Array:
        """The standard deviation of what the noise did to a combination, to first order, (m,)."""
        functions = self.basis.matrix(points)
        c = np.asarray(np.linalg.solve(self.moments, combination), dtype=np.float64)
        solution: Array = np.asarray(np.linalg.solve(self.moments, self.products) @ functions.T, dtype=np.float64)
        return np.hypot(np.sqrt(functions**2 @ (c**2 @ self.variances)), self._turned(c, solution))

    def _turned(self, c: Array, values: Array) -> Array:
        """The standard deviation of `c'E x` for columns x, (side, m) -> (m,)."""
        first, second = places(len(c))
        weights = c[first, None] * values[second] + np.where(first != second, c[second], 0.0)[:, None] * values[first]
        return np.sqrt(self.of_moments.variances @ weights**2)

    def _multiplier(self, c: Array, level: float) -> float:
        """How many deviations cover all of `c'F` with at least this probability."""
        if self.of_products.law == "gaussian":
            scales = np.sqrt(c**2 @ self.variances)
            return multiplier(self.basis, Noise("gaussian", (1,) * len(scales), tuple(scales.tolist())), level)
        paths = np.einsum("i,mik->mk", c.astype(np.float32), _paths(*_in_ratios(self.of_products), len(c)))
        # As for the band of a mean: sixteen points for every half-wave, and half a percent for what lies between them.
        functions = self.basis.matrix(np.concatenate([self.basis.nodes()[0], self.basis.domain.grid(2)]))
        top = max(self.of_products.scales)
        deviation = np.sqrt(functions**2 @ (c**2 @ self.variances)) / top
        scaled = (functions / np.maximum(deviation, 1e-300)[:, None]).T.astype(np.float32)
        suprema = np.concatenate([np.abs(part @ scaled).max(axis=1) for part in np.split(paths, 64)])
        return quantile(np.sort(suprema).astype(np.float64) * 1.005, level)


def _in_ratios(noise: Noise) -> tuple[str, tuple[int, ...], tuple[float, ...]]:
    # Only ratios of scales matter, so equal laws in other units share a sample.
    return noise.law, noise.sizes, tuple(float(f"{scale / max(noise.scales):.9g}") for scale in noise.scales)


def _sample(noise: Noise) -> Array:
    """A deterministic sample of a law: a low-discrepancy sequence, each point in the middle of its cell."""
    from scipy.stats import qmc

    size = sample_size(noise.size)
    return noise.quantiles(qmc.Sobol(noise.dimension, scramble=False).random(size) + 0.5 / size)


@lru_cache(maxsize=4)
def _paths(law: str, sizes: tuple[int, ...], scales: tuple[float, ...], side: int) -> npt.NDArray[np.float32]:
    """A sample of noise in the products, (m, side, size); six digits are plenty, and half the memory."""
    sample = _sample(Noise(law, sizes, scales)).astype(np.float32)  # type: ignore[arg-type]
    return sample.reshape(len(sample), side, -1)


@lru_cache(maxsize=16)
def _sizes(law: str, sizes: tuple[int, ...], scales: tuple[float, ...]) -> tuple[Array, Array]:
    noise = Noise(law, sizes, scales)  # type: ignore[arg-type]
    sample = _sample(noise)
    norms = np.abs(np.linalg.eigvalsh(unpack(sample))).max(axis=1)
    return np.sqrt(sample**2 @ (1 / noise.variances)), norms


def spread(noise: Noise, level: float) -> tuple[float, float]:
    """How large noise in a symmetric matrix gets but for a chance, in deviations and in operator norm at once."""
    lengths, norms = _sizes(*_in_ratios(noise))
    length, norm = quantile(np.sort(lengths), level), quantile(np.sort(norms), level)
    both = quantile(np.sort(np.maximum(lengths / length, norms / norm)), level)
    return length * both, norm * both * max(noise.scales)


def quantile(ordered: Array, level: float) -> float:
    """A quantile of a sorted sample, three standard errors of its level on the safe side."""
    size = len(ordered)
    rank = level * size + 3 * np.sqrt(size * level * (1 - level)) + 1
    # Beyond the sample nothing is known but that tails fall off; a quarter more is far beyond them.
    return float(ordered[-1] * 1.25 if rank > size else ordered[int(np.ceil(rank)) - 1])


def split(noise: Noise, first: int) -> tuple[Noise, Noise]:
    """The laws of the first coordinates and of all others, which must be independent."""
    edges = np.cumsum(noise.sizes).tolist()
    place = next(index for index, edge in enumerate(edges) if edge >= first)
    head, tail = first - (edges[place] - noise.sizes[place]), edges[place] - first
    if tail and noise.law != "gaussian":
        raise UsageError(
            f"The first {first} coordinates, of the covariates' moments, need noise of their own, independent of the "
            f"others: a block of {noise.sizes[place]} holds both. Cut it there."
        )
    rest = ((tail,), (noise.scales[place],)) if tail else ((), ())
    return (
        Noise(noise.law, (*noise.sizes[:place], head), noise.scales[: place + 1]),
        Noise(noise.law, (*rest[0], *noise.sizes[place + 1 :]), (*rest[1], *noise.scales[place + 1 :])),
    )


def best_ridge(moments: Array, rows: Array, of_moments: Noise, size: float) -> float:
    """What is added to the diagonal for stability, from noisy moments and public numbers alone.

    `rows` are mean squares of the noise in each row of the products, `size` is that of a coefficient to expect. In the
    direction of an eigenvalue a the squared error is about `(v + r^2 b^2) / (a + r)^2`, v the noise and b the
    coefficient: the sum over directions is made least. Never so small that `S + E + r` comes nearer to singular than
    noise reaches.
    """
    _, reach = spread(of_moments, 0.99)
    eigenvalues, vectors = np.linalg.eigh(moments)
    side = side_of(of_moments.size)
    first, second = places(side)
    symmetric = np.zeros((side, side))
    symmetric[first, second] = symmetric[second, first] = of_moments.variances
    noise = vectors.T**2 @ (rows + symmetric.sum(axis=1) * size**2)  # (side,)
    least = max(0.0, reach - float(eigenvalues[0]))
    candidates = least + np.concatenate([[0.0], np.geomspace(1e-6, 1e2, 161) * reach])
    errors = (noise + (candidates[:, None] * size) ** 2) / (eigenvalues + candidates[:, None]) ** 2
    return float(candidates[int(np.argmin(errors.sum(axis=1)))])

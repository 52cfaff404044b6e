"""Noise bands: how far the noise may have moved a release, everywhere at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dpfda.arrays import Array, Integers, as_real, brief
from dpfda.bases import Basis
from dpfda.bases.base import AT_ONCE, check_nodes
from dpfda.bases.tensor import Tensor
from dpfda.errors import UsageError
from dpfda.mechanisms.noise import NoiseLaw

HIGHEST_LEVEL = 0.998  # beyond it the sample has too few paths
FEWEST_PATHS = 2**10
MOST_WORK = 2**37  # multiplications for one law of noise, some seconds
LARGEST = 2**26  # values of the functions of one side

Floats = npt.NDArray[np.float32]


def check_level(level: float) -> None:
    """A level is a probability that the sample of paths can tell."""
    if not 0 < as_real(level) < 1:
        raise UsageError(f"level must lie strictly between 0 and 1, got {brief(level)}. Common is 0.95.")
    if level > HIGHEST_LEVEL:
        raise UsageError(
            f"level = {brief(level)} is beyond what the noise law is tabulated for: at most {HIGHEST_LEVEL}."
        )


@dataclass(frozen=True, eq=False)
class Band:
    """A simultaneous band: it holds the exact clipped summary at all points at once, with probability `level`.

    It does not cover what clipping, the finite basis or the sampling of people did, nor a penalty or threshold before
    the noise: then it holds what that left of the clipped summary, and the card says so.
    """

    points: Array  # (m,) or (m, p)
    lower: Array  # (m,)
    upper: Array  # (m,)
    level: float


def at_points(basis: Basis, points: Array, noise: NoiseLaw, *coordinates: Array) -> tuple[Array, Array, list[Array]]:
    """The deviation of the noise, the sum of the sizes of all functions, and values of some, each (m,)."""
    parts = []
    for table in basis.tables(points):
        deviation, sizes = np.sqrt(table**2 @ noise.variances), np.abs(table).sum(axis=1)
        parts.append((deviation, sizes, *(table @ each for each in coordinates)))
    deviation, sizes, *values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return deviation, sizes, values


def noise_limits(
    release: Any, points: Array, level: float, deviations: Callable[[float], float], *coordinates: Array
) -> tuple[Array, Array, list[Array]]:
    """Between what the exact function lies at points before smoothing, and values of other functions there.

    `deviations` says how many of them cover the noise everywhere with a probability.
    """
    deviation, sizes, (middle, *values) = at_points(release.basis, points, release.noise, release.noisy, *coordinates)
    count = release.count
    # A tenth of the chance to fail goes to the count, if that is noisy too.
    share = level if count is None else 1 - 0.9 * (1 - level)
    # Rounding to the lattice moved each coordinate by at most a step.
    reach = deviations(share) * deviation + release.certificate.lattice_step * sizes
    lower, upper = middle - reach, middle + reach
    if count is not None:
        # The exact mean is (noisy sum - its noise) / (noisy count - its noise).
        off = count.reach(0.1 * (1 - level))
        if off >= count.value:
            lower, upper = np.full_like(lower, -np.inf), np.full_like(upper, np.inf)
        else:
            ratio = count.value / (count.value + np.array([[off], [-off]]))
            lower, upper = (lower * ratio).min(axis=0), (upper * ratio).max(axis=0)
    return lower, upper, values


@lru_cache(maxsize=16)
def studentised_suprema(basis: Basis, noise: NoiseLaw) -> Array:
    """Sorted suprema over the domain of `|noise(t)| / deviation(t)` for a deterministic sample of the noise law.

    A low-discrepancy sequence instead of random numbers: the band of a release is a function of the release.
    """
    from scipy.stats import qmc

    size = _affordable(basis, sample_size(noise.size))
    cube = qmc.Sobol(noise.dimension, scramble=False).random(size)
    # The sequence lies on multiples of 1/size: each point moves to the middle of its cell.
    cube += 0.5 / size
    return suprema_of(basis, noise.from_uniforms(cube).astype(np.float32), noise.variances)


def suprema_of(basis: Basis, paths: Floats, variances: Array) -> Array:
    """Sorted suprema over the domain of `|path(t)| / deviation(t)` for noise in coordinates, (m, size) -> (m,).

    Six digits of a supremum are plenty, and half the time and memory.
    """
    found = np.zeros(len(paths), dtype=np.float32)
    if isinstance(basis, Tensor):
        _over_box(_Grid.of(basis), paths, variances, found)
    else:
        _over_points(basis, paths, variances, found)
    # Sixteen points for every half-wave of the roughest function: between them a path rises by half a percent at most.
    return np.sort(found).astype(np.float64) * 1.005


def _over_points(basis: Basis, paths: Floats, variances: Array, found: Floats) -> None:
    for table in basis.tables(basis.peaks()):
        deviation = np.sqrt(table**2 @ variances)
        scaled = (table / np.maximum(deviation, 1e-300)[:, None]).T.astype(np.float32)
        for part, most in zip(np.array_split(paths, 64), np.array_split(found, 64), strict=True):
            if len(part):
                np.maximum(most, np.abs(part @ scaled).max(axis=1), out=most)


@dataclass(frozen=True, eq=False)
class _Grid:
    """A full grid on a box: points of each factor of a product basis, and its functions there.

    Sums over products of functions are taken along one factor after the other: on a plane that is as many times less
    work as there are functions along a side.
    """

    index: tuple[Integers, ...]  # which function of each factor stands in each product
    tables: tuple[Array, ...]  # (points, functions) of each factor, as far as they are used

    @staticmethod
    def of(basis: Tensor) -> _Grid:
        peaks = [factor.peaks() for factor in basis.factors]
        check_nodes([(points, points[:, 0]) for points in peaks])
        used = (basis.index.max(axis=0) + 1).tolist()
        # The first factor is summed over last, at all points: the fewer functions it has, the better.
        order = sorted(range(len(used)), key=used.__getitem__)
        _check_work(
            max(len(points) * factor.size for factor, points in zip(basis.factors, peaks, strict=True)), LARGEST
        )
        tables = tuple(basis.factors[place].matrix(peaks[place])[:, : used[place]] for place in order)
        return _Grid(tuple(basis.index.T[place] for place in order), tables)

    @property
    def work(self) -> int:
        """Multiplications for one path: along one factor after the other, the first of them last."""
        points, functions = zip(*(table.shape for table in self.tables), strict=True)
        steps = (
            math.prod(points[1 : axis + 1]) * math.prod(functions[axis:]) * functions[0]
            for axis in range(1, len(points))
        )
        return int(sum(steps) + math.prod(points) * (functions[0] + 8))

    def rest(self, coordinates: Any, tables: Sequence[Any]) -> Any:
        """Sums along all factors but the first, (m, size) -> (m, functions of the first, points of the others)."""
        dense: Any = np.zeros((len(coordinates), *(table.shape[1] for table in tables)), dtype=coordinates.dtype)
        dense[(slice(None), *self.index)] = coordinates
        for axis, table in enumerate(tables[1:], 2):
            dense = np.moveaxis(np.tensordot(table, dense, (1, axis)), 0, axis)
        return np.ascontiguousarray(dense).reshape(*dense.shape[:2], -1)


def _over_box(grid: _Grid, paths: Floats, variances: Array, found: Floats) -> None:
    tables = [table.astype(np.float32) for table in grid.tables]
    squares = [table**2 for table in grid.tables]
    of_variances = grid.rest(variances[None], squares)[0]
    others = of_variances.shape[1]
    batch = max(1, AT_ONCE // (tables[0].shape[1] * others))
    rows = max(1, AT_ONCE // (others * min(batch, len(paths))))
    for start in range(0, len(paths), batch):
        inner = grid.rest(paths[start : start + batch], tables)
        most = found[start : start + batch]
        for row in range(0, len(tables[0]), rows):
            deviation = np.sqrt(squares[0][row : row + rows] @ of_variances)
            values = tables[0][row : row + rows] @ inner  # (batch, rows, points of the others)
            values *= (1 / np.maximum(deviation, 1e-300)).astype(np.float32)
            np.abs(values, out=values)
            np.maximum(most, values.max(axis=(1, 2)), out=most)


def sample_size(coordinates: int) -> int:
    """How many paths: more where they are cheap, because few coordinates have the heaviest tails."""
    return 2**16 if coordinates <= 16 else 2**13


def _affordable(basis: Basis, size: int) -> int:
    """As many paths, or fewer where looking at each at all points takes long: suprema of many functions vary little."""
    work = _Grid.of(basis).work if isinstance(basis, Tensor) else len(basis.peaks()) * basis.size
    while size > FEWEST_PATHS and size * work > MOST_WORK:
        size //= 2
    _check_work(size * work, 4 * MOST_WORK)
    return size


def _check_work(work: int, most: int) -> None:
    if work > most:
        raise UsageError(
            "A noise band over these functions would take minutes, or all memory: there are too many of them along one "
            "side. Ask for values alone, or release fewer functions."
        )


def multiplier(basis: Basis, noise: NoiseLaw, level: float) -> float:
    """The number of deviations that covers the whole noise path with at least this probability."""
    # Only ratios of scales matter: tiny and huge units lose no digits, and equal laws in other units share a table.
    return quantile(studentised_suprema(basis, noise.in_ratios()), level)


def quantile(ordered: Array, level: float) -> float:
    """A quantile of a sorted sample, three standard errors of its level on the safe side."""
    size = len(ordered)
    rank = level * size + 3 * np.sqrt(size * level * (1 - level)) + 1
    # Beyond the sample nothing is known but that tails fall off; a quarter more is far beyond them.
    return float(ordered[-1] * 1.25 if rank > size else ordered[int(np.ceil(rank)) - 1])

"""Densities of the papers as they draw them: exact estimate, law of noise, and expected errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.bases.cells import Cells
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.mechanisms.randomness import SeededRandomness
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L2, Sensitivity
from dpfda.statistics.density.papers import PAPERS, DensityDesign, DensityFacts
from dpfda.statistics.density.windows import Bandwidth, window


@dataclass(frozen=True, eq=False)
class PlannedDensity:
    """A mechanism of the papers for n units, their number public: its features, and the law of its noise."""

    design: DensityDesign
    cells: Cells
    reach: float  # how far one unit moves a sum of features, in the norm of the mechanism: what is paid for
    noise: NoiseLaw  # of coordinates of density times volume

    @property
    def volume(self) -> float:
        return math.prod(self.cells.domain.lengths)

    @property
    def noise_error(self) -> float:
        """The expected integral of the squared noise."""
        return float(np.sum(np.diag(self.design.basis.gram()) * self.noise.variances)) / self.volume

    def of(self, points: Array, counts: Array | None = None) -> NoisyDensity:
        """The mechanism on points, or on points that each stand for so many units."""
        weights = np.ones(len(points)) if counts is None else counts
        masses = np.bincount(self.cells.index(points), weights=weights, minlength=self.cells.size)
        return NoisyDensity(self, masses / float(weights.sum()) @ self.design.features * self.design.decode)


@dataclass(frozen=True, eq=False)
class NoisyDensity:
    """A kernel estimate in a basis and the noise on it, before anything is made positive."""

    plan: PlannedDensity
    exact: Array  # coordinates of density times volume

    def values(self, points: Array) -> Array:
        """The estimate without noise."""
        return self.plan.design.basis.evaluate(self.exact, points) / self.plan.volume

    def draw(self, points: Array, randomness: SeededRandomness) -> Array:
        """One release, raw."""
        noise = self.plan.noise
        # Every mechanism of the papers has independent noise in each coordinate; both draws have variance one.
        law = randomness.normal if noise.stable else randomness.laplace_variables
        drawn = self.exact + np.sqrt(noise.variances) * law((noise.size,))
        return self.plan.design.basis.evaluate(drawn, points) / self.plan.volume

    def bias(self, target: Array, points: Array) -> float:
        """The integral of the squared difference to a function, known at equally spread points."""
        return integral((self.values(points) - target) ** 2, self.plan.volume)

    def error(self, target: Array, points: Array) -> float:
        """The expected integral of the squared difference of a release to a function."""
        return self.errors((target,), points)[0]

    def errors(self, targets: tuple[Array, ...], points: Array) -> tuple[float, ...]:
        """The same for several functions."""
        values = self.values(points)
        return tuple(integral((values - target) ** 2, self.plan.volume) + self.plan.noise_error for target in targets)


def planned(
    cells: Cells, n: int, budget: Budget, mechanism: str, *, calibration: str = "exact", **wishes: Any
) -> PlannedDensity:
    """A mechanism by its name; it looks at no data and may be kept."""
    design = PAPERS[mechanism](DensityFacts(cells, n, budget, calibration=calibration), **wishes)
    norm = design.mechanism.norm
    reach = max(farthest(design.features, euclidean=norm == L2()), design.least_diameter)
    scale = calibrate(design.mechanism, Sensitivity(reach, norm, "all pairs of cells"), budget)
    noise = design.mechanism.noise(scale / n, design.basis.size).weighted(design.decode)
    return PlannedDensity(design, cells, reach, noise)


def farthest(rows: Array, *, euclidean: bool) -> float:
    """The largest distance between two rows, in the Euclidean norm or by the sum of absolute values."""
    if euclidean:
        squares = np.sum(rows * rows, axis=1)
        return math.sqrt(max(float((squares[:, None] + squares - 2 * rows @ rows.T).max()), 0.0))
    # One row at a time stays in the processor's cache.
    return max((float(np.abs(rows[i + 1 :] - rows[i]).sum(axis=1).max()) for i in range(len(rows) - 1)), default=0.0)


def integral(values: Array, volume: float) -> float:
    """The integral of a function known at points that are equally spread."""
    return float(np.mean(values)) * volume


def kernel_estimate(
    points: Array,
    at: Array,
    *,
    cells: Cells,
    bandwidth: Bandwidth | None = None,
    family: str = "gaussian",
    counts: Array | None = None,
) -> Array:
    """The kernel estimate that nobody protects, of points that count as the middles of their cells."""
    weights = np.ones(len(points)) if counts is None else counts
    masses = np.bincount(cells.index(points), weights=weights, minlength=cells.size)
    used = window(cells.domain, round(float(weights.sum())), bandwidth=bandwidth, kernel=None, family=family)
    filled = np.flatnonzero(masses)
    values: Array = used.kernel(at, cells.centres[filled]) @ masses[filled]
    return values / (used.mass * float(weights.sum()))

"""The private function that is answered online: a weighted sum of the kernel's sections at records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array, ArrayLike, Integers, brief
from dpfda.bases.domain import Domain
from dpfda.errors import UsageError
from dpfda.kernels import Kernel

MOST_MASS = 2**48  # so that exact sums of masses times whitened integers fit 64 bits, part by part
WEIGHT_STEPS = 2**40


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sections:
    """`f = weight * sum_i masses_i K(x_i, .)`: masses are integers, so that sums over records are exact.

    Private, but for the kernel and the weight.
    """

    points: Array  # (n, d)
    masses: Integers  # (n,)
    weight: float
    kernel: Kernel

    def __post_init__(self) -> None:
        if self.points.ndim != 2 or self.masses.shape != (len(self.points),) or self.masses.dtype != np.int64:
            raise UsageError(
                "Sections need points of shape (n, d) and one 64-bit integer mass for each, got "
                f"{self.points.shape} and {self.masses.dtype} of shape {self.masses.shape}.",
                parameter="points",
                value=self.points.shape,
            )
        if not 0 < self.weight < np.inf:
            raise UsageError(
                f"The weight of one mass must be a positive finite number, got {brief(self.weight)}.",
                parameter="weight",
                value=self.weight,
            )
        if int(np.abs(self.masses).sum(dtype=np.float64)) > MOST_MASS:
            raise UsageError(
                "Sections hold a total mass of at most 2^48. Give each unit a smaller mass.", parameter="masses"
            )

    @staticmethod
    def counted(points: ArrayLike, weight: float, kernel: Kernel, *, masses: ArrayLike | None = None) -> Sections:
        """Every record its mass, 1 by default: a density. Two neighbours then differ in the records of one unit."""
        rows = _rows(points)
        counts = np.ones(len(rows), dtype=np.int64) if masses is None else np.asarray(masses, dtype=np.int64)
        return Sections(rows, counts, float(weight), kernel)

    @staticmethod
    def weighted(points: ArrayLike, weights: ArrayLike, kernel: Kernel, *, total: float) -> Sections:
        """Weights from a solver, with sizes that add up to at most a public `total`: a kernel machine.

        They are rounded to multiples of `weight_step(total)`, for which `calibrated(...)` makes room.
        """
        step = weight_step(total)
        rows = _rows(points)
        # Clipped and repaired rather than refused: no error may depend on weights.
        masses = np.rint(np.clip(np.nan_to_num(np.asarray(weights, dtype=np.float64) / step), -(2**40), 2**40))
        return Sections(rows, masses.astype(np.int64), step, kernel)

    def inside(self, domain: Domain) -> tuple[Array, Integers]:
        """Distinct points, moved into the domain each by itself, in order, and the mass of each."""
        lows, highs = np.array(domain.sides).T
        rows = np.where(np.isnan(self.points), (lows + highs) / 2, np.clip(self.points, lows, highs)) + 0.0
        distinct, where = np.unique(rows, axis=0, return_inverse=True)
        masses = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(masses, where.reshape(-1), self.masses)
        return distinct, masses

    def __repr__(self) -> str:
        return f"Sections(kernel={self.kernel!r}, weight={self.weight:g})"


def weight_step(total: float) -> float:
    """The public lattice of a machine's weights."""
    if not 0 < total < np.inf:
        raise UsageError(
            f"The total weight must be bounded by a positive finite number, got {brief(total)}.",
            parameter="total",
            value=total,
        )
    return float(total) / WEIGHT_STEPS


def _rows(points: ArrayLike) -> Array:
    rows = np.asarray(points, dtype=np.float64)
    return rows.reshape(-1, 1) if rows.ndim == 1 else rows

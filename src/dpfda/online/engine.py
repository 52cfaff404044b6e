"""What an engine is, the sections of records that it answers for, and sums over them that are exact in integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpfda.arrays import Array, ArrayLike, Integers, brief
from dpfda.bases.domain import Domain
from dpfda.errors import DataError, UsageError
from dpfda.kernels import Kernel
from dpfda.online.specification import FINE
from dpfda.online.states import Entries

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
    reach: Domain | None = None  # where points may lie, if not in the domain alone; of a kernel as high there

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
    def counted(
        points: ArrayLike,
        weight: float,
        kernel: Kernel,
        *,
        masses: ArrayLike | None = None,
        reach: Domain | None = None,
    ) -> Sections:
        """Every record its mass, 1 by default: a density. Two neighbours then differ in the records of one unit."""
        rows = _rows(points)
        counts = np.ones(len(rows), dtype=np.int64) if masses is None else np.asarray(masses, dtype=np.int64)
        return Sections(rows, counts, float(weight), kernel, reach)

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

    @property
    def dimension(self) -> int:
        return int(self.points.shape[1])

    def inside(self, domain: Domain) -> tuple[Array, Integers]:
        """Distinct points, moved into the domain, or their reach, each by itself, in order, and the mass of each."""
        lows, highs = np.array((self.reach or domain).sides).T
        rows = np.where(np.isnan(self.points), (lows + highs) / 2, np.clip(self.points, lows, highs)) + 0.0
        distinct, where = np.unique(rows, axis=0, return_inverse=True)
        masses = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(masses, where.reshape(-1), self.masses)
        return distinct, masses

    def __repr__(self) -> str:
        return f"Sections(kernel={self.kernel!r}, weight={self.weight:g})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OwnFunction:
    """A private function of the user's own, which is asked for its values; they become multiples of `unit`."""

    function: Callable[[Array], ArrayLike]
    kernel: Kernel
    dimension: int
    unit: float

    def values(self, points: Array) -> list[int]:
        """Values at points, (m, d), in units; an error where one is no finite number."""
        asked = points[:, 0].copy() if self.dimension == 1 else points.copy()
        found = np.asarray(self.function(asked), dtype=np.float64).reshape(-1)
        if found.shape != (len(points),):
            raise ValueError
        return [round(value) for value in (found / self.unit).tolist()]  # refuses what is not finite

    def __repr__(self) -> str:
        return f"OwnFunction(kernel={self.kernel!r}, unit={self.unit:g})"


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


_PART, _PARTS = 14, 3  # bits of a part, and how many parts


@dataclass(frozen=True, slots=True)
class Answer:
    """A point and all that is public there: the value first, then what later answers are computed from."""

    point: tuple[float, ...]
    state: tuple[float, ...]


def check_answer(answer: Answer, *, dimension: int, size: int) -> None:
    """Refuse an answer of a store that is damaged: all later answers would rest on it."""
    if len(answer.point) != dimension or len(answer.state) != size or not all(map(math.isfinite, answer.state)):
        raise DataError("An answer in the store is damaged. Take a fresh copy of the store.")


class Engine(Protocol):
    """The interface of an engine: it answers new points consistently with earlier ones."""

    def __len__(self) -> int: ...
    def value(self, point: tuple[float, ...]) -> float | None:
        """The answer at a point; None if there is none yet."""

    def points(self) -> Array:
        """All points that have answers, (asked, d)."""

    def fold(self, answers: list[Answer]) -> None:
        """Take in answers that stand in the store, in their order."""

    def extend(self, points: Array) -> list[Answer]:
        """Draw answers at new, distinct points, consistent with all earlier ones, (m, d)."""


def exact_sums(sections: Entries, masses: Integers, offsets: Integers) -> list[list[int]]:
    """Whitened sections of records, each rounded by itself to 2^-40, times masses, summed over runs of records.

    `offsets` are the ends of the runs, 0 first. The sums are exact: a whole number of at most 41 bits is cut in three
    parts of 14 bits, and each part times a total mass of 2^48 fits 64 bits.
    """
    found = []
    for column in sections:
        whole = np.rint(FINE * np.broadcast_to(column, masses.shape)).astype(np.int64)
        sums = [0] * (len(offsets) - 1)
        for place in range(_PARTS):
            # All but the last part lie between 0 and 2^14; the last carries the sign.
            part = whole >> _PART * place if place == _PARTS - 1 else whole >> _PART * place & (2**_PART - 1)
            running = np.concatenate([[0], np.cumsum(part * masses)])
            runs = (running[offsets[1:]] - running[offsets[:-1]]).tolist()
            sums = [total + (run << _PART * place) for total, run in zip(sums, runs, strict=True)]
        found.append(sums)
    return found


def lattice_ratio(ratio: float) -> tuple[int, int]:
    """A factor as a fraction, to multiply exact sums with."""
    return ratio.as_integer_ratio()


def to_lattice(total: int, ratio: tuple[int, int]) -> int:
    """An exact sum in steps of the noise, rounded once, in whole numbers: half a step off at most."""
    if not total:
        return 0
    over, under = ratio
    return (2 * total * over + under) // (2 * under)

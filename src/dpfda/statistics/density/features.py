"""Features of points as rows of a public integer table, and how far one unit can move their sum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.bases.cells import Cells
from dpfda.bases.lattice import RADIUS
from dpfda.errors import UsageError
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.privacy.norms import L1, L2, BlockNorm, Norm, Sensitivity, WeightedL1, WeightedL2, up
from dpfda.releases.decoded import Count, Decoded

# The square of a Euclidean distance within M <= 4096 columns is off by at most (M + 3) 2^-51 of the longest row's, so
# the distance by at most 2^-19.5 of that row even where it is nearly zero; where it is as long as the row, as the
# largest one is once a row stands in the origin, by much less. This is added, as a share of a vector that is longer
# than any row.
SLACK = 2.0**-19
CHUNK = 2**18  # numbers held at a time: what a processor's cache holds


def longest(table: Integers, norm: Norm) -> float:
    """At least the largest norm of a row, rounded up."""
    return _safe(float(_to_rows(table.astype(np.float64), np.zeros((1, table.shape[1])), norm).max()), table, norm)


def diameter(table: Integers, norm: Norm) -> float:
    """At least the largest norm of a difference of two rows, and of two averages of rows, rounded up.

    A norm is convex, so that averages are never further apart than the rows they are averages of.
    """
    # Cells of one step have the same row, and there are many of them.
    rows = np.unique(table - table[:1], axis=0).astype(np.float64)
    step = max(1, CHUNK // len(rows))
    return _safe(
        max(
            float(_to_rows(rows[start:], rows[start : start + step], norm).max()) for start in range(0, len(rows), step)
        ),
        table - table[:1],
        norm,
    )


def volumes_of(cells: Cells) -> Array:
    """The volume of each cell, (size,)."""
    volumes = np.ones(1)
    for along in cells.edges:
        volumes = np.multiply.outer(volumes, np.diff(along)).ravel()
    return volumes


def _safe(value: float, table: Integers, norm: Norm) -> float:
    unit = norm(np.abs(table).max(axis=0))
    return up(value + SLACK * unit, 2)


def _to_rows(rows: Array, others: Array, norm: Norm) -> Array:
    """Norms of all differences of rows and others, (m, k)."""
    if isinstance(norm, L2):
        return _euclidean(rows, others)
    if isinstance(norm, WeightedL2):
        return _euclidean(rows * np.array(norm.weights), others * np.array(norm.weights))
    if isinstance(norm, BlockNorm):
        ends = np.cumsum(norm.sizes).tolist()
        total = np.zeros((len(rows), len(others)))
        for size, end, weight in zip(norm.sizes, ends, norm.weights, strict=True):
            block = slice(end - size, end)
            total += weight * _euclidean(rows[:, block], others[:, block])
        return total
    if isinstance(norm, L1 | WeightedL1):
        from scipy.spatial.distance import cdist

        weights = np.array(norm.weights) if isinstance(norm, WeightedL1) else np.ones(rows.shape[1])
        return np.asarray(cdist(rows * weights, others * weights, "cityblock"))
    raise UsageError(f"A density cannot be released by a mechanism whose norm is {type(norm).__name__}.")


def _euclidean(rows: Array, others: Array) -> Array:
    if rows.shape[1] == 1:
        return np.abs(rows - others.T)
    squares = np.einsum("ij,ij->i", rows, rows)[:, None] + np.einsum("ij,ij->i", others, others)
    squares -= 2 * rows @ others.T
    distances: Array = np.sqrt(np.maximum(squares, 0.0))
    return distances


MOST_FEATURES = 4096
LEAST_OUTSIDE = 0.45  # of the longest row: heard well enough, for a twentieth more noise in all coordinates at most
COMPARED = 128  # rows, for how much that weight may be


def with_outside(features: Array, cells: Cells, norm: Norm) -> Array:
    """Features with a first coordinate for points outside the domain, and a last row, which is zero but there.

    Without a margin its weight is as large as it can be without a point outside lying further from one inside than two
    of those may from each other: then the noise of all other coordinates stays as it was.
    """
    lengths = np.array([norm(row) for row in features])
    some = features[np.unique(np.linspace(0, len(features) - 1, COMPARED).round().astype(int))]
    longest = float(lengths.max())
    apart = max(float(_to_rows(some, some, norm).max()), longest)
    euclidean = isinstance(norm, L2 | WeightedL2)
    free = 0.0 if cells.margin else math.sqrt(apart**2 - longest**2) if euclidean else apart - longest
    table = np.zeros((len(features) + 1, features.shape[1] + 1))
    table[:-1, 1:] = features
    table[cells.size :, 0] = max(free, LEAST_OUTSIDE * longest)
    return table


class Decoding:
    """What sums of features share: a number of units in front where that is private, then one of units outside."""

    cells: Cells
    decode_weights: Array  # (M,) but for the leading columns: from a sum of vectors over the number of units
    size: int
    count_steps: float  # that a unit adds to the number of units
    outside_steps: float  # that a unit outside adds to theirs

    @property
    def leading(self) -> int:
        """The number of coordinates before those of the density."""
        return self.size - len(self.decode_weights)

    def decode(self, sums: Integers, noise: NoiseLaw, n: int | None) -> Decoded:
        """Coordinates from noisy sums over n units; without n from sums that are led by the count."""
        count = None
        units = 0.0 if n is None else float(n)
        if n is None:
            constant = self.count_steps
            of_count, noise = noise.split(1)
            units, sums = max(float(sums[0]) / constant, 1.0), sums[1:]
            count = Count(units, of_count.scaled(1 / constant))
        outside = None
        if self.cells.apart:
            weight = self.outside_steps
            of_outside, noise = noise.split(1)
            outside, sums = Count(float(sums[0]) / weight, of_outside.scaled(1 / weight)), sums[1:]
        noisy = sums.astype(np.float64) / units * self.decode_weights
        return Decoded(noisy, noise.scaled(1 / units).weighted(np.abs(self.decode_weights)), count, outside)


@dataclass(frozen=True, eq=False)
class FeatureTable(Decoding):
    """One row of integers for every cell: a unit's vector is the average of the rows of its points.

    `norm` is that of the mechanism: the reach of one unit is computed in it, exactly, from the table. Where the number
    of units is private the table is led by a constant column, whose sum is that number; where there is a cell outside
    the domain, by a column (the next one) for what lies there.
    """

    cells: Cells
    rows: Integers  # (cells.places, M)
    decode_weights: Array  # (M,) but for the leading columns: from a sum of rows over the number of units
    norm: Norm
    least: float = 0.0  # a sensitivity that a paper states, where it is larger

    @property
    def size(self) -> int:  # type: ignore[override]
        return int(self.rows.shape[1])

    @property
    def count_steps(self) -> float:  # type: ignore[override]
        return float(self.rows[0, 0])

    @property
    def outside_steps(self) -> float:  # type: ignore[override]
        return float(self.rows[-1, self.leading - 1])

    @cached_property
    def diameter(self) -> float:
        """How far apart two units can be, in steps, but for rounding."""
        return diameter(self.rows, self.norm)

    @cached_property
    def longest(self) -> float:
        """How long one unit can be, in steps, but for rounding."""
        return longest(self.rows, self.norm)

    def sensitivity(self, *, replaced: bool) -> Sensitivity:
        """How far one unit moves the sum: by the largest distance of two rows, or by the longest row."""
        reach = self.diameter if replaced else self.longest
        # A unit with several points has a fraction of a step, and the sum is rounded down: one step a coordinate.
        value = up(reach + self.norm(np.ones(self.size)), 2)
        because = (
            f"the {'vectors' if replaced else 'longest vector'} of all {self.cells.places} cells were compared: "
            f"{'no two are further apart' if replaced else 'none is longer'} than {value:.10g}"
        )
        if self.least > value:
            value, because = self.least, f"{because}; the published bound is taken, which is larger"
        return Sensitivity(value, self.norm, because)


def integer_table(features: Array) -> tuple[Integers, float]:
    """Features as integers, the longest row of about 2^24, and how many steps one unit of a feature is."""
    if features.ndim != 2 or not 1 <= features.shape[1] <= MOST_FEATURES or not np.isfinite(features).all():
        raise UsageError(f"A density has 1 to {MOST_FEATURES} features of each cell, got an array {features.shape}.")
    steps = RADIUS / float(np.sqrt(np.einsum("ij,ij->i", features, features).max()))
    return np.rint(features * steps).astype(np.int64), steps

"""Come here for how far apart rows of a public integer table lie: the exact reach of one unit, in every norm."""

from __future__ import annotations

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.errors import UsageError
from dpfda.norms import L1, L2, BlockNorm, Norm, WeightedL1, WeightedL2, up

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

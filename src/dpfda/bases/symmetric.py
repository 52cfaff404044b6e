"""Symmetric matrices as vectors: which entry stands where, and its weight."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.errors import UsageError


@lru_cache(maxsize=64)
def places(side: int) -> tuple[Integers, Integers]:
    """Rows and columns of the entries in their order: the diagonal, then the others, smooth pairs first.

    An entry is kept once. Pairs (i, j), i < j, are ordered by the product (i+1)(j+1), by which covariances of smooth
    curves fall off.
    """
    rows, columns = np.triu_indices(side, 1)
    order = np.lexsort((rows, (rows + 1) * (columns + 1)))
    first = np.concatenate([np.arange(side), rows[order]]).astype(np.int64)
    second = np.concatenate([np.arange(side), columns[order]]).astype(np.int64)
    for array in (first, second):
        array.flags.writeable = False
    return first, second


def packed_size(side: int) -> int:
    """How many entries a symmetric matrix has.

    >>> packed_size(3)
    6
    """
    return side * (side + 1) // 2


def side_of(size: int) -> int:
    """The side of the symmetric matrix that has so many entries.

    >>> side_of(6)
    3
    """
    side = (math.isqrt(8 * max(size, 0) + 1) - 1) // 2
    if size < 1 or packed_size(side) != size:
        raise UsageError(
            f"No symmetric matrix has {size} different entries: sizes are 1, 3, 6, 10, 15, ...",
            parameter="size",
            value=size,
        )
    return side


def pack(matrix: Array) -> Array:
    """The entries of symmetric matrices as vectors, (..., m, m) -> (..., m(m+1)/2)."""
    first, second = places(matrix.shape[-1])
    return matrix[..., first, second]


def unpack(vector: Array) -> Array:
    """Symmetric matrices from their entries, (..., m(m+1)/2) -> (..., m, m)."""
    side = side_of(vector.shape[-1])
    first, second = places(side)
    matrix = np.empty((*vector.shape[:-1], side, side), dtype=vector.dtype)
    matrix[..., first, second] = vector
    matrix[..., second, first] = vector
    return matrix


def multiplicities(side: int) -> Integers:
    """How often each entry stands in the matrix: once on the diagonal, else twice, (m(m+1)/2,)."""
    first, second = places(side)
    return np.where(first == second, 1, 2).astype(np.int64)

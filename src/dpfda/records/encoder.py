"""The encoder: from the values of one record to one vector, exactly and by itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.bases.lattice import FRACTIONS, Lattice

VALUE_BITS = 24
TOTAL_BITS = 52


@dataclass(frozen=True, slots=True)
class Encoder:
    """Values on a public grid to coordinates on a public lattice.

    Values are capped, missing ones filled from the same record, and both values and projection are rounded to
    integers, so that every partial sum of the product is below 2^53: the result is exact in any order of summation,
    hence the same in every batch and on every machine.
    """

    grid: Array  # (q,) sorted public positions along which gaps are filled
    centre: Array  # (q,) in that order
    cap: float
    order: Integers | None  # takes values to that order; None: they stand in it
    weights: Array  # (size, q), integers as doubles
    factor: float  # takes the integer products to lattice steps times FRACTIONS

    @staticmethod
    def build(projection: Array, grid: Array, centre: Array, cap: float, lattice: Lattice) -> Encoder:
        """An encoder from public facts: the projection (size, q), the grid, the centre and the cap on values."""
        largest = float(np.abs(projection).sum(axis=1).max())
        unit = 2.0 ** (TOTAL_BITS - VALUE_BITS - 1) / largest
        order = np.argsort(grid, kind="stable")
        weights: Array = np.rint(projection * unit)[:, order]
        factor = cap / 2.0**VALUE_BITS / unit / lattice.step * FRACTIONS
        in_order = bool((order == np.arange(len(grid))).all())
        return Encoder(grid[order], centre[order], cap, None if in_order else order, weights, factor)

    def encode(self, values: Array) -> tuple[Array, Array]:
        """Vectors of a batch, and 1 for each record that has any value at all, (m, q) -> (size, m), (m,).

        Vectors are integers as doubles, in sixteenths of a lattice step.
        """
        # No record may cause a warning, nor an error where numpy is set to raise them.
        with np.errstate(all="ignore"):
            columns, present = self.repair(values)
            # Row after row rather than all at once: a row stays in the processor's cache from one step to the next.
            for row, centre in zip(columns, self.centre, strict=True):
                if centre:
                    row -= centre
                row *= 2.0**VALUE_BITS / self.cap
                np.rint(row, out=row)
            vectors: Array = self.weights @ columns
            for row in vectors:
                row *= self.factor
                np.rint(row, out=row)
            return vectors, present

    def repair(self, values: Array) -> tuple[Array, Array]:
        """Capped values without gaps, as columns (q, m), and 1 for each record that has any value at all (m,)."""
        rows = values.T if self.order is None else values.T[self.order]
        columns: Array = np.array(rows, dtype=np.float64, order="C")
        low, high = self.centre - self.cap, self.centre + self.cap
        whole, present = np.ones(columns.shape[1], dtype=np.bool_), np.zeros(columns.shape[1], dtype=np.bool_)
        for row, least, most in zip(columns, low, high, strict=True):
            known = np.isfinite(row)
            whole &= known
            present |= known
            # The cap comes first: after it no arithmetic can overflow.
            np.clip(row, least, most, out=row)
        # The same steps whether anybody has a gap or not, so that one gap does not show in the running time: it adds
        # what it takes to fill one record, microseconds.
        gaps = np.flatnonzero(~whole)
        filled = fill(columns[:, gaps], np.isfinite(rows[:, gaps]), self.grid, self.centre)
        # Capped again: where the centre bends, a straight line can lead far away from it.
        columns[:, gaps] = np.clip(filled, low[:, None], high[:, None])
        return columns, present.astype(np.float64)


def fill(columns: Array, known: np.ndarray[tuple[int, int], np.dtype[np.bool_]], grid: Array, centre: Array) -> Array:
    """Fill gaps by the straight line between a record's own neighbours, ends by the nearest value, (q, m).

    A record without any value becomes the public centre.
    """
    size = len(grid)
    index = np.arange(size)[:, None]
    left = np.maximum.accumulate(np.where(known, index, -1), axis=0)
    right = np.minimum.accumulate(np.where(known, index, size)[::-1], axis=0)[::-1]
    left, right = np.where(left < 0, right, left), np.where(right >= size, left, right)
    empty = ~known.any(axis=0)
    left[:, empty] = right[:, empty] = 0
    clean = np.where(known, columns, 0.0)
    low, high = np.take_along_axis(clean, left, axis=0), np.take_along_axis(clean, right, axis=0)
    width = grid[right] - grid[left]
    share = np.where(width > 0, (grid[:, None] - grid[left]) / np.where(width > 0, width, 1.0), 0.0)
    filled = np.where(known, clean, low + (high - low) * share)
    return np.where(empty, centre[:, None], filled)


def smallest_cap(bound: float, size: int) -> float:
    """A cap on values that a curve of `size` grid points within the bound hardly meets: a public multiple of the bound.

    A curve inside the ball can reach `bound * sqrt(2 size)` at one point of a regular grid, at an end where its
    weight is half.
    """
    return bound * 2.0 ** math.ceil(math.log2(max(16.0, math.sqrt(2.0 * size))))

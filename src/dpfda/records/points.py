"""Points: how the mass of each unit is spread over the cells of a public grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.bases.cells import Cells
from dpfda.bases.lattice import MOST_UNITS
from dpfda.records.curves import Curves, quietly
from dpfda.records.identity import Identity
from dpfda.records.reading import Reading, with_progress

MASS = 2**20  # what one unit spreads over the cells of its points, in whole parts
MOST_OF_A_ROW = 2.0**33  # units behind one row: so many in 2^20 rows add up exactly in doubles


def whole_counts(column: Array) -> Array:
    """How many units stand behind each row, rounded down; none where that is missing or negative, (m,)."""
    with np.errstate(all="ignore"):
        return np.floor(np.clip(np.nan_to_num(column, nan=0.0), 0.0, MOST_OF_A_ROW))


def count_units(curves: Curves, rows: int = 2**16) -> int:
    """The number of units of rows that are led by how many stand behind each."""
    return quietly(lambda: sum(int(whole_counts(batch[:, 0]).sum()) for batch in curves.batches(rows)))


def cell_masses(curves: Curves, cells: Cells, *, counted: bool, all_counted: bool, reading: Reading) -> Integers:
    """The mass of all units in every cell, exactly, (cells.places,); each unit has `MASS` in all.

    A unit shares it out equally among its points, the remainder to the lowest of their cells. Without any readable
    point it lies in the middle cell; so does the one unit that stands for rows of nobody, if n units were counted from
    the records (`all_counted`), itself among them. Rows that are `counted` begin with the number of units which they
    stand for.
    """
    rows = reading.batch_rows or max(64, 2**20 // curves.source.width)
    units = curves.units
    if units is None:
        masses = _of_rows(_batches(curves, rows, reading.progress), cells, counted)
        # Where they were not counted nobody has checked that all units fit: cells are full at some point, which changes
        # nothing about how far one unit moves them, and is no error that would tell of it.
        return MASS * (masses if all_counted else np.minimum(masses, MOST_UNITS // cells.places))
    where = np.concatenate(
        [np.empty(0, dtype=np.int64), *(cells.index(batch) for batch in _batches(curves, rows, reading.progress))]
    )
    masses = _of_units(where, units, cells)
    if all_counted:
        masses[cells.middle] += MASS
    return masses


def point_masses(
    curves: Curves, middle: Array, *, counted: bool, all_counted: bool, reading: Reading
) -> tuple[Array, Integers]:
    """The points themselves and the mass of each, (m, p), (m,), as `cell_masses` gives it to their cells.

    A unit without any readable point lies in the `middle` of the domain.
    """
    rows = reading.batch_rows or max(64, 2**20 // curves.source.width)
    read = np.concatenate([np.empty((0, curves.source.width)), *_batches(curves, rows, reading.progress)])
    points, units = read[:, int(counted) :], curves.units
    missing = np.isnan(points).any(axis=1)
    if units is None:
        masses = MASS * (whole_counts(read[:, 0]).astype(np.int64) if counted else np.ones(len(read), dtype=np.int64))
        return np.where(missing[:, None], middle, points), masses
    if len(points) != len(units.codes):
        raise RuntimeError("the rows and their units are out of step")
    readable = (units.codes >= 0) & ~missing
    # Lowest points first within each unit, whatever the order of rows: the first gets the remainder.
    codes, points = units.codes[readable], points[readable]
    order = np.lexsort((*points.T[::-1], codes))
    codes, points = codes[order], points[order]
    count = np.bincount(codes, minlength=units.size)
    share = MASS // np.maximum(count, 1)
    masses = share[codes].astype(np.int64)
    first = np.flatnonzero(np.diff(codes, prepend=-1))
    masses[first] += (MASS - share * count)[codes[first]]
    empty = int((count == 0).sum()) + int(all_counted)
    return np.concatenate([points, middle[None, :]]), np.append(masses, MASS * empty)


LIMB = 16  # bits of a count at a time
MOST_SUM = 2**62


def counted_sum(curves: Curves, vectors_of: Callable[[Array], Array], size: int, reading: Reading) -> Integers:
    """The sum of whole vectors times how many units stand behind each row, which rows begin with, (size,).

    Exact in Python's integers, and at the end each is kept within 62 bits: that brings no two sums further apart.
    """
    total = [0] * size
    rows = reading.batch_rows or 64
    for batch in _batches(curves, rows, reading.progress):
        vectors, counts = vectors_of(batch).astype(np.int64), whole_counts(batch[:, 0]).astype(np.int64)
        # Steps of 25 bits, limbs of 16 and at most 2^20 rows: each sum fits 64 bits.
        low, high = vectors @ (counts & (2**LIMB - 1)), vectors @ (counts >> LIMB)
        total = [t + lo + (hi << LIMB) for t, lo, hi in zip(total, low.tolist(), high.tolist(), strict=True)]
    return np.array([min(max(t, -MOST_SUM), MOST_SUM) for t in total], dtype=np.int64)


def _batches(curves: Curves, rows: int, progress: bool | None) -> Iterator[Array]:
    return with_progress(curves.batches(rows), total=-(-curves.rows // rows), show=progress)


def _of_rows(batches: Iterator[Array], cells: Cells, counted: bool) -> Integers:
    total = np.zeros(cells.places, dtype=np.int64)
    for batch in batches:
        where = cells.index(batch[:, 1:] if counted else batch)
        where[where < 0] = cells.middle
        counts = whole_counts(batch[:, 0]) if counted else None
        # Sums of whole numbers below 2^53: exact as doubles, in any order.
        total += np.bincount(where, weights=counts, minlength=cells.places).astype(np.int64)
        np.minimum(total, MOST_UNITS, out=total)  # before the next batch could overflow
    return total


def _of_units(where: Integers, units: Identity, cells: Cells) -> Integers:
    if len(where) != len(units.codes):
        raise RuntimeError("the rows and their units are out of step")
    readable = (units.codes >= 0) & (where >= 0)
    codes, places = units.codes[readable], where[readable]
    points = np.bincount(codes, minlength=units.size)
    share = MASS // np.maximum(points, 1)
    masses = np.zeros(cells.places, dtype=np.int64)
    np.add.at(masses, places, share[codes])
    # To the lowest cell, which does not depend on the order of rows.
    lowest = np.full(units.size, cells.places)
    np.minimum.at(lowest, codes, places)
    present = points > 0
    np.add.at(masses, lowest[present], (MASS - share * points)[present])
    masses[cells.middle] += MASS * int((points == 0).sum())
    return masses

"""Come here for points: which cell of a public fine grid each falls into, and how much of its unit lies there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpfda.arrays import Array, Integers, brief
from dpfda.bases import Domain
from dpfda.errors import UsageError
from dpfda.records.curves import Curves, quietly
from dpfda.records.identity import Identity
from dpfda.records.lattice import MOST_UNITS
from dpfda.records.progress import with_progress
from dpfda.records.reading import Reading

MASS = 2**20  # what one unit spreads over the cells of its points, in whole parts
# Along each side: numbers with many divisors, so that steps of many widths are whole numbers of cells.
CELLS = {1: 1920, 2: 60, 3: 12, 4: 8, 5: 4, 6: 4}
MOST_SIDES = max(CELLS)
FEW = 30  # along a side: with fewer cells their width shows in the density
MOST_CELLS = 4096
MOST_OF_A_ROW = 2.0**33  # units behind one row: so many in 2^20 rows add up exactly in doubles


@dataclass(frozen=True)
class Cells:
    """Cells of a public box between public edges; every point counts as the middle of its own.

    A point's features are then one of finitely many public vectors, so that how far one unit moves a sum of them is
    known exactly, in every norm.
    """

    edges: tuple[tuple[float, ...], ...]  # along each side, increasing, with both ends

    @cached_property
    def domain(self) -> Domain:
        return Domain(tuple((along[0], along[-1]) for along in self.edges))

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cells there are along each side."""
        return tuple(len(along) - 1 for along in self.edges)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @cached_property
    def centres(self) -> Array:
        """The middles of all cells, (size, p)."""
        axes = [(np.array(along[1:]) + np.array(along[:-1])) / 2 for along in self.edges]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

    @property
    def text(self) -> str:
        """How many cells there are, how wide, and how far a point is moved at most, in words."""
        counts = " x ".join(map(str, self.shape))
        widths = [np.diff(along) / (along[-1] - along[0]) for along in self.edges]
        widest = max(float(each.max()) for each in widths)
        told = "each" if all(np.ptp(each) < 1e-9 for each in widths) and len(set(self.shape)) == 1 else "the widest"
        where = "the domain" if len(self.shape) == 1 else "a side"
        return (
            f"{counts} cells, {told} {100 * widest:.2g} % of {where} wide, so a point is moved by at most "
            f"{50 * widest:.2g} % of it"
        )

    @property
    def coarse(self) -> str:
        """What should be known where the cells of a box are wide; empty where they are not, or were stated as edges."""
        if min(self.shape) >= FEW or self != fine_cells(self.domain):
            return ""
        return f"Cells are coarse: {self.text}. Nothing finer than a cell can be seen."

    @property
    def middle(self) -> int:
        """The cell that stands for a point which cannot be read."""
        return int(np.ravel_multi_index([count // 2 for count in self.shape], self.shape))

    def index(self, points: Array) -> Integers:
        """The cell of each point, (m, p) -> (m,), -1 if a coordinate is missing; outside the box the nearest cell.

        A point on an edge belongs to the cell above it.
        """
        each = [
            np.searchsorted(np.array(along[1:-1]), column, side="right")
            for along, column in zip(self.edges, points.T, strict=True)
        ]
        missing = np.isnan(points).any(axis=1)
        cells = np.ravel_multi_index(tuple(np.where(missing, 0, axis) for axis in each), self.shape).astype(np.int64)
        cells[missing] = -1
        return cells


def equal_cells(domain: Domain, counts: tuple[int, ...]) -> Cells:
    """So many cells of equal width along each side."""
    return Cells(
        tuple(
            tuple(np.linspace(low, high, count + 1).tolist())
            for (low, high), count in zip(domain.sides, counts, strict=True)
        )
    )


def fine_cells(domain: Domain) -> Cells:
    """So many equal cells that their width does not matter, and so few that all pairs of them can be looked at."""
    if domain.dimension > MOST_SIDES:
        raise UsageError(
            f"A density lives on at most {MOST_SIDES} sides, got {domain.dimension}. Release fewer coordinates at once."
        )
    return equal_cells(domain, (CELLS[domain.dimension],) * domain.dimension)


def cells_between(edges: Sequence[float] | Sequence[Sequence[float]]) -> Cells:
    """Cells between stated edges: a sequence for an interval, one for each side of a box."""
    try:
        nested = [edges] if np.ndim(edges[0]) == 0 else list(edges)
        sides = tuple(tuple(float(edge) for edge in along) for along in nested)  # type: ignore[attr-defined]
    except (TypeError, ValueError, LookupError):
        sides = ()
    right = all(len(along) >= 2 and np.isfinite(along).all() and (np.diff(along) > 0).all() for along in sides)
    if not sides or not right or math.prod(len(along) - 1 for along in sides) > MOST_CELLS:
        raise UsageError(
            f"edges are increasing finite numbers with both ends of the domain, e.g. [0, 1, 5, 10], one such list for "
            f"each side of a box, with at most {MOST_CELLS} cells in all; got {brief(edges)}."
        )
    return Cells(sides)


def whole_counts(column: Array) -> Array:
    """How many units stand behind each row, rounded down; none where that is missing or negative, (m,)."""
    with np.errstate(all="ignore"):
        return np.floor(np.clip(np.nan_to_num(column, nan=0.0), 0.0, MOST_OF_A_ROW))


def count_units(curves: Curves, rows: int = 2**16) -> int:
    """The number of units of rows that are led by how many stand behind each."""
    return quietly(lambda: sum(int(whole_counts(batch[:, 0]).sum()) for batch in curves.batches(rows)))


def cell_masses(curves: Curves, cells: Cells, *, counted: bool, all_counted: bool, reading: Reading) -> Integers:
    """The mass of all units in every cell, exactly, (cells.size,); each unit has `MASS` in all.

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
        return MASS * (masses if all_counted else np.minimum(masses, MOST_UNITS // cells.size))
    where = np.concatenate(
        [np.empty(0, dtype=np.int64), *(cells.index(batch) for batch in _batches(curves, rows, reading.progress))]
    )
    masses = _of_units(where, units, cells)
    if all_counted:
        masses[cells.middle] += MASS
    return masses


def _batches(curves: Curves, rows: int, progress: bool | None) -> Iterator[Array]:
    return with_progress(curves.batches(rows), total=-(-curves.rows // rows), show=progress)


def _of_rows(batches: Iterator[Array], cells: Cells, counted: bool) -> Integers:
    total = np.zeros(cells.size, dtype=np.int64)
    for batch in batches:
        where = cells.index(batch[:, 1:] if counted else batch)
        where[where < 0] = cells.middle
        counts = whole_counts(batch[:, 0]) if counted else None
        # Sums of whole numbers below 2^53: exact as doubles, in any order.
        total += np.bincount(where, weights=counts, minlength=cells.size).astype(np.int64)
        np.minimum(total, MOST_UNITS, out=total)  # before the next batch could overflow
    return total


def _of_units(where: Integers, units: Identity, cells: Cells) -> Integers:
    if len(where) != len(units.codes):
        raise RuntimeError("the rows and their units are out of step")
    readable = (units.codes >= 0) & (where >= 0)
    codes, places = units.codes[readable], where[readable]
    points = np.bincount(codes, minlength=units.size)
    share = MASS // np.maximum(points, 1)
    masses = np.zeros(cells.size, dtype=np.int64)
    np.add.at(masses, places, share[codes])
    # To the lowest cell, which does not depend on the order of rows.
    lowest = np.full(units.size, cells.size)
    np.minimum.at(lowest, codes, places)
    present = points > 0
    np.add.at(masses, lowest[present], (MASS - share * points)[present])
    masses[cells.middle] += MASS * int((points == 0).sum())
    return masses

"""A public fine grid of cells over an interval or a box."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dpfda.arrays import Array, Integers, as_real
from dpfda.bases.domain import Domain
from dpfda.errors import UsageError

Booleans = npt.NDArray[np.bool_]

# Along each side: numbers with many divisors, so that steps of many widths are whole numbers of cells.
CELLS = {1: 1920, 2: 60, 3: 12, 4: 8, 5: 4, 6: 4}
MOST_SIDES = max(CELLS)
FEW = 30  # along a side: with fewer cells their width shows in the density
MOST_CELLS = 4096
MOST_IN_ALL = 2**16  # cells that are told one by one
ALONG = 4096  # along each side, where a point's features are products over its sides
BEYOND = 480  # cells in the margin at each end of a line


@dataclass(frozen=True)
class Cells:
    """Cells of a public box between public edges; every point counts as the middle of its own.

    A point's features are then one of finitely many public vectors, so that how far one unit moves a sum of them is
    known exactly, in every norm.
    """

    edges: tuple[tuple[float, ...], ...]  # along each side, increasing, with both ends
    apart: bool = False  # whether all points outside the box lie in one more cell, the last; else in the nearest one
    margin: float = 0.0  # on a line: how far beyond its ends points have cells of their own, before that last one

    @cached_property
    def domain(self) -> Domain:
        """The box that the cells fill."""
        return Domain(tuple((along[0], along[-1]) for along in self.edges))

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cells there are along each side."""
        return tuple(len(along) - 1 for along in self.edges)

    @property
    def size(self) -> int:
        """The number of cells in the box."""
        return math.prod(self.shape)

    @property
    def told(self) -> str:
        """How many there are: where they are too many to be counted, along each side."""
        return str(self.size) if self.size <= MOST_CELLS else " x ".join(map(str, self.shape))

    @property
    def places(self) -> int:
        """The number of cells that a point may lie in, with those outside."""
        return self.size + 2 * self._beyond + self.apart

    @property
    def _beyond(self) -> int:
        return BEYOND if self.margin else 0

    def request_parts(self) -> dict[str, Any]:
        """The names under which keys of ledgers know cells: until there was one outside, by their edges alone."""
        outside = {"apart": True, "margin": self.margin} if self.apart else {}
        return {"edges": self.edges} | outside

    @cached_property
    def centres(self) -> Array:
        """The middles of all cells in the box, (size, p)."""
        axes = [(np.array(along[1:]) + np.array(along[:-1])) / 2 for along in self.edges]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

    @cached_property
    def outer_centres(self) -> Array:
        """The middles of the cells beyond the ends of a line, first those above it, (any, p)."""
        (low, high), *_ = self.domain.sides
        away = (np.arange(self._beyond) + 0.5) * (self.margin / BEYOND)
        return np.concatenate([high + away, low - away]).reshape(-1, len(self.edges))

    @property
    def reach(self) -> Domain:
        """The box, or the line with its margin: where cells are that a point may lie in, but for the last one."""
        return Domain(tuple((low - self.margin, high + self.margin) for low, high in self.domain.sides))

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
        """A warning where the cells of a box are wide; empty where they are not, or were stated as edges."""
        if min(self.shape) >= FEW or self.edges != fine_cells(self.domain).edges:
            return ""
        return f"Cells are coarse: {self.text}. Nothing finer than a cell can be seen."

    @property
    def middle(self) -> int:
        """The cell that stands for a point which cannot be read."""
        return int(np.ravel_multi_index([count // 2 for count in self.shape], self.shape))

    def along(self, points: Array) -> list[Integers]:
        """The place of each point along each side, outside the box the nearest one, p times (m,)."""
        return [
            np.searchsorted(np.array(along[1:-1]), column, side="right")
            for along, column in zip(self.edges, points.T, strict=True)
        ]

    def beyond(self, points: Array) -> Booleans:
        """Whether each point lies outside the box, (m,); not if a coordinate is missing."""
        lows, highs = np.array(self.domain.sides).T
        with np.errstate(all="ignore"):
            found: Booleans = ((points < lows) | (points > highs)).any(axis=1)
        return found

    def index(self, points: Array) -> Integers:
        """The cell of each point, (m, p) -> (m,), -1 if a coordinate is missing.

        A point on an edge belongs to the cell above it, and on the last one to the cell below.
        """
        each = self.along(points)
        missing = np.isnan(points).any(axis=1)
        cells = np.ravel_multi_index(tuple(np.where(missing, 0, axis) for axis in each), self.shape).astype(np.int64)
        if self.apart:
            cells[self.beyond(points)] = self.places - 1
            if self.margin:
                lows, highs = np.array(self.domain.sides).T
                # How many cells beyond the end; what cannot be told, as of infinity, lies in none of them.
                with np.errstate(all="ignore"):
                    away = np.maximum(points[:, 0] - highs[0], lows[0] - points[:, 0]) / (self.margin / BEYOND)
                near = (away > 0) & (away < BEYOND)
                below = points[near, 0] < lows[0]
                cells[near] = self.size + away[near].astype(np.int64) + BEYOND * below
        cells[missing] = -1
        return cells


def equal_cells(domain: Domain, counts: tuple[int, ...]) -> Cells:
    """Cells of equal width, a stated number of them along each side."""
    return Cells(
        tuple(
            tuple(np.linspace(low, high, count + 1).tolist())
            for (low, high), count in zip(domain.sides, counts, strict=True)
        )
    )


def fine_cells(domain: Domain) -> Cells:
    """Equal cells, so many that their width does not matter, and so few that all pairs can be compared."""
    if domain.dimension > MOST_SIDES:
        raise UsageError(
            f"A density lives on at most {MOST_SIDES} sides, got {domain.dimension}. Release fewer at once.",
            parameter="domain",
            value=domain.dimension,
        )
    return equal_cells(domain, (CELLS[domain.dimension],) * domain.dimension)


def cells_along(domain: Domain) -> Cells:
    """Equal cells, so many along each side that a point is known as if by itself; together they cannot be counted."""
    return equal_cells(domain, (ALONG,) * domain.dimension)


def cells_between(edges: Sequence[float] | Sequence[Sequence[float]]) -> Cells:
    """Cells between stated edges: a sequence for an interval, one for each side of a box."""
    try:
        nested: list[Any] = [edges] if np.ndim(edges[0]) == 0 else list(edges)
        sides = tuple(tuple(as_real(edge) for edge in along) for along in nested)
    except (TypeError, ValueError, LookupError):
        sides = ()
    right = all(len(along) >= 2 and np.isfinite(along).all() and (np.diff(along) > 0).all() for along in sides)
    if not sides or not right or math.prod(len(along) - 1 for along in sides) > MOST_CELLS:
        raise UsageError(
            parameter="edges",
            value=edges,
            rule=(
                "are increasing finite numbers with both ends of the domain, e.g. [0, 1, 5, 10], one such "
                f"list for each side of a box, with at most {MOST_CELLS} cells in all"
            ),
        )
    return Cells(sides)

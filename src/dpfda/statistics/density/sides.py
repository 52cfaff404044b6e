"""Features of points as products of public tables, one for each side, and how far one unit can move their sum.

A box of three or more sides has too many cells for a row each. Where a kernel is a product over the sides, so are its
features: feature j of a point is the product over the sides i of entry `index[j, i]` of the row of the side's own table
for its place along that side, of which there are thousands. Why that is private, whatever the tables hold: let all
products of columns be features, not only those of the index. Then the inner product of two points is the product over
the sides of `k_i(a, b)`, the inner product of two rows of table i. With `p_i` the largest `k_i(a, a)` and `-v_i` the
least `k_i(a, b)`, squared lengths are at most `P = prod p_i`, and an inner product is at least `-P max(v_i / p_i)`: a
product is negative only if one of its factors is, and no factor is larger than `p_i` by Cauchy-Schwarz. So two points
are at most the root of `2 P (1 + max v_i / p_i)` apart. To leave out products is a projection, averages over the points
of a unit are convex combinations, and a point outside the box has a coordinate of its own and length `sqrt(P)` at most:
none of the three lets two units be further apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.bases.cells import Cells
from dpfda.bases.lattice import FRACTIONS, RADIUS, Lattice
from dpfda.privacy.norms import L2, Norm, Sensitivity, up
from dpfda.statistics.density.features import SLACK, Decoding

PARTS = 512  # rows of a table at a time


@dataclass(frozen=True, eq=False)
class SideTables:
    """What products of features are made of: one table for each side, and which columns stand in each product."""

    tables: tuple[Array, ...]  # (places along the side, functions)
    index: Integers  # (M, p)
    leading: tuple[float, ...] = ()  # in front of each vector: of the number of units, of those outside

    @cached_property
    def longest(self) -> float:
        """At least the length of any point's products, from their largest lengths along each side."""
        return math.sqrt(math.prod(float(np.einsum("ij,ij->i", table, table).max()) for table in self.tables))

    @cached_property
    def opposed(self) -> float:
        """The largest `v_i / p_i`: how far below zero inner products of rows of a table go, over the largest square."""
        return max(_opposed(table) for table in self.tables)

    @property
    def diameter(self) -> float:
        """At least how far apart two points are, but for rounding: those outside have a coordinate for it."""
        return self.longest * math.sqrt(2 * (1 + self.opposed))

    def means(self, shares: list[Array]) -> Array:
        """The mean vector of points whose places along the sides are independent, with these shares, (M,)."""
        found = np.ones(len(self.index))
        for table, share, chosen in zip(self.tables, shares, self.index.T, strict=True):
            found *= (share @ table)[chosen]
        return found

    def products(self, places: list[Integers]) -> Array:
        """The vectors of points by their places along each side, without what leads them, (m, M)."""
        found = np.ones((len(places[0]), len(self.index)))
        for table, chosen, where in zip(self.tables, self.index.T, places, strict=True):
            found *= table[:, chosen][where] if len(where) > len(table) else table[where][:, chosen]
        return found


def _opposed(table: Array) -> float:
    least = min(float((table[start : start + PARTS] @ table.T).min()) for start in range(0, len(table), PARTS))
    # As everywhere else a slack for what the products round; it is far above that.
    return max(0.0, -least) / float(np.einsum("ij,ij->i", table, table).max()) + SLACK


@dataclass(frozen=True, eq=False)
class ProductTable(Decoding):
    """Integer vectors of points as products over the sides; a unit's is the average over its points, rounded by itself.

    Products are rounded to a sixteenth of a step point by point and summed as integers, so that the sum is the same in
    any order; the average of a unit is clipped into the ball of the lattice, which none leaves, and rounded towards
    zero.
    """

    cells: Cells
    sides: SideTables
    decode_weights: Array  # (M,)
    norm: Norm
    least: float  # a sensitivity that a paper states, where it is larger
    steps: float  # that one unit of a feature is

    @staticmethod
    def of(cells: Cells, sides: SideTables, decode: Array, least: float) -> ProductTable:
        """Vectors with steps so small that the longest fills the lattice, but for a shade."""
        outside = sides.leading[-1] if cells.apart else 0.0
        lead = math.hypot(*sides.leading[: len(sides.leading) - cells.apart])
        steps = RADIUS * (1 - 2 * SLACK) / math.hypot(lead, max(outside, sides.longest))
        return ProductTable(cells, sides, decode / steps, L2(), least * steps, steps)

    @property
    def size(self) -> int:  # type: ignore[override]
        return len(self.sides.leading) + len(self.sides.index)

    @property
    def count_steps(self) -> float:  # type: ignore[override]
        return float(np.trunc(self.sides.leading[0] * self.steps))

    @property
    def outside_steps(self) -> float:  # type: ignore[override]
        return float(np.trunc(self.sides.leading[-1] * self.steps))

    @property
    def diameter(self) -> float:
        """How far apart two units can be, in steps, but for rounding."""
        outside = self.sides.leading[-1] if self.cells.apart else 0.0
        return self.steps * max(self.sides.diameter, math.hypot(outside, self.sides.longest))

    @property
    def longest(self) -> float:
        """How long one unit can be, in steps, but for rounding."""
        outside = self.sides.leading[-1] if self.cells.apart else 0.0
        lead = math.hypot(*self.sides.leading[: len(self.sides.leading) - self.cells.apart])
        return self.steps * math.hypot(lead, max(outside, self.sides.longest))

    def sensitivity(self, *, replaced: bool) -> Sensitivity:
        """How far one unit moves the sum, with all roundings."""
        reach = self.diameter if replaced else self.longest
        # Towards zero a difference grows by less than a step a coordinate, and sixteenths were rounded before. What
        # doubles round in products of a few numbers is covered by the slack.
        value = up(reach * (1 + SLACK) + 1.125 * math.sqrt(self.size), 2)
        why = (
            "two vectors are products over the sides and no"
            if replaced
            else "a vector is a product over the sides and no"
        )
        because = f"{why} {'further apart' if replaced else 'longer'} than {value:.10g}"
        if self.least > value:
            value, because = self.least, f"{because}; the published bound is taken, which is larger"
        return Sensitivity(value, self.norm, because)

    def encoded(self, points: Array) -> tuple[Array, Array]:
        """Vectors of points in sixteenths of a step, (m, p) -> (size, m), (m,): zero where a coordinate is missing."""
        vectors: Array = np.zeros((self.size, len(points)))
        missing = np.isnan(points).any(axis=1)
        first = len(self.sides.leading)
        inside = ~missing
        if self.cells.apart:
            outside = self.cells.beyond(points) & ~missing
            vectors[first - 1, outside] = self.outside_steps * FRACTIONS
            inside &= ~outside
        places = self.cells.along(points[inside])
        vectors[first:, inside] = np.rint(self.sides.products(places).T * (self.steps * FRACTIONS))
        if first > self.cells.apart:
            vectors[0, ~missing] = self.count_steps * FRACTIONS
        return vectors, np.where(missing, 0.0, 1.0)

    @cached_property
    def middle(self) -> Array:
        """The vector of a unit without any readable point: that of the middle of the domain, (size, 1)."""
        vectors, _ = self.encoded(np.mean(np.array(self.cells.domain.sides), axis=1)[None, :])
        clipped: Array = Lattice(1.0).clip(vectors / FRACTIONS)
        return clipped

    def clip(self, vectors: Array, out: Array | None = None) -> Array:
        """Averages of units into the ball of the lattice, rounded; a unit without any point lies in the middle."""
        empty = ~vectors.any(axis=0)
        clipped = Lattice(1.0).clip(vectors, out)
        clipped[:, empty] = self.middle
        return clipped

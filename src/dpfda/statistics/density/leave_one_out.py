"""A bandwidth by leave-one-out cross-validation, chosen by the exponential mechanism (Hall et al., 4.1.2).

The score of a bandwidth h is what squared-error cross-validation takes for the integrated squared error of a Gaussian
kernel estimate, but for a constant: `sum_ij A(i, j) / n^2 - 2 / (n (n - 1)) (sum_ij B(i, j) - n B(0))`, where B is the
kernel of bandwidth h with mass one and A that of `h sqrt(2)`, both averaged over the points of two units. For units
with one point it leaves each out of the estimate at its own place. The log likelihood could not be used: a unit far
from all others brings it down without a bound.

With q the squared distance of two points over that of a unit bandwidth and `t = exp(-q / 4h^2)`, A is `a t` and B is
`b t^2`. So the terms of one unit and another add up to an average of `g_h(q) = 2 a t / n^2 - 4 b t^2 / (n (n - 1))`,
and those of a unit with itself to half of it. If a unit is replaced, the change of score h less that of score k is at
most `n - 1/2` times `max D - min D`, `D(q) = g_h(q) - g_k(q)`. Changes of all scores lie in an interval of the largest
such length, which is computed over a fine grid of q with a bound on what lies between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.bases.cells import Cells
from dpfda.bases.lattice import MOST_UNITS
from dpfda.curator.summary import Public, Selection
from dpfda.errors import UsageError
from dpfda.mechanisms.choice import Scores
from dpfda.records import Curves
from dpfda.records.fold import Clipping, Encode
from dpfda.records.points import MASS, cell_masses
from dpfda.records.reading import Reading
from dpfda.statistics.density.windows import NARROWEST, rule

FINEST = {1: 8}  # half-octaves below the rule; on a box 6
STEP = 1e-3  # of the logarithm of q
STEPS = 2**40  # of a score in its spread
ROUNDED = 2.0**-36  # what doubles round in a score, as a share of the largest kernels


class CellChoice(Selection):
    """What choices of a bandwidth share: they look at the mass of units in cells."""

    cells: Cells
    counted: bool  # whether rows begin with the number of units that they stand for

    @property
    def size(self) -> int:
        return 1

    @property
    def sums(self) -> int:
        return self.cells.places

    def encode(self, public: Public) -> Encode:
        def cells_of(values: Array) -> tuple[Array, Array]:
            where = self.cells.index(values[:, 1:] if self.counted else values)
            return where[None, :].astype(np.float64), np.ones(len(values))

        return cells_of

    def clipping(self, public: Public) -> Clipping:
        return public.lattice

    def gather(self, curves: Curves, public: Public, reading: Reading) -> Integers:
        """The exact mass of all units in every cell: here records are read, after the charge."""
        return cell_masses(curves, self.cells, counted=self.counted, all_counted=True, reading=reading)


@dataclass(frozen=True, eq=False)
class LeaveOneOut(CellChoice):
    """Bandwidths as shares of the sides, and the score of each from the mass of units in cells."""

    cells: Cells
    n: int  # of units, public
    counted: bool  # whether rows begin with the number of units that they stand for
    shares: tuple[float, ...]  # the candidates, of each side
    spread: float = field(init=False, default=float(STEPS + 2))  # type: ignore[misc]

    name: ClassVar[str] = "bandwidth"

    def __post_init__(self) -> None:
        if self.n < 2 or len(self.shares) < 2:
            raise UsageError(
                f"A bandwidth is chosen by leave-one-out for at least 2 units and from at least 2 candidates, "
                f"of which there are few for many units; got {self.n} units. State it, or leave it out.",
                parameter="n",
                value=self.n,
            )
        if self.n > MOST_UNITS // 16:
            raise UsageError(
                parameter="n",
                value=self.n,
                rule=f"must be at most {MOST_UNITS // 16} for a bandwidth by leave-one-out",
                fix="So many people need none that is bought: state it.",
            )

    @cached_property
    def heights(self) -> tuple[Array, Array]:
        """The largest values of the two kernels of each candidate, on a domain of volume one."""
        narrow = (np.array(self.shares) * math.sqrt(2 * math.pi)) ** -float(len(self.cells.shape))
        return narrow * 2.0 ** (-len(self.cells.shape) / 2), narrow

    @cached_property
    def reach(self) -> float:
        """The length of the interval in which changes of all scores lie, before they are made whole."""
        wide, narrow = self.heights
        # From where the narrowest kernel has hardly begun to fall, to where the widest one is over.
        low, high = 4e-4 * min(self.shares) ** 2, 160 * max(self.shares) ** 2
        grid = np.exp(np.arange(math.log(low), math.log(high) + STEP, STEP))
        t = np.exp(-np.concatenate([[0.0], grid, [np.inf]]) / (4 * np.array(self.shares)[:, None] ** 2))
        g = 2 * wide[:, None] * t / self.n**2 - 4 * narrow[:, None] * t**2 / (self.n * (self.n - 1))
        # Of their heights t and t^2 change by less than STEP / e between two points of the grid, and by less than 2e-4
        # before and after it.
        between = (2 * wide / self.n**2 + 4 * narrow / (self.n * (self.n - 1))) * 4e-4
        found = 0.0
        for one, slack in zip(g, between, strict=True):
            gaps = one - g
            found = max(found, float(np.max(np.ptp(gaps, axis=1) + 2 * (slack + between))))
        return found * (self.n - 0.5) + 2 * self.rounding

    @property
    def rounding(self) -> float:
        wide, narrow = self.heights
        return ROUNDED * float(wide.max() + 4 * narrow.max())

    def scores(self, total: Integers, public: Public) -> Scores:
        # Where n was stated there may be more units, whose number no replacement changes: then they weigh less, so that
        # with N of them a unit moves a score by `(n / N)^2 (N - 1/2)` such terms, which is no more than `n - 1/2`. Only
        # where a cell is full can N change by one: there are 16 n units then at least, and there is room for it.
        units = max(self.n, sum(total.tolist()) // MASS)
        inside = total[: self.cells.size].reshape(self.cells.shape) / (units * MASS)
        wide, narrow = self.heights
        unit, above = self.reach / STEPS, 4 * float(narrow.max())
        found = []
        for share, a, b in zip(self.shares, wide, narrow, strict=True):
            first = a * self._pairs(inside, share * math.sqrt(2))
            second = 2 * (self.n * b * self._pairs(inside, share) - b) / (self.n - 1)
            found.append(round((first - second + above) / unit))
        return Scores((0,) * len(found), tuple(found))

    def _pairs(self, inside: Array, share: float) -> float:
        """The mean over all pairs of a Gaussian kernel of height one whose bandwidth is this share of each side."""
        spread = inside
        for axis, edges in enumerate(self.cells.edges):
            places = (np.array(edges[1:]) + np.array(edges[:-1])) / 2 / (edges[-1] - edges[0])
            bells = np.exp(-0.5 * ((places[:, None] - places) / share) ** 2)
            spread = np.moveaxis(np.tensordot(bells, spread, (1, axis)), 0, axis)
        return float(np.sum(inside * spread))

    def widths_of(self, index: int) -> tuple[float, ...]:
        """The bandwidth of a candidate along each side."""
        return tuple(self.shares[index] * length for length in self.cells.domain.lengths)


def candidates(cells: Cells, n: int) -> tuple[float, ...]:
    """Public bandwidths to choose from, as shares of a side: the rule, half an octave more, and some less."""
    halves = np.arange(-1, FINEST.get(len(cells.shape), 6) + 1)
    found = rule(n, cells.domain) * 2.0 ** (-halves / 2)
    return tuple(float(share) for share in found[found >= NARROWEST])

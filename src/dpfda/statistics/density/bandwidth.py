"""A bandwidth that is bought with budget: a private interquartile range, and Scott's rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.bases.cells import MOST_IN_ALL, Cells, fine_cells
from dpfda.curator.summary import Public, Selection
from dpfda.mechanisms.choice import Scores
from dpfda.privacy import Budget
from dpfda.records.points import MASS
from dpfda.releases.certificate import ChoiceCard
from dpfda.statistics.density.leave_one_out import CellChoice, LeaveOneOut, candidates
from dpfda.statistics.density.windows import NARROWEST

MOST_PLACES = 256  # for a quartile along one side: 32,896 pairs
NORMAL = 1.34  # the interquartile range of a standard normal variable, as Scott's rule has it


@dataclass(frozen=True, eq=False)
class Quartiles(CellChoice):
    """Two places along one side, between which about the middle half of the units lies.

    A pair misses by the number of units that would have to move for the lower quartile to lie in its first place and
    the upper one in its second, whichever is more. One unit has mass one, wherever its points lie: replacing it moves
    each count by at most one, and so each score; one may rise as another falls.
    """

    cells: Cells
    axis: int
    counted: bool  # whether rows begin with the number of units that they stand for
    edges: Array = field(init=False)  # of the places
    pairs: Integers = field(init=False)  # (m, 2)
    starts: Integers = field(init=False)  # the first cell of each place

    name: ClassVar[str] = "bandwidth"
    spread: ClassVar[float] = 8.0 * MASS  # scores are in quarters of a unit's mass

    def __post_init__(self) -> None:
        # A quartile may lie outside: points there count at the nearest end.
        object.__setattr__(self, "cells", replace(self.cells, apart=False, margin=0.0))
        along = self.cells.edges[self.axis]
        cells = len(along) - 1
        places = min(cells, MOST_PLACES)
        starts = np.arange(places) * cells // places
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "edges", np.append(np.array(along)[starts], along[-1]))
        object.__setattr__(self, "pairs", np.stack(np.triu_indices(places), axis=1))

    def scores(self, total: Integers, public: Public) -> Scores:
        others = tuple(axis for axis in range(len(self.cells.shape)) if axis != self.axis)
        # Python's integers: where n was stated nobody has checked that four times all mass fits 64 bits.
        along = total.astype(object).reshape(self.cells.shape).sum(axis=others)
        below = np.concatenate([np.zeros(1, dtype=object), np.cumsum(np.add.reduceat(along, self.starts))])
        whole = int(public.n or public.planned) * MASS
        lower, upper = (
            np.maximum(np.maximum(quarters * whole - 4 * below[1:], 4 * below[:-1] - quarters * whole), 0)
            for quarters in (1, 3)
        )
        misses = np.maximum(lower[self.pairs[:, 0]], upper[self.pairs[:, 1]])
        return Scores((0,) * len(misses), tuple(misses.tolist()))

    def range_of(self, index: int) -> float:
        """The distance of a pair's middles; within one place no less than half of it can be told."""
        middles = (self.edges[1:] + self.edges[:-1]) / 2
        one, other = self.pairs[index]
        return max(float(middles[other] - middles[one]), float(self.edges[one + 1] - self.edges[one]) / 2)


Choose = Callable[[Selection, Budget], tuple[int, ChoiceCard]]


@dataclass(frozen=True, slots=True)
class BandwidthChoice:
    """Bandwidths that were paid for, one for each side, and the card of each choice."""

    widths: tuple[float, ...]
    ranges: tuple[float, ...]  # between quartiles; none where the width itself was chosen
    epsilon: float
    cards: tuple[ChoiceCard, ...]

    @property
    def because(self) -> str:
        """How the bandwidths came about, for the card of the density."""
        told = ", ".join(f"{width:.4g}" for width in self.widths)
        if not self.ranges:
            return f"{told}: the least error by leave-one-out, for epsilon = {self.epsilon:g} of its own"
        return f"{told}: Scott's rule of a private interquartile range, for epsilon = {self.epsilon:g} of its own"


QUARTILES, LEAVE_ONE_OUT = BOUGHT = ("private-iqr", "private-loo")


def private_bandwidth(
    choose: Choose, cells: Cells, n: int, *, epsilon: float, counted: bool, how: str = QUARTILES
) -> BandwidthChoice:
    """Hall et al., 4.1.2: a bandwidth for each side by a private interquartile range, or by leave-one-out.

    Pure epsilon in equal parts for the sides, on top of what the density costs; the number of units is public. No width
    is below a 200th of its side.
    """
    if how == LEAVE_ONE_OUT:
        loo = leave_one_out(cells, n, counted=counted)
        index, card = choose(loo, Budget(epsilon, 0.0))
        return BandwidthChoice(loo.widths_of(index), (), epsilon, (card,))
    share = Budget(epsilon / len(cells.shape), 0.0)
    ranges, cards = [], []
    for axis in range(len(cells.shape)):
        selection = Quartiles(cells if cells.size <= MOST_IN_ALL else alone(cells, axis), axis, counted)
        index, card = choose(selection, share)
        ranges.append(selection.range_of(index))
        cards.append(card)
    # What came out may be narrower than any kernel estimate can be: that is mended afterwards, free.
    lengths = cells.domain.lengths
    widths = tuple(max(w, NARROWEST * length) for w, length in zip(scott(tuple(ranges), n), lengths, strict=True))
    return BandwidthChoice(widths, tuple(ranges), epsilon, tuple(cards))


def leave_one_out(cells: Cells, n: int, *, counted: bool) -> LeaveOneOut:
    """The choice by leave-one-out on cells that can be told one by one; made before a charge, it refuses the rest."""
    few = cells if cells.size <= MOST_IN_ALL else replace(fine_cells(cells.domain), apart=cells.apart)
    return LeaveOneOut(replace(few, margin=0.0), n, counted, candidates(few, n))


def alone(cells: Cells, axis: int) -> Cells:
    """Cells along one side that take no notice of the others."""
    return replace(cells, edges=tuple(e if k == axis else (e[0], e[-1]) for k, e in enumerate(cells.edges)))


def scott(ranges: tuple[float, ...], n: int) -> tuple[float, ...]:
    """Scott's rule of interquartile ranges, `(4 / ((d+2) n))^(1/(d+4)) IQR / 1.34` for each side.

    >>> round(scott((1.34,), 100)[0], 4)
    0.4217
    """
    dimension = len(ranges)
    factor = (4 / ((dimension + 2) * n)) ** (1 / (dimension + 4))
    return tuple(factor * width / NORMAL for width in ranges)

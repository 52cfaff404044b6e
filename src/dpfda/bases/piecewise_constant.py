"""Functions that are constant between public edges: histograms, and data in bins."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, ArrayLike, brief, is_whole, public_numbers
from dpfda.bases.base import MOST_CELLS, IntervalBasis, register
from dpfda.bases.domain import Domain, DomainLike, as_domain
from dpfda.errors import UsageError


@register(build=lambda **fields: steps(**fields))
@dataclass(frozen=True, slots=True)
class Steps(IntervalBasis):
    """One function for each step: `1 / sqrt(its share of the domain)` between two edges, zero elsewhere.

    A coordinate of a density times the length of the domain is the probability of the step over the root of its
    share. An edge belongs to the step above it.
    """

    domain: Domain
    edges: tuple[float, ...]  # increasing, with both ends of the domain
    size: int = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "steps"
    most: ClassVar[int] = MOST_CELLS

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", max(len(self.edges) - 1, 1))
        IntervalBasis.__post_init__(self)
        inside = len(self.edges) >= 2 and np.isfinite(self.edges).all() and bool((np.diff(self.edges) > 0).all())
        if not inside or (self.edges[0], self.edges[-1]) != self.domain.sides[0]:
            raise UsageError(
                f"Steps need increasing edges with both ends of the domain {self.domain.sides[0]}, got "
                f"{brief(self.edges)}."
            )

    @property
    def shares(self) -> Array:
        """The share of the domain that each step takes, (size,)."""
        widths: Array = np.diff(self.edges) / self.domain.lengths[0]
        return widths

    @property
    def equal(self) -> bool:
        """Whether all steps are as wide as each other, but for rounding."""
        return bool(np.abs(self.shares * self.size - 1).max() < 1e-9)

    @property
    def frequencies(self) -> Array:
        """Zero: coordinates are places, and none is rougher than another."""
        return np.zeros(self.size)

    def breaks(self, axis: int) -> Array:
        return self.domain.to_unit(np.array(self.edges)[:, None])[:, 0]

    def peaks(self) -> Array:
        """One point in each step: functions do not change within it."""
        middles: Array = (np.array(self.edges[1:]) + np.array(self.edges[:-1])) / 2
        return middles[:, None]

    def unit_functions(self, unit: Array, order: int) -> Array:
        table = np.zeros((len(unit), self.size))
        if order == 0:
            step = np.searchsorted(self.breaks(0)[1:-1], unit, side="right")
            table[np.arange(len(unit)), step] = 1 / np.sqrt(self.shares[step])
        return table

    def describe(self) -> dict[str, Any]:
        return {"family": self.family, "domain": [list(side) for side in self.domain.sides], "edges": list(self.edges)}


def steps(domain: DomainLike, edges: ArrayLike) -> Steps:
    """Steps between stated edges.

    >>> steps((0, 100), [0, 1, 5, 100]).size
    3
    """
    return Steps(as_domain(domain), tuple(float(edge) for edge in public_numbers(edges, "Edges").reshape(-1)))


def equal_steps(domain: DomainLike, size: int) -> Steps:
    """So many steps of the same width.

    >>> equal_steps((0, 1), 4).edges
    (0.0, 0.25, 0.5, 0.75, 1.0)
    """
    box = as_domain(domain)
    if box.dimension != 1 or not is_whole(size, 1, MOST_CELLS):
        raise UsageError(
            f"Equal steps need an interval and a size of at least 1 and at most {MOST_CELLS}, got {brief(domain)} and "
            f"{brief(size)}."
        )
    low, high = box.sides[0]
    edges = np.linspace(low, high, int(size) + 1).tolist()
    return Steps(box, (low, *edges[1:-1], high))

"""Come here for what a summary is, and to write one of your own: three methods join the family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dpfda.arrays import Array, Integers
from dpfda.bases import Basis
from dpfda.norms import Sensitivity
from dpfda.privacy import Noise, Unit
from dpfda.records import Lattice
from dpfda.records.sums import Encode
from dpfda.releases import Count


@dataclass(frozen=True, eq=False)
class Public:
    """The public facts about a data set: everything a sensitivity may look at."""

    unit: Unit
    n: int | None  # the number of units where it is public, else None
    planned: int  # n, or a public guess of it
    grid: Array  # (q, p)
    centre: Array  # (q,) a public curve that is subtracted first
    cap: float  # values further than this from the centre are moved to it
    lattice: Lattice
    count_weight: int  # lattice steps that one unit adds to the count; 0 where the number of units is public


@dataclass(frozen=True, eq=False)
class Decoded:
    """Noisy coordinates around the centre in the units of the curve, the law of their noise, and the count."""

    noisy: Array  # (size,)
    noise: Noise
    count: Count | None


class Summary(Protocol):
    """A mean of bounded vectors, one for each unit."""

    @property
    def name(self) -> str: ...

    def encode(self, public: Public, basis: Basis) -> Encode:
        """The map from a batch of records to vectors, each a function of its own record alone."""

    def bounds(self, public: Public, basis: Basis) -> tuple[Sensitivity, ...]:
        """Every sensitivity of the integer sum that it can prove, in lattice steps; it never sees a record."""

    def decode(self, sums: Integers, noise: Noise, public: Public, basis: Basis) -> Decoded:
        """From noisy integer sums, led by the count if that is private, to the summary."""

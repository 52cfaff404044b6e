"""Come here for how large units are: how many of them lie within each of several public bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.bases import Domain
from dpfda.bases.projection import grid_weights
from dpfda.mechanisms.choice import Scores
from dpfda.records import Encoder
from dpfda.records.encoder import FRACTIONS
from dpfda.records.lattice import squared_norms
from dpfda.records.sums import Encode
from dpfda.summaries.base import Public
from dpfda.summaries.selection import Selection

PARTS = 64  # of a unit, in which scores are counted
VALUE_BITS = 44  # of a value within the cap: small candidates are told apart, and 2^19 records of a unit add up


@dataclass(frozen=True, eq=False)
class Within:
    """A unit's contribution: 1 for every bound that holds the root mean square of its average curve, else 0."""

    squares: Array  # (m,) of the bounds, increasing, in the units of the vectors

    def clip(self, vectors: Array, out: Array | None = None) -> Array:
        # Where the first bound stands that holds each unit; added up at once, for there may be many bounds.
        first = np.searchsorted(self.squares, squared_norms(vectors), side="left")
        counts = np.bincount(first, minlength=len(self.squares) + 1)[:-1]
        return np.cumsum(counts, dtype=np.float64)[:, None]


@dataclass(frozen=True, eq=False)
class NormQuantile(Selection):
    """The candidate within which a stated share of the units lies: its score is by how many units it misses that.

    Replacing one unit moves each count by at most one, and so each score; one may rise as another falls. Each candidate
    is `preference` parts of a unit worse than the one below it, whatever the data: among bounds that hold everybody,
    which all miss alike, the smallest is likeliest.
    """

    candidates: tuple[float, ...]  # increasing
    quantile: float
    domain: Domain
    width: int  # values of a curve
    preference: int = 0

    name: ClassVar[str] = "bound"
    spread: ClassVar[float] = 2.0 * PARTS

    @property
    def size(self) -> int:
        return self.width

    @property
    def sums(self) -> int:
        return len(self.candidates)

    def encode(self, public: Public) -> Encode:
        positions = public.grid[:, 0] if public.grid.shape[1] == 1 else np.arange(self.width, dtype=np.float64)
        # Only its repairs are asked for: no projection, so that no part of a curve is overlooked.
        encoder = Encoder.build(np.ones((1, self.width)), positions, public.centre, public.cap, public.lattice)
        factors = np.sqrt(mean_weights(public.grid, self.domain)) * (2.0**VALUE_BITS / public.cap)
        factors = factors if encoder.order is None else factors[encoder.order]

        def encode(values: Array) -> tuple[Array, Array]:
            # No record may cause a warning, nor an error where numpy is set to raise them.
            with np.errstate(all="ignore"):
                columns, present = encoder.repair(values)
                # Whole numbers, value by value: a unit's sum does not depend on the order of its records.
                return np.rint((columns - encoder.centre[:, None]) * factors[:, None]), present

        return encode

    def clipping(self, public: Public) -> Within:
        # A shade more, so that a curve that lies on a bound counts as within it whatever the rounding.
        return Within((np.array(self.candidates) * (2.0**VALUE_BITS / public.cap / FRACTIONS)) ** 2 * (1 + 1e-9))

    def scores(self, total: Integers, public: Public) -> Scores:
        target = math.ceil(self.quantile * int(public.n or public.planned))
        missed = (PARTS * abs(int(count) - target) for count in total)
        return Scores((0,) * len(total), tuple(parts + self.preference * i for i, parts in enumerate(missed)))


def mean_weights(grid: Array, domain: Domain) -> Array:
    """Weights of values on a grid for means over the domain; at repeated points they are shared, (q,)."""
    points, place, counts = np.unique(grid, axis=0, return_inverse=True, return_counts=True)
    weights: Array = (grid_weights(domain.to_unit(points)) / counts)[place.ravel()]
    return weights

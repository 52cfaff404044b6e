"""The mean function: the mean over units of their clipped average curves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Integers
from dpfda.bases import Basis
from dpfda.bases.lattice import RADIUS
from dpfda.curator.summary import Public, Summary
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.privacy.norms import L2, Sensitivity, up
from dpfda.records import Encoder
from dpfda.records.fold import Encode
from dpfda.releases import Count
from dpfda.releases.cards.words import say
from dpfda.releases.decoded import Decoded


@dataclass(frozen=True, slots=True)
class Mean(Summary):
    """A unit's vector is the average of its curves' coordinates; the summary is the mean of these vectors.

    With weights `a_j` it is the penalised mean of the papers: coordinates and their noise are multiplied after the
    noise was drawn, which is the same law as shrinking first and adding smaller noise.
    """

    weights: tuple[float, ...] | None = None

    @property
    def name(self) -> str:
        return say("what", "mean" if self.weights is None else "penalised-mean")

    @property
    def shrinks(self) -> str:
        """For the card: what the noise band knows nothing about."""
        return "" if self.weights is None else "the penalty"

    def encode(self, public: Public, basis: Basis) -> Encode:
        # Gaps are filled along the line; on a box along the order of the grid.
        positions = public.grid[:, 0] if public.grid.shape[1] == 1 else np.arange(len(public.grid), dtype=np.float64)
        projection = basis.projection(public.grid)
        return Encoder.build(projection, positions, public.centre, public.cap, public.lattice).encode

    def bounds(self, public: Public, basis: Basis) -> tuple[Sensitivity, ...]:
        if public.unit.size_is_public:
            return (
                Sensitivity(
                    2.0 * RADIUS,
                    L2(),
                    f"a unit's integer vector has norm at most {RADIUS} and replacing it moves the sum by two of them",
                ),
            )
        longest = up(math.sqrt(RADIUS**2 + public.count_weight**2))
        because = (
            f"a unit adds an integer vector of norm at most {RADIUS} and {public.count_weight} to the count: together "
            f"at most {longest:.10g}"
        )
        return (Sensitivity(longest, L2(), because),)

    def decode(self, sums: Integers, noise: NoiseLaw, public: Public, basis: Basis) -> Decoded:
        units = float(public.n) if public.n is not None else max(float(sums[0]) / public.count_weight, 1.0)
        count = None
        if public.n is None:
            of_count, noise = noise.split(1)
            count, sums = Count(units, of_count.scaled(1 / public.count_weight)), sums[1:]
        factor = public.lattice.step / units
        noisy, noise = sums.astype(np.float64) * factor, noise.scaled(factor)
        if self.weights is not None:
            noisy, noise = noisy * np.array(self.weights), noise.weighted(np.array(self.weights))
        return Decoded(noisy, noise, count)


@dataclass(frozen=True, slots=True)
class SmoothedMean(Mean):
    """A mean that is encoded in one basis and decoded in another: coordinate by coordinate a public smoother's image.

    What is summed, clipped and moved are coordinates in the inner basis, which is orthonormal.
    """

    inner: Basis | None = None

    @property
    def name(self) -> str:
        return say("what", "penalised-mean")

    @property
    def shrinks(self) -> str:
        return "the penalty"

    def encode(self, public: Public, basis: Basis) -> Encode:
        return Mean.encode(self, public, basis if self.inner is None else self.inner)

"""Units as they are, within the bound, for a mechanism that looks at all of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.bases import Basis
from dpfda.bases.lattice import Lattice
from dpfda.curator.summary import Public, Summary
from dpfda.errors import UsageError
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.mechanisms.objective import MOST_PLANNED, SPARE_STEPS, UTILITY_STEPS, Supremum, spread_of
from dpfda.privacy.norms import Sensitivity
from dpfda.records import Clipping, Encode
from dpfda.releases import Certificate, Release
from dpfda.releases.cards.words import say
from dpfda.releases.decoded import Decoded
from dpfda.statistics.mean.summary import Mean


@dataclass(frozen=True, eq=False)
class Keeping:
    """Clips units like any other, and keeps them: a general objective is no function of their sum."""

    lattice: Lattice
    kept: list[Integers]

    def clip(self, vectors: Array, out: Array | None = None) -> Array:
        self.kept.append(self.lattice.clip(vectors).T.astype(np.int64))
        return np.zeros((1, vectors.shape[1]))


@dataclass(frozen=True, eq=False)
class Maximum(Summary):
    """The point where the sum of all units' utilities is largest, or near it."""

    utility: str  # its name, for the card
    coordinates: int  # of a unit
    limits: tuple[float, float]
    step: float  # of the points' lattice
    law: str  # of the draw, in words
    _kept: list[Integers] = field(default_factory=list, repr=False)

    @property
    def name(self) -> str:
        return say("what", "maximiser", utility=self.utility)

    def encode(self, public: Public, basis: Basis) -> Encode:
        if not basis.orthonormal:
            raise UsageError(f"An objective of coordinates needs an orthonormal basis, not {type(basis).__name__}.")
        if public.planned > MOST_PLANNED:
            raise UsageError(f"An objective is summed over at most {MOST_PLANNED} units, got {public.planned}.")
        return Mean().encode(public, basis)

    def bounds(self, public: Public, basis: Basis) -> tuple[Sensitivity, ...]:
        moved = "replacing one moves it up at some points and down at others, by one range each"
        added = "adding one moves it by between nothing and one range"
        because = (
            f"a unit's utility is moved into its limits and rounded to {UTILITY_STEPS} steps: "
            f"{moved if public.unit.size_is_public else added}, with {SPARE_STEPS} steps for roundings of 2^25 others"
        )
        return (Sensitivity(spread_of(public.unit.size_is_public), Supremum(), because),)

    def clipping(self, public: Public) -> Clipping:
        self._kept.clear()
        return Keeping(public.lattice, self._kept)

    def sums(self, public: Public, basis: Basis) -> int:
        return 1  # nothing is summed here: units are kept

    def size(self, public: Public, basis: Basis) -> int:
        return 0  # no unit at all in the trial before the charge: a draw of the base measure, which ends soon

    def collect(self, total: Integers, units: int, public: Public) -> Integers:
        """All units' coordinates one after the other; a unit that nobody knows stands at the centre."""
        known = sum(len(part) for part in self._kept)
        missing = units - known if public.counting.of_records else 0
        table = np.concatenate([*self._kept, np.zeros((missing, self.coordinates), dtype=np.int64)])
        self._kept.clear()
        return table.ravel()

    def decode(self, sums: Integers, noise: NoiseLaw, public: Public, basis: Basis) -> Decoded:
        return Decoded(sums.astype(np.float64) * self.step, noise, None)  # a private number of units is not released

    def moves(self, public: Public, card_n: float) -> str:
        return say("moves", "objective", by=self.limits[1] - self.limits[0])

    def publish(
        self, decoded: Decoded, public: Public, basis: Basis, certificate: Certificate, *, smoothing: str
    ) -> Release:
        step = (self.limits[1] - self.limits[0]) / UTILITY_STEPS
        certificate = replace(certificate, noise=say("noise", "none", how=self.law), lattice_step=step)
        release: Release = Summary.publish(self, decoded, public, basis, certificate, smoothing=smoothing)
        return release

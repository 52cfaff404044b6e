"""Second moments: the sum over units of outer products, with the mean and the count in its first row."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, Integers, brief
from dpfda.bases import Basis
from dpfda.bases.lattice import RADIUS, into_ball
from dpfda.bases.symmetric import multiplicities, pack, packed_size, places
from dpfda.curator.summary import Public, Summary
from dpfda.errors import UsageError
from dpfda.mechanisms import GaussianLaw, NoiseLaw
from dpfda.privacy.norms import Norm, Sensitivity
from dpfda.records import Clipping, Encode
from dpfda.releases import Certificate, Count
from dpfda.releases.cards.words import say
from dpfda.releases.decoded import Decoded
from dpfda.statistics.covariance.release import CovarianceRelease
from dpfda.statistics.covariance.sensitivity import ROUGH, check_orthonormal, moved_by, moved_in
from dpfda.statistics.mean.summary import Mean

MOST_UNITS = 2**30
AT_ONCE = 2**20  # units whose products are added in doubles: below 2^53, so exactly


@dataclass(frozen=True, slots=True)
class OuterProducts:
    """Makes of a unit's vector x, clipped into the ball of `ROUGH` steps, the entries of `(lead, x) (lead, x)'`.

    The product of two whole numbers is whole: beside the clipping of x nothing has to be rounded, and what the
    sensitivity rests on, that a unit adds a matrix of rank one, holds exactly.
    """

    lead: int

    def clip(self, vectors: Array, out: Array | None = None) -> Array:
        """Columns of whole numbers that add up to the units' contributions, (size, m) -> (sums, any)."""
        steps = into_ball(vectors * (ROUGH / RADIUS), ROUGH)
        first = np.full((1 if self.lead else 0, steps.shape[1]), float(self.lead))
        rows = np.concatenate([first, steps])
        parts = [pack(rows[:, i : i + AT_ONCE] @ rows[:, i : i + AT_ONCE].T) for i in range(0, rows.shape[1], AT_ONCE)]
        # Whole numbers from here on: sums of the parts may pass 2^53.
        return np.stack(parts or [np.zeros(packed_size(len(rows)))], axis=1).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Moments(Summary):
    """The mean of `(lead, x) (lead, x)'` over units: second moments, and with a lead above 0 the mean beside them.

    `lead` is a public number of steps, by which the mean is weighed against the second moments; the count stands in
    the corner.
    """

    lead: int
    weights: tuple[float, ...] | None = None  # a penalty on the entries, by which decoding multiplies
    # In which noise is measured, and the sensitivity stated beside others; it follows from the mechanism.
    norm: Norm | None = field(default=None, compare=False)

    power: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if not 0 <= self.lead <= ROUGH:
            raise UsageError(
                f"The lead of a moment matrix must lie between 0 and {ROUGH} steps, got {brief(self.lead)}."
            )

    @property
    def name(self) -> str:
        return say("what", "covariance" if self.lead else "second-moment")

    @property
    def shrinks(self) -> str:
        """For the card: what no error estimate knows about."""
        return "" if self.weights is None else "the penalty"

    def encode(self, public: Public, basis: Basis) -> Encode:
        check_orthonormal(basis)
        if public.planned > MOST_UNITS:
            raise UsageError(f"Second moments are summed over at most 2^30 units, got {public.planned}.")
        return Mean().encode(public, basis)

    def clipping(self, public: Public) -> Clipping:
        return OuterProducts(self.lead)

    def side(self, basis: Basis) -> int:
        """The side of the moment matrix."""
        return basis.size + (1 if self.lead else 0)

    def sums(self, public: Public, basis: Basis) -> int:
        return packed_size(self.side(basis))

    def size(self, public: Public, basis: Basis) -> int:
        return self.sums(public, basis)

    def collect(self, total: Integers, units: int, public: Public) -> Integers:
        return total  # the count stands in the corner

    def bounds(self, public: Public, basis: Basis) -> tuple[Sensitivity, ...]:
        square, side, replaced = float(ROUGH**2 + self.lead**2), self.side(basis), public.unit.size_is_public
        return *moved_by(square, side, replaced=replaced), *moved_in(self.norm, self.lead, side, replaced=replaced)

    def decode(self, sums: Integers, noise: NoiseLaw, public: Public, basis: Basis) -> Decoded:
        count = None
        units = float(public.n) if public.n is not None else 1.0
        if public.n is None and self.lead:
            corner = float(self.lead**2)
            units = max(float(sums[0]) / corner, 1.0)
            # Of the noise in this number only the variance is used; a normal law states that.
            count = Count(units, GaussianLaw((1,), (math.sqrt(noise.variances[0]) / corner,)))
        factor = (public.lattice.bound / ROUGH) ** 2 / units
        noisy, noise = sums.astype(np.float64) * factor, noise.scaled(factor)
        if self.weights is not None:
            noisy, noise = noisy * np.array(self.weights), noise.weighted(np.array(self.weights))
        return Decoded(noisy, noise, count)

    def lattice_step(self, public: Public) -> float:
        return (public.lattice.bound / ROUGH) ** 2

    def moves(self, public: Public, card_n: float) -> str:
        square = public.lattice.bound**2 * (1 + (self.lead / ROUGH) ** 2)
        if public.unit.size_is_public:
            return say("moves", "moments", by=math.sqrt(2) * square / card_n)
        return say("moves", "sum-of-moments", by=square, counted=bool(self.lead))

    def noise_rms(self, decoded: Decoded, basis: Basis) -> float:
        side = self.side(basis)
        first, _ = places(side)
        # The row of the mean is no part of the covariance function.
        inner = multiplicities(side) * (first > 0 if self.lead else 1)
        return float(np.sqrt(inner @ decoded.noise.variances))

    def publish(
        self, decoded: Decoded, public: Public, basis: Basis, certificate: Certificate, *, smoothing: str
    ) -> Any:
        release = CovarianceRelease(
            basis=basis,
            noisy=decoded.noisy,
            noise=decoded.noise,
            lead=self.lead / ROUGH * public.lattice.bound,
            count=decoded.count,
            centre=basis.projection(public.grid) @ public.centre,
            smoothing_name=smoothing,
            certificate=certificate,
        )
        assert len(release.coordinates)  # smooths and projects now: what fails, fails before the charge
        return release

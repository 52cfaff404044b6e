"""Regression of curves on covariates: sums over units of z z' and z y'."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpfda.arrays import Array, Integers, brief
from dpfda.bases import Basis
from dpfda.bases.lattice import FRACTIONS, RADIUS, squared_norms
from dpfda.bases.symmetric import pack, packed_size
from dpfda.curator.summary import Public, Summary
from dpfda.errors import UsageError
from dpfda.mechanisms import GaussianLaw, NoiseLaw
from dpfda.privacy.norms import Sensitivity
from dpfda.records import Clipping, Encode
from dpfda.releases import Certificate, Count
from dpfda.releases.cards.words import say
from dpfda.releases.decoded import Decoded
from dpfda.statistics.mean.summary import Mean
from dpfda.statistics.regression.covariates import Covariates
from dpfda.statistics.regression.release import RegressionRelease
from dpfda.statistics.regression.sensitivity import STEPS, box_steps, longest_change, noise_of_means, stated

MOST_UNITS = 2**30  # of products below 2^32: their sums fit 64 bits
AT_ONCE = 2**20  # units whose products are added in doubles: below 2^53, so exactly
NOISE = "counted in predicted curves, for covariates as released; a plan expects it for covariates spread evenly"
FINE = RADIUS // STEPS * FRACTIONS


def nearest(vectors: Array, radius: int) -> Array:
    """Columns scaled into a ball of whole steps and rounded to the nearest: exactly inside it, (size, m).

    Rounded to nearest rather than towards zero, which would shrink every unit by half a step: a bias that a million of
    them would show. The ball that vectors are scaled into is smaller by what rounding can add.
    """
    inside = radius - math.sqrt(len(vectors)) / 2 - 1
    steps: Array = np.rint(vectors * (inside / np.maximum(np.sqrt(squared_norms(vectors)), inside)))
    # Squares of integers below 2^17 and their sums are exact. No column fails this; if one did, it would count as zero
    # rather than break the bound.
    steps[:, ~(squared_norms(steps) <= radius**2)] = 0.0
    return steps


@dataclass(frozen=True, slots=True)
class Products:
    """Makes of a unit's averages the entries of `z z'` and `z y'`, with z its covariates led by `lead`, y its curve.

    Covariates and curve are rounded to whole steps inside their balls; products of whole numbers are whole, so what the
    sensitivity rests on holds exactly. A unit without any curve adds nothing.
    """

    covariates: int
    lead: int
    box: int | None  # steps that each covariate is limited to; None: all together to the ball

    def clip(self, vectors: Array, out: Array | None = None) -> Array:
        """Columns of whole numbers that add up to the units' contributions, (1 + p + size, m) -> (sums, any)."""
        known = (vectors[:1] >= 0.5).astype(np.float64)
        rough = vectors[1:] * (STEPS / RADIUS)
        own, curve = rough[: self.covariates], nearest(rough[self.covariates :], STEPS) * known
        own = nearest(own, STEPS) if self.box is None else np.clip(np.rint(own), -self.box, self.box)
        z = np.concatenate([np.full((1 if self.lead else 0, vectors.shape[1]), float(self.lead)), own]) * known
        parts = [
            np.concatenate([pack(z[:, i : i + AT_ONCE] @ z[:, i : i + AT_ONCE].T), product.ravel()])
            for i in range(0, z.shape[1], AT_ONCE)
            for product in [z[:, i : i + AT_ONCE] @ curve[:, i : i + AT_ONCE].T]
        ]
        # Whole numbers from here on: sums of the parts may pass 2^53.
        return np.stack(parts or [np.zeros(packed_size(len(z)) + len(z) * len(curve))], axis=1).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Regression(Summary):
    """The means over units of `z z'` and `z y'`: what least squares is computed from. Its
    sensitivity is proven at `longest_change`.
    """

    covariates: Covariates
    lead: int  # steps that stand for the intercept; 0: there is none
    weight: float  # of the products in the norm of the sensitivity
    ridge: float | None = None
    weights: tuple[float, ...] | None = None  # a penalty on the curves' coordinates, by which decoding multiplies

    def __post_init__(self) -> None:
        if not 0 <= self.lead <= STEPS or (self.lead > 0) is not self.covariates.intercept:
            raise UsageError(
                f"The lead of a regression lies between 1 and {STEPS} steps with an intercept and is 0 without, got "
                f"{brief(self.lead)}."
            )
        if not 0 < self.weight < math.inf:
            raise UsageError(
                f"The weight of the products must be positive and finite, got {brief(self.weight)}.",
                parameter="weight",
                value=self.weight,
            )

    @property
    def name(self) -> str:
        return say("what", "regression")

    @property
    def missing(self) -> str:  # type: ignore[override]
        return say("missing", "curves-and-covariates", filled=self.covariates.filled, nobody="")

    @property
    def shrinks(self) -> str:
        """For the card: what the noise band knows nothing about."""
        return "" if self.weights is None else "the penalty"

    def encode(self, public: Public, basis: Basis) -> Encode:
        if not basis.orthonormal:
            raise UsageError(
                f"A regression needs an orthonormal basis, and {type(basis).__name__} is none. Take e.g. 'reinsch' or "
                "'cosine'."
            )
        if public.planned > MOST_UNITS:
            raise UsageError(f"A regression is summed over at most 2^30 units, got {public.planned}.")
        curves = Mean().encode(public, basis)
        size = self.covariates.size

        def encode(values: Array) -> tuple[Array, Array]:
            vectors, present = curves(values[:, size:])
            with np.errstate(all="ignore"):
                own = np.rint(self._unit(values[:, :size]) * (STEPS * FINE))
            return np.concatenate([np.full((1, len(present)), float(FRACTIONS)), own, vectors]) * present, present

        return encode

    def _unit(self, values: Array) -> Array:
        """A batch of covariates without gaps, within their limits and scaled into the unit ball, (m, p) -> (p, m)."""
        known = np.where(np.isfinite(values), values, np.array(self.covariates.fills)).T
        middles, scales = (np.array(part)[:, None] for part in (self.covariates.middles, self.covariates.scales))
        if self.covariates.limits is not None:
            low, high = np.array(self.covariates.limits).T[:, :, None]
            limited: Array = (np.clip(known, low, high) - middles) / scales
            return limited
        # Far beyond the bound all the same, but finite: no ratio of infinities, and no warning about one.
        ratios = np.clip(known / scales, -1e150, 1e150)
        largest = np.maximum(np.abs(ratios).max(axis=0), 1.0)
        ratios /= largest  # first, so that no square overflows
        inside: Array = ratios / np.maximum(np.sqrt(squared_norms(ratios)), 1 / largest)
        return inside

    def clipping(self, public: Public) -> Clipping:
        size = self.covariates.size
        return Products(size, self.lead, None if self.covariates.limits is None else box_steps(size))

    def encoded_size(self, basis: Basis) -> int:
        return 1 + self.covariates.size + basis.size

    def sums(self, public: Public, basis: Basis) -> int:
        return packed_size(self.covariates.side) + self.covariates.side * basis.size

    def size(self, public: Public, basis: Basis) -> int:
        return self.sums(public, basis)

    def collect(self, total: Integers, units: int, public: Public) -> Integers:
        return total  # the number of units cancels in the solution

    def bounds(self, public: Public, basis: Basis) -> tuple[Sensitivity, ...]:
        return (stated(self.covariates.side, basis.size, self.lead, self.weight, replaced=public.unit.size_is_public),)

    def decode(self, sums: Integers, noise: NoiseLaw, public: Public, basis: Basis) -> Decoded:
        units = float(public.planned if public.n is None else public.n)
        entries, bound = packed_size(self.covariates.side), public.lattice.bound
        noisy = sums.astype(np.float64) / (float(STEPS) ** 2 * units)
        noisy[entries:] *= bound
        if self.weights is not None:
            noisy[entries:] *= np.tile(self.weights, self.covariates.side)
        law = noise_of_means(noise, self.covariates.side, units, bound, self.weights)
        return Decoded(noisy, law, self._count(noisy, law, public))

    def _count(self, noisy: Array, law: NoiseLaw, public: Public) -> Count | None:
        """The noisy number of units with a curve, from the corner of the moments, where it is private."""
        if public.n is not None or not self.lead:
            return None
        times = public.planned * (STEPS / self.lead) ** 2
        deviation = math.sqrt(float(law.variances[0])) * times
        # Of the noise in this number only the variance is used; a normal law states that.
        return Count(max(float(noisy[0]) * times, 1.0), GaussianLaw((1,), (deviation,)))

    def moves(self, public: Public, card_n: float) -> str:
        public_size = public.unit.size_is_public
        longest = longest_change(self.lead, self.weight, replaced=public_size) / STEPS**2
        code = "products" if public_size else "sum-of-products"
        return say("moves", code, by=longest, lead=self.lead / STEPS, weight=self.weight)

    def noise_rms(self, decoded: Decoded, basis: Basis) -> float:
        entries = packed_size(self.covariates.side)
        return float(np.sqrt(decoded.noise.variances[entries:].sum()))  # of the products; `publish` says it of curves

    def publish(
        self, decoded: Decoded, public: Public, basis: Basis, certificate: Certificate, *, smoothing: str
    ) -> Any:
        entries, side = packed_size(self.covariates.side), self.covariates.side
        release = RegressionRelease(
            basis=basis,
            covariates=self.covariates,
            lead=self.lead / STEPS,
            moments=decoded.noisy[:entries],
            products=decoded.noisy[entries:].reshape(side, basis.size),
            noise=decoded.noise,
            centre=basis.projection(public.grid) @ public.centre,
            count=decoded.count,
            ridge=self.ridge,
            smoothing_name=smoothing,
            certificate=certificate,
        )
        card = replace(
            certificate,
            noise_rms=release.noise_rms,
            scale=float(np.sqrt(decoded.noise.variances[entries:].max())),
            lattice_step=public.lattice.bound / STEPS**2,
            chosen=(
                *certificate.chosen,
                ("noise", NOISE),
                ("ridge", "stated by the user" if self.ridge is not None else "after the noise, from noisy moments"),
            ),
        )
        return replace(release, certificate=card).smooth(smoothing)

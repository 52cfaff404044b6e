"""Come here for regression of curves on covariates: sums over units of z z' and z y', which solve it afterwards."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from dpfda.arrays import Array, Integers, brief
from dpfda.bases import Basis
from dpfda.errors import UsageError
from dpfda.norms import Sensitivity, WeightedL2, frobenius, up
from dpfda.privacy import Noise
from dpfda.records import RADIUS, Clipping, Encode
from dpfda.records.encoder import FRACTIONS
from dpfda.records.lattice import squared_norms
from dpfda.releases import Certificate, Count
from dpfda.releases.covariates import Covariates
from dpfda.releases.perturbation import split
from dpfda.releases.regression import RegressionRelease
from dpfda.summaries.base import Decoded, Public, Summary
from dpfda.summaries.mean import Mean
from dpfda.symmetric import pack, packed_size

STEPS = 2**16  # lattice steps in the unit ball of covariates and in the bound of curves
MOST_UNITS = 2**30  # of products below 2^32: their sums fit 64 bits
AT_ONCE = 2**20  # units whose products are added in doubles: below 2^53, so exactly
NOISE = "counted in predicted curves, for covariates as released; a plan expects it for covariates spread evenly"
FINE = RADIUS // STEPS * FRACTIONS


def box_steps(covariates: int) -> int:
    """How many steps half the limits of one covariate are: as many boxes of that size as there are fit in the ball."""
    return math.isqrt(STEPS**2 // covariates)


def scaled(
    names: tuple[str, ...],
    *,
    limits: tuple[tuple[float, float], ...] | None,
    bound: float | None,
    intercept: bool,
) -> Covariates:
    """Covariates with the scales that take their limits to whole steps; with an intercept they are centred too.

    Without one they are not: the model goes through zero, and centring would make it go through the middle.
    """
    zeros = (0.0,) * len(names)
    if limits is None:
        return Covariates(names, None, bound, zeros, (float(bound or 1.0),) * len(names), intercept)
    share = STEPS / box_steps(len(names))
    if intercept:
        middles = tuple(low / 2 + high / 2 for low, high in limits)
        halves = tuple(high / 2 - low / 2 for low, high in limits)
    else:
        middles, halves = zeros, tuple(max(abs(low), abs(high)) for low, high in limits)
    return Covariates(names, limits, None, middles, tuple(half * share for half in halves), intercept)


@lru_cache(maxsize=4096)
def longest_change(lead: int, weight: float, *, replaced: bool) -> float:
    """How far one unit can move moments and weighed products, in steps squared, rounded up; proven at `Regression`."""
    square = lead**2 + STEPS**2
    pull = Fraction(weight) ** 2 * STEPS**2
    longest = square**2 + pull * square
    if replaced:
        s = min(pull / 2, Fraction(square))
        longest = 2 * square**2 - 2 * s**2 + 2 * pull * (square + s)
    # The steps up outweigh the rounding of the weights sqrt 2.
    return up(math.sqrt(up(float(longest))), 8)


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
    """The means over units of `z z'` and `z y'`: what least squares is computed from.

    Sensitivity, with `|c| <= C` for covariates, `z = (lead, c)`, `Z = lead^2 + C^2`, `|y| <= R`, and products weighed w
    times in the norm. Replacing (z, y) by (v, u) moves the sums by

        |zz' - vv'|^2 + w^2 |zy' - vu'|^2 = |z|^4 + |v|^4 - 2 s^2 + w^2 (|z|^2 |y|^2 + |v|^2 |u|^2 - 2 s y'u),  s = z'v.

    For a given s that is largest at `|z|^2 = |v|^2 = Z` and u of length R against y (along it if s < 0): `2 Z^2 - 2 s^2
    + 2 w^2 R^2 (Z + |s|)`, a parabola in |s| with its top at `w^2 R^2 / 2`, or at Z if that is less. With two
    covariates or more some neighbours reach it, since a lead of at most C leaves every s from 0 to Z possible; one
    covariate stays some percent below. A unit without a curve adds nothing: replacing it costs `Z^2 + w^2 R^2 Z` in
    square, never more than the above, as does adding or removing one.
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
            raise UsageError(f"The weight of the products must be positive and finite, got {brief(self.weight)}.")

    @property
    def name(self) -> str:
        return "regression coefficient functions"

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

    def norm(self, basis: Basis) -> WeightedL2:
        """The Frobenius norm of the moments, with the products weighed."""
        products = self.covariates.side * basis.size
        return WeightedL2((*frobenius(self.covariates.side).weights, *((self.weight,) * products)))

    def bounds(self, public: Public, basis: Basis) -> tuple[Sensitivity, ...]:
        return (self.stated(basis, replaced=public.unit.size_is_public),)

    def stated(self, basis: Basis, *, replaced: bool) -> Sensitivity:
        """The sensitivity of the sums, for units that are replaced, or added and removed."""
        longest = self.longest(replaced=replaced)
        one = f"a unit adds z z' and z y' with |z|^2 <= {self.lead**2 + STEPS**2} and |y| <= {STEPS}"
        moves = "and replacing it" if replaced else "which"
        because = f"{one}, {moves} moves moments and products, weighed {self.weight:.6g}, by at most {longest:.10g}"
        return Sensitivity(longest, self.norm(basis), because)

    def longest(self, *, replaced: bool) -> float:
        """How far one unit can move the sums, rounded up."""
        return longest_change(self.lead, self.weight, replaced=replaced)

    def decode(self, sums: Integers, noise: Noise, public: Public, basis: Basis) -> Decoded:
        units = float(public.planned if public.n is None else public.n)
        entries, bound = packed_size(self.covariates.side), public.lattice.bound
        noisy = sums.astype(np.float64) / (float(STEPS) ** 2 * units)
        noisy[entries:] *= bound
        if self.weights is not None:
            noisy[entries:] *= np.tile(self.weights, self.covariates.side)
        law = self.law(noise, units, bound)
        return Decoded(noisy, law, self._count(noisy, law, public))

    def law(self, noise: Noise, units: float, bound: float) -> Noise:
        """The law of the noise in the means over units, moments first, products in the units of the curve."""
        of_moments, of_products = split(noise, packed_size(self.covariates.side))
        factor = 1 / (float(STEPS) ** 2 * units)
        of_moments, of_products = of_moments.scaled(factor), of_products.scaled(factor * bound)
        if self.weights is not None:
            of_products = of_products.weighted(np.tile(self.weights, self.covariates.side))
        return Noise(noise.law, (*of_moments.sizes, *of_products.sizes), (*of_moments.scales, *of_products.scales))

    def _count(self, noisy: Array, law: Noise, public: Public) -> Count | None:
        """The noisy number of units with a curve, from the corner of the moments, where it is private."""
        if public.n is not None or not self.lead:
            return None
        times = public.planned * (STEPS / self.lead) ** 2
        deviation = math.sqrt(float(law.variances[0])) * times
        return Count(max(float(noisy[0]) * times, 1.0), Noise("gaussian", (1,), (deviation,)))

    def moves(self, public: Public, card_n: float) -> str:
        public_size = public.unit.size_is_public
        longest = self.longest(replaced=public_size) / STEPS**2
        return (
            f"{'moves' if public_size else 'adds to'} the sums of z z' and z y' {'by ' if public_size else ''}at most "
            f"{longest:.6g} in Frobenius norm, where z is its covariates in the unit ball"
            f"{f' led by {self.lead / STEPS:.4g}' if self.lead else ''}, y its curve in units of the bound, and z y' "
            f"is weighed {self.weight:.4g}"
        )

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
            missing=certificate.missing.replace(
                "empty curves by the centre", f"records with empty curves are left out; {self.covariates.missing}"
            ),
            chosen=(
                *certificate.chosen,
                ("noise", NOISE),
                ("ridge", "stated by the user" if self.ridge is not None else "after the noise, from noisy moments"),
            ),
        )
        return replace(release, certificate=card).smooth(smoothing)

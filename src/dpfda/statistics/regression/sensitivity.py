"""How far one unit can move the sums z z' and z y' of a regression, and the noise in their means."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpfda.bases.symmetric import packed_size
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.privacy.norms import Sensitivity, WeightedL2, frobenius, up
from dpfda.statistics.regression.covariates import Covariates

STEPS = 2**16  # lattice steps in the unit ball of covariates and in the bound of curves


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
    """How far one unit can move moments and weighed products, in steps squared, rounded up.

    With `|c| <= C` for covariates, `z = (lead, c)`, `Z = lead^2 + C^2`, `|y| <= R`, and products weighed w
    times in the norm. Replacing (z, y) by (v, u) moves the sums by

        |zz' - vv'|^2 + w^2 |zy' - vu'|^2 = |z|^4 + |v|^4 - 2 s^2 + w^2 (|z|^2 |y|^2 + |v|^2 |u|^2 - 2 s y'u),  s = z'v.

    For a given s that is largest at `|z|^2 = |v|^2 = Z` and u of length R against y (along it if s < 0): `2 Z^2 - 2 s^2
    + 2 w^2 R^2 (Z + |s|)`, a parabola in |s| with its top at `w^2 R^2 / 2`, or at Z if that is less. With two
    covariates or more some neighbours reach it, since a lead of at most C leaves every s from 0 to Z possible; one
    covariate stays some percent below. A unit without a curve adds nothing: replacing it costs `Z^2 + w^2 R^2 Z` in
    square, never more than the above, as does adding or removing one.
    """
    square = lead**2 + STEPS**2
    pull = Fraction(weight) ** 2 * STEPS**2
    longest = square**2 + pull * square
    if replaced:
        s = min(pull / 2, Fraction(square))
        longest = 2 * square**2 - 2 * s**2 + 2 * pull * (square + s)
    # The steps up outweigh the rounding of the weights sqrt 2.
    return up(math.sqrt(up(float(longest))), 8)


def stated(side: int, size: int, lead: int, weight: float, *, replaced: bool) -> Sensitivity:
    """The sensitivity of the sums in the Frobenius norm of the moments with the products weighed.

    `side` is the number of covariates, with the intercept; `size` that of the coordinates of a curve.
    """
    longest = longest_change(lead, weight, replaced=replaced)
    norm = WeightedL2((*frobenius(side).weights, *((weight,) * (side * size))))
    one = f"a unit adds z z' and z y' with |z|^2 <= {lead**2 + STEPS**2} and |y| <= {STEPS}"
    moves = "and replacing it" if replaced else "which"
    because = f"{one}, {moves} moves moments and products, weighed {weight:.6g}, by at most {longest:.10g}"
    return Sensitivity(longest, norm, because)


def noise_of_means(
    noise: NoiseLaw, side: int, units: float, bound: float, weights: tuple[float, ...] | None
) -> NoiseLaw:
    """The law of the noise in the means over units, moments first, products in the units of the curve."""
    of_moments, of_products = noise.split(packed_size(side))
    factor = 1 / (float(STEPS) ** 2 * units)
    of_moments, of_products = of_moments.scaled(factor), of_products.scaled(factor * bound)
    if weights is not None:
        of_products = of_products.weighted(np.tile(weights, side))
    return of_moments.followed_by(of_products)

"""Come here for the integer units that budgets are counted in: sums of them are exact, and the same everywhere."""

from __future__ import annotations

import math
from fractions import Fraction

from dpfda.arrays import brief
from dpfda.errors import UsageError

EPSILON_UNITS = 10**12  # in 1: for epsilon, rho and squares of mu
DELTA_UNITS = 10**18  # in 1: for delta and total variation distances


def exactly(amount: float) -> Fraction:
    """An amount as it was typed: ten times 0.1 make 1, which doubles do not."""
    if not math.isfinite(amount):
        raise UsageError(f"Only finite privacy losses can be added up, got {brief(amount)}.")
    return Fraction(repr(float(amount)))


def units(amount: float, in_one: int) -> int:
    """An amount in whole units, rounded up: 0.1 is exactly 100,000,000,000 units of epsilon."""
    return math.ceil(exactly(amount) * in_one)


def amount_of(total: Fraction) -> float:
    """The least double that, as it is printed, is not below an exact total; inf beyond all doubles."""
    try:
        nearest = float(total)
    except OverflowError:
        return math.inf
    while math.isfinite(nearest) and exactly(nearest) < total:
        nearest = math.nextafter(nearest, math.inf)
    return nearest

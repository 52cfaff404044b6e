"""Decisions with an exact probability: random bits against an interval that is refined until it decides."""

from __future__ import annotations

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext

import numpy as np
import numpy.typing as npt

from dpfda.arrays import Array
from dpfda.mechanisms.randomness import Randomness

Booleans = npt.NDArray[np.bool_]
# Bounds on the probability of one row, closer the more digits they are given; of at most that many digits themselves.
Refine = Callable[[int, int], tuple[Decimal, Decimal]]

FARTHEST = 700.0  # beyond this exponent a probability is left open: doubles would soon call it zero


def decide(low: Array, high: Array, refine: Refine, randomness: Randomness) -> Booleans:
    """Yes in row i with probability exactly `p_i`, where `low <= p <= high` and `refine(i, digits)` bounds it closer.

    A uniform number is compared with `p_i` bit by bit: 53 of them at first, more only if they leave it open.
    """
    bits = randomness.bits53(len(low))
    uniform = bits * 2.0**-53  # the first 53 bits of a uniform number: it lies in [uniform, uniform + 2^-53)
    decided = np.asarray(uniform + 2.0**-53 <= low)
    for row in np.flatnonzero(~decided & (uniform < high)):
        decided[row] = _decide_exactly(int(row), int(bits[row]), refine, randomness)
    return decided


def _decide_exactly(row: int, bits: int, refine: Refine, randomness: Randomness) -> bool:
    """The same comparison in decimals of growing precision, with more bits of the same uniform number."""
    known = 53
    while True:
        digits = 60 + known // 3
        low, high = refine(row, digits)
        # Room for all digits of the products with 2^known: the comparisons are exact.
        with localcontext(wide(digits + known)):
            if bits + 1 <= low * 2**known:
                return True
            if bits >= high * 2**known:
                return False
        bits = (bits << 53) | int(randomness.bits53(1)[0])
        known += 53


def wide(digits: int) -> Context:
    """A decimal context of this many digits with the widest exponents, so that no probability becomes zero."""
    return Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX)


def exponential(exponent: Array, error: Array) -> tuple[Array, Array]:
    """Bounds in doubles on `exp(-x)` for every x within `error` of `exponent`."""
    low, high = _exp(exponent + error) * (1 - 2.0**-50), _exp(exponent - error) * (1 + 2.0**-50)
    # No probability is zero: far out a uniform number that begins with 53 zeros is still left open.
    low[~(exponent + error <= FARTHEST)] = 0.0
    return low, high


def _exp(exponent: Array) -> Array:
    return np.exp(-np.clip(exponent, -1.0, FARTHEST))


def exponential_exactly(exponent: Decimal, size: Decimal, digits: int) -> tuple[Decimal, Decimal]:
    """Bounds on a probability `exp(-x)`, x a sum of terms below `size` that is `exponent` at this many digits.

    Every operation of decimals is correctly rounded, so four guard digits cover some thousand of them.
    """
    if not size:
        return Decimal(1), Decimal(1)
    with localcontext(wide(digits)):
        error = (size + 1) * Decimal(10) ** (4 - digits)
        if error >= 1:
            return Decimal(0), Decimal(1)
        probability = (-exponent).exp()
        return probability * (1 - error), probability * (1 + error)

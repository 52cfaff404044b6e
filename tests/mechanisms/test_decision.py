"""Decisions have exactly the stated probability, also where doubles or 53 bits cannot tell."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_UP, Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dpfda.arrays import Integers
from dpfda.mechanisms import SeededRandomness, SystemRandomness
from dpfda.mechanisms.decision import FARTHEST, Refine, decide, exponential, exponential_exactly, wide

LEVEL = 1e-6


class Scripted:
    """Hands out chosen bits, 53 at a time, and counts them; it makes no noise."""

    private = False

    def __init__(self, *chunks: int) -> None:
        self.chunks: Iterator[int] = iter(chunks)
        self.used = 0

    def bits53(self, size: int) -> Integers:
        self.used += size
        return np.array([next(self.chunks) for _ in range(size)], dtype=np.int64)

    def laplace(self, scale: float, size: int) -> Integers:
        raise AssertionError("not asked for")

    gaussian = laplace


def refined(*probabilities: Fraction) -> Refine:
    """Decimal bounds on rational probabilities, rounded outwards at the digits asked for."""

    def refine(row: int, digits: int) -> tuple[Decimal, Decimal]:
        p = probabilities[row]
        bounds = []
        for rounding in (ROUND_FLOOR, ROUND_CEILING):
            with localcontext(wide(digits)) as context:
                context.rounding = rounding
                bounds.append(Decimal(p.numerator) / Decimal(p.denominator))
        return bounds[0], bounds[1]

    return refine


def decision(p: Fraction, low: float, high: float, *chunks: int) -> tuple[bool, int]:
    source = Scripted(*chunks)
    return bool(decide(np.array([low]), np.array([high]), refined(p), source)[0]), source.used


def chunked(bits: int, chunks: int) -> list[int]:
    return [(bits >> (53 * (chunks - k - 1))) & (2**53 - 1) for k in range(chunks)]


@given(p=st.fractions(0, 1, max_denominator=10**40), chunks=st.integers(1, 6), off=st.sampled_from([-1, 0, 1]))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_bits_that_agree_with_the_probability_are_refined_until_they_do_not(p: Fraction, chunks: int, off: int) -> None:
    """The bounds in doubles are as wide as they can be, so every bit is decided in decimals."""
    bits = (p.numerator << (53 * chunks)) // p.denominator + off
    if not 0 <= bits < 2 ** (53 * chunks):
        return
    lower, upper = Fraction(bits, 2 ** (53 * chunks)), Fraction(bits + 1, 2 ** (53 * chunks))
    if lower < p < upper:
        with pytest.raises(StopIteration):
            decision(p, 0.0, 1.0, *chunked(bits, chunks))
    else:
        decided, used = decision(p, 0.0, 1.0, *chunked(bits, chunks))
        assert decided == (upper <= p)
        assert used <= chunks


@pytest.mark.parametrize("bits", [0, 1, 2**52, 2**53 - 1])
def test_certainty_and_impossibility_need_no_second_chunk(bits: int) -> None:
    assert decision(Fraction(1), 0.0, 1.0, bits) == (True, 1)
    assert decision(Fraction(0), 0.0, 1.0, bits) == (False, 1)


def test_doubles_decide_alone_where_they_can() -> None:
    def never(row: int, digits: int) -> tuple[Decimal, Decimal]:
        raise AssertionError("not asked for")

    third = 2**53 // 3
    source = Scripted(third - 10, third + 10)
    low, high = np.full(2, 1 / 3 - 1e-15), np.full(2, 1 / 3 + 1e-16)
    assert decide(low, high, never, source).tolist() == [True, False]


def test_rows_are_refined_each_by_its_own_bounds_and_bits() -> None:
    p = [Fraction(1, 3), Fraction(2, 7), Fraction(1, 2)]
    cells = [int(x * 2**53) for x in p[:2]]
    following = [int(x * 2**106) & (2**53 - 1) for x in p[:2]]
    source = Scripted(cells[0], cells[1], 2**52 - 1, following[0] - 1, following[1] + 1)
    decided = decide(np.zeros(3), np.ones(3), refined(*p), source)
    assert decided.tolist() == [True, False, True]
    assert source.used == 5


def test_the_decision_does_not_depend_on_the_callers_decimal_context() -> None:
    p = Fraction(1, 3)
    for off in (-1, 1):
        bits = int(p * 2**106) + off
        with localcontext(Context(prec=3, rounding=ROUND_UP, Emin=-2, Emax=2)):
            assert decision(p, 0.0, 1.0, *chunked(bits, 2)) == (off < 0, 2)


@pytest.mark.parametrize("source", [SystemRandomness(), SeededRandomness(1)], ids=["system", "seeded"])
@pytest.mark.parametrize("p", [Fraction(1, 1000), Fraction(1, 3), Fraction(9, 10)], ids=str)
def test_frequencies_are_the_probabilities(source: SystemRandomness | SeededRandomness, p: Fraction) -> None:
    """Binomial test at level 1e-6 on 40,000 decisions, half of them by doubles that leave a tenth of them open."""
    n = 40_000
    wide_bounds = np.resize([0.9, 1.0], n) * float(p), np.minimum(np.resize([1.1, 1.0], n) * float(p), 1.0)
    low, high = binom(n, float(p)).ppf([LEVEL / 2, 1 - LEVEL / 2])
    assert low <= decide(*wide_bounds, lambda row, digits: refined(p)(0, digits), source).sum() <= high


@given(exponent=st.floats(0, 2000), error=st.floats(0, 3))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_bounds_in_doubles_contain_the_exponential(exponent: float, error: float) -> None:
    low, high = (float(bound[0]) for bound in exponential(np.array([exponent]), np.array([error])))
    for x in (exponent - error, exponent, exponent + error):
        with localcontext(wide(60)):
            exactly = (-Decimal(x)).exp()
        if exactly <= 1:
            assert Decimal(low) <= exactly <= Decimal(high)
    assert high > 0
    if exponent + error < FARTHEST:
        assert low >= math.exp(-exponent - error) * (1 - 1e-14)


@given(exponent=st.floats(0, 1e6), digits=st.integers(20, 200))
@settings(derandomize=True, deadline=None, max_examples=100)
def test_bounds_in_decimals_contain_the_exponential_and_close_in(exponent: float, digits: int) -> None:
    low, high = exponential_exactly(Decimal(exponent), Decimal(exponent), digits)
    with localcontext(wide(300)):
        exactly = (-Decimal(exponent)).exp()
        assert low <= exactly <= high
        if digits >= 40:
            assert high - low <= exactly * (Decimal(exponent) + 1) * Decimal(10) ** (5 - digits)


def test_terms_too_large_for_the_digits_leave_everything_open() -> None:
    assert exponential_exactly(Decimal(0), Decimal(10) ** 70, 60) == (Decimal(0), Decimal(1))
    assert exponential_exactly(Decimal(0), Decimal(0), 60) == (Decimal(1), Decimal(1))

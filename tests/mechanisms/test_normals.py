"""Normal numbers: their law, and that every digit of each is one number's.

The system's source cannot be seeded: each test of it fails by chance once in a million runs. Seeded tests state the
same level and never fail by chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import ROUND_UP, Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy.stats import chisquare, kstest, norm

from dpfda.arrays import Array, Integers
from dpfda.errors import UsageError
from dpfda.mechanisms import Randomness, SeededRandomness, SystemRandomness, normals
from dpfda.mechanisms.normals import Reals, accept, draw_normals, interval, interval_exactly, join, propose

LEVEL = 1e-6
# An exact exponential to 60 digits for checks; the code under test uses at most as many.
REFERENCE = Context(prec=80, Emin=-(10**9), Emax=10**9)


class Scripted:
    """Hands out chosen bits, 53 at a time, and counts them."""

    private = False

    def __init__(self, *words: int) -> None:
        self.words: Iterator[int] = iter(words)
        self.used = 0

    def bits53(self, size: int) -> Integers:
        self.used += size
        return np.array([next(self.words) for _ in range(size)], dtype=np.int64)

    def laplace(self, scale: float, size: int) -> Integers:
        raise AssertionError("not asked for")

    gaussian = uniform = normal = laplace


def reals(*numbers: tuple[int, int, int], randomness: Randomness | None = None) -> Reals:
    """Numbers from signs, wholes and first words."""
    signs, wholes, words = np.array(numbers, dtype=np.int64).reshape(-1, 3).T
    return Reals(signs, wholes, words, randomness or SeededRandomness(0))


def check_law(values: Array) -> None:
    """Kolmogorov-Smirnov on signed numbers and on sizes, and chi-square on the tail beyond 2, at a third of 1e-6."""
    assert kstest(values, norm.cdf).pvalue > LEVEL / 3
    assert kstest(np.abs(values), lambda x: 2 * norm.cdf(x) - 1).pvalue > LEVEL / 3
    edges = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.25, 2.5, 2.75, 3.0, np.inf])
    chances = -2 * np.diff(norm.sf(edges))
    counts = np.histogram(np.abs(values), edges)[0]
    assert chisquare(counts, len(values) * chances / chances.sum()).pvalue > LEVEL / 3


def test_the_systems_normal_numbers_have_the_normal_law() -> None:
    """50,000 draws, level 1e-6, anew in each run."""
    check_law(draw_normals(50_000, SystemRandomness()).values)


def test_seeded_normal_numbers_have_the_normal_law() -> None:
    """400,000 draws, level 1e-6; the seed is fixed."""
    check_law(draw_normals(400_000, SeededRandomness(1)).values)


@pytest.mark.audit
def test_three_million_normal_numbers_have_the_normal_law() -> None:
    """Level 1e-6, anew in each run."""
    check_law(draw_normals(3_000_000, SystemRandomness()).values)


def test_faults_in_the_acceptance_are_caught_by_the_same_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """All proposals taken; the factor of the staircase one step off; an exponent 2 % too small."""
    with pytest.raises(AssertionError):
        check_law(propose(100_000, SeededRandomness(2)).values)
    honest = normals.exponential
    for fault in (
        lambda exponent, size: exponent + 0.02 * np.floor(size),
        lambda exponent, size: exponent + 0.02 * size**2 / 2,
    ):

        def faulty(exponent: Array, error: Array, fault: object = fault) -> tuple[Array, Array]:
            # The size is known from the error, which is 2^-48 (size^2 + size + 2).
            size = (np.sqrt(1 + 4 * (error * 2.0**48 - 2)) - 1) / 2
            return honest(fault(exponent, size), error)  # type: ignore[operator]

        monkeypatch.setattr(normals, "exponential", faulty)
        with pytest.raises(AssertionError):
            check_law(draw_normals(400_000, SeededRandomness(1)).values)
        monkeypatch.setattr(normals, "exponential", honest)


def test_numbers_whose_every_decision_is_made_in_decimals_have_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """3,000 draws, Kolmogorov-Smirnov at 1e-6, and chi-square on bits 53 to 58, that decisions looked at; seeded."""
    monkeypatch.setattr(normals, "interval", lambda p: (np.zeros(len(p.words)), np.ones(len(p.words))))
    drawn = draw_normals(3_000, SeededRandomness(3))
    assert len(drawn.longer) == 3_000
    assert kstest(drawn.values, norm.cdf).pvalue > LEVEL
    second = [bits >> (known - 59) & 63 for bits, known in drawn.longer.values()]
    assert chisquare(np.bincount(second, minlength=64)).pvalue > LEVEL


def test_half_of_all_proposals_are_accepted_whatever_they_are() -> None:
    """The normaliser over the envelope is sqrt(pi/2)/2 e^(1/2)/2 = 0.5166; level 1e-6, seeded, 100,000 proposals."""
    share = np.mean(accept(propose(100_000, SeededRandomness(4))))
    expected = math.sqrt(math.pi / 2) * math.sqrt(math.e) / 4
    assert abs(share - expected) < norm.isf(5e-7) * math.sqrt(expected * (1 - expected) / 100_000)


@pytest.mark.parametrize("size", [1, 2, 7, 100, 3280])
def test_exactly_as_many_numbers_as_asked_for_are_drawn(size: int) -> None:
    drawn = draw_normals(size, SeededRandomness(5))
    for column in (drawn.signs, drawn.wholes, drawn.words, drawn.values, drawn.errors):
        assert column.shape == (size,)


@pytest.mark.parametrize("size", [0, -1])
def test_no_numbers_at_all_are_refused(size: int) -> None:
    with refused(UsageError, "size", size):
        draw_normals(size, SeededRandomness(0))


# Proposals -----------------------------------------------------------------------------------------------------------


def test_whole_numbers_count_tails_before_the_first_head_and_the_first_bit_is_the_sign() -> None:
    coins = [0b11, 0b10, 0b101, 0b1000, 1 << 52, (1 << 53) - 1]
    proposals = propose(len(coins), Scripted(*coins, *range(len(coins))))
    assert proposals.wholes.tolist() == [0, 0, 1, 2, 51, 0]
    assert proposals.signs.tolist() == [1, -1, 1, -1, -1, 1]
    assert proposals.words.tolist() == list(range(len(coins)))


def test_after_fifty_two_tails_the_coin_is_flipped_on() -> None:
    source = Scripted(1, 0b10, 7, 8, 0, 1 << 3)
    proposals = propose(2, source)
    assert proposals.wholes.tolist() == [52 + 52 + 2, 0]
    assert proposals.signs.tolist() == [1, -1]
    assert source.used == 6


def test_whole_numbers_have_chances_that_halve() -> None:
    """Chi-square over 0 to 11 and the rest, 200,000 proposals, level 1e-6; the seed is fixed."""
    counts = np.bincount(np.minimum(propose(200_000, SeededRandomness(6)).wholes, 12), minlength=13)
    chances = np.append(0.5 ** np.arange(1, 13), 0.5**12)
    assert chisquare(counts, 200_000 * chances).pvalue > LEVEL


def chance(size: Fraction, whole: int) -> Decimal:
    """The acceptance probability `exp(-(size^2/2 - (whole-1) log 2 - 1/2))` at 80 digits."""
    with localcontext(REFERENCE):
        number = Decimal(size.numerator) / Decimal(size.denominator)
        return (-(number * number / 2 - (whole - 1) * Decimal(2).ln() - Decimal("0.5"))).exp()


WORDS = st.one_of(st.integers(0, 2**53 - 1), st.sampled_from([0, 1, 2**52, 2**53 - 1]))
NUMBERS = st.tuples(st.sampled_from([-1, 1]), st.one_of(st.integers(0, 8), st.integers(0, 45)), WORDS)


@given(number=NUMBERS)
@settings(derandomize=True, deadline=None, max_examples=400)
def test_the_bounds_in_doubles_hold_whatever_the_unknown_bits(number: tuple[int, int, int]) -> None:
    _, whole, word = number
    low, high = (Decimal(bound[0]) for bound in interval(reals(number)))
    ends = [chance(Fraction(word + step, 2**53) + whole, whole) for step in (0, 1)]
    assert low <= ends[1] <= ends[0] <= high
    if ends[1] > Decimal("1e-300"):
        assert high - low <= ends[1] * Decimal(2) ** -36


@given(number=NUMBERS, digits=st.integers(20, 60), seed=st.integers(0, 99))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_the_bounds_in_decimals_hold_and_close_in(number: tuple[int, int, int], digits: int, seed: int) -> None:
    proposals = reals(number, randomness=SeededRandomness(seed))
    low, high = interval_exactly(proposals, 0, digits)
    bits, known = proposals.longer[0]
    ends = [chance(Fraction(bits + step, 2**known) + number[1], number[1]) for step in (0, 1)]
    assert low <= ends[1] <= ends[0] <= high
    assert high - low <= ends[1] * Decimal(10) ** (10 - digits)


def test_acceptance_probabilities_never_exceed_one() -> None:
    """The exponent grows with the fraction, and at whole numbers it is smallest at 1, where it is 0."""
    assert [chance(Fraction(k), k) <= 1 for k in range(60)] == [True] * 60
    assert chance(Fraction(1), 1) == 1


# Digits ---------------------------------------------------------------------------------------------------------------


@given(numbers=st.lists(NUMBERS, min_size=1, max_size=5), seed=st.integers(0, 999), data=st.data())
@settings(derandomize=True, deadline=None, max_examples=200)
def test_bounds_on_a_number_are_nested_however_often_and_closely_one_looks(
    numbers: list[tuple[int, int, int]], seed: int, data: st.DataObject
) -> None:
    drawn = reals(*numbers, randomness=SeededRandomness(seed))
    values, errors = drawn.values, drawn.errors
    for index in range(len(numbers)):
        asked = data.draw(st.lists(st.integers(1, 80), min_size=1, max_size=4))
        for digits in asked:
            low, high = drawn.refine(index, digits)
            assert 0 <= Fraction(high) - Fraction(low) < Fraction(1, 10**digits)
        # The last and closest look lies in the bounds of all others, of doubles and of whole numbers.
        closest = [Fraction(end) for end in drawn.refine(index, 90)]
        slack = Fraction(1, 10**90)
        for digits in asked:
            low, high = drawn.refine(index, digits)
            assert Fraction(low) <= closest[0] + slack
            assert closest[1] - slack <= Fraction(high)
        for end in closest:
            assert abs(end - Fraction(values[index])) <= Fraction(errors[index]) + slack
            for bits in (53, 60, 106, 200):
                [centre] = drawn.integers([index], bits)
                assert abs(end * 2 ** (bits + 1) - centre) <= 1 + slack * 2 ** (bits + 1)
                assert centre % 2 == 1


def test_a_number_is_its_bits() -> None:
    """0.625 + 2^-53 (0.75 to 1) by hand: the next word begins with 11."""
    word, following = 5 * 2**50, 3 * 2**51
    drawn = reals((-1, 2, word), randomness=Scripted(following))
    assert drawn.values.tolist() == [-2.625]
    assert drawn.integers([0], 53) == [-(2 * (2**54 + word) + 1)]
    assert drawn.integers([0], 55) == [-(2 * (2**56 + 4 * word + 3) + 1)]
    assert drawn.longer == {0: (word << 53 | following, 106)}


def test_the_error_of_doubles_is_about_one_rounding() -> None:
    drawn = draw_normals(1_000, SeededRandomness(7))
    assert np.all(drawn.errors <= 2.0**-52.9 * (1 + np.abs(drawn.values)))


def test_bits_are_drawn_once_and_only_for_the_numbers_that_are_asked_for() -> None:
    source = Scripted(*range(100, 120))
    drawn = reals((1, 0, 5), (1, 1, 6), (-1, 2, 7), randomness=source)
    drawn.integers([0, 1, 2], 53)
    assert source.used == 0
    first = drawn.integers([2, 0], 106)
    assert source.used == 2
    assert drawn.integers([2, 0, 2], 106) == [*first, first[0]]
    assert source.used == 2
    drawn.integers([0, 2], 150)
    assert source.used == 4
    assert set(drawn.longer) == {0, 2}


def test_further_bits_are_fair_and_independent_of_the_first() -> None:
    """Chi-square over 8 by 8 cells of fraction bits 54 to 56 and size, 40,000 draws, level 1e-6; the seed is fixed."""
    drawn = draw_normals(40_000, SeededRandomness(8))
    middles = drawn.integers(range(40_000), 106)
    octave = np.array([abs(middle) >> 51 & 7 for middle in middles])
    ranks = np.argsort(np.argsort(drawn.values)) // 5_000
    assert chisquare(np.bincount(8 * ranks + octave, minlength=64)).pvalue > LEVEL


def test_taken_and_joined_numbers_keep_all_that_is_known_of_them() -> None:
    source = SeededRandomness(9)
    drawn = draw_normals(6, source)
    known = drawn.refine(4, 40)
    part = drawn.take(np.array([1, 4]))
    assert part.refine(1, 40) == known
    both = join([part, drawn.take(np.array([4, 0]))])
    assert both.values.tolist() == drawn.values[[1, 4, 4, 0]].tolist()
    assert both.refine(1, 40) == both.refine(2, 40) == known


def test_batches_that_accept_too_few_are_followed_by_others() -> None:
    """The first batch of 16 proposals for one number is all rejected: far out, and a uniform number near one."""
    rejected = [*[1 << 20] * 16, *[0] * 16, *[2**53 - 1] * 16]
    accepted = [*[0b11] * 16, *[2**50] * 16, *[0] * 16]
    drawn = draw_normals(1, Scripted(*rejected, *accepted))
    assert drawn.values.tolist() == [0.125 + 2.0**-54]


def test_the_digits_do_not_depend_on_the_callers_decimal_context() -> None:
    drawn = draw_normals(3, SeededRandomness(10))
    plain = drawn.refine(0, 50)
    with localcontext(Context(prec=3, rounding=ROUND_UP, Emin=-2, Emax=2)):
        assert drawn.refine(0, 50) == plain
        interval_exactly(drawn, 1, 50)

"""The finite exponential mechanism: its exact law, its price, and the dictionary of candidate functions.

The system's source cannot be seeded: each test of it fails by chance once in a million runs. Seeded tests state the
same level and never fail by chance.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy.stats import chisquare

from dpfda.arrays import Array, Integers
from dpfda.errors import UsageError
from dpfda.mechanisms import Randomness, SeededRandomness, SystemRandomness
from dpfda.mechanisms.choice import DIGITS, LARGEST_BATCH, MOST_CANDIDATES, Dictionary, Scores, choose, rate_of
from dpfda.mechanisms.decision import wide
from dpfda.mechanisms.noise import Noise
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L1, L2, Sensitivity

LEVEL = 1e-6
SOURCES = pytest.mark.parametrize(
    ("source", "draws"),
    [pytest.param(SystemRandomness(), 6_000, marks=pytest.mark.audit), (SeededRandomness(1), 20_000)],
    ids=["system", "seeded"],
)


def scores(*values: int | tuple[int, int]) -> Scores:
    """Whole numbers, or pairs of a square and a whole number."""
    pairs = [(0, value) if isinstance(value, int) else value for value in values]
    return Scores(tuple(square for square, _ in pairs), tuple(whole for _, whole in pairs))


def law(given: Scores, rate: float) -> Array:
    """The stated probabilities."""
    values = np.array([math.sqrt(s) + w for s, w in zip(given.squares, given.wholes, strict=True)])
    weights = np.exp(-rate * (values - values.min()))
    return weights / weights.sum()


def fit(counts: Integers, probabilities: Array) -> float:
    """The p-value of a chi-square test, rare cells pooled."""
    expected = counts.sum() * probabilities
    cells = expected >= 25
    observed = np.append(counts[cells], counts[~cells].sum())
    pooled = np.append(expected[cells], expected[~cells].sum())
    if pooled[-1] < 25:
        pooled[0], observed[0] = pooled[0] + pooled[-1], observed[0] + observed[-1]
        pooled, observed = pooled[:-1], observed[:-1]
    return float(chisquare(observed, pooled).pvalue)


CASES = {
    "equal": (scores(7, 7, 7), 1.0),
    "counts": (scores(0, 1, 2, 3, 4), 0.5),
    "far from zero": (scores(10**15, 10**15 + 1, 10**15 + 3), 0.4),
    "distances": (scores((2, 0), (3, 0), (5, 0), (7, 0), (50, 0)), 0.6),
    "sums": (scores((2, 1), (8, 0), (1, 1), (0, 2)), 0.8),
    "beyond doubles": (scores((2**200, 0), (2**200 + 2**102, 0), (2**200 + 2**103, 0)), 0.3),
    "many": (scores(*range(37)), 0.1),
}


@SOURCES
@pytest.mark.parametrize("case", CASES)
def test_candidates_have_the_exact_probabilities(case: str, source: Randomness, draws: int) -> None:
    """Chi-square over candidates at level 1e-6."""
    given, rate = CASES[case]
    draws //= 4
    counts = np.bincount([choose(given, rate, randomness=source) for _ in range(draws)], minlength=len(given.squares))
    expected = law(given, rate)
    if case == "beyond doubles":  # there the square roots differ by 2 and 4, which doubles cannot tell
        expected = law(scores(0, 2, 4), rate)
    assert fit(counts, expected) > LEVEL


def test_a_rate_larger_by_the_root_of_two_is_caught_by_the_same_check() -> None:
    given, rate = CASES["counts"]
    source = SeededRandomness(2)
    counts = np.bincount([choose(given, rate * math.sqrt(2), randomness=source) for _ in range(5_000)], minlength=5)
    assert fit(counts, law(given, rate)) < LEVEL


@pytest.mark.parametrize("base", [0, 10**12])
def test_a_candidate_that_is_far_better_is_always_chosen_and_far_ones_cost_no_time(base: int) -> None:
    given = scores(*[base + 10**6] * 5000, base, *[base + 10**9] * 3000)
    assert choose(given, 1.0, randomness=SystemRandomness()) == 5000


class Counting(SeededRandomness):
    """Counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__(3)
        self.asked: list[int] = []

    def bits53(self, size: int) -> Integers:
        self.asked.append(size)
        return super().bits53(size)


@pytest.mark.parametrize("m", [1, 2, 3, 64, 65, 4096])
def test_one_batch_is_enough_wherever_the_scores_lie(m: int) -> None:
    """At worst one proposal in 2m is accepted; 64 m of them at least leave a chance of e^-32 of a second batch."""
    for spread in (0, 1, 10**6):
        source = Counting()
        assert 0 <= choose(scores(*(spread * i for i in range(m))), 1.0, randomness=source) < m
        assert len(source.asked) == 2
        assert source.asked[0] == min(64 * 2 ** math.ceil(math.log2(m)), LARGEST_BATCH)


def test_a_single_candidate_is_chosen() -> None:
    assert choose(scores(5), 3.0, randomness=SystemRandomness()) == 0


class Proposing:
    """Proposes one candidate first and decides with chosen bits; later proposals do not matter."""

    private = False

    def __init__(self, candidate: int, *chunks: int) -> None:
        self.candidate, self.chunks, self.calls = candidate, list(chunks), 0

    def bits53(self, size: int) -> Integers:
        self.calls += 1
        if self.calls == 1:
            return np.full(size, self.candidate, dtype=np.int64)
        if self.calls == 2:
            bits = np.full(size, 2**53 - 1, dtype=np.int64)  # never accepted, but for the first
            bits[0] = self.chunks.pop(0)
            return bits
        if self.chunks:
            return np.array([self.chunks.pop(0)], dtype=np.int64)
        raise StopIteration

    def laplace(self, scale: float, size: int) -> Integers:
        raise AssertionError("not asked for")

    gaussian = laplace


@given(
    squares=st.lists(st.integers(0, 2**130), min_size=2, max_size=4),
    wholes=st.lists(st.integers(0, 2**60), min_size=4, max_size=4),
    reach=st.floats(0.01, 100.0),
    off=st.sampled_from([-1, 1]),
)
@settings(derandomize=True, deadline=None, max_examples=200)
def test_bits_at_the_probability_are_decided_as_exact_arithmetic_does(
    squares: list[int], wholes: list[int], reach: float, off: int
) -> None:
    """The uniform number differs from `exp(-rate (score - base))` in its last bit of 106."""
    given = Scores(tuple(squares), tuple(wholes[: len(squares)]))
    values = [given.exactly(row, DIGITS) for row in range(len(squares))]
    rate = reach / (float(max(values)) or 1.0)
    candidate = values.index(max(values))
    with localcontext(wide(DIGITS)):
        base = min(values) * (1 - Decimal(10) ** (2 - DIGITS))
    with localcontext(wide(300)):
        score = Decimal(squares[candidate]).sqrt() + wholes[candidate]
        exactly = (-Decimal(rate) * (score - base)).exp()
        bits = int(exactly * 2**106) + off
    if not 0 <= bits < 2**106:
        return
    source = Proposing(candidate, bits >> 53, bits & (2**53 - 1))
    if off < 0:
        assert choose(given, rate, randomness=source) == candidate
    else:
        with pytest.raises(StopIteration):
            choose(given, rate, randomness=source)
    assert source.chunks == [] or bits & (2**53 - 1) in (0, 2**53 - 1)


@given(pairs=st.lists(st.tuples(st.integers(0, 2**140), st.integers(0, 2**80)), min_size=1, max_size=20))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_scores_are_known_to_the_digits_asked_for(pairs: list[tuple[int, int]]) -> None:
    given = scores(*pairs)
    for row, (square, whole) in enumerate(pairs):
        with localcontext(wide(120)):
            exactly = Decimal(square).sqrt() + whole
            assert abs(given.exactly(row, 60) - exactly) <= exactly * Decimal(10) ** -59


@given(epsilon=st.decimals("0.0001", "50", places=4), spread=st.floats(1e-3, 1e12))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_the_rate_never_costs_more_than_the_epsilon_that_was_typed(epsilon: Decimal, spread: float) -> None:
    price = Fraction(rate_of(float(epsilon), spread)) * Fraction(spread)
    assert Fraction(epsilon) * (1 - Fraction(1, 2**48)) <= price <= Fraction(epsilon)


@pytest.mark.parametrize(("squares", "wholes"), [((), ()), ((1, 2), (1,)), ((1,), ())])
def test_scores_that_do_not_belong_together_are_refused(squares: Any, wholes: Any) -> None:
    with refused(UsageError, "squares", len(squares)):
        Scores(squares, wholes)


@pytest.mark.parametrize("rate", [0.0, -1.0, math.inf, math.nan, 1e31])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with refused(UsageError, "rate", rate):
        choose(scores(1, 2), rate, randomness=SystemRandomness())


# The dictionary ------------------------------------------------------------------------------------------------------

TABLE = np.array([[0, 0], [3, 4], [-2, 1], [6, -6], [1, 1]], dtype=np.int64)
RESTS = np.array([0, 2, 5, 1, 3], dtype=np.int64)
DICTIONARY = Dictionary(TABLE, RESTS)


def distances(vector: tuple[int, ...]) -> Array:
    """Distances of all candidates, what lies outside of the basis included."""
    return np.sqrt(((np.array(vector) - TABLE) ** 2).sum(axis=1) + RESTS**2)


@SOURCES
@pytest.mark.parametrize("vector", [(0, 0), (5, -2)])
def test_functions_are_chosen_by_their_distance(vector: tuple[int, ...], source: Randomness, draws: int) -> None:
    """Chi-square over candidates at level 1e-6."""
    scale, coordinates = 4.0, np.array(vector, dtype=np.int64)
    drawn = [DICTIONARY.draw(coordinates, scale, randomness=source) for _ in range(draws // 4)]
    chosen = [int(np.flatnonzero((row == TABLE).all(axis=1))[0]) for row in drawn]
    weights = np.exp(-distances(vector) / scale)
    assert fit(np.bincount(chosen, minlength=5), weights / weights.sum()) > LEVEL


def log_law(vector: tuple[int, ...], scale: float) -> Array:
    exponents = -distances(vector) / scale
    return exponents - math.log(np.exp(exponents).sum())


def test_no_likelihood_ratio_exceeds_epsilon_and_all_lie_in_one_interval_of_that_length() -> None:
    """By enumeration of the sums and moves of a small lattice; a scale smaller by the root of two is seen."""
    scale, most = 3.0, 0.0
    allowed = {move: DICTIONARY.profile(Sensitivity(math.hypot(*move), L2(), ""), scale).epsilon for move in MOVES}
    for vector in product(range(-40, 41, 8), repeat=2):
        for move, epsilon in allowed.items():
            moved = (vector[0] + move[0], vector[1] + move[1])
            ratios = log_law(moved, scale) - log_law(vector, scale)
            assert np.abs(ratios).max() <= epsilon
            assert np.ptp(ratios) <= epsilon
            faulty = log_law(moved, scale / math.sqrt(2)) - log_law(vector, scale / math.sqrt(2))
            most = max(most, np.ptp(faulty) / epsilon)
    assert most > 1.1


MOVES = [(1, 0), (3, 4), (-5, 2), (12, -12)]


def test_a_dictionary_is_calibrated_like_every_mechanism() -> None:
    sensitivity = Sensitivity(2.0**25, L2(), "a radius")
    scale = calibrate(DICTIONARY, sensitivity, Budget(0.5, 0.0), size=2)
    assert scale == pytest.approx(2**27, rel=1e-14)
    assert DICTIONARY.profile(sensitivity, scale).epsilon <= 0.5
    # With delta less is asked for.
    assert calibrate(DICTIONARY, sensitivity, Budget(0.5, 0.01), size=2) < 0.9 * scale
    with refused(UsageError, "norm"):
        DICTIONARY.profile(Sensitivity(1.0, L1(), ""), 1.0)


def test_a_choice_has_no_noise_and_keeps_its_candidates() -> None:
    table = TABLE.copy()
    dictionary = Dictionary(table)
    table[0] = 99
    drawn = dictionary.draw(np.zeros(2, dtype=np.int64), 1e-9, randomness=SystemRandomness())
    assert drawn.tolist() == [0, 0]
    drawn[0] = 5
    assert dictionary.candidates[0].tolist() == [0, 0]
    assert dictionary.noise(3.0, 2) == Noise("choice", (2,), (3.0,))
    assert repr(dictionary) == "Dictionary(5 candidates of size 2)"
    assert (dictionary.name, dictionary.norm, dictionary.pure) == ("dictionary", L2(), True)


def test_sums_at_the_edge_of_64_bits_are_told_apart() -> None:
    edge = 2**63 - 1
    dictionary = Dictionary(np.array([[-edge, edge], [edge, -edge], [edge - 3, edge]]))
    drawn = dictionary.draw(np.array([edge, edge]), 0.01, randomness=SystemRandomness())
    assert drawn.tolist() == [edge - 3, edge]
    assert dictionary.distances(np.array([edge, edge])).squares == (4 * edge**2, 4 * edge**2, 9)


@pytest.mark.parametrize(
    "table",
    [
        np.zeros((2, 2)),
        np.zeros(3, dtype=np.int64),
        np.zeros((0, 3), dtype=np.int64),
        np.zeros((3, 0), dtype=np.int64),
        np.zeros((MOST_CANDIDATES + 1, 1), dtype=np.int64),
        np.zeros((2, 2), dtype=np.int32),
    ],
    ids=["doubles", "a vector", "none", "no coordinate", "too many", "32 bits"],
)
def test_a_table_that_is_none_is_refused(table: Any) -> None:
    with refused(UsageError, "candidates", table.shape):
        Dictionary(table)


@pytest.mark.parametrize(
    "rests",
    [np.zeros(5), np.zeros(4, dtype=np.int64), -RESTS],
    ids=["doubles", "too few", "negative"],
)
def test_remainders_that_are_none_are_refused(rests: Any) -> None:
    with refused(UsageError, "remainders", rests.shape):
        Dictionary(TABLE, rests)


def test_another_number_of_coordinates_and_a_scale_out_of_range_are_refused() -> None:
    with refused(UsageError, "coordinates", 3):
        DICTIONARY.draw(np.zeros(3, dtype=np.int64), 1.0, randomness=SystemRandomness())
    for scale in (0.0, -1.0, math.inf, math.nan):
        with refused(UsageError, "scale", scale):
            DICTIONARY.draw(np.zeros(2, dtype=np.int64), scale, randomness=SystemRandomness())

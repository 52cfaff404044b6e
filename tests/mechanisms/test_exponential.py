"""The exponential mechanism for a mean: its exact law on small balls, its price, and its moments on large ones.

The system's source cannot be seeded: each test of it fails by chance once in a million runs. Seeded tests state the
same level and never fail by chance.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy.stats import chi2, chisquare, norm

from dpfda.arrays import Array, Integers
from dpfda.errors import UsageError
from dpfda.mechanisms import Randomness, SeededRandomness, SystemRandomness
from dpfda.mechanisms.ball import Coordinate, best_tilt, draw_in_ball
from dpfda.mechanisms.decision import wide
from dpfda.mechanisms.exponential import Exponential
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L1, L2, Sensitivity

LEVEL = 1e-6
RADIUS = 2**24
SOURCES = pytest.mark.parametrize(
    ("source", "draws"),
    [pytest.param(SystemRandomness(), 600, marks=pytest.mark.audit), (SeededRandomness(1), 3_000)],
    ids=["system", "seeded"],
)


@cache
def ball(radius: int, size: int) -> Integers:
    """All integer vectors of a ball, (m, size)."""
    points = np.array(list(product(range(-radius, radius + 1), repeat=size)))
    return points[(points**2).sum(axis=1) <= radius**2]


def log_law(mechanism: Exponential, vector: tuple[int, ...], scale: float) -> Array:
    """The stated log probabilities of all vectors of the ball, from the definition."""
    b = ball(mechanism.radius, len(mechanism.prior))
    utility = -(mechanism.n * (b**2).sum(axis=1) - 2 * b @ np.array(vector))
    exponents = utility / scale - (b**2 / (2 * np.array(mechanism.prior) ** 2)).sum(axis=1)
    exponents -= exponents.max()
    result: Array = exponents - math.log(np.exp(exponents).sum())
    return result


def fit(counts: Array, probabilities: Array) -> float:
    """The p-value of a chi-square test, rare cells pooled."""
    expected = counts.sum() * probabilities
    cells = expected >= 25
    observed = np.append(counts[cells], counts[~cells].sum())
    pooled = np.append(expected[cells], expected[~cells].sum())
    if pooled[-1] < 25:
        pooled[0], observed[0] = pooled[0] + pooled[-1], observed[0] + observed[-1]
        pooled, observed = pooled[:-1], observed[:-1]
    if len(pooled) == 1:  # all but certain
        return 1.0
    return float(chisquare(observed, pooled).pvalue)


def counted(mechanism: Exponential, vector: tuple[int, ...], scale: float, source: Randomness, draws: int) -> Array:
    """How often each vector of the ball is drawn; every draw is n times such a vector."""
    b = ball(mechanism.radius, len(mechanism.prior))
    place = {tuple(row): index for index, row in enumerate((mechanism.n * b).tolist())}
    coordinates, counts = np.array(vector, dtype=np.int64), np.zeros(len(b))
    for _ in range(draws):
        counts[place[tuple(mechanism.draw(coordinates, scale, randomness=source).tolist())]] += 1
    return counts


CASES = {
    "a line": (Exponential(3, 6, (math.inf,)), (5,), 40.0),
    "a line, at its end": (Exponential(3, 6, (math.inf,)), (18,), 40.0),
    "a line, far outside": (Exponential(3, 6, (math.inf,)), (100,), 60.0),
    "a disc": (Exponential(4, 4, (3.0, 1.5)), (5, -7), 20.0),
    "a disc, at its edge": (Exponential(4, 4, (math.inf, 2.0)), (11, -11), 30.0),
    "a disc, hardly any information": (Exponential(1, 3, (math.inf, math.inf)), (3, 0), 500.0),
    "a ball": (Exponential(2, 3, (2.0, 1.0, 0.5)), (-4, 1, 2), 16.0),
    "a prior far below a step": (Exponential(5, 5, (2.0, 1e-9)), (9, 9), 30.0),
    "deviations of about a step": (Exponential(8, 3, (math.inf, math.inf)), (13, -7), 16.0),
}


@SOURCES
@pytest.mark.parametrize("case", CASES)
def test_vectors_have_the_exact_probabilities(case: str, source: Randomness, draws: int) -> None:
    """Chi-square over the vectors of the ball at level 1e-6."""
    mechanism, vector, scale = CASES[case]
    counts = counted(mechanism, vector, scale, source, draws)
    assert fit(counts, np.exp(log_law(mechanism, vector, scale))) > LEVEL


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES)
def test_many_vectors_have_the_exact_probabilities(case: str) -> None:
    """Chi-square over the vectors of the ball, 40,000 draws of the system, level 1e-6 a test, anew in each run."""
    mechanism, vector, scale = CASES[case]
    counts = counted(mechanism, vector, scale, SystemRandomness(), 40_000)
    assert fit(counts, np.exp(log_law(mechanism, vector, scale))) > LEVEL


def test_a_scale_smaller_by_the_root_of_two_is_caught_by_the_same_check() -> None:
    mechanism, vector, scale = CASES["a disc"]
    counts = counted(mechanism, vector, scale / math.sqrt(2), SeededRandomness(2), 6_000)
    assert fit(counts, np.exp(log_law(mechanism, vector, scale))) < LEVEL


# Privacy on the lattice itself ---------------------------------------------------------------------------------------


def worst(mechanism: Exponential, scale: float, drawn_with: float) -> float:
    """The largest log ratio of any two neighbouring sums over the epsilon stated at a scale.

    Neighbours are sums of n vectors of the ball on the first axis and its diagonal that differ by one of them.
    """
    stated = mechanism.profile(Sensitivity(2.0 * mechanism.radius, L2(), "two radii"), scale).epsilon
    size, n, radius = len(mechanism.prior), mechanism.n, mechanism.radius
    steps = {(radius,) + (0,) * (size - 1), (int(radius / math.sqrt(size)),) * size}
    found = 0.0
    for step in steps:
        direction = np.array(step)
        for total in range(-n, n - 1, max(1, n // 20)):
            one, other = (tuple((direction * k).tolist()) for k in (total, total + 2))
            ratios = log_law(mechanism, other, drawn_with) - log_law(mechanism, one, drawn_with)
            assert np.ptp(ratios) >= np.abs(ratios).max()
            found = max(found, float(np.ptp(ratios)), float(np.abs(ratios).max()))
    return found / stated


SMALL = [
    (Exponential(1, 4, (math.inf,)), 8.0),
    (Exponential(60, 8, (math.inf,)), 120.0),
    (Exponential(60, 8, (5.0,)), 400.0),
    (Exponential(10, 5, (math.inf, 3.0)), 40.0),
    (Exponential(3, 3, (2.0, 2.0, 1.0)), 30.0),
]


@pytest.mark.parametrize(("mechanism", "scale"), SMALL, ids=str)
def test_no_likelihood_ratio_exceeds_epsilon_and_the_worst_is_near_it(mechanism: Exponential, scale: float) -> None:
    """By enumeration; all ratios of a pair lie in an interval of length epsilon and fill it along the first axis."""
    assert 0.95 <= worst(mechanism, scale, scale) <= 1 + 1e-12


@pytest.mark.parametrize(("mechanism", "scale"), SMALL, ids=str)
def test_a_scale_smaller_by_the_root_of_two_breaks_the_guarantee_in_the_enumeration(
    mechanism: Exponential, scale: float
) -> None:
    assert worst(mechanism, scale, scale / math.sqrt(2)) > 1.3


def test_a_single_ratio_comes_near_epsilon_where_the_law_moves_away_from_an_end() -> None:
    """Not only the interval: pure epsilon itself is nearly used, at the far end of the ball."""
    mechanism, scale = Exponential(60, 8, (math.inf,)), 120.0
    epsilon = mechanism.profile(Sensitivity(16.0, L2(), "two radii"), scale).epsilon
    ratios = log_law(mechanism, (-60 * 8 + 16,), scale) - log_law(mechanism, (-60 * 8,), scale)
    assert 0.9 * epsilon < np.abs(ratios).max() <= epsilon


def test_without_the_cut_to_the_ball_there_would_be_no_guarantee() -> None:
    """The same weights on a ball ten times as large: the erratum to Example 3.5."""
    stated = Exponential(4, 3, (math.inf,)).profile(Sensitivity(6.0, L2(), "two radii"), 40.0).epsilon
    wide_ball = Exponential(4, 30, (math.inf,))
    ratios = log_law(wide_ball, (6,), 40.0) - log_law(wide_ball, (0,), 40.0)
    assert np.abs(ratios).max() > 4 * stated


def test_it_is_calibrated_like_every_mechanism() -> None:
    """epsilon = 4 radius (2 radius) / scale, i.e. sensitivity 4 for the unit ball as in the paper."""
    mechanism = Exponential(100, RADIUS, (math.inf,) * 3)
    sensitivity = Sensitivity(2.0 * RADIUS, L2(), "two radii")
    scale = calibrate(mechanism, sensitivity, Budget(0.5, 0.0), size=3)
    assert scale == pytest.approx(8 * RADIUS**2 / 0.5, rel=1e-14)
    assert mechanism.profile(sensitivity, scale).epsilon <= 0.5
    assert calibrate(mechanism, sensitivity, Budget(0.5, 0.01), size=3) < 0.9 * scale
    with refused(UsageError, "norm"):
        mechanism.profile(Sensitivity(1.0, L1(), ""), 1.0)


# Large balls ---------------------------------------------------------------------------------------------------------


def large(n: int = 4000) -> tuple[Exponential, float]:
    mechanism = Exponential(n, RADIUS, tuple(RADIUS * j**-1.5 for j in range(1, 5)))
    return mechanism, calibrate(mechanism, Sensitivity(2.0 * RADIUS, L2(), ""), Budget(1.0, 0.0), size=4)


@SOURCES
def test_centres_and_variances_are_the_stated_ones_where_the_cut_does_not_matter(
    source: Randomness, draws: int
) -> None:
    """Level 1e-6 for each coordinate: normal for the mean, chi-square for the variance."""
    draws //= 2
    mechanism, scale = large()
    vector = np.array([1200, -900, 400, 100]) * RADIUS
    z = np.array([mechanism.draw(vector, scale, randomness=source) for _ in range(draws)], dtype=np.float64)
    variances = mechanism.noise(scale, 4).variances
    standard = (z - mechanism.weights(scale) * vector) / np.sqrt(variances)
    assert np.all(np.abs(standard.mean(axis=0)) < norm.isf(LEVEL / 8) / math.sqrt(draws))
    low, high = chi2(draws - 1).ppf([LEVEL / 8, 1 - LEVEL / 8])
    spread = ((standard - standard.mean(axis=0)) ** 2).sum(axis=0)
    assert np.all((low < spread) & (spread < high))


def test_weights_and_deviations_are_those_of_the_penalised_mean() -> None:
    mechanism, scale = large(n=50)
    prior = np.array(mechanism.prior)
    precision = 2 * 50 / scale + 1 / prior**2
    assert mechanism.weights(scale) == pytest.approx(2 * 50 / scale / precision, rel=1e-12)
    assert np.sqrt(mechanism.noise(scale, 4).variances) == pytest.approx(50 / np.sqrt(precision), rel=1e-12)
    assert np.all(np.diff(mechanism.weights(scale)) < 0)


@pytest.mark.parametrize("n", [1, 1000, 2**38])
@pytest.mark.parametrize("way", [(0, 0, 0, 0), (1, 0, 0, 0), (-1, -1, -1, -1)])
def test_every_draw_is_n_times_a_vector_of_the_ball(n: int, way: tuple[int, ...]) -> None:
    mechanism, scale = large(n)
    vector = (np.array(way) * (n * RADIUS // max(1, round(math.sqrt(np.abs(way).sum()))))).astype(np.int64)
    drawn = mechanism.draw(vector, scale, randomness=SystemRandomness())
    assert drawn.dtype == np.int64
    assert np.all(drawn % n == 0)
    assert sum(int(x) ** 2 for x in drawn // n) <= RADIUS**2


def test_a_seed_repeats_the_draw_and_the_system_does_not() -> None:
    mechanism, scale = large()
    vector = np.zeros(4, dtype=np.int64)
    one, same, other = (mechanism.draw(vector, scale, randomness=SeededRandomness(seed)) for seed in (3, 3, 4))
    assert np.array_equal(one, same)
    assert not np.any(one == other)
    system = [mechanism.draw(vector, scale, randomness=SystemRandomness()) for _ in range(2)]
    assert not np.array_equal(*system)


@pytest.mark.parametrize("size", [5, 20, 50])
@pytest.mark.parametrize("way", ["zero", "first", "diagonal"])
def test_the_stated_share_of_proposals_is_accepted_however_small_the_ball_is(size: int, way: str) -> None:
    """Few units and a flat prior: next to nothing of the law without the cut lies in the ball. 4,000 normal draws."""
    direction = {"zero": np.zeros(size), "first": np.eye(size)[0], "diagonal": np.full(size, size**-0.5)}[way]
    precisions = np.full(size, 10 / (8 * RADIUS**2))
    centres, square = RADIUS * direction, float(RADIUS) ** 2
    tilt = best_tilt(centres, precisions, square)
    shares = precisions / (precisions + tilt)
    normal = SeededRandomness(5).normal((4000, size))
    below = square - ((shares * centres + normal * np.sqrt(shares / (2 * precisions))) ** 2).sum(axis=1)
    accepted = np.mean(np.where(below >= 0, np.exp(-tilt * np.maximum(below, 0)), 0.0))
    assert accepted > 0.55 / math.sqrt(size)
    if size == 50:
        uncut = ((centres + normal * np.sqrt(1 / (2 * precisions))) ** 2).sum(axis=1)
        assert np.mean(uncut <= square) < 1e-3


def test_no_tilt_is_used_where_most_of_the_law_lies_in_the_ball() -> None:
    precisions = np.full(3, 1e-6)
    assert best_tilt(np.zeros(3), precisions, 1e8) == 0.0
    assert best_tilt(np.full(3, 1e4), precisions, 1e8) > 0.0


# Single coordinates --------------------------------------------------------------------------------------------------

CENTRES = [Fraction(0), Fraction(1, 2), Fraction(-1, 3), Fraction(10**12 + 1, 3), Fraction(-(2**60))]
PRECISIONS = [Fraction(1, 10**3), Fraction(3, 17), Fraction(1, 2), Fraction(2), Fraction(40)]


@pytest.mark.parametrize("centre", CENTRES, ids=str)
@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
def test_a_coordinate_has_the_discrete_normal_law_around_a_real_number(precision: Fraction, centre: Fraction) -> None:
    """Chi-square over integers, 30,000 draws, level 1e-6; the seed is fixed."""
    z = Coordinate.build(precision * centre, precision).draw(30_000, SeededRandomness(6)) - round(centre)
    axis = np.arange(-120, 121)
    weights = np.exp(-float(precision) * (axis - float(centre - round(centre))) ** 2)
    counts = np.bincount(np.clip(z, -120, 120) + 120, minlength=241).astype(np.float64)
    assert fit(counts, weights / weights.sum()) > LEVEL


@given(
    linear=st.fractions(-(2**70), 2**70, max_denominator=2**60),
    precision=st.fractions(Fraction(1, 2**70), 2**20, max_denominator=2**75).filter(lambda x: x > 0),
    z=st.integers(-(2**58), 2**58),
    near=st.integers(-5, 5),
)
@settings(derandomize=True, deadline=None, max_examples=400)
def test_no_acceptance_probability_exceeds_one_and_both_intervals_hold_it(
    linear: Fraction, precision: Fraction, z: int, near: int
) -> None:
    """In rational numbers; also at the integers next to where the envelope touches."""
    law = Coordinate.build(linear, precision)
    assert abs(law.slope) <= law.precision
    assert law.slope == 2 * (linear - precision * law.middle)
    touching = round((1 / Fraction(law.proposal) + precision) / (2 * precision))
    for integer in (z, near, touching, -touching, touching + near):
        exponent = precision * integer**2 - law.slope * integer - abs(integer) / Fraction(law.proposal)
        exponent += Fraction(law.reserve)
        assert exponent >= 0
        with localcontext(wide(120)):
            exactly = (-Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp()
        low, high = law.interval_exactly(integer, 60)
        assert low <= exactly <= high
        if abs(integer) < 2**62:
            below, above = law.interval(np.array([integer]))
            assert Decimal(float(below[0])) <= exactly <= Decimal(float(above[0]))


class Constant(SeededRandomness):
    """Makes proposals as usual and counts them."""

    def __init__(self) -> None:
        super().__init__(7)
        self.sizes: list[int] = []

    def laplace(self, scale: float, size: int) -> Integers:
        self.sizes.append(size)
        return super().laplace(scale, size)


def test_batches_have_a_size_that_does_not_depend_on_the_sum() -> None:
    mechanism, scale = large()
    asked = []
    for first in (0, 500 * RADIUS, 4000 * RADIUS):
        source = Constant()
        mechanism.draw(np.array([first, 0, 0, 0]), scale, randomness=source)
        asked.append(source.sizes)
    assert asked[0] == asked[1] == asked[2] == [48] * 4


def test_a_vector_of_one_coordinate_in_the_smallest_ball_is_drawn() -> None:
    drawn = {int(draw_in_ball(np.array([2]), 0.4, np.array([0.5]), 1, SeededRandomness(seed))[0]) for seed in range(60)}
    assert drawn == {-1, 0, 1}


# Mistakes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "radius"), [(0, 5), (2**38 + 1, 5), (3, 0), (3, 2**24 + 1), (2.5, 5), (3, 5.0)], ids=str)
def test_numbers_that_could_leave_64_bits_are_refused(n: Any, radius: Any) -> None:
    with refused(UsageError, "n"):
        Exponential(n, radius, (1.0,))


@pytest.mark.parametrize("prior", [(), (1.0, 0.0), (-1.0,), (math.nan,), (1.0,) * (2**14 + 1)], ids=len)
def test_a_prior_that_is_none_is_refused(prior: tuple[float, ...]) -> None:
    with refused(UsageError, "prior", prior):
        Exponential(3, 5, prior)


@pytest.mark.parametrize("scale", [0.0, 5.9, math.inf, math.nan])
def test_a_scale_out_of_range_is_refused(scale: float) -> None:
    mechanism = Exponential(3, 5, (1.0,))
    with refused(UsageError, "scale", scale):
        mechanism.draw(np.zeros(1, dtype=np.int64), scale, randomness=SystemRandomness())
    with refused(UsageError, "scale", scale):
        mechanism.noise(scale, 1)


def test_another_number_of_coordinates_is_refused() -> None:
    mechanism = Exponential(3, 5, (1.0, 2.0))
    with refused(UsageError, "coordinates", 3):
        mechanism.draw(np.zeros(3, dtype=np.int64), 10.0, randomness=SystemRandomness())
    with refused(UsageError, "coordinates", 1):
        mechanism.noise(10.0, 1)

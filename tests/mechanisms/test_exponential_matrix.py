"""The exponential mechanism for symmetric matrices: its exact law on small balls, its price, and its moments.

The system's source cannot be seeded: each test of it fails by chance once in a million runs. Seeded tests state the
same level and never fail by chance.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from refusals import refused
from scipy.stats import chi2, chisquare, norm

from dpfda.arrays import Array, Integers
from dpfda.bases.symmetric import multiplicities, pack
from dpfda.errors import UsageError
from dpfda.mechanisms import ExponentialMatrix, Randomness, SeededRandomness, SystemRandomness
from dpfda.mechanisms.exponential_matrix import MOST_UNITS
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L1, Sensitivity, frobenius
from dpfda.statistics.covariance.sensitivity import moved_by

LEVEL = 1e-6
FLAT = (math.inf,) * 3


@cache
def ball(radius: int, side: int) -> Integers:
    """All symmetric matrices of whole numbers in a ball of Frobenius norms, entries kept once."""
    times = multiplicities(side)
    points = np.array(list(product(range(-radius, radius + 1), repeat=len(times))))
    return points[(times * points**2).sum(axis=1) <= radius**2]


def log_law(mechanism: ExponentialMatrix, vector: Array, scale: float) -> Array:
    """The stated log probabilities of all matrices of the ball, from the definition: distances of whole matrices."""
    b, times = ball(mechanism.radius, mechanism.side), multiplicities(mechanism.side)
    moved = mechanism.coarse * b
    utility = -(mechanism.n * (times * moved**2).sum(axis=1) - 2 * moved @ (times * np.asarray(vector)))
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
    return 1.0 if len(pooled) == 1 else float(chisquare(observed, pooled).pvalue)


def counted(
    mechanism: ExponentialMatrix, vector: tuple[int, ...], scale: float, source: Randomness, draws: int
) -> Array:
    b = ball(mechanism.radius, mechanism.side)
    place = {tuple(row): index for index, row in enumerate((mechanism.n * mechanism.coarse * b).tolist())}
    coordinates, counts = np.array(vector, dtype=np.int64), np.zeros(len(b))
    for _ in range(draws):
        counts[place[tuple(mechanism.draw(coordinates, scale, randomness=source).tolist())]] += 1
    return counts


CASES = {
    "one number": (ExponentialMatrix(3, 1, 6, 4, (math.inf,)), (20,), 700.0),
    "two by two": (ExponentialMatrix(4, 2, 4, 2, FLAT), (10, -14, 6), 90.0),
    "two by two, at the edge": (ExponentialMatrix(4, 2, 4, 1, (math.inf, 2.0, 1.0)), (11, -11, 5), 30.0),
    "two by two, hardly any information": (ExponentialMatrix(1, 2, 3, 2, FLAT), (6, 0, 3), 2000.0),
    "a base measure far below a step": (ExponentialMatrix(5, 2, 4, 1, (2.0, 1e-9, 1.0)), (9, 9, -9), 30.0),
}
SOURCES = pytest.mark.parametrize(
    ("source", "draws"),
    [pytest.param(SystemRandomness(), 2_000, marks=pytest.mark.audit), (SeededRandomness(1), 3_000)],
    ids=["system", "seeded"],
)


@SOURCES
@pytest.mark.parametrize("case", CASES)
def test_matrices_have_the_exact_probabilities(case: str, source: Randomness, draws: int) -> None:
    """Chi-square over the matrices of the ball at level 1e-6."""
    mechanism, vector, scale = CASES[case]
    counts = counted(mechanism, vector, scale, source, draws)
    assert fit(counts, np.exp(log_law(mechanism, np.array(vector), scale))) > LEVEL


def test_entries_off_the_diagonal_that_count_once_are_caught_by_the_same_check() -> None:
    mechanism, vector, scale = CASES["two by two"]
    counts = counted(mechanism, (vector[0], vector[1], vector[2] // 2), scale, SeededRandomness(2), 6_000)
    assert fit(counts, np.exp(log_law(mechanism, np.array(vector), scale))) < LEVEL


# Privacy on the lattice itself ---------------------------------------------------------------------------------------


def outer(x: tuple[int, int]) -> Integers:
    return np.asarray(pack(np.outer(x, x)), dtype=np.int64)


def worst(mechanism: ExponentialMatrix, scale: float, drawn_with: float) -> float:
    """The longest interval of log ratios of neighbouring sums over the epsilon stated at a scale.

    Neighbours are sums of n outer products of vectors within the bound that differ by one of them.
    """
    square = mechanism.radius * mechanism.coarse
    bound = moved_by(float(square), mechanism.side, replaced=True)[1]
    stated = mechanism.profile(bound, scale).epsilon
    reach = math.isqrt(square)
    found = 0.0
    for one, other in [((reach, 0), (0, reach)), ((0, reach), (reach, 0)), ((reach, 0), (0, 0))]:
        for others in range(0, mechanism.n, max(1, mechanism.n // 4)):
            rest = others * outer(one) + (mechanism.n - 1 - others) * outer(other)
            laws = [log_law(mechanism, rest + outer(x), drawn_with) for x in (one, other)]
            ratios = laws[0] - laws[1]
            found = max(found, float(np.ptp(ratios)))
            assert np.abs(ratios).max() <= np.ptp(ratios) + 1e-12
    return found / stated


SMALL = [
    (ExponentialMatrix(1, 2, 9, 4, FLAT), 900.0),
    (ExponentialMatrix(40, 2, 9, 1, FLAT), 900.0),
    (ExponentialMatrix(10, 2, 8, 2, (5.0, 3.0, 2.0)), 700.0),
]


@pytest.mark.parametrize(("mechanism", "scale"), SMALL, ids=str)
def test_no_log_ratio_leaves_the_interval_and_the_worst_neighbours_fill_it(
    mechanism: ExponentialMatrix, scale: float
) -> None:
    """By enumeration: sqrt 2 times the square of the bound is reached by curves at right angles."""
    assert 0.9 <= worst(mechanism, scale, scale) <= 1 + 1e-12


@pytest.mark.parametrize(("mechanism", "scale"), SMALL, ids=str)
def test_a_scale_smaller_by_the_root_of_two_breaks_the_guarantee_in_the_enumeration(
    mechanism: ExponentialMatrix, scale: float
) -> None:
    assert worst(mechanism, scale, scale / math.sqrt(2)) > 1.25


def test_it_is_calibrated_like_every_mechanism() -> None:
    """epsilon = 4 radius coarse (sqrt 2 radius coarse) / scale: 4 sqrt 2 times the fourth power of the bound."""
    mechanism = ExponentialMatrix(100, 3, 2**24, 2**8, (math.inf,) * 6)
    bound = moved_by(2.0**32, 3, replaced=True)[1]
    scale = calibrate(mechanism, bound, Budget(0.5, 0.0))
    assert scale == pytest.approx(4 * math.sqrt(2) * 2.0**64 / 0.5, rel=1e-12)
    assert mechanism.profile(bound, scale).epsilon <= 0.5
    # Rounded upwards throughout, and the root of two in the stated norm downwards.
    assert mechanism.profile(Sensitivity(1.0, frobenius(3), "one"), 1.0).epsilon > 4 * 2.0**32
    with refused(UsageError, "norm"):
        mechanism.profile(Sensitivity(1.0, L1(), ""), 1.0)


# Large balls ---------------------------------------------------------------------------------------------------------


def large(n: int = 40_000) -> tuple[ExponentialMatrix, float]:
    prior = tuple(2**24 / (j + 1) for j in range(6))
    mechanism = ExponentialMatrix(n, 3, 2**24, 2**8, prior)
    return mechanism, calibrate(mechanism, moved_by(2.0**32, 3, replaced=True)[1], Budget(1.0, 0.0))


def test_weights_and_deviations_have_their_closed_form() -> None:
    mechanism, scale = large(n=50)
    times, prior = multiplicities(3), np.array(mechanism.prior)
    precision = 2 * 50 * times * 2**16 / scale + 1 / prior**2
    assert mechanism.weights(scale) == pytest.approx(2 * 50 * times * 2**16 / scale / precision, rel=1e-12)
    assert np.sqrt(mechanism.noise(scale, 6).variances) == pytest.approx(50 * 2**8 / np.sqrt(precision), rel=1e-12)


@pytest.mark.parametrize(
    ("source", "draws"),
    [pytest.param(SystemRandomness(), 1_000, marks=pytest.mark.audit), (SeededRandomness(1), 500)],
    ids=["system", "seeded"],
)
def test_centres_and_variances_are_the_stated_ones_where_the_cut_does_not_matter(
    source: Randomness, draws: int
) -> None:
    """Level 1e-6 in all: normal for means, chi-square for variances."""
    mechanism, scale = large()
    vector = np.array([9000, 3000, 2000, -4000, 500, 0]) * 2**30
    z = np.array([mechanism.draw(vector, scale, randomness=source) for _ in range(draws)], dtype=np.float64)
    standard = (z - mechanism.weights(scale) * vector) / np.sqrt(mechanism.noise(scale, 6).variances)
    assert np.all(np.abs(standard.mean(axis=0)) < norm.isf(LEVEL / 24) / math.sqrt(draws))
    low, high = chi2(draws - 1).ppf([LEVEL / 24, 1 - LEVEL / 24])
    spread = ((standard - standard.mean(axis=0)) ** 2).sum(axis=0)
    assert np.all((low < spread) & (spread < high))


@pytest.mark.parametrize("n", [1, 1000, MOST_UNITS])
def test_every_draw_is_n_coarse_steps_of_a_matrix_of_the_ball(n: int) -> None:
    mechanism, scale = large(n)
    drawn = mechanism.draw(np.full(6, n * 2**30), scale, randomness=SystemRandomness())
    assert drawn.dtype == np.int64
    assert np.all(drawn % (n * 2**8) == 0)
    entries = (drawn // (n * 2**8)).tolist()
    assert sum(int(t) * x**2 for t, x in zip(multiplicities(3), entries, strict=True)) <= 2**48


def test_a_seed_repeats_the_draw_and_the_system_does_not() -> None:
    mechanism, scale = large()
    vector = np.zeros(6, dtype=np.int64)
    one, same, other = (mechanism.draw(vector, scale, randomness=SeededRandomness(seed)) for seed in (3, 3, 4))
    assert np.array_equal(one, same)
    assert not np.any(one == other)


# Mistakes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        *(("n", 0), ("n", MOST_UNITS + 1), ("n", 2.5), ("side", 0), ("side", 2**7 + 1), ("radius", 0)),
        *(("radius", 2**24 + 1), ("radius", 5.0), ("coarse", 3), ("coarse", 2**11), ("coarse", True)),
        *(("prior", ()), ("prior", (1.0, 1.0)), ("prior", (1.0, 0.0, 1.0)), ("prior", (1.0, math.nan, 1.0))),
    ],
    ids=str,
)
def test_numbers_that_could_leave_64_bits_and_base_measures_that_are_none_are_refused(
    parameter: str, value: Any
) -> None:
    stated = {"n": 3, "side": 2, "radius": 5, "coarse": 4, "prior": (1.0, 1.0, 1.0)} | {parameter: value}
    with refused(UsageError, parameter, value):
        ExponentialMatrix(**stated)


@pytest.mark.parametrize("scale", [0.0, 95.0, math.inf, math.nan])
def test_a_scale_out_of_range_is_refused(scale: float) -> None:
    mechanism = ExponentialMatrix(3, 1, 5, 4, (1.0,))
    with refused(UsageError, "scale", scale):
        mechanism.draw(np.zeros(1, dtype=np.int64), scale, randomness=SystemRandomness())
    with refused(UsageError, "scale", scale):
        mechanism.noise(scale, 1)


def test_another_number_of_entries_is_refused() -> None:
    mechanism = ExponentialMatrix(3, 2, 5, 1, (1.0, 2.0, 1.0))
    with refused(UsageError, "coordinates", 2):
        mechanism.draw(np.zeros(2, dtype=np.int64), 100.0, randomness=SystemRandomness())
    with refused(UsageError, "coordinates", 1):
        mechanism.noise(100.0, 1)

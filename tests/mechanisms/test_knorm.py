"""K-norm noise: its law on the integers, at small rates and at large ones.

The system's source cannot be seeded: each test of it fails by chance once in a million runs. Seeded tests state the
same level and never fail by chance.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy.stats import binom, chisquare, gamma, kstest, norm

from dpfda.arrays import Array, Integers
from dpfda.errors import UsageError
from dpfda.mechanisms import KNorm, Randomness, SeededRandomness, SystemRandomness
from dpfda.mechanisms.knorm import LARGEST_BLOCK, accept, draw_block
from dpfda.privacy.norms import L2, Sensitivity, up

LEVEL = 1e-6
SMALL = 1e-6  # a rate at which the lattice cannot be told from the continuum
DEFAULT_DRAWS = {1: 20_000, 4: 6_000, 8: 2_000, 16: 250}
AUDIT_DRAWS = {1: 300_000, 4: 120_000, 8: 30_000, 16: 2_500}
SEEDED_DRAWS = {1: 200_000, 2: 200_000, 4: 100_000, 8: 40_000, 16: 4_000}


@cache
def drawn(dimension: int, draws: int, seed: int | None) -> Array:
    """Draws at the small rate, in units of its inverse, (draws, dimension); no seed means the system's source."""
    source: Randomness = SystemRandomness() if seed is None else SeededRandomness(seed)
    return draw_block(SMALL, dimension, draws, source) * SMALL


def check_radius(z: Array) -> None:
    """Kolmogorov-Smirnov: the radius is Gamma(M)."""
    assert kstest(np.linalg.norm(z, axis=1), gamma(z.shape[1]).cdf).pvalue > LEVEL


def check_direction(z: Array) -> None:
    """Signs are fair in every coordinate, and directions uniform along two axes and along the diagonal.

    The diagonal is where the proposals' law touches the target and acceptance is certain. Each test at level 1e-6
    shared out among its coordinates or axes.
    """
    draws, size = z.shape
    low, high = binom(draws, 0.5).ppf([LEVEL / 2 / size, 1 - LEVEL / 2 / size])
    positive = (z > 0).sum(axis=0)
    assert np.all((low <= positive) & (positive <= high))
    if size == 1:
        return
    unit = z / np.linalg.norm(z, axis=1)[:, None]
    half = (size - 1) / 2
    for axis in (np.eye(size)[0], np.eye(size)[-1], np.full(size, size**-0.5)):
        assert kstest((1 + unit @ axis) / 2, "beta", args=(half, half)).pvalue > LEVEL / 3


def check_second_moment(z: Array) -> None:
    """E|z|^2 = M (M+1), with the exact variance of |z|^2 and the normal approximation."""
    size = z.shape[1]
    deviation = math.sqrt(gamma(size).moment(4) - gamma(size).moment(2) ** 2)
    distance = abs(np.mean(np.sum(z**2, axis=1)) - size * (size + 1))
    assert distance < norm.isf(LEVEL / 2) * deviation / math.sqrt(len(z))


CHECKS = pytest.mark.parametrize("check", [check_radius, check_direction, check_second_moment])


@pytest.mark.audit
@CHECKS
@pytest.mark.parametrize("dimension", DEFAULT_DRAWS)
def test_the_systems_k_norm_noise_fits_at_a_small_rate(check: object, dimension: int) -> None:
    """250 to 20,000 draws, level 1e-6 a test, anew in each run."""
    check(drawn(dimension, DEFAULT_DRAWS[dimension], None))  # type: ignore[operator]


@CHECKS
@pytest.mark.parametrize("dimension", SEEDED_DRAWS)
def test_seeded_k_norm_noise_fits_at_a_small_rate(check: object, dimension: int) -> None:
    """4,000 to 200,000 draws, level 1e-6 a test; the seed is fixed."""
    check(drawn(dimension, SEEDED_DRAWS[dimension], 1))  # type: ignore[operator]


@pytest.mark.audit
@CHECKS
@pytest.mark.parametrize("dimension", AUDIT_DRAWS)
def test_much_k_norm_noise_fits_at_a_small_rate(check: object, dimension: int) -> None:
    """2,500 to 300,000 draws, level 1e-6 a test, anew in each run."""
    check(drawn(dimension, AUDIT_DRAWS[dimension], None))  # type: ignore[operator]


def exact_fit(z: Integers, rate: float) -> float:
    """The p-value of a chi-square test over single lattice points against `exp(-rate |z|)`, the rest pooled."""
    draws, size = z.shape
    reach = 40
    axis = np.arange(-reach, reach + 1)
    squares = sum(np.meshgrid(*[axis**2] * size, indexing="ij"))
    unnormalised = np.exp(-rate * np.sqrt(squares))
    expected = draws * unnormalised / unnormalised.sum()
    seen = np.zeros_like(expected)
    inside = (np.abs(z) <= reach).all(axis=1)
    np.add.at(seen, tuple((z[inside] + reach).T), 1)
    cells = expected >= 25
    observed = np.append(seen[cells], draws - seen[cells].sum())
    return float(chisquare(observed, np.append(expected[cells], draws - expected[cells].sum())).pvalue)


def exact_fit_of_squares(z: Integers, rate: float) -> float:
    """The p-value of a chi-square test over squared radii, for dimensions with too many lattice points."""
    reach = 12
    counts = np.array([1])
    one = np.bincount(np.arange(-reach, reach + 1) ** 2)
    for _ in range(z.shape[1]):
        counts = np.convolve(counts, one)[: reach**2 + 1]
    unnormalised = counts * np.exp(-rate * np.sqrt(np.arange(len(counts))))
    expected = len(z) * unnormalised / unnormalised.sum()
    seen = np.bincount(np.minimum((z**2).sum(axis=1), reach**2), minlength=len(expected))
    cells = expected >= 25
    observed = np.append(seen[cells], seen[~cells].sum())
    return float(chisquare(observed, np.append(expected[cells], expected[~cells].sum())).pvalue)


@pytest.mark.parametrize(("rate", "dimension"), [(0.7, 1), (1.0, 2), (1.0, 3)])
def test_the_systems_k_norm_noise_has_the_exact_probabilities_at_a_large_rate(rate: float, dimension: int) -> None:
    """Chi-square over lattice points, 15,000 draws, level 1e-6, anew in each run."""
    assert exact_fit(draw_block(rate, dimension, 15_000, SystemRandomness()), rate) > LEVEL


def test_the_systems_k_norm_noise_in_four_dimensions_has_the_exact_radii_at_a_large_rate() -> None:
    """Chi-square over squared radii, 4,000 draws, level 1e-6, anew in each run."""
    assert exact_fit_of_squares(draw_block(3.0, 4, 4_000, SystemRandomness()), 3.0) > LEVEL


@pytest.mark.parametrize(("rate", "dimension"), [(0.7, 1), (1.0, 2), (1.0, 3), (0.5, 3)])
def test_seeded_k_norm_noise_has_the_exact_probabilities_at_a_large_rate(rate: float, dimension: int) -> None:
    """Chi-square over lattice points, 300,000 draws, level 1e-6; the seed is fixed."""
    assert exact_fit(draw_block(rate, dimension, 300_000, SeededRandomness(2)), rate) > LEVEL


@pytest.mark.parametrize(("rate", "dimension"), [(3.0, 4), (4.0, 8)])
def test_seeded_k_norm_noise_in_many_dimensions_has_the_exact_radii_at_a_large_rate(
    rate: float, dimension: int
) -> None:
    """Chi-square over squared radii, 60,000 draws, level 1e-6; the seed is fixed."""
    assert exact_fit_of_squares(draw_block(rate, dimension, 60_000, SeededRandomness(3)), rate) > LEVEL


@pytest.mark.audit
@pytest.mark.parametrize(("rate", "dimension"), [(1.0, 2), (1.0, 3)])
def test_much_k_norm_noise_has_the_exact_probabilities_at_a_large_rate(rate: float, dimension: int) -> None:
    """Chi-square over lattice points, 500,000 draws, level 1e-6, anew in each run."""
    assert exact_fit(draw_block(rate, dimension, 500_000, SystemRandomness()), rate) > LEVEL


def test_faults_in_the_noise_are_caught_by_the_same_checks() -> None:
    """Proposals that are never rejected, a rate 3 % off, a norm of another exponent: each fails at level 1e-6."""
    proposals = SeededRandomness(4).laplace(math.sqrt(4) / SMALL, 40_000).reshape(-1, 4) * SMALL
    for check in (check_radius, check_direction, check_second_moment):
        with pytest.raises(AssertionError):
            check(proposals)
    with pytest.raises(AssertionError):
        check_radius(drawn(4, SEEDED_DRAWS[4], 1) * 1.03)
    with pytest.raises(AssertionError):
        check_second_moment(drawn(4, SEEDED_DRAWS[4], 1) * 1.03)
    rounded = np.rint(drawn(2, SEEDED_DRAWS[2], 1)).astype(np.int64)
    assert exact_fit(rounded, 1.0) < LEVEL


@pytest.mark.parametrize("dimension", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("draws", [1, 3, 50])
def test_exactly_as_many_draws_as_asked_for_are_returned(dimension: int, draws: int) -> None:
    z = draw_block(SMALL, dimension, draws, SeededRandomness(5))
    assert z.shape == (draws, dimension)
    assert z.dtype == np.int64


@pytest.mark.parametrize(("dimension", "share"), [(1, 1.0), (4, 0.46), (8, 0.16), (16, 0.02)])
def test_the_stated_share_of_proposals_is_accepted(dimension: int, share: float) -> None:
    """20,000 proposals; the shares are stated to two digits, which is far wider than chance at this seed."""
    randomness, scale = SeededRandomness(6), up(math.sqrt(dimension) / SMALL, 2)
    z = randomness.laplace(scale, 20_000 * dimension).reshape(-1, dimension)
    assert np.mean(accept(z, SMALL, scale, randomness)) == pytest.approx(share, abs=0.012)


class Recorder(SeededRandomness):
    """Remembers the scales of the proposals."""

    def __init__(self) -> None:
        super().__init__(7)
        self.scales: list[float] = []

    def laplace(self, scale: float, size: int) -> Integers:
        self.scales.append(scale)
        return super().laplace(scale, size)


@given(rate=st.floats(1e-15, 1e3), dimension=st.integers(1, LARGEST_BLOCK))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_proposals_are_never_narrower_than_the_envelope_asks(rate: float, dimension: int) -> None:
    """b >= sqrt(M)/rate in rational numbers, so that every acceptance probability is at most one."""
    recorder = Recorder()
    recorder.bits53 = lambda size: np.zeros(size, dtype=np.int64)  # type: ignore[method-assign]
    draw_block(rate, dimension, 1, recorder)
    for scale in recorder.scales:
        square = (Fraction(scale) * Fraction(rate)) ** 2
        assert dimension <= square <= dimension * (1 + Fraction(1, 2**48))


def test_noise_too_wide_for_64_bits_is_refused() -> None:
    with refused(UsageError, "scale", 2.0000000000000006e17):
        draw_block(1e-17, 4, 1, SystemRandomness())
    with refused(UsageError, "scale", 1.414213562373096e-05):
        KNorm((2,), (1.0,)).draw(np.zeros(2, dtype=np.int64), 1e-5, randomness=SystemRandomness())


# Privacy on the lattice itself ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(1,), (2,), (1, 1), (1, 2)])
def test_no_likelihood_ratio_on_the_lattice_exceeds_epsilon(sizes: tuple[int, ...]) -> None:
    """Weights `exp(-sum rate_b |z_b|)` around two integer vectors share their normaliser; the worst ratio is stated."""
    mechanism = KNorm(sizes, tuple(0.5 + 0.25 * b for b in range(len(sizes))))
    size, scale = sum(sizes), 3.0
    axis = range(-6, 7)
    points = np.array(list(product(axis, repeat=size)))
    edges = np.cumsum([0, *sizes])
    rates = [math.nextafter(share / scale, 0.0) for share in mechanism.shares]

    def loss(z: Array) -> Array:
        blocks = zip(edges[:-1], edges[1:], rates, strict=True)
        return sum(rate * np.linalg.norm(z[:, low:high], axis=1) for low, high, rate in blocks)  # type: ignore[return-value]

    for move in product(range(-2, 3), repeat=size):
        length = math.hypot(*move)
        if length == 0:
            continue
        stated = mechanism.profile(Sensitivity(length, L2(), "a move"), scale, size=size).epsilon
        ratios = loss(points - np.array(move)) - loss(points)
        assert np.abs(ratios).max() <= stated * (1 + 1e-14)

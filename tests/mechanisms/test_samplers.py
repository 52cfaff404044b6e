"""Goodness of fit of the real integer samplers at level 1e-6, so that a biased dependency is caught.

The system's source cannot be seeded: each test of it fails by chance once in a million runs, all of this file's default
tests together less than once in 60,000. The same statistics, at the same level, catch planted faults.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chisquare, expon, halfnorm, kstest, laplace, norm

from dpfda.arrays import Array, Integers
from dpfda.mechanisms import SeededRandomness, SystemRandomness

LEVEL = 1e-6
SYSTEM = SystemRandomness()


def weights(law: str, scale: float, z: Integers) -> Array:
    """The exact probabilities of the integers in z; beyond them nothing is left that a double could show."""
    exponents = np.abs(z) / scale if law == "laplace" else z**2 / (2 * scale**2)
    unnormalised = np.exp(-exponents)
    return unnormalised / unnormalised.sum()


def exact_fit(law: str, scale: float, drawn: Integers) -> float:
    """The p-value of a chi-square test over single integers, tails pooled so that each cell expects at least 25."""
    reach = math.ceil(60 * max(scale, 1.0))
    z = np.arange(-reach, reach + 1)
    expected = len(drawn) * weights(law, scale, z)
    inner = z[expected >= 25]
    low, high = inner.min(), inner.max()
    # The cells at both ends take the tails, cut where each holds enough.
    while expected[z <= low].sum() < 25 or expected[z >= high].sum() < 25:
        low, high = low + 1, high - 1
    cells = np.clip(drawn, low, high) - low
    sums = np.bincount(np.clip(z, low, high) - low, weights=expected)
    return float(chisquare(np.bincount(cells, minlength=len(sums)), sums).pvalue)


def large_fit(law: str, scale: float, drawn: Integers) -> float:
    """The p-value of two Kolmogorov-Smirnov tests against the continuous law, from which 1e8 steps cannot be told.

    Signed numbers see a bias; sizes alone see a wrong scale twice as well.
    """
    signed, sizes = (laplace.cdf, expon.cdf) if law == "laplace" else (norm.cdf, halfnorm.cdf)
    return min(1.0, 2 * min(kstest(drawn / scale, signed).pvalue, kstest(np.abs(drawn) / scale, sizes).pvalue))


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.4, 1.0, 2.0, 5.5])
def test_a_small_scale_has_the_exact_probabilities(law: str, scale: float) -> None:
    """Chi-square over the integers, 40,000 draws, level 1e-6: sees a scale that is 6 % off (below)."""
    assert exact_fit(law, scale, getattr(SYSTEM, law)(scale, 40_000)) > LEVEL


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [1e8, 2.0**52])
def test_a_large_scale_has_the_continuous_law(law: str, scale: float) -> None:
    """Kolmogorov-Smirnov, 40,000 draws, level 1e-6: sees a scale that is 6 % off (below)."""
    assert large_fit(law, scale, getattr(SYSTEM, law)(scale, 40_000)) > LEVEL


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_the_last_bits_of_large_noise_are_uniform(law: str) -> None:
    """Chi-square over residues modulo 64, 20,000 draws, level 1e-6: no lattice coarser than one step."""
    assert chisquare(np.bincount(getattr(SYSTEM, law)(1e8, 20_000) % 64, minlength=64)).pvalue > LEVEL


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_neighbouring_draws_are_independent_in_size_and_in_sign(law: str) -> None:
    """Lag-one correlation of ranks of sizes and of signs, 20,000 draws, level 1e-6 each by the normal approximation."""
    drawn = getattr(SYSTEM, law)(1e8, 20_000)
    for values in (np.argsort(np.argsort(np.abs(drawn))), np.sign(drawn)):
        correlation = np.corrcoef(values[:-1], values[1:])[0, 1]
        assert abs(correlation) < norm.isf(LEVEL / 2) / math.sqrt(len(drawn) - 1)


@pytest.mark.audit
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.4, 1.0, 2.0, 5.5, 1e8])
def test_a_million_draws_fit(law: str, scale: float) -> None:
    """The same two tests on a million draws, level 1e-6: sees a scale that is 1.5 % off."""
    drawn = np.concatenate([getattr(SYSTEM, law)(scale, 100_000) for _ in range(10)])
    assert (large_fit if scale > 1e6 else exact_fit)(law, scale, drawn) > LEVEL


# The statistics themselves: what must pass passes, what must be caught is caught (seeded) -----------------------------


@pytest.mark.parametrize("scale", [0.4, 1.0, 2.0, 5.5])
def test_the_seeded_laplace_noise_has_the_exact_probabilities(scale: float) -> None:
    """Chi-square over the integers, 200,000 draws, level 1e-6; the seed is fixed."""
    assert exact_fit("laplace", scale, SeededRandomness(1).laplace(scale, 200_000)) > LEVEL


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("fault", [0.94, 1.06, 2**-0.5])
def test_a_wrong_scale_is_caught(law: str, fault: float) -> None:
    rng = np.random.default_rng(2)
    probabilities = weights(law, 2.0 * fault, np.arange(-120, 121))
    assert exact_fit(law, 2.0, rng.choice(np.arange(-120, 121), 40_000, p=probabilities)) < LEVEL
    continuous = rng.laplace(0.0, 1e8 * fault, 40_000) if law == "laplace" else rng.normal(0.0, 1e8 * fault, 40_000)
    assert large_fit(law, 1e8, np.rint(continuous).astype(np.int64)) < LEVEL


def test_rounded_floating_point_noise_is_caught_where_it_is_not_the_integer_law() -> None:
    rng = np.random.default_rng(3)
    assert exact_fit("laplace", 1.0, np.rint(rng.laplace(0.0, 1.0, 40_000)).astype(np.int64)) < LEVEL
    assert exact_fit("gaussian", 1.0, np.rint(rng.normal(0.0, 1.0, 40_000)).astype(np.int64)) < LEVEL


def test_a_sampler_that_draws_zero_twice_as_often_is_caught() -> None:
    """The classic fault of a sign and a size drawn apart: zero with either sign."""
    rng = np.random.default_rng(4)
    size = rng.geometric(-math.expm1(-0.5), 40_000) - 1
    assert exact_fit("laplace", 2.0, size * rng.choice([-1, 1], 40_000)) < LEVEL

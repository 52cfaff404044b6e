"""The density of a Gaussian release against its noise: it integrates to one, and its logarithm has the right law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from refusals import refused
from scipy.stats import norm

import dpfda
from dpfda import kernels
from dpfda.errors import UsageError
from dpfda.mechanisms import SeededRandomness
from dpfda.studies.release_density import ReleaseDensity

KERNEL = kernels.Matern(1.5, 0.3)


def section(size):
    return lambda t: size * KERNEL(t, [0.4])[:, 0]  # of norm `size` in the space of the kernel


def planned(**wishes):
    stated = {"epsilon": 2.0, "delta": 1e-3, "sensitivity": 0.1, "kernel": KERNEL}
    return dpfda.PerturbedFunction(**stated | wishes)


def test_it_integrates_to_one_against_the_noise():
    """The mean of 20,000 log-normal draws; false alarms below 1e-6."""
    plan = planned().plan()
    density, nothing = ReleaseDensity(plan, section(0.05)), ReleaseDensity(plan, section(0.0))
    found = [density(draw) for draw in nothing.draw(SeededRandomness(1), 20_000)]
    deviation = math.sqrt((math.exp(density.length**2) - 1) / 20_000)
    assert abs(np.mean(found) - 1) < 5 * deviation


def test_the_loss_between_neighbours_is_normal_and_as_large_as_the_budget_allows():
    """4000 draws, mean and deviation; false alarms below 1e-6."""
    plan = planned().plan()
    one, other = ReleaseDensity(plan, section(0.1)), ReleaseDensity(plan, section(0.0))
    m = one.length
    losses = np.array([one.loss(other, draw) for draw in one.draw(SeededRandomness(2), 4000)])
    assert abs(losses.mean() - m * m / 2) < 5 * m / math.sqrt(4000)
    assert abs(losses.std() / m - 1) < 5 / math.sqrt(2 * 4000)
    # The section has the norm that was claimed: delta at this epsilon is all that was paid for, and no more.
    delta = norm.cdf(m / 2 - 2.0 / m) - math.exp(2.0) * norm.cdf(-m / 2 - 2.0 / m)
    assert 0.95e-3 < delta <= 1e-3


def test_it_takes_releases_and_refuses_what_it_cannot_be_of():
    est = planned(randomness=SeededRandomness(3)).fit(section(0.1))
    density = ReleaseDensity(est.plan_, section(0.1))
    assert density.log(est.release_) == density.log(est.release_.noisy)
    with refused(UsageError, parameter="released"):
        density.log([1.0, 2.0])
    with refused(UsageError, parameter="plan"):
        ReleaseDensity(planned(delta=0.0).plan(), section(0.1))
    with pytest.raises(UsageError):
        ReleaseDensity(est.plan_, [1.0])

"""Audit of functions of the user's own, from the function to what is released, with a claim that is true or is not.

Every bound is Clopper-Pearson at 1e-6 on each side, so a sound release fails a test about once in 500,000 runs. The
noise is the private one; nothing is seeded.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from evidence import proven_epsilon, proven_mu

import dpfda
from dpfda.curator import DrawLog
from dpfda.kernels import Matern
from dpfda.mechanisms import Gaussian
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L2, Sensitivity

KERNEL = Matern(1.5, 0.3)
PEOPLE = 20
APPROXIMATE = Budget(epsilon=4.0, delta=0.05)
MU = 1 / calibrate(Gaussian(), Sensitivity(1.0, L2(), "one"), APPROXIMATE)


def mean_of(signs):
    """A mean of functions of norm 1, one of each person: sections of the kernel at one point, up or down."""
    return lambda t: float(np.mean(signs)) * KERNEL(t, [0.5])[:, 0]


def neighbours():
    one = np.ones(PEOPLE)
    other = one.copy()
    other[0] = -1
    return mean_of(one), mean_of(other)


def attacked(est, draws):
    """How often the best test says "all alike" for the first data set, and for the second."""
    one, other = neighbours()
    middle = (1 + (1 - 2 / PEOPLE)) / 2
    orders = [est.order(function).order for function in (one, other)]
    return tuple(sum(float(order.draw(DrawLog(), None)(0.5)) > middle for _ in range(draws)) for order in orders)


def estimator(sensitivity, budget=APPROXIMATE):
    return dpfda.PerturbedFunction(
        epsilon=budget.epsilon, delta=budget.delta, sensitivity=sensitivity, kernel=KERNEL, domain=(0.0, 1.0)
    )


@pytest.mark.audit
def test_a_true_claim_keeps_its_guarantee_and_uses_it():
    draws = 2000
    found = proven_mu(attacked(estimator(2 / PEOPLE), draws), draws)
    assert 0.7 * MU <= found <= MU


@pytest.mark.audit
def test_a_claim_that_is_half_of_the_truth_is_caught():
    draws = 2000
    assert proven_mu(attacked(estimator(1 / PEOPLE), draws), draws) > 1.3 * MU


@pytest.mark.audit
def test_a_true_claim_keeps_pure_epsilon():
    draws, budget = 3000, Budget(epsilon=1.5, delta=0.0)
    assert proven_epsilon(attacked(estimator(2 / PEOPLE, budget), draws), draws) <= budget.epsilon


@pytest.mark.audit
def test_answers_point_by_point_keep_the_guarantee_and_catch_a_false_claim():
    draws, middle = 600, (1 + (1 - 2 / PEOPLE)) / 2
    found = []
    for sensitivity in (2 / PEOPLE, 1 / PEOPLE):
        est = estimator(sensitivity)
        hits = []
        for function in neighbours():
            count = 0
            for _ in range(draws):
                with est.open(None, function) as oracle:
                    count += float(oracle([0.5])[0]) > middle
            hits.append(count)
        found.append(proven_mu(tuple(hits), draws))
    assert 0.5 * MU <= found[0] <= MU
    assert found[1] > 1.2 * MU
    assert math.isfinite(found[1])

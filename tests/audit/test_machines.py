"""Audit of kernel machines, from records to weights: an attacker who knows all but one person, and planted faults.

Bounds on attacks are Clopper-Pearson at 1e-6 on each side, with private noise.
"""

from __future__ import annotations

import numpy as np
import pytest
from evidence import TooQuiet, proven_epsilon, proven_mu

from dpfda.bases.features import landmarks
from dpfda.kernels import Gaussian as GaussianKernel
from dpfda.mechanisms import Gaussian, KNorm
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L2, Sensitivity
from dpfda.statistics.machines import own_loss
from dpfda.statistics.machines.estimator import KernelClassifier, KernelRegressor
from dpfda.statistics.machines.own_loss import StatedLoss, TabulatedLoss

PEOPLE, VISITS = 5, 3
UNITS = np.repeat(np.arange(PEOPLE), VISITS)
APPROXIMATE = Budget(epsilon=4.0, delta=0.05)
MU = 1 / calibrate(Gaussian(), Sensitivity(1.0, L2(), "one"), APPROXIMATE)
PURE = Budget(epsilon=1.5, delta=0.0)
ONE = landmarks(GaussianKernel(1.0), (0, 1), [0.5])  # a single feature, along which the worst neighbours differ


def classifier(budget, **wishes):
    # Gaussian noise by name: for one number the plan would take pure noise, of which mu says nothing.
    given = {"penalty": 0.5, "features": ONE, "loss": "hinge", "mechanism": "gaussian"} | wishes
    if "neighbours" not in wishes:
        given = {"n": PEOPLE} | given  # stated, so that none is absent
    return KernelClassifier(epsilon=budget.epsilon, delta=budget.delta, **given, force=True)


def attack(est, draws, *, units=UNITS, labels=(0, 1)):
    """How often the weight lies nearer to the one data set's, with it and with the other."""
    x = np.full((PEOPLE * VISITS, 1), 0.5)
    y = np.zeros(PEOPLE * VISITS) if isinstance(est, KernelRegressor) else (UNITS % 2).astype(float)
    found = []
    for label in labels:
        y[UNITS == 0] = label
        found.append([est.fit(x, y, units=units).release_.noisy[0] for _ in range(draws)])
    # All margins are violated at this penalty: weights are means of labels over twice the penalty.
    signs = np.where(UNITS[::VISITS] % 2 == 1, 1.0, -1.0)
    ends = [np.r_[sign, signs[1:]].mean() / (2 * 0.5) for sign in (-1.0, 1.0)]
    middle = 0.0 if isinstance(est, KernelRegressor) else np.mean(ends)
    return tuple(int(np.sum(np.array(weights) > middle)) for weights in reversed(found))


@pytest.mark.audit
def test_one_person_with_many_records_is_protected_as_stated():
    draws = 400
    assert proven_mu(attack(classifier(APPROXIMATE), draws), draws) <= MU


@pytest.mark.audit
def test_approximate_machines_keep_their_guarantee_and_faults_are_caught():
    draws = 1500
    mechanism = Gaussian()
    assert proven_mu(attack(classifier(APPROXIMATE, mechanism=mechanism), draws), draws) <= MU
    assert proven_mu(attack(classifier(APPROXIMATE, mechanism=TooQuiet(mechanism)), draws), draws) > MU
    # Records taken for people: three of them are one person's.
    rows = classifier(APPROXIMATE, n=None)
    assert proven_mu(attack(rows, draws, units=None), draws) > MU


@pytest.mark.audit
def test_pure_machines_keep_their_guarantee_and_faults_are_caught():
    draws = 2500
    honest = KNorm((1,), (1.0,))
    assert proven_epsilon(attack(classifier(PURE, mechanism=honest), draws), draws) <= PURE.epsilon
    assert proven_epsilon(attack(classifier(PURE, mechanism=TooQuiet(honest)), draws), draws) > 0.8 * PURE.epsilon


@pytest.mark.audit
def test_regressors_keep_their_guarantee_where_responses_are_huge():
    draws = 1000
    est = KernelRegressor(
        epsilon=APPROXIMATE.epsilon,
        delta=APPROXIMATE.delta,
        response_bound=1.0,
        penalty=0.5,
        features=ONE,
        loss="absolute",
        mechanism="gaussian",
        force=True,
    )
    assert proven_mu(attack(est, draws, labels=(-1e9, 1e9)), draws) <= MU


def line(lipschitz):
    return StatedLoss(value=lambda t: -t, slope=lambda t: -np.ones_like(t), lipschitz=lipschitz, name="line")


@pytest.mark.audit
def test_losses_of_the_users_own_keep_their_guarantee_and_a_claim_that_is_half_of_the_truth_is_caught(monkeypatch):
    draws = 1500
    assert proven_mu(attack(classifier(APPROXIMATE, loss=line(1.0)), draws), draws) <= MU

    def believed(name, lipschitz, knots, slopes, *, margin, scale):
        return TabulatedLoss(name, margin, lipschitz, scale, knots, slopes)

    # The fault: nothing is tried, and slopes are taken as they come.
    monkeypatch.setattr(own_loss, "NEAR", 10.0)
    monkeypatch.setattr(own_loss, "_table", believed)
    assert proven_mu(attack(classifier(APPROXIMATE, loss=line(0.5)), draws), draws) > MU


@pytest.mark.audit
def test_a_false_claim_that_no_trial_sees_costs_nothing(monkeypatch):
    draws = 1500
    monkeypatch.setattr(own_loss, "NEAR", 10.0)  # no trial, but slopes are clipped to the claim
    est = classifier(APPROXIMATE, loss=line(0.5))
    assert proven_mu(attack(est, draws), draws) <= MU


@pytest.mark.audit
def test_removing_a_person_is_protected_too():
    draws = 1000
    est = classifier(APPROXIMATE, neighbours="add-or-remove-one", planned_n=PEOPLE)
    x, y = np.full((PEOPLE * VISITS, 1), 0.5), (UNITS % 2).astype(float)
    here, gone = UNITS >= 0, UNITS > 0
    weights = [
        np.array([est.fit(x[kept], y[kept], units=UNITS[kept]).release_.noisy[0] for _ in range(draws)])
        for kept in (here, gone)
    ]
    middle = -1 / PEOPLE / (2 * 0.5) / 2 + np.where(UNITS[3::VISITS] % 2 == 1, 1.0, -1.0).sum() / PEOPLE / (2 * 0.5)
    hits = int(np.sum(weights[1] > middle)), int(np.sum(weights[0] > middle))
    assert proven_mu(hits, draws) <= MU

"""Budgets whose prices may be chosen on the way: filters decide, in the session's own arithmetic."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpfda.errors import BudgetExceeded
from dpfda.ledger import Charge, Ledger
from dpfda.privacy import Budget, GaussianProfile, PureProfile, compose
from dpfda.privacy.totals import Sums, filtered_epsilon


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    for adaptive in (False, True):
        made.create(f"{adaptive}", epsilon=2.0, delta=1e-6, adaptive=adaptive)
    return made


def granted(ledger, name, losses):
    count = 0
    for loss in losses:
        try:
            ledger.charge(Charge(name, "mean", Budget(1.0, 1e-6), (loss,)))
        except BudgetExceeded:
            return count
        count += 1
    return count


@pytest.mark.parametrize("loss", [GaussianProfile(0.05), PureProfile(0.05)], ids=["gaussian", "pure"])
def test_exactly_what_the_filter_allows_is_granted_and_never_more_than_without(ledger, loss):
    many = [loss] * 500
    cap = Budget(2.0, 1e-6)
    allowed = next(k for k in range(1, 500) if filtered_epsilon(Sums.nothing().plus([loss] * (k + 1)), cap) > 2.0)
    assert granted(ledger, "True", many) == allowed
    assert granted(ledger, "False", many) >= allowed
    ledger.check()
    assert compose([loss] * allowed, delta=1e-6).epsilon <= 2.0


def test_what_is_left_is_what_the_filter_leaves(ledger):
    ledger.charge(Charge("True", "mean", Budget(1.0, 1e-6), (GaussianProfile(0.2),)))
    spent = filtered_epsilon(Sums.nothing().plus([GaussianProfile(0.2)]), Budget(2.0, 1e-6))
    assert ledger.remaining("True").epsilon == pytest.approx(2.0 - spent, abs=2e-12)
    assert [found.adaptive for found in ledger.datasets()] == [False, True]


def test_a_refusal_suggests_what_the_filter_would_grant(ledger):
    ledger.charge(Charge("True", "mean", Budget(1.5, 0.0), (PureProfile(1.5),)))
    quote = ledger.quote(Charge("True", "mean", Budget(1.0, 0.0), (PureProfile(1.0),)))
    assert not quote.allowed
    assert quote.affordable == 0.5
    ledger.charge(Charge("True", "mean", Budget(0.5, 0.0), (PureProfile(0.5),)))
    assert ledger.remaining("True").epsilon == 0


@pytest.mark.parametrize(
    ("cap", "loss", "two"),
    [
        (Budget(2.0, 1e-6), GaussianProfile(0.2), Budget(4.0, 1e-6 * (1 + math.exp(2.0)))),
        (Budget(2.0, 1e-6), PureProfile(0.2), Budget(4.0, 1e-6 * (1 + math.exp(2.0)))),
        (Budget(2.0, 0.0), PureProfile(0.2), Budget(4.0, 0.0)),
    ],
    ids=["gaussian", "pure", "pure budget"],
)
def test_the_guarantee_is_the_cap_from_the_first_charge_on(tmp_path, cap, loss, two):
    """Nothing less is proved where prices may depend on outputs: a filter's counter is a limit for charges alone."""
    ledger = Ledger(f"sqlite:///{tmp_path}/one.db")
    ledger.create("scans", epsilon=cap.epsilon, delta=cap.delta, adaptive=True)
    assert (ledger.spent().epsilon, ledger.spent().counter) == (0.0, None)
    ledger.charge(Charge("scans", "mean", Budget(1.5, cap.delta), (loss,)))
    spent = ledger.spent()
    assert (spent.epsilon, spent.delta, spent.rho, spent.method) == (cap.epsilon, cap.delta, math.inf, "privacy filter")
    assert spent.pure == (2.0 if cap.pure else math.inf)
    counted = filtered_epsilon(Sums.nothing().plus([loss]), cap)
    assert spent.counter == pytest.approx(counted, abs=2e-12)
    assert ledger.remaining().adaptive
    pair = ledger.spent(people=2)
    assert (pair.epsilon, pair.delta, pair.rho) == (pytest.approx(two.epsilon), pytest.approx(two.delta), math.inf)
    assert ledger.spent(people=100).epsilon == (
        pytest.approx(200.0) if cap.pure else math.inf
    )  # with chance 1 all may be lost


def test_what_is_left_for_groups_is_what_a_filter_for_them_would_leave(ledger):
    ledger.charge(Charge("True", "mean", Budget(1.0, 1e-6), (GaussianProfile(0.1),)))
    counted = filtered_epsilon(Sums.nothing().plus([GaussianProfile(0.3)]), Budget(2.0, 1e-6))
    assert ledger.remaining("True", people=3).epsilon == pytest.approx(2.0 - counted, abs=1e-9)
    assert ledger.remaining("True", people=10**6).epsilon == 0


def test_quotes_and_refusals_say_that_a_filter_counts(ledger):
    for name, word in (("True", "counted"), ("False", "spent")):
        charge = Charge(name, "mean", Budget(1.5, 0.0), (PureProfile(1.5),))
        ledger.charge(charge)
        quote = ledger.quote(replace(charge, key="another"))
        assert quote.adaptive is (name == "True")
        assert f"; {word} 1.50 of 2.00 for '{name}'" in quote.refusal


def test_an_analyst_who_stops_where_it_pays_learns_more_than_the_counter_shows():
    """Gaussian releases in small steps: the delta that the counter's epsilon needs, by the realised privacy loss.

    With prices fixed in advance it stays below delta; whoever stops once something is gained needs more than delta,
    by more than 10 standard errors in these seeded runs. At the cap nothing is left of it.
    """
    cap, runs = Budget(20.0, 0.01), np.random.default_rng(0)
    steps = np.diff(np.geomspace(1e-3, 9, 60), prepend=0)
    sums, loss = Sums.nothing(), np.zeros(20_000)
    gains, capped = [], []
    for step in steps:
        sums = sums.plus([GaussianProfile(float(np.sqrt(step)))])
        loss = loss + step / 2 + np.sqrt(step) * runs.standard_normal(loss.size)
        gains.append(np.maximum(0, -np.expm1(filtered_epsilon(sums, cap) - loss)))
        capped.append(np.maximum(0, -np.expm1(cap.epsilon - loss)))
    gained = np.array(gains)
    assert gained.mean(axis=1).max() <= cap.delta
    stop = np.where((gained > 0.1).any(axis=0), (gained > 0.1).argmax(axis=0), len(steps) - 1)
    everyone = np.arange(loss.size)
    found = gained[stop, everyone]
    assert found.mean() > cap.delta + 10 * found.std() / math.sqrt(found.size)
    assert np.array(capped)[stop, everyone].mean() <= cap.delta

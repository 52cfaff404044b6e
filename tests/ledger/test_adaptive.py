"""Budgets whose prices may be chosen on the way: filters decide, in the session's own arithmetic."""

from __future__ import annotations

import pytest

from dpfda.errors import BudgetExceeded
from dpfda.privacy import Budget, Charge, GaussianProfile, Ledger, PureProfile, compose
from dpfda.privacy.filters import filtered_epsilon
from dpfda.privacy.sums import Sums


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

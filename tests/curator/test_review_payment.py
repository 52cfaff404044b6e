"""Attacks on one charge: a second noise for it, another request under its key, answers of another function."""

from __future__ import annotations

import re
from threading import Barrier, Thread

import numpy as np
import pytest

import dpfda
from dpfda.curator import GIVEN
from dpfda.errors import UsageError
from dpfda.kernels import Gaussian
from dpfda.privacy import SessionLedger

POINTS = np.random.default_rng(5).uniform(size=(60, 1))
LABELS = (POINTS[:, 0] > 0.5).astype(int)
KNOWN = {"epsilon": 1.0, "delta": 1e-6, "dataset": "d", "domain": (0, 1), "mechanism": "gp"}


def classifier(ledger, **changes):
    wishes = {**KNOWN, "kernel": Gaussian(0.5), "penalty": 0.1, "ledger": ledger, **changes}
    return dpfda.KernelClassifier(**wishes)


def density(ledger, **changes):
    return dpfda.DensityFunction(**{**KNOWN, "ledger": ledger, **changes})


ONLINE = {
    "classifier": (lambda ledger: classifier(ledger).fit(POINTS, LABELS), lambda est: est.decision_function([[0.3]])),
    "density": (lambda ledger: density(ledger, bandwidth=0.2).fit(POINTS[:, 0]), lambda est: est.open()(0.3)),
}


@pytest.mark.parametrize("name", ONLINE)
def test_two_fits_under_one_key_do_not_answer_with_two_noises(name):
    """Both were charged before either was asked: only one of them may draw."""
    ledger = SessionLedger()
    fit, ask = ONLINE[name]
    first, second = fit(ledger.under("k")), fit(ledger.under("k"))
    assert len(ledger.entries) == 1
    assert np.isfinite(ask(first)).all()
    with pytest.raises(UsageError, match=re.escape(GIVEN)):
        ask(second)


@pytest.mark.parametrize("way", ["whole first", "points first"])
def test_one_of_two_fits_under_one_key_as_a_whole_and_one_by_points_is_refused(way):
    ledger = SessionLedger()
    one, other = (density(ledger.under("k"), bandwidth=0.2).fit(POINTS[:, 0]) for _ in range(2))
    asked = [lambda: one.release_, other.open]
    first, second = asked if way == "whole first" else reversed(asked)
    assert first() is not None
    with pytest.raises(UsageError, match=re.escape(GIVEN)):
        second()


class Together:
    """A ledger whose charges are all entered before any of them goes on."""

    def __init__(self, ledger, barrier):
        self.ledger, self.barrier = ledger, barrier

    def charge(self, entry):
        receipt = self.ledger.charge(entry)
        self.barrier.wait(timeout=30)
        return receipt

    def store(self, receipt, output):
        return self.ledger.store(receipt, output)

    def burn(self, receipt):
        self.ledger.burn(receipt)


def test_two_that_buy_a_bandwidth_under_one_key_at_once_do_not_both_draw_a_density():
    """Also where both come to the same bandwidth, as with an epsilon of 40 they do."""
    ledger, barrier, found = SessionLedger(), Barrier(2), []

    def run():
        wishes = {"bandwidth": "private-iqr", "bandwidth_epsilon": 40.0}
        try:
            fitted = density(Together(ledger.under("k"), barrier), **wishes).fit(POINTS[:, 0])
            found.append(str(fitted.release_(0.3)))
        except UsageError as error:
            found.append(str(error))

    threads = [Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledger.entries) == 1
    assert len(found) == 2
    assert found.count(GIVEN) == 1


@pytest.mark.parametrize(
    "changes",
    [{"classes": ("b", "a")}, {"classes": ("a", "c")}, {"loss": "logistic"}, {"loss": "smoothed-hinge"}],
    ids=["classes exchanged", "another class", "logistic", "smoothed hinge"],
)
def test_a_store_of_one_machine_does_not_answer_for_another_with_the_same_noise(changes, tmp_path):
    """Their slopes are the same, and so is the law of their noise: two functions of one data set for one charge."""
    store, words = f"sqlite:///{tmp_path / 'store.db'}", np.array(["a", "b", "c"])[np.arange(60) % 3]
    ledger = SessionLedger()
    with classifier(ledger, classes=("a", "b")).open(store, POINTS, words) as oracle:
        answer = oracle(0.3)
    with classifier(ledger, classes=("a", "b")).open(store, POINTS, words) as oracle:
        assert oracle(0.3) == answer
    with pytest.raises(UsageError, match="belongs to another release"):
        classifier(ledger, **{"classes": ("a", "b"), **changes}).open(store, POINTS, words)
    assert len(ledger.entries) == 1

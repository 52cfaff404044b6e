"""Fits without a ledger are counted through clones, copies and pickles, and searches say how often they spent."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dpfda
from dpfda.errors import SpendingWarning
from dpfda.ledger import Charge, OwnSpend, SessionLedger
from dpfda.privacy import Budget

X = np.linspace(0, 1, 40)[:, None]
LABELS = (X[:, 0] > 0.5).astype(int)
CURVES = np.sin(X + np.linspace(0, 1, 5))
KNOWN = {"epsilon": 1.0, "delta": 0.0, "force": True}


def classifier(**wishes):
    return dpfda.KernelClassifier(**KNOWN, domain=(0, 1), features=4, classes=(0, 1), **wishes)


def scored(est, X, y=None):
    """A public score of nothing, for estimators that have none."""
    return 0.0


SEARCHED = {
    "MeanFunction": (dpfda.MeanFunction(**KNOWN, bound=1.0), CURVES, None, {"bound": [1.0, 2.0]}),
    "CovarianceFunction": (dpfda.CovarianceFunction(**KNOWN, bound=1.0, size=3), CURVES, None, {"bound": [1.0, 2.0]}),
    "FPCA": (dpfda.FPCA(**KNOWN, bound=1.0, size=3), CURVES, None, {"bound": [1.0, 2.0]}),
    "DensityFunction": (dpfda.DensityFunction(**KNOWN, domain=(0, 1)), X, None, {"size": [3, 5]}),
    "KernelClassifier": (classifier(), X, LABELS, {"penalty": [0.01, 0.1]}),
    "KernelRegressor": (
        dpfda.KernelRegressor(**KNOWN, domain=(0, 1), features=4, response_bound=1.0),
        X,
        X[:, 0],
        {"penalty": [0.01, 0.1]},
    ),
    "FunctionOnScalarRegression": (
        dpfda.FunctionOnScalarRegression(**KNOWN, bound=1.0, size=3, covariate_limits=[(0, 1)]),
        X,
        CURVES,
        {"bound": [1.0, 2.0]},
    ),
}


@pytest.mark.parametrize("name", SEARCHED)
def test_a_search_says_how_often_it_spent(name):
    known, data, targets, grid = SEARCHED[name]
    est = clone(known)
    with pytest.warns(SpendingWarning) as found:
        search = GridSearchCV(est, grid, cv=5, scoring=scored, error_score="raise").fit(data, targets)
    assert est.spent_ == Budget(11.0, 0.0)
    assert str(found[-1].message) == (
        "11 fits of one estimator and its clones, as GridSearchCV and cross_val_score make them, have spent (epsilon = "
        "11, delta = 0) in all, without a ledger. Tune on public curves, then fit once; a ledger counts in all "
        "processes, and stops at its budget."
    )
    assert search.best_estimator_.spent_ == Budget(1.0, 0.0)
    card = search.best_estimator_.release_.certificate
    assert "11 fits of this estimator and its clones add up to (epsilon = 11, delta = 0)" in card.recorded
    with pytest.warns(SpendingWarning):
        cross_val_score(est, data, targets, cv=5, scoring=scored)
    assert est.spent_.epsilon == 16.0


def test_an_estimator_in_a_pipeline_is_counted_as_well():
    est = classifier()
    with pytest.warns(SpendingWarning) as found:
        cross_val_score(make_pipeline(FunctionTransformer(), est), X, LABELS, cv=5)
    assert str(found[-1].message).startswith("5 fits of one estimator and its clones")
    assert est.spent_.epsilon == 5.0


def test_with_a_ledger_nothing_is_said_for_the_ledger_counts():
    ledger = SessionLedger()
    est = classifier(ledger=ledger)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cross_val_score(est, X, LABELS, cv=5)
    assert len(ledger.entries) == 5
    assert est.spent_ is None


def test_one_estimator_that_is_fitted_again_says_so_on_its_card_alone():
    est = classifier()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            est.fit(X, LABELS)
    assert "3 fits of this estimator" in est.release_.certificate.recorded


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_spend_together(duplicate):
    est = classifier().fit(X, LABELS)
    duplicate(est).fit(X, LABELS)
    assert est.spent_.epsilon == 2.0


def test_clones_start_at_nothing_and_are_counted_by_all_above_them():
    est = classifier()
    middle = clone(est)
    last = clone(middle)
    assert (est.spent_, middle.spent_, last.spent_) == (None, None, None)
    last.fit(X, LABELS)
    with pytest.warns(SpendingWarning, match="2 fits"):
        middle.fit(X, LABELS)
    assert [each.spent_.epsilon for each in (est, middle, last)] == [2.0, 2.0, 1.0]


def test_clones_of_clones_do_not_pile_up():
    est = classifier()
    last = est
    for _ in range(3000):
        last = clone(last)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        last.fit(X, LABELS)
        pickle.loads(pickle.dumps(last))
    assert (est.spent_, last.spent_) == (Budget(1.0, 0.0), Budget(1.0, 0.0))
    assert len(last._own._between) <= 1


def test_a_pickle_keeps_the_count_and_a_clone_that_is_sent_away_unfitted_is_told_of():
    est = classifier().fit(X, LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pickle.loads(pickle.dumps(est)).spent_ == est.spent_
    with pytest.warns(SpendingWarning, match="What it spends there is not counted here"):
        back = pickle.loads(pickle.dumps(clone(est)))
    with pytest.warns(SpendingWarning, match="2 fits"):
        back.fit(X, LABELS)
    assert back.spent_.epsilon == 1.0


def test_a_count_of_the_version_before_can_be_read():
    own = OwnSpend.__new__(OwnSpend)
    own.__setstate__([[Budget(0.5, 1e-7), Budget(0.5, 1e-7)]])
    assert (own.number, own.total) == (2, Budget(1.0, 2e-7))
    assert own.charge(Charge("d", "w", Budget(1.0, 0.0))).number == 3


def test_threads_that_fit_clones_lose_no_count():
    est = classifier()
    with warnings.catch_warnings(), ThreadPoolExecutor(4) as pool:
        warnings.simplefilter("ignore")
        list(pool.map(lambda _: clone(est).fit(X, LABELS), range(20)))
    assert est.spent_.epsilon == 20.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_process_says_that_it_counts_alone():
    own = OwnSpend()
    own._process = ("another", 1)
    with pytest.warns(SpendingWarning, match="made in another process, and spends"):
        own.charge(Charge("d", "w", Budget(1.0, 0.0)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        own.charge(Charge("d", "w", Budget(1.0, 0.0)))
    assert own.total.epsilon == 2.0


PROCESSES = """
import numpy as np, dpfda
from sklearn.model_selection import cross_val_score
X = np.linspace(0, 1, 40)[:, None]
est = dpfda.KernelClassifier(epsilon=1.0, delta=1e-7, domain=(0, 1), features=4, classes=(0, 1))
cross_val_score(est, X, (X[:, 0] > 0.5).astype(int), cv=4, n_jobs=2)
"""


def test_every_process_of_a_search_says_that_it_spends():
    ran = subprocess.run([sys.executable, "-W", "always", "-c", PROCESSES], capture_output=True, text=True, check=True)
    assert ran.stderr.count("SpendingWarning: This estimator was made in another process, and spends") == 4
    assert ran.stderr.count("SpendingWarning: A clone of an estimator without a ledger was sent to another") == 4

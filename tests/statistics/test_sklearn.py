"""The estimators as scikit-learn knows them: parameters, clones, pickles; and nothing fitted remembers a record."""

from __future__ import annotations

import copy
import gc
import pickle
import types

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import estimator_checks_generator

import dpfda
from dpfda.kernels import Matern
from dpfda.ledger import SessionLedger
from dpfda.mechanisms import GaussianProcess, SeededRandomness
from dpfda.privacy import Budget

GOOD = {"epsilon": 1.0, "delta": 1e-6, "bound": 1.0, "domain": (0, 1)}
ROWS, WIDTH = 321, 13


def marked():
    """Records whose numbers can be recognised wherever they turn up."""
    return np.random.default_rng(0).normal(size=(ROWS, WIDTH))


OTHERWISE = {"check_complex_data": "one complex number makes an array complex: an error would be about one person"}


def _name(check):
    return getattr(check, "func", check).__name__


CHECKS = [
    (estimator, check)
    for kind in (dpfda.MeanFunction, dpfda.CovarianceFunction, dpfda.FPCA)
    for estimator, check in estimator_checks_generator(kind(**GOOD, force=True), mark="skip")
    if _name(check) not in OTHERWISE
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "place", range(len(CHECKS)), ids=lambda place: f"{type(CHECKS[place][0]).__name__}-{_name(CHECKS[place][1])}"
)
def test_scikit_learn_accepts_the_estimator(place):
    """Every check of check_estimator but for those in OTHERWISE, each with its reason."""
    estimator, check = CHECKS[place]
    check(estimator)


def test_parameters_are_read_and_set_by_name():
    est = dpfda.MeanFunction(**GOOD)
    assert {**GOOD, "neighbours": "replace-one", "mechanism": "auto"}.items() <= est.get_params().items()
    assert est.set_params(epsilon=2.0, bound=None, limits=(0, 1)) is est
    assert (est.epsilon, est.limits) == (2.0, (0, 1))
    with pytest.raises(ValueError, match="Invalid parameter 'seed'"):
        est.set_params(seed=1)


def test_fit_returns_itself_and_leaves_the_parameters_alone():
    est = dpfda.MeanFunction(**GOOD, centre=np.zeros(WIDTH), ledger=SessionLedger(), basis="cosine")
    before = est.get_params()
    data, ids, grid = marked(), list(range(ROWS)), np.linspace(0, 1, WIDTH)
    copies = data.copy(), list(ids), grid.copy()
    assert est.fit(data, grid=grid, units=ids) is est
    after = est.get_params()
    assert before.keys() == after.keys()
    assert all(before[name] is after[name] for name in before)
    assert np.array_equal(data, copies[0])
    assert ids == copies[1]
    assert np.array_equal(grid, copies[2])
    assert est.n_features_in_ == WIDTH


@pytest.mark.parametrize("duplicate", [clone, copy.deepcopy, copy.copy])
def test_a_copy_charges_the_same_ledger(duplicate):
    ledger = SessionLedger(cap=Budget(1.5, 1.0 - 1e-9))
    est = dpfda.MeanFunction(**GOOD, ledger=ledger)
    other = duplicate(est)
    assert other.ledger is ledger
    est.fit(marked())
    with pytest.raises(dpfda.errors.BudgetExceeded):
        other.fit(marked())
    assert len(ledger.entries) == 1


def test_a_clone_is_unfitted_and_has_the_same_parameters():
    est = dpfda.MeanFunction(**GOOD, mechanism="laplace", basis=dpfda.bases.cosine((0, 1), 4)).fit(marked())
    other = clone(est)
    assert not hasattr(other, "release_")
    assert repr(other) == repr(est)
    assert other.basis == est.basis


def test_pickles_keep_parameters_and_release():
    est = dpfda.MeanFunction(**GOOD)
    assert pickle.loads(pickle.dumps(est)).get_params() == est.get_params()
    est.fit(marked())
    back = pickle.loads(pickle.dumps(est))
    assert back.release_.noisy.tobytes() == est.release_.noisy.tobytes()
    assert back.release_.certificate == est.release_.certificate
    assert back.release_(0.3) == est.release_(0.3)


def test_a_ledger_of_the_session_refuses_to_be_pickled():
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        pickle.dumps(dpfda.MeanFunction(**GOOD, ledger=SessionLedger()))


# Nothing fitted remembers a record.


def reachable(start):
    """Everything that garbage collection can reach, but for modules, classes and the globals of functions."""
    seen, waiting = {}, [start]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, types.ModuleType | type):
            continue
        seen[id(thing)] = thing
        if isinstance(thing, types.FunctionType):
            waiting.extend(cell.cell_contents for cell in thing.__closure__ or ())
        else:
            waiting.extend(gc.get_referents(thing))
        if isinstance(thing, np.ndarray) and thing.base is not None:
            waiting.append(thing.base)
    return seen.values()


@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize("units", [None, "some"])
def test_no_record_can_be_reached_from_a_fitted_estimator(neighbours, units):
    data = marked()
    ids = None if units is None else np.arange(ROWS) // 2 + 10**6
    curves = dpfda.records.as_curves(data, grid=np.linspace(0, 1, WIDTH), units=ids)
    est = dpfda.MeanFunction(**GOOD, neighbours=neighbours, planned_n=100, ledger=SessionLedger())
    est.fit(curves)
    found = list(reachable(est))
    assert any(thing is est.release_.noisy for thing in found)
    assert not any(isinstance(thing, dpfda.Curves | dpfda.Curator) for thing in found)
    values, cells = set(data.ravel().tolist()), {thing for thing in found if isinstance(thing, float)}
    assert not values & cells
    for thing in found:
        if isinstance(thing, np.ndarray):
            assert ROWS not in thing.shape
            assert ROWS // 2 + 1 not in thing.shape
            if thing.dtype == np.float64:
                assert not values & set(thing.ravel().tolist())
    assert not any(value.tobytes() in pickle.dumps(est.release_) for value in data[:50, 0])


def test_the_search_for_records_would_find_them():
    """The check above is worth nothing unless it sees a curve in a closure or behind a view."""
    data = marked()
    hidden = {"a": [lambda: data[3]]}
    assert any(thing is data for thing in reachable(hidden))
    assert any(thing is data for thing in reachable((data[2:5].T,)))
    est = dpfda.MeanFunction(**GOOD, randomness=SeededRandomness(1))
    est.curves = dpfda.records.as_curves(data, grid=None, units=None)
    assert any(thing is data for thing in reachable(est))


POINTS = {"epsilon": 1.0, "delta": 1e-6, "domain": (0, 1)}
UNFITTED = {
    "density": (dpfda.DensityFunction(**POINTS), ("open", "sample", "score_samples")),
    "density gp": (
        dpfda.DensityFunction(**POINTS, mechanism=GaussianProcess(kernel=Matern(1.5, 0.2))),
        ("open", "sample", "score_samples"),
    ),
    "classifier": (dpfda.KernelClassifier(**POINTS, classes=(0, 1)), ("open", "predict", "score")),
    "regressor": (dpfda.KernelRegressor(**POINTS, response_bound=1.0), ("open", "predict", "score")),
    "regression": (dpfda.FunctionOnScalarRegression(**GOOD, covariate_limits=[(0, 1)]), ("predict",)),
}
ARGUMENTS = {"sample": (3,), "score_samples": ([0.5],), "predict": ([[0.5]],), "score": ([[0.5]], [1])}


@pytest.mark.parametrize(
    ("est", "method"),
    [pytest.param(est, method, id=f"{name} {method}") for name, (est, able) in UNFITTED.items() for method in able],
)
def test_before_a_fit_every_use_of_it_says_so_as_scikit_learn_does(est, method):
    with pytest.raises(NotFittedError, match="fit"):
        getattr(est, method)(*ARGUMENTS.get(method, ()))


@pytest.mark.parametrize("name", ["coef_", "intercept_"])
def test_coefficients_before_a_fit_say_that_there_is_none(name):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(UNFITTED["regression"][0], name)

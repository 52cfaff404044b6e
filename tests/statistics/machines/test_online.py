"""Kernel machines that answer at the points asked for: the exact minimiser, one oracle, one charge."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest
from refusals import refused

from dpfda.errors import CannotMeetBudget, ReleaseFailed, UsageError
from dpfda.kernels import Exponential, Gaussian, Matern
from dpfda.ledger import SessionLedger
from dpfda.mechanisms import SeededRandomness
from dpfda.records.labelled import labelled
from dpfda.statistics.machines.estimator import KernelClassifier, KernelRegressor
from dpfda.statistics.machines.losses import loss_of
from dpfda.statistics.machines.online import prepared
from dpfda.statistics.machines.solver import minimise_exactly, tolerance_of

GOOD = {"epsilon": 1.0, "delta": 1e-6, "mechanism": "gp"}


def two_sides(n, seed=0):
    x = np.random.default_rng(seed).uniform(0, 1, (n, 1))
    return x, (x[:, 0] > 0.5).astype(int)


def test_a_machine_learns_and_answers_the_same_for_ever(tmp_path):
    x, y = two_sides(1500)
    est = KernelClassifier(**GOOD, kernel=Matern(1.5, 0.5), randomness=SeededRandomness(1), force=True).fit(x, y)
    assert not hasattr(est, "release_")
    oracle = est.open(f"sqlite:///{tmp_path / 'machine.db'}")
    where = np.array([0.1, 0.9])
    first = oracle(where)
    assert (oracle(where) == first).all()
    assert (est.decision_function(where[:, None]) == first).all()
    assert est.predict(where[:, None]).tolist() == [0, 1]
    assert oracle.certificate.what == "kernel classifier"
    assert "proven to stop" in " ".join(oracle.certificate.text().split())
    with pytest.raises(UsageError, match="would be a second release"):
        est.open(f"sqlite:///{tmp_path / 'another.db'}")


@pytest.mark.audit
def test_predictions_open_an_oracle_in_memory_and_noise_is_as_planned():
    x, y = two_sides(200)
    values = []
    for seed in range(60):
        est = KernelClassifier(
            **GOOD, kernel=Exponential(0.5), penalty=0.05, randomness=SeededRandomness(seed), force=True
        ).fit(x, y)
        values.append(est.decision_function([[0.3], [0.6]]))
    # 60 draws: within 45 percent but with probability 1e-6; seeded.
    np.testing.assert_allclose(np.std(values, axis=0), est.plan(200).noise_deviation([0.3, 0.6]), rtol=0.45)


def test_regressors_answer_within_their_bound():
    x = np.random.default_rng(0).uniform(0, 1, (800, 2))
    est = KernelRegressor(**GOOD, response_bound=1.0, kernel=Gaussian(0.3), loss="absolute", force=True).fit(
        x, np.sign(x[:, 0] - 0.5)
    )
    assert np.abs(est.predict(x[:20])).max() <= 1.0


def test_the_ledger_is_charged_once_and_before_the_first_question():
    ledger = SessionLedger()
    x, y = two_sides(50)
    est = KernelClassifier(**GOOD, ledger=ledger, force=True).fit(x, y)
    est.predict(x)
    est.predict(x[::-1])
    assert len(ledger.entries) == 1


@pytest.mark.parametrize(
    ("changed", "error", "text"),
    [
        ({"delta": 0.0}, CannotMeetBudget, "A Gaussian process needs delta > 0"),
        ({"neighbours": "add-or-remove-one", "planned_n": 50}, UsageError, "is released under 'replace-one'"),
        ({"features": 20}, UsageError, "features must be None, got 20"),
        ({"features": None, "mechanism": "auto"}, UsageError, "is released with mechanism='gp'"),
    ],
)
def test_what_the_exact_machine_cannot_do_is_refused_before_the_charge(changed, error, text):
    x, y = two_sides(50)
    ledger = SessionLedger()
    with pytest.raises(error, match=text):
        KernelClassifier(**{**GOOD, "ledger": ledger, **changed}, force=True).fit(x, y)
    assert not ledger.entries


def test_a_solver_that_cannot_prove_its_distance_releases_nothing(monkeypatch):
    import dpfda.statistics.machines.online as online
    import dpfda.statistics.machines.summary as summary
    from dpfda.statistics.machines.solver import Minimum

    x, y = two_sides(20)
    ledger = SessionLedger()
    monkeypatch.setattr(online, "minimise_exactly", lambda kernel, points, *rest, **facts: (np.zeros(len(points)), 1e9))
    with pytest.raises(ReleaseFailed, match="the charge stays"):
        KernelClassifier(**GOOD, ledger=ledger, force=True).fit(x, y)
    monkeypatch.setattr(
        summary, "minimise", lambda z, *rest, **facts: Minimum(np.zeros(z.shape[1]), np.zeros(len(z)), 1e9)
    )
    with pytest.raises(ReleaseFailed, match="the charge stays"):
        KernelClassifier(**{**GOOD, "mechanism": "auto"}, ledger=ledger, force=True).fit(x, y)
    assert len(ledger.entries) == 2


def test_other_mechanisms_serve_their_release(tmp_path):
    x, y = two_sides(100)
    est = KernelClassifier(**{**GOOD, "mechanism": "gaussian"}, features=5, force=True).fit(x, y)
    with est.open(tmp_path / "machine.db") as oracle:
        assert (oracle([0.2, 0.7]) == est.release_([0.2, 0.7])).all()
    est.set_params(mechanism="gp", features=None).fit(x, y)
    assert not hasattr(est, "release_")


def test_too_many_units_are_refused_by_the_plan():
    with refused(UsageError, "n", 10_000) as caught:
        KernelClassifier(**GOOD).plan(10_000)
    # Why, with the figures for this n, and a way out that works as it stands there.
    assert "4.8 GB" in str(caught.value)
    assert "3e+11 operations" in str(caught.value)
    assert "mechanism='gaussian' and features=400" in str(caught.value)
    assert KernelClassifier(**(GOOD | {"mechanism": "gaussian"}), features=400).plan(10_000).n == 10_000
    plan = KernelClassifier(**GOOD).plan(500)
    assert "points asked for" in str(plan)
    assert plan.to_dict()["mechanism"] == "gp"


def test_more_units_than_in_earlier_versions_are_solved_and_laws_of_fewer_stay():
    assert [KernelClassifier(**GOOD).plan(n).most_records for n in (1, 2048, 2049, 6144)] == [2048, 2048, 6144, 6144]
    x, y = two_sides(2200)
    est = KernelClassifier(**GOOD, kernel=Gaussian(0.3), classes=(0, 1), randomness=SeededRandomness(1)).fit(x, y)
    assert est.predict([[0.1], [0.9]]).tolist() == [0, 1]


def test_it_cannot_be_pickled_since_it_would_answer_twice():
    est = KernelClassifier(**GOOD, force=True).fit(*two_sides(20))
    with pytest.raises(TypeError, match="it would be given out twice"):
        pickle.dumps(est)


@pytest.mark.parametrize("name", ["hinge", "smoothed-hinge", "logistic", "absolute", "huber", "squared"])
@pytest.mark.parametrize("n", [1, 30, 200])
def test_the_exact_minimiser_is_proven_and_agrees_with_all_features(name, n):
    rng = np.random.default_rng(n)
    loss = loss_of(name) if name in ("hinge", "smoothed-hinge", "logistic") else loss_of(name, bound=1.0)
    for points in (rng.uniform(0, 1, (n, 2)), np.full((n, 2), 0.3), np.zeros((n, 2))):
        y = rng.choice([-1.0, 1.0], n)
        for penalty in (0.3, 0.003):
            moved = loss.lipschitz / (penalty * n)
            tolerance = 2 * tolerance_of(loss, penalty=penalty, reach=1.0, units=n, size=4096, moved=moved / 2)
            weights, distance = minimise_exactly(
                Gaussian(0.5), points, y, np.full(n, 1 / n), loss=loss, penalty=penalty, tolerance=tolerance
            )
            assert distance <= tolerance
            assert np.abs(weights).sum() <= loss.lipschitz / (2 * penalty) * (1 + 1e-12)


def test_no_neighbour_moves_the_function_further_than_stated():
    """In the norm of the space, with kernel values at all points of both data sets."""
    kernel, n = Gaussian(0.2), 15
    rng = np.random.default_rng(0)
    largest = 0.0
    for trial in range(20):
        x = rng.uniform(0, 1, (n, 1)) if trial % 2 else np.full((n, 1), 0.5)
        y = rng.integers(0, 2, n).astype(float)
        est = KernelClassifier(**GOOD, kernel=kernel, penalty=0.5, force=True)
        plan = est.plan(n)
        found = []
        for label in (0.0, 1.0):
            y[-1] = label
            records = labelled(x, est._targets(y), 1)
            sections = prepared(plan, records, unit="row", bound=None, dataset="d").solved()
            found.append((sections.points, sections.masses * sections.weight))
        points = np.concatenate([found[0][0], found[1][0]])
        weights = np.concatenate([found[0][1], -found[1][1]])
        largest = max(largest, float(np.sqrt(max(weights @ kernel(points, points) @ weights, 0.0))))
        assert largest <= plan.sensitivity
    assert largest >= 0.9 * plan.moved


def test_a_forked_process_does_not_get_a_noise_of_its_own(tmp_path):
    X, y = two_sides(60)
    est = KernelClassifier(**GOOD, force=True).fit(X, y)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        told = b"answered"
        try:
            est.open(tmp_path / "child.db")
        except UsageError:
            told = b"refused"
        os.write(write, told)
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100) == b"refused"
    assert est.decision_function(X[:2]).shape == (2,)


def test_records_open_a_store_again_free(tmp_path):
    X, y = two_sides(60)
    ledger, asked = SessionLedger(), X[:5]
    with KernelClassifier(**GOOD, ledger=ledger, force=True).open(tmp_path / "svm.db", X, y) as oracle:
        first = oracle(asked)
    with KernelClassifier(**GOOD, ledger=ledger, force=True).open(tmp_path / "svm.db", X, y) as oracle:
        assert np.array_equal(oracle(asked), first)
        oracle(X[5:7])
    assert len(ledger.entries) == 1
    with pytest.raises(UsageError, match="belongs to another release"):
        KernelClassifier(**{**GOOD, "epsilon": 3.0}, ledger=ledger, force=True).open(tmp_path / "svm.db", X, y)
    assert len(ledger.entries) == 1


def test_a_finite_machine_is_opened_again_free_by_the_estimator_that_made_it(tmp_path):
    X, y = two_sides(200)
    ledger = SessionLedger()
    wishes = {**GOOD, "mechanism": "auto", "features": 20}
    with KernelClassifier(**wishes, ledger=ledger, force=True).open(tmp_path / "svm.db", X, y) as oracle:
        first = oracle(X[:3])
    with KernelClassifier(**wishes, ledger=ledger, force=True).open(tmp_path / "svm.db", X, y) as oracle:
        assert np.array_equal(oracle(X[:3]), first)
    with pytest.raises(UsageError, match="The store holds another release: the "):
        KernelClassifier(**{**wishes, "epsilon": 3.0}, ledger=ledger, force=True).open(tmp_path / "svm.db", X, y)
    assert len(ledger.entries) == 1

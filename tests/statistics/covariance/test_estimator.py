"""The covariance function end to end: what it estimates, what it costs, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import refused
from sklearn.base import clone

import dpfda
from dpfda.bases import as_domain, cosine, mercer
from dpfda.errors import BudgetExceeded, CannotMeetBudget, UsageError
from dpfda.kernels import Matern
from dpfda.ledger import SessionLedger
from dpfda.mechanisms import LaplaceProcess, SeededRandomness
from dpfda.mechanisms.table import names_for
from dpfda.planning.request import Request
from dpfda.privacy import Budget
from dpfda.statistics.covariance.plan import lead_steps, plan_moments

T = np.linspace(0, 1, 41)
RNG = np.random.default_rng(11)
SCORES = RNG.uniform(-1, 1, size=(4000, 2)) * [0.5, 0.25]
SHAPES = np.stack([np.ones(41), np.sqrt(2) * np.cos(np.pi * T)])
CURVES = 3.0 + 0.2 * T + SCORES @ SHAPES
TRUTH = SHAPES.T @ np.diag([0.25 / 3, 0.0625 / 3]) @ SHAPES  # of uniform scores


def estimator(**changes):
    known = {"epsilon": 1.0, "delta": 0.0, "bound": 1.0, "centre": 3.0, "randomness": SeededRandomness(1)}
    return dpfda.CovarianceFunction(**known | changes, force=True)


def distance(release):
    """Root mean square distance to the true covariance over the square."""
    return float(np.sqrt(np.mean((release(T, T) - TRUTH) ** 2)))


@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize(
    ("mechanism", "delta", "most"),
    [
        ("auto", 0.0, 0.02),
        ("wishart", 0.0, 0.02),
        ("k-norm", 0.0, 0.02),
        ("laplace", 0.0, 0.03),
        ("auto", 1e-6, 0.02),
        ("gaussian", 1e-6, 0.02),
        ("iclp-qr", 0.0, 0.09),
    ],
)
def test_every_mechanism_finds_the_covariance_of_many_curves(mechanism, delta, most, neighbours):
    """The true covariance has root mean square 0.09: all but the papers' process come within a fifth of it."""
    est = estimator(mechanism=mechanism, delta=delta, neighbours=neighbours, planned_n=4000)
    release = est.fit(CURVES, grid=T).release_
    assert distance(release) < most
    card = release.certificate
    assert card.epsilon == 1.0
    assert card.delta == (delta if est.plan_.design.name == "gaussian" else 0.0)
    assert card.n_is_noisy == (neighbours == "add-or-remove-one")
    assert abs(card.n - 4000) < 200


def test_the_mean_is_released_along_with_it_and_subtracted():
    release = estimator().fit(CURVES, grid=T).release_
    assert np.abs(release.mean(T) - (3.0 + 0.2 * T)).max() < 0.1
    around = estimator(mean="centre").fit(CURVES, grid=T).release_
    assert around.lead == 0
    assert np.allclose(around.mean(T), 3.0)
    # Around the centre the squared mean is part of the second moment.
    assert float(np.mean(around(T, T) - release(T, T))) == pytest.approx(0.01, abs=0.008)


def test_a_mean_release_serves_as_the_centre():
    mean = dpfda.MeanFunction(epsilon=1.0, delta=0.0, bound=1.0, centre=3.0, randomness=SeededRandomness(2))
    paid = mean.fit(CURVES, grid=T).release_
    release = estimator(centre=paid, mean="centre").fit(CURVES, grid=T).release_
    assert distance(release) < 0.02
    assert dict(release.certificate.chosen)["subtracted mean"] == "the centre"
    assert dict(release.certificate.chosen)["centre"] == (
        "the mean function of 'unnamed', pure epsilon = 1, whose cost adds to this one"
    )


def test_the_card_says_when_noise_will_hide_everything():
    faint = estimator(epsilon=0.1).fit(CURVES[:20], grid=T).release_
    assert any("Next to nothing could be seen" in warning for warning in faint.certificate.warnings)
    assert not estimator().fit(CURVES, grid=T).release_.certificate.warnings[1:]  # but for the seed


def test_a_person_with_many_curves_counts_once():
    ids = np.repeat(np.arange(500), 8)
    release = estimator(epsilon=4.0, n=500).fit(CURVES, grid=T, units=ids).release_
    averaged = CURVES.reshape(500, 8, 41).mean(axis=1)
    direct = estimator(epsilon=4.0).fit(averaged, grid=T).release_
    assert release.certificate.n == 500
    # Up to the rounding of averages the same integers, and the same seeded noise.
    assert np.allclose(release.noisy, direct.noisy, atol=1e-3)


def test_the_answer_does_not_depend_on_order_batches_or_threads():
    one = estimator().fit(CURVES, grid=T).release_
    other = estimator(reading=dpfda.Reading(batch_rows=17, workers=3)).fit(CURVES[::-1], grid=T).release_
    assert (one.noisy == other.noisy).all()


def test_the_ledger_is_charged_once_and_before_the_records():
    ledger = SessionLedger(cap=Budget(1.5, 1e-6))
    est = estimator(ledger=ledger, delta=1e-6).fit(CURVES, grid=T)
    assert [entry.what for entry in ledger.entries] == [f"covariance function, {est.plan_.design.name}"]
    with pytest.raises(BudgetExceeded):
        est.fit(CURVES, grid=T)


def test_pure_noise_spends_no_delta():
    ledger = SessionLedger(cap=Budget(1.0, 1e-6))
    release = estimator(ledger=ledger, delta=1e-6, mechanism="wishart").fit(CURVES, grid=T).release_
    assert ledger.entries[0].budget == Budget(1.0, 0.0)
    assert release.certificate.guarantee == "pure epsilon = 1"


@pytest.mark.parametrize(
    "curves",
    [
        np.full((50, 41), 3.0),
        np.full((50, 41), np.nan),
        np.full((50, 41), 1e300),
        CURVES[:1],
        np.tile(CURVES[:1], (30, 1)),
    ],
    ids=["constant", "empty", "huge", "a single curve", "the same curve"],
)
def test_odd_data_give_a_finite_positive_semidefinite_function(curves):
    release = estimator().fit(curves, grid=T).release_
    values = release(T, T)
    assert np.isfinite(values).all()
    assert np.linalg.eigvalsh(values).min() > -1e-9
    assert np.isfinite(release.components(1)(T)).all()


def test_curves_of_a_single_value_have_a_variance():
    """A basis of one function, a matrix of one entry."""
    values = np.random.default_rng(3).uniform(-1, 1, size=(5000, 1))
    release = (
        dpfda.CovarianceFunction(epsilon=1.0, delta=0.0, bound=1.0, randomness=SeededRandomness(1), force=True)
        .fit(values, grid=[0.5])
        .release_
    )
    assert release.basis.size == 1
    assert release(0.5, 0.5) == pytest.approx(1 / 3, abs=0.05)


def test_surfaces_have_covariances_too():
    axis = np.linspace(0, 1, 6)
    grid = np.stack([side.ravel() for side in np.meshgrid(axis, axis, indexing="ij")], axis=1)
    values = np.random.default_rng(4).uniform(-1, 1, size=(3000, 1)) * np.ones(36)
    est = dpfda.CovarianceFunction(
        epsilon=2.0, delta=0.0, bound=1.0, domain=[(0, 1), (0, 1)], randomness=SeededRandomness(1), force=True
    )
    release = est.fit(values, grid=grid).release_
    assert release(grid[:3], grid[5:7]).shape == (3, 2)
    assert release(grid[:1], grid[7:8])[0, 0] == pytest.approx(1 / 3, abs=0.1)


def test_it_is_a_scikit_learn_estimator():
    est = estimator(size=4)
    assert clone(est).get_params()["size"] == 4
    assert clone(est).get_params().keys() == est.get_params().keys()


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        (
            {"mean": "sample"},
            UsageError,
            "mean must be None or 'joint', to release it along with second moments, or 'centre'",
        ),
        ({"mean": "centre", "neighbours": "add-or-remove-one", "planned_n": 9}, UsageError, "mean must be 'joint'"),
        ({"mechanism": "frl"}, UsageError, "Unknown mechanism 'frl' for second moments. Known are 'auto', 'gaussian'"),
        ({"mechanism": "gaussian"}, CannotMeetBudget, "it needs delta > 0"),
        ({"bound": None}, UsageError, "A covariance function needs exactly one of bound and limits"),
        (
            {"mechanism": LaplaceProcess(bandwidth=0.1)},
            UsageError,
            "bandwidth is a setting of LaplaceProcess",
        ),
        ({"basis": "bernstein"}, UsageError, "Second moments need an orthonormal basis, and Bernstein is none."),
        ({"size": 0}, UsageError, "size must be a whole number of functions, at least 1, got 0."),
        ({"smoothing": "lowess"}, UsageError, "Unknown smoothing 'lowess'"),
    ],
    ids=["mean", "count", "mechanism", "budget", "bound", "setting", "basis", "size", "smoothing"],
)
def test_mistakes_are_refused_before_the_charge(changes, error, text):
    ledger = SessionLedger(cap=Budget(10.0, 1e-3))
    with pytest.raises(error) as refusal:
        estimator(ledger=ledger, **changes).fit(CURVES, grid=T)
    assert text in str(refusal.value)
    assert not ledger.entries


# The plan.


def request(n=400, epsilon=1.0, delta=0.0, **more):
    return Request(
        n=n,
        budget=Budget(epsilon, delta),
        bound=2.0,
        domain=as_domain((0, 1)),
        neighbours="replace-one",
        grid_size=60,
        **more,
    )


def test_more_units_are_given_more_functions_and_less_error():
    plans = [plan_moments(request(n=n), lead=True) for n in (50, 500, 5000, 50_000)]
    sizes = [plan.basis.size for plan in plans]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]
    errors = [plan.predict() for plan in plans]
    assert errors == sorted(errors, reverse=True)
    angles = [plan.subspace_error(1) for plan in plans]
    assert angles == sorted(angles, reverse=True)


def test_small_matrices_get_k_norm_noise_and_larger_ones_wishart_noise():
    """On two functions the noise has 30 against 36 squared units; from four on Wishart noise has less."""
    assert plan_moments(request(size=2), lead=False).design.name == "k-norm"
    assert plan_moments(request(size=8), lead=False).design.name == "wishart"


def test_the_plan_has_the_noise_of_the_release():
    for name in names_for("covariance"):
        delta = 1e-6 if name in ("gaussian", "gp") else 0.0
        est = estimator(mechanism=name, delta=delta).fit(CURVES, grid=T)
        assert est.plan_.noise.name == est.release_.noise.name
        assert np.allclose(est.plan_.noise.variances, est.release_.noise.variances, rtol=1e-9)
        assert est.plan_.noise_rms == pytest.approx(est.release_.certificate.noise_rms)


def test_the_weight_of_the_mean_is_where_the_error_is_least():
    """With noise (1 + w^2) times as large, the error is `(1 + w^2)^2 (size + 1/w^2)`."""
    for size in (1, 5, 40):
        squares = np.geomspace(1e-3, 3, 20_001)
        errors = (1 + squares) ** 2 * (size + 1 / squares)
        assert lead_steps(size) / 2**16 == pytest.approx(np.sqrt(squares[errors.argmin()]), rel=1e-3)


def test_the_table_ranks_all_mechanisms_and_says_why_one_cannot_be_used():
    rows = plan_moments(request(), lead=True).table()
    assert sorted(name for name, _, _ in rows) == sorted(names_for("covariance"))
    known = [error for _, error, _ in rows if error is not None]
    assert known == sorted(known)
    assert {name: note for name, _, note in rows}["gaussian"].startswith("gaussian noise cannot meet")
    assert rows[0][2] == "chosen"


def test_a_plan_can_be_read_and_written():
    plan = plan_moments(request(), lead=True)
    text = plan.text(("file", "scans.csv"))
    assert text.startswith("Plan for second moments of 400 units at (epsilon = 1, delta = 0)")
    assert "scans.csv" in text
    assert str(plan) in text or plan.text() == str(plan)
    data = plan.to_dict()
    assert data["mechanism"] == plan.design.name
    assert data["predicted_rms"] == plan.predict()
    assert "Warning" in plan_moments(request(n=3, epsilon=0.1), lead=True).text()


def test_the_laplace_process_takes_the_basis_of_its_kernel():
    kernel = Matern(1.5, 0.3)
    plan = plan_moments(request(mechanism="iclp-qr", kernel=kernel, eta=1.5, penalty=0.01, size=5), lead=True)
    assert plan.basis == mercer(kernel, (0, 1), 5)
    assert len(plan.design.weights) == 21
    assert max(plan.design.weights) <= 1
    with refused(UsageError, "basis"):
        plan_moments(request(mechanism="iclp-qr", basis=cosine((0, 1), 4)), lead=True)


def test_calibration_is_always_exact():
    with refused(UsageError, "calibration"):
        plan_moments(request(calibration="published"), lead=True)


@pytest.mark.parametrize("k", [None, 1, 2])
def test_few_units_are_given_the_pure_plan_whatever_delta_and_many_gaussian_noise(k):
    few, pure = (plan_moments(request(n=142, delta=delta), lead=True, k=k) for delta in (1e-6, 0.0))
    assert few.spends.pure
    assert (few.design.name, few.basis) == (pure.design.name, pure.basis)
    many = plan_moments(request(n=20_000, delta=1e-6), lead=True, k=k)
    assert many.design.name == "gaussian"
    assert many.spends == Budget(1.0, 1e-6)

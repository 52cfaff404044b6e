"""Principal components end to end: what is estimated, by which way, what it costs, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from refusals import refused
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import dpfda
from dpfda.bases import as_domain, cosine, reinsch
from dpfda.curator import Curator
from dpfda.errors import BudgetExceeded, CannotMeetBudget, UsageError
from dpfda.kernels import Gaussian, Matern
from dpfda.ledger import SessionLedger
from dpfda.mechanisms import ExponentialDraw, Frames, Gibbs, LaplaceProcess, SeededRandomness
from dpfda.planning.request import Request
from dpfda.privacy import Budget
from dpfda.records.memory import from_array
from dpfda.statistics.components.plan import FramesPlan, plan_components, table
from dpfda.statistics.components.summary import Spans
from dpfda.statistics.covariance.plan import MomentsPlan

T = np.linspace(0, 1, 41)
RNG = np.random.default_rng(12)
SHAPES = np.stack([np.ones(41), np.sqrt(2) * np.cos(np.pi * T), np.sqrt(2) * np.cos(2 * np.pi * T)])
SCORES = RNG.uniform(-1, 1, size=(3000, 3)) * [0.6, 0.3, 0.1]
CURVES = SCORES @ SHAPES


def estimator(**changes):
    known = {"n_components": 2, "epsilon": 1.0, "delta": 0.0, "bound": 1.0, "randomness": SeededRandomness(1)}
    return dpfda.FPCA(**known | changes, force=True)


def distance(release, k):
    """Half the squared distance of two projections: at most k."""
    values = release(T) / np.sqrt(41)
    frame = np.linalg.qr(values.T)[0]
    truth = np.linalg.qr(SHAPES[:k].T)[0]
    return k - float(np.sum((frame.T @ truth) ** 2))


@pytest.fixture(autouse=True)
def _short_chains(monkeypatch):
    """Two hundred steps instead of thousands: enough for a test, not for more."""
    monkeypatch.setattr("dpfda.statistics.components.plan.STEPS", 200)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(
    ("mechanism", "delta", "most"),
    [
        ("auto", 0.0, 0.02),
        ("covariance", 1e-6, 0.02),
        ("wishart", 0.0, 0.02),
        ("k-norm", 0.0, 0.05),
        ("exponential", 0.0, 0.12),
        ("gibbs", 0.0, 0.25),
    ],
)
def test_every_way_finds_the_components_of_many_curves(mechanism, delta, most, k):
    size = 6 if mechanism == "gibbs" else None
    est = estimator(mechanism=mechanism, delta=delta, n_components=k, size=size).fit(CURVES, grid=T)
    assert distance(est.release_, k) < most
    values = np.array([component(T) for component in est.components_])
    assert (values == est.release_(T)).all()
    frame = est.release_.frame
    assert np.allclose(frame.T @ frame, np.eye(k), atol=1e-12)
    assert (frame[np.abs(frame).argmax(axis=0), np.arange(k)] > 0).all()
    pure = "nominally epsilon = 1" if mechanism == "gibbs" else "pure epsilon = 1"
    assert est.release_.certificate.guarantee.startswith(pure if est.plan_.spends.pure else "(epsilon = 1")


@pytest.mark.parametrize("base", ["bingham", "projected"])
def test_both_base_measures_and_any_kernel_serve(base):
    est = estimator(n_components=1, mechanism=ExponentialDraw(base=base, kernel=Gaussian(0.3)), size=5)
    release = est.fit(CURVES, grid=T).release_
    assert distance(release, 1) < 0.1
    assert "Gaussian(rho=0.3)" in dict(release.certificate.chosen)["base measure"]
    assert est.plan_.mechanism.base == base


def test_through_a_covariance_the_variances_cost_nothing():
    est = estimator().fit(CURVES, grid=T)
    assert est.explained_variance_ == pytest.approx([0.12, 0.03], abs=0.02)
    assert est.release_.explained_ratio.sum() <= 1 + 1e-12
    assert (np.diff(est.explained_variance_) <= 0).all()
    inner = est.release_.frame.T @ est.covariance_.coordinates @ est.release_.frame
    assert abs(inner[0, 1]) < 1e-9  # scores on them are uncorrelated
    assert est.covariance_.eigenvalues[0] == pytest.approx(est.explained_variance_[0], rel=0.1)


def test_the_exponential_mechanism_has_no_variances_unless_they_are_paid_for():
    ledger = SessionLedger(cap=Budget(1.0, 0.0))
    est = estimator(mechanism="exponential", ledger=ledger).fit(CURVES, grid=T)
    with refused(UsageError, "explained_variance"):
        _ = est.explained_variance_
    assert [entry.budget.epsilon for entry in ledger.entries] == [1.0]


def test_paid_variances_turn_the_components_to_their_axes_and_are_charged_once_with_them():
    ledger = SessionLedger(cap=Budget(2.0, 0.0))
    est = estimator(mechanism="exponential", explained_variance=0.25, epsilon=2.0, ledger=ledger).fit(CURVES, grid=T)
    assert [entry.budget for entry in ledger.entries] == [Budget(2.0, 0.0)]
    assert est.explained_variance_ == pytest.approx([0.12, 0.03], abs=0.03)
    assert distance(est.release_, 2) < 0.1
    # The first component alone is right too: before turning, the frame was in no order.
    first = np.abs(est.components_[0](T) / np.sqrt(41) @ np.ones(41) / np.sqrt(41))
    assert first > 0.95
    card = est.release_.certificate
    assert card.epsilon == 2.0
    assert "epsilon 0.5 of 2" in dict(card.chosen)["variances"]
    # Bounded range for the components, pure epsilon for the variances.
    assert card.rho == pytest.approx(1.5**2 / 8 + 0.5**2 / 2, rel=1e-12)


@pytest.mark.parametrize("epsilon", [3.0, 0.1, np.float16(3), np.float32(0.7)], ids=str)
@pytest.mark.parametrize("mechanism", ["auto", "exponential"])
def test_components_and_variances_together_spend_no_more_than_was_charged(mechanism, epsilon):
    """With many functions and few units the planner takes the exponential mechanism of its own accord."""
    ledger = SessionLedger(cap=Budget(float(epsilon), 0.0))
    wishes = {"mechanism": mechanism, "mean": "centre", "size": 40, "n_components": 1, "explained_variance": 0.3}
    est = estimator(epsilon=epsilon, ledger=ledger, **wishes).fit(CURVES[:40], grid=T)
    (entry,) = ledger.entries
    assert entry.budget.epsilon == float(epsilon)
    assert est.release_.certificate.epsilon == float(epsilon)
    if isinstance(est.plan_, FramesPlan):
        spent = Fraction(est.plan_.spends.epsilon) + Fraction(est.plan_.rest.epsilon)
        assert spent <= Fraction(float(epsilon))
        assert est.plan_.to_dict()["spends"]["epsilon"] == float(epsilon)
    else:
        assert est.plan_.spends.epsilon <= float(epsilon)


def test_the_planner_takes_the_exponential_mechanism_of_its_own_accord_somewhere():
    """Else the test above would not test what it is for."""
    est = estimator(epsilon=3.0, mean="centre", size=40, n_components=1, explained_variance=0.3)
    assert isinstance(est.plan(40, grid_size=41), FramesPlan)


@pytest.mark.parametrize("rho", [0.1, 0.3, 0.5305003335557038, 2.0])
def test_no_kernel_makes_a_release_fail_on_some_data_and_not_on_others(rho):
    """Eigenvalues that are next to nothing are left out by public facts; before, LAPACK's residual decided."""
    t = np.linspace(0, 1, 21)
    for seed in range(3):
        curves = np.random.default_rng(seed).normal(size=(3, 21)) * 3
        est = estimator(n_components=1, mechanism=ExponentialDraw(kernel=Gaussian(rho))).fit(curves, grid=t)
        assert np.isfinite(est.release_(t)).all()
        assert est.plan_.precision.max() <= 1e10


@pytest.mark.parametrize("kind", [dpfda.FPCA, dpfda.CovarianceFunction])
@pytest.mark.parametrize("mechanism", [Gibbs(2, None, 5), Frames(2)], ids=["Gibbs", "Frames"])
def test_a_mechanism_that_draws_frames_is_no_noise_for_moments(kind, mechanism):
    est = kind(epsilon=1.0, delta=0.0, bound=1.0, mechanism=mechanism, size=3, mean="centre")
    with refused(UsageError, "mechanism"):
        est.fit(CURVES, grid=T)


def test_a_chain_is_stamped_whichever_door_it_came_through_and_its_card_promises_nothing_exactly():
    public = estimator(mechanism="gibbs", size=3).facts(from_array(CURVES, T, None))
    curator = Curator(from_array(CURVES, T, None), public, dataset="d")
    mechanism = Gibbs(2, (1.0, 2.0, 3.0), 5)
    release = curator.release(
        Spans(lead=0, k=2), basis=reinsch((0, 1), 3), mechanism=mechanism, budget=Budget(1.0, 0.0)
    )
    card = release.certificate
    assert mechanism.warning in card.warnings
    assert card.guarantee == "nominally epsilon = 1, drawn approximately"
    assert card.sentence == "It was drawn approximately, so this release promises nothing exactly."


def test_two_charges_that_cannot_both_be_paid_leave_the_ledger_untouched():
    ledger = SessionLedger(cap=Budget(0.9, 0.0))
    with pytest.raises(BudgetExceeded):
        estimator(mechanism="exponential", explained_variance=0.2, ledger=ledger).fit(CURVES, grid=T)
    assert not ledger.entries


def test_the_markov_chain_is_stamped_approximate():
    release = estimator(mechanism="gibbs", n_components=1, size=4).fit(CURVES, grid=T).release_
    assert any("approximate" in warning.lower() for warning in release.certificate.warnings)
    assert not any("approximate" in w.lower() for w in estimator().fit(CURVES, grid=T).release_.certificate.warnings)


def test_scores_of_public_curves_are_taken_around_the_mean():
    est = estimator(epsilon=50.0).fit(CURVES + 0.3, grid=T)
    public = 0.3 + np.outer([0.5, -0.5], SHAPES[1])
    scores = est.scores(public, T)
    assert np.abs(scores[:, 1]) == pytest.approx([0.5, 0.5], abs=0.05)
    assert np.abs(scores[:, 0]).max() < 0.05
    assert np.abs(est.release_.curves(scores, T) - public).max() < 0.1


@pytest.mark.parametrize("mechanism", ["auto", "exponential"])
@pytest.mark.parametrize(
    "curves",
    [
        np.zeros((60, 41)),
        np.full((60, 41), np.nan),
        np.tile(0.5 * SHAPES[1], (60, 1)),
        np.concatenate([SHAPES[:2], -SHAPES[:2]] * 20) * 0.5,
        np.full((60, 41), 1e308),
    ],
    ids=["constant", "empty", "of rank one", "tied", "huge"],
)
def test_odd_data_give_orthonormal_components_and_end(curves, mechanism):
    release = estimator(mechanism=mechanism).fit(curves, grid=T).release_
    assert np.allclose(release.frame.T @ release.frame, np.eye(2), atol=1e-12)
    assert np.isfinite(release(T)).all()


def test_an_estimator_that_was_not_fitted_says_so():
    for name in ("components_", "explained_variance_", "explained_variance_ratio_"):
        with pytest.raises(NotFittedError):
            getattr(estimator(), name)


def test_components_that_do_not_stand_out_from_the_noise_say_so():
    """Curves of no variance: what is released is smooth functions, and the card tells."""
    release = estimator(epsilon=0.5).fit(np.zeros((60, 41)), grid=T).release_
    assert not release.seen
    assert any("stands out from the noise" in warning for warning in release.certificate.warnings)
    many = estimator().fit(CURVES, grid=T)
    assert many.release_.seen
    assert not any("stands out" in warning for warning in many.release_.certificate.warnings)
    assert many.explained_variance_ratio_[0] == pytest.approx(0.8, abs=0.1)


def test_as_many_components_as_functions_span_everything():
    for mechanism in ("covariance", "exponential"):
        frame = estimator(mechanism=mechanism, n_components=4, size=4).fit(CURVES, grid=T).release_.frame
        assert np.allclose(frame @ frame.T, np.eye(4), atol=1e-12)


@pytest.mark.parametrize("mechanism", ["auto", "exponential"])
def test_curves_of_one_value_have_one_component(mechanism):
    values = RNG.uniform(-1, 1, size=(200, 1))
    est = estimator(mechanism=mechanism, n_components=1).fit(values, grid=[0.5])
    assert est.components_[0](0.5) == pytest.approx(1.0)
    with refused(UsageError, "n_components"):
        estimator(mechanism=mechanism).fit(values, grid=[0.5])


def test_add_or_remove_one_needs_no_count_for_the_exponential_mechanism_and_is_sharper():
    """The objective only grows when somebody is added: twice the rate for the same epsilon."""
    both = {}
    for neighbours in ("replace-one", "add-or-remove-one"):
        est = estimator(mechanism="exponential", neighbours=neighbours, planned_n=3000).fit(CURVES, grid=T)
        both[neighbours] = est.plan_.rate
    assert "planned for 3000; the number itself is private" in est.release_.certificate.text()
    assert both["add-or-remove-one"] == pytest.approx(2 * both["replace-one"], rel=1e-6)


def test_the_answer_does_not_depend_on_order_or_batches():
    one = estimator(mechanism="exponential").fit(CURVES, grid=T).release_
    other = estimator(mechanism="exponential", reading=dpfda.Reading(batch_rows=13)).fit(CURVES[::-1], grid=T).release_
    assert (one.frame == other.frame).all()


def test_it_is_a_scikit_learn_estimator():
    est = estimator(explained_variance=0.1)
    assert clone(est).get_params()["explained_variance"] == 0.1
    assert dpfda.FPCA(3, epsilon=1.0, delta=0.0, bound=1.0, force=True).n_components == 3


MISTAKES = {
    "no component": ({"n_components": 0}, UsageError, "n_components must be a whole number, at least 1, got 0."),
    "half a component": (
        {"n_components": 1.5},
        UsageError,
        "n_components must be a whole number, at least 1, got 1.5.",
    ),
    "more than units": (
        {"n_components": 3001},
        UsageError,
        "n_components must not exceed the number of units: 3000 curves span no more directions, got 3001.",
    ),
    "more than values": ({"n_components": 42}, UsageError, "Curves with 41 values have at most 41 components, got 42."),
    "more than functions": (
        {"n_components": 5, "size": 4},
        UsageError,
        "There can be at most 4 components in a basis of 4 functions, got n_components=5. State size= for more",
    ),
    "more than functions, drawn": (
        {"n_components": 5, "size": 4, "mechanism": "exponential"},
        UsageError,
        "There can be at most 4 components in this basis, got n_components=5.",
    ),
    "mechanism": (
        {"mechanism": "svd"},
        UsageError,
        "Unknown mechanism 'svd' for principal components. Known are 'auto'",
    ),
    "mean": ({"mechanism": "exponential", "mean": "joint"}, UsageError, "mechanism='exponential' releases no mean"),
    "share": ({"explained_variance": 1.0}, UsageError, "explained_variance is the share of epsilon to spend on it"),
    "share of nothing": (
        {"explained_variance": 0.2, "neighbours": "add-or-remove-one", "planned_n": 9},
        UsageError,
        "explained_variance needs the number of units, which is private under add-or-remove-one.",
    ),
    "a price for nothing": (
        {"explained_variance": 0.2, "mechanism": "wishart"},
        UsageError,
        "explained_variance is a price that only the exponential mechanism asks",
    ),
    "count": (
        {"mean": "centre", "neighbours": "add-or-remove-one", "planned_n": 9, "mechanism": "covariance"},
        UsageError,
        "Under add-or-remove-one the number of units is private and released along with the mean: leave mean out",
    ),
    "delta": ({"mechanism": "gaussian"}, CannotMeetBudget, "it needs delta > 0"),
    "calibration": (
        {"mechanism": LaplaceProcess(calibration="published")},
        UsageError,
        "calibration is a setting of LaplaceProcess for the mean or density, not for the components. Leave it out.",
    ),
    "basis": (
        {"mechanism": "exponential", "basis": "bernstein"},
        UsageError,
        "Second moments need an orthonormal basis, and Bernstein is none.",
    ),
    "bound": ({"bound": None}, UsageError, "A principal component needs exactly one of bound and limits"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_refused_before_the_charge(name):
    changes, error, text = MISTAKES[name]
    ledger = SessionLedger(cap=Budget(10.0, 1e-3))
    with pytest.raises(error) as refusal:
        estimator(ledger=ledger, **changes).fit(CURVES, grid=T)
    assert text in str(refusal.value)
    assert not ledger.entries


# The plan.


def request(n=400, epsilon=1.0, delta=0.0, **more):
    known = {"bound": 2.0, "domain": as_domain((0, 1)), "neighbours": "replace-one", "grid_size": 60}
    return Request(n=n, budget=Budget(epsilon, delta), **known | more)


def test_auto_takes_the_way_with_the_least_predicted_distance():
    for n in (5, 50, 500, 5000):
        best = plan_components(request(n=n), k=1, joint=False, base="bingham")
        rows = [row for row in table(request(n=n), k=1, joint=False, base="bingham") if row[1] is not None]
        assert best.subspace_error(1) == pytest.approx(min(row[1] for row in rows), rel=0.05)
        assert "least predicted distance" in dict(best.reasons)["mechanism"]


def test_distances_fall_with_the_number_of_units_and_stay_below_k():
    for mechanism, kind in (("covariance", MomentsPlan), ("exponential", FramesPlan)):
        errors = []
        for n in (20, 200, 2000, 20_000):
            plan = plan_components(request(n=n, mechanism=mechanism), k=2, joint=False, base="bingham")
            assert isinstance(plan, kind)
            errors.append(plan.subspace_error(2))
        assert errors == sorted(errors, reverse=True)
        assert errors[-1] < 0.5
        assert plan.to_dict()["mechanism"] in ("exponential", "wishart")
        assert plan.text(("file", "scans.csv")).endswith("scans.csv")
        assert str(plan) == plan.text()


def test_the_predicted_distance_of_the_exponential_mechanism_is_what_draws_have():
    """Awan et al., Theorem 3.3: within a fifth on the reference population at n = 4000, by 300 exact draws.

    The population has uncorrelated coordinates here, so the base measure turns nothing: that part is left out.
    """
    from dpfda.mechanisms.frames import draw_frames
    from dpfda.statistics.covariance.errors import reference, subspace_error, turned_by_choice

    plan = plan_components(request(n=4000, mechanism="exponential", size=6), k=1, joint=False, base="bingham")
    spectrum = reference(plan.basis.frequencies) ** 2
    exponent = np.diag(plan.rate * spectrum - plan.precision / 2)
    frames = draw_frames(exponent, 1, 300, randomness=SeededRandomness(3))
    distances = 1 - frames[:, 0, 0] ** 2
    gaps = np.diag(exponent)[:, None] - np.diag(exponent)[None, :]
    angles = np.triu(1 / (2 * np.where(gaps > 0, gaps, np.inf)), 1)
    outside = subspace_error(np.zeros((6, 6)), 1, 1)
    assert subspace_error(angles, 1, 1) - outside == pytest.approx(distances.mean(), rel=0.2)
    assert (turned_by_choice(plan.rate, plan.basis.frequencies, plan.precision)[0, 1:] > angles[0, 1:]).all()


def test_the_table_tells_that_the_exponential_mechanism_knows_no_mean():
    notes = {name: note for name, _, note in table(request(), k=1, joint=True, base="bingham")}
    assert notes["exponential"] == "around the public centre only"
    assert notes["gaussian"].startswith("gaussian noise cannot meet")


def test_a_kernel_is_the_base_measure():
    plan = plan_components(
        request(mechanism="exponential", kernel=Matern(1.5, 0.2), size=7), k=1, joint=False, base="bingham"
    )
    assert plan.precision == pytest.approx(1 / plan.basis.eigenvalues)
    with refused(UsageError, "basis"):
        plan_components(
            request(mechanism="exponential", kernel=Matern(1.5, 0.2), basis=cosine((0, 1), 4)),
            k=1,
            joint=False,
            base="bingham",
        )

"""The private density: what it takes, what it gives, what it costs, and what it refuses."""

from __future__ import annotations

import copy
import os
import pickle

import numpy as np
import pytest
from refusals import refused
from sklearn.base import clone

import dpfda
import dpfda.online
from dpfda.errors import BudgetExceeded, CannotMeetBudget, DataError, ReleaseFailed, UsageError
from dpfda.kernels import Matern
from dpfda.ledger import SessionLedger
from dpfda.mechanisms import GaussianProcess, SeededRandomness
from dpfda.online import FiniteOracle, Oracle
from dpfda.privacy import Budget
from dpfda.privacy.norms import L2, Sensitivity

GOOD = {"epsilon": 1.0, "delta": 1e-6, "domain": (0.0, 1.0)}
PROCESS = {**GOOD, "mechanism": GaussianProcess(kernel=Matern(1.5, 0.2))}
UNIT_CHANGE = Sensitivity(1.0, L2(), "one")


def two_bumps(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.6, rng.normal(0.3, 0.1, n), rng.normal(0.7, 0.1, n))


def seeded(**wishes):
    return dpfda.DensityFunction(**{**GOOD, **wishes}, randomness=SeededRandomness(1), force=True)


# What it gives.


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_fit_gives_a_proper_density_near_the_truth(delta):
    points = two_bumps(20_000)
    release = seeded(delta=delta).fit(points).release_
    outside = np.mean((points < 0) | (points > 1))
    t = np.linspace(0, 1, 401)
    truth = (0.6 * np.exp(-0.5 * ((t - 0.3) / 0.1) ** 2) + 0.4 * np.exp(-0.5 * ((t - 0.7) / 0.1) ** 2)) / (
        0.1 * np.sqrt(2 * np.pi)
    )
    assert (release(t) >= 0).all()
    assert release.integral() == pytest.approx(1 - outside, abs=1e-3)
    assert release.integral() == release.inside < 1
    assert np.mean((release(t) - truth) ** 2) < 0.01


def test_units_of_the_domain_are_those_of_the_density():
    release = seeded(domain=(0.0, 100.0), outside="edge").fit(100 * two_bumps(20_000)).release_
    assert release.integral(0, 100) == pytest.approx(1.0, abs=1e-9)
    assert release(30.0) == pytest.approx(0.6 / (10 * np.sqrt(2 * np.pi)), rel=0.15)


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace", "k-norm", "gp", "sobolev", "iclp-qr", "frl", "bernstein"])
def test_every_named_mechanism_releases_a_density_with_its_name_on_the_card(mechanism):
    release = seeded(mechanism=mechanism).fit(two_bumps(500)).release_
    assert release.certificate.mechanism == mechanism
    assert release.integral() == pytest.approx(1.0, abs=1e-9)
    assert release.certificate.delta == (1e-6 if mechanism in ("gaussian", "gp", "sobolev") else 0.0)


def test_a_full_bandwidth_matrix_is_a_named_choice_in_the_plane():
    rng = np.random.default_rng(0)
    points = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 3000)
    matrix = [[0.1, 0.06], [0.06, 0.1]]
    release = seeded(domain=[(-4, 4), (-4, 4)], mechanism=GaussianProcess(bandwidth=matrix)).fit(points).release_
    assert release([[0.7, 0.7]])[0] > 2 * release([[0.7, -0.7]])[0]


def test_counts_and_expanded_rows_have_the_same_law_and_the_same_seed_the_same_release():
    points, counts = np.array([0.1, 0.4, 0.9]), np.array([300, 20, 1])
    one = seeded().fit(points, counts=counts).release_
    two = seeded().fit(np.repeat(points, counts)).release_
    assert np.array_equal(one.noisy, two.noisy)
    assert (one.certificate.unit, one.certificate.n) == ("person", 321)
    assert "each row stands for so many people" in dict(one.certificate.chosen)["counts"]


def test_a_person_with_several_points_counts_once():
    points, who = [0.1, 0.2, 0.9, 0.9], ["a", "a", "b", "c"]
    release = seeded(edges=[0, 0.5, 1], domain=None, epsilon=1e6, n=3).fit(points, units=who).release_
    assert release.certificate.n == 3
    assert release.raw([0.25, 0.75]) == pytest.approx([2 / 3, 4 / 3], abs=1e-3)


def test_edges_keep_bins_apart():
    release = (
        seeded(edges=[0, 1, 5, 105], domain=None, epsilon=1e6, delta=0.0).fit([0, 1, 5], counts=[1, 1, 2]).release_
    )
    assert release.certificate.domain == ((0.0, 105.0),)
    assert release.raw([0.5, 3.0, 50.0]) == pytest.approx([0.25, 0.25 / 4, 0.5 / 100], rel=1e-3)


def test_under_add_or_remove_one_the_number_of_units_is_noisy_too():
    release = seeded(neighbours="add-or-remove-one", planned_n=2000).fit(two_bumps(1500)).release_
    assert release.count is not None
    assert release.n == pytest.approx(1500, abs=150)
    assert release.certificate.n_is_noisy


def test_synthetic_records_have_the_released_distribution_and_a_seed_repeats_them():
    est = seeded().fit(two_bumps(20_000))
    drawn = est.sample(20_000, seed=3)
    assert np.array_equal(drawn, est.sample(20_000, seed=3))
    assert np.mean(drawn < 0.5) == pytest.approx(float(est.release_.distribution(0.5)), abs=0.02)
    assert not np.array_equal(est.sample(5), est.sample(5))


def test_scores_are_logarithms_of_the_density():
    est = seeded().fit(two_bumps(1000))
    assert est.score_samples([0.3, 0.5]) == pytest.approx(np.log(est.release_([0.3, 0.5])))


def test_a_release_saves_and_loads(tmp_path):
    release = seeded().fit(two_bumps(1000)).release_
    back = dpfda.load(release.save(tmp_path / "density.json"))
    assert np.array_equal(back(np.linspace(0, 1, 9)), release(np.linspace(0, 1, 9)))


# What it costs, and when.


def test_the_ledger_is_charged_once():
    ledger = SessionLedger()
    dpfda.DensityFunction(**GOOD, ledger=ledger, force=True).fit(two_bumps(100))
    (entry,) = ledger.entries
    assert entry.what.startswith("density, ")
    assert entry.budget.epsilon == 1.0


def test_pure_noise_spends_no_delta():
    ledger = SessionLedger()
    dpfda.DensityFunction(**{**GOOD, "mechanism": "laplace"}, ledger=ledger, force=True).fit(two_bumps(100))
    assert ledger.entries[0].budget == Budget(1.0, 0.0)


def test_a_failure_after_the_charge_is_the_constant_error(monkeypatch):
    def fail(*arguments, **keywords):
        raise RuntimeError("a private value")

    ledger = SessionLedger()
    monkeypatch.setattr("dpfda.statistics.density.summary.cell_masses", fail)
    with pytest.raises(ReleaseFailed) as caught:
        dpfda.DensityFunction(**GOOD, ledger=ledger, force=True).fit(two_bumps(100))
    assert "private value" not in str(caught.value)
    assert caught.value.__context__ is None
    assert len(ledger.entries) == 1


def test_a_bought_bandwidth_is_charged_with_the_density_and_stands_on_its_card():
    ledger = SessionLedger()
    est = dpfda.DensityFunction(
        epsilon=1.0,
        delta=1e-6,
        domain=(0.0, 100.0),
        mechanism=GaussianProcess(bandwidth="private-iqr"),
        bandwidth_epsilon=0.5,
        ledger=ledger,
        force=True,
    ).fit(np.random.default_rng(0).normal(50, 10, 4000))
    assert [(entry.what, entry.budget.epsilon) for entry in ledger.entries] == [("density, gp", 1.5)]
    # Scott's rule for a normal law: (4 / (3 n))^(1/5) sigma = 2.0.
    assert est.bandwidth_choice_.widths[0] == pytest.approx(2.0, rel=0.2)
    card = est.release_.certificate
    plain = (
        seeded(domain=(0.0, 100.0), mechanism=GaussianProcess(bandwidth=2.0))
        .fit(np.full(4000, 50.0))
        .release_.certificate
    )
    assert (card.epsilon, card.delta) == (1.5, 1e-6)
    assert card.rho == pytest.approx(plain.rho + 0.5**2 / 8)
    assert card.attacker_power == pytest.approx(plain.attacker_power * np.exp(0.5))
    assert "private interquartile range" in dict(card.chosen)["bandwidth"]


def test_a_budget_without_room_for_both_refuses_both():
    ledger = SessionLedger(cap=Budget(1.2, 1e-5))
    est = dpfda.DensityFunction(
        **{**GOOD, "mechanism": GaussianProcess(bandwidth="private-iqr")},
        bandwidth_epsilon=0.5,
        ledger=ledger,
        force=True,
    )
    with pytest.raises(BudgetExceeded):
        est.fit(two_bumps(100))
    assert not ledger.entries


# One charge, one noise.


def test_a_process_is_charged_at_the_fit_and_given_out_once_as_a_whole():
    ledger = SessionLedger()
    est = dpfda.DensityFunction(**PROCESS, ledger=ledger, force=True).fit(two_bumps(300))
    assert len(ledger.entries) == 1
    first = est.release_
    assert est.release_ is first
    with est.open() as oracle:
        assert isinstance(oracle, FiniteOracle)
        assert oracle([0.3])[0] == first([0.3])[0]
    assert len(ledger.entries) == 1


def test_a_process_that_was_opened_has_no_release_and_is_not_opened_twice(tmp_path):
    est = dpfda.DensityFunction(**PROCESS, force=True).fit(two_bumps(300))
    with est.open(f"sqlite:///{tmp_path}/oracle.db") as oracle:
        assert isinstance(oracle, Oracle)
        oracle(0.3)
    with pytest.raises(UsageError, match="another version of the same function would be a second release"):
        est.release_  # noqa: B018
    with pytest.raises(UsageError, match="given out already"):
        est.open(f"sqlite:///{tmp_path}/other.db")


def test_a_store_that_belongs_to_another_release_leaves_the_fit_as_it_was(tmp_path):
    store = f"sqlite:///{tmp_path}/oracle.db"
    dpfda.DensityFunction(**{**PROCESS, "epsilon": 2.0}, force=True).fit(two_bumps(300)).open(store).close()
    est = dpfda.DensityFunction(**PROCESS, force=True).fit(two_bumps(300))
    with pytest.raises(UsageError, match="belongs to another release"):
        est.open(store)
    with est.open(f"sqlite:///{tmp_path}/other.db") as oracle:
        assert oracle(0.5).shape == (1,)


def test_a_store_of_another_column_or_another_epsilon_is_refused_by_name(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"age": two_bumps(300), "height": two_bumps(300, 1)})
    path = tmp_path / "oracle.db"
    dpfda.DensityFunction(**PROCESS, force=True).open(path, frame[["age"]]).close()
    with pytest.raises(UsageError, match='columns: "age" there, "height" here'):
        dpfda.DensityFunction(**PROCESS, force=True).open(path, frame[["height"]])
    with pytest.raises(UsageError, match=r"epsilon: 1\.0 there, 2\.0 here"):
        dpfda.DensityFunction(**{**PROCESS, "epsilon": 2.0}, force=True).open(path, frame[["age"]])


def test_points_open_a_store_again_free_and_a_new_one_for_its_price(tmp_path):
    ledger, store, points = SessionLedger(), f"sqlite:///{tmp_path}/oracle.db", two_bumps(300)
    asked = np.linspace(0, 1, 7)
    with dpfda.DensityFunction(**PROCESS, ledger=ledger, force=True).open(store, points) as oracle:
        first = oracle(asked)
    assert len(ledger.entries) == 1
    with dpfda.DensityFunction(**PROCESS, ledger=ledger, force=True).open(store, points) as oracle:
        assert np.array_equal(oracle(asked[::-1])[::-1], first)
        oracle(0.123)
    assert len(ledger.entries) == 1
    with dpfda.open_store(store) as oracle:
        assert np.array_equal(oracle(asked), first)


def test_the_default_is_kept_in_a_store_as_a_whole_and_opened_again_free(tmp_path):
    ledger, store, points = SessionLedger(), f"sqlite:///{tmp_path}/oracle.db", two_bumps(300)
    est = dpfda.DensityFunction(**GOOD, ledger=ledger, force=True)
    with est.open(store, points) as oracle:
        first = oracle([0.1, 0.6])
    with clone(est).open(store, points) as oracle:
        assert np.array_equal(oracle([0.1, 0.6]), first)
    assert len(ledger.entries) == 1
    with pytest.raises(UsageError, match="The store holds another release: the density of 'unnamed', "):
        clone(est).set_params(epsilon=2.0).open(store, points)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda est: pickle.loads(pickle.dumps(est))])
def test_copies_of_a_fit_that_waits_hold_no_records(duplicate):
    est = dpfda.DensityFunction(**PROCESS, force=True).fit(two_bumps(300))
    other = duplicate(est)
    assert not hasattr(other, "release_")
    assert est.release_.integral() == pytest.approx(1.0, abs=1e-9)


def test_a_forked_process_does_not_get_a_noise_of_its_own():
    est = dpfda.DensityFunction(**PROCESS, force=True).fit(two_bumps(300))
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        told = b"drawn"
        try:
            est.release_  # noqa: B018
        except UsageError:
            told = b"refused"
        os.write(write, told)
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100) == b"refused"
    assert est.release_.integral() == pytest.approx(1.0, abs=1e-9)


def test_an_interruption_while_a_store_is_opened_leaves_no_second_noise(tmp_path, monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    est = dpfda.DensityFunction(**PROCESS, force=True).fit(two_bumps(300))
    monkeypatch.setattr(Oracle, "refresh", interrupted)
    with pytest.raises(KeyboardInterrupt):
        est.open(f"sqlite:///{tmp_path}/oracle.db")
    with pytest.raises(UsageError, match="given out already"):
        est.release_  # noqa: B018
    with pytest.raises(UsageError, match="given out already"):
        est.open(f"sqlite:///{tmp_path}/other.db")


def test_a_store_that_vanishes_while_it_is_opened_again_is_not_made_anew_for_nothing(tmp_path, monkeypatch):
    path, ledger, points = tmp_path / "oracle.db", SessionLedger(), two_bumps(300)
    est = dpfda.DensityFunction(**PROCESS, ledger=ledger, force=True)
    est.open(path, points).close()
    honest = dpfda.online.check_store

    def vanishing(*arguments, **keywords):
        honest(*arguments, **keywords)
        for file in tmp_path.iterdir():
            file.unlink()

    monkeypatch.setattr("dpfda.online.check_store", vanishing)
    with pytest.raises(DataError, match=r"is gone\. Nothing was charged"):
        est.open(path, points)
    assert len(ledger.entries) == 1


def test_a_fit_that_waits_holds_no_records_that_could_change():
    points = two_bumps(300)
    est = dpfda.DensityFunction(**{**PROCESS, "epsilon": 1000.0}, force=True).fit(points)
    points[:] = 0.99
    assert est.release_(0.3) > 1.0


@pytest.mark.parametrize("opened", ["after a fit", "with points"])
@pytest.mark.parametrize(
    "wishes",
    [
        pytest.param({"kernel": Matern(1.5, 0.2)}, id="matern", marks=pytest.mark.audit),  # many functions: slow
        pytest.param({"bandwidth": 0.05}, id="gaussian"),
    ],
)
def test_an_oracle_has_the_noise_of_the_whole_release_under_either_calibration(opened, wishes):
    """One calibration, one noise, whichever way it is given out; and the card says which one was used."""
    points, deviations = two_bumps(300), {}
    for calibration in ("exact", "published"):
        est = dpfda.DensityFunction(**GOOD, mechanism=GaussianProcess(**wishes, calibration=calibration))
        whole = est.fit(points).release_.certificate
        oracle = est.fit(points).open() if opened == "after a fit" else est.open(None, points)
        with oracle:
            card = oracle.certificate
        # The same bound and factor for both; the basis of the whole leaves out a little of the kernel, and its noise
        # covers the number of units outside the domain as well, for which it grows by a twentieth.
        assert 0.9 < whole.noise_rms / card.noise_rms < 1.06
        assert ("calibration" in dict(card.chosen)) is (calibration == "published")
        assert ("the published bound is taken" in card.sensitivity_because) is (calibration == "published")
        deviations[calibration] = card.noise_rms
    classical = np.sqrt(2 * np.log(2 / 1e-6))
    exact = dpfda.privacy.calibrate(dpfda.mechanisms.Gaussian(), UNIT_CHANGE, Budget(1.0, 1e-6))
    assert deviations["published"] / deviations["exact"] == pytest.approx(classical / exact, rel=1e-6)


def test_a_store_of_one_calibration_is_not_opened_with_the_other(tmp_path):
    store, points = f"sqlite:///{tmp_path}/answers.db", two_bumps(300)
    published = {**GOOD, "mechanism": GaussianProcess(kernel=Matern(1.5, 0.2), calibration="published")}
    dpfda.DensityFunction(**published).open(store, points).close()
    with pytest.raises(UsageError, match="another release"):
        dpfda.DensityFunction(**PROCESS).open(store, points)
    dpfda.DensityFunction(**published).open(store, points).close()


def test_online_too_the_published_scale_is_proven_up_to_epsilon_one_only():
    published = GaussianProcess(kernel=Matern(1.5, 0.2), calibration="published")
    with refused(CannotMeetBudget, "epsilon", 2.0):
        dpfda.DensityFunction(**{**GOOD, "epsilon": 2.0}, mechanism=published).open(None, two_bumps(50))


def test_answers_online_lie_around_the_kernel_estimate():
    """Noise of a known deviation around a private function; at 5 deviations, 1e-5 over all points."""
    points = two_bumps(2000)
    with dpfda.DensityFunction(**PROCESS, force=True).fit(points).open() as oracle:
        t = np.linspace(0, 1, 21)
        kernel = Matern(1.5, 0.2)
        clipped = np.clip(points, 0, 1)[:, None]
        exact = kernel(t[:, None], clipped).mean(axis=1) / (4 * 0.2 / np.sqrt(3))
        assert np.abs(oracle(t) - exact).max() < 5 * oracle.certificate.noise_rms + 0.01


# What it refuses.

REFUSED = {
    "no domain": ({"domain": None}, "exactly one of domain and edges"),
    "domain and edges": ({"edges": [0, 1]}, "exactly one of domain and edges"),
    "unknown mechanism": ({"mechanism": "wavelet"}, "Unknown mechanism 'wavelet' for a density. Known are 'auto'"),
    "an eta that is not used": ({"mechanism": GaussianProcess(eta=2.0)}, "eta is a setting of GaussianProcess for the"),
    "no size": ({"size": 0}, "size must be a whole number of cells, at least 2, got 0"),
    "one cell": (
        {"size": 1},
        "^size must be a whole number of cells, at least 2, got 1. One cell holds everybody, whoever they are. Leave "
        "it out, or take 2 to 1024: noise hides what is finer.$",
    ),
    "one cell, normal noise": ({"size": 1, "mechanism": "gaussian"}, "at least 2, got 1. One cell holds everybody"),
    "edges of one cell": (
        {"domain": None, "edges": [0, 1]},
        r"^edges must make at least 2 cells, got \[0, 1\]. One cell holds everybody, whoever they are. Add an edge ",
    ),
    "one polynomial": ({"size": 1, "mechanism": "bernstein"}, "whole number of functions, at least 2, got 1"),
    "no functions": ({"size": 0, "mechanism": "gp"}, "whole number of functions, at least 1, got 0"),
    "edges of a process": ({"domain": None, "edges": [0, 1], "mechanism": "gp"}, "With edges the density is constant"),
    "a bandwidth by another name": (
        {"mechanism": GaussianProcess(bandwidth="scott")},
        "got 'scott' with bandwidth_epsilon",
    ),
    "a bandwidth without a price": ({"mechanism": GaussianProcess(bandwidth="private-iqr")}, "bandwidth_epsilon=None"),
    "a price without a bandwidth": ({"mechanism": "gp", "bandwidth_epsilon": 0.1}, "goes with bandwidth='private-iqr'"),
    "a smoothing by another name": ({"smoothing": "wavelet"}, "smoothing"),
    "no epsilon": ({"epsilon": 0.0}, "epsilon must be a positive finite number"),
    "neighbours": ({"neighbours": "friends"}, "neighbours must be one of"),
    "no planned n": ({"neighbours": "add-or-remove-one"}, "State a public guess, e.g. planned_n=5000"),
    "too many answers": ({"mechanism": GaussianProcess(kernel=Matern(1.5, 0.1), answers=2**40)}, "number of answers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_refused_before_the_charge(case):
    wishes, text = REFUSED[case]
    ledger = SessionLedger()
    with pytest.raises(UsageError, match=text):
        dpfda.DensityFunction(**{**GOOD, **wishes}, ledger=ledger, force=True).fit(two_bumps(50))
    assert not ledger.entries


def test_gaussian_noise_without_delta_is_refused():
    with refused(CannotMeetBudget, "delta", 0.0):
        dpfda.DensityFunction(**{**GOOD, "delta": 0.0, "mechanism": "gp"}, force=True).fit(two_bumps(50))


@pytest.mark.parametrize("points", [np.empty(0), []], ids=["array", "list"])
def test_no_points_are_refused(points):
    with pytest.raises(DataError, match="There are no points: a density needs at least one"):
        dpfda.DensityFunction(**GOOD, force=True).fit(points)


def test_a_bought_bandwidth_cannot_be_bought_again_at_a_store(tmp_path):
    est = dpfda.DensityFunction(
        **{**GOOD, "mechanism": GaussianProcess(bandwidth="private-iqr")}, bandwidth_epsilon=0.5, force=True
    )
    with refused(UsageError, "bandwidth"):
        est.open(f"sqlite:///{tmp_path}/oracle.db", two_bumps(50))


def test_before_a_fit_there_is_no_release():
    with pytest.raises(AttributeError, match="fit the estimator first"):
        dpfda.DensityFunction(**GOOD, force=True).release_  # noqa: B018


# The plan.


def test_a_plan_reads_nothing_and_says_what_a_fit_will_do():
    est = dpfda.DensityFunction(**GOOD, force=True)
    plan = est.plan(1000)
    fitted = est.fit(two_bumps(1000))
    assert fitted.plan_.noise == plan.noise
    assert fitted.release_.noise.scales == pytest.approx(plan.noise.scales, rel=1e-5)
    assert fitted.release_.certificate.noise_rms == pytest.approx(plan.noise_rms, rel=1e-5)
    assert plan.text().startswith("Plan for a density of 1000 units at (epsilon = 1, delta = 1e-06)")
    assert plan.to_dict()["mechanism"] == plan.design.name


@pytest.mark.parametrize("n", [0, -1, 1.5, True, 2**60])
def test_a_plan_needs_a_number_of_units(n):
    with refused(UsageError, "n", n):
        dpfda.DensityFunction(**GOOD).plan(n)


@pytest.mark.audit
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "gp"])
def test_the_expected_error_is_that_of_fits_to_the_reference_density(mechanism):
    """Sixteen seeded fits on samples of it: their root mean square within a third of the plan's, which has four."""
    wishes = {"domain": (-4.0, 4.0), "mechanism": mechanism}
    plan = seeded(**wishes).plan(2000)
    t = np.linspace(-4, 4, 801)
    truth = np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)
    squares = [
        np.mean(
            (
                dpfda.DensityFunction(**{**GOOD, **wishes}, randomness=SeededRandomness(seed), force=True)
                .fit(np.random.default_rng(seed).normal(size=2000))
                .release_(t)
                - truth
            )
            ** 2
        )
        for seed in range(16)
    ]
    assert plan.error == pytest.approx(np.sqrt(np.mean(squares)), rel=0.33)
    assert "root mean square with sampling and smoothing, for a normal law" in plan.text()


def test_a_plan_ranks_mechanisms_by_the_error_to_expect_and_says_why_some_cannot_be_used():
    rows = dpfda.DensityFunction(**{**GOOD, "delta": 0.0}).plan(1000).table()
    names = [name for name, _, _ in rows]
    assert set(names) == {"gaussian", "laplace", "gp", "sobolev", "iclp-qr", "frl", "bernstein"}
    errors = {name: error for name, error, _ in rows}
    assert errors["laplace"] < errors["iclp-qr"] / 3
    assert errors["gp"] is None
    assert "needs delta > 0" in {name: note for name, _, note in rows}["gp"]


def test_a_plan_warns_where_little_could_be_seen():
    assert (
        "Next to nothing could be seen"
        in dpfda.DensityFunction(**{**GOOD, "epsilon": 0.01, "delta": 0.0}).plan(50).warnings[0]
    )


def test_between_equal_edges_too_the_density_is_constant():
    points = np.r_[np.full(499, 20.0), 80.0]
    release = seeded(domain=None, edges=[0, 50, 100], epsilon=1000.0, delta=0.0).fit(points).release_
    assert release.integral(50, 100) == pytest.approx(0.002, abs=1e-3)
    assert release(10.0) == pytest.approx(release(40.0))


def test_the_card_of_counts_does_not_say_that_rows_are_people():
    card = seeded().fit([0.1, 0.9], counts=[10, 20]).release_.certificate
    assert not card.unit_was_assumed
    assert "every row counts" not in card.text()

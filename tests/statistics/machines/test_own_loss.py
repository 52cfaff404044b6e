"""Losses of the user's own: claims are tried in public, and the guarantee holds whatever the functions do."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import ANY, refused

import dpfda
from dpfda import KernelClassifier, KernelRegressor, StatedLoss
from dpfda.bases.features import fourier_features
from dpfda.errors import UsageError
from dpfda.kernels import Gaussian
from dpfda.ledger import Ledger, SessionLedger
from dpfda.mechanisms import SeededRandomness
from dpfda.records.labelled import labelled
from dpfda.releases.verification import verify
from dpfda.statistics.machines.losses import NOTHING, loss_of
from dpfda.statistics.machines.online import prepared
from dpfda.statistics.machines.own_loss import FARTHEST, tabulated
from dpfda.statistics.machines.solver import minimise, tolerance_of

GOOD = {"epsilon": 1.0, "delta": 1e-6, "force": True}
LOGISTIC = StatedLoss(
    value=lambda t: np.logaddexp(0, -t),
    slope=lambda t: -np.exp(-np.logaddexp(0, t)),
    lipschitz=1.0,
    name="my logistic",
)
QUANTILE = StatedLoss(
    value=lambda t: np.maximum(-0.9 * t, 0.1 * t),
    slope=lambda t: np.where(t < 0, -0.9, 0.1),
    lipschitz=0.9,
    name="quantile 0.9",
)
SPINE = StatedLoss(value=lambda t: np.maximum(1 - t, 0), slope=lambda t: np.where(t < 1, -1.0, 0.0), lipschitz=1.0)
LINE = StatedLoss(value=lambda t: -t, slope=lambda t: -np.ones_like(t), lipschitz=1.0, name="line")
LOSSES = [tabulated(each, margin=True, scale=1.0) for each in (LOGISTIC, SPINE, LINE)]
LOSSES.append(tabulated(QUANTILE, margin=False, scale=0.25))
every = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)


@every
def test_a_table_is_convex_and_no_steeper_than_stated_anywhere(loss):
    t = np.sort(np.random.default_rng(0).uniform(-2, 2, 20_001)) * FARTHEST * loss.scale
    slopes = loss.slope(t, NOTHING)
    assert (np.diff(slopes) >= 0).all()
    assert np.abs(slopes).max() <= loss.lipschitz
    assert np.abs(slopes).max() >= 0.999 * loss.lipschitz
    # Between two points it rises by what its slopes allow, and by their average where they are straight.
    risen, gaps = np.diff(loss.value(t, NOTHING)), np.diff(t)
    slack = 1e-12 * np.abs(loss.value(t, NOTHING)).max()
    assert (risen >= slopes[:-1] * gaps - slack).all()
    assert (risen <= slopes[1:] * gaps + slack).all()
    assert loss.curvature(t, NOTHING).max() <= loss.bend


def test_a_table_is_the_loss_itself_to_four_digits():
    t = np.linspace(-9, 9, 4001)
    mine, named = LOSSES[0], loss_of("logistic")
    np.testing.assert_allclose(mine.slope(t, NOTHING), named.slope(t, NOTHING), atol=1e-6)
    risen = mine.value(t, NOTHING) - mine.value(np.zeros(1), NOTHING)
    np.testing.assert_allclose(risen, named.value(t, NOTHING) - np.log(2), atol=1e-5)


def solved(loss, z, y, penalty, reach=1.0):
    n, p = z.shape
    moved = loss.lipschitz * reach / (penalty * n)
    tolerance = tolerance_of(loss, penalty=penalty, reach=reach, units=n, size=p, moved=moved)
    return minimise(z, y, np.full(n, 1 / n), loss=loss, penalty=penalty, tolerance=tolerance), tolerance


def random_rows(n, p, reach, rng):
    z = rng.normal(size=(n, p))[rng.integers(0, n, n)]  # some stand there several times
    return z * (reach / np.linalg.norm(z, axis=1))[:, None], rng.choice([-1.0, 1.0], n)


@every
def test_the_tolerance_is_always_proven_whatever_the_records(loss):
    for seed in range(25):
        rng = np.random.default_rng(100 + seed)
        n, p = int(10 ** rng.uniform(0, 2.5)), int(10 ** rng.uniform(0, 1.5))
        reach = 10 ** rng.uniform(-2, 2)
        z, y = random_rows(n, p, reach, rng)
        penalty = 10 ** rng.uniform(-8, 2) * reach**2 * loss.lipschitz / loss.scale
        found, tolerance = solved(loss, z, y if loss.margin else y * loss.scale * rng.uniform(size=n), penalty, reach)
        assert found.distance <= tolerance


def test_the_minimum_is_that_of_the_named_loss():
    z, y = random_rows(300, 5, 1.0, np.random.default_rng(1))
    mine, _ = solved(LOSSES[0], z, y, 0.01)
    named, _ = solved(loss_of("logistic"), z, y, 0.01)
    assert np.linalg.norm(mine.weights - named.weights) <= 1e-5 + mine.distance + named.distance


def stated(**wrong):
    return StatedLoss(**{"value": QUANTILE.value, "slope": QUANTILE.slope, "lipschitz": 0.9} | wrong)


@pytest.mark.parametrize(
    ("wrong", "parameter", "value"),
    [
        ({"lipschitz": 0.45}, "lipschitz", 0.45),  # half of the truth
        ({"lipschitz": 0.9 * (1 - 1e-6)}, "lipschitz", 0.9 * (1 - 1e-6)),
        ({"slope": lambda t: np.where(t < 0, 0.1, -0.9)}, "slope", ANY),  # not convex
        ({"slope": lambda t: np.where(t < 0, -0.45, 0.05)}, "slope", ANY),  # half of those of the values
        ({"value": lambda t: -np.maximum(-0.9 * t, 0.1 * t)}, "slope", ANY),
        ({"slope": lambda t: np.where(t > 10, np.nan, 0.0)}, "slope", ANY),
        ({"value": lambda t: np.where(t > 10, np.inf, 0.0)}, "value", ANY),
        ({"slope": lambda t: 1 / 0}, "slope", ANY),
        ({"slope": lambda t: 0.0}, "slope", ANY),
        ({"value": lambda t: t[:-1]}, "value", ANY),
    ],
)
def test_a_claim_that_is_seen_to_be_false_is_refused_before_the_charge(wrong, parameter, value):
    ledger = SessionLedger()
    x = np.linspace(0, 1, 50)[:, None]
    for mechanism in ("auto", "gp"):
        est = KernelRegressor(**GOOD, response_bound=1.0, loss=stated(**wrong), mechanism=mechanism, ledger=ledger)
        with refused(UsageError, parameter, value):
            est.fit(x, x[:, 0])
    assert not ledger.entries


@pytest.mark.parametrize(
    ("wrong", "parameter", "value"),
    [
        ({"lipschitz": 0.0}, "lipschitz", 0.0),
        ({"lipschitz": np.inf}, "lipschitz", np.inf),
        ({"lipschitz": "0.9"}, "lipschitz", "0.9"),
        ({"slope": None}, "slope", None),
        ({"value": 3}, "value", 3),
        ({"name": ""}, "name", ""),
        ({"name": "logistic"}, "name", "logistic"),  # whose values would be taken for chances
    ],
)
def test_what_is_wrong_is_refused_where_it_is_stated(wrong, parameter, value):
    with refused(UsageError, parameter, value):
        stated(**wrong)


def test_it_knows_neither_thresholds_nor_chances():
    with refused(UsageError, "threshold"):
        KernelRegressor(**GOOD, response_bound=1.0, loss=QUANTILE, threshold=0.1).plan(100)
    assert not hasattr(KernelClassifier(**GOOD, loss=LOGISTIC), "predict_proba")


def test_plan_and_card_say_whose_claim_it_is():
    for mechanism in ("auto", "gp"):
        plan = KernelRegressor(**GOOD, response_bound=1.0, loss=QUANTILE, mechanism=mechanism).plan(500)
        assert "slopes at most 0.9 by the user's claim" in str(plan)
    x = np.random.default_rng(0).uniform(0, 1, (500, 1))
    est = KernelRegressor(**GOOD, response_bound=1.0, loss=QUANTILE).fit(x, x[:, 0])
    assert "slopes at most 0.9 by the user's claim" in " ".join(est.release_.certificate.text().split())
    with est.set_params(mechanism="gp").fit(x, x[:, 0]).open() as oracle:
        assert "slopes at most 0.9 by the user's claim" in " ".join(oracle.certificate.text().split())


def test_a_quantile_is_learnt():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (20_000, 1))
    y = x[:, 0] / 2 + rng.uniform(-0.5, 0.5, 20_000)
    est = KernelRegressor(epsilon=8.0, delta=1e-6, response_bound=1.0, loss=QUANTILE, randomness=SeededRandomness(1))
    below = y <= est.fit(x, y).predict(x)
    assert 0.84 < below.mean() < 0.94


def test_functions_that_change_after_the_order_change_nothing():
    """Of the records nothing reaches the functions: they are asked for public arguments, before the charge."""
    seen = []

    def slope(t):
        seen.append(np.array(t))
        if len(seen) > known:
            raise RuntimeError("asked again")
        return QUANTILE.slope(t)

    x = np.random.default_rng(0).uniform(0, 1, (300, 1))
    honest = KernelRegressor(**GOOD, response_bound=1.0, loss=QUANTILE, randomness=SeededRandomness(1))
    known = 10**9
    loss = StatedLoss(value=QUANTILE.value, slope=slope, lipschitz=0.9, name=QUANTILE.name)
    est = KernelRegressor(**GOOD, response_bound=1.0, loss=loss, randomness=SeededRandomness(1))
    order = est.order(x, x[:, 0])
    known = len(seen)
    assert known > 0
    assert all(np.array_equal(each, LOSSES[-1].knots * 4) for each in seen)
    released = est.fit_order(order).release_
    assert np.array_equal(released.noisy, honest.fit(x, x[:, 0]).release_.noisy)


def test_files_are_read_without_the_loss(tmp_path):
    x = np.random.default_rng(0).uniform(0, 1, (400, 1))
    est = KernelClassifier(**GOOD, loss=SPINE, classes=(0, 1)).fit(x, (x[:, 0] > 0.5).astype(int))
    est.release_.save(tmp_path / "machine.json")
    again = dpfda.load(tmp_path / "machine.json")
    where = np.linspace(0, 1, 7)
    assert np.array_equal(again(where), est.release_(where))
    assert again.loss == "stated"
    assert not verify(tmp_path / "machine.json").findings


def test_stores_and_keys_know_a_loss_by_its_table(tmp_path):
    x = np.random.default_rng(0).uniform(0, 1, (60, 1))

    def est(**changes):
        again = stated(name="q", **changes)  # other functions, that say the same
        return KernelRegressor(**GOOD, response_bound=1.0, loss=again, mechanism="gp", ledger=ledger, dataset="d")

    ledger, store = Ledger(f"sqlite:///{tmp_path / 'own.db'}"), f"sqlite:///{tmp_path / 'oracle.db'}"
    ledger.create("d", epsilon=2.0, delta=1e-3)
    answers = []
    for _ in range(2):
        with est().open(store, x, x[:, 0]) as oracle:
            answers.append(oracle([0.2, 0.7]))
    assert np.array_equal(*answers)
    assert [entry.kind for entry in ledger.history()].count("charge") == 1
    with pytest.raises(UsageError, match="belongs to another release"):
        est(value=lambda t: np.maximum(-0.9 * t, 0), slope=lambda t: np.where(t < 0, -0.9, 0.0)).open(store, x, x[:, 0])
    ledger = ledger.under("key")
    drawn = [est().set_params(mechanism="auto").fit(x, x[:, 0]).release_.noisy for _ in range(2)]
    assert np.array_equal(*drawn)


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 1, (n, 2)), rng.choice([-1.0, 1.0], n)


@pytest.mark.parametrize("loss", [LINE, SPINE], ids=lambda loss: loss.name)
def test_no_neighbour_moves_the_weights_further_than_stated(loss):
    n, largest = 12, 0.0
    est = KernelClassifier(**GOOD, loss=loss, penalty=0.5, features=fourier_features(Gaussian(0.2), [(0, 1)] * 2, 30))
    est.set_params(domain=[(0, 1)] * 2)
    plan = est.plan(n)
    table = plan.request.loss
    for seed in range(20):
        x, y = rows(n, seed)
        found = []
        for label in (-1.0, 1.0):
            y[-1] = label
            z = plan.basis.functions(x, (0, 0))
            shares = np.full(n, 1 / n)
            found.append(minimise(z, y, shares, loss=table, penalty=0.5, tolerance=plan.sensitivity / 100).weights)
        largest = max(largest, float(np.linalg.norm(found[0] - found[1])))
    assert largest <= plan.sensitivity * 1.02
    # Where all margins are violated a new label turns a slope of the largest size around.
    assert largest >= 0.9 * plan.sensitivity


def test_no_neighbour_moves_the_exact_function_further_than_stated():
    kernel, n, largest = Gaussian(0.2), 15, 0.0
    est = KernelClassifier(**GOOD, kernel=kernel, penalty=0.5, loss=LINE, mechanism="gp")
    plan = est.plan(n)
    x = np.random.default_rng(0).uniform(0, 1, (n, 1))
    y = np.arange(n) % 2.0
    found = []
    for label in (0.0, 1.0):
        y[-1] = label
        sections = prepared(plan, labelled(x, est._targets(y), 1), unit="row", bound=None, dataset="d").solved()
        found.append((sections.points, sections.masses * sections.weight))
    points = np.concatenate([found[0][0], found[1][0]])
    weights = np.concatenate([found[0][1], -found[1][1]])
    largest = float(np.sqrt(weights @ kernel(points, points) @ weights))
    assert 0.9 * plan.moved <= largest <= plan.sensitivity


@pytest.mark.parametrize("steepest", [1e-300, 1e-20, 1.0, 1e20, 1e300])
@pytest.mark.parametrize("bound", [1e-100, 1e-20, 1.0, 1e20, 1e100])
def test_units_that_double_precision_does_not_know_are_refused_in_words(steepest: float, bound: float) -> None:
    def plan() -> object:
        loss = StatedLoss(
            value=lambda t: steepest * np.abs(t), slope=lambda t: steepest * np.sign(t), lipschitz=steepest
        )
        stated = {"epsilon": 1.0, "delta": 1e-6, "force": True}
        return dpfda.KernelRegressor(**stated, response_bound=bound, loss=loss).plan(50)  # type: ignore[arg-type]

    if 1e-20 <= steepest <= 1e20 and 1e-20 <= bound <= 1e20:
        assert plan()
    else:
        with pytest.raises(UsageError, match=r"must (be a positive finite number, )?(lie )?between 1e-20 and 1e"):
            plan()

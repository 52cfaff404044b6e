"""The papers' mechanisms by name, from arrays with units and gaps to a release and all that is free afterwards."""

from __future__ import annotations

import copy
import math
import pickle

import matplotlib as mpl
import numpy as np
import pytest
from refusals import refused
from sklearn.base import clone

import dpfda
from dpfda.errors import UsageError
from dpfda.kernels import Exponential, Matern
from dpfda.ledger import SessionLedger
from dpfda.mechanisms import GaussianProcess, SeededRandomness
from dpfda.mechanisms.table import by_name, settings_of
from dpfda.privacy import ADD_REMOVE, REPLACE
from dpfda.records import smallest_cap

mpl.use("agg")

WIDTH, PEOPLE = 25, 60
UNITS = PEOPLE + 1  # rows without an identifier are one unit more, which always counts
GRID = np.linspace(0, 2, WIDTH)
CANDIDATES = [lambda t: 0 * t, lambda t: np.sin(2 * t), lambda t: 0.5 * np.cos(t), lambda t: 1 - t]
ADDITIVE = ["gp", "iclp-qr", "iclp-ar", "frl", "bernstein"]
NAMED = [*ADDITIVE, "exponential", "dictionary"]
every = pytest.mark.parametrize("mechanism", NAMED)
additive = pytest.mark.parametrize("mechanism", ADDITIVE)


def example(seed=0):
    """Curves of people with one to three rows around sin(2t), some beyond the bound, some with gaps, one empty."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(PEOPLE), rng.integers(1, 4, PEOPLE))
    size = rng.choice([0.6, 1.0, 4.0], (PEOPLE, 1))[ids]
    table = size * (np.sin(2 * GRID) + rng.normal(0, 0.2, (len(ids), WIDTH)))
    table[rng.random(table.shape) < 0.1] = np.nan
    table[ids == 3] = np.nan
    order = rng.permutation(len(ids))
    return table[order], ids[order]


def estimator(mechanism, **changes):
    facts = {
        "epsilon": 2.0,
        "delta": 1e-6 if mechanism == "gp" else 0.0,
        "bound": 1.0,
        "domain": (0, 2),
        "randomness": SeededRandomness(5),
        "dataset": "scans",
    }
    settings = {name: changes.pop(name) for name in settings_of(mechanism, "mean") if name in changes}
    if mechanism == "dictionary":
        settings = {"candidates": CANDIDATES} | settings
    return dpfda.MeanFunction(**facts | changes, mechanism=by_name(mechanism, "mean", settings))


@pytest.fixture(scope="module")
def releases():
    table, ids = example()
    return {name: estimator(name).fit(table, grid=GRID, units=ids).release_ for name in NAMED}


def clipped_mean(basis, centre=0.0):
    """Coordinates around the centre in plain numpy: fill, average each person, project, clip, average people."""
    table, ids = example()
    cap, total = smallest_cap(1.0, WIDTH), np.zeros(basis.size)
    for person in range(PEOPLE):
        rows = []
        for row in table[ids == person]:
            known = np.isfinite(row)
            if known.any():
                values = np.clip(row[known], centre - cap, centre + cap)
                rows.append(np.interp(GRID, GRID[known], values) - centre)
        if rows:
            vector = basis.projection(GRID) @ np.mean(rows, axis=0)
            total += vector * min(1.0, 1 / np.linalg.norm(vector))
    return total / PEOPLE


# What is released.

SETTINGS = {
    "gp": {"kernel": Matern(2.5, 0.5), "eta": 0.8, "penalty": 0.05, "size": 10},
    "iclp-qr": {"kernel": Exponential(0.7), "eta": 1.5, "penalty": 0.02, "size": 10},
    "iclp-ar": {"kernel": Matern(1.5, 0.5), "eta": 2.5, "penalty": 0.01, "size": 8},
    "frl": {"size": 7},
    "bernstein": {"size": 9},
}


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize("centre", [0.0, 0.4])
@additive
def test_with_hardly_any_noise_the_release_is_the_papers_estimate(mechanism, centre, neighbours):
    """Penalised, thresholded or plain mean of clipped curves, by the formulas; at epsilon 1e7 noise is some 1e-6."""
    table, ids = example()
    est = estimator(
        mechanism,
        epsilon=1e7,
        centre=centre,
        neighbours=neighbours,
        n=PEOPLE if neighbours == REPLACE else None,
        planned_n=PEOPLE,
        smoothing="auto",
        **SETTINGS[mechanism],
    )
    release = est.fit(table, grid=GRID, units=ids).release_
    mean = clipped_mean(release.basis, centre)
    stated = SETTINGS[mechanism]
    if mechanism in ("gp", "iclp-qr"):
        powers = release.basis.eigenvalues ** stated["eta"]
        expected = mean * powers / (powers + stated["penalty"])
    elif mechanism == "iclp-ar":
        thresholds = stated["penalty"] / (2 * release.basis.eigenvalues ** (stated["eta"] / 2))
        expected = np.sign(mean) * np.maximum(np.abs(mean) - thresholds, 0)
        assert 0 < np.sum(expected == 0) < len(mean)
    else:
        expected = mean
    assert np.linalg.norm(expected) > 0.2
    assert np.abs(release.noisy - expected).max() < 1e-4
    np.testing.assert_array_equal(release.smoothing.weights, np.ones(release.basis.size))
    values = release.basis.evaluate(release.noisy, GRID) + centre
    # The centre is added back as its own projection, exact for a constant where the basis has one.
    if mechanism == "bernstein":
        assert np.abs(release(GRID) - values).max() < 1e-9


@every
def test_the_card_names_the_mechanism_and_says_how_everything_was_chosen(mechanism, releases):
    card = releases[mechanism].certificate
    assert card.mechanism == mechanism
    assert f"mechanism      {mechanism}" in card.text()
    penalised = mechanism in ("gp", "iclp-qr")
    assert card.what == ("penalised mean function" if penalised else "mean function")
    chosen = dict(card.chosen)
    assert chosen["mechanism"] == "stated by the user"
    assert chosen["bound"] == "stated by the user"
    kernel = {"exponential": "base measure"}.get(mechanism, "kernel")
    if mechanism in ("gp", "iclp-qr", "iclp-ar", "frl", "exponential"):
        assert chosen[kernel].startswith("Matern 3/2, range a tenth of the domain")
    if mechanism in ("gp", "iclp-qr", "iclp-ar"):
        assert chosen["penalty"].endswith("privacy-safe: by a rule of n, epsilon and the kernel")
    assert (card.n, card.unit, card.unit_was_assumed) == (UNITS, "unit", False)
    assert card.size == releases[mechanism].basis.size
    laws = {"gp": "independent normal noise", "dictionary": "none added: a choice"}
    if mechanism not in ("exponential", "dictionary"):
        assert card.noise.startswith(laws.get(mechanism, "independent Laplace noise"))


@every
def test_the_card_of_a_published_calibration_says_so(mechanism):
    if mechanism in ("exponential", "dictionary"):
        with refused(UsageError, "calibration"):
            estimator(mechanism, calibration="published").plan(50)
        return
    table, ids = example()
    exact, published = (
        estimator(mechanism, epsilon=1.0, calibration=calibration, force=True)
        .fit(table, grid=GRID, units=ids)
        .release_.certificate
        for calibration in ("exact", "published")
    )
    said = dict(published.chosen)["calibration"]
    assert said == (
        "as published, which is exact" if mechanism == "bernstein" else "as published, more noise than privacy needs"
    )
    assert "calibration" not in dict(exact.chosen)
    assert published.noise_rms == exact.noise_rms if mechanism == "bernstein" else published.noise_rms > exact.noise_rms
    # More noise means a smaller loss than was charged, and both are on the card.
    assert published.epsilon == exact.epsilon
    assert published.attacker_power <= exact.attacker_power
    assert published.rho <= exact.rho


# What is free afterwards (Mirshani et al., Corollary 3.1).


@every
def test_values_derivatives_and_functionals_belong_to_one_function(mechanism, releases):
    release = releases[mechanism]
    t = np.linspace(0.03, 1.97, 41)
    values = release(t)
    assert values.shape == (41,)
    assert np.ptp(values) > 0
    assert float(release(0.7)) == pytest.approx(float(release([0.7])[0]))
    step = 1e-6
    slope = (release(t + step) - release(t - step)) / (2 * step)
    np.testing.assert_allclose(release.derivative()(t), slope, atol=1e-5 * np.abs(slope).max() + 1e-6)
    # Quadrature apart from the package's own.
    x, w = np.polynomial.legendre.leggauss(20)
    nodes = ((np.arange(60)[:, None] + (x + 1) / 2) / 30).ravel()
    weights = np.tile(w / 60, 60)
    curve = release(nodes)
    assert release.integral() == pytest.approx(weights @ curve, rel=1e-6, abs=1e-9)
    part = (nodes > 1 / 3) & (nodes < 4 / 3)
    assert release.integral(1 / 3, 4 / 3) == pytest.approx(weights[part] @ curve[part], rel=1e-6, abs=1e-9)
    assert release.inner(np.cos) == pytest.approx(weights @ (curve * np.cos(nodes)) / 2, rel=1e-6, abs=1e-9)
    assert release.norm() == pytest.approx(math.sqrt(weights @ curve**2 / 2), rel=1e-6)
    integral = release.derivative().integral(0.2, 1.1)
    assert integral == pytest.approx(float(release(1.1) - release(0.2)), rel=1e-6, abs=1e-8)


@every
def test_a_release_is_saved_and_loaded_with_identical_values(mechanism, releases, tmp_path):
    one = releases[mechanism]
    other = dpfda.load(one.save(tmp_path / "mean.json"))
    assert other.certificate == one.certificate
    assert other.basis == one.basis
    assert other.noise == one.noise
    np.testing.assert_array_equal(other.coordinates, one.coordinates)
    np.testing.assert_array_equal(other(GRID), one(GRID))


@every
def test_a_release_is_drawn(mechanism, releases):
    from matplotlib.figure import Figure

    axes = releases[mechanism].plot(Figure().subplots())
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    if mechanism == "dictionary":
        assert labels == ["private curve, drawn as a whole, no noise added"]
    else:
        assert labels[0].startswith("95 % noise band, everywhere")
        assert labels[1].startswith("private curve (smoothing: none), ")
    assert "NOT PRIVATE" in axes.get_title()


@additive
def test_a_release_can_be_smoothed_afterwards_and_back(mechanism, releases):
    release = releases[mechanism]
    for name in ("auto", "sobolev-2", "james-stein"):
        smooth = release.smooth(name)
        assert smooth.smoothing.name == name
        np.testing.assert_array_equal(smooth.noisy, release.noisy)
        assert smooth.smooth(release.smoothing.name).certificate == release.certificate
        # Places are left alone, and so are blocks of one or two by James and Stein.
        if mechanism != "bernstein" and not (mechanism == "frl" and name == "james-stein"):
            assert (smooth.smoothing.weights < 1).any()
        np.testing.assert_array_equal(smooth.smooth("none").coordinates, release.coordinates)


@additive
def test_smoothing_can_be_asked_for_at_once(mechanism):
    table, ids = example()
    release = estimator(mechanism, smoothing="sobolev-2").fit(table, grid=GRID, units=ids).release_
    assert release.smoothing.name == "sobolev-2"


@additive
def test_the_band_holds_what_the_noise_did(mechanism, releases):
    """Seeded; the clipped, projected and shrunken mean lies inside everywhere."""
    release = releases[mechanism]
    est = estimator(mechanism)
    mean = clipped_mean(release.basis)
    design = est.plan(PEOPLE, grid_size=WIDTH).design
    if design.weights is not None:
        mean = mean * np.array(design.weights)
    if design.thresholds:
        mean = np.sign(mean) * np.maximum(np.abs(mean) - np.array(design.thresholds), 0)
    band = release.band(0.95, GRID)
    exact = release.basis.evaluate(mean, GRID)
    assert (band.lower < exact).all()
    assert (exact < band.upper).all()


# Both neighbour relations.


@additive
def test_a_private_number_of_units_works_too(mechanism):
    table, ids = example()
    est = estimator(mechanism, neighbours=ADD_REMOVE, planned_n=80, randomness=None)
    release = est.fit(table, grid=GRID, units=ids).release_
    assert release.count is not None
    assert release.certificate.n_is_noisy
    assert release.certificate.mechanism == mechanism
    assert release.noise.size == release.basis.size
    assert np.isfinite(release(GRID)).all()
    assert np.isfinite(release.band(0.9, GRID).upper).any() or release.count.value < 30


@pytest.mark.parametrize("mechanism", ["exponential", "dictionary"])
def test_choices_need_a_public_number_of_units(mechanism):
    with refused(UsageError, "mechanism", mechanism):
        estimator(mechanism, neighbours=ADD_REMOVE, planned_n=80).fit(example()[0], grid=GRID)


# The dictionary.


def test_the_nearest_candidate_is_chosen_when_epsilon_is_large():
    table, ids = example()
    release = estimator("dictionary", epsilon=200.0).fit(table, grid=GRID, units=ids).release_
    np.testing.assert_allclose(release(GRID), np.sin(2 * GRID), atol=1e-3)
    assert dict(release.certificate.chosen)["candidates"] == "4 public functions, stated by the user"
    assert release.noise.variances.tolist() == [0.0] * release.basis.size


def test_candidates_lie_around_the_centre_and_the_limits():
    table = np.full((40, WIDTH), 0.75)
    flat = [lambda t, c=c: c + 0 * t for c in (0.0, 0.25, 0.75, 1.0)]
    for changes in ({"centre": 0.5}, {"centre": lambda t: 0.5 + 0 * t}, {"bound": None, "limits": (0.0, 1.0)}):
        est = estimator("dictionary", epsilon=500.0, candidates=flat, **changes)
        release = est.fit(table, grid=GRID).release_
        np.testing.assert_allclose(release(GRID), 0.75, atol=1e-6)


def test_candidates_may_be_surfaces():
    grid = np.array([[x, y] for x in np.linspace(0, 1, 6) for y in np.linspace(0, 1, 6)])
    surfaces = [lambda p: p[:, 0] - p[:, 1], lambda p: p[:, 0] * 0, lambda p: p[:, 0] * p[:, 1]]
    est = estimator("dictionary", domain=[(0, 1), (0, 1)], epsilon=500.0, candidates=surfaces)
    release = est.fit(np.tile(grid[:, 0] * grid[:, 1], (50, 1)), grid=grid).release_
    np.testing.assert_allclose(release(grid), grid[:, 0] * grid[:, 1], atol=1e-2)


@pytest.mark.parametrize(
    "changes",
    [
        {"candidates": None},
        {"candidates": []},
        {"candidates": [1.0, 2.0]},
        {"candidates": np.ones((2, 9))},
        {"candidates": np.sin},
        {"candidates": "sin"},
        {"centre": np.zeros(WIDTH)},
        {"candidates": [lambda t: np.full(len(t), np.inf)]},
    ],
)
def test_wrong_candidates_are_refused_and_nothing_is_charged(changes):
    ledger = SessionLedger()
    with refused(UsageError, "candidates"):
        estimator("dictionary", ledger=ledger, **changes).fit(example()[0], grid=GRID)
    assert not ledger.entries


@pytest.mark.parametrize(
    ("what", "call"),
    [
        ("noise band", lambda release: release.band()),
        ("smoothing", lambda release: release.smooth()),
        ("error estimate", lambda release: release.estimated_error),
    ],
    ids=["band", "smoothing", "error"],
)
def test_a_chosen_function_has_no_noise_to_speak_of(what, call, releases):
    with pytest.raises(UsageError) as caught:
        call(releases["dictionary"])
    assert str(caught.value) == f"A function chosen among candidates has no {what}: no noise was added to it."
    np.testing.assert_array_equal(releases["dictionary"].smooth("none").coordinates, releases["dictionary"].coordinates)


# The estimator's own habits.


@every
def test_the_ledger_is_charged_once_and_names_the_mechanism(mechanism):
    ledger = SessionLedger()
    table, ids = example()
    estimator(mechanism, ledger=ledger).fit(table, grid=GRID, units=ids)
    (entry,) = ledger.entries
    assert entry.what.endswith(f"mean function, {mechanism}")
    assert entry.budget.epsilon == 2.0


@every
def test_the_plan_of_a_fit_is_the_plan_made_without_data(mechanism):
    table, ids = example()
    est = estimator(mechanism).fit(table, grid=GRID, units=ids)
    assert est.plan_.to_dict() == est.plan(UNITS, grid_size=WIDTH).to_dict()
    assert est.plan_.to_dict()["mechanism"] == mechanism


@every
def test_a_seeded_release_is_the_same_bit_for_bit_in_any_order_and_batch(mechanism):
    table, ids = example()
    expected = None
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(ids))
        for stated in ({}, {"batch_rows": 7, "workers": 2}):
            est = estimator(mechanism, randomness=SeededRandomness(9), reading=dpfda.Reading(**stated))
            noisy = est.fit(table[order], grid=GRID, units=ids[order]).release_.noisy.tobytes()
            expected = noisy if expected is None else expected
            assert noisy == expected


@every
def test_private_noise_does_not_repeat_and_is_not_stamped(mechanism):
    table, ids = example()
    est = estimator(mechanism, randomness=None)
    drawn = [est.fit(table, grid=GRID, units=ids).release_ for _ in range(2)]
    assert drawn[0].certificate.private
    if mechanism != "dictionary":
        assert not np.array_equal(drawn[0].noisy, drawn[1].noisy)


def test_copies_keep_the_new_parameters():
    process = GaussianProcess(kernel=Matern(2.5, 0.3), eta=0.8, penalty=0.01, calibration="simple")
    est = dpfda.MeanFunction(epsilon=2.0, delta=1e-6, bound=1.0, mechanism=process, size=9)
    for other in (clone(est), copy.deepcopy(est), pickle.loads(pickle.dumps(est))):
        assert other.get_params()["mechanism"] == process
        assert other.get_params()["size"] == 9
        assert other.plan(100).to_dict() == est.plan(100).to_dict()


def test_a_stated_size_is_the_size_of_the_release():
    table, ids = example()
    for mechanism in ("gaussian", "laplace", "k-norm", "gp", "iclp-qr", "frl", "bernstein", "exponential"):
        delta = 1e-6 if mechanism in ("gaussian", "gp") else 0.0
        release = estimator(mechanism, delta=delta, size=11).fit(table, grid=GRID, units=ids).release_
        assert release.basis.size == 11

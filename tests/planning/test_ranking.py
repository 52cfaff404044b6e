"""The table of all mechanisms, the pictures of a plan, and predictions against simulated releases."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import dpfda
from dpfda.bases import as_domain, cosine
from dpfda.kernels import Matern
from dpfda.mechanisms import KNorm, Laplace, SeededRandomness
from dpfda.mechanisms.table import by_name, names_for
from dpfda.planning import Request, SmoothnessClass
from dpfda.planning.prediction import DEFAULT_CLASS
from dpfda.privacy import ADD_REMOVE, REPLACE, Budget
from dpfda.statistics.mean.plan import COLUMNS, make_plan

LINE = as_domain((0, 1))
APPROXIMATE, PURE = Budget(0.7, 1e-5), Budget(0.7, 0.0)
CANDIDATES = (lambda t: 0 * t, lambda t: t)


def request(**changes):
    return Request(**{"n": 500, "budget": APPROXIMATE, "bound": 2.0, "domain": LINE, "neighbours": REPLACE} | changes)


def plan(**changes):
    return make_plan(request(**changes))


@pytest.fixture(scope="module")
def table():
    return plan().table()


@pytest.mark.parametrize(
    "changes",
    [{}, {"budget": PURE}, {"neighbours": ADD_REMOVE}, {"domain": as_domain([(0, 1), (0, 3)])}, {"n": 1}],
    ids=["approximate", "pure", "add-or-remove-one", "box", "one unit"],
)
def test_every_mechanism_is_ranked_by_its_total_and_the_chosen_one_is_marked(changes):
    made = plan(**changes)
    ranking = made.table()
    named = {(row.mechanism, row.calibration) for row in ranking.entries}
    twice = ("gp", "iclp-qr", "iclp-ar", "frl")
    assert named == {(name, "exact") for name in names_for("mean")} | {(name, "published") for name in twice}
    totals = [math.inf if row.prediction is None else row.prediction.total for row in ranking.entries]
    assert totals == sorted(totals)
    marked = [row for row in ranking.entries if row.chosen]
    assert [row.mechanism for row in marked] == [made.design.name]
    assert marked[0].prediction == made.predict()
    for row in ranking.entries:
        assert row.prediction is not None or row.note


@pytest.mark.parametrize("budget", [APPROXIMATE, PURE], ids=["approximate", "pure"])
@pytest.mark.parametrize("n", [30, 500, 20_000])
def test_the_planners_choice_heads_the_table(budget, n):
    """Its own predicted error is the least of all mechanisms of the papers, in both calibrations."""
    ranking = plan(budget=budget, n=n).table()
    assert ranking.entries[0].chosen
    ratios = dict(zip([(row.mechanism, row.calibration) for row in ranking.entries], ranking.rows, strict=True))
    place = COLUMNS.index("ratio")
    assert ratios[ranking.entries[0].mechanism, "exact"][place] == 1
    assert ratios["iclp-qr", "published"][place] > ratios["iclp-qr", "exact"][place] > 1


def test_what_cannot_be_used_says_why_and_stands_last():
    rows = {(row.mechanism, row.calibration): row for row in plan(budget=PURE).table().entries}
    assert rows["gaussian", "exact"].note.startswith("gaussian noise cannot meet (epsilon = 0.7, delta = 0)")
    assert rows["gp", "published"].note.startswith("A Gaussian process cannot meet")
    assert rows["dictionary", "exact"].note.startswith("mechanism='dictionary' chooses among candidates")
    assert [row.prediction is None for row in plan(budget=PURE).table().entries][-4:] == [True] * 4
    given = plan(mechanism="dictionary", candidates=CANDIDATES).table()
    assert {row.mechanism: row.note for row in given.entries}["dictionary"] == "depends on its candidates"


def test_a_mechanism_outside_of_the_names_and_the_simpler_bound_are_in_the_table_too():
    for changes, name, calibration in (
        ({"mechanism": "gp", "calibration": "simple"}, "gp", "simple"),
        ({"mechanism": "gp", "calibration": "published"}, "gp", "published"),
        ({"mechanism": Laplace(), "size": 7}, "laplace", "exact"),
        ({"mechanism": KNorm((3, 4), (0.6, 0.8)), "size": 7}, "k-norm", "exact"),
        ({"mechanism": Mine(), "size": 7}, "mine", "exact"),
    ):
        made = plan(**changes)
        (marked,) = (row for row in made.table().entries if row.chosen)
        assert (marked.mechanism, marked.calibration) == (name, calibration)
        assert marked.prediction == made.predict()


class Mine(Laplace):
    """A mechanism of the user's own."""

    name = "mine"


def test_what_was_stated_for_the_chosen_one_is_not_asked_of_the_others():
    stated = plan(mechanism="gp", eta=0.8, penalty=0.05, size=12, kernel=Matern(2.5, 0.3))
    rows = {(row.mechanism, row.calibration): row for row in stated.table().entries}
    assert rows["gp", "exact"].prediction == stated.predict()
    assert rows["iclp-qr", "exact"].prediction == plan(mechanism="iclp-qr", kernel=Matern(2.5, 0.3)).predict()
    assert rows["k-norm", "exact"].prediction == plan(mechanism="k-norm").predict()


class Unreadable:
    """Candidates that must not be called, and so on: whatever a plan holds, its table reads no record."""

    width = 9

    def rows(self):
        return 40

    def identity(self):
        return None

    def batches(self, rows):
        raise AssertionError("read")


def test_the_table_reads_no_data():
    est = dpfda.MeanFunction(epsilon=1.0, delta=0.0, bound=1.0)
    curves = dpfda.Curves(Unreadable(), None, None)
    one = est.plan_for(curves)
    assert one.table() == est.plan(40, grid_size=9).table()


def test_rows_are_squared_errors_in_units_of_the_curve(table):
    for row, cells in zip(table.entries, table.rows, strict=True):
        named = dict(zip(COLUMNS, cells, strict=True))
        if row.prediction is None:
            assert [named[c] for c in COLUMNS[2:7]] == [None] * 5
            continue
        parts = [named[c] for c in ("bias", "sampling", "privacy")]
        assert parts == pytest.approx([4 * getattr(row.prediction, c) for c in ("bias", "sampling", "privacy")])
        assert named["total"] == pytest.approx(sum(parts))
        assert named["ratio"] == pytest.approx(named["total"] / (4 * table.entries[0].prediction.total))
        assert named["note"].startswith("chosen") == row.chosen


def test_the_table_speaks_to_people_and_to_programs(table):
    data = json.loads(json.dumps(table.to_dict()))
    assert (data["n"], data["epsilon"], data["delta"], data["bound"]) == (500, 0.7, 1e-5, 2.0)
    assert data["class"] == {"order": DEFAULT_CLASS.order, "radius": DEFAULT_CLASS.radius}
    assert [row["mechanism"] for row in data["rows"]] == [row.mechanism for row in table.entries]
    lines = str(table).splitlines()
    assert lines[0].startswith("Predicted squared errors for 500 units at (epsilon = 0.7, delta = 1e-05), worst case")
    assert lines[2].split() == list(COLUMNS[:7])
    assert len(lines) == 3 + len(table.entries)
    assert [line.split()[0] for line in lines[3:]] == [row.mechanism for row in table.entries]
    assert lines[3].endswith("chosen")
    assert not any(line != line.rstrip() for line in lines)


def test_another_class_changes_the_prediction_as_it_should():
    """Smoother means have less bias and the same noise; Plan.table and Plan.predict take the class."""
    rough, smooth = SmoothnessClass(1.0, 2.0), SmoothnessClass(2.0, 0.5)
    for name in ("gp", "iclp-qr", "frl"):
        made = plan(mechanism=name)
        one, other = made.predict(rough), made.predict(smooth)
        assert one.bias > other.bias
        assert one.privacy == other.privacy
        (row,) = (row for row in made.table(rough).entries if row.chosen)
        assert row.prediction == one
    for name in ("gaussian", "k-norm"):
        assert plan(mechanism=name).predict(rough).total > plan(mechanism=name).predict(smooth).total


# Pictures.


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"budget": PURE},
        {"mechanism": "gp", "calibration": "published"},
        {"mechanism": "dictionary", "candidates": CANDIDATES},
        {"mechanism": KNorm((3, 4), (0.6, 0.8)), "size": 7},
        {"domain": as_domain([(0, 1), (0, 1)]), "mechanism": "frl"},
    ],
    ids=["approximate", "pure", "published", "choice", "own", "box"],
)
def test_a_plan_draws_errors_against_epsilon_and_n_and_a_noise_band(changes):
    made = plan(**changes)
    figure = made.plot()
    by_epsilon, by_n, picture = figure.axes
    assert by_epsilon.get_xlabel() == "epsilon"
    assert by_n.get_xlabel() == "number of units"
    for axes, now in ((by_epsilon, made.budget.epsilon), (by_n, made.n)):
        lines = {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}
        assert {"k-norm", "iclp-qr", "iclp-qr, published", "frl", "bernstein"} <= set(lines)
        x, y = lines["k-norm"].get_data()
        assert min(x) < now < max(x)
        assert all(np.diff(y) < 0)  # more budget or more units, less error
        rows = {row.mechanism: row for row in made.table().entries if row.calibration == "exact"}
        if not changes.get("size"):
            here = y[list(np.isclose(x, now)).index(True)]
            assert here == pytest.approx(made.bound * math.sqrt(rows["k-norm"].prediction.total))
    if made.noise.name == "choice" or made.basis.domain.dimension > 1:
        assert [text.get_text() for text in picture.texts] == ["no band to draw"]
    else:
        assert {text.get_text() for text in picture.get_legend().get_texts()} == {"95 % noise band", "simulated curve"}


def test_a_plan_draws_into_a_figure_that_is_given(tmp_path):
    from matplotlib.figure import Figure

    figure = Figure()
    assert plan(budget=PURE).plot(figure) is figure
    assert len(figure.axes) == 3
    figure.savefig(tmp_path / "plan.png")
    assert (tmp_path / "plan.png").stat().st_size > 1000


# Predictions against simulated releases.


def released(made, mean, n, seed, *, spread=0.0):
    """Coordinates of a release of n curves around a mean that is given by its coordinates in the plan's basis."""
    randomness = SeededRandomness(seed)
    curves = mean + spread * randomness.normal((n, len(mean)))
    grid = np.linspace(0, 1, 400)
    est = dpfda.MeanFunction(
        epsilon=made.budget.epsilon,
        delta=made.budget.delta,
        bound=made.bound,
        mechanism=by_name(made.request.mechanism, "mean", {"eta": made.request.eta, "penalty": made.request.penalty}),
        size=made.request.size,
        randomness=SeededRandomness(seed + 1),
    )
    return est.fit(curves @ made.basis.matrix(grid).T, grid=grid).release_


@pytest.mark.audit
@pytest.mark.parametrize(
    ("mechanism", "stated"),
    [("gp", {"eta": 1.0, "penalty": 0.02}), ("iclp-qr", {"eta": 1.5, "penalty": 0.01}), ("frl", {})],
    ids=["gp", "iclp-qr", "frl"],
)
def test_simulated_releases_have_the_predicted_bias_and_exactly_the_predicted_noise(mechanism, stated):
    """120 releases: their mean squared noise is within five deviations of the prediction; seeded.

    The mean is the worst single wave that the basis has; its bias is more than half of the worst case and never more.
    """
    n, size = 200, 12
    budget = Budget(3.0, 1e-5 if mechanism == "gp" else 0.0)
    made = plan(mechanism=mechanism, n=n, size=size, budget=budget, **stated)
    prediction = made.predict()
    weights = np.array(made.design.weights or (1.0,) * size)
    # The worst single coordinate of the class inside the basis; what is beyond can only be worse.
    room = np.minimum(DEFAULT_CLASS.radius / np.maximum(made.basis.frequencies, 1e-9), 1.0)
    worst = int(np.argmax(room * (1 - weights)))
    mean = np.zeros(size)
    mean[worst] = 0.999 * made.bound * room[worst]
    draws = np.array([released(made, mean, n, 10 * seed).noisy for seed in range(120)])
    noise = np.sum((draws - weights * mean) ** 2, axis=1) / made.bound**2
    assert abs(noise.mean() - prediction.privacy) < 5 * noise.std() / math.sqrt(len(noise))
    assert (np.abs(draws.mean(axis=0) - weights * mean) < 5 * np.sqrt(made.noise.variances / len(draws)) + 1e-6).all()
    assert prediction.privacy == pytest.approx(made.noise.variances.sum() / made.bound**2)
    bias = float(np.sum((weights * mean - mean) ** 2)) / made.bound**2
    assert bias <= prediction.bias * (1 + 1e-9)
    if mechanism != "frl":  # whose whole bias is what it leaves out
        assert bias > 0.5 * prediction.bias
    else:
        assert prediction.bias == pytest.approx((DEFAULT_CLASS.radius / size) ** 2)


def test_the_sampling_error_is_at_most_the_bounds_square_over_n():
    n, size = 50, 6
    made = plan(mechanism="frl", n=n, size=size, budget=Budget(1e4, 0.0))
    mean = np.zeros(size)
    # Curves of the largest size in random directions have it all.
    draws = np.array([released(made, mean, n, 10 * seed, spread=5.0).noisy for seed in range(80)])
    observed = float(np.mean(np.sum(draws**2, axis=1))) / made.bound**2
    assert observed == pytest.approx(made.predict().sampling, rel=0.25)


@pytest.mark.parametrize("budget", [APPROXIMATE, PURE], ids=["approximate", "pure"])
def test_smoothed_releases_stay_below_the_predicted_worst_case(budget):
    """40 releases of a mean on the edge of the class: adaptive smoothing does not exceed what is promised; seeded."""
    made = plan(budget=budget, n=400)
    size = made.basis.size
    mean = np.zeros(size)
    mean[min(3, size - 1)] = 0.999 * made.bound * DEFAULT_CLASS.radius / 3
    errors = []
    for seed in range(40):
        release = released(replace(made, request=replace(made.request, mechanism="auto")), mean, 400, 10 * seed)
        kept = np.zeros(max(size, release.basis.size))
        kept[: release.basis.size] = release.coordinates
        errors.append(np.sum((kept[:size] - mean) ** 2) + np.sum(kept[size:] ** 2))
    assert np.mean(errors) <= made.bound**2 * made.predict().total


def test_a_basis_without_frequencies_is_predicted_by_its_noise_alone():
    made = plan(basis="bernstein", size=9, mechanism="laplace", budget=PURE)
    noise = made.noise.variances / made.bound**2
    assert made.predict().privacy == pytest.approx(float(np.trace(made.basis.gram() * noise)))
    one = plan(basis=cosine((0, 1), 1), mechanism="laplace", budget=PURE).predict()
    assert one.bias == pytest.approx(DEFAULT_CLASS.radius**2)

"""A function of the user's own: the law of its noise, its sensitivity, what is refused, its card, file and answers."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

import dpfda
from dpfda import kernels
from dpfda.curator.summary import Public
from dpfda.errors import DpfdaError, IncompatibleNoise, ReleaseFailed, UsageError
from dpfda.mechanisms import Gaussian, SeededRandomness
from dpfda.privacy import Budget, Counting, Unit, calibrate
from dpfda.privacy.norms import L2, Sensitivity
from dpfda.records import Curves
from dpfda.records.reading import Reading
from dpfda.releases.verification import verify
from dpfda.statistics.function.summary import GivenFunction, StatedFunction

BUDGET = Budget(1.0, 1e-6)
CLAIM = 0.01
MU = 1 / calibrate(Gaussian(), Sensitivity(1.0, L2(), "one"), BUDGET)
MATERN = kernels.Matern(1.5, 0.2)
GRID = np.linspace(0, 1, 40)


def wave(t):
    return np.sin(2 * np.pi * np.asarray(t))


def estimator(**wishes):
    stated = {"epsilon": 1.0, "delta": 1e-6, "sensitivity": CLAIM, "kernel": MATERN, "domain": (0.0, 1.0)}
    return dpfda.PerturbedFunction(**stated | wishes)


def integers(plan, function):
    """What the mechanism is handed, for a function: the coordinates in lattice steps."""
    summary = StatedFunction(
        plan.request.sensitivity, plan.request.norm, plan.map, tuple(plan.units.tolist()), plan.moved
    )
    source = GivenFunction(plan.points, function)
    public = Public.of_points(
        Unit("person", "replace-one"), 1, 1, width=source.width, bound=CLAIM, counting=Counting.OUTSIDE
    )
    return summary.gather(Curves(source, None, "person"), public, plan.basis, Reading())


@pytest.mark.parametrize("kernel", [MATERN, kernels.Matern(2.5, 0.3), kernels.Gaussian(0.1), kernels.BrownianMotion()])
def test_the_noise_of_a_callable_is_the_process(kernel):
    plan = estimator(kernel=kernel).plan()
    points = np.linspace(0.05, 0.95, 19)
    table = plan.basis.matrix(points)
    found = (table * plan.noise.variances) @ table.T
    exact = (CLAIM / MU) ** 2 * kernel(points, points)
    assert np.abs(found - exact).max() < 0.01 * exact.max()


def test_the_noise_of_a_rough_process_is_nearly_all_there():
    plan = estimator(kernel=kernels.Exponential(0.2)).plan()
    assert plan.noise_rms == pytest.approx(CLAIM / MU, rel=0.01)


@pytest.mark.parametrize("kernel", [MATERN, kernels.Exponential(0.2)])
def test_the_noise_at_a_grid_is_the_process(kernel):
    plan = estimator(kernel=kernel).plan(grid=GRID)
    table = plan.basis.matrix(GRID)
    found = (table * plan.noise.variances) @ table.T
    exact = (CLAIM / MU) ** 2 * kernel(GRID, GRID)
    np.testing.assert_allclose(found, exact, rtol=2e-3)


def test_the_values_on_a_grid_come_back():
    est = estimator(epsilon=1e6, delta=1e-6, randomness=SeededRandomness(1)).fit(wave(GRID), grid=GRID)
    np.testing.assert_allclose(est.release_(GRID), wave(GRID), atol=1e-4)


def test_the_laplace_process_has_the_scales_of_the_theorem():
    est = estimator(delta=0.0, norm="weighted-l1")
    plan = est.plan()
    scales = CLAIM * np.sqrt(plan.basis.eigenvalues) / est.epsilon
    assert plan.name == "laplace"
    np.testing.assert_allclose(np.sqrt(plan.noise.variances / 2), scales, rtol=2e-3)


def test_a_vector_has_noise_of_its_covariance():
    matrix = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 0.7]])
    est = estimator(kernel=matrix, domain=None, randomness=SeededRandomness(2))
    plan = est.plan()
    table = plan.basis.matrix(plan.points)
    np.testing.assert_allclose((table * plan.noise.variances) @ table.T, (CLAIM / MU) ** 2 * matrix, rtol=2e-3)
    vector = np.array([3.0, -4.0, 5.0])
    est.fit(vector)
    assert np.abs(est.vector_ - vector).max() < 8 * CLAIM / MU * math.sqrt(2)


@pytest.mark.parametrize(
    ("kernel", "domain", "grid"),
    [
        (MATERN, (0.0, 1.0), None),
        (MATERN, (0.0, 1.0), GRID),
        (kernels.Exponential(0.1), (0.0, 1.0), None),
        (kernels.Gaussian(0.1), (0.0, 1.0), GRID),
        (kernels.Gaussian(0.3), [(0.0, 1.0), (0.0, 2.0)], None),
        (kernels.Matern(2.5, 0.8), [(0.0, 1.0)] * 3, None),
    ],
    ids=["callable", "grid", "rough", "smooth-grid", "plane", "space"],
)
def test_a_change_as_large_as_the_claim_moves_the_integers_that_far_and_no_further(kernel, domain, grid):
    """Functions of norm 1 that the map enlarges most, and random ones, on top of a large function."""
    plan = estimator(kernel=kernel, domain=domain).plan(grid=grid)
    points, stated = plan.points, plan.moved[0].value
    matrix = kernel(points, points)
    values, vectors = np.linalg.eigh(plan.map.matrix @ matrix @ plan.map.matrix.T)
    assert values[-1] > 0
    # The change `K A' a / |A' a|_K` attains the largest eigenvalue.
    rng = np.random.default_rng(3)
    tried = [plan.map.matrix.T @ vectors[:, -1], *rng.standard_normal((20, len(points)))]
    base = 1e6 * np.cos(np.arange(len(points)))
    before = integers(plan, base)
    moved = []
    for combination in tried:
        size = math.sqrt(combination @ matrix @ combination)
        change = matrix @ combination * (CLAIM / size)
        moved.append(float(np.linalg.norm(integers(plan, base + change) - before)))
    assert max(moved) <= stated
    assert max(moved) >= 0.9 * stated


def test_a_claim_of_weighted_sums_moves_the_integers_that_far_and_no_further():
    plan = estimator(delta=0.0, norm="weighted-l1").plan(coordinates=30)
    roots = np.sqrt(plan.basis.eigenvalues)
    before = integers(plan, np.full(30, 7.0))
    moved = []
    for place in range(30):
        change = np.zeros(30)
        change[place] = CLAIM * roots[place]
        moved.append(np.abs(integers(plan, np.full(30, 7.0) + change) - before).sum())
    assert max(moved) <= plan.moved[0].value
    assert max(moved) >= 0.9 * plan.moved[0].value


def test_a_release_is_near_its_function_and_its_card_says_whose_claim_it_is():
    est = estimator().fit(wave)
    t = np.linspace(0, 1, 101)
    band = est.release_.band(0.998, t)
    assert ((band.lower <= wave(t)) & (wave(t) <= band.upper)).all()
    card = est.release_.certificate
    assert card.what.code == "function"
    assert card.moves.code == "claimed"
    assert card.moves.values == {"by": CLAIM, "norm": "kernel"}
    assert card.counting == "outside"
    assert dict(card.chosen)["sensitivity"].startswith("the user's claim")


def test_a_file_comes_back_and_verifies(tmp_path):
    est = estimator(ledger=dpfda.SessionLedger()).fit(wave)
    path = est.release_.save(tmp_path / "own.json")
    again = dpfda.load(path)
    assert type(again) is type(est.release_)
    np.testing.assert_array_equal(again(GRID), est.release_(GRID))
    assert not verify(path).findings


def test_the_function_is_asked_once_and_after_the_charge():
    ledger = dpfda.SessionLedger()
    asked = []

    def function(t):
        asked.append((len(t), ledger.epsilon))
        return wave(t)

    est = estimator(ledger=ledger)
    est.order(function)
    assert not asked
    est.fit(function)
    assert asked == [(len(est.plan_.points), pytest.approx(1.0))]


@pytest.mark.parametrize(
    "wrong", [lambda t: t * np.nan, lambda t: t[:3], lambda t: 1 / 0], ids=["nan", "short", "error"]
)
def test_a_function_that_fails_is_one_constant_error(wrong):
    with pytest.raises(ReleaseFailed) as caught:
        estimator().fit(wrong)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("wishes", "f", "grid", "parameter"),
    [
        ({"sensitivity": 0.0}, wave, None, "sensitivity"),
        ({"sensitivity": "0.1"}, wave, None, "sensitivity"),
        ({"norm": "sup"}, wave, None, "norm"),
        ({"kernel": None}, wave, None, "kernel"),
        ({"kernel": [[1.0, 0.5], [0.4, 1.0]], "domain": None}, [1.0, 2.0], None, "kernel"),
        ({"kernel": [[1.0, 2.0], [2.0, 1.0]], "domain": None}, [1.0, 2.0], None, "kernel"),
        ({"kernel": [[1.0, 0.5], [0.5, 1.0]]}, [1.0, 2.0], None, "domain"),
        ({"kernel": [[1.0, 0.5], [0.5, 1.0]], "domain": None}, [1.0, 2.0, 3.0], None, "f"),
        ({}, wave(GRID), GRID[:-1], "grid"),
        ({}, wave, GRID, "grid"),
        ({}, wave(GRID)[:, None], GRID, "f"),
        ({}, np.array(["a", "b"]), [0.0, 1.0], "f"),
        ({}, wave(GRID), np.zeros(40), "grid"),
        ({"mechanism": "iclp-qr"}, wave, None, "mechanism"),
        ({"size": 0}, wave, None, "size"),
        ({"size": 5}, np.ones(6), None, "size"),
        ({"basis": "cosines"}, wave, None, "basis"),
        ({"smoothing": "very"}, wave, None, "smoothing"),
        ({"norm": "rms", "size": 5}, wave, None, "norm"),
    ],
)
def test_what_is_wrong_is_refused_before_the_charge(wishes, f, grid, parameter):
    ledger = dpfda.SessionLedger()
    with refused(UsageError, parameter=parameter):
        estimator(ledger=ledger, **wishes).fit(f, grid=grid)
    assert ledger.epsilon == 0


@pytest.mark.parametrize(
    "wishes", [{"norm": "rms"}, {"norm": "rms", "delta": 0.0}, {"mechanism": "laplace", "delta": 0.0}]
)
def test_noise_that_cannot_protect_infinitely_many_coordinates_is_refused(wishes):
    with pytest.raises(IncompatibleNoise):
        estimator(**wishes).plan()
    assert estimator(**wishes).plan(coordinates=8).basis.size == 8


def test_pure_epsilon_for_a_claim_in_the_space_of_the_kernel():
    est = estimator(delta=0.0).fit(wave)
    assert est.plan_.name == "k-norm"
    assert est.release_.certificate.delta == 0
    # Within a factor of the lower bound `(sum s_j)^2 / epsilon^2` of the family, s the roots of the eigenvalues.
    least = CLAIM * np.sqrt(est.plan_.basis.eigenvalues).sum()
    assert least < est.plan_.noise_rms < 1.5 * least


def test_answers_point_by_point_stay_and_go_on(tmp_path):
    store = f"sqlite:///{tmp_path / 'own.db'}"
    est = estimator(kernel=kernels.Exponential(0.2), randomness=SeededRandomness(4))
    t = np.linspace(0, 1, 30)
    with est.open(store, wave) as oracle:
        first = oracle(t[::2])
    with est.open(store, wave) as oracle:
        assert oracle.asked == 15
        np.testing.assert_array_equal(oracle(t[::2]), first)
        between = oracle(t[1::2])
    # Neighbours share their noise: the process is continuous, and the points are a sixth of its range apart.
    rough = np.abs((between - wave(t[1::2])) - (first - wave(t[::2])))
    assert rough.max() < 6 * CLAIM / MU * math.sqrt(2 * (1 - math.exp(-1 / 29 / 0.2)))
    with dpfda.open_store(store) as oracle:
        np.testing.assert_array_equal(oracle(t[::2]), first)


def test_answers_point_by_point_have_the_law_of_the_process():
    """Sums of squares of whitened errors at level 1e-6: 40 points in each of 25 oracles."""
    from scipy.stats import chi2

    kernel, points = kernels.Matern(1.5, 0.3), np.linspace(0, 1, 40)
    factor = np.linalg.cholesky(kernel(points, points) + 2.0**-20 * np.eye(40))
    total = 0.0
    for seed in range(25):
        est = estimator(kernel=kernel, randomness=SeededRandomness(seed))
        with est.open(None, lambda t: 1e4 + wave(t)) as oracle:
            errors = oracle(points) - 1e4 - wave(points)
            scale = oracle.certificate.scale
        total += float(np.sum(np.linalg.solve(factor, errors / scale) ** 2))
    low, high = chi2.ppf([5e-7, 1 - 5e-7], 1000)
    assert low < total < high
    assert scale == pytest.approx(CLAIM / MU, rel=1e-3)


def test_a_change_as_large_as_the_claim_moves_whitened_answers_that_far_and_no_further():
    from dpfda.online import calibrated
    from dpfda.online.engine import OwnFunction
    from dpfda.online.general import RowEngine, WhitenedValues

    domain, points = dpfda.Domain(((0.0, 1.0),)), np.linspace(0, 1, 60)[:, None]
    law = calibrated(MATERN, domain, sensitivity=CLAIM, moved=4 * CLAIM, budget=BUDGET, by_values=True)
    step = 1e-9

    class Silent:
        def take(self, count):
            return [0] * count

    engine = RowEngine(law, None, Silent())
    rows = np.zeros((60, 60))
    for place, answer in enumerate(engine.extend(points)):
        rows[place, : place + 1] = answer.state[2:]

    def whitened(function):
        own = OwnFunction(function, MATERN, 1, 1e-12)
        return np.array(WhitenedValues(own, step, 1.0).add(rows, points), dtype=np.float64) * step

    section = lambda t: CLAIM * MATERN(np.atleast_1d(t), [0.5])[:, 0]  # noqa: E731
    moved = np.linalg.norm(whitened(lambda t: 1e3 + section(t)) - whitened(lambda t: 1e3 + 0 * t))
    assert 0.9 * CLAIM < moved <= CLAIM * (1 + 4 * 2.0**-20)


def test_an_open_oracle_is_charged_once(tmp_path):
    ledger = dpfda.SessionLedger()
    store = f"sqlite:///{tmp_path / 'own.db'}"
    est = estimator(ledger=ledger)
    est.open(store, wave).close()
    est.open(store, wave).close()
    assert ledger.epsilon == pytest.approx(1.0)
    with refused(UsageError, parameter="mechanism"):
        estimator(delta=0.0, mechanism="k-norm").open(None, wave)


def test_the_code_of_the_guide_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    guide = (Path(__file__).parents[3] / "docs" / "functions.md").read_text()
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL):
        exec(block, names)
    assert names["claim"] == pytest.approx(0.003)
    assert (tmp_path / "mean.json").is_file()


def test_fewer_coordinates_than_points_of_a_grid():
    est = estimator(size=5, randomness=SeededRandomness(5)).fit(wave(GRID), grid=GRID)
    assert est.release_.basis.size == 5
    assert set(est.plan_.points[:, 0]) <= set(GRID)


class NoArray:
    """An object of the user's that fails when it is asked for an array."""

    def __array__(self, *_: object, **__: object) -> object:
        raise RuntimeError


@pytest.mark.parametrize("function", [NoArray(), None, "wave", [[1.0]], [1j], {}, object()])
def test_what_is_no_function_is_refused_whatever_it_raises(function):
    with refused(UsageError, "f"):
        estimator().fit(function)


@pytest.mark.parametrize("coordinates", [np.array([1, -2]), 0, 2**70, 1.5, "3", [3]])
def test_a_plan_takes_a_whole_number_of_coordinates(coordinates):
    with refused(UsageError, "coordinates"):
        estimator().plan(coordinates=coordinates)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("basis", np.arange(3)),
        ("size", np.arange(3)),
        ("sensitivity", 1e-300),
        ("sensitivity", 1e300),
        ("sensitivity", 1j),
        ("norm", ["kernel"]),
    ],
)
@pytest.mark.parametrize("function", [[1.0, 2.0], wave])
def test_a_parameter_that_cannot_be_compared_is_one_of_our_errors(parameter, value, function):
    with refused(UsageError, parameter):
        estimator(**{parameter: value}).fit(function)


class NoMatrix(kernels.Kernel):
    """A kernel of a user's own that gives what is no matrix."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __call__(self, s: object, t: object) -> object:
        return self.value


@pytest.mark.parametrize("value", ["flat", None, 1j, np.nan, np.zeros((3, 7))])
@pytest.mark.parametrize("size", [None, 5])
def test_a_kernel_that_gives_no_matrix_is_one_of_our_errors(value, size):
    with pytest.raises(DpfdaError):
        estimator(kernel=NoMatrix(value), size=size).plan()
    with pytest.raises(DpfdaError):
        estimator(kernel=NoMatrix(value), size=size, basis=dpfda.bases.cosine((0, 1), 5)).plan(grid=GRID)

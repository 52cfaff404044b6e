"""What a plan for an objective predicts: closed forms, the older mechanism for the mean, and simulated draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from refusals import refused
from scipy.stats import chi2

import dpfda
from dpfda.arrays import Array
from dpfda.bases import cosine, mercer
from dpfda.errors import UsageError
from dpfda.kernels import BrownianMotion, Gaussian, Matern
from dpfda.mechanisms import ExponentialDraw, SeededRandomness
from dpfda.mechanisms.concave import Target, best_envelope
from dpfda.mechanisms.objective import POINTS, spread_of
from dpfda.statistics.maximiser.estimator import Maximiser
from dpfda.statistics.maximiser.utilities import RobustDistance, SquaredDistance

KNOWN: dict[str, Any] = {"utility": SquaredDistance(), "epsilon": 1.0, "bound": 2.0, "size": 4}


def plan(n: int = 1000, **changes: Any) -> Any:
    settings = {name: changes.pop(name) for name in ("kernel", "radius", "spread") if name in changes}
    return Maximiser(**{**KNOWN, **changes}, mechanism=ExponentialDraw(**settings)).plan(n)


def test_the_rate_is_epsilon_over_twice_the_range_or_once() -> None:
    assert plan().rate == pytest.approx(1 / 32)  # the range is (2 + 2)^2
    assert plan(neighbours="add-or-remove-one").rate == pytest.approx(1 / 16)


def test_the_base_measure_is_that_of_the_kernel_with_the_stated_size() -> None:
    kernel = BrownianMotion()
    found = plan(kernel=kernel, spread=3.0, radius=4.0)
    eigenvalues = mercer(kernel, (0, 1), 4).eigenvalues
    assert found.prior == pytest.approx(3 * np.sqrt(eigenvalues / eigenvalues.sum()), rel=1e-12)
    assert plan(basis=mercer(kernel, (0, 1), 4), size=None).basis == mercer(kernel, (0, 1), 4)
    assert plan(size=None).basis.size == 8


def test_functions_that_the_base_measure_hardly_has_are_left_out() -> None:
    found = plan(kernel=Gaussian(0.5), size=40)
    assert 4 < found.basis.size < 40
    assert min(found.mechanism.prior) >= 64


def test_for_squares_it_is_the_closed_form_of_the_exponential_mechanism_for_the_mean() -> None:
    """The same kernel and ball: noise and shrinkage of mechanism="exponential" of the mean function."""
    kernel = Matern(1.5, 0.3)
    older = dpfda.MeanFunction(epsilon=1.0, delta=0.0, bound=2.0, mechanism=ExponentialDraw(kernel=kernel), size=4)
    for n in (20, 1000, 10**6):
        one, other = older.plan(n), plan(n, kernel=kernel)
        assert np.diag(other.covariance()) == pytest.approx(one.noise.variances, rel=1e-6)
        assert np.diag(other.kept()) == pytest.approx(one.weights, rel=1e-6)
        assert other.privacy_rms() == pytest.approx(one.noise_rms, rel=1e-6)


def test_theorem_3_3_is_what_is_left_for_large_n() -> None:
    """`2 Delta / (epsilon n)` times the inverse curvature; in Example 3.5, Delta 4, that is `8 / (epsilon n)`."""
    found = plan(10**6)
    assert np.allclose(found.asymptotic_covariance(), 2 * 16 / 1.0 / 10**6 / 2 * np.eye(4), rtol=1e-12)
    assert np.allclose(found.covariance(), found.asymptotic_covariance(), rtol=1e-2, atol=1e-9)
    example = plan(50, bound=1.0).asymptotic_covariance()
    assert np.allclose(example, 8 / 1.0 / 50 * 0.5 * np.eye(4), rtol=1e-12)
    few = plan(3)
    assert np.trace(few.covariance()) < 0.9 * np.trace(few.asymptotic_covariance())
    assert np.trace(few.covariance()) <= np.sum(few.prior**2)


def test_a_matrix_of_curvatures_is_taken_as_it_is() -> None:
    matrix = np.diag([4.0, 3.0, 2.0, 1.0]) + 0.2
    found = plan()
    expected = np.linalg.inv(1000 / 32 * matrix + np.diag(1 / found.prior**2))
    assert np.allclose(found.covariance(matrix), expected, rtol=1e-12)
    assert np.allclose(found.asymptotic_covariance(matrix), 32 / 1000 * np.linalg.inv(matrix), rtol=1e-12)
    assert found.privacy_rms(matrix) == pytest.approx(math.sqrt(np.trace(expected)))


def hessian(utility: Any, units: Array, point: Array) -> Array:
    """Minus the second derivative of the mean utility, by central differences."""
    h, size = 1e-3, len(point)
    ways = h * np.eye(size)

    def mean(where: Array) -> float:
        return float(np.mean(utility(units, where)))

    return -np.array(
        [
            [
                (mean(point + a + b) - mean(point + a - b) - mean(point - a + b) + mean(point - a - b)) / (4 * h * h)
                for b in ways
            ]
            for a in ways
        ]
    )


@pytest.mark.parametrize("knot", [0.15, 0.5])
def test_draws_at_large_n_have_the_predicted_covariance(knot: float) -> None:
    """Theorem 3.3 by simulation: 300 exact draws for 10,000 units, chi-square at level 1e-6 in whitened coordinates.

    The prediction is asymptotic: five percent are granted on either side of the interval.
    """
    rng, n, size, draws = np.random.default_rng(1), 10_000, 3, 300
    units = np.array([0.2, -0.1, 0.1]) + rng.normal(size=(n, size)) * [0.2, 0.1, 0.05]
    units[: n // 20] = 0.5  # one in twenty is wrong
    found = plan(n, utility=RobustDistance(knot), bound=1.0, size=size)
    mechanism = found.mechanism
    total = mechanism.total(np.rint(units.ravel() / mechanism.unit_step).astype(np.int64))
    target = Target(total, 1 / spread_of(True), mechanism.precisions, POINTS)
    envelope, source, kept = best_envelope(target, total.bend), SeededRandomness(2), []
    while len(kept) < draws:
        point = envelope.draw(target, source)
        kept += [] if point is None else [point * mechanism.step]
    sample = np.array(kept)
    middle = envelope.place * mechanism.step
    predicted = found.covariance(hessian(mechanism.utility, units, middle))
    whitened = np.linalg.solve(np.linalg.cholesky(predicted), (sample - sample.mean(axis=0)).T)
    low, high = chi2(size * (draws - 1)).ppf([5e-7, 1 - 5e-7])
    assert low / 1.05 < (whitened**2).sum() < high * 1.05
    # Each coordinate by itself, not only their sum.
    lows, highs = chi2(draws - 1).ppf([1e-7, 1 - 1e-7])
    assert np.all((lows / 1.05 < (whitened**2).sum(axis=1)) & ((whitened**2).sum(axis=1) < highs * 1.05))


def test_a_plan_says_what_drives_the_error() -> None:
    text = plan().text()
    assert text.startswith("Plan for 1000 units at (epsilon = 1, delta = 0); no values read, nothing charged")
    expected = math.sqrt(np.sum(1 / (1000 * 2 / 32 + 1 / plan().prior ** 2)))
    assert f"error       about {expected:.4g} root mean square due to privacy\n" in text
    assert "driven by   the range of one unit's utility over its curvature" in text
    assert str(plan()) == text
    assert "the base measure, which leaves" in plan(3).drives
    assert any("Next to nothing could be seen" in warning for warning in plan(1, epsilon=0.1).warnings)
    assert not plan().warnings


def test_a_curvature_that_falls_gives_two_ends() -> None:
    found = plan(utility=RobustDistance(0.5))
    near, far = found.curvatures()
    assert (near, far) == pytest.approx((1.0, (1 + 64) ** -1.5))
    assert "if units lie near the maximiser; " in found.text()
    assert found.to_dict()["privacy_rms"] == [found.privacy_rms(near), found.privacy_rms(far)]


def test_a_plan_warns_of_draws_that_may_never_end() -> None:
    """Measured acceptances of 5,000 units: 1e-3 at knot 0.3 and size 20, 4e-4 at 0.1 and 8, none seen at 0.1 and 20."""
    text = "a draw may take very long, and does not give up"
    for knot, size, slow in ((0.3, 20, False), (0.1, 8, False), (0.1, 20, True)):
        found = plan(5000, utility=RobustDistance(knot), bound=1.0, size=size)
        assert any(text in warning for warning in found.warnings) == slow
        found.check_ends()
    # Many more units make the law narrow, and all proposals are good again.
    assert min(plan(10**6, utility=RobustDistance(0.1), bound=1.0, size=20).acceptances) > 0.1
    for n, slow in ((50, False), (5000, True)):
        assert any(text in warning for warning in plan(n, curvature=0.0).warnings) == slow
    # With a knot so small that units which are all alike make a kink it is they that take long.
    narrow = RobustDistance(1e-6)  # whose range is stated: by rule so small a knot is refused
    known = {"utility": narrow, "utility_range": narrow.range(2.0), "bound": 1.0, "size": 8, "epsilon": 20.0}
    spread, alike = plan(3, **known).acceptances
    assert alike < 1e-4 < spread
    assert plan(utility=lambda units, point: -np.ones(len(units)), utility_range=(-1.0, 0.0)).acceptances is None


def test_what_would_hardly_ever_end_is_refused_by_public_facts() -> None:
    with refused(UsageError, "size"):
        plan(10**6, curvature=0.0, size=8).check_ends()
    plan(10**6, curvature=None, size=8).check_ends()


def test_the_curvature_across_belongs_to_the_utilitys_own() -> None:
    assert plan(utility=RobustDistance(0.5)).mechanism.across is not None
    assert plan(utility=RobustDistance(0.5), curvature=0.001).mechanism.across is None
    assert plan().mechanism.across is None


def test_without_a_curvature_nothing_is_predicted() -> None:
    found = plan(utility=lambda units, point: -np.ones(len(units)), utility_range=(-1.0, 0.0))
    assert found.curvatures() is None
    assert "error       not known: no curvature was stated" in found.text()
    assert found.drives == "not known without a curvature"
    assert found.to_dict()["privacy_rms"] is None
    assert any("one of finitely many points is chosen" in warning for warning in found.warnings)
    assert found.privacy_rms(2.0) > 0
    with refused(UsageError, "curvature", None):
        found.covariance()


def test_a_plan_is_plain_data() -> None:
    import json

    data = json.loads(json.dumps(plan().to_dict()))
    assert data["n"] == 1000
    assert data["utility_range"] == [-16.0, 0.0]
    assert data["delta"] == 0.0


@pytest.mark.parametrize(
    ("curvature", "text"),
    [
        (np.eye(3), r"^A curvature is a finite number or a symmetric matrix \(4, 4\), got shape \(3, 3\)\.$"),
        (np.triu(np.ones((4, 4))), r"^A curvature is a finite number or a symmetric matrix"),
        (math.nan, r"^A curvature is a finite number or a symmetric matrix \(4, 4\), got shape \(\)\.$"),
        (-1.0, r"^A curvature must be 0 or more in every direction: the utility is to be concave\.$"),
    ],
    ids=["size", "not symmetric", "nan", "negative"],
)
def test_curvatures_that_are_none_are_refused(curvature: Any, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        plan().covariance(curvature)


def test_the_theorem_needs_a_curvature_above_zero() -> None:
    with refused(UsageError, "curvature"):
        plan().asymptotic_covariance(np.diag([1.0, 1.0, 1.0, 0.0]))


@pytest.mark.parametrize(
    ("changes", "about"),
    [
        ({"radius": 0.0}, ("radius", 0.0)),
        ({"spread": math.inf}, ("spread", float("inf"))),
        ({"spread": True}, ("spread", True)),
        ({"curvature": -1.0}, ("curvature", -1.0)),
        ({"curvature": "a"}, ("curvature", "a")),
        ({"basis": cosine((0, 1), 4)}, ("basis",)),
        ({"spread": 1e-6}, ("prior",)),
    ],
    ids=["radius", "spread", "no number", "curvature", "word", "basis", "narrow"],
)
def test_wishes_that_are_none_are_refused(changes: dict[str, Any], about: Any) -> None:
    with refused(UsageError, *about):
        plan(**changes)


def test_more_units_than_can_be_added_up_are_refused() -> None:
    with refused(UsageError, "n", 1048577):
        plan(2**20 + 1)


@pytest.mark.parametrize("curvature", [np.inf, -np.inf, np.nan, [[np.inf]]])
def test_a_curvature_that_is_not_finite_is_refused_without_a_warning(curvature: object) -> None:
    est = Maximiser(epsilon=5.0, bound=1.0, domain=(0.0, 1.0), utility=SquaredDistance(), force=True, size=5)
    with pytest.raises(UsageError):
        est.plan(n=1000).privacy_rms(curvature)

"""The penalised objective of Awan et al., Example 3.5: its law, its price for neighbours, and its limit theorem."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from refusals import refused
from scipy.stats import chi2, kstest

from dpfda.bases import mercer
from dpfda.errors import UsageError
from dpfda.kernels import Exponential, Gaussian, Matern
from dpfda.mechanisms import ExponentialDraw, SeededRandomness
from dpfda.mechanisms.concave import Target, best_envelope
from dpfda.mechanisms.objective import POINTS, spread_of
from dpfda.statistics.maximiser.estimator import Maximiser
from dpfda.statistics.maximiser.utilities import SquaredDistance

KERNEL = Matern(1.5, 0.3)
T = np.linspace(0, 1, 9)
STATED: dict[str, Any] = {"utility": SquaredDistance(), "epsilon": 1.0, "bound": 1.0, "size": 4}


def estimator(*, penalty: Any = 0.05, eta: Any = 0.5, kernel: Any = KERNEL, **changes: Any) -> Maximiser:
    settings = {name: changes.pop(name) for name in ("radius", "spread", "candidates") if name in changes}
    mechanism = ExponentialDraw(kernel=kernel, penalty=penalty, eta=eta, **settings)
    return Maximiser(**{**STATED, **changes}, mechanism=mechanism)


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
def test_the_covariance_is_that_of_the_example(relation: str) -> None:
    """`Sigma = (2 penalty O^-1 + 2 I)^-1 = (penalty I + O)^-1 O / 2`, times `2 Delta / (n epsilon)`."""
    plan = estimator(neighbours=relation, planned_n=1000).plan(1000)
    omega = mercer(KERNEL, (0, 1), 4).eigenvalues ** 0.5
    sigma = np.diag(omega / (0.05 + omega) / 2)
    delta = 4.0 if relation == "replace-one" else 2.0  # the range of a unit's utility is 4; half of it counts
    assert plan.asymptotic_covariance() == pytest.approx(2 * delta / 1000 * sigma, rel=1e-9)
    exact = np.linalg.inv(np.linalg.inv(2 * delta / 1000 * sigma) + np.diag(1 / plan.prior**2))
    assert plan.covariance() == pytest.approx(exact, rel=1e-9)
    assert np.diag(plan.kept()) == pytest.approx(np.diag(exact) / (2 * delta / 1000 / 2), rel=1e-9)
    assert plan.privacy_rms() < estimator(penalty=None, eta=None).plan(1000).privacy_rms()


def exponents(plan: Any, units: Any, points: Any) -> Any:
    """The exact log weights at points on the first axis, for units there, written out by the definition."""
    made, rate = plan.mechanism, plan.budget.epsilon / spread_of(not plan.request.counted)
    vector = np.zeros((len(units), plan.basis.size))
    vector[:, 0] = units
    total = made.total(np.rint(vector / made.unit_step).astype(np.int64).ravel())
    found = []
    for point in points:
        where = np.zeros(plan.basis.size, dtype=np.int64)
        where[0] = round(point * POINTS)
        found.append(rate * total(where) - float(made.precisions_at(rate) @ where.astype(float) ** 2))
    return np.array(found)


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
def test_the_penalty_costs_no_privacy_and_neighbours_use_what_there_is(relation: str) -> None:
    """Log ratios of two neighbours at all points lie in an interval of length epsilon, and fill nine tenths of it."""
    plan = estimator(neighbours=relation, planned_n=3, penalty=0.2).plan(3)
    points = np.linspace(-1, 1, 81)
    one = exponents(plan, [1.0, 0.0, 0.3], points)
    longest = 0.0
    for other in ([-1.0, 0.0, 0.3], [0.0, 0.0, 0.3], [0.5, 0.0, 0.3]) if relation == "replace-one" else ([0.0, 0.3],):
        longest = max(longest, float(np.ptp(one - exponents(plan, other, points))))
    assert 0.9 <= longest <= 1.0 + 1e-9


def test_a_penalty_that_counted_the_units_there_are_would_be_caught() -> None:
    """With a private number of units: the planned one stands in the penalty. The true one would pass epsilon."""
    plan = estimator(neighbours="add-or-remove-one", planned_n=3, penalty=5.0, spread=10.0).plan(3)
    points = np.linspace(-1, 1, 81)
    rate = plan.rate
    honest = exponents(plan, [1.0, 0.0, 0.3], points) - exponents(plan, [0.0, 0.3], points)
    faulty = honest - rate * plan.penalties[0] * points**2
    assert np.ptp(honest) <= 1.0 + 1e-9 < np.ptp(faulty)


def test_curves_are_drawn_from_the_penalised_law() -> None:
    """Kolmogorov-Smirnov at level 1e-6, of 400 seeded draws of one coordinate against the cut normal law."""
    est = estimator(size=1, penalty=0.5, epsilon=4.0)
    plan, made = est.plan(60), est.plan(60).mechanism
    rate = 4.0 / spread_of(True)
    total = made.total(np.full(60, round(0.6 / made.unit_step), dtype=np.int64))
    aim, source, draws = Target(total, rate, made.precisions_at(rate), POINTS), SeededRandomness(7), []
    envelope = best_envelope(aim, total.bend)  # a function of the units: `draw` makes the same one each time
    while len(draws) < 400:
        drawn = envelope.draw(aim, source)
        draws += [] if drawn is None else [int(drawn[0]) / POINTS]
    points = np.linspace(-1, 1, 4001)
    logs = -(
        plan.rate * 60 * ((points - 0.6) ** 2 + plan.penalties[0] * points**2) + points**2 / (2 * plan.prior[0] ** 2)
    )
    sums = np.cumsum(np.exp(logs - logs.max()))
    assert kstest(draws, lambda x: np.interp(x, points, sums / sums[-1])).pvalue > 1e-6
    without = -(plan.rate * 60 * (points - 0.6) ** 2 + points**2 / (2 * plan.prior[0] ** 2))
    sums = np.cumsum(np.exp(without - without.max()))
    assert kstest(draws, lambda x: np.interp(x, points, sums / sums[-1])).pvalue < 1e-6


def test_candidates_come_from_base_measure_and_penalty_together() -> None:
    """Chi-square at level 1e-6 of 500 points, narrow against the ball, each coordinate over its own deviation."""
    utility = {"utility": lambda X, b: -np.sum((X - b) ** 2, axis=1), "utility_range": (-4, 0)}
    plan = estimator(**utility, spread=0.1, penalty=5.0).plan(500)
    rate = 1.0 / spread_of(True)
    points = plan.mechanism.base_points(500, SeededRandomness(3), rate=rate).astype(float)
    squares = float(np.sum(points**2 * 2 * plan.mechanism.precisions_at(rate)))
    low, high = chi2.ppf([5e-7, 1 - 5e-7], df=points.size)
    assert low < squares < high
    # The base measure alone would be wider.
    assert float(np.sum(points**2 * 2 * plan.mechanism.precisions)) < low


@pytest.mark.parametrize(
    ("kernel", "eta", "said"),
    [
        (KERNEL, 0.5, "holds in infinitely many coordinates, which takes 0.25 < eta < 0.875"),
        (KERNEL, 0.9, "is not known to hold"),
        (KERNEL, 0.25, "is not known to hold"),
        (Exponential(0.3), None, "holds"),
        (Gaussian(0.3), None, "holds in infinitely many coordinates, which takes 0 < eta < 1"),
    ],
)
def test_the_plan_says_whether_the_limit_theorem_holds(kernel: Any, eta: Any, said: str) -> None:
    assert said in dict(estimator(kernel=kernel, eta=eta, penalty=1e-3).plan(500).reasons)["penalty"]


def test_a_release_says_that_it_is_penalised() -> None:
    curves = 0.5 * np.ones((500, 9))
    release = estimator(epsilon=16.0).fit(curves, grid=T).release_
    assert "less the penalty" in " ".join(release.certificate.text().split())
    assert abs(release(0.5) - 0.5) < 0.4


@pytest.mark.parametrize(
    ("changes", "parameter"),
    [
        ({"penalty": -1.0}, "penalty"),
        ({"penalty": math.nan}, "penalty"),
        ({"eta": "half"}, "eta"),
        ({"penalty": None}, "eta"),
        ({"penalty": 1e300}, "penalty"),
        ({"penalty": 1e12}, "penalty"),
    ],
    ids=["negative", "no number", "text", "eta alone", "infinite", "less than steps"],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], parameter: str) -> None:
    with refused(UsageError, parameter):
        estimator(**changes).plan(1000)

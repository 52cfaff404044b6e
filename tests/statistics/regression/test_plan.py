"""Plans of regressions: predicted errors against simulated ones, how noise is shared out, and what is refused."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from refusals import refused

from dpfda import bases
from dpfda.bases import as_domain
from dpfda.bases.symmetric import packed_size, unpack
from dpfda.errors import CannotMeetBudget, UsageError
from dpfda.kernels import Matern
from dpfda.mechanisms import Gaussian, KNorm, Laplace, SeededRandomness
from dpfda.planning.request import Request
from dpfda.privacy import Budget
from dpfda.statistics.regression.covariates import check_names
from dpfda.statistics.regression.noise import LEADS, LEFT, WEIGHTS, RegressionSetting, best_blocks, best_for_gaussian
from dpfda.statistics.regression.plan import RegressionPlan, plan_regression
from dpfda.statistics.regression.sensitivity import STEPS, longest_change, scaled, stated

PURE, APPROXIMATE = Budget(1.0, 0.0), Budget(1.0, 1e-6)


def facts(covariates=2, *, boxed=True, intercept=True):
    return scaled(
        check_names(None, covariates),
        limits=((0.0, 1.0),) * covariates if boxed else None,
        bound=None if boxed else 1.0,
        intercept=intercept,
    )


def request(n=2000, budget=APPROXIMATE, **wishes):
    given = {"bound": 1.0, "domain": as_domain((0, 1)), "neighbours": "replace-one", "grid_size": 50} | wishes
    return Request(n=n, budget=budget, **given)


def plan(n=2000, budget=APPROXIMATE, covariates=2, *, boxed=True, intercept=True, **wishes):
    return plan_regression(request(n, budget, **wishes), facts(covariates, boxed=boxed, intercept=intercept))


def simulated(found: RegressionPlan, draws=400):
    """Mean square error of predicted curves for the reference design, without smoothing, to all orders in the noise."""
    setting, size = found.setting, found.basis.size
    spread = setting.spread(found.design.lead)
    rng = SeededRandomness(1)
    of_moments, of_products = found.noise.split(packed_size(setting.side))
    assert found.noise.name == "gaussian"
    total = 0.0
    for _ in range(draws):
        beta = np.zeros((setting.side, size))
        beta[:, 0] = np.sqrt(setting.coefficients(found.design.lead)) * found.bound
        e = unpack(rng.normal((of_moments.size,)) * np.sqrt(of_moments.variances))
        f = (rng.normal((of_products.size,)) * np.sqrt(of_products.variances)).reshape(beta.shape)
        off = np.linalg.solve(np.diag(spread) + e, spread[:, None] * beta + f) - beta
        total += float(spread @ np.sum(off**2, axis=1)) / draws
    return total


@pytest.mark.parametrize("covariates", [1, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_predicted_noise_is_that_of_simulated_regressions(covariates, intercept):
    """To first order: within 10 % where noise is small, 400 seeded draws."""
    found = plan(50_000, covariates=covariates, intercept=intercept, size=6, bound=3.0, mechanism="gaussian")
    assert math.sqrt(simulated(found)) == pytest.approx(found.noise_rms, rel=0.1)


def test_a_plan_for_records_says_what_their_release_then_has():
    from dpfda.statistics.regression.estimator import FunctionOnScalarRegression

    rng = np.random.default_rng(0)
    z = rng.uniform(0, 1, (5000, 2))
    y = 0.5 * z @ np.ones((2, 50)) - 0.5
    est = FunctionOnScalarRegression(epsilon=1.0, delta=1e-6, bound=1.0, covariate_limits=[(0, 1)] * 2, force=True)
    est.fit(z, y)
    assert est.release_.noise.describe() == est.plan_.noise.describe()
    assert est.release_.noise_rms == pytest.approx(est.plan_.noise_rms, rel=0.25)


# How noise is shared out.


@pytest.mark.parametrize("replaced", [True, False])
def test_lead_and_weight_have_the_least_predicted_error_of_all(replaced):
    setting = RegressionSetting(2, True, True, replaced)
    lead, weight = best_for_gaussian(setting, 12 / LEFT)

    def error(a, w):
        moments = np.array([1.0, 1.0, 1.0, 0.5, 0.5, 0.5]) @ setting.moment_weights(a) ** 2
        products = 12 / 3 * np.sum(setting.product_weights(a) ** 2) / w**2
        return (moments + products) * longest_change(a, w, replaced=replaced) ** 2

    assert LEADS[0] < lead < LEADS[-1]
    assert WEIGHTS[0] < weight < WEIGHTS[-1]
    assert error(lead, weight) == min(error(a, w) for a in LEADS for w in WEIGHTS)


def test_a_joint_sensitivity_beats_splitting_the_budget():
    """Moments and products as two releases with half the budget each would have more noise in both."""
    found = plan(5000, PURE, mechanism="laplace", size=8)
    lead, weight = found.design.lead, found.design.weight
    square = (lead / STEPS) ** 2 + 1
    moments, products = found.noise.split(6)
    n, side = 5000, 3
    apart_moments = math.sqrt(2) * square * math.sqrt(3 + 3 / 2) / 0.5 / n  # L1 of six entries by Cauchy-Schwarz
    apart_products = 2 * math.sqrt(square) * math.sqrt(side * 8) / 0.5 / n
    # Errors of the reference, in squares: what both have in common is left out.
    weights = found.setting.moment_weights(lead)
    rows = np.repeat(found.setting.product_weights(lead) ** 2, 8)
    joint = float(weights**2 @ moments.variances + rows @ products.variances)
    apart = 2 * float(np.sum(weights**2) * apart_moments**2 + rows.sum() * apart_products**2)
    assert weight > 0
    assert joint < apart


@pytest.mark.parametrize("most", [None, 1])
def test_blocks_never_mix_moments_with_products_nor_diagonals_with_others(most):
    setting = RegressionSetting(3, True, True, True)
    lead, weight, sizes, shares = best_blocks(setting, (1.0,) * 15, most)
    edges = set(np.cumsum(sizes).tolist())
    assert {4, 10, 25, 40, 55, 70} <= edges
    assert sum(sizes) == 10 + 4 * 15
    assert lead in LEADS
    # Cauchy-Schwarz in the norm of the sensitivity: shares over weights have squares that add up to one.
    places = np.cumsum([0, *sizes])[:-1]
    norms = np.where(places < 4, 1.0, np.where(places < 10, math.sqrt(2), weight))
    assert np.sum((np.array(shares) / norms) ** 2) == pytest.approx(1.0)


def test_wider_spread_and_more_covariates_ask_for_another_lead():
    one, many = (
        best_for_gaussian(RegressionSetting(1, True, True, True), 10 / LEFT),
        best_for_gaussian(RegressionSetting(5, True, True, True), 10 / LEFT),
    )
    assert many[0] < one[0]
    assert best_for_gaussian(RegressionSetting(2, False, True, True), 10 / LEFT)[0] == 0


# Choices.


def test_the_mechanism_is_chosen_by_its_predicted_error():
    large, small = plan(100_000), plan(30)
    assert large.design.name == "gaussian"
    for found in (large, small):
        errors = {name: plan(found.n, mechanism=name).predict().total for name in ("gaussian", "k-norm")}
        assert found.design.name == min(errors, key=errors.get)
    assert plan(100, PURE).design.name == "k-norm"
    assert plan(100, PURE).spends == PURE
    assert dict(plan(100, PURE).reasons)["mechanism"] == "pure epsilon asks for K-norm noise"
    assert "least predicted error" in dict(large.reasons)["mechanism"]


def test_sizes_grow_with_the_number_of_units_and_stay_below_the_grid():
    for budget in (PURE, APPROXIMATE):
        sizes = [plan(n, budget).basis.size for n in (20, 200, 2000, 200_000)]
        assert sizes == sorted(sizes)
        assert sizes[0] < sizes[2]
        assert sizes[-1] <= 50
    assert plan(10**6, PURE, grid_size=2000).basis.size <= 96
    assert plan(10**6, grid_size=2000).basis.size <= 256


@pytest.mark.parametrize("name", ["gaussian", "k-norm", "laplace", "iclp-qr"])
@pytest.mark.parametrize("boxed", [True, False], ids=["limits", "bound"])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
def test_errors_fall_with_units_and_epsilon(name, boxed, neighbours):
    def error(n, epsilon):
        budget = Budget(epsilon, 1e-6 if name in ("gaussian", "gp") else 0.0)
        return plan(n, budget, boxed=boxed, mechanism=name, neighbours=neighbours).predict().total

    found = [error(n, 1.0) for n in (100, 1000, 10_000)]
    assert all(b < a for a, b in pairwise(found))
    assert error(1000, 4.0) < error(1000, 1.0)


def test_adding_a_unit_costs_less_than_replacing_one():
    one, other = plan(), plan(neighbours="add-or-remove-one")
    assert other.noise_rms < one.noise_rms


def test_the_table_ranks_every_mechanism():
    rows = plan().table()
    assert {row[0] for row in rows} == {"gaussian", "k-norm", "laplace", "iclp-qr", "gp"}
    assert [row[1] for row in rows] == sorted(row[1] for row in rows)
    assert [row[2] for row in rows].count("chosen") == 1
    refused = {row[0]: row for row in plan(budget=PURE).table()}["gaussian"]
    assert refused[1] is None
    assert "needs delta > 0" in refused[2]


def test_the_plan_is_plain_data_and_a_text():
    found = plan(500, boxed=False, covariates=1)
    back = json.loads(json.dumps(found.to_dict()))
    assert back["mechanism"] == found.design.name
    assert back["predicted_rms"] == pytest.approx(math.sqrt(found.predict().total))
    text = str(found)
    assert text.startswith(
        "Plan for a regression on 1 covariate of 500 units at (epsilon = 1, delta = 1e-06); no values"
    )
    for line in ("mechanism", "covariates  z1: Euclidean norm at most 1", "error       about", "because     products:"):
        assert line in text
    assert "stored   here" in found.text(("stored", "here")) or "stored      here" in found.text(("stored", "here"))


def test_a_plan_warns_before_anything_is_spent():
    assert any(
        "Next to nothing could be seen: the error expected in predicted curves" in warning
        for warning in plan(10).warnings
    )
    assert "Warning: Next to nothing could be seen" in plan(10).text()
    assert not plan(10**5).warnings
    assert any("delta" in warning for warning in plan(1000, Budget(1.0, 0.01)).warnings)


# What is stated by the user.


def test_mechanism_objects_get_the_weight_under_which_they_need_least():
    size = 6 + 3 * 4
    for mechanism in (Gaussian(), Laplace(), KNorm((6, 12), (1.0, 5.0)), Gaussian((1.0,) * 6 + (0.01,) * 12)):
        found = plan(budget=Budget(1.0, 1e-6), mechanism=mechanism, size=4)
        assert found.design.mechanism is mechanism

        def needed(weight, lead=found.design.lead, norm=mechanism.norm):
            return stated(3, 4, lead, weight, replaced=True).to(norm, size).value

        assert all(needed(found.design.weight) <= needed(weight) * (1 + 1e-12) for weight in (0.2, 1.0, 5.0))


def test_the_papers_process_has_its_kernels_basis_and_weights():
    found = plan(2000, PURE, mechanism="iclp-qr", kernel=Matern(1.5, 0.2))
    assert isinstance(found.basis, type(bases.mercer(Matern(1.5, 0.2), (0, 1), 3)))
    assert found.design.weights is not None
    assert found.design.weights[0] > found.design.weights[-1]
    assert "Matern" in dict(found.reasons)["kernel"]


@pytest.mark.parametrize("parameter", ["kernel", "eta", "penalty"])
def test_what_a_mechanism_would_ignore_is_refused(parameter):
    value = Matern(1.5, 0.1) if parameter == "kernel" else 1.0
    with refused(UsageError, parameter):
        plan(**{parameter: value})


def test_unknown_mechanisms_and_impossible_budgets_are_refused():
    with refused(UsageError, "mechanism", "frl"):
        plan(mechanism="frl")
    with refused(CannotMeetBudget, "delta", 0.0):
        plan(budget=PURE, mechanism="gaussian")

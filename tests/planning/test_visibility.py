"""What would be next to nothing but noise is refused before the charge, for every kind, with what would do."""

from __future__ import annotations

import re

import numpy as np
import pytest
from refusals import refused

import dpfda
from dpfda.errors import UsageError
from dpfda.ledger import SessionLedger
from dpfda.mechanisms import MECHANISMS, GaussianProcess, LaplaceProcess
from dpfda.planning.base import NOISY_FROM, refusal
from dpfda.statistics.density.plan import shape_of
from dpfda.statistics.maximiser.utilities import SquaredDistance

T = np.linspace(0, 1, 20)
LOUD = {"epsilon": 1.0, "delta": 1e-6}
CURVES = {"bound": 1.0, "domain": (0, 1)}


def curves(n):
    return np.random.default_rng(0).normal(size=(n, 1)) * 0.3 * np.sin(np.pi * T)


# By kind: an estimator, the data of n units, and an epsilon at which so few of them show nothing.
KINDS = {
    "mean": (lambda **more: dpfda.MeanFunction(**LOUD | CURVES | more), lambda n: (curves(n),), 0.01),
    "covariance": (lambda **more: dpfda.CovarianceFunction(**LOUD | CURVES | more), lambda n: (curves(n),), 0.1),
    "components": (lambda **more: dpfda.FPCA(2, **LOUD | CURVES | more), lambda n: (curves(n),), 0.1),
    "frames": (
        lambda **more: dpfda.FPCA(
            1, **LOUD | {"delta": 0.0, "mechanism": "exponential", "mean": "centre"} | CURVES | more
        ),
        lambda n: (curves(n),),
        0.1,
    ),
    "regression": (
        lambda **more: dpfda.FunctionOnScalarRegression(**LOUD | CURVES | {"covariate_limits": [(0, 1)]} | more),
        lambda n: (np.linspace(0, 1, n), curves(n)),
        0.1,
    ),
    "density": (
        lambda **more: dpfda.DensityFunction(**LOUD | {"domain": (0, 1)} | more),
        lambda n: (np.linspace(0, 1, n) ** 2,),
        0.01,
    ),
    "classifier": (
        lambda **more: dpfda.KernelClassifier(**LOUD | more),
        lambda n: (np.linspace(0, 1, n)[:, None], np.arange(n) % 2),
        0.01,
    ),
    "regressor": (
        lambda **more: dpfda.KernelRegressor(**LOUD | {"response_bound": 1.0} | more),
        lambda n: (np.linspace(0, 1, n)[:, None], np.linspace(-1, 1, n)),
        0.01,
    ),
    "maximiser": (
        lambda **more: dpfda.Maximiser(**{"utility": SquaredDistance(), "epsilon": 1.0, "size": 3} | CURVES | more),
        lambda n: (curves(n),),
        0.01,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_noise_is_refused_before_the_charge_unless_it_is_forced(kind):
    make, data, epsilon = KINDS[kind]
    ledger = SessionLedger(cap=dpfda.Budget(10.0, 1e-4))
    with pytest.raises(UsageError) as refused:
        make(epsilon=epsilon, ledger=ledger).fit(*data(100))
    text = str(refused.value)
    assert text.startswith(f"With n = 100 and epsilon {epsilon:g} ")
    assert text.endswith("Say force=True to release it all the same. Nothing was charged.")
    assert " would do" in text
    assert not ledger.entries
    est = make(epsilon=epsilon, ledger=ledger, force=True).fit(*data(100))
    assert est.release_.certificate.epsilon == epsilon
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_said_to_do_does(kind):
    make, _, epsilon = KINDS[kind]
    est = make(epsilon=epsilon)
    plan = est.plan(100) if kind != "regression" else est.plan(100, covariates=1)
    text = refusal(plan, lambda n, other: make(epsilon=other)._again(plan, n), bounded=False)
    units = re.search(r"About n = (\d+)", text)
    dearer = re.search(r"epsilon ([\d.]+) would do", text)
    assert units or dearer
    if units:
        assert not est._again(plan, int(units[1])).hidden
    if dearer:
        assert not make(epsilon=float(dearer[1]))._again(plan, 100).hidden


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_of_142_people_at_epsilon_1_the_mean_is_released_and_the_covariance_and_regression_are_refused(delta):
    spent = {"epsilon": 1.0, "delta": delta, "bound": 1.0}
    assert not dpfda.MeanFunction(**spent).plan(142).hidden
    for est in (dpfda.CovarianceFunction(**spent), dpfda.FPCA(2, **spent)):
        with pytest.raises(UsageError, match=r"would be 79% of the covariance of curves that vary around their mean"):
            est.fit(np.zeros((142, 20)))
    one = dpfda.FunctionOnScalarRegression(**spent, covariate_limits=[(0, 1)])
    with pytest.raises(UsageError, match=r"error expected in predicted curves|noise bands of the coefficients"):
        one.fit(np.linspace(0, 1, 142), np.zeros((142, 20)))


def test_a_regression_whose_bands_would_be_infinite_is_refused():
    est = dpfda.FunctionOnScalarRegression(epsilon=1.0, delta=0.0, bound=1.0, covariate_limits=[(0, 1)] * 2)
    plan = est.plan(382)
    assert plan.band_share >= 1
    assert plan.hidden == "the noise bands of the coefficients would be infinite"


def test_no_bound_changes_what_is_refused_and_the_message_says_so():
    plans = [dpfda.CovarianceFunction(**LOUD, bound=bound).plan(142) for bound in (0.01, 1.0, 100.0)]
    assert len({plan.hidden for plan in plans}) == 1
    with pytest.raises(UsageError, match="with any bound: the noise is in proportion to it"):
        dpfda.CovarianceFunction(**LOUD, bound=5.0).fit(np.zeros((142, 20)))


def test_the_threshold_is_where_noise_is_as_large_as_the_signal():
    assert pytest.approx(0.5, abs=0.02) == NOISY_FROM**2


def test_force_is_true_or_false():
    with refused(UsageError, "force", "yes"):
        dpfda.MeanFunction(**LOUD, bound=1.0, force="yes").fit(curves(100))


def test_refusals_depend_on_public_facts_alone():
    texts = set()
    for data in (np.zeros((142, 20)), np.full((142, 20), np.nan), curves(142)):
        with pytest.raises(UsageError) as refused:
            dpfda.CovarianceFunction(**LOUD, bound=1.0).fit(data)
        texts.add(str(refused.value))
    assert len(texts) == 1


def test_a_blind_choice_of_a_bound_or_a_setting_is_refused():
    with pytest.raises(UsageError, match=r"drawn almost blindly.*About n = \d+ or epsilon .* Nothing was charged"):
        dpfda.private_bound(curves(20), epsilon=0.1, quantile=0.9, candidates=(0.01, 10.0))
    settings = [dpfda.MeanFunction(**LOUD, bound=1.0, mechanism=GaussianProcess(penalty=p)) for p in (0.1, 0.01)]
    with pytest.raises(UsageError, match=r"error of the choice would be .* Nothing was charged"):
        dpfda.private_choice(curves(20), epsilon=0.1, candidates=settings)
    assert dpfda.private_choice(curves(20), epsilon=0.1, candidates=settings, force=True).index in (0, 1)


# Kinds with what may be stated for them: no plan that calls itself noise is charged, and what is advised does.
STATED = {
    "mean": (lambda **more: dpfda.MeanFunction(delta=0.0, **CURVES, **more), {}),
    "mean by a process": (
        lambda **more: dpfda.MeanFunction(delta=0.0, mechanism=LaplaceProcess(penalty=0.1), **CURVES, **more),
        {},
    ),
    "covariance of one function": (lambda **more: dpfda.CovarianceFunction(delta=1e-6, size=1, **CURVES, **more), {}),
    "covariance over three sides": (
        lambda **more: dpfda.CovarianceFunction(delta=0.0, bound=1.0, domain=[(0, 1)] * 3, **more),
        {},
    ),
    "covariance by a process": (
        lambda **more: dpfda.CovarianceFunction(delta=0.0, mechanism=LaplaceProcess(penalty=1.0), **CURVES, **more),
        {},
    ),
    "components": (lambda **more: dpfda.FPCA(2, delta=1e-6, **CURVES, **more), {}),
    "frames of two functions": (
        lambda **more: dpfda.FPCA(1, delta=0.0, mechanism="exponential", size=2, **CURVES, **more),
        {},
    ),
    "regression of one function": (
        lambda **more: dpfda.FunctionOnScalarRegression(delta=0.0, size=1, covariate_limits=[(0, 1)], **CURVES, **more),
        {"covariates": 1},
    ),
    "regression on four covariates": (
        lambda **more: dpfda.FunctionOnScalarRegression(
            delta=1e-6, size=2, covariate_limits=[(0, 1)] * 4, **CURVES, **more
        ),
        {"covariates": 4},
    ),
    "regression at two points": (
        lambda **more: dpfda.FunctionOnScalarRegression(delta=0.0, covariate_limits=[(0, 1)], **CURVES, **more),
        {"covariates": 1, "grid_size": 2},
    ),
    "density": (lambda **more: dpfda.DensityFunction(delta=0.0, domain=(0, 1), **more), {}),
    "density between edges": (lambda **more: dpfda.DensityFunction(delta=0.0, edges=[0, 0.5, 1], **more), {}),
    "density by iclp-qr": (
        lambda **more: dpfda.DensityFunction(delta=0.0, domain=(0, 1), mechanism="iclp-qr", **more),
        {},
    ),
    "density by frl": (lambda **more: dpfda.DensityFunction(delta=0.0, domain=(0, 1), mechanism="frl", **more), {}),
    "density by bernstein": (
        lambda **more: dpfda.DensityFunction(delta=0.0, domain=(0, 1), mechanism="bernstein", **more),
        {},
    ),
    "density by gp": (lambda **more: dpfda.DensityFunction(delta=1e-6, domain=(0, 1), mechanism="gp", **more), {}),
    "density by gp on a square": (
        lambda **more: dpfda.DensityFunction(delta=1e-6, domain=[(0, 1)] * 2, mechanism="gp", **more),
        {},
    ),
    "classifier": (lambda **more: dpfda.KernelClassifier(delta=1e-6, **more), {}),
    "classifier by a wide penalty": (lambda **more: dpfda.KernelClassifier(delta=0.0, penalty=10.0, **more), {}),
    "regressor": (lambda **more: dpfda.KernelRegressor(delta=1e-6, response_bound=1.0, **more), {}),
}


@pytest.mark.parametrize(("n", "epsilon"), [(3, 1.0), (100, 0.05)])
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.audit) if kind.endswith("square") else kind for kind in STATED]
)
def test_the_n_or_epsilon_that_is_advised_is_not_refused_itself(kind, n, epsilon):
    make, facts = STATED[kind]
    est = make(epsilon=epsilon)
    plan = est.plan(n, **facts)
    assert plan.hidden
    with pytest.raises(UsageError) as refused:
        est.check_seen(plan)
    units = re.search(r"About n = (\d+)", str(refused.value))
    dearer = re.search(r"epsilon ([\d.]+) would do", str(refused.value))
    assert units or dearer
    if units:
        advised = est.plan(int(units[1]), **facts)
        assert not advised.hidden
        est.check_seen(advised)
    if dearer:
        assert not make(epsilon=float(dearer[1])).plan(n, **facts).hidden


@pytest.mark.parametrize(
    ("mechanism", "n"),
    [
        *((name, n) for name in ("iclp-qr", "frl", "bernstein", "gp") for n in (1, 5, 20)),
        # Thirteen plans of a second each; `test_a_density_by_sections_of_few_people_is_hidden` makes two of them.
        pytest.param("sobolev", 5, marks=pytest.mark.audit),
    ],
)
def test_a_density_of_few_people_by_the_papers_is_refused_and_its_advice_keeps_the_error_below_the_threshold(
    mechanism, n
):
    spent = {"epsilon": 1.0, "delta": 1e-6 if mechanism in ("gp", "sobolev") else 0.0}
    ledger = SessionLedger()
    est = dpfda.DensityFunction(**spent, domain=(0, 1), mechanism=mechanism, ledger=ledger)
    with pytest.raises(UsageError, match=r"the error expected would be .* Nothing was charged") as refused:
        est.fit(np.linspace(0, 1, n))
    assert not ledger.entries
    advised = est.plan(int(re.search(r"About n = (\d+)", str(refused.value))[1]))
    assert advised.error * advised.volume < NOISY_FROM * shape_of(advised.cells)


def test_a_density_by_sections_of_few_people_is_hidden():
    est = dpfda.DensityFunction(**LOUD, domain=(0, 1), mechanism="sobolev")
    assert est.plan(5).hidden
    advised = est.plan(1200)  # what the refusal says would do
    assert not advised.hidden
    assert advised.error * advised.volume < NOISY_FROM * shape_of(advised.cells)


@pytest.mark.parametrize(
    ("mechanism", "delta", "penalty"),
    [("iclp-ar", 0.0, 1.0), ("iclp-ar", 0.0, 10.0), ("iclp-qr", 0.0, 10.0), ("gp", 1e-6, 10.0)],
)
@pytest.mark.parametrize("n", [3, 142])
def test_a_penalty_that_leaves_nothing_of_the_mean_is_refused_and_may_be_forced(mechanism, delta, penalty, n):
    process = MECHANISMS[mechanism].make(penalty=penalty)
    stated = {"epsilon": 1.0, "delta": delta, "mechanism": process} | CURVES
    with pytest.raises(UsageError, match=r"Neither more units nor more epsilon would do: state another penalty, or"):
        dpfda.MeanFunction(**stated).fit(curves(n))
    assert dpfda.MeanFunction(**stated, force=True).fit(curves(n)).release_.certificate.epsilon == 1.0


def test_a_penalty_that_leaves_nothing_is_refused_for_covariances_and_regressors_too():
    covariance = dpfda.CovarianceFunction(epsilon=1.0, delta=0.0, mechanism=LaplaceProcess(penalty=10.0), **CURVES)
    assert covariance.plan(10**6).hidden == "the penalty would leave 9.1% of the covariance"
    regressor = dpfda.KernelRegressor(epsilon=1.0, delta=0.0, penalty=10.0, response_bound=1.0)
    assert "the penalty would leave 1.0% of a function" in regressor.plan(10**6).hidden


def test_noise_is_compared_with_what_a_penalty_leaves():
    # The noise of a machine falls with the penalty as its function does: more of a penalty shows no more.
    shares = [dpfda.KernelClassifier(epsilon=1.0, delta=0.0, penalty=penalty).plan(3).hidden for penalty in (1.0, 10.0)]
    assert all("of the largest function that the penalty leaves" in share for share in shares)
    plan = dpfda.CovarianceFunction(epsilon=1.0, delta=0.0, mechanism=LaplaceProcess(penalty=2.0), **CURVES).plan(100)
    assert plan.hidden


def test_a_component_in_a_basis_of_one_function_is_refused():
    est = dpfda.FPCA(1, epsilon=1.0, delta=0.0, mechanism="exponential", size=1, **CURVES)
    with pytest.raises(
        UsageError, match=r"one function of the basis, whatever the curves are\. Neither .* another size"
    ):
        est.fit(curves(1000))


@pytest.mark.parametrize("size", [1, 2])
def test_few_functions_of_many_people_are_a_design_and_no_noise(size):
    many = {"epsilon": 1.0, "delta": 1e-6, "size": size, "bound": 1.0}
    assert not dpfda.FunctionOnScalarRegression(**many, covariate_limits=[(0, 1)]).plan(10**5, covariates=1).hidden
    assert not dpfda.CovarianceFunction(**many, domain=[(0, 1)] * 3).plan(10**5).hidden
    assert not dpfda.FPCA(1, **many, domain=[(0, 1)] * 3).plan(10**5).hidden
    assert not dpfda.MeanFunction(**many).plan(10**5).hidden


@pytest.mark.parametrize("n", [2, 20, 100])
@pytest.mark.parametrize("size", [1, 2])
def test_few_functions_of_few_people_are_refused_where_noise_hides_them(n, size):
    ledger = SessionLedger()
    est = dpfda.FunctionOnScalarRegression(**LOUD, **CURVES, size=size, covariate_limits=[(0, 1)], ledger=ledger)
    with pytest.raises(UsageError, match=r"About n = \d+ or epsilon|About n = \d+ would do"):
        est.fit(np.linspace(0, 1, n), curves(n))
    assert not ledger.entries


def test_a_density_that_no_number_of_people_shows_names_another_mechanism():
    est = dpfda.DensityFunction(epsilon=1.0, delta=0.0, domain=[(0, 1)] * 3, mechanism="bernstein")
    with pytest.raises(UsageError, match=r"Neither more units nor more epsilon would do: take mechanism='auto'\."):
        est.check_seen(est.plan(5))

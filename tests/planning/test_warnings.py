"""What a plan refuses, and what it says before anything is spent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from refusals import refused

import dpfda
from dpfda.bases import bernstein
from dpfda.errors import UsageError
from dpfda.kernels import Matern
from dpfda.ledger import SessionLedger
from dpfda.mechanisms.table import by_name, names_for, settings_of
from dpfda.planning.prediction import SmoothnessClass, bernstein_bias
from dpfda.privacy import Budget
from dpfda.statistics.mean.plan import make_plan

GIVEN = {"kernel": Matern(1.5, 0.1), "eta": 1.0, "penalty": 0.1, "candidates": [np.sin]}


def estimator(**changes: object) -> dpfda.MeanFunction:
    return dpfda.MeanFunction(**{"epsilon": 1.0, "delta": 1e-6, "bound": 1.0} | changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("parameter", GIVEN)
@pytest.mark.parametrize("mechanism", ["auto", *names_for("mean")])
def test_a_setting_is_used_or_refused(mechanism: str, parameter: str) -> None:
    given = {parameter: GIVEN[parameter]}
    if parameter in settings_of(mechanism, "mean"):
        made = by_name(mechanism, "mean", given)
        assert estimator(mechanism=made).plan(500).design.name == mechanism
    else:
        with refused(UsageError, parameter):
            by_name(mechanism, "mean", given)
        with refused(UsageError, parameter):
            make_plan(replace(estimator().plan(500).request, mechanism=mechanism, **given))


def test_k_norm_noise_that_was_chosen_spends_no_delta() -> None:
    """With few units K-norm noise is smaller than Gaussian noise; the guarantee is then pure, on card and ledger."""
    ledger = SessionLedger()
    est = estimator(ledger=ledger).fit(np.zeros((142, 30)))
    assert est.plan_.design.name == "k-norm"
    assert est.plan_.spends == Budget(1.0, 0.0)
    assert est.release_.certificate.guarantee == "pure epsilon = 1"
    assert (ledger.epsilon, ledger.delta) == (1.0, 0.0)
    assert estimator().plan(100_000).spends == Budget(1.0, 1e-6)


@pytest.mark.parametrize(
    ("changes", "n", "said"),
    [
        ({"delta": 0.1}, 142, "delta = 0.1 is not below one over the number of units"),
        ({"epsilon": 20.0}, 1000, "epsilon = 20 promises next to nothing"),
        ({"epsilon": 1e-4, "delta": 0.0}, 142, "Next to nothing could be seen: the error expected"),
        (
            {"epsilon": 0.01, "delta": 0.0, "mechanism": "iclp-qr"},
            142,
            "Next to nothing could be seen: the penalty would leave 0.1% of the mean",
        ),
    ],
    ids=["delta", "epsilon", "noise", "penalty"],
)
def test_a_plan_warns_before_anything_is_spent(changes: dict[str, object], n: int, said: str) -> None:
    plan = estimator(**changes).plan(n)
    assert any(warning.startswith(said) for warning in plan.warnings)
    assert f"Warning: {said}" in plan.text()
    assert plan.to_dict()["warnings"] == list(plan.warnings)


def test_a_usual_plan_has_no_warning() -> None:
    assert estimator().plan(1000).warnings == ()
    assert estimator(mechanism="iclp-qr").plan(1000).warnings == ()


@pytest.mark.parametrize("degree", [1, 5, 20])
def test_the_bias_of_bernstein_polynomials_is_the_largest_over_the_class(degree: int) -> None:
    """Random means of the class never lose more, and the worst single cosine nearly as much."""
    within = SmoothnessClass()
    predicted = bernstein_bias(degree, within)
    t = np.linspace(0, 1, 2001)
    basis = bernstein((0, 1), degree + 1)
    waves = np.arange(1, 60)
    cosines = np.sqrt(2) * np.cos(np.pi * np.outer(t, waves)) * np.minimum(within.radius / waves, 1)
    lost = cosines - basis.matrix(t) @ basis.coordinates(cosines.T, t).T
    directions = np.random.default_rng(1).normal(size=(59, 400)) / np.arange(1, 60)[:, None] ** 2
    directions /= np.linalg.norm(directions, axis=0)
    assert np.mean((lost @ directions) ** 2, axis=0).max() <= predicted * 1.01
    assert np.mean(lost**2, axis=0).max() >= 0.7 * predicted

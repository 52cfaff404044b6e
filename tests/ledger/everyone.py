"""Every estimator and private choice that takes a ledger, each with a small data set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import dpfda
from dpfda.kernels import Gaussian, Matern
from dpfda.mechanisms import ExponentialDraw, LaplaceProcess
from dpfda.privacy import Budget
from dpfda.statistics.maximiser.utilities import SquaredDistance

PEOPLE, WIDTH = 400, 9
GRID = np.linspace(0, 1, WIDTH)
_rng = np.random.default_rng(0)
CURVES = np.sin(np.pi * GRID) * (0.5 + 0.1 * _rng.normal(size=(PEOPLE, 1))) + 0.05 * _rng.normal(size=(PEOPLE, WIDTH))
COVARIATES = _rng.uniform(0, 1, size=(PEOPLE, 1))
POINTS = _rng.uniform(0, 1, size=(PEOPLE, 1))
LABELS = np.arange(PEOPLE) % 2
RESPONSES = np.clip(POINTS[:, 0], 0, 1)
DATASET = "scans"


@dataclass(frozen=True)
class Member:
    """An estimator and how it is fitted; or, with no estimator, a function that releases at once."""

    make: Callable[..., Any]
    fit: Callable[[Any], Any]
    budget: Budget  # that one release costs

    def release(self, ledger: Any, **changes: Any) -> Any:
        """One release, charged to this ledger."""
        return self.fit(self.make(ledger=ledger, dataset=DATASET, **changes))


BOTH = Budget(0.5, 1e-7)
PURE = Budget(0.5, 0.0)
_both = {"epsilon": BOTH.epsilon, "delta": BOTH.delta, "mechanism": "gaussian", "force": True}
_curves = {"bound": 1.0, "basis": "cosine", "size": 3}


_draw = ExponentialDraw(kernel=Matern(1.5, 0.3))


def _estimator(kind: Callable[..., Any], **known: Any) -> Callable[..., Any]:
    return lambda **changes: kind(**{**known, **changes})


def _bound(**wishes: Any) -> Any:
    return lambda: dpfda.private_bound(CURVES, epsilon=0.5, quantile=0.9, candidates=(0.1, 10.0), **wishes, force=True)


def _choice(**wishes: Any) -> Any:
    settings = [
        dpfda.MeanFunction(
            epsilon=1.0, delta=0.0, bound=1.0, mechanism=LaplaceProcess(kernel=Matern(1.5, 0.2), penalty=p)
        )
        for p in (1e-4, 1e-2)
    ]
    return lambda: dpfda.private_choice(CURVES, epsilon=0.5, candidates=settings, **wishes, force=True)


ESTIMATORS = {
    "MeanFunction": Member(_estimator(dpfda.MeanFunction, **_both, **_curves), lambda est: est.fit(CURVES), BOTH),
    "CovarianceFunction": Member(
        _estimator(dpfda.CovarianceFunction, **_both, **_curves), lambda est: est.fit(CURVES), BOTH
    ),
    "FPCA": Member(_estimator(dpfda.FPCA, n_components=1, **_both, **_curves), lambda est: est.fit(CURVES), BOTH),
    "FunctionOnScalarRegression": Member(
        _estimator(dpfda.FunctionOnScalarRegression, **_both, **_curves, covariate_limits=[(0, 1)]),
        lambda est: est.fit(COVARIATES, CURVES),
        BOTH,
    ),
    "DensityFunction": Member(
        _estimator(dpfda.DensityFunction, **_both, domain=[(0.0, 1.0)]), lambda est: est.fit(POINTS), BOTH
    ),
    "KernelClassifier": Member(
        _estimator(dpfda.KernelClassifier, **_both, kernel=Gaussian(0.5), domain=[(0.0, 1.0)], classes=(0, 1)),
        lambda est: est.fit(POINTS, LABELS),
        BOTH,
    ),
    "KernelRegressor": Member(
        _estimator(dpfda.KernelRegressor, **_both, kernel=Gaussian(0.5), domain=[(0.0, 1.0)], response_bound=1.0),
        lambda est: est.fit(POINTS, RESPONSES),
        BOTH,
    ),
    "Maximiser": Member(
        _estimator(dpfda.Maximiser, utility=SquaredDistance(), epsilon=0.5, bound=1.0, mechanism=_draw, size=2),
        lambda est: est.fit(CURVES),
        PURE,
    ),
}
CHOICES = {
    "private_bound": Member(_bound, lambda ask: ask(), PURE),
    "private_choice": Member(_choice, lambda ask: ask(), PURE),
}
EVERYONE = ESTIMATORS | CHOICES

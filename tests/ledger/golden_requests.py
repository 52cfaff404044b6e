"""One release of every kind under a key of its own, from made-up records: what golden ledgers were charged for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

import dpfda
from dpfda.ledger import Charge, Receipt
from dpfda.ledger.accounting import order_of
from dpfda.mechanisms import GaussianProcess

GRID = np.linspace(0, 1, 24)
GRAIN = np.random.default_rng(5)
CURVES = np.round(np.cumsum(GRAIN.normal(0, 0.1, (400, 24)), axis=1), 3)
COVARIATES = np.round(GRAIN.uniform(0, 1, (400, 2)), 3)
POINTS = np.round(GRAIN.uniform(0, 1, 400), 3)
LABELS = (COVARIATES[:, 0] > 0.5).astype(int)
SPOTS = [0.1, 0.5, 0.9]


def everything(ledger: dpfda.Ledger) -> dict[str, Callable[[], Any]]:
    """What was charged under each key, as a call that gives its values: the same again costs nothing."""

    def facts(key: str, delta: float = 1e-6) -> dict[str, Any]:
        return {"epsilon": 0.3, "delta": delta, "dataset": "scans", "ledger": ledger.under(key), "force": True}

    def mean(key: str, delta: float = 1e-6, **more: Any) -> Callable[[], Any]:
        est = dpfda.MeanFunction(**facts(key, delta), bound=1.0, domain=(0, 1), **more)
        return lambda: est.fit(CURVES, grid=GRID).release_(SPOTS)

    def density(key: str, delta: float = 1e-6, **more: Any) -> Callable[[], Any]:
        est = dpfda.DensityFunction(**facts(key, delta), **{"domain": (0, 1), **more})
        return lambda: est.fit(POINTS).release_(SPOTS)

    covariance = dpfda.CovarianceFunction(**facts("covariance"), bound=1.0, domain=(0, 1), size=4)
    components = dpfda.FPCA(
        n_components=1, **facts("components", 0.0), bound=1.0, domain=(0, 1), size=4, mechanism="exponential"
    )
    regression = dpfda.FunctionOnScalarRegression(
        **facts("regression"), bound=1.0, domain=(0, 1), covariate_limits=[(0, 1), (0, 1)], size=4
    )
    classifier = dpfda.KernelClassifier(**facts("classifier"), domain=[(0, 1), (0, 1)], classes=(0, 1), features=9)
    regressor = dpfda.KernelRegressor(**facts("regressor"), domain=[(0, 1), (0, 1)], response_bound=1.0, features=9)
    return {
        "mean": mean("mean", size=5),
        "mean-pure": mean("mean-pure", 0.0),
        "mean-private-number": mean("mean-private-number", neighbours="add-or-remove-one", planned_n=400, size=5),
        "mean-gp": mean("mean-gp", mechanism="gp"),
        "mean-iclp-qr": mean("mean-iclp-qr", 0.0, mechanism="iclp-qr"),
        "mean-iclp-ar": mean("mean-iclp-ar", 0.0, mechanism="iclp-ar"),
        "mean-bernstein": mean("mean-bernstein", 0.0, mechanism="bernstein"),
        "mean-exponential": mean("mean-exponential", 0.0, mechanism="exponential"),
        "covariance": lambda: covariance.fit(CURVES, grid=GRID).release_(SPOTS, SPOTS),
        "components": lambda: components.fit(CURVES, grid=GRID).release_(SPOTS),
        "regression": lambda: [f(SPOTS) for f in regression.fit(COVARIATES, CURVES, grid=GRID).release_.coefficients],
        "density": density("density", 0.0),
        "density-gp": density("density-gp", mechanism=GaussianProcess(bandwidth=0.1)),
        "density-edges": density("density-edges", 0.0, domain=None, edges=[0, 0.2, 0.5, 1]),
        "classifier": lambda: classifier.fit(COVARIATES, LABELS).release_([[0.1, 0.2], [0.9, 0.4]]),
        "regressor": lambda: regressor.fit(COVARIATES, POINTS).release_([[0.1, 0.2], [0.9, 0.4]]),
        "bound": lambda: (
            dpfda.private_bound(
                CURVES,
                grid=GRID,
                epsilon=0.1,
                quantile=0.9,
                candidates=[0.1, 0.3, 1.0, 3.0],
                dataset="scans",
                ledger=ledger.under("bound"),
                domain=(0, 1),
            ).value
        ),
    }


class Listener(dpfda.SessionLedger):
    """A ledger that keeps the digests by which it would know requests again."""

    def __init__(self) -> None:
        super().__init__()
        self.digests: dict[str, str] = {}

    def charge(self, entry: Charge) -> Receipt:
        self.digests[entry.key] = order_of(entry).digest.hex()
        return super().charge(entry)


if __name__ == "__main__":
    listener = Listener()
    for call in everything(listener).values():  # type: ignore[arg-type]
        call()
    print(json.dumps(listener.digests))

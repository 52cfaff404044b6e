"""dpfda: differentially private functional data analysis.

>>> import dpfda
>>> est = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.0, domain=(0.0, 1.0))
>>> est.epsilon
1.0
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfda import bases, errors, kernels, mechanisms, planner, studies
    from dpfda.bases import Domain
    from dpfda.curator import Curator
    from dpfda.estimators import (
        FPCA,
        CovarianceFunction,
        DensityFunction,
        FunctionOnScalarRegression,
        KernelClassifier,
        KernelRegressor,
        Maximiser,
        MeanFunction,
        private_bound,
        private_choice,
    )
    from dpfda.online import open_store
    from dpfda.planner import Plan
    from dpfda.privacy import Budget, Ledger, SessionLedger, Unit
    from dpfda.records import Curves, read_curves
    from dpfda.releases import Certificate, Release, load

__version__ = "0.1.0"

# Where each public name lives. Loaded when first used: importing the package costs little more than numpy.
_HOME = {
    "Budget": "dpfda.privacy",
    "Certificate": "dpfda.releases",
    "CovarianceFunction": "dpfda.estimators",
    "Curator": "dpfda.curator",
    "Curves": "dpfda.records",
    "DensityFunction": "dpfda.estimators",
    "Domain": "dpfda.bases",
    "FunctionOnScalarRegression": "dpfda.estimators",
    "FPCA": "dpfda.estimators",
    "KernelClassifier": "dpfda.estimators",
    "KernelRegressor": "dpfda.estimators",
    "Maximiser": "dpfda.estimators",
    "Ledger": "dpfda.privacy",
    "MeanFunction": "dpfda.estimators",
    "Plan": "dpfda.planner",
    "Release": "dpfda.releases",
    "SessionLedger": "dpfda.privacy",
    "Unit": "dpfda.privacy",
    "load": "dpfda.releases",
    "open_store": "dpfda.online",
    "private_bound": "dpfda.estimators",
    "private_choice": "dpfda.estimators",
    "read_curves": "dpfda.records",
}
_MODULES = ("bases", "errors", "kernels", "mechanisms", "planner", "studies")

__all__ = [
    "FPCA",
    "Budget",
    "Certificate",
    "CovarianceFunction",
    "Curator",
    "Curves",
    "DensityFunction",
    "Domain",
    "FunctionOnScalarRegression",
    "KernelClassifier",
    "KernelRegressor",
    "Ledger",
    "Maximiser",
    "MeanFunction",
    "Plan",
    "Release",
    "SessionLedger",
    "Unit",
    "bases",
    "errors",
    "kernels",
    "load",
    "mechanisms",
    "open_store",
    "planner",
    "private_bound",
    "private_choice",
    "read_curves",
    "studies",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"dpfda.{name}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'dpfda' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

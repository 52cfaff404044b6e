"""dpfda: differentially private functional data analysis.

The map of the package; a module imports only what stands above it here:

    parameters.py  every parameter with its type and help text
    messages.py    texts of messages
    errors.py      every exception and warning
    arrays.py      checks of public numbers and arrays
    kernels/       positive-definite functions
    bases/         families of functions, domains, the integer lattice
    privacy/       budgets, sensitivities, privacy curves, calibration, composition
    mechanisms/    noise and choices, drawn exactly
    ledger/        durable budgets
    releases/      what is handed out: file, card, verification, smoothing, bands
    page/          a release as an HTML page and as tables
    records/       private data: readers, units, encoding, the exact sum
    planning/      what plans of all statistics share
    curator/       the one way from records to releases
    online/        functions that answer point by point
    statistics/    one folder a statistic, with its estimator
    service/       releases over HTTP
    studies/       simulations and comparisons, never private
    cli/           the command dpfda
    reproduce/     the tables and figures of the papers

>>> import dpfda
>>> est = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.0, domain=(0.0, 1.0))
>>> est.epsilon
1.0
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfda import bases, errors, kernels, mechanisms, studies
    from dpfda import planning as planner
    from dpfda.bases import Domain
    from dpfda.curator import Curator
    from dpfda.ledger import Ledger, SessionLedger
    from dpfda.online import open_store
    from dpfda.privacy import Budget, Unit
    from dpfda.records import Curves, read_curves
    from dpfda.records.reading import Reading
    from dpfda.releases import Certificate, Release, load
    from dpfda.statistics.components.estimator import FPCA
    from dpfda.statistics.covariance.estimator import CovarianceFunction
    from dpfda.statistics.density.estimator import DensityFunction
    from dpfda.statistics.function import sensitivity as sensitivities
    from dpfda.statistics.function.estimator import PerturbedFunction
    from dpfda.statistics.machines.estimator import KernelClassifier, KernelRegressor
    from dpfda.statistics.machines.own_loss import StatedLoss
    from dpfda.statistics.maximiser.estimator import Maximiser
    from dpfda.statistics.mean.estimator import MeanFunction
    from dpfda.statistics.mean.plan import Plan
    from dpfda.statistics.private_bound import private_bound
    from dpfda.statistics.private_choice import private_choice
    from dpfda.statistics.regression.estimator import FunctionOnScalarRegression

__version__ = "0.1.0"

# Where each public name lives. Loaded when first used: importing the package costs little more than numpy.
_HOME = {
    "Budget": "dpfda.privacy",
    "Certificate": "dpfda.releases",
    "CovarianceFunction": "dpfda.statistics.covariance.estimator",
    "Curator": "dpfda.curator",
    "Curves": "dpfda.records",
    "DensityFunction": "dpfda.statistics.density.estimator",
    "Domain": "dpfda.bases",
    "FunctionOnScalarRegression": "dpfda.statistics.regression.estimator",
    "FPCA": "dpfda.statistics.components.estimator",
    "KernelClassifier": "dpfda.statistics.machines.estimator",
    "KernelRegressor": "dpfda.statistics.machines.estimator",
    "Maximiser": "dpfda.statistics.maximiser.estimator",
    "Ledger": "dpfda.ledger",
    "MeanFunction": "dpfda.statistics.mean.estimator",
    "PerturbedFunction": "dpfda.statistics.function.estimator",
    "Plan": "dpfda.statistics.mean.plan",
    "Reading": "dpfda.records.reading",
    "Release": "dpfda.releases",
    "SessionLedger": "dpfda.ledger",
    "StatedLoss": "dpfda.statistics.machines.own_loss",
    "Unit": "dpfda.privacy",
    "load": "dpfda.releases",
    "open_store": "dpfda.online",
    "private_bound": "dpfda.statistics.private_bound",
    "private_choice": "dpfda.statistics.private_choice",
    "read_curves": "dpfda.records",
}
_MODULES = {
    "bases": "dpfda.bases",
    "errors": "dpfda.errors",
    "kernels": "dpfda.kernels",
    "mechanisms": "dpfda.mechanisms",
    "planner": "dpfda.planning",
    "sensitivities": "dpfda.statistics.function.sensitivity",
    "studies": "dpfda.studies",
}

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
    "PerturbedFunction",
    "Plan",
    "Reading",
    "Release",
    "SessionLedger",
    "StatedLoss",
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
    "sensitivities",
    "studies",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'dpfda' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

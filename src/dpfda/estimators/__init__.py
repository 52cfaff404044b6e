"""Come here for the scikit-learn faces of private estimators, and for bounds and choices that are paid for."""

from dpfda.estimators.bound import BoundChoice, private_bound
from dpfda.estimators.choice import private_choice
from dpfda.estimators.components import FPCA
from dpfda.estimators.covariance import CovarianceFunction
from dpfda.estimators.density import DensityFunction
from dpfda.estimators.machines import KernelClassifier, KernelRegressor
from dpfda.estimators.maximiser import Maximiser
from dpfda.estimators.mean import MeanFunction
from dpfda.estimators.regression import FunctionOnScalarRegression

__all__ = [
    "FPCA",
    "BoundChoice",
    "CovarianceFunction",
    "DensityFunction",
    "FunctionOnScalarRegression",
    "KernelClassifier",
    "KernelRegressor",
    "Maximiser",
    "MeanFunction",
    "private_bound",
    "private_choice",
]

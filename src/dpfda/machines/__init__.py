"""Come here for regularised risk minimisers: losses, and a solver that knows how far from the minimum it stopped."""

from dpfda.machines.losses import CLASSIFIERS, REGRESSORS, Loss, loss_of
from dpfda.machines.solver import Minimum, minimise, tolerance_of

__all__ = ["CLASSIFIERS", "REGRESSORS", "Loss", "Minimum", "loss_of", "minimise", "tolerance_of"]

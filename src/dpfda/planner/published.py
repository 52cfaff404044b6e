"""Come here for the noise scales that the papers publish: never below what privacy needs, and often far above."""

from __future__ import annotations

import math

import numpy as np

from dpfda.arrays import Array, brief
from dpfda.errors import CannotMeetBudget, UsageError
from dpfda.mechanisms import Gaussian
from dpfda.norms import L2, Sensitivity, up
from dpfda.planner.parameters import Parameters
from dpfda.planner.request import Request
from dpfda.privacy import calibrate
from dpfda.records import RADIUS

COUNT_SHARE = 0.5  # of the private count, in units of the bound


def simple_bound(eta: float, penalty: float) -> float:
    """The simpler bound of Mirshani et al., Theorem 4.1, on `max a_j / sqrt(lambda_j)`, for eta above one half."""
    square = (2 * eta - 1) ** (2 - 1 / eta) / (4 * eta**2 * penalty ** (1 / eta))
    return math.sqrt(square)


def published_scale(
    request: Request,
    name: str,
    shape: Array,
    *,
    weights: Array | None = None,
    roots: Array | None = None,
    parameters: Parameters | None = None,
) -> float:
    """The noise scale that the papers ask for, in lattice steps: never below the exact one, which is checked anyway.

    Mirshani et al.: `sqrt(2 log(2/delta)) / epsilon` for epsilon up to 1. Lin and Reimherr, Theorem 12: the sum of
    `1 / shape` where Cauchy-Schwarz needs the root of the sum of squares; with the right scale of a Laplace variable.
    """
    if request.calibration == "exact":
        return 0.0
    longest = longest_change(request)
    if request.calibration == "simple":
        if name != "gp" or weights is None or roots is None or parameters is None:
            raise UsageError("calibration='simple' is the simpler bound of mechanism='gp'.")
        if parameters.penalty == 0 or parameters.eta <= 0.5:
            raise UsageError(
                f"The simpler bound needs a penalty above 0 and eta above 0.5, got {parameters.penalty:g} and "
                f"{parameters.eta:g}. Use calibration='exact'."
            )
        ratio = simple_bound(parameters.eta, parameters.penalty) / float(np.max(weights / roots))
        return calibrate(Gaussian(), Sensitivity(longest * max(ratio, 1.0), L2(), "simple"), request.budget)
    if name == "gp":
        if request.budget.pure:
            raise CannotMeetBudget(f"A Gaussian process cannot meet {request.budget}: it needs delta > 0.")
        if request.budget.epsilon > 1:
            raise CannotMeetBudget(
                f"The published scale of the Gaussian process is proven for epsilon up to 1, got "
                f"{brief(request.budget.epsilon)}. Use calibration='exact', which holds for every epsilon."
            )
        return up(math.sqrt(2 * math.log(2 / request.budget.delta)) * longest / request.budget.epsilon, 4)
    return up(
        float(np.sum(1 / np.array(with_count(request, shape)))) * (1 + 1e-12) * longest / request.budget.epsilon, 4
    )


def longest_change(request: Request) -> float:
    """How far one unit can move the integer sum, with the count where that is private, in the Euclidean norm."""
    return up(math.hypot(RADIUS, round(COUNT_SHARE * RADIUS)), 2) if request.counted else 2.0 * RADIUS


def with_count(request: Request, shape: Array) -> tuple[float, ...]:
    """The shape, led by that of a private count: as little noise as any coordinate has."""
    return (*((1.0,) * request.counted), *shape.tolist())

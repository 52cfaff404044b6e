"""The plan of a kernel machine that answers at the points asked for: exact minimiser, process noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.arrays import Array, ArrayLike, brief
from dpfda.bases.domain import check_asked
from dpfda.bases.features import spread
from dpfda.errors import CannotMeetBudget, UsageError
from dpfda.mechanisms import Gaussian
from dpfda.messages import arg
from dpfda.planning.base import AnyPlan
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L2, Sensitivity
from dpfda.statistics.machines.plan import MachineRequest, by, check_penalty, drowned, ruled_penalty
from dpfda.statistics.machines.sensitivity import moved_by
from dpfda.statistics.machines.solver import tolerance_of

MOST_RECORDS = 2048  # whose kernel matrix is factored
LOOKED_AT = 1024  # public points at which the largest variance of a kernel is looked for


@dataclass(frozen=True, eq=False)
class ExactPlan(AnyPlan):
    """Penalty and noise of the exact minimiser in the space of a kernel, from public facts alone."""

    request: MachineRequest
    reach: float  # the root of the kernel's largest variance; records where it is larger are scaled down
    penalty: float
    reasons: tuple[tuple[str, str], ...]
    name: str = "gp"

    @property
    def spends(self) -> Budget:
        return self.request.budget

    @property
    def moved(self) -> float:
        """How far one unit moves the exact minimiser in the norm of the kernel's space."""
        request = self.request
        return moved_by(request.loss, self.penalty, self.reach, request.n, replaced=True)

    @property
    def tolerance(self) -> float:
        """How far from the minimiser the solver stops at most."""
        return 2 * tolerance_of(
            self.request.loss,
            penalty=self.penalty,
            reach=self.reach,
            units=float(self.request.n),
            size=2 * MOST_RECORDS,
            moved=self.moved / 2,
        )

    @property
    def sensitivity(self) -> float:
        """How far one unit moves what the solver finds."""
        return (self.moved + 2 * self.tolerance) * (1 + 1e-9)

    @property
    def total(self) -> float:
        """All weights of sections together are never larger."""
        return self.request.loss.lipschitz / (2 * self.penalty) * (1 + 1e-9)

    @property
    def noise_rms(self) -> float:
        """The deviation of the noise where the kernel's variance is largest."""
        return self.sensitivity * self.reach * _unit_scale(self.request.budget)

    def noise_deviation(self, points: ArrayLike) -> Array:
        """The standard deviation of the noise at points, before any data, (m,)."""
        rows = self.request.domain.points(points)
        check_asked(len(rows), 100_000)  # the kernel is asked for one point after the other
        kernel = self.request.known_kernel
        roots = np.sqrt([float(kernel(row[None], row[None])[0, 0]) for row in rows])
        return roots * (self.sensitivity * _unit_scale(self.request.budget))

    @property
    def hidden(self) -> str:
        """Why next to nothing could be seen of a function as large as the margin; empty where it could."""
        return drowned(self.noise_rms, self.request.loss, self.penalty, self.reach)

    @property
    def warnings(self) -> tuple[str, ...]:
        seen = (f"Next to nothing could be seen: {self.hidden}.",) if self.hidden else ()
        return (*self.request.budget.warnings(int(self.request.n)), *seen)

    @property
    def title(self) -> str:
        return f"a kernel {self.request.task} of {self.n} units"

    def facts(self) -> dict[str, Any]:
        return {
            "task": self.request.task,
            "loss": self.request.loss.name,
            "penalty": self.penalty,
            "mechanism": self.name,
            "sensitivity": self.sensitivity,
            "noise_rms": self.noise_rms,
        }

    def lines(self) -> tuple[tuple[str, str], ...]:
        return (
            ("mechanism", "gp, a Gaussian process drawn at the points asked for"),
            ("penalty", f"{self.penalty:.4g}"),
            ("moves", f"one unit moves the function by at most {self.sensitivity:.4g} in the norm of the space"),
            ("noise", f"standard deviation about {self.noise_rms:.4g} at a point"),
        )


def _unit_scale(budget: Budget) -> float:
    return calibrate(Gaussian(), Sensitivity(1.0, L2(), "one unit of change"), budget)


def plan_exactly(request: MachineRequest) -> ExactPlan:
    """The plan of the exact minimiser; what it cannot do is refused."""
    if request.budget.pure:
        raise CannotMeetBudget(
            "A Gaussian process needs delta > 0. For delta = 0 use ",
            arg("mechanism", "k-norm", "iclp-qr"),
            ".",
            parameter="delta",
        )
    if not request.replaced:
        raise UsageError("The exact minimiser is released under 'replace-one': its weights are bounded by a public n.")
    if request.n > MOST_RECORDS:
        raise UsageError(
            f"The exact minimiser is found for at most {MOST_RECORDS} units, got {request.n}. Use features for more.",
            parameter="n",
        )
    if not (request.features is None or request.features == "auto"):
        raise UsageError(
            arg("mechanism", "gp"),
            " releases the exact minimiser: ",
            arg("features"),
            f" must be None, got {brief(request.features)}.",
            parameter="features",
            value=request.features,
        )
    kernel, loss = request.known_kernel, request.loss
    where = spread(request.domain, LOOKED_AT)
    reach = math.sqrt(max(float(kernel(row[None], row[None])[0, 0]) for row in where))
    noise = moved_by(loss, 1.0, reach, request.n, replaced=True) * reach * _unit_scale(request.budget)
    stated = request.penalty is not None
    penalty = float(request.penalty) if request.penalty is not None else ruled_penalty(loss, reach, noise)
    check_penalty(penalty, loss, reach)
    return ExactPlan(
        request,
        reach,
        penalty,
        (
            ("mechanism", "stated by the user"),
            ("kernel", f"{kernel!r}, {by(request)}"),
            ("penalty", "stated by the user" if stated else "a rule of n, the budget, the kernel and the loss"),
        ),
    )

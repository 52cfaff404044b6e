"""What a plan is made from, public facts and options, and what it designs: a basis, weights, noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpfda.arrays import as_plain_ints, brief, is_whole
from dpfda.bases import Basis, Domain
from dpfda.bases.base import MOST_FUNCTIONS
from dpfda.bases.combined import Combined
from dpfda.bases.lattice import MOST_UNITS
from dpfda.errors import UsageError
from dpfda.kernels import Kernel
from dpfda.mechanisms import GaussianProcess, Mechanism, Process
from dpfda.mechanisms.table import not_used, settings_of
from dpfda.messages import arg
from dpfda.privacy import ADD_REMOVE, Budget

MOST_VALUES = 2**24  # of one curve


def check_units(n: object, name: str = "n") -> None:
    """The number of units that a plan is for, under the name of the argument that states it."""
    if not is_whole(n, 1, MOST_UNITS):
        raise UsageError(
            parameter=name,
            value=n,
            rule="must be a whole number of units, at least 1",
            fix=f"The most is {MOST_UNITS}.",
        )


def check_used(request: Any, statistic: str, *settings: str) -> None:
    """Refuse settings of a request that its mechanism would ignore."""
    name = request.mechanism
    for setting in settings:
        if getattr(request, setting) is not None and setting not in settings_of(name, statistic):
            raise not_used(setting, name, statistic)


def check_exact(calibration: str, name: object) -> None:
    """Refuse a published calibration of a mechanism that has none."""
    if calibration != "exact":
        raise UsageError(
            arg("calibration", calibration),
            f" is for the papers' mechanisms, e.g. 'gp' or 'iclp-qr'; {brief(name)} is always calibrated exactly.",
            parameter="calibration",
            value=calibration,
        )


def check_kernel(kernel: object, example: str) -> None:
    """Refuse what is no kernel."""
    if not (kernel is None or isinstance(kernel, Kernel)):
        raise UsageError(parameter="kernel", value=kernel, rule=f"must be a kernel such as dpfda.kernels.{example}")


@dataclass(frozen=True, eq=False)
class Request:
    """A release as it is asked for; None leaves a choice to the planner."""

    n: int
    budget: Budget
    bound: float
    domain: Domain
    neighbours: str
    mechanism: str | Mechanism = "auto"
    basis: str | Basis | None = None
    size: int | None = None  # of the basis
    grid_size: int | None = None
    kernel: Kernel | None = None  # of the noise process
    eta: float | None = None  # the power of the kernel that penalises
    penalty: float | None = None
    calibration: str = "exact"
    candidates: tuple[Callable[[Any], Any], ...] | None = None  # of the dictionary
    penalty_kernel: Kernel | None = None  # in whose space a mean is penalised; None: that of the noise

    def __post_init__(self) -> None:
        check_units(self.n)
        # The object that has all settings of noise processes refuses what is none of them.
        GaussianProcess(
            kernel=self.kernel,
            eta=self.eta,
            penalty=self.penalty,
            penalty_kernel=self.penalty_kernel,
            calibration=self.calibration,
        )
        if not (self.grid_size is None or is_whole(self.grid_size, 1, MOST_VALUES)):
            raise UsageError(
                parameter="grid_size",
                value=self.grid_size,
                rule=f"is the number of values of a curve, 1 to {MOST_VALUES}",
            )
        if not (self.size is None or is_whole(self.size, 1, MOST_FUNCTIONS)):
            raise UsageError(
                parameter="size",
                value=self.size,
                rule="must be a whole number of functions, at least 1",
                fix=f"The most is {MOST_FUNCTIONS}.",
            )
        as_plain_ints(self, "n", "size", "grid_size")
        if self.size is not None and isinstance(self.basis, Basis) and self.basis.size != self.size:
            raise UsageError(
                f"The basis has {self.basis.size} functions, but ",
                arg("size", self.size),
                ".",
                parameter="size",
                value=self.size,
                fix=("Leave ", arg("size"), " out."),
            )

    @property
    def counted(self) -> bool:
        """Whether the number of units is private, and so is released with noise too."""
        return self.neighbours == ADD_REMOVE


@dataclass(frozen=True, eq=False)
class Design:
    """Everything that has to be known to make a release, chosen without any record."""

    name: str  # as people type it
    basis: Basis
    mechanism: Mechanism
    weights: tuple[float, ...] | None  # by which decoding multiplies; None: all one, and smoothing comes afterwards
    least_scale: float  # lattice steps; more noise than needed, where a paper's own calibration asks for it
    count_weight: int  # lattice steps that a unit adds to the count under add-or-remove-one
    reasons: tuple[tuple[str, str], ...]
    smoothing: bool = True  # whether it is made to be smoothed after the noise
    thresholds: tuple[float, ...] = ()  # in units of the bound, for coordinates that are shrunk before the noise
    # Where curves are encoded in another basis than the release is a function in: that one, and what the penalty
    # leaves of each function of the basis that both are combinations of.
    inner: Combined | None = None
    kept: tuple[float, ...] | None = None


# Who designs a mean by a mechanism with settings; a mechanism that brings its own `design` needs no entry.
DESIGNS: dict[str, Callable[[Request], Design]] = {}


def designs(mechanism: type[Process]) -> Callable[[Callable[[Request], Design]], Callable[[Request], Design]]:
    """Let a function design means by a mechanism of the table."""

    def add(function: Callable[[Request], Design]) -> Callable[[Request], Design]:
        DESIGNS[mechanism.name] = function
        return function

    return add

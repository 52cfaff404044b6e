"""Calibration: the least noise that meets a budget, written once for every mechanism."""

from __future__ import annotations

import math
from typing import Protocol

from dpfda.arrays import told
from dpfda.errors import CannotMeetBudget, DpfdaError, UsageError
from dpfda.messages import arg
from dpfda.privacy.budget import Budget
from dpfda.privacy.norms import Norm, Sensitivity, up
from dpfda.privacy.profiles import Profile


class Noisy(Protocol):
    """What calibration needs of a mechanism."""

    @property
    def name(self) -> str:
        """What the mechanism is called in messages and on cards."""

    @property
    def norm(self) -> Norm:
        """The norm in which its privacy curve needs the sensitivity."""

    @property
    def pure(self) -> bool:
        """Whether it can meet a budget with delta 0."""

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> Profile:
        """The privacy curve at a scale; `size` counts the integer coordinates, 0 states the continuous law."""


def calibrate(
    mechanism: Noisy,
    sensitivity: Sensitivity,
    budget: Budget,
    *,
    size: int = 0,
    pure: tuple[str, ...] = ("k-norm", "laplace"),
) -> float:
    """The smallest scale whose privacy curve meets the budget, from above.

    `size` is the number of integer coordinates that will be released; what the integer sampler adds to the continuous
    law's delta is then counted. With size 0 the scale is that of the continuous law. `pure` names the mechanisms that
    suit the statistic where there is no delta, for the refusal of one that needs it.
    """
    if budget.pure and not mechanism.pure:
        # Refused by what the mechanism is, never by comparing a tiny delta with zero.
        raise CannotMeetBudget(
            f"{mechanism.name} noise cannot meet {budget} at any scale: it needs delta > 0. For delta = 0 use ",
            arg("mechanism", *pure),
            ".",
            parameter="delta",
            value=budget.delta,
        )
    sensitivity = sensitivity.to(mechanism.norm, size)

    def enough(scale: float) -> bool:
        try:
            return mechanism.profile(sensitivity, scale, size=size).meets(budget)
        except DpfdaError:
            raise
        except Exception as error:  # a mechanism of the user's own: public code, and no record is in reach of it
            raise UsageError(
                f"The privacy curve of {mechanism.name} failed with {told(error)}.",
                parameter="mechanism",
                value=mechanism.name,
            ) from error

    low = high = sensitivity.value / budget.epsilon
    while not (math.isfinite(high) and enough(high)):
        low, high = high, 2 * high
        if not math.isfinite(high):
            raise CannotMeetBudget(
                f"{mechanism.name} noise cannot meet {budget} at any finite scale.",
                parameter="epsilon",
                value=budget.epsilon,
            )
    while low > 0 and enough(low):
        low, high = low / 2, low
    while True:
        middle = low + (high - low) / 2
        if not low < middle < high or high <= low * (1 + 1e-14):
            # The last factor outweighs the steps of a curve that is evaluated in doubles. Pure ones round up; their few
            # steps more reach below the decimal number that was typed, which may lie half a step below its double.
            return up(high, 4) if mechanism.pure else high * (1 + 1e-10)
        low, high = (low, middle) if enough(middle) else (middle, high)

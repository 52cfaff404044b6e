"""Come here for what many releases cost together: the least epsilon that can be proved for a data set's history."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from dpfda.errors import UsageError
from dpfda.privacy.profiles import Profile
from dpfda.privacy.sums import Sums


@dataclass(frozen=True, slots=True)
class Statement:
    """A composed guarantee: (epsilon, delta), with the pure and the concentrated statement beside it."""

    epsilon: float
    delta: float
    pure: float  # the epsilon that holds with delta = 0; inf where there is none
    rho: float  # inf where there is none
    method: str


def compose(losses: Iterable[Profile], *, delta: float, people: int = 1) -> Statement:
    """The guarantee of all these releases together, each of which may depend on what came before.

    `people` asks for the guarantee of a group of that many units.
    """
    if not 0 <= delta < 1:
        raise UsageError(f"delta must lie in [0, 1), got {delta!r}.")
    grouped = tuple(loss.grouped(people) for loss in losses)
    sums = Sums.nothing().plus(grouped)
    quick = sums.epsilon(delta)
    return Statement(quick if math.isfinite(quick) else math.inf, delta, sums.pure, sums.rho, "basic")

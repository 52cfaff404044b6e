"""How much privacy loss a release may cause, and the integer units that budgets are counted in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpfda.arrays import as_real, brief
from dpfda.errors import UsageError

EPSILON_UNITS = 10**12  # in 1: for epsilon, rho and squares of mu
DELTA_UNITS = 10**18  # in 1: for delta and total variation distances


def exactly(amount: float) -> Fraction:
    """An amount as it was typed: ten times 0.1 make 1, which doubles do not."""
    if not math.isfinite(amount):
        raise UsageError(f"Only finite privacy losses can be added up, got {brief(amount)}.")
    return Fraction(repr(float(amount)))


def units(amount: float, in_one: int) -> int:
    """An amount in whole units, rounded up: 0.1 is exactly 100,000,000,000 units of epsilon."""
    return math.ceil(exactly(amount) * in_one)


def amount_of(total: Fraction) -> float:
    """The least double that, as it is printed, is not below an exact total; inf beyond all doubles."""
    try:
        nearest = float(total)
    except OverflowError:
        return math.inf
    while math.isfinite(nearest) and exactly(nearest) < total:
        nearest = math.nextafter(nearest, math.inf)
    return nearest


LEAST_EPSILON, MOST_EPSILON = 1e-15, 1e9  # of a release: noise for less or more is no double


CAUTIONS = {
    "large-epsilon": "epsilon = {epsilon:g} promises next to nothing: an attacker may become e^{epsilon:g} times more "
    "certain. Use at most 10.",
    "large-delta": "delta = {delta:g} is not below one over the number of units: it would allow one of them to be "
    "exposed outright. Use at most 1e-5.",
}


@dataclass(frozen=True, slots=True)
class Budget:
    """An (epsilon, delta) guarantee; delta = 0 is pure differential privacy.

    >>> Budget(epsilon=1.0, delta=0.0).pure
    True
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        # numpy's numbers are welcome, and become plain ones for cards and ledgers.
        epsilon, delta = as_real(self.epsilon), as_real(self.delta)
        if not 0 < epsilon < math.inf:
            raise UsageError(
                parameter="epsilon",
                value=self.epsilon,
                rule="must be a positive finite number",
                fix="Most people choose 0.1 to 10.",
            )
        if not 0 <= delta < 1:
            raise UsageError(
                parameter="delta",
                value=self.delta,
                rule="must lie in [0, 1)",
                fix="Use 0 for pure privacy, or at most 1e-5, well below one over the number of people.",
            )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)

    @property
    def pure(self) -> bool:
        return self.delta == 0

    def __str__(self) -> str:
        return f"(epsilon = {self.epsilon:g}, delta = {self.delta:g})"

    def cautions(self, units: int) -> tuple[str, ...]:
        """What should be known before anything is spent on this many units, by its names in `CAUTIONS`."""
        large = {"large-epsilon": self.epsilon > 10, "large-delta": self.delta * units >= 1}
        return tuple(name for name, holds in large.items() if holds)

    def warnings(self, units: int) -> tuple[str, ...]:
        """What should be said before anything is spent on this many units."""
        return tuple(CAUTIONS[name].format(epsilon=self.epsilon, delta=self.delta) for name in self.cautions(units))


def stated_budget(epsilon: float, delta: float) -> Budget:
    """The budget of a release as it is asked for; totals and shares of budgets may be smaller or larger."""
    budget = Budget(epsilon, delta)
    if not LEAST_EPSILON <= budget.epsilon <= MOST_EPSILON:
        raise UsageError(
            parameter="epsilon",
            value=budget.epsilon,
            rule=f"must lie between {LEAST_EPSILON:g} and {MOST_EPSILON:g}",
            fix="Beyond, noise is too large or too small for a double. Most people choose 0.1 to 10.",
        )
    return budget

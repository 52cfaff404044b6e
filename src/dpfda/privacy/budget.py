"""Come here for how much privacy loss a release may cause."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from dpfda.errors import UsageError


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
        epsilon, delta = _plain(self.epsilon), _plain(self.delta)
        if not 0 < epsilon < math.inf:
            raise UsageError(
                f"epsilon must be a positive finite number, got {self.epsilon!r}. Most people choose 0.1 to 10."
            )
        if not 0 <= delta < 1:
            raise UsageError(
                f"delta must lie in [0, 1), got {self.delta!r}. Use 0 for pure privacy, or at most 1e-5, "
                "well below one over the number of people."
            )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)

    @property
    def pure(self) -> bool:
        return self.delta == 0

    def __str__(self) -> str:
        return f"(epsilon = {self.epsilon:g}, delta = {self.delta:g})"

    def warnings(self, units: int) -> tuple[str, ...]:
        """What should be said before anything is spent on this many units."""
        found = []
        if self.epsilon > 10:
            found.append(
                f"epsilon = {self.epsilon:g} promises next to nothing: an attacker may become e^{self.epsilon:g} times "
                "more certain. Use at most 10."
            )
        if self.delta * units >= 1:
            found.append(
                f"delta = {self.delta:g} is not below one over the number of units: it would allow one of them to be "
                "exposed outright. Use at most 1e-5."
            )
        return tuple(found)


def _plain(value: object) -> float:
    """A number as a double; what is none, or too large, becomes NaN, which no rule accepts."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan

"""Come here for how much privacy loss a release may cause."""

from __future__ import annotations

import sys
from dataclasses import dataclass

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
        if not (_is_number(self.epsilon) and 0 < self.epsilon <= sys.float_info.max):
            raise UsageError(
                f"epsilon must be a positive finite number, got {self.epsilon!r}. Most people choose 0.1 to 10."
            )
        if not (_is_number(self.delta) and 0 <= self.delta < 1):
            raise UsageError(
                f"delta must lie in [0, 1), got {self.delta!r}. Use 0 for pure privacy, or at most 1e-5, "
                "well below one over the number of people."
            )

    @property
    def pure(self) -> bool:
        return self.delta == 0

    def __str__(self) -> str:
        return f"(epsilon = {self.epsilon:g}, delta = {self.delta:g})"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

"""Brownian motion and the Brownian bridge."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array
from dpfda.kernels.base import OnLine, positive, register


@register
@dataclass(frozen=True, slots=True)
class BrownianMotion(OnLine):
    """The covariance of Brownian motion from 0 on, `min(s, t)`."""

    @property
    def interval(self) -> tuple[float, float]:
        return 0.0, math.inf

    def at(self, s: Array, t: Array) -> Array:
        return np.minimum(s, t)

    @property
    def smoothness(self) -> float:
        return 2.0

    @property
    def markov(self) -> bool:
        return True


@register
@dataclass(frozen=True, slots=True)
class BrownianBridge(OnLine):
    """Brownian motion that returns to 0 at the end of `[0, length]`, `min(s, t) - s t / length`."""

    length: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", positive(self.length, "length", "e.g. BrownianBridge(length=1.0)"))

    @property
    def interval(self) -> tuple[float, float]:
        return 0.0, self.length

    def at(self, s: Array, t: Array) -> Array:
        # min(s, t) (1 - max(s, t) / length): exactly 0 at both ends, never negative.
        return np.minimum(s, t) * (1 - np.maximum(s, t) / self.length)

    @property
    def smoothness(self) -> float:
        return 2.0

    @property
    def markov(self) -> bool:
        return True

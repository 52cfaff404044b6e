"""Come here for independent Laplace noise: pure epsilon, the plain choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpfda.arrays import Integers
from dpfda.mechanisms.base import check_coordinates
from dpfda.mechanisms.randomness import Randomness
from dpfda.norms import L1, Norm, Sensitivity, up
from dpfda.privacy import Noise, PureProfile


@dataclass(frozen=True, slots=True)
class Laplace:
    """Independent Laplace noise on the integers, the same scale everywhere."""

    name: ClassVar[str] = "laplace"
    norm: ClassVar[Norm] = L1()
    pure: ClassVar[bool] = True

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> PureProfile:
        return PureProfile(up(sensitivity.to(self.norm, size).value / scale))

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Integers:
        vector = check_coordinates(coordinates)
        return vector + randomness.laplace(scale, len(vector))

    def noise(self, scale: float, size: int) -> Noise:
        return Noise("radial", (1,) * size, (scale,) * size)

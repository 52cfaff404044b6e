"""Come here for Gaussian noise: the default wherever delta > 0 is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpfda.arrays import Integers
from dpfda.mechanisms.base import check_coordinates
from dpfda.mechanisms.randomness import Randomness
from dpfda.norms import L2, Norm, Sensitivity, up
from dpfda.privacy import GaussianProfile, Noise


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Isotropic Gaussian noise on the integers; `scale` is its deviation."""

    name: ClassVar[str] = "gaussian"
    norm: ClassVar[Norm] = L2()
    pure: ClassVar[bool] = False

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> GaussianProfile:
        sensitivity = sensitivity.to(self.norm, size)
        # A coordinate of the integer sampler is within 0.0203/scale^2 of the rounded continuous law in total variation:
        # the two weights differ by the factor 1 + (z^2 - 1)/(24 scale^2), and E|z^2 - 1| = 0.968.
        distance = up(up(0.0203 * size) / (scale * scale), 2) if size else 0.0
        if size and scale < 16:
            # It is second order in 1/scale, and checked from 16 steps on: below, nothing is claimed and no budget met.
            distance = 1.0
        return GaussianProfile(up(sensitivity.value / scale), distance, size, scale)

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Integers:
        vector = check_coordinates(coordinates)
        return vector + randomness.gaussian(scale, len(vector))

    def noise(self, scale: float, size: int) -> Noise:
        return Noise("gaussian", (size,), (scale,))

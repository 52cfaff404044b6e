"""Independent discrete Laplace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dpfda.arrays import Integers
from dpfda.mechanisms.base import (
    check_coordinates,
    check_profile,
    check_shape,
    check_source,
    draw_shaped,
    inverse,
)
from dpfda.mechanisms.knorm import RadialLaw
from dpfda.mechanisms.noise import check_blocks, check_scale
from dpfda.mechanisms.randomness import Randomness
from dpfda.mechanisms.table import EVERYWHERE, register_mechanism
from dpfda.privacy.norms import L1, Norm, Sensitivity, WeightedL1, up
from dpfda.privacy.profiles import LaplaceProfile


@register_mechanism("laplace", serves=EVERYWHERE, shaped=True)
@dataclass(frozen=True, slots=True)
class Laplace:
    """Independent Laplace noise on the integers; coordinate j has scale `scale * shape[j]`.

    Without a shape it is the same everywhere. With the shape `sqrt(lambda_j) / a_j` it is the Laplace process of Lin
    and Reimherr for a mean with weights `a_j`.
    """

    shape: tuple[float, ...] | None = None

    name: ClassVar[str] = "laplace"
    laws: ClassVar[tuple[str, ...]] = ("radial",)
    norms: ClassVar[tuple[str, ...]] = ("L1", "WeightedL1")
    pure: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_shape(self.shape)

    @property
    def norm(self) -> Norm:
        return L1() if self.shape is None else WeightedL1(inverse(tuple(self.shape)))

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> LaplaceProfile:
        check_profile(sensitivity, scale, size)
        moved = sensitivity.to(self.norm, size or len(self.shape or ())).value
        # The scales of the integer sampler; size 0 states the continuous law.
        scales = (scale,) if self.shape is None else tuple(scale * factor for factor in self.shape)
        return LaplaceProfile(up(moved / scale), LaplaceProfile.steps_of(scales) if size else math.inf)

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Integers:
        check_source(randomness)
        vector = check_coordinates(coordinates)
        if self.shape is None:
            return vector + randomness.laplace(scale, len(vector))
        return vector + draw_shaped(randomness.laplace, scale, self.shape, len(vector))

    def noise(self, scale: float, size: int) -> RadialLaw:
        check_blocks(size)
        check_scale(scale)
        shape = (1.0,) * size if self.shape is None else self.shape
        return RadialLaw((1,) * size, tuple(scale * factor for factor in shape))

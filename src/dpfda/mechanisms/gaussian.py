"""Exact discrete Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.mechanisms.base import (
    check_coordinates,
    check_profile,
    check_shape,
    check_source,
    draw_shaped,
    inverse,
)
from dpfda.mechanisms.noise import Care, NoiseLaw, Simulator, check_blocks, check_scale, register_law
from dpfda.mechanisms.randomness import Randomness
from dpfda.mechanisms.table import EVERYWHERE, register_mechanism
from dpfda.privacy import GaussianProfile
from dpfda.privacy.norms import L2, Norm, Sensitivity, WeightedL2, up


@register_mechanism("gaussian", serves=EVERYWHERE, shaped=True)
@dataclass(frozen=True, slots=True)
class Gaussian:
    """Independent Gaussian noise on the integers; coordinate j has deviation `scale * shape[j]`.

    Without a shape it is the same everywhere, which for a ball of changes has the least error. With the shape
    `sqrt(lambda_j) / a_j` it is the Gaussian process of Mirshani et al. for a mean with weights `a_j`.
    """

    shape: tuple[float, ...] | None = None

    name: ClassVar[str] = "gaussian"
    laws: ClassVar[tuple[str, ...]] = ("gaussian",)
    norms: ClassVar[tuple[str, ...]] = ("L2", "WeightedL2")
    pure: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_shape(self.shape)

    @property
    def norm(self) -> Norm:
        return L2() if self.shape is None else WeightedL2(inverse(tuple(self.shape)))

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> GaussianProfile:
        check_profile(sensitivity, scale, size)
        sensitivity = sensitivity.to(self.norm, size or len(self.shape or ()))
        smallest = scale if self.shape is None else scale * min(self.shape)
        # A coordinate of the integer sampler is within 0.0203/deviation^2 of the rounded continuous law in total
        # variation: the two weights differ by the factor 1 + (z^2 - 1)/(24 deviation^2), and E|z^2 - 1| = 0.968.
        # It is second order in 1/deviation, and checked from 16 steps on: below, nothing is claimed.
        far = up(up(0.0203 * size) / (smallest * smallest), 2) if smallest >= 16 else 1.0
        distance = far if size else 0.0
        return GaussianProfile(up(sensitivity.value / scale), distance, size, smallest)

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Integers:
        check_source(randomness)
        vector = check_coordinates(coordinates)
        if self.shape is None:
            return vector + randomness.gaussian(scale, len(vector))
        return vector + draw_shaped(randomness.gaussian, scale, self.shape, len(vector))

    def noise(self, scale: float, size: int) -> GaussianLaw:
        if self.shape is None:
            return GaussianLaw((size,), (scale,))
        check_blocks(size)
        check_scale(scale)
        return GaussianLaw((1,) * size, tuple((scale * np.array(self.shape)).tolist()))


@register_law
@dataclass(frozen=True, slots=True)
class GaussianLaw(NoiseLaw):
    """Each coordinate of block b is normal with deviation `scales[b]`, independent of all others."""

    name: ClassVar[str] = "gaussian"
    curves: ClassVar[tuple[str, ...]] = ("gaussian",)
    care: ClassVar[Care] = Care(1.25, 2.0)
    added: ClassVar[bool] = True
    independent: ClassVar[bool] = True
    stable: ClassVar[bool] = True
    at_one_point: ClassVar[float] = 2.2  # 1.96, and a margin that all our laws share

    @property
    def variances(self) -> Array:
        return np.repeat(np.array(self.scales) ** 2, self.sizes).astype(np.float64)

    @property
    def dimension(self) -> int:
        return self.size

    def from_uniforms(self, uniforms: Array) -> Array:
        from scipy.special import ndtri

        normals: Array = ndtri(uniforms)
        normals *= np.repeat(self.scales, self.sizes)
        return normals

    def standard_draws(self, generator: Simulator, count: int) -> Array:
        return generator.standard_normal((count, self.size))

    def tail(self, failure: float) -> Array:
        from scipy.special import ndtri

        return np.asarray(-ndtri(failure / 2) * np.repeat(self.scales, self.sizes))

    def worst_loss(self, moved: float) -> float:
        # Normal noise is worst where it is smallest.
        return moved / min(self.scales)

    @property
    def text(self) -> str:
        return "independent normal noise in every coordinate"

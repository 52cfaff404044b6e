"""The exponential mechanism for a mean: a penalised fit drawn from the ball."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.arrays import Array, Integers, brief
from dpfda.errors import UsageError
from dpfda.mechanisms.ball import draw_in_ball
from dpfda.mechanisms.base import check_coordinates, check_profile, check_source, register_draw
from dpfda.mechanisms.gaussian import GaussianLaw
from dpfda.mechanisms.randomness import Randomness
from dpfda.privacy import RangeProfile
from dpfda.privacy.norms import L2, Norm, Sensitivity, up

SMALLEST_PRIOR = 2.0**-10  # in lattice steps: such a coordinate is zero but for a chance of exp(-2^19)


@register_draw
@dataclass(frozen=True, slots=True)
class Exponential:
    """An integer vector b of the ball `|b|_2 <= radius`, drawn in proportion to `exp(utility/scale) prior(b)`.

    Awan et al. (2019), Example 3.5: the utility is `-sum_i |X_i - b|^2`, and the base measure a Gaussian process with
    deviations `prior` (in lattice steps), cut to the ball. With S the integer sum, terms without b cancel and leave
    `exp(-(n |b|^2 - 2 <S, b>) / scale - sum_j b_j^2 / (2 prior_j^2))`. If S moves by v, the log likelihood ratio is
    `2 <v, b> / scale` plus the change of the normaliser, the same for all b: it lies in an interval of length
    `4 radius |v|_2 / scale`, which is epsilon. On the whole space it would lie in none, hence the ball.

    `draw` returns n b, so that it is decoded like a sum. Without the cut b is normal around `weights * S / n`.
    """

    n: int
    radius: int
    prior: tuple[float, ...]

    name: ClassVar[str] = "exponential"
    laws: ClassVar[tuple[str, ...]] = ("gaussian",)
    norms: ClassVar[tuple[str, ...]] = ("L2",)
    whole: ClassVar[bool] = True
    norm: ClassVar[Norm] = L2()
    pure: ClassVar[bool] = True
    shrinks: ClassVar[str] = "the base measure and the cut to the ball"  # for the card: no band knows about it

    def __post_init__(self) -> None:
        whole = all(isinstance(number, int) for number in (self.n, self.radius))
        if not (whole and 1 <= self.n <= 2**38 and 1 <= self.radius <= 2**24):
            # So that n b and sums of squares of b stay within 64 bits.
            raise UsageError(
                f"n must be a whole number between 1 and 2^38 and radius one between 1 and 2^24, got n={brief(self.n)} "
                f"and radius={brief(self.radius)}.",
                parameter="n",
                value=(self.n, self.radius),
            )
        if not 1 <= len(self.prior) <= 2**14 or not all(deviation > 0 for deviation in self.prior):
            raise UsageError(
                f"The prior needs a positive deviation for each coordinate, 1 to 2^14 of them, got {self.prior}.",
                parameter="prior",
                value=self.prior,
            )

    @staticmethod
    def reach(bound: float, step: float) -> float:
        """How often the move of one unit counts, over the scale, which is that of squares: `4 radius` times."""
        return 4 * bound / step

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> RangeProfile:
        check_profile(sensitivity, scale, size)
        moved = up(4 * self.radius * sensitivity.to(self.norm, size).value)
        return RangeProfile(up(moved / scale))

    def weights(self, scale: float) -> Array:
        """What the penalty leaves of every coordinate of the mean, (size,)."""
        rate, precisions = self._law(scale)
        return self.n * rate / precisions

    def noise(self, scale: float, size: int) -> GaussianLaw:
        """The law of what is drawn around `weights * S`, but for the cut to the ball."""
        self._check_size(size)
        deviations = self.n / np.sqrt(2 * self._law(scale)[1])
        return GaussianLaw((1,) * size, tuple(deviations.tolist()))

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Integers:
        """One vector; the expected time depends on the sum, weakly: see `draw_in_ball`."""
        check_source(randomness)
        vector = check_coordinates(coordinates)
        self._check_size(len(vector))
        rate, precisions = self._law(scale)
        return self.n * draw_in_ball(vector, rate, precisions, self.radius, randomness)

    def _law(self, scale: float) -> tuple[float, Array]:
        """The rate r and the precisions A of the weights `exp(-sum_j (A_j b_j^2 - 2 r S_j b_j))`.

        Both are public doubles, and exact from here on: with any A the weights have the form that the proof asks for.
        """
        if not 2 * self.n <= scale <= 2.0**100:
            raise UsageError(
                f"The scale of an exponential mechanism for {self.n} units must lie between {2 * self.n} and "
                f"{2.0**100:g}, got {brief(scale)}; below, it would spread over less than one lattice step. A smaller "
                "epsilon or a larger radius helps.",
                parameter="scale",
                value=scale,
            )
        rate = math.nextafter(1 / scale, 0.0)  # never above the rate paid for
        penalties = 0.5 / np.maximum(np.array(self.prior), SMALLEST_PRIOR) ** 2
        return rate, self.n * rate + penalties

    def _check_size(self, size: int) -> None:
        if size != len(self.prior):
            raise UsageError(
                f"The prior has {len(self.prior)} coordinates, not {size}.", parameter="coordinates", value=size
            )

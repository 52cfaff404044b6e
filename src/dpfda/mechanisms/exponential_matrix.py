"""The exponential mechanism for a mean of symmetric matrices: a penalised fit drawn from a Frobenius ball."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.arrays import Array, Integers, brief
from dpfda.bases.symmetric import multiplicities, packed_size
from dpfda.errors import UsageError
from dpfda.mechanisms.ball import draw_in_ball
from dpfda.mechanisms.base import check_coordinates, check_profile, check_source, register_draw
from dpfda.mechanisms.exponential import SMALLEST_PRIOR
from dpfda.mechanisms.gaussian import GaussianLaw
from dpfda.mechanisms.randomness import Randomness
from dpfda.privacy import RangeProfile
from dpfda.privacy.norms import Norm, Sensitivity, frobenius, up

MOST_UNITS = 2**29  # n b in fine steps stays within 64 bits
COARSEST = 2**9


@register_draw
@dataclass(frozen=True, slots=True)
class ExponentialMatrix:
    """A symmetric matrix b of whole numbers with `|b|_F <= radius`, drawn like `Exponential` draws a vector.

    Awan et al. (2019), Section 4: the utility is `-sum_i |X_i - b|^2` in Frobenius norms, so entries off the diagonal,
    kept once, count twice; that is whole too. The base measure is a Gaussian process on the square of the domain,
    entries with deviations `prior` in steps of b, cut to the ball. A step of b is `coarse` steps of the sum S. Terms
    without b cancel, and if S moves by v the log likelihood ratio is `2 coarse <v, b>_F / scale` plus the change of the
    normaliser: it lies in an interval of length `4 coarse radius |v|_F / scale`, which is epsilon.

    `draw` returns `n coarse b`, so that it is decoded like a sum of entries, each kept once.
    """

    n: int
    side: int
    radius: int
    coarse: int
    prior: tuple[float, ...]

    name: ClassVar[str] = "exponential"
    laws: ClassVar[tuple[str, ...]] = ("gaussian",)
    norms: ClassVar[tuple[str, ...]] = ("WeightedL2",)
    whole: ClassVar[bool] = True
    pure: ClassVar[bool] = True
    shrinks: ClassVar[str] = "the base measure and the cut to the ball"  # for the card: no band knows about it

    def __post_init__(self) -> None:
        for name, most in (("n", MOST_UNITS), ("side", 2**7), ("radius", 2**24), ("coarse", COARSEST)):
            number = getattr(self, name)
            if isinstance(number, bool) or not (isinstance(number, int) and 1 <= number <= most):
                raise UsageError(
                    parameter=name,
                    value=number,
                    rule=f"must be a whole number between 1 and {most}, so that sums and squares stay within 64 bits",
                )
        if self.coarse & (self.coarse - 1):
            raise UsageError(parameter="coarse", value=self.coarse, rule="must be a power of two")
        if len(self.prior) != packed_size(self.side) or not all(deviation > 0 for deviation in self.prior):
            raise UsageError(
                parameter="prior",
                value=self.prior,
                rule=f"needs a positive deviation for each of {packed_size(self.side)} entries",
            )

    @property
    def norm(self) -> Norm:
        return frobenius(self.side)

    @property
    def times(self) -> Integers:
        """How often each entry stands in the matrix, (size,)."""
        return np.asarray(multiplicities(self.side), dtype=np.int64)

    @staticmethod
    def reach(bound: float, step: float) -> float:
        """How often the move of one unit counts, over the scale: four times the radius, the square of the bound."""
        return 4 * bound**2 / step

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> RangeProfile:
        check_profile(sensitivity, scale, size)
        # The stated norm has the root of two rounded down; the steps up outweigh that.
        moved = up(4 * self.coarse * self.radius * sensitivity.to(self.norm, packed_size(self.side)).value, 4)
        return RangeProfile(up(moved / scale))

    def weights(self, scale: float) -> Array:
        """What the base measure leaves of every entry of the mean, (size,)."""
        rate, precisions = self._law(scale)
        return self.n * rate * self.coarse**2 * self.times / precisions

    def noise(self, scale: float, size: int) -> GaussianLaw:
        """The law of what is drawn around `weights * S`, but for the cut to the ball."""
        self._check_size(size)
        deviations = self.n * self.coarse / np.sqrt(2 * self._law(scale)[1])
        return GaussianLaw((1,) * size, tuple(deviations.tolist()))

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Integers:
        """One matrix; the expected time depends on the sum, weakly: see `draw_in_ball`."""
        check_source(randomness)
        vector = check_coordinates(coordinates)
        self._check_size(len(vector))
        rate, precisions = self._law(scale)
        # Products with a power of two are exact.
        drawn = draw_in_ball(vector, rate * self.coarse, precisions, self.radius, randomness, times=self.times)
        return self.n * self.coarse * drawn

    def _law(self, scale: float) -> tuple[float, Array]:
        """The rate r and the precisions A of the weights `exp(-sum_j (A_j b_j^2 - 2 r coarse times_j S_j b_j))`.

        Both are public doubles, and exact from here on: with any A the weights have the form that the proof asks for.
        """
        least = 2 * self.n * self.coarse**2
        if not least <= scale <= 2.0**100:
            raise UsageError(
                parameter="scale",
                value=scale,
                rule=f"of an exponential mechanism for {self.n} units must lie between {least} and {2.0**100:g}",
                fix="Below, it would spread over less than one lattice step. Take a smaller epsilon.",
            )
        rate = math.nextafter(1 / scale, 0.0)  # never above the rate paid for
        penalties = 0.5 / np.maximum(np.array(self.prior), SMALLEST_PRIOR) ** 2
        return rate, self.n * rate * self.coarse**2 * self.times + penalties

    def _check_size(self, size: int) -> None:
        if size != len(self.prior):
            raise UsageError(
                f"A symmetric matrix of side {self.side} has {len(self.prior)} entries, got {brief(size)}.",
                parameter="coordinates",
                value=size,
            )

"""Normal vectors on the integer points of a ball, drawn exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.mechanisms.decision import Booleans, decide, exponential, exponential_exactly, wide
from dpfda.mechanisms.randomness import Randomness
from dpfda.privacy.norms import up


def draw_in_ball(
    vector: Integers,
    rate: float,
    precisions: Array,
    radius: int,
    randomness: Randomness,
    *,
    times: Integers | None = None,
) -> Integers:
    """An exact draw with weights `exp(-sum_j (A_j b_j^2 - 2 r S_j b_j))` on the integer vectors of the ball, (size,).

    With `times` coordinate j stands so often in the ball's norm and in the product with S: `sum_j times_j b_j^2` and
    `times_j S_j b_j`, as entries of a symmetric matrix do that are kept once.

    Proposals have independent coordinates and precisions `A_j + tilt times_j`; inside the ball they are accepted with
    probability `exp(-tilt (radius^2 - |b|^2))`. Any tilt gives the same law. The best one puts the mean square of the
    proposals on the sphere; then about `0.6 / sqrt(size)` of them are accepted at worst, even where next to nothing of
    the law without the cut lies in the ball. Batches have a public size and the first accepted proposal is taken: only
    the number of batches, one but for a chance of 1 % at worst, depends on the sum, and with it the running time.
    """
    batch = max(16, math.ceil(8 * math.sqrt(len(vector))))
    often = np.ones(len(vector), dtype=np.int64) if times is None else times
    # Coordinate by coordinate in units in which the ball is round.
    tilt = best_tilt(vector * (rate * often**1.5 / precisions), precisions / often, float(radius) ** 2)
    laws = [
        # Rational numbers: the tilt looks at the sum, so its rounding must not touch the law.
        Coordinate.build(Fraction(rate) * int(total) * time, Fraction(precision) + Fraction(tilt) * time)
        for total, precision, time in zip(vector, precisions.tolist(), often.tolist(), strict=True)
    ]
    while True:
        proposals = np.stack([law.draw(batch, randomness) for law in laws], axis=1)
        # Coordinate by coordinate first: squares of those that are left cannot overflow.
        proposals = proposals[(np.abs(proposals) <= radius).all(axis=1)]
        below = radius**2 - (often * proposals * proposals).sum(axis=1)
        accepted = np.flatnonzero((below >= 0) & _accept_below(np.maximum(below, 0), tilt, randomness))
        if len(accepted):
            drawn: Integers = proposals[accepted[0]]
            return drawn


def best_tilt(centres: Array, precisions: Array, square: float) -> float:
    """The tilt of at least 0 at which proposals have a mean square of at most this: the one with most acceptances.

    The envelope is `exp(tilt square)` times the proposals' normaliser, and this is where its derivative vanishes.
    """

    def excess(tilt: float) -> float:
        shares = precisions / (precisions + tilt)
        return float(np.sum((shares * centres) ** 2 + shares / (2 * precisions)) - square)

    if excess(0.0) <= 0:
        return 0.0
    low, high = 0.0, len(precisions) / (2 * square)
    while excess(high) > 0:
        low, high = high, 4 * high
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


def _accept_below(below: Integers, tilt: float, randomness: Randomness) -> Booleans:
    """Yes with probability `exp(-tilt below)` in every row."""
    exponent = tilt * below.astype(np.float64)

    def refine(row: int, digits: int) -> tuple[Decimal, Decimal]:
        with localcontext(wide(digits)):
            exactly = Decimal(tilt) * int(below[row])
        return exponential_exactly(exactly, exactly, digits)

    return decide(*exponential(exponent, 2.0**-51 * exponent), refine, randomness)


@dataclass(frozen=True, slots=True)
class Coordinate:
    """Integers k + z with probability proportional to `exp(-(A z^2 - D z))`, where |D| <= A."""

    middle: int  # k
    precision: Fraction  # A
    slope: Fraction  # D
    proposal: float
    reserve: float

    @staticmethod
    def build(linear: Fraction, precision: Fraction) -> Coordinate:
        """The law with weights `exp(-(A b^2 - 2 linear b))`: a discrete normal law around `linear / A`, a real number.

        Proposals k + z with discrete Laplace z of scale t are accepted with probability
        `exp(-(A z^2 - D z - |z|/t + reserve))`. Since D z <= A |z|, a reserve of `(1/t + A)^2 / 4A` keeps it below one;
        at t = 1 and A >= 1/2 a reserve of 1 does, for integers. About half of all are accepted, at least one in six.
        """
        middle = round(linear / precision)
        slope = 2 * (linear - precision * middle)
        if precision >= Fraction(1, 2):
            return Coordinate(middle, precision, slope, 1.0, 1.0)
        proposal = 1 / math.sqrt(2 * precision)
        reserve = (1 / Fraction(proposal) + precision) ** 2 / (4 * precision)
        return Coordinate(middle, precision, slope, proposal, up(float(reserve)))

    def draw(self, draws: int, randomness: Randomness) -> Integers:
        """Exact draws, (draws,)."""
        kept: list[Integers] = []
        missing = draws
        while missing > 0:
            z = randomness.laplace(self.proposal, 2 * draws + 16)
            kept.append(z[self.accept(z, randomness)][:missing])
            missing -= len(kept[-1])
        return np.concatenate(kept) + self.middle

    def accept(self, z: Integers, randomness: Randomness) -> Booleans:
        """Decide every proposal exactly."""
        return decide(*self.interval(z), lambda row, digits: self.interval_exactly(int(z[row]), digits), randomness)

    def interval(self, z: Integers) -> tuple[Array, Array]:
        """Bounds in doubles on the acceptance probability of every proposal, each (draws,)."""
        floats, precision = z.astype(np.float64), float(self.precision)
        size = np.abs(floats)
        square, line = precision * floats * floats, float(self.slope) * floats
        exponent = square - line - size / self.proposal + self.reserve
        # Each of the four terms is off by at most five roundings, and each sum by one of all of them.
        return exponential(exponent, 2.0**-49 * (square + precision * size + size / self.proposal + self.reserve))

    def interval_exactly(self, z: int, digits: int) -> tuple[Decimal, Decimal]:
        """Bounds in decimals on the acceptance probability of one proposal."""
        with localcontext(wide(digits)):
            precision, slope = (Decimal(x.numerator) / x.denominator for x in (self.precision, self.slope))
            rest = abs(z) / Decimal(self.proposal)
            exponent = precision * z**2 - slope * z - rest + Decimal(self.reserve)
            return exponential_exactly(exponent, precision * (z**2 + abs(z)) + rest + Decimal(self.reserve), digits)

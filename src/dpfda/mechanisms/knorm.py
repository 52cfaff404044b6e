"""Come here for K-norm noise in blocks: the default for pure epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from typing import ClassVar

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.errors import UsageError
from dpfda.mechanisms.base import check_coordinates
from dpfda.mechanisms.randomness import Randomness
from dpfda.norms import BlockNorm, Sensitivity, up
from dpfda.privacy import Noise, PureProfile

LARGEST_BLOCK = 20  # beyond it fewer than one proposal in two hundred is accepted


@dataclass(frozen=True, slots=True)
class KNorm:
    """Noise with density proportional to `exp(-sum_b shares[b] |z_b|_2 / scale)` over consecutive blocks.

    A change v costs `sum_b shares[b] |v_b|_2 / scale`, a block norm; it is exactly private on the integers, because
    the normaliser does not depend on where an integer vector is centred.
    """

    sizes: tuple[int, ...]
    shares: tuple[float, ...]

    name: ClassVar[str] = "k-norm"
    pure: ClassVar[bool] = True

    def __post_init__(self) -> None:
        BlockNorm(self.sizes, self.shares)
        if max(self.sizes) > LARGEST_BLOCK:
            raise UsageError(
                f"A block of {max(self.sizes)} coordinates is too large to draw: the most is {LARGEST_BLOCK}. Cut it."
            )

    @property
    def norm(self) -> BlockNorm:
        return BlockNorm(self.sizes, self.shares)

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> PureProfile:
        return PureProfile(up(sensitivity.to(self.norm, size or sum(self.sizes)).value / scale))

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Integers:
        vector = check_coordinates(coordinates)
        if len(vector) != sum(self.sizes):
            raise UsageError(f"The blocks {self.sizes} hold {sum(self.sizes)} coordinates, not {len(vector)}.")
        noise = [
            # Rounded down, so that the rate drawn with never exceeds the rate paid for.
            draw_block(math.nextafter(share / scale, 0.0), size, 1, randomness)[0]
            for size, share in zip(self.sizes, self.shares, strict=True)
        ]
        noisy: Integers = vector + np.concatenate(noise)
        return noisy

    def noise(self, scale: float, size: int) -> Noise:
        self.norm.over_l2(size)  # refuses another number of coordinates
        return Noise("radial", self.sizes, tuple(scale / share for share in self.shares))


def draw_block(rate: float, dimension: int, draws: int, randomness: Randomness) -> Integers:
    """Exact draws with `P(z)` proportional to `exp(-rate |z|_2)` on the integers of a dimension, (draws, dimension).

    Rejection from independent Laplace noise of scale `b >= sqrt(M)/rate`: `|z|_1 <= sqrt(M) |z|_2` keeps the acceptance
    probability `exp(-(rate |z|_2 - |z|_1 / b))` at most one whatever the rounding of b.
    """
    proposal = up(math.sqrt(dimension) / rate, 2)
    kept: list[Integers] = []
    missing = draws
    # Constant batches: about what one acceptance takes.
    batch = max(16, math.ceil(draws * 1.2**dimension))
    while missing > 0:
        z = randomness.laplace(proposal, batch * dimension).reshape(batch, dimension)
        kept.append(z[accept(z, rate, proposal, randomness)][:missing])
        missing -= len(kept[-1])
    return np.concatenate(kept)


def accept(
    z: Integers, rate: float, proposal: float, randomness: Randomness
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Decide every proposal exactly: compare uniform bits with an interval, refine the few that it leaves open."""
    low, high = interval(z, rate, proposal)
    bits = randomness.bits53(len(z))
    uniform = bits * 2.0**-53  # the first 53 bits of a uniform number: it lies in [uniform, uniform + 2^-53)
    accepted = np.asarray(uniform + 2.0**-53 <= low)
    for row in np.flatnonzero(~accepted & (uniform < high)):
        accepted[row] = _accept_exactly(z[row], rate, proposal, int(bits[row]), randomness)
    return accepted


def interval(z: Integers, rate: float, proposal: float) -> tuple[Array, Array]:
    """Bounds in doubles on the acceptance probability of every proposal, each (draws,)."""
    floats = z.astype(np.float64)
    radius = rate * np.sqrt(np.einsum("ij,ij->i", floats, floats))
    exponent = radius - np.abs(floats).sum(axis=1) / proposal
    # Each of the two terms is off by at most (dimension + 8) roundings, and neither exceeds the first.
    error = 2 * (z.shape[1] + 8) * 2.0**-53 * (radius + 1)
    low, high = _probability(exponent + error, 1 - 2.0**-50), _probability(exponent - error, 1 + 2.0**-50)
    # No probability is zero: beyond exp(-700) a uniform number that begins with 53 zeros is still left open.
    low[exponent + error > 700.0] = 0.0
    return low, high


def _probability(exponent: Array, factor: float) -> Array:
    """`exp(-exponent)` times a factor that covers the rounding of exp itself."""
    return np.exp(-np.clip(exponent, -1.0, 700.0)) * factor


def _accept_exactly(z: Integers, rate: float, proposal: float, bits: int, randomness: Randomness) -> bool:
    """The same comparison in decimals of growing precision, with more bits of the same uniform number."""
    known = 53
    squares, absolute = sum(int(x) ** 2 for x in z), sum(abs(int(x)) for x in z)
    if squares == 0:
        return True
    while True:
        digits = 60 + known // 3
        # Every operation below is correctly rounded at this precision, so four guard digits bound the error; the
        # exponents are the widest there are, so that no probability becomes zero.
        with localcontext(Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX)):
            exponent = Decimal(rate) * Decimal(squares).sqrt() - Decimal(absolute) / Decimal(proposal)
            size = Decimal(rate) * Decimal(squares).sqrt() + 1
            probability, error = (-exponent).exp(), size * Decimal(10) ** (4 - digits)
            step = Decimal(2) ** -known
            if (bits + 1) * step <= probability * (1 - error):
                return True
            if bits * step >= probability * (1 + error):
                return False
        bits = (bits << 53) | int(randomness.bits53(1)[0])
        known += 53

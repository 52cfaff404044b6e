"""K-norm noise in blocks: the default for pure epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import ClassVar

import numpy as np

from dpfda.arrays import Array, Integers, as_plain_ints
from dpfda.bases.norms import BlockNorm, Sensitivity, up
from dpfda.errors import UsageError
from dpfda.mechanisms.base import check_coordinates, check_profile, check_source
from dpfda.mechanisms.decision import Booleans, decide, exponential, exponential_exactly, wide
from dpfda.mechanisms.noise import Noise, check_blocks, check_scale
from dpfda.mechanisms.randomness import Randomness
from dpfda.privacy import PureProfile

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
        as_plain_ints(self, "sizes")
        if max(self.sizes) > LARGEST_BLOCK:
            raise UsageError(
                f"A block of {max(self.sizes)} coordinates is too large to draw: the most is {LARGEST_BLOCK}. Cut it."
            )

    @property
    def norm(self) -> BlockNorm:
        return BlockNorm(self.sizes, self.shares)

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> PureProfile:
        check_profile(sensitivity, scale, size)
        return PureProfile(up(sensitivity.to(self.norm, size or sum(self.sizes)).value / scale))

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Integers:
        check_source(randomness)
        check_scale(scale)
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
        check_blocks(size)
        check_scale(scale)
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


def accept(z: Integers, rate: float, proposal: float, randomness: Randomness) -> Booleans:
    """Decide every proposal exactly."""

    def refine(row: int, digits: int) -> tuple[Decimal, Decimal]:
        return _interval_exactly(z[row], rate, proposal, digits)

    return decide(*interval(z, rate, proposal), refine, randomness)


def interval(z: Integers, rate: float, proposal: float) -> tuple[Array, Array]:
    """Bounds in doubles on the acceptance probability of every proposal, each (draws,)."""
    floats = z.astype(np.float64)
    radius = rate * np.sqrt(np.einsum("ij,ij->i", floats, floats))
    exponent = radius - np.abs(floats).sum(axis=1) / proposal
    # Each of the two terms is off by at most (dimension + 8) roundings, and neither exceeds the first.
    return exponential(exponent, 2 * (z.shape[1] + 8) * 2.0**-53 * (radius + 1))


def _interval_exactly(z: Integers, rate: float, proposal: float, digits: int) -> tuple[Decimal, Decimal]:
    """Bounds in decimals on the acceptance probability of one proposal."""
    squares, absolute = sum(int(x) ** 2 for x in z), sum(abs(int(x)) for x in z)
    with localcontext(wide(digits)):
        radius = Decimal(rate) * Decimal(squares).sqrt()
        return exponential_exactly(radius - Decimal(absolute) / Decimal(proposal), radius, digits)

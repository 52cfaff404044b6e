"""K-norm noise in blocks: the default for pure epsilon."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import ClassVar

import numpy as np

from dpfda.arrays import Array, Integers, as_plain_ints
from dpfda.errors import UsageError
from dpfda.mechanisms.base import check_coordinates, check_profile, check_source
from dpfda.mechanisms.decision import Booleans, decide, exponential, exponential_exactly, wide
from dpfda.mechanisms.noise import Care, NoiseLaw, Simulator, check_blocks, check_scale, register_law
from dpfda.mechanisms.randomness import Randomness
from dpfda.mechanisms.table import EVERYWHERE, register_mechanism
from dpfda.privacy import PureProfile
from dpfda.privacy.norms import BlockNorm, Sensitivity, up

LARGEST_BLOCK = 20  # beyond it fewer than one proposal in two hundred is accepted


@register_mechanism("k-norm", serves=EVERYWHERE, shaped=True)
@dataclass(frozen=True, slots=True)
class KNorm:
    """Noise with density proportional to `exp(-sum_b shares[b] |z_b|_2 / scale)` over consecutive blocks.

    A change v costs `sum_b shares[b] |v_b|_2 / scale`, a block norm; it is exactly private on the integers, because
    the normaliser does not depend on where an integer vector is centred.
    """

    sizes: tuple[int, ...]
    shares: tuple[float, ...]

    name: ClassVar[str] = "k-norm"
    laws: ClassVar[tuple[str, ...]] = ("radial",)
    norms: ClassVar[tuple[str, ...]] = ("BlockNorm",)
    pure: ClassVar[bool] = True

    def __post_init__(self) -> None:
        BlockNorm(self.sizes, self.shares)
        as_plain_ints(self, "sizes")
        if max(self.sizes) > LARGEST_BLOCK:
            raise UsageError(
                f"A block of {max(self.sizes)} coordinates is too large to draw: the most is {LARGEST_BLOCK}. Cut it.",
                parameter="sizes",
                value=max(self.sizes),
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
            raise UsageError(
                f"The blocks {self.sizes} hold {sum(self.sizes)} coordinates, not {len(vector)}.",
                parameter="coordinates",
                value=len(vector),
            )
        noise = [
            # Rounded down, so that the rate drawn with never exceeds the rate paid for.
            draw_block(math.nextafter(share / scale, 0.0), size, 1, randomness)[0]
            for size, share in zip(self.sizes, self.shares, strict=True)
        ]
        noisy: Integers = vector + np.concatenate(noise)
        return noisy

    def noise(self, scale: float, size: int) -> RadialLaw:
        check_blocks(size)
        check_scale(scale)
        self.norm.over_l2(size)  # refuses another number of coordinates
        return RadialLaw(self.sizes, tuple(scale / share for share in self.shares))


@register_law
@dataclass(frozen=True, slots=True)
class RadialLaw(NoiseLaw):
    """Block b has density proportional to `exp(-|z|_2 / scales[b])`; blocks of one coordinate are Laplace noise."""

    name: ClassVar[str] = "radial"
    curves: ClassVar[tuple[str, ...]] = ("laplace", "pure")
    care: ClassVar[Care] = Care(1.75, 4.0)
    added: ClassVar[bool] = True
    at_one_point: ClassVar[float] = 2.2  # 2.12 for one Laplace coordinate alone, the heaviest tail

    @property
    def independent(self) -> bool:
        return max(self.sizes) == 1

    @property
    def variances(self) -> Array:
        """The variance of every coordinate, (size,); a block of M coordinates has `E|z|^2 = M (M+1) scale^2`."""
        sizes = np.array(self.sizes)
        return np.repeat(np.array(self.scales) ** 2 * (sizes + 1), sizes).astype(np.float64)

    @property
    def dimension(self) -> int:
        return self.size + len(self.sizes)

    @property
    def _shapes(self) -> Array:
        # exp(-|z|) is a scale mixture of normals: z = sqrt(w) g with w ~ 2 Gamma((M+1)/2) in M dimensions.
        return (np.array(self.sizes) + 1) / 2

    def from_uniforms(self, uniforms: Array) -> Array:
        from scipy.special import gammaincinv, ndtri

        normals: Array = ndtri(uniforms[:, : self.size])
        mixing = np.sqrt(2 * gammaincinv(self._shapes, uniforms[:, self.size :]))
        normals *= np.repeat(mixing * np.array(self.scales), self.sizes, axis=1)
        return normals

    def standard_draws(self, generator: Simulator, count: int) -> Array:
        drawn = generator.standard_normal((count, self.size))
        shapes = self._shapes
        mixing = np.sqrt(2 * generator.standard_gamma(shapes, (count, len(shapes))) / (2 * shapes))
        drawn *= np.repeat(mixing, self.sizes, axis=1)
        return drawn

    def tail(self, failure: float) -> Array:
        from scipy.special import gammainccinv

        # The radius of M coordinates is Gamma(M), and none of them exceeds it; one alone is its own radius.
        radii = [-math.log(failure) if size == 1 else float(gammainccinv(size, failure)) for size in self.sizes]
        return np.repeat(np.array(radii) * np.array(self.scales), self.sizes)

    def worst_loss(self, moved: float) -> float:
        # A move v costs |v_b| / scale in block b: by Cauchy at most this in all.
        return moved * math.sqrt(float((1 / np.array(self.scales) ** 2).sum()))

    @property
    def possible_curves(self) -> tuple[str, ...]:
        return self.curves if self.independent else ("pure",)

    @property
    def text(self) -> str:
        """The law in words, e.g. "radial in 3 blocks of 8, 1 block of 5"."""
        if self.independent:
            return "independent Laplace noise in every coordinate"
        runs = [(size, len(list(run))) for size, run in itertools.groupby(self.sizes)]
        return "radial in " + ", ".join(f"{count} block{'s' * (count > 1)} of {size}" for size, count in runs)


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

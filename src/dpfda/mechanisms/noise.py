"""What the law of the noise in a release must be able to say, and the one table of laws."""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from dpfda.arrays import Array, as_plain_ints, as_real, brief, is_whole
from dpfda.errors import UsageError

MOST_COORDINATES = 2**26


def check_blocks(*sizes: int) -> None:
    """Blocks of coordinates have whole numbers of them, at least 1."""
    if not all(is_whole(size, 1, MOST_COORDINATES) for size in sizes):
        raise UsageError(
            f"Noise needs blocks of at least 1 and positive scales, got {brief(sizes)} coordinates.",
            parameter="sizes",
            value=sizes,
        )


def check_scale(*scales: float) -> None:
    """Scales of noise are positive finite numbers."""
    if not all(0 < as_real(scale) < math.inf for scale in scales):
        raise UsageError(
            f"Noise needs blocks of at least 1 and positive scales, got {brief(scales)} for scales.",
            parameter="scales",
            value=scales,
        )


@dataclass(frozen=True, slots=True)
class Care:
    """How candidates of a smoothing are weighed: how much the noise they keep counts, and the temperature.

    An estimated risk is noisy itself, the more so under radial noise, whose blocks are large or small together; and
    keeping too much noise costs more than smoothing too much. The temperature is in mean variances.
    """

    caution: float
    temperature: float


class Simulator(Protocol):
    """A seeded generator that its caller brings: what a law would look like is simulated, and enters no release."""

    def random(self, size: tuple[int, ...]) -> Array: ...

    def standard_normal(self, size: tuple[int, ...]) -> Array: ...

    def standard_gamma(self, shape: Array, size: tuple[int, ...]) -> Array: ...


@dataclass(frozen=True, slots=True)
class NoiseLaw(ABC):
    """Noise in consecutive blocks of coordinates; blocks are independent, and each is proportional to its scale.

    A law of one's own states `name`, `care`, `added`, `independent`, `variances`, `dimension`, `from_uniforms`, `tail`,
    `worst_loss`, `curves` and `text`, and is put into the table of laws by `register_law`. All else follows.
    """

    sizes: tuple[int, ...]
    scales: tuple[float, ...]

    name: ClassVar[str]  # in files and on cards
    curves: ClassVar[tuple[str, ...]]  # the privacy curves that a mechanism with this noise can have, by name
    stable: ClassVar[bool] = False  # whether weighted sums of its coordinates have the same law but for the scale
    # Deviations that hold a weighted sum of coordinates with probability 0.95; this many do under any law (Chebyshev).
    at_one_point: ClassVar[float] = 4.48

    def __post_init__(self) -> None:
        if not all(isinstance(part, tuple | list) for part in (self.sizes, self.scales)):
            raise UsageError(
                f"Noise has tuples of sizes and scales, got {brief(self.sizes)} and {brief(self.scales)}.",
                parameter="sizes",
                value=self.sizes,
            )
        if len(self.sizes) != len(self.scales) or not self.sizes:
            raise UsageError(
                f"Noise needs one scale for each block, got {len(self.sizes)} and {len(self.scales)}.",
                parameter="scales",
                value=len(self.scales),
            )
        check_blocks(*self.sizes)
        check_scale(*self.scales)
        as_plain_ints(self, "sizes")

    # The duties of a law -------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def care(self) -> Care:
        """How far an estimated risk under this noise is to be trusted."""

    @property
    @abstractmethod
    def added(self) -> bool:
        """Whether noise was added at all, and not the release drawn as a whole."""

    @property
    @abstractmethod
    def independent(self) -> bool:
        """Whether the coordinates of a block are independent of each other."""

    @property
    @abstractmethod
    def variances(self) -> Array:
        """The variance of every coordinate, (size,)."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """How many uniforms `from_uniforms` makes one noise vector from."""

    @abstractmethod
    def from_uniforms(self, uniforms: Array) -> Array:
        """Noise from points of the unit cube, (m, dimension) -> (m, size).

        A map, not a generator: fed with a low-discrepancy sequence it gives the same deterministic sample everywhere.
        """

    @abstractmethod
    def tail(self, failure: float) -> Array:
        """How far each coordinate goes but with at most this probability, (size,)."""

    @abstractmethod
    def worst_loss(self, moved: float) -> float | None:
        """The privacy loss if coordinates move by so much in L2 norm, in the worst direction: epsilon, or Gaussian mu.

        None where that length does not determine it: then a verification does not compare it.
        """

    @property
    @abstractmethod
    def text(self) -> str:
        """The law in words for the card; of its name and its blocks, not of its scales."""

    # What follows from them ----------------------------------------------------------------------------------------

    @property
    def possible_curves(self) -> tuple[str, ...]:
        """The privacy curves that it can have with these blocks."""
        return self.curves

    def standard_draws(self, generator: Simulator, count: int) -> Array:
        """A sample of the law with all variances one, (count, size), for simulation alone."""
        standard = self.standard()
        return standard.from_uniforms(generator.random((count, self.dimension))) / np.sqrt(standard.variances)

    @property
    def size(self) -> int:
        return sum(self.sizes)

    def standard(self) -> Self:
        """The same law with all scales one."""
        return replace(self, scales=(1.0,) * len(self.scales))

    def in_ratios(self) -> Self:
        """The law with the largest scale one: equal laws in other units share what is tabulated."""
        largest = max(self.scales)
        return replace(self, scales=tuple(float(f"{scale / largest:.9g}") for scale in self.scales))

    def scaled(self, factor: float) -> Self:
        """The law of the noise times a positive factor."""
        return replace(self, scales=tuple(factor * scale for scale in self.scales))

    def weighted(self, weights: Array) -> Self:
        """The law of the noise times a positive weight in each coordinate; those that depend on each other share it."""
        if self.independent:
            return self._single(np.repeat(self.scales, self.sizes) * weights)
        ends = np.cumsum(self.sizes).tolist()
        blocks = [weights[end - size : end] for size, end in zip(self.sizes, ends, strict=True)]
        if any(np.ptp(block) > 1e-12 * block.max() for block in blocks):
            raise UsageError(
                f"Coordinates that share a block of {max(self.sizes)} cannot be weighted one by one: the noise of all "
                "of them needs the same weight.",
                parameter="weights",
                value=max(self.sizes),
            )
        return replace(
            self, scales=tuple(scale * float(block[0]) for scale, block in zip(self.scales, blocks, strict=True))
        )

    def ordered(self, order: npt.NDArray[np.signedinteger[Any]]) -> Self:
        """The law of independent coordinates in another order."""
        return self._single(np.repeat(self.scales, self.sizes)[order])

    def _single(self, scales: Array) -> Self:
        """Independent coordinates in blocks of one."""
        return replace(self, sizes=(1,) * len(scales), scales=tuple(scales.tolist()))

    def split(self, first: int) -> tuple[Self, Self]:
        """The laws of the first coordinates and of all others, which must be independent of them."""
        edges = np.cumsum(self.sizes).tolist()
        place = next(index for index, edge in enumerate(edges) if edge >= first)
        head, tail = first - (edges[place] - self.sizes[place]), edges[place] - first
        if tail and not self.independent:
            leading = "coordinate needs" if first == 1 else f"{first} coordinates need"
            raise UsageError(
                f"The first {leading} noise independent of that of the others: a block of {self.sizes[place]} holds "
                "both. Cut it there.",
                parameter="first",
                value=first,
            )
        rest, scale = ((tail,), (self.scales[place],)) if tail else ((), ())
        return (
            replace(self, sizes=(*self.sizes[:place], head), scales=self.scales[: place + 1]),
            replace(self, sizes=(*rest, *self.sizes[place + 1 :]), scales=(*scale, *self.scales[place + 1 :])),
        )

    def followed_by(self, other: Self) -> Self:
        """The law of independent noise of the same kind, one vector after the other."""
        return replace(self, sizes=(*self.sizes, *other.sizes), scales=(*self.scales, *other.scales))

    def describe(self) -> dict[str, Any]:
        """The law as plain data for files; `NoiseLaw.from_dict` reads it."""
        return {"law": self.name, "sizes": list(self.sizes), "scales": list(self.scales)}

    @staticmethod
    def from_dict(data: dict[str, Any]) -> NoiseLaw:
        """The law that `describe` wrote."""
        return Noise(data["law"], tuple(data["sizes"]), tuple(data["scales"]))


@dataclass(frozen=True, slots=True)
class NothingAdded(NoiseLaw):
    """What laws without noise share: the release was drawn as a whole. It is no law itself: it has no name or words."""

    curves: ClassVar[tuple[str, ...]] = ("range",)
    care: ClassVar[Care] = Care(1.0, 2.0)
    added: ClassVar[bool] = False
    independent: ClassVar[bool] = True
    dimension: ClassVar[int] = 0

    @property
    def variances(self) -> Array:
        return np.zeros(self.size)

    def from_uniforms(self, uniforms: Array) -> Array:
        return np.zeros((len(uniforms), self.size))

    def standard_draws(self, generator: Simulator, count: int) -> Array:
        return np.zeros((count, self.size))

    def tail(self, failure: float) -> Array:
        return np.zeros(self.size)

    def worst_loss(self, moved: float) -> None:
        return None


LAWS: dict[str, type[NoiseLaw]] = {}  # by name: the one table that files are read by
L = TypeVar("L", bound=type[NoiseLaw])


def register_law(law: L) -> L:
    """Put a law into the table that files are read by; a decorator for classes, the package's own and others.

    A class that lacks a duty is refused here, when its module is imported, and not after a charge.
    """
    if not (isinstance(law, type) and issubclass(law, NoiseLaw)):
        raise UsageError(
            f"A noise law is a class derived from dpfda.mechanisms.NoiseLaw, got {brief(law)}.",
            parameter="law",
            value=law,
        )
    lacking = sorted(law.__abstractmethods__) if inspect.isabstract(law) else []
    if not isinstance(getattr(law, "name", None), str):
        lacking.append("name")
    if not isinstance(getattr(law, "curves", None), tuple):
        lacking.append("curves")
    if lacking:
        raise UsageError(f"The noise law {law.__name__} lacks {', '.join(lacking)}.", parameter="law")
    known = LAWS.get(law.name)
    # The same class again, when its module is loaded anew, takes the place of the old one.
    if known is not None and (
        known is law or (known.__module__, known.__qualname__) != (law.__module__, law.__qualname__)
    ):
        raise UsageError(
            f"There is a noise law {brief(law.name)} already: {known.__name__}.",
            parameter="name",
            value=law.name,
        )
    LAWS[law.name] = law
    return law


def Noise(law: str, sizes: tuple[int, ...], scales: tuple[float, ...]) -> NoiseLaw:  # noqa: N802, read as a class
    """The law of this name for blocks of these sizes and scales."""
    if not isinstance(law, str) or law not in LAWS:
        raise UsageError(
            f"A noise law is one of {', '.join(map(repr, LAWS))}, got {brief(law)}.", parameter="law", value=law
        )
    return LAWS[law](sizes, scales)


def check_law(noise: object) -> None:
    """What a mechanism says of its noise is a law that files can be read by."""
    if not isinstance(noise, NoiseLaw):
        raise UsageError(
            parameter="noise", value=noise, rule="is a law such as dpfda.mechanisms.GaussianLaw((3,), (1.0,))"
        )
    if LAWS.get(getattr(noise, "name", "")) is not type(noise):
        raise UsageError(
            f"The noise law {type(noise).__name__} is in no table that files are read by: put "
            "@dpfda.mechanisms.register_law above its class.",
            parameter="noise",
        )

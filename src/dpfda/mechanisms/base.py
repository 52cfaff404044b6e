"""The interface of a mechanism, and the checks that all mechanisms share."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from dpfda.arrays import Integers, as_real, brief, is_whole
from dpfda.errors import UsageError
from dpfda.mechanisms.noise import NoiseLaw, check_law
from dpfda.mechanisms.randomness import Randomness, SeededRandomness, SystemRandomness
from dpfda.privacy.calibration import Noisy
from dpfda.privacy.norms import Sensitivity, up

MOST_COORDINATES = 2**40
DUTIES = ("profile", "draw", "noise")
# Two equal vectors say something only where chance does not make them: below this deviation, in lattice steps, it may.
TELLING_DEVIATION = 1000.0
OTHER_SEEDS = (2, 3, 4, 5)


class Mechanism(Noisy, Protocol):
    """Integer coordinates and a scale in, noisy integer coordinates out.

    Beside what calibration asks for, the privacy curve: `norm` is the norm in which that needs the sensitivity, `pure`
    says whether it can do without delta. Scales are in lattice steps.
    """

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Integers:
        """The coordinates with noise added."""

    def noise(self, scale: float, size: int) -> NoiseLaw:
        """The public law of what `draw` adds, for smoothing, bands and the card."""


# By the name on cards: what a verification asks about `laws` (of the noise, by name), `whole` and `reach`.
DRAWS: dict[str, tuple[Any, ...]] = {}
M = TypeVar("M", bound=type)


def register_draw(mechanism: M) -> M:
    """Put what draws a release into the table that cards are verified by; `register_mechanism` does it for noise.

    It states `laws`, the names of the laws that its noise can have, and may state `norms`, the names of the norms in
    which its sensitivity can be. One that adds no noise but draws the release as a whole is `whole`, and its
    `reach(bound, step)` is how often the move of one unit counts in the range of its log likelihood ratios. Several
    may share a name, and are told apart by their laws, or by their norms where they have one law.
    """
    laws = getattr(mechanism, "laws", None) if isinstance(mechanism, type) else None
    name = getattr(mechanism, "name", None)
    if not (isinstance(name, str) and isinstance(laws, tuple) and all(isinstance(word, str) for word in laws)):
        raise UsageError(
            parameter="mechanism",
            value=mechanism,
            rule="must be a class with a `name`, and with `laws`, a tuple of names of noise laws",
        )
    # The same class again, when its module is loaded anew, takes the place of the old one.
    place = (mechanism.__module__, mechanism.__qualname__)
    others = (known for known in DRAWS.get(name, ()) if (known.__module__, known.__qualname__) != place)
    DRAWS[name] = (*others, mechanism)
    return mechanism


def mechanism_with(name: str, law: str, norm: str = "") -> Any | None:
    """The mechanism of this name whose noise can have this law; None where there is none.

    Of several with one law, the one whose sensitivity can be in this norm, or else the first.
    """
    found = [known for known in DRAWS.get(name, ()) if law in known.laws]
    return next((known for known in found if norm in getattr(known, "norms", ())), found[0] if found else None)


def check_mechanism(mechanism: object) -> None:
    """Refuse what lacks a privacy curve, a draw or a law."""
    if isinstance(mechanism, type) or not all(callable(getattr(mechanism, name, None)) for name in DUTIES):
        raise UsageError(
            f"A mechanism is an object such as dpfda.mechanisms.Laplace(), got {brief(mechanism)}.",
            parameter="mechanism",
            value=mechanism,
        )


def law_of(mechanism: Mechanism, scale: float, size: int) -> NoiseLaw:
    """The law of what a mechanism adds; refused before any charge if no file with it could be read back."""
    noise = mechanism.noise(scale, size)
    check_law(noise)
    return noise


def check_drawn(drawn: Any, size: int, name: str) -> Integers:
    """What a mechanism has drawn: a vector of this many 64-bit integers, so that no rounding is outside the proof."""
    kind, shape = getattr(drawn, "dtype", type(drawn).__name__), np.shape(drawn)
    if not isinstance(drawn, np.ndarray) or kind != np.int64 or shape != (size,):
        raise _wrong_draw(name, f"returns {kind} of shape {shape}, and must return {size} 64-bit integers")
    return drawn


_TRIED: set[type] = set()  # classes that were found to draw from the source that they are given: once in a process


def rehearse(mechanism: Mechanism, scale: float, size: int, law: NoiseLaw, name: str) -> Integers:
    """What the mechanism draws on zeros, before any charge; refused where it cannot be what its law says.

    Noise that is added must come from the source that is given, for the card says which one that is: so it is the same
    again for the same seed, and other noise for another. Its law is tested in tests/mechanisms/test_registered.py.
    """

    def drawn(randomness: Randomness) -> Integers:
        return check_drawn(mechanism.draw(np.zeros(size, dtype=np.int64), scale, randomness=randomness), law.size, name)

    first = drawn(SystemRandomness())
    told = law.added and not getattr(mechanism, "whole", False) and np.sqrt(law.variances).max() >= TELLING_DEVIATION
    if type(mechanism) in _TRIED or not told:
        return first
    seeded = drawn(SeededRandomness(1))
    # Four other seeds would all give the same by chance less than once in 1e12.
    if all(np.array_equal(seeded, drawn(SeededRandomness(seed))) for seed in OTHER_SEEDS):
        raise _wrong_draw(name, "returns the same numbers whatever the source of randomness: no noise, or always one")
    if not np.array_equal(seeded, drawn(SeededRandomness(1))):
        raise _wrong_draw(name, "draws from another source than the `randomness` that it is given")
    _TRIED.add(type(mechanism))
    return first


def _wrong_draw(name: str, what: str) -> UsageError:
    return UsageError(
        f"The method `draw` of the mechanism {brief(name)} {what}. Nothing was charged.",
        parameter="mechanism",
        value=name,
    )


def check_profile(sensitivity: object, scale: object, size: object = 0) -> None:
    """Check the arguments of a privacy curve: sensitivity, positive scale, number of coordinates (0 for any)."""
    if not isinstance(sensitivity, Sensitivity):
        raise UsageError(
            f"A sensitivity is a dpfda.privacy.norms.Sensitivity, got {brief(sensitivity)}.",
            parameter="sensitivity",
            value=sensitivity,
        )
    if not 0 < as_real(scale) < math.inf:
        raise UsageError(
            f"A noise scale must be a positive finite number, got {brief(scale)}.", parameter="scale", value=scale
        )
    if not is_whole(size, 0, MOST_COORDINATES):
        raise UsageError(
            parameter="size", value=size, rule="must be a whole number of coordinates, or 0 for any number"
        )


def check_source(randomness: object) -> None:
    """Refuse what is no source of integer noise."""
    if not all(callable(getattr(randomness, name, None)) for name in ("laplace", "gaussian")):
        raise UsageError(
            parameter="randomness",
            value=randomness,
            rule="must be None or a source such as dpfda.mechanisms.SeededRandomness(1)",
            fix="Seeds make a release not private.",
        )


def check_coordinates(coordinates: Integers) -> Integers:
    """Integer coordinates as a vector of 64-bit integers; the rule looks at type and shape alone."""
    array: np.ndarray[Any, Any]
    try:
        array = np.asarray(coordinates)
    except Exception:  # uneven lists, objects of the user's own
        array = np.empty((0, 0), dtype=np.int64)
    if array.ndim != 1 or array.dtype != np.int64:
        raise UsageError(
            f"A mechanism takes a vector of 64-bit integers, got {array.dtype} of shape {array.shape}. "
            "Put coordinates on a lattice first.",
            parameter="coordinates",
            value=array.shape,
        )
    return cast("Integers", array)


def check_shape(shape: tuple[float, ...] | None) -> None:
    """Refuse a shape that is neither None, the same everywhere, nor one positive factor for each coordinate."""
    listed = shape if isinstance(shape, tuple | list) else ()
    if shape is not None and not (listed and all(0 < as_real(factor) < math.inf for factor in listed)):
        raise UsageError(
            f"A noise shape needs one positive finite factor for each coordinate, got {brief(shape)}.",
            parameter="shape",
            value=shape,
        )


@lru_cache(maxsize=16)  # a calibration asks some fifty times for the same
def inverse(shape: tuple[float, ...]) -> tuple[float, ...]:
    """The weights `1 / shape` of the norm that the noise is calibrated in, rounded up."""
    return tuple(up(1 / factor) for factor in shape)


def draw_shaped(draw: Callable[[float, int], Integers], scale: float, shape: tuple[float, ...], size: int) -> Integers:
    """Independent integer noise, coordinate j with scale `scale * shape[j]`, never below what was paid for."""
    if len(shape) != size:
        raise UsageError(
            f"The noise has a shape for {len(shape)} coordinates, not {size}.", parameter="shape", value=len(shape)
        )
    noise = np.empty(size, dtype=np.int64)
    # Coordinates of the same factor together: each call of the sampler costs as much as many coordinates.
    factors, where = np.unique(shape, return_inverse=True)
    for index, factor in enumerate(factors.tolist()):
        mine = where == index
        noise[mine] = draw(up(scale * factor), int(mine.sum()))
    return noise

"""Come here for what a mechanism is, and to write one of your own: three methods join the family."""

from __future__ import annotations

import math
from typing import Any, Protocol, cast

import numpy as np

from dpfda.arrays import Integers, as_real, brief, is_whole
from dpfda.errors import UsageError
from dpfda.mechanisms.randomness import Randomness
from dpfda.norms import Sensitivity
from dpfda.privacy import Noise
from dpfda.privacy.calibration import Noisy

MOST_COORDINATES = 2**40
DUTIES = ("profile", "draw", "noise")


class Mechanism(Noisy, Protocol):
    """Integer coordinates and a scale in, noisy integer coordinates out.

    Beside what calibration asks for, the privacy curve: `norm` is the norm in which that needs the sensitivity, `pure`
    says whether it can do without delta. Scales are in lattice steps.
    """

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Integers:
        """The coordinates with noise added."""

    def noise(self, scale: float, size: int) -> Noise:
        """The public law of what `draw` adds, for smoothing, bands and the card."""


def check_mechanism(mechanism: object) -> None:
    """A mechanism has a privacy curve, a draw and a law."""
    if isinstance(mechanism, type) or not all(callable(getattr(mechanism, name, None)) for name in DUTIES):
        raise UsageError(f"A mechanism is an object such as dpfda.mechanisms.Laplace(), got {brief(mechanism)}.")


def check_profile(sensitivity: object, scale: object, size: object = 0) -> None:
    """What a privacy curve is asked about: a sensitivity, a positive scale, and how many coordinates, 0 for any."""
    if not isinstance(sensitivity, Sensitivity):
        raise UsageError(f"A sensitivity is a dpfda.norms.Sensitivity, got {brief(sensitivity)}.")
    if not 0 < as_real(scale) < math.inf:
        raise UsageError(f"A noise scale must be a positive finite number, got {brief(scale)}.")
    if not is_whole(size, 0, MOST_COORDINATES):
        raise UsageError(f"size must be a whole number of coordinates, or 0 for any number, got {brief(size)}.")


def check_source(randomness: object) -> None:
    """Noise is drawn from a source of integer noise."""
    if not all(callable(getattr(randomness, name, None)) for name in ("laplace", "gaussian")):
        raise UsageError(
            f"randomness must be None or a source such as dpfda.mechanisms.SeededRandomness(1), got "
            f"{brief(randomness)}. Seeds make a release not private."
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
            "Put coordinates on a lattice first."
        )
    return cast("Integers", array)

"""Come here for what a mechanism is, and to write one of your own: three methods join the family."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dpfda.arrays import Integers
from dpfda.errors import UsageError
from dpfda.mechanisms.randomness import Randomness
from dpfda.privacy import Noise
from dpfda.privacy.calibration import Noisy


class Mechanism(Noisy, Protocol):
    """Integer coordinates and a scale in, noisy integer coordinates out.

    Beside what calibration asks for, the privacy curve: `norm` is the norm in which that needs the sensitivity, `pure`
    says whether it can do without delta. Scales are in lattice steps.
    """

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Integers:
        """The coordinates with noise added."""

    def noise(self, scale: float, size: int) -> Noise:
        """The public law of what `draw` adds, for smoothing, bands and the card."""


def check_coordinates(coordinates: Integers) -> Integers:
    """Integer coordinates as a vector of 64-bit integers; the rule looks at type and shape alone."""
    array = np.asarray(coordinates)
    if array.ndim != 1 or array.dtype != np.int64:
        raise UsageError(
            f"A mechanism takes a vector of 64-bit integers, got {array.dtype} of shape {array.shape}. "
            "Put coordinates on a lattice first."
        )
    return array

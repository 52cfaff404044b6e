"""Come here for what a mechanism is, and to write one of your own: three methods join the family."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dpfda.arrays import Integers
from dpfda.errors import UsageError
from dpfda.mechanisms.randomness import Randomness
from dpfda.norms import Norm, Sensitivity
from dpfda.privacy import Noise, Profile


class Mechanism(Protocol):
    """Integer coordinates and a scale in, noisy integer coordinates out.

    `norm` is the norm in which its privacy curve needs the sensitivity; `pure` says whether it can do without delta.
    Scales are in lattice steps.
    """

    @property
    def name(self) -> str: ...
    @property
    def norm(self) -> Norm: ...
    @property
    def pure(self) -> bool: ...

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> Profile:
        """The privacy curve at a scale; `size` counts the integer coordinates, 0 states the continuous law."""

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

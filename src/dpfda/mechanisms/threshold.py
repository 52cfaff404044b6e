"""The soft threshold of ICLP-AR before the noise of another mechanism."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Integers, as_plain_ints, brief, is_whole
from dpfda.errors import UsageError
from dpfda.mechanisms.base import Mechanism, check_coordinates, check_mechanism, check_profile, check_source
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.mechanisms.randomness import Randomness
from dpfda.privacy.norms import Norm, Sensitivity
from dpfda.privacy.profiles import Profile


@dataclass(frozen=True, slots=True)
class SoftThreshold:
    """A mechanism applied to `sign(x) max(|x| - threshold, 0)` in each integer coordinate.

    No coordinate of a change grows under this map, so every bound in a norm of absolute values stays a bound: the
    privacy curve is that of the inner mechanism.
    """

    inner: Mechanism
    thresholds: tuple[int, ...]

    def __post_init__(self) -> None:
        listed = self.thresholds if isinstance(self.thresholds, tuple | list) else ()
        if not listed or not all(is_whole(t, 0, 2**62) for t in listed):
            raise UsageError(
                f"A threshold is a whole number of lattice steps, 0 or more, got {brief(self.thresholds)}.",
                parameter="thresholds",
                value=self.thresholds,
            )
        as_plain_ints(self, "thresholds")
        check_mechanism(self.inner)

    @property
    def name(self) -> str:
        """The name of the inner mechanism, with the threshold."""
        return f"{self.inner.name} after a soft threshold"

    @property
    def shrinks(self) -> str:
        """For the card: what shrinks the result, and is not covered by the noise band."""
        return " and ".join(("the soft threshold", *filter(None, [getattr(self.inner, "shrinks", "")])))

    @property
    def norm(self) -> Norm:
        return self.inner.norm

    @property
    def pure(self) -> bool:
        return self.inner.pure

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> Profile:
        check_profile(sensitivity, scale, size)
        return self.inner.profile(sensitivity, scale, size=size)

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Integers:
        check_source(randomness)
        vector = check_coordinates(coordinates)
        if len(vector) != len(self.thresholds):
            raise UsageError(
                f"There are {len(self.thresholds)} thresholds, not {len(vector)}.",
                parameter="coordinates",
                value=len(vector),
            )
        shrunk = np.sign(vector) * np.maximum(np.abs(vector) - np.array(self.thresholds, dtype=np.int64), 0)
        return self.inner.draw(shrunk.astype(np.int64), scale, randomness=randomness)

    def noise(self, scale: float, size: int) -> NoiseLaw:
        return self.inner.noise(scale, size)

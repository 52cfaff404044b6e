"""Noisy coordinates as they come from a draw, and the noisy number of units where that is not public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpfda.arrays import Array
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.releases.serialise import added_noise, finite_number


@dataclass(frozen=True, slots=True)
class Count:
    """A noisy number of units, and the law of its noise."""

    value: float
    noise: NoiseLaw

    def reach(self, failure: float) -> float:
        """How far its noise goes but with this probability."""
        return float(self.noise.tail(failure)[0])


@dataclass(frozen=True, eq=False)
class Decoded:
    """Noisy coordinates around the centre in the units of the curve, the law of their noise, and the count."""

    noisy: Array  # (size,)
    noise: NoiseLaw
    count: Count | None


def write_count(count: Count | None) -> dict[str, Any] | None:
    """A noisy number of units as plain data; nothing where the number is public."""
    return None if count is None else {"value": count.value, "noise": count.noise.describe()}


def read_count(data: Any) -> Count | None:
    """What `write_count` wrote."""
    if data is None:
        return None
    value = finite_number(data["value"])
    if value <= 0:
        raise ValueError
    return Count(value, added_noise(data["noise"], 1))

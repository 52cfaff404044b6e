"""Noisy coordinates and the noisy number of units: as they come from a draw, and as they come back from a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.releases.fields import LARGEST, is_moderate, is_number


def finite(data: Any, *shape: int) -> Array:
    """An array of this shape, all of it numbers that can be computed with: numpy would read texts as numbers too."""
    array = np.array(data, dtype=np.float64)
    if array.shape != shape or not (np.abs(array) <= LARGEST).all() or not _numbers(data):
        raise ValueError
    return array


def _numbers(data: Any) -> bool:
    """Whether nothing but numbers stands in an array, or in lists in each other."""
    if isinstance(data, np.ndarray):
        return data.dtype.kind in "iuf"
    if data and isinstance(data[0], list):
        return all(map(_numbers, data))
    return set(map(type, data)) <= {int, float}


def finite_number(data: Any) -> float:
    """A finite number, and no text that looks like one."""
    if not is_number(data):
        raise ValueError
    return float(data)


def noise_law(data: Any, size: int) -> NoiseLaw:
    """A law of noise with so many coordinates, each with a variance that can be divided by if noise was added."""
    if not all(map(is_moderate, data["scales"])):
        raise ValueError
    noise = NoiseLaw.from_dict(data)
    variances = noise.variances
    if variances.shape != (size,) or not np.isfinite(variances).all() or (noise.added and not (variances > 0).all()):
        raise ValueError
    return noise


def added_noise(data: Any, size: int) -> NoiseLaw:
    """The same for what noise was added to."""
    noise = noise_law(data, size)
    if not noise.added:
        raise ValueError
    return noise


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
    outside: Count | None = None  # a noisy number of units outside the domain, where those are counted


def write_count(count: Count | None) -> dict[str, Any] | None:
    """A noisy number of units as plain data; nothing where the number is public."""
    return None if count is None else {"value": count.value, "noise": count.noise.describe()}


def read_count(data: Any, *, positive: bool = True) -> Count | None:
    """What `write_count` wrote; a number that is divided by must be positive."""
    if data is None:
        return None
    value = finite_number(data["value"])
    if positive and value <= 0:
        raise ValueError
    return Count(value, added_noise(data["noise"], 1))

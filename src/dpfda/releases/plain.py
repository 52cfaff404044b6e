"""Come here for numbers that come back from a file: arrays of the right shape, laws and counts, or a ValueError."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.privacy import Noise
from dpfda.releases.release import Count

ADDED = ("gaussian", "radial", "wishart")  # laws of noise that was added to what was released


def finite(data: Any, *shape: int) -> Array:
    """An array of this shape, all of it finite."""
    array = np.array(data, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError
    return array


def finite_number(data: Any) -> float:
    """A finite number, and no text that looks like one."""
    if isinstance(data, bool | str) or not math.isfinite(data):
        raise ValueError
    return float(data)


def noise_law(data: Any, size: int, *, laws: tuple[str, ...] = ADDED) -> Noise:
    """A law of noise with so many coordinates, each with a variance that can be divided by."""
    noise = Noise.from_dict(data)
    variances = noise.variances
    if noise.law not in laws or variances.shape != (size,) or not np.isfinite(variances).all():
        raise ValueError
    if noise.law in ADDED and not (variances > 0).all():
        raise ValueError
    return noise


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
    return Count(value, noise_law(data["noise"], 1))

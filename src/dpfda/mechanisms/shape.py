"""Come here for noise that is larger in some coordinates than in others: the shape of a noise process."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from dpfda.arrays import Integers, as_real, brief
from dpfda.errors import UsageError
from dpfda.norms import up


def check_shape(shape: tuple[float, ...] | None) -> None:
    """A shape is None, the same everywhere, or one positive factor for each coordinate."""
    listed = shape if isinstance(shape, tuple | list) else ()
    if shape is not None and not (listed and all(0 < as_real(factor) < math.inf for factor in listed)):
        raise UsageError(f"A noise shape needs one positive finite factor for each coordinate, got {brief(shape)}.")


@lru_cache(maxsize=16)  # a calibration asks some fifty times for the same
def inverse(shape: tuple[float, ...]) -> tuple[float, ...]:
    """The weights `1 / shape` of the norm that the noise is calibrated in, rounded up."""
    return tuple(up(1 / factor) for factor in shape)


def draw_shaped(draw: Callable[[float, int], Integers], scale: float, shape: tuple[float, ...], size: int) -> Integers:
    """Independent integer noise, coordinate j with scale `scale * shape[j]`, never below what was paid for."""
    if len(shape) != size:
        raise UsageError(f"The noise has a shape for {len(shape)} coordinates, not {size}.")
    noise = np.empty(size, dtype=np.int64)
    # Coordinates of the same factor together: each call of the sampler costs as much as many coordinates.
    factors, where = np.unique(shape, return_inverse=True)
    for index, factor in enumerate(factors.tolist()):
        mine = where == index
        noise[mine] = draw(up(scale * factor), int(mine.sum()))
    return noise

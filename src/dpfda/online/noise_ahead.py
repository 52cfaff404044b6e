"""Noise drawn ahead of the queries: normal numbers times 2^40, each rounded exactly."""

from __future__ import annotations

import os

import numpy as np

from dpfda.arrays import Integers
from dpfda.mechanisms import Randomness
from dpfda.mechanisms.normals import WORD, draw_normals

BITS = 40
STEPS = 2**BITS  # the deviation of the noise in lattice steps
AHEAD = 4096


def rounded_normals(size: int, randomness: Randomness) -> Integers:
    """The integers next to `2^40 z`, z exact standard normal numbers, (size,).

    `round(k + 2^40 z) = k + round(2^40 z)` for every integer k: what is released is the exact Gaussian mechanism on
    integers, rounded afterwards, so nothing has to be added to delta for a sampler. Doubles decide most roundings; the
    others are decided by more bits of the same numbers.
    """
    normals = draw_normals(size, randomness)
    # Products with a power of two are exact, and what is added to them is far below the smallest error.
    values, errors = normals.values * float(STEPS), normals.errors * float(STEPS) * (1 + 2.0**-20)
    low, high = np.rint(values - errors), np.rint(values + errors)
    # Below 2^45 steps (32 deviations) sums of values and errors are exact to 2^-8 of these errors.
    decided = (low == high) & (np.abs(values) < 2.0**45)
    rounded = np.where(decided, low, 0.0).astype(np.int64)
    for index in np.flatnonzero(~decided).tolist():
        bits = 2 * WORD
        while True:
            # An odd number within 1 of z 2^(bits+1): z 2^40 lies between the two ends, in units of 2^(39-bits).
            middle = normals.integers([index], bits)[0]
            shift = bits + 1 - BITS
            ends = [(middle + end + (1 << (shift - 1))) >> shift for end in (-1, 1)]
            if ends[0] == ends[1]:
                rounded[index] = ends[0]
                break
            bits *= 2
    return rounded


class NoiseAhead:
    """Integers in stock, in memory alone; a forked child throws them away, since its parent will use them too."""

    def __init__(self, randomness: Randomness) -> None:
        self._randomness = randomness
        self._stock: list[int] = []
        self._process = os.getpid()

    def take(self, size: int) -> list[int]:
        """So many integers that nobody will see again."""
        if self._process != os.getpid():
            self._stock, self._process = [], os.getpid()
        while len(self._stock) < size:
            self._stock += rounded_normals(max(AHEAD, size), self._randomness).tolist()
        taken = self._stock[-size:]
        del self._stock[-size:]
        return taken

    def __repr__(self) -> str:
        return "NoiseAhead()"

    def __getstate__(self) -> object:
        raise TypeError("Noise that was drawn ahead cannot be copied or pickled: it would be used twice.")

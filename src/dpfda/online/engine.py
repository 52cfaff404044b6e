"""What an engine is, and sums over records that are exact in integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.errors import DataError
from dpfda.online.specification import FINE
from dpfda.online.states import Entries

_PART, _PARTS = 14, 3  # bits of a part, and how many parts


@dataclass(frozen=True, slots=True)
class Answer:
    """A point and all that is public there: the value first, then what later answers are computed from."""

    point: tuple[float, ...]
    state: tuple[float, ...]


def check_answer(answer: Answer, *, dimension: int, size: int) -> None:
    """What stands in a store may have been damaged; a wrong state would spoil all that comes after it."""
    if len(answer.point) != dimension or len(answer.state) != size or not all(map(math.isfinite, answer.state)):
        raise DataError("An answer in the store is damaged. Take a fresh copy of the store.")


class Engine(Protocol):
    """Whatever can answer new points consistently with earlier ones."""

    def __len__(self) -> int: ...
    def value(self, point: tuple[float, ...]) -> float | None: ...
    def points(self) -> Array: ...
    def fold(self, answers: list[Answer]) -> None: ...
    def extend(self, points: Array) -> list[Answer]: ...


def exact_sums(sections: Entries, masses: Integers, offsets: Integers) -> list[list[int]]:
    """Whitened sections of records, each rounded by itself to 2^-40, times masses, summed over runs of records.

    `offsets` are the ends of the runs, 0 first. The sums are exact: a whole number of at most 41 bits is cut in three
    parts of 14 bits, and each part times a total mass of 2^48 fits 64 bits.
    """
    found = []
    for column in sections:
        whole = np.rint(FINE * np.broadcast_to(column, masses.shape)).astype(np.int64)
        sums = [0] * (len(offsets) - 1)
        for place in range(_PARTS):
            # All but the last part lie between 0 and 2^14; the last carries the sign.
            part = whole >> _PART * place if place == _PARTS - 1 else whole >> _PART * place & (2**_PART - 1)
            running = np.concatenate([[0], np.cumsum(part * masses)])
            runs = (running[offsets[1:]] - running[offsets[:-1]]).tolist()
            sums = [total + (run << _PART * place) for total, run in zip(sums, runs, strict=True)]
        found.append(sums)
    return found


def lattice_ratio(ratio: float) -> tuple[int, int]:
    """A factor as a fraction, to multiply exact sums with."""
    return ratio.as_integer_ratio()


def to_lattice(total: int, ratio: tuple[int, int]) -> int:
    """An exact sum in steps of the noise, rounded once, in whole numbers: half a step off at most."""
    if not total:
        return 0
    over, under = ratio
    return (2 * total * over + under) // (2 * under)

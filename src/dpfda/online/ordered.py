"""Come here for numbers kept in order while new ones come in anywhere."""

from __future__ import annotations

import math
from bisect import bisect_left, insort

from dpfda.arrays import Array

_BLOCK = 512


class Ordered:
    """Distinct numbers in blocks of at most 1024: to add one costs two searches and a short shift."""

    def __init__(self) -> None:
        self._blocks: list[list[float]] = [[]]
        self._ends: list[float] = [math.inf]  # nothing in a block lies above its end; the last has none

    def around(self, number: float) -> tuple[float, float]:
        """The next ones on either side; infinite where there is none."""
        index = bisect_left(self._ends, number)
        block = self._blocks[index]
        place = bisect_left(block, number)
        before = self._blocks[index - 1][-1] if index else -math.inf
        after = self._blocks[index + 1][0] if index + 1 < len(self._blocks) else math.inf
        left = block[place - 1] if place else before
        right = block[place] if place < len(block) else after
        return left, right

    def add(self, number: float) -> None:
        index = bisect_left(self._ends, number)
        block = self._blocks[index]
        insort(block, number)
        if len(block) > 2 * _BLOCK:
            self._blocks[index : index + 1] = [block[:_BLOCK], block[_BLOCK:]]
            self._ends.insert(index, block[_BLOCK - 1])

    def replace(self, numbers: Array) -> None:
        """All of them anew, in order."""
        plain = numbers.tolist()
        self._blocks = [plain[start : start + _BLOCK] for start in range(0, len(plain), _BLOCK)] or [[]]
        self._ends = [*(block[-1] for block in self._blocks[:-1]), math.inf]

    def all(self) -> list[float]:
        return [number for block in self._blocks for number in block]

"""Come here for an orthogonal matrix that is one exactly: eigenvectors in doubles, made orthonormal in integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from dpfda.arrays import Array
from dpfda.mechanisms.decision import wide
from dpfda.mechanisms.frames.interval import Arithmetic, Interval

BITS = 53  # of an entry of the matrix after the point
HALF_BITS = 27  # of the low part when it is cut in two: sums of products of parts stay within 64 bits
Objects = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Rotation:
    """The orthogonal polar factor `U (U'U)^(-1/2)` of a matrix U of integers over 2^53.

    With `E = U'U - I`, known exactly, it is `U (I - E/2 + 3 E^2/8 - ...)`; E is about 2^-50, so that each term of the
    series brings fifteen digits.
    """

    scaled: Objects  # 2^53 U, (m, m)
    defect: Objects  # 2^106 E, (m, m)
    defect_bits: int  # |E| <= 2^-defect_bits

    @staticmethod
    def near(vectors: Array) -> Rotation:
        whole = np.rint(vectors * 2.0**BITS).astype(np.int64)
        high, low = whole >> HALF_BITS, whole & ((1 << HALF_BITS) - 1)
        mixed = (high.T @ low).astype(object)
        squares = (high.T @ high).astype(object) * 2 ** (2 * HALF_BITS) + (low.T @ low).astype(object)
        gram = squares + (mixed + mixed.T) * 2**HALF_BITS
        defect = gram - np.eye(len(whole), dtype=np.int64).astype(object) * 2 ** (2 * BITS)
        size = math.isqrt(int((defect * defect).sum())) + 1
        bits = 2 * BITS - size.bit_length()
        if bits < 20:
            raise RuntimeError("eigenvectors that are far from orthonormal")  # no such matrix is known to LAPACK
        return Rotation(whole.astype(object), defect, bits)

    def turn(self, columns: list[Interval], digits: int) -> Fixed:
        """Unit vectors in these coordinates, each given as one row of decimals."""
        bits = 4 * digits
        with localcontext(wide(3 * digits + 20)):
            one = Decimal(2) ** bits
            # Rounded to an integer: the error is the radius, and one step.
            vectors = np.array([[int(value * one) for value in column.middle[0]] for column in columns], dtype=object).T
            widest = max(max(column.radius[0]) for column in columns)
            steps = int(widest * one) + 2
        turned, term = vectors, vectors
        for power in range(1, bits // self.defect_bits + 2):
            # (1 + e)^(-1/2): each coefficient is the last one times (1/2 - power)/power.
            term = (self.defect @ term) * (1 - 2 * power) // (2 * power * 2 ** (2 * BITS))
            turned = turned + term
        # What the series leaves out and the roundings of its terms are below one step for each of its bits.
        side = len(self.scaled)
        return Fixed(self.scaled @ turned // 2**BITS, bits, 2 * math.isqrt(side) * (steps + side + bits) + 2)


@dataclass(frozen=True, slots=True)
class Fixed:
    """Columns of integers with a point, each entry at most so many steps off."""

    columns: Objects  # (m, k)
    bits: int  # after the point
    steps: int

    def intervals(self, arithmetic: Arithmetic) -> list[Interval]:
        """Its columns, each as one row."""
        one = Decimal(2) ** self.bits
        radius = np.full((1, len(self.columns)), Decimal(self.steps) / one, dtype=object)
        middles = [np.array([[Decimal(int(x)) / one for x in column]], dtype=object) for column in self.columns.T]
        return [arithmetic.interval(middle, radius, 4 * abs(middle)) for middle in middles]

"""Matérn states in decimals of 220 digits: brute-force conditioning that no small gap can spoil."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

Matrix = list[list[Decimal]]
DIGITS = 220
SQUARE = {1: Decimal(2), 2: Decimal(4), 3: Decimal(16) / 3}


def product(left: Matrix, right: Matrix) -> Matrix:
    columns = transposed(right)
    return [[sum((x * y for x, y in zip(row, c, strict=True)), Decimal(0)) for c in columns] for row in left]


def transposed(matrix: Matrix) -> Matrix:
    return [list(column) for column in zip(*matrix, strict=True)]


def solved(matrix: Matrix, right: Matrix) -> Matrix:
    """Gauss and Jordan."""
    rows = [[*row, *more] for row, more in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        best = max(range(i, len(rows)), key=lambda k: abs(rows[k][i]))
        rows[i], rows[best] = rows[best], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(len(rows)):
            if k != i:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i], strict=True)]
    return [row[len(rows) :] for row in rows]


def transition(size: int, h: Decimal) -> Matrix:
    return [
        [
            (-h).exp() * (h ** (i - j) if i > j else 1) / math.factorial(i - j) if i >= j else Decimal(0)
            for j in range(size)
        ]
        for i in range(size)
    ]


def stationary(size: int) -> Matrix:
    """`sigma^2 int_0^inf e^-2s s^(i+j) / (i! j!) ds`."""
    return [
        [
            SQUARE[size] * math.factorial(i + j) / (math.factorial(i) * math.factorial(j) * 2 ** (i + j + 1))
            for j in range(size)
        ]
        for i in range(size)
    ]


def covariance(size: int, s: Decimal, t: Decimal) -> Matrix:
    """Of the states at s and t, by the stationary law and the transition alone."""
    if t < s:
        return transposed(covariance(size, t, s))
    return product(stationary(size), transposed(transition(size, t - s)))


class Conditioned:
    """The state at t and values elsewhere, given the states at neighbours."""

    def __init__(self, size: int, neighbours: list[Decimal], point: Decimal) -> None:
        self.size, self.neighbours, self.point = size, neighbours, point
        with localcontext(prec=DIGITS):
            joint = [self._across(s)[i] for s in neighbours for i in range(size)]
            self._weights = transposed(solved(joint, transposed(self._across(point)))) if neighbours else []
            self.variance = self._rest(covariance(size, point, point), self._across(point))

    def _across(self, s: Decimal) -> Matrix:
        return [[x for t in self.neighbours for x in covariance(self.size, s, t)[i]] for i in range(self.size)]

    def _rest(self, whole: Matrix, across: Matrix) -> Matrix:
        if not self.neighbours:
            return whole
        explained = product(self._weights, transposed(across))
        return [[x - y for x, y in zip(a, b, strict=True)] for a, b in zip(whole, explained, strict=True)]

    def section(self, record: Decimal) -> Matrix:
        """The covariance of the state and the value at a record, (size, 1)."""
        with localcontext(prec=DIGITS):
            whole = [[row[-1]] for row in covariance(self.size, self.point, record)]
            return self._rest(whole, [self._across(record)[-1]])

    def squared(self, section: Matrix) -> Decimal:
        """`c' V^-1 c`: the squared length of a whitened section."""
        with localcontext(prec=DIGITS):
            return product(transposed(section), solved(self.variance, section))[0][0]

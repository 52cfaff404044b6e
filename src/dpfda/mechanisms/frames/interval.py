"""Arrays of numbers with a proven error: a midpoint and a radius."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[Any]  # doubles, or decimals as objects

_decimal_sqrt = np.frompyfunc(lambda value: value.sqrt(), 1, 1)
_decimal_log = np.frompyfunc(lambda value: value.ln(), 1, 1)
_decimal = np.frompyfunc(lambda value: +Decimal(value), 1, 1)


class TooWide(ArithmeticError):
    """A decimal interval is too wide to decide: more digits are needed."""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Doubles, or decimals of so many digits: in either every operation has a relative error below `unit`.

    Sums, products, quotients and roots are correctly rounded in both; logarithms are in decimals, and in doubles they
    are trusted to eight units. A context with these digits must be in force when decimals are computed with.
    """

    digits: int = 0  # 0 for doubles
    unit: Any = field(init=False)
    outwards: Any = field(
        init=False
    )  # outweighs the rounding of radii, which are sums and products of positive numbers
    least: Any = field(init=False)  # outweighs numbers too small for doubles

    def __post_init__(self) -> None:
        decimals = self.digits > 0
        object.__setattr__(self, "unit", Decimal(10) ** (1 - self.digits) if decimals else 2.0**-52)
        object.__setattr__(self, "outwards", Decimal("1.0001") if decimals else 1.0001)
        object.__setattr__(self, "least", Decimal(0) if decimals else 1e-290)

    def exact(self, values: npt.ArrayLike) -> Interval:
        """Doubles as the real numbers they are, one axis at least; decimals with too few digits are rounded."""
        array = np.atleast_1d(np.asarray(values, dtype=np.float64))
        if not self.digits:
            return Interval(array, np.zeros(array.shape), self)
        middle = np.asarray(_decimal(array), dtype=object)
        return Interval(middle, abs(middle) * self.unit, self)

    @property
    def half(self) -> Any:
        return Decimal("0.5") if self.digits else 0.5

    def plain(self, numbers: Numbers) -> Interval:
        """Numbers without any error, as an interval of radius zero."""
        return Interval(numbers, abs(numbers) * 0, self)

    def interval(self, middle: Numbers, radius: Numbers, rounded: Numbers | None = None) -> Interval:
        """A result with the rounding of its middle, `unit` times its size or that of its terms, in the radius."""
        size = np.abs(middle) if rounded is None else rounded
        return Interval(middle, (radius + size * self.unit + self.least) * self.outwards, self)

    def guarded(self, possible: Numbers, middle: Numbers, radius: Numbers) -> Interval:
        """The result where it is possible; elsewhere nothing is known in doubles, and decimals want more digits."""
        if self.digits:
            if not np.all(possible):
                raise TooWide
            return self.interval(middle, radius)
        return self.interval(np.where(possible, middle, 0.0), np.where(possible, radius, np.inf))


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """Real numbers within `radius` of `middle`, elementwise; shapes are broadcast as those of arrays are."""

    middle: Numbers
    radius: Numbers
    arithmetic: Arithmetic

    def __add__(self, other: Interval) -> Interval:
        return self.arithmetic.interval(self.middle + other.middle, self.radius + other.radius)

    def __sub__(self, other: Interval) -> Interval:
        return self.arithmetic.interval(self.middle - other.middle, self.radius + other.radius)

    def __mul__(self, other: Interval) -> Interval:
        spread = abs(self.middle) * other.radius + (abs(other.middle) + other.radius) * self.radius
        return self.arithmetic.interval(self.middle * other.middle, spread)

    def __truediv__(self, other: Interval) -> Interval:
        least = abs(other.middle) - other.radius
        possible = least > 0
        safe = np.where(possible, other.middle, 1)
        middle = self.middle / safe
        spread = (self.radius + abs(middle) * other.radius) / np.where(possible, least, 1)
        return self.arithmetic.guarded(possible, middle, spread)

    def sqrt(self) -> Interval:
        possible = self.middle > self.radius
        roots: Any = _decimal_sqrt if self.arithmetic.digits else np.sqrt
        middle = roots(np.where(possible, self.middle, self.arithmetic.outwards))
        return self.arithmetic.guarded(possible, middle, self.radius / middle)

    def log(self) -> Interval:
        least = self.middle - self.radius
        possible = least > 0
        logs: Any = _decimal_log if self.arithmetic.digits else np.log
        middle = logs(np.where(possible, self.middle, self.arithmetic.outwards))
        inexact = abs(middle) * self.arithmetic.unit * 8
        return self.arithmetic.guarded(possible, middle, self.radius / np.where(possible, least, 1) + inexact)

    def sum(self) -> Interval:
        """Sums over the last axis."""
        # In whatever order: no partial sum is above the sum of sizes, and each rounds at most `unit` times that.
        size = np.sum(abs(self.middle), axis=-1) * (self.middle.shape[-1] + 1)
        return self.arithmetic.interval(np.sum(self.middle, axis=-1), np.sum(self.radius, axis=-1), size)

    def __getitem__(self, key: Any) -> Interval:
        return Interval(self.middle[key], self.radius[key], self.arithmetic)

    @property
    def column(self) -> Interval:
        """One more axis at the end, to be spread over coordinates."""
        return self[..., None]


def joined(parts: Sequence[Interval]) -> Interval:
    """Coordinates side by side along the last axis; every part has the same number of rows."""
    middle = np.concatenate([part.middle for part in parts], axis=-1)
    return Interval(middle, np.concatenate([part.radius for part in parts], axis=-1), parts[0].arithmetic)


def cholesky(gram: Sequence[Sequence[Interval]]) -> list[list[Interval]]:
    """The lower triangular factor of positive definite matrices, one for each row of the entries."""
    factor: list[list[Interval]] = []
    for i, row in enumerate(gram):
        line: list[Interval] = []
        for j in range(i):
            rest = row[j]
            for one, other in zip(line, factor[j], strict=False):
                rest = rest - one * other
            line.append(rest / factor[j][j])
        rest = row[i]
        for one in line:
            rest = rest - one * one
        line.append(rest.sqrt())
        factor.append(line)
    return factor


def log_determinant_of(factor: Sequence[Sequence[Interval]]) -> Interval:
    """The logarithm of the determinant of the matrix with this Cholesky factor."""
    logs = [line[i].log() for i, line in enumerate(factor)]
    half = logs[0]
    for log in logs[1:]:
        half = half + log
    return half + half


def nearly_orthonormal(columns: Sequence[Interval]) -> tuple[list[Interval], Interval, Numbers]:
    """Vectors of the same span that are orthonormal up to an error: these, `log|C'C|` of the given ones, the error.

    A triangular matrix of plain numbers makes them so, from the middles alone. What it leaves of their Gram matrix,
    `I + E`, is small: `log|I + E|` is at most twice the sum of the entries of E in size. Radii grow less this way than
    by subtracting one interval after another.
    """
    arithmetic = columns[0].arithmetic
    gram = [[(one * other).sum().middle for other in columns] for one in columns]
    factor = cholesky([[arithmetic.plain(entry) for entry in row] for row in gram])
    inverse = _inverse([[entry.middle for entry in line] for line in factor])
    turned = []
    for line in inverse:
        rest = columns[0] * arithmetic.plain(line[0]).column
        for weight, column in zip(line[1:], columns[1:], strict=False):
            rest = rest + column * arithmetic.plain(weight).column
        turned.append(rest)
    error = arithmetic.least
    for i, one in enumerate(turned):
        for j, other in enumerate(turned):
            inner = (one * other).sum()
            error = error + (abs(inner.middle - int(i == j)) + inner.radius) * arithmetic.outwards
    log = arithmetic.plain(inverse[0][0]).log()
    for i, line in enumerate(inverse[1:], 1):
        log = log + arithmetic.plain(line[i]).log()
    twice = log + log
    return turned, arithmetic.guarded(error < arithmetic.half, -twice.middle, twice.radius + 2 * error), error


def _inverse(factor: Sequence[Sequence[Numbers]]) -> list[list[Numbers]]:
    """The inverse of a lower triangular matrix in plain numbers, rounded as they come."""
    inverse: list[list[Numbers]] = []
    for i, line in enumerate(factor):
        row = [-sum(line[c] * inverse[c][j] for c in range(j, i)) / line[i] for j in range(i)]
        inverse.append([*row, 1 / line[i]])
    return inverse


def orthonormal_columns(columns: Sequence[Interval], before: Sequence[Interval] = ()) -> list[Interval]:
    """Vectors along the last axis by Gram and Schmidt, after others that are orthonormal already."""
    found: list[Interval] = []
    for column in columns:
        rest = column
        for other in (*before, *found):
            rest = rest - (other * rest).sum().column * other
        found.append(rest / (rest * rest).sum().sqrt().column)
    return found

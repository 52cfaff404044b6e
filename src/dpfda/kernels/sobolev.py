"""The reproducing kernels of Sobolev spaces on an interval, the kernels of smoothing splines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpfda.arrays import Array, brief
from dpfda.errors import UsageError
from dpfda.kernels.base import OnLine, count, number, positive, register

MOST_ORDER = 64  # terms of order k are about (2 pi)^-2k: those beyond the tenth are below rounding


@register(example=lambda: Sobolev(2))
@dataclass(frozen=True, slots=True)
class Sobolev(OnLine):
    """The reproducing kernel of order m under `|f|^2 = sum_{k<m} (int f^(k))^2 + int (f^(m))^2`, on the unit interval.

    With scaled Bernoulli polynomials `b_k = B_k / k!` it is `sum_{k<=m} b_k(s) b_k(t) + (-1)^(m-1) b_2m(|s - t|)`
    (Gu, Smoothing Spline ANOVA Models, section 2.3). Other intervals are first mapped to the unit interval.
    """

    order: int
    start: float = 0.0
    length: float = 1.0
    # Not Markov: (int f)^2 couples functions with disjoint supports, so two neighbours' states do not tell all about
    # what lies between. tests/kernels/test_markov.py holds this.

    def __post_init__(self) -> None:
        example = "e.g. Sobolev(order=2, start=0.0, length=1.0)"
        object.__setattr__(self, "order", count(self.order, "order", example))
        if self.order > MOST_ORDER:
            raise UsageError(
                f"A Sobolev order must be at most {MOST_ORDER}, got {brief(self.order)}: kernels of higher orders "
                "differ by less than rounding. Take a lower order.",
                parameter="order",
                value=self.order,
            )
        object.__setattr__(self, "start", number(self.start, "start", example))
        object.__setattr__(self, "length", positive(self.length, "length", example))

    @property
    def interval(self) -> tuple[float, float]:
        return self.start, self.start + self.length

    def at(self, s: Array, t: Array) -> Array:
        u, v = (s - self.start) / self.length, (t - self.start) / self.length
        gap = np.abs(s - t) / self.length
        sign = 1.0 if self.order % 2 else -1.0
        total = sign * scaled_bernoulli(2 * self.order, gap)
        for k in range(self.order, -1, -1):  # small terms first
            total = total + scaled_bernoulli(k, u) * scaled_bernoulli(k, v)
        return total

    @property
    def smoothness(self) -> float:
        return 2.0 * self.order


def scaled_bernoulli(degree: int, x: Array) -> Array:
    """The Bernoulli polynomial `B_degree(x) / degree!`.

    >>> np.allclose(scaled_bernoulli(2, np.array([0.0, 0.5])), [1 / 12, -1 / 24])
    True
    """
    total = np.zeros_like(x)
    for coefficient in reversed(_centred(degree)):
        total = total * (x - 0.5) + coefficient
    return total


@lru_cache(maxsize=64)
def _centred(degree: int) -> tuple[float, ...]:
    # In powers of x - 1/2, where half of the coefficients vanish and |x - 1/2|^j <= 2^-j: little cancels.
    # B_n(1/2 + y) = sum_j binom(n, j) B_(n-j)(1/2) y^j and B_i(1/2) = (2^(1-i) - 1) B_i, all in exact fractions.
    halves = [(Fraction(2, 2**i) - 1) * b for i, b in enumerate(_bernoulli_numbers(degree))]
    return tuple(
        float(halves[degree - j] / (math.factorial(j) * math.factorial(degree - j))) for j in range(degree + 1)
    )


def _bernoulli_numbers(degree: int) -> list[Fraction]:
    numbers: list[Fraction] = [Fraction(1)]
    for n in range(1, degree + 1):
        known = sum((math.comb(n + 1, i) * b for i, b in enumerate(numbers)), Fraction(0))
        numbers.append(-known / (n + 1))
    return numbers

"""Matérn processes of order 1/2, 3/2 and 5/2 as states that move along a line, in closed form.

Time is measured in `rho / sqrt(2 order)` and the variance is 1. The process is driven by white noise through
`(d/dt + 1)^size f = sigma dW`. Its state holds `(d/dt + 1)^j f`, from the last of them, which the noise drives, down to
f itself: `A(h) = e^-h (h^(i-j) / (i-j)!)` and `L(h)`, the root of the noise gathered over h, are then lower triangular,
and the matrices of the smaller orders are corners of those of the largest.

All functions take floats, or arrays of them in the same places. Matrices are tuples of their entries, row by row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.kernels import Anisotropic, Exponential, Kernel, Matern, Scaled

Entry = Any  # a float, or an array of floats
Entries = tuple[Entry, ...]

FAR = 1000.0  # e^-1000 is 0 in doubles: a neighbour this far away, or farther, is none
_TURN = 2.0  # below it moments are summed up as a series, above it by parts
_TERMS = 24


@dataclass(frozen=True, slots=True)
class MarkovLine:
    """A Markov kernel on a line: the size of its state, how fast its time runs, and its variance."""

    size: int
    rate: float
    variance: float


def line_of(kernel: Kernel) -> MarkovLine | None:
    """The parameters of a kernel that is one of the three Matérn processes in other units; else None."""
    if isinstance(kernel, Scaled):
        inner = line_of(kernel.kernel)
        return None if inner is None else MarkovLine(inner.size, inner.rate, inner.variance * kernel.factor)
    if isinstance(kernel, Anisotropic) and kernel.dimension == 1:
        inner, length = line_of(kernel.kernel), abs(float(np.asarray(kernel.matrix)[0, 0]))
        return None if inner is None else MarkovLine(inner.size, inner.rate / length, inner.variance)
    if isinstance(kernel, Exponential):
        return MarkovLine(1, 1 / kernel.rho, 1.0)
    if isinstance(kernel, Matern) and kernel.order in (0.5, 1.5, 2.5):
        return MarkovLine(int(kernel.order + 0.5), math.sqrt(2 * kernel.order) / kernel.rho, 1.0)
    return None


def moments(h: float, top: int) -> Entries:
    """`m_k = int_0^1 e^(-2 h r) r^k dr` for k = 0 to `top`, to a few roundings each."""
    z = h + h
    decay = math.exp(-z)
    if top == 0:
        return (-math.expm1(-z) / z if z else 1.0,)
    if z >= _TURN:
        # By parts, upwards: what is subtracted is never most of it here (at 2, m_4 loses a factor of 20).
        found = [-math.expm1(-z) / z]
        for k in range(1, top + 1):
            found.append((k * found[-1] - decay) / z)
        return tuple(found)
    # A series of positive terms for the last, and by parts downwards, where all terms are positive.
    last = 1.0
    # Terms of z / (top + 2) at most each, down to 1e-17 of the first.
    for k in range(top + (4 if z < 1e-5 else 8 if z < 0.01 else _TERMS), top + 1, -1):
        last = 1.0 + last * z / k
    found = [last * decay / (top + 1)]
    for k in range(top, 0, -1):
        found.append((z * found[-1] + decay) / k)
    return tuple(reversed(found))


def moments_of_many(h: Array, top: int) -> Entries:
    """The same moments for an array of h."""
    z = 2 * h
    decay = np.exp(-z)
    first = -np.expm1(-z) / np.maximum(z, 1e-300) + (z == 0)
    if top == 0:
        return (first,)
    large, safe = z >= _TURN, np.maximum(z, _TURN)
    up = [first]
    for k in range(1, top + 1):
        up.append((k * up[-1] - decay) / safe)
    small = np.minimum(z, _TURN)
    last = np.ones_like(z)
    for k in range(top + _TERMS, top + 1, -1):
        last = 1.0 + last * small / k
    down = [last * decay / (top + 1)]
    for k in range(top, 0, -1):
        down.append((z * down[-1] + decay) / k)
    return tuple(np.where(large, one, other) for one, other in zip(up, reversed(down), strict=True))


@dataclass(frozen=True, slots=True)
class StateArithmetic:
    """The exponential and the moments, for floats or for arrays."""

    exp: Callable[[Any], Any]
    moments: Callable[[Any, int], Entries]


FLOATS = StateArithmetic(math.exp, moments)
ARRAYS = StateArithmetic(np.exp, moments_of_many)


class One:
    """Order 1/2: the state is the value."""

    size = 1
    square = 2.0  # sigma^2

    @staticmethod
    def root(h: Entry, m: Entries) -> Entries:
        return ((2.0 * h * m[0]) ** 0.5,)

    @staticmethod
    def column(h: Entry, m: Entries) -> Entries:
        """The covariance of state and value that noise over h has gathered: the last column of `L L'`."""
        return (2.0 * h * m[0],)

    @staticmethod
    def move(h: Entry, decay: Entry, x: Entries) -> Entries:
        """`A(h) x`."""
        return (decay * x[0],)

    @staticmethod
    def moved(h: Entry, decay: Entry, x: Entries) -> Entries:
        """`A(h)' x`."""
        return (decay * x[0],)

    @staticmethod
    def solve(L: Entries, x: Entries) -> Entries:
        return (x[0] / L[0],)

    @staticmethod
    def solved(L: Entries, x: Entries) -> Entries:
        """`L^-T x`."""
        return (x[0] / L[0],)

    @staticmethod
    def times(L: Entries, x: Entries) -> Entries:
        return (L[0] * x[0],)

    @staticmethod
    def timed(L: Entries, x: Entries) -> Entries:
        """`L' x`."""
        return (L[0] * x[0],)

    @staticmethod
    def gain(far: Entries, h: Entry, decay: Entry, near: Entries) -> Entries:
        """`far^-1 A(h) near`, lower triangular as its factors are."""
        return (decay * near[0] / far[0],)

    @staticmethod
    def precision(G: Entries) -> Entries:
        """The lower triangular root of `I + G'G`."""
        return ((1.0 + G[0] * G[0]) ** 0.5,)

    @staticmethod
    def mirror(x: Entries) -> Entries:
        """The state of the same path, read in the other direction: `(1 - d/dt)^j f` from `(1 + d/dt)^j f`."""
        return x

    @staticmethod
    def mirrored(x: Entries) -> Entries:
        """The transposed map."""
        return x


class Two:
    """Order 3/2: `(f' + f, f)`."""

    size = 2
    square = 4.0

    @staticmethod
    def root(h: Entry, m: Entries) -> Entries:
        first = m[0] ** 0.5
        cross = m[1] / first
        unit = 2.0 * h**0.5
        below = unit * h
        # Of r under the weight e^(-2hr): a variance, between 1/12 and 1/2 of the mean square.
        return unit * first, below * cross, below * (m[2] - cross * cross) ** 0.5

    @staticmethod
    def column(h: Entry, m: Entries) -> Entries:
        last = 4.0 * h * h
        return last * m[1], last * h * m[2]

    @staticmethod
    def move(h: Entry, decay: Entry, x: Entries) -> Entries:
        return decay * x[0], decay * (h * x[0] + x[1])

    @staticmethod
    def moved(h: Entry, decay: Entry, x: Entries) -> Entries:
        return decay * (x[0] + h * x[1]), decay * x[1]

    @staticmethod
    def solve(L: Entries, x: Entries) -> Entries:
        first = x[0] / L[0]
        return first, (x[1] - L[1] * first) / L[2]

    @staticmethod
    def solved(L: Entries, x: Entries) -> Entries:
        last = x[1] / L[2]
        return (x[0] - L[1] * last) / L[0], last

    @staticmethod
    def times(L: Entries, x: Entries) -> Entries:
        return L[0] * x[0], L[1] * x[0] + L[2] * x[1]

    @staticmethod
    def timed(L: Entries, x: Entries) -> Entries:
        return L[0] * x[0] + L[1] * x[1], L[2] * x[1]

    @staticmethod
    def gain(far: Entries, h: Entry, decay: Entry, near: Entries) -> Entries:
        first = Two.solve(far, Two.move(h, decay, (near[0], near[1])))
        return first[0], first[1], decay * near[2] / far[2]

    @staticmethod
    def precision(G: Entries) -> Entries:
        corner = (1.0 + G[0] * G[0] + G[1] * G[1]) ** 0.5
        cross = G[1] * G[2] / corner
        # 1 + g^2 - cross^2 without a difference: cross^2 = g^2 G_10^2 / corner^2.
        return corner, cross, (1.0 + G[2] * G[2] * ((1.0 + G[0] * G[0]) / (corner * corner))) ** 0.5

    @staticmethod
    def mirror(x: Entries) -> Entries:
        return 2.0 * x[1] - x[0], x[1]

    @staticmethod
    def mirrored(x: Entries) -> Entries:
        return -x[0], 2.0 * x[0] + x[1]


class Three:
    """Order 5/2: `(f'' + 2 f' + f, f' + f, f)`."""

    size = 3
    square = 16.0 / 3.0

    @staticmethod
    def root(h: Entry, m: Entries) -> Entries:
        first = m[0] ** 0.5
        one, two = m[1] / first, m[2] / first
        middle = (m[2] - one * one) ** 0.5
        cross = (m[3] - one * two) / middle
        unit = (Three.square * h) ** 0.5
        below, last = unit * h, unit * h * h / 2.0
        # The last difference is at least 1/36 of its first term: squares of orthogonal polynomials, none near zero.
        end = (m[4] - two * two - cross * cross) ** 0.5
        return unit * first, below * one, below * middle, last * two, last * cross, last * end

    @staticmethod
    def column(h: Entry, m: Entries) -> Entries:
        last = Three.square * h * h * h / 2.0
        return last * m[2], last * h * m[3], last * h * h / 2.0 * m[4]

    @staticmethod
    def move(h: Entry, decay: Entry, x: Entries) -> Entries:
        return decay * x[0], decay * (h * x[0] + x[1]), decay * (h * (h / 2.0 * x[0] + x[1]) + x[2])

    @staticmethod
    def moved(h: Entry, decay: Entry, x: Entries) -> Entries:
        return decay * (x[0] + h * (x[1] + h / 2.0 * x[2])), decay * (x[1] + h * x[2]), decay * x[2]

    @staticmethod
    def solve(L: Entries, x: Entries) -> Entries:
        first = x[0] / L[0]
        second = (x[1] - L[1] * first) / L[2]
        return first, second, (x[2] - L[3] * first - L[4] * second) / L[5]

    @staticmethod
    def solved(L: Entries, x: Entries) -> Entries:
        last = x[2] / L[5]
        second = (x[1] - L[4] * last) / L[2]
        return (x[0] - L[1] * second - L[3] * last) / L[0], second, last

    @staticmethod
    def times(L: Entries, x: Entries) -> Entries:
        return L[0] * x[0], L[1] * x[0] + L[2] * x[1], L[3] * x[0] + L[4] * x[1] + L[5] * x[2]

    @staticmethod
    def timed(L: Entries, x: Entries) -> Entries:
        return L[0] * x[0] + L[1] * x[1] + L[3] * x[2], L[2] * x[1] + L[4] * x[2], L[5] * x[2]

    @staticmethod
    def gain(far: Entries, h: Entry, decay: Entry, near: Entries) -> Entries:
        first = Three.solve(far, Three.move(h, decay, (near[0], near[1], near[3])))
        second = decay * near[2] / far[2]
        below = (decay * (h * near[2] + near[4]) - far[4] * second) / far[5]
        return first[0], first[1], second, first[2], below, decay * near[5] / far[5]

    @staticmethod
    def precision(G: Entries) -> Entries:
        a, b, c, d, e, f = G
        corner = (1.0 + a * a + b * b + d * d) ** 0.5
        one, two = (b * c + d * e) / corner, d * f / corner
        middle = (1.0 + c * c + e * e - one * one) ** 0.5
        cross = (e * f - one * two) / middle
        return corner, one, middle, two, cross, (1.0 + f * f - two * two - cross * cross) ** 0.5

    @staticmethod
    def mirror(x: Entries) -> Entries:
        return x[0] - 4.0 * x[1] + 4.0 * x[2], 2.0 * x[2] - x[1], x[2]

    @staticmethod
    def mirrored(x: Entries) -> Entries:
        return x[0], -4.0 * x[0] - x[1], 4.0 * x[0] + 2.0 * x[1] + x[2]


Process = type[One] | type[Two] | type[Three]
PROCESSES: dict[int, Process] = {1: One, 2: Two, 3: Three}

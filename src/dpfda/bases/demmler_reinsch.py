"""Demmler-Reinsch functions: the default basis, of order 4, and the modes of a free beam, of order 2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from dpfda.arrays import Array
from dpfda.bases.base import IntervalBasis, register
from dpfda.bases.domain import Domain, DomainLike, as_domain
from dpfda.bases.polynomial import legendre_table
from dpfda.bases.trigonometric import cosine_derivative

ORDER = 4
ENDS = (1.0 + 0j, np.exp(0.25j * math.pi))  # rates of what dies away from the ends, the third one conjugate
SETTLED = 48  # from this mode on speeds are exact multiples of half a turn, to rounding


@register(least_size=1)
@dataclass(frozen=True, slots=True)
class Reinsch(IntervalBasis):
    """Polynomials up to degree 3, then `f^(8) = w f` with derivatives 4 to 7 zero at both ends.

    Each is a wave plus terms that die away from the ends, so a wave needs no more functions than cosines, and yet what
    a curve does at the ends costs little: coefficients of a smooth curve fall like `j^-5`, in cosines like `j^-2`.
    """

    domain: Domain
    size: int
    family: ClassVar[str] = "reinsch"
    most: ClassVar[int] = 1024  # a function takes a dozen exponentials

    def unit_functions(self, unit: Array, order: int) -> Array:
        table = np.empty((len(unit), self.size))
        table[:, :ORDER] = legendre_table(unit, ORDER, order).T[:, : self.size]
        for parity in (0, 1):
            speed, amounts = modes(max(self.size, ORDER), parity)
            parts = _parts(unit[:, None], speed, parity, order)
            table[:, ORDER + parity :: 2] = np.einsum("pmk,pk->mk", parts, amounts) * speed**order
        return table


def _parts(unit: Array, speed: Array, parity: int, order: int) -> Array:
    """A wave about the middle and three terms from the ends, or a derivative over `speed^order`, (4, m, modes)."""
    centred = unit - 0.5
    wave = np.exp(1j * speed * centred) * 1j**order
    parts = [wave.imag if parity else wave.real]
    sign = (-1) ** (parity + order)
    for rate in ENDS:
        # Exponentials of negative numbers only: nothing overflows.
        term = rate**order * (np.exp(rate * speed * (unit - 1)) + sign * np.exp(-rate * speed * unit))
        parts += [term.real] if rate.imag == 0 else [term.real, term.imag]
    return np.stack(parts)


@lru_cache(maxsize=64)
def modes(size: int, parity: int) -> tuple[Array, Array]:
    """Speeds of the even or odd modes below `size`, (modes,), and the amounts of their four parts, (4, modes).

    At the upper end `f^2 = 8` times its mean square: stretching the interval by dx lowers `w` by the share `8 dx`, and
    by the share `f^2 dx` of the mean square.
    """
    speed: Array = math.pi * (np.arange(ORDER + parity, size, 2, dtype=np.float64) - 1.5)
    near = slice(0, SETTLED // 2)
    speed[near] = _roots(speed[near], parity)
    at_end = _at_end(speed, parity)
    amounts: Array = np.ones((4, len(speed)))
    # The four conditions leave one combination; three of them give it with the wave's amount fixed.
    amounts[1:] = np.linalg.solve(at_end[:, :3, 1:], -at_end[:, :3, :1])[..., 0].T
    ends = np.sum(_parts(np.ones((1, 1)), speed, parity, 0)[:, 0] * amounts, axis=0)
    amounts *= math.sqrt(2 * ORDER) / ends
    speed.flags.writeable = amounts.flags.writeable = False
    return speed, amounts


def _at_end(speed: Array, parity: int) -> Array:
    """Derivatives 4 to 7 of the four parts at the upper end, over powers of the speed, (modes, 4, 4)."""
    rows = [_parts(np.ones((1, 1)), speed, parity, order)[:, 0, :] for order in range(ORDER, 2 * ORDER)]
    return np.stack(rows).transpose(2, 0, 1)


def _roots(start: Array, parity: int) -> Array:
    """Where the four conditions at the end can be met: one root within a tenth of each start, by bisection."""
    low, high = start - 0.1, start + 0.1
    sign = np.sign(np.linalg.det(_at_end(low, parity)))
    for _ in range(60):
        middle = (low + high) / 2
        left = np.sign(np.linalg.det(_at_end(middle, parity))) == sign
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    return (low + high) / 2


def reinsch(domain: DomainLike, size: int) -> Reinsch:
    """Cubic polynomials and the free modes of order 4: for curves on an interval.

    >>> reinsch((0, 1), size=6).matrix([1.0]).round(6).tolist()
    [[1.0, 1.732051, 2.236068, 2.645751, 2.828427, 2.828427]]
    """
    return Reinsch(as_domain(domain), size)


@register(least_size=1)
@dataclass(frozen=True, slots=True)
class Beam(IntervalBasis):
    """The Demmler-Reinsch basis of order 2: constant, line, then `f'''' = w f` with `f'' = f''' = 0` at both ends.

    These are the functions that smoothing splines shrink one by one. Coefficients of a smooth curve decay like
    `j^-3` at least, those in cosines like `j^-2` only, unless the curve is flat at the ends.
    """

    domain: Domain
    size: int
    family: ClassVar[str] = "beam"

    def unit_functions(self, unit: Array, order: int) -> Array:
        table = np.empty((len(unit), self.size))
        table[:, :2] = legendre_table(unit, 2, order).T[:, : self.size]
        centred = unit[:, None] - 0.5
        for parity in (0, 1):
            half = half_angles(self.size)[parity::2]
            speed = 2 * half
            # cos(by)/cos(b/2) + cosh(by)/cosh(b/2), or the same with sines: 2 at the right end, and then of mean
            # square one. The hyperbolic part is written with exponentials of negative numbers only.
            wave = (-1) ** parity * cosine_derivative(centred * speed, order + parity)
            scale = np.cos(half) if parity == 0 else np.sin(half)
            decay = np.exp(speed * (centred - 0.5)) + (-1) ** (parity + order) * np.exp(-speed * (centred + 0.5))
            bound = 1 + (-1) ** parity * np.exp(-speed)
            table[:, 2 + parity :: 2] = (wave / scale + decay / bound) * speed**order
        return table


@lru_cache(maxsize=32)
def half_angles(size: int) -> Array:
    """Half the roots b of `cosh b cos b = 1`, for modes 2, 3, ..., size - 1."""
    mode = np.arange(2, max(size, 2))
    start = (mode // 2) * math.pi
    sign = np.where(mode % 2 == 0, -1.0, 1.0)
    angles = start + sign * math.pi / 4
    for _ in range(30):  # a contraction by 0.02 or better
        angles = start + sign * np.arctan(np.tanh(angles))
    angles.flags.writeable = False
    return angles


def beam(domain: DomainLike, size: int) -> Beam:
    """Constant, line, and the vibration modes of a free beam: for smooth curves on an interval.

    >>> beam((0, 1), size=4).matrix([1.0]).round(6).tolist()
    [[1.0, 1.732051, 2.0, 2.0]]
    """
    return Beam(as_domain(domain), size)

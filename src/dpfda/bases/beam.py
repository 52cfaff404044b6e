"""The modes of a free beam: smooth curves without periodic ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from dpfda.arrays import Array
from dpfda.bases.base import IntervalBasis
from dpfda.bases.domain import Domain, DomainLike, as_domain
from dpfda.bases.polynomial import legendre_table
from dpfda.bases.registry import register
from dpfda.bases.trigonometric import cosine_derivative


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

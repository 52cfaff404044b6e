"""Cosines, which suit any curve, and the Fourier basis for periodic ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.arrays import Array
from dpfda.bases.base import MOST_CELLS, IntervalBasis, register
from dpfda.bases.domain import Domain, DomainLike, as_domain


def cosine_derivative(angle: Array, order: int) -> Array:
    """The derivative of cos at an angle; by cases, so that it is exactly zero where it should be."""
    wave = np.cos(angle) if order % 2 == 0 else np.sin(angle)
    return -wave if order % 4 in (1, 2) else wave


@register(least_size=1)
@dataclass(frozen=True, slots=True)
class Cosine(IntervalBasis):
    """The functions `1, sqrt(2) cos(pi j u)`: half-waves with flat ends."""

    domain: Domain
    size: int
    family: ClassVar[str] = "cosine"
    most: ClassVar[int] = MOST_CELLS

    def unit_functions(self, unit: Array, order: int) -> Array:
        speed = np.pi * np.arange(self.size)
        return cosine_derivative(unit[:, None] * speed, order) * _amplitude(self.size) * speed**order


@register(least_size=1)
@dataclass(frozen=True, slots=True)
class Fourier(IntervalBasis):
    """The functions `1, sqrt(2) cos(2 pi u), sqrt(2) sin(2 pi u), ...`: whole waves, for periodic curves."""

    domain: Domain
    size: int
    family: ClassVar[str] = "fourier"

    @property
    def frequencies(self) -> Array:
        return 2 * np.ceil(np.arange(self.size) / 2)

    def unit_functions(self, unit: Array, order: int) -> Array:
        speed = np.pi * self.frequencies
        angle = unit[:, None] * speed
        # sin is minus the first derivative of cos.
        table = cosine_derivative(angle, order)
        table[:, 2::2] = -cosine_derivative(angle[:, 2::2], order + 1)
        return table * _amplitude(self.size) * speed**order


def _amplitude(size: int) -> Array:
    amplitude = np.full(size, math.sqrt(2))
    amplitude[0] = 1.0
    return amplitude


def cosine(domain: DomainLike, size: int) -> Cosine:
    """Cosines: `1, sqrt(2) cos(pi j u)`.

    >>> cosine((0, 24), size=3).matrix([0.0, 12.0]).round(3).tolist()
    [[1.0, 1.414, 1.414], [1.0, 0.0, -1.414]]
    """
    return Cosine(as_domain(domain), size)


def fourier(domain: DomainLike, size: int) -> Fourier:
    """Sines and cosines of whole waves over the domain: for periodic curves.

    >>> fourier((0, 1), size=3).frequencies.tolist()
    [0.0, 2.0, 2.0]
    """
    return Fourier(as_domain(domain), size)

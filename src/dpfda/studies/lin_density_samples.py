"""Come here for the two mixtures of normals in Section 6.2 of Lin and Reimherr: samples and true densities."""

from __future__ import annotations

import math

import numpy as np

from dpfda.arrays import Array
from dpfda.bases import Domain
from dpfda.mechanisms.randomness import SeededRandomness

LINE = Domain(((0.0, 1.0),))
BOX = Domain(((-5.0, 5.0), (-5.0, 5.0)))  # 5 to 5 is printed
SHARES = (0.6, 0.4)
PLACES = (0.3, 0.7)
DEVIATION = 0.1
CORNERS = ((-3.0, -3.0), (3.0, 2.0))
CORRELATION = 0.5  # of coordinates with variance 1


def line_sample(n: int, randomness: SeededRandomness) -> Array:
    """Points on the unit interval, (n, 1)."""
    places = np.array(PLACES)[_parts(n, randomness)]
    points = np.full(n, np.nan)
    while (left := np.isnan(points)).any():
        # Truncated: whatever falls outside is drawn again from the same part.
        drawn = places[left] + DEVIATION * randomness.normal((int(left.sum()),))
        points[left] = np.where((drawn >= 0) & (drawn <= 1), drawn, np.nan)
    return points[:, None]


def box_sample(n: int, randomness: SeededRandomness) -> Array:
    """Points in the square, (n, 2)."""
    places = np.array(CORNERS)[_parts(n, randomness)]
    points = np.full((n, 2), np.nan)
    while (left := np.isnan(points[:, 0])).any():
        drawn = places[left] + randomness.normal((int(left.sum()), 2)) @ _root().T
        points[left] = np.where((np.abs(drawn) <= 5).all(axis=1)[:, None], drawn, np.nan)
    return points


def line_truth(points: Array) -> Array:
    """The density of the first mixture, (m, 1) -> (m,)."""
    result = np.zeros(len(points))
    for share, place in zip(SHARES, PLACES, strict=True):
        inside = _normal((1 - place) / DEVIATION) - _normal(-place / DEVIATION)
        away = (points[:, 0] - place) / DEVIATION
        result += share * np.exp(-0.5 * away**2) / (math.sqrt(2 * math.pi) * DEVIATION * inside)
    return result


def box_truth(points: Array) -> Array:
    """The density of the second mixture, (m, 2) -> (m,)."""
    result = np.zeros(len(points))
    inverse = np.linalg.inv(_root() @ _root().T)
    for share, place, inside in zip(SHARES, CORNERS, _kept(), strict=True):
        away = points - np.array(place)
        form = np.einsum("ij,jk,ik->i", away, inverse, away)
        result += share * np.exp(-0.5 * form) / (2 * math.pi * math.sqrt(1 - CORRELATION**2) * inside)
    return result


def _parts(n: int, randomness: SeededRandomness) -> Array:
    return np.asarray(randomness.uniform((n,)) >= SHARES[0], dtype=np.int64)


def _root() -> Array:
    return np.array([[1.0, 0.0], [CORRELATION, math.sqrt(1 - CORRELATION**2)]])


def _kept() -> tuple[float, ...]:
    """The probability of the square under each part, by a fine sum over its first coordinate."""
    first = -5 + 10 * (np.arange(4000) + 0.5) / 4000
    spread = math.sqrt(1 - CORRELATION**2)
    result = []
    for x, y in CORNERS:
        middle = y + CORRELATION * (first - x)
        second = np.array([_normal((5 - m) / spread) - _normal((-5 - m) / spread) for m in middle])
        result.append(float(np.sum(np.exp(-0.5 * (first - x) ** 2) * second)) / math.sqrt(2 * math.pi) * 10 / 4000)
    return tuple(result)


def _normal(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2

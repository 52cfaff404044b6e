"""Numerical integration over a domain: Gauss-Legendre rules, panels, and weights of grids."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import UsageError

# With panels as narrow as `waves` makes them, 16 nodes integrate products of two basis functions to rounding.
NODES = 16
MOST_WAVES = 2**16


@lru_cache(maxsize=64)
def gauss(size: int) -> tuple[Array, Array]:
    """Nodes and weights of the Gauss-Legendre rule on [0, 1], exact for polynomials of degree 2 size - 1.

    Written for the distance to the nearer end and with differences of polynomials, so that weights near the ends keep
    all their digits: the rules of numpy and scipy lose three of them at 100 nodes, and every eigenvalue with them.
    """
    angle = math.pi * (4 * np.arange(1, (size + 1) // 2 + 1) - 1.0) / (4 * size + 2)
    near = np.sin(angle / 2) ** 2  # first guess; Newton's method does the rest
    slope = np.ones_like(near)
    for _ in range(8):
        value, difference = np.ones_like(near), np.zeros_like(near)
        for k in range(size):
            difference = (k * difference - (4 * k + 2) * near * value) / (k + 1)
            value = value + difference
        slope = size * (2 * near * value - difference) / (4 * near * (1 - near))
        near = near + value / (2 * slope)
    if size % 2:
        near[-1] = 0.5
    weights = 1 / (4 * near * (1 - near) * slope**2)
    half = size // 2
    nodes, weights = np.append(near, (1 - near[:half])[::-1]), np.append(weights, weights[:half][::-1])
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights


def waves(size: float) -> Array:
    """Ends of panels on [0, 1] that each hold about one half-wave of functions with up to `size` half-waves.

    Equal in angle: narrow near both ends, where polynomials oscillate fastest, and nowhere too wide for cosines.
    """
    if size > MOST_WAVES:
        raise UsageError(
            f"These functions have {size:.3g} half-waves over the domain, and means are taken over at most "
            f"{MOST_WAVES}. Take a kernel with a longer range, or fewer functions.",
            parameter="size",
            value=size,
        )
    count = max(1, math.ceil(size))
    return (1 - np.cos(np.pi * np.arange(count + 1) / count)) / 2


def composite(breaks: Array) -> tuple[Array, Array]:
    """A Gauss rule on each panel between sorted breaks; nodes and weights, both (panels, NODES)."""
    nodes, weights = gauss(NODES)
    widths = np.diff(breaks)[:, None]
    return breaks[:-1, None] + widths * nodes, widths * weights


def product(rules: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """The tensor product of rules on intervals: nodes (m, p), weights (m,)."""
    nodes = np.stack([axis.ravel() for axis in np.meshgrid(*(rule[0] for rule in rules), indexing="ij")], axis=1)
    weights = np.ones(1)
    for rule in rules:
        weights = np.multiply.outer(weights, rule[1]).ravel()
    return nodes, weights


def hat_weights(unit: Array) -> Array:
    """Integrals over [0, 1] of the hat functions of a sorted grid, constant beyond its outermost points, (q,)."""
    edges = np.concatenate([[0.0], (unit[1:] + unit[:-1]) / 2, [1.0]])
    return np.diff(edges)


def axes_of(points: Array) -> list[Array] | None:
    """The axes of a full tensor grid in lexicographic order, or None for any other set of points."""
    axes = [np.unique(column) for column in points.T]
    return axes if math.prod(map(len, axes)) == len(points) else None

"""Numerical integration over a domain, and by it the projection of curves that are known on a grid."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from dpfda.arrays import Array, brief, is_one_of
from dpfda.errors import UsageError

if TYPE_CHECKING:
    from dpfda.bases.base import Basis


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


Method = Literal["auto", "least-squares", "quadrature"]

# Least squares reproduces every function in the span, but amplifies noise by up to the root of this number.
LARGEST_CONDITION = 4.0
LARGEST_SOLVED = 1e12  # beyond it a solution has no digits left
# Beyond this ratio of neighbouring steps a spline can swing far outside the values, and straight lines are safer.
LARGEST_STEP_RATIO = 8.0
MOST_ENTRIES = 2**27  # of the matrix from values to coordinates: a gigabyte
CHUNK = 128  # panels at a time, so that memory does not grow with the grid


def projection(basis: Basis, grid: Array, method: Method) -> Array:
    """The matrix from values at the points of a grid to coordinates, kept for the next call, (size, q)."""
    if not is_one_of(method, get_args(Method)):
        raise UsageError(
            f"A projection is made by one of {', '.join(get_args(Method))}, got {brief(method)}.",
            parameter="method",
            value=method,
        )
    if len(grid) == 0:
        raise UsageError("A grid needs at least one point, got none.", parameter="grid", value=0)
    if len(grid) * basis.size > MOST_ENTRIES:
        raise UsageError(
            f"A basis of {basis.size} functions takes grids of at most {MOST_ENTRIES // basis.size} points, got "
            f"{len(grid)}. Take fewer functions, or a coarser grid.",
            parameter="grid",
            value=len(grid),
        )
    return _projection(basis, np.ascontiguousarray(grid).tobytes(), grid.shape, method)


@lru_cache(maxsize=16)
def _projection(basis: Basis, grid: bytes, shape: tuple[int, int], method: Method) -> Array:
    points, place, counts = np.unique(
        np.frombuffer(grid).reshape(shape), axis=0, return_inverse=True, return_counts=True
    )
    # Values at a repeated point are averaged; the points reach `project` distinct and sorted.
    matrix = np.ascontiguousarray((basis.project(points, method) / counts)[:, place.ravel()])
    matrix.flags.writeable = False
    return matrix


def project(basis: Basis, points: Array, method: Method) -> Array:
    """The matrix for distinct, sorted points, (size, q)."""
    weights = grid_weights(basis.domain.to_unit(points))
    if method == "least-squares":
        root = np.sqrt(weights)
        return np.asarray(np.linalg.pinv(root[:, None] * basis.matrix(points)) * root, dtype=np.float64)
    if method == "auto" and basis.size <= len(points):
        table = basis.matrix(points)
        moments = table.T * weights
        normal = moments @ table
        allowed = LARGEST_CONDITION if basis.orthonormal else LARGEST_CONDITION * np.linalg.cond(basis.gram())
        if np.linalg.cond(normal) <= min(allowed, LARGEST_SOLVED):
            return np.asarray(np.linalg.solve(normal, moments), dtype=np.float64)
    moments = interval_moments(basis, points) if points.shape[1] == 1 else basis.matrix(points).T * weights
    return moments if basis.orthonormal else np.linalg.pinv(basis.gram(), hermitian=True) @ moments


def grid_weights(unit: Array) -> Array:
    """Quadrature weights of points in the unit cube: products of hat integrals on a tensor grid, else equal, (q,)."""
    axes = axes_of(unit)
    if axes is None:
        return np.full(len(unit), 1 / len(unit))
    return product([(axis, hat_weights(axis)) for axis in axes])[1]


def interval_moments(basis: Basis, points: Array) -> Array:
    """Inner products of all functions with the natural cubic spline through values at the points, (size, q).

    Straight lines would lose `(frequency * step)^2 / 12` of every wave; only very uneven grids get them all the same.
    """
    low, high = basis.domain.sides[0]
    knots = points[:, 0]
    breaks = np.unique(np.concatenate([[low, high], knots, low + (high - low) * basis.breaks(0)]))
    values, curvatures = np.zeros((2, len(knots), basis.size))
    for start in range(0, len(breaks) - 1, CHUNK):
        nodes, weights = composite(breaks[start : start + CHUNK + 1])
        table = basis.matrix(nodes.ravel()).reshape(*nodes.shape, basis.size)
        cell = np.searchsorted(knots, nodes[:, 0]) - 1  # -1 and q - 1: beyond the outermost points
        left, right = np.clip(cell, 0, None), np.clip(cell + 1, None, len(knots) - 1)
        gap = (knots[right] - knots[left])[:, None]
        # Beyond the ends left and right are the same point, and any split of the weight between them will do.
        share = np.divide(nodes - knots[left][:, None], gap, out=np.zeros_like(nodes), where=gap > 0)
        for end, part in ((left, 1 - share), (right, share)):
            np.add.at(values, end, np.einsum("pn,pnk->pk", weights * part, table))
            bend = (part**3 - part) * gap**2 / 6  # in a cell the spline is the line plus bend times its curvature
            np.add.at(curvatures, end, np.einsum("pn,pnk->pk", weights * bend, table))
    gaps = np.diff(knots)
    if (
        len(gaps) > 1
        and (np.maximum(gaps[1:], gaps[:-1]) <= LARGEST_STEP_RATIO * np.minimum(gaps[1:], gaps[:-1])).all()
    ):
        values += _from_curvatures(knots, curvatures)
    return values.T / (high - low)


def _from_curvatures(knots: Array, weights: Array) -> Array:
    """Weights of second derivatives of the natural cubic spline as weights of its values, both (q, k).

    The second derivatives solve a band of equations, whose right side are differences of slopes. Here both are taken
    the other way round, so that no matrix of all pairs of knots is made.
    """
    from scipy.linalg import solve_banded

    gaps = np.diff(knots)
    off, middle = gaps[1:-1] / 6, (gaps[:-1] + gaps[1:]) / 3
    banded = np.array([np.r_[0.0, off], middle, np.r_[off, 0.0]])  # symmetric
    solved = solve_banded((1, 1), banded, weights[1:-1])
    slopes = np.zeros((len(gaps), weights.shape[1]))
    slopes[1:] += solved
    slopes[:-1] -= solved
    slopes /= gaps[:, None]
    result = np.zeros_like(weights)
    result[1:] += slopes
    result[:-1] -= slopes
    return result

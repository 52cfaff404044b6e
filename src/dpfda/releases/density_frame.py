"""Come here for how a noisy histogram is read as a smooth function: cosines whose means over the steps it holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.bases import Basis, cosine, tensor
from dpfda.bases.steps import Steps
from dpfda.bases.tensor import Tensor

NODES = {1: 1025, 2: 129, 3: 41, 4: 17, 5: 9, 6: 7}  # along each side of a mesh
MOST_NODES = {1: 4097, 2: 257, 3: 65}
CHUNK = 2**23  # values of basis functions held at a time


def sides_of(basis: Basis) -> tuple[Steps, ...] | None:
    """The steps along each side of a basis of steps; None for every other basis."""
    factors = basis.factors if isinstance(basis, Tensor) else (basis,)
    steps = tuple(factor for factor in factors if isinstance(factor, Steps))
    whole = len(steps) == len(factors) and math.prod(factor.size for factor in steps) == basis.size
    return steps if whole else None


@dataclass(frozen=True, eq=False)
class Frame:
    """The basis in which a release is smoothed, and its noisy coordinates there.

    Equal steps are read as cosines, as many along each side as there are steps: the mean of a cosine over a step is
    its value in the middle times `sinc(j / 2c)`, so that the discrete cosine transform of the probabilities, divided by
    it, has the coordinates of the density but for what is rougher than the steps. Every other basis is its own frame.
    """

    basis: Basis
    noisy: Array  # (size,)
    noise_variances: Array  # (size,) of what the mechanism added
    sampling_variances: Array  # (size,) of what the choice of the people added
    known: Array  # (size,) whether a coordinate is public: the integral is one


def frame_of(noisy: Array, variances: Array, basis: Basis, n: float) -> Frame:
    """The frame of noisy coordinates with these noise variances, from n people."""
    sides = sides_of(basis)
    if sides is None or not all(side.equal for side in sides):
        known = np.zeros(basis.size, dtype=bool)
        return Frame(basis, noisy, variances, _sampling_of_steps(noisy, sides, basis, n), known)
    smooth = cosines(sides)
    shape, places, order = tuple(side.size for side in sides), places_of(basis), places_of(smooth)
    cells = np.zeros(shape)
    cells[places] = noisy / math.sqrt(basis.size)
    spread = np.zeros(shape)
    spread[places] = variances / basis.size
    middles = [_at_middles(side.size) for side in sides]
    attenuated = _outer([np.sinc(np.arange(size) / (2 * size)) for size in shape])
    coordinates = _along(middles, cells)
    squares = [table**2 for table in middles]
    # Var phi_j(X) = E phi_j(X)^2 - (E phi_j(X))^2, with the noisy histogram in place of the law of X; kept away from
    # zero and from beyond the largest square, where that is noise.
    second = np.clip(_along(squares, cells), 0.25, 2.0 ** len(shape))
    sampled = np.maximum(second - np.minimum(coordinates**2, 0.75 * second), 0.1) / n
    scale = attenuated**2
    flat = [array[order] for array in (coordinates / attenuated, _along(squares, spread) / scale, sampled / scale)]
    first = smooth.frequencies == 0
    for array, value in zip(flat, (1.0, 0.0, 0.0), strict=True):
        array[first] = value  # probabilities sum to one, whatever the noise did
    return Frame(smooth, flat[0], flat[1], flat[2], first)


def cosines(sides: tuple[Steps, ...]) -> Basis:
    """As many cosines along each side as there are steps, and all their products."""
    bases = [cosine(side.domain, side.size) for side in sides]
    return bases[0] if len(bases) == 1 else tensor(*bases)


def _sampling_of_steps(noisy: Array, sides: tuple[Steps, ...] | None, basis: Basis, n: float) -> Array:
    if sides is None:
        return np.full(basis.size, 1 / n)  # an orthonormal function of a person has variance one, more or less
    shares = steps_shares(basis, sides)
    probabilities = np.clip(noisy * np.sqrt(shares), 0.0, 1.0)
    return probabilities * (1 - probabilities) / shares / n


def steps_shares(basis: Basis, sides: tuple[Steps, ...]) -> Array:
    """The share of the domain that each step of a product takes, in the order of its coordinates, (size,)."""
    return _outer([side.shares for side in sides])[places_of(basis)]


def places_of(basis: Basis) -> tuple[Integers, ...]:
    """Where along each side each coordinate stands, (size,) for each side."""
    return tuple(basis.index.T) if isinstance(basis, Tensor) else (np.arange(basis.size),)


@lru_cache(maxsize=16)
def _at_middles(size: int) -> Array:
    """Cosines at the middles of steps, (functions, steps)."""
    table = cosine((0.0, 1.0), size).matrix((np.arange(size) + 0.5) / size).T.copy()
    table.flags.writeable = False
    return table


def _along(tables: list[Array], values: Array) -> Array:
    """A matrix applied along each side of an array."""
    for axis, table in enumerate(tables):
        values = np.moveaxis(np.tensordot(table, values, (1, axis)), 0, axis)
    return values


def _outer(vectors: list[Array]) -> Array:
    result = vectors[0]
    for vector in vectors[1:]:
        result = np.multiply.outer(result, vector)
    return result


def mesh_axes(basis: Basis) -> tuple[Array, ...]:
    """Nodes along each side: equally spaced and finer than the functions, or the edges of steps, inner ones twice."""
    sides = sides_of(basis)
    if sides is not None:
        return tuple(
            np.concatenate([side.edges[:1], np.repeat(side.edges[1:-1], 2), side.edges[-1:]]) for side in sides
        )
    dimension = basis.domain.dimension
    size = NODES.get(dimension, 5)
    finest = 1 + 4 * math.ceil(float(basis.frequencies.max()))
    size = max(size, min(finest, MOST_NODES.get(dimension, size)))
    return tuple(np.linspace(low, high, size) for low, high in basis.domain.sides)


def on_mesh(basis: Basis, coordinates: Array, axes: tuple[Array, ...]) -> Array:
    """Values of a function of the basis at all nodes, (nodes of the first side, ...)."""
    sides = sides_of(basis)
    if sides is not None:
        shares = steps_shares(basis, sides)
        cells = np.zeros([side.size for side in sides])
        cells[places_of(basis)] = coordinates / np.sqrt(shares)
        for axis in range(len(sides)):
            cells = np.repeat(cells, 2, axis=axis)  # both ends of every step
        return cells
    shape = tuple(len(axis) for axis in axes)
    if isinstance(basis, Tensor) and all(factor.domain.dimension == 1 for factor in basis.factors):
        table = np.zeros([factor.size for factor in basis.factors])
        table[tuple(basis.index.T)] = coordinates
        return _along([factor.matrix(axis) for factor, axis in zip(basis.factors, axes, strict=True)], table)
    points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    step = max(1, CHUNK // basis.size)
    values = [basis.matrix(points[start : start + step]) @ coordinates for start in range(0, len(points), step)]
    return np.concatenate(values).reshape(shape)

"""The smoothing of a noisy histogram: cosines whose means over the cells it holds, chosen after the noise."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.bases import Basis, cosine, tensor
from dpfda.bases.piecewise_constant import Steps
from dpfda.bases.tensor import Tensor
from dpfda.mechanisms import Care, NoiseLaw
from dpfda.releases.smoothing import Smoothing, smooth

NODES = {1: 1025, 2: 129, 3: 41, 4: 17, 5: 9, 6: 7}  # along each side of a mesh
MOST_NODES = {1: 4097, 2: 257, 3: 65}
MOST_PRODUCTS = 2**25  # held at a time, of functions of all sides
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
    known: Array  # (size,) whether a coordinate is known from elsewhere: the integral


def frame_of(noisy: Array, variances: Array, basis: Basis, n: float, inside: float = 1.0) -> Frame:
    """The frame of noisy coordinates with these noise variances, from n people of whom a share is in the domain."""
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
    for array, value in zip(flat, (inside, 0.0, 0.0), strict=True):
        array[first] = value  # what probabilities sum to, whatever the noise did
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
    size = NODES.get(dimension, 3)
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
    if (
        isinstance(basis, Tensor)
        and all(factor.domain.dimension == 1 for factor in basis.factors)
        and math.prod(factor.size for factor in basis.factors) <= MOST_PRODUCTS
    ):
        table = np.zeros([factor.size for factor in basis.factors])
        table[tuple(basis.index.T)] = coordinates
        return _along([factor.matrix(axis) for factor, axis in zip(basis.factors, axes, strict=True)], table)
    points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    step = max(1, CHUNK // basis.size)
    values = [basis.matrix(points[start : start + step]) @ coordinates for start in range(0, len(points), step)]
    return np.concatenate(values).reshape(shape)


CARE = Care(1.2, 2.0)
ORDERS = (1, 2, 4, 8)
CUTOFFS = 40
RATIOS = (0.25, 1.0, 4.0)  # of smoothness along one side of a rectangle to that along the other
SLANTS = (-0.5, 0.0, 0.5, 0.8)  # densities along a diagonal have rough functions of both sides at once


def density_smoothing(
    name: str, noisy: Array, noise: NoiseLaw, basis: Basis, n: float, inside: float = 1.0
) -> Smoothing:
    """Weights on the coordinates of `frame_of`, chosen from noisy coordinates; "none" leaves all alone.

    The risk that is estimated is that for the density which the people were drawn from: noise and sampling.
    """
    name = _known(name)
    if name == "none":
        return Smoothing("none", np.ones(basis.size), float(noise.variances.sum()))
    return smoothing_of(name, frame_of(noisy, noise.variances, basis, n, inside))


def smoothing_of(name: str, frame: Frame) -> Smoothing:
    """A smoothing of coordinates in a frame: of one family, or with "auto" averaged over anisotropic ridges."""
    # Sampling is noise as any other; nobody can see its law, but its variance is, near enough, that of the data.
    variances = np.where(frame.known, 0.0, frame.noise_variances + frame.sampling_variances)
    if not frame.basis.frequencies.any():
        weights = np.ones(frame.basis.size)  # coordinates that are places are not shrunk
    elif name == "auto":
        weights = averaged(np.where(frame.known, 1.0, ridges(frame.basis)), frame.noisy, variances)
    else:
        weights = smooth(name, frame.noisy, variances, frame.basis.frequencies).weights
    weights = np.where(frame.known, 1.0, weights)
    # Weights h are best where signals have the variance h/(1-h) v; the error is then h v. An unbiased estimate of it
    # would be the sum of far more noise than there is error, most of it from functions that were taken out.
    return Smoothing(name, weights, float(weights @ variances))


def _known(name: str) -> str:
    """The name of a smoothing, or the error that says which there are."""
    return smooth(name, np.ones(1), np.ones(1), np.zeros(1)).name


def averaged(weights: Array, noisy: Array, variances: Array) -> Array:
    """The mean of candidates, each with weight `exp(-risk / (t v))` (Leung and Barron 2006), (m, size) -> (size,)."""
    # Of the unbiased risk; noise that is kept counts somewhat more, since too much of it costs more than too little.
    risks = (1 - weights) ** 2 @ noisy**2 + 2 * CARE.caution * weights @ variances
    shares = np.exp(-(risks - risks.min()) / (CARE.temperature * variances.mean()))
    mean: Array = np.clip(shares @ weights / shares.sum(), 0.0, 1.0)
    return mean


def ridges(basis: Basis) -> Array:
    """Ridges `1 / (1 + (r/c)^(2 order))` for cut-offs c and several lengths r of a product of functions, (m, size)."""
    if not isinstance(basis, Tensor):
        return _ridges(basis.frequencies[:, None], (((1.0,),),))
    each = np.stack(
        [factor.frequencies[column] for factor, column in zip(basis.factors, basis.index.T, strict=True)], 1
    )
    return _ridges(each, forms(each.shape[1]))


@lru_cache(maxsize=8)
def forms(dimension: int) -> tuple[tuple[tuple[float, ...], ...], ...]:
    """Quadratic forms that measure how rough a product is: round, longer along a side, slanted in the plane."""
    found = [np.eye(dimension)]
    if dimension == 2:
        found = [np.array([[ratio, -slant], [-slant, 1 / ratio]]) for ratio in RATIOS for slant in SLANTS]
    elif dimension == 3:
        found = [
            np.diag(np.array(stretch) / np.prod(stretch) ** (1 / 3))
            for stretch in itertools.product((1.0, 4.0), repeat=3)
            if min(stretch) == 1.0
        ]
    return tuple(tuple(tuple(row) for row in form.tolist()) for form in found)


def _ridges(frequencies: Array, shapes: tuple[tuple[tuple[float, ...], ...], ...]) -> Array:
    # Fine steps: between two cut-offs of a steep ridge in the plane lie a quarter more functions.
    cutoffs = np.geomspace(0.5, 2 * max(float(np.linalg.norm(frequencies, axis=1).max()), 1.0), CUTOFFS)
    rows = [np.ones((1, len(frequencies)))]
    for shape in shapes:
        squares = np.maximum(np.einsum("ij,jk,ik->i", frequencies, np.array(shape), frequencies), 0.0)
        for order in ORDERS:
            rows.append(1 / (1 + (squares / cutoffs[:, None] ** 2) ** order))
    return np.concatenate(rows)

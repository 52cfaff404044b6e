"""The Gibbs sampler of frames, for comparison: its draws are approximate."""

from __future__ import annotations

import math

import numpy as np

from dpfda.arrays import Array, ArrayLike
from dpfda.mechanisms.base import check_source
from dpfda.mechanisms.frames.stiefel import check_count, check_matrix, orthonormal
from dpfda.mechanisms.randomness import Randomness, SystemRandomness


def gibbs_frames(A: ArrayLike, k: int, steps: int, size: int = 1, *, randomness: Randomness | None = None) -> Array:
    """Last states of independent Markov chains that tend to density `exp(tr V'AV)`, (size, m, k), after Hoff (2009).

    Every chain starts uniformly; a step renews each column given the others, coordinate by coordinate. However many
    steps there are, these draws are approximate: no claim of privacy rests on them.
    """
    source = SystemRandomness() if randomness is None else randomness
    check_source(source)
    matrix = check_matrix(A)
    side = len(matrix)
    k = check_count(k, 1, side, "Frames have between 1 and {0} columns in {0} dimensions", "k")
    steps = check_count(steps, 0, None, "The number of steps is at least 0", "steps")
    size = check_count(size, 1, None, "The number of chains is at least 1", "size")
    frames = orthonormal(source.normal((size, side, k)))
    if k == side:
        return frames
    for _ in range(steps):
        for column in range(k):
            _renew(frames, column, matrix, source)
    return frames


def _renew(frames: Array, column: int, matrix: Array, randomness: Randomness) -> None:
    """One column given the others: a unit vector orthogonal to them, in the eigenvectors of what A is there."""
    others = np.delete(frames, column, axis=2)
    completed = np.linalg.qr(np.concatenate([others, frames[:, :, [column]]], axis=2), mode="complete")[0]
    free = completed[:, :, others.shape[2] :]  # (size, m, n)
    values, axes = np.linalg.eigh(free.transpose(0, 2, 1) @ matrix @ free)
    directions = free @ axes
    coordinates = np.einsum("nij,ni->nj", directions, frames[:, :, column])
    # A vector along an axis exactly has no direction in the others: any will do.
    coordinates = np.where(np.abs(coordinates) < 1e-100, 1e-100, coordinates)
    for place in range(coordinates.shape[1]):
        squares = coordinates**2
        squares[:, place] = 0.0
        rest = squares.sum(axis=1)
        # The exponent is linear in the square of one coordinate when the direction of the others stays.
        slope = values[:, place] - np.einsum("nj,nj->n", squares, values) / rest
        share = _share(slope, coordinates.shape[1], randomness)
        signs = np.where(randomness.uniform((len(share),)) < 0.5, -1.0, 1.0)
        coordinates *= np.sqrt((1 - share) / rest)[:, None]
        coordinates[:, place] = signs * np.sqrt(share)
    frames[:, :, column] = np.einsum("nij,nj->ni", directions, coordinates)


def _share(slope: Array, dimension: int, randomness: Randomness) -> Array:
    """The square of the first coordinate of a unit vector with density `exp(slope first^2)`, one for each slope.

    Rejection from angular central Gaussian laws, as for one component; only two lengths matter.
    """
    excess = np.abs(slope)
    ones = np.where(slope >= 0, 1, dimension - 1)  # how many coordinates have no excess
    # The root of ones/b + (dimension - ones)/(b + 2 excess) = 1.
    half = (dimension - 2 * excess) / 2
    root = np.sqrt(half**2 + 2 * excess * ones)
    # Of the two forms the one without cancellation.
    tilt = np.where(half >= 0, half + root, 2 * excess * ones / np.maximum(root - half, root))
    share = np.empty(len(slope))
    open_ = np.arange(len(slope))
    while len(open_):
        squares = randomness.normal((len(open_), dimension)) ** 2
        first, others = squares[:, 0], squares[:, 1:].sum(axis=1)
        rising, b, e = slope[open_] >= 0, tilt[open_], excess[open_]
        shrink = 1 + 2 * e / b
        first, others = np.where(rising, first, first / shrink), np.where(rising, others / shrink, others)
        proposal = first / (first + others)
        y = e * np.where(rising, 1 - proposal, proposal)
        log_bound = dimension / 2 * np.log(dimension / b) - (dimension - b) / 2
        accept = dimension / 2 * np.log1p(2 * y / b) - y - log_bound
        kept = np.log(randomness.uniform((len(open_),))) < accept
        share[open_[kept]] = proposal[kept]
        open_ = open_[~kept]
    return np.minimum(share, math.nextafter(1.0, 0.0))

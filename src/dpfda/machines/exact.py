"""Come here for the minimiser of a regularised risk in the whole space of a kernel, as a sum of sections."""

from __future__ import annotations

import math

import numpy as np

from dpfda.arrays import Array
from dpfda.kernels import Kernel
from dpfda.machines.losses import Loss
from dpfda.machines.solver import ROUND, minimise

TRIES = 8


def minimise_exactly(
    kernel: Kernel, points: Array, targets: Array, shares: Array, *, loss: Loss, penalty: float, tolerance: float
) -> tuple[Array, float]:
    """Weights b of the sections at points, and how far `sum_i b_i K(x_i, .)` is from the minimiser at most.

    The kernel's matrix is factored as far as double precision goes, the factor's rows are the features of `minimise`,
    and its slopes g give `b_i = -shares[i] g_i / (2 penalty)`. The proof is that of `minimise`, with predictions by the
    matrix itself: what the factor leaves out is counted, not ignored.
    """
    from scipy.linalg.lapack import dpstrf

    matrix = kernel(points, points)
    matrix = (matrix + matrix.T) / 2
    size = len(points)
    if size == 0 or not matrix.diagonal().max(initial=0.0) > 0:
        return np.zeros(size), 0.0
    packed, pivots, rank, _ = dpstrf(matrix, lower=1, tol=size * ROUND * float(matrix.diagonal().max()))
    rows = np.zeros((size, rank))
    rows[pivots - 1] = np.tril(packed)[:, :rank]
    weights, distance = np.zeros(size), math.inf
    # What the proof loses on the way from features to the matrix depends on the records: more digits until it is made.
    for tries in range(TRIES):
        inner = tolerance / 4 * 8.0**-tries
        weights, distance = _proven(matrix, rows, targets, shares, loss=loss, penalty=penalty, tolerance=inner)
        if distance <= tolerance:
            break
    return weights, distance


def _proven(
    matrix: Array, rows: Array, targets: Array, shares: Array, *, loss: Loss, penalty: float, tolerance: float
) -> tuple[Array, float]:
    """Weights from the slopes of the minimum in features, and the proof with predictions by the matrix itself."""
    size = len(rows)
    found = minimise(rows, targets, shares, loss=loss, penalty=penalty, tolerance=tolerance)
    weights = -shares * found.slopes / (2 * penalty)
    t = loss.argument(matrix @ weights, targets)
    before = loss.argument(rows @ found.weights, targets)
    # Roundings of sums of n terms, and of the kernel's own values.
    off = (2 * size + 100) * ROUND * (np.abs(matrix) @ np.abs(weights)) + 4 * ROUND * np.abs(t)
    slopes = found.slopes * loss.direction(targets)  # with respect to t: directions are 1 or -1
    excess = np.maximum(loss.excess(t - off, slopes), loss.excess(t + off, slopes))
    excess = excess + loss.bend * (np.abs(t - before) + off + _rounding(rows, found.weights)) ** 2
    gap = float(shares @ np.maximum(excess, 0.0)) * (1 + 1e-9)
    return weights, math.sqrt(gap / penalty) * (1 + 1e-9)


def _rounding(rows: Array, weights: Array) -> Array:
    """How far predictions from features are rounded at most, (n,)."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    off: Array = 2 * (len(weights) + 8) * ROUND * lengths * float(np.linalg.norm(weights))
    return off

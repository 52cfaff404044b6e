"""Measures of private principal components: the share of variance kept, the distance of subspaces."""

from __future__ import annotations

import numpy as np

from dpfda.arrays import Array, ArrayLike
from dpfda.errors import UsageError


def variance_ratio(X: ArrayLike, private_frame: ArrayLike, reference_frame: ArrayLike) -> Array:
    """The variation that one span holds over that of another, `|P X'|_F^2 / |Q X'|_F^2`, one for each draw.

    Curves are rows of coordinates, (n, m); frames are (m, k) or stacks of such, any basis of their span. Against the
    first components of the same curves it is at most 1. Awan et al. print another norm, `X'PX`; this is the one that
    their tables hold.

    >>> curves = [[3.0, 0.0], [0.0, 4.0]]
    >>> float(variance_ratio(curves, [[1.0], [0.0]], [[0.0], [1.0]]))
    0.5625
    """
    curves = np.asarray(X, dtype=np.float64)
    private, reference = _frame(private_frame), _frame(reference_frame)
    if curves.ndim != 2 or not curves.shape[1] == private.shape[-2] == reference.shape[-2]:
        raise UsageError(
            f"Curves (n, m) and frames (m, k) need the same m, got {curves.shape}, {private.shape} and "
            f"{reference.shape}. Put one curve in each row and one component in each column."
        )
    moments = curves.T @ curves
    most = _held(moments, reference)
    if not (most > 0).all():
        raise UsageError("The reference frame holds nothing of these curves, so there is no share of it to tell.")
    return np.asarray(_held(moments, private) / most)


def subspace_distance(V: ArrayLike, W: ArrayLike) -> Array:
    """How many dimensions two spans disagree in, `1/2 |P - Q|_F^2`, one for each draw: from 0 to min(k, m - k).

    Frames are (m, k) or stacks of such, any basis of their span.

    >>> float(subspace_distance([[1.0], [0.0]], [[1.0], [1.0]]))
    0.5
    """
    one, other = _frame(V), _frame(W)
    if one.shape[-2:] != other.shape[-2:]:
        raise UsageError(f"A distance is between frames of one shape (m, k), got {one.shape} and {other.shape}.")
    k = one.shape[-1]
    # |P - Q|^2 = 2 k - 2 tr PQ, and tr PQ is what the first projection holds of the second.
    across = np.swapaxes(one, -1, -2) @ other
    shared = np.linalg.solve(_gram(one), across) @ np.linalg.solve(_gram(other), np.swapaxes(across, -1, -2))
    # Rounding can push equal spans below zero, by less than anybody looks at.
    return np.asarray(np.maximum(k - np.trace(shared, axis1=-2, axis2=-1), 0.0))


def leading_frame(X: ArrayLike, k: int) -> Array:
    """The first k principal components of curves in rows, (n, m) to (m, k): what is not private."""
    curves = np.asarray(X, dtype=np.float64)
    return np.asarray(np.linalg.eigh(curves.T @ curves)[1][:, ::-1][:, :k])


def _held(moments: Array, frame: Array) -> Array:
    """`tr P M` for the projection on a span, without building it."""
    inside = np.swapaxes(frame, -1, -2) @ (moments @ frame)
    return np.asarray(np.trace(np.linalg.solve(_gram(frame), inside), axis1=-2, axis2=-1))


def _gram(frame: Array) -> Array:
    return np.asarray(np.swapaxes(frame, -1, -2) @ frame)


def _frame(given: ArrayLike) -> Array:
    frame = np.asarray(given, dtype=np.float64)
    if frame.ndim < 2 or frame.shape[-1] > frame.shape[-2]:
        raise UsageError(f"A frame is (m, k) with k at most m, or a stack of such, got shape {frame.shape}.")
    # Hadamard: the determinant of a Gram matrix is at most the product of its diagonal, and 0 where columns depend.
    gram = _gram(frame)
    if (np.linalg.det(gram) <= 1e-12 * np.prod(np.diagonal(gram, axis1=-2, axis2=-1), axis=-1)).any():
        raise UsageError(f"The {frame.shape[-1]} columns of a frame must be linearly independent.")
    return frame

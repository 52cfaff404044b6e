"""Come here for our own way to private components on the coordinates of Awan et al.: noise first, smoothing after."""

from __future__ import annotations

import numpy as np

from dpfda.arrays import Array
from dpfda.mechanisms.randomness import Randomness
from dpfda.mechanisms.wishart import Wishart
from dpfda.releases.components import principal
from dpfda.releases.covariance import smooth_entries
from dpfda.studies.awan_curves import Coordinates
from dpfda.symmetric import pack, packed_size, unpack

STEPS = 2.0**32  # to the square of the bound, which is 1 as in the paper


def through_covariance(sample: Coordinates, k: int, epsilon: float, size: int, randomness: Randomness) -> Array:
    """Components through second moments with two-sided Wishart noise, smoothed as a covariance is, (size, m, k)."""
    moments = np.rint(pack(sample.curves.T @ sample.curves) * STEPS).astype(np.int64)
    side = sample.curves.shape[1]
    frequencies = np.arange(side, dtype=np.float64)
    scale = 2 * STEPS / epsilon
    law = Wishart().noise(scale, packed_size(side)).scaled(1 / STEPS)
    deviation = float(np.sqrt(law.variances[side:].mean()))
    frames = []
    for _ in range(size):
        noisy = unpack(Wishart().draw(moments, scale, randomness=randomness) / STEPS)
        weights = smooth_entries("auto", noisy, unpack(law.variances), frequencies, law.law).weights
        values, vectors = np.linalg.eigh(unpack(weights * pack(noisy)))
        nearest = (vectors * np.maximum(values, 0.0)) @ vectors.T
        frames.append(principal(nearest, frequencies, deviation, k))
    return np.stack(frames)


def without_data(sample: Coordinates, k: int, epsilon: float, size: int, randomness: Randomness) -> Array:
    """The first k functions of the basis whatever the curves: what smoothness alone is worth, (size, m, k)."""
    return np.tile(np.eye(sample.curves.shape[1], k), (size, 1, 1))

"""Come here for the simulated curves of Awan et al., Section 6.1: Fourier functions, one above all, and noise."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from dpfda import bases
from dpfda.arrays import Array
from dpfda.mechanisms.randomness import SeededRandomness
from dpfda.studies.awan_curves import Coordinates
from dpfda.studies.simulators import GRID, norms, weights

Reading = Literal["mean", "scores"]

READINGS: tuple[Reading, Reading] = ("mean", "scores")
TRUE_TERMS = 21
TERMS = 40  # of the release
FOURTH = 3  # the place of the fourth function
VARIANCE = 0.1  # of scores: N(0, 0.1)
# Mean square of the fourth term. "Additional weights" are not printed; 64 is what makes 40 functions hold 99 % of the
# variation, as printed, beside errors of variance 1 at each of 100 points, of which 40 functions hold two fifths.
FOURTH_SQUARE = 64.0


def simulate(n: int, randomness: SeededRandomness, *, reading: Reading) -> Array:
    """Curves at 100 even points, (n, 100): `sum_j j^-2 U_ij u_j` over 21 Fourier functions, and normal errors.

    The weight of the fourth function stands in the mean, the same for all curves, or in its scores, where it is above
    or below zero by chance.
    """
    functions = bases.fourier((0.0, 1.0), TRUE_TERMS).matrix(GRID)
    sizes = np.arange(1.0, TRUE_TERMS + 1) ** -2
    if reading == "scores":
        sizes[FOURTH] = math.sqrt(FOURTH_SQUARE / VARIANCE)
    scores = math.sqrt(VARIANCE) * randomness.normal((n, TRUE_TERMS)) * sizes
    if reading == "mean":
        scores[:, FOURTH] += math.sqrt(FOURTH_SQUARE)
    return np.asarray(scores @ functions.T + randomness.normal((n, len(GRID))))


def encode(curves: Array) -> Coordinates:
    """Fourier coordinates over the largest norm of the sample, not private, with base measure `C_ii = i^-3`."""
    basis = bases.fourier((0.0, 1.0), TERMS)
    # The trapezoid rule is exact for products of these functions: 99 even steps, frequencies below 50.
    scores = curves / norms(curves).max() * weights() @ basis.matrix(GRID)
    squares = np.square(scores).sum() / np.square(norms(curves) / norms(curves).max()).sum()
    return Coordinates(np.asarray(scores), np.arange(1.0, TERMS + 1) ** -3, float(squares))


def true_frame() -> Array:
    """The first component of the law of the curves, (40, 1): the fourth function in either reading."""
    return np.eye(TERMS)[:, [FOURTH]]

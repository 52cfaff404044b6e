"""The two published mechanisms for the mean, in the Mercer basis of the Matérn 3/2 kernel with range 0.1.

Their expected error given the sample is a closed form, so no noise is drawn: bias and variance of every coordinate.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

import dpfda
from dpfda.studies.simulators import GRID, weights

TERMS = 100


@lru_cache(maxsize=1)
def _mercer() -> tuple[np.ndarray, np.ndarray]:
    basis = dpfda.bases.mercer(dpfda.kernels.Matern(1.5, 0.1), (0.0, 1.0), TERMS)
    return basis.eigenvalues, basis.matrix(GRID)


def _error(mean: np.ndarray, shrink: np.ndarray, variance: np.ndarray, truth: np.ndarray) -> float:
    _, functions = _mercer()
    root = np.sqrt(weights())
    coordinates = np.linalg.lstsq(root[:, None] * functions, root * mean, rcond=None)[0]
    released = functions @ (shrink * coordinates)
    return float(weights() @ (released - truth) ** 2 + variance.sum())


def gaussian_process(mean: np.ndarray, truth: np.ndarray, *, tau: float, n: int, epsilon: float, delta: float) -> float:
    """Mirshani et al. as published: eta = 1, penalty 1/n, `sigma^2 = 2 log(2/delta) Delta^2 / epsilon^2`."""
    eigenvalues, _ = _mercer()
    penalty = 1 / n
    sensitivity = 2 * tau / n * np.sqrt((eigenvalues / (eigenvalues + penalty) ** 2).max())
    sigma = math.sqrt(2 * math.log(2 / delta)) * sensitivity / epsilon
    return _error(mean, eigenvalues / (eigenvalues + penalty), sigma**2 * eigenvalues, truth)


def iclp_qr(mean: np.ndarray, truth: np.ndarray, *, tau: float, n: int, epsilon: float) -> float:
    """Lin and Reimherr with their published sensitivity and correct noise, at the better of their two settings.

    eta = 1.5 with penalty 1/n (Corollary 15 at decay 4), and eta = 1.25 with penalty 2 (n/tau)^-1.25 (their Table 2).
    """
    eigenvalues, _ = _mercer()
    errors = []
    for eta, penalty in ((1.5, 1 / n), (1.25, 2 * (n / tau) ** -1.25)):
        shrink = eigenvalues**eta / (eigenvalues**eta + penalty)
        sensitivity = 2 * tau / n * (shrink / np.sqrt(eigenvalues)).sum()
        # A Laplace variable of scale b has variance 2 b^2.
        errors.append(_error(mean, shrink, 2 * (sensitivity / epsilon) ** 2 * eigenvalues, truth))
    return min(errors)

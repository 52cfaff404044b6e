"""The two published mechanisms for the mean, with the Matérn 3/2 kernel of range 0.1 on the grid of the scenarios.

Their expected error given the sample is a closed form (`dpfda.studies.published`), so no noise is drawn.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dpfda.studies import published
from dpfda.studies.simulators import GRID, ICLP_KERNEL, weights


@lru_cache(maxsize=1)
def _terms() -> published.Spectrum:
    return published.spectrum(ICLP_KERNEL, GRID, weights())


def gaussian_process(mean: np.ndarray, truth: np.ndarray, *, tau: float, n: int, epsilon: float, delta: float) -> float:
    """Mirshani et al. as published: eta = 1, penalty 1/n, `sigma^2 = 2 log(2/delta) Delta^2 / epsilon^2`."""
    release = published.gaussian_process(
        published.Sample(mean, n, tau),
        _terms(),
        epsilon=epsilon,
        delta=delta,
        eta=1.0,
        penalty=1 / n,
        calibration="published",
    )
    return release.error(truth)


def iclp_qr(mean: np.ndarray, truth: np.ndarray, *, tau: float, n: int, epsilon: float) -> float:
    """Lin and Reimherr with the sensitivity of Theorem 12 and correct noise, at the better of their two settings.

    eta = 1.5 with penalty 1/n (Corollary 15 at decay 4), and eta = 1.25 with penalty 2 (n/tau)^-1.25 (their Table 2).
    """
    sample = published.Sample(mean, n, tau)
    errors = []
    for eta, penalty in ((1.5, 1 / n), (1.25, 2 * (n / tau) ** -1.25)):
        release = published.iclp_qr(sample, _terms(), epsilon=epsilon, eta=eta, penalty=penalty, calibration="correct")
        errors.append(release.error(truth))
    return min(errors)

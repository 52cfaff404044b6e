"""Audit of covariance functions by the exponential mechanism, from records to releases, with planted faults.

An attacker looks at one person, who has the largest curves of all or none: where nobody else stands beside her, the law
moves most. Bounds on attacks are Clopper-Pearson at 1e-6 on each side, with private noise.
"""

from __future__ import annotations

import numpy as np
import pytest
from evidence import proven_epsilon

import dpfda
from dpfda.bases import mercer
from dpfda.kernels import Matern
from dpfda.mechanisms import ExponentialDraw, ExponentialMatrix

pytestmark = pytest.mark.audit

EPSILON, DRAWS = 2.0, 3000
GRID = np.linspace(0, 1, 30)
KERNEL = Matern(1.5, 0.5)
BASIS = mercer(KERNEL, (0, 1), 1)
SCANS = 20  # of the person
# Of the ball's radius: above which the event lies that tells the two data sets apart best, of one person or of scans.
LOW, HIGH = -0.35, 0.6


def votes(*, by_person=True, draws=DRAWS):
    """How often a release lies above the threshold, with large curves and without."""
    wave = 1e3 * BASIS.matrix(GRID[:, None])[:, 0]  # beyond the bound, so clipped to it
    est = dpfda.CovarianceFunction(
        epsilon=EPSILON, delta=0.0, bound=1.0, size=1, mechanism=ExponentialDraw(kernel=KERNEL), force=True
    )
    if by_person:
        est.set_params(n=1)  # stated, so that nobody without an identifier counts
    units = np.zeros(SCANS) if by_person else None
    found = []
    for mine in (wave, 0 * wave):
        X = np.stack([mine] * SCANS)
        noisy = np.array([est.fit(X, grid=GRID, units=units).release_.noisy[0] for _ in range(draws)])
        assert np.abs(noisy).max() <= 1 + 1e-9  # nothing leaves the ball
        found.append(int(np.sum(noisy > (LOW if by_person else HIGH))))
    return found[0], found[1]


def test_releases_keep_their_guarantee():
    assert 0.1 * EPSILON < proven_epsilon(votes(), DRAWS) <= EPSILON


def test_a_range_that_is_counted_once_instead_of_four_times_is_caught(monkeypatch):
    honest = ExponentialMatrix.draw

    def loud(self, coordinates, scale, *, randomness):
        return honest(self, coordinates, scale / 4, randomness=randomness)

    monkeypatch.setattr(ExponentialMatrix, "draw", loud)
    assert proven_epsilon(votes(), DRAWS) > EPSILON


def test_protecting_a_scan_instead_of_a_person_is_caught():
    draws = 600
    assert proven_epsilon(votes(by_person=False, draws=draws), draws) > EPSILON

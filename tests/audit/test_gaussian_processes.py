"""Audit of the Gaussian process around covariances, regressions and means with two kernels, with planted faults.

Two data sets differ in all scans of one person, in the direction in which the noise protects least; the attacker knows
both sums and every public choice. Bounds are Clopper-Pearson at 1e-6 on each side, so a sound release fails about once
in 500,000 runs; the noise is the private one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from evidence import proven_mu

import dpfda
from dpfda.arrays import Array, Integers
from dpfda.bases.symmetric import pack, packed_size
from dpfda.kernels import Matern
from dpfda.mechanisms import Gaussian, GaussianProcess, SystemRandomness
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L2, Sensitivity
from dpfda.statistics.covariance.sensitivity import ROUGH

pytestmark = pytest.mark.audit

GRID = np.linspace(0, 1, 9)
PEOPLE, SCANS = 3, 2
UNITS = [0, 0, 1, 2]  # the first person has two scans
BUDGET = Budget(4.0, 0.05)
MU = 1 / calibrate(Gaussian(), Sensitivity(1.0, L2(), "one"), BUDGET)
NOISE = GaussianProcess(kernel=Matern(1.5, 0.3), penalty=0.05)
SETTINGS: dict[str, Any] = {
    "epsilon": BUDGET.epsilon,
    "delta": BUDGET.delta,
    "bound": 1.0,
    "mechanism": NOISE,
    "size": 3,
    "force": True,
    "reading": dpfda.Reading(workers=1),
}


class Quiet(SystemRandomness):
    """A planted fault: a source whose noise is smaller by the square root of two."""

    def gaussian(self, scale: float, size: int) -> Integers:
        return super().gaussian(scale / math.sqrt(2), size)


class Covariance:
    """Two curves of one person, on two axes whose product has the least noise."""

    def __init__(self, **changes: Any) -> None:
        self.estimator = dpfda.CovarianceFunction(**SETTINGS | {"n": PEOPLE, "mean": "joint"} | changes)
        self.plan = self.estimator.plan(PEOPLE, grid_size=len(GRID))
        design = self.plan.design
        self.lead, size = design.lead / ROUGH, self.plan.basis.size
        white = np.array(design.norm.weights) if design.norm is not None else np.ones(1)  # type: ignore[attr-defined]
        best = (0.0, np.zeros(size), np.zeros(size))
        for j in range(size):
            for k in range(size):
                for angle in np.linspace(0.02, math.pi - 0.02, 40):
                    x, y = np.zeros((2, size))
                    x[j], x[k] = (1.0, x[k]) if j == k else (math.cos(angle), math.sin(angle))
                    y[j], y[k] = (-1.0, y[k]) if j == k else (math.cos(angle), -math.sin(angle))
                    far = float(np.linalg.norm(white * (self.sums(x) - self.sums(y))))
                    best = max(best, (far, x, y), key=lambda each: each[0])
        self.pair = best[1:]

    def sums(self, person: Array) -> Array:
        """The moments of one person in units of the bound, as they are packed."""
        vector = np.concatenate([[self.lead], person])
        return pack(np.outer(vector, vector))

    def tables(self) -> list[Array]:
        synthesis = np.linalg.pinv(self.plan.basis.projection(GRID)) * (1 - 1e-6)
        return [np.array([*[synthesis @ person] * SCANS, *np.zeros((2, len(GRID)))]) for person in self.pair]

    def centres(self) -> list[Array]:
        nobody = self.sums(np.zeros(self.plan.basis.size))
        weights = np.array(self.plan.design.weights)
        return [weights * (self.sums(person) + (PEOPLE - 1) * nobody) / PEOPLE for person in self.pair]

    @staticmethod
    def seen(release: Any) -> Array:
        return np.asarray(release.noisy)

    def fit(self, table: Array) -> Any:
        return self.estimator.fit(table, grid=GRID, units=UNITS).release_


class Regression(Covariance):
    """Two curves of opposite signs of one person, along the axis that has the least noise, and turned covariates."""

    def __init__(self, **changes: Any) -> None:
        stated = SETTINGS | {"n": PEOPLE, "covariate_bound": 1.0} | changes
        self.estimator = dpfda.FunctionOnScalarRegression(**stated)  # type: ignore[assignment]
        self.plan = self.estimator.plan(PEOPLE, covariates=2, grid_size=len(GRID))  # type: ignore[assignment]
        design = self.plan.design
        self.lead = design.lead / ROUGH
        entries = packed_size(3)
        k = int(np.argmin(np.array(design.mechanism.shape)[entries : entries + self.plan.basis.size]))  # type: ignore[attr-defined]
        inner = min(design.weight**2 / 2, 1 + self.lead**2) - self.lead**2  # type: ignore[attr-defined]
        angle = math.acos(max(-1.0, min(1.0, inner)))
        curve = np.eye(self.plan.basis.size)[k]
        self.pair = np.concatenate([[1.0, 0.0], curve]), np.concatenate([[math.cos(angle), math.sin(angle)], -curve])

    def sums(self, person: Array) -> Array:
        z = np.concatenate([[self.lead], person[:2]])
        return np.concatenate([pack(np.outer(z, z)), np.outer(z, person[2:]).ravel()])

    def tables(self) -> list[Array]:
        synthesis = np.linalg.pinv(self.plan.basis.projection(GRID)) * (1 - 1e-6)
        rows = [np.concatenate([person[:2], synthesis @ person[2:]]) for person in self.pair]
        return [np.array([*[row] * SCANS, *np.zeros((2, 2 + len(GRID)))]) for row in rows]

    def centres(self) -> list[Array]:
        nobody = self.sums(np.zeros(2 + self.plan.basis.size))
        weights = np.concatenate([np.ones(packed_size(3)), np.tile(np.array(self.plan.design.weights), 3)])
        return [weights * (self.sums(person) + (PEOPLE - 1) * nobody) / PEOPLE for person in self.pair]

    @staticmethod
    def seen(release: Any) -> Array:
        return np.concatenate([release.moments, release.products.ravel()])

    def fit(self, table: Array) -> Any:
        return self.estimator.fit(table[:, :2], table[:, 2:], grid=GRID, units=UNITS).release_


class TwoKernels(Covariance):
    """A mean that is penalised in the space of another kernel: two curves along the axis that has the least noise."""

    def __init__(self, **changes: Any) -> None:
        noise = GaussianProcess(kernel=Matern(1.5, 0.3), penalty_kernel=Matern(2.5, 0.3), penalty=0.05)
        self.estimator = dpfda.MeanFunction(**SETTINGS | {"mechanism": noise, "n": PEOPLE} | changes)  # type: ignore[assignment]
        self.plan = self.estimator.plan(PEOPLE, grid_size=len(GRID))  # type: ignore[assignment]
        curve = np.eye(self.plan.basis.size)[int(np.argmin(self.plan.noise.variances))]
        self.pair = curve, -curve

    def tables(self) -> list[Array]:
        synthesis = np.linalg.pinv(self.plan.design.inner.projection(GRID)) * (1 - 1e-6)  # type: ignore[attr-defined]
        return [np.array([*[synthesis @ person] * SCANS, *np.zeros((2, len(GRID)))]) for person in self.pair]

    def centres(self) -> list[Array]:
        return [person / PEOPLE for person in self.pair]


ATTACKS = [Covariance, Regression, TwoKernels]


def hits(attack: Covariance, draws: int) -> tuple[int, int]:
    """How often the best linear test decides for the first data set, with it and with the second."""
    high, low = attack.centres()
    direction, middle = (high - low) / attack.plan.noise.variances, (high + low) / 2
    counts = [
        sum(direction @ (attack.seen(attack.fit(table)) - middle) > 0 for _ in range(draws))
        for table in attack.tables()
    ]
    return counts[0], counts[1]


@pytest.mark.parametrize("kind", ATTACKS)
def test_releases_keep_their_guarantee_and_use_it(kind: type[Covariance]) -> None:
    """Not wasteful either: 600 draws prove about 0.6 of what is allowed, with a deviation of 0.05."""
    draws = 600
    assert 0.4 * MU <= proven_mu(hits(kind(), draws), draws) <= MU


@pytest.mark.parametrize("kind", ATTACKS)
def test_noise_smaller_by_the_root_of_two_is_caught(kind: type[Covariance]) -> None:
    draws = 1500
    assert proven_mu(hits(kind(randomness=Quiet()), draws), draws) > MU

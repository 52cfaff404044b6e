"""Laplace-process densities with a full bandwidth matrix: the law of their noise, and how far one unit moves them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from refusals import refused

import dpfda
from dpfda.bases import as_domain
from dpfda.errors import UsageError
from dpfda.mechanisms import LaplaceProcess
from dpfda.privacy import ADD_REMOVE, REPLACE, Budget
from dpfda.statistics.density.plan import DensityPlan, DensityRequest, plan_density

DOMAIN = [(-1.0, 1.0), (0.0, 3.0)]
MATRIX = [[0.16, 0.1], [0.1, 0.12]]
POINTS = np.random.default_rng(3).multivariate_normal([0.0, 1.5], [[0.1, 0.06], [0.06, 0.1]], 800)


def planned(neighbours: str) -> DensityPlan:
    return plan_density(
        DensityRequest(
            n=800,
            budget=Budget(1.0, 0.0),
            domain=as_domain(DOMAIN),
            neighbours=neighbours,
            mechanism="iclp-qr",
            bandwidth=MATRIX,
        )
    )


def slanted(asked: object, others: object) -> object:
    gaps = np.asarray(asked)[:, None, :] - np.asarray(others)
    return np.exp(-0.5 * np.einsum("mni,ij,mnj->mn", gaps, np.linalg.inv(MATRIX), gaps))


def test_the_noise_is_laplace_with_the_covariance_of_the_slanted_kernel() -> None:
    """At any two points the covariance is the kernel's times the variance of one white coordinate, to 1 %."""
    plan = planned(REPLACE)
    assert plan.design.mechanism.name == "laplace"
    assert plan.noise.independent
    asked = np.random.default_rng(0).uniform([-1.0, 0.0], [1.0, 3.0], (60, 2))
    functions = plan.basis.matrix(asked)
    covariance = (functions * plan.noise.variances) @ functions.T
    white = plan.noise.variances / plan.design.decode**2
    assert white == pytest.approx(white[0], rel=1e-9)
    peak = 6.0 / (2 * np.pi * np.sqrt(np.linalg.det(MATRIX)))  # times the volume, over the mass of the kernel
    assert np.abs(covariance / white[0] - peak * slanted(asked, asked)).max() < 0.01 * peak


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
def test_no_unit_moves_the_sum_further_than_is_stated_and_the_worst_nearly_does(neighbours: str) -> None:
    """All cells, and the one outside; several points a unit are an average of them. In whole lattice steps."""
    table = planned(neighbours).features
    stated = table.sensitivity(replaced=neighbours == REPLACE).value
    rows = table.rows[:: 7 if neighbours == REPLACE else 1]
    if neighbours == ADD_REMOVE:
        largest = int(np.abs(rows).sum(axis=1).max())
    else:
        rows = np.concatenate([rows, table.rows[-1:]])
        largest = max(int(np.abs(rows - row).sum(axis=1).max()) for row in rows)
    assert 0.9 * stated <= largest <= stated


def test_an_estimate_follows_the_slant_and_its_file_is_read_again(tmp_path: Path) -> None:
    est = dpfda.DensityFunction(
        epsilon=500.0, delta=0.0, domain=DOMAIN, mechanism=LaplaceProcess(bandwidth=MATRIX, eta=1.05), force=True
    )
    release = est.fit(POINTS).release_
    along, across = release.raw([[0.3, 1.8], [0.3, 1.2]])
    assert along > 1.5 * across
    release.save(tmp_path / "density.json")
    assert dpfda.load(tmp_path / "density.json").raw([[0.3, 1.8]])[0] == pytest.approx(along, rel=1e-9)


def test_on_more_than_three_sides_it_is_refused() -> None:
    est = dpfda.DensityFunction(
        epsilon=1.0,
        delta=0.0,
        domain=[(0.0, 1.0)] * 4,
        mechanism=LaplaceProcess(bandwidth=(0.1 * np.eye(4) + 0.01).tolist()),
    )
    with refused(UsageError, "bandwidth", 4):
        est.plan(100)

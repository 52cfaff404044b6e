"""Answers online have the law of one batch release, whatever the order of the questions.

Seeded; each test has level 1e-6 in all its comparisons together and never fails by chance with these seeds.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.stats import chi2, ks_2samp, kstest
from setting import ORDERS, law_for, places, sections_for

from dpfda.arrays import Array
from dpfda.bases.domain import as_domain
from dpfda.kernels import Exponential, Gaussian, Kernel, Matern
from dpfda.mechanisms import SeededRandomness
from dpfda.online.general import RowEngine
from dpfda.online.markov import MarkovEngine
from dpfda.online.noise_ahead import NoiseAhead
from dpfda.online.specification import NUGGET

LEVEL = 1e-6
RUNS = 200
# Close ones, far ones, and points at which records stand; exact covariances of these are well-conditioned in doubles.
POINTS = np.array([0.0, 0.02, 0.05, 0.11, 0.25, 0.3, 0.31, 0.42, 0.5, 0.68, 0.8, 0.83, 0.95, 1.0])
ORDERINGS = {
    "ascending": lambda run: [[k] for k in range(14)],
    "descending": lambda run: [[k] for k in reversed(range(14))],
    "random": lambda run: [[k] for k in np.random.default_rng(run).permutation(14)],
    "at once": lambda run: [list(range(14))],
    "in two batches": lambda run: np.array_split(np.random.default_rng(run).permutation(14), 2),
}


def kernel_of(order: float) -> Kernel:
    return 2.0 * Matern(order, rho=0.4) if order != 0.5 else 2.0 * Exponential(rho=0.4)


@cache
def whitened(order: float, ordering: str, first_seed: int) -> Array:
    """Answers less the exact function, whitened by the exact covariance of the batch release, (RUNS, 14)."""
    kernel = kernel_of(order)
    law, sections = law_for(kernel), sections_for(kernel, places(40))
    exact = kernel(POINTS, sections.points) @ sections.masses * sections.weight
    found, noise = [], NoiseAhead(SeededRandomness(first_seed))
    for run in range(RUNS):
        engine = MarkovEngine(law, sections, noise)
        for group in ORDERINGS[ordering](run):
            rows = POINTS[list(group)]
            # Few points go one by one, so batches are asked for by name.
            engine._add_many(np.sort(rows)) if len(rows) > 1 else engine._add(float(rows[0]))
        found.append([engine.value((point,)) for point in POINTS.tolist()])
    root = np.linalg.cholesky(kernel(POINTS, POINTS)) * law.scale
    return np.linalg.solve(root, (np.array(found) - exact).T).T


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ordering", list(ORDERINGS))
def test_answers_have_the_joint_law_of_one_batch(order, ordering):
    """Whitened, they are independent standard normal: by distances, by all numbers, and by every correlation."""
    numbers = whitened(order, ordering, first_seed=10_000)
    total = float(np.sum(numbers**2))
    low, high = chi2.ppf([LEVEL / 8, 1 - LEVEL / 8], df=numbers.size)
    assert low < total < high
    assert kstest(numbers.ravel(), "norm").pvalue > LEVEL / 4
    assert kstest(chi2.cdf(np.sum(numbers**2, axis=1), df=14), "uniform").pvalue > LEVEL / 4
    # A mean of products of two independent standard normal numbers is beyond 7/sqrt(RUNS) once in 1e10 times.
    off = numbers.T @ numbers / RUNS - np.eye(14)
    assert np.abs(off[np.triu_indices(14, 1)]).max() < 7 / np.sqrt(RUNS)


@pytest.mark.parametrize("order", ORDERS)
def test_two_samples_online_and_batch_cannot_be_told_apart(order):
    """Two-sample tests between questions in random order and multivariate normal draws, at level 1e-6 in all."""
    online = whitened(order, "random", first_seed=20_000)
    kernel = kernel_of(order)
    root = np.linalg.cholesky(kernel(POINTS, POINTS))
    batch = np.random.default_rng(7).multivariate_normal(np.zeros(14), kernel(POINTS, POINTS), size=RUNS)
    answers = online @ root.T
    shares = LEVEL / 16
    for column in range(14):
        assert ks_2samp(answers[:, column], batch[:, column]).pvalue > shares
    distances = np.sum(np.linalg.solve(root, batch.T) ** 2, axis=0)
    assert ks_2samp(np.sum(online**2, axis=1), distances).pvalue > shares
    # Increments between neighbours, where a wrong bridge shows first.
    assert ks_2samp(np.diff(answers).ravel(), np.diff(batch).ravel()).pvalue > shares


@pytest.mark.parametrize("order", ORDERS)
def test_the_test_would_see_a_bridge_that_forgets_its_far_neighbour(order):
    """A planted fault: questions in random order, each drawn from its nearer neighbour alone."""
    kernel = kernel_of(order)
    law = law_for(kernel)

    class Forgetful(MarkovEngine):
        def _add(self, point: float) -> None:
            around = self._keys.around
            left, right = around(point)
            near = left if point - left <= right - point else right
            self._keys.around = lambda number: (near, np.inf) if near < point else (-np.inf, near)
            super()._add(point)
            self._keys.around = around

    found, noise = [], NoiseAhead(SeededRandomness(1))
    for run in range(RUNS):
        engine = Forgetful(law, None, noise)
        for point in np.random.default_rng(run).permutation(POINTS).tolist():
            engine._add(point)
        found.append([engine.value((point,)) for point in POINTS.tolist()])
    root = np.linalg.cholesky(kernel(POINTS, POINTS)) * law.scale
    numbers = np.linalg.solve(root, np.array(found).T).T
    assert np.sum(numbers**2) > chi2.ppf(1 - LEVEL, df=numbers.size)


@pytest.mark.parametrize("dimension", [1, 2])
def test_other_kernels_have_the_law_of_their_covariance_with_its_nugget(dimension):
    kernel, domain = Gaussian(rho=0.05), as_domain([(0.0, 1.0)] * dimension)
    generator = np.random.default_rng(1)
    points, records = generator.random((12, dimension)), generator.random((50, dimension))
    law, sections = law_for(kernel, domain), sections_for(kernel, records)
    exact = kernel(points, records) @ sections.masses * sections.weight
    root = np.linalg.cholesky(kernel(points, points) + NUGGET * np.eye(12)) * law.scale
    found, noise = [], NoiseAhead(SeededRandomness(1))
    for _ in range(RUNS):
        engine = RowEngine(law, sections, noise)
        for group in np.array_split(generator.permutation(12), 3):
            engine.extend(points[group])
        found.append([engine.value(tuple(point)) for point in points.tolist()])
    numbers = np.linalg.solve(root, (np.array(found) - exact).T)
    low, high = chi2.ppf([LEVEL / 4, 1 - LEVEL / 4], df=numbers.size)
    assert low < np.sum(numbers**2) < high
    assert kstest(numbers.ravel(), "norm").pvalue > LEVEL / 2


def test_many_questions_in_one_place_do_not_average_the_noise_away():
    """A thousand answers within 1e-9: their mean has the deviation of one. Chi-square test at level 1e-6."""
    kernel = Matern(1.5, rho=0.3)
    law = law_for(kernel)
    points = 0.5 + 1e-12 * np.arange(1000)[:, None]
    means = []
    for run in range(60):
        engine = MarkovEngine(law, None, NoiseAhead(SeededRandomness(run)))
        engine.extend(points)
        means.append(np.mean([engine.value((point,)) for point in points[:, 0].tolist()]))
    low, high = chi2.ppf([LEVEL / 2, 1 - LEVEL / 2], df=60)
    assert low < np.sum(np.square(means)) / law.scale**2 < high

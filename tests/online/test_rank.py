"""Kernel matrices that are singular in doubles: noise of deficient rank gives a record away, ours does not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, norm
from setting import facts, law_for

from dpfda.arrays import Array
from dpfda.bases.domain import as_domain
from dpfda.kernels import Gaussian
from dpfda.mechanisms import SeededRandomness
from dpfda.online import Sections, open_online
from dpfda.online.general import RowEngine
from dpfda.online.noise_ahead import NoiseAhead
from dpfda.online.specification import FINE, NUGGET, OWN_ERROR_ROWS

KERNEL = Gaussian(rho=0.1)
LINE = as_domain((0.0, 1.0))
N, RUNS = 50, 200
LEVEL = 1e-6
POINTS = np.linspace(0, 1, 200)[:, None]
RECORDS = np.random.default_rng(4).random((N, 1))
NEIGHBOUR = np.concatenate([[[0.02]], RECORDS[1:]])
RECORDS[0] = 0.98


def function(records: Array) -> Array:
    return KERNEL(POINTS, records).mean(axis=1)


def hidden_directions() -> Array:
    """Directions in which the kernel has next to no variance, (200, k)."""
    values, vectors = np.linalg.eigh(KERNEL(POINTS, POINTS))
    return vectors[:, values < 1e-9 * values.max()]


def guesses(answers: Array, other: Array) -> float:
    """How often an attacker who knows both functions is right: the nearer one in the hidden directions."""
    directions = hidden_directions()
    one, two = (directions.T @ function(records) for records in (RECORDS, NEIGHBOUR))
    right = [np.linalg.norm(directions.T @ a - one) < np.linalg.norm(directions.T @ a - two) for a in answers]
    wrong = [np.linalg.norm(directions.T @ a - one) < np.linalg.norm(directions.T @ a - two) for a in other]
    return float(np.mean([*right, *(not w for w in wrong)]))


def plain(records: Array, scale: float) -> Array:
    """What one writes first: eigenvectors, without those that have no variance worth mentioning."""
    values, vectors = np.linalg.eigh(KERNEL(POINTS, POINTS))
    kept = values > 1e-9 * values.max()
    normals = np.random.default_rng(1).standard_normal((RUNS, int(kept.sum())))
    return function(records) + scale * (normals * np.sqrt(values[kept])) @ vectors[:, kept].T


def ours(records: Array, seed: int) -> Array:
    law = law_for(KERNEL, LINE, n=N)
    sections = Sections.counted(records, 1 / N, KERNEL)
    found, noise = [], NoiseAhead(SeededRandomness(seed))
    for _ in range(RUNS):
        engine = RowEngine(law, sections, noise)
        engine.extend(POINTS)
        found.append(engine._values[: len(POINTS)].copy())
    return np.array(found)


def test_the_matrix_is_singular_in_doubles():
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(KERNEL(POINTS, POINTS))


def test_the_attack_is_always_right_about_plain_noise():
    scale = law_for(KERNEL, LINE, n=N).scale
    assert guesses(plain(RECORDS, scale), plain(NEIGHBOUR, scale)) == 1.0


@pytest.mark.audit
def test_the_attack_is_right_about_ours_no_more_often_than_the_guarantee_allows():
    """Level 1e-6, seeded: the share of right guesses, bounded below by Clopper and Pearson, against Phi(mu/2)."""
    share = guesses(ours(RECORDS, 1), ours(NEIGHBOUR, 2))
    hits = round(share * 2 * RUNS)
    proven = beta.ppf(LEVEL, hits, 2 * RUNS - hits + 1)
    assert proven <= norm.cdf(law_for(KERNEL, LINE, n=N).mu / 2)
    assert share < 0.6


def test_no_projection_at_all_does_better():
    """The best linear attack looks along the whitened change; its length in deviations is mu at most."""
    law = law_for(KERNEL, LINE, n=N)
    rows = [
        RowEngine(law, Sections.counted(r, 1 / N, KERNEL), NoiseAhead(SeededRandomness(1)))
        for r in (RECORDS, NEIGHBOUR)
    ]
    for engine in rows:
        engine.extend(POINTS)
    moved = rows[0]._noisy[:200] - rows[1]._noisy[:200]  # the same seed: the noise cancels
    reached = np.linalg.norm(moved) / law.scale
    assert 0.5 * law.mu < reached <= law.mu
    # And it is what exact linear algebra says of K with its nugget.
    change = function(RECORDS) - function(NEIGHBOUR)
    exact = np.sqrt(change @ np.linalg.solve(KERNEL(POINTS, POINTS) + NUGGET * np.eye(200), change)) / law.scale
    assert reached == pytest.approx(exact, rel=1e-6)


def test_two_thousand_points_of_a_gaussian_kernel_neither_fail_nor_leak():
    """One record's whitened section stays within `K(x, x)` though the matrix has rank 20 or so in doubles."""
    law = law_for(KERNEL, LINE, n=N)
    engine = RowEngine(law, Sections.counted(RECORDS, 1 / N, KERNEL), NoiseAhead(SeededRandomness(1)))
    points = np.random.default_rng(2).permutation(np.linspace(0, 1, 2000))[:, None]
    for group in np.array_split(points, [1, 2, 50, 1000]):
        engine.extend(group)
    lengths = np.sum(np.rint(engine._sections[:2000] * FINE) ** 2, axis=0) / FINE**2
    assert np.isfinite(engine._values[:2000]).all()
    assert lengths.max() <= (1 + OWN_ERROR_ROWS) ** 2
    assert lengths.max() > 0.999
    # Neighbours together: no two records are further apart than their sections are.
    sections = engine._sections[:2000]
    between = np.linalg.norm(sections[:, :, None] - sections[:, None, :], axis=0)
    places = engine._places
    assert (between <= np.sqrt(2 - 2 * KERNEL(places, places)) + 2 * OWN_ERROR_ROWS).all()


def test_sections_kept_up_one_by_one_and_read_back_from_a_store_are_the_same(tmp_path):
    """Another process whitens records with the rows that stand in the store."""
    law, sections = law_for(KERNEL, LINE, n=N), Sections.counted(RECORDS, 1 / N, KERNEL)
    points = np.random.default_rng(6).random((300, 1))
    with open_online(sections, law, tmp_path / "a.db", facts=facts(n=N)) as oracle:
        for group in np.array_split(points, 7):
            oracle(group)
        first = oracle._engine
        with open_online(sections, law, tmp_path / "a.db", facts=facts(n=N)) as again:
            second = again._engine
            assert (second._rows[:300, :300] == first._rows[:300, :300]).all()
            np.testing.assert_allclose(second._sections[:300], first._sections[:300], rtol=0, atol=OWN_ERROR_ROWS / 100)
            assert (again(points) == oracle(points)).all()

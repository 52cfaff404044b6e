"""Exact draws of frames: their law against integrals that share no code with the sampler, and odd inputs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from refusals import refused
from scipy.special import i0e, i1e
from scipy.stats import beta, kstest, norm

from dpfda.arrays import Array
from dpfda.errors import UsageError
from dpfda.mechanisms import SeededRandomness, SystemRandomness
from dpfda.mechanisms.frames import draw_frames, gibbs_frames, stiefel
from dpfda.mechanisms.frames.stiefel import SpanEnvelopes

LEVEL = 1e-6


def bingham_moments(values: Array) -> tuple[Array, Array]:
    """`E x_i^2` and `E x_i^4` under `exp(sum values x^2)` on the sphere, by inverting a Laplace transform.

    The integral of `exp(-sum e x^2)` over the sphere is that of `e^t prod (e_i + t)^(-1/2)` along a line of the complex
    plane, up to a constant; each `x_i^2` brings a factor `1/2 / (e_i + t)`. A parabola around the cut makes it
    converge at once.
    """
    excess = values.max() - values
    start = len(values) / 2.0
    for _ in range(200):  # near the saddle point, where the integrand is largest on the real line
        start = 0.5 * np.sum(start / (excess + start))
    u = np.linspace(-8, 8, 20_001) / np.sqrt(max(start, 1.0))
    t = start * (1 + 1j * u) ** 2
    logs = t - 0.5 * np.log(excess[:, None] + t).sum(axis=0)
    weights = np.exp(logs - logs.real.max()) * (1 + 1j * u)
    total = weights.sum().real
    half = 0.5 / (excess[:, None] + t)
    return (weights * half).sum(axis=1).real / total, 3 * (weights * half**2).sum(axis=1).real / total


def rotated(values: Array, seed: int = 0) -> tuple[Array, Array]:
    """A matrix with these eigenvalues, and its eigenvectors."""
    vectors = np.linalg.qr(SeededRandomness(seed).normal((len(values), len(values))))[0]
    return vectors * values @ vectors.T, vectors


def assert_means(sample: Array, expected: Array, level: float = LEVEL) -> None:
    """Every column's mean against its expectation, at one level for all of them."""
    deviation = sample.std(axis=0, ddof=1) / np.sqrt(len(sample))
    scores = (sample.mean(axis=0) - expected) / np.maximum(deviation, 1e-15)
    assert np.abs(scores).max() < norm.isf(level / 2 / sample.shape[1]), scores


SPECTRA = {
    "weak": lambda m: 2.0 * np.arange(m, 0, -1) ** -3.0 + np.linspace(0, 1, m),
    "decaying": lambda m: 400 * np.arange(1, m + 1) ** -3.0,
    "strong": lambda m: 1e5 * np.arange(1, m + 1) ** -2.0,
    "tied": lambda m: np.where(np.arange(m) < 2, 60.0, 5.0),
    "middle": lambda m: np.where(np.arange(m) < 1, m / 2.0, 0.0),
    "negative": lambda m: -(np.arange(m) ** 2.0),
}


def test_the_reference_agrees_with_the_closed_form_on_the_circle() -> None:
    """On the circle `E x_1^2 = 1/2 + I1(d/2) / (2 I0(d/2))` for eigenvalues d apart."""
    for gap in (0.1, 1.0, 7.0, 300.0):
        second, _ = bingham_moments(np.array([gap, 0.0]))
        assert second[0] == pytest.approx(0.5 + i1e(gap / 2) / i0e(gap / 2) / 2, abs=1e-9)
    uniform, fourth = bingham_moments(np.zeros(5))
    np.testing.assert_allclose(uniform, 0.2, atol=1e-9)
    np.testing.assert_allclose(fourth, 3 / 35, atol=1e-9)


@pytest.mark.parametrize("side", [2, 3, 5, 10, 40])
@pytest.mark.parametrize("spectrum", SPECTRA, ids=str)
def test_one_component_has_the_moments_of_its_law(side: int, spectrum: str) -> None:
    """Second and fourth moments along all eigenvectors, level 1e-6 each; seeded."""
    values = SPECTRA[spectrum](side)
    matrix, vectors = rotated(values)
    drawn = draw_frames(matrix, 1, 20_000, randomness=SeededRandomness(side))[:, :, 0] @ vectors
    second, fourth = bingham_moments(values)
    assert_means(drawn**2, second)
    assert_means(drawn**4, fourth)
    # Different eigenvectors are uncorrelated, and so are signs.
    assert_means(drawn, np.zeros(side))
    assert_means(drawn[:, :1] * drawn[:, 1:], np.zeros(side - 1))


@pytest.mark.parametrize("side", [3, 5, 10, 40])
@pytest.mark.parametrize("spectrum", ["decaying", "tied", "negative"])
def test_all_components_but_one_leave_out_a_vector_of_the_opposite_law(side: int, spectrum: str) -> None:
    """For k = m - 1 what is orthogonal has density `exp(-x'Ax)`: its moments, level 1e-6."""
    values = SPECTRA[spectrum](side)
    matrix, vectors = rotated(values)
    frames = draw_frames(matrix, side - 1, 4_000, randomness=SeededRandomness(side))
    left_out = 1 - np.sum((vectors.T @ frames) ** 2, axis=2)
    assert_means(left_out, bingham_moments(-values)[0])


@pytest.mark.parametrize(
    ("side", "k", "steps"),
    [(5, 2, 40), (6, 3, 40), pytest.param(10, 3, 80, marks=pytest.mark.audit)],
)
@pytest.mark.parametrize("strength", [2.0, 12.0])
def test_several_components_agree_with_long_markov_chains(side: int, k: int, steps: int, strength: float) -> None:
    """Shares of the span along each eigenvector, and their squares, level 1e-6; 2000 chains, seeded."""
    values = strength * np.linspace(1, 0, side) ** 2
    matrix, vectors = rotated(values)
    source = SeededRandomness(side)
    chains = gibbs_frames(matrix, k, steps, 2_000, randomness=source)
    frames = draw_frames(matrix, k, 20_000, randomness=source)
    mine, theirs = (np.sum((vectors.T @ sample) ** 2, axis=2) for sample in (frames, chains))
    for power in (1, 2):
        one, other = mine**power, theirs**power
        deviation = np.sqrt(one.var(axis=0) / len(one) + other.var(axis=0) / len(other))
        scores = (one.mean(axis=0) - other.mean(axis=0)) / deviation
        assert np.abs(scores).max() < norm.isf(LEVEL / 2 / side), scores


@pytest.mark.parametrize(
    ("side", "k"),
    [(4, 2), (6, 3), (7, 2), *(pytest.param(*large, marks=pytest.mark.audit) for large in ((6, 4), (8, 5)))],
)
@pytest.mark.parametrize("strength", [1.0, 6.0])
def test_several_components_agree_with_weighted_uniform_frames(side: int, k: int, strength: float) -> None:
    """The mean projection on the span, every entry, against uniform frames with their weights, level 1e-6."""
    source = SeededRandomness(10 * side + k)
    matrix, _ = rotated(strength * np.cos(np.arange(side)), seed=side)
    uniform = np.linalg.qr(source.normal((200_000, side, k)))[0]
    weights = np.exp(np.einsum("nia,ij,nja->n", uniform, matrix, uniform, optimize=True))
    weights /= weights.sum()
    frames = draw_frames(matrix, k, 50_000, randomness=source)
    first, second = np.triu_indices(side)
    theirs, mine = (np.einsum("nia,nja->nij", f, f)[:, first, second] for f in (uniform, frames))
    expected = weights @ theirs
    # The variance of a ratio of weighted sums, and of a plain mean.
    variance = (weights**2) @ (theirs - expected) ** 2 + mine.var(axis=0) / len(mine)
    scores = (mine.mean(axis=0) - expected) / np.sqrt(variance)
    assert np.abs(scores).max() < norm.isf(LEVEL / 2 / len(first)), scores


@pytest.mark.parametrize(("side", "k"), [(3, 1), (3, 2), (3, 3), (6, 3), (10, 2), (1, 1), (12, 12)])
@pytest.mark.parametrize("constant", [0.0, 7.0, -1e9])
def test_without_a_preferred_direction_frames_are_uniform(side: int, k: int, constant: float) -> None:
    """The square of an entry of a uniform frame has a beta law, level 1e-6, first and last entry."""
    frames = draw_frames(constant * np.eye(side), k, 2_000, randomness=SeededRandomness(side + k))
    if side == 1:
        assert set(np.unique(frames)) == {-1.0, 1.0}
        return
    for entry in (frames[:, 0, 0], frames[:, -1, -1]):
        assert kstest(entry**2, beta(0.5, (side - 1) / 2).cdf).pvalue > LEVEL
        assert abs(np.sign(entry).sum()) < norm.isf(LEVEL / 2) * np.sqrt(2_000)


def test_a_frame_is_uniform_within_its_span() -> None:
    """Of two strong components the first column has a uniform angle among them, level 1e-6."""
    frames = draw_frames(np.diag([1e4, 1e4, 0.0, 0.0]), 2, 4_000, randomness=SeededRandomness(1))
    angles = np.arctan2(frames[:, 1, 0], frames[:, 0, 0]) / (2 * np.pi) + 0.5
    assert kstest(angles, "uniform").pvalue > LEVEL


ODD = {
    "zero": (np.zeros((6, 6)), 3),
    "one dimension": (np.array([[3.0]]), 1),
    "rank one": (1e6 * np.ones((10, 10)), 4),
    "rank below k": (np.diag([1e5, 1e5, *np.zeros(8)]), 5),
    "tied at k": (1e5 * np.diag([5.0, 5, 5, 1, 1, 1]), 2),
    "tied after k": (1e3 * np.diag([9.0, 5, 5, 5, 1, 1]), 2),
    "nearly tied": (np.diag([1.0, 1.0 + 1e-15, 1.0 - 1e-15, 0.0]) * 1e8, 1),
    "huge": (np.diag([1e12, 1e12, 1e6, 0.0, -1e14]), 2),
    "the largest": (1e100 * np.diag([1.0, 0.5, 0.0, -1.0]), 2),
    "the largest, tied": (1e100 * np.diag([1.0, 1.0, 0.0, 0.0, 0.0]), 1),
    "tiny": (1e-300 * np.diag(np.arange(5.0)), 2),
    "negative": (-np.diag(np.arange(40.0) ** 3), 3),
    "all columns": (np.diag([1.0, 2.0, 3.0]), 3),
    "wide": (np.diag(np.linspace(0, 50, 30)), 20),
}


@pytest.mark.parametrize("case", ODD, ids=str)
def test_odd_matrices_give_orthonormal_frames_at_once(case: str) -> None:
    matrix, k = ODD[case]
    begun = time.perf_counter()
    frames = draw_frames(matrix, k, 40, randomness=SeededRandomness(3))
    assert time.perf_counter() - begun < 20
    assert frames.shape == (40, len(matrix), k)
    np.testing.assert_allclose(np.swapaxes(frames, 1, 2) @ frames, np.broadcast_to(np.eye(k), (40, k, k)), atol=1e-12)


def test_a_matrix_without_end_gives_the_leading_eigenvector() -> None:
    frames = draw_frames(np.diag([0.0, 1e90, 1.0]), 1, 20, randomness=SeededRandomness(3))
    np.testing.assert_allclose(np.abs(frames[:, :, 0]), np.broadcast_to([0.0, 1.0, 0.0], (20, 3)), atol=1e-12)


def test_the_system_is_the_source_unless_another_is_named() -> None:
    matrix = np.diag([3.0, 1.0, 0.0])
    assert not np.array_equal(draw_frames(matrix, 1), draw_frames(matrix, 1))
    assert draw_frames(matrix, 2, 3, randomness=SystemRandomness()).shape == (3, 3, 2)
    seeded = [draw_frames(matrix, 2, 3, randomness=SeededRandomness(1)) for _ in range(2)]
    np.testing.assert_array_equal(*seeded)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("side", [10, 40, 100])
def test_most_proposals_are_accepted_for_smooth_curves(side: int, k: int) -> None:
    """Eigenvalues j^-3, epsilon 1, n from 100 to a million: at least one in five, seeded."""
    values = np.arange(1, side + 1) ** -3.0
    for n in (100, 1_000, 5_000, 10**6):
        excess = (values.max() - values) / values.sum() * n / 2
        kept = len(SpanEnvelopes.of(excess, k).propose(1_000, SeededRandomness(5)))
        assert kept > 200, n


@pytest.mark.parametrize(
    ("matrix", "k", "size", "about"),
    [
        (np.ones((2, 3)), 1, 1, ("A", (2, 3))),
        (np.ones(3), 1, 1, ("A", (3,))),
        (np.diag([1.0, np.nan]), 1, 1, ("A", float("nan"))),
        (np.diag([1.0, -np.inf]), 1, 1, ("A", float("inf"))),
        (np.diag([1.0, 1e101]), 1, 1, ("A", 1e101)),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), 1, 1, ("A",)),
        (np.eye(3), 0, 1, ("k", 0)),
        (np.eye(3), 4, 1, ("k", 4)),
        (np.eye(3), 1.5, 1, ("k", 1.5)),
        (np.eye(3), 2, 0, ("size", 0)),
    ],
    ids=["oblong", "flat", "nan", "inf", "too large", "skew", "none", "too many", "broken", "no draws"],
)
def test_what_cannot_be_drawn_is_refused_with_the_rule(matrix: Array, k: int, size: int, about: Any) -> None:
    with refused(UsageError, *about):
        draw_frames(matrix, k, size)


def test_a_search_without_success_ends_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stiefel, "MOST_WORK", 2**20)
    with refused(UsageError, "k", 40):
        draw_frames(np.diag(300.0 * (np.arange(80) % 2)), 40, randomness=SeededRandomness(1))


def test_the_markov_chain_refuses_what_it_cannot_do() -> None:
    with refused(UsageError, "steps", -1):
        gibbs_frames(np.eye(3), 1, -1)
    with refused(UsageError, "size", 0):
        gibbs_frames(np.eye(3), 1, 5, 0)
    with refused(UsageError, "k", 5):
        gibbs_frames(np.eye(3), 5, 1)


def test_the_markov_chain_keeps_frames_orthonormal_for_strong_matrices() -> None:
    for matrix, k in ((np.diag([1e9, 1e5, 0.0, -1e7]), 2), (np.zeros((3, 3)), 3), (np.diag([5.0, 5.0]), 1)):
        frames = gibbs_frames(matrix, k, 5, 10, randomness=SeededRandomness(2))
        np.testing.assert_allclose(
            np.swapaxes(frames, 1, 2) @ frames, np.broadcast_to(np.eye(k), (10, k, k)), atol=1e-9
        )
    assert gibbs_frames(np.eye(2), 1, 1).shape == (1, 2, 1)

"""Frames under the projected Gaussian measure: spans of normal vectors with weights, by brute force and exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from refusals import refused
from scipy.stats import norm

from dpfda.arrays import Array
from dpfda.errors import UsageError
from dpfda.mechanisms import SeededRandomness
from dpfda.mechanisms.frames import draw_frames, draw_projected, projected

LEVEL = 1e-6


def some_matrix(side: int, strength: float) -> Array:
    noise = SeededRandomness(side).normal((side, side))
    return np.asarray(strength * (noise + noise.T) / np.abs(np.linalg.eigvalsh(noise + noise.T)).max())


@pytest.mark.parametrize(("side", "k"), [(2, 1), (3, 1), (5, 1), (8, 1), (3, 2), (4, 2), (5, 3)])
@pytest.mark.parametrize("strength", [0.5, 5.0])
def test_draws_agree_with_weighted_spans_of_normal_vectors(side: int, k: int, strength: float) -> None:
    """The mean projection on the span, every entry, against normal vectors with weights `exp(tr V'AV)`, level 1e-6."""
    source = SeededRandomness(10 * side + k)
    precision = 7.0 * np.arange(1, side + 1) ** 2
    matrix = some_matrix(side, strength)
    spans = np.linalg.qr(source.normal((200_000, side, k)) / np.sqrt(precision)[:, None])[0]
    weights = np.exp(np.einsum("nia,ij,nja->n", spans, matrix, spans, optimize=True))
    weights /= weights.sum()
    frames = draw_projected(matrix, precision, k, 20_000, randomness=source)
    np.testing.assert_allclose(np.einsum("nia,nib->nab", frames, frames)[:50], np.array([np.eye(k)] * 50), atol=1e-12)
    first, second = np.triu_indices(side)
    theirs, mine = (np.einsum("nia,nja->nij", f, f)[:, first, second] for f in (spans, frames))
    expected = weights @ theirs
    variance = (weights**2) @ (theirs - expected) ** 2 + mine.var(axis=0) / len(mine)
    scores = (mine.mean(axis=0) - expected) / np.sqrt(variance)
    assert np.abs(scores).max() < norm.isf(LEVEL / 2 / len(first)), scores


@pytest.mark.parametrize("k", [1, 2])
def test_the_scale_and_the_form_of_the_precision_do_not_matter(k: int) -> None:
    """The diagonal, a matrix, and both times a thousand: one law; mean projections agree at level 1e-6."""
    side = 4
    matrix, diagonal = some_matrix(side, 4.0), np.array([1.0, 4.0, 9.0, 30.0])
    turn = np.linalg.qr(SeededRandomness(5).normal((side, side)))[0]
    samples = [
        draw_projected(matrix, 1e3 * diagonal, k, 10_000, randomness=SeededRandomness(1)),
        draw_projected(matrix, np.diag(diagonal), k, 10_000, randomness=SeededRandomness(2)),
        turn.T
        @ draw_projected(turn @ matrix @ turn.T, turn * diagonal @ turn.T, k, 10_000, randomness=SeededRandomness(3)),
    ]
    shares = [np.einsum("nia,nja->nij", frames, frames).reshape(-1, side * side) for frames in samples]
    for one, other in ((0, 1), (0, 2)):
        deviation = np.sqrt((shares[one].var(axis=0) + shares[other].var(axis=0)) / 10_000)
        scores = (shares[one].mean(axis=0) - shares[other].mean(axis=0)) / deviation
        assert np.abs(scores).max() < norm.isf(LEVEL / 4 / side**2), scores


@pytest.mark.parametrize("k", [1, 2, 3])
def test_without_preference_it_is_the_uniform_measure_with_weights(k: int) -> None:
    """A precision of ones leaves the frames of `draw_frames`: mean projections agree at level 1e-6."""
    matrix = some_matrix(4, 6.0)
    frames = draw_projected(matrix, np.ones(4), k, 10_000, randomness=SeededRandomness(1))
    others = draw_frames(matrix, k, 10_000, randomness=SeededRandomness(2))
    one, other = (np.einsum("nia,nja->nij", f, f).reshape(-1, 16) for f in (frames, others))
    scores = (one.mean(axis=0) - other.mean(axis=0)) / np.sqrt((one.var(axis=0) + other.var(axis=0)) / 10_000)
    assert np.abs(scores).max() < norm.isf(LEVEL / 32), scores


@pytest.mark.parametrize("side", [5, 20, 40])
@pytest.mark.parametrize("strength", [0.0, 50.0, 2500.0, 1e6])
def test_one_component_is_drawn_for_any_size(side: int, strength: float) -> None:
    """At least one proposal in fifty is accepted, seeded; the matrix does not share axes with the precision."""
    precision = np.arange(1, side + 1) ** 3.0
    mixture = projected.Mixture.of(some_matrix(side, strength), precision)
    assert len(mixture.propose(3_000, SeededRandomness(2))) > 60


def test_all_columns_are_uniform() -> None:
    frames = draw_projected(np.diag([3.0, 1.0]), [1.0, 100.0], 2, 500, randomness=SeededRandomness(1))
    assert abs(np.mean(frames[:, 0, 0] ** 2) - 0.5) < norm.isf(LEVEL / 2) * np.sqrt(0.125 / 500)


def test_a_search_without_success_ends_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projected, "MOST_PROPOSALS", 2_000)
    with refused(UsageError, "precision"):
        draw_projected(some_matrix(30, 3_000.0), np.arange(1, 31) ** 4.0, 4, randomness=SeededRandomness(1))


@pytest.mark.parametrize(
    ("precision", "about"),
    [
        (np.ones(4), ("precision", (4,))),
        (np.array([1.0, 0.0, 2.0]), ("precision",)),
        (np.array([1.0, np.inf, 2.0]), ("precision",)),
        (np.array([1.0, np.nan, 2.0]), ("precision",)),
        (np.diag([1.0, -1.0, 2.0]), ("precision",)),
    ],
    ids=["shape", "zero", "inf", "nan", "negative"],
)
def test_wrong_precisions_are_refused(precision: Array, about: Any) -> None:
    with refused(UsageError, *about):
        draw_projected(np.eye(3), precision, 1)


@pytest.mark.parametrize(("k", "size", "about"), [(4, 1, ("k", 4)), (1, 0, ("size", 0))])
def test_wrong_counts_are_refused(k: int, size: int, about: Any) -> None:
    with refused(UsageError, *about):
        draw_projected(np.eye(3), np.ones(3), k, size)

"""Our own way to components on the coordinates of the paper's tables."""

from __future__ import annotations

import numpy as np

from dpfda.mechanisms import SeededRandomness
from dpfda.reproduce.awan_tables import BESIDE, exponential, measure, through_covariance, without_data
from dpfda.reproduce.paper_curves import Coordinates


def sample(n=400, seed=1):
    """Curves in five coordinates of falling variance, none longer than 1."""
    curves = SeededRandomness(seed).normal((n, 5)) * np.array([0.3, 0.12, 0.06, 0.03, 0.02])
    curves /= np.linalg.norm(curves, axis=1).max()
    return Coordinates(curves, np.array([1.0, 0.3, 0.1, 0.03, 0.01]), 1.0)


def test_it_finds_the_components_when_epsilon_is_large():
    found = measure(sample(), through_covariance(sample(), 2, 100.0, 20, SeededRandomness(2)))
    assert found["variance ratio"].min() > 0.99
    assert found["subspace distance"].max() < 0.05


def test_frames_are_orthonormal_and_differ():
    frames = through_covariance(sample(), 3, 1.0, 6, SeededRandomness(3))
    assert frames.shape == (6, 5, 3)
    assert np.allclose(frames.transpose(0, 2, 1) @ frames, np.eye(3))
    assert np.ptp(frames, axis=0).max() > 0.01


def test_at_the_same_epsilon_it_has_more_of_the_variance_than_the_exponential_mechanism():
    """Two means of 60 draws that lie 5 standard errors apart: no chance of a false alarm with this seed."""
    assert {"ours, pure": through_covariance, "no data": without_data} == BESIDE
    ours = measure(sample(), through_covariance(sample(), 1, 0.5, 60, SeededRandomness(4)))["variance ratio"]
    theirs = measure(sample(), exponential(sample(), 1, 0.5, 60, SeededRandomness(5)))["variance ratio"]
    assert ours.mean() - theirs.mean() > 5 * np.hypot(ours.std(), theirs.std()) / np.sqrt(60)


def test_without_data_every_frame_is_the_same():
    frames = without_data(sample(), 2, 1.0, 3, SeededRandomness(1))
    assert (frames == np.eye(5, 2)).all()

"""How well components do: shares of variance and distances of subspaces with known answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpfda.errors import UsageError
from dpfda.mechanisms import SeededRandomness
from dpfda.studies.components import leading_frame, subspace_distance, variance_ratio

AXES = np.eye(5)


def projection(frame):
    return frame @ np.linalg.pinv(frame)


@pytest.fixture
def frames():
    return SeededRandomness(3).normal((7, 5, 2))  # neither orthogonal nor of norm 1


def test_the_ratio_is_that_of_projected_squares(frames):
    curves, reference = SeededRandomness(4).normal((20, 5)), AXES[:, 1:3]
    expected = [
        np.square(projection(frame) @ curves.T).sum() / np.square(projection(reference) @ curves.T).sum()
        for frame in frames
    ]
    assert variance_ratio(curves, frames, reference) == pytest.approx(expected, rel=1e-12)


def test_the_distance_is_half_the_squared_frobenius_norm(frames):
    other = AXES[:, :2] + 0.3
    expected = [0.5 * np.square(projection(frame) - projection(other)).sum() for frame in frames]
    assert subspace_distance(frames, other) == pytest.approx(expected, rel=1e-12)


def test_leading_components_hold_the_sum_of_the_largest_eigenvalues():
    curves = SeededRandomness(5).normal((30, 5)) * [1, 5, 2, 4, 3]
    values = np.linalg.eigvalsh(curves.T @ curves)
    found = variance_ratio(curves, leading_frame(curves, 2), AXES)
    assert found == pytest.approx(values[-2:].sum() / values.sum(), rel=1e-12)


def test_no_span_of_its_size_beats_the_leading_one(frames):
    curves = SeededRandomness(6).normal((30, 5))
    ratios = variance_ratio(curves, frames, leading_frame(curves, 2))
    assert ratios.shape == (7,)
    assert (ratios > 0).all()
    assert (ratios < 1).all()


@pytest.mark.parametrize("angle", [0.0, 1e-3, 0.4, math.pi / 2])
def test_lines_at_an_angle_are_its_squared_sine_apart(angle):
    line = np.array([[math.cos(angle)], [math.sin(angle)]])
    assert subspace_distance(line, [[1.0], [0.0]]) == pytest.approx(math.sin(angle) ** 2, abs=1e-15)


@pytest.mark.parametrize(("k", "farthest"), [(1, 1), (2, 2), (3, 2), (4, 1), (5, 0)])
def test_spans_are_at_most_the_smaller_of_k_and_what_is_left_apart(k, farthest):
    """The paper says k, which three components in five dimensions cannot reach."""
    assert subspace_distance(AXES[:, :k], AXES[:, 5 - k :]) == pytest.approx(farthest, abs=1e-15)
    drawn = SeededRandomness(k).normal((200, 5, k))
    assert (subspace_distance(drawn, AXES[:, :k]) <= farthest + 1e-9).all()


def test_equal_spans_are_never_less_than_nothing_apart(frames):
    distances = subspace_distance(frames, frames @ np.array([[2.0, 1.0], [-3.0, 0.5]]))
    assert (distances >= 0).all()
    assert (distances < 1e-12).all()


def test_constant_curves_have_no_share_to_tell():
    with pytest.raises(UsageError, match=r"^The reference frame holds nothing of these curves"):
        variance_ratio(np.zeros((4, 5)), AXES[:, :1], AXES[:, :1])


@pytest.mark.parametrize("curves", [np.ones((3, 4)), np.ones(5)], ids=["of other coordinates", "a single one"])
def test_curves_need_the_coordinates_of_the_frames(curves):
    with pytest.raises(UsageError, match=r"need the same m, got \([34], 4\)|need the same m, got \(5,\)"):
        variance_ratio(curves, AXES[:, :1], AXES[:, :1])


def test_frames_of_two_shapes_have_no_distance():
    with pytest.raises(UsageError, match=r"between frames of one shape \(m, k\), got \(5, 1\) and \(5, 2\)"):
        subspace_distance(AXES[:, :1], AXES[:, :2])


@pytest.mark.parametrize("frame", [np.ones(3), np.ones((2, 3))], ids=["a vector", "too many columns"])
def test_what_is_no_frame_is_refused(frame):
    with pytest.raises(UsageError, match=r"^A frame is \(m, k\) with k at most m, or a stack of such, got shape"):
        subspace_distance(frame, frame)


@pytest.mark.parametrize("second", [[2.0, 2.0, 2.0], [0.0, 0.0, 0.0]], ids=["repeated", "zero"])
def test_columns_that_depend_are_refused(second):
    frame = np.array([[1.0, 1.0, 1.0], second]).T
    with pytest.raises(UsageError, match=r"^The 2 columns of a frame must be linearly independent\."):
        subspace_distance(frame, AXES[:3, :2])

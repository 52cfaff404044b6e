"""Kernel sections at public points: features that never exceed the kernel, the same wherever they are read."""

from __future__ import annotations

import json

import numpy as np
import pytest
from refusals import refused

from dpfda.bases import cosine
from dpfda.bases.domain import as_domain
from dpfda.bases.features import CUT, Landmarks, factor, landmarks, landmarks_from_dict, spread
from dpfda.errors import UsageError
from dpfda.kernels import BrownianMotion, Exponential, Gaussian, Kernel, Matern

SQUARE = [(0.0, 1.0), (-1.0, 2.0)]
CASES: dict[str, tuple[Kernel, object, int]] = {
    "Gaussian on a line": (Gaussian(0.02), (0.0, 1.0), 30),
    "Gaussian in the plane": (Gaussian(0.3), SQUARE, 150),
    "Matérn in the plane": (Matern(1.5, 0.5), SQUARE, 120),
    "exponential, not of variance one": (3.0 * Exponential(0.4), (0.0, 2.0), 40),
    "Brownian motion": (BrownianMotion(), (0.0, 1.0), 15),
    "Gaussian in ten dimensions": (Gaussian(5.0), [(-1.0, 1.0)] * 10, 200),
}
every = pytest.mark.parametrize(("kernel", "domain", "size"), CASES.values(), ids=CASES.keys())


def inside(domain, size, seed=0):
    lows, highs = np.array(as_domain(domain).sides).T
    return lows + (highs - lows) * np.random.default_rng(seed).uniform(size=(size, len(lows)))


@every
def test_features_never_exceed_the_kernel(kernel, domain, size):
    basis = landmarks(kernel, domain, size=size)
    points = inside(domain, 500)
    variance = np.array([kernel(point[None], point[None])[0, 0] for point in points])
    squares = (basis.matrix(points) ** 2).sum(axis=1)
    assert (squares <= variance * (1 + 1e-9)).all()


@every
def test_at_landmarks_the_features_give_the_kernel_back(kernel, domain, size):
    basis = landmarks(kernel, domain, size=size)
    where = np.array(basis.points)
    at = basis.matrix(where)
    np.testing.assert_allclose(at @ at.T, kernel(where, where), rtol=0, atol=1e-9)
    np.testing.assert_allclose(at, factor(kernel, basis.points), rtol=0, atol=1e-9)


@every
def test_files_give_the_same_functions_bit_for_bit(kernel, domain, size):
    basis = landmarks(kernel, domain, size=size)
    plain = json.loads(json.dumps(basis.describe()))
    assert plain.pop("family") == "landmarks"
    back = landmarks_from_dict(**plain)
    assert back == basis
    points = inside(domain, 20)
    assert back.matrix(points).tobytes() == basis.matrix(points).tobytes()


def test_functions_in_the_span_are_found_and_others_are_projected():
    kernel = Matern(2.5, 0.5)
    basis = landmarks(kernel, SQUARE, size=200)
    points = inside(SQUARE, 400)
    near = basis.matrix(points) @ basis.matrix(points[:5]).T
    # 200 landmarks leave little of a kernel this smooth.
    np.testing.assert_allclose(near, kernel(points, points[:5]), atol=2e-3)


def test_singular_matrices_lose_points_and_not_digits():
    kernel = Gaussian(1.0)
    basis = landmarks(kernel, (0.0, 1.0), np.linspace(0, 1, 400))
    assert basis.size < 20
    assert factor(kernel, basis.points).diagonal().min() ** 2 > CUT
    points = np.linspace(0, 1, 77)
    table = basis.matrix(points)
    np.testing.assert_allclose(table @ table.T, kernel(points, points), atol=1e-8)


def test_repeated_points_count_once():
    basis = landmarks(Exponential(0.3), (0.0, 1.0), [0.2, 0.2, 0.7, 0.7, 0.2])
    assert sorted(basis.points) == [(0.2,), (0.7,)]


def test_points_are_spread_over_the_domain_without_any_draw():
    assert spread((0, 2), 3).tolist() == [[0.0], [1.0], [2.0]]
    assert spread((0, 2), 1).tolist() == [[1.0]]
    points = spread(SQUARE, 100)
    assert points.shape == (100, 2)
    assert (points == spread(SQUARE, 100)).all()
    # A low-discrepancy sequence: each quarter of the box holds a quarter of the points, but for one or two.
    for low in (0.0, 0.5):
        for left in (-1.0, 0.5):
            inside = (points >= [low, left]).all(axis=1) & (points < [low + 0.5, left + 1.5]).all(axis=1)
            assert 23 <= inside.sum() <= 27


def test_means_over_boxes_agree_with_random_points():
    for domain, size in (((0.0, 1.0), 10), (SQUARE, 12), ([(0.0, 1.0)] * 4, 10)):
        basis = landmarks(Gaussian(0.8), domain, size=size)
        table = basis.matrix(inside(domain, 40_000, seed=1))
        np.testing.assert_allclose(basis.gram(), table.T @ table / len(table), atol=0.02)
    assert not basis.orthonormal
    assert not basis.frequencies.any()


@pytest.mark.parametrize(
    ("wrong", "about"),
    [
        (lambda: landmarks(Gaussian(1.0), (0, 1)), ("points",)),
        (lambda: landmarks(Gaussian(1.0), (0, 1), [0.5], size=1), ("points",)),
        (lambda: landmarks("gaussian", (0, 1), size=3), ("kernel", "gaussian")),
        (lambda: Landmarks(cosine, as_domain((0, 1)), ((0.5,),)), ("kernel",)),
        (lambda: landmarks(Gaussian(1.0), (0, 1), size=0), ("size", 0)),
        (lambda: spread((0, 1), 0), ("size", 0)),
        (lambda: landmarks(Gaussian(1.0), (0, 1), [0.5, 2.0]), ("points",)),
        (lambda: landmarks(BrownianMotion(), (0, 1), [0.0]), ("kernel",)),
        (lambda: Landmarks(Gaussian(1.0), as_domain((0, 1)), ((0.5,), (0.5,))), ("points",)),
        (lambda: landmarks(Gaussian(1.0), (0, 1), size=3).matrix([0.5], 1), ("order", (1,))),
    ],
)
def test_what_is_wrong_is_said(wrong, about):
    with refused(UsageError, *about):
        wrong()

"""Feature maps: inner products near the kernel, lengths never above it, the same in every file."""

from __future__ import annotations

import json

import numpy as np
import pytest
from refusals import refused

from dpfda.bases.domain import as_domain
from dpfda.bases.features import (
    FourierFeatures,
    MercerFeatures,
    fourier_features,
    fourier_features_from_dict,
    landmarks,
    mercer_features,
    mercer_features_from_dict,
    reach,
)
from dpfda.errors import UsageError
from dpfda.kernels import Anisotropic, BrownianMotion, Exponential, Gaussian, Matern, Periodic

SQUARE = [(0.0, 1.0), (-1.0, 2.0)]
WAVES = {
    "Gaussian on a line": (Gaussian(0.1), (0.0, 1.0)),
    "Gaussian in five dimensions": (Gaussian(2.0), [(0.0, 1.0)] * 5),
    "Matérn 3/2 in the plane": (Matern(1.5, 0.7), SQUARE),
    "exponential, scaled": (2.5 * Exponential(1.0), (0.0, 1.0)),
    "lengths by side": (Anisotropic(Gaussian(1.0), ((0.5, 0.0), (0.4, 2.0))), SQUARE),
}
EIGEN = {
    "exponential on a line": (Exponential(0.3), (0.0, 1.0), 400),
    "Matérn 3/2 in the plane": (Matern(1.5, 1.0), SQUARE, 120),
    "Gaussian in three dimensions": (Gaussian(1.0), [(0.0, 1.0)] * 3, 60),
}


def inside(domain, size, seed=0):
    lows, highs = np.array(as_domain(domain).sides).T
    return lows + (highs - lows) * np.random.default_rng(seed).uniform(size=(size, len(lows)))


@pytest.mark.parametrize(("kernel", "domain"), WAVES.values(), ids=WAVES.keys())
def test_waves_have_the_length_of_the_kernel_exactly_and_come_near_it(kernel, domain):
    basis = fourier_features(kernel, domain, 4000)
    points = inside(domain, 60)
    table = basis.matrix(points)
    variance = kernel(points[:1], points[:1])[0, 0]
    np.testing.assert_allclose((table**2).sum(axis=1), variance, rtol=1e-12)
    np.testing.assert_allclose(table @ table.T, kernel(points, points), atol=0.02 * variance)
    assert reach(basis) == pytest.approx(np.sqrt(variance), rel=1e-12)


@pytest.mark.parametrize(("kernel", "domain", "size"), EIGEN.values(), ids=EIGEN.keys())
def test_eigenfunctions_sum_to_the_kernel_from_below(kernel, domain, size):
    basis = mercer_features(kernel, domain, size)
    points = inside(domain, 80)
    table = basis.matrix(points)
    variance = np.array([kernel(point[None], point[None])[0, 0] for point in points])
    assert ((table**2).sum(axis=1) <= variance * (1 + 1e-9)).all()
    np.testing.assert_allclose(table @ table.T, kernel(points, points), atol=0.1)
    np.testing.assert_allclose(basis.gram(), np.diag(basis.eigenvalues))
    assert (np.diff(basis.eigenvalues) <= 1e-15).all()
    assert not basis.orthonormal


def test_a_power_of_the_kernel_has_powers_of_its_eigenvalues():
    plain, squared = (mercer_features(Matern(1.5, 0.5), (0, 1), 20, power=power) for power in (1.0, 2.0))
    np.testing.assert_allclose(squared.eigenvalues, plain.eigenvalues**2, rtol=1e-12)
    points = inside((0, 1), 5)
    np.testing.assert_allclose(squared.matrix(points), plain.matrix(points) * np.sqrt(plain.eigenvalues), rtol=1e-12)
    assert (squared.frequencies == plain.frequencies).all()


def test_vanishing_eigenvalues_are_left_out():
    assert mercer_features(Gaussian(1.0), (0, 1), 60).size < 20


@pytest.mark.parametrize(
    ("basis", "read"),
    [
        (fourier_features(Matern(2.5, 0.5), SQUARE, 30), fourier_features_from_dict),
        (mercer_features(Gaussian(1.0), SQUARE, 20, power=1.5), mercer_features_from_dict),
    ],
    ids=["waves", "eigenfunctions"],
)
def test_files_give_the_same_functions_bit_for_bit(basis, read):
    plain = json.loads(json.dumps(basis.describe()))
    assert plain.pop("family") == basis.family
    back = read(**plain)
    assert back == basis
    points = inside(SQUARE, 7)
    assert back.matrix(points).tobytes() == basis.matrix(points).tobytes()


@pytest.mark.parametrize(
    ("basis", "near"),
    [
        (fourier_features(Gaussian(1.0), SQUARE, 20), 1e-3),
        (fourier_features(Gaussian(1.0), [(0, 1)] * 4, 20), 0.01),
        (mercer_features(Gaussian(1.0), SQUARE, 10), 1e-3),
    ],
    ids=["plane", "four dimensions", "eigenfunctions"],
)
def test_means_over_the_domain_agree_with_random_points(basis, near):
    """Standard errors of 200,000 draws are below a third of what is allowed; seeded."""
    table = basis.matrix(inside(basis.domain, 200_000))
    np.testing.assert_allclose(basis.gram(), table.T @ table / len(table), atol=3 * near)


def test_the_reach_is_that_of_the_kernel_where_landmarks_stand():
    assert reach(landmarks(Gaussian(0.5), SQUARE, size=50)) == pytest.approx(1.0, abs=1e-9)
    # Brownian motion is largest at the corner.
    assert reach(landmarks(BrownianMotion(), (0.0, 4.0), size=9)) == pytest.approx(2.0, abs=1e-9)
    assert reach(landmarks(Gaussian(20.0), [(0, 1)] * 12, size=20)) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(
    ("wrong", "about"),
    [
        (lambda: fourier_features(Periodic(1.0, period=1.0), (0, 1), 10), ("kernel",)),
        (lambda: fourier_features(Gaussian(1.0), (0, 1), 1), ("size", 1)),
        (lambda: fourier_features(Gaussian(1.0), (0, 1), 10).matrix([0.5], 1), ("order", (1,))),
        (lambda: FourierFeatures(as_domain((0, 1)), ((1.0, 2.0),), 1.0), ("waves", (1, 2))),
        (lambda: FourierFeatures(as_domain((0, 1)), ((1.0,),), 0.0), ("variance", 0.0)),
        (lambda: MercerFeatures(Gaussian(1.0), as_domain([(0, 1)] * 4), 3), ("domain", 4)),
        (lambda: mercer_features(Gaussian(1.0), (0, 1), 0), ("size", 0)),
    ],
)
def test_what_is_wrong_is_said(wrong, about):
    with refused(UsageError, *about):
        wrong()


@pytest.mark.parametrize("domain", [[(0.3, 1.7)], [(0.0, 1.0), (-2.0, 5.0)]])
def test_pairs_of_waves_have_the_means_that_quadrature_gives(domain: list[tuple[float, float]]) -> None:
    basis = fourier_features(Gaussian(rho=0.5), domain, 40)
    points, weights = basis.nodes()
    table = basis.matrix(points)
    assert basis.gram() == pytest.approx((table.T * weights) @ table, abs=1e-14)

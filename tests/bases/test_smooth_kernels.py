"""Tests of smooth kernels: few polynomials find their eigenvalues, more complete their functions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from dpfda.arrays import Array, ArrayLike
from dpfda.bases import as_domain, galerkin, mercer
from dpfda.bases.galerkin import NOISE, Completed, interval_matrix, interval_spectrum, smooth_matrix, smooth_spectrum
from dpfda.bases.mercer import decompose
from dpfda.bases.projection import gauss
from dpfda.kernels import Exponential, Gaussian, Kernel, Matern, Periodic, RationalQuadratic

SMOOTH: list[Kernel] = [
    Gaussian(0.1),
    Gaussian.from_length(0.02),
    RationalQuadratic(0.2, 1.0),
    Periodic(0.7, 1.0),
    0.3 * Gaussian.from_length(0.05) + Gaussian(4.0),
]
every_smooth = pytest.mark.parametrize("kernel", SMOOTH, ids=str)
UNIT = as_domain((0, 1))


@dataclass(frozen=True, slots=True)
class Boaster(Kernel):
    """An exponential kernel that says it is smooth."""

    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        return Exponential(0.5)(s, t)

    @property
    def smoothness(self) -> float:
        return math.inf


@every_smooth
def test_one_rule_for_both_variables_agrees_with_the_rule_cut_along_the_diagonal(kernel: Kernel) -> None:
    domain = as_domain((0.2, 1.4))
    plain, cut = smooth_matrix(kernel, domain, 256)[:96, :96], interval_matrix(kernel, domain, 96)
    np.testing.assert_allclose(plain, cut, rtol=0, atol=1e-14)


@every_smooth
def test_many_functions_are_orthonormal_and_those_without_an_eigenvalue_are_polynomials(kernel: Kernel) -> None:
    basis = mercer(kernel, (-1, 1), 300)
    nodes, weights = gauss(500)
    table = basis.matrix(2 * nodes - 1)
    np.testing.assert_allclose((table.T * weights) @ table, np.eye(300), rtol=0, atol=1e-12)
    eigenvalues = basis.eigenvalues
    assert eigenvalues is not None
    kept = int((eigenvalues > 0).sum())
    assert 3 < kept < 290
    assert (eigenvalues[:kept] > NOISE * eigenvalues[0]).all()
    assert (eigenvalues[kept:] == 0).all()
    assert (basis.matrix([1.0])[0] > -1e-6).all()  # sines of a periodic kernel vanish there


@every_smooth
def test_leading_functions_do_not_depend_on_how_many_are_asked_for(kernel: Kernel) -> None:
    few, many = mercer(kernel, (0, 1), 6), mercer(kernel, (0, 1), 500)
    points = np.linspace(0, 1, 40)
    np.testing.assert_allclose(many.matrix(points)[:, :6], few.matrix(points), rtol=0, atol=1e-13)
    assert many.eigenvalues is not None
    assert few.eigenvalues is not None
    assert np.array_equal(many.eigenvalues[:6], few.eigenvalues)


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_of_completed_series_agree_with_finite_differences(order: int) -> None:
    assert isinstance(decompose(Gaussian(0.1), UNIT, 60), Completed)
    basis, step, points = mercer(Gaussian(0.1), (0, 1), 60), 1e-5, np.array([0.2, 0.5, 0.81])
    moved = [basis.matrix(points + k * step, order - 1) for k in (-2, -1, 1, 2)]
    expected = (moved[0] - 8 * moved[1] + 8 * moved[2] - moved[3]) / (12 * step)
    actual = basis.matrix(points, order)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-7 * np.abs(expected).max())


def test_a_kernel_that_only_says_it_is_smooth_is_cut_along_the_diagonal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(galerkin, "SMOOTH_DEGREES", (64, 128))
    assert smooth_spectrum(Boaster(), UNIT, 5) is None
    exact = mercer(Exponential(0.5), (0, 1), 5).eigenvalues
    np.testing.assert_allclose(interval_spectrum(Boaster(), UNIT, 5).eigenvalues, exact, rtol=0, atol=1e-14)


def test_completion_is_the_same_whatever_signs_and_rotations_the_machine_chose() -> None:
    """The complement of three columns, from two bases of their span, comes out alike up to signs."""
    generator = np.random.default_rng(5)
    vectors = np.linalg.qr(np.eye(20)[:, :3] + 0.1 * generator.normal(size=(20, 3)))[0]
    turned = vectors @ np.linalg.qr(generator.normal(size=(3, 3)))[0]
    one, other = (galerkin._completed(columns, np.arange(20), 12)[:, 3:] for columns in (vectors, turned))
    np.testing.assert_allclose(np.abs(np.sum(one * other, axis=0)), 1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.T @ vectors, 0, atol=1e-14)
    np.testing.assert_allclose(one.T @ one, np.eye(9), atol=1e-14)


def test_a_kernel_on_a_box_is_completed_too() -> None:
    basis = mercer(Matern(99.0, 30.0), [(0, 1), (0, 1)], 60)  # almost a Gaussian of long range
    assert basis.eigenvalues is not None
    assert (basis.eigenvalues[40:] == 0).all()
    axis, weights = gauss(20)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    table = basis.matrix(points)
    gram = (table.T * np.multiply.outer(weights, weights).ravel()) @ table
    np.testing.assert_allclose(gram, np.eye(60), rtol=0, atol=1e-12)

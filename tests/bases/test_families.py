"""Tests of what is particular to each family, against formulas and known values."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from dpfda.bases import Domain, as_domain, beam, bernstein, bspline, by_name, cosine, fourier, legendre, tensor
from dpfda.bases.projection import composite, gauss, waves

U = np.linspace(0, 1, 41)


def test_importing_bases_does_not_load_scipy() -> None:
    code = "import sys, dpfda.bases; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_cosines_and_fourier_functions_are_their_formulas() -> None:
    np.testing.assert_allclose(cosine((0, 2), 4).matrix(2 * U)[:, 3], math.sqrt(2) * np.cos(3 * np.pi * U), atol=1e-14)
    table = fourier((0, 2), 6).matrix(2 * U)
    np.testing.assert_allclose(table[:, 4], math.sqrt(2) * np.sin(4 * np.pi * U), atol=1e-14)
    np.testing.assert_allclose(table[:, 5], math.sqrt(2) * np.cos(6 * np.pi * U), atol=1e-14)
    assert fourier((0, 1), 6).frequencies.tolist() == [0, 2, 2, 4, 4, 6]


@pytest.mark.parametrize("u", [0.0, 1e-4, 0.03, 0.4, 0.5, 0.77, 0.999, 1.0])
def test_legendre_polynomials_agree_with_exact_fractions_up_to_degree_300(u: float) -> None:
    x = 2 * Fraction(u) - 1
    exact = [Fraction(1), x]
    for k in range(1, 300):
        exact.append(((2 * k + 1) * x * exact[-1] - k * exact[-2]) / (k + 1))
    expected = [math.sqrt(2 * k + 1) * float(value) for k, value in enumerate(exact)]
    np.testing.assert_allclose(legendre((0, 1), 301).matrix([u])[0], expected, rtol=0, atol=2e-14)


def test_high_derivatives_of_legendre_polynomials_agree_with_numpy() -> None:
    series = np.polynomial.Legendre([0] * 9 + [1])
    for order in (4, 9, 10):
        expected = series.deriv(order)(2 * U - 1) * 2.0**order * math.sqrt(19)
        np.testing.assert_allclose(legendre((0, 1), 10).matrix(U, order)[:, 9], expected, rtol=1e-12, atol=1e-2)


@pytest.mark.parametrize("size", [300, 301])
def test_three_hundred_beam_modes_are_orthonormal(size: int) -> None:
    nodes, weights = composite(waves(size))
    table = beam((0, 1), size).matrix(nodes.ravel())
    np.testing.assert_allclose((table.T * weights.ravel()) @ table, np.eye(size), rtol=0, atol=1e-12)


def test_beam_modes_solve_the_equation_of_the_free_beam() -> None:
    basis = beam((0, 1), 300)
    roots = np.array([0, 0, 4.730040744862704, 7.853204624095838, 10.995607838001671])  # of cosh b cos b = 1
    points = np.linspace(0, 1, 33)
    fourth, values = basis.matrix(points, 4), basis.matrix(points)
    np.testing.assert_allclose(fourth[:, :5], values[:, :5] * roots**4, rtol=1e-10, atol=1e-8)
    speeds = np.pi * (np.arange(300) - 0.5)
    for order in (2, 3):  # free ends
        at_ends = basis.matrix([0.0, 1.0], order)[:, 2:] / speeds[2:] ** order
        np.testing.assert_allclose(at_ends, 0, atol=1e-12)


def test_a_smooth_curve_needs_fewer_beam_modes_than_cosines() -> None:
    grid, weights = (part.ravel() for part in composite(waves(400)))
    curve = np.exp(grid)
    mode = np.arange(40, 60)
    in_beam = np.abs((weights * curve) @ beam((0, 1), 60).matrix(grid))[mode]
    in_cosines = np.abs((weights * curve) @ cosine((0, 1), 60).matrix(grid))[mode]
    # Integration by parts leaves 2 f''/(pi j)^3 and sqrt(2) f'/(pi j)^2 from each end.
    assert (in_beam * (np.pi * mode) ** 3 <= 2.1 * (1 + math.e)).all()
    assert (in_cosines * (np.pi * mode) ** 2 >= 1.4 * (math.e - 1)).all()


@pytest.mark.parametrize(("size", "degree"), [(12, 3), (9, 1), (10, 2), (200, 3)])
def test_splines_are_ordered_from_smooth_to_rough(size: int, degree: int) -> None:
    basis = bspline((0, 1), size, degree=degree)
    nodes, weights = composite(basis.breaks(0))
    table = basis.matrix(nodes.ravel(), min(2, degree))
    penalty = (table.T * weights.ravel()) @ table
    roughness = np.diag(penalty)
    assert (np.diff(roughness[min(2, degree) :]) > 0).all()
    np.testing.assert_allclose(penalty, np.diag(roughness), rtol=0, atol=1e-9 * roughness[-1])
    np.testing.assert_allclose(basis.gram(), np.eye(size), rtol=0, atol=0)


def test_splines_hold_all_polynomials_of_their_degree() -> None:
    basis = bspline((0, 5), 9, degree=3)
    grid = np.linspace(0, 5, 200)
    cubic = np.polynomial.Polynomial([1, -2, 0.5, 0.3])
    found = basis.coordinates(cubic(grid), grid)
    for order in range(5):
        expected = cubic.deriv(order)(grid) if order else cubic(grid)
        np.testing.assert_allclose(basis.evaluate(found, grid, order), expected, rtol=0, atol=1e-9)


def test_two_hundred_splines_are_orthonormal() -> None:
    basis = bspline((0, 1), 200)
    nodes, weights = composite(basis.breaks(0))
    table = basis.matrix(nodes.ravel())
    np.testing.assert_allclose((table.T * weights.ravel()) @ table, np.eye(200), rtol=0, atol=1e-12)


def test_the_bernstein_gram_matrix_is_its_formula() -> None:
    size, degree = 8, 7
    expected = [
        [
            size * math.comb(degree, i) * math.comb(degree, j) / (math.comb(2 * degree, i + j) * (2 * degree + 1))
            for j in range(size)
        ]
        for i in range(size)
    ]
    np.testing.assert_allclose(bernstein((0, 3), size).gram(), expected, rtol=1e-12)


def test_bernstein_derivatives_beyond_the_degree_vanish() -> None:
    assert not bernstein((0, 1), 3).matrix([0.2, 0.9], 3).any()
    assert bernstein((0, 1), 1).matrix([0.2, 0.9]).tolist() == [[1.0], [1.0]]


def test_products_are_ordered_by_the_length_of_their_frequencies() -> None:
    basis = tensor(cosine((0, 1), 4), cosine((0, 1), 4), size=7)
    assert basis.index.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [0, 2], [2, 0], [1, 2]]
    np.testing.assert_allclose(basis.frequencies**2, [0, 1, 1, 2, 4, 4, 5], rtol=1e-14)
    assert basis.eigenvalues is None
    assert tensor(cosine((0, 1), 3), cosine((0, 1), 2)).size == 6


def test_mixed_derivatives_of_products_are_products_of_derivatives() -> None:
    one, other = cosine((0, 1), 3), legendre((0, 2), 3)
    basis = tensor(one, other)
    points = np.random.default_rng(0).uniform(size=(6, 2))
    expected = one.matrix(points[:, 0], 1)[:, basis.index[:, 0]] * other.matrix(points[:, 1], 2)[:, basis.index[:, 1]]
    np.testing.assert_allclose(basis.matrix(points, (1, 2)), expected, rtol=1e-13)


@pytest.mark.parametrize("name", ["beam", "bernstein", "bspline", "cosine", "fourier", "legendre", "reinsch"])
def test_a_name_gives_the_family_on_a_line_and_products_on_a_box(name: str) -> None:
    line = by_name(name, (0, 2), size=9)
    assert (line.family, line.size, line.domain) == (name, 9, as_domain((0, 2)))
    box = by_name(name, [(0, 1), (0, 2)], size=16)
    assert (box.size, box.domain) == (16, as_domain([(0, 1), (0, 2)]))
    cut = by_name("beam", [(0, 1)] * 3, size=20)
    assert [factor.size for factor in cut.factors] == [3, 3, 3]  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", [1, 2, 3, 16, 101, 1000])
def test_gauss_rules_are_exact_for_legendre_polynomials(size: int) -> None:
    nodes, weights = gauss(size)
    assert nodes.shape == weights.shape == (size,)
    highest = min(size, 200)
    table = legendre((0, 1), highest).matrix(nodes)
    np.testing.assert_allclose((table.T * weights) @ table, np.eye(highest), rtol=0, atol=1e-13)


def test_domains_know_their_sides() -> None:
    box = Domain(((0.0, 1.0), (2.0, 5.0)))
    assert (box.dimension, box.lengths) == (2, (1.0, 3.0))
    assert box.grid(2).tolist() == [[0, 2], [0, 5], [1, 2], [1, 5]]
    assert as_domain(box) is box
    assert as_domain((0, 24)).points([24.0 + 1e-9]).tolist() == [[24.0]]

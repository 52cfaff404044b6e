"""Each formula against another one for the same thing."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss

from dpfda.kernels import (
    Anisotropic,
    BrownianBridge,
    BrownianMotion,
    Exponential,
    Gaussian,
    Kernel,
    Matern,
    Periodic,
    RationalQuadratic,
    Sobolev,
    Tensor,
)
from dpfda.kernels.base import distances
from dpfda.kernels.sobolev import scaled_bernoulli

DISTANCES = np.array([0.0, 1e-6, 0.01, 0.3, 1.0, 2.7, 9.0])


def at(kernel: Kernel, distance: np.ndarray) -> np.ndarray:
    return kernel([0.0], distance)[0]


def bessel(order: float, x: np.ndarray) -> np.ndarray:
    from scipy.special import kv

    return 2 ** (1 - order) / math.gamma(order) * x**order * kv(order, x)


def test_gaussian_kernels_agree_in_both_parameters() -> None:
    np.testing.assert_allclose(at(Gaussian(rho=0.7), DISTANCES), np.exp(-(DISTANCES**2) / 0.7), rtol=1e-14)
    np.testing.assert_allclose(
        at(Gaussian.from_length(0.7), DISTANCES), np.exp(-((DISTANCES / 0.7) ** 2) / 2), rtol=1e-13
    )


@pytest.mark.parametrize("order", [0.5, 1.5, 2.5, 3.5, 7.5, 20.5])
def test_closed_half_integer_orders_agree_with_the_bessel_form(order: float) -> None:
    distance = np.array([0.05, 0.3, 1.0, 2.7, 6.0])
    expected = bessel(order, math.sqrt(2 * order) * distance / 0.8)
    np.testing.assert_allclose(at(Matern(order, rho=0.8), distance), expected, rtol=1e-12)


@pytest.mark.parametrize("order", [0.01, 0.3, 0.7, 1.0, 1.2, 2.0, 3.3, 12.0])
def test_other_orders_agree_with_the_bessel_form(order: float) -> None:
    distance = np.array([0.05, 0.3, 1.0, 2.7, 6.0])
    expected = bessel(order, math.sqrt(2 * order) * distance / 0.8)
    np.testing.assert_allclose(at(Matern(order, rho=0.8), distance), expected, rtol=1e-12)


def test_matern_has_the_textbook_polynomials() -> None:
    """Rasmussen and Williams, Gaussian Processes for Machine Learning, (4.17)."""
    three, five = math.sqrt(3) * DISTANCES / 1.3, math.sqrt(5) * DISTANCES / 1.3
    np.testing.assert_allclose(at(Matern(0.5, rho=1.3), DISTANCES), np.exp(-DISTANCES / 1.3), rtol=1e-14)
    np.testing.assert_allclose(at(Matern(1.5, rho=1.3), DISTANCES), (1 + three) * np.exp(-three), rtol=1e-13)
    np.testing.assert_allclose(
        at(Matern(2.5, rho=1.3), DISTANCES), (1 + five + five**2 / 3) * np.exp(-five), rtol=1e-13
    )


@pytest.mark.parametrize("order", [0.3, 0.5, 1.0, 2.5, 20.5, 60.2, 150.0, 1e4])
def test_matern_is_a_mixture_of_gaussian_kernels(order: float) -> None:
    """C(d) = E exp(-d^2 order / (2 G)) with G ~ Gamma(order), since its spectral density is Student's.

    Another road to every order, by quadrature in u = log(G / order).
    """
    from scipy.integrate import quad

    def expected(d: float) -> float:
        def integrand(u: float) -> float:
            log = order * (u - math.exp(u)) - d * d / 2 * math.exp(-u) + order * math.log(order) - math.lgamma(order)
            return math.exp(log)

        width = 10 / math.sqrt(order) + 4 * d * d / max(order, 1) + (30 / order if order < 3 else 0)
        return float(quad(integrand, -width, width, epsabs=1e-13, epsrel=1e-12, limit=400)[0])

    distance = np.array([0.1, 0.5, 1.0, 2.0])
    np.testing.assert_allclose(at(Matern(order, rho=1.0), distance), [expected(d) for d in distance], rtol=1e-7)


@pytest.mark.parametrize("order", [99.5, 99.7])
def test_the_expansion_for_large_orders_takes_over_without_a_step(order: float) -> None:
    from dpfda.kernels.matern import _climb, _expansion

    x = np.array([0.0, 1e-8, 0.1, 1.0, 10.0, 100.0])
    np.testing.assert_allclose(_expansion(order, x), _climb(order, x), rtol=2e-12)


@pytest.mark.parametrize("order", [1e-3, 0.3, 0.5, 1.0, 1.5, 2.0, 7.3, 50.5, 99.9, 100.0, 1e6])
def test_matern_is_a_number_in_the_unit_interval_at_every_distance(order: float) -> None:
    """Warnings are errors here, so this also says that no distance overflows."""
    distance = np.array([0.0, 5e-324, 1e-320, 1e-300, 1e-160, 1e-16, 1e-8, 1.0, 1e3, 1e10, 1e160, 1e300, 1.7e308])
    values = at(Matern(order, rho=1.0), distance)
    assert values[0] == 1.0
    assert ((values >= 0) & (values <= 1)).all()
    assert (np.diff(values) <= 1e-14).all()
    assert values[-1] == 0.0


@pytest.mark.parametrize("rho", [1e-60, 1e-20, 1e60])
@pytest.mark.parametrize("order", [0.3, 1.5, 200.0])
def test_extreme_length_scales_give_the_limit(order: float, rho: float) -> None:
    values = Matern(order, rho=rho)([0.0, 1.0], [0.0, 1.0])
    np.testing.assert_array_equal(np.diag(values), 1.0)
    assert values[0, 1] == (0.0 if rho < 1 else pytest.approx(1.0))


def test_huge_distances_give_zero_for_every_isotropic_kernel() -> None:
    for kernel in (Gaussian(rho=1.0), Exponential(rho=1.0), RationalQuadratic(length=1.0, shape=3.0)):
        np.testing.assert_array_equal(kernel([-1e308], [1e308]), 0.0)


def test_exponential_is_matern_of_order_one_half() -> None:
    np.testing.assert_array_equal(at(Exponential(rho=1.3), DISTANCES), at(Matern(0.5, rho=1.3), DISTANCES))


def test_rational_quadratic_has_its_formula_and_its_gaussian_limit() -> None:
    expected = (1 + DISTANCES**2 / (2 * 1.5 * 0.49)) ** -1.5
    np.testing.assert_allclose(at(RationalQuadratic(length=0.7, shape=1.5), DISTANCES), expected, rtol=1e-13)
    limit = at(Gaussian.from_length(1.7), DISTANCES)
    np.testing.assert_allclose(at(RationalQuadratic(length=1.7, shape=1e12), DISTANCES), limit, rtol=1e-9)


def test_periodic_is_gaussian_in_the_chord_of_the_circle() -> None:
    angle = 2 * math.pi * DISTANCES / 24.0
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    expected = Gaussian.from_length(0.6)(circle, circle)
    np.testing.assert_allclose(Periodic(length=0.6, period=24.0)(DISTANCES, DISTANCES), expected, rtol=1e-13)


def test_periodic_repeats_after_very_many_periods() -> None:
    kernel = Periodic(length=0.6, period=24.0)
    np.testing.assert_array_equal(kernel([0.0], [24.0 * 10**9 + 5.0]), kernel([0.0], [5.0]))


def test_brownian_kernels_have_their_formulas() -> None:
    s, t = np.array([0.0, 0.3, 2.0]), np.array([0.1, 0.3, 1.5, 2.0])
    smaller = np.array([[min(a, b) for b in t] for a in s])
    np.testing.assert_array_equal(BrownianMotion()(s, t), smaller)
    np.testing.assert_allclose(BrownianBridge(length=2.0)(s, t), smaller - np.outer(s, t) / 2.0, atol=1e-16)


def test_scaled_bernoulli_polynomials_have_their_known_coefficients() -> None:
    """Abramowitz and Stegun, table 23.1."""
    x = np.linspace(0, 1, 11)
    np.testing.assert_allclose(scaled_bernoulli(1, x), x - 1 / 2, atol=1e-16)
    np.testing.assert_allclose(2 * scaled_bernoulli(2, x), x**2 - x + 1 / 6, atol=1e-16)
    np.testing.assert_allclose(24 * scaled_bernoulli(4, x), x**4 - 2 * x**3 + x**2 - 1 / 30, atol=1e-15)
    six = x**6 - 3 * x**5 + 5 / 2 * x**4 - x**2 / 2 + 1 / 42
    np.testing.assert_allclose(720 * scaled_bernoulli(6, x), six, atol=1e-15)


@pytest.mark.parametrize("degree", [8, 20, 60])
def test_scaled_bernoulli_polynomials_keep_their_digits_in_high_degree(degree: int) -> None:
    """Their Fourier series (DLMF 24.8.1): -2 (2 pi)^-n sum_k k^-n cos(2 pi k x - pi n / 2); 200 terms leave 1e-17."""
    x, k = np.linspace(0, 1, 11), np.arange(1, 200)
    series = (np.cos(2 * math.pi * np.outer(x, k) - math.pi * degree / 2) * k ** float(-degree)).sum(axis=1)
    expected = -2 * (2 * math.pi) ** -degree * series
    np.testing.assert_allclose(scaled_bernoulli(degree, x), expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("order", [1, 2, 3])
def test_sobolev_reproduces_every_polynomial(order: int) -> None:
    """<f, K(., t)> = f(t) for monomials, the inner product taken by quadrature on each side of the kink at t.

    Derivatives of s -> K(s, t) come from polynomials fitted on each side: it is one, of degree 2 order, there.
    """
    nodes, weights = leggauss(20)
    kernel = Sobolev(order)
    for t in (0.0, 0.3, 0.75, 1.0):
        for degree in range(7):
            f = np.polynomial.Polynomial([0.0] * degree + [1.0])
            integrals = np.zeros((2, order))  # of the derivatives of f and of the section, below the order
            last = 0.0
            for low, high in ((0.0, t), (t, 1.0)):
                if low == high:
                    continue
                x, w = (low + high) / 2 + (high - low) / 2 * nodes, (high - low) / 2 * weights
                section = np.polynomial.Polynomial.fit(x, kernel(x, [t])[:, 0], 2 * order)
                for k in range(order):
                    integrals[0, k] += w @ f.deriv(k)(x) if k else w @ f(x)
                    integrals[1, k] += w @ section.deriv(k)(x) if k else w @ section(x)
                last += w @ (f.deriv(order)(x) * section.deriv(order)(x))
            assert integrals[0] @ integrals[1] + last == pytest.approx(f(t), abs=1e-8)


def test_sobolev_moves_with_its_interval() -> None:
    unit = np.linspace(0, 1, 9)
    np.testing.assert_allclose(
        Sobolev(2, start=-3.0, length=24.0)(24.0 * unit - 3.0, 24.0 * unit - 3.0), Sobolev(2)(unit, unit), rtol=1e-13
    )


def test_tensor_is_the_product_over_axes() -> None:
    points = np.random.default_rng(3).uniform(size=(5, 2))
    kernel = Tensor((Exponential(rho=0.5), BrownianMotion()))
    expected = Exponential(rho=0.5)(points[:, 0], points[:, 0]) * BrownianMotion()(points[:, 1], points[:, 1])
    np.testing.assert_allclose(kernel(points, points), expected, rtol=1e-15)


def test_a_tensor_of_gaussians_is_an_anisotropic_gaussian() -> None:
    points = np.random.default_rng(3).uniform(size=(5, 2))
    tensor = Tensor((Gaussian(rho=0.25), Gaussian(rho=4.0)))
    np.testing.assert_allclose(
        tensor(points, points), Anisotropic(Gaussian(rho=1.0), [0.5, 2.0])(points, points), rtol=1e-13
    )


def test_anisotropic_uses_the_inverse_length_matrix() -> None:
    lengths = np.array([[0.5, 0.1], [-0.3, 2.0]])
    s, t = np.random.default_rng(3).uniform(size=(2, 4, 2))
    gaps = (s[:, None] - t[None]) @ np.linalg.inv(lengths).T
    expected = np.exp(-np.linalg.norm(gaps, axis=2) / 1.3)
    np.testing.assert_allclose(Anisotropic(Exponential(rho=1.3), lengths)(s, t), expected, rtol=1e-13)


def test_lengths_of_very_different_size_are_not_singular() -> None:
    kernel = Anisotropic(Exponential(rho=1.0), [1e-10, 1e10])
    assert kernel([[1e-10, 0.0]], [[0.0, 0.0]])[0, 0] == pytest.approx(math.exp(-1))


def test_distances_of_close_points_far_from_zero_keep_their_digits() -> None:
    one, gap = np.array([[1e8, 1e8]]), np.array([[3.0, 4.0]]) * 2.0**-20
    np.testing.assert_array_equal(distances(one, one + gap), 5 * 2.0**-20)


def test_importing_the_kernels_loads_no_scipy() -> None:
    code = "import sys, dpfda.kernels; sys.exit(any(m.split('.')[0] == 'scipy' for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

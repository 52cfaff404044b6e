"""Tests of the spectra of kernels, against high-precision values and their own equation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from basis_members import MEMBERS
from scipy.special import zeta

from dpfda.bases import Basis, as_domain, mercer, tensor
from dpfda.bases.galerkin import interval_spectrum
from dpfda.bases.known_spectra import CLOSED_FORMS
from dpfda.bases.mercer import Mercer
from dpfda.kernels import BrownianBridge, BrownianMotion, Exponential, Gaussian, Kernel, Matern, Periodic, Sobolev
from dpfda.kernels import Tensor as TensorKernel

REFERENCE = json.loads((Path(__file__).parent / "kernel_eigenvalues.json").read_text())["values"]
KERNELS = {
    "exp": Exponential,
    "m32": lambda rho: Matern(1.5, rho),
    "m52": lambda rho: Matern(2.5, rho),
    "gauss": Gaussian.from_length,
}
ON_A_LINE = {
    name: basis for name, basis in MEMBERS.items() if isinstance(basis, Mercer) and basis.domain.dimension == 1
}


def reference_kernel(name: str) -> Kernel:
    family, rho = name.split("_rho")
    kernel: Kernel = KERNELS[family](float(rho))
    return kernel


@pytest.mark.parametrize("name", REFERENCE)
def test_eigenvalues_agree_with_fifty_digit_arithmetic(name: str) -> None:
    expected = np.array([float(value) for value in REFERENCE[name]])
    basis = mercer(reference_kernel(name), (0, 1), len(expected))
    np.testing.assert_allclose(basis.eigenvalues, expected, rtol=0, atol=2e-14)


@pytest.mark.parametrize("name", [name for name in REFERENCE if not name.startswith("gauss")])
def test_eigenvalues_in_closed_form_are_right_to_the_last_digits(name: str) -> None:
    expected = np.array([float(value) for value in REFERENCE[name]])
    rtol = 2e-15 if name.startswith("exp") else 4e-15  # a power of 2 or 3 more
    np.testing.assert_allclose(mercer(reference_kernel(name), (0, 1), 20).eigenvalues, expected, rtol=rtol)


@pytest.mark.parametrize("basis", ON_A_LINE.values(), ids=ON_A_LINE.keys())
def test_eigenfunctions_solve_their_equation(basis: Mercer) -> None:
    """The mean over t of K(s, t) phi(t) is the eigenvalue times phi(s); the rule is graded towards the kink at s."""
    low, high = basis.domain.sides[0]
    x, w = np.polynomial.legendre.leggauss(100)
    for s in np.linspace(low, high, 7):
        total = np.zeros(basis.size)
        for end in (low, high):
            gap = end - s
            nodes = s + gap * ((1 + x) / 2) ** 4
            weights = abs(gap) * 4 * ((1 + x) / 2) ** 3 * w / 2 / (high - low)
            total += (weights * basis.kernel([s], nodes)[0]) @ basis.matrix(nodes)
        expected = basis.eigenvalues * basis.matrix([s])[0]
        # Fractional orders converge slowly at the ends, where their eigenfunctions are not smooth.
        tolerance = 1e-9 if basis.kernel == Matern(0.8, 0.5) else 1e-11
        np.testing.assert_allclose(total, expected, rtol=0, atol=tolerance * basis.eigenvalues[0])


CLOSED = [
    (Exponential(0.2), (0.0, 1.0)),
    (Exponential(3.0), (-2.0, 5.0)),
    (Matern(0.5, 0.7), (0.0, 1.0)),
    (Matern(1.5, 0.1), (0.0, 1.0)),
    (Matern(1.5, 9.0), (-2.0, 5.0)),
    (Matern(2.5, 0.2), (0.0, 1.0)),
    (Matern(2.5, 8.0), (-2.0, 5.0)),
    (BrownianMotion(), (0.0, 1.5)),
    (BrownianBridge(0.5), (0.0, 0.5)),
    (2.5 * Exponential(1.0), (0.0, 1.0)),
    (2.5 * Matern(2.5, 1.0), (0.0, 1.0)),
]


@pytest.mark.parametrize(("kernel", "domain"), CLOSED, ids=str)
def test_closed_forms_agree_with_polynomials(kernel: Kernel, domain: tuple[float, float]) -> None:
    exact = mercer(kernel, domain, 12)
    series = interval_spectrum(kernel, as_domain(domain), 12)
    np.testing.assert_allclose(series.eigenvalues, exact.eigenvalues, rtol=0, atol=1e-14 * exact.eigenvalues[0])
    # Polynomials are accepted with a residual of 2e-11 of the largest eigenvalue: over an eigenvalue it is the error of
    # its function.
    clear = exact.eigenvalues > 1e-3 * exact.eigenvalues[0]
    assert clear.sum() >= 3
    unit = np.linspace(0, 1, 101)[:, None]
    points = domain[0] + (domain[1] - domain[0]) * unit
    for order, tolerance in ((0, 1e-9), (1, 1e-7), (2, 1e-5)):
        values = exact.matrix(points, order)[:, clear] * (domain[1] - domain[0]) ** order
        found = series.functions(unit, (order,))[:, clear]
        np.testing.assert_allclose(found, values, rtol=0, atol=tolerance * values.max())


def test_every_closed_form_is_compared_with_polynomials() -> None:
    assert {type(kernel) for kernel, _ in CLOSED} == set(CLOSED_FORMS)


def test_the_exponential_kernel_on_a_very_long_interval_has_its_closed_form_still() -> None:
    basis = mercer(Exponential(0.001), (0, 1), 500)
    grid = np.linspace(0, 1, 4001)
    weights = np.full(4001, 1 / 4000)
    weights[[0, -1]] /= 2
    table = basis.matrix(grid)
    # The trapezium rule on functions with up to 500 half-waves is good to (500/4000)^2 of their end slopes.
    np.testing.assert_allclose((table.T * weights) @ table, np.eye(500), rtol=0, atol=1e-3)
    assert (np.diff(basis.eigenvalues) < 0).all()


@pytest.mark.parametrize(("basis"), ON_A_LINE.values(), ids=ON_A_LINE.keys())
def test_eigenfunctions_are_not_negative_at_the_upper_end(basis: Basis) -> None:
    assert (basis.matrix([basis.domain.sides[0][1]])[0] > -1e-12).all()


@pytest.mark.parametrize("order", [0.8, 1.2])
def test_matern_kernels_of_any_order_keep_their_trace(order: float) -> None:
    """Eigenvalues sum to one; those beyond 60 follow the power law c (j + shift)^-(2 order + 1)."""
    eigenvalues = mercer(Matern(order, 0.5), (0, 1), 60).eigenvalues
    exponent = 2 * order + 1
    ratio = (eigenvalues[49] / eigenvalues[59]) ** (1 / exponent)
    shift = (59 - 49 * ratio) / (ratio - 1)
    tail = eigenvalues[59] * (59 + shift) ** exponent * zeta(exponent, 60 + shift)
    assert abs(eigenvalues.sum() + tail - 1) < 2e-3 * tail


def test_ties_are_separated_the_same_way_on_every_machine() -> None:
    """A periodic kernel has pairs; each comes as one even and one odd function, not as any mixture of them."""
    basis = mercer(Periodic(1.0, period=1.0), (0, 1), 9)
    points = np.linspace(0, 1, 33)
    here, there = basis.matrix(points), basis.matrix(1 - points)
    assert np.minimum(np.abs(here - there).max(axis=0), np.abs(here + there).max(axis=0)).max() < 1e-9
    np.testing.assert_allclose(basis.eigenvalues[1::2], basis.eigenvalues[2::2], rtol=1e-9)


def test_below_rounding_eigenvalues_are_zero_and_functions_still_orthonormal() -> None:
    basis = mercer(Gaussian.from_length(1.0), (0, 1), 25)
    assert (basis.eigenvalues[12:] == 0).all()
    nodes, weights = np.polynomial.legendre.leggauss(80)
    table = basis.matrix((nodes + 1) / 2)
    np.testing.assert_allclose((table.T * weights / 2) @ table, np.eye(25), rtol=0, atol=1e-12)


def test_eigenvalues_are_means_so_a_longer_interval_is_a_shorter_range() -> None:
    one, other = mercer(Matern(1.5, 0.2), (0, 1), 8), mercer(Matern(1.5, 2.0), (5, 15), 8)
    np.testing.assert_allclose(one.eigenvalues, other.eigenvalues, rtol=1e-10)


def test_a_power_raises_the_eigenvalues_only() -> None:
    plain, raised = mercer(Sobolev(1), (0, 1), 6), mercer(Sobolev(1), (0, 1), 6, power=1.5)
    np.testing.assert_allclose(raised.eigenvalues, plain.eigenvalues**1.5, rtol=1e-14)
    assert np.array_equal(raised.matrix([0.3]), plain.matrix([0.3]))


def test_tensor_kernels_on_a_box_take_the_largest_products_of_eigenvalues() -> None:
    one, other = mercer(Exponential(0.5), (0, 1), 40), mercer(BrownianMotion(), (0, 2), 40)
    kernel = 3.0 * TensorKernel((Exponential(0.5), BrownianMotion()))
    basis = mercer(kernel, [(0, 1), (0, 2)], 40)
    expected = np.sort(np.multiply.outer(3 * one.eigenvalues, other.eigenvalues).ravel())[::-1][:40]
    np.testing.assert_allclose(basis.eigenvalues, expected, rtol=1e-12)
    same = tensor(one, other, size=40)
    assert same.eigenvalues is not None
    np.testing.assert_allclose(3 * same.eigenvalues, expected, rtol=1e-12)


def test_a_gaussian_kernel_on_a_box_is_a_product_and_agrees_with_polynomials_on_the_box() -> None:
    box = [(0.0, 1.0), (0.0, 2.0)]
    product = mercer(Gaussian(2.0), box, 8)
    direct = Mercer(Gaussian(2.0), as_domain(box), 8)
    np.testing.assert_allclose(direct.eigenvalues, product.eigenvalues, rtol=0, atol=1e-13)
    points = np.random.default_rng(0).uniform(size=(20, 2)) * [1, 2]
    for order in ((0, 0), (1, 0), (1, 1)):
        np.testing.assert_allclose(direct.matrix(points, order), product.matrix(points, order), rtol=0, atol=1e-8)


def test_a_kernel_with_a_kink_on_a_box_is_decomposed_to_three_digits() -> None:
    """Compared with the product of exponentials, whose eigenvalues are exact, through the general road."""
    kernel = TensorKernel((Exponential(1.0), Exponential(1.0)))
    exact = mercer(kernel, [(0, 1), (0, 1)], 6)
    rough = Mercer(kernel, as_domain([(0, 1), (0, 1)]), 6)
    np.testing.assert_allclose(rough.eigenvalues, exact.eigenvalues, rtol=0, atol=1e-3)


def test_a_decomposition_is_made_once() -> None:
    one, other = mercer(Matern(1.5, 0.31), (0, 1), 7), mercer(Matern(1.5, 0.31), (0, 1), 7)
    assert one == other
    assert np.array_equal(one.eigenvalues, other.eigenvalues)

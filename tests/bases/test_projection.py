"""Tests of how values on a grid become coordinates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy.interpolate import CubicSpline

from dpfda.bases import beam, bernstein, bspline, cosine, legendre, mercer, tensor
from dpfda.bases.base import Basis
from dpfda.errors import UsageError
from dpfda.kernels import Matern

LINE = [cosine((0, 1), 30), legendre((-1, 1), 30), bspline((0, 3), 30), beam((0, 24), 30)]
grids = st.lists(st.floats(0, 1), min_size=1, max_size=40)


def interpolated_inner_products(basis: Basis, values: np.ndarray, grid: np.ndarray, *, spline: bool) -> np.ndarray:
    """Means of the interpolant times each function, on 36,000 Gauss nodes cut at the grid."""
    (low, high) = basis.domain.sides[0]
    edges = np.unique(np.concatenate([np.linspace(low, high, 271), grid]))
    x, w = np.polynomial.legendre.leggauss(20)
    nodes = (edges[:-1, None] + np.diff(edges)[:, None] * (x + 1) / 2).ravel()
    weights = (np.diff(edges)[:, None] * w / 2).ravel() / (high - low)
    inside = np.clip(nodes, grid[0], grid[-1])
    curve = CubicSpline(grid, values, bc_type="natural") if spline else lambda t: np.interp(t, grid, values)
    return (weights * curve(inside)) @ basis.matrix(nodes)


@pytest.mark.parametrize("basis", LINE, ids=lambda basis: basis.family)
@pytest.mark.parametrize("size", [3, 7, 50])
def test_quadrature_integrates_the_natural_spline_exactly(basis: Basis, size: int) -> None:
    low, high = basis.domain.sides[0]
    rng = np.random.default_rng(size)
    grid = low + (high - low) * (np.arange(size) + rng.uniform(0.1, 0.6, size)) / size
    values = rng.normal(size=size)
    actual = basis.projection(grid, method="quadrature") @ values
    expected = interpolated_inner_products(basis, values, grid, spline=True)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("basis", LINE, ids=lambda basis: basis.family)
@pytest.mark.parametrize("size", [1, 2, 50])
def test_on_very_uneven_grids_quadrature_integrates_straight_lines(basis: Basis, size: int) -> None:
    low, high = basis.domain.sides[0]
    rng = np.random.default_rng(size)
    grid = np.sort(rng.uniform(low, high, size))
    values = rng.normal(size=size)
    actual = basis.projection(grid, method="quadrature") @ values
    expected = interpolated_inner_products(basis, values, grid, spline=False)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)


def test_least_squares_is_chosen_where_it_is_well_conditioned_and_quadrature_elsewhere() -> None:
    basis = cosine((0, 1), 20)
    fine, coarse = np.linspace(0, 1, 50), np.linspace(0, 1, 15)
    uneven = np.linspace(0, 1, 30) ** 4
    for grid, method in [(fine, "least-squares"), (coarse, "quadrature"), (uneven, "quadrature")]:
        np.testing.assert_allclose(
            basis.projection(grid), basis.projection(grid, method=method), rtol=0, atol=1e-12, err_msg=method
        )


@given(grids)
@settings(deadline=None)
def test_a_constant_curve_is_found_on_any_grid(grid: list[float]) -> None:
    for basis in (cosine((0, 1), 5), beam((0, 1), 5)):
        expected = np.eye(5)[0]
        np.testing.assert_allclose(basis.coordinates(np.ones(len(grid)), grid), expected, rtol=0, atol=1e-9)


@given(grids, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_grid_points_does_not_matter(grid: list[float], random: object) -> None:
    basis = cosine((0, 1), 6)
    order = np.random.default_rng(random.randrange(2**31)).permutation(len(grid))  # type: ignore[attr-defined]
    values = np.cos(7 * np.array(grid))
    one = basis.coordinates(values, grid)
    other = basis.coordinates(values[order], np.array(grid)[order])
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


def test_values_at_a_repeated_point_are_averaged() -> None:
    basis = legendre((0, 1), 3)
    repeated = basis.coordinates([1.0, 2.0, 4.0, 6.0, 5.0], [0.0, 0.5, 1.0, 1.0, 0.5])
    np.testing.assert_allclose(repeated, basis.coordinates([1.0, 3.5, 5.0], [0.0, 0.5, 1.0]), rtol=0, atol=1e-14)


def test_a_projection_is_kept_and_cannot_be_written_to() -> None:
    basis = cosine((0, 1), 6)
    grid = np.linspace(0, 1, 20)
    first = basis.projection(grid)
    assert basis.projection(list(grid)) is first
    assert cosine((0, 1), 6).projection(grid) is first
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 1.0


def test_a_full_grid_on_a_box_gives_the_product_of_projections() -> None:
    one, other = cosine((0, 1), 5), legendre((0, 2), 4)
    s, t = np.linspace(0, 1, 11), np.sort(np.random.default_rng(0).uniform(0, 2, 9))
    grid = np.array([(a, b) for a in s for b in t])
    basis = tensor(one, other)
    index = basis.index
    expected = np.kron(one.projection(s), other.projection(t))[index[:, 0] * 4 + index[:, 1]]
    np.testing.assert_allclose(basis.projection(grid), expected, rtol=0, atol=1e-14)


def test_scattered_points_on_a_box_fall_back_to_equal_weights() -> None:
    basis = tensor(cosine((0, 1), 4), cosine((0, 1), 4))
    points = np.random.default_rng(0).uniform(size=(10, 2))
    np.testing.assert_allclose(basis.projection(points), basis.matrix(points).T / 10, rtol=0, atol=1e-14)


def test_a_kernel_basis_on_a_box_uses_product_weights_on_a_full_grid() -> None:
    basis = mercer(Matern(2.5, 1.0), [(0, 1), (0, 1)], 8)
    grid = basis.domain.grid(2)
    np.testing.assert_allclose(basis.projection(grid), basis.matrix(grid).T / 4, rtol=0, atol=1e-14)


def test_the_bernstein_operator_reads_values_at_equal_steps() -> None:
    basis = bernstein((0, 2), 5)
    grid = np.linspace(0.1, 1.9, 30)
    values = np.exp(grid)
    expected = np.interp(np.linspace(0, 2, 5), grid, values) / np.sqrt(5)
    np.testing.assert_allclose(basis.coordinates(values, grid), expected, rtol=1e-14)
    np.testing.assert_allclose(basis.coordinates([3.0], [0.7]), 3 / np.sqrt(5), rtol=1e-14)


def test_the_bernstein_operator_reproduces_lines_and_stays_within_the_range_of_the_curve() -> None:
    basis = bernstein((0, 1), 12)
    grid = np.linspace(0, 1, 12)
    points = np.linspace(0, 1, 77)
    line = basis.evaluate(basis.coordinates(2 - 3 * grid, grid), points)
    np.testing.assert_allclose(line, 2 - 3 * points, rtol=0, atol=1e-13)
    steps = basis.evaluate(basis.coordinates(np.sign(grid - 0.4), grid), points)
    assert np.abs(steps).max() <= 1 + 1e-12


@pytest.mark.parametrize("method", ["least-squares", "quadrature"])
def test_bernstein_polynomials_can_be_fitted_too_when_asked(method: str) -> None:
    basis = bernstein((0, 1), 4)
    grid = np.linspace(0, 1, 2001)
    coordinates = np.array([1.0, -2.0, 0.5, 3.0])
    found = basis.projection(grid, method=method) @ basis.evaluate(coordinates, grid)  # type: ignore[arg-type]
    # Least squares is exact; quadrature has the error of a natural spline, whose ends do not bend.
    np.testing.assert_allclose(found, coordinates, rtol=0, atol=1e-10 if method == "least-squares" else 1e-4)


def test_wrong_methods_and_empty_grids_are_refused() -> None:
    with refused(UsageError, "method", "spline"):
        cosine((0, 1), 3).projection([0.5], method="spline")  # type: ignore[arg-type]
    with refused(UsageError, "grid", 0):
        cosine((0, 1), 3).projection([])


def test_bernstein_products_need_a_full_grid() -> None:
    basis = tensor(bernstein((0, 1), 3), bernstein((0, 1), 3))
    with refused(UsageError, "grid"):
        basis.projection([(0.1, 0.2), (0.5, 0.3), (0.9, 0.9)])

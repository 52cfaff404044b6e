"""A released function can be evaluated, differentiated and integrated anywhere, on any domain and in any basis."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import dblquad, quad

from dpfda.bases import Basis, beam, bernstein, bspline, cosine, fourier, legendre, mercer, reinsch, tensor
from dpfda.errors import UsageError
from dpfda.kernels import Matern
from dpfda.mechanisms.noise import Noise
from dpfda.releases import Function, Release

INTERVALS: dict[str, Basis] = {
    "beam": beam((-1, 3), 8),
    "bernstein": bernstein((2, 5), 7),
    "bspline": bspline((0, 24), 9),
    "cosine": cosine((2, 5), 8),
    "fourier": fourier((-10, -9), 7),
    "legendre": legendre((0, 24), 8),
    "mercer": mercer(Matern(1.5, rho=1.0), (0, 2), 6),
    "reinsch": reinsch((-1, 3), 8),
    "single": legendre((3, 7), 1),
}
BOX = tensor(cosine((2, 5), 4), legendre((-1, 0), 3), size=9)
ROUGH_BOX = tensor(bernstein((0, 2), 3), cosine((-3, 3), 3))


def function(basis: Basis) -> Function:
    coordinates = np.random.default_rng(basis.size).normal(size=basis.size)
    return Function(basis, coordinates, (0,) * basis.domain.dimension)


def inside(basis: Basis, size: int = 11) -> np.ndarray:
    """Points of the interval that are no knots."""
    low, high = basis.domain.sides[0]
    return low + (high - low) * (np.arange(size) + 0.417) / size


@pytest.fixture(params=INTERVALS.values(), ids=INTERVALS.keys())
def curve(request: pytest.FixtureRequest) -> Function:
    return function(request.param)


def test_a_cosine_curve_has_the_values_and_derivatives_of_its_formula() -> None:
    curve = function(cosine((2.0, 5.0), 6))
    t = np.linspace(2, 5, 37)
    speed = np.pi * np.arange(6) / 3
    amplitude = np.where(np.arange(6) == 0, 1.0, np.sqrt(2)) * curve.coordinates
    for order in range(13):
        # The derivative of cos(x) of order d is cos(x + d pi/2).
        exact = (amplitude * speed**order * np.cos((t - 2)[:, None] * speed + order * np.pi / 2)).sum(axis=1)
        np.testing.assert_allclose(curve.derivative(order)(t), exact, atol=1e-11 * speed.max() ** order)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_a_derivative_is_the_slope_of_the_one_before(curve: Function, order: int) -> None:
    low, high = curve.basis.domain.sides[0]
    t, h = inside(curve.basis), 1e-5 * (high - low)
    before, after = curve.derivative(order - 1), curve.derivative(order)(t)
    slope = (before(t + h) - before(t - h)) / (2 * h)
    # Rounding of values over h, and a third derivative times h^2.
    size = np.abs(before(t)).max() / (high - low)
    np.testing.assert_allclose(after, slope, rtol=0, atol=2e-6 * max(size, np.abs(after).max()))


def test_derivatives_can_be_taken_one_after_the_other(curve: Function) -> None:
    t = inside(curve.basis)
    np.testing.assert_array_equal(curve.derivative(1).derivative(2)(t), curve.derivative(3)(t))


def test_a_number_gives_a_number_and_a_vector_a_vector(curve: Function) -> None:
    t = inside(curve.basis)
    values = curve(t)
    assert values.shape == (11,)
    assert np.ndim(curve(float(t[3]))) == 0
    assert np.ndim(curve(np.array(t[3]))) == 0
    assert curve(float(t[3])) == pytest.approx(values[3], rel=1e-12, abs=1e-12)
    assert curve([float(t[3])]).shape == (1,)
    np.testing.assert_array_equal(curve(t[:, None]), values)
    np.testing.assert_allclose(curve(t[::-1]), values[::-1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("family", ["beam", "bernstein", "bspline", "cosine", "fourier", "legendre", "reinsch"])
def test_no_points_give_no_values(family: str) -> None:
    assert function(INTERVALS[family])([]).shape == (0,)


def test_integrals_agree_with_adaptive_quadrature(curve: Function) -> None:
    low, high = curve.basis.domain.sides[0]
    ends = low + (high - low) * np.array([0.0, 0.13, 0.5, 0.77, 1.0])
    for a in ends:
        for b in ends[ends >= a]:
            exact = quad(curve, a, b, epsabs=1e-12, epsrel=1e-12, limit=200)[0]
            assert curve.integral(a, b) == pytest.approx(exact, rel=1e-9, abs=1e-9 * (high - low))
    assert curve.integral() == pytest.approx(curve.integral(low, high), rel=1e-12)
    assert curve.integral(high=ends[2]) == pytest.approx(curve.integral(low, ends[2]), rel=1e-12)
    assert curve.integral(low=ends[2]) == pytest.approx(curve.integral(ends[2], high), rel=1e-12)


def test_the_integral_of_a_derivative_is_a_difference_of_values(curve: Function) -> None:
    low, high = curve.basis.domain.sides[0]
    a, b = low + 0.21 * (high - low), low + 0.84 * (high - low)
    slope = curve.derivative()
    exact = quad(slope, a, b, epsabs=1e-12, epsrel=1e-12, limit=200)[0]
    assert slope.integral(a, b) == pytest.approx(exact, rel=1e-9, abs=1e-9)


def test_inner_products_are_means_over_the_domain(curve: Function) -> None:
    low, high = curve.basis.domain.sides[0]

    def weights(t: np.ndarray) -> np.ndarray:
        return np.exp(-(t - low) / (high - low)) * t

    exact = quad(lambda t: curve(t) * weights(t), low, high, epsabs=1e-12, limit=200)[0] / (high - low)
    assert curve.inner(weights) == pytest.approx(exact, rel=1e-8, abs=1e-9)
    assert curve.inner(curve) == pytest.approx(curve.norm() ** 2, rel=1e-9)
    assert curve.inner(np.ones_like) == pytest.approx(curve.integral() / (high - low), rel=1e-9, abs=1e-12)


def test_the_norm_is_the_root_mean_square_also_of_derivatives(curve: Function) -> None:
    low, high = curve.basis.domain.sides[0]
    for order in (0, 1, 2):
        changed = curve.derivative(order)
        exact = np.sqrt(quad(lambda t, f=changed: f(t) ** 2, low, high, limit=200)[0] / (high - low))
        assert changed.norm() == pytest.approx(exact, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("basis", [BOX, ROUGH_BOX], ids=["orthonormal", "bernstein"])
def test_a_surface_has_values_derivatives_integrals_and_norms(basis: Basis) -> None:
    surface = function(basis)
    (a, b), (c, d) = basis.domain.sides
    area, h = (b - a) * (d - c), 1e-5
    points = np.stack(
        [a + (b - a) * inside(legendre((0, 1), 1)), c + (d - c) * inside(legendre((0, 1), 1))[::-1]], axis=1
    )
    values = surface(points)
    assert values.shape == (11,)
    assert surface(points[4]).shape == (1,)
    assert surface(points[4])[0] == pytest.approx(values[4], rel=1e-12)
    step = np.array([h, 0.0])
    slope = (surface(points + step) - surface(points - step)) / (2 * h)
    np.testing.assert_allclose(surface.derivative((1, 0))(points), slope, atol=1e-6)
    step = step[::-1]
    twist = (surface.derivative((1, 0))(points + step) - surface.derivative((1, 0))(points - step)) / (2 * h)
    np.testing.assert_allclose(surface.derivative((1, 1))(points), twist, atol=1e-6)

    def integrate(f: Callable[[float, float], float], low: tuple[float, float], high: tuple[float, float]) -> float:
        return dblquad(lambda y, x: f(x, y), low[0], high[0], low[1], high[1], epsabs=1e-8)[0]

    def at(x: float, y: float) -> float:
        return float(surface([[x, y]])[0])

    low, high = (a + 0.2 * (b - a), c + 0.1 * (d - c)), (a + 0.9 * (b - a), c + 0.6 * (d - c))
    assert surface.integral(low, high) == pytest.approx(integrate(at, low, high), abs=1e-7)
    assert surface.integral() == pytest.approx(integrate(at, (a, c), (b, d)), abs=1e-7)
    square = integrate(lambda x, y: at(x, y) ** 2, (a, c), (b, d)) / area
    assert surface.norm() == pytest.approx(np.sqrt(square), rel=1e-7)
    mixed = integrate(lambda x, y: at(x, y) * np.sin(x + 2 * y), (a, c), (b, d)) / area
    assert surface.inner(lambda p: np.sin(p[:, 0] + 2 * p[:, 1])) == pytest.approx(mixed, abs=1e-7)


def test_a_release_is_its_function_with_the_centre_added_back(make_release: Callable[..., Release]) -> None:
    basis = legendre((0, 4), 5)
    release = make_release(
        basis, np.arange(5), Noise("gaussian", (5,), (0.1,)), centre=[7, 1, 0, 0, 0], smoothing="auto"
    )
    t = np.linspace(0, 4, 9)
    by_hand = basis.matrix(t) @ (release.centre + release.smoothing.weights * release.noisy)
    np.testing.assert_allclose(release(t), by_hand, rtol=1e-12)
    np.testing.assert_allclose(release.derivative(2)(t), release.function.derivative(2)(t), rtol=1e-12)
    assert release.integral(1, 2) == release.function.integral(1, 2)
    assert release.norm() == release.function.norm()
    assert release.inner(np.cos) == release.function.inner(np.cos)
    assert np.ndim(release(2.0)) == 0


def test_points_outside_the_domain_are_refused() -> None:
    curve = function(cosine((2, 5), 4))
    with pytest.raises(UsageError, match=r"^Points must lie in the domain \[2, 5\], got points from 1 to 3\. Leave"):
        curve([1.0, 3.0])
    with pytest.raises(UsageError, match=r"^Points must be finite numbers, got NaN or infinity among them\.$"):
        curve([2.5, np.nan])
    with pytest.raises(UsageError, match=r"^Points must lie in the domain \[2, 5\]"):
        curve.integral(0.0, 3.0)


@pytest.mark.parametrize("order", [0, 1], ids=["values", "slope"])
def test_an_integral_from_high_to_low_is_refused(order: int) -> None:
    curve = function(cosine((2, 5), 4)).derivative(order)
    with pytest.raises(UsageError, match=r"^An integral goes from a lower to an upper end, got 4 to 3\.$"):
        curve.integral(4, 3)


def test_integrals_of_derivatives_on_a_box_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^Integrals of derivatives are offered on an interval only, not on a box\.$"):
        function(BOX).derivative((1, 0)).integral()


def test_a_weight_function_must_give_one_value_for_each_point() -> None:
    curve = function(cosine((0, 1), 1))
    with pytest.raises(UsageError, match=r"^The function must give one value for each of 16 points, got shape \(\)\.$"):
        curve.inner(lambda t: 1.0)


def test_a_derivative_of_a_surface_needs_an_order_for_each_side() -> None:
    with pytest.raises(UsageError, match=r"needs one whole number, 0 to 16, for each side, got 1\.$"):
        function(BOX).derivative(1)


class Endless(list[int]):
    """A list that says it is far longer than it is, or could be."""

    def __len__(self) -> int:
        return 10**18


@pytest.mark.parametrize("order", [Endless(), Endless([1]), [1] * 100, [[1]], [[[1]]]], ids=repr)
def test_an_order_in_a_list_of_any_length_is_taken_or_refused(order: list[int]) -> None:
    curve = Function(INTERVALS["cosine"], np.ones(8), (0,))
    if list.__len__(order) == 1 and order[0] == 1:
        assert curve.derivative(order).order == (1,)  # type: ignore[arg-type]
        return
    with pytest.raises(UsageError, match="needs one whole number, 0 to 16, for each side"):
        curve.derivative(order)  # type: ignore[arg-type]

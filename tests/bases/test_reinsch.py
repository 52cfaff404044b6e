"""The Demmler-Reinsch basis of order 4: its boundary problem, orthonormality up to large sizes, and what it is for."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from basis_members import dense
from numpy.polynomial.legendre import leggauss

from dpfda.arrays import Array
from dpfda.bases import Basis, beam, by_name, cosine, from_dict, legendre, reinsch
from dpfda.bases.demmler_reinsch import ORDER, modes

LARGE = 300


def speeds(size: int) -> Array:
    """Speeds w^(1/8) of modes 4, 5, ..., even and odd ones in turn, (size - 4,)."""
    found = np.empty(max(size - ORDER, 0))
    for parity in (0, 1):
        found[parity::2] = modes(max(size, ORDER), parity)[0]
    return found


def rule() -> tuple[Array, Array]:
    """Gauss quadrature on 400 panels, apart from the package's own: 16 nodes for less than a half-wave each."""
    x, w = leggauss(16)
    return ((np.arange(400)[:, None] + (x + 1) / 2) / 400).ravel(), np.tile(w / 800, 400)


def test_functions_are_orthonormal_to_rounding_up_to_size_300() -> None:
    points, weights = rule()
    table = reinsch((0, 1), LARGE).matrix(points)
    assert np.abs((table.T * weights) @ table - np.eye(LARGE)).max() < 1e-12


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 24, 49, 50, 51])
def test_functions_are_orthonormal_at_every_small_size_and_on_any_interval(size: int) -> None:
    """Also where speeds change from roots to multiples of half a turn, at mode 48."""
    basis = reinsch((-3.0, 21.0), size)
    points, weights = dense(basis)
    table = basis.matrix(points)
    assert np.abs((table.T * weights) @ table - np.eye(size)).max() < 1e-12


def test_the_first_four_are_the_polynomials_that_cost_nothing() -> None:
    t = np.linspace(0, 1, 31)
    np.testing.assert_array_equal(reinsch((0, 1), 4).matrix(t), legendre((0, 1), 4).matrix(t))
    assert np.abs(reinsch((0, 1), 4).matrix(t, 4)).max() == 0


def test_every_other_function_solves_the_boundary_problem() -> None:
    """`f^(8) = w f` inside, derivatives 4 to 7 zero at both ends; relative to the size of a wave of that speed."""
    basis, speed = reinsch((0, 1), LARGE), speeds(LARGE)
    t = np.linspace(0, 1, 211)
    # Each derivative is compared with speed^k times functions of size one; roundings of the phase grow with the speed.
    eighth = basis.matrix(t, 8)[:, ORDER:] / speed**8
    assert np.abs(eighth - basis.matrix(t)[:, ORDER:]).max() < 1e-12
    for order in range(ORDER, 2 * ORDER):
        at_ends = np.abs(basis.matrix([0.0, 1.0], order)[:, ORDER:]) / speed**order
        assert at_ends.max() < 1e-12, order
    # And the derivatives before them do not vanish: these ends are free.
    for order in range(ORDER):
        assert (np.abs(basis.matrix([0.0, 1.0], order)[:, ORDER:]) / speed**order).min() > 0.5


def test_penalties_are_diagonal_too() -> None:
    """The fourth derivatives are orthogonal with squares `speed^8`: what makes this the basis of smoothing splines."""
    points, weights = rule()
    table = reinsch((0, 1), 40).matrix(points, ORDER)[:, ORDER:] / speeds(40) ** ORDER
    assert np.abs((table.T * weights) @ table - np.eye(36)).max() < 1e-11


def test_speeds_are_those_of_waves_that_start_one_and_a_half_half_waves_late() -> None:
    speed = speeds(LARGE)
    distance = np.abs(speed - math.pi * (np.arange(ORDER, LARGE) - 1.5))
    assert (np.diff(speed) > 0).all()
    assert distance.max() < 0.04
    assert distance[3:].max() < 1e-3
    assert distance[20:].max() < 1e-12


def test_ends_and_parities_are_as_stated() -> None:
    basis = reinsch((0, 1), 60)
    low, high = basis.matrix([0.0, 1.0])
    np.testing.assert_allclose(high[ORDER:], math.sqrt(8), rtol=1e-12)
    np.testing.assert_allclose(low, (-1.0) ** np.arange(60) * high, rtol=1e-12)


@pytest.mark.parametrize("size", [1, 3, 4, 5, 17, 48, 49, 120])
def test_bases_are_nested(size: int) -> None:
    """A larger basis begins with the smaller one, bit for bit, so coordinates do not change with the size."""
    t = np.linspace(0, 1, 23)
    for order in (0, 1, 3):
        small, large = (reinsch((0, 1), k).matrix(t, order) for k in (size, LARGE))
        np.testing.assert_array_equal(small, large[:, :size])


def test_a_function_has_one_more_zero_than_the_one_before() -> None:
    t = (np.arange(5000) + 0.5) / 5000  # not the middle, where odd ones vanish
    signs = np.sign(reinsch((0, 1), 60).matrix(t))
    assert [int(np.sum(column[1:] != column[:-1])) for column in signs.T] == list(range(60))


SMOOTH: dict[str, Callable[[Array], Array]] = {
    "a bent line": lambda t: np.exp(t) * np.sin(3 * t + 1),
    "an exponential": lambda t: np.exp(-2 * t),
    "a wave with loose ends": lambda t: np.cos(7.3 * t + 0.4),
    "a fraction": lambda t: 1 / (1 + 3 * t),
}


def needed(basis: Basis, curve: Callable[[Array], Array], share: float) -> int:
    """The number of leading functions that leave less than this share of the mean square."""
    points, weights = rule()
    values = curve(points)
    coordinates = basis.matrix(points).T @ (weights * values)
    # Parseval: all bases here are orthonormal.
    left = 1 - np.cumsum(coordinates**2) / (weights @ values**2)
    return int(np.argmax(left < share)) + 1 if (left < share).any() else basis.size


@pytest.mark.parametrize("curve", SMOOTH)
def test_a_smooth_curve_that_is_not_flat_at_the_ends_needs_fewer_functions_than_in_other_waves(curve: str) -> None:
    for share in (1e-5, 1e-7):
        mine, beams, cosines = (needed(family((0, 1), 90), SMOOTH[curve], share) for family in (reinsch, beam, cosine))
        assert mine <= beams < cosines
        assert mine < beams or share > 1e-6
        assert mine < cosines / 2


@pytest.mark.parametrize("curve", SMOOTH)
def test_coordinates_of_a_smooth_curve_fall_like_the_fifth_power(curve: str) -> None:
    points, weights = rule()
    coordinates = np.abs(reinsch((0, 1), 200).matrix(points).T @ (weights * SMOOTH[curve](points)))
    # Over blocks, since even and odd ones differ: a factor 2 in the index is 2^-5 in the largest coordinate, or less.
    blocks = [coordinates[k : 2 * k].max() for k in (20, 40, 80)]
    assert blocks[1] < 1.3 * blocks[0] / 2**5
    assert blocks[2] < 1.3 * blocks[1] / 2**5


def test_a_wave_needs_about_as_many_functions_as_it_has_half_waves() -> None:
    """No more than four above cosines, which have this very wave as a member."""
    for waves in (8, 20, 40):
        assert needed(reinsch((0, 1), 90), lambda t, k=waves: np.cos(math.pi * k * t), 1e-2) <= waves + 5


def test_it_goes_by_name_and_into_files() -> None:
    basis = by_name("reinsch", (0.0, 24.0), 9)
    assert basis == reinsch((0.0, 24.0), 9)
    assert from_dict(basis.describe()) == basis
    assert (basis.frequencies == np.arange(9)).all()
    box = by_name("reinsch", [(0, 1), (0, 2)], 10)
    assert box.size == 10

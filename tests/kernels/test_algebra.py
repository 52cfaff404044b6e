"""Sums, products and scaling: operators make the named classes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from dpfda.arrays import Array, ArrayLike
from dpfda.kernels import (
    Anisotropic,
    BrownianMotion,
    Exponential,
    Gaussian,
    Kernel,
    Matern,
    Periodic,
    Product,
    Scaled,
    Sobolev,
    Sum,
    Tensor,
)

POINTS = np.array([0.1, 0.4, 0.9])
ROUGH, SMOOTH = Exponential(rho=1.0), Gaussian(rho=0.5)


@dataclass(frozen=True)
class Constant(Kernel):
    """A user's own kernel with nothing but its one duty."""

    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        return np.ones((np.size(s), np.size(t)))


def test_operators_make_the_named_classes() -> None:
    assert Sum(ROUGH, SMOOTH) == ROUGH + SMOOTH
    assert Product(ROUGH, SMOOTH) == ROUGH * SMOOTH
    assert 2 * ROUGH == ROUGH * 2.0 == Scaled(ROUGH, 2.0)


@pytest.mark.parametrize("factor", [np.float64(2), np.float32(2), np.int64(2)])
def test_numbers_of_numpy_scale_like_plain_ones(factor: float) -> None:
    assert factor * ROUGH == ROUGH * factor == Scaled(ROUGH, 2.0)
    assert type((factor * ROUGH).factor) is float


def test_algebra_on_kernels_is_algebra_on_values() -> None:
    rough, smooth = ROUGH(POINTS, POINTS), SMOOTH(POINTS, POINTS)
    np.testing.assert_array_equal((ROUGH + SMOOTH)(POINTS, POINTS), rough + smooth)
    np.testing.assert_array_equal((ROUGH * SMOOTH)(POINTS, POINTS), rough * smooth)
    np.testing.assert_array_equal((3.0 * (ROUGH + SMOOTH))(POINTS, POINTS), 3.0 * (rough + smooth))


@pytest.mark.parametrize("other", ["two", None, np.ones(2), [1.0]])
def test_nothing_else_can_be_added_or_multiplied(other: object) -> None:
    with pytest.raises(TypeError, match=r"unsupported operand|does not support ufuncs"):
        ROUGH + other  # type: ignore[operator]
    with pytest.raises(TypeError, match=r"multiply|unsupported operand|does not support ufuncs"):
        ROUGH * other  # type: ignore[operator]
    with pytest.raises(TypeError, match=r"multiply|unsupported operand|does not support ufuncs"):
        other * ROUGH  # type: ignore[operator]


def test_the_rougher_side_decides_the_smoothness() -> None:
    assert (Matern(2.5, rho=1.0) + Sobolev(2)).smoothness == 4.0
    assert (ROUGH * SMOOTH).smoothness == 2.0
    assert (2.0 * Sobolev(3)).smoothness == 6.0
    assert Tensor((Matern(1.5, rho=1.0), SMOOTH)).smoothness == 4.0
    assert Anisotropic(Matern(1.5, rho=1.0), [1.0, 2.0]).smoothness == 4.0
    assert Periodic(length=1.0, period=1.0).smoothness == math.inf


@pytest.mark.parametrize("pair", [(ROUGH, Constant()), (Constant(), ROUGH)])
def test_an_unknown_smoothness_makes_the_whole_unknown(pair: tuple[Kernel, Kernel]) -> None:
    one, other = pair
    for kernel in (one + other, one * other, Tensor(pair)):
        assert math.isnan(kernel.smoothness)
    assert math.isnan((one + other).decay(2))


def test_a_kernel_of_ones_own_needs_one_method() -> None:
    np.testing.assert_array_equal((ROUGH + Constant())(POINTS, POINTS), ROUGH(POINTS, POINTS) + 1)
    assert not Constant().markov
    assert math.isnan(Constant().smoothness)


def test_decay_on_a_box_follows_the_spectral_density() -> None:
    """Matérn: |w|^-(2 order + p) in p dimensions, so j^-(2 order + p)/p."""
    assert Matern(1.5, rho=1.0).decay(2) == 5 / 2
    assert Anisotropic(Matern(1.5, rho=1.0), [1.0, 2.0]).decay(2) == 5 / 2
    assert (2.0 * (Matern(1.5, rho=1.0) + SMOOTH)).decay(3) == 2.0
    assert (Matern(1.5, rho=1.0) * ROUGH).decay(2) == 3 / 2
    assert SMOOTH.decay(5) == math.inf


def test_decay_of_a_tensor_does_not_slow_down_with_dimension() -> None:
    assert Tensor((Matern(1.5, rho=1.0), Sobolev(3))).decay(2) == 4.0
    assert Tensor((SMOOTH, BrownianMotion(), SMOOTH)).decay(3) == 2.0


def test_eigenvalues_on_a_square_fall_at_the_stated_decay() -> None:
    """Midpoint rule, 20 points a side; the slope from the 10th to the 60th eigenvalue, within 15 %."""
    side = (np.arange(20) + 0.5) / 20
    grid = np.stack([axis.ravel() for axis in np.meshgrid(side, side)], axis=1)
    kernel = Matern(1.5, rho=2.0)
    found = np.linalg.eigvalsh(kernel(grid, grid) / 400)[::-1]
    j = np.arange(10, 60)
    assert -np.polyfit(np.log(j), np.log(found[j]), 1)[0] == pytest.approx(kernel.decay(2), rel=0.15)

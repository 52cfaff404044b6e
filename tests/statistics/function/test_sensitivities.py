"""Bounds of sensitivities hold for the worst functions of their class, and are nearly reached."""

from __future__ import annotations

import math

import numpy as np
import pytest
from refusals import refused

from dpfda import kernels, sensitivities
from dpfda.errors import UsageError

GRID = np.linspace(0, 1, 401)


def norm_of(kernel, values, points=GRID):
    """The norm in the kernel's space of the smoothest function through these values."""
    return math.sqrt(values @ np.linalg.solve(kernel(points, points), values))


def test_a_mean_of_bounded_functions():
    n, bound, kernel = 50, 2.0, kernels.Exponential(0.3)
    section = kernel(GRID, [0.5])[:, 0] * bound  # of norm 2
    moved = norm_of(kernel, (section - -section) / n)
    assert moved <= sensitivities.mean_of_functions(bound, n)
    assert moved >= 0.999 * sensitivities.mean_of_functions(bound, n)


@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
def test_a_sum_of_sections(neighbours):
    kernel, n = kernels.Matern(0.5, 0.01), 50
    away = kernel(GRID, [1.0])[:, 0] if neighbours == "replace-one" else 0.0
    moved = norm_of(kernel, (kernel(GRID, [0.0])[:, 0] - away) / n)
    stated = sensitivities.kernel_sum(kernel, 1 / n, neighbours=neighbours)
    assert 0.999 * stated <= moved <= stated


def test_a_kernel_with_negative_values_moves_further():
    assert sensitivities.kernel_sum(kernels.Periodic(1.0, 1.0), 0.1, height=1.0) == pytest.approx(0.2)
    with refused(UsageError, parameter="height"):
        sensitivities.kernel_sum(kernels.BrownianMotion(), 0.1)


@pytest.mark.parametrize(("value", "slope"), [(0.01, 0.0), (0.01, 0.3), (0.02, 0.1)])
def test_functions_with_a_bounded_slope(value, slope):
    """Lines and zigzags with this value and this slope, on the interval (0, 2)."""
    kernel, points = kernels.Exponential(0.4), np.linspace(0, 2, 1601)
    tried = [np.full(1601, value)]
    if slope:
        for teeth in (1, 3, 10, 30):
            wave = np.abs((points * slope / value + teeth) % 4 - 2) - 1
            tried.append(value * wave)
    norms = [norm_of(kernel, values, points) for values in tried]
    stated = sensitivities.sobolev(kernel, (0, 2), {0: value, 1: slope})
    assert max(norms) <= stated
    assert max(norms) >= (0.999 if slope == 0 else 0.6) * stated


def test_the_norm_on_a_box_is_the_product():
    """For a product of two functions (10) of Hall et al. is the product of the norms (9)."""
    one, other = kernels.Exponential(0.5), kernels.Exponential(2.0)
    first = sensitivities.sobolev(one, (0, 1), {0: 0.3, 1: 0.7})
    second = sensitivities.sobolev(other, (0, 3), {0: 0.2, 1: 0.1})
    orders = {(0, 0): 0.3 * 0.2, (1, 0): 0.7 * 0.2, (0, 1): 0.3 * 0.1, (1, 1): 0.7 * 0.1}
    both = sensitivities.sobolev(kernels.Tensor((one, other)), [(0, 1), (0, 3)], orders)
    assert both == pytest.approx(first * second, rel=1e-9)


def test_a_regularised_minimiser():
    """Ridge-like risk with hinge slopes: the extreme move of one unit of n, all else flat."""
    n, penalty, slope = 20, 0.05, 1.0
    # Losses `+f(x)` and `-f(x)` of the replaced unit, zero losses of all others: minimisers `-/+ K(x, .) / (2 p n)`.
    moved = 2 * slope / (2 * penalty * n)
    assert moved == pytest.approx(sensitivities.minimiser(slope=slope, penalty=penalty, n=n), rel=1e-9)
    half = sensitivities.minimiser(slope=slope, penalty=penalty, n=n, neighbours="add-or-remove-one")
    assert half == pytest.approx(moved / 2, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: sensitivities.mean_of_functions(-1.0, 10), "bound"),
        (lambda: sensitivities.mean_of_functions(1.0, 0), "n"),
        (lambda: sensitivities.kernel_sum(kernels.Gaussian(1.0), 0.0), "weight"),
        (lambda: sensitivities.kernel_sum(kernels.Gaussian(1.0), 0.1, neighbours="both"), "neighbours"),
        (lambda: sensitivities.sobolev(kernels.Gaussian(1.0), (0, 1), {0: 1.0, 1: 1.0}), "kernel"),
        (lambda: sensitivities.sobolev(kernels.Exponential(1.0), (0, 1), {0: 1.0}), "derivatives"),
        (lambda: sensitivities.sobolev(kernels.Exponential(1.0), (0, 1), {0: 1.0, 1: math.inf}), "derivatives"),
        (lambda: sensitivities.minimiser(slope=1.0, penalty=0.0, n=3), "penalty"),
    ],
)
def test_what_is_no_bound_is_refused(call, parameter):
    with refused(UsageError, parameter=parameter):
        call()

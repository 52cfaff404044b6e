"""Which kernels are Markov, and why the others are not: online noise relies on it."""

from __future__ import annotations

import numpy as np
import pytest

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


def left_over(kernel: Kernel) -> float:
    """The covariance of a point between two neighbours and one outside, given the neighbours, as a correlation."""
    neighbours, others = np.array([0.2, 0.6]), np.array([0.4, 0.9])
    across = kernel(neighbours, others)
    given = kernel(others, others) - across.T @ np.linalg.solve(kernel(neighbours, neighbours), across)
    return float(abs(given[0, 1]) / np.sqrt(given[0, 0] * given[1, 1]))


@pytest.mark.parametrize(
    "kernel",
    [
        Exponential(rho=0.7),
        Matern(0.5, rho=0.7),
        BrownianMotion(),
        BrownianBridge(),
        3.0 * Exponential(rho=0.7),
        Anisotropic(Exponential(rho=1.0), [0.7]),
    ],
    ids=repr,
)
def test_the_values_of_two_neighbours_tell_all_about_what_lies_between(kernel: Kernel) -> None:
    assert kernel.markov
    assert left_over(kernel) < 1e-12


@pytest.mark.parametrize(
    "kernel",
    [
        Sobolev(1),
        Matern(0.8, rho=0.7),
        Gaussian(rho=0.7),
        RationalQuadratic(length=0.7, shape=1.0),
        Periodic(length=1.0, period=2.0),
        Exponential(rho=0.7) + Exponential(rho=0.1),
        Exponential(rho=0.7) * Gaussian(rho=1.0),
    ],
    ids=repr,
)
def test_other_kernels_leave_something_over(kernel: Kernel) -> None:
    assert not kernel.markov
    assert left_over(kernel) > 1e-3


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 6])
def test_half_integer_orders_solve_a_linear_differential_equation(steps: int) -> None:
    """A state of steps + 1 derivatives: C(x) exp(x) is a polynomial of degree `steps`, whose next difference is 0."""
    kernel = Matern(steps + 0.5, rho=np.sqrt(2 * steps + 1))
    x = np.linspace(0, 4, 12)
    values = kernel([0.0], x)[0] * np.exp(x)
    assert kernel.markov
    assert np.abs(np.diff(values, n=steps + 1)).max() < 1e-11 * values.max()


@pytest.mark.parametrize("order", [0.4, 1.0, 1.4, 2.0, 100.0])
def test_other_orders_are_not_markov(order: float) -> None:
    assert not Matern(order, rho=1.0).markov


@pytest.mark.parametrize("kernel", [Sobolev(1), Sobolev(2), Sobolev(3)], ids=repr)
def test_sobolev_kernels_are_not_markov(kernel: Kernel) -> None:
    assert not kernel.markov


def test_no_kernel_on_a_box_is_markov() -> None:
    assert not Tensor((Exponential(rho=1.0), Exponential(rho=1.0))).markov
    assert not Anisotropic(Exponential(rho=1.0), [1.0, 2.0]).markov

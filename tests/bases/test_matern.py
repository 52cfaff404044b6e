"""Tests of the exact spectrum of Matérn kernels of order 3/2 and 5/2, over all ranges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from dpfda.bases import mercer
from dpfda.bases.galerkin import Series
from dpfda.bases.known_spectra import LONGEST, SHORTEST, EdgedWaves, _Phase, edged_waves
from dpfda.bases.mercer import Mercer, decompose
from dpfda.bases.projection import composite, waves
from dpfda.kernels import Matern

# Eigenvalues 0, 1, 2, 3, 10 and 99 on [0, 1], by order and range: bisection on the full determinant of the
# boundary-value problem (both ends at once, exponentials instead of waves and layers) with 80 digits of mpmath.
MODES = [0, 1, 2, 3, 10, 99]
GOLDEN = {
    (1, 0.005): [
        0.011545134246283276888,
        0.01153952355407570236,
        0.011530181459362408267,
        0.011517121519954422938,
        0.011323848418389626328,
        0.0035156785492590848296,
    ],
    (1, 50.0): [
        0.9999013756420282406,
        0.000098236729180464096015,
        3.2437178378395192667e-7,
        4.3324722630697926137e-8,
        2.0944340088904031459e-10,
        1.8133637221975638434e-14,
    ],
    (2, 0.005): [
        0.01192395446846093194,
        0.01191873226435453902,
        0.011910035354276858023,
        0.011897873866159260534,
        0.011717418943823517832,
        0.0036239908304858761536,
    ],
    (2, 50.0): [
        0.9999444559851132893,
        0.000055539201067579818378,
        4.7972521476210676243e-9,
        1.4891270443674787778e-11,
        1.8635557572834740704e-15,
        1.1202388323625841823e-21,
    ],
}
RANGES = [SHORTEST, 0.001, 0.005, 0.03, 0.1, 0.5, 2.0, 10.0, 50.0, 200.0, LONGEST]
every_range = pytest.mark.parametrize("ratio", RANGES)
both = pytest.mark.parametrize("half", [1, 2], ids=["3/2", "5/2"])


def spectrum(half: int, ratio: float, size: int) -> EdgedWaves:
    result = edged_waves(half, ratio, size)
    assert result is not None
    return result


@pytest.mark.parametrize(("half", "ratio"), GOLDEN, ids=str)
def test_eigenvalues_of_very_short_and_very_long_ranges_are_right_to_their_own_last_digits(
    half: int, ratio: float
) -> None:
    """Relative to each eigenvalue, not to the largest: the least here is 1e-21 of it."""
    np.testing.assert_allclose(spectrum(half, ratio, 100).eigenvalues[MODES], GOLDEN[half, ratio], rtol=5e-14)


@both
@every_range
def test_the_phase_rises_with_the_speed_so_that_each_mode_has_one_root(half: int, ratio: float) -> None:
    speeds = np.repeat(np.concatenate([np.geomspace(1e-6, 1, 500), np.linspace(1, 3000, 20_000)]), 2)  # even and odd
    phase = _Phase(half, math.sqrt(2 * half + 1) / ratio, speeds)
    assert (phase.slope > 0).all()
    for parity in (0, 1):
        rise = np.diff(phase.value[parity::2])
        assert (rise > -1e-13).all()  # and the slope is that of the value
        middle = (phase.slope[parity:-2:2] + phase.slope[parity + 2 :: 2]) / 2 * np.diff(speeds[parity::2])
        np.testing.assert_allclose(rise[-10_000:], middle[-10_000:], rtol=1e-4)


@both
@every_range
def test_function_j_changes_sign_j_times_so_that_no_mode_is_missed_or_doubled(half: int, ratio: float) -> None:
    """The kernels are totally positive, hence their eigenfunctions oscillate like this."""
    size = 80
    values = spectrum(half, ratio, size).functions(np.linspace(0, 1, 8001)[:, None], (0,))
    changes = (np.signbit(values[1:]) != np.signbit(values[:-1])).sum(axis=0)
    assert changes.tolist() == list(range(size))
    assert (values[-1] > 0).all()
    assert (np.abs(np.abs(values[0]) - values[-1]) < 1e-12).all()


@both
@every_range
def test_functions_are_orthonormal_and_their_own_panels_are_narrow_enough(half: int, ratio: float) -> None:
    for size in (1, 5, 120):
        decomposition = spectrum(half, ratio, size)
        nodes, weights = composite(waves(decomposition.degree))
        table = decomposition.functions(nodes.reshape(-1, 1), (0,))
        np.testing.assert_allclose((table.T * weights.ravel()) @ table, np.eye(size), rtol=0, atol=2e-14)


@both
@pytest.mark.parametrize("ratio", [0.05, 0.4, 3.0])
def test_functions_solve_their_equation(half: int, ratio: float) -> None:
    """The mean over t of K(s, t) phi(t), on panels that end at s, is the eigenvalue times phi(s)."""
    size = 30
    basis = mercer(Matern(half + 0.5, 2 * ratio), (1, 3), size)
    for s in (1.0, 1.3, 2.05, 3.0):
        nodes, weights = composite(np.unique(np.append(1 + 2 * waves(80), s)))
        values = Matern(half + 0.5, 2 * ratio)([s], nodes.ravel())[0]
        total = (weights.ravel() / 2 * values) @ basis.matrix(nodes.ravel())
        np.testing.assert_allclose(total, basis.eigenvalues * basis.matrix([s])[0], rtol=0, atol=4e-15)


@both
@pytest.mark.parametrize("ratio", [0.002, 0.1, 20.0])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_derivatives_agree_with_finite_differences(half: int, ratio: float, order: int) -> None:
    decomposition = spectrum(half, ratio, 9)
    step = 1e-3 * min(1.0, 5 * ratio)
    middles = np.concatenate([ratio * np.array([0.3, 2.0]), [0.2, 0.5, 0.77]])
    middles = np.clip(middles, 2 * step, 1 - 2 * step)[:, None]
    moved = [decomposition.functions(middles + k * step, (order - 1,)) for k in (-2, -1, 1, 2)]
    expected = (moved[0] - 8 * moved[1] + 8 * moved[2] - moved[3]) / (12 * step)
    actual = decomposition.functions(middles, (order,))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6 * max(1.0, np.abs(expected).max()))


@both
def test_leading_functions_do_not_depend_on_how_many_are_asked_for(half: int) -> None:
    few, many = spectrum(half, 0.1, 7), spectrum(half, 0.1, 500)
    np.testing.assert_allclose(many.eigenvalues[:7], few.eigenvalues, rtol=1e-14)
    points = np.linspace(0, 1, 50)[:, None]
    np.testing.assert_allclose(many.functions(points, (0,))[:, :7], few.functions(points, (0,)), rtol=0, atol=1e-13)


@both
def test_layers_far_from_an_end_may_be_left_out(half: int) -> None:
    """Points one by one or all together, and in any order, give the same values."""
    decomposition = spectrum(half, 0.01, 40)
    points = np.random.default_rng(0).permutation(np.linspace(0, 1, 60))[:, None]
    table = decomposition.functions(points, (0,))
    for row, point in zip(table, points, strict=True):
        np.testing.assert_allclose(decomposition.functions(point[None, :], (0,))[0], row, rtol=0, atol=1e-15)


@both
def test_the_trace_is_one(half: int) -> None:
    """Eigenvalues beyond the last are an integral over speeds, pi apart; it is right to a part in a thousand."""
    decomposition = spectrum(half, 0.2, 400)
    a = math.sqrt(2 * half + 1) / 0.2
    start = decomposition.speeds[-1] + math.pi / 2
    constant = {1: 4 * a**3, 2: 16 / 3 * a**5}[half] / math.pi
    tail = quad(lambda speed: constant / (a**2 + speed**2) ** (half + 1), start, math.inf, epsabs=0)[0]
    assert decomposition.eigenvalues.sum() + tail == pytest.approx(1, rel=0, abs=max(1e-3 * tail, 1e-14))


def test_other_orders_and_ranges_are_declined() -> None:
    assert edged_waves(3, 0.1, 5) is None
    assert edged_waves(1, SHORTEST / 2, 5) is None
    assert edged_waves(2, LONGEST * 2, 5) is None


def test_what_is_declined_is_still_decomposed_by_polynomials() -> None:
    declined = mercer(Matern(1.5, 1.1 * LONGEST), (0, 1), 3)
    assert isinstance(declined, Mercer)
    assert isinstance(decompose(declined.kernel, declined.domain, 3), Series)
    near = mercer(Matern(1.5, LONGEST), (0, 1), 3)
    np.testing.assert_allclose(declined.matrix([0.1, 1.0]), near.matrix([0.1, 1.0]), atol=1e-3)

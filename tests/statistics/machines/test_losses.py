"""Losses: convex, with the slopes and curvatures of their values, and never steeper than they say."""

from __future__ import annotations

import numpy as np
import pytest

from dpfda.errors import UsageError
from dpfda.statistics.machines.losses import CLASSIFIERS, REGRESSORS, Smooth, loss_of

LOSSES = [*CLASSIFIERS.values(), *(loss_of(name, bound=2.0) for name in REGRESSORS)]
every = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
T = np.linspace(-9, 9, 4001)


def smooth(loss, width=0.3):
    return Smooth(width, np.full(len(T), loss.smooth(1).centres[0]))


@every
def test_slopes_are_derivatives_and_grow(loss):
    how = smooth(loss)
    step = 1e-6
    numeric = (loss.value(T + step, how) - loss.value(T - step, how)) / (2 * step)
    np.testing.assert_allclose(loss.slope(T, how), numeric, atol=2e-5)
    assert (np.diff(loss.slope(T, how)) >= -1e-15).all()


@every
def test_no_loss_is_steeper_than_it_says_and_each_reaches_it(loss):
    steepest = np.abs(loss.slope(T, smooth(loss))).max()
    assert steepest <= loss.lipschitz
    assert steepest == pytest.approx(loss.lipschitz, rel=2e-4)


@every
def test_curvature_is_the_derivative_of_the_slope(loss):
    how = smooth(loss)
    step = 1e-6
    numeric = (loss.slope(T + step, how) - loss.slope(T - step, how)) / (2 * step)
    away = np.abs(numeric - loss.curvature(T, how)) < 1e-3 * (1 + np.abs(numeric))
    assert away.mean() > 0.995  # but for the few points at ends of parabolas
    assert loss.kinked or loss.curvature(T, how).max() <= loss.bend


@every
def test_the_loss_of_zero_is_at_most_as_said(loss):
    targets = np.array([-1.0, 1.0]) if loss.margin else np.array([-2.0, 2.0])
    values = loss.value(loss.argument(np.zeros(2), targets), Smooth(1e-12, loss.smooth(2).centres))
    assert values.max() <= loss.at_zero * (1 + 1e-9)


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss.kinked], ids=lambda loss: loss.name)
def test_the_excess_is_zero_at_own_slopes_and_a_gap_of_fenchel_and_young_else(loss):
    exact = {"hinge": np.maximum(0, 1 - T), "absolute": np.abs(T)}[loss.name]
    for slope in np.linspace(loss.low, loss.high, 7):
        gap = exact - slope * (T - loss.kink)
        np.testing.assert_allclose(loss.excess(T, np.full(len(T), slope)), gap, atol=1e-12)
    own = np.where(loss.kink < T, loss.high, loss.low)
    assert np.abs(loss.excess(T, own)).max() == 0


def test_squares_go_on_in_straight_lines_beyond_what_a_bounded_function_can_miss():
    loss = loss_of("squared", bound=1.5)
    inside = np.linspace(-3, 3, 101)
    np.testing.assert_allclose(loss.value(inside, loss.smooth(1)), inside**2)
    np.testing.assert_allclose(loss.value(np.array([5.0]), loss.smooth(1)), 9 + 6 * 2)
    assert loss.lipschitz == 6.0


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda: loss_of("square"), "loss must be one of 'hinge', 'smoothed-hinge', 'logistic', got 'square'"),
        (lambda: loss_of(3, bound=1.0), "loss must be one of 'absolute', 'huber', 'squared', got 3"),
        (lambda: loss_of("squared", bound=1.0, threshold=1.0), "threshold is for loss 'huber'; 'squared' does not"),
        (lambda: loss_of("huber", bound=1.0, threshold=0.0), "threshold must be a positive finite number, got 0.0"),
        (lambda: loss_of("huber", bound=1.0, threshold="a"), "threshold must be a positive finite number, got 'a'"),
    ],
)
def test_what_is_wrong_is_said(wrong, text):
    with pytest.raises(UsageError, match=text):
        wrong()

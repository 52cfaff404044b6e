"""Composition where doubles end: overflow, underflow and plateaus never lower a stated epsilon, nor raise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpfda.privacy.composition import Composed, compose
from dpfda.privacy.profiles import (
    GaussianProfile,
    LaplaceProfile,
    Profile,
    PureProfile,
    RangeProfile,
    StatedProfile,
)
from dpfda.privacy.ranges import adaptive_curve, range_law


def largest_shift(epsilon: float, count: int, delta: float) -> float:
    """An epsilon that so many choices of this range do exceed at this delta.

    Log ratios t and `t - epsilon` with `P(t) = (1 - e^(t - epsilon)) / (1 - e^-epsilon)`: all are t with a chance of at
    least 4 delta, so that one below their sum the curve is at least `4 delta (1 - 1/e)`.
    """
    t = epsilon + math.log1p(-((4 * delta) ** (1 / count)))
    return count * t - 1


@pytest.mark.parametrize(
    ("count", "epsilon"), [(8, 100.0), (3, 240.0), (4, 300.0), (20, 40.0), (2, 500.0), (2, 8e3), (2, 4e4)], ids=str
)
@pytest.mark.parametrize("delta", [0.1, 1e-3, 1e-9])
def test_large_choices_are_not_lost_where_exponentials_end(count: int, epsilon: float, delta: float) -> None:
    """e^710 is beyond all doubles; eight choices of range 100 once composed to epsilon 0."""
    composed = compose([RangeProfile(epsilon)] * count, delta=delta).epsilon
    assert largest_shift(epsilon, count, delta) < composed <= count * epsilon


def test_a_group_of_many_people_is_composed_beyond_the_end_of_exponentials() -> None:
    composed = compose([RangeProfile(1.0)] * 16, delta=1e-3, people=50).epsilon
    assert largest_shift(50.0, 16, 1e-3) < composed <= 800


@pytest.mark.parametrize("epsilon", [1e-11, 1e-8, 1e-3, 1.0, 60.0])
def test_the_law_of_choices_has_the_curve_that_it_was_made_from(epsilon: float) -> None:
    epsilons = (epsilon, 2 * epsilon, epsilon)
    step, curve = adaptive_curve(epsilons)
    law = range_law(epsilons)
    assert law.masses.sum() == pytest.approx(1, rel=2e-9)
    for place in range(0, len(curve) - 1, 29):
        beyond = np.arange(len(law.masses)) - len(law.masses) // 2 - place
        found = float(law.masses @ -np.expm1(-np.maximum(beyond, 0) * step))
        assert curve[place] <= found <= curve[place] * (1 + 1e-7) + 1e-300


@pytest.mark.parametrize(
    "losses",
    [
        [PureProfile(5e-324)] * 3,
        [RangeProfile(5e-324), LaplaceProfile(5e-324, 3.0), RangeProfile(1e-12)],
        [GaussianProfile(1e-200), PureProfile(1.0)],
        [GaussianProfile(5e-324), PureProfile(1.0), RangeProfile(0.5)],
        [GaussianProfile(1.0, 1e-300, 5, 1e200)],
        [GaussianProfile(5e-324)],
        [PureProfile(1e-300), PureProfile(1.0)],
    ],
    ids=str,
)
@pytest.mark.parametrize("delta", [0.9, 1e-6, 1e-300, 5e-324])
def test_losses_at_the_end_of_doubles_compose(losses: list[Profile], delta: float) -> None:
    statement = compose(losses, delta=delta)
    assert 0 <= statement.epsilon <= statement.pure
    assert statement.epsilon >= max(compose([loss], delta=delta).epsilon for loss in losses) * (1 - 1e-9)


def test_a_shift_too_small_for_doubles_has_a_curve() -> None:
    for mu in (5e-324, 1e-200, 1e-155):
        assert 0 <= GaussianProfile(mu).delta(1.0) < 1e-300
        assert GaussianProfile(mu).delta(-1.0) == pytest.approx(-math.expm1(-1.0))


@pytest.mark.parametrize("epsilon", [1e-12, 1e-9, 1e-5, 0.1, 3.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 0.25])
def test_a_stated_release_costs_its_epsilon_where_its_delta_is_all_there_is(epsilon: float, delta: float) -> None:
    assert compose([StatedProfile(epsilon, delta)], delta=delta).epsilon == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize("large", [PureProfile(100.0), LaplaceProfile(1e4, 1e3), RangeProfile(1e3)], ids=str)
def test_a_large_loss_after_small_ones_needs_no_grid_of_theirs(large: Profile) -> None:
    """A thousand million times larger: on the grid of the small ones it would fill terabytes."""
    small = [PureProfile(1e-9)] * 5
    added = Composed.nothing(1e-6).plus(small).plus([large]).statement
    assert added == compose([*small, large], delta=1e-6)

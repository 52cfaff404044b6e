"""Composition where doubles end: overflow, underflow and plateaus never lower a stated epsilon, nor raise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from refusals import refused

from dpfda.errors import UsageError
from dpfda.ledger.amounts import loss_from
from dpfda.privacy.composition import Composed, compose
from dpfda.privacy.loss_laws import adaptive_curve, range_law
from dpfda.privacy.profiles import GaussianProfile, LaplaceProfile, Profile, PureProfile, RangeProfile, StatedProfile


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
        [LaplaceProfile(5e-324), PureProfile(1.0)],
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


def worst(epsilons: tuple[float, ...], at: float, shares: int) -> float:
    """The delta of an adversary who takes the best of so many intervals each time, and the very best at last."""
    first, *later = epsilons
    if not later:
        return RangeProfile(first).delta(at) / (1 + 1e-12)
    found = []
    for t in np.linspace(0, first, shares + 1):
        p = math.expm1(t - first) / math.expm1(-first)
        rest = tuple(later)
        found.append(p * worst(rest, at - t, shares) + (1 - p) * worst(rest, at - t + first, shares))
    return max(found)


@pytest.mark.parametrize("epsilons", [(0.1, 2.0), (2.0, 0.1), (0.1, 0.1, 1.0), (1.0, 0.1, 0.1)], ids=str)
def test_choices_count_in_the_order_of_time(epsilons: tuple[float, ...]) -> None:
    composed = compose([RangeProfile(epsilon) for epsilon in epsilons], delta=0.01).epsilon
    shares = 400 if len(epsilons) == 2 else 40
    assert 0.009 < worst(epsilons, composed, shares) <= 0.01
    if epsilons[0] < epsilons[-1]:
        # In the other order so small an epsilon would have been stated that this adversary exceeds delta.
        other = compose([RangeProfile(epsilon) for epsilon in reversed(epsilons)], delta=0.01).epsilon
        assert worst(epsilons, other, shares) > 0.0105


def test_a_group_of_a_thousand_million_is_counted_at_once() -> None:
    """Chains of neighbours: delta times the sum of e^(i epsilon)."""
    group = StatedProfile(1e-9, 1e-12).grouped(10**9)
    assert group.epsilon == pytest.approx(1.0)
    chain = 1e-12 * math.expm1(1.0) / math.expm1(1e-9)
    assert chain <= group.stated <= chain * (1 + 1e-8)
    for people, epsilon in ((2, 0.3), (7, 1.1), (50, 2.0)):
        chain = math.fsum(1e-60 * math.exp(i * epsilon) for i in range(people))
        assert chain <= StatedProfile(epsilon, 1e-60).grouped(people).stated <= chain * (1 + 1e-10)
    assert StatedProfile(1.0, 1e-300).grouped(701).stated == 1.0


def test_a_distance_is_paid_at_every_epsilon() -> None:
    """At epsilon 750 a distance of 1e-310 has become larger than 1: (1 + e^epsilon) times it."""
    assert GaussianProfile(1.0, 1e-310).delta(750.0) >= 1
    assert compose([GaussianProfile(36.0, 1e-310)], delta=1e-6).epsilon == math.inf
    assert GaussianProfile(1.0).delta(750.0) < 1e-300


def test_a_stated_delta_that_is_just_about_all_there_is_leaves_nothing_to_compose() -> None:
    losses = [StatedProfile(0.1, 1e-6), StatedProfile(0.1, 1e-6)]
    lost = 1 - Composed.nothing(0.5).plus(losses).kept
    for delta in (math.nextafter(lost, 0), lost, math.nextafter(lost, 1), 2e-6):
        assert compose(losses, delta=delta).epsilon >= 0.19


def test_counts_beyond_all_doubles_are_refused() -> None:
    card = {"law": "gaussian", "mu": 1.0, "distance": 0.0, "size": 10**400, "steps": 1e9}
    with refused(UsageError, "description"):
        loss_from(card)
    with refused(UsageError, "people"):
        PureProfile(1.0).grouped(10**400)

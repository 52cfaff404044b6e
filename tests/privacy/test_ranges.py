"""Many choices, each made after the last: no adversary does worse than the law, and one does almost as badly."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dpfda.privacy import RangeProfile
from dpfda.privacy.loss_laws import adaptive_curve, range_law

EPSILONS = st.lists(st.floats(0.02, 2.0), min_size=1, max_size=3)


def delta_of(law, epsilon):
    return float((law.masses * np.maximum(-np.expm1(epsilon - law.places), 0.0)).sum())


def epsilon_of(law, delta):
    low, high = 0.0, law.epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(law, middle) > delta else (low, middle)
    return high


def ends(epsilon, t):
    """The two losses of a worst pair and the chance of the larger one."""
    p = 1.0 if t == 0 == epsilon else math.expm1(epsilon - t) / (math.exp(epsilon - t) - math.exp(-t))
    return (t, p), (t - epsilon, 1 - p)


@settings(max_examples=60, deadline=None)
@given(epsilons=EPSILONS, data=st.data())
def test_no_adversary_who_chooses_after_seeing_does_worse(epsilons, data):
    """Strategies are trees: the interval of each step depends on all that came before, as hypothesis likes it."""
    shares = {
        past: data.draw(st.floats(0, 1)) for depth in range(len(epsilons)) for past in product((0, 1), repeat=depth)
    }
    law = range_law(tuple(epsilons))
    outcomes = []
    for path in product((0, 1), repeat=len(epsilons)):
        loss, chance = 0.0, 1.0
        for depth, (epsilon, end) in enumerate(zip(epsilons, path, strict=True)):
            value, p = ends(epsilon, shares[path[:depth]] * epsilon)[end]
            loss, chance = loss + value, chance * p
        outcomes.append((loss, chance))
    for asked in np.linspace(-0.5, 1, 13) * sum(epsilons):
        exact = math.fsum(chance * max(-math.expm1(asked - loss), 0.0) for loss, chance in outcomes)
        assert exact <= delta_of(law, asked) * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0])
def test_one_choice_alone_has_its_own_curve_but_for_the_grid(epsilon):
    law, profile = range_law((epsilon,)), RangeProfile(epsilon)
    for asked in np.linspace(0, epsilon, 9)[:-1]:
        assert profile.delta(asked) <= delta_of(law, asked) * (1 + 1e-9)
        assert delta_of(law, asked) <= RangeProfile(1.01 * epsilon).delta(asked)


@pytest.mark.parametrize(("count", "epsilon"), [(25, 0.1), (100, 0.1), (100, 0.3), (400, 0.02)])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_the_law_is_within_one_percent_of_an_adversary_who_never_changes_his_mind(count, epsilon, delta):
    """The sum of equal losses is binomial, and its curve exact: a lower bound for the worst of all adversaries."""
    larger = np.arange(count + 1)

    def least(t):
        (up, p), (down, _) = ends(epsilon, t)
        losses, weights = larger * up + (count - larger) * down, binom.pmf(larger, count, p)
        low, high = 0.0, count * epsilon
        for _ in range(50):
            middle = (low + high) / 2
            above = float((weights * np.maximum(-np.expm1(middle - losses), 0.0)).sum()) > delta
            low, high = (middle, high) if above else (low, middle)
        return low

    worst = max(least(share * epsilon) for share in np.linspace(0.3, 0.7, 81))
    found = epsilon_of(range_law((epsilon,) * count), delta)
    assert worst <= found <= 1.01 * worst


@given(st.lists(st.floats(1e-3, 3.0), min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_it_is_a_pair_of_laws_whose_losses_have_no_direction(epsilons):
    law = range_law(tuple(epsilons))
    assert law.masses.min() >= 0
    assert law.masses.sum() == pytest.approx(1, abs=1e-12)
    assert (law.masses * np.exp(-law.places)).sum() == pytest.approx(1, abs=1e-9)
    assert law.epsilon <= sum(epsilons) + (3 + len(epsilons)) * law.step


@pytest.mark.parametrize("step", [0.003, 0.01, 0.5])
def test_another_grid_makes_it_worse_and_never_better(step):
    law = range_law((0.2, 0.1, 0.4))
    first, masses = law.on_grid(step)
    places = np.arange(first, first + len(masses)) * step
    assert masses.sum() == pytest.approx(1, abs=1e-12)
    for asked in np.linspace(-0.6, 0.7, 27):
        coarse = float((masses * np.maximum(-np.expm1(asked - places), 0.0)).sum())
        assert delta_of(law, asked) <= coarse + 1e-14


@pytest.mark.parametrize("order", [-3.0, 0.0, 0.7, 12.0])
def test_moments_are_those_of_the_masses(order):
    law = range_law((0.2, 0.1, 0.4))
    assert law.log_moment(order) == pytest.approx(math.log((law.masses * np.exp(order * law.places)).sum()), abs=1e-12)


def test_the_curve_falls_and_is_convex_in_the_exponential():
    step, curve = adaptive_curve((0.3, 0.05, 0.7))
    slopes = np.diff(curve) / np.diff(np.exp(np.arange(len(curve)) * step))
    assert (slopes <= 0).all()
    assert (np.diff(slopes) >= -1e-12).all()

"""Bounded range: the curve of exponential mechanisms, against laws whose log ratios fill an interval of that length."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfda.arrays import Array
from dpfda.privacy import Budget, PureProfile, RangeProfile

EPSILONS = [0.01, 0.3, 1.0, 3.0, 8.0]


def pair(ends: Array, masses: Array, epsilon: float) -> tuple[Array, Array]:
    """Two laws whose log ratios fill an interval of length epsilon, from any points of it and any masses."""
    losses = epsilon * ends
    other = masses / masses.sum()
    one = other * np.exp(losses)
    return one / one.sum(), other


pairs = st.integers(2, 6).flatmap(
    lambda size: st.tuples(
        st.lists(st.floats(0, 1), min_size=size, max_size=size),
        st.lists(st.floats(1e-6, 1), min_size=size, max_size=size),
    )
)


@given(laws=pairs, epsilon=st.sampled_from(EPSILONS), at=st.floats(0, 1), positives=st.floats(0.001, 0.999))
@settings(derandomize=True, deadline=None, max_examples=500)
def test_no_pair_of_laws_in_the_range_does_worse(
    laws: tuple[list[float], list[float]], epsilon: float, at: float, positives: float
) -> None:
    one, other = pair(np.array(laws[0]), np.array(laws[1]), epsilon)
    profile, less = RangeProfile(epsilon), at * epsilon
    delta = np.maximum(one - math.exp(less) * other, 0).sum()
    assert delta <= profile.delta(less) + 1e-15
    # Neyman and Pearson: by descending ratio, the last one in part.
    order = np.argsort(-one / other)
    detected = np.interp(positives, np.append(0, np.cumsum(other[order])), np.append(0, np.cumsum(one[order])))
    assert detected <= profile.power(positives) + 1e-12
    for alpha in (1.1, 2.0, 10.0):
        divergence = math.log(np.sum(one**alpha * other ** (1 - alpha))) / (alpha - 1)
        assert divergence <= alpha * profile.rho + 1e-12


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_two_points_attain_the_curve_and_the_power(epsilon: float) -> None:
    """Ratios e^t and e^(t - epsilon) with the t that the proof names."""
    profile = RangeProfile(epsilon)
    for less in (0.0, epsilon / 3, 0.9 * epsilon):
        t = (less + epsilon) / 2
        mass = (math.exp(-t) - math.exp(-epsilon)) / -math.expm1(-epsilon)
        assert mass * (math.exp(t) - math.exp(less)) == pytest.approx(profile.delta(less), rel=1e-9)
    for positives in (0.01, 0.05, 0.5):
        ratio = 1 / (positives + (1 - positives) * math.exp(-epsilon))
        mass = (1 / ratio - math.exp(-epsilon)) / -math.expm1(-epsilon)
        assert mass == pytest.approx(positives, rel=1e-9)
        assert positives * ratio == pytest.approx(profile.power(positives), rel=1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_it_promises_more_than_pure_epsilon_alone_and_the_same_without_delta(epsilon: float) -> None:
    profile, pure = RangeProfile(epsilon), PureProfile(epsilon)
    for less in np.linspace(0, 1, 9)[:-1] * epsilon:
        assert profile.delta(less) <= pure.delta(less)
    for positives in (0.001, 0.05, 0.5, 0.99):
        assert profile.power(positives) <= pure.power(positives)
    assert profile.rho == pytest.approx(pure.rho / 4, rel=1e-14)
    assert profile.rho * 8 >= epsilon**2
    assert profile.delta(epsilon) == 0.0
    assert profile.meets(Budget(epsilon, 0.0))
    assert not profile.meets(Budget(epsilon * 0.999, 0.0))
    assert profile.meets(Budget(epsilon * 0.9, profile.delta(epsilon * 0.9)))


def test_large_and_extreme_values_are_safe() -> None:
    assert RangeProfile(2000.0).power(0.05) == 1.0
    assert RangeProfile(2000.0).delta(1.0) >= 1.0 - 1e-9
    assert RangeProfile(1.0).power(0.0) == 0.0
    assert RangeProfile(1.0).power(1.0) == 1.0

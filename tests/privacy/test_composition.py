"""Composition: never below what can be enumerated, and within one per cent of an independent accountant."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy.special import gammaln
from scipy.stats import norm

from dpfda.arrays import Array
from dpfda.errors import UsageError
from dpfda.mechanisms import Gaussian, Laplace, SeededRandomness
from dpfda.privacy import Budget, GaussianProfile, Profile, PureProfile, RangeProfile, calibrate
from dpfda.privacy import loss_distribution as pld
from dpfda.privacy.composition import MOST_LAWS, Composed, compose
from dpfda.privacy.loss_laws import LossLaw
from dpfda.privacy.norms import L2, Sensitivity
from dpfda.privacy.profiles import LaplaceProfile, StatedProfile

LOSSES = st.one_of(
    st.builds(PureProfile, st.floats(1e-3, 2)),
    st.builds(RangeProfile, st.floats(1e-3, 2)),
    st.builds(LaplaceProfile, st.floats(1e-3, 2), st.floats(1, 1e6)),
    st.builds(GaussianProfile, st.floats(1e-2, 1)),
    st.builds(StatedProfile, st.floats(1e-3, 2), st.floats(0, 1e-8)),
)
GRID = 2e-3  # what the grid may cost, relative to epsilon


def mixed(count: int, size: float) -> list[Profile]:
    """Gaussian, K-norm, Laplace and exponential releases of many sizes, none like another."""
    losses: list[Profile] = []
    for i in range(count):
        epsilon = size * (0.05 + 0.3 * ((37 * i) % count) / count)
        kinds = (
            GaussianProfile(epsilon / 3),
            PureProfile(epsilon),
            LaplaceProfile(epsilon, 1e9),
            RangeProfile(epsilon),
        )
        losses.append(kinds[i % 4])
    return losses


# An independent accountant -------------------------------------------------------------------------------------------


def below(loss: Profile, interval: float, share: float = 0.5) -> Any:
    """dp-accounting's distribution of one loss, every loss rounded down to its grid: epsilons from below.

    It knows normal and Laplace noise and randomised response. An exponential mechanism is given to it as a choice
    between two candidates whose log odds move by epsilon, `share` of it in favour of the first.
    """
    from dp_accounting.pld import privacy_loss_distribution as accountant

    rounding = {"value_discretization_interval": interval, "pessimistic_estimate": False}
    if isinstance(loss, GaussianProfile):
        return accountant.from_gaussian_mechanism(1 / loss.mu, use_connect_dots=False, **rounding)
    if isinstance(loss, LaplaceProfile):
        return accountant.from_laplace_mechanism(1 / loss.epsilon, use_connect_dots=False, **rounding)
    if isinstance(loss, PureProfile):
        return accountant.from_randomized_response(2 / (1 + math.exp(loss.epsilon)), 2, **rounding)
    assert isinstance(loss, RangeProfile)
    up, down = share * loss.epsilon, (1 - share) * loss.epsilon
    first = math.expm1(down) / (math.exp(down) - math.exp(-up))
    one = {1: math.log(first), 2: math.log1p(-first)}
    other = {1: math.log(first) - up, 2: math.log1p(-first) + down}
    return accountant.from_two_probability_mass_functions(other, one, **rounding)


def _both(one: Any, other: Any) -> Any:
    return one.compose(other)


def least(losses: list[Profile], interval: float, delta: list[float]) -> list[float]:
    """Epsilons from below, composed one by one; of exponential mechanisms the worst shares of a few."""
    others = reduce(_both, (below(loss, interval) for loss in losses if not isinstance(loss, RangeProfile)))
    choices = [loss for loss in losses if isinstance(loss, RangeProfile)]
    sums = [
        reduce(_both, (below(loss, interval, share) for loss in choices), others)
        for share in (0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 0.999)
    ]
    return [max(found.get_epsilon_for_delta(at) for found in sums) for at in delta]


@pytest.mark.audit
@pytest.mark.parametrize(
    ("losses", "interval", "most"),
    [
        pytest.param(mixed(100, 1.0), 1e-4, 1.01, id="a hundred of all kinds"),
        pytest.param(mixed(100, 0.01), 1e-6, 1.01, id="a hundred small ones"),
        pytest.param(mixed(100, 10.0), 1e-3, 1.01, id="a hundred large ones"),
        pytest.param(mixed(6, 2.0), 1e-4, 1.03, id="six"),
        pytest.param(
            [*mixed(30, 0.1), PureProfile(3.0), RangeProfile(2.0)], 1e-4, 1.03, id="thirty small ones and two large"
        ),
        pytest.param(
            [loss for loss in mixed(60, 1.0) if not isinstance(loss, GaussianProfile)], 1e-4, 1.01, id="no Gaussian"
        ),
    ],
)
def test_mixed_releases_compose_to_within_one_per_cent_of_an_independent_accountant(
    losses: list[Profile], interval: float, most: float
) -> None:
    """dp-accounting 0.6, one by one on a fine grid that rounds down; ours lies above it, and hardly.

    With one or two choices among a few releases the reference, whose choices do not look at what came before, leaves
    out what an adversary could gain by looking.
    """
    deltas = [1e-2, 1e-4, 1e-6, 1e-9]
    for delta, reference in zip(deltas, least(losses, interval, deltas), strict=True):
        assert reference <= compose(losses, delta=delta).epsilon <= most * reference


@pytest.mark.audit
@pytest.mark.parametrize("seed", [1, 2])
def test_a_hundred_releases_drawn_a_million_times_lose_what_is_composed(seed: int) -> None:
    """Losses of drawn noise, at level 1e-6: an estimate further than 4.9 of its deviations away is a failure."""
    losses, randomness, delta, draws = mixed(100, 1.0), SeededRandomness(seed), 1e-3, 1_000_000
    total = np.zeros(draws)
    for loss in losses:
        if isinstance(loss, GaussianProfile):
            total += loss.mu * randomness.normal((draws,)) + loss.mu**2 / 2
        elif isinstance(loss, PureProfile):
            truth = randomness.uniform((draws,)) < 1 / (1 + math.exp(-loss.epsilon))
            total += np.where(truth, loss.epsilon, -loss.epsilon)
        elif isinstance(loss, LaplaceProfile):
            scale = 1e6 / loss.epsilon
            z = randomness.laplace(scale, draws)
            total += (np.abs(z - 1_000_000) - np.abs(z)) / scale
        else:
            assert isinstance(loss, RangeProfile)
            half = loss.epsilon / 2
            first = randomness.uniform((draws,)) < math.expm1(half) / (math.exp(half) - math.exp(-half))
            total += np.where(first, half, -half)
    epsilon = compose(losses, delta=delta).epsilon
    for at, low, high in ((epsilon, 0.97, 1.0), (0.97 * epsilon, 1.0, 1.5)):
        lost = np.maximum(0.0, -np.expm1(np.minimum(at - total, 0.0)))
        noise = 4.9 * float(lost.std()) / math.sqrt(draws)
        assert delta * low - noise < lost.mean() < delta * high + noise


# Small cases, enumerated ---------------------------------------------------------------------------------------------


def enumerated(ratios: list[Fraction], at: Fraction) -> Fraction:
    """The delta of randomised responses with these likelihood ratios at `e^eps = at`, over all outcomes, exactly."""
    total = Fraction(0)
    for truths in itertools.product((True, False), repeat=len(ratios)):
        one = other = Fraction(1)
        for truth, ratio in zip(truths, ratios, strict=True):
            one *= (ratio if truth else 1) / (1 + ratio)
            other *= (1 if truth else ratio) / (1 + ratio)
        total += max(Fraction(0), one - at * other)
    return total


@given(
    ratios=st.lists(st.fractions(Fraction(101, 100), 20, max_denominator=100), min_size=1, max_size=7),
    delta=st.sampled_from([0.3, 0.05, 1e-2, 1e-4, 1e-9]),
)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_products_of_randomised_responses_are_never_undercounted(ratios: list[Fraction], delta: float) -> None:
    losses = [PureProfile(math.nextafter(math.log(ratio), math.inf)) for ratio in ratios]
    epsilon = compose(losses, delta=delta).epsilon
    assert enumerated(ratios, Fraction(math.exp(epsilon)) * (1 + Fraction(1, 10**14))) <= Fraction(delta)
    # And hardly overcounted.
    assert epsilon < 1e-9 or enumerated(ratios, Fraction(math.exp(epsilon * (1 - GRID)))) > Fraction(delta)


@pytest.mark.parametrize("count", [10, 100, 1000, 5000])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-15, 1e-40])
@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 0.3, 2.0])
def test_many_equal_responses_agree_with_the_binomial_sum(count: int, delta: float, epsilon: float) -> None:
    composed = compose([PureProfile(epsilon)] * count, delta=delta).epsilon
    successes = np.arange(count + 1)
    logs = gammaln(count + 1) - gammaln(successes + 1) - gammaln(count - successes + 1)
    logs = logs - count * math.log1p(math.exp(-epsilon)) - (count - successes) * epsilon
    losses = (2 * successes - count) * epsilon

    def exact(at: float) -> float:
        above = losses > at
        return float(np.exp(logs[above]) @ -np.expm1(at - losses[above]))

    assert exact(composed) <= delta * (1 + 1e-9)
    assert composed == 0 or exact(composed * (1 - GRID)) > delta


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-20, 1e-100])
@pytest.mark.parametrize("mu", [0.01, 0.5, 3.0])
def test_gaussian_noise_beside_responses_agrees_with_the_sum_over_their_outcomes(mu: float, delta: float) -> None:
    count, epsilon = 40, 0.2
    losses = [*[GaussianProfile(mu / 2)] * 4, *[PureProfile(epsilon)] * count]
    composed = compose(losses, delta=delta).epsilon
    successes = np.arange(count + 1)
    logs = gammaln(count + 1) - gammaln(successes + 1) - gammaln(count - successes + 1)
    masses = np.exp(logs - count * math.log1p(math.exp(-epsilon)) - (count - successes) * epsilon)

    def exact(at: float) -> float:
        rest = at - (2 * successes - count) * epsilon
        first, second = norm.logcdf(mu / 2 - rest / mu), rest + norm.logcdf(-mu / 2 - rest / mu)
        return float(masses @ (np.exp(first) * -np.expm1(second - first)))

    assert exact(composed) <= delta * (1 + 1e-9)
    assert exact(composed * (1 - GRID)) > delta


def product(pairs: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    one, other = np.ones(1), np.ones(1)
    for first, second in pairs:
        one, other = np.outer(one, first).ravel(), np.outer(other, second).ravel()
    return one, other


points = st.integers(2, 4).flatmap(
    lambda size: st.tuples(
        st.floats(0.05, 3),
        st.lists(st.floats(0, 1), min_size=size, max_size=size),
        st.lists(st.floats(1e-4, 1), min_size=size, max_size=size),
    )
)


@given(choices=st.lists(points, min_size=1, max_size=5), delta=st.sampled_from([0.1, 1e-2, 1e-4]))
@settings(derandomize=True, deadline=None, max_examples=100)
def test_no_exponential_mechanisms_lose_more_together_than_is_composed(
    choices: list[tuple[float, list[float], list[float]]], delta: float
) -> None:
    pairs = []
    for epsilon, places, masses in choices:
        other = np.array(masses) / np.sum(masses)
        one = other * np.exp(epsilon * np.array(places))
        pairs.append((one / one.sum(), other))
    one, other = product(pairs)
    composed = compose([RangeProfile(epsilon) for epsilon, _, _ in choices], delta=delta).epsilon
    assert np.maximum(0.0, one - math.exp(composed) * other).sum() <= delta + 1e-12
    assert np.maximum(0.0, other - math.exp(composed) * one).sum() <= delta + 1e-12


@pytest.mark.parametrize("scale", [1.0, 4.0, 30.0])
@pytest.mark.parametrize("shifts", [(3, 5), (8, 8, 8), (1, 1, 2, 3, 40)], ids=str)
def test_integer_laplace_releases_lose_no_more_together_than_is_composed(scale: float, shifts: tuple[int, ...]) -> None:
    """Their losses are whole multiples of one over the scale: an exact convolution."""
    masses = np.ones(1)
    for shift in shifts:
        one = np.zeros(2 * shift + 1)
        z = np.arange(-int(50 * scale) - 2, int(50 * scale) + shift + 2)
        weights = np.exp(-np.abs(z) / scale)
        np.add.at(one, np.abs(z - shift) - np.abs(z) + shift, weights / weights.sum())
        masses = np.convolve(masses, one)
    losses = (np.arange(len(masses)) - sum(shifts)) / scale
    for delta in (1e-2, 1e-4, 1e-8):
        composed = compose([LaplaceProfile(shift / scale, scale) for shift in shifts], delta=delta).epsilon
        exact = float(masses @ np.maximum(0.0, -np.expm1(np.minimum(composed - losses, 0.0))))
        assert exact <= delta * (1 + 1e-9)


@pytest.mark.parametrize("scale", [16.0, 20.5, 100.0])
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-3, 1e-6])
def test_integer_gaussian_releases_lose_no_more_together_than_is_composed(
    scale: float, count: int, delta: float
) -> None:
    """Their losses are linear in the noise, so that of all together is that of a convolution of integer laws."""
    shift = round(scale)
    z = np.arange(-int(14 * scale), int(14 * scale) + 1)
    weights = np.exp(-(z**2) / (2 * scale**2))
    masses = reduce(np.convolve, [weights / weights.sum()] * count)
    total = np.arange(len(masses)) - count * int(14 * scale)
    losses = (count * shift**2 + 2 * shift * total) / (2 * scale**2)
    loss = Gaussian().profile(Sensitivity(float(shift), L2(), "a shift"), scale, size=1)
    composed = compose([loss] * count, delta=delta).epsilon
    exact = float(masses @ np.maximum(0.0, -np.expm1(np.minimum(composed - losses, 0.0))))
    assert exact <= delta
    # Beside a response, by the same law once for each of its answers.
    both = compose([*[loss] * count, PureProfile(1.0)], delta=delta).epsilon
    answers = ((1.0, 1 / (1 + math.exp(-1))), (-1.0, 1 / (1 + math.exp(1))))
    for_each = [
        mass * (masses @ np.maximum(0.0, -np.expm1(np.minimum(both - losses - answer, 0.0))))
        for answer, mass in answers
    ]
    assert sum(for_each) <= delta


@pytest.mark.parametrize(
    "setting", [{"TAIL": 2.0}, {"LEAST_SIZE": 8, "MOST_SIZE": 64}, {"SPREAD": 0.5, "LEAST_SIZE": 8}], ids=str
)
@pytest.mark.parametrize("mu", [0.0, 0.7])
def test_a_narrow_window_and_a_coarse_grid_cost_tightness_and_never_safety(
    monkeypatch: pytest.MonkeyPatch, setting: dict[str, float], mu: float
) -> None:
    losses: list[Profile] = [PureProfile(0.31), RangeProfile(0.5), LaplaceProfile(0.7, 1e3)] * 7
    losses += [GaussianProfile(mu)] if mu else []
    good = [compose(losses, delta=delta).epsilon for delta in (1e-2, 1e-5, 1e-9)]
    for name, value in setting.items():
        monkeypatch.setattr(pld, name, value)
    bad = [compose(losses, delta=delta).epsilon for delta in (1e-2, 1e-5, 1e-9)]
    assert all(worse >= better * (1 - 1e-3) for better, worse in zip(good, bad, strict=True))
    assert any(worse > better * (1 + 1e-6) for better, worse in zip(good, bad, strict=True))


@given(
    law=st.one_of(
        st.builds(LossLaw.response, st.floats(1e-3, 5)),
        st.builds(LossLaw.bounded_range, st.floats(1e-3, 5)),
        st.builds(LossLaw.laplace, st.floats(1e-3, 5), st.floats(0, 2)),
    ),
    step=st.floats(1e-3, 4),
    at=st.floats(-6, 6),
)
@settings(derandomize=True, deadline=None, max_examples=300)
def test_a_law_on_any_grid_dominates_the_exact_one(law: LossLaw, step: float, at: float) -> None:
    """Every delta is at least that of a grid two thousand times finer that holds the ends of the law."""
    curves = []
    for width in (step, law.epsilon / 2000):
        first, masses = law.on_grid(width)
        losses = np.arange(first, first + len(masses)) * width
        assert masses.min() >= 0
        assert masses.sum() == pytest.approx(1, rel=1e-11)
        assert masses @ np.exp(-losses) == pytest.approx(1, rel=1e-11)
        curves.append(float(masses @ np.maximum(0.0, -np.expm1(np.minimum(at - losses, 0.0)))))
    # The finer grid dominates the exact law too, by no more than its step squared.
    assert curves[0] >= curves[1] - (law.epsilon / 2000) ** 2 - 1e-12


# Properties ----------------------------------------------------------------------------------------------------------


@given(losses=st.lists(LOSSES, min_size=1, max_size=8), more=LOSSES, delta=st.sampled_from([1e-2, 1e-5, 1e-7]))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_one_more_loss_never_lowers_what_was_composed(losses: list[Profile], more: Profile, delta: float) -> None:
    before, after = compose(losses, delta=delta), compose([*losses, more], delta=delta)
    assert after.epsilon >= before.epsilon * (1 - GRID)
    assert (after.pure, after.rho) >= (before.pure, before.rho)
    added = Composed.nothing(delta).plus(losses).plus([more]).statement
    assert added.epsilon == pytest.approx(after.epsilon, rel=GRID, abs=1e-9)


@given(losses=st.lists(LOSSES, min_size=2, max_size=8), order=st.randoms(use_true_random=False))
@settings(derandomize=True, deadline=None, max_examples=40)
def test_the_order_of_releases_does_not_matter(losses: list[Profile], order: Any) -> None:
    shuffled = list(losses)
    order.shuffle(shuffled)
    one, other = compose(losses, delta=1e-6), compose(shuffled, delta=1e-6)
    # Choices of different sizes are composed in their order: either is a bound, and they differ by some thousandths.
    ordered = sum(isinstance(loss, RangeProfile) for loss in losses) > 1
    assert one.epsilon == pytest.approx(other.epsilon, rel=5e-3 if ordered else 1e-9)
    assert (one.pure, one.rho) == (other.pure, other.rho)


@given(losses=st.lists(LOSSES, min_size=1, max_size=6))
@settings(derandomize=True, deadline=None, max_examples=40)
def test_a_larger_delta_or_a_smaller_group_costs_less(losses: list[Profile]) -> None:
    epsilons = [compose(losses, delta=delta).epsilon for delta in (1e-7, 1e-5, 1e-3)]
    assert all(later <= earlier * (1 + GRID) for earlier, later in itertools.pairwise(epsilons))
    assert compose(losses, delta=1e-5, people=1) == compose(losses, delta=1e-5)
    groups = [compose(losses, delta=1e-5, people=people).epsilon for people in (1, 2, 5)]
    assert all(later >= earlier * (1 - GRID) for earlier, later in itertools.pairwise(groups))


@pytest.mark.parametrize("people", [2, 7])
def test_a_group_is_composed_from_the_losses_of_groups(people: int) -> None:
    losses = mixed(20, 0.3)
    together = compose(losses, delta=1e-6, people=people)
    assert together == compose([loss.grouped(people) for loss in losses], delta=1e-6)
    gaussians = compose([GaussianProfile(0.1)] * 10, delta=1e-6, people=people).epsilon
    assert gaussians == pytest.approx(compose([GaussianProfile(0.1 * people)] * 10, delta=1e-6).epsilon, rel=1e-9)


def test_nothing_released_costs_nothing() -> None:
    statement = compose([], delta=1e-6)
    assert (statement.epsilon, statement.pure, statement.rho) == (0, 0, 0)


def test_without_delta_only_pure_losses_have_a_sum_and_it_is_exact() -> None:
    pure = [PureProfile(0.1), LaplaceProfile(0.2, 5.0), RangeProfile(0.3), StatedProfile(0.4, 0.0)]
    statement = compose(pure, delta=0.0)
    assert (statement.epsilon, statement.pure, statement.method) == (1.0, 1.0, "sum of epsilons")
    for more in (GaussianProfile(1e-6), StatedProfile(0.1, 1e-12)):
        assert compose([*pure, more], delta=0.0).epsilon == math.inf
        assert compose([*pure, more], delta=0.0).method.startswith("none")


def test_a_delta_that_is_stated_is_spent() -> None:
    losses = [StatedProfile(0.1, 1e-7)] * 9
    assert compose(losses, delta=1e-7 * 8).epsilon == math.inf
    assert compose(losses, delta=1e-6).epsilon < 0.9
    assert compose(losses, delta=1e-6).epsilon >= compose([PureProfile(0.1)] * 9, delta=1e-7).epsilon * (1 - GRID)


@pytest.mark.parametrize("mechanism", [Gaussian(), Laplace()], ids=str)
@pytest.mark.parametrize(
    "budget", [Budget(0.1, 1e-9), Budget(1.0, 1e-6), Budget(3.0, 1e-3), Budget(20.0, 1e-6)], ids=str
)
@pytest.mark.parametrize("size", [1, 64, 1000])
def test_a_release_that_was_calibrated_to_a_budget_fits_into_it(mechanism: Any, budget: Budget, size: int) -> None:
    bound = Sensitivity(1e5, L2(), "a bound")
    loss = mechanism.profile(bound, calibrate(mechanism, bound, budget, size=size), size=size)
    epsilon = compose([loss], delta=budget.delta).epsilon
    assert budget.epsilon * (1 - 1e-7) <= epsilon <= budget.epsilon


def test_different_laws_in_great_number_are_rounded_up_and_hardly_change_the_result() -> None:
    losses = [LaplaceProfile(0.05 + 1e-4 * i, 1e4 + i) for i in range(MOST_LAWS + 50)]
    exact = compose(losses[: MOST_LAWS - 1], delta=1e-6).epsilon
    rounded = Composed.nothing(1e-6).plus(losses).statement.epsilon
    whole = math.sqrt(sum(loss.pure**2 for loss in losses) / sum(loss.pure**2 for loss in losses[: MOST_LAWS - 1]))
    assert exact * whole * 0.9 < rounded < exact * whole * 1.3
    for law in (LossLaw.response(0.3), LossLaw.bounded_range(0.3), LossLaw.laplace(0.3, 0.01)):
        larger = law.rounded()
        assert law.epsilon <= larger.epsilon <= law.epsilon * (1 + 1 / 4096)
        assert all(larger.log_moment(order) >= law.log_moment(order) for order in (0.5, 3.0, 40.0))


@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan])
def test_a_delta_outside_its_range_is_refused(delta: float) -> None:
    with refused(UsageError, "delta", delta):
        compose([PureProfile(1.0)], delta=delta)


def test_a_group_of_nobody_is_refused() -> None:
    with refused(UsageError, "people", 0):
        compose([], delta=0.0, people=0)


@pytest.mark.parametrize(
    "losses",
    [
        [PureProfile(1e-12), RangeProfile(1e-13), LaplaceProfile(1e-14, 1e15)],
        [PureProfile(1000.0), PureProfile(800.0), GaussianProfile(1.0)],
        [LaplaceProfile(2000.0, 1e-3), RangeProfile(900.0)],
        [PureProfile(1e6), PureProfile(1e-6)],
        [GaussianProfile(1e5), PureProfile(1.0)],
        [GaussianProfile(1e-9), PureProfile(5.0), RangeProfile(1e-6)],
    ],
    ids=str,
)
@pytest.mark.parametrize("delta", [0.5, 1e-9, 1e-300])
def test_extreme_losses_compose_without_a_fuss(losses: list[Profile], delta: float) -> None:
    statement = compose(losses, delta=delta)
    assert 0 <= statement.epsilon <= statement.pure
    # The largest loss alone bounds the epsilon from below.
    assert statement.epsilon >= max(compose([loss], delta=delta).epsilon for loss in losses) * (1 - GRID)

"""Running totals: exact integers, typed decimals, and a bound that is never below the tight one."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from dpfda.errors import UsageError
from dpfda.privacy import GaussianProfile, Profile, PureProfile, RangeProfile
from dpfda.privacy.budget import DELTA_UNITS, EPSILON_UNITS, amount_of, exactly, units
from dpfda.privacy.composition import compose
from dpfda.privacy.conversion import gaussian_epsilon, solve, zcdp_epsilon
from dpfda.privacy.profiles import LaplaceProfile, StatedProfile
from dpfda.privacy.totals import Sums

LOSSES = st.one_of(
    st.builds(PureProfile, st.floats(1e-4, 2)),
    st.builds(RangeProfile, st.floats(1e-4, 2)),
    st.builds(LaplaceProfile, st.floats(1e-4, 2), st.floats(1, 1e6)),
    st.builds(GaussianProfile, st.floats(1e-3, 1)),
    st.builds(
        lambda mu, steps: GaussianProfile(mu, 0.0203 * 8 / steps**2 * 1.001, 8, steps),
        st.floats(1e-3, 1),
        st.floats(1e4, 1e7),
    ),
    st.builds(StatedProfile, st.floats(1e-4, 2), st.floats(0, 1e-8)),
)


@pytest.mark.parametrize("typed", [0.1, 0.2, 0.3, 0.7, 1.1, 1e-12, 123.456], ids=str)
def test_typed_decimals_are_whole_units(typed: float) -> None:
    assert units(typed, EPSILON_UNITS) == Fraction(str(typed)) * 10**12
    assert units(math.nextafter(typed, math.inf), EPSILON_UNITS) > units(typed, EPSILON_UNITS)
    assert units(0.1, EPSILON_UNITS) == 100_000_000_000
    assert units(1e-6, DELTA_UNITS) == 10**12


def test_ten_tenths_are_exactly_one_in_any_order_and_grouping() -> None:
    tenths = [PureProfile(0.1)] * 10
    assert Sums.nothing().plus(tenths).pure == 1.0
    assert Sums.nothing().plus(tenths[:3]).plus(tenths[3:]).epsilon(0.0) == 1.0
    assert compose(tenths, delta=0.0).epsilon == 1.0
    assert Sums.nothing().plus([StatedProfile(0.1, 1e-7)] * 10).epsilon(1e-6) == 1.0


@pytest.mark.parametrize("scale", [3.0, 7.7, 1e5, 123456.789])
@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0])
def test_calibrated_losses_add_up_to_the_budgets_they_met(scale: float, epsilon: float) -> None:
    """A scale rounded up leaves an epsilon a few last digits below the typed one: still the same number of units."""
    from dpfda.mechanisms import Laplace
    from dpfda.privacy import Budget, calibrate
    from dpfda.privacy.norms import L1, Sensitivity

    bound = Sensitivity(scale, L1(), "a bound")
    loss = Laplace().profile(bound, calibrate(Laplace(), bound, Budget(epsilon, 0.0), size=3), size=3)
    assert Sums.nothing().plus([loss] * 10).pure == amount_of(10 * exactly(epsilon))


@pytest.mark.parametrize("bad", [math.inf, math.nan, -math.inf])
def test_what_is_not_finite_cannot_be_added_up(bad: float) -> None:
    with refused(UsageError, "amount", bad):
        units(bad, EPSILON_UNITS)


def test_an_exact_total_becomes_the_least_double_that_prints_no_lower() -> None:
    assert amount_of(Fraction(3, 10)) == 0.3
    assert exactly(amount_of(Fraction(1, 3))) >= Fraction(1, 3)
    assert exactly(math.nextafter(amount_of(Fraction(1, 3)), 0.0)) < Fraction(1, 3)
    assert amount_of(Fraction(10) ** 400) == math.inf


@given(losses=st.lists(LOSSES, max_size=12), order=st.randoms(use_true_random=False))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_totals_do_not_see_the_order_and_survive_a_row(losses: list[Profile], order: Any) -> None:
    total = Sums.nothing().plus(losses)
    mixed = list(losses)
    order.shuffle(mixed)
    assert Sums.nothing().plus(mixed) == total
    assert Sums.from_row(json.loads(json.dumps(total.to_row()))) == total


@given(losses=st.lists(LOSSES, min_size=1, max_size=8), delta=st.sampled_from([1e-3, 1e-6, 1e-9]))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_the_quick_bound_is_never_below_the_composed_one_and_grows_with_every_loss(
    losses: list[Profile], delta: float
) -> None:
    quick = [Sums.nothing().plus(losses[:count]).epsilon(delta) for count in range(len(losses) + 1)]
    assert quick[0] == 0
    assert all(after >= before * (1 - 1e-9) for before, after in itertools.pairwise(quick))
    assert compose(losses, delta=delta).epsilon <= quick[-1]


def test_statements_that_do_not_exist_are_infinite() -> None:
    gaussian, stated = Sums.nothing().plus([GaussianProfile(1.0)]), Sums.nothing().plus([StatedProfile(1.0, 1e-6)])
    assert (gaussian.pure, gaussian.epsilon(0.0)) == (math.inf, math.inf)
    assert gaussian.rho == 0.5
    assert (stated.pure, stated.rho, stated.epsilon(0.0), stated.epsilon(1e-7)) == (math.inf,) * 4
    assert stated.epsilon(1e-6) == 1.0
    assert stated.plus([GaussianProfile(1.0)]).epsilon(1e-6) == math.inf
    assert Sums.nothing().plus([RangeProfile(2.0)]).rho == pytest.approx(0.5, rel=1e-11)


def test_samplers_of_which_nothing_is_known_leave_no_guarantee() -> None:
    coarse = GaussianProfile(0.1, 1.0, 8, 3.0)
    assert Sums.nothing().plus([coarse, GaussianProfile(0.1)]).epsilon(1e-6) == math.inf
    assert compose([coarse, PureProfile(0.1)], delta=1e-6).epsilon == math.inf
    assert Sums.nothing().plus([coarse]).weight == -1


@pytest.mark.parametrize("row", [{}, None, {"count": 1}, {**Sums.nothing().to_row(), "lost": 1.0}], ids=str)
def test_a_damaged_row_is_refused(row: Any) -> None:
    with refused(UsageError, "row", row):
        Sums.from_row(row)


def test_a_row_with_a_negative_total_is_refused() -> None:
    with refused(UsageError, "row"):
        Sums.from_row({**Sums.nothing().to_row(), "bounded": -1})


# The closed forms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 8.0, 30.0])
@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-6, 1e-12, 1e-200])
def test_the_gaussian_epsilon_is_the_least_that_its_curve_allows(mu: float, delta: float) -> None:
    epsilon = gaussian_epsilon(mu, delta)
    assert GaussianProfile(mu).delta(epsilon) <= delta
    assert epsilon == 0 or GaussianProfile(mu).delta(epsilon * (1 - 1e-10)) > delta


def test_epsilons_without_delta_or_beyond_all_bounds_are_infinite() -> None:
    assert gaussian_epsilon(1.0, 0.0) == gaussian_epsilon(math.inf, 0.1) == gaussian_epsilon(1e9, 1e-6) == math.inf
    assert zcdp_epsilon(1.0, 0.0) == zcdp_epsilon(math.inf, 0.1) == math.inf
    assert gaussian_epsilon(0.0, 1e-6) == zcdp_epsilon(0.0, 1e-6) == 0


@pytest.mark.parametrize("rho", [1e-6, 1e-2, 1.0, 50.0])
@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-30])
def test_the_concentrated_epsilon_lies_between_the_gaussian_one_and_the_plain_conversion(
    rho: float, delta: float
) -> None:
    """Normal noise has this rho: no conversion goes below it. `rho + 2 sqrt(rho log(1/delta))` is Bun and Steinke's."""
    epsilon = zcdp_epsilon(rho, delta)
    assert (
        gaussian_epsilon(math.sqrt(2 * rho), delta) <= epsilon < rho + 2 * math.sqrt(rho * math.log(1 / delta)) + 1e-12
    )


@pytest.mark.parametrize("precision", [1e-3, 1e-7, 1e-13])
def test_solving_returns_a_place_where_the_curve_was_seen_low_enough(precision: float) -> None:
    seen: dict[float, float] = {}

    def curve(epsilon: float) -> float:
        seen[epsilon] = math.exp(-3 * epsilon)
        return seen[epsilon]

    for delta in (0.999, 0.5, 1e-6, 1e-200):
        epsilon = solve(curve, delta, precision=precision)
        assert seen[epsilon] <= delta
        assert epsilon <= -math.log(delta) / 3 * (1 + 2 * precision)
    assert solve(curve, 1.0) == 0


@pytest.mark.parametrize("value", [math.nan, 1.0])
def test_a_curve_that_never_falls_or_is_no_number_proves_nothing(value: float) -> None:
    assert solve(lambda epsilon: value, 0.1) == math.inf

"""Privacy curves: every number they return is on the safe side of an exact or 17-digit truth, and hardly beyond it."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy.special import ndtr, ndtri

from dpfda.errors import UsageError
from dpfda.mechanisms import Gaussian, Laplace
from dpfda.privacy import Budget, GaussianProfile, Profile, PureProfile, RangeProfile, calibrate
from dpfda.privacy.norms import L1, L2, Sensitivity
from dpfda.privacy.profiles import LaplaceProfile, StatedProfile

# The single list of curves: a new kind of profile joins by one line.
MEMBERS: list[Profile] = [
    PureProfile(1e-3),
    PureProfile(0.5),
    PureProfile(4.0),
    RangeProfile(1e-3),
    RangeProfile(0.5),
    RangeProfile(4.0),
    LaplaceProfile(1e-3, 1e6),
    LaplaceProfile(0.5),
    LaplaceProfile(0.5, 1.5),
    LaplaceProfile(4.0, 0.7),
    LaplaceProfile(4.0, 1e3),
    StatedProfile(0.5, 1e-6),
    StatedProfile(4.0, 0.0),
    GaussianProfile(1e-3),
    GaussianProfile(0.3),
    GaussianProfile(2.0),
    GaussianProfile(0.3, distance=1e-9),
    GaussianProfile(2.0, distance=1e-4),
]
EPSILONS = [0.0, 1e-3, 0.1, 0.4, 0.5, 1.0, 2.0, 3.9, 4.0, 10.0]
every = pytest.mark.parametrize("profile", MEMBERS, ids=str)

# (mu, epsilon, delta): 17 digits, from the exact privacy curve in 60-digit arithmetic.
CURVE = [
    (0.01, 0.001, "0.0035110920258420983"),
    (0.001, 0.001, "8.3357132125208494e-5"),
    (0.2, 1.0, "1.7546333318962354e-8"),
    (0.25, 1.0, "2.9242721048564073e-6"),
    (0.5, 0.0, "0.19741265136584745"),
    (1.0, 0.5, "0.23842170813487663"),
    (1.0, 1.0, "0.12693673750664395"),
    (1.0, 3.0, "0.0015371853694009548"),
    (2.0, 10.0, "9.9402028161181528e-6"),
    (3.0, 0.1, "0.85958637921502285"),
    (5.0, 30.0, "0.00013132627111337326"),
    (40.0, 1000.0, "2.5362965149565509e-7"),
]


def exact_curve(mu: float, epsilon: float) -> Decimal:
    """The Gaussian privacy curve in 120-digit decimals, by the power series of the normal law (arguments up to 12)."""
    with localcontext() as context:
        context.prec = 120
        # Machin's formula for pi: nothing here is shared with the code under test.
        pi = 16 * _arctan_of_inverse(5) - 4 * _arctan_of_inverse(239)
        m, e = Decimal(mu), Decimal(epsilon)
        below = [_normal(m / 2 - e / m, pi), _normal(-m / 2 - e / m, pi)]
        return below[0] - e.exp() * below[1]


def _arctan_of_inverse(n: int) -> Decimal:
    total, term, k = Decimal(0), Decimal(1) / n, 0
    while abs(term) > Decimal(10) ** -118:
        total += term / (2 * k + 1) * (-1) ** k
        term, k = term / (n * n), k + 1
    return total


def _normal(x: Decimal, pi: Decimal) -> Decimal:
    assert abs(x) <= 12
    total, term, k = Decimal(0), x, 0
    while k < 8 or abs(term) > Decimal(10) ** -118:
        total += term / (2 * k + 1)
        k += 1
        term *= -x * x / (2 * k)
    return Decimal(1) / 2 + total / (2 * pi).sqrt()


def discrete_gaussian_pair(scale: float, shift: int) -> tuple[np.ndarray, np.ndarray]:
    """Exact weights of the integer Gaussian law around 0 and around an integer, to 14 deviations."""
    z = np.arange(-int(14 * scale) - shift, int(14 * scale) + 2 * shift + 1)
    one, other = np.exp(-(z**2) / (2 * scale**2)), np.exp(-((z - shift) ** 2) / (2 * scale**2))
    return one / one.sum(), other / other.sum()


@every
def test_delta_falls_as_epsilon_grows(profile: Profile) -> None:
    curve = [profile.delta(epsilon) for epsilon in EPSILONS]
    slack = [(1 + math.exp(epsilon)) * getattr(profile, "distance", 0.0) for epsilon in EPSILONS]
    continuous = np.array(curve) - np.array(slack)
    assert np.all(np.array(curve) >= 0)
    assert np.all(np.diff(continuous) <= 0)


@every
@pytest.mark.parametrize("epsilon", EPSILONS[1:])
def test_a_budget_is_met_from_the_stated_delta_on_and_not_below(profile: Profile, epsilon: float) -> None:
    delta = profile.delta(epsilon)
    if 0 < delta < 1:
        assert profile.meets(Budget(epsilon=epsilon, delta=delta))
        assert not profile.meets(Budget(epsilon=epsilon, delta=math.nextafter(delta, 0.0)))
    assert profile.meets(Budget(epsilon=epsilon, delta=0.0)) == (profile.pure <= epsilon)


@every
@pytest.mark.parametrize("positives", [0.0, 1e-12, 1e-3, 0.05, 0.5, 0.999, 1.0])
def test_power_is_a_chance_that_no_guarantee_on_the_curve_contradicts(profile: Profile, positives: float) -> None:
    power = profile.power(positives)
    assert positives <= power <= 1
    assert profile.power(min(1.0, positives + 1e-3)) >= power
    for epsilon in EPSILONS:
        assert power <= (math.exp(epsilon) * positives + profile.delta(epsilon)) * (1 + 1e-11)


@every
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_below_zero_the_curve_is_the_one_of_neighbours_that_changed_places(profile: Profile, epsilon: float) -> None:
    here, there = profile.delta(epsilon), profile.delta(-epsilon)
    distance = getattr(profile, "distance", 0.0)
    exact = -math.expm1(-epsilon) + math.exp(-epsilon) * here
    assert exact * (1 - 1e-12) - 2 * distance <= there <= min(1.0, exact) * (1 + 1e-11) + 2 * distance
    assert there >= -math.expm1(-epsilon)


@every
def test_a_group_of_one_is_the_unit_itself_and_larger_ones_lose_more(profile: Profile) -> None:
    assert profile.grouped(1) == profile
    for people in (2, 3):
        group = profile.grouped(people)
        assert group.pure >= people * profile.pure
        assert type(group) is type(profile)
        for epsilon in EPSILONS:
            assert group.delta(epsilon) >= profile.delta(epsilon)
            # What follows from the curve of one alone: a chain of neighbours, each e^epsilon times the one before.
            steps = [math.exp(i * epsilon) for i in range(people)]
            assert group.delta(people * epsilon) <= sum(steps) * profile.delta(epsilon) * (1 + 1e-9) + 1e-14


@pytest.mark.parametrize("people", [0, -1, 1.5, True, "2"], ids=str)
@pytest.mark.parametrize("profile", [PureProfile(1.0), GaussianProfile(1.0), StatedProfile(1.0, 0.1)], ids=str)
def test_a_group_is_a_whole_number_of_people(profile: Profile, people: object) -> None:
    with refused(UsageError, "people", people):
        profile.grouped(people)  # type: ignore[arg-type]


@every
def test_the_law_of_losses_has_the_curve_of_its_profile(profile: Profile) -> None:
    """`delta(eps) = E (1 - e^(eps - L))_+`, the density integrated by 60 nodes on each side of epsilon."""
    parts = profile.parts()
    if parts.law is None:
        assert parts.mu == getattr(profile, "mu")  # noqa: B009 - only Gaussian curves have one
        return
    law = parts.law
    nodes, weights = np.polynomial.legendre.leggauss(60)
    for epsilon in (*EPSILONS, *(-epsilon for epsilon in EPSILONS)):
        ends = ((law.epsilon, law.end), (-law.epsilon, law.end * math.exp(-law.epsilon)))
        delta = sum(mass * max(0.0, -math.expm1(epsilon - place)) for place, mass in ends)
        start = min(max(epsilon, -law.reach), law.reach)
        half = (law.reach - start) / 2
        losses = start + half * (nodes + 1)
        density = law.inner * np.exp((losses - law.epsilon) / 2)
        delta += half * float(weights @ (density * np.maximum(0.0, -np.expm1(epsilon - losses))))
        delta = parts.delta + (1 - parts.delta) * delta
        assert delta == pytest.approx(profile.delta(epsilon), rel=1e-9, abs=1e-15)


@every
@pytest.mark.parametrize("order", [-2.3, -0.5, 0.0, 0.7, 5.0, 60.0])
def test_the_moments_of_a_law_of_losses_are_those_of_a_fine_grid(profile: Profile, order: float) -> None:
    law = profile.parts().law
    if law is not None:
        first, masses = law.on_grid(law.epsilon / 5000)
        losses = np.arange(first, first + len(masses)) * (law.epsilon / 5000)
        assert masses.sum() == pytest.approx(1, rel=1e-12)
        assert masses @ np.exp(-losses) == pytest.approx(1, rel=1e-11)  # the other law of the pair is one too
        with np.errstate(divide="ignore"):
            on_grid = np.logaddexp.reduce(np.log(masses) + order * losses)
        # The grid spreads a mass by at most a step: its moments are no lower, and hardly higher.
        assert -1e-11 * (1 + abs(order)) <= (on_grid - law.log_moment(order)) * np.sign(order * (order + 1)) <= 1e-3


# Laplace curves ----------------------------------------------------------------------------------------------------


def clipped_laplace(shift: int, alpha: Fraction) -> list[Fraction]:
    """The law of integer Laplace noise cut to [0, shift], weights `alpha^|z|`, exactly."""
    inside = [(1 - alpha) / (1 + alpha) * alpha**y for y in range(1, shift)]
    return [1 / (1 + alpha), *inside, alpha**shift / (1 + alpha)] if shift else [Fraction(1)]


def convolved(one: list[Fraction], other: list[Fraction]) -> list[Fraction]:
    total = [Fraction(0)] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            total[i + j] += a * b
    return total


def delta_of(masses: list[Fraction], alpha: Fraction, ratio: Fraction) -> Fraction:
    """The delta at `e^eps = ratio` of a law on 0..c whose log ratio to its neighbour is `(c - 2y) log(1/alpha)`."""
    c = len(masses) - 1
    # P - ratio Q with Q(y) = P(y) alpha^(c - 2y).
    return sum(
        (max(Fraction(0), mass * (1 - ratio * alpha ** (c - 2 * y))) for y, mass in enumerate(masses)), Fraction(0)
    )


@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(9, 10), Fraction(1, 50)], ids=str)
@pytest.mark.parametrize(
    "shifts", [(1, 1), (1, 2), (2, 2), (1, 5), (3, 4), (1, 1, 1), (2, 1, 3), (1, 1, 1, 1, 1)], ids=str
)
def test_one_coordinate_that_takes_the_whole_shift_does_most_harm(shifts: tuple[int, ...], alpha: Fraction) -> None:
    """In exact fractions, at every ratio where either curve bends: both are straight lines between those."""
    split = [Fraction(1)]
    for shift in shifts:
        split = convolved(split, clipped_laplace(shift, alpha))
    c = sum(shifts)
    whole = clipped_laplace(c, alpha)
    for y in range(c + 1):
        assert delta_of(split, alpha, alpha ** (2 * y - c)) <= delta_of(whole, alpha, alpha ** (2 * y - c))


@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(9, 10), Fraction(1, 50)], ids=str)
@pytest.mark.parametrize("shift", [1, 2, 3, 7, 20])
def test_the_laplace_curve_lies_above_the_exact_one_and_touches_it(shift: int, alpha: Fraction) -> None:
    step = -math.log(alpha)
    profile = LaplaceProfile(shift * step, 1 / step)
    masses = clipped_laplace(shift, alpha)
    gaps = []
    for at in np.linspace(-1.2, 1.2, 400) * shift * step:
        exact = float(delta_of(masses, alpha, Fraction(math.exp(at))))
        assert exact <= profile.delta(at) * (1 + 1e-12) + 1e-15
        gaps.append(profile.delta(at) - exact)
    # Between its bends the exact curve is a chord in e^eps, the stated one an arc above it.
    assert min(gaps) < 1e-4
    assert max(gaps) < 0.5 * (1 - float(alpha)) ** 2 + 1e-12


@pytest.mark.parametrize(
    ("scales", "shifts"),
    [
        ((1.0, 1.0), (2, 3)),
        ((1.0, 7.0), (1, 4)),
        ((0.5, 20.0), (1, 30)),
        ((3.0, 4.0, 50.0), (2, 0, 31)),
        ((2.0, 3.0), (5, 1)),
    ],
    ids=str,
)
def test_the_laplace_curve_holds_for_noise_of_several_scales(
    scales: tuple[float, ...], shifts: tuple[int, ...]
) -> None:
    losses, masses = np.zeros(1), np.ones(1)
    for scale, shift in zip(scales, shifts, strict=True):
        z = np.arange(-int(45 * scale) - 1, int(45 * scale) + shift + 2)
        weights = np.exp(-np.abs(z) / scale)
        loss = (np.abs(z - shift) - np.abs(z)) / scale
        places, where = np.unique(loss, return_inverse=True)
        law = np.bincount(where, weights / weights.sum())
        losses, masses = np.add.outer(losses, places).ravel(), np.outer(masses, law).ravel()
    total = sum(shift / scale for scale, shift in zip(scales, shifts, strict=True))
    profile = LaplaceProfile(total, LaplaceProfile.steps_of(scales))
    for epsilon in np.linspace(-1.1, 1.1, 200) * total:
        exact = float(masses @ np.maximum(0.0, -np.expm1(np.minimum(epsilon - losses, 1.0))))
        assert exact <= profile.delta(epsilon) + 1e-13
        assert profile.delta(epsilon) <= PureProfile(total).delta(epsilon) * (1 + 1e-11)


@pytest.mark.parametrize("scale", [0.3, 1.0, 50.0, 1e6])
def test_one_scale_is_its_own_number_of_steps_and_several_are_less_than_each(scale: float) -> None:
    assert LaplaceProfile.steps_of((scale,) * 5) == scale
    both = LaplaceProfile.steps_of((scale, 2 * scale))
    assert math.cosh(0.5 / both) >= math.cosh(0.5 / scale) * math.cosh(0.25 / scale)
    assert 0.7 * scale < both < scale


def test_very_coarse_lattices_leave_the_pure_curve() -> None:
    steps = LaplaceProfile.steps_of((1e-4, 2e-4))
    assert 0 < steps < 1e-4
    for epsilon in (0.0, 1.0, 1.9):
        assert LaplaceProfile(2.0, steps).delta(epsilon) == pytest.approx(PureProfile(2.0).delta(epsilon), rel=1e-11)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0, 8.0])
@pytest.mark.parametrize("positives", [1e-6, 0.01, 0.05, 0.3, 0.7, 0.999])
def test_the_power_against_continuous_laplace_noise_is_that_of_its_best_threshold(
    epsilon: float, positives: float
) -> None:
    """Reject above c: under the shifted law the chance is `1 - F(c - epsilon)`, with F the standard Laplace law's."""
    threshold = -math.log(2 * positives) if positives < 0.5 else math.log(2 * (1 - positives))
    moved = threshold - epsilon
    detected = math.exp(-moved) / 2 if moved > 0 else 1 - math.exp(moved) / 2
    assert LaplaceProfile(epsilon).power(positives) == pytest.approx(detected, rel=1e-9)


@pytest.mark.parametrize("budget", [Budget(0.1, 0.0), Budget(1.0, 0.0), Budget(2.5, 0.0)], ids=str)
def test_without_delta_laplace_noise_is_calibrated_by_epsilon_alone(budget: Budget) -> None:
    bound = Sensitivity(1e5, L1(), "a bound")
    scale = calibrate(Laplace(), bound, budget, size=4)
    assert 1e5 / budget.epsilon <= scale <= 1e5 / budget.epsilon * (1 + 1e-14)
    assert Laplace().profile(bound, scale, size=4) == LaplaceProfile(Laplace().profile(bound, scale).epsilon, scale)
    assert Laplace().profile(bound, scale).steps == math.inf


# Stated guarantees -------------------------------------------------------------------------------------------------


@given(epsilon=st.floats(1e-3, 5), delta=st.floats(0, 0.5), at=st.floats(0, 6), positives=st.floats(0, 1))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_a_stated_guarantee_is_randomised_response_that_sometimes_tells_all(
    epsilon: float, delta: float, at: float, positives: float
) -> None:
    """The four outcomes of Kairouz, Oh and Viswanath, summed as they stand."""
    high = (1 - delta) / (1 + math.exp(-epsilon))
    pair = [(delta, 0.0), (high, high * math.exp(-epsilon)), (high * math.exp(-epsilon), high), (0.0, delta)]
    exact = sum(max(0.0, one - math.exp(at) * other) for one, other in pair)
    assert exact <= StatedProfile(epsilon, delta).delta(at) * (1 + 1e-12) + 1e-15
    assert StatedProfile(epsilon, delta).delta(at) <= exact + 1e-11
    best = min(1.0, delta + math.exp(epsilon) * positives, 1 - math.exp(-epsilon) * max(0.0, 1 - delta - positives))
    assert best - 1e-15 <= StatedProfile(epsilon, delta).power(positives) <= best + 1e-11


def test_a_group_under_a_stated_guarantee_adds_deltas_along_the_chain() -> None:
    group = StatedProfile(0.5, 1e-6).grouped(3)
    assert group.epsilon == pytest.approx(1.5, rel=1e-15)
    assert group.stated == pytest.approx(1e-6 * (1 + math.exp(0.5) + math.exp(1.0)), rel=1e-11)
    assert StatedProfile(0.5, 0.0).grouped(3).stated == 0
    assert StatedProfile(400.0, 1e-6).grouped(3).stated == 1
    assert StatedProfile(5.0, 1e-6).grouped(4).stated == 1
    assert (group.rho, group.pure) == (math.inf, math.inf)
    assert StatedProfile(0.5, 0.0).pure == 0.5
    assert StatedProfile(0.5, 0.0).rho == PureProfile(0.5).rho


# Pure curves -------------------------------------------------------------------------------------------------------


@given(stated=st.floats(1e-9, 300), share=st.floats(0, 0.999999))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_the_pure_curve_is_that_of_randomised_response_from_above(stated: float, share: float) -> None:
    epsilon = stated * share
    with localcontext() as context:
        context.prec = 60
        large, small = Decimal(stated).exp(), Decimal(epsilon).exp()
        exact = (large - small) / (1 + large)
        delta = Decimal(PureProfile(stated).delta(epsilon))
        assert exact <= delta <= exact * (1 + Decimal("1e-11"))


@pytest.mark.parametrize("stated", [1e-300, 0.1, 1.0, 700.0, 1e308])
def test_a_pure_curve_is_exactly_zero_from_its_epsilon_on(stated: float) -> None:
    assert PureProfile(stated).delta(stated) == 0
    assert PureProfile(stated).meets(Budget(epsilon=stated, delta=0.0))
    assert not PureProfile(stated).meets(Budget(epsilon=math.nextafter(stated, 0.0), delta=0.0))


@given(stated=st.floats(1e-9, 300), positives=st.floats(1e-12, 1.0))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_the_power_against_a_pure_release_is_the_exact_bound_from_above(stated: float, positives: float) -> None:
    with localcontext() as context:
        context.prec = 60
        ratio, rate = Decimal(stated).exp(), Decimal(positives)
        exact = min(Decimal(1), ratio * rate, 1 - (1 - rate) / ratio)
        power = Decimal(PureProfile(stated).power(positives))
        assert exact <= power <= exact * (1 + Decimal("2e-12"))


@pytest.mark.parametrize("stated", [700.5, 800.0, 1e308])
def test_against_a_huge_epsilon_a_test_may_detect_everything(stated: float) -> None:
    assert PureProfile(stated).power(1e-307) == 1.0


@given(stated=st.floats(1e-150, 1e150))
@settings(derandomize=True, deadline=None)
def test_the_concentrated_statement_is_half_the_square_rounded_up(stated: float) -> None:
    for profile in (PureProfile(stated), GaussianProfile(stated)):
        exact = Fraction(stated) ** 2 / 2
        assert exact <= Fraction(profile.rho) <= exact * (1 + Fraction(1, 2**51)) + Fraction(5e-324) * 2


@pytest.mark.parametrize("stated", [0.01, 0.5, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("order", [1.001, 1.5, 2.0, 10.0, 300.0])
def test_the_worst_pure_release_has_the_concentrated_guarantee(stated: float, order: float) -> None:
    """Bun and Steinke 2016, Proposition 1.4, on randomised response: Rényi divergence at most order * rho."""
    high, low = -math.log1p(math.exp(-stated)), -math.log1p(math.exp(stated))
    terms = [order * high + (1 - order) * low, order * low + (1 - order) * high]
    divergence = np.logaddexp(*terms) / (order - 1)
    # Near order 1 the logarithm of a number close to one is divided by 0.001: 1e-13 is that rounding.
    assert divergence <= order * PureProfile(stated).rho + 1e-13


# Gaussian curves ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mu", "epsilon", "reference"), CURVE)
def test_the_gaussian_curve_agrees_with_17_digits_from_above(mu: float, epsilon: float, reference: str) -> None:
    delta, exact = Decimal(GaussianProfile(mu).delta(epsilon)), Decimal(reference)
    # The reference itself is rounded in its 17th digit.
    assert exact * (1 - Decimal("1e-16")) <= delta <= exact * (1 + Decimal("2e-11"))


def test_the_exact_curve_of_these_tests_has_the_same_17_digits() -> None:
    for mu, epsilon, reference in CURVE:
        if mu / 2 + epsilon / mu <= 12:
            assert abs(exact_curve(mu, epsilon) / Decimal(reference) - 1) < Decimal("1e-16")


@given(mu=st.floats(1e-6, 8.0), far=st.floats(0.0, 7.0))
@settings(derandomize=True, deadline=None, max_examples=100)
def test_the_gaussian_curve_is_never_below_the_exact_one(mu: float, far: float) -> None:
    epsilon = mu * far
    delta, exact = Decimal(GaussianProfile(mu).delta(epsilon)), exact_curve(mu, epsilon)
    # The two terms of the curve cancel all but mu/(1 + far) of either: the roundings of both, 2^-50 (1 + (far + mu)^2)
    # of a term, are what doubles cost.
    excess = 2.0**-48 * (1 + (far + mu) ** 2) * (1 + far) ** 2 / min(mu, 1.0)
    assert exact <= delta <= exact * (1 + Decimal(excess))


def test_a_gaussian_curve_has_no_pure_guarantee_however_small_delta_becomes() -> None:
    profile = GaussianProfile(1e-6)
    assert profile.delta(10.0) < 1e-300
    assert not profile.meets(Budget(epsilon=10.0, delta=0.0))


@pytest.mark.parametrize("mu", [1e3, 1e200, math.inf])
def test_a_shift_of_many_deviations_is_no_privacy_at_all(mu: float) -> None:
    assert GaussianProfile(mu).delta(1.0) >= 1
    assert GaussianProfile(mu).power(0.05) == 1


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 5.0, 700.0])
@pytest.mark.parametrize("distance", [1e-12, 1e-6])
def test_a_distance_from_the_continuous_law_adds_itself_once_and_once_times_the_ratio(
    epsilon: float, distance: float
) -> None:
    added = GaussianProfile(1.0, distance).delta(epsilon) - GaussianProfile(1.0).delta(epsilon)
    assert added == pytest.approx((1 + math.exp(epsilon)) * distance, rel=1e-6, abs=1e-16)


def rounded_gaussian(scale: float, z: np.ndarray) -> np.ndarray:
    """The chance that a normal number of this deviation rounds to each z, by 12-point Gauss-Legendre in each cell."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    density = np.exp(-((z[:, None] + nodes / 2) ** 2) / (2 * scale**2)) / (scale * math.sqrt(2 * math.pi))
    return density @ weights / 2


@pytest.mark.parametrize("scale", [16.0, 16.5, 17.3, 23.7, 32.0, 100.0, 1000.0])
def test_the_integer_sampler_is_within_the_stated_distance_of_the_rounded_law(scale: float) -> None:
    """0.0203 is right to one per cent: the exact distance is (0.0201 to 0.0202) / scale^2."""
    z = np.arange(-int(12 * scale), int(12 * scale) + 1)
    weights = np.exp(-(z**2) / (2 * scale**2))
    distance = np.abs(weights / weights.sum() - rounded_gaussian(scale, z)).sum() / 2
    assert 0.0201 < distance * scale**2 < 0.0202
    one, many = (Gaussian().profile(Sensitivity(1.0, L2(), "one"), scale, size=size) for size in (1, 64))
    assert one.distance >= distance
    assert Fraction(many.distance) >= Fraction(64) * Fraction(0.0203) / Fraction(scale) ** 2
    assert many.distance == pytest.approx(64 * 0.0203 / scale**2, rel=1e-15)


@pytest.mark.parametrize("scale", [16.0, 20.5, 37.0])
@pytest.mark.parametrize("shift", [1, 5, 16, 40])
def test_the_exact_curve_of_the_integer_sampler_lies_below_the_stated_one(scale: float, shift: int) -> None:
    one, other = discrete_gaussian_pair(scale, shift)
    profile = Gaussian().profile(Sensitivity(float(shift), L2(), "a shift"), scale, size=1)
    for epsilon in (0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 4.0):
        exact = np.maximum(one - math.exp(epsilon) * other, 0.0).sum()
        assert exact <= profile.delta(epsilon)


@pytest.mark.parametrize(("scale", "shift", "epsilons"), [(16.0, 100, (8, 20, 30)), (100.0, 2000, (60, 150, 220, 300))])
def test_the_exact_curve_lies_below_the_stated_one_where_epsilon_is_large(
    scale: float, shift: int, epsilons: tuple[float, ...]
) -> None:
    one, other = discrete_gaussian_pair(scale, shift)
    profile = Gaussian().profile(Sensitivity(float(shift), L2(), "a shift"), scale, size=1)
    for epsilon in epsilons:
        exact = np.maximum(one - math.exp(epsilon) * other, 0.0).sum()
        assert 0 < exact <= profile.delta(epsilon) < 2 * exact + 1e-40


def test_without_the_slack_the_curve_would_be_wrong_for_the_integer_sampler() -> None:
    one, other = discrete_gaussian_pair(16.0, 40)
    exact = np.maximum(one - math.e * other, 0.0).sum()
    assert exact > GaussianProfile(40 / 16.0).delta(1.0) * (1 + 1e-4)


@pytest.mark.parametrize("scale", [16.0, 20.5])
@pytest.mark.parametrize("shift", [1, 16, 40])
def test_no_threshold_on_the_integer_sampler_detects_more_than_stated(scale: float, shift: int) -> None:
    one, other = discrete_gaussian_pair(scale, shift)
    profile = Gaussian().profile(Sensitivity(float(shift), L2(), "a shift"), scale, size=1)
    positives, detected = np.cumsum(one[::-1]), np.cumsum(other[::-1])
    for rate, power in zip(positives[:: int(scale)], detected[:: int(scale)], strict=True):
        assert power <= profile.power(min(1.0, rate)) * (1 + 1e-12)


@pytest.mark.parametrize("positives", [0.0, 1e-9, 1e-4, 0.05])
def test_power_allows_for_the_worst_law_at_the_stated_distance(positives: float) -> None:
    """Move a mass t out of the rejection region under one law and into it under the other: no false alarm is left."""
    mu, distance = 3.0, 1e-6
    worst = ndtr(ndtri(positives + distance) + mu) + distance
    assert worst <= GaussianProfile(mu, distance).power(positives) <= worst * (1 + 2e-12)


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("shift", [1, 3])
@pytest.mark.parametrize("order", [1.5, 2.0, 7.3])
def test_the_integer_sampler_has_the_concentrated_guarantee_at_any_scale(
    scale: float, shift: int, order: float
) -> None:
    """Canonne, Kamath and Steinke 2020, Theorem 4: no lattice slack is needed for rho."""
    z = np.arange(-400, 401)
    log_one, log_other = -(z**2) / (2 * scale**2), -((z - shift) ** 2) / (2 * scale**2)
    normaliser = np.logaddexp.reduce(log_one)
    divergence = (np.logaddexp.reduce(order * log_one + (1 - order) * log_other) - normaliser) / (order - 1)
    assert divergence <= order * GaussianProfile(shift / scale).rho * (1 + 1e-12)


@pytest.mark.parametrize("scale", [0.1, 15.999])
def test_below_sixteen_steps_nothing_is_claimed_for_the_integer_sampler(scale: float) -> None:
    profile = Gaussian().profile(Sensitivity(1e-6, L2(), "almost nothing"), scale, size=1)
    assert not profile.meets(Budget(epsilon=10.0, delta=0.999))
    assert profile.power(0.01) == 1
    assert Gaussian().profile(Sensitivity(1e-6, L2(), "almost nothing"), scale).distance == 0

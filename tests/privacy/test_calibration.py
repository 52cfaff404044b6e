"""The least noise that meets a budget: never less, at most one part in 1e9 more, checked in exact arithmetic."""

from __future__ import annotations

import json
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from dpfda.arrays import Integers
from dpfda.errors import CannotMeetBudget, UsageError
from dpfda.mechanisms import Gaussian, KNorm, Laplace, Mechanism, SeededRandomness, knorm
from dpfda.privacy import Budget, GaussianProfile, calibrate
from dpfda.privacy.norms import L1, L2, Sensitivity
from dpfda.privacy.profiles import LaplaceProfile

ROWS = json.loads((Path(__file__).parent / "gaussian_scales.json").read_text())["rows"]
ONE = Sensitivity(1.0, L2(), "one")
BLOCKS = KNorm((1, 2, 4), (0.3, 0.5, 0.7))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['epsilon']}-{row['delta']}")
def test_the_gaussian_scale_agrees_with_the_exact_curve_to_nine_digits_from_above(row: dict[str, str]) -> None:
    scale = calibrate(Gaussian(), ONE, Budget(epsilon=float(row["epsilon"]), delta=float(row["delta"])))
    assert Fraction(row["scale"]) <= Fraction(scale) <= Fraction(row["scale"]) * (1 + Fraction(1, 10**9))


def test_all_thirty_five_reference_scales_are_there() -> None:
    assert len({(row["epsilon"], row["delta"]) for row in ROWS}) == 35


@pytest.mark.parametrize("value", [1e-9, 0.1, 2.0**25])
def test_the_gaussian_scale_is_proportional_to_the_sensitivity(value: float) -> None:
    budget = Budget(epsilon=1.0, delta=1e-6)
    unit = calibrate(Gaussian(), ONE, budget)
    assert calibrate(Gaussian(), Sensitivity(value, L2(), "any"), budget) == pytest.approx(value * unit, rel=1e-12)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['epsilon']}-{row['delta']}")
def test_the_textbook_formulas_waste_noise_at_small_epsilon(row: dict[str, str]) -> None:
    epsilon, delta = float(row["epsilon"]), float(row["delta"])
    assert float(row["hall"]) == pytest.approx(math.sqrt(2 * math.log(2 / delta)) / epsilon, rel=1e-15)
    assert float(row["classical"]) == pytest.approx(math.sqrt(2 * math.log(1.25 / delta)) / epsilon, rel=1e-15)
    if epsilon <= 1:
        assert float(row["hall"]) > 1.1 * calibrate(Gaussian(), ONE, Budget(epsilon=epsilon, delta=delta))


@pytest.mark.parametrize("factor", [1.25, 2.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-3, 1e-5, 1e-6, 1e-9])
def test_the_textbook_formulas_are_not_private_at_large_epsilon(factor: float, delta: float) -> None:
    epsilon = 16.0
    textbook = math.sqrt(2 * math.log(factor / delta)) / epsilon
    assert GaussianProfile(1 / textbook).delta(epsilon) > 1.5 * delta
    assert calibrate(Gaussian(), ONE, Budget(epsilon=epsilon, delta=delta)) > textbook


@pytest.mark.parametrize("size", [1, 64, 1024])
@pytest.mark.parametrize("budget", [Budget(epsilon=0.5, delta=1e-9), Budget(epsilon=8.0, delta=1e-6)], ids=str)
def test_what_the_integer_sampler_adds_is_counted(size: int, budget: Budget) -> None:
    coarse = Sensitivity(2.0**13, L2(), "so coarse that the slack shows")
    scale, continuous = (calibrate(Gaussian(), coarse, budget, size=n) for n in (size, 0))
    assert scale > continuous * (1 + 1e-13)
    assert Gaussian().profile(coarse, scale, size=size).delta(budget.epsilon) <= budget.delta
    assert Gaussian().profile(coarse, scale * (1 - 1e-9), size=size).delta(budget.epsilon) > budget.delta
    assert Gaussian().profile(coarse, scale, size=size).delta(budget.epsilon) > GaussianProfile(
        coarse.value / scale
    ).delta(budget.epsilon)


@pytest.mark.parametrize("epsilon", [20.0, 100.0, 1e3, 1e6])
def test_a_large_epsilon_needs_hardly_more_noise_on_the_integers_than_on_the_line(epsilon: float) -> None:
    """The total variation argument alone would ask for e^epsilon times more, or refuse."""
    fine, budget = Sensitivity(2.0**25, L2(), "as in a release"), Budget(epsilon=epsilon, delta=1e-6)
    on_integers, on_line = (calibrate(Gaussian(), fine, budget, size=size) for size in (64, 0))
    assert on_line < on_integers < on_line * (1 + 1e-4)


def test_gaussian_noise_on_a_coarse_lattice_has_at_least_sixteen_steps() -> None:
    assert 16 <= calibrate(Gaussian(), ONE, Budget(epsilon=1.0, delta=0.5), size=3) <= 16 * (1 + 1e-9)
    # A first guess below sixteen is not a reason to refuse: more noise meets the budget.
    budget, eight = Budget(epsilon=1.0, delta=0.001), Sensitivity(8.0, L2(), "eight")
    assert calibrate(Gaussian(), eight, budget, size=3) > calibrate(Gaussian(), eight, budget) > 16


# Pure mechanisms, in rational numbers --------------------------------------------------------------------------------

SENSITIVITIES = st.one_of(st.just(2.0**25), st.floats(1e-3, 1e12))
EPSILONS = st.one_of(st.sampled_from([0.1, 0.5, 1.0, 3.0]), st.floats(1e-6, 100))


class Recorder(SeededRandomness):
    """Remembers the scales it was asked for."""

    def __init__(self) -> None:
        super().__init__(0)
        self.scales: list[float] = []

    def laplace(self, scale: float, size: int) -> Integers:
        self.scales.append(scale)
        return np.zeros(size, dtype=np.int64)


@given(value=SENSITIVITIES, epsilon=EPSILONS, size=st.integers(1, 1200))
@settings(derandomize=True, deadline=None, max_examples=100)
def test_laplace_noise_meets_pure_epsilon_in_rational_numbers(value: float, epsilon: float, size: int) -> None:
    """A change of Euclidean norm Delta costs at most sqrt(size) Delta / scale."""
    scale = calibrate(Laplace(), Sensitivity(value, L2(), "any"), Budget(epsilon=epsilon, delta=0.0), size=size)
    recorder = Recorder()
    Laplace().draw(np.zeros(size, dtype=np.int64), scale, randomness=recorder)
    assert recorder.scales == [scale]
    spent = size * Fraction(value) ** 2 / Fraction(scale) ** 2
    assert Fraction(epsilon) ** 2 * (1 - Fraction(1, 10**9)) <= spent <= Fraction(epsilon) ** 2


@given(
    value=SENSITIVITIES,
    epsilon=EPSILONS,
    blocks=st.lists(st.tuples(st.integers(1, 8), st.floats(1e-3, 10.0)), min_size=1, max_size=40),
)
@settings(derandomize=True, deadline=None, max_examples=100)
def test_the_rates_that_k_norm_noise_is_drawn_with_meet_pure_epsilon_in_rational_numbers(
    value: float, epsilon: float, blocks: list[tuple[int, float]]
) -> None:
    """A change v costs sum_b rate_b |v_b| <= sqrt(sum rate_b^2) Delta."""
    mechanism = KNorm(tuple(size for size, _ in blocks), tuple(share for _, share in blocks))
    size = sum(mechanism.sizes)
    scale = calibrate(mechanism, Sensitivity(value, L2(), "any"), Budget(epsilon=epsilon, delta=0.0), size=size)
    rates: list[float] = []

    def remember(rate: float, dimension: int, draws: int, randomness: object) -> Integers:
        rates.append(rate)
        return np.zeros((draws, dimension), dtype=np.int64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knorm, "draw_block", remember)
        mechanism.draw(np.zeros(size, dtype=np.int64), scale, randomness=SeededRandomness(0))
    spent = sum(Fraction(rate) ** 2 for rate in rates) * Fraction(value) ** 2
    for rate, share in zip(rates, mechanism.shares, strict=True):
        assert Fraction(rate) * Fraction(scale) <= Fraction(share)
    assert Fraction(epsilon) ** 2 * (1 - Fraction(1, 10**9)) <= spent <= Fraction(epsilon) ** 2


@pytest.mark.parametrize("mechanism", [Laplace(), BLOCKS], ids=str)
@pytest.mark.parametrize("budget", [Budget(epsilon=0.1, delta=1e-3), Budget(epsilon=2.0, delta=0.3)], ids=str)
def test_with_a_delta_a_pure_mechanism_needs_less_and_still_meets_it(mechanism: Mechanism, budget: Budget) -> None:
    relaxed = calibrate(mechanism, ONE, budget, size=7)
    assert relaxed < calibrate(mechanism, ONE, Budget(epsilon=budget.epsilon, delta=0.0), size=7)
    spent = mechanism.profile(ONE, relaxed, size=7)
    with localcontext() as context:
        context.prec = 50
        ratio, allowed = Decimal(spent.pure).exp(), Decimal(budget.epsilon).exp()
        exact = (ratio - allowed) / (1 + ratio)
        if isinstance(spent, LaplaceProfile):
            # 1 - e^((eps - epsilon)/2) / cosh(1/2s), and from epsilon - 1/s on its tangent.
            step = Decimal(1) / Decimal(spent.steps)
            exact = 1 - (allowed / ratio).sqrt() * 2 / ((step / 2).exp() + (-step / 2).exp())
            if allowed.ln() > ratio.ln() - step:
                exact = (1 - allowed / ratio) / (1 + max((-step).exp(), 1 / ratio))
        assert Decimal(budget.delta) * (1 - Decimal("1e-9")) <= exact <= Decimal(budget.delta)


@pytest.mark.parametrize("mechanism", [Gaussian(), Laplace(), BLOCKS], ids=str)
@given(epsilon=st.floats(1e-3, 1e3), delta=st.floats(1e-12, 0.5))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_the_calibrated_scale_meets_the_budget_and_one_part_in_a_billion_less_does_not(
    mechanism: Mechanism, epsilon: float, delta: float
) -> None:
    budget = Budget(epsilon=epsilon, delta=delta)
    size = 0 if mechanism.name == "gaussian" else 7
    scale = calibrate(mechanism, ONE, budget, size=size)
    assert mechanism.profile(ONE, scale, size=size).meets(budget)
    assert not mechanism.profile(ONE, scale * (1 - 1e-9), size=size).meets(budget)


@pytest.mark.parametrize("mechanism", [Gaussian(), Laplace(), BLOCKS], ids=str)
def test_more_epsilon_or_more_delta_never_asks_for_more_noise(mechanism: Mechanism) -> None:
    size = 0 if mechanism.name == "gaussian" else 7
    for budgets in (
        [Budget(epsilon=epsilon, delta=1e-6) for epsilon in np.geomspace(1e-3, 1e3, 40).tolist()],
        [Budget(epsilon=1.0, delta=delta) for delta in np.geomspace(1e-12, 0.9, 40).tolist()],
    ):
        scales = [calibrate(mechanism, ONE, budget, size=size) for budget in budgets]
        assert np.all(np.diff(scales) <= 0)


def test_a_sensitivity_that_is_stated_in_the_mechanisms_own_norm_is_not_converted() -> None:
    budget = Budget(epsilon=0.5, delta=0.0)
    assert calibrate(Laplace(), Sensitivity(3.0, L1(), "three"), budget, size=100) == pytest.approx(6.0, rel=1e-14)


@pytest.mark.parametrize("epsilon", [1e-9, 1.0, 1e9])
def test_gaussian_noise_is_refused_for_pure_epsilon(epsilon: float) -> None:
    budget = Budget(epsilon=epsilon, delta=0.0)
    with refused(CannotMeetBudget, "delta", 0.0):
        calibrate(Gaussian(), ONE, budget)


def test_the_smallest_delta_there_is_counts_as_one() -> None:
    scale = calibrate(Gaussian(), ONE, Budget(epsilon=1.0, delta=5e-324))
    assert 30 < scale < 60


@pytest.mark.parametrize("mechanism", [Gaussian(), Laplace()], ids=str)
@pytest.mark.parametrize("epsilon", [1e-302, 5e-324])
def test_an_epsilon_that_asks_for_infinite_noise_is_refused_rather_than_searched_for_ever(
    mechanism: Mechanism, epsilon: float
) -> None:
    budget = Budget(epsilon=epsilon, delta=5e-324 if mechanism.name == "gaussian" else 0.0)
    with refused(CannotMeetBudget, "epsilon", epsilon):
        calibrate(mechanism, Sensitivity(2.0**25, mechanism.norm, "a radius"), budget)


def test_a_scale_beyond_all_doubles_is_refused() -> None:
    with refused(CannotMeetBudget, "epsilon", 0.9999):
        calibrate(Laplace(), Sensitivity(1.7e308, L1(), "huge"), Budget(epsilon=0.9999, delta=0.0))


def test_laplace_noise_cannot_be_calibrated_without_the_number_of_coordinates() -> None:
    """It once came out as 1e-323: no noise at all."""
    with refused(UsageError, "size", 0):
        calibrate(Laplace(), ONE, Budget(epsilon=1.0, delta=0.0))


def test_k_norm_noise_cannot_be_calibrated_for_another_number_of_coordinates() -> None:
    with refused(UsageError, "size", 8):
        calibrate(BLOCKS, ONE, Budget(epsilon=1.0, delta=0.0), size=8)

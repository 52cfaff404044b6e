"""Noise with a shape: closed forms of its scale, its law coordinate by coordinate, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy.stats import expon, halfnorm, kstest, laplace, norm

from dpfda.arrays import Integers
from dpfda.errors import UsageError
from dpfda.mechanisms import Gaussian, Laplace, SeededRandomness, SystemRandomness
from dpfda.mechanisms.base import draw_shaped, inverse
from dpfda.mechanisms.noise import Noise
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L1, L2, Sensitivity, WeightedL1, WeightedL2

LEVEL = 1e-6
SHAPE = (3.0, 1.0, 1.7, 20.0)
FACTORS = st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=12).map(tuple)
SEARCH = settings(derandomize=True, deadline=None, max_examples=60)
MOVE = Sensitivity(2.0**25, L2(), "a radius")


# Scales.


@SEARCH
@given(shape=FACTORS, epsilon=st.floats(0.01, 20.0))
def test_a_laplace_process_has_the_scale_of_the_closed_form(shape: tuple[float, ...], epsilon: float) -> None:
    """With changes in a ball of radius D: `scale = D sqrt(sum 1/shape^2) / epsilon`, and not `D sum 1/shape`."""
    scale = calibrate(Laplace(shape), MOVE, Budget(epsilon, 0.0), size=len(shape))
    exact = MOVE.value * math.sqrt(sum(factor**-2 for factor in shape)) / epsilon
    assert scale >= exact * (1 - 1e-15)
    assert scale == pytest.approx(exact, rel=1e-12)


@SEARCH
@given(shape=FACTORS, epsilon=st.floats(0.01, 20.0), delta=st.floats(1e-12, 0.1))
def test_a_gaussian_process_has_the_scale_of_the_closed_form(
    shape: tuple[float, ...], epsilon: float, delta: float
) -> None:
    """With changes in a ball of radius D: `scale = D max(1/shape) / mu`, mu the one of plain Gaussian noise."""
    budget = Budget(epsilon, delta)
    scale = calibrate(Gaussian(shape), MOVE.to(Gaussian(shape).norm, len(shape)), budget)
    assert scale == pytest.approx(calibrate(Gaussian(), MOVE, budget) / min(shape), rel=1e-9)


def test_noise_of_one_size_is_the_plain_mechanism() -> None:
    for shaped, plain, budget in (
        (Gaussian((1.0,) * 6), Gaussian(), Budget(1.0, 1e-6)),
        (Laplace((1.0,) * 6), Laplace(), Budget(1.0, 0.0)),
    ):
        assert calibrate(shaped, MOVE, budget, size=6) == pytest.approx(
            calibrate(plain, MOVE, budget, size=6), rel=1e-12
        )
        np.testing.assert_array_equal(shaped.noise(3.0, 6).variances, plain.noise(3.0, 6).variances)


@pytest.mark.parametrize("mechanism", [Gaussian, Laplace])
def test_a_shape_and_a_scale_are_one_thing(mechanism: type) -> None:
    """Twice the shape at half the scale is the same noise at the same price."""
    budget = Budget(1.0, 1e-6 if mechanism is Gaussian else 0.0)
    one, other = mechanism(SHAPE), mechanism(tuple(2 * factor for factor in SHAPE))
    scales = [calibrate(each, MOVE, budget, size=4) for each in (one, other)]
    assert scales[0] == pytest.approx(2 * scales[1], rel=1e-9)
    laws = [each.noise(scale, 4) for each, scale in zip((one, other), scales, strict=True)]
    np.testing.assert_allclose(laws[0].scales, laws[1].scales, rtol=1e-9)


@SEARCH
@given(shape=FACTORS, scale=st.floats(1.0, 1e9), move=st.lists(st.integers(-(10**6), 10**6), min_size=12, max_size=12))
def test_a_laplace_process_costs_what_its_scales_say_in_rational_numbers(
    shape: tuple[float, ...], scale: float, move: list[int]
) -> None:
    """The price of a move v is `sum |v_j| / drawn_j`, exactly, with the scales that are handed to the sampler."""
    drawn: list[float] = []

    def note(scale: float, size: int) -> Integers:
        drawn.append(scale)
        return np.full(size, len(drawn) - 1, dtype=np.int64)  # in place of noise: which scale it came with

    which = draw_shaped(note, scale, shape, len(shape))
    moves = move[: len(shape)]
    price = sum((Fraction(abs(v)) / Fraction(drawn[i]) for v, i in zip(moves, which, strict=True)), Fraction(0))
    length = sum(v * v for v in moves)
    stated = Laplace(shape).profile(Sensitivity(math.sqrt(length) * (1 + 1e-15) or 1.0, L2(), "v"), scale)
    assert price <= Fraction(stated.epsilon)


def test_the_norm_divides_by_the_shape() -> None:
    assert Gaussian().norm == L2()
    assert Laplace().norm == L1()
    for norm_, kind in ((Gaussian(SHAPE).norm, WeightedL2), (Laplace(SHAPE).norm, WeightedL1)):
        assert isinstance(norm_, kind)
        assert norm_.weights == inverse(SHAPE)
    for weight, factor in zip(inverse(SHAPE), SHAPE, strict=True):
        assert Fraction(weight) >= 1 / Fraction(factor)
        assert weight == pytest.approx(1 / factor, rel=1e-15)


def test_what_the_integer_sampler_adds_is_counted_at_the_smallest_deviation() -> None:
    wide, narrow = (Gaussian(shape).profile(MOVE, 100.0, size=2) for shape in ((5.0, 1.0), (5.0, 0.5)))
    assert wide.steps == 100
    assert narrow.steps == 50
    assert narrow.distance == pytest.approx(4 * wide.distance, rel=1e-12)
    # Below 16 steps in any coordinate nothing is claimed.
    assert Gaussian((5.0, 0.1)).profile(MOVE, 100.0, size=2).distance == 1


def test_the_stated_law_is_that_of_independent_coordinates() -> None:
    assert Gaussian(SHAPE).noise(2.0, 4) == Noise("gaussian", (1,) * 4, (6.0, 2.0, 3.4, 40.0))
    assert Laplace(SHAPE).noise(2.0, 4) == Noise("radial", (1,) * 4, (6.0, 2.0, 3.4, 40.0))


# The law of what is drawn.


def drawn(mechanism: Gaussian | Laplace, scale: float, draws: int, randomness: object) -> Integers:
    zeros = np.zeros(4, dtype=np.int64)
    return np.array([mechanism.draw(zeros, scale, randomness=randomness) for _ in range(draws)])  # type: ignore[arg-type]


def fit(mechanism: Gaussian | Laplace, scale: float, z: Integers) -> float:
    """The least p-value over coordinates of two Kolmogorov-Smirnov tests, times their number."""
    signed, sizes = (laplace.cdf, expon.cdf) if isinstance(mechanism, Laplace) else (norm.cdf, halfnorm.cdf)
    values = [
        p
        for column, factor in zip(z.T, SHAPE, strict=True)
        for p in (
            kstest(column / (scale * factor), signed).pvalue,
            kstest(np.abs(column) / (scale * factor), sizes).pvalue,
        )
    ]
    return min(1.0, len(values) * min(values))


@pytest.mark.audit
@pytest.mark.parametrize("mechanism", [Gaussian(SHAPE), Laplace(SHAPE)], ids=["gaussian", "laplace"])
def test_every_coordinate_of_the_systems_noise_has_its_own_scale(mechanism: Gaussian | Laplace) -> None:
    """Kolmogorov-Smirnov at level 1e-6 for all coordinates together, anew in each run, 1,000 draws."""
    assert fit(mechanism, 1e7, drawn(mechanism, 1e7, 1000, SystemRandomness())) > LEVEL


@pytest.mark.audit
@pytest.mark.parametrize("mechanism", [Gaussian(SHAPE), Laplace(SHAPE)], ids=["gaussian", "laplace"])
def test_ten_thousand_draws_of_the_systems_noise_fit(mechanism: Gaussian | Laplace) -> None:
    """Kolmogorov-Smirnov at level 1e-6 for all coordinates together, anew in each run."""
    assert fit(mechanism, 1e7, drawn(mechanism, 1e7, 10_000, SystemRandomness())) > LEVEL


@pytest.mark.parametrize("mechanism", [Gaussian, Laplace])
def test_a_coordinate_with_the_scale_of_another_is_caught(mechanism: type) -> None:
    swapped = mechanism((1.7, 1.0, 3.0, 20.0))
    assert fit(mechanism(SHAPE), 1e7, drawn(swapped, 1e7, 1000, SeededRandomness(1))) < LEVEL
    quiet = drawn(mechanism(SHAPE), 1e7 / math.sqrt(2), 1000, SeededRandomness(2))
    assert fit(mechanism(SHAPE), 1e7, quiet) < LEVEL


@pytest.mark.parametrize("mechanism", [Gaussian(SHAPE), Laplace(SHAPE)], ids=["gaussian", "laplace"])
def test_coordinates_are_independent_in_size_and_in_sign(mechanism: Gaussian | Laplace) -> None:
    """Correlations of signs and of ranks of sizes, 12 in all at level 1e-6 each; the seed is fixed."""
    z = drawn(mechanism, 1e7, 4000, SeededRandomness(3))
    for values in (np.sign(z), np.argsort(np.argsort(np.abs(z), axis=0), axis=0)):
        between = np.corrcoef(values, rowvar=False)[np.triu_indices(4, 1)]
        assert (np.abs(between) < norm.isf(LEVEL / 2) / math.sqrt(len(z))).all()


# Errors.


@pytest.mark.parametrize("mechanism", [Gaussian, Laplace])
@pytest.mark.parametrize("shape", [(), (1.0, 0.0), (-1.0,), (math.inf,), (1.0, math.nan)], ids=str)
def test_a_shape_is_made_of_positive_finite_factors(mechanism: type, shape: tuple[float, ...]) -> None:
    with refused(UsageError, "shape", shape):
        mechanism(shape)


@pytest.mark.parametrize("mechanism", [Gaussian(SHAPE), Laplace(SHAPE)], ids=["gaussian", "laplace"])
@pytest.mark.parametrize("size", [1, 3, 5])
def test_a_shape_for_another_number_of_coordinates_is_refused(mechanism: Gaussian | Laplace, size: int) -> None:
    with refused(UsageError, "shape", 4):
        mechanism.draw(np.zeros(size, dtype=np.int64), 1.0, randomness=SystemRandomness())
    with refused(UsageError, "size", size):
        mechanism.profile(MOVE, 1.0, size=size)
    with refused(UsageError, "scales", 4):
        mechanism.noise(1.0, size)

"""Errors in closed form against brute force: never below what any mean of the class does, and attained by some."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy.optimize import linprog, minimize_scalar
from scipy.stats import binom

from dpfda.errors import UsageError
from dpfda.planning import SmoothnessClass
from dpfda.planning.default_design import best_shape, optimal_blocks, shape_weights, variances
from dpfda.planning.prediction import DEFAULT_CLASS, bernstein_bias, linear_minimax, worst_bias, worst_thresholding

SEARCH = settings(derandomize=True, deadline=None, max_examples=150)
CLASSES = st.builds(SmoothnessClass, order=st.sampled_from([0.5, 1.0, 2.0]), radius=st.floats(0.05, 6.0))
SHARES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12).map(np.array)


def half_waves(size):
    return np.arange(size, dtype=np.float64)


def beyond(size):
    """The functions of the basis and a few of those that were left out."""
    return np.arange(size + 4, dtype=np.float64)


def points_of(within, size, seed, draws=2000):
    """Random members of the class, most of them on its boundary, with coordinates beyond the basis, (draws, size+4)."""
    rng = np.random.default_rng(seed)
    rough = beyond(size) ** within.order
    x = rng.normal(size=(draws, size + 4)) * rng.choice([0, 1], (draws, size + 4), p=[0.7, 0.3])
    x *= np.exp(rng.normal(0, 3, x.shape))
    lengths = np.maximum(np.linalg.norm(x, axis=1), np.linalg.norm(x * rough, axis=1) / within.radius)
    return x / np.maximum(lengths, 1e-300)[:, None]


def programme(gains, within, most=None):
    """The largest `sum gains p` over squares p of coordinates of the class, p at most `most`, by linear programming."""
    costs = np.arange(len(gains)) ** (2 * within.order)
    found = linprog(
        -np.asarray(gains),
        A_ub=[np.ones(len(gains)), costs],
        b_ub=[1.0, within.radius**2],
        bounds=[(0.0, m) for m in (np.ones(len(gains)) if most is None else most)],
    )
    return -found.fun


@SEARCH
@given(weights=SHARES, within=CLASSES)
def test_the_worst_bias_of_fixed_weights_is_the_optimum_of_the_linear_programme(weights, within):
    size = len(weights)
    worst = worst_bias(weights, half_waves(size), size, within)
    assert worst == pytest.approx(programme([*(1 - weights) ** 2, 1, 1, 1, 1], within), rel=1e-9, abs=1e-12)


@SEARCH
@given(weights=SHARES, within=CLASSES, seed=st.integers(0, 99))
def test_no_mean_of_the_class_has_a_larger_bias_under_fixed_weights(weights, within, seed):
    size = len(weights)
    x = points_of(within, size, seed)
    bias = np.sum((x * (1 - np.append(weights, np.zeros(4)))) ** 2, axis=1)
    assert bias.max() <= worst_bias(weights, half_waves(size), size, within) * (1 + 1e-12)


def test_a_constant_and_a_wave_together_may_be_worse_than_either():
    """What a closed form with a maximum over single coordinates would miss: by a factor of up to two."""
    weights = np.array([0.5, 1.0, 0.2])
    alone = max(0.5**2, 0.8**2 / 4, 1 / 9)
    worst = worst_bias(weights, half_waves(3), 3.0, SmoothnessClass(1.0, 1.0))
    # A quarter of the squared bound in the second half-wave, the rest in the constant.
    assert worst == pytest.approx(0.25 * 0.8**2 + 0.75 * 0.5**2)
    assert worst > 1.3 * alone


@SEARCH
@given(thresholds=SHARES, within=CLASSES)
def test_the_worst_thresholding_is_the_optimum_of_the_linear_programme(thresholds, within):
    size = len(thresholds)
    worst = worst_thresholding(thresholds, half_waves(size), size, within)
    expected = programme(np.ones(size + 4), within, [*thresholds**2, 1, 1, 1, 1])
    assert worst == pytest.approx(expected, rel=1e-9, abs=1e-12)


@SEARCH
@given(thresholds=SHARES, within=CLASSES, seed=st.integers(0, 99))
def test_no_mean_of_the_class_loses_more_to_a_soft_threshold(thresholds, within, seed):
    size = len(thresholds)
    x = points_of(within, size, seed)
    kept = np.sign(x[:, :size]) * np.maximum(np.abs(x[:, :size]) - thresholds, 0)
    bias = np.sum((x[:, :size] - kept) ** 2, axis=1) + np.sum(x[:, size:] ** 2, axis=1)
    assert bias.max() <= worst_thresholding(thresholds, half_waves(size), size, within) * (1 + 1e-12)


def risk(weights, noise, frequencies, edge, within):
    """Worst squared bias plus noise of linear smoothing; a constant may have any size here, so it must be kept."""
    rough = frequencies**within.order
    ratios = (1 - weights[rough > 0]) / rough[rough > 0]
    bias = within.radius**2 * max(np.max(ratios**2, initial=0.0), edge ** (-2 * within.order))
    return bias + float(weights**2 @ noise)


@SEARCH
@given(
    within=CLASSES,
    size=st.integers(1, 200),
    level=st.floats(-12, 0),
    tilt=st.floats(-1, 1),
    seed=st.integers(0, 99),
)
def test_no_linear_smoothing_beats_the_minimax_one_by_more_than_a_percent(within, size, level, tilt, seed):
    """Against all cut-offs of Pinsker's weights, against random weights, and against random changes of the best."""
    rng = np.random.default_rng(seed)
    frequencies = half_waves(size)
    noise = 10**level * (1.0 + frequencies) ** tilt
    bias, privacy = linear_minimax(noise, frequencies, size, within)

    def pinsker(k):
        return np.maximum(1 - frequencies**within.order / k, 0.0)

    def at(log_k):
        return risk(pinsker(math.exp(log_k)), noise, frequencies, size, within)

    top = max(within.order * math.log(size), 0.0)
    candidates = [at(k) for k in np.linspace(0, top, 300)]
    around = np.linspace(0, top, 300)[int(np.argmin(candidates))]
    step = top / 299 + 1e-12
    fine = minimize_scalar(at, bounds=(max(around - step, 0.0), min(around + step, top + 1e-9)), method="bounded")
    least = min(*candidates, fine.fun)
    assert least * (1 - 1e-9) <= bias + privacy <= least * 1.01
    best = pinsker(math.exp(around))
    for _ in range(30):
        other = np.clip(best + rng.normal(0, rng.choice([1e-3, 1e-2, 0.1, 1.0]), size), 0.0, 1.0)
        other[0] = 1.0
        assert risk(other, noise, frequencies, size, within) >= (bias + privacy) / 1.01


def test_the_two_parts_of_the_minimax_error_are_those_of_its_weights():
    noise = np.full(30, 1e-3)
    bias, privacy = linear_minimax(noise, half_waves(30), 30.0, DEFAULT_CLASS)
    cut = DEFAULT_CLASS.radius / math.sqrt(bias)
    weights = np.maximum(1 - half_waves(30) / cut, 0.0)
    assert privacy == pytest.approx(float(weights**2 @ noise), rel=1e-9)
    assert 1 < cut < 30


def bernstein_error(coordinates, degree):
    """Mean squares of `B f - f` for cosine series (waves 1, 2, ...), by the binomial law; rows are series."""
    x, w = np.polynomial.legendre.leggauss(24)
    t, weights = ((np.arange(40)[:, None] + (x + 1) / 2) / 40).ravel(), np.tile(w / 80, 40)
    lattice = np.arange(degree + 1) / max(degree, 1) if degree else np.array([0.5])

    def values(points):
        return np.sqrt(2) * coordinates @ np.cos(np.pi * np.arange(1, coordinates.shape[1] + 1)[:, None] * points)

    shares = binom.pmf(np.arange(degree + 1), degree, t[:, None])
    return (values(lattice) @ shares.T - values(t)) ** 2 @ weights


@pytest.mark.parametrize("degree", [0, 1, 3, 8, 20])
@pytest.mark.parametrize("within", [SmoothnessClass(1.0, 0.9), SmoothnessClass(2.0, 0.5), SmoothnessClass(1.0, 3.0)])
def test_no_cosine_series_of_the_class_has_a_larger_bias_under_bernstein_polynomials(degree, within):
    """Random series within the bound; for radii up to one also the worst of all, from the form of the error."""
    rng = np.random.default_rng(degree)
    size = 2 * degree + 60
    rough = np.arange(1.0, size + 1) ** within.order / within.radius
    worst = bernstein_bias(degree, within)
    series = rng.normal(size=(400, size)) * np.exp(rng.normal(0, 2, (400, size))) / rough
    series /= np.maximum(np.linalg.norm(series, axis=1), np.linalg.norm(series * rough, axis=1))[:, None]
    assert bernstein_error(series, degree).max() <= worst * (1 + 1e-9)
    if within.radius > 1:
        return
    # The form from its values at sums of two series; what has more waves still adds less than two percent.
    axes = np.diag(1 / rough)
    alone = bernstein_error(axes, degree)
    form = np.array([bernstein_error(axes + axes[k], degree) - alone - alone[k] for k in range(size)]) / 2
    form[np.diag_indices(size)] = alone
    assert np.linalg.eigvalsh(form)[-1] == pytest.approx(worst, rel=0.02)


# The planner's choice for pure epsilon.


def predicted(size, exponent, resolution, dimension):
    frequencies = half_waves(size) ** (1 / dimension)
    noise = variances(shape_weights(size, exponent)) * (2 / resolution) ** 2
    return sum(linear_minimax(noise, frequencies, size ** (1 / dimension), DEFAULT_CLASS))


@pytest.mark.parametrize("resolution", [1.0, 7.0, 30.0, 100.0, 376.0, 1000.0, 5000.0, 2e4])
@pytest.mark.parametrize(("dimension", "steep"), [(1, 1.02), (2, 1.06)], ids=["interval", "box"])
def test_no_size_and_no_shape_in_a_wider_search_is_better(resolution, dimension, steep):
    """Sizes from a twentieth to eight times the rule's middle: at most a percent is left.

    Shapes steeper than the rule allows, since they starve the coordinates of rough curves, would gain two percent on
    an interval and six on a box.
    """
    size, exponent = best_shape(resolution, dimension, None, 1024)
    chosen = predicted(size, exponent, resolution, dimension)
    middle = resolution ** (dimension / (dimension + 1))
    sizes = sorted({min(max(1, round(middle * factor)), 1024) for factor in np.geomspace(0.05, 8, 40)})
    for exponents, slack in (((0.0, 0.08, 0.16, 0.25), 1.01), ((0.375, 0.5, 0.75, 1.0), steep)):
        assert chosen <= slack * min(predicted(k, p, resolution, dimension) for k in sizes for p in exponents)


def test_a_stated_size_is_kept_and_only_its_shape_is_chosen():
    for size in (1, 5, 40, 300):
        assert best_shape(1000.0, 1, size, size)[0] == size


def test_shares_of_the_variances_spend_a_change_of_one():
    """`sum_b e_b^2 = 1`: block b has scale `1/e_b`, and each of its coordinates the variance `(M_b + 1) / e_b^2`."""
    weights = shape_weights(50, 0.25)
    sizes, _ = optimal_blocks(weights)
    of_block = variances(weights)[np.cumsum([0, *sizes[:-1]])]
    assert sum((m + 1) / v for m, v in zip(sizes, of_block, strict=True)) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(
    "wrong",
    [
        {"order": 0.0},
        {"order": -1.0},
        {"order": math.inf},
        {"order": math.nan},
        {"radius": 0.0},
        {"radius": -0.1},
        {"radius": math.inf},
        {"radius": math.nan},
    ],
    ids=str,
)
def test_a_class_needs_a_positive_order_and_radius(wrong):
    facts = {"order": 1.0, "radius": 0.5} | wrong
    with refused(UsageError, "order", (facts["order"], facts["radius"])):
        SmoothnessClass(**facts)

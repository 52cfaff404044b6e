"""Simulated curves: moments against closed forms, parameters against the papers' text."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2, kstest, norm, t

from dpfda import bases
from dpfda.errors import UsageError
from dpfda.kernels import Exponential, Gaussian, Matern
from dpfda.mechanisms import SeededRandomness
from dpfda.studies import simulators
from dpfda.studies.simulators import GRID, MEANS, SCENARIO_MEANS, SCENARIOS, Case, karhunen_loeve, sample


def bump(at: float, centre: float, deviation: float) -> float:
    return norm.pdf(at, centre, deviation)


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("S-1", 0.5, 5 * math.exp(-0.5)),
        ("S-2", 0.3, 0.3 * bump(0.3, 0.3, 0.05) + 0.7 * bump(0.3, 0.8, 0.05)),
        ("S-2", 0.8, 0.3 * bump(0.8, 0.3, 0.05) + 0.7 * bump(0.8, 0.8, 0.05)),
        ("S-3", 0.75, 0.2 * (bump(0.75, 0.5, 0.05) - bump(0.75, 0.75, 0.03))),
        ("S-3", 1.0, 0.2 * (bump(1, 1, 0.03))),
        ("S-3", 0.0, 0.2 * (bump(0, 0, 0.03) + bump(0, 0.2, 0.05))),
    ],
)
def test_a_mean_has_the_printed_formula(name, at, value):
    """Lin and Reimherr, Section 6.1; far bumps are below 1e-12 there."""
    assert MEANS[name](np.array([at]))[0] == pytest.approx(value, abs=1e-10)


def test_the_fourth_mean_has_25_orthonormal_waves_with_coefficients_in_the_unit_interval():
    fine = (np.arange(2000) + 0.5) / 2000
    assert len(simulators.COEFFICIENTS) == 25
    assert np.abs(simulators.COEFFICIENTS).max() <= 1
    # Parseval: the squared norm of the curve is the sum of squares.
    assert np.mean(MEANS["S-4"](fine) ** 2) == pytest.approx(np.sum(simulators.COEFFICIENTS**2), rel=1e-12)
    assert np.mean(MEANS["S-4"](fine)) == pytest.approx(simulators.COEFFICIENTS[0], abs=1e-12)


def test_weights_are_the_trapezoid_rule_and_add_up_to_one():
    weights = simulators.weights()
    assert len(GRID) == len(weights) == 100
    assert weights.sum() == pytest.approx(1, abs=1e-15)
    assert weights[[0, -1]] == pytest.approx([weights[1] / 2] * 2)
    assert simulators.norms(np.full((1, 100), -3.0)) == pytest.approx([3.0])
    # On a grid of uneven steps: a third at the left end and so on.
    assert simulators.weights(np.array([0.0, 0.5, 0.6, 1.0])) == pytest.approx([0.25, 0.3, 0.25, 0.2])


@pytest.mark.parametrize("length", [0.2, 0.05])
def test_gaussian_errors_have_mean_zero_unit_variance_and_the_stated_correlation(length):
    """Each of the three at level 1e-6; with this seed it never fails by chance."""
    n, at, beside = 4000, 30, 38
    noise = sample("S-2", n, SeededRandomness(4), length=length) - MEANS["S-2"](GRID)
    assert noise.shape == (n, 100)
    assert abs(noise[:, at].sum() / math.sqrt(n)) < norm.isf(5e-7)
    low, high = chi2.ppf([5e-7, 1 - 5e-7], df=n)
    assert low < np.sum(noise[:, at] ** 2) < high
    correlation = math.exp(-((GRID[beside] - GRID[at]) ** 2) / (2 * length**2))
    # The residual of a regression on the neighbour is normal with variance 1 - correlation^2.
    residual = noise[:, beside] - correlation * noise[:, at]
    assert low < np.sum(residual**2) / (1 - correlation**2) < high


def test_heavy_errors_have_the_printed_size_and_student_coefficients():
    """Norm: 5 standard errors of 1.1 and 2 % for the grid. Coefficients: Kolmogorov-Smirnov at level 1e-6, seeded."""
    n = 2000
    noise = sample("S-1", n, SeededRandomness(5), errors="heavy") - MEANS["S-1"](GRID)
    # A hundred coefficients of variance 5/3, nothing scaled: the mean S-1 has squared norm 7.
    assert np.mean(simulators.norms(noise) ** 2) == pytest.approx(500 / 3, rel=0.02 + 5 * 1.1 / 167)
    functions = bases.mercer(Matern(1.5, rho=0.1), (0, 1), 100).matrix(GRID)
    coefficients = np.linalg.solve(functions, noise.T).T
    assert kstest(coefficients[:, 7], t(5).cdf).pvalue > 1e-6
    assert kstest(coefficients[:, 7], norm(scale=math.sqrt(5 / 3)).cdf).pvalue < 0.01


def test_the_kernel_of_heavy_errors_can_be_changed():
    rough = sample("S-1", 3, SeededRandomness(5), errors="heavy")
    smooth = sample("S-1", 3, SeededRandomness(5), errors="heavy", kernel=Matern(2.5, rho=0.1))
    assert np.abs(rough - smooth).max() > 0.1


def test_a_seed_repeats_the_curves():
    for errors in ("gaussian", "heavy"):
        one, same = (sample("S-3", 4, SeededRandomness(9), errors=errors) for _ in range(2))
        assert np.array_equal(one, same)
    one, same = (karhunen_loeve(4, SeededRandomness(9)) for _ in range(2))
    assert np.array_equal(one, same)


def test_unknown_means_and_errors_are_refused():
    with pytest.raises(UsageError, match=r"^The means are S-1, S-2, S-3, S-4, got 'S-5'\.$"):
        sample("S-5", 3, SeededRandomness(0))
    with pytest.raises(UsageError, match=r"^Errors are 'gaussian' or 'heavy', got 'cauchy'\.$"):
        sample("S-1", 3, SeededRandomness(0), errors="cauchy")


@pytest.mark.parametrize("decay", [1.5, 4.0])
def test_scores_of_the_series_are_uniform_with_falling_variance(decay):
    """Equation (4): variances at 6 standard errors, level 1e-8 for five of them; sizes never above .4 j^(-p/2)."""
    n, grid = 5000, np.linspace(0, 1, 401)
    basis = bases.mercer(Gaussian(0.001), (0, 1), 50)
    curves = karhunen_loeve(n, SeededRandomness(6), mean=np.zeros_like, decay=decay, grid=grid)
    scores = np.linalg.lstsq(basis.matrix(grid), curves.T, rcond=None)[0].T
    sizes = np.arange(1, 51) ** (-decay / 2)
    assert (np.abs(scores) <= 0.4 * sizes + 1e-9).all()
    for j in range(5):
        # A uniform on (-.4, .4) has variance .16/3 and kurtosis 1.8.
        assert np.mean((scores[:, j] / sizes[j]) ** 2) == pytest.approx(0.16 / 3, rel=6 * math.sqrt(0.8 / n))


def test_functions_whose_eigenvalue_is_numerically_zero_are_left_out():
    curves = karhunen_loeve(30, SeededRandomness(2), kernel=Gaussian(2.0), decay=0.0)
    present = int((bases.mercer(Gaussian(2.0), (0, 1), 50).eigenvalues > 0).sum())
    assert 3 < present < 15
    assert np.linalg.matrix_rank(curves - simulators.sine(GRID), tol=1e-8) == present


def test_defaults_of_the_scenarios_are_those_of_section_5():
    """Mirshani et al., Section 5; the penalty is not printed and is that of the authors' public program."""
    case = Case()
    assert (case.kernel, case.decay, case.n, case.epsilon, case.delta) == (Gaussian(0.001), 4.0, 25, 1.0, 0.1)
    assert case.penalty == 0.01
    assert SCENARIO_MEANS[case.mean](np.array([0.25])) == pytest.approx([0.1 * math.sin(math.pi / 4)])
    assert case.sample(SeededRandomness(1)).shape == (25, 100)


@pytest.mark.parametrize(
    ("number", "parameter", "first", "last"),
    [
        (1, "penalty", 1e-6, 1.0),
        (2, "kernel", Gaussian(0.002), Gaussian(2.0)),
        (4, "decay", 1.1, 4.0),
        (5, "epsilon", 5.0, 0.1),
        (5, "delta", 0.1, 1e-6),
        (6, "n", 5, 100),
    ],
)
def test_a_scenario_varies_its_parameter_between_the_printed_ends_and_nothing_else(number, parameter, first, last):
    cases = SCENARIOS[number].cases(parameter)
    assert (getattr(cases[0], parameter), getattr(cases[-1], parameter)) == (first, last)
    for name in ("kernel", "penalty", "decay", "mean", "n", "epsilon", "delta"):
        values = {repr(getattr(case, name)) for case in cases}
        assert len(values) == (len(cases) if name == parameter else 1)


def test_scenarios_three_and_seven_have_four_kernels_and_three_further_means():
    kernels = [case.kernel for case in SCENARIOS[3].cases("kernel")]
    assert [type(kernel) for kernel in kernels] == [Gaussian, Matern, Matern, Exponential]
    assert [kernel.order for kernel in kernels[1:3]] == [2.5, 1.5]
    means = [case.mean for case in SCENARIOS[7].cases("mean")]
    assert means[0] == Case().mean
    assert len(set(means)) == 4
    assert set(SCENARIOS) == set(range(1, 8))


def test_a_scenario_refuses_a_parameter_that_it_does_not_vary():
    with pytest.raises(UsageError, match=r"^Scenario 5 varies epsilon, delta, not 'n'\.$"):
        SCENARIOS[5].cases("n")

"""Tests of drawn noise processes: their covariance, their law, what is kept, and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, kstest, laplace

from dpfda.bases import cosine, mercer
from dpfda.errors import UsageError
from dpfda.kernels import BrownianMotion, Exponential, Gaussian, Kernel, Matern
from dpfda.mechanisms import SeededRandomness, SystemRandomness
from dpfda.studies.simulators import draw_process, forget_processes, process_table

POINTS = np.array([0.0, 0.13, 0.5, 0.77, 1.0])
KERNELS: list[Kernel] = [Exponential(0.3), Matern(1.5, 0.1), Matern(2.5, 0.4), Gaussian(0.1), BrownianMotion()]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)
both_laws = pytest.mark.parametrize("law", ["gaussian", "laplace"])


@every_kernel
def test_the_table_squared_is_the_kernel(kernel: Kernel) -> None:
    """No draw: the covariance of a path is exactly table' table, and what is cut off is the tail of eigenvalues."""
    table = process_table(kernel, POINTS, terms=400)
    eigenvalues = mercer(kernel, (0, 1), 400).eigenvalues
    assert eigenvalues is not None
    trace = float(np.mean([kernel([t], [t])[0, 0] for t in np.linspace(0, 1, 201)]))
    # Eigenfunctions of these kernels are below 4 in absolute value.
    cut = 16 * abs(trace - eigenvalues.sum()) + 1e-12
    np.testing.assert_allclose(table.T @ table, kernel(POINTS, POINTS), rtol=0, atol=cut)
    assert cut < 0.05


@both_laws
@every_kernel
def test_paths_have_the_covariance_of_the_kernel(kernel: Kernel, law: Any) -> None:
    """Means and covariances within 6.1 deviations, level 1e-9 each; with this seed it never fails by chance.

    A sum of independent Laplace variables has kurtosis at most 6, so a product of two values has variance at most 6
    times the product of their variances; for Gaussian ones at most 2.
    """
    size, terms = 20_000, 40
    paths = draw_process(kernel, POINTS, law=law, size=size, terms=terms, randomness=SeededRandomness(5))
    assert paths.shape == (size, 5)
    table = process_table(kernel, POINTS, terms=terms)
    covariance = table.T @ table
    spread = math.sqrt(6.0 if law == "laplace" else 2.0)
    deviations = np.sqrt(np.diag(covariance))
    limit = 6.1 * spread * np.multiply.outer(deviations, deviations) / math.sqrt(size)
    assert (np.abs(paths.T @ paths / size - covariance) <= limit + 1e-15).all()
    assert (np.abs(paths.mean(axis=0)) <= 6.1 * deviations / math.sqrt(size)).all()


def test_a_gaussian_process_has_chi_squared_norms() -> None:
    """Kolmogorov test at level 1e-6 of squared lengths of whitened paths; with this seed it never fails by chance."""
    kernel = Matern(1.5, 0.5)
    paths = draw_process(kernel, POINTS, law="gaussian", size=5000, terms=60, randomness=SeededRandomness(8))
    table = process_table(kernel, POINTS, terms=60)
    lengths = np.sum(paths * np.linalg.solve(table.T @ table, paths.T).T, axis=1)
    assert kstest(lengths, chi2(df=5).cdf).pvalue > 1e-6


@both_laws
def test_coordinates_of_a_path_are_independent_with_the_stated_law(law: Any) -> None:
    """Kolmogorov tests at level 1e-6 for each of four coordinates; with this seed they never fail by chance."""
    basis = mercer(Exponential(0.5), (0, 1), 4)
    grid = np.linspace(0, 1, 41)
    paths = draw_process(basis, grid, law=law, size=4000, randomness=SeededRandomness(3))
    assert basis.eigenvalues is not None
    variables = basis.coordinates(paths, grid) / np.sqrt(basis.eigenvalues)
    expected = laplace(scale=math.sqrt(0.5)).cdf if law == "laplace" else "norm"
    for column in variables.T:
        assert kstest(column, expected).pvalue > 1e-6
    correlations = np.corrcoef(np.abs(variables.T)) - np.eye(4)
    assert np.abs(correlations).max() < 6 / math.sqrt(4000)  # of absolute values: independence, not only no correlation


def test_laplace_variables_have_variance_one_and_the_law_of_their_name() -> None:
    """Kolmogorov test at level 1e-6; with this seed it never fails by chance."""
    variables = SeededRandomness(4).laplace_variables((100, 200))
    assert variables.shape == (100, 200)
    assert kstest(variables.ravel(), laplace(scale=math.sqrt(0.5)).cdf).pvalue > 1e-6


@both_laws
def test_a_seed_and_a_cache_change_nothing(law: Any) -> None:
    def drawn() -> np.ndarray:
        return draw_process(Matern(2.5, 0.1), POINTS, law=law, size=3, terms=30, randomness=SeededRandomness(1))

    forget_processes()
    first = drawn()
    assert np.array_equal(first, drawn())
    forget_processes()
    assert np.array_equal(first, drawn())


def test_a_table_is_made_once_and_cannot_be_written_to() -> None:
    table = process_table(Matern(1.5, 0.1), POINTS, terms=20)
    assert np.shares_memory(process_table(Matern(1.5, 0.1), list(POINTS), terms=20), table)
    assert not np.shares_memory(process_table(Matern(1.5, 0.1), POINTS[:4], terms=20), table)
    with pytest.raises(ValueError, match="read-only"):
        table[0, 0] = 1.0


def test_a_kernel_and_its_basis_are_the_same_source() -> None:
    kernel, domain = Exponential(3.0), (-2.0, 5.0)
    by_kernel = process_table(kernel, [-2.0, 4.4], terms=12, domain=domain)
    assert np.array_equal(by_kernel, process_table(mercer(kernel, domain, 12), [-2.0, 4.4]))
    longer = mercer(kernel, domain, 30)
    np.testing.assert_allclose(process_table(longer, [-2.0, 4.4], terms=12), by_kernel, rtol=0, atol=1e-12)
    assert process_table(kernel, [0.0], domain=domain).shape == (100, 1)


def test_a_basis_on_a_box_is_a_source_too() -> None:
    basis = mercer(Gaussian(0.5), [(0, 1), (0, 2)], 20)
    points = [(0.5, 0.5), (0.1, 1.9)]
    paths = draw_process(basis, points, law="gaussian", size=7, randomness=SeededRandomness(1))
    assert paths.shape == (7, 2)
    table = process_table(basis, points)
    np.testing.assert_allclose(table.T @ table, Gaussian(0.5)(points, points), rtol=0, atol=0.02)


def test_terms_without_an_eigenvalue_are_left_out() -> None:
    kept = len(process_table(Gaussian(0.1), POINTS, terms=300))
    assert kept < 30
    table = process_table(Gaussian(0.1), POINTS, terms=300)
    np.testing.assert_allclose(table.T @ table, Gaussian(0.1)(POINTS, POINTS), rtol=0, atol=1e-12)


GOOD: dict[str, Any] = {"law": "gaussian", "size": 2, "randomness": SeededRandomness(1)}
MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "law": (
        lambda: draw_process(Exponential(1.0), [0.5], **{**GOOD, "law": "cauchy"}),
        "law of a process is one of gaussian, laplace, got 'cauchy'",
    ),
    "no paths": (
        lambda: draw_process(Exponential(1.0), [0.5], **{**GOOD, "size": 0}),
        "At least one path must be drawn, got size 0",
    ),
    "true randomness": (
        lambda: draw_process(Exponential(1.0), [0.5], **{**GOOD, "randomness": SystemRandomness()}),
        r"A study draws from SeededRandomness\(seed\), which is never private, got <dpfda",
    ),
    "no eigenvalues": (
        lambda: draw_process(cosine((0, 1), 3), [0.5], **GOOD),
        r"needs a kernel, or a basis with eigenvalues such as mercer\(...\), got Cosine",
    ),
    "no source": (lambda: draw_process("exponential", [0.5], **GOOD), "got 'exponential'"),  # type: ignore[arg-type]
    "too many terms": (
        lambda: draw_process(mercer(Exponential(1.0), (0, 1), 5), [0.5], terms=6, **GOOD),
        "This basis has 5 terms, got terms=6. Take a larger basis.",
    ),
    "no terms of a basis": (
        lambda: draw_process(mercer(Exponential(1.0), (0, 1), 5), [0.5], terms=0, **GOOD),
        "This basis has 5 terms, got terms=0",
    ),
    "no terms": (lambda: draw_process(Exponential(1.0), [0.5], terms=0, **GOOD), "at least 1, got 0"),
    "outside": (lambda: draw_process(Exponential(1.0), [1.5], **GOOD), "Points must lie in the domain"),
}


@pytest.mark.parametrize(("act", "text"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_wrong_argument_is_told_the_rule_and_the_value(act: Callable[[], object], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        act()

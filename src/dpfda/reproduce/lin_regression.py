"""Appendix C.2 of Lin and Reimherr: private coefficient functions of simulated curves on covariates."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.mechanisms.randomness import SeededRandomness
from dpfda.statistics.regression.estimator import FunctionOnScalarRegression
from dpfda.studies.outcome import Outcome, Reproduction, Setting, Table, leave_room
from dpfda.studies.simulators import GRID, ICLP_KERNEL, karhunen_loeve, norms

EPSILON, DELTA = 1.0, 1e-6
# Public: root mean squares 0.071, 0.141 and 0.060 of the coefficients, and 0.416 at most of the errors.
BOUND = 0.7
LIMITS = ((0.0, 1.0), (0.0, 1.0))
SIZES = (500, 1000, 2000, 5000, 10_000, 20_000)
SHOWN = 2000  # the sample size of the curves in the picture
METHODS: dict[str, dict[str, Any]] = {
    "Laplace process": {"mechanism": "iclp-qr", "delta": 0.0},
    "our default, pure": {"mechanism": "auto", "delta": 0.0},
    "our default, approximate": {"mechanism": "auto", "delta": DELTA},
}
LEAST_SQUARES = "not private"
COLOURS = dict(zip((*METHODS, LEAST_SQUARES), ("C3", "k", "0.5", "C0"), strict=True))
TRUTH: dict[str, Callable[[Array], Array]] = {
    "intercept": lambda t: 0.1 * np.sin(math.pi * t),
    "dose": lambda t: 0.2 * np.cos(math.pi * t),
    "group": lambda t: 0.1 * np.exp(-((t - 0.5) ** 2) / 0.08),
}
COLUMNS = ("method", "n", "mechanism", *TRUTH, "standard error", "all, over size of truth")
NOTES = (
    "Appendix C.2 has no numbers: this illustrates it. Curves are b0(t) + b1(t) dose + b2(t) group + errors; dose is "
    "uniform on (0, 1), group is 0 or 1 by a coin. Coefficients are 0.1 sin(pi t), 0.2 cos(pi t) and a bump of height "
    "0.1; errors are the series of Mirshani et al. in eigenfunctions of the Matérn 3/2 kernel, bounded, so that no "
    "norm is above the public bound 0.7.",
    "epsilon is 1, and delta 1e-6 for the approximate default. The appendix splits epsilon between the moments of "
    "covariates and their products with curves; here both are one vector, clipped together and released once. The "
    "ridge is chosen after the noise.",
    "Errors are root mean squares over t of each coefficient function against the truth, averaged over samples and "
    "releases; the standard error is that of their root sum of squares.",
)


def truth() -> Array:
    """Coefficient functions on the grid, (3, 100)."""
    return np.stack([function(GRID) for function in TRUTH.values()])


def simulate(n: int, randomness: SeededRandomness) -> tuple[Array, Array]:
    """Covariates (n, 2) and curves (n, 100)."""
    covariates = randomness.uniform((n, 2))
    covariates[:, 1] = np.round(covariates[:, 1])
    errors = karhunen_loeve(n, randomness, mean=np.zeros_like, kernel=ICLP_KERNEL)
    return covariates, np.asarray(_design(covariates) @ truth() + errors)


def least_squares(covariates: Array, curves: Array) -> Array:
    """Coefficient functions of the sample on the grid, (3, 100): what is not private."""
    return np.asarray(np.linalg.lstsq(_design(covariates), curves, rcond=None)[0])


def private(method: str, covariates: Array, curves: Array, randomness: SeededRandomness) -> tuple[str, Array]:
    """The mechanism that a method came to, and its coefficient functions on the grid."""
    terms: dict[str, Any] = {"epsilon": EPSILON, "bound": BOUND, "covariate_limits": LIMITS, "domain": (0.0, 1.0)}
    estimator = FunctionOnScalarRegression(**terms, **METHODS[method], randomness=randomness, force=True)
    estimator.fit(covariates, curves, grid=GRID)
    functions = (estimator.intercept_, *estimator.coef_)
    return estimator.plan_.design.name, np.stack([function(GRID) for function in functions])


def run(setting: Setting) -> Outcome:
    """Errors against n, and coefficient functions at one n."""
    randomness = SeededRandomness(setting.seed)
    repetitions, sizes = (2, SIZES[::3]) if setting.quick else (20, SIZES)
    exact = truth()
    whole = math.sqrt(float(np.square(norms(exact)).sum()))
    rows: list[tuple[object, ...]] = []
    for n in setting.track(list(sizes), "sample sizes"):
        found: dict[str, list[Array]] = {name: [] for name in COLOURS}
        used = {LEAST_SQUARES: "none"}
        for _ in range(repetitions):
            covariates, curves = simulate(n, randomness)
            found[LEAST_SQUARES].append(norms(least_squares(covariates, curves) - exact))
            for method in METHODS:
                used[method], functions = private(method, covariates, curves, randomness)
                found[method].append(norms(functions - exact))
        for method, errors in found.items():
            sums = np.linalg.norm(errors, axis=1)
            spread = float(sums.std(ddof=1)) / math.sqrt(repetitions)
            means = map(float, np.mean(errors, axis=0))
            rows.append((method, n, used[method], *means, spread, float(sums.mean()) / whole))
    title = "Coefficient functions of simulated curves, epsilon = 1: root mean square errors (Lin and Reimherr, C.2)"
    table = Table(title, COLUMNS, tuple(rows))
    return Outcome((table,), (draw_functions(exact, randomness), draw_errors(table)), NOTES)


def draw_functions(exact: Array, randomness: SeededRandomness) -> Any:
    """The true coefficient functions beside one release by each method."""
    covariates, curves = simulate(SHOWN, randomness)
    found = {method: private(method, covariates, curves, randomness)[1] for method in METHODS}
    found[LEAST_SQUARES] = least_squares(covariates, curves)
    figure = _figure((13, 4.5), f"Coefficient functions, n = {SHOWN}, epsilon = {EPSILON:g}")
    for ax, (place, name) in zip(figure.subplots(1, len(TRUTH)), enumerate(TRUTH), strict=True):
        for method, colour in COLOURS.items():
            ax.plot(GRID, found[method][place], color=colour, lw=1.2, label=method)
        ax.plot(GRID, exact[place], "--", color="C2", lw=2, label="truth")
        ax.set_title(name, fontsize=10)
        ax.set_xlabel("t")
        ax.grid(alpha=0.25)
    figure.axes[0].legend(frameon=False, fontsize=8)
    return figure


def draw_errors(table: Table) -> Any:
    """Error against n, a line for each method."""
    figure = _figure((7, 5), "Private coefficient functions against the truth")
    ax = figure.subplots()
    rows: list[dict[str, Any]] = [dict(zip(COLUMNS, row, strict=True)) for row in table.rows]
    for method, colour in COLOURS.items():
        line = [row for row in rows if row["method"] == method]
        ax.plot([row["n"] for row in line], [row[COLUMNS[-1]] for row in line], "o-", color=colour, label=method)
    ax.axhline(1.0, color="0.7", ls=":", label="size of the truth")
    ax.set(xscale="log", yscale="log", xlabel="n", ylabel="root mean square error over size of the truth")
    sizes = sorted({row["n"] for row in rows})
    ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
    ax.set_xticks([], minor=True)
    ax.grid(alpha=0.25)
    ax.legend(frameon=False, fontsize=8)
    return figure


def _design(covariates: Array) -> Array:
    return np.column_stack([np.ones(len(covariates)), covariates])


def _figure(size: tuple[float, float], title: str) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    leave_room(figure)
    figure.suptitle(title, fontsize=10)
    return figure


REPRODUCTIONS = (
    Reproduction("lin-regression", "Appendix C.2 of Lin and Reimherr: private coefficient functions, simulated", run),
)

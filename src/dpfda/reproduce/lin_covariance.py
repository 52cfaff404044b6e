"""Appendix C.1 of Lin and Reimherr: private covariance functions of simulated curves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpfda import bases
from dpfda.arrays import Array
from dpfda.mechanisms import LaplaceProcess, SeededRandomness
from dpfda.statistics.covariance.estimator import CovarianceFunction
from dpfda.studies.outcome import Outcome, Reproduction, Setting, Table, leave_room
from dpfda.studies.simulators import GRID, ICLP_KERNEL, TERMS, karhunen_loeve, weights

EPSILON, DELTA = 1.0, 1e-6
BOUND = 0.5  # public: 0.1 sin(pi t) has norm 0.071, and scores in (-.4, .4) over j^2 add up to 0.416 at most
DECAY = 4.0
SIZES = (500, 1000, 2000, 5000, 10_000, 20_000)
SHOWN = 2000  # the sample size of the contours
METHODS: dict[str, dict[str, Any]] = {
    "tensor-product Laplace process": {"mechanism": LaplaceProcess(kernel=ICLP_KERNEL), "delta": 0.0},
    "our default, pure": {"mechanism": "auto", "delta": 0.0},
    "our default, approximate": {"mechanism": "auto", "delta": DELTA},
}
SAMPLE = "not private"
COLOURS = dict(zip((*METHODS, SAMPLE), ("C3", "k", "0.5", "C0"), strict=True))
COLUMNS = ("method", "n", "mechanism", "error to truth", "standard error", "over size of truth", "error to sample")
NOTES = (
    "Appendix C.1 has no numbers: this illustrates it. Curves are 0.1 sin(pi t) and 50 eigenfunctions of the Matérn "
    "3/2 kernel of range 0.1 with uniform scores, variances 0.64/12 j^-4, so that no norm is above the public bound "
    "0.5 and the covariance is known. The process has the same kernel: its basis is that of the truth.",
    "epsilon is 1, and delta 1e-6 for the approximate default. Mean and second moment are released together and "
    "subtracted, for the sample mean moves too; the process has the Laplace scale that privacy needs, and a "
    "sensitivity by the Frobenius norm rather than a sum over entries. All results are projected to positive "
    "semidefinite functions.",
    "Errors are root mean squares over the unit square, averaged over samples and releases; the last column is the "
    "distance to the covariance of the same sample, which is what privacy costs.",
)


def truth() -> Array:
    """The covariance of the simulated curves at all pairs of grid points, (100, 100)."""
    functions = bases.mercer(ICLP_KERNEL, (0.0, 1.0), TERMS).matrix(GRID)
    variances = 0.8**2 / 12 * np.arange(1.0, TERMS + 1) ** -DECAY
    return np.asarray((functions * variances) @ functions.T)


def private(method: str, curves: Array, randomness: SeededRandomness) -> tuple[str, Array]:
    """The mechanism that a method came to, and its covariance at all pairs of grid points."""
    terms: dict[str, Any] = {"epsilon": EPSILON, "bound": BOUND, "domain": (0.0, 1.0), "randomness": randomness}
    estimator = CovarianceFunction(**terms, **METHODS[method], force=True).fit(curves, grid=GRID)
    return estimator.plan_.design.name, np.asarray(estimator.release_(GRID, GRID))


def size_of(surface: Array) -> float:
    """The root mean square of a function over the unit square."""
    return math.sqrt(float(weights() @ np.square(surface) @ weights()))


def run(setting: Setting) -> Outcome:
    """Errors against n, and contours at one n."""
    randomness = SeededRandomness(setting.seed)
    repetitions, sizes = (2, SIZES[::3]) if setting.quick else (20, SIZES)
    exact = truth()
    rows: list[tuple[object, ...]] = []
    for n in setting.track(list(sizes), "sample sizes"):
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in COLOURS}
        used = {SAMPLE: "none"}
        for _ in range(repetitions):
            curves = karhunen_loeve(n, randomness, kernel=ICLP_KERNEL, decay=DECAY)
            sample = np.cov(curves.T, bias=True)
            found[SAMPLE].append((size_of(sample - exact), 0.0))
            for method in METHODS:
                used[method], surface = private(method, curves, randomness)
                found[method].append((size_of(surface - exact), size_of(surface - sample)))
        for method, errors in found.items():
            mean, loss = np.mean(errors, axis=0)
            spread = np.std([error for error, _ in errors], ddof=1) / math.sqrt(repetitions)
            numbers = (float(mean), float(spread), float(mean) / size_of(exact), float(loss))
            rows.append((method, n, used[method], *numbers))
    title = "Covariance functions of simulated curves, epsilon = 1: root mean square errors (Lin and Reimherr, C.1)"
    table = Table(title, COLUMNS, tuple(rows))
    return Outcome((table,), (draw_contours(exact, randomness), draw_errors(table)), NOTES)


def draw_contours(exact: Array, randomness: SeededRandomness) -> Any:
    """The truth beside one release by each method, on one scale of colours."""
    from matplotlib.figure import Figure

    curves = karhunen_loeve(SHOWN, randomness, kernel=ICLP_KERNEL, decay=DECAY)
    surfaces = {"truth": exact, SAMPLE: np.cov(curves.T, bias=True)}
    surfaces |= {method: private(method, curves, randomness)[1] for method in METHODS}
    levels = np.linspace(-0.2, 1.4, 17) * exact.max()
    figure = Figure(figsize=(16, 4), layout="constrained")
    leave_room(figure)
    panels = figure.subplots(1, len(surfaces), sharey=True)
    for ax, (name, surface) in zip(panels, surfaces.items(), strict=True):
        drawn = ax.contourf(GRID, GRID, surface, levels=levels, extend="both", cmap="viridis")
        ax.set_title(name, fontsize=10)
        ax.set_aspect("equal")
        ax.set_xlabel("s")
    panels[0].set_ylabel("t")
    figure.colorbar(drawn, ax=list(panels), shrink=0.8, format="%.2g")
    figure.suptitle(f"Covariance functions, n = {SHOWN}, epsilon = {EPSILON:g}", fontsize=10)
    return figure


def draw_errors(table: Table) -> Any:
    """Error against n, a line for each method."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 5), layout="constrained")
    leave_room(figure)
    ax = figure.subplots()
    rows: list[dict[str, Any]] = [dict(zip(COLUMNS, row, strict=True)) for row in table.rows]
    for method, colour in COLOURS.items():
        line = [row for row in rows if row["method"] == method]
        ax.plot([row["n"] for row in line], [row["error to truth"] for row in line], "o-", color=colour, label=method)
    ax.axhline(size_of(truth()), color="0.7", ls=":", label="size of the truth")
    ax.set(xscale="log", yscale="log", xlabel="n", ylabel="root mean square error")
    sizes = sorted({row["n"] for row in rows})
    ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
    ax.set_xticks([], minor=True)
    ax.grid(alpha=0.25)
    ax.legend(frameon=False, fontsize=8)
    figure.suptitle("Private covariance functions against the truth", fontsize=10)
    return figure


REPRODUCTIONS = (
    Reproduction("lin-covariance", "Appendix C.1 of Lin and Reimherr: private covariance functions, simulated", run),
)

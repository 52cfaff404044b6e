"""Figures 1 and 2 of Hall et al.: a kernel density estimate and its release by a Gaussian process."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.bases import Domain
from dpfda.bases.cells import fine_cells
from dpfda.mechanisms.randomness import SeededRandomness
from dpfda.privacy import Budget
from dpfda.reproduce.density_noise import PlannedDensity, farthest, integral, kernel_estimate, planned
from dpfda.statistics.density.estimator import DensityFunction
from dpfda.studies.outcome import Outcome, Reproduction, Setting, Table, leave_room

N, WIDTH, ALPHA, BETA, GRID = 100, 0.1, 1.0, 0.1, 1000  # all printed
PLACES = (0.3, 0.7)  # printed
DEVIATION = 0.1  # not printed, nor the shares: one half each
DOMAIN = Domain(((0.0, 1.0),))
CELLS = fine_cells(DOMAIN)
MECHANISMS = {"Figure 1": "gp", "Figure 2": "sobolev"}
OURS = "our default"
COLUMNS = (
    "method",
    "sensitivity times n",
    "deviation of the noise",
    "by the paper's formula",
    "integral of squared noise",
    "error to non-private",
    "error to truth",
)
NOTES = (
    "As printed: n = 100 points from two normals at 0.3 and 0.7, h = 0.1, alpha = 1, beta = 0.1, a grid of 1000. Not "
    "printed, so chosen: deviation 0.1 and equal shares of the two normals. The points of the paper are not known and "
    "it has no numbers but these: the picture can be like the printed one, not the same.",
    "'published' is the paper's own scale, sqrt(2 log(2/beta)) / alpha times its bound on the sensitivity; 'exact' the "
    "exact privacy curve and the exact sensitivity, over all pairs of 2048 cells. Deviations are those in the middle "
    "of the interval. Errors are expected integrals of squares, those of the default averages over releases; all are "
    "averaged over samples.",
    "beta = 0.1 is above 1/n: it would allow each tenth person to be exposed outright.",
)
MORE = {
    "Figure 1": (),
    "Figure 2": (
        "The exact sensitivity is 0.668/(n h), 1.9 times below the printed 2/((2 pi)^(1/4) n h). The process is cut "
        "after 512 terms, which leaves out 0.4 % of its variance.",
    ),
}


def sample(randomness: SeededRandomness) -> Array:
    """The points of one picture, (N, 1); those beyond the ends are moved there."""
    places = np.array(PLACES)[np.asarray(randomness.uniform((N,)) >= 0.5, dtype=np.int64)]
    return np.clip(places + DEVIATION * randomness.normal((N,)), 0.0, 1.0)[:, None]


def truth(points: Array) -> Array:
    """The density of the mixture, (m,) -> (m,); 0.13 % of it lies beyond the ends."""
    bells = [np.exp(-0.5 * ((points - place) / DEVIATION) ** 2) for place in PLACES]
    return np.asarray(sum(bells) / (2 * math.sqrt(2 * math.pi) * DEVIATION))


def bound(figure: str) -> float:
    """The sensitivity that the paper states, times n."""
    if figure == "Figure 1":
        return math.sqrt(2) / (math.sqrt(2 * math.pi) * WIDTH)
    return 2 / (math.pow(2 * math.pi, 0.25) * WIDTH)


def formula(figure: str) -> float:
    """The deviation of the noise in the paper's example, from its own formula."""
    return math.sqrt(2 * math.log(2 / BETA)) / ALPHA * bound(figure) / N


def deviation(plan: PlannedDensity) -> float:
    """That of the noise in the middle of the interval."""
    functions = plan.design.basis.matrix(np.array([[0.5]]))[0]
    return math.sqrt(float(functions**2 @ plan.noise.variances)) / plan.volume


def sensitivity(plan: PlannedDensity) -> float:
    """How far one person moves the density in the space of the noise, times n, without what the budget adds."""
    # Decoding takes features to the density by the deviations of the noise, and by one factor more.
    factor = float(plan.design.decode[0] / np.sqrt(np.asarray(plan.design.basis.eigenvalues)[0])) / plan.volume
    return farthest(plan.design.features, euclidean=True) * factor


def run(name: str, setting: Setting) -> Outcome:
    """One of the two figures: a picture, and what its noise is."""
    randomness = SeededRandomness(setting.seed)
    grid = np.linspace(0, 1, GRID)
    budget = Budget(ALPHA, BETA)
    plans = {
        f"{MECHANISMS[name]}, {calibration}": planned(
            CELLS, N, budget, MECHANISMS[name], bandwidth=WIDTH, calibration=calibration
        )
        for calibration in ("published", "exact")
    }
    found: dict[str, list[tuple[float, float]]] = {method: [] for method in (*plans, OURS)}
    for repetition in range(4 if setting.quick else 40):
        points = sample(randomness)
        plain = kernel_estimate(points, grid[:, None], cells=CELLS, bandwidth=WIDTH)
        densities = {method: plan.of(points) for method, plan in plans.items()}
        for method, density in densities.items():
            found[method].append((density.error(plain, grid), density.error(truth(grid), grid)))
        estimator = DensityFunction(epsilon=ALPHA, delta=BETA, domain=DOMAIN, randomness=randomness, force=True)
        default = np.asarray(estimator.fit(points).release_(grid))
        found[OURS].append((integral((default - plain) ** 2, 1.0), integral((default - truth(grid)) ** 2, 1.0)))
        if repetition == 0:
            curves = {method: density.draw(grid, randomness) for method, density in densities.items()}
            figure = draw(name, grid, plain, {**curves, OURS: default}, points)
    rows: list[tuple[object, ...]] = []
    for method, errors in found.items():
        loss, error = np.mean(errors, axis=0)
        if method == OURS:
            rows.append((method, None, None, None, None, loss, error))
            continue
        plan = plans[method]
        paid, told = sensitivity(plan), None
        if method.endswith("published"):
            paid, told = bound(name), formula(name)
        rows.append((method, paid, deviation(plan), told, plan.noise_error, loss, error))
    title = f"{name} of Hall et al.: a density at alpha = 1, beta = 0.1, n = 100"
    return Outcome((Table(title, COLUMNS, tuple(rows)),), (figure,), (*NOTES, *MORE[name]))


def draw(name: str, grid: Array, plain: Array, curves: dict[str, Array], points: Array) -> Any:
    """The estimate solid and its release dashed, a panel for each way to release it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 4.5), layout="constrained")
    leave_room(figure)
    panels = figure.subplots(1, len(curves), sharey=True)
    for ax, (method, values) in zip(panels, curves.items(), strict=True):
        ax.plot(grid, plain, "k-", lw=1.2, label="kernel estimate, not private")
        ax.plot(grid, values, "C3--", lw=1.0, label="released")
        ax.plot(grid, truth(grid), color="0.7", lw=0.8, label="truth")
        ax.plot(points[:, 0], np.full(len(points), -0.2), "|", color="0.5", ms=5)
        ax.set_title(method, fontsize=10)
        ax.set_xlabel("x")
    panels[0].legend(frameon=False, fontsize=8, loc="upper center")
    figure.suptitle(f"{name} of Hall et al., simulated again", fontsize=10)
    return figure


def figure_1(setting: Setting) -> Outcome:
    """The Gaussian kernel for both."""
    return run("Figure 1", setting)


def figure_2(setting: Setting) -> Outcome:
    """Noise of the Sobolev space."""
    return run("Figure 2", setting)


REPRODUCTIONS = (
    Reproduction("hall-figure-1", "Figure 1 of Hall et al.: a density with noise of its own kernel", figure_1),
    Reproduction("hall-figure-2", "Figure 2 of Hall et al.: a density with noise of a Sobolev space", figure_2),
)

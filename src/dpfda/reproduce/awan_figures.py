"""Figures 1, 2 and 3 of Awan et al.: private first components of simulated curves."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda import bases
from dpfda.arrays import Array
from dpfda.mechanisms.randomness import SeededRandomness
from dpfda.reproduce.awan_tables import EPSILONS, exponential, measure
from dpfda.reproduce.paper_curves import READINGS, RELEASED_TERMS, Reading, encode, simulate, true_frame
from dpfda.studies.components import leading_frame, subspace_distance
from dpfda.studies.outcome import Outcome, Reproduction, Setting, Table, leave_room
from dpfda.studies.simulators import GRID

SIZES = tuple(range(100, 1001, 100))
REPETITIONS = 10  # samples of each size
DRAWS = 100  # of components from each sample
SHOWN = (500, 5000)  # sample sizes of Figure 3, at epsilon 1
TITLES: dict[Reading, str] = {"mean": "weight in the mean", "scores": "weight in the scores"}
AVERAGES = (
    "weight",
    "n",
    "epsilon",
    "variance ratio",
    "se of ratio",
    "ratio, all draws",
    "subspace distance",
    "se of distance",
    "distance, all draws",
)
INSTANCES = (
    "weight",
    "n",
    "epsilon",
    "private to non-private",
    "mean over 100 draws",
    "non-private to true",
    "private to true",
)
NOTES = (
    "The paper prints pictures and no numbers. Printed and kept: 100 even points, 21 Fourier functions with weights "
    "j^-2 and scores N(0, 0.1), errors N(0, 1), one component, 40 Fourier functions, C_ii = i^-3, 10 samples of every "
    "size from 100 to 1000; n = 500 and 5000 at epsilon 1 in Figure 3.",
    "Not printed and chosen: the mean, and the additional weight of the fourth function. Its mean square is 64, which "
    "makes 40 functions hold 99 % of the variation, as the text has it (with weights j^-2 alone they hold less than "
    "half, for errors are white). It stands in the mean or in the scores: with the weight in the mean the shape is "
    "found at n = 500 and epsilon 1, as the text says; with the weight in the scores it is not, for the longest of 500 "
    "curves is three times the typical one, and all are divided by its norm. The epsilons are those of Tables 1 and 2, "
    "the steps between sizes are 100. Curves are not centred.",
    "Curves are divided by the largest norm in the sample: not private. Averages are over one exact draw from each "
    "sample, as in the paper; all draws takes 100 from each. A chain shows its last 100 steps in the paper, which "
    "depend on one another; ours are independent.",
    "The base measure is worth i^3/2 in the exponent: 32 for the fourth function against 0.5 for the first. As long as "
    "epsilon times half the sum of squares of the curves stays below that, the data are not heard.",
)


@dataclass(frozen=True, slots=True)
class Instance:
    """A panel of Figure 3: frames of 40 coordinates."""

    reading: Reading
    n: int
    drawn: Array  # (DRAWS, 40, 1), the first of which is the private estimate
    plain: Array  # (40, 1), without privacy


def averages(setting: Setting, randomness: SeededRandomness) -> Table:
    """Figure 2 as numbers: both measures for every reading, size and epsilon."""
    samples, draws = (2, 10) if setting.quick else (REPETITIONS, DRAWS)
    sizes = SIZES[::3] if setting.quick else SIZES
    rows: list[tuple[object, ...]] = []
    for reading, n in setting.track(list(itertools.product(READINGS, sizes)), "sizes of Figure 2"):
        # The same samples for every epsilon, so that lines differ by what privacy does.
        encoded = [encode(simulate(n, randomness, reading=reading)) for _ in range(samples)]
        for epsilon in EPSILONS:
            found = [measure(sample, exponential(sample, 1, epsilon, draws, randomness)) for sample in encoded]
            numbers: list[float] = []
            for name in ("variance ratio", "subspace distance"):
                values = np.array([one[name] for one in found])  # (samples, draws)
                first = values[:, 0]
                numbers += [first.mean(), first.std(ddof=1) / math.sqrt(samples), values.mean()]
            rows.append((TITLES[reading], n, epsilon, *map(float, numbers)))
    title = "Figure 2 of Awan et al.: private first components of simulated curves. No numbers are printed there"
    return Table(title, AVERAGES, tuple(rows))


def instances(randomness: SeededRandomness) -> list[Instance]:
    """Figure 3: one sample of each size, its component, and draws of the private one."""
    made = []
    for reading, n in itertools.product(READINGS, SHOWN):
        sample = encode(simulate(n, randomness, reading=reading))
        drawn = exponential(sample, 1, 1.0, DRAWS, randomness)
        made.append(Instance(reading, n, drawn, leading_frame(sample.curves, 1)))
    return made


def instance_table(made: list[Instance]) -> Table:
    """The subspace distances in Figure 3."""
    rows = []
    for one in made:
        private = subspace_distance(one.drawn, one.plain)
        true = [float(subspace_distance(frame, true_frame())) for frame in (one.plain, one.drawn[0])]
        rows.append((TITLES[one.reading], one.n, 1.0, float(private[0]), float(private.mean()), *true))
    return Table("Figure 3 of Awan et al.: subspace distances of the estimates shown", INSTANCES, tuple(rows))


def run(setting: Setting) -> Outcome:
    """All three figures, and the numbers in the second and third."""
    randomness = SeededRandomness(setting.seed)
    curves = {reading: simulate(100, randomness, reading=reading) for reading in READINGS}
    table, made = averages(setting, randomness), instances(randomness)
    figures = (draw_curves(curves), draw_averages(table), draw_instances(made))
    return Outcome((table, instance_table(made)), figures, NOTES)


def draw_curves(curves: dict[Reading, Array]) -> Any:
    """Figure 1: a hundred curves of either reading."""
    figure, panels = _panels(1, (10, 4), "Figure 1 of Awan et al.: 100 curves generated for the simulation")
    for ax, (reading, values) in zip(panels.flat, curves.items(), strict=True):
        ax.plot(GRID, values.T, color="C0", lw=0.4, alpha=0.5)
        ax.set_title(TITLES[reading], fontsize=10)
        ax.set_xlabel("t")
    return figure


def draw_averages(table: Table) -> Any:
    """Figure 2: a row for each reading, a column for each measure, a line for each epsilon."""
    figure, panels = _panels(2, (11, 8), "Figure 2 of Awan et al.: average performance of private components")
    kinds = (("variance ratio", "se of ratio"), ("subspace distance", "se of distance"))
    for (row, words), (column, (name, error)) in itertools.product(enumerate(TITLES.values()), enumerate(kinds)):
        ax = panels[row, column]
        for place, epsilon in enumerate(EPSILONS):
            line = [dict(zip(AVERAGES, cells, strict=True)) for cells in table.rows]
            line = [cells for cells in line if (cells["weight"], cells["epsilon"]) == (words, epsilon)]
            values = {word: [cells[word] for cells in line] for word in ("n", name, error)}
            ax.errorbar(
                values["n"], values[name], yerr=values[error], fmt="o-", ms=3, capsize=3, color=f"C{place}", lw=1
            )
            ax.lines[-1].set_label(f"epsilon = {epsilon:g}")
        ax.set_title(words, fontsize=10)
        ax.set_xlabel("n")
        ax.set_ylabel(name)
        ax.set_ylim(-0.05, 1.05)
    panels[0, 0].legend(frameon=False, fontsize=8)
    return figure


def draw_instances(made: list[Instance]) -> Any:
    """Figure 3: private, non-private and true first components, and the draws of the private one."""
    figure, panels = _panels(2, (11, 8), "Figure 3 of Awan et al.: first components, epsilon = 1")
    functions = bases.fourier((0.0, 1.0), RELEASED_TERMS).matrix(GRID)
    truth = functions @ true_frame()[:, 0]
    for ax, one in zip(panels.flat, made, strict=True):
        values = functions @ _turned(one.drawn)[:, :, 0].T
        ax.plot(GRID, values, color="0.7", lw=0.4)
        ax.plot(GRID, values[:, 0], color="C3", label="private")
        ax.plot(GRID, functions @ _turned(one.plain)[:, 0], color="C0", label="non-private")
        ax.plot(GRID, truth, "k--", lw=1, label="true")
        ax.set_title(f"{TITLES[one.reading]}, n = {one.n}", fontsize=10)
        ax.set_xlabel("t")
    panels[0, 0].plot([], [], color="0.7", lw=0.8, label=f"{DRAWS} draws")
    panels[0, 0].legend(frameon=False, fontsize=8)
    return figure


def _turned(frames: Array) -> Array:
    """Frames with the sign that looks the way of the true component."""
    return np.asarray(frames * np.where(np.swapaxes(frames, -1, -2) @ true_frame() < 0, -1.0, 1.0))


def _panels(rows: int, size: tuple[float, float], title: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    leave_room(figure)
    panels = figure.subplots(rows, len(READINGS))
    for ax in panels.flat:
        ax.grid(alpha=0.25)
    figure.suptitle(title, fontsize=10)
    return figure, panels


REPRODUCTIONS = (
    Reproduction("awan-figures-1-2-3", "Figures 1 to 3 of Awan et al.: private components of simulated curves", run),
)

"""Come here for what the figures of Mirshani et al. show: curves, their smoothed mean, and three private ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfda.arrays import Array
from dpfda.estimators import MeanFunction
from dpfda.kernels import Kernel
from dpfda.mechanisms.randomness import SeededRandomness
from dpfda.studies import penalised, published, simulators
from dpfda.studies.published import NoisyMean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = (
    "noise, supremum of Theorem 4.1",
    "noise, their program",
    "their program's noise is too small by",
    "distance to the sample mean, supremum",
    "distance to the sample mean, our default",
)
ROOM_FOR_STAMP = (0.0, 0.03, 1.0, 0.97)  # of a figure
NOISE_NOTE = (
    "Noise is the root of its expected squared L2 norm. Their program takes eigenvectors of Euclidean norm one for "
    "eigenfunctions, which makes the noise too small by the root of the number of grid points, and a sum in place of "
    "the supremum, which makes up for a part of it; the column 'too small by' says what remains."
)
DISTANCE_NOTE = (
    "Distances are roots of expected squared L2 distances to the sample mean and hold noise and smoothing together: in "
    "closed form for theirs, over seeded releases for our default, MeanFunction(epsilon, delta, bound) at the same "
    "epsilon and delta with the bound that the paper reads from the data, the largest norm."
)


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel of a figure, with all that is drawn in it."""

    title: str
    grid: Array
    curves: Array  # (n, q)
    right: NoisyMean
    programmed: NoisyMean
    released: Array  # one draw of the mechanism with right noise, (q,)
    released_by_program: Array  # (q,)
    defaults: Array  # our default's releases, (k, q)

    def row(self) -> tuple[float, ...]:
        """The numbers under `COLUMNS`."""
        mean = self.curves.mean(axis=0)
        squares = np.square(self.defaults - mean) @ self.right.weights
        return (
            math.sqrt(self.right.privacy_error),
            math.sqrt(self.programmed.privacy_error),
            penalised.shortfall(self.programmed, self.right),
            math.sqrt(self.right.error(mean)),
            math.sqrt(squares.mean()),
        )


def default_releases(
    curves: Array, grid: Array, *, epsilon: float, delta: float, randomness: SeededRandomness, repetitions: int
) -> Array:
    """Our default's means of these curves, with the bound that the paper takes: their largest norm, (k, q)."""
    bound = float(simulators.norms(curves, grid).max())
    estimator = MeanFunction(epsilon=epsilon, delta=delta, bound=bound, randomness=randomness, force=True)
    return np.array([estimator.fit(curves, grid=grid).release_(grid) for _ in range(repetitions)])


def panel(
    title: str,
    curves: Array,
    grid: Array,
    *,
    kernel: Kernel,
    penalty: float,
    epsilon: float,
    delta: float,
    defaults: Array,
    randomness: SeededRandomness,
) -> Panel:
    """All releases of one panel; above epsilon = 1, where the published formula is not proven, by the exact curve."""
    terms = published.spectrum(kernel, grid, simulators.weights(grid))
    sample = published.take(curves, terms)
    calibration: published.Calibration = "published" if epsilon <= 1 else "exact"
    right = published.gaussian_process(
        sample, terms, epsilon=epsilon, delta=delta, eta=1.0, penalty=penalty, calibration=calibration
    )
    programmed = penalised.as_programmed(sample, terms, epsilon=epsilon, delta=delta, eta=1.0, penalty=penalty)
    released, by_program = right.draw(1, randomness)[0], programmed.draw(1, randomness)[0]
    return Panel(title, grid, curves, right, programmed, released, by_program, defaults)


def picture(title: str, panels: Sequence[Panel], *, columns: int, across: str = "t") -> Figure:
    """Curves grey, penalised mean green, private mean red, as their program draws it orange, our default blue."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    rows = math.ceil(len(panels) / columns)
    figure = Figure(figsize=(4.2 * columns, 3.1 * rows + 1.0), layout=ConstrainedLayoutEngine(rect=ROOM_FOR_STAMP))
    axes = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    for axis, one in zip(axes, panels, strict=False):
        _draw(axis, one, across)
    for axis in axes[len(panels) :]:
        axis.remove()
    figure.suptitle(title)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)
    return figure


def _draw(axis: Any, one: Panel, across: str) -> None:
    from matplotlib.collections import LineCollection

    lines = [np.column_stack([one.grid, curve]) for curve in one.curves]
    axis.add_collection(LineCollection(lines, colors="0.8", linewidths=0.5, label="curves"))
    axis.plot(one.grid, one.right.summary, color="tab:green", lw=2, label="penalised mean, not private")
    axis.plot(one.grid, one.released, color="tab:red", lw=1.2, label="Gaussian process, supremum of Theorem 4.1")
    axis.plot(
        one.grid,
        one.released_by_program,
        color="tab:orange",
        lw=1.0,
        ls="--",
        label="as their program draws it: too small",
    )
    axis.plot(one.grid, one.defaults[0], color="tab:blue", lw=1.6, label="our default, same epsilon and delta")
    axis.set_title(one.title, fontsize=10)
    axis.set_xlabel(across)
    axis.set_ylabel("value")
    # The noise of a small penalty is many times larger than the curves: it may leave the panel, they may not.
    low, high = one.curves.min(), one.curves.max()
    reach = np.clip([one.released.min(), one.released.max()], low - 1.5 * (high - low), high + 1.5 * (high - low))
    axis.set_ylim(min(low, reach[0]), max(high, reach[1]))
    axis.set_xlim(one.grid[0], one.grid[-1])

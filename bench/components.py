"""Principal components of scans and growth curves: our defaults against the exact exponential mechanism."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import dpfda
from dpfda.bases import mercer
from dpfda.kernels import Gaussian
from dpfda.mechanisms import ExponentialDraw

PUBLISHED = "exponential, paper's kernel"
WAYS: dict[str, dict[str, Any]] = {
    "exponential": {"delta": 0.0, "mechanism": "exponential"},
    PUBLISHED: {"delta": 0.0},
    "pure default": {"delta": 0.0},
    "(epsilon, 1e-6) default": {"delta": 1e-6},
}
BERKELEY = "berkeley_growth.csv"


def curves_of(data: Path) -> dict[str, tuple[np.ndarray, np.ndarray, Gaussian]]:
    """Curves of complete scans, of people and of children, their grids on [0, 1], and the kernels of the paper."""
    import pandas as pd

    from bench.dti import person_means

    scans = pd.read_csv(data / "dti_cca.csv").filter(regex=r"^t\d+$").dropna().to_numpy()
    found = {
        "DTI, 376 scans": (scans, np.linspace(0, 1, 93), _kernel(1.1e-3, 92)),
        "DTI, 142 people": (person_means(data / "dti_cca.csv"), np.linspace(0, 1, 93), _kernel(1.1e-3, 92)),
    }
    if (data / BERKELEY).is_file():
        table = pd.read_csv(data / BERKELEY).filter(regex=r"\d$")
        ages = table.columns.str.extract(r"([\d.]+)$")[0].astype(float).to_numpy()
        found["Berkeley, 93 children"] = (table.to_numpy(), (ages - 1) / 17, _kernel(0.03, 17))
    return found


def _kernel(rate: float, length: float) -> Gaussian:
    """`exp(-rate d^2)` on a domain of that length, moved to [0, 1]."""
    return Gaussian(float(np.sqrt(0.5 / rate) / length))


def run(console: Console, *, data: Path, repetitions: int) -> None:
    """Print the share of the best k components' variance that private ones have.

    Curves are centred by their mean and bounded by their largest norm, as in the paper: not private, for comparison.
    The default releases the mean all the same, and pays for it.
    """
    for name, (curves, grid, kernel) in curves_of(data).items():
        table = Table("epsilon", "way", "k = 1", "k = 2", "k = 3", title=f"Variance ratio, {name}, {repetitions} draws")
        weights = np.convolve(np.diff(grid), [0.5, 0.5])
        centre = curves.mean(axis=0)
        around = (curves - centre) * np.sqrt(weights)
        moments = around.T @ around
        best = np.cumsum(np.linalg.eigvalsh(moments)[::-1])
        bound = float(np.linalg.norm(around, axis=1).max())
        for epsilon in (0.5, 1.0, 2.0):
            for way, stated in WAYS.items():
                own = dict(stated)
                if way == PUBLISHED:
                    own |= {"mechanism": ExponentialDraw(kernel=kernel), "basis": mercer(kernel, (0, 1), 5)}
                cells = []
                for k in (1, 2, 3):
                    ratios = []
                    for _ in range(repetitions):
                        est = dpfda.FPCA(n_components=k, epsilon=epsilon, bound=bound, centre=centre, **own, force=True)
                        values = est.fit(curves, grid=grid).release_(grid) * np.sqrt(weights)
                        frame, _ = np.linalg.qr(values.T)
                        ratios.append(np.trace(frame.T @ moments @ frame) / best[k - 1])
                    cells.append(f"{np.mean(ratios):.3f} ± {np.std(ratios) / np.sqrt(repetitions):.3f}")
                table.add_row(f"{epsilon:g}", way, *cells)
        console.print(table)

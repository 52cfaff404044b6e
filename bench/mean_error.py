"""Total error of the default mean function on S-1 to S-4, beside the published mechanisms, same guarantee, same run."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import dpfda
from bench.peers import gaussian_process, iclp_qr
from dpfda.mechanisms import SeededRandomness
from dpfda.studies.simulators import GRID, MEANS, norms, sample, weights


def run(console: Console, *, repetitions: int) -> dict[tuple[str, int], tuple[float, float]]:
    """Print the table; the two ratios of every case."""
    table = Table(
        "mean",
        "n",
        "GP (1, .01)",
        "default",
        "ratio, bar 15",
        "ICLP-QR pure 1",
        "default ",
        "ratio, bar 10",
        title=f"mean total error, {repetitions} repetitions (noise of the defaults is drawn, private, not seeded)",
    )
    ratios = {}
    cases = [(name, n) for name in MEANS for n in (1000, 5000)]
    for name, n in track(cases, "S-1 to S-4", console=console, transient=True):
        randomness, truth = SeededRandomness(n), MEANS[name](GRID)
        errors = []
        for _ in range(repetitions):
            curves = sample(name, n, randomness)
            tau = float(norms(curves).max())  # as in the paper; not private, and only a study
            mean = curves.mean(axis=0)
            row = [gaussian_process(mean, truth, tau=tau, n=n, epsilon=1.0, delta=0.01)]
            row.append(iclp_qr(mean, truth, tau=tau, n=n, epsilon=1.0))
            for delta in (0.01, 0.0):
                release = (
                    dpfda.MeanFunction(epsilon=1.0, delta=delta, bound=tau, force=True).fit(curves, grid=GRID).release_
                )
                row.append(float(weights() @ (release(GRID) - truth) ** 2))
            errors.append(row)
        process, laplace, approximate, pure = np.mean(errors, axis=0)
        ratios[name, n] = (process / approximate, laplace / pure)
        table.add_row(
            name,
            str(n),
            f"{process:.4f}",
            f"{approximate:.5f}",
            f"{process / approximate:.1f}",
            f"{laplace:.4f}",
            f"{pure:.5f}",
            f"{laplace / pure:.1f}",
        )
    console.print(table)
    return ratios

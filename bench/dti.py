"""Brain-scan profiles: the mean of 142 people, each with one to eight scans, some of them incomplete."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import dpfda


def person_means(file: Path) -> np.ndarray:
    """The mean of each person's scans, gaps filled within the scan, (142, 93); not private."""
    import pandas as pd

    frame = pd.read_csv(file)
    values = frame.filter(regex=r"^t\d+$").interpolate(axis=1, limit_direction="both")
    return values.groupby(frame["ID"]).mean().to_numpy()


def run(console: Console, *, data: Path, repetitions: int) -> None:
    """Print the relative error against the mean of person means, for a stated bound and for stated limits."""
    file = data / "dti_cca.csv"
    means = person_means(file)
    truth, grid = means.mean(axis=0), np.linspace(0, 1, means.shape[1])
    curves = dpfda.read_curves(file, values="t*", unit="ID")
    table = Table(
        "public facts",
        "asked",
        "guarantee",
        "people",
        "relative L2 error",
        "worst",
        title=f"DTI, {repetitions} releases each",
    )
    for facts in ({"bound": 1.0}, {"limits": (0.2, 0.9)}):
        for delta in (1e-6, 0.0):
            errors = []
            for _ in range(repetitions):
                release = dpfda.MeanFunction(epsilon=1.0, delta=delta, **facts, force=True).fit(curves).release_
                errors.append(np.linalg.norm(release(grid) - truth) / np.linalg.norm(truth))
            table.add_row(
                str(facts),
                f"(1, {delta:g})",
                release.certificate.guarantee,
                f"{release.certificate.n:.0f}",
                f"{np.sqrt(np.mean(np.square(errors))):.4f}",
                f"{np.max(errors):.4f}",
            )
    console.print(table)

"""Come here for Figures 2, 3, 11 and 12 of Mirshani et al.: private means of the brain scans."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfda.mechanisms.randomness import SeededRandomness
from dpfda.studies.mirshani_published import DELTA, EPSILON, FAMILIES, FILE, PENALTIES_1, TABLE_1, TABLE_2, scans
from dpfda.studies.mirshani_releases import COLUMNS, DISTANCE_NOTE, NOISE_NOTE, default_releases, panel, picture
from dpfda.studies.reproduction import Outcome, Reproduction, Setting, Table

Choice = tuple[str, float, float]  # kernel, penalty, range


def _by_cv(name: str) -> tuple[Choice, ...]:
    return tuple((name, penalty, rho) for penalty, rho in zip(PENALTIES_1, TABLE_1[name], strict=True))


FIGURES: tuple[tuple[int, str, tuple[Choice, ...]], ...] = (
    (2, "Gaussian kernel with cross-validation", _by_cv("C_1 Gaussian")),
    (3, "private cross-validation", tuple((name, *choice) for name, choice in TABLE_2.items())),
    (11, "Matérn 3/2 kernel with cross-validation", _by_cv("C_3 Matérn 3/2")),
    (12, "exponential kernel with cross-validation", _by_cv("C_4 exponential")),
)
NOTE = (
    "Penalties and ranges are the published ones of Tables 1 and 2, at (ε, δ) = (1, 0.1). One scan is protected, not "
    "one person: 142 people have up to 8 scans each, and protecting a person needs as many times more noise."
)


def run(setting: Setting) -> Outcome:
    """All four figures, and the sizes of noise in every panel."""
    curves = scans(setting.file(FILE), gaps="left out")
    grid = np.linspace(0.0, 1.0, curves.shape[1])
    randomness = SeededRandomness(setting.seed)
    terms: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "randomness": randomness}
    # One sample, one guarantee: our default is the same in every panel.
    ours = default_releases(curves, grid, **terms, repetitions=2 if setting.quick else 50)
    rows, figures = [], []
    for number, what, choices in setting.track(list(FIGURES), "figures 2, 3, 11, 12"):
        panels = []
        for name, penalty, rho in choices:
            label = f"{name}, φ = {penalty:g}, ρ = {rho:g}"
            one = panel(label, curves, grid, kernel=FAMILIES[name](rho), penalty=penalty, defaults=ours, **terms)
            panels.append(one)
            rows.append((number, name, penalty, rho, *one.row()))
        title = f"Figure {number} of Mirshani et al.: mean of {len(curves)} brain scans, {what}"
        across = "place along the corpus callosum"
        figures.append(picture(title, panels, columns=2 if len(panels) == 4 else 3, across=across))
    title = "Figures 2, 3, 11 and 12 of Mirshani et al.: brain scans. No numbers are printed there"
    table = Table(title, ("figure", "kernel", "penalty", "range", *COLUMNS), tuple(rows))
    return Outcome((table,), tuple(figures), (NOTE, NOISE_NOTE, DISTANCE_NOTE))


REPRODUCTIONS: tuple[Reproduction, ...] = (
    Reproduction("mirshani-figures-2-3-11-12", "Figures 2, 3, 11, 12 of Mirshani et al.: means of brain scans", run),
)

"""Come here for what `dpfda evaluate` says of densities and kernel machines, and what they tell as a whole."""

from __future__ import annotations

import math
from typing import Any

from dpfda.apps.asking import Asked, Columns, places
from dpfda.apps.wishes import numbers
from dpfda.arrays import Array
from dpfda.errors import UsageError
from dpfda.releases.density import DensityRelease
from dpfda.releases.density_frame import sides_of
from dpfda.releases.machine import MachineRelease

QUARTILES = (0.25, 0.5, 0.75)


def density_table(release: DensityRelease, asked: Asked) -> Columns:
    """Values of a density, its distribution function and its noise band at points; or its quantiles."""
    if asked.derivative:
        raise UsageError("A density has no derivatives here: leave --derivative out.")
    if asked.quantiles is not None:
        if asked.at or asked.level is not None or asked.cdf:
            raise UsageError("--quantiles stands alone: leave --at, --level and --cdf out.")
        wanted = numbers(asked.quantiles, "--quantiles", count=None)
        return {"probability": list(wanted), "quantile": release.quantile(wanted).tolist()}
    rows, table = places(release.basis.domain, asked.at)
    table["density"] = release(rows).tolist()
    if asked.cdf:
        table["distribution"] = release.distribution(rows).tolist()
    if asked.level is not None:
        if release.basis.domain.dimension > 1 and sides_of(release.basis) is None:
            raise UsageError(
                "The law of the noise band of a kernel density on a box takes minutes: leave --level out, or take "
                "dpfda.load(...).band(level, points) in Python."
            )
        band = release.band(asked.level, rows)
        table |= {"lower": band.lower.tolist(), "upper": band.upper.tolist()}
    return table


def machine_table(release: MachineRelease, asked: Asked) -> Columns:
    """Values of a machine at points, the noise in them, and what it decides or predicts there."""
    if asked.level is not None or asked.derivative:
        raise UsageError(
            "A kernel machine has neither a noise band nor derivatives here: leave --level and --derivative out. The "
            "column noise is the standard deviation of the noise at each point."
        )
    rows, table = places(release.basis.domain, asked.at)
    return table | decisions(release, rows)


def decisions(release: MachineRelease, rows: Array) -> Columns:
    """What a machine says of points of its domain: values, the noise in them, and what it decides or predicts."""
    table: Columns = {"value": release(rows).tolist(), "noise": release.noise_deviation(rows).tolist()}
    if release.classes is None:
        return table | {"prediction": release.predict(rows).tolist()}
    table["class"] = [str(label) for label in release.predict(rows).tolist()]
    if release.loss == "logistic":
        table["probability"] = release.probabilities(rows)[:, 1].tolist()
    return table


def density_facts(release: DensityRelease) -> dict[str, Any]:
    """Mean and deviation of each coordinate of a density, its quartiles on a line, and its estimated error."""
    line = release.basis.domain.dimension == 1
    means, variances = ([float(each)] if line else each.tolist() for each in (release.mean(), release.variance()))
    quartiles = {"quartiles": release.quantile(QUARTILES).tolist()} if line else {}
    return {
        "mean": means,
        "deviation": [math.sqrt(each) for each in variances],
        **quartiles,
        "estimated_error": release.estimated_error,
    }


def density_text(release: DensityRelease) -> str:
    """The same for people."""
    facts = density_facts(release)
    means, deviations = (", ".join(f"{each:.4g}" for each in facts[name]) for name in ("mean", "deviation"))
    listed = ", ".join(f"{each:.4g}" for each in facts.get("quartiles", ()))
    quartiles = f"; quartiles {listed}" if listed else ""
    return (
        f"Of the released density (smoothing: {release.smoothing.name}): mean {means}, deviation {deviations}"
        f"{quartiles}. It is off by about {facts['estimated_error']:.2g} root mean square, where a uniform density is "
        f"{1 / release.volume:.2g}."
    )

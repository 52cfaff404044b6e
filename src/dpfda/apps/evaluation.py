"""Come here for what `dpfda evaluate` says of each kind of release: columns of points and values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpfda.apps.asking import Asked, Columns
from dpfda.apps.point_evaluation import density_facts, density_table, density_text, machine_table
from dpfda.apps.wishes import numbers
from dpfda.arrays import brief
from dpfda.errors import UsageError
from dpfda.releases import Release
from dpfda.releases.components import ComponentsRelease
from dpfda.releases.covariance import CovarianceRelease
from dpfda.releases.density import DensityRelease
from dpfda.releases.files import kind_of
from dpfda.releases.regression import RegressionRelease


def table_of(release: Any, asked: Asked) -> Columns:
    """The columns that a release of any kind has at these points."""
    kind = kind_of(release)
    if kind != "density" and (asked.cdf or asked.quantiles is not None):
        raise UsageError("--cdf and --quantiles are for a density: leave them out.")
    if kind in OF_POINTS:
        if asked.covariates is not None:
            raise UsageError("--covariates is for a regression, which predicts a curve for them: leave it out.")
        return OF_POINTS[kind](release, asked)
    if release.basis.domain.dimension > 1:
        raise UsageError("evaluate knows releases on an interval; for a surface use dpfda.load(...) in Python.")
    if asked.level is not None and asked.derivative:
        raise UsageError("--level gives the noise band of the curve itself: leave --derivative out.")
    if asked.covariates is not None and not isinstance(release, RegressionRelease):
        raise UsageError("--covariates is for a regression, which predicts a curve for them: leave it out.")
    if asked.covariates is not None:
        return _predicted(release, asked, asked.covariates)
    return TABLES[kind](release, asked.at, asked.derivative, asked.level)


def facts_of(release: Any) -> dict[str, Any]:
    """What is known of a release as a whole beside its values: the variances along components, and noise in them."""
    if not isinstance(release, ComponentsRelease) or release.variances is None:
        return {}
    shares = {} if release.total is None else {"explained_ratio": release.explained_ratio.tolist()}
    return {
        "explained_variance": release.variances.tolist(),
        **shares,
        "total_variance": release.total,
        "noise_in_variance": release.deviation,
    }


def told_of(release: Any) -> tuple[dict[str, Any], str]:
    """What `dpfda show` adds to a card, as data and for people; nothing for most kinds."""
    against = getattr(release, "against_noise", "")
    told = f"{against[:1].upper()}{against[1:]}." if against else ""
    if isinstance(release, DensityRelease):
        return density_facts(release), f"{density_text(release)} {told}".strip()
    facts = facts_of(release)
    return facts, variances_text(release) if facts else told


def notes_of(release: Any, asked: Asked, table: Columns) -> tuple[str, ...]:
    """What a reader of the columns should know, in sentences."""
    if isinstance(release, ComponentsRelease):
        return () if release.variances is None else (variances_text(release),)
    infinite = any(math.isinf(end) for end in table.get("lower", ()))
    around = () if "lower" not in table or infinite else band_text(release)
    if isinstance(release, DensityRelease):
        return ("The noise band is infinite: the noisy number of units could be zero.",) if infinite else around
    if not isinstance(release, RegressionRelease):
        return around
    if asked.covariates is not None:
        return beyond_text(release, asked.covariates)
    return (release.infinite(asked.level or 0.95),) if infinite else around


def band_text(release: Any) -> tuple[str, ...]:
    """Says around what a noise band stands, if that is not what is printed beside it."""
    if isinstance(release, RegressionRelease):
        name, values = release.smoothing_name, "the coefficients before ridge and smoothing"
    else:
        name, values = release.smoothing.name, "the values before smoothing"
        if name == "none":
            return ()
    return (
        f"The noise band stands around {values} ({name}), since only of those the noise is known: a value that is "
        "printed beside it may lie off its middle, or outside.",
    )


def variances_text(release: ComponentsRelease) -> str:
    """The variances along components, their shares if the total is known, and the noise in them."""
    assert release.variances is not None
    listed = ", ".join(f"{value:.4g}" for value in release.variances)
    known = "" if release.total is None else f" of a total of {release.total:.4g} after smoothing"
    shares = "" if release.total is None else f" ({', '.join(map(release.explained, range(len(release.variances))))})"
    noise = "" if release.deviation is None else f"; noise in each has the deviation {release.deviation:.2g}"
    return f"Variance along the components: {listed}{known}{shares}{noise}."


def beyond_text(release: RegressionRelease, covariates: str) -> tuple[str, ...]:
    """Says that a predicted curve extrapolates, if it does."""
    beyond = release.covariates.beyond([numbers(covariates, "--covariates", count=release.covariates.size)])
    if not beyond:
        return ()
    return (
        f"This curve extrapolates: {', '.join(beyond)} beyond the declared limits, where no record was counted. "
        f"Declared: {release.covariates.text}.",
    )


def _mean(release: Release, at: str, derivative: int, level: float | None) -> Columns:
    points = numbers(at, "--at", count=None)
    table: Columns = {"t": list(points), "value": release.derivative(derivative)(points).tolist()}
    if level is not None:
        band = release.band(level, points)
        table |= {"lower": band.lower.tolist(), "upper": band.upper.tolist()}
    return table


def _covariance(release: CovarianceRelease, at: str, derivative: int, level: float | None) -> Columns:
    if level is not None or derivative:
        raise UsageError(
            "A covariance function has neither a noise band nor derivatives here: leave --level and --derivative out. "
            "The column noise_before_smoothing says how large the noise was."
        )
    if ":" not in at:
        points = numbers(at, "--at", count=None)
        pairs = [(s, t) for s in points for t in points]
        value, deviation = release(points, points).ravel(), release.noise_deviation(points, points).ravel()
    else:
        pairs = [_pair(part, at) for part in at.split(",")]
        value = np.array([release(s, t) for s, t in pairs])
        deviation = np.array([release.noise_deviation(s, t) for s, t in pairs])
    first, second = (list(column) for column in zip(*pairs, strict=True))
    return {"s": first, "t": second, "value": value.tolist(), "noise_before_smoothing": deviation.tolist()}


def _pair(part: str, at: str) -> tuple[float, float]:
    try:
        s, t = (float(end) for end in part.split(":"))
    except ValueError:
        raise UsageError(
            f"--at takes points, e.g. --at 0,1 for all pairs of them, or pairs, e.g. --at 0:0.5,0:1; got {brief(at)}."
        ) from None
    return s, t


def _components(release: ComponentsRelease, at: str, derivative: int, level: float | None) -> Columns:
    if level is not None:
        raise UsageError("Principal components have no noise band: leave --level out.")
    points = numbers(at, "--at", count=None)
    functions = [component.derivative(derivative) for component in release.components]
    values = {f"component_{index + 1}": function(points).tolist() for index, function in enumerate(functions)}
    return {"t": list(points)} | values


def _regression(release: RegressionRelease, at: str, derivative: int, level: float | None) -> Columns:
    points = numbers(at, "--at", count=None)
    table: Columns = {"coefficient": [], "t": [], "value": []} | ({} if level is None else {"lower": [], "upper": []})
    for name in release.names:
        table["coefficient"] += [name] * len(points)
        table["t"] += points
        table["value"] += release.coefficient(name).derivative(derivative)(points).tolist()
        if level is not None:
            band = release.band(name, level, points)
            table["lower"] += band.lower.tolist()
            table["upper"] += band.upper.tolist()
    return table


def _predicted(release: RegressionRelease, asked: Asked, covariates: str) -> Columns:
    if asked.level is not None:
        raise UsageError("A predicted curve has no noise band here: leave --level out, or --covariates.")
    names = release.covariates.names
    values = numbers(covariates, f"--covariates ({', '.join(names)})", count=len(names))
    points = numbers(asked.at, "--at", count=None)
    (curve,) = release.curves([values])
    return {"t": list(points), "value": curve.derivative(asked.derivative)(points).tolist()}


# By the kind of release, as it stands in files.
OF_POINTS: dict[str, Callable[[Any, Asked], Columns]] = {"density": density_table, "machine": machine_table}
TABLES: dict[str, Callable[[Any, str, int, float | None], Columns]] = {
    "mean": _mean,
    "covariance": _covariance,
    "components": _components,
    "regression": _regression,
}

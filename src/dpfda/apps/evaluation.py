"""Come here for what `dpfda evaluate` says of each kind of release: columns of points and values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpfda.apps.wishes import numbers
from dpfda.errors import UsageError
from dpfda.releases import Release
from dpfda.releases.components import ComponentsRelease
from dpfda.releases.covariance import CovarianceRelease
from dpfda.releases.files import kind_of
from dpfda.releases.regression import RegressionRelease

Columns = dict[str, list[Any]]


def table_of(release: Any, at: str, *, derivative: int, level: float | None) -> Columns:
    """The columns that a release of any kind has at these points."""
    if release.basis.domain.dimension > 1:
        raise UsageError("evaluate knows releases on an interval; for a surface use dpfda.load(...) in Python.")
    if level is not None and derivative:
        raise UsageError("--level gives the noise band of the curve itself: leave --derivative out.")
    return TABLES[kind_of(release)](release, at, derivative, level)


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
            f"--at takes points, e.g. --at 0,1 for all pairs of them, or pairs, e.g. --at 0:0.5,0:1; got {at!r}."
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


# By the kind of release, as it stands in files.
TABLES: dict[str, Callable[[Any, str, int, float | None], Columns]] = {
    "mean": _mean,
    "covariance": _covariance,
    "components": _components,
    "regression": _regression,
}

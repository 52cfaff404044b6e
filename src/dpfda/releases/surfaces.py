"""Come here for pictures of covariance functions and of principal components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import UsageError
from dpfda.releases.plots import axes_or_new, title

if TYPE_CHECKING:
    from dpfda.releases.components import ComponentsRelease
    from dpfda.releases.covariance import CovarianceRelease

SIZE = 101  # points along each side of a contour plot
LEVELS = 8  # of each sign
LINES = ("-", "--", "-.", ":")


def plot_covariance(release: CovarianceRelease, ax: Any = None) -> Any:
    """Draw a covariance function as contours on the square of its domain; colours are symmetric around zero."""
    _check_interval(release.basis.domain.dimension, "a covariance function", "release(s, t)")
    ax = axes_or_new(ax, (6.4, 5.2))
    side = release.points(SIZE)[:, 0]
    values = release(side, side)
    levels = contour_levels(values)
    filled = ax.contourf(side, side, values.T, levels=levels, cmap="RdBu_r")
    lines = ax.contour(side, side, values.T, levels=_crossed(levels, values), colors="black", linewidths=0.5)
    ax.clabel(lines, fontsize=7, fmt=lambda level: f"{level:g}")
    about = f"{release.counted} about {release.estimated_error:.2g} root mean square"
    ax.figure.colorbar(filled, ax=ax, label=f"private covariance (smoothing: {release.smoothing_name}),\n{about}")
    ax.set_xlabel("s")
    ax.set_ylabel("t")
    ax.set_aspect("equal")
    title(release.certificate, ax)
    return ax


def contour_levels(values: Array) -> Array:
    """Round levels, symmetric around zero, that hold all values; also where nothing varies."""
    top = float(np.abs(values).max()) or 1.0
    step = 10.0 ** np.floor(np.log10(top / LEVELS))
    step *= next(factor for factor in (1, 2, 5, 10) if factor * step * LEVELS >= top * (1 - 1e-12))
    # Twelve digits: no level is 0.30000000000000004.
    return np.array([float(f"{index * step:.12g}") for index in range(-LEVELS, LEVELS + 1)])


def _crossed(levels: Array, values: Array) -> Array:
    """The levels within the values: a line for another would be an empty one."""
    inside: Array = levels[(levels > values.min()) & (levels < values.max())]
    return inside


def plot_components(release: ComponentsRelease, ax: Any = None) -> Any:
    """Draw principal components as curves around zero, each with the share of variance it explains if that is known."""
    _check_interval(release.basis.domain.dimension, "principal components", "release(points)")
    ax = axes_or_new(ax, (7.5, 4.5))
    points = release.points(401)
    ax.axhline(0.0, color="black", lw=0.8)
    for index, values in enumerate(release(points)):
        share = f", {release.explained(index)}" if release.explained(index) else ""
        # Lines differ in kind too: colours alone do not tell them apart for everybody.
        ax.plot(points[:, 0], values, lw=2, ls=LINES[index % len(LINES)], label=f"private component {index + 1}{share}")
    ax.set_xlim(*release.basis.domain.sides[0])
    ax.set_xlabel("t")
    ax.grid(alpha=0.25)
    ax.legend(frameon=False, fontsize=9)
    title(release.certificate, ax)
    return ax


def _check_interval(dimension: int, what: str, instead: str) -> None:
    if dimension > 1:
        raise UsageError(
            f"plot() draws {what} on an interval; this release lives in {dimension} dimensions. Evaluate it with "
            f"{instead}."
        )

"""Come here for pictures of covariance functions and of principal components."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import UsageError
from dpfda.releases.plots import axes_or_new, title

if TYPE_CHECKING:
    from dpfda.releases.components import ComponentsRelease
    from dpfda.releases.covariance import CovarianceRelease

SIZE = 101  # points along each side of a contour plot
LEVELS = 8  # at most, of each sign where there are two
NOTE = 0.25  # of the largest size: negative values beyond are of note
LINES = ("-", "--", "-.", ":")
UNSEEN = "nothing was seen above the noise"


def plot_covariance(release: CovarianceRelease, ax: Any = None) -> Any:
    """Draw a covariance function as contours on the square of its domain, coloured from least to largest value.

    Colours are symmetric around zero where there are negative values of note.
    """
    _check_interval(release.basis.domain.dimension, "a covariance function", "release(s, t)")
    ax = axes_or_new(ax, (7.0, 5.4), layout="compressed")
    side = release.points(SIZE)[:, 0]
    values = release(side, side)
    levels = contour_levels(values)
    colours = "RdBu_r" if around_zero(levels) else "YlOrRd"
    filled = ax.contourf(side, side, values.T, levels=levels, cmap=colours)
    lines = ax.contour(side, side, values.T, levels=_crossed(levels, values), colors="black", linewidths=0.5)
    ax.clabel(lines, fontsize=7, fmt=lambda level: f"{level:g}")
    about = f"{release.counted} about {release.estimated_error:.2g} root mean square"
    what = f"private {name_of(release)} (smoothing: {release.smoothing_name})"
    ax.figure.colorbar(filled, ax=ax, label=f"{what},\n{about}")
    if not values.any():
        ax.text(0.5, 0.5, f"zero everywhere: {UNSEEN}", transform=ax.transAxes, ha="center", va="center", wrap=True)
    ax.set_xlabel("s")
    ax.set_ylabel("t")
    ax.set_aspect("equal")
    title(release.certificate, ax)
    return ax


def name_of(release: CovarianceRelease) -> str:
    """What a release holds: a covariance is around a mean that was released with it, else it is a second moment."""
    if release.lead:
        return "covariance"
    return "second moment" if release.certificate.centre == "zero" else "second moment around the centre"


def contour_levels(values: Array) -> Array:
    """Round levels that hold all values, symmetric around zero if negative ones are of note; also where none varies."""
    low, high = float(values.min()), float(values.max())
    top = max(abs(low), abs(high)) or 1.0
    if low < -NOTE * top or low == high == 0:
        step = _round_step(top / LEVELS)
        low, high = -top, top
    elif high - low < 1e-6 * top:  # nothing but rounding
        low, high = low - 0.1 * top, high + 0.1 * top
        step = _round_step((high - low) / LEVELS)
    else:
        step = _round_step((high - low) / (1.5 * LEVELS))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    # Twelve digits: no level is 0.30000000000000004.
    return np.array([float(f"{index * step:.12g}") for index in range(first, last + 1)])


def around_zero(levels: Array) -> bool:
    """Whether levels are symmetric, so that colours of two kinds meet at zero."""
    return bool(levels[0] == -levels[-1])


def _round_step(least: float) -> float:
    """The least of 1, 2, 5 times a power of ten that is no smaller."""
    power = float(10.0 ** np.floor(np.log10(least)))
    return power * next(factor for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-12))


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
    unseen = not release.seen or (release.variances is not None and not release.variances.any())
    ax.legend(frameon=False, fontsize=9, title=UNSEEN if unseen else None)
    title(release.certificate, ax)
    return ax


def _check_interval(dimension: int, what: str, instead: str) -> None:
    if dimension > 1:
        raise UsageError(
            f"plot() draws {what} on an interval; this release lives in {dimension} dimensions. Evaluate it with "
            f"{instead}."
        )

"""Pictures of covariance functions and of principal components with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpfda.arrays import Array
from dpfda.errors import UsageError
from dpfda.releases.plots import around_zero, axes_or_new, contour_levels, title

if TYPE_CHECKING:
    from dpfda.statistics.components.release import ComponentsRelease
    from dpfda.statistics.covariance.release import CovarianceRelease

SIZE = 101  # points along each side of a contour plot
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
    return "second moment" if release.certificate.centre.code == "zero" else "second moment around the centre"


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

"""Pictures of densities with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpfda.errors import UsageError
from dpfda.releases.plots import INK, NOISE, axes_or_new, title

if TYPE_CHECKING:
    from dpfda.statistics.density.release import DensityRelease

LINE, SIDE = 801, 121  # points along a line, and along each side of a map


def plot_density(release: DensityRelease, ax: Any, level: float) -> Any:
    """Draw a density with the band of its noise, or as a map; never a true one beside it, which no release knows."""
    dimension = release.basis.domain.dimension
    if dimension > 2:
        raise UsageError(
            f"plot() draws densities on a line or a rectangle; this one has {dimension} sides. Draw a marginal(axis)."
        )
    ax = axes_or_new(ax, (7.5, 4.5))
    draw = _line if dimension == 1 else _map
    draw(release, ax, level)
    title(release.certificate, ax)
    return ax


def _name(release: DensityRelease) -> str:
    about = f"error about {release.estimated_error:.2g} root mean square"
    return f"private density (smoothing: {release.smoothing.name}), {about}"


def _names(release: DensityRelease) -> list[str]:
    """The columns that the points came from, where the card knows them."""
    told = dict(release.certificate.chosen).get("points", "").split(", ")
    sides = release.basis.domain.dimension
    return told if len(told) == sides and all(told) else ["x"] if sides == 1 else ["x1", "x2"]


def _line(release: DensityRelease, ax: Any, level: float) -> None:
    points = release.points(LINE)
    band = release.band(level, points)
    # A density is never below zero: there is nothing to see down there.
    lower, upper = np.maximum(band.lower, 0.0), np.maximum(band.upper, 0.0)
    label = f"{100 * level:g} % noise band, everywhere, before smoothing"
    if np.isfinite(upper).all():
        ax.fill_between(points[:, 0], lower, upper, color=NOISE, alpha=0.5, lw=0, label=label)
    ax.plot(points[:, 0], release(points), color=INK, lw=2, label=_name(release))
    ax.set_xlim(*release.basis.domain.sides[0])
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel(*_names(release))
    ax.set_ylabel("density")
    ax.grid(alpha=0.25)
    ax.legend(frameon=False, fontsize=9)


def _map(release: DensityRelease, ax: Any, level: float) -> None:
    points = release.points(SIDE)
    grid, values = points.reshape(SIDE, SIDE, 2), release(points).reshape(SIDE, SIDE)
    image = ax.pcolormesh(grid[..., 0], grid[..., 1], values, shading="gouraud", cmap="viridis")
    ax.figure.colorbar(image, ax=ax, label=f"density, error about {release.estimated_error:.2g} root mean square")
    one, other = _names(release)
    ax.set_xlabel(one)
    ax.set_ylabel(other)

"""Pictures of kernel machines with matplotlib: the function on a line, surfaces and decision regions."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfda.errors import UsageError
from dpfda.releases.plots import INK, NOISE, axes_or_new, title
from dpfda.statistics.machines.release import MachineRelease

REGIONS = ("#d9a679", NOISE)  # of the class below zero and of the class above
UNSURE = 2.0  # deviations of the noise


def plot_machine(release: MachineRelease, ax: Any) -> Any:
    """Draw a machine; never a record beside it, which no release knows."""
    dimension = release.basis.domain.dimension
    if dimension > 2:
        raise UsageError(f"plot() draws lines and planes; this machine lives in {dimension} dimensions. Evaluate it.")
    ax = axes_or_new(ax, (7.5, 4.5) if dimension == 1 else (6.5, 5.0))
    (_line if dimension == 1 else _plane)(release, ax)
    title(release.certificate, ax)
    return ax


def _line(release: MachineRelease, ax: Any) -> None:
    points = release.points(401)
    values, reach = release(points), UNSURE * release.noise_deviation(points)
    where = points[:, 0]
    ax.fill_between(
        where, values - reach, values + reach, color=NOISE, alpha=0.5, lw=0, label="two deviations of noise"
    )
    ax.plot(where, values, color=INK, lw=2, label=f"private function, loss: {release.loss}")
    if release.classes is not None:
        ax.axhline(0.0, color="0.4", lw=0.8)
        ax.set_ylabel(f"above zero: {release.classes[1]}, below: {release.classes[0]}")
    ax.set_xlim(*release.basis.domain.sides[0])
    ax.set_xlabel("x")
    ax.grid(alpha=0.25)
    ax.legend(frameon=False, fontsize=9)


def _plane(release: MachineRelease, ax: Any) -> None:
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    size = 161
    points = release.points(size)
    grid, values = points.reshape(size, size, 2), release(points).reshape(size, size)
    if release.classes is None:
        image = ax.pcolormesh(grid[..., 0], grid[..., 1], values, shading="gouraud", cmap="viridis")
        ax.figure.colorbar(image, ax=ax, label=f"private function, loss: {release.loss}")
    else:
        above = (values > 0).astype(float)
        ax.pcolormesh(
            grid[..., 0], grid[..., 1], above, shading="nearest", cmap=ListedColormap(REGIONS), vmin=0, vmax=1
        )
        unsure = np.abs(values) < UNSURE * release.noise_deviation(points).reshape(size, size)
        ax.contourf(
            grid[..., 0], grid[..., 1], unsure.astype(float), levels=[0.5, 1.5], colors="none", hatches=["////"]
        )
        ax.contour(grid[..., 0], grid[..., 1], above, levels=[0.5], colors=INK, linewidths=1.5)
        named = [Patch(color=colour, label=str(label)) for colour, label in zip(REGIONS, release.classes, strict=True)]
        hatched = Patch(facecolor="none", edgecolor="k", hatch="////", label="within two deviations of the noise")
        ax.legend(handles=[*named, hatched], fontsize=8, loc="upper right")
    ax.set_xlabel("x1")
    ax.set_ylabel("x2")

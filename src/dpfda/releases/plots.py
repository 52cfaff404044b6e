"""Pictures of releases with matplotlib."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import UsageError
from dpfda.releases.certificate import Certificate
from dpfda.releases.release import Release

INK, NOISE = "#1b4965", "#9fc5dc"
LEVELS = 8  # at most, of each sign where there are two
UNSEEN = "nothing was seen above the noise"
NOTE = 0.25  # of the largest size: negative values beyond are of note


def plot(release: Release, ax: Any, level: float) -> Any:
    """Draw a release with its noise band; never a true curve beside it, which no release knows."""
    dimension = release.basis.domain.dimension
    if dimension > 2:
        raise UsageError(
            f"plot() draws curves and surfaces; this release lives in {dimension} dimensions. Evaluate it."
        )
    ax = axes_or_new(ax, (7.5, 4.5))
    draw = _interval if dimension == 1 else _surface
    draw(release, ax, level)
    title(release.certificate, ax)
    return ax


def axes_or_new(
    ax: Any, size: tuple[float, float], *, layout: Literal["constrained", "compressed"] = "constrained"
) -> Any:
    """The axes to draw on, or those of a new figure of this size in inches; axes that are square need "compressed"."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout=layout)[1]


def title(card: Certificate, ax: Any) -> None:
    """Write above a picture what it shows, under which guarantee, and whether that is none."""
    stamp = "" if card.private else "  -  NOT PRIVATE"
    # No mathematics: a data set may be called "costs in $".
    ax.set_title(f"{card.what} of '{card.dataset}', {card.guarantee}{stamp}", fontsize=10, parse_math=False, wrap=True)


def _name(release: Release, what: str) -> str:
    if not release.noise.added:
        return f"{what}, drawn as a whole, no noise added"
    # What shrank the mean first is an error too, and nobody knows how large.
    counted = "noise" if release.certificate.shrunk_by else "error"
    about = f"{counted} about {release.estimated_error:.2g} root mean square"
    return f"{what} (smoothing: {release.smoothing.name}), {about}"


def _interval(release: Release, ax: Any, level: float) -> None:
    points = release.points(401)
    if release.noise.added:
        band = release.band(level, points)
        ax.fill_between(
            band.points,
            band.lower,
            band.upper,
            color=NOISE,
            alpha=0.5,
            lw=0,
            label=f"{100 * level:g} % noise band, everywhere, of the curve before smoothing",
        )
    ax.plot(points[:, 0], release(points), color=INK, lw=2, label=_name(release, "private curve"))
    ax.set_xlim(*release.basis.domain.sides[0])
    ax.set_xlabel("t")
    ax.grid(alpha=0.25)
    ax.legend(frameon=False, fontsize=9)


def _surface(release: Release, ax: Any, level: float) -> None:
    size = 41
    grid = release.points(size).reshape(size, size, 2)
    values = release(release.points(size)).reshape(size, size)
    image = ax.pcolormesh(grid[..., 0], grid[..., 1], values, shading="gouraud", cmap="viridis")
    ax.figure.colorbar(image, ax=ax, label=_name(release, "private surface"))
    ax.set_xlabel("t1")
    ax.set_ylabel("t2")


def check_interval(dimension: int, what: str, instead: str) -> None:
    """Refuse a picture of what is drawn on an interval alone."""
    if dimension > 1:
        raise UsageError(
            f"plot() draws {what} on an interval; this release lives in {dimension} dimensions. Evaluate it with "
            f"{instead}."
        )


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

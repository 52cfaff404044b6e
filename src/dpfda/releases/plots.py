"""Come here for pictures of releases."""

from __future__ import annotations

from typing import Any, Literal

from dpfda.errors import UsageError
from dpfda.releases.certificate import Certificate
from dpfda.releases.release import Release

INK, NOISE = "#1b4965", "#9fc5dc"


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
    if release.noise.law == "choice":
        return f"{what}, drawn as a whole, no noise added"
    # What shrank the mean first is an error too, and nobody knows how large.
    counted = "noise" if release.certificate.shrunk_by else "error"
    about = f"{counted} about {release.estimated_error:.2g} root mean square"
    return f"{what} (smoothing: {release.smoothing.name}), {about}"


def _interval(release: Release, ax: Any, level: float) -> None:
    points = release.points(401)
    if release.noise.law != "choice":
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

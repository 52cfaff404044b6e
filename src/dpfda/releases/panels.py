"""Come here for pictures of coefficient functions, one below the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfda.errors import UsageError
from dpfda.releases.plots import INK, NOISE, title
from dpfda.releases.regression import RegressionRelease


def plot_coefficients(release: RegressionRelease, axes: Any, level: float) -> Any:
    """Draw every fitted coefficient function with its noise band, the intercept first; returns the axes."""
    if release.basis.domain.dimension > 1:
        raise UsageError("plot() draws coefficients on an interval; on a box evaluate them and draw each by itself.")
    listed = release._listed()
    if axes is None:
        from matplotlib import pyplot

        size = (7.5, 1.2 + 2.3 * len(listed))
        axes = pyplot.subplots(len(listed), figsize=size, layout="constrained", sharex=True, squeeze=False)[1][:, 0]
    axes = np.atleast_1d(axes)
    if len(axes) != len(listed):
        raise UsageError(
            f"There are {len(listed)} coefficient functions ({', '.join(release.names)}), got {len(axes)}."
        )
    points = release.points(401)
    for ax, (place, name) in zip(axes, listed, strict=True):
        band = release.band(place, level, points)
        label = f"{100 * level:g} % noise band, everywhere, before ridge and smoothing"
        if np.isfinite(band.lower).all():
            ax.fill_between(band.points, band.lower, band.upper, color=NOISE, alpha=0.5, lw=0, label=label)
        else:
            label = "no band: it is infinite, for the noise may hide that covariates are dependent"
            ax.plot([], [], " ", label=label)
        ax.plot(points[:, 0], release.coefficient(place)(points), color=INK, lw=2)
        ax.axhline(0.0, color="0.6", lw=0.8)
        ax.set_xlim(*release.basis.domain.sides[0])
        ax.set_ylabel(name, parse_math=False)
        if place == "intercept" and release.covariates.beyond([[0.0] * release.covariates.size]):
            ax.plot([], [], " ", label="at covariates zero, beyond their limits: it extrapolates")
        ax.grid(alpha=0.25)
        ax.legend(frameon=False, fontsize=8)
    axes[-1].set_xlabel("t")
    title(release.certificate, axes[0])
    return axes

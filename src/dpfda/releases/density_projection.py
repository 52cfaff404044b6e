"""Come here for the nearest density to any function: nowhere negative, with integral one."""

from __future__ import annotations

import numpy as np

from dpfda.arrays import Array
from dpfda.releases.density_mesh import Mesh, node_weights


def proper(axes: tuple[Array, ...], values: Array) -> Mesh:
    """The density nearest in mean square to values at the nodes of a mesh: `max(values - c, 0)`, c by its integral.

    Densities are a convex set, so that it is at least as near to each of them as the values were: the projection
    never adds to the error.
    """
    weights = node_weights(axes)
    flat, widths = values.ravel(), weights.ravel()
    order = np.argsort(-flat, kind="stable")
    mass, width = np.cumsum((flat * widths)[order]), np.cumsum(widths[order])
    with np.errstate(divide="ignore", invalid="ignore"):
        levels = (mass - 1) / width  # what has to be taken off if these are all that stay
    stays = (flat[order] > levels) & (width > 0)
    last = int(np.flatnonzero(stays)[-1])
    kept: Array = np.maximum(values - levels[last], 0.0)
    return Mesh(axes, kept / float(np.sum(kept * weights)))

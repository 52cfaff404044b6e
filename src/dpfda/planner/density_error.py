"""Come here for the error of a planned density: what would be released of a public reference density."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfda.arrays import Array
from dpfda.mechanisms import SeededRandomness
from dpfda.privacy import Unit
from dpfda.records.points import Cells
from dpfda.summaries.base import Public

if TYPE_CHECKING:
    from dpfda.planner.density_plan import DensityPlan

REFERENCE = "a normal law in the middle of the domain, an eighth of each side wide"
DRAWS = 4


def reference(cells: Cells) -> Array:
    """The chance of every cell under the reference density, (G,)."""
    from scipy.special import ndtr

    chances = np.ones(1)
    for along in cells.edges:
        edges = np.array(along)
        middle, width = (edges[0] + edges[-1]) / 2, (edges[-1] - edges[0]) / 8
        chances = np.multiply.outer(chances, np.diff(ndtr((edges - middle) / width))).ravel()
    shares: Array = chances / chances.sum()
    return shares


def shape_of(cells: Cells) -> float:
    """The root mean square distance of the reference density from a uniform one, both times the volume."""
    widths = np.ones(1)
    for along in cells.edges:
        widths = np.multiply.outer(widths, np.diff(along)).ravel()
    shares = widths / widths.sum()
    return math.sqrt(float(np.sum((reference(cells) - shares) ** 2 / shares)))


def expected_error(plan: DensityPlan) -> float:
    """The root mean square error over the domain, in the units of the density, of sampling, noise and smoothing.

    From a few seeded draws of n people of the reference density and of the noise: no data, and the same every time.
    """
    cells, summary, randomness = plan.cells, plan.summary, SeededRandomness(1)
    unit, dimension = Unit("unit", plan.request.neighbours), cells.domain.dimension
    public = Public.of_points(unit, plan.n if unit.size_is_public else None, plan.n, width=dimension)
    shares = reference(cells)
    widths = np.ones(1)
    for along in cells.edges:
        widths = np.multiply.outer(widths, np.diff(along)).ravel()
    law = plan.design.mechanism.noise(plan.scale, summary.table.shape[1])
    card: Any = None  # nothing that is computed here looks at it
    errors = []
    for _ in range(DRAWS):
        sampled = shares + np.sqrt(shares / plan.n) * randomness.normal(shares.shape)
        people = sampled / sampled.sum() * plan.n  # some cells below zero: their sums have the right law all the same
        exact = np.rint(people @ summary.table).astype(np.int64)
        noisy = plan.design.mechanism.draw(exact, plan.scale, randomness=randomness)
        decoded = summary.decode(noisy, law, public, plan.basis)
        release = summary.publish(
            decoded, public, plan.basis, card, smoothing="auto" if plan.design.smoothing else "none"
        )
        errors.append(float(widths @ (release(cells.centres) - shares / widths) ** 2) / plan.volume)
    return math.sqrt(float(np.mean(errors)))

"""Errors in closed form, before any record is read: bias, sampling and privacy over a class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpfda.arrays import Array, brief
from dpfda.bases import bernstein
from dpfda.bases.projection import composite, waves
from dpfda.errors import UsageError


@dataclass(frozen=True, slots=True)
class SmoothnessClass:
    """Means within the bound that have `sum f_j^(2 order) x_j^2 <= (radius bound)^2`, f_j frequencies in half-waves.

    Of order 1: the root mean square of the slope, times the length of the domain, is at most pi times radius and bound;
    a single half-wave of the largest size has radius 1. The default suits curves as rough as daily loads or scans.
    """

    order: float = 1.0
    radius: float = 0.9

    def __post_init__(self) -> None:
        if not (0 < self.order < np.inf and 0 < self.radius < np.inf):
            raise UsageError(
                f"A smoothness class needs a positive order and radius, got {brief(self.order)} and "
                f"{brief(self.radius)}.",
                parameter="order",
                value=(self.order, self.radius),
            )

    @property
    def text(self) -> str:
        what = "slope" if self.order == 1 else f"derivative of order {self.order:g}"
        return f"means whose {what} is at most {self.radius:g} times that of a half-wave as large as the bound"


DEFAULT_CLASS = SmoothnessClass()


@dataclass(frozen=True, slots=True)
class Prediction:
    """Expected squared errors in the worst case over a class, in units of the bound's square."""

    bias: float
    sampling: float
    privacy: float

    @property
    def total(self) -> float:
        return self.bias + self.sampling + self.privacy

    @property
    def of_noise(self) -> float:
        """What noise does, and the smoothing against it; not the sampling of people."""
        return self.bias + self.privacy


def worst_bias(weights: Array, frequencies: Array, edge: float, within: SmoothnessClass) -> float:
    """The largest squared bias of fixed weights over the class, and of what was cut off from the frequency `edge` on.

    In squares `p_j = x_j^2` it is a linear programme: `sum (1 - a_j)^2 p_j` with `sum p_j <= 1` and `sum c_j p_j <=
    radius^2`, where `c_j = f_j^(2 order)`. Two coordinates at most are in use, one on each side of the radius.
    """
    costs = np.append(frequencies, edge) ** (2 * within.order)
    gains = np.append((1 - weights) ** 2, 1.0)
    square = within.radius**2
    cheap = costs <= square
    best = float(np.max(gains[cheap], initial=0.0))
    # Each costly coordinate alone, as large as it can be, then with each cheap one for the rest of the bound.
    dear, worth = costs[~cheap], gains[~cheap]
    best = max(best, float(np.max(worth * square / dear, initial=0.0)))
    for cost, gain in zip(costs[cheap], gains[cheap], strict=True):
        share = (square - cost) / (dear - cost)
        best = max(best, float(np.max(share * worth + (1 - share) * gain, initial=0.0)))
    return best


def worst_thresholding(thresholds: Array, frequencies: Array, edge: float, within: SmoothnessClass) -> float:
    """The largest squared bias of a soft threshold: coordinates as large as their threshold, smoothest ones first.

    What is left of the radius lies beyond `edge`; together they are no longer than the bound.
    """
    left, lost = within.radius**2, 0.0
    for place in np.argsort(frequencies, kind="stable"):
        cost = frequencies[place] ** (2 * within.order)
        square = min(thresholds[place] ** 2, 1.0)
        taken = square if cost * square <= left else left / cost
        left -= cost * taken
        lost += taken
    return float(min(lost + left / edge ** (2 * within.order), 1.0))


def linear_minimax(noise: Array, frequencies: Array, edge: float, within: SmoothnessClass) -> tuple[float, float]:
    """Bias and privacy error of the best linear smoothing in the worst case: Pinsker's weights `(1 - f^order / k)_+`.

    The least over k of `radius^2 max(1/k^2, edge^(-2 order)) + sum h_j^2 v_j`.
    """
    rough = frequencies**within.order
    last = edge**within.order
    cuts = np.geomspace(min(1.0, last), last, 64)
    kept = np.maximum(1 - rough / cuts[:, None], 0.0) ** 2 @ noise
    bias = (within.radius / cuts) ** 2
    best = int(np.argmin(kept + bias))
    return float(bias[best]), float(kept[best])


@lru_cache(maxsize=64)
def bernstein_bias(degree: int, within: SmoothnessClass) -> float:
    """The largest squared bias of Bernstein polynomials over the class in cosines: the norm of a matrix.

    What the operator does to a cosine is a mean of its values at the lattice, so the bias of every one is known. It may
    exceed the bound: a rough wave can be large at every point of the lattice.
    """
    frequencies = np.arange(1.0, 4 * degree + 73)  # those left out would add less than a percent
    points, weights = (part.ravel() for part in composite(waves(float(frequencies[-1]) + degree)))
    basis = bernstein((0.0, 1.0), degree + 1)
    lattice = np.linspace(0.0, 1.0, degree + 1) if degree else np.array([0.5])
    cosines = math.sqrt(2) * np.cos(np.pi * points[:, None] * frequencies)
    taken = basis.matrix(points) @ np.cos(np.pi * lattice[:, None] * frequencies) * math.sqrt(2 / (degree + 1))
    lost = np.sqrt(weights)[:, None] * (cosines - taken)
    with np.errstate(over="ignore"):  # what costs infinitely much is not there
        costs = (frequencies**within.order / within.radius) ** 2
    # Every mixture of the two limits of the class, length and roughness, is a limit too; the tightest one counts.
    shares = np.linspace(0.0, 0.95, 20) if within.radius > 1 else (0.0,)
    return min(float(np.linalg.norm(lost / np.sqrt(s + (1 - s) * costs), ord=2)) ** 2 for s in shares)


def check_class(within: object) -> None:
    """Errors are predicted over a class of smooth curves."""
    if not isinstance(within, SmoothnessClass):
        raise UsageError(
            f"Errors are predicted within a SmoothnessClass(order, radius), got {brief(within)}.",
            parameter="within",
            value=within,
        )

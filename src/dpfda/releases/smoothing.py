"""Smoothing after the noise: adaptive, and free, because it sees only what was released."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpfda.arrays import Array, Integers, brief
from dpfda.errors import UsageError
from dpfda.mechanisms import Care, GaussianLaw
from dpfda.releases.decoded import finite, finite_number


@dataclass(frozen=True, eq=False)
class Smoothing:
    """Weights on noisy coordinates, and the estimated squared error of what they give."""

    name: str
    weights: Array  # (size,), between 0 and 1
    risk: float  # may be negative where there is nothing but noise: it is unbiased, not positive

    def to_plain(self) -> dict[str, Any]:
        """The smoothing as plain data."""
        return {"name": self.name, "weights": self.weights.tolist(), "risk": self.risk}

    @staticmethod
    def from_plain(data: dict[str, Any], size: int) -> Smoothing:
        """The smoothing of so many coordinates that `to_plain` wrote."""
        return Smoothing(data["name"], finite(data["weights"], size), finite_number(data["risk"]))


@dataclass(frozen=True, eq=False)
class Candidates:
    """Weights to average over, and the estimated risk of each."""

    weights: Array  # (m, size)
    risks: Array  # (m,)


def unbiased_risk(weights: Array, noisy: Array, variances: Array) -> Array:
    """Estimated squared error of fixed weights, unbiased for any noise with these variances, (m, size) -> (m,)."""
    # E y^2 = x^2 + v, so (1 - h)^2 (y^2 - v) + h^2 v estimates (1 - h)^2 x^2 + h^2 v.
    risks: Array = (1 - weights) ** 2 @ noisy**2 + 2 * weights @ variances - np.sum(variances)
    return risks


def none(noisy: Array, variances: Array, frequencies: Array) -> Candidates:
    """The noisy coordinates as they are."""
    weights = np.ones((1, len(noisy)))
    return Candidates(weights, unbiased_risk(weights, noisy, variances))


def sobolev(order: int, noisy: Array, variances: Array, frequencies: Array) -> Candidates:
    """Ridges in a Sobolev norm: `1 / (1 + (f/c)^(2 order))` for 40 cut-offs c from below the first frequency up."""
    cutoffs = np.geomspace(0.3, 4 * max(float(frequencies.max()), 1.0), 40)
    weights = 1 / (1 + (frequencies / cutoffs[:, None]) ** (2 * order))
    return Candidates(weights, unbiased_risk(weights, noisy, variances))


def james_stein(noisy: Array, variances: Array, frequencies: Array) -> Candidates:
    """Positive-part James-Stein in blocks of doubling width; blocks of one or two are left alone."""
    weights, risk = np.ones((1, len(noisy))), float(variances[frequencies == 0].sum())
    for block in _octaves(frequencies):
        v = float(variances[block].mean())
        signal, degrees = float(np.sum(noisy[block] ** 2)) / v, len(block)
        if degrees < 3:
            risk += degrees * v
            continue
        # Stein's estimate for these weights, which depend on the coordinates: the one for fixed weights is too low.
        weights[0, block] = max(0.0, 1 - (degrees - 2) / max(signal, 1e-300))
        risk += v * (degrees - (degrees - 2) ** 2 / signal if signal > degrees - 2 else signal - degrees)
    return Candidates(weights, np.array([risk]))


def _octaves(frequencies: Array) -> Iterator[Integers]:
    """Coordinates with frequencies above 0 to below 2, 2 to below 4, 4 to below 8, and so on.

    Frequency zero is no roughness: constants, and bases whose coordinates are places, are not shrunk.
    """
    levels = np.floor(np.log2(np.maximum(frequencies, 1.0)))
    for level in np.unique(levels):
        block = np.flatnonzero((levels == level) & (frequencies > 0)).astype(np.int64)
        if len(block):
            yield block


Family = Callable[[Array, Array, Array], Candidates]
ORDERS = (1, 2, 4, 8)  # of the Sobolev norms

# What "auto" averages over; a new family is a function and a line here.
FAMILIES: dict[str, Family] = {
    "none": none,
    **{f"sobolev-{order}": partial(sobolev, order) for order in ORDERS},
    "james-stein": james_stein,
}


def least_order(name: str) -> float:
    """The order of the ridges by which the roughest coordinates are shrunk in the end; 0 where they need not be.

    "auto" counts as smooth without end. It averages with shares that fall exponentially in a candidate's estimated
    risk: as coordinates become many, those that keep their noise lose all weight, and the noise in a derivative hardly
    grows. `tests/releases/test_roughness.py` lets their number grow.
    """
    if name == "auto":
        return math.inf
    return next((float(order) for order in ORDERS if name == f"sobolev-{order}"), 0.0)


def smooth(
    name: str, noisy: Array, variances: Array, frequencies: Array, *, care: Care = GaussianLaw.care
) -> Smoothing:
    """An average over the candidates of a family, or with "auto" of all families.

    Each candidate weighs `exp(-risk / (t v))`, v the mean variance and t the temperature (Leung and Barron 2006):
    steadier than the single best when many are nearly as good.
    """
    if not isinstance(name, str) or (name != "auto" and name not in FAMILIES):
        raise UsageError(
            f"Unknown smoothing {brief(name)}. Known are 'auto', {', '.join(map(repr, FAMILIES))}.",
            parameter="smoothing",
            value=name,
        )
    if not variances.any():
        return Smoothing(name, np.ones(len(noisy)), 0.0)  # nothing was added, so there is nothing to smooth
    families = FAMILIES.values() if name == "auto" else [FAMILIES[name]]
    every = [family(noisy, variances, frequencies) for family in families]
    weights, risks = np.concatenate([c.weights for c in every]), np.concatenate([c.risks for c in every])
    cautious = risks + 2 * (care.caution - 1) * weights @ variances
    shares = np.exp(-(cautious - cautious.min()) / (care.temperature * variances.mean()))
    shares /= shares.sum()
    mean = np.clip(shares @ weights, 0.0, 1.0)
    # Shares depend on the coordinates too. Every risk above has the derivative 2 (1 - h)^2 y, so Stein's identity adds
    # these two terms to the average risk; without them it would be too low.
    spread = weights - mean
    moving = 4 / care.temperature * variances / variances.mean()
    chosen = -(shares @ spread**2) - moving * (shares @ (spread * (1 - weights) ** 2))
    return Smoothing(name, mean, float(shares @ risks + chosen @ noisy**2))

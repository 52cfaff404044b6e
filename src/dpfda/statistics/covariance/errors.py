"""Errors of covariances and components in closed form, for a public reference population."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dpfda.arrays import Array

VARIANCE, DECAY = 0.1, 1.25  # as scans and growth curves have it; measured on public data
FAR = 400  # functions beyond which nothing is left of the reference population

REFERENCE = "curves whose deviation at frequency f is a third of the bound times (1 + f)^-1.25, a reference population"

# What a release is compared with before it is charged: less than the reference, whose curves fill their bound.
PLAUSIBLE_VARIANCE = 1 / 16
PLAUSIBLE = "that vary around their mean by a quarter of the bound"


def reference(frequencies: Array) -> Array:
    """Deviations of coordinates in the reference population, in units of the bound, (size,)."""
    deviations: Array = np.sqrt(VARIANCE) * (1 + frequencies) ** -DECAY
    return deviations


@lru_cache(maxsize=8)
def _total(dimension: int) -> float:
    return float(np.sum(reference(np.arange(FAR, dtype=np.float64) ** (1 / dimension)) ** 2))


def covariance_error(variances: Array, frequencies: Array, dimension: int) -> float:
    """Expected squared distance of the best linearly smoothed covariance, in units of the fourth power of the bound.

    An entry of size c under noise of variance v keeps the error `c^2 v / (c^2 + v)`; entries beyond the basis are lost.
    Entries are taken as large as the deviations allow, since nobody knows how coordinates are correlated.
    """
    deviations = reference(frequencies)
    squares = np.outer(deviations, deviations) ** 2
    kept = float(np.sum(squares * variances / (squares + variances)))
    return kept + max(0.0, _total(dimension) ** 2 - float(np.sum(deviations**2)) ** 2)


def covariance_size(dimension: int) -> float:
    """The root mean square of the reference population's covariance as `covariance_error` takes it, over bound^2."""
    return _total(dimension)


def lost_of(variances: Array, frequencies: Array, dimension: int) -> float:
    """The error of `covariance_error` relative to the covariance, for a population of the plausible variance.

    Its covariance is that of the reference population, scaled; so the noise is scaled instead.
    """
    times = _total(dimension) / PLAUSIBLE_VARIANCE
    return float(np.sqrt(covariance_error(variances * times**2, frequencies, dimension))) / _total(dimension)


def plausible_within(frequencies: Array, dimension: int) -> float:
    """The size of the plausible population's covariance within a basis of these frequencies, over bound^2."""
    return PLAUSIBLE_VARIANCE * float(np.sum(reference(frequencies) ** 2)) / _total(dimension)


def plausible_rate(rate: float, dimension: int) -> float:
    """What a rate is for the plausible population, in terms of the reference population."""
    return rate * PLAUSIBLE_VARIANCE / _total(dimension)


def found_within(pairs: Array) -> float:
    """As `subspace_error` of the first direction, among those of the basis alone."""
    between = pairs[0, 1:]
    return float(min(1.0, np.sum(between / (1 + between))))


def subspace_error(pairs: Array, k: int, dimension: int) -> float:
    """Expected `|P~ - P|^2 / 2` from what each pair (i, j) of inside and outside directions is turned by, squared.

    For small angles they add up; none can turn by more than a right angle. Directions outside the basis are never
    found: they count with all that they may be correlated.
    """
    size = len(pairs)
    k = min(k, size)
    deviations = reference(np.arange(FAR, dtype=np.float64) ** (1 / dimension))
    lost = np.outer(deviations, deviations) ** 2 / _gaps(deviations) ** 2
    between = np.concatenate([pairs[:k, k:], lost[:k, size:]], axis=1)
    # Each direction of the span can be lost once.
    return float(np.sum(np.minimum(1.0, np.sum(between / (1 + between), axis=1))))


def turned_by_noise(variances: Array, frequencies: Array) -> Array:
    """Squared angles between eigenfunctions after smoothed noise of these variances, (size, size).

    Perturbation theory: an error z in entry (i, j) turns two eigenfunctions by `z / (l_i - l_j)`; for its square stands
    what noise and smoothing leave, as in `covariance_error`.
    """
    deviations = reference(frequencies)
    squares = np.outer(deviations, deviations) ** 2
    left = squares * variances / (squares + variances)
    return left / _gaps(deviations) ** 2


def turned_by_choice(rate: float, frequencies: Array, precision: Array) -> Array:
    """The same for the exponential mechanism with density `exp(rate tr V'CV - tr V'PV / 2)`, (size, size).

    Awan et al., Theorem 3.3: near its mode the law is normal, and the angle between i and j has the precision
    `2 (a_i - a_j)` with `a = rate l - p/2`. The base measure turns the mode itself, towards its own axes: by the entry
    (i, j), as large as it may be, over the gap without it less over the gap with it.
    """
    deviations = reference(frequencies)
    without, drawn = _gaps(deviations), (precision[None, :] - precision[:, None]) / (2 * rate)
    gaps = np.maximum(without + np.maximum(drawn, 0.0), 1e-100)
    turned = np.outer(deviations, deviations) * (1 / without - 1 / gaps)
    return 1 / (2 * rate * gaps) + turned**2


def _gaps(deviations: Array) -> Array:
    return np.maximum(np.abs(deviations[:, None] ** 2 - deviations[None, :] ** 2), 1e-100)

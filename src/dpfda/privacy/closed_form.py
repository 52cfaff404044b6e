"""Epsilon from delta in closed form: Gaussian noise and zero-concentrated privacy."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from dpfda.bases.norms import up
from dpfda.privacy.budget import amount_of
from dpfda.privacy.profiles import GaussianProfile


def root_up(square: Fraction) -> float:
    """A square root, rounded up."""
    return up(math.sqrt(up(amount_of(square)))) if square else 0.0


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The least epsilon >= 0 for a shift of normal noise by mu deviations, rounded up to 12 digits."""
    curve = GaussianProfile(mu).delta
    if delta <= 0 or not math.isfinite(mu):
        return math.inf
    if mu == 0 or curve(0.0) <= delta:
        return 0.0
    low, high = 0.0, mu * (mu / 2 + 1)
    while not curve(high) <= delta:
        low, high = high, 2 * high
        if high > 1e9:
            return math.inf
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if curve(middle) <= delta else (middle, high)
    return high


def zcdp_epsilon(rho: float, delta: float) -> float:
    """An epsilon that rho-zero-concentrated privacy has with this delta, by the best order found.

    For every order a > 1: `a rho + (log(1/delta) + (a - 1) log(1 - 1/a) - log a) / (a - 1)` (Canonne, Kamath and
    Steinke 2020, Corollary 13).
    """
    if delta <= 0 or not math.isfinite(rho):
        return math.inf
    if rho == 0:
        return 0.0

    def bound(log_order: float) -> float:
        less = math.exp(log_order)  # the order less one
        # log(1 - 1/a) = -log(1 + 1/less)
        return (1 + less) * rho - math.log1p(1 / less) + (-math.log(delta) - math.log1p(less)) / less

    # Golden section on the logarithm of the order; whatever it finds is a proof.
    low, high = -12.0, 25.0
    share = (math.sqrt(5) - 1) / 2
    best = math.inf
    first, second = high - share * (high - low), low + share * (high - low)
    value, other = bound(first), bound(second)
    for _ in range(50):
        best = min(best, value, other)
        if value < other:
            high, second, other = second, first, value
            first = high - share * (high - low)
            value = bound(first)
        else:
            low, first, value = first, second, other
            second = low + share * (high - low)
            other = bound(second)
    # The last terms outweigh the roundings of a sum of a few terms.
    return max(0.0, best) * (1 + 1e-12) + 1e-12 * rho + 1e-14


def solve(curve: Callable[[float], float], delta: float, *, precision: float = 1e-7) -> float:
    """An epsilon >= 0 at which a falling curve is at most delta, hardly above the least one; inf if there is none."""
    low, high = 0.0, 1.0
    if curve(low) <= delta:
        return low
    while not curve(high) <= delta:  # so written, a value that is no number proves nothing
        low, high = high, 2 * high
        if high > 1e9:
            return math.inf
    # Regula falsi on the logarithm, halved where one end stays: only ends at which the curve was seen are kept.
    above, below = _excess(curve(low), delta), _excess(curve(high), delta)
    moved = tries = 0
    while high - low > precision * high:
        tries += 1
        # Every fourth step halves: along a curve that is flat at delta the others would creep.
        share = 0.5 if tries % 4 == 0 or above <= below else min(max(above / (above - below), 0.01), 0.99)
        middle = low + (high - low) * share
        if not low < middle < high:
            break
        value = curve(middle)
        if value <= delta:
            high, below, above = middle, _excess(value, delta), above / (2 if moved < 0 else 1)
            moved = -1
        else:
            low, above, below = middle, _excess(value, delta), below / (2 if moved > 0 else 1)
            moved = 1
    return high


def _excess(value: float, delta: float) -> float:
    """The logarithm of a curve over delta, cut so that differences stay finite."""
    if not value / delta > 0:
        return -50.0 if value <= delta else 700.0
    return min(max(math.log(value / delta), -50.0), 700.0)

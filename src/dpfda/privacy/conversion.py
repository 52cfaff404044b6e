"""Epsilon from delta in closed form, and what the integer samplers of Gaussian noise add to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from dpfda.privacy.budget import amount_of
from dpfda.privacy.loss_laws import Parts
from dpfda.privacy.norms import up
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


GUESSES = (1e-4, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.4, 1.0, 4.0)  # how much larger epsilon may become
FINEST_REACH = 1 / 32  # half a step in deviations, at the least deviation of 16 steps that anything is claimed for


@dataclass(frozen=True, slots=True)
class Sampler:
    """How far all Gaussian samplers together are from rounded normal noise, by both measures of GaussianProfile."""

    distance: float  # in total variation
    weight: float  # sum of size / (8 steps^2): the largest log ratio of a weight to the normal one
    size: float  # the number of integer coordinates

    @staticmethod
    def of(parts: Iterable[Parts]) -> Sampler:
        """The samplers of all Gaussian losses among these."""
        return Sampler(0.0, 0.0, 0.0).plus(parts)

    def plus(self, parts: Iterable[Parts]) -> Sampler:
        """These samplers and those of more losses."""
        distance, weight, size = self.distance, self.weight, self.size
        for part in parts:
            if part.distance > 0 or part.size > 0:
                distance = up(distance + part.distance)
                weight = up(weight + weight_of(part))
                size += part.size
        return Sampler(distance, weight, size)

    def least(self, continuous: Callable[[float], float], delta: float) -> float:
        """The least epsilon found that holds with this delta, where `continuous(d)` is the one for normal noise.

        Either the distance is paid in delta, `(1 + e^eps) distance`, or the step from the sampler's law to the normal
        one and back is paid in epsilon, outside a tail; both as in GaussianProfile, where each is proved: conditional
        on all that was released before, the laws of successive releases differ by the same bounds, which multiply.
        A guess of epsilon that turns out to be at least the result makes either a proof.
        """
        base = continuous(delta)
        if self.distance == 0 or not math.isfinite(base):
            return base
        best = math.inf
        for growth in GUESSES:
            guess = base * (1 + growth) + growth / 100
            for attempt in (self._by_distance, self._by_weights):
                found = attempt(continuous, delta, min(guess, best))
                best = min(best, found)
            if math.isfinite(best):
                break
        return min(best, self._by_distance(continuous, delta, best))

    def _by_distance(self, continuous: Callable[[float], float], delta: float, guess: float) -> float:
        if guess > 700:
            return math.inf
        left = delta - (1 + math.exp(guess)) * self.distance * (1 + 1e-12)
        found = continuous(left) if left > 0 else math.inf
        return found if found <= guess else math.inf

    def _by_weights(self, continuous: Callable[[float], float], delta: float, guess: float) -> float:
        if self.weight > 1 or guess > 1e6:
            return math.inf
        reach = math.sqrt(2 * guess + 200)
        tail = self.size * math.exp(guess - (reach - FINEST_REACH) ** 2 / 2)
        left = (delta * math.exp(-self.weight) - tail) * (1 - 1e-12)
        found = continuous(left) if left > 0 else math.inf
        if found > guess:
            return math.inf
        return up(found + self.weight * (1 + reach**2) * (1 + 1e-12) + 2e-15 * (1 + self.size), 2)


def weight_of(part: Parts) -> float:
    """The largest log ratio of a sampler's weight to the normal one; inf where nothing is claimed."""
    if part.size == 0:
        # Not a lattice: only the distance is known.
        return math.inf if part.distance > 0 else 0.0
    return math.inf if part.steps < 16 else up(part.size / (8 * part.steps * part.steps), 3)

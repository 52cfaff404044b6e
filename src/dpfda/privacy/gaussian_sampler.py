"""What the integer samplers of Gaussian noise cost when many releases are composed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dpfda.bases.norms import up
from dpfda.privacy.loss_laws import Parts

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
        return Sampler(0.0, 0.0, 0.0).plus(parts)

    def plus(self, parts: Iterable[Parts]) -> Sampler:
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

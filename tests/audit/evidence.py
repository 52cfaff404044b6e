"""What audits prove from frequencies, at level 1e-6, and for the fault that they must catch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.stats import beta, norm

from dpfda.mechanisms import Gaussian, KNorm, Laplace

LEVEL = 1e-6


def at_least(hits: int, draws: int) -> float:
    return float(beta.ppf(LEVEL, hits, draws - hits + 1)) if hits else 0.0


def at_most(hits: int, draws: int) -> float:
    return float(beta.ppf(1 - LEVEL, hits + 1, draws - hits)) if hits < draws else 1.0


def proven_mu(hits: tuple[int, int], draws: int) -> float:
    """The least mu under which such a power at such a rate of false positives is possible."""
    return float(norm.ppf(at_least(hits[0], draws)) - norm.ppf(at_most(hits[1], draws)))


def proven_epsilon(hits: tuple[int, int], draws: int) -> float:
    """The least epsilon under which these two frequencies are possible."""
    high, low = at_least(hits[0], draws), at_most(hits[1], draws)
    other_high, other_low = 1 - at_most(hits[1], draws), 1 - at_least(hits[0], draws)
    return max(
        math.log(high / low) if high else -math.inf, math.log(other_high / other_low) if other_high else -math.inf
    )


@dataclass(frozen=True, slots=True)
class TooQuiet:
    """A planted fault: the noise of another mechanism, smaller by the square root of two."""

    honest: Gaussian | KNorm | Laplace

    @property
    def name(self):
        return self.honest.name

    @property
    def norm(self):
        return self.honest.norm

    @property
    def pure(self):
        return self.honest.pure

    def profile(self, sensitivity, scale, *, size=0):
        return self.honest.profile(sensitivity, scale, size=size)

    def draw(self, coordinates, scale, *, randomness):
        return self.honest.draw(coordinates, scale / math.sqrt(2), randomness=randomness)

    def noise(self, scale, size):
        return self.honest.noise(scale, size)

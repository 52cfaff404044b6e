"""Come here for privacy curves: what a mechanism at a scale guarantees, as frozen values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from dpfda.norms import up
from dpfda.privacy.budget import Budget


class Profile(Protocol):
    """A privacy curve; every number it returns is on the safe side."""

    def delta(self, epsilon: float) -> float:
        """The delta that holds at this epsilon."""

    def meets(self, budget: Budget) -> bool: ...

    def power(self, false_positives: float) -> float:
        """The most that any test about one unit can detect at this rate of false positives."""

    @property
    def rho(self) -> float:
        """The zero-concentrated statement of the same guarantee, for composition; inf where there is none."""


@dataclass(frozen=True, slots=True)
class PureProfile:
    """Pure epsilon: every likelihood ratio lies within `e^epsilon`."""

    epsilon: float

    def delta(self, epsilon: float) -> float:
        if epsilon >= self.epsilon:
            return 0.0
        # No epsilon-private mechanism does worse than randomised response; the last factor outweighs the rounding.
        return -math.expm1(epsilon - self.epsilon) / (1 + math.exp(-self.epsilon)) * (1 + 1e-12)

    def meets(self, budget: Budget) -> bool:
        return self.epsilon <= budget.epsilon or (not budget.pure and self.delta(budget.epsilon) <= budget.delta)

    def power(self, false_positives: float) -> float:
        if self.epsilon > 700.0:
            return 1.0
        rest = math.exp(-self.epsilon)
        # Sums of positive terms: the last factor outweighs their rounding.
        detected = min(false_positives / rest, -math.expm1(-self.epsilon) + rest * false_positives)
        return min(1.0, detected * (1 + 1e-12))

    @property
    def rho(self) -> float:
        return up(self.epsilon * self.epsilon / 2)


@dataclass(frozen=True, slots=True)
class GaussianProfile:
    """Gaussian noise whose mean moves by at most `mu` deviations, drawn by a sampler at most `distance` away.

    `delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)` (Balle and Wang 2018) for the continuous law; a total
    variation distance of t from it adds at most `(1 + e^eps) t`.
    """

    mu: float
    distance: float = 0.0

    def delta(self, epsilon: float) -> float:
        from scipy.special import log_ndtr

        first = float(log_ndtr(self.mu / 2 - epsilon / self.mu))
        second = epsilon + float(log_ndtr(-self.mu / 2 - epsilon / self.mu))
        # On the log scale: e^eps alone overflows, and the difference cancels where delta is small.
        curve = math.exp(first) * -math.expm1(min(second - first, 0.0))
        # Both logarithms are about -far^2/2, so their roundings leave a few times 2^-53 far^2 in the difference.
        far = self.mu / 2 + epsilon / self.mu
        curve += math.exp(first) * 2.0**-50 * (1 + far * far)
        return curve + (1 + math.exp(min(epsilon, 700.0))) * self.distance

    def meets(self, budget: Budget) -> bool:
        return not budget.pure and self.delta(budget.epsilon) <= budget.delta

    def power(self, false_positives: float) -> float:
        from scipy.special import ndtr, ndtri

        # The distance is paid on both sides: in the rate at which the continuous law raises false alarms, where the
        # curve is steep, and in what it detects. The last factor outweighs the rounding.
        positives = min(1.0, false_positives + self.distance)
        return min(1.0, (float(ndtr(ndtri(positives) + self.mu)) + self.distance) * (1 + 1e-12))

    @property
    def rho(self) -> float:
        # The discrete Gaussian has the continuous one's rho exactly (Canonne, Kamath and Steinke 2020, Theorem 4).
        return up(self.mu * self.mu / 2)

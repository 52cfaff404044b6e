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
class RangeProfile:
    """Bounded range: for two neighbours all log likelihood ratios lie in one interval `[t - epsilon, t]`.

    So it is with every exponential mechanism, whose normalisers move all ratios alike. It is pure epsilon, since 0 lies
    in the interval, and more (Dong, Durfee and Rogers 2020): given their mean, 1, ratios do most harm at the two ends,
    and the worst t gives the two curves below.
    """

    epsilon: float

    def delta(self, epsilon: float) -> float:
        if epsilon >= self.epsilon:
            return 0.0
        # At t half-way between the two epsilons; the last factor outweighs the rounding.
        return math.expm1((epsilon - self.epsilon) / 2) ** 2 / -math.expm1(-self.epsilon) * (1 + 1e-12)

    def meets(self, budget: Budget) -> bool:
        return self.epsilon <= budget.epsilon or (not budget.pure and self.delta(budget.epsilon) <= budget.delta)

    def power(self, false_positives: float) -> float:
        # min(a e^t, 1 - (1 - a) e^(t - epsilon)) is largest where the two are equal.
        least = false_positives + (1 - false_positives) * math.exp(-self.epsilon)
        return min(1.0, false_positives / least * (1 + 1e-12)) if false_positives > 0 else 0.0

    @property
    def rho(self) -> float:
        # Hoeffding's lemma for the loss L in an interval of this length, E exp(sL) <= exp(s E L + s^2 epsilon^2/8): at
        # s = -1 the left side is 1, so E L <= epsilon^2/8, and at s = a - 1 the divergence of order a is at most
        # a epsilon^2/8 (Cesar and Rogers 2021).
        return up(up(self.epsilon * self.epsilon) / 8)


@dataclass(frozen=True, slots=True)
class GaussianProfile:
    """Gaussian noise whose mean moves by at most `mu` deviations, drawn by a sampler at most `distance` away.

    `delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)` (Balle and Wang 2018) for the continuous law. The
    integer sampler costs more by one of two arguments, whichever is better. A total variation distance of t adds at
    most `(1 + e^eps) t`. For large epsilon it is better to compare weights: see `_by_weights`.
    """

    mu: float
    distance: float = 0.0
    size: int = 0  # the number of integer coordinates
    steps: float = math.inf  # the deviation in lattice steps

    def delta(self, epsilon: float) -> float:
        by_distance = self._continuous(epsilon) + (1 + math.exp(min(epsilon, 700.0))) * self.distance
        return by_distance if self.size == 0 else min(by_distance, self._by_weights(epsilon))

    def _by_weights(self, epsilon: float) -> float:
        """The delta of the integer sampler, from the ratio of its weights p(z) to those r(z) of the rounded normal law.

        `r(z) / density(z)` is the mean over |u| < 1/2 of `exp(-u^2 / 2s^2) cosh(z u / s^2)`, so in each coordinate
        `p <= r e^(1/8s^2)`, and where `|z| <= c s` also `r <= p e^(c^2/8s^2)`. A step from p to r, the continuous
        curve, and a step back outside a tail of probability `size e^(-(c - 1/2s)^2 / 2)` give the result.
        """
        if self.steps < 16:
            return math.inf
        reach = math.sqrt(2 * epsilon + 200)
        there = self.size / (8 * self.steps**2)
        back = there * reach**2 + 1e-15  # the last term outweighs the normaliser of p, which is 1 but for e^(-5000)
        less = epsilon - (there + back) * (1 + 1e-12)
        if less <= 0:
            return math.inf
        tail = self.size * math.exp(less - (reach - 0.5 / self.steps) ** 2 / 2)
        return math.exp(there) * (self._continuous(less) + tail) * (1 + 1e-12)

    def _continuous(self, epsilon: float) -> float:
        from scipy.special import log_ndtr

        first = float(log_ndtr(self.mu / 2 - epsilon / self.mu))
        second = epsilon + float(log_ndtr(-self.mu / 2 - epsilon / self.mu))
        # On the log scale: e^eps alone overflows, and the difference cancels where delta is small.
        curve = math.exp(first) * -math.expm1(min(second - first, 0.0))
        # Both logarithms are about -far^2/2, so their roundings leave a few times 2^-53 far^2 in the difference.
        far = self.mu / 2 + epsilon / self.mu
        return curve + math.exp(first) * 2.0**-50 * (1 + far * far)

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

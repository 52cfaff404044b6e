"""Privacy curves: what a mechanism at a scale guarantees, as frozen values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

from dpfda.arrays import brief
from dpfda.errors import UsageError
from dpfda.privacy.budget import Budget
from dpfda.privacy.loss_laws import LossLaw, Parts, log_cosh
from dpfda.privacy.norms import up

MOST_PEOPLE = 2**53


class Profile(Protocol):
    """A privacy curve; every number it returns is on the safe side."""

    def delta(self, epsilon: float) -> float:
        """The delta that holds at this epsilon, which may be negative: composition asks there too."""

    def meets(self, budget: Budget) -> bool:
        """Whether the guarantee (epsilon, delta) of a budget holds."""

    def power(self, false_positives: float) -> float:
        """The most that any test about one unit can detect at this rate of false positives."""

    @property
    def rho(self) -> float:
        """The zero-concentrated statement of the same guarantee, for composition; inf where there is none."""

    @property
    def pure(self) -> float:
        """The epsilon that holds with delta = 0; inf where there is none."""

    def grouped(self, people: int) -> Profile:
        """The curve for neighbours that differ in this many units."""

    def describe(self) -> dict[str, Any]:
        """Plain data, from which `ledger.amounts.loss_from` makes the same curve again."""

    def parts(self) -> Parts:
        """The curve taken apart, for sums and composition."""


def mirrored(epsilon: float, delta: float) -> float:
    """The delta at `-epsilon` from the one at `epsilon`, where neighbours may change places, as they always may here.

    `[p - q/r]_+ = p - q/r + [q - r p]_+ / r` with `r = e^epsilon`, summed over all outcomes.
    """
    return min(1.0, (-math.expm1(-epsilon) + math.exp(-epsilon) * delta) * (1 + 1e-12))


def check_people(people: int) -> int:
    """A group has at least one unit, and so few that their number is a double."""
    if isinstance(people, bool) or not isinstance(people, int) or not 1 <= people <= MOST_PEOPLE:
        raise UsageError(
            f"A group has a whole number of people, at least 1, got {brief(people)}.", parameter="people", value=people
        )
    return people


def several(epsilon: float, people: int) -> float:
    """`people * epsilon`, rounded up; epsilon itself for one."""
    return epsilon if check_people(people) == 1 else up(people * epsilon)


class _Bounded:
    """What the curves of bounded losses share: they are pure epsilon, and meet any budget of as much."""

    __slots__ = ()
    epsilon: float

    def delta(self, epsilon: float) -> float:
        """The privacy curve."""
        raise NotImplementedError

    def meets(self, budget: Budget) -> bool:
        """Whether the guarantee of a budget holds."""
        return self.epsilon <= budget.epsilon or (not budget.pure and self.delta(budget.epsilon) <= budget.delta)

    @property
    def rho(self) -> float:
        """Every pure epsilon is `epsilon^2 / 2` zero-concentrated (Bun and Steinke 2016), rounded up."""
        return up(self.epsilon * self.epsilon / 2)

    @property
    def pure(self) -> float:
        """The pure epsilon itself."""
        return self.epsilon


@dataclass(frozen=True, slots=True)
class PureProfile(_Bounded):
    """Pure epsilon: every likelihood ratio lies within `e^epsilon`."""

    epsilon: float

    def delta(self, epsilon: float) -> float:
        if epsilon < 0:
            return mirrored(-epsilon, self.delta(-epsilon))
        if epsilon >= self.epsilon:
            return 0.0
        # No epsilon-private mechanism does worse than randomised response; the last factor outweighs the rounding.
        return -math.expm1(epsilon - self.epsilon) / (1 + math.exp(-self.epsilon)) * (1 + 1e-12)

    def power(self, false_positives: float) -> float:
        if self.epsilon > 700.0:
            return 1.0
        rest = math.exp(-self.epsilon)
        # Sums of positive terms: the last factor outweighs their rounding.
        detected = min(false_positives / rest, -math.expm1(-self.epsilon) + rest * false_positives)
        return min(1.0, detected * (1 + 1e-12))

    def grouped(self, people: int) -> PureProfile:
        return PureProfile(several(self.epsilon, people))

    def describe(self) -> dict[str, Any]:
        return {"law": "pure", "epsilon": self.epsilon}

    def parts(self) -> Parts:
        return Parts(self.epsilon, self.rho, LossLaw.response(self.epsilon))


@dataclass(frozen=True, slots=True)
class LaplaceProfile(_Bounded):
    """Independent Laplace noise on the integers whose mean moves by at most `epsilon` scales, all coordinates together.

    For one coordinate of scale s steps and a shift of c of them, `a = e^(-1/s)`: the best test asks whether the noisy
    number is at most k, so `delta(eps) = 1 - (a^(k+1) + e^eps a^(c-k)) / (1+a) <= 1 - e^((eps - c/s)/2) / cosh(1/2s)`,
    the inequality of means. From `epsilon - 1/s` on, the tangent to this curve that meets 0 at epsilon is lower still.

    Many coordinates of one scale do no more harm than one that takes the whole shift. Cut to [0, c], a coordinate's log
    ratio is `(2y - c)/s`, so of two with shifts b <= d the sum y_1 + y_2 says everything, by the same ratio as one with
    shift b + d. Sum from above: `D(k) = (1+a)^2 a^-(k+1) P(y_1 + y_2 > k)` is `2 + a + k(1-a)` for k < b, then
    `2 + (b-1)(1-a)` for k < d, then `1 + (b+d-1-k)(1-a)` for k < b + d; for the one coordinate it is 1 + a everywhere.
    So the two distribution functions cross once; the mean of the ratio is 1 in both; hence the ratio of the sum is
    smaller in convex order, which is to say in every delta. The rest is induction: products keep dominance.

    Other scales in other coordinates: `steps_of`.
    """

    epsilon: float
    steps: float = math.inf  # the scale in lattice steps

    def delta(self, epsilon: float) -> float:
        if epsilon < 0:
            return mirrored(-epsilon, self.delta(-epsilon))
        if epsilon >= self.epsilon:
            return 0.0
        step = 1 / self.steps
        if epsilon <= self.epsilon - step:
            curve = -math.expm1((epsilon - self.epsilon) / 2 - self._lattice)
        else:
            # A shift of one step is randomised response: with larger steps this is the pure curve.
            curve = -math.expm1(epsilon - self.epsilon) / (1 + math.exp(-min(step, self.epsilon)))
        return curve * (1 + 1e-12)

    @property
    def _lattice(self) -> float:
        """`log cosh(1/2s)`: what the lattice costs."""
        return log_cosh(0.5 / self.steps)

    def power(self, false_positives: float) -> float:
        # The least of e^eps g + delta(eps): at the ends it is the pure bound, inside the derivative vanishes where
        # e^(eps/2) = flat / (2g).
        detected = PureProfile(self.epsilon).power(false_positives)
        flat = math.exp(-self.epsilon / 2 - self._lattice)
        # The minimum lies at an epsilon of this loss, between the two ends.
        least, most = (2 * false_positives * math.exp(end * min(self.epsilon, 700.0) / 2) for end in (-1, 1))
        if self.epsilon <= 700 and false_positives > 0 and least <= flat <= most:
            detected = min(detected, (1 - flat * flat / (4 * false_positives)) * (1 + 1e-12))
        return min(1.0, detected)

    def grouped(self, people: int) -> LaplaceProfile:
        return LaplaceProfile(several(self.epsilon, people), self.steps)

    def describe(self) -> dict[str, Any]:
        return {"law": "laplace", "epsilon": self.epsilon, "steps": finite(self.steps)}

    def parts(self) -> Parts:
        return Parts(self.epsilon, self.rho, LossLaw.laplace(self.epsilon, 1 / self.steps))

    @staticmethod
    def steps_of(scales: tuple[float, ...]) -> float:
        """The one scale whose curve holds for independent integer noise of these scales, in lattice steps.

        A coordinate's curve is below that of continuous noise whose shift is larger by `2 log cosh(1/2s)`, and for
        continuous noise scales are units: only the sum of the shifts counts.
        """
        if len(set(scales)) == 1:
            return scales[0]
        excess = math.fsum(log_cosh(0.5 / scale) for scale in scales)
        if excess > 700:
            return 0.5 / (excess + 1)  # the same, since cosh x >= e^x / 2
        # cosh(1/2s) = e^excess, solved without a difference of close numbers.
        return 0.25 / math.asinh(math.sqrt(math.expm1(excess) / 2)) * (1 - 1e-12)


@dataclass(frozen=True, slots=True)
class RangeProfile(_Bounded):
    """Bounded range: for two neighbours all log likelihood ratios lie in one interval `[t - epsilon, t]`.

    So it is with every exponential mechanism, whose normalisers move all ratios alike. It is pure epsilon, since 0 lies
    in the interval, and more (Dong, Durfee and Rogers 2020): given their mean, 1, ratios do most harm at the two ends,
    and the worst t gives the two curves below.
    """

    epsilon: float

    def delta(self, epsilon: float) -> float:
        if epsilon < 0:
            return mirrored(-epsilon, self.delta(-epsilon))
        if epsilon >= self.epsilon:
            return 0.0
        # At t half-way between the two epsilons; the last factor outweighs the rounding.
        return math.expm1((epsilon - self.epsilon) / 2) ** 2 / -math.expm1(-self.epsilon) * (1 + 1e-12)

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

    def grouped(self, people: int) -> RangeProfile:
        # Log ratios of successive neighbours add, and so do the lengths of their intervals.
        return RangeProfile(several(self.epsilon, people))

    def describe(self) -> dict[str, Any]:
        return {"law": "range", "epsilon": self.epsilon}

    def parts(self) -> Parts:
        return Parts(self.epsilon, self.rho, LossLaw.bounded_range(self.epsilon))


@dataclass(frozen=True, slots=True)
class StatedProfile:
    """A release of which only (epsilon, delta) is known: with chance delta all is lost, else randomised response.

    No release that keeps the statement does worse at any other epsilon (Kairouz, Oh and Viswanath 2015).
    """

    epsilon: float
    stated: float  # delta

    def delta(self, epsilon: float) -> float:
        if epsilon < 0:
            return mirrored(-epsilon, self.delta(-epsilon))
        rest = PureProfile(self.epsilon).delta(epsilon)
        return self.stated if rest == 0 else up(self.stated + (1 - self.stated) * rest, 2)

    def meets(self, budget: Budget) -> bool:
        return self.delta(budget.epsilon) <= budget.delta

    def power(self, false_positives: float) -> float:
        # What tells all raises no false alarm: the whole rate is left for the rest, which has the mass 1 - delta.
        rest = 1 - self.stated
        rate = min(1.0, false_positives / rest * (1 + 1e-15)) if rest > 0 else 1.0
        return min(1.0, (self.stated + rest * PureProfile(self.epsilon).power(rate)) * (1 + 1e-12))

    @property
    def rho(self) -> float:
        return math.inf if self.stated else PureProfile(self.epsilon).rho

    @property
    def pure(self) -> float:
        return math.inf if self.stated else self.epsilon

    def grouped(self, people: int) -> StatedProfile:
        if check_people(people) == 1:
            return self
        # Along a chain of neighbours the deltas add, each e^epsilon times the one before.
        epsilon = several(self.epsilon, people)
        if self.stated == 0 or epsilon > 700:
            return StatedProfile(epsilon, 1.0 if self.stated else 0.0)
        total = math.expm1(epsilon) / math.expm1(self.epsilon) if self.epsilon else float(people)
        return StatedProfile(epsilon, min(1.0, up(self.stated * total * (1 + 1e-12))))

    def describe(self) -> dict[str, Any]:
        return {"law": "stated", "epsilon": self.epsilon, "delta": self.stated}

    def parts(self) -> Parts:
        return Parts(self.epsilon, PureProfile(self.epsilon).rho, LossLaw.response(self.epsilon), self.stated)


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
        by_distance = self._continuous(epsilon)
        if self.distance > 0:
            by_distance += (1 + math.exp(epsilon)) * self.distance if epsilon <= 700 else math.inf
        return by_distance if self.size == 0 else min(by_distance, self._by_weights(epsilon))

    def _by_weights(self, epsilon: float) -> float:
        """The delta of the integer sampler, from the ratio of its weights p(z) to those r(z) of the rounded normal law.

        `r(z) / density(z)` is the mean over |u| < 1/2 of `exp(-u^2 / 2s^2) cosh(z u / s^2)`, so in each coordinate
        `p <= r e^(1/8s^2)`, and where `|z| <= c s` also `r <= p e^(c^2/8s^2)`. A step from p to r, the continuous
        curve, and a step back outside a tail of probability `size e^(-(c - 1/2s)^2 / 2)` give the result.
        """
        if self.steps < 16 or epsilon <= 0:
            return math.inf
        reach = math.sqrt(2 * epsilon + 200)
        there = self.size / (8 * self.steps * self.steps)
        back = there * reach**2 + 1e-15  # the last term outweighs the normaliser of p, which is 1 but for e^(-5000)
        less = epsilon - (there + back) * (1 + 1e-12)
        if less <= 0:
            return math.inf
        tail = self.size * math.exp(less - (reach - 0.5 / self.steps) ** 2 / 2)
        return math.exp(there) * (self._continuous(less) + tail) * (1 + 1e-12)

    def _continuous(self, epsilon: float) -> float:
        from scipy.special import log_ndtr

        if epsilon < 0:
            return mirrored(-epsilon, self._continuous(-epsilon))

        first = float(log_ndtr(self.mu / 2 - epsilon / self.mu))
        if first < -745:
            return math.ulp(0.0)  # the curve is below its first term, and that below all doubles
        second = epsilon + float(log_ndtr(-self.mu / 2 - epsilon / self.mu))
        # On the log scale: e^eps alone overflows, and the difference cancels where delta is small.
        curve = math.exp(first) * -math.expm1(min(second - first, 0.0))
        # Both logarithms are about -far^2/2, so their roundings leave a few times 2^-53 far^2 in the difference.
        far = self.mu / 2 + epsilon / self.mu
        return curve + math.exp(first) * 2.0**-50 * (1 + far * far) + 4 * math.ulp(0.0)

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

    @property
    def pure(self) -> float:
        return math.inf

    def grouped(self, people: int) -> GaussianProfile:
        # The sampler is the same wherever it is centred: neither its distance nor its weights see the group.
        return GaussianProfile(several(self.mu, people), self.distance, self.size, self.steps)

    def describe(self) -> dict[str, Any]:
        return {
            "law": "gaussian",
            "mu": self.mu,
            "distance": self.distance,
            "size": self.size,
            "steps": finite(self.steps),
        }

    def parts(self) -> Parts:
        return Parts(mu=self.mu, distance=self.distance, size=self.size, steps=self.steps)


def finite(number: float) -> float | None:
    """A number as JSON has it: None stands for infinity."""
    return None if math.isinf(number) else number

"""What privacy curves are made of: a law of losses, a Gaussian shift, a probability that everything is lost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpfda.arrays import Array, Integers


class Law(Protocol):
    """What composition asks of a law of losses; whatever has it can be counted among others."""

    def __hash__(self) -> int: ...
    @property
    def epsilon(self) -> float:
        """The largest loss."""

    def log_moment(self, order: float) -> float: ...
    def on_grid(self, step: float) -> tuple[int, Array]: ...


@dataclass(frozen=True, slots=True)
class LossLaw:
    """The law of the log likelihood ratio for a worst pair: two ends and an exponential density between them.

    Mass `end` at `epsilon` and `end e^-epsilon` at `-epsilon`; density `inner e^((l - epsilon)/2)` for `|l| < reach`.
    A privacy curve that falls and is convex in `e^eps` has exactly one such law, `delta(eps) = E (1 - e^(eps - L))_+`,
    and laws of curves may be composed in place of the releases, also when these are chosen one after the other (Zhu,
    Dong and Wang 2022).
    """

    epsilon: float
    end: float
    inner: float = 0.0
    reach: float = 0.0

    @staticmethod
    def response(epsilon: float) -> LossLaw:
        """Randomised response: no pure epsilon does worse."""
        return LossLaw(epsilon, 1 / (1 + math.exp(-epsilon)))

    @staticmethod
    def bounded_range(epsilon: float) -> LossLaw:
        """The law of RangeProfile's curve."""
        if epsilon < 1e-12:
            return LossLaw.response(epsilon)  # not below it, and nothing divides by what is almost zero
        return LossLaw(epsilon, 0.0, -0.5 / math.expm1(-epsilon), epsilon)

    @staticmethod
    def laplace(epsilon: float, step: float) -> LossLaw:
        """The law of LaplaceProfile's curve; `step` is one lattice step over the scale."""
        if step >= epsilon:
            return LossLaw.response(epsilon)
        return LossLaw(epsilon, 1 / (1 + math.exp(-step)), 0.25 * math.exp(-log_cosh(step / 2)), epsilon - step)

    @property
    def ranges(self) -> bool:
        """Whether it is the law of a bounded range, many of which are better composed together."""
        return self.end == 0

    def rounded(self) -> LossLaw:
        """A law of the same kind that dominates this one, its numbers rounded up to one part in 4,096."""
        epsilon = _round_up(self.epsilon)
        if self.inner == 0:
            return LossLaw.response(epsilon)
        if self.end == 0:
            return LossLaw.bounded_range(epsilon)
        return LossLaw.laplace(epsilon, _round_up(self.epsilon - self.reach))

    def log_moment(self, order: float) -> float:
        """`log E e^(order L)`, for any real order."""
        terms = []
        if self.end > 0:
            terms += [math.log(self.end) + order * self.epsilon, math.log(self.end) - (1 + order) * self.epsilon]
        if self.inner > 0 and self.reach > 0:
            mass = math.log(2 * self.inner) + math.log(self.reach) - self.epsilon / 2
            terms.append(mass + _log_sinc((order + 0.5) * self.reach))
        most = max(terms)
        return most + math.log(math.fsum(math.exp(term - most) for term in terms))

    def on_grid(self, step: float) -> tuple[int, Array]:
        """Masses on whole multiples of a step, and the first multiple: a law that dominates this one.

        Each mass is divided between its two neighbours on the grid so that its shares under both laws of the pair stay
        what they are: a spread of the ratio that keeps its mean ("connect the dots", Doroshenko et al. 2022).
        """
        first, last = math.floor(-self.epsilon / step), math.ceil(self.epsilon / step) + 1
        masses = np.zeros(last - first + 1)
        for place, mass in ((self.epsilon, self.end), (-self.epsilon, self.end * math.exp(-self.epsilon))):
            left = math.floor(place / step)
            # A rounded difference may leave the cell by an ulp.
            beyond = min(max(place - left * step, 0.0), step)
            share = math.expm1(step - beyond) / math.expm1(step)
            masses[left - first] += mass * share
            masses[left + 1 - first] += mass * (math.expm1(-beyond) / math.expm1(-step))
        if self.inner > 0 and self.reach > 0:
            self._spread(masses, first, step)
        return first, masses

    def _spread(self, masses: Array, first: int, step: float) -> None:
        cells: Integers = np.arange(math.floor(-self.reach / step), math.ceil(self.reach / step))
        start = np.clip(-self.reach - cells * step, 0.0, step)
        stop = np.clip(self.reach - cells * step, 0.0, step)
        # The integrals of e^(u/2) (e^(step - u) - 1) / (e^step - 1) and of the rest, as products: nothing cancels.
        common = 4 * self.inner * np.exp((cells * step - self.epsilon) / 2) * np.sinh((stop - start) / 4)
        common /= math.sinh(step / 2)
        left = common * np.sinh((2 * step - start - stop) / 4)
        right = common * np.sinh((start + stop) / 4) * math.exp(step / 2)
        here = cells[0] - first
        masses[here : here + len(cells)] += left
        masses[here + 1 : here + 1 + len(cells)] += right


def log_cosh(x: float) -> float:
    """`log cosh x` for x >= 0, without a difference of close numbers or an overflow."""
    return math.log1p(2 * math.sinh(x / 2) ** 2) if x < 1 else x + math.log1p(math.exp(-2 * x)) - math.log(2)


def _round_up(number: float) -> float:
    if number <= 0:
        return number
    mantissa, exponent = math.frexp(number)
    return math.ldexp(math.ceil(mantissa * 8192), exponent - 13)


def _log_sinc(x: float) -> float:
    """`log(sinh(x)/x)`."""
    x = abs(x)
    if x < 1e-4:
        return x * x / 6
    return x + math.log(-math.expm1(-2 * x) / (2 * x))


@dataclass(frozen=True, slots=True)
class Parts:
    """One loss, taken apart: what of it is bounded, what is lost outright, what is Gaussian."""

    epsilon: float = 0.0  # of the bounded part
    rho: float = 0.0  # of the bounded part
    law: LossLaw | None = None
    delta: float = 0.0  # the chance that all is lost
    mu: float = 0.0
    distance: float = 0.0  # of the Gaussian sampler from the rounded normal law
    size: int = 0  # its integer coordinates
    steps: float = math.inf  # its deviation in lattice steps

"""Laws of privacy losses: pairs of points for one release, tables for choices of bounded range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import numpy as np

from dpfda.arrays import Array, Integers


class Law(Protocol):
    """What composition asks of a law of losses; whatever has it can be counted among others."""

    def __hash__(self) -> int: ...
    @property
    def epsilon(self) -> float:
        """The largest loss."""

    def log_moment(self, order: float) -> float:
        """`log E e^(order L)` of the loss L: for windows and tilts."""

    def on_grid(self, step: float) -> tuple[int, Array]:
        """The first multiple of a step, and masses on the multiples from it on: a law that dominates this one."""


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


PLACES = 480  # of the grid to a typical epsilon, over the root of their number: as fine as a second of work allows
PARTS = 16  # of its steps: how finely the worst interval is looked for
TAIL = 700.0  # minus the logarithm of what may be left beyond the window: next to nothing that doubles could show


@dataclass(frozen=True, slots=True, eq=False)
class TableLaw:
    """A law of losses on whole multiples of a step, from minus to plus its last one; see `LossLaw`."""

    step: float
    masses: Array = field(repr=False)  # (2 last + 1,)

    @property
    def epsilon(self) -> float:
        """The largest loss."""
        return self.step * (len(self.masses) // 2)

    @property
    def places(self) -> Array:
        """The losses that have masses, (2 last + 1,)."""
        last = len(self.masses) // 2
        return np.asarray(np.arange(-last, last + 1) * self.step)

    def log_moment(self, order: float) -> float:
        """`log E e^(order L)`."""
        terms = np.log(self.masses, out=np.full(len(self.masses), -np.inf), where=self.masses > 0) + order * self.places
        most = float(terms.max())
        return most + math.log(float(np.exp(terms - most).sum()))

    def on_grid(self, step: float) -> tuple[int, Array]:
        """Masses on multiples of another step, and the first multiple: a law that dominates this one."""
        places = self.places
        left = np.floor(places / step)
        # Shares of both neighbours that keep what a mass weighs under either law of the pair.
        beyond = np.clip(places - left * step, 0.0, step)
        first = int(left[0])
        here = left.astype(np.int64) - first
        masses = np.zeros(int(here[-1]) + 2)
        np.add.at(masses, here, self.masses * (np.expm1(step - beyond) / math.expm1(step)))
        np.add.at(masses, here + 1, self.masses * (np.expm1(-beyond) / math.expm1(-step)))
        return first, masses


@lru_cache(maxsize=64)
def range_law(epsilons: tuple[float, ...], tail: float = TAIL) -> TableLaw:
    """A law that dominates mechanisms of bounded range, made in this order, each chosen after seeing those before.

    Losses are left out that are larger than any of the law, and together have a chance of at most `e^-tail`.

    An adversary who may choose t anew each time, after all that was seen, can do no worse than `adaptive_curve`. Their
    order matters, by some per cent of epsilon: the later choice of t sees more. Losses of other releases may come
    before, between or after: the largest over t of a mean over such a loss is at most the mean of the largest, so
    nothing is worse than to see them all first, and the law of their sum and this law may be composed like any two.
    """
    step, curve = adaptive_curve(epsilons, tail)
    # Straight lines in e^eps between the points lie above the curve, which is convex there, and belong to masses on
    # them: delta = sum of P (1 - e^(eps - l)) over larger losses l, so the slope changes by P e^-l at each. With the
    # falls f of the curve from point to point, that is f before l, and what f changes there over e^step - 1: nothing
    # overflows, and no difference is taken of what is close to 1.
    falls = -np.diff(np.append(curve, [0.0, 0.0]))
    # The factor outweighs the rounding of differences.
    above = np.maximum(falls[:-1] - np.diff(falls) / math.expm1(step), 0.0) * (1 + 1e-9)
    # The relation of neighbours has no direction: P(-l) = e^-l P(l), and what is left lies at zero.
    below = above * np.exp(-np.arange(1, len(above) + 1) * step)
    rest = max(1.0 - math.fsum(above) - math.fsum(below), 0.0)
    return TableLaw(step, np.concatenate([below[::-1], [rest], above]))


def adaptive_curve(epsilons: Sequence[float], tail: float = TAIL) -> tuple[float, Array]:
    """The privacy curve at multiples of a step from 0 on, and that step.

    Let V(e) be the curve of all that comes later, convex in `e^e`. Ratios of a mechanism of bounded range lie between
    `e^-t` and `e^(epsilon - t)` and have mean 1, so by convexity the worst has the two ends as values: the curve of all
    from here is the largest over t of `p V(e - t) + (1 - p) V(e - t + epsilon)`, with `p` from the mean (Dong, Durfee
    and Rogers 2020). Every t between two points of a grid is covered by an interval that is longer by one step of it,
    and values between the points of V's own grid lie below straight lines in `e^e`.
    """
    squares = math.fsum(epsilon * epsilon for epsilon in epsilons)
    places = min(max(round(PLACES / math.sqrt(len(epsilons))), 12), 160)
    step = math.sqrt(squares / len(epsilons)) / places
    # Equal epsilons are whole numbers of fine steps but for rounding, which is made up for by longer ones.
    lengths = [math.ceil(epsilon / step * PARTS * (1 - 1e-12)) + 1 for epsilon in epsilons]
    step *= 1 + 1e-11
    fine = step / PARTS
    # Beyond the sum of all nothing is left; long before that hardly anything, by Hoeffding's inequality.
    reach = min(sum(lengths) * fine, math.sqrt(tail * squares / 2) + squares / 8)
    last = math.ceil(reach / step) + 1
    curve = np.zeros(last + 1)
    for length in reversed(lengths):
        curve = _worst(curve, step, length)
    return step, curve


def _worst(later: Array, step: float, length: int) -> Array:
    """The largest curve over all intervals of so many fine steps."""
    fine, size = step / PARTS, len(later)
    pad = length // PARTS + 2
    back = np.arange(pad, 0, -1)
    # To the left by V(-e) = 1 - e^-e + e^-e V(e), to the right by the last value, since the curve falls.
    mirrored = -np.expm1(-back * step) + np.exp(-back * step) * later[np.minimum(back, size - 1)]
    values = np.concatenate([mirrored, later, np.full(pad, later[-1])])
    between = [values]  # at the points less 0, 1, ... fine steps
    for part in range(1, PARTS):
        share = math.expm1(-part * fine) / math.expm1(-step)
        between.append(np.concatenate([values[:1], share * values[:-1] + (1 - share) * values[1:]]))

    def at(shift: int) -> Array:
        """V, so many fine steps to the left."""
        whole, part = divmod(shift, PARTS)
        return between[part][pad - whole : pad - whole + size]

    worst = np.zeros(size)
    for t in range(length + 1):
        # The mean: p e^-t + (1 - p) e^(epsilon - t) = 1.
        p = math.expm1((t - length) * fine) / math.expm1(-length * fine)
        np.maximum(worst, p * at(t) + (1 - p) * at(t - length), out=worst)
    # Far more than the rounding of a dozen operations on positive numbers.
    return worst * (1 + 1e-14)

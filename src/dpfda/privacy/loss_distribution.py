"""Tight composition: the law of the sum of many bounded losses, beside one Gaussian shift."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.privacy.loss_laws import Law

TAIL = 30.0  # minus the logarithm of the share of the tilted law that may lie outside the window
LEAST_SIZE, MOST_SIZE = 2**12, 2**20  # points of the grid
SPREAD = 4e-4  # the largest share of the variance that the grid may add, where the largest size allows it


@dataclass(frozen=True, slots=True)
class LossSpectrum:
    """The sum of independent losses on a grid, tilted: its weights are `P(l) e^(tilt l) / M`, as a Fourier transform.

    Every error is on the safe side. The grid's law dominates the exact one (`LossLaw.on_grid`). The tilt moves the bulk
    of the law to the epsilons asked for, so that the rounding of the transform is small beside what is summed there
    even for delta = 1e-100; a bound on that rounding is added to every weight. The transform is cyclic: what lies
    outside the window comes back into it and can only add; and once more it is bounded by Chernoff and added.
    """

    step: float
    size: int  # of the grid
    tilt: float
    lower: float  # two other orders at which the moments of the sum are kept, for the two tails
    upper: float
    log_moments: tuple[float, float, float]  # at tilt, lower and upper
    mean: float  # of the tilted law, where the window is put
    first: int  # the least and the largest sum, in steps
    last: int
    count: int
    transform: Array  # complex, (size // 2 + 1,)

    @staticmethod
    def of(laws: Counter[Law], mu: float, delta: float) -> LossSpectrum:
        """The sum of these laws, tilted for what it composes to at about this delta, with a shift of mu beside it."""
        moment, total = _moments(laws, 0.0), _moments(laws, mu)
        tilt = best_tilt(total, delta)
        width, variance, lower, upper = _window(moment, tilt, math.fsum(n * law.epsilon for law, n in laws.items()))
        largest = max(law.epsilon for law in laws)
        # A law that the tilt has driven to its end has hardly any variance: the window still spans the largest loss.
        width = max(width, 2 * largest)
        step = max(_step(laws, width, variance + mu * mu, renyi_epsilon(total, tilt, delta)), largest / MOST_SIZE)
        size = _fast_size(math.ceil(width / step) + 16)
        empty = LossSpectrum(
            step, size, tilt, lower, upper, (0.0, 0.0, 0.0), 0.0, 0, 0, 0, np.ones(size // 2 + 1, dtype=np.complex128)
        )
        # In one order, whatever the order of the releases: the same history gives the same number.
        for law, count in sorted(laws.items(), key=lambda item: (item[0].epsilon, repr(item[0]))):
            empty = empty.plus(law, count)
        return empty

    def suits(self, laws: Counter[Law], mu: float, delta: float) -> bool:
        """Whether the grid has places for all of these laws, and the tilt is about that for what they compose to."""
        if max(law.epsilon for law in laws) > MOST_SIZE * self.step:
            return False
        return 1 / 3 < self.tilt / best_tilt(_moments(laws, mu), delta) < 3

    def plus(self, law: Law, count: int = 1) -> LossSpectrum:
        """The sum with one more loss, `count` times, on the same grid."""
        from scipy.fft import rfft

        first, masses = law.on_grid(self.step)
        multiples = np.arange(first, first + len(masses))
        places = multiples * self.step
        logs = np.log(masses, out=np.full(len(masses), -np.inf), where=masses > 0)
        moments = []
        for order in (self.lower, self.upper, self.tilt):
            tilted = logs + order * places
            most = float(tilted.max())
            weights = np.exp(tilted - most)
            moments.append(most + math.log(float(weights.sum())))
        weights /= weights.sum()
        # A window of the sum is read off modulo the size of the grid: no offsets have to be kept.
        wrapped = np.bincount(multiples % self.size, weights=weights, minlength=self.size)
        kept = self.log_moments
        return replace(
            self,
            log_moments=(kept[0] + count * moments[2], kept[1] + count * moments[0], kept[2] + count * moments[1]),
            mean=self.mean + count * float(weights @ places),
            first=self.first + count * first,
            last=self.last + count * int(multiples[-1]),
            count=self.count + count,
            transform=self.transform * rfft(wrapped) ** count,
        )

    def curve(self, mu: float) -> Callable[[float], float]:
        """The privacy curve, from epsilon to delta, of all losses and a shift of normal noise by mu deviations."""
        from scipy.fft import irfft

        weights = np.maximum(irfft(self.transform, self.size), 0.0)
        # Along each path of a fast transform a number is rounded a few times a stage, so each value of the transform
        # errs by a few 2^-53 a stage of the sum of all weights, which is 1; products add these errors.
        weights += 2.0**-53 * 40 * math.log2(self.size) * (self.count + 2)
        multiples = self._multiples()
        places: Array = multiples.astype(np.float64) * self.step
        logs = np.log(weights[multiples % self.size]) - self.tilt * places + self.log_moments[0]
        # Masses carry relative errors far below the first terms, and each exponent is rounded in its last digits.
        reach = self.step * max(abs(self.first), abs(self.last))
        # A place on the grid stands for one a few roundings away: so much less is asked for.
        less = 2.0**-50 * reach
        slack = 1e-10 + 1e-11 * self.count + 2.0**-51 * (self.count + 4) * self.tilt * reach

        def delta(epsilon: float) -> float:
            epsilon -= less
            if mu > 0:
                terms = logs + _log_normal_curve(mu, epsilon - places)
            else:
                start = int(np.searchsorted(places, epsilon, side="right"))
                terms = logs[start:] + np.log(-np.expm1(epsilon - places[start:]))
            summed = float(np.exp(np.minimum(terms + slack, 1.0)).sum()) if len(terms) else 0.0
            return min(1.0, (summed + self.outside(mu, epsilon)) * (1 + 1e-12))

        return delta

    def _multiples(self) -> Integers:
        """The window, in steps: around the mean of the tilted law, as far as there are sums."""
        begin = max(self.first, min(round(self.mean / self.step) - self.size // 2, self.last - self.size + 1))
        return np.arange(begin, min(begin + self.size, self.last + 1))

    def outside(self, mu: float, epsilon: float) -> float:
        """A bound on what the losses outside the window add to delta."""
        window = self._multiples()
        begin, end = int(window[0]), int(window[-1])
        # With s the tilt, the curve of the shift is at most e^(-s x) E e^(s G), so a loss l contributes at most
        # P(l) e^(s l) times this; the rest is Chernoff's bound for the tilted law.
        shift = mu * mu * self.tilt * (self.tilt + 1) / 2
        total = 0.0
        if end < self.last:
            total += self._exp(shift, -self.tilt * epsilon, (self.tilt - self.upper) * end * self.step, 2)
        if begin > self.first and (mu > 0 or epsilon < begin * self.step):
            total += self._exp(shift, -self.tilt * epsilon, (self.tilt - self.lower) * begin * self.step, 1)
        return total

    def _exp(self, shift: float, there: float, place: float, which: int) -> float:
        terms = (shift, there, place, self.log_moments[which])
        rounding = 2.0**-51 * (self.count + 4) * (sum(map(abs, terms)) + 1)
        return math.exp(min(sum(terms) + rounding, 1.0))


def _moments(laws: Counter[Law], mu: float) -> Callable[[float], float]:
    """The logarithms of the moments of a sum of losses, and of a shift of mu deviations."""

    def moment(order: float) -> float:
        shift = mu * mu * order * (order + 1) / 2
        return math.fsum(count * law.log_moment(order) for law, count in laws.items()) + shift

    return moment


def best_tilt(moment: Callable[[float], float], delta: float) -> float:
    """The order less one at which Rényi divergences, `moment(t) / t` of order 1 + t, give the least epsilon."""
    low, high = -10.0, 12.0
    for _ in range(40):
        first, second = low + (high - low) * 0.382, low + (high - low) * 0.618
        if renyi_epsilon(moment, math.exp(first), delta) < renyi_epsilon(moment, math.exp(second), delta):
            high = second
        else:
            low = first
    return math.exp((low + high) / 2)


def renyi_epsilon(moment: Callable[[float], float], tilt: float, delta: float) -> float:
    """The epsilon that the Rényi divergence of order 1 + tilt proves (Canonne, Kamath and Steinke 2020)."""
    return (moment(tilt) - math.log(delta) - math.log1p(tilt)) / tilt - math.log1p(1 / tilt)


def _window(moment: Callable[[float], float], tilt: float, most: float) -> tuple[float, float, float, float]:
    """The width that holds the tilted law but for e^-TAIL, its variance, and the orders that show it."""
    here = moment(tilt)
    near = max(1e-3 * tilt, 1e-6)
    variance = max((moment(tilt + near) - 2 * here + moment(tilt - near)) / near**2, 1e-300)
    # Chernoff on both sides, at the best of a range of orders around the normal law's.
    offsets = [math.sqrt(2 * TAIL / variance) * 1.3**k for k in range(-16, 17)]
    above, upper = min(((moment(tilt + x) - here + TAIL) / x, tilt + x) for x in offsets)
    below, lower = max((-(moment(tilt - x) - here + TAIL) / x, tilt - x) for x in offsets)
    width = min(above, most) - max(below, -most)
    return width, variance, lower, upper


def _step(laws: Counter[Law], width: float, variance: float, epsilon: float) -> float:
    """The step of the grid: it adds at most a quarter of its square to the variance, and itself to epsilon, a loss."""
    count = laws.total()
    wanted = max(math.sqrt(4 * SPREAD * variance / count), SPREAD * epsilon / 2 / count)
    step = min(max(wanted, width / MOST_SIZE), width / LEAST_SIZE)
    # The commonest loss, and of these the largest, lies on the grid.
    law = max(laws, key=lambda law: (laws[law], law.epsilon))
    return law.epsilon / math.ceil(law.epsilon / step) if law.epsilon > step else step


def _fast_size(size: int) -> int:
    from scipy.fft import next_fast_len

    fast = int(next_fast_len(size, real=True))
    return fast + fast % 2


def _log_normal_curve(mu: float, epsilons: Array) -> Array:
    """The logarithm of the Gaussian privacy curve, rounded up as GaussianProfile does it."""
    from scipy.special import log_ndtr

    mu = max(mu, 1e-100)  # a larger shift loses more, and the squares below are numbers
    sizes = np.abs(epsilons)
    first = log_ndtr(mu / 2 - sizes / mu)
    second = sizes + log_ndtr(-mu / 2 - sizes / mu)
    far = mu / 2 + sizes / mu
    rest = -np.expm1(np.minimum(second - first, 0.0)) + 2.0**-50 * (1 + far * far)
    logs = first + np.log(rest)
    # Below zero by the symmetry of the pair, as `mirrored` has it.
    below = epsilons < 0
    logs[below] = np.log(-np.expm1(-sizes[below]) + np.exp(logs[below] - sizes[below]))
    return np.asarray(logs)

"""Composition of choices among candidates: tighter together than each by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from dpfda.arrays import Array

PLACES = 480  # of the grid to a typical epsilon, over the root of their number: as fine as a second of work allows
PARTS = 16  # of its steps: how finely the worst interval is looked for
TAIL = 700.0  # minus the logarithm of what may be left beyond the window: next to nothing that doubles could show


@dataclass(frozen=True, slots=True, eq=False)
class TableLaw:
    """A law of losses on whole multiples of a step, from minus to plus its last one; `parts.LossLaw` tells what for."""

    step: float
    masses: Array = field(repr=False)  # (2 last + 1,)

    @property
    def epsilon(self) -> float:
        return self.step * (len(self.masses) // 2)

    @property
    def places(self) -> Array:
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

"""Exact draws with weights `exp(concave)`, below an envelope of normal proposals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Protocol

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.mechanisms.ball import Coordinate, best_tilt
from dpfda.mechanisms.decision import Booleans, decide, exponential, exponential_exactly, wide
from dpfda.mechanisms.randomness import Randomness

BATCH = 8  # proposals that are made together


class SummedUtility(Protocol):
    """An objective that adds up, over units, utilities rounded to whole steps."""

    @property
    def units(self) -> Array:
        """The units, (n, m)."""

    def __call__(self, point: Integers | Array) -> int: ...


@dataclass(frozen=True, eq=False)
class Target:
    """Weights `exp(rate total(b) - sum_j precisions[j] b_j^2)` on the integer vectors of a ball."""

    total: SummedUtility
    rate: float
    precisions: Array
    radius: int

    def exponent(self, point: Integers, place: Integers, gain: int) -> Fraction:
        """The exact log weight of a point over that of another, whose objective is smaller by `gain`."""
        prior = sum(
            Fraction(precision) * ((int(b) - int(a)) * (int(b) + int(a)))
            for precision, a, b in zip(self.precisions.tolist(), place, point, strict=True)
        )
        return Fraction(self.rate) * gain - prior

    def inside(self, points: Integers) -> Booleans:
        """Which points lie in the ball, (m, size) -> (m,)."""
        # Coordinate by coordinate first: squares of those that are left cannot overflow.
        near: Booleans = np.asarray((np.abs(points) <= self.radius).all(axis=1))
        clipped = np.where(near[:, None], points, 0)
        return np.asarray(near & ((clipped * clipped).sum(axis=1) <= self.radius**2))


@dataclass(frozen=True, eq=False)
class Component:
    """Proposals `place + z` with weights `exp(height - sum_j precisions[j] z_j^2)`, for `least < |z| <= most`."""

    height: float
    precisions: Array
    most: int
    least: int = -1  # none: the place itself belongs to it too

    @property
    def log_mass(self) -> float:
        """But for `pi^(m/2)`; a discrete normal law whose deviation is 64 steps has this mass to 10^-30000."""
        return self.height - 0.5 * float(np.log(self.precisions).sum())

    def holds(self, moves: Integers) -> Booleans:
        """Which moves belong to this component: those whose length is in its range."""
        near: Booleans = np.asarray((np.abs(moves) <= self.most).all(axis=1))
        clipped = np.where(near[:, None], moves, 0)
        squares = (clipped * clipped).sum(axis=1)
        return np.asarray(near & (squares <= self.most**2) & (squares > self.least * abs(self.least)))

    def draw(self, size: int, randomness: Randomness) -> Integers:
        """Proposals, each coordinate a discrete normal number, (draws, size)."""
        laws = (Coordinate.build(Fraction(0), Fraction(precision)) for precision in self.precisions.tolist())
        return np.stack([law.draw(size, randomness) for law in laws], axis=1)

    def exponent(self, moves: Integers) -> Fraction:
        """The exact logarithm of the envelope at a move."""
        return Fraction(self.height) - sum(
            Fraction(precision) * int(move) ** 2
            for precision, move in zip(self.precisions.tolist(), moves, strict=True)
        )


@dataclass(frozen=True, eq=False)
class Envelope:
    """A bound on all weights, relative to that at `place`: one component, or two that share out the ball."""

    place: Integers
    base: int  # the objective at the place
    components: tuple[Component, ...]

    @property
    def log_mass(self) -> float:
        """The logarithm of the mass of all components: the smaller, the more proposals are accepted."""
        return float(np.logaddexp.reduce([component.log_mass for component in self.components]))

    def pick(self, size: int, randomness: Randomness) -> Integers:
        """The component of each of several proposals, in exact proportion to their masses, (size,)."""
        if len(self.components) == 1:
            return np.zeros(size, dtype=np.int64)
        near, far = self.components
        # Logarithms are known but for a few roundings of their size, and so many times less in the share itself.
        error = 2.0**-44 * (len(self.place) * 64 + abs(near.height) + abs(far.height))
        more = near.log_mass - far.log_mass
        low, high = (1 / (1 + math.exp(min(more + off, 700.0))) for off in (error, -error))
        low = low * (1 - 2.0**-50) if more + error < 700 else 0.0  # so far out it is left open
        bounds = np.full(size, low), np.full(size, high * (1 + 2.0**-50))
        return np.asarray(decide(*bounds, lambda _, digits: _far_share(near, far, digits), randomness), dtype=np.int64)

    def draw(self, target: Target, randomness: Randomness) -> Integers | None:
        """The first accepted one of a batch of proposals, if any."""
        picked = self.pick(BATCH, randomness)
        moves = np.zeros((BATCH, len(self.place)), dtype=np.int64)
        held = np.zeros(BATCH, dtype=bool)
        for index, component in enumerate(self.components):
            mine = np.flatnonzero(picked == index)
            if len(mine):
                moves[mine] = component.draw(len(mine), randomness)
                held[mine] = component.holds(moves[mine])
        points = self.place + np.where(held[:, None], moves, 0)
        held &= target.inside(points)
        for row in np.flatnonzero(held):
            gain = target.total(points[row]) - self.base
            below = self.components[picked[row]].exponent(moves[row]) - target.exponent(points[row], self.place, gain)
            # A weight above its envelope: what was stated about the utility is false, and the guarantee does not hold.
            # Accepted all the same. The law is then the lower one of weight and envelope, another one for every data
            # set but positive everywhere; an error would be an output too, one that some data sets have almost surely
            # and their neighbours never. And nobody could be told of it: that it happened depends on the units.
            if accept([max(below, Fraction(0))], randomness)[0]:
                drawn: Integers = points[row]
                return drawn
        return None


def _far_share(near: Component, far: Component, digits: int) -> tuple[Decimal, Decimal]:
    """Bounds on the far component's share of the mass, by correctly rounded decimals."""
    with localcontext(wide(digits)):
        ratio = Decimal(1)
        for one, other in zip(near.precisions.tolist(), far.precisions.tolist(), strict=True):
            ratio *= Decimal(one) / Decimal(other)
        lower = Decimal(far.height) - Decimal(near.height)
        odds = ratio.sqrt() * lower.exp()
        share = odds / (1 + odds)
        # Two operations for each coordinate and some more, each correctly rounded; the exponential magnifies one.
        error = share * (2 * len(near.precisions) + 100 + 2 * abs(lower)) * Decimal(10) ** (1 - digits)
        return share - error, share + error


def accept(exponents: list[Fraction], randomness: Randomness) -> Booleans:
    """Yes with probability exactly `exp(-exponent)`, for each of several that are 0 or more."""
    rounded = np.array([float(exponent) for exponent in exponents])

    def refine(row: int, digits: int) -> tuple[Decimal, Decimal]:
        with localcontext(wide(digits)):
            exactly = Decimal(exponents[row].numerator) / Decimal(exponents[row].denominator)
        return exponential_exactly(exactly, exactly, digits)

    return decide(*exponential(rounded, 2.0**-52 * rounded), refine, randomness)


UNEVENNESS = 8  # steps by which one unit's utility may differ from a concave function
SEARCHES = 8  # for the maximum, each at a smaller scale than the one before
RADII = 48  # at which the curvature is asked for
NARROWEST = 2.0**-13  # a precision: that of a deviation of 64 steps


# A place and radii to how strongly the objective bends within each of them, in every coordinate, (radii, size).
Bend = Callable[[Integers, Array], Array]


def draw_below(target: Target, bend: Bend, randomness: Randomness) -> Integers:
    """An exact draw from a target whose objective is concave and bends at least as stated, (size,).

    Proposals are accepted with probability weight over envelope, decided exactly. The number of batches, and so the
    time, depends on the units. There is no last batch: giving up would be an output, whose probability depends on the
    units by more than epsilon allows.
    """
    envelope = best_envelope(target, bend)
    while True:
        accepted = envelope.draw(target, randomness)
        if accepted is not None:
            return accepted


def best_envelope(target: Target, bend: Bend) -> Envelope:
    """The envelope of least mass among some; all of them are valid, wherever the search for the maximum ended.

    Let F be the concave part of the log weight. Its slope at a place in any direction is at most what the values on
    either side say: `F(b) - F(b - h e_j)` over h bounds the slope towards larger `b_j`, and concavity carries this over
    to all directions at once. Beyond that F falls by what it bends. So neither a derivative of the utility nor a true
    maximum is needed, only concavity; a poor maximum costs acceptances. `s_j |z_j| <= s_j^2 / 2x + x z_j^2 / 2` turns
    slopes into heights and precisions.
    """
    place = _maximum(target, bend)
    deviations = _deviations(target, bend, place)
    base, slopes, loss = _slopes(target, place, np.maximum(np.rint(deviations / 1024), 1.0).astype(np.int64))
    farthest = target.radius + math.isqrt(int((place * place).sum())) + 2  # no two points of the ball are so far apart
    radii = np.geomspace(min(float(deviations.min()) / 4, farthest / 2), farthest, RADII)
    falls = target.rate * bend(place, radii)
    candidates = [
        Envelope(place, base, components)
        for tilt in _tilts(target, place, slopes, falls[-1])
        for components in _components(target, place, slopes, loss, tilt, radii, falls)
        # The masses of two components are compared, and known only for laws that are wide in steps of the lattice.
        if len(components) == 1 or all(float(c.precisions.max()) <= NARROWEST for c in components)
    ]
    return min(candidates, key=lambda envelope: envelope.log_mass)


def _tilts(target: Target, place: Integers, slopes: tuple[Array, Array], falls: Array) -> list[float]:
    """How much may be added of `radius^2 - |b|^2`, never negative.

    On the sphere it takes up the slope that is left. Where the law is wider than the ball it makes proposals narrower.
    """
    square = float((place * place).sum())
    slope = float((slopes[0] * place).sum()) / (2 * square) if square else 0.0
    wide = best_tilt(np.zeros(len(place)), target.precisions + falls / 2, float(target.radius) ** 2)
    return [0.0, *(tilt for tilt in (slope, wide) if tilt > 0)]


def _slopes(target: Target, place: Integers, steps: Integers) -> tuple[int, tuple[Array, Array], float]:
    """The objective at a place, slopes of the log weight there with their errors, and what rounding may hide.

    Values differ from those of a concave function by a few steps for each unit.
    """
    base = target.total(place)
    loss = target.rate * UNEVENNESS * len(target.total.units)
    up, down = np.empty((2, len(place)))
    for j, step in enumerate(steps):
        aside = np.zeros_like(place)
        aside[j] = step
        up[j] = target.rate * (target.total(place + aside) - base) / step
        down[j] = target.rate * (base - target.total(place - aside)) / step
    # Never negative where the objective is concave; where it is not, see `Envelope.draw`.
    errors = np.maximum((down - up) / 2 + 2 * loss / steps, 0.0)
    # A shade more, which outweighs the rounding of these few lines.
    errors = errors * (1 + 1e-9) + 1e-12 * np.abs(up + down)
    return base, ((up + down) / 2 - 2 * target.precisions * place, errors), 2 * loss


def _components(
    target: Target,
    place: Integers,
    slopes: tuple[Array, Array],
    loss: float,
    tilt: float,
    radii: Array,
    falls: Array,
) -> list[tuple[Component, ...]]:
    """Envelopes of one component, and of two that meet at each of the radii."""
    left = np.abs(slopes[0] - 2 * tilt * place) * (1 + 1e-12) + slopes[1]
    height = loss + tilt * (target.radius**2 - float((place * place).sum())) * (1 + 1e-9) + 1e-9
    own = 2 * (target.precisions + tilt)
    farthest = math.ceil(radii[-1])
    least = falls.min(axis=1)  # in any direction
    found: list[tuple[Component, ...]] = []
    for index, radius in enumerate(radii):
        last = index == len(radii) - 1
        near = _normal(height, left, own + falls[index], farthest if last else math.floor(radius))
        if last:
            found.append((near,))
            continue
        # What lies beyond, below normal laws of several widths.
        widths = np.array([0.0])
        if least[index] > 0:
            widths = np.geomspace(min(least[index], 1 / radii[-1] ** 2), least[index], 12)
        above = [
            _normal(height + float(excess), left, own + width, farthest, near.most)
            for width, excess in zip(widths, _excess(widths, radii, least, near.most), strict=True)
        ]
        found.append((near, min(above, key=lambda component: component.log_mass)))
    return found


def _normal(height: float, slopes: Array, precisions: Array, most: int, least: int = -1) -> Component:
    """A component above `height + sum_j (slopes[j] |z_j| - precisions[j] z_j^2 / 2)`."""
    given = np.minimum(slopes * np.sqrt(precisions), precisions / 2)
    taken = np.divide(slopes**2, 2 * given, out=np.zeros_like(slopes), where=given > 0)
    top = height + float(taken.sum())
    return Component(top + 1e-12 * abs(top), (precisions - given) / 2, most, least)


def _excess(widths: Array, radii: Array, falls: Array, start: int) -> Array:
    """The least k with `-fall(t) <= k - width t^2 / 2` from a radius on, for each width; fall'' is that of the next."""
    at = np.append(0.0, radii[:-1])
    slopes = np.append(0.0, np.cumsum(falls * (radii - at)))[:-1]
    values = np.append(0.0, np.cumsum(slopes * (radii - at) + falls * (radii - at) ** 2 / 2))[:-1]
    beyond = radii > start
    at, slopes, values, bending, ends = (part[beyond] for part in (at, slopes, values, falls, radii))
    starts, width = np.maximum(at, start), widths[:, None]
    # In each cell fall is a parabola, so the difference is largest at an end or where its slope vanishes.
    room = np.where(width == bending, 1.0, width - bending)
    inner = np.clip(np.where(width == bending, starts, (slopes - bending * at) / room), starts, ends)
    most = np.full(len(widths), -np.inf)
    for t in (starts, ends, inner):
        fall = values + slopes * (t - at) + bending * (t - at) ** 2 / 2
        most = np.maximum(most, (width * t * t / 2 - fall * (1 - 1e-9)).max(axis=1))
    return most


def _deviations(target: Target, bend: Bend, place: Integers) -> Array:
    """About how far the law reaches around a place in every coordinate, (size,)."""
    bending = target.rate * bend(place, np.array([1.0]))[0]  # (size,)
    return np.asarray(np.minimum(1 / np.sqrt(2 * target.precisions + bending), float(target.radius)))


def _maximum(target: Target, bend: Bend) -> Integers:
    """A point of the ball near the largest weight; only how many proposals it takes depends on it."""
    from scipy.optimize import minimize

    middle = np.zeros(len(target.precisions), dtype=np.int64)
    scales = _deviations(target, bend, middle)
    base = target.total(middle)
    room = target.radius * (1 - 2.0**-9)  # so that the points beside it lie in the ball too

    def inside(whitened: Array) -> tuple[Array, float]:
        point = middle + whitened * scales
        norm = float(np.sqrt((point * point).sum()))
        return point * min(1.0, room / max(norm, 1e-300)), max(norm - room, 0.0)

    def cost(whitened: Array) -> float:
        point, beyond = inside(whitened)
        weight = target.rate * (target.total(point) - base) - float((target.precisions * point * point).sum())
        return -weight + (beyond / float(scales.min())) ** 2

    def slopes(whitened: Array) -> Array:
        aside = np.eye(len(whitened)) / 128
        return np.array([cost(whitened + step) - cost(whitened - step) for step in aside]) * 64

    for _ in range(SEARCHES):
        found = minimize(cost, np.zeros(len(scales)), method="L-BFGS-B", jac=slopes, options={"maxiter": 60})
        middle = np.rint(inside(np.asarray(found.x))[0]).astype(np.int64)
        # Units close together make a peak much narrower than what was seen from the centre: once more, from nearby.
        narrower = _deviations(target, bend, middle)
        if (narrower > scales / 16).all():
            break
        scales = np.maximum(narrower, scales / 64)
    return middle

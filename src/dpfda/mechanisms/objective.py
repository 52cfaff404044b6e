"""The exponential mechanism in general: points drawn in proportion to `exp(utility)`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, ArrayLike, Integers, as_real, brief
from dpfda.errors import UsageError
from dpfda.mechanisms.ball import Coordinate, best_tilt
from dpfda.mechanisms.base import check_coordinates
from dpfda.mechanisms.choice import MOST_CANDIDATES, ChoiceLaw, Scores, choose
from dpfda.mechanisms.concave import Target, accept, draw_below
from dpfda.mechanisms.decision import Booleans
from dpfda.mechanisms.randomness import Randomness
from dpfda.privacy import RangeProfile
from dpfda.privacy.norms import Norm, Sensitivity, up

Utility = Callable[[Array, Array], ArrayLike]  # units (n, m) and one point (m,) to one number for each unit, (n,)
Curvature = Callable[[Array], ArrayLike]  # distances to lower bounds on how strongly a utility bends there

UTILITY_STEPS = 2**40  # the range of one unit's utility, in integer steps
NARROWEST_RANGE, WIDEST_RANGE = 1e-200, 1e200  # of one unit's utility: steps and their reciprocals are finite doubles
MOST_PLANNED = 2**20  # units that a plan may be for
# A unit's utility may come out differently by the rounding of one step when the units it is computed with are others,
# as sums in a matrix product do. So much of 2^25 units together is counted in the sensitivity, twice over: where their
# number is private there may be more of them than were planned for, and a refusal at some number would tell it.
SPARE_STEPS = 2 * 2**25
BLOCK = 1024  # units that a utility is asked about at a time, always as many: no call shows how many there are
POINTS = 2**24  # lattice steps in the radius of the ball of points
LEAST_DEVIATION = 64.0  # of any coordinate, in these steps: discrete normal laws weigh as much as continuous ones


@dataclass(frozen=True, slots=True)
class Supremum(Norm):
    """The largest change over all points at which an objective can be evaluated."""

    def _of(self, vector: Array) -> float:
        return float(np.abs(vector).max(initial=0.0))

    def over_l2(self, size: int) -> float:
        return 1.0


def spread_of(size_is_public: bool) -> float:
    """How far apart one unit can move the objective at two points, in steps.

    A unit adds between 0 and `UTILITY_STEPS`. Replaced, it moves the objective up at one point and down at another;
    added, only up: the "factor of 2" that Awan et al. say can sometimes be removed.
    """
    return float((2 if size_is_public else 1) * (UTILITY_STEPS + SPARE_STEPS))


@dataclass(frozen=True, eq=False)
class Objective:
    """An integer vector b of the ball, drawn in proportion to `exp(total(b) / scale) base(b)`.

    McSherry and Talwar (2007), as in Awan et al. (2019), Proposition 3.1. `total` adds up every unit's utility, each
    moved into its public limits and rounded to one of `UTILITY_STEPS` equal steps: an integer that one unit moves by at
    most as many. That rests on the utility, which is trusted code: it must look at one unit at a time, give the same
    answer whenever it is asked, and keep no state. The base measure is a Gaussian process on the lattice, with
    deviation `prior[j]` in coordinate j, cut to the ball of `POINTS` steps (the erratum to Example 3.5). With
    `penalties` the objective is `total(b) - sum_j penalties[j] b_j^2`, the penalised one of that example. Weights are
    exact numbers and so are all decisions: the law is the stated one, not one near it.

    With a `curvature` points come from `draw_below`, and the guarantee rests on its truth as well. Without, so many as
    `candidates` are drawn from the base measure, before any unit is looked at, and one of them is chosen.

    `draw` takes the units' coordinates one after the other, in steps of `unit_step`, and returns b in steps of `step`.
    """

    utility: Utility
    limits: tuple[float, float]
    prior: tuple[float, ...]  # in point steps
    unit_step: float
    step: float
    candidates: int
    curvature: Curvature | None = None
    across: Curvature | None = None  # of a utility of the distance alone: across the line to the unit, where it is more
    penalties: tuple[float, ...] = ()  # steps of the utility that are taken off for each coordinate's square

    name: ClassVar[str] = "exponential mechanism"
    norm: ClassVar[Norm] = Supremum()
    pure: ClassVar[bool] = True

    def __post_init__(self) -> None:
        try:
            low, high = map(as_real, self.limits)
        except (TypeError, ValueError):
            low = high = math.nan
        if not NARROWEST_RANGE <= high - low <= WIDEST_RANGE:
            raise UsageError(
                "utility_range, the public range of one unit's utility, must be two finite numbers (low, high), high "
                f"above low by {NARROWEST_RANGE:g} to {WIDEST_RANGE:g}, got {brief(self.limits)}.",
                parameter="utility_range",
                value=self.limits,
            )
        object.__setattr__(self, "limits", (low, high))
        if not self.prior or not all(LEAST_DEVIATION <= deviation <= POINTS**2 for deviation in self.prior):
            raise UsageError(
                f"The base measure needs a deviation of at least {LEAST_DEVIATION:g} of the {POINTS} lattice steps in "
                f"the radius for each coordinate, got {self.prior}.",
                parameter="prior",
            )
        if self.penalties and not (
            len(self.penalties) == len(self.prior) and all(0 <= penalty < math.inf for penalty in self.penalties)
        ):
            raise UsageError(
                f"A penalty has one number of 0 or more for each coordinate, got {brief(self.penalties)}.",
                parameter="penalty",
            )
        if self.curvature is None and not 1 <= self.candidates <= MOST_CANDIDATES:
            raise UsageError(
                parameter="candidates", value=self.candidates, rule=f"must be between 1 and {MOST_CANDIDATES}"
            )

    @property
    def size(self) -> int:
        """The number of coordinates of a point."""
        return len(self.prior)

    @property
    def precisions(self) -> Array:
        """The base measure's weights are `exp(-sum_j precisions[j] b_j^2)`, (size,)."""
        return 0.5 / np.array(self.prior) ** 2

    def precisions_at(self, rate: float) -> Array:
        """The same with the penalty, (size,).

        Both are public numbers, so that together they are one base measure: a penalty costs no privacy, whatever it is.
        """
        return np.asarray(self.precisions + rate * np.array(self.penalties)) if self.penalties else self.precisions

    def request_parts(self) -> dict[str, Any]:
        """By what it is hashed: keys were given before there were penalties."""
        known = {each.name: getattr(self, each.name) for each in fields(self)}
        return known if self.penalties else {name: part for name, part in known.items() if name != "penalties"}

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> RangeProfile:
        # Log likelihood ratios are the change of the objective over the scale, and a constant.
        return RangeProfile(up(sensitivity.to(self.norm, size).value / scale))

    def noise(self, scale: float, size: int) -> ChoiceLaw:
        """The law of a choice: nothing is added, the point is drawn as a whole."""
        return ChoiceLaw((self.size,), (scale,))

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Integers:
        """One point, (size,)."""
        vector = check_coordinates(coordinates)
        if len(vector) % self.size:
            raise UsageError(
                f"Units have {self.size} coordinates each, got {len(vector)} in all.",
                parameter="coordinates",
                value=len(vector),
            )
        # A warning of the utility would say something about a unit.
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return self._draw(self.total(vector), scale, randomness)

    def total(self, vector: Integers) -> Total:
        """The objective of these units."""
        return Total(self, vector.reshape(-1, self.size).astype(np.float64) * self.unit_step)

    def _draw(self, total: Total, scale: float, randomness: Randomness) -> Integers:
        rate = math.nextafter(1 / scale, 0.0)  # never above the rate that was paid for
        if self.curvature is not None:
            return draw_below(Target(total, rate, self.precisions_at(rate), POINTS), total.bend, randomness)
        points = self.base_points(self.candidates, randomness, rate=rate)
        most = UTILITY_STEPS * len(total.units)
        missed = tuple(most - total(point) for point in points)
        chosen: Integers = points[choose(Scores((0,) * len(points), missed), rate, randomness=randomness)]
        return chosen

    def base_points(self, size: int, randomness: Randomness, *, rate: float = 0.0) -> Integers:
        """Exact draws from the base measure, with the penalty at a rate, (size, coordinates).

        Tilted as in `draw_in_ball`, so that many proposals are accepted however little of the process lies in the ball.
        """
        precisions = self.precisions_at(rate)
        tilt = Fraction(best_tilt(np.zeros(self.size), precisions, float(POINTS) ** 2))
        laws = [Coordinate.build(Fraction(0), Fraction(precision) + tilt) for precision in precisions.tolist()]
        kept: list[Integers] = []
        missing = size
        while missing > 0:
            points = np.stack([law.draw(2 * missing + 8, randomness) for law in laws], axis=1)
            # Coordinate by coordinate first: squares of those that are left cannot overflow.
            points = points[(np.abs(points) <= POINTS).all(axis=1)]
            below = POINTS**2 - (points * points).sum(axis=1)
            points, below = points[below >= 0], below[below >= 0]
            kept.append(points[accept([tilt * int(room) for room in below], randomness)][:missing])
            missing -= len(kept[-1])
        return np.concatenate(kept)


class Total:
    """The sum over units of their utilities, in whole steps; a function of the point."""

    def __init__(self, objective: Objective, units: Array) -> None:
        self.objective = objective
        # In one order whatever the file's: sums do not depend on it, but rounding inside the utility might.
        self.units = units[np.lexsort(units.T[::-1])]
        blocks = -(-len(units) // BLOCK)
        padded = np.zeros((blocks * BLOCK, objective.size))
        padded[: len(units)] = self.units
        padded.flags.writeable = False  # a utility that works in place fails at its first trial
        self.blocks = [padded[start : start + BLOCK] for start in range(0, len(padded), BLOCK)]
        self.failed: Booleans = np.zeros(len(units), dtype=bool)  # units whose utility was no number somewhere

    def __call__(self, point: Integers | Array) -> int:
        """The objective at a point in steps; doubles for points between those of the lattice."""
        where: Array = point.astype(np.float64) * self.objective.step
        where.flags.writeable = False
        total = 0
        for start, block in zip(range(0, len(self.units), BLOCK), self.blocks, strict=True):
            found, failed = utilities(self.objective.utility, self.objective.limits, block, where)
            mine = self.failed[start : start + BLOCK]
            mine |= failed[: len(mine)]
            total += int(found[: len(mine)].sum())
        return total

    def bend(self, point: Integers, radii: Array) -> Array:
        """How the objective bends at least within each radius of a point, (radii, size).

        Row k is a diagonal matrix below minus the second derivative, in steps of the utility by steps of the points
        squared. A unit whose utility is no number counts as the lowest wherever it is asked: it does not bend at all.
        """
        objective = self.objective
        assert objective.curvature is not None
        low, high = objective.limits
        found = np.empty((len(radii), objective.size))
        for index, radius in enumerate(radii * objective.step):
            least, matrix = 0.0, np.zeros((objective.size, objective.size))
            for start in range(0, len(self.units), BLOCK):
                ways = self.units[start : start + BLOCK] - point * objective.step
                distances = np.sqrt((ways**2).sum(axis=1)) * (1 + 1e-12)
                works = ~self.failed[start : start + BLOCK]
                along = bends(objective.curvature, distances + radius) * works
                least += along.sum()
                if objective.across is not None:
                    across = bends(objective.across, distances + radius) * works
                    matrix += across_lines(ways, distances, radius, along, across)
            # Below a matrix lies what is left of its diagonal by the rest of each row (Gershgorin).
            rows = 2 * np.diag(matrix) - np.abs(matrix).sum(axis=1)
            better = (rows > 0).all() and np.log(rows).sum() > objective.size * math.log(max(least, 1e-300))
            found[index] = rows if better else least
        # In an order in which nothing overflows where the curvature is true; 0 is true of all concave functions.
        scaled = found / (high - low) * objective.step * objective.step * (UTILITY_STEPS * (1 - 1e-9))
        return np.where(np.isfinite(scaled), scaled, 0.0)


def across_lines(ways: Array, distances: Array, radius: float, along: Array, across: Array) -> Array:
    """A matrix below the sum of `T I - (T - K) e e'` within a radius: units bend by K along lines e, by T across.

    Within the radius of a place, as seen from which a unit lies at `e0`, e turns by an angle of sine s at most, so that
    `e e' <= (1 + s) e0 e0' + (s + s^2) I`. Nearby units, whose lines turn more, bend by K in all directions at least.
    """
    sines = radius / np.maximum(distances, 1e-300)
    far = sines <= 0.5
    more = np.where(far, np.maximum(across - along, 0.0), 0.0)
    sines = np.where(far, sines, 0.0)
    lines = ways / np.maximum(distances, 1e-300)[:, None]
    level = (along + more * (1 - sines - sines**2)).sum()
    turned: Array = lines.T @ (lines * (more * (1 + sines))[:, None])
    return np.asarray(level * np.eye(ways.shape[1]) - turned * (1 + 1e-9))


def utilities(utility: Utility, limits: tuple[float, float], units: Array, point: Array) -> tuple[Integers, Booleans]:
    """Every unit's utility at a point in whole steps from 0 to `UTILITY_STEPS`, and where it is no number, each (n,).

    What is no number counts as 0: an error would tell that there is such a unit.
    """
    low, high = limits
    values = answers(utility, units, point)
    failed = np.isnan(values)
    values = np.clip(np.where(failed, low, values), low, high)
    whole = np.clip(np.floor((values - low) * (UTILITY_STEPS / (high - low))), 0, UTILITY_STEPS).astype(np.int64)
    # Clipped again as integers: this, not the arithmetic before it, is what the sensitivity rests on.
    return np.clip(whole, 0, UTILITY_STEPS), failed


def answers(utility: Utility, units: Array, point: Array) -> Array:
    """What the utility says of every unit, NaN of units on which it fails by itself, (n,).

    Where a call fails, halves of the units are asked about with zeros in place of the others, down to one unit alone in
    a block of zeros: a unit on which the utility fails takes no other unit's answer away.
    """
    values = _asked(utility, units, point)
    if values is not None:
        return values
    found, waiting = np.full(len(units), np.nan), [(0, len(units))]
    while waiting:
        start, stop = waiting.pop()
        among = np.zeros_like(units)
        among[start:stop] = units[start:stop]
        among.flags.writeable = False
        values = _asked(utility, among, point)
        if values is not None:
            found[start:stop] = values[start:stop]
        elif stop - start > 1:
            middle = (start + stop) // 2
            waiting += [(start, middle), (middle, stop)]
    return found


def _asked(utility: Utility, units: Array, point: Array) -> Array | None:
    try:
        values = np.asarray(utility(units, point), dtype=np.float64)
    except Exception:
        return None
    return values if values.shape == (len(units),) else None


def bends(curvature: Curvature, distances: Array) -> Array:
    """The stated curvature at these distances; 0, which is true of all concave functions, where it is no number."""

    def told(some: Array) -> Array | None:
        try:
            return np.broadcast_to(np.asarray(curvature(some), dtype=np.float64), some.shape)
        except Exception:
            return None

    values = told(distances)
    if values is None:
        alone = [told(distances[index : index + 1]) for index in range(len(distances))]
        values = np.array([0.0 if value is None else value[0] for value in alone])
    return np.where(np.isfinite(values), np.maximum(values, 0.0), 0.0)

"""Losses of the user's own: a claim that is tried at public arguments, and the table that is minimised instead."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, ArrayLike, Integers, as_real, told
from dpfda.errors import UsageError
from dpfda.releases.cards.words import plain
from dpfda.statistics.machines.losses import CLASSIFIERS, REGRESSORS, Loss, Smooth

HALF = 8192  # knots on each side of zero
FARTHEST = 64.0  # the last knot, in units of t; beyond it losses go on in straight lines
COARSER = (1024, 512, 256, 128, 64, 32, 16, 8, 4, 2)  # every which knot is kept while a minimum is looked for
QUANTUM = 2.0**-30  # steps of slopes in a table, in units of the largest
NEAR = 1e-9  # by how much a claim may be off, for roundings
DIGITS = 1e-12  # and values, against the largest of them
LONGEST_NAME = 60
MOST = 1e20  # of slopes and of units of t: beyond, products of theirs would leave double precision
ROUNDED = 2.0**-70  # what roundings of slopes cost, in units of the largest slope and the distance of two knots


@dataclass(frozen=True, kw_only=True)
class StatedLoss:
    """A loss of the user's own for kernel machines: convex, with slopes of at most `lipschitz`, as its user claims.

    Parameters
    ----------
    value, slope : functions of an array of arguments t, which return as many losses and their derivatives. t is the
        margin `y f(x)` of a classifier with y = -1 or 1, the residual `f(x) - y` of a regressor.
    lipschitz : the largest size of a slope, `M` of an M-admissible loss (Hall et al., Definition 10). Noise is in
        proportion to it.
    name : for the card.

    Both functions are asked for public arguments alone, before anything is charged: 16,385 of them, closest around
    zero, up to 64 units of t (a margin of 1, the bound on responses). A claim that fails there is refused. What a
    machine minimises is the table of these slopes: straight between them, constant beyond them, never falling and never
    above `lipschitz`. So the guarantee holds whatever the functions do elsewhere, or later.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda.statistics.machines.own_loss import StatedLoss
    >>> upper = StatedLoss(  # of a quantile: nine in ten responses lie below the function
    ...     value=lambda t: np.maximum(-0.9 * t, 0.1 * t),
    ...     slope=lambda t: np.where(t < 0, -0.9, 0.1),
    ...     lipschitz=0.9,
    ...     name="quantile 0.9",
    ... )
    """

    value: Callable[[Any], ArrayLike]
    slope: Callable[[Any], ArrayLike]
    lipschitz: float
    name: str = "stated"

    def __post_init__(self) -> None:
        for name in ("value", "slope"):
            if not callable(getattr(self, name)):
                raise UsageError(
                    parameter=name, value=getattr(self, name), rule="must be a function of an array of arguments"
                )
        if not 1 / MOST <= as_real(self.lipschitz) <= MOST:
            raise UsageError(
                parameter="lipschitz",
                value=self.lipschitz,
                rule=f"must be a positive finite number, between {1 / MOST:g} and {MOST:g}",
                fix="It is the largest size of the slope, and may not be read from the data.",
            )
        known = (*CLASSIFIERS, *REGRESSORS)
        named = isinstance(self.name, str) and 1 <= len(self.name) <= LONGEST_NAME and self.name.isprintable()
        if not named or self.name in known:
            raise UsageError(
                parameter="name",
                value=self.name,
                rule=f"is 1 to {LONGEST_NAME} printable characters, and none of {', '.join(map(repr, known))}",
            )


def knots_of(scale: float) -> Array:
    """Arguments at which losses are tabulated, closest around zero: distances grow like `sqrt(1 + (t/scale)^2)`."""
    steps = np.arange(-HALF, HALF + 1) / HALF
    knots: Array = scale * np.sinh(math.asinh(FARTHEST) * steps)
    return knots


def tabulated(stated: StatedLoss, *, margin: bool, scale: float) -> TabulatedLoss:
    """The table of a loss at public arguments; refused where its claim is seen to be false."""
    if not 1 / MOST <= scale <= MOST:
        raise UsageError(
            parameter="response_bound",
            value=scale,
            rule=f"must lie between {1 / MOST:g} and {MOST:g} with a loss of your own",
            fix="State responses in other units.",
        )
    knots = knots_of(scale)
    slopes, values = (_asked(stated, each, knots) for each in ("slope", "value"))
    steepest = int(np.argmax(np.abs(slopes)))
    if abs(slopes[steepest]) > stated.lipschitz * (1 + NEAR):
        raise UsageError(
            parameter="lipschitz",
            value=stated.lipschitz,
            rule=f"must be at least every slope; at t = {knots[steepest]:.6g} the slope is {slopes[steepest]:.6g}",
            fix="State the largest size of the slope.",
        )
    falls = np.flatnonzero(np.diff(slopes) < -NEAR * stated.lipschitz)
    if len(falls):
        place = int(falls[0])
        raise UsageError(
            parameter="slope",
            value=(float(slopes[place]), float(slopes[place + 1])),
            rule=f"may not fall, as it does from t = {knots[place]:.6g} to {knots[place + 1]:.6g}: that is not convex",
            fix="Without convexity one person could move the minimiser by any distance.",
        )
    _check_values(stated, knots, slopes, values)
    return _table(stated.name, stated.lipschitz, knots, slopes, margin=margin, scale=scale)


def _asked(stated: StatedLoss, which: str, knots: Array) -> Array:
    """What a function of the loss says at the knots; refused where it fails or says no numbers."""
    between = f"for t between {knots[0]:.6g} and {knots[-1]:.6g}"
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(getattr(stated, which)(knots.copy()), dtype=np.float64)
    except Exception as error:
        raise UsageError(
            parameter=which,
            value=told(error),
            rule=f"takes an array of arguments {between} and returns as many numbers",
            fix="It failed at public arguments, and nothing was charged.",
        ) from None
    if found.shape != knots.shape:
        raise UsageError(
            parameter=which,
            value=found.shape,
            rule=f"returns as many numbers as it was asked for arguments, here {len(knots)}",
            fix="Write it for arrays, e.g. with numpy.where.",
        )
    if not np.isfinite(found).all():
        raise UsageError(
            parameter=which,
            value=float(found[~np.isfinite(found)][0]),
            rule=f"must be finite {between}",
            fix="Large exponentials overflow: numpy.logaddexp does not.",
        )
    return found


def _check_values(stated: StatedLoss, knots: Array, slopes: Array, values: Array) -> None:
    """Refuse values whose differences lie outside the slopes at both ends: not convex, or other slopes than stated."""
    gaps, risen = np.diff(knots), np.diff(values)
    spare = 1e-6 * stated.lipschitz * gaps + DIGITS * float(np.abs(values).max())
    outside = (risen < slopes[:-1] * gaps - spare) | (risen > slopes[1:] * gaps + spare)
    if outside.any():
        place = int(np.argmax(outside))
        raise UsageError(
            parameter="slope",
            value=(float(slopes[place]), float(slopes[place + 1])),
            rule=(
                f"must be the derivative of a convex value, which rises by {risen[place] / gaps[place]:.6g} for each "
                f"unit of t from {knots[place]:.6g} to {knots[place + 1]:.6g}"
            ),
            fix="Convex values rise by something between the slopes at both ends.",
        )


def _table(name: str, lipschitz: float, knots: Array, slopes: Array, *, margin: bool, scale: float) -> TabulatedLoss:
    """The table itself. What the proof rests on is made here, not believed: slopes never fall and stay within bounds.

    Whole multiples of one power of two: differences of slopes are exact, and two that differ do so by many roundings.
    """
    step = 2.0 ** math.floor(math.log2(lipschitz)) * QUANTUM
    most = math.floor(lipschitz / step)
    steps = np.clip(np.rint(np.maximum.accumulate(slopes) / step), -most, most)
    return TabulatedLoss(name, margin, float(lipschitz), float(scale), knots, steps * step)


@dataclass(frozen=True, eq=False, repr=False)
class TabulatedLoss(Loss):
    """The convex function whose slope is straight between knots and constant beyond them: at most `lipschitz`."""

    called: str
    of_margin: bool
    steepest: float
    unit: float  # of t
    knots: Array  # (k,) rising
    slopes: Array  # (k,) at the knots, never falling

    values: Array = field(init=False, compare=False)
    steep: ClassVar[bool] = True

    def __post_init__(self) -> None:
        steps = np.diff(self.knots) * (self.slopes[1:] + self.slopes[:-1]) / 2
        # Summed outwards from the least value: small values keep their digits.
        least = int(np.argmin(np.abs(self.slopes)))
        right, left = np.cumsum(steps[least:]), np.cumsum(-steps[:least][::-1])
        object.__setattr__(self, "values", np.concatenate([left[::-1], [0.0], right]))

    def __repr__(self) -> str:
        digest = hashlib.sha256(self.knots.tobytes() + self.slopes.tobytes()).hexdigest()[:16]
        return f"TabulatedLoss({self.name!r}, margin={self.margin}, lipschitz={self.lipschitz!r}, table={digest})"

    @property
    def name(self) -> str:
        return self.called

    @property
    def margin(self) -> bool:
        return self.of_margin

    @property
    def lipschitz(self) -> float:
        return self.steepest

    @property
    def scale(self) -> float:
        return self.unit

    @property
    def at_zero(self) -> float:
        return math.inf  # a user's loss need not have a least value

    @property
    def bend(self) -> float:
        return float(np.max(np.diff(self.slopes) / np.diff(self.knots)))

    @property
    def typical_bend(self) -> float:
        """The average curvature over a fifth of the units of t on both sides of zero."""
        near = self.scale / 5
        low, high = self.slope(np.array([-near, near]), Smooth(0.0, np.zeros(1)))
        return max(float(high - low), NEAR * self.lipschitz) / (2 * near)

    @property
    def told(self) -> str:
        return (
            f"{self.name}, of the user's own: convex with slopes at most {plain(self.lipschitz)} by the user's claim, "
            f"which was tried at {len(self.knots)} arguments. What is minimised is the table of its slopes there, "
            "never falling and clipped to that, so that the guarantee does not rest on the claim"
        )

    def longest(self, penalty: float, reach: float) -> float:
        return self.lipschitz * reach / (2 * penalty)

    def easier(self) -> tuple[Loss, ...]:
        """The same table with fewer knots, fewest first: what bends sharply is rounded off."""
        return tuple(replace(self, knots=self.knots[::every], slopes=self.slopes[::every]) for every in COARSER)

    def _piece(self, t: Array) -> tuple[Integers, Array, Array]:
        """The knot before t, how far beyond it t lies, and what share of the way to the next one that is."""
        before = np.clip(np.searchsorted(self.knots, t, side="right") - 1, 0, len(self.knots) - 2)
        beyond = t - self.knots[before]
        share = np.clip(beyond / (self.knots[before + 1] - self.knots[before]), 0.0, 1.0)
        return before, beyond, share

    def value(self, t: Array, smooth: Smooth) -> Array:
        before, beyond, share = self._piece(t)
        start, rise = self.slopes[before], self.slopes[before + 1] - self.slopes[before]
        gap = self.knots[before + 1] - self.knots[before]
        within = np.clip(beyond, 0.0, gap)
        inside = self.values[before] + within * (start + share * rise / 2)
        # Straight on beyond the ends.
        return np.asarray(inside + (beyond - within) * (start + share * rise))

    def slope(self, t: Array, smooth: Smooth) -> Array:
        before, _, share = self._piece(t)
        # Never below the first slope nor above the second: their difference is exact, and rounding keeps order.
        return np.asarray(self.slopes[before] + share * (self.slopes[before + 1] - self.slopes[before]))

    def curvature(self, t: Array, smooth: Smooth) -> Array:
        before, _, _ = self._piece(t)
        bends = (self.slopes[before + 1] - self.slopes[before]) / (self.knots[before + 1] - self.knots[before])
        return np.where((t >= self.knots[0]) & (t < self.knots[-1]), bends, 0.0)

    def excess(self, t: Array, slope: Array) -> Array:
        # A slope is asked for at its own t, and rounded: by at most two roundings of the largest, where the piece bends
        # by 2^-30 of that at least. So it is the exact slope less than 2^-21 of the piece away.
        return ROUNDED * self.lipschitz * (np.abs(t) + self.scale)

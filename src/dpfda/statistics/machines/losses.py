"""Losses of kernel machines: convex, with a public Lipschitz constant."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np

from dpfda.arrays import Array, brief
from dpfda.errors import UsageError
from dpfda.releases.cards.words import plain


@dataclass(frozen=True, slots=True, eq=False)
class Smooth:
    """By how much kinks are rounded off, and around which slope each record's is."""

    width: float
    centres: Array  # (n,)


NOTHING = Smooth(0.0, np.zeros(1))


class Loss(ABC):
    """A convex function of one number t: the margin `y f(x)` of a classifier, the residual `f(x) - y` of a regressor.

    Duties of a subclass: `value`, `slope` and `curvature` at t, and `lipschitz`, the largest slope. A loss with a kink
    is smoothed while it is minimised, and says by `excess` how far a slope is from one of its own; others ignore it.
    """

    __slots__ = ()

    kinked: ClassVar[bool] = False
    steep: ClassVar[bool] = False  # whether roundings of predictions cost what they cost at a kink

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    @abstractmethod
    def margin(self) -> bool:
        """Whether t is a margin."""

    @property
    def bend(self) -> float:
        """The largest curvature, where there is no kink."""
        return 0.0

    @property
    @abstractmethod
    def lipschitz(self) -> float:
        """The largest slope, `M` of an M-admissible loss."""

    @property
    @abstractmethod
    def at_zero(self) -> float:
        """The largest loss of the function zero."""

    @property
    def typical_bend(self) -> float:
        """The curvature where residuals are; a kink curves by its average over a fifth of the bound on both sides."""
        return self.bend or 5 / self.scale

    @property
    def told(self) -> str:
        """What is said of it on plans and cards."""
        return f"{self.name}, slopes at most {plain(self.lipschitz)}"

    def longest(self, penalty: float, reach: float) -> float:
        """No minimiser is longer: `penalty |w|^2` is at most the risk of the function zero."""
        return math.sqrt(self.at_zero / penalty)

    @property
    def scale(self) -> float:
        """The units of t."""
        return 1.0

    @abstractmethod
    def value(self, t: Array, smooth: Smooth) -> Array: ...

    @abstractmethod
    def slope(self, t: Array, smooth: Smooth) -> Array: ...

    @abstractmethod
    def curvature(self, t: Array, smooth: Smooth) -> Array: ...

    def excess(self, t: Array, slope: Array) -> Array:
        """`loss(t) + conjugate(slope) - slope t`: 0 where the slope is one of the loss at t, else positive."""
        return np.zeros_like(t)  # smooth losses are asked for their own slopes only

    def smooth(self, size: int) -> Smooth:
        """How a loss is smoothed at first, for so many records."""
        return NOTHING

    def easier(self) -> tuple[Loss, ...]:
        """Losses near it whose minimisers are good beginnings, the easiest first."""
        return ()

    def argument(self, predictions: Array, targets: Array) -> Array:
        """t for predictions f(x) and targets y."""
        return predictions * targets if self.margin else predictions - targets

    def direction(self, targets: Array) -> Array:
        """The derivative of t with respect to f(x)."""
        return targets if self.margin else np.ones_like(targets)


class Kinked(Loss):
    """A loss of two straight lines, `max s (t - kink)` over slopes s from `low` to `high`.

    Smoothed over a width it is `max s (t - kink) - width (s - centre)^2 / 2`, whose slope is that s: the kink is
    rounded off by a parabola. With the slopes of its own minimiser as centres nothing is lost by smoothing.
    """

    __slots__ = ()

    kinked: ClassVar[bool] = True
    steep: ClassVar[bool] = True
    low: ClassVar[float]
    high: ClassVar[float] = 1.0
    kink: ClassVar[float] = 0.0

    @property
    def lipschitz(self) -> float:
        return 1.0

    def value(self, t: Array, smooth: Smooth) -> Array:
        slope = self.slope(t, smooth)
        return slope * (t - self.kink) - smooth.width / 2 * (slope - smooth.centres) ** 2

    def slope(self, t: Array, smooth: Smooth) -> Array:
        return np.clip(smooth.centres + (t - self.kink) / smooth.width, self.low, self.high)

    def curvature(self, t: Array, smooth: Smooth) -> Array:
        place = smooth.centres + (t - self.kink) / smooth.width
        return np.where((place > self.low) & (place < self.high), 1 / smooth.width, 0.0)

    def excess(self, t: Array, slope: Array) -> Array:
        # As products, not as a difference of losses: no digit cancels.
        beyond = t - self.kink
        return np.where(beyond > 0, beyond * (self.high - slope), -beyond * (slope - self.low))

    def smooth(self, size: int) -> Smooth:
        return Smooth(self.scale, np.full(size, (self.low + self.high) / 2))


@dataclass(frozen=True, slots=True)
class Hinge(Kinked):
    """The loss of support vector machines, `max(0, 1 - t)`."""

    name: ClassVar[str] = "hinge"
    margin: ClassVar[bool] = True
    low: ClassVar[float] = -1.0
    high: ClassVar[float] = 0.0
    kink: ClassVar[float] = 1.0

    @property
    def at_zero(self) -> float:
        return 1.0


@dataclass(frozen=True, slots=True)
class SmoothedHinge(Loss):
    """The hinge with its kink rounded off over `[1 - h, 1 + h]`, h = 1/2, by a parabola."""

    name: ClassVar[str] = "smoothed-hinge"
    margin: ClassVar[bool] = True
    h: ClassVar[float] = 0.5
    bend: ClassVar[float] = 1.0

    @property
    def lipschitz(self) -> float:
        return 1.0

    @property
    def at_zero(self) -> float:
        return 1.0

    def value(self, t: Array, smooth: Smooth) -> Array:
        left = 1 - t
        return np.where(np.abs(left) < self.h, (left + self.h) ** 2 / (4 * self.h), np.maximum(left, 0.0))

    def slope(self, t: Array, smooth: Smooth) -> Array:
        return -np.clip((1 + self.h - t) / (2 * self.h), 0.0, 1.0)

    def curvature(self, t: Array, smooth: Smooth) -> Array:
        return np.where(np.abs(1 - t) < self.h, 0.5 / self.h, 0.0)


@dataclass(frozen=True, slots=True)
class Logistic(Loss):
    """`log(1 + exp(-t))`: the function is the logarithm of the odds of the second class."""

    name: ClassVar[str] = "logistic"
    margin: ClassVar[bool] = True
    bend: ClassVar[float] = 0.25

    @property
    def lipschitz(self) -> float:
        return 1.0

    @property
    def at_zero(self) -> float:
        return math.log(2.0)

    def value(self, t: Array, smooth: Smooth) -> Array:
        return np.logaddexp(0.0, -t)

    def slope(self, t: Array, smooth: Smooth) -> Array:
        return -_odds(-t)

    def curvature(self, t: Array, smooth: Smooth) -> Array:
        chance = _odds(-t)
        return chance * (1 - chance)


@dataclass(frozen=True, slots=True)
class Absolute(Kinked):
    """The absolute residual; the function is a median."""

    bound: float  # of responses

    name: ClassVar[str] = "absolute"
    margin: ClassVar[bool] = False
    low: ClassVar[float] = -1.0

    @property
    def at_zero(self) -> float:
        return self.bound

    @property
    def scale(self) -> float:
        return self.bound


@dataclass(frozen=True, slots=True)
class Huber(Loss):
    """Half the squared residual up to a threshold, straight lines beyond it."""

    bound: float
    threshold: float

    name: ClassVar[str] = "huber"
    margin: ClassVar[bool] = False
    bend: ClassVar[float] = 1.0

    @property
    def lipschitz(self) -> float:
        return self.threshold

    @property
    def at_zero(self) -> float:
        return float(self.value(np.array([self.bound]), NOTHING)[0])

    @property
    def scale(self) -> float:
        return self.bound

    def value(self, t: Array, smooth: Smooth) -> Array:
        size = np.abs(t)
        return np.where(size < self.threshold, t * t / 2, self.threshold * (size - self.threshold / 2))

    def slope(self, t: Array, smooth: Smooth) -> Array:
        return np.clip(t, -self.threshold, self.threshold)

    def curvature(self, t: Array, smooth: Smooth) -> Array:
        return np.where(np.abs(t) < self.threshold, 1.0, 0.0)


@dataclass(frozen=True, slots=True)
class Squared(Loss):
    """The squared residual of responses within a bound B, as long as the function stays within B too.

    A square alone is not Lipschitz. Residuals of a function within B are at most 2B; beyond that the loss goes on in
    straight lines, so its slope is at most 4B everywhere. From a penalty of `kappa^2 / 4` on this changes nothing: the
    minimiser w of squares has `penalty |w|^2 = mean(y f - f^2) <= B^2 / 4`, so `|f| <= kappa |w| <= B` by itself.
    """

    bound: float

    name: ClassVar[str] = "squared"
    margin: ClassVar[bool] = False
    bend: ClassVar[float] = 2.0

    @property
    def lipschitz(self) -> float:
        return 4 * self.bound

    @property
    def at_zero(self) -> float:
        return self.bound**2

    @property
    def scale(self) -> float:
        return self.bound

    def value(self, t: Array, smooth: Smooth) -> Array:
        size, most = np.abs(t), 2 * self.bound
        return np.where(size < most, t * t, most * (2 * size - most))

    def slope(self, t: Array, smooth: Smooth) -> Array:
        return 2 * np.clip(t, -2 * self.bound, 2 * self.bound)

    def curvature(self, t: Array, smooth: Smooth) -> Array:
        return np.where(np.abs(t) < 2 * self.bound, 2.0, 0.0)


def _odds(t: Array) -> Array:
    from scipy.special import expit

    return np.asarray(expit(t), dtype=np.float64)


CLASSIFIERS: dict[str, Loss] = {loss.name: loss for loss in (Hinge(), SmoothedHinge(), Logistic())}
REGRESSORS = ("absolute", "huber", "squared")


def loss_of(name: object, *, bound: float | None = None, threshold: float | None = None) -> Loss:
    """A loss by its name: of a classifier, or with a bound on responses of a regressor.

    >>> loss_of("huber", bound=2.0, threshold=0.5).lipschitz
    0.5
    """
    known = tuple(CLASSIFIERS) if bound is None else REGRESSORS
    if not isinstance(name, str) or name not in known:
        raise UsageError(parameter="loss", value=name, rule=f"must be one of {', '.join(map(repr, known))}")
    if threshold is not None and name != "huber":
        raise UsageError(parameter="threshold", rule=f"is for loss 'huber'; {brief(name)} does not use it")
    if bound is None:
        return CLASSIFIERS[name]
    if name == "huber":
        # A fifth of the bound: residuals of most records are inside, those of mistaken ones are not.
        return Huber(bound, bound / 5 if threshold is None else _positive(threshold))
    return Absolute(bound) if name == "absolute" else Squared(bound)


def _positive(threshold: object) -> float:
    number = isinstance(threshold, Real) and not isinstance(threshold, bool)
    if not number or not 1e-100 <= float(threshold) <= 1e100:  # type: ignore[arg-type]
        raise UsageError(parameter="threshold", value=threshold, rule="must be a positive finite number")
    return float(threshold)  # type: ignore[arg-type]

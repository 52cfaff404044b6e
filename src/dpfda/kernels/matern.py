"""Matérn kernels of any order, among them the exponential kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array
from dpfda.kernels.base import Isotropic, positive, register

_LARGE = 100.0  # from this order on the uniform expansion is exact to 1e-12
_FAR = 750.0  # exp(-750) is 0: beyond it every kernel below the large orders is 0 (or under 1e-200)
_NEAR = 1e-300  # a little below it K_1 overflows


@register(by_range={"matern-3/2": lambda rho: Matern(1.5, rho), "matern-5/2": lambda rho: Matern(2.5, rho)})
@dataclass(frozen=True, slots=True)
class Matern(Isotropic):
    """The Matérn kernel, `2^(1-order)/Gamma(order) x^order K_order(x)` at `x = sqrt(2 order) d / rho`.

    >>> float(Matern(0.5, rho=2.0)([0.0], [4.0])[0, 0]) == math.exp(-2.0)
    True
    """

    order: float
    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", positive(self.order, "order", "e.g. Matern(1.5, rho=1.0)"))
        object.__setattr__(self, "rho", positive(self.rho, "rho", "e.g. Matern(1.5, rho=1.0)"))

    def at_distance(self, distance: Array) -> Array:
        x = distance / self.rho * math.sqrt(2 * self.order)
        values = _expansion(self.order, x) if self.order >= _LARGE else _climb(self.order, x)
        return np.minimum(values, 1.0)  # a correlation, whatever the last digit says

    @property
    def smoothness(self) -> float:
        return 2 * self.order + 1

    @property
    def markov(self) -> bool:
        # Half-integer orders, and only they, have a rational spectral density: a state of order + 1/2 derivatives.
        return self.order % 1 == 0.5


@register(by_range={"exponential": lambda rho: Exponential(rho)})
@dataclass(frozen=True, slots=True)
class Exponential(Isotropic):
    """The covariance of the Ornstein-Uhlenbeck process, `exp(-d / rho)`: the Matérn kernel of order 1/2."""

    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive(self.rho, "rho", "e.g. Exponential(rho=1.0)"))

    def at_distance(self, distance: Array) -> Array:
        return np.exp(-(distance / self.rho))

    @property
    def smoothness(self) -> float:
        return 2.0

    @property
    def markov(self) -> bool:
        return True


def _climb(order: float, x: Array) -> Array:
    # Bessel's recurrence for M(order, x) = 2^(1-order)/Gamma(order) x^order K_order(x) itself reads
    #   M(o+1) = M(o) + x^2 / (4 o (o-1)) M(o-1),
    # a sum of positive terms none above 1, so it is stable upwards, where gamma times Bessel would overflow.
    # From order 1/2 it makes the closed polynomial times exp(-x).
    steps = math.ceil(order) - 1
    first = order - steps  # in (0, 1]
    x = np.minimum(x, _FAR)
    low, high = _half(x) if first == 0.5 else _bessel(first, x)
    if steps == 0:
        return low
    for o in first + np.arange(1, steps):
        low, high = high, high + x * x / (4 * o * (o - 1)) * low
    return high


def _half(x: Array) -> tuple[Array, Array]:
    decay = np.exp(-x)
    return decay, (1 + x) * decay


def _bessel(order: float, x: Array) -> tuple[Array, Array]:
    from scipy.special import kv

    # Orders o and o + 1 from K_o and K_(1-o) alone: both orders are at most 1, so nothing overflows near 0.
    positive_x = np.maximum(x, _NEAR)
    low = 2 ** (1 - order) / math.gamma(order) * positive_x**order * kv(order, positive_x)
    low = np.where(x > 0, low, 1.0)
    rest = 2**-order / math.gamma(order + 1) * positive_x ** (order + 1) * kv(1 - order, positive_x)
    return low, low + np.where(x > 0, rest, 0.0)


def _expansion(order: float, x: Array) -> Array:
    # Debye's uniform expansion (DLMF 10.41.4) over its own value at 0, in which the gamma function cancels.
    z = np.minimum(x / order, 1e6)
    root = np.hypot(1.0, z)
    w = z * z / (1 + root)  # root - 1 without cancellation
    leading: Array = np.exp(order * (np.log1p(w / 2) - w)) / np.sqrt(root)
    return leading * (_debye(order, 1 / root) / _debye(order, np.ones(())))


def _debye(order: float, p: Array) -> Array:
    q = p * p
    first = p * (3 - 5 * q) / 24
    second = q * (81 + q * (-462 + q * 385)) / 1152
    third = p * q * (30375 + q * (-369603 + q * (765765 - q * 425425))) / 414720
    fourth = q * q * (4465125 + q * (-94121676 + q * (349922430 + q * (-446185740 + q * 185910725)))) / 39813120
    return 1 - (first - (second - (third - fourth / order) / order) / order) / order

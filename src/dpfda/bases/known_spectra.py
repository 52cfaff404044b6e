"""Kernels whose eigenvalues and eigenfunctions on an interval are known in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpfda.arrays import Array, Integers
from dpfda.bases.domain import Domain
from dpfda.bases.galerkin import Waves
from dpfda.bases.trigonometric import cosine_derivative
from dpfda.kernels import BrownianBridge, BrownianMotion, Exponential, Gaussian, Kernel, Matern, Scaled, Tensor

Complex = npt.NDArray[np.complex128]

# Range over length of the interval, from the shortest to the longest for which values were compared with 40 digits.
SHORTEST, LONGEST = 2e-4, 1e3
FAR = 40.0  # exp(-40) is nothing beside 1


@dataclass(frozen=True, slots=True)
class EdgedWaves:
    """Cosines and sines about the middle, in turn, each with layers that decay from both ends.

    Function j is `amplitude (wave(speed (u - 1/2)) + copies Re(weight (exp(-rate (1 - u)) +- exp(-rate u))))`, even
    for even j. For order 3/2 there is one real layer; for order 5/2 two that are complex conjugates.
    """

    eigenvalues: Array
    amplitudes: Array
    speeds: Array
    weights: Complex
    rates: Complex
    copies: int

    @property
    def degree(self) -> int:
        # Panels of `waves` have width pi sqrt(u) / degree near an end: with this many, 16 nodes follow the layers too.
        return len(self.eigenvalues) + math.ceil(4 * math.sqrt(float(np.abs(self.rates[0]))))

    def functions(self, unit: Array, order: tuple[int, ...]) -> Array:
        """Values of all functions, or of a derivative; layers only where they have not died away."""
        derivative = order[0]
        table = (unit - 0.5) * self.speeds
        for parity in (0, 1):
            # cos(angle - quarter turn) = sin(angle), and three quarters forward are one back.
            table[:, parity::2] = cosine_derivative(table[:, parity::2], derivative + 3 * parity)
        if derivative:
            table *= self.speeds**derivative
        weights = self.copies * self.weights * self.rates**derivative
        self._add_layers(table, 1 - unit[:, 0], weights, FAR + 10 * derivative)
        self._add_layers(table, unit[:, 0], weights * _signs(len(weights)) * (-1) ** derivative, FAR + 10 * derivative)
        table *= self.amplitudes
        return table

    def _add_layers(self, table: Array, distance: Array, weights: Complex, far: float) -> None:
        # Rates rise with the mode, so layers of late modes live at few points: blocks of modes, each twice the last.
        start = 0
        while start < len(weights):
            block = slice(start, 2 * start + 16)
            rows = np.flatnonzero(distance * self.rates.real[start] < far)
            away = distance[rows, None]
            layers = np.abs(weights[block]) * np.exp(-self.rates.real[block] * away)
            # Two real functions are much faster than one complex exponential.
            layers *= np.cos(np.angle(weights[block]) - self.rates.imag[block] * away)
            table[rows, block] += layers
            start = 2 * start + 16


def edged_waves(half: int, ratio: float, size: int) -> EdgedWaves | None:
    """The spectrum on [0, 1] of the kernel of order half + 1/2 (half 1 or 2) and range `ratio`, or None if unsure.

    With `a = sqrt(2 half + 1) / ratio` an eigenfunction solves `(a^2 - D^2)^(half + 1) f = (c / eigenvalue) f`, and
    `D^m (D + a)^(half + 1) f = 0` at the upper end for m = 0 .. half, since beyond the end it continues as a
    polynomial times exp(-a u). Hence eigenvalue `c / (a^2 + speed^2)^(half + 1)`, and one speed for each mode.
    """
    if half not in (1, 2) or not SHORTEST <= ratio <= LONGEST:
        return None
    a = math.sqrt(2 * half + 1) / ratio
    speeds = _speeds(half, a, size)
    if speeds is None:
        return None
    phase = _Phase(half, a, speeds)
    mode, signs = np.arange(size), _signs(size)
    odd = signs < 0
    z, total = phase.rates, a * a + speeds * speeds
    # The layers' weight is the cosine (for odd modes the sine) of the whole phase, which at a root is a quarter turn's
    # multiple less the phase of the layers: no angle of a thousand radians loses its digits here.
    shares = np.where(mode % 4 < 2, -1, 1) * speeds / np.hypot(speeds, phase.lift)
    tails = np.exp(-phase.depths)
    whole = np.where(odd ^ (half == 2), -np.expm1(-phase.depths), 1 + tails)
    weights = shares * phase.turn * (np.sqrt(total) / (z + a)) ** (half + 1) / whole
    end = np.where(odd, np.sin(speeds / 2), np.cos(speeds / 2)) + half * (weights * (1 + signs * np.exp(-z))).real
    amplitudes = np.where(end < 0, -1, 1) / np.sqrt(_squares(half, a, phase, speeds, weights))
    constant = {1: 4.0, 2: 16 / 3}[half]
    # Powers of a quotient of like sizes: neither a^5 nor speed^6 stands alone.
    eigenvalues = constant / a * (a * a / total) ** (half + 1)
    for array in (eigenvalues, amplitudes, speeds, weights, z):
        array.flags.writeable = False
    return EdgedWaves(eigenvalues, amplitudes, speeds, weights, z, half)


class _Phase:
    """The phase that waves and layers gather across the interval at given speeds, and its slope.

    The boundary conditions say that it is `mode pi / 2`. It rises with the speed (a test holds the slope positive over
    all ranges): hence every mode has one root, and even and odd modes take turns, as for any totally positive kernel.
    """

    def __init__(self, half: int, a: float, speeds: Array) -> None:
        odd = _signs(len(speeds)) < 0
        # A real number for order 3/2, so that all that follows is real too.
        self.turn: complex = -1.0 if half == 1 else complex(-0.5, math.sqrt(0.75))
        total = a * a + speeds * speeds
        self.rates: Complex = np.sqrt(a * a - total * self.turn)
        # Never 1 - exp(-small): the hyperbolic tangent and its inverse keep the digits of long ranges.
        self.depths: Complex = self.rates + 2 * (half + 1) * np.arctanh(a / self.rates)
        ratio = np.tanh(self.depths / 2)
        ratio = np.where(odd ^ (half == 2), 1 / ratio, ratio)
        self.lift: Array = -half * (self.turn * self.rates * ratio).real
        slope = -self.turn * speeds / self.rates
        deeper = slope * (1 + 2 * (half + 1) * a / (total * self.turn))
        lifted = -half * (self.turn * (slope * ratio + self.rates * (1 - ratio * ratio) * deeper / 2)).real
        # Angles from the axis at which they vanish for long ranges: quarter turns would cancel to noise.
        angle = np.arctan2(self.lift, speeds) if half == 1 else np.arctan2(speeds, -self.lift)
        self.value: Array = speeds / 2 - (half + 1) * np.arctan2(a, speeds) + angle
        turned = (lifted * speeds - self.lift) / (speeds * speeds + self.lift * self.lift)
        self.slope: Array = 0.5 + (half + 1) * a / total + turned


def _speeds(half: int, a: float, size: int) -> Array | None:
    """The root of each mode, by Newton's method inside brackets that shrink."""
    mode = np.arange(size, dtype=np.float64)
    # The layers' angle lies within a half turn, and arctan(a / speed) within a quarter turn.
    low, high = np.maximum(mode - half, 0.0) * math.pi, (mode + half + 1) * math.pi
    speeds = np.maximum(mode - half / 2, min(1.0, a) / 2) * math.pi
    for _ in range(100):
        phase = _Phase(half, a, speeds)
        gap = phase.value - mode * (math.pi / 2)
        low, high = np.where(gap < 0, speeds, low), np.where(gap > 0, speeds, high)
        newton = speeds - gap / phase.slope
        step = np.abs(newton - speeds)
        # Steps double their digits: after one of 1e-9 nothing is left but rounding.
        if (step <= 1e-9 * speeds).all():
            return newton if (np.diff(newton) > 0).all() and newton[0] > 0 else None
        inside = (newton > low) & (newton < high)
        speeds = np.where(inside | (step <= 1e-9 * speeds), newton, (low + high) / 2)
    return None


def _squares(half: int, a: float, phase: _Phase, speeds: Array, weights: Complex) -> Array:
    """The integral of the square of each function, term by term."""
    rates, signs = phase.rates, _signs(len(speeds))
    gaps = (a * a + speeds * speeds) * (1 - phase.turn)  # rate^2 + speed^2
    cosines, sines = np.cos(speeds / 2), np.sin(speeds / 2)
    tails, rests = np.exp(-rates), -np.expm1(-rates)
    even = rates * cosines * rests + speeds * sines * (1 + tails)
    odd = rates * sines * (1 + tails) - speeds * cosines * rests
    mixed = 2 * np.where(signs > 0, even, odd) / gaps
    own = -np.expm1(-2 * rates) / rates + signs * 2 * tails
    square: Array = (1 + signs * np.sin(speeds) / speeds) / 2
    square = square + half * (2 * weights * mixed + weights * weights * own).real
    if half == 2:
        decay, turn = rates.real, rates.imag
        pair = -np.expm1(-2 * decay) / decay + signs * 2 * np.exp(-decay) * np.sinc(turn / math.pi)
        square = square + 2 * np.abs(weights) ** 2 * pair
    return square


def _signs(size: int) -> Integers:
    """1 for the even functions, -1 for the odd ones."""
    return 1 - 2 * (np.arange(size) % 2)


Closed = Waves | EdgedWaves


def exponential(kernel: Exponential, domain: Domain, size: int) -> Waves | None:
    """Cosines and sines about the middle, with speeds 2x where `x = j pi/2 + arctan(c/(2x))`, c = length / rho."""
    ratio = domain.lengths[0] / kernel.rho
    mode = np.arange(size, dtype=np.float64)
    x = mode * (math.pi / 2)
    for _ in range(60):
        # The function is increasing and concave: Newton's steps from the left never pass the root.
        gap = x - mode * (math.pi / 2) - np.arctan2(ratio, 2 * x)
        step = gap / (1 + 2 * ratio / (4 * x**2 + ratio**2))
        x = x - step
        # Steps double their digits: after one of 1e-9 nothing is left but rounding.
        if (np.abs(step) <= 1e-9 * x).all():
            break
    parity = mode % 2
    square = (1 + np.where(parity, -1, 1) * np.sin(2 * x) / (2 * x)) / 2
    # cos(angle - quarter turn) = sin(angle): odd modes have phase 3, and every mode is positive at the upper end.
    amplitudes = np.where(mode % 4 < 2, 1, -1) / np.sqrt(square)
    return _waves(2 * ratio / (4 * x**2 + ratio**2), amplitudes, 2 * x, np.where(parity, 3, 0), centre=0.5)


def matern(kernel: Matern, domain: Domain, size: int) -> Closed | None:
    """Orders 1/2, 3/2 and 5/2, whose equation is a differential equation with constant coefficients."""
    if kernel.order == 0.5:
        return exponential(Exponential(kernel.rho), domain, size)
    if kernel.order in (1.5, 2.5):
        return edged_waves(int(kernel.order), kernel.rho / domain.lengths[0], size)
    return None


def brownian_motion(kernel: BrownianMotion, domain: Domain, size: int) -> Waves | None:
    """Sines of odd quarter-waves, where the motion starts at the lower end."""
    low, high = domain.sides[0]
    if low != 0:
        return None
    speeds = math.pi * (np.arange(size, dtype=np.float64) + 0.5)
    amplitudes = np.where(np.arange(size) % 2, -math.sqrt(2), math.sqrt(2))
    return _waves(high / speeds**2, amplitudes, speeds, np.full(size, 3), centre=0.0)


def brownian_bridge(kernel: BrownianBridge, domain: Domain, size: int) -> Waves | None:
    """Sines of half-waves, where the bridge spans the domain."""
    if domain.sides[0] != (0.0, kernel.length):
        return None
    speeds = math.pi * np.arange(1.0, size + 1)
    amplitudes = np.where(np.arange(size) % 2, -math.sqrt(2), math.sqrt(2))  # positive just before the upper end
    return _waves(kernel.length / speeds**2, amplitudes, speeds, np.full(size, 3), centre=0.0)


def scaled(kernel: Scaled, domain: Domain, size: int) -> Closed | None:
    inner = closed_form(kernel.kernel, domain, size)
    return None if inner is None else replace(inner, eigenvalues=kernel.factor * inner.eigenvalues)


# One line for each kernel with a closed form: its class, and a function that may decline a domain with None.
CLOSED_FORMS: dict[type[Kernel], Callable[[Any, Domain, int], Closed | None]] = {
    BrownianBridge: brownian_bridge,
    BrownianMotion: brownian_motion,
    Exponential: exponential,
    Matern: matern,
    Scaled: scaled,
}


def closed_form(kernel: Kernel, domain: Domain, size: int) -> Closed | None:
    """The exact spectrum on an interval, or None where none is known."""
    known = CLOSED_FORMS.get(type(kernel))
    return known(kernel, domain, size) if known else None


def _scaled_sides(kernel: Scaled, dimension: int) -> tuple[Kernel, ...] | None:
    inner = sides(kernel.kernel, dimension)
    return None if inner is None else (Scaled(inner[0], kernel.factor), *inner[1:])


# Kernels that are products over the sides of a box: then eigenvalues and eigenfunctions are products too.
SIDES: dict[type[Kernel], Callable[[Any, int], tuple[Kernel, ...] | None]] = {
    Gaussian: lambda kernel, dimension: (kernel,) * dimension,
    Scaled: _scaled_sides,
    Tensor: lambda kernel, dimension: kernel.factors,
}


def sides(kernel: Kernel, dimension: int) -> tuple[Kernel, ...] | None:
    """One kernel for each side of the box, or None if this kernel is no product."""
    known = SIDES.get(type(kernel))
    return known(kernel, dimension) if known else None


def _waves(eigenvalues: Array, amplitudes: Array, speeds: Array, quarters: Array, *, centre: float) -> Waves:
    for array in (eigenvalues, amplitudes, speeds, quarters):
        array.flags.writeable = False
    return Waves(eigenvalues, amplitudes, speeds, quarters, centre)

"""Come here for the kernels whose spectrum on an interval is known exactly, and to add one to them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.bases.decomposition import Waves
from dpfda.bases.domain import Domain
from dpfda.bases.matern import EdgedWaves, edged_waves
from dpfda.kernels import BrownianBridge, BrownianMotion, Exponential, Gaussian, Kernel, Matern, Scaled, Tensor

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

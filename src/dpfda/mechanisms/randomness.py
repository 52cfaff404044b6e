"""Randomness: the only place in the package that draws."""

from __future__ import annotations

import math
import os
from typing import Protocol

import numpy as np

from dpfda.arrays import Array, Integers, as_real, brief, is_whole
from dpfda.errors import UsageError

# Noise of the largest scale leaves 64 bits, where the sampler stops, with a chance of e^-1024.
SMALLEST_SCALE, LARGEST_SCALE = 1e-3, 2.0**53
MOST_AT_ONCE = 2**26


class Randomness(Protocol):
    """A source of integer noise and of uniform bits."""

    @property
    def private(self) -> bool:
        """Whether what it draws may stand in a private release."""

    def laplace(self, scale: float, size: int) -> Integers:
        """Integers with `P(z)` proportional to `exp(-|z|/scale)`, (size,)."""

    def gaussian(self, scale: float, size: int) -> Integers:
        """Integers with `P(z)` proportional to `exp(-z^2 / (2 scale^2))`, (size,)."""

    def bits53(self, size: int) -> Integers:
        """Uniform integers below 2^53, (size,)."""

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """Uniforms inside the unit interval, in doubles."""

    def normal(self, shape: tuple[int, ...]) -> Array:
        """Standard normals, in doubles."""


class SystemRandomness:
    """Exact integer samplers from OpenDP, and bits from the operating system; nothing to seed, nothing to fork."""

    private = True

    def laplace(self, scale: float, size: int) -> Integers:
        """Discrete Laplace noise by the exact sampler of OpenDP."""
        return _opendp("make_laplace", "l1_distance", scale, size)

    def gaussian(self, scale: float, size: int) -> Integers:
        """Discrete Gaussian noise by the exact sampler of OpenDP."""
        return _opendp("make_gaussian", "l2_distance", scale, size)

    def bits53(self, size: int) -> Integers:
        """Uniform integers from the random numbers of the operating system."""
        words = np.frombuffer(os.urandom(8 * size), dtype=np.uint64)
        return (words >> np.uint64(11)).astype(np.int64)

    def uniform(self, shape: tuple[int, ...]) -> Array:
        # Of 52 bits, half a step inside: the sum is exact, and neither end is ever drawn.
        bits = (self.bits53(math.prod(shape)) >> 1).astype(np.float64)
        return (bits.reshape(shape) + 0.5) * 2.0**-52

    def normal(self, shape: tuple[int, ...]) -> Array:
        from scipy.special import ndtri

        return np.asarray(ndtri(self.uniform(shape)))


class SeededRandomness:
    """Repeatable noise for tests and studies; whatever it draws is stamped not private."""

    private = False

    def __init__(self, seed: int) -> None:
        if not is_whole(seed, 0, 2**128):
            raise UsageError(f"A seed is a whole number from 0 to 2^128, got {brief(seed)}.")
        self._generator = np.random.default_rng(int(seed))

    def laplace(self, scale: float, size: int) -> Integers:
        """The same law from a seeded generator: a difference of two geometric numbers."""
        _check(scale, size)
        success = -math.expm1(-1 / scale)
        first, second = self._generator.geometric(success, (2, size))
        difference: Integers = first.astype(np.int64) - second.astype(np.int64)
        return difference

    def gaussian(self, scale: float, size: int) -> Integers:
        """Normal numbers of a seeded generator, rounded."""
        _check(scale, size)
        # Rounding the continuous law is close enough for a source that is never private.
        return np.rint(self._generator.normal(0.0, scale, size)).astype(np.int64)

    def bits53(self, size: int) -> Integers:
        """Uniform integers of a seeded generator."""
        return self._generator.integers(0, 2**53, size, dtype=np.int64)

    def normal(self, shape: tuple[int, ...]) -> Array:
        """Standard normals, for simulated curves."""
        return self._generator.standard_normal(shape)

    def laplace_variables(self, shape: tuple[int, ...]) -> Array:
        """Laplace variables of variance 1, for simulated noise."""
        # A difference of two exponential variables is Laplace with variance 2; numpy draws them without a logarithm.
        first, second = self._generator.standard_exponential((2, *shape))
        first -= second
        first *= math.sqrt(0.5)
        return np.asarray(first)

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """Uniforms on the unit interval, for simulated curves."""
        return self._generator.random(shape)

    def student(self, shape: tuple[int, ...], degrees: float) -> Array:
        """Student's t with so many degrees of freedom, for simulated curves with heavy tails."""
        return self._generator.standard_t(degrees, shape)


def _check(scale: float, size: int) -> None:
    # OpenDP releases exact values at scale 0 and says nothing about lengths: both are ruled out here.
    if not SMALLEST_SCALE <= as_real(scale) <= LARGEST_SCALE:
        raise UsageError(
            f"A noise scale must lie between {SMALLEST_SCALE:g} and {LARGEST_SCALE:g} lattice steps, got "
            f"{brief(scale)}. An epsilon nearer to 1 brings it there."
        )
    if not is_whole(size, 1, MOST_AT_ONCE):
        raise UsageError(f"Noise needs at least one coordinate, got size {brief(size)}.")


def _opendp(constructor: str, metric: str, scale: float, size: int) -> Integers:
    import opendp.domains
    import opendp.measurements
    import opendp.metrics
    from opendp.mod import enable_features

    _check(scale, size)
    enable_features("contrib")
    # "i64" by name: plain int means 32 bits there, and wraps.
    space = opendp.domains.vector_domain(opendp.domains.atom_domain(T="i64"))
    distance = getattr(opendp.metrics, metric)(T="i64" if metric == "l1_distance" else "f64")
    measurement = getattr(opendp.measurements, constructor)(space, distance, scale=scale)
    drawn = np.array(measurement([0] * size), dtype=np.int64)
    if drawn.shape != (size,):
        raise RuntimeError("the sampler returned a vector of another length")
    return drawn

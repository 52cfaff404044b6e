"""Functions that were released: evaluation, derivatives, integrals, inner products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array, ArrayLike, brief, public_numbers, values_of
from dpfda.bases import Basis
from dpfda.errors import UsageError
from dpfda.releases.roughness import Roughness


@dataclass(frozen=True, eq=False)
class Function:
    """A function in a public basis, or a derivative of it; callable anywhere in the domain."""

    basis: Basis
    coordinates: Array  # (size,)
    order: tuple[int, ...]
    roughness: Roughness | None = None  # of the noise in it; None: it has every derivative

    def __call__(self, points: ArrayLike) -> Array:
        """Values at points of the domain, (m,); a single number gives a single number."""
        given = public_numbers(points, "Points")
        values = self.basis.evaluate(self.coordinates, np.atleast_1d(given), self.order)
        return values[0] if given.ndim == 0 else values

    def derivative(self, order: int | tuple[int, ...] = 1) -> Function:
        """The derivative, itself a function; refused where the noise in the function is too rough to have it."""
        more = self.basis.order(order)
        total = self.basis.order(tuple(a + b for a, b in zip(self.order, more, strict=True)))
        if self.roughness is not None:
            self.roughness.check(total)
        return Function(self.basis, self.coordinates, total, self.roughness)

    def integral(self, low: ArrayLike | None = None, high: ArrayLike | None = None) -> float:
        """The integral from low to high, by default over the whole domain."""
        starts, ends = zip(*self.basis.domain.sides, strict=True)
        first = starts if low is None else low
        last = ends if high is None else high
        if any(self.order):
            if self.basis.domain.dimension > 1:
                raise UsageError("Integrals of derivatives are offered on an interval only, not on a box.")
            primitive = Function(self.basis, self.coordinates, (self.order[0] - 1,))
            start, stop = primitive(self.basis.corners(first, last))
            return float(stop - start)
        return float(self.coordinates @ self.basis.integrals(first, last))

    def inner(self, other: Callable[[Array], ArrayLike]) -> float:
        """The mean over the domain of the product with another function of the points."""
        points, weights = self.basis.nodes()
        if not callable(other):
            raise UsageError(f"The other side of an inner product is a function of the points, got {brief(other)}.")
        values = values_of(other, points[:, 0] if points.shape[1] == 1 else points, what="the function")
        if values.shape != weights.shape:
            raise UsageError(
                f"The function must give one value for each of {len(weights)} points, got shape {values.shape}."
            )
        with np.errstate(all="ignore"):
            mean = float(weights @ (values * self.basis.at_nodes(self.coordinates, self.order)))
        return _finite(mean, "The inner product")

    def norm(self) -> float:
        """The root mean square over the domain."""
        if not any(self.order):
            return float(np.sqrt(max(float(self.coordinates @ self.basis.gram() @ self.coordinates), 0.0)))
        weights = self.basis.nodes()[1]
        values = self.basis.at_nodes(self.coordinates, self.order)
        with np.errstate(all="ignore"):
            return _finite(float(np.sqrt(weights @ values**2)), "The norm")


def _finite(value: float, what: str) -> float:
    """A result, or an error where it is too large for a double or was computed from what is no number."""
    if not np.isfinite(value):
        raise UsageError(f"{what} is no finite number. Check the other function, or state the domain in other units.")
    return value

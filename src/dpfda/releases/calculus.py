"""Come here for functions that have been paid for: evaluation, derivatives, integrals, inner products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array, ArrayLike
from dpfda.bases import Basis
from dpfda.errors import UsageError


@dataclass(frozen=True, eq=False)
class Function:
    """A function in a public basis, or a derivative of it; callable anywhere in the domain."""

    basis: Basis
    coordinates: Array  # (size,)
    order: tuple[int, ...]

    def __call__(self, points: ArrayLike) -> Array:
        """Values at points of the domain, (m,); a single number gives a single number."""
        values = self.basis.evaluate(self.coordinates, np.atleast_1d(np.asarray(points, dtype=np.float64)), self.order)
        return values[0] if np.ndim(points) == 0 else values

    def derivative(self, order: int | tuple[int, ...] = 1) -> Function:
        """The derivative, itself a function."""
        more = self.basis.order(order)
        return Function(self.basis, self.coordinates, tuple(a + b for a, b in zip(self.order, more, strict=True)))

    def integral(self, low: ArrayLike | None = None, high: ArrayLike | None = None) -> float:
        """The integral from low to high, by default over the whole domain."""
        starts, ends = zip(*self.basis.domain.sides, strict=True)
        first = np.array(starts) if low is None else np.atleast_1d(low)
        last = np.array(ends) if high is None else np.atleast_1d(high)
        if any(self.order):
            if self.basis.domain.dimension > 1:
                raise UsageError("Integrals of derivatives are offered on an interval only, not on a box.")
            if first[0] > last[0]:
                raise UsageError(f"An integral goes from a lower to an upper end, got {first[0]:g} to {last[0]:g}.")
            primitive = Function(self.basis, self.coordinates, (self.order[0] - 1,))
            return float(primitive(last)[0] - primitive(first)[0])
        return float(self.coordinates @ self.basis.integrals(first, last))

    def inner(self, other: Callable[[Array], ArrayLike]) -> float:
        """The mean over the domain of the product with another function of the points."""
        points, weights = self.basis.nodes()
        values = np.asarray(other(points[:, 0] if points.shape[1] == 1 else points), dtype=np.float64)
        if values.shape != weights.shape:
            raise UsageError(
                f"The function must give one value for each of {len(weights)} points, got shape {values.shape}."
            )
        return float(weights @ (values * self.basis.evaluate(self.coordinates, points, self.order)))

    def norm(self) -> float:
        """The root mean square over the domain."""
        if not any(self.order):
            return float(np.sqrt(max(float(self.coordinates @ self.basis.gram() @ self.coordinates), 0.0)))
        points, weights = self.basis.nodes()
        return float(np.sqrt(weights @ self.basis.evaluate(self.coordinates, points, self.order) ** 2))

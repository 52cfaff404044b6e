"""Come here for what a basis is, and to write one of your own: one function joins the family."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, ArrayLike, brief, is_whole, public_numbers
from dpfda.bases.domain import Domain
from dpfda.bases.projection import Method, project, projection
from dpfda.bases.quadrature import composite, product, waves
from dpfda.errors import UsageError

MOST_FUNCTIONS = 4096  # of one basis: tables of all of them at a few thousand points still fit into memory
MOST_FEATURES = 2**14  # of a feature map, which is not tabulated at all nodes
HIGHEST_ORDER = 16  # of a derivative, along one side: beyond it rounding errors are all that is left


class Basis(ABC):
    """A finite family of functions on a public domain.

    Norms and inner products are means over the domain, so the norm of a curve is its root mean square, whatever the
    length of the domain. Duties of a subclass: a frozen dataclass with fields `domain` and `size` and the method
    `functions`. It may say more: `frequencies`, by which smoothing orders the coordinates, `orthonormal`, and
    `family`, the name under which `dpfda.bases.from_dict` finds it.
    """

    __slots__ = ()

    family: ClassVar[str] = ""
    domain: Domain
    size: int

    def __post_init__(self) -> None:
        check_size(type(self).__name__, self.size)

    @abstractmethod
    def functions(self, points: Array, order: tuple[int, ...]) -> Array:
        """Values of all functions, or of a derivative, at checked points, (m, p) -> (m, size)."""

    @property
    def orthonormal(self) -> bool:
        return True

    @property
    def frequencies(self) -> Array:
        """How rough each function is, in half-waves over the domain; smoothing shrinks rough ones more, (size,)."""
        return np.arange(self.size, dtype=np.float64)

    @property
    def eigenvalues(self) -> Array | None:
        """The eigenvalues that order the functions, largest first, where they come from a kernel, (size,)."""
        return None

    def breaks(self, axis: int) -> Array:
        """Where integration along one side is cut so that 16 Gauss nodes in each panel are enough, in [0, 1]."""
        return waves(self.frequencies.max() + 1)

    def matrix(self, points: ArrayLike, order: int | tuple[int, ...] = 0) -> Array:
        """Values of all functions at any points of the domain, derivatives by order, (m, size)."""
        orders = self.order(order)
        rows = self.domain.points(points)
        if not any(orders):
            return self.functions(rows, orders)
        with np.errstate(all="ignore"):
            table = self.functions(rows, orders)
        if not np.isfinite(table).all():
            raise UsageError(
                f"The derivative of order {orders} on this domain is beyond double precision. Ask for a lower order, "
                "or state the domain in other units."
            )
        return table

    def order(self, order: int | tuple[int, ...]) -> tuple[int, ...]:
        """A derivative order as one number for each side of the domain."""
        orders = tuple(order) if isinstance(order, tuple | list) else (order,)
        if len(orders) == 1 and is_whole(orders[0], 0, 0):
            orders = (0,) * self.domain.dimension
        if len(orders) != self.domain.dimension or not all(is_whole(o, 0, HIGHEST_ORDER) for o in orders):
            raise UsageError(
                f"A derivative on a domain with {self.domain.dimension} side(s) needs one whole number, 0 to "
                f"{HIGHEST_ORDER}, for each side, got {brief(order)}."
            )
        return tuple(int(o) for o in orders)

    def evaluate(self, coordinates: ArrayLike, points: ArrayLike, order: int | tuple[int, ...] = 0) -> Array:
        """Values at any points of the domain, (..., size) -> (..., m)."""
        table = public_numbers(coordinates, "Coordinates")
        if table.shape[-1:] != (self.size,):
            raise UsageError(f"This basis has {self.size} coordinates, got an array of shape {table.shape}.")
        return table @ self.matrix(points, order).T

    def projection(self, grid: ArrayLike, *, method: Method = "auto") -> Array:
        """The matrix that takes values on a grid to coordinates, read-only and cached, (size, q).

        Least squares where it is well conditioned, so that functions in the span come back exactly; else inner
        products with the natural cubic spline through the values. Points in any order; at repeated ones values are
        averaged.
        """
        return projection(self, self.domain.points(grid), method)

    def project(self, points: Array, method: Method) -> Array:
        """The projection for distinct and sorted points, before caching, (size, q)."""
        return project(self, points, method)

    def coordinates(self, values: ArrayLike, grid: ArrayLike) -> Array:
        """Coordinates of curves known on a grid, regular or not, (..., q) -> (..., size)."""
        table = public_numbers(values, "Values of curves")
        matrix = self.projection(grid)
        if table.shape[-1:] != (matrix.shape[1],):
            raise UsageError(
                f"Values and grid must have the same length, got values of shape {table.shape} and "
                f"{matrix.shape[1]} grid points."
            )
        return table @ matrix.T

    def gram(self) -> Array:
        """Inner products of all pairs of functions, (size, size)."""
        return np.eye(self.size) if self.orthonormal else _gram(self).copy()

    def nodes(self) -> tuple[Array, Array]:
        """Points (m, p) and weights (m,) that give means over the domain of products of two of the functions."""
        rules = []
        for axis, (low, high) in enumerate(self.domain.sides):
            nodes, weights = composite(self.breaks(axis))
            rules.append((low + (high - low) * nodes.ravel(), weights.ravel()))
        return product(rules)

    def integrals(self, low: ArrayLike, high: ArrayLike) -> Array:
        """The integral of each function over the interval or box from low to high, (size,).

        Over the whole domain it is the mean of the function times the volume of the domain.
        """
        corners = self.corners(low, high)
        rules = []
        for axis, (start, stop) in enumerate(corners.T):
            left, right = self.domain.sides[axis]
            inner = left + (right - left) * self.breaks(axis)
            panels = np.concatenate([[start], inner[(inner > start) & (inner < stop)], [stop]])
            nodes, weights = composite(panels)
            rules.append((nodes.ravel(), weights.ravel()))
        points, weights = product(rules)
        return weights @ self.matrix(points)

    def corners(self, low: ArrayLike, high: ArrayLike) -> Array:
        """The lowest and the highest point of a box within the domain, (2, p)."""
        ends = [public_numbers(end, "The ends of an integral").reshape(-1) for end in (low, high)]
        if any(len(end) != self.domain.dimension for end in ends):
            raise UsageError(
                f"The ends of an integral are points with {self.domain.dimension} coordinate(s), got {brief(low)} and "
                f"{brief(high)}."
            )
        corners = self.domain.points(np.stack(ends))
        for start, stop in corners.T:
            if start > stop:
                raise UsageError(f"An integral goes from a lower to an upper end, got {start:g} to {stop:g}.")
        return corners

    def describe(self) -> dict[str, Any]:
        """Plain data from which `dpfda.bases.from_dict` builds the same basis."""
        if not self.family:
            raise UsageError(
                f"{type(self).__name__} cannot be written to a file: it has no family name. Give the class a `family` "
                "and add it to dpfda.bases.FAMILIES."
            )
        return {"family": self.family, "domain": [list(side) for side in self.domain.sides], "size": self.size}


class IntervalBasis(Basis):
    """A basis on an interval, written once for [0, 1]: the duty of a subclass is `unit_functions`."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_size(type(self).__name__, self.size)
        if self.domain.dimension != 1:
            raise UsageError(
                f"{type(self).__name__} lives on an interval, got a domain with {self.domain.dimension} sides. "
                "On a box use tensor() of one basis for each side, or by_name()."
            )

    @abstractmethod
    def unit_functions(self, unit: Array, order: int) -> Array:
        """Values of all functions of [0, 1], or of a derivative there, (m,) -> (m, size)."""

    def functions(self, points: Array, order: tuple[int, ...]) -> Array:
        unit = self.domain.to_unit(points)[:, 0]
        return self.unit_functions(unit, order[0]) / np.float64(self.domain.lengths[0]) ** order[0]


def check_size(name: str, size: int, *, least: int = 1, most: int = MOST_FUNCTIONS) -> None:
    """A size is a whole number, large enough for its family, and not so large that memory ends."""
    if is_whole(size, most + 1, 2**62):
        raise UsageError(f"The size of a {name} basis must be at most {most}, got {brief(size)}. Take fewer functions.")
    if not is_whole(size, least, most):
        raise UsageError(f"The size of a {name} basis must be a whole number, at least {least}, got {brief(size)}.")


@lru_cache(maxsize=16)
def _gram(basis: Basis) -> Array:
    points, weights = basis.nodes()
    table = basis.matrix(points)
    result = (table.T * weights) @ table
    return (result + result.T) / 2

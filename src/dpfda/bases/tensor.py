"""Bases on a box: products of bases on its sides, smoothest first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, ArrayLike, Integers, brief
from dpfda.bases.base import MOST_CELLS, Basis, from_dict, register
from dpfda.bases.domain import MOST_SIDES, Domain
from dpfda.bases.projection import Method, axes_of, product
from dpfda.errors import UsageError

MOST_PRODUCTS = 2**22  # among which the smoothest are looked for all at once
MANY = 2048
MOST_ALONG = 64


@register(build=lambda **fields: tensor_from_dict(**fields))
@dataclass(frozen=True, slots=True)
class Tensor(Basis):
    """The `size` smoothest products of functions, one from each factor.

    Smooth means a large product of eigenvalues where all factors have them, else a small Euclidean norm of their
    frequencies.
    """

    factors: tuple[Basis, ...]
    size: int
    domain: Domain = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "tensor"
    most: ClassVar[int] = MOST_CELLS

    def __post_init__(self) -> None:
        if not self.factors or not all(isinstance(factor, Basis) for factor in self.factors):
            raise UsageError(
                f"A tensor product needs at least one basis, and nothing but bases, got {brief(self.factors)}.",
                parameter="factors",
                value=self.factors,
            )
        Basis.__post_init__(self)
        full = math.prod(factor.size for factor in self.factors)
        if full > MOST_PRODUCTS and any(factor.eigenvalues is None for factor in self.factors):
            raise UsageError(
                f"These factors have {full} products, and without eigenvalues at most {MOST_PRODUCTS} can be sorted.",
                parameter="factors",
                value=full,
            )
        if self.size > full:
            raise UsageError(
                f"These factors have {full} products, got size {self.size}. Enlarge the factors.",
                parameter="size",
                value=self.size,
            )
        if self.size < full and not self.orthonormal:
            raise UsageError(
                f"Only orthonormal factors can be cut to their smoothest products, got size {self.size} of {full}. "
                "Take them all, or use another basis.",
                parameter="size",
                value=self.size,
            )
        sides = tuple(side for factor in self.factors for side in factor.domain.sides)
        object.__setattr__(self, "domain", Domain(sides))

    @property
    def orthonormal(self) -> bool:
        return all(factor.orthonormal for factor in self.factors)

    @property
    def is_sparse(self) -> bool:
        """Whether its functions are so few of all products that these would not fit into memory."""
        return math.prod(factor.size for factor in self.factors) > MOST_PRODUCTS

    @property
    def index(self) -> Integers:
        """Which function of each factor stands in each product, (size, number of factors)."""
        return _index(self.factors, self.size)

    @property
    def frequencies(self) -> Array:
        squares = [factor.frequencies[chosen] ** 2 for factor, chosen in self._chosen()]
        total: Array = np.sum(squares, axis=0)
        return np.sqrt(total)

    @property
    def eigenvalues(self) -> Array | None:
        result = np.ones(self.size)
        for factor, chosen in self._chosen():
            if factor.eigenvalues is None:
                return None
            result = result * factor.eigenvalues[chosen]
        return result

    def functions(self, points: Array, order: tuple[int, ...]) -> Array:
        result = np.ones((len(points), self.size))
        for (factor, chosen), axes in zip(self._chosen(), self._axes(), strict=True):
            result *= factor.functions(points[:, axes], order[axes])[:, chosen]
        return result

    def breaks(self, axis: int) -> Array:
        for factor, axes in zip(self.factors, self._axes(), strict=True):
            if axis < axes.stop:
                return factor.breaks(axis - axes.start)
        raise IndexError(axis)

    def at_nodes(self, coordinates: Array, order: tuple[int, ...]) -> Array:
        """Along one side after the other: far less work than all products at all nodes."""
        if any(factor.domain.dimension > 1 for factor in self.factors) or self.is_sparse:
            return Basis.at_nodes(self, coordinates, order)
        used = tuple(self.index.max(axis=0) + 1)
        dense: Array = np.zeros(used)
        dense[tuple(self.index.T)] = coordinates
        for axis, factor in enumerate(self.factors):
            table = factor.matrix(factor.nodes()[0], order[axis])[:, : used[axis]]
            dense = np.moveaxis(np.tensordot(table, dense, (1, axis)), 0, axis)
        return dense.reshape(-1)

    def means(self) -> Array:
        result = np.ones(self.size)
        for factor, chosen in self._chosen():
            result *= factor.means()[chosen]
        return result

    def project(self, points: Array, method: Method) -> Array:
        """On a full grid the product of the factors' projections; on scattered points as for any basis."""
        axes = axes_of(points)
        if axes is None:
            if not self.orthonormal:
                raise UsageError(
                    "A product of bases that are not orthonormal needs values on a full grid: all pairs of points of "
                    "its axes. Use cosine, legendre, bspline or beam for scattered points.",
                    parameter="grid",
                )
            return Basis.project(self, points, method)
        result = np.ones((self.size, 1))
        for (factor, chosen), span in zip(self._chosen(), self._axes(), strict=True):
            grid = product([(axis, np.ones(len(axis))) for axis in axes[span]])[0]
            part = factor.project(grid, method)[chosen]
            result = (result[:, :, None] * part[:, None, :]).reshape(self.size, -1)
        return result

    def gram(self) -> Array:
        if self.orthonormal and self.size > MANY:
            return np.eye(self.size)  # as it is but for rounding: products of so many would take seconds
        result = np.ones((self.size, self.size))
        for factor, chosen in self._chosen():
            result *= factor.gram()[np.ix_(chosen, chosen)]
        return result

    def integrals(self, low: ArrayLike, high: ArrayLike) -> Array:
        lows, highs = self.corners(low, high)
        result = np.ones(self.size)
        for (factor, chosen), axes in zip(self._chosen(), self._axes(), strict=True):
            result *= factor.integrals(lows[axes], highs[axes])[chosen]
        return result

    def describe(self) -> dict[str, Any]:
        return {"family": self.family, "factors": [factor.describe() for factor in self.factors], "size": self.size}

    def _chosen(self) -> list[tuple[Basis, Integers]]:
        return list(zip(self.factors, self.index.T, strict=True))

    def _axes(self) -> list[slice]:
        """The sides of the domain that belong to each factor."""
        ends = np.cumsum([0, *(factor.domain.dimension for factor in self.factors)]).tolist()
        return [slice(start, stop) for start, stop in pairwise(ends)]


@lru_cache(maxsize=32)
def _index(factors: tuple[Basis, ...], size: int) -> Integers:
    if math.prod(factor.size for factor in factors) > MOST_PRODUCTS:
        return _index_by_sides(factors, size)
    index = np.indices([factor.size for factor in factors]).reshape(len(factors), -1).T
    roughness = np.zeros(len(index))
    if all(factor.eigenvalues is not None for factor in factors):
        for factor, chosen in zip(factors, index.T, strict=True):
            with np.errstate(divide="ignore"):  # an eigenvalue of zero is as rough as can be
                roughness -= np.log(np.asarray(factor.eigenvalues))[chosen]
    else:
        for factor, chosen in zip(factors, index.T, strict=True):
            roughness += factor.frequencies[chosen] ** 2
    # Rounded, so that products which are equal in exact arithmetic tie on every machine; ties go by index.
    order = np.lexsort((*index.T[::-1], index.sum(axis=1), np.round(roughness, 9)))[:size]
    chosen_index = index[order]
    chosen_index.flags.writeable = False
    return chosen_index


def _index_by_sides(factors: tuple[Basis, ...], size: int) -> Integers:
    """The products with the largest eigenvalues, one side after the other.

    What begins one of the `size` best products is among the `size` best beginnings: any that is better makes a better
    product with the same end.
    """
    index, roughness = np.zeros((1, 0), dtype=np.int64), np.zeros(1)
    for factor in factors:
        with np.errstate(divide="ignore"):
            added = -np.log(np.asarray(factor.eigenvalues))
        total = (roughness[:, None] + added).ravel()
        whole = np.column_stack([np.repeat(index, factor.size, axis=0), np.tile(np.arange(factor.size), len(index))])
        order = np.lexsort((*whole.T[::-1], whole.sum(axis=1), np.round(total, 9)))[:size]
        index, roughness = whole[order], total[order]
    index.flags.writeable = False
    return index


def tensor(*bases: Basis, size: int | None = None) -> Tensor:
    """The product basis on the box; `size` keeps the smoothest products only.

    >>> from dpfda.bases import cosine
    >>> tensor(cosine((0, 1), 3), cosine((0, 2), 3), size=4).index.tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    return Tensor(bases, math.prod(getattr(basis, "size", 1) for basis in bases) if size is None else size)


def tensor_from_dict(factors: list[Mapping[str, Any]], size: int) -> Tensor:
    """A product basis from plain data; what has too many products is refused before any factor is made."""
    sizes = [_stated_size(factor) for factor in factors[: MOST_SIDES + 1]]
    # Of more products only those of a few eigenfunctions a side are ever written.
    sorted_by_sides = all(isinstance(each, Mapping) and each.get("family") == "mercer" for each in factors)
    many = math.prod(sizes) > MOST_PRODUCTS and not (sorted_by_sides and max(sizes) <= MOST_ALONG)
    if len(factors) > MOST_SIDES or many:
        raise UsageError(
            f"A product basis has at most {MOST_SIDES} factors with at most {MOST_PRODUCTS} products, or {MOST_ALONG} "
            "eigenfunctions a side.",
            parameter="factors",
            value=len(factors),
        )
    return tensor(*(from_dict(factor) for factor in factors), size=size)


def _stated_size(description: Mapping[str, Any]) -> int:
    """How many functions a description says that it has, at least one."""
    size = description.get("size") if isinstance(description, Mapping) else None
    return size if isinstance(size, int) and size > 0 else 1

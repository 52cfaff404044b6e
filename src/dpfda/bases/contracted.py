"""Combinations of basis functions that are no longer than their coordinates, e.g. what a penalty leaves of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, ArrayLike, brief, public_numbers
from dpfda.bases.base import Basis, from_dict, register
from dpfda.bases.domain import Domain
from dpfda.errors import UsageError

SLACK = 1e-9  # of the squared length of a combination, for the rounding of orthonormal functions


@register(build=lambda **fields: contracted_from_dict(**fields))
@dataclass(frozen=True)
class Contracted(Basis):
    """Combinations of the functions of an orthonormal basis, with a Gram matrix that is at most the identity.

    Functions that a linear smoother makes of an orthonormal basis are of this kind: noise in independent coordinates
    is then a process of any covariance.
    """

    whole: Basis
    columns: tuple[tuple[float, ...], ...]  # coordinates of each combination
    domain: Domain = field(init=False)
    size: int = field(init=False)

    family: ClassVar[str] = "contracted"

    def __post_init__(self) -> None:
        table = np.array(self.columns, dtype=np.float64)
        near = table.ndim == 2 and table.shape[1] == self.whole.size and self.whole.orthonormal and len(table) > 0
        near = near and len(table) <= self.whole.size
        if not near or not float(np.linalg.norm(table, 2)) ** 2 <= 1 + SLACK:
            raise UsageError(
                f"Contracted combinations need rows of {self.whole.size} coordinates in an orthonormal basis, no more "
                f"rows than that, and lengthen no vector of coordinates, got an array of shape {table.shape}.",
                parameter="columns",
                value=table.shape,
            )
        object.__setattr__(self, "domain", self.whole.domain)
        object.__setattr__(self, "size", len(self.columns))

    @property
    def orthonormal(self) -> bool:
        return False

    def functions(self, points: Array, order: tuple[int, ...]) -> Array:
        values: Array = self.whole.functions(points, order) @ np.array(self.columns).T
        return values

    def gram(self) -> Array:
        table = np.array(self.columns)
        inner: Array = table @ table.T
        return inner

    @property
    def frequencies(self) -> Array:
        """All zero: combinations have no order of roughness, so smoothing leaves them alone."""
        return np.zeros(self.size)

    def breaks(self, axis: int) -> Array:
        return self.whole.breaks(axis)

    def describe(self) -> dict[str, Any]:
        return {"family": self.family, "whole": self.whole.describe(), "columns": [list(c) for c in self.columns]}


def contracted(whole: Basis, columns: ArrayLike) -> Contracted:
    """Combinations of basis functions, one in each row of `columns`, that are no longer than their coordinates."""
    table = public_numbers(columns, "Combinations of functions")
    if not isinstance(whole, Basis) or table.ndim != 2:
        raise UsageError(
            f"Combinations need a basis and one row for each, got {brief(whole)} and shape {table.shape}.",
            parameter="whole",
            value=whole,
        )
    return Contracted(whole, tuple(tuple(row) for row in table.tolist()))


def contracted_from_dict(whole: Mapping[str, Any], columns: list[list[float]]) -> Contracted:
    """Combinations from plain data."""
    return contracted(from_dict(whole), columns)

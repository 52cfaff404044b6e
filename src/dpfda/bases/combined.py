"""A few public combinations of basis functions, as a basis of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, ArrayLike, brief, public_numbers
from dpfda.bases.base import Basis, from_dict, register
from dpfda.bases.domain import Domain
from dpfda.bases.projection import Method
from dpfda.errors import UsageError


@register(build=lambda **fields: combined_from_dict(**fields))
@dataclass(frozen=True)
class Combined(Basis):
    """Orthonormal combinations of the functions of an orthonormal basis, e.g. principal components that are public."""

    whole: Basis
    columns: tuple[tuple[float, ...], ...]  # of the frame: coordinates of each combination
    domain: Domain = field(init=False)
    size: int = field(init=False)

    family: ClassVar[str] = "combined"

    def __post_init__(self) -> None:
        frame = np.array(self.columns, dtype=np.float64)
        near = frame.ndim == 2 and frame.shape[1] == self.whole.size and self.whole.orthonormal
        if not near or not np.allclose(frame @ frame.T, np.eye(len(frame)), atol=1e-9):
            raise UsageError(
                f"Combinations need orthonormal rows of {self.whole.size} coordinates in an orthonormal basis, got an "
                f"array of shape {frame.shape}."
            )
        object.__setattr__(self, "domain", self.whole.domain)
        object.__setattr__(self, "size", len(self.columns))

    def functions(self, points: Array, order: tuple[int, ...]) -> Array:
        values: Array = self.whole.functions(points, order) @ np.array(self.columns).T
        return values

    @property
    def frequencies(self) -> Array:
        """None: combinations have no order of roughness, so smoothing leaves them alone."""
        return np.zeros(self.size)

    def breaks(self, axis: int) -> Array:
        return self.whole.breaks(axis)

    def project(self, points: Array, method: Method) -> Array:
        projected: Array = np.array(self.columns) @ self.whole.project(points, method)
        return projected

    def describe(self) -> dict[str, Any]:
        return {"family": self.family, "whole": self.whole.describe(), "columns": [list(c) for c in self.columns]}


def combined(whole: Basis, columns: ArrayLike) -> Combined:
    """Orthonormal combinations of basis functions, one in each row of `columns`, as a basis of their own."""
    table = public_numbers(columns, "Combinations of functions")
    if not isinstance(whole, Basis) or table.ndim != 2:
        raise UsageError(f"Combinations need a basis and one row for each, got {brief(whole)} and shape {table.shape}.")
    return Combined(whole, tuple(tuple(row) for row in table.tolist()))


def combined_from_dict(whole: Mapping[str, Any], columns: list[list[float]]) -> Combined:
    """Combinations from plain data."""
    return combined(from_dict(whole), columns)

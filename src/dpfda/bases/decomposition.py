"""Come here for what the spectral decomposition of a kernel is: eigenvalues, and functions evaluable anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpfda.arrays import Array
from dpfda.bases.polynomial import legendre_table
from dpfda.bases.trigonometric import cosine_derivative


class Decomposition(Protocol):
    """Eigenvalues, largest first, and orthonormal eigenfunctions on the unit cube."""

    @property
    def eigenvalues(self) -> Array: ...

    @property
    def degree(self) -> int:
        """About how many half-waves an eigenfunction has along one side, at most."""

    def functions(self, unit: Array, order: tuple[int, ...]) -> Array:
        """Values of all eigenfunctions, or of a derivative, (m, p) -> (m, size)."""


@dataclass(frozen=True, slots=True)
class Waves:
    """Eigenfunctions `amplitude cos(speed (u - centre) + phase)`, the phase in quarter turns."""

    eigenvalues: Array
    amplitudes: Array
    speeds: Array
    quarters: Array
    centre: float

    @property
    def degree(self) -> int:
        return len(self.eigenvalues)

    def functions(self, unit: Array, order: tuple[int, ...]) -> Array:
        angles = (unit - self.centre) * self.speeds
        table = np.empty_like(angles)
        for quarter in range(4):
            mine = self.quarters == quarter
            table[:, mine] = cosine_derivative(angles[:, mine], order[0] + quarter)
        table *= self.amplitudes * self.speeds ** order[0]
        return table


@dataclass(frozen=True, slots=True)
class Series:
    """Eigenfunctions as sums of products of orthonormal Legendre polynomials, `degree` of them on each side."""

    eigenvalues: Array
    coefficients: Array  # (degree^p, size)
    degree: int

    def functions(self, unit: Array, order: tuple[int, ...]) -> Array:
        table = np.ones((len(unit), 1))
        for column, derivative in zip(unit.T, order, strict=True):
            factor = legendre_table(column, self.degree, derivative).T
            table = (table[:, :, None] * factor[:, None, :]).reshape(len(unit), table.shape[1] * self.degree)
        return table @ self.coefficients


@dataclass(frozen=True, slots=True)
class Completed:
    """A series on an interval that uses up its polynomials, and after it the polynomials of all higher degrees."""

    series: Series  # with as many functions as polynomials
    size: int

    @property
    def eigenvalues(self) -> Array:
        """Zero beyond the series."""
        eigenvalues = np.zeros(self.size)
        eigenvalues[: self.series.degree] = self.series.eigenvalues
        return eigenvalues

    @property
    def degree(self) -> int:
        return self.size

    def functions(self, unit: Array, order: tuple[int, ...]) -> Array:
        table = legendre_table(unit[:, 0], self.size, order[0]).T
        low, high = table[:, : self.series.degree], table[:, self.series.degree :]
        return np.concatenate([low @ self.series.coefficients, high], axis=1)

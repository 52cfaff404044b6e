"""Come here for the curves of Awan et al., Section 6.2: heights and scans in five coordinates, normalised as there."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import DataError
from dpfda.kernels import Gaussian
from dpfda.studies.published_curves import complete_scans

TERMS = 5  # eigenfunctions of the kernel, more than 99 % of its trace
RATES = {"Berkeley": 0.03, "DTI": 1.1e-3}  # s of the kernel exp(-s d^2), on ages and on places 1 to 93; not printed
FILES = {"Berkeley": "berkeley_growth.csv", "DTI": "dti_cca.csv"}


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Curves in the eigenfunctions of a kernel, longest at most 1, and the kernel's eigenvalues."""

    curves: Array  # (n, m), centred by their mean: not private
    eigenvalues: Array  # (m,), descending
    kept: float  # of the kernel's trace

    def exponent(self, epsilon: float) -> Array:
        """The matrix A of the density `exp(tr V'AV)`: half of `epsilon X'X` less the precision of the base measure."""
        return np.asarray((epsilon * self.curves.T @ self.curves - np.diag(1 / self.eigenvalues)) / 2)

    @property
    def explained(self) -> Array:
        """The shares of variation that 1, 2, ... components hold without privacy, (m,)."""
        values = np.linalg.eigvalsh(self.curves.T @ self.curves)[::-1]
        return np.asarray(np.cumsum(values) / values.sum())


def growth(path: Path) -> tuple[Array, Array]:
    """Ages and heights of children, (31,) and (93, 31); the columns are called age_1 to age_18."""
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        names = [name for name in reader.fieldnames or () if re.fullmatch(r"age_[\d.]+", name)]
        rows = [[float(row[name]) for name in names] for row in reader]
    if len(names) < TERMS or not rows:
        raise DataError(f"{path.name} has no curves of the expected layout: columns age_*, one row for each child.")
    return np.array([float(name.removeprefix("age_")) for name in names]), np.array(rows)


def scans(path: Path) -> tuple[Array, Array]:
    """Places 1, 2, ... and the profiles of scans without gaps, (93,) and (376, 93)."""
    curves = complete_scans(path)
    return np.arange(1.0, curves.shape[1] + 1), curves


READERS = {"Berkeley": growth, "DTI": scans}


def coordinates(points: Array, curves: Array, rate: float, *, terms: int = TERMS) -> Coordinates:
    """Centre by the sample mean, scale by the largest norm of the sample, and take leading kernel coordinates.

    All points weigh the same, the mean step between them, in eigenfunctions and inner products, but in the norm a
    point weighs 1. On places the step is 1; on ages, with a step of 17/30, no curve is longer than 0.753. None of this
    is printed: it is what gives the printed values, and the notes of the tables say how far other weights lead.
    """
    step = float(points[-1] - points[0]) / (len(points) - 1)
    centred = curves - curves.mean(axis=0)
    centred /= np.linalg.norm(centred, axis=1).max()
    values, vectors = np.linalg.eigh(step * Gaussian(1 / rate)(points, points))
    # Eigenfunctions are eigenvectors over sqrt(step), inner products sums times step.
    scores = centred @ vectors[:, ::-1][:, :terms] * np.sqrt(step)
    leading = values[::-1][:terms]
    return Coordinates(scores, leading, float(leading.sum() / values.sum()))


def read(data: str, path: Path) -> Coordinates:
    """The normalised coordinates of one data set, "Berkeley" or "DTI"."""
    return coordinates(*READERS[data](path), RATES[data])

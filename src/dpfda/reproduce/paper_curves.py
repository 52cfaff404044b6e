"""The curves of the papers: electricity demand, heights, brain scans, and the simulated ones of Awan et al."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from dpfda import bases
from dpfda.arrays import Array
from dpfda.errors import DataError
from dpfda.kernels import Gaussian
from dpfda.mechanisms.randomness import SeededRandomness
from dpfda.studies.simulators import GRID, norms, weights

Row = dict[str, str]


def mondays(path: Path) -> Array:
    """Half-hourly electricity demand in Adelaide on Mondays, (508, 48); columns day, week, h01 to h48."""
    return _read(path, r"h\d+", lambda row: row.get("day") == "monday")


def complete_scans(path: Path) -> Array:
    """Brain-scan profiles without gaps, one row a scan and not a person, (376, 93); columns t001 to t093."""
    return _read(path, r"t\d+", lambda row: all(row[name] != "" for name in row if re.fullmatch(r"t\d+", name)))


def unit_norm(curves: Array) -> Array:
    """Each curve less its mean and over its norm, both by the trapezoid rule on evenly spaced points of [0, 1].

    It looks at one curve at a time, so that "every norm is 1" is a public fact afterwards. Under equal weights the norm
    is a little different: up to 1.073 for curves with large ends.
    """
    size = curves.shape[1]
    weights = np.full(size, 1 / (size - 1))
    weights[[0, -1]] /= 2
    centred = curves - (curves @ weights)[:, None]
    return np.asarray(centred / np.sqrt(np.square(centred) @ weights)[:, None])


def _read(path: Path, columns: str, wanted: Callable[[Row], bool]) -> Array:
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        names = [name for name in reader.fieldnames or () if re.fullmatch(columns, name)]
        rows = [[float(row[name]) for name in names] for row in reader if wanted(row)]
    if not names or not rows:
        raise DataError(f"{path.name} has no curves of the expected layout: columns {columns}, one row for each curve.")
    return np.array(rows)


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


Reading = Literal["mean", "scores"]

READINGS: tuple[Reading, Reading] = ("mean", "scores")
TRUE_TERMS = 21
RELEASED_TERMS = 40  # of the release
FOURTH = 3  # the place of the fourth function
VARIANCE = 0.1  # of scores: N(0, 0.1)
# Mean square of the fourth term. "Additional weights" are not printed; 64 is what makes 40 functions hold 99 % of the
# variation, as printed, beside errors of variance 1 at each of 100 points, of which 40 functions hold two fifths.
FOURTH_SQUARE = 64.0


def simulate(n: int, randomness: SeededRandomness, *, reading: Reading) -> Array:
    """Curves at 100 even points, (n, 100): `sum_j j^-2 U_ij u_j` over 21 Fourier functions, and normal errors.

    The weight of the fourth function stands in the mean, the same for all curves, or in its scores, where it is above
    or below zero by chance.
    """
    functions = bases.fourier((0.0, 1.0), TRUE_TERMS).matrix(GRID)
    sizes = np.arange(1.0, TRUE_TERMS + 1) ** -2
    if reading == "scores":
        sizes[FOURTH] = math.sqrt(FOURTH_SQUARE / VARIANCE)
    scores = math.sqrt(VARIANCE) * randomness.normal((n, TRUE_TERMS)) * sizes
    if reading == "mean":
        scores[:, FOURTH] += math.sqrt(FOURTH_SQUARE)
    return np.asarray(scores @ functions.T + randomness.normal((n, len(GRID))))


def encode(curves: Array) -> Coordinates:
    """Fourier coordinates over the largest norm of the sample, not private, with base measure `C_ii = i^-3`."""
    basis = bases.fourier((0.0, 1.0), RELEASED_TERMS)
    # The trapezoid rule is exact for products of these functions: 99 even steps, frequencies below 50.
    scores = curves / norms(curves).max() * weights() @ basis.matrix(GRID)
    squares = np.square(scores).sum() / np.square(norms(curves) / norms(curves).max()).sum()
    return Coordinates(np.asarray(scores), np.arange(1.0, RELEASED_TERMS + 1) ** -3, float(squares))


def true_frame() -> Array:
    """The first component of the law of the curves, (40, 1): the fourth function in either reading."""
    return np.eye(RELEASED_TERMS)[:, [FOURTH]]

"""Come here for a private covariance function: values anywhere, eigenfunctions, scores, and its picture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dpfda.arrays import Array, ArrayLike
from dpfda.bases import Basis
from dpfda.errors import UsageError
from dpfda.privacy import Noise
from dpfda.releases.calculus import Function
from dpfda.releases.certificate import Certificate
from dpfda.releases.components import ComponentsRelease, principal, with_signs
from dpfda.releases.release import Count
from dpfda.releases.smoothing import CARE, Smoothing, smooth
from dpfda.symmetric import multiplicities, pack, unpack


@dataclass(frozen=True, eq=False)
class CovarianceRelease:
    """A private covariance function: noisy moments in a public basis, and their card.

    Nothing in it knows a record; every method is post-processing and costs nothing.
    """

    basis: Basis
    noisy: Array  # entries of the noisy moment matrix as paid for, led by the row of the mean if lead > 0
    noise: Noise
    lead: float  # by which the mean was multiplied; 0: no mean was released, the centre is taken for it
    count: Count | None  # None where the number of units is public
    centre: Array  # (size,) coordinates of the public centre
    smoothing_name: str
    certificate: Certificate

    @cached_property
    def _mean(self) -> Smoothing:
        """The smoothing of the mean's coordinates."""
        rows, variances = unpack(self.noisy), unpack(self.noise.variances)
        if not self.lead:
            return Smoothing("none", np.zeros(self.basis.size), 0.0)
        noisy, spread = rows[0, 1:] / self.lead, variances[0, 1:] / self.lead**2
        return smooth(self.smoothing_name, noisy, spread, self.basis.frequencies, care=CARE["radial"])

    @property
    def mean(self) -> Function:
        """The mean function that was subtracted; the public centre if no mean was released."""
        return Function(self.basis, self.centre + self._mean_coordinates, (0,) * self.basis.domain.dimension)

    @property
    def _mean_coordinates(self) -> Array:
        if not self.lead:
            return np.zeros(self.basis.size)
        return self._mean.weights * unpack(self.noisy)[0, 1:] / self.lead

    @cached_property
    def raw(self) -> Array:
        """Coordinates of the covariance as paid for: no smoothing, maybe not positive, (size, size)."""
        moments = unpack(self.noisy)
        return moments[1:, 1:] - np.outer(self._mean_coordinates, self._mean_coordinates) if self.lead else moments

    @property
    def variances(self) -> Array:
        """Variances of the noise in the second moments, (size, size)."""
        spread = unpack(self.noise.variances)
        return spread[1:, 1:] if self.lead else spread

    @cached_property
    def smoothing(self) -> Smoothing:
        """Weights on the entries, each kept once, chosen from the noisy ones."""
        side = self.basis.size
        times = multiplicities(side)
        frequencies = self.basis.frequencies
        rough = pack(np.hypot(frequencies[:, None], frequencies[None, :]))
        return smooth(
            self.smoothing_name,
            np.sqrt(times) * pack(self.raw),
            times * pack(self.variances),
            rough,
            care=CARE["gaussian" if self.noise.law == "gaussian" else "radial"],
        )

    @cached_property
    def coordinates(self) -> Array:
        """Coordinates of the nearest positive semidefinite function to the smoothed one, (size, size)."""
        values, vectors = np.linalg.eigh(unpack(self.smoothing.weights * pack(self.raw)))
        nearest: Array = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return nearest

    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        """The covariance at all pairs of points of the domain, (m, n); two single numbers give a single number."""
        values = self._at(s) @ self.coordinates @ self._at(t).T
        return values[0, 0] if np.ndim(s) == 0 and np.ndim(t) == 0 else values

    def _at(self, points: ArrayLike) -> Array:
        return self.basis.matrix(np.atleast_1d(np.asarray(points, dtype=np.float64)))

    @property
    def trace(self) -> float:
        """The total variance: the mean over the domain of the variance function."""
        return float(np.trace(self.coordinates))

    @property
    def eigenvalues(self) -> Array:
        """Variances along the eigenfunctions, largest first, none below zero, (size,)."""
        return np.maximum(np.linalg.eigvalsh(self.coordinates)[::-1], 0.0)

    @property
    def eigenfunctions(self) -> tuple[Function, ...]:
        """Eigenfunctions of the covariance, largest variance first, signs fixed."""
        _, vectors = np.linalg.eigh(self.coordinates)
        order = (0,) * self.basis.domain.dimension
        return tuple(Function(self.basis, column, order) for column in with_signs(vectors[:, ::-1]).T)

    def components(self, k: int) -> ComponentsRelease:
        """The first k principal components, for nothing: post-processing of what was paid for."""
        if not 1 <= k <= self.basis.size:
            raise UsageError(f"There can be 1 to {self.basis.size} components in this basis, got {k!r}.")
        size = self.basis.size
        deviation = float(np.sqrt(pack(self.variances)[size:].mean())) if size > 1 else 0.0
        frame = principal(self.coordinates, self.basis.frequencies, deviation, k)
        return ComponentsRelease(
            basis=self.basis,
            frame=frame,
            variances=np.einsum("ij,ij->j", frame, self.coordinates @ frame),
            total=self.trace,
            centre=self.mean.coordinates,
            certificate=replace(self.certificate, what=f"{k} principal component{'s' * (k > 1)}"),
        )

    def scores(self, values: ArrayLike, grid: ArrayLike, k: int = 2) -> Array:
        """Scores of public curves on the first k components, (..., q) -> (..., k)."""
        return self.components(k).scores(values, grid)

    def smooth(self, name: str = "auto") -> CovarianceRelease:
        """The same release with another smoothing: "auto", "none", "sobolev-1", -2, -4, -8, "james-stein"."""
        smooth(name, np.ones(1), np.ones(1), np.zeros(1))  # refuses an unknown name
        return replace(self, smoothing_name=name)

    def noise_deviation(self, s: ArrayLike, t: ArrayLike) -> Array:
        """The standard deviation of the noise in the second moment at all pairs of points, before smoothing, (m, n)."""
        # A noisy entry (i, j) stands in two places: (f_i g_j + f_j g_i)^2 v_ij / 2 over all ordered pairs, and once on
        # the diagonal.
        first, second = self._at(s), self._at(t)
        both = np.einsum("ai,bj->abij", first, second)
        summed = both + np.swapaxes(both, 2, 3)
        weights = self.variances * np.where(np.eye(self.basis.size, dtype=bool), 0.25, 0.5)
        deviations: Array = np.sqrt(np.einsum("abij,ij->ab", summed**2, weights))
        return deviations[0, 0] if np.ndim(s) == 0 and np.ndim(t) == 0 else deviations

    def plot(self, ax: Any = None) -> Any:
        """A contour plot of the covariance; returns the axes."""
        from dpfda.releases.surfaces import plot_covariance

        return plot_covariance(self, ax)

    def save(self, path: str | Path) -> Path:
        """Write the release as JSON; `dpfda.load` reads it back with identical values."""
        from dpfda.releases.files import save

        return save(self, path)

    def __repr__(self) -> str:
        card = self.certificate
        return f"CovarianceRelease({card.what} of {card.dataset!r}, {card.guarantee}, {self.basis.size} coordinates)"

"""A private covariance function: values anywhere, eigenfunctions, scores, errors, and its picture."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, ArrayLike, brief, is_whole, public_numbers
from dpfda.bases import Basis
from dpfda.bases.domain import check_asked
from dpfda.bases.symmetric import multiplicities, pack, packed_size, places, unpack
from dpfda.errors import UsageError
from dpfda.mechanisms import Care, NoiseLaw, RadialLaw
from dpfda.privacy import REPLACE
from dpfda.releases.base import AnyRelease, pandas
from dpfda.releases.calculus import Function
from dpfda.releases.cards.words import Statement, say
from dpfda.releases.certificate import Certificate, changed
from dpfda.releases.comparisons import EVEN, CurveComparisons, plain_law
from dpfda.releases.decoded import Count, added_noise, finite, finite_number, read_count, write_count
from dpfda.releases.detection import (
    BLOCK,
    beyond,
    compared,
    count_for,
    largest,
    of_matrices,
    smooth_first,
    standard_draws,
)
from dpfda.releases.plots import UNSEEN, around_zero, axes_or_new, check_interval, contour_levels, title
from dpfda.releases.roughness import Roughness, roughness_of
from dpfda.releases.smoothing import Smoothing, smooth
from dpfda.statistics.components.release import ComponentsRelease, principal, with_signs

NOTHING_SEEN = say("warnings", "nothing-seen")
SIZE = 101  # points along each side of a contour plot


@dataclass(frozen=True, eq=False, repr=False)
class CovarianceRelease(AnyRelease):
    """A private covariance function: noisy moments in a public basis, and their card."""

    basis: Basis
    noisy: Array  # entries of the noisy moment matrix as paid for, led by the row of the mean if lead > 0
    noise: NoiseLaw
    lead: float  # by which the mean was multiplied; 0: no mean was released, the centre is taken for it
    count: Count | None  # None where the number of units is public
    centre: Array  # (size,) coordinates of the public centre
    smoothing_name: str
    certificate: Certificate

    kind: ClassVar[str] = "covariance"
    sides: ClassVar[tuple[int, ...]] = (41, 9)

    @cached_property
    def _mean(self) -> Smoothing:
        """The smoothing of the mean's coordinates."""
        rows, variances = unpack(self.noisy), unpack(self.noise.variances)
        if not self.lead:
            return Smoothing("none", np.zeros(self.basis.size), 0.0)
        noisy, spread = rows[0, 1:] / self.lead, variances[0, 1:] / self.lead**2
        # Under any law as careful as under radial noise: what the mean keeps of its noise is squared and subtracted.
        return smooth(self.smoothing_name, noisy, spread, self.basis.frequencies, care=RadialLaw.care)

    @property
    def mean(self) -> Function:
        """The mean function that was subtracted; the public centre if no mean was released."""
        roughness = self._roughness(unpack(self.noise.variances)[0, 1:]) if self.lead else None
        return self._function(self.centre + self._mean_coordinates, roughness)

    def _roughness(self, variances: Array) -> Roughness | None:
        return roughness_of(self.basis, variances, self.smoothing_name, mechanism=self.certificate.mechanism)

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
        return smooth_entries(
            self.smoothing_name, self.raw, self.variances, self.basis.frequencies, care=self.noise.care
        )

    @cached_property
    def coordinates(self) -> Array:
        """Coordinates of the nearest positive semidefinite function to the smoothed one, (size, size)."""
        return self._root @ self._root.T

    @cached_property
    def _root(self) -> Array:
        """A matrix whose product with its transpose is the covariance, (size, size)."""
        # Nearest in Frobenius norm, which is the L2 norm of functions on the square: the basis is orthonormal.
        values, vectors = np.linalg.eigh(unpack(self.smoothing.weights * pack(self.raw)))
        root: Array = vectors * np.sqrt(np.maximum(values, 0.0))
        return root

    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        """The covariance at all pairs of points of the domain, (m, n); two single numbers give a single number."""
        return self._pairs(lambda first, second: (first @ self._root) @ (second @ self._root).T, s, t)

    def variance(self, points: ArrayLike) -> Array:
        """The variance at points of the domain, the diagonal of the covariance, (m,)."""
        rows = self.basis.asked(np.atleast_1d(public_numbers(points, "Points")))
        values = np.concatenate([np.sum((table @ self._root) ** 2, axis=1) for table in self.basis.tables(rows)])
        return values[0] if np.ndim(points) == 0 else values

    def correlation(self, s: ArrayLike, t: ArrayLike) -> Array:
        """The correlation at all pairs of points, (m, n); not a number where the variance is zero."""
        # Below the rounding of what is left of the total variance there is no direction.
        least = 1e-12 * float(np.linalg.norm(self._root))

        def direction(table: Array) -> Array:
            rows = table @ self._root
            length = np.linalg.norm(rows, axis=1, keepdims=True)
            return np.asarray(rows / np.where(length > least, length, np.nan))

        return self._pairs(lambda a, b: np.clip(direction(a) @ direction(b).T, -1.0, 1.0), s, t)

    def _pairs(self, value: Callable[[Array, Array], Array], s: ArrayLike, t: ArrayLike) -> Array:
        """Values at all pairs of points from tables of the functions there; one value at two single numbers."""
        first, second = (self.basis.asked(np.atleast_1d(public_numbers(points, "Points"))) for points in (s, t))
        check_asked(len(first) * len(second), what="pairs of points")
        rows = [
            np.concatenate([value(one, other) for other in self.basis.tables(second)], axis=1)
            for one in self.basis.tables(first)
        ]
        values = np.concatenate(rows)
        return values[0, 0] if np.ndim(s) == 0 and np.ndim(t) == 0 else values

    @property
    def trace(self) -> float:
        """The total variance: the mean over the domain of the variance function."""
        return float(np.trace(self.coordinates))

    @property
    def eigenvalues(self) -> Array:
        """Variances along the eigenfunctions, largest first, none below zero, (size,)."""
        found: Array = np.maximum(np.linalg.eigvalsh(self.coordinates)[::-1], 0.0)
        return found

    @property
    def eigenfunctions(self) -> tuple[Function, ...]:
        """Eigenfunctions of the covariance, largest variance first, signs fixed."""
        _, vectors = np.linalg.eigh(self.coordinates)
        # To first order noise enters as in rows of the matrix; a diagonal entry has twice the variance.
        row = self.variances[0] * np.where(np.arange(self.basis.size) == 0, 0.5, 1.0)
        roughness = self._roughness(row)
        return tuple(self._function(column, roughness) for column in with_signs(vectors[:, ::-1]).T)

    def components(self, k: int) -> ComponentsRelease:
        """The first k principal components, for nothing: post-processing of what was paid for."""
        if not is_whole(k, 1, self.basis.size):
            raise UsageError(
                f"There can be 1 to {self.basis.size} components in this basis, got {brief(k)}.", parameter="k", value=k
            )
        k, size = int(k), self.basis.size  # comparisons of NumPy's narrow numbers are no plain truth values
        deviation = float(np.sqrt(pack(self.variances)[size:].mean())) if size > 1 else 0.0
        frame = principal(self.coordinates, self.basis.frequencies, deviation, k)
        found = ComponentsRelease(
            basis=self.basis,
            frame=frame,
            variances=np.maximum(np.einsum("ij,ij->j", frame, self.coordinates @ frame), 0.0),
            total=self.trace,
            centre=self.mean.coordinates,
            certificate=replace(
                self.certificate,
                what=say("what", "components", count=int(k), variances=False),
                statistic="components",
                detected=components_detected(self.certificate.detected),
            ),
            deviation=self.variance_deviation,
        )
        if found.seen:
            return found
        card = found.certificate
        return replace(found, certificate=replace(card, warnings=(*card.warnings, NOTHING_SEEN)))

    @property
    def variance_deviation(self) -> float:
        """The standard deviation of the noise in the variance along a direction, before smoothing."""
        return float(np.sqrt(np.diagonal(self.variances).mean()))

    def scores(self, values: ArrayLike, grid: ArrayLike, k: int = 2) -> Array:
        """Scores of public curves on the first k components, (..., q) -> (..., k)."""
        return self.components(k).scores(values, grid)

    def smooth(self, name: str = "auto") -> CovarianceRelease:
        """The same release with another smoothing: "auto", "none", "sobolev-1", -2, -4, -8, "james-stein"."""
        _check_name(name)
        card = changed(self.certificate, "smoothing", self.smoothing_name, name)
        return replace(self, smoothing_name=name, certificate=card)

    def noise_deviation(self, s: ArrayLike, t: ArrayLike) -> Array:
        """The standard deviation of the noise in the second moment at all pairs of points, before smoothing, (m, n)."""
        # The noise in entry (i, j), i < j, counts f_i g_j + f_j g_i times, on the diagonal f_i g_i times. Entries are
        # uncorrelated under every law, so squares of these add up, here over all ordered pairs: f_i^2 g_j^2 +
        # f_i g_i f_j g_j, half of it on the diagonal.
        halves = self.variances * np.where(np.eye(self.basis.size, dtype=bool), 0.5, 1.0)

        def deviation(first: Array, second: Array) -> Array:
            if len(first) > len(second):
                return deviation(second, first).T
            squares = first**2 @ halves @ (second**2).T
            for row, functions in enumerate(first):  # one at a time: pairs of points times pairs of functions are many
                products = functions * second
                squares[row] += np.einsum("bi,bi->b", products @ halves, products)
            return np.sqrt(np.maximum(squares, 0.0))

        return self._pairs(deviation, s, t)

    @property
    def _squared_mean_errors(self) -> Array:
        """Expected squares of the errors in the square of the mean, (size, size)."""
        if not self.lead:
            return np.zeros((self.basis.size, self.basis.size))
        spread = self._mean.weights**2 * unpack(self.noise.variances)[0, 1:] / self.lead**2
        # Smoothing errs too: its share in the estimated risk is taken to be spread like the noise it left.
        errors = spread * max(1.0, self._mean.risk / max(float(spread.sum()), 1e-300))
        squares = np.maximum(self._mean_coordinates**2 - errors, 0.0)
        # (m + e)(m + e)' - m m' with independent e; an entry of the diagonal holds the same product twice.
        crossed = np.outer(squares, errors)
        expected: Array = (crossed + crossed.T + np.outer(errors, errors)) * (1 + np.eye(self.basis.size))
        return expected

    @property
    def estimated_error(self) -> float:
        """Estimated root mean square distance over the square from the exact clipped covariance.

        It counts what noise and smoothing did, as for a mean, and what the error of the mean adds. The projection to
        positive functions can only lower it, and does so where noise prevails. Not counted: clipping, basis, sampling.
        """
        times, weights = multiplicities(self.basis.size), self.smoothing.weights
        # Entries stray from their estimated risk by what the error of the mean does to its square; weights h on such
        # entries carry h^2 of it where the estimate, which takes it for signal, counts (1 - h)^2.
        strays = (2 * weights - 1) @ (times * pack(self._squared_mean_errors))
        left = weights**2 @ (times * pack(self.variances + self._squared_mean_errors))
        risk = max(self.smoothing.risk + float(strays), float(left))
        if self.count is not None:
            # Second moments are divided by the noisy count, and the square of the mean by it twice.
            moved = self.coordinates - np.outer(self._mean_coordinates, self._mean_coordinates)
            risk += float(np.sum(moved**2)) / self.count.value**2 * float(self.count.noise.variances[0])
        return float(np.sqrt(risk))

    @cached_property
    def tested(self) -> Statement:
        """Whether any covariance was seen above the noise, for the card: a test at level 1 %.

        Its null has no covariance, and the mean that the release itself shows: noise moves the square of that mean.
        """
        return say("detected", "covariance" if self.exceeds else "no-covariance")

    @cached_property
    def exceeds(self) -> bool:
        """Whether the second moments around the mean are more than noise."""
        order = smooth_first(self.basis.frequencies)[:BLOCK]
        led = np.concatenate([[0], order + 1]) if self.lead else order
        first, second = np.meshgrid(led, led, indexing="ij")
        # Where the entries of these functions stand in the vector, each kept once.
        where = unpack(np.arange(len(self.noisy), dtype=np.float64)).astype(np.int64)[first, second]
        drawn = standard_draws(self.noise, count_for(len(self.noisy)))[:, where]
        noise = np.asarray(drawn * np.sqrt(self.noise.variances)[where], dtype=np.float64)
        moments = self.noisy[where]
        mean = moments[0, 1:] / self.lead if self.lead else np.zeros(len(order))
        raw = moments[1:, 1:] - np.outer(mean, mean) if self.lead else moments
        alone = self._alone(noise, mean)
        deviations = alone.std(axis=0)
        return beyond(*largest(of_matrices(raw, deviations), of_matrices(alone, deviations)))

    def _alone(self, noise: Array, mean: Array) -> Array:
        """What noise alone makes of a population without covariance, (b, side, side) -> (b, size, size)."""
        if not self.lead:
            return noise
        # Where the number of units is private, all is divided by a noisy one.
        counted = 1 + (noise[:, 0, 0] / self.lead**2 if self.count is not None else np.zeros(len(noise)))
        units = np.maximum(counted, 0.1)[:, None]
        means = (mean + noise[:, 0, 1:] / self.lead) / units
        seconds = (np.outer(mean, mean) + noise[:, 1:, 1:]) / units[:, :, None]
        return np.asarray(seconds - means[:, :, None] * means[:, None, :])

    @property
    def against_noise(self) -> str:
        """How large the noise was against what was released, in words."""
        return compared(self.certificate.noise_rms, float(np.linalg.norm(self.coordinates)), "covariance")

    @property
    def counted(self) -> str:
        """What the estimated error counts, in a word: what shrank the moments before the noise is an error too."""
        return "noise" if self.certificate.shrunk_by else "error"

    def to_frame(self, points: ArrayLike | None = None) -> Any:
        """A pandas DataFrame with all pairs of points, the covariance there, and the deviation of its noise."""
        pd, rows = pandas(), self._asked(points)
        ends = [""] if rows.shape[1] == 1 else [str(axis + 1) for axis in range(rows.shape[1])]
        check_asked(len(rows) ** 2, what="pairs of points")
        first, second = np.repeat(rows, len(rows), axis=0), np.tile(rows, (len(rows), 1))
        columns = {f"s{end}": column for end, column in zip(ends, first.T, strict=True)}
        columns |= {f"t{end}": column for end, column in zip(ends, second.T, strict=True)}
        deviation = self.noise_deviation(rows, rows)
        return pd.DataFrame(columns | {"value": self(rows, rows).ravel(), "noise_deviation": deviation.ravel()})

    def plot(self, ax: Any = None) -> Any:
        """A contour plot of the covariance; returns the axes."""
        return plot_covariance(self, ax)

    def to_plain(self) -> dict[str, Any]:
        return {
            "noisy": self.noisy.tolist(),
            "noise": self.noise.describe(),
            "lead": self.lead,
            "count": write_count(self.count),
            "centre": self.centre.tolist(),
            "smoothing": self.smoothing_name,
        }

    @staticmethod
    def from_plain(data: dict[str, Any], basis: Basis, certificate: Certificate) -> CovarianceRelease:
        lead = finite_number(data["lead"])
        size = packed_size(basis.size + (1 if lead else 0))
        if lead < 0 or not basis.orthonormal:
            raise ValueError
        _check_name(data["smoothing"])
        release = CovarianceRelease(
            basis=basis,
            noisy=finite(data["noisy"], size),
            noise=added_noise(data["noise"], size),
            lead=lead,
            count=read_count(data["count"]),
            centre=finite(data["centre"], basis.size),
            smoothing_name=data["smoothing"],
            certificate=certificate,
        )
        # Numbers may be finite and yet too large to compute with.
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            finite(release.coordinates, basis.size, basis.size)
            finite_number(release.estimated_error)
        return release


def components_detected(of_covariance: Statement) -> Statement:
    """What the card of components says, from what that of the second moments behind them says."""
    behind = {"covariance": "components", "no-covariance": "no-components"}
    return say("detected", behind[of_covariance.code]) if of_covariance.code in behind else of_covariance


def _check_name(smoothing: str) -> None:
    """Refuses a smoothing that nobody knows."""
    smooth(smoothing, np.ones(1), np.ones(1), np.zeros(1))


def smooth_entries(name: str, noisy: Array, variances: Array, frequencies: Array, *, care: Care) -> Smoothing:
    """A smoothing of the entries of a symmetric matrix, each kept once and counted as often as it stands there.

    An entry of two functions is as rough as the root of their squared frequencies.
    """
    times = multiplicities(len(noisy))
    return smooth(
        name,
        np.sqrt(times) * pack(noisy),
        times * pack(variances),
        pack(np.hypot(frequencies[:, None], frequencies[None, :])),
        care=care,
    )


def plot_covariance(release: CovarianceRelease, ax: Any = None) -> Any:
    """Draw a covariance function as contours on the square of its domain, coloured from least to largest value.

    Colours are symmetric around zero where there are negative values of note.
    """
    check_interval(release.basis.domain.dimension, "a covariance function", "release(s, t)")
    ax = axes_or_new(ax, (7.0, 5.4), layout="compressed")
    side = release.points(SIZE)[:, 0]
    values = release(side, side)
    levels = contour_levels(values)
    colours = "RdBu_r" if around_zero(levels) else "YlOrRd"
    filled = ax.contourf(side, side, values.T, levels=levels, cmap=colours)
    lines = ax.contour(side, side, values.T, levels=_crossed(levels, values), colors="black", linewidths=0.5)
    ax.clabel(lines, fontsize=7, fmt=lambda level: f"{level:g}")
    about = f"{release.counted} about {release.estimated_error:.2g} root mean square"
    what = f"private {name_of(release)} (smoothing: {release.smoothing_name})"
    ax.figure.colorbar(filled, ax=ax, label=f"{what},\n{about}")
    if not values.any():
        ax.text(0.5, 0.5, f"zero everywhere: {UNSEEN}", transform=ax.transAxes, ha="center", va="center", wrap=True)
    ax.set_xlabel("s")
    ax.set_ylabel("t")
    ax.set_aspect("equal")
    title(release.certificate, ax)
    return ax


def name_of(release: CovarianceRelease) -> str:
    """What a release holds: a covariance is around a mean that was released with it, else it is a second moment."""
    if release.lead:
        return "covariance"
    return "second moment" if release.certificate.centre.code == "zero" else "second moment around the centre"


def _crossed(levels: Array, values: Array) -> Array:
    """The levels within the values: a line for another would be an empty one."""
    inside: Array = levels[(levels > values.min()) & (levels < values.max())]
    return inside


RELEASE = CovarianceRelease


class CovarianceComparisons(CurveComparisons):
    """One unit moves the matrix of moments by `sqrt 2` times its square norm; entries off the diagonal stand once."""

    power = 2
    steps = 2.0**32
    divides_by_n = True

    def noise_rms(self, release: Any) -> tuple[float, ...]:
        side = release.basis.size + (1 if release.lead else 0)
        first, _ = places(side)
        # The row of the mean is no part of the covariance function.
        inner = multiplicities(side) * (first > 0 if release.lead else 1)
        return (float(np.sqrt(inner @ release.noise.variances)),)

    def moves(self, card: Certificate, release: Any) -> Statement | None:
        return moments_moved(card, float(release.lead))

    def noise_scale(self, noise: NoiseLaw, card: Certificate) -> float | None:
        known = card.sensitivity_norm in (*EVEN, "WeightedL1", "WeightedL2") and not card.n_is_planned
        if not known or not plain_law(card) or card.lattice_step <= 0:
            return None
        return max(noise.scales) * card.n / card.lattice_step

    def least_sensitivity(self, card: Certificate) -> float | None:
        known = card.what.code in ("covariance", "second-moment")
        return self.least_moved(card, math.sqrt(2.0)) if known else None

    def step_in_coordinates(self, release: Any) -> float | None:
        card = release.certificate
        # A penalty multiplies what was drawn, and the file does not keep it.
        known = release.noise.added and not card.shrunk_by and not card.n_is_planned and card.lattice_step > 0
        return float(card.lattice_step / card.n) if known else None


def moments_moved(card: Certificate, lead: float) -> Statement:
    """How far one unit moves second moments that are led by this weight of the mean."""
    square = card.bound**2 + lead**2
    if card.neighbours == REPLACE:
        return say("moves", "moments", by=math.sqrt(2) * square / card.n)
    return say("moves", "sum-of-moments", by=square, counted=bool(lead))


COMPARISONS = CovarianceComparisons()

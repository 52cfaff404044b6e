"""Private coefficient functions of a regression of curves on covariates: values, bands, prediction."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, ArrayLike, as_real
from dpfda.bases import Basis
from dpfda.bases.base import MOST_VALUES
from dpfda.bases.domain import MOST_ASKED, check_asked
from dpfda.bases.symmetric import packed_size, unpack
from dpfda.errors import UsageError
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.releases.bands import Band, check_level
from dpfda.releases.base import AnyRelease, pandas
from dpfda.releases.calculus import Function
from dpfda.releases.cards.words import Statement, say
from dpfda.releases.certificate import Certificate, as_handed_out, changed
from dpfda.releases.comparisons import CurveComparisons
from dpfda.releases.decoded import Count, added_noise, finite, finite_number, read_count, write_count
from dpfda.releases.detection import coefficients_differ, compared
from dpfda.releases.plots import INK, NOISE, title
from dpfda.releases.roughness import Roughness, roughness_of
from dpfda.releases.smoothing import Smoothing, smooth
from dpfda.statistics.regression.covariates import Covariates
from dpfda.statistics.regression.perturbation import SHARE, Equations, best_ridges, spread

DEPENDENT = 0.7  # correlation of the noise in two coefficients, from which on combinations of them are smoothed
MOST_CURVES = 100_000  # as functions, in one call


@dataclass(frozen=True, eq=False, repr=False)
class RegressionRelease(AnyRelease):
    """Private coefficient functions: noisy normal equations in a public basis, and their card.

    Covariates enter scaled, led by the constant `lead` if there is an intercept; coefficient functions are given in the
    covariates' own units.
    """

    basis: Basis
    covariates: Covariates
    lead: float  # the constant that stands for the intercept; 0: there is none
    moments: Array  # entries of the noisy mean of z z', z the scaled covariates, as `symmetric.pack` orders them
    products: Array  # (side, size) the noisy mean of z y', y coordinates around the centre
    noise: NoiseLaw  # of both, the moments first
    centre: Array  # (size,) coordinates of the public centre
    count: Count | None  # None where the number of units is public or was not released
    ridge: float | None  # added to every eigenvalue of the moments; None: chosen from them, for each its own
    smoothing_name: str
    certificate: Certificate

    kind: ClassVar[str] = "regression"
    has_band: ClassVar[bool] = True

    @cached_property
    def equations(self) -> Equations:
        """The normal equations as they were paid for."""
        of_moments, of_products = self.noise.split(packed_size(self.covariates.side))
        return Equations(self.basis, unpack(self.moments), self.products, of_moments, of_products)

    @cached_property
    def ridges(self) -> Array:
        """What is added to each eigenvalue of the noisy moments, ascending, (side,).

        As stated, or chosen from the moments and the law of the noise: next to nothing where they tell a combination of
        coefficients well, much where they do not.
        """
        if self.ridge is not None:
            return np.full(self.covariates.side, self.ridge)
        equations = self.equations
        # A coefficient as large as the bound moves curves by as much over the range of its covariate.
        return best_ridges(
            equations.moments, equations.variances.sum(axis=1), equations.of_moments, self.certificate.bound
        )

    @cached_property
    def _inverse(self) -> Array:
        eigenvalues, vectors = np.linalg.eigh(self.equations.moments)
        stable = eigenvalues + self.ridges
        # Without a ridge the matrix may be singular; then the least solution is as good as any.
        kept = np.abs(stable) > 1e-13 * np.abs(stable).max()
        inverse: Array = (vectors * np.where(kept, 1 / np.where(kept, stable, 1.0), 0.0)) @ vectors.T
        return inverse

    @cached_property
    def raw(self) -> Array:
        """Coordinates of the coefficients of scaled covariates with the ridge, before smoothing, (side, size)."""
        return np.asarray(self._inverse @ self.products)

    @cached_property
    def _turn(self) -> Array:
        """The combinations of coefficients that are smoothed, as columns: the coefficients themselves, as a rule.

        Where covariates are nearly dependent, so that noise moves coefficients together, it is the combinations that
        the moments tell apart: one that is well known would else be smoothed away along with one that is not.
        """
        shared = self._inverse @ self._inverse
        roots = np.maximum(np.sqrt(np.diag(shared)), 1e-100)
        related = np.abs(shared / np.outer(roots, roots) - np.eye(len(roots))).max()
        turn = np.eye(len(roots)) if related <= DEPENDENT else np.linalg.eigh(self.equations.moments)[1]
        return np.asarray(turn, dtype=np.float64)

    @cached_property
    def smoothings(self) -> tuple[Smoothing, ...]:
        """For each coefficient function, or combination of them, weights on its coordinates, from the noisy ones."""
        variances = (self._turn.T @ self._inverse) ** 2 @ self.equations.variances
        return tuple(
            smooth(self.smoothing_name, row, spread, self.basis.frequencies, care=self.noise.care)
            for row, spread in zip(self._turn.T @ self.raw, variances, strict=True)
        )

    @cached_property
    def coordinates(self) -> Array:
        """Smoothed coordinates of the coefficients of scaled covariates, (side, size)."""
        weights = np.stack([smoothing.weights for smoothing in self.smoothings])
        smoothed: Array = self._turn @ (weights * (self._turn.T @ self.raw))
        return smoothed

    @cached_property
    def _roughness(self) -> Roughness | None:
        """How rough the noise in coefficient functions is, which decides what derivatives they have."""
        # Each covariate's products have the same shape of noise: that of the first stands for all.
        variances = self.equations.variances[0]
        return roughness_of(self.basis, variances, self.smoothing_name, mechanism=self.certificate.mechanism)

    def coefficient(self, which: int | str) -> Function:
        """A coefficient function in its covariate's own units, by name or number; "intercept" for the intercept."""
        place = self.covariates.index(which)
        if place is None and not self.covariates.intercept:
            return self._function(self.centre)
        own = self.covariates.combination(place, self.lead) @ self.coordinates
        return self._function(own + self.centre if place is None else own, self._roughness)

    @property
    def coefficients(self) -> tuple[Function, ...]:
        """The coefficient functions of all covariates, without the intercept."""
        return tuple(self.coefficient(place) for place in range(self.covariates.size))

    @property
    def intercept(self) -> Function:
        """The curve of somebody with all covariates zero; the public centre where no intercept was fitted."""
        return self.coefficient("intercept")

    def curves(self, values: ArrayLike) -> tuple[Function, ...]:
        """The curves predicted for public covariates, one row each, as functions; see `predict`."""
        return tuple(self._function(row, self._roughness) for row in self._rows(values, MOST_CURVES))

    def predict(self, values: ArrayLike, points: ArrayLike | None = None) -> Array:
        """Curves at points for public covariates, one row each, (m, p) -> (m, number of points).

        Covariates beyond their declared limits extrapolate: no record was counted there, and nothing says how well the
        curves fit. `covariates.beyond(values)` names them. So does the intercept where zero is beyond the limits.
        """
        rows = self._rows(values, min(MOST_ASKED, MOST_VALUES // self.basis.size))
        return self.basis.evaluate(rows, self.points() if points is None else points)

    def _rows(self, values: ArrayLike, most: int) -> Array:
        """Coordinates of the curves predicted for public covariates, (m, size)."""
        design = self.covariates.design(values, self.lead)
        check_asked(len(design), most, "curves")
        return design @ self.coordinates + self.centre

    def band(self, which: int | str = 0, level: float = 0.95, points: ArrayLike | None = None) -> Band:
        """A simultaneous band for what the noise did to one coefficient function, in its covariate's own units.

        It holds the least-squares coefficient of all clipped units at all points at once with at least this
        probability, and stands around the solution before ridge and smoothing. It is infinite where the noise may hide
        that covariates are linearly dependent: `infinite` says why, and from where on it could be finite.
        """
        check_level(level)
        where = self.basis.asked(self.points() if points is None else points)
        place = self._fitted(which)
        middle, reach = self.equations.reach(self.covariates.combination(place, self.lead), level, where)
        if place is None:
            middle = middle + self.basis.evaluate(self.centre, where)
        flat = where[:, 0] if where.shape[1] == 1 else where
        return Band(flat, middle - reach, middle + reach, level)

    def noise_deviation(self, which: int | str = 0, points: ArrayLike | None = None) -> Array:
        """The standard deviation of what the noise did to one coefficient function before smoothing, (m,)."""
        where = self.basis.asked(self.points() if points is None else points)
        return self.equations.deviation(self.covariates.combination(self._fitted(which), self.lead), where)

    def _fitted(self, which: int | str) -> int | None:
        place = self.covariates.index(which)
        if place is None and not self.covariates.intercept:
            raise UsageError("No intercept was fitted: it is the public centre, without noise and without a band.")
        return place

    def infinite(self, level: float = 0.95) -> str:
        """Why the noise bands at a level are infinite, and from where on they could be finite; empty: they are not."""
        check_level(level)
        equations = self.equations
        scales, share = equations._scales, 1 - SHARE * (1 - level)
        norm = spread(equations.of_moments, scales, share)[1]
        smallest = float(np.linalg.eigvalsh(equations.moments / np.outer(scales, scales))[0])
        if smallest > norm:
            return ""
        first = (self.lead**2,) if self.covariates.intercept else ()
        even = np.array([*first, *((self.covariates.reference,) * self.covariates.size)]) / scales**2
        needed, card = norm / float(even.min()), self.certificate
        said = (
            "The noise bands are infinite: noise in the moments of covariates may hide that they are linearly dependent"
        )
        if needed >= 1:
            epsilon = card.epsilon if card.delta == 0 else None
            return (
                f"{said}. With covariates spread evenly over their limits bands could be finite "
                f"{finite_from(needed, card.n, epsilon)}."
            )
        return f"{said}, although it would not for covariates spread evenly over their limits.{self._at_rest()}"

    def _at_rest(self) -> str:
        """Names the covariates whose noisy moments say that they stand at the middle of their limits for everybody."""
        deviations = np.sqrt(np.diag(unpack(self.equations.of_moments.variances)))[-self.covariates.size :]
        squares = np.diag(self.equations.moments)[-self.covariates.size :]
        told = (squares < 3 * deviations) & (self.covariates.reference > 9 * deviations)
        names = ", ".join(name for name, rests in zip(self.covariates.names, told, strict=True) if rests)
        middle = "the middle of its limits" if any(self.covariates.middles) else "zero"
        return (
            f" Next to everybody seems to be at {middle} in {names}, as if its cells were no numbers: are they?"
            if names
            else ""
        )

    @property
    def noise_rms(self) -> float:
        """The root mean square of what the noise did to predicted curves before smoothing, to first order.

        Noise in products and in moments, for covariates as the noisy moments have them, with the ridge. A plan expects
        the same for covariates spread evenly over their limits.
        """
        values, vectors = np.linalg.eigh(self.equations.moments)
        design = (vectors * np.maximum(values, 0.0)) @ vectors.T
        counted = self._inverse @ design @ self._inverse
        of_products = float(np.diag(counted) @ self.equations.variances.sum(axis=1))
        # E beta has the variance sum_j v_ij |beta_j|^2 in place i; places i and j share the entry E_ij.
        entries, inner = unpack(self.equations.of_moments.variances), self.raw @ self.raw.T
        shared = entries * inner
        np.fill_diagonal(shared, entries @ np.diag(inner))
        return math.sqrt(max(of_products + float(np.sum(counted * shared)), 0.0))

    @cached_property
    def tested(self) -> Statement:
        """Which coefficients were seen above the noise, for the card: tests at level 1 %, all at once."""
        some, each = coefficients_differ(
            unpack(self.moments),
            self.products,
            self.noise,
            self.basis.frequencies,
            intercept=self.covariates.intercept,
        )
        if not some:
            return say("detected", "no-coefficient")
        if each is None:
            return say("detected", "many-coefficients")
        seen, unseen = (
            [name for name, found in zip(self.covariates.names, each, strict=True) if found is wanted]
            for wanted in (True, False)
        )
        return say("detected", "coefficients", seen=seen, unseen=unseen)

    @property
    def against_noise(self) -> str:
        """How large the noise was against what was released, in words."""
        values, vectors = np.linalg.eigh(self.equations.moments)
        design = (vectors * np.maximum(values, 0.0)) @ vectors.T
        released = math.sqrt(max(float(np.sum(design * (self.coordinates @ self.coordinates.T))), 0.0))
        return compared(self.certificate.noise_rms, released, "predicted curves around the centre")

    def smooth(self, name: str = "auto") -> RegressionRelease:
        """The same release with another smoothing: "auto", "none", "sobolev-1", -2, -4, -8, "james-stein"."""
        smooth(name, np.ones(1), np.ones(1), np.zeros(1))  # refuses an unknown name
        card = changed(self.certificate, "smoothing", self.smoothing_name, name)
        return replace(self, smoothing_name=name, certificate=card)

    def with_ridge(self, ridge: float | str = "auto") -> RegressionRelease:
        """The same release with another ridge, a number of 0 or more, or "auto"."""
        number = check_ridge(ridge)
        return replace(self, ridge=number, certificate=changed(self.certificate, "ridge", self.ridge, number))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fitted coefficient functions, the intercept's first."""
        return (*(("intercept",) if self.covariates.intercept else ()), *self.covariates.names)

    def to_frame(self, points: ArrayLike | None = None, *, level: float = 0.95) -> Any:
        """A pandas DataFrame, one row for each coefficient and point: values and the noise band."""
        pd, rows = pandas(), self._asked(points)
        check_asked(len(rows) * len(self.names), what="rows")
        parts = []
        for place, name in self._listed():
            band = self.band(place, level, rows)
            columns = {"coefficient": name} | self._named(rows)
            values = self.coefficient(place)(rows)
            parts.append(pd.DataFrame(columns | {"value": values, "lower": band.lower, "upper": band.upper}))
        return pd.concat(parts, ignore_index=True)

    def _listed(self) -> list[tuple[int | str, str]]:
        """How each fitted coefficient is asked for, and its name; numbers, because names may repeat."""
        first: list[tuple[int | str, str]] = [("intercept", "intercept")] if self.covariates.intercept else []
        return first + list(enumerate(self.covariates.names))

    def plot(self, axes: Any = None, *, level: float = 0.95) -> Any:
        """Pictures of all coefficient functions with their noise bands, one below the other; returns the axes."""

        return plot_coefficients(self, axes, level)

    def to_plain(self) -> dict[str, Any]:
        return {
            "covariates": self.covariates.to_plain(),
            "lead": self.lead,
            "moments": self.moments.tolist(),
            "products": self.products.tolist(),
            "noise": self.noise.describe(),
            "centre": self.centre.tolist(),
            "count": write_count(self.count),
            "ridge": self.ridge,
            "smoothing": self.smoothing_name,
        }

    @staticmethod
    def from_plain(data: dict[str, Any], basis: Basis, certificate: Certificate) -> RegressionRelease:
        covariates = Covariates.from_plain(data["covariates"])
        side = covariates.side
        release = RegressionRelease(
            basis=basis,
            covariates=covariates,
            lead=finite_number(data["lead"]),
            moments=finite(data["moments"], packed_size(side)),
            products=finite(data["products"], side, basis.size),
            noise=added_noise(data["noise"], packed_size(side) + side * basis.size),
            centre=finite(data["centre"], basis.size),
            count=read_count(data["count"]),
            ridge=None if data["ridge"] is None else check_ridge(data["ridge"]),
            smoothing_name=data["smoothing"],
            certificate=certificate,
        )
        if (release.lead > 0) is not covariates.intercept:
            raise ValueError
        return release.smooth(release.smoothing_name)


def finite_from(share: float, n: float, epsilon: float | None) -> str:
    """From how many units on, or from which epsilon if it is said, noise so many times too large would be small enough.

    Noise in means falls with the number of units, and pure noise with epsilon, in proportion.
    """
    needed = share * n
    step = 10.0 ** max(0, math.floor(math.log10(needed)) - 1)  # two digits, rounded up
    units = f"from about n = {math.ceil(needed / step) * step:.0f}"
    return f"{units}, or epsilon = {share * epsilon:.2g}, on" if epsilon is not None else f"{units} on"


def check_ridge(ridge: object) -> float | None:
    """A ridge as a number; None for "auto"."""
    if isinstance(ridge, str) and ridge == "auto":
        return None
    number = as_real(ridge)
    if not 0 <= number < np.inf:
        raise UsageError(
            parameter="ridge",
            value=ridge,
            rule=(
                "must be 'auto' or a number of 0 or more, added to the diagonal of the mean of z z' with "
                "covariates scaled into the unit ball"
            ),
        )
    return number


def plot_coefficients(release: RegressionRelease, axes: Any, level: float) -> Any:
    """Draw every fitted coefficient function with its noise band, the intercept first; returns the axes."""
    if release.basis.domain.dimension > 1:
        raise UsageError("plot() draws coefficients on an interval; on a box evaluate them and draw each by itself.")
    listed = release._listed()
    if axes is None:
        from matplotlib import pyplot

        size = (7.5, 1.2 + 2.3 * len(listed))
        axes = pyplot.subplots(len(listed), figsize=size, layout="constrained", sharex=True, squeeze=False)[1][:, 0]
    axes = np.atleast_1d(axes)
    if len(axes) != len(listed):
        raise UsageError(
            f"There are {len(listed)} coefficient functions ({', '.join(release.names)}), got {len(axes)}."
        )
    points = release.points(401)
    for ax, (place, name) in zip(axes, listed, strict=True):
        band = release.band(place, level, points)
        label = f"{100 * level:g} % noise band, everywhere, before ridge and smoothing"
        if np.isfinite(band.lower).all():
            ax.fill_between(band.points, band.lower, band.upper, color=NOISE, alpha=0.5, lw=0, label=label)
        else:
            label = "no band: it is infinite, for the noise may hide that covariates are dependent"
            ax.plot([], [], " ", label=label)
        ax.plot(points[:, 0], release.coefficient(place)(points), color=INK, lw=2)
        ax.axhline(0.0, color="0.6", lw=0.8)
        ax.set_xlim(*release.basis.domain.sides[0])
        ax.set_ylabel(name, parse_math=False)
        if place == "intercept" and release.covariates.beyond([[0.0] * release.covariates.size]):
            ax.plot([], [], " ", label="at covariates zero, beyond their limits: it extrapolates")
        ax.grid(alpha=0.25)
        ax.legend(frameon=False, fontsize=8)
    axes[-1].set_xlabel("t")
    title(release.certificate, axes[0])
    return axes


RELEASE = RegressionRelease


class RegressionComparisons(CurveComparisons):
    """The card speaks of the products alone, and of predicted curves; moments have another scale."""

    sensitivity_is_proven = True

    steps = 2.0**32

    def noise_rms(self, release: Any) -> tuple[float, ...]:
        # Files from before changes were noted: the ridge may have been another one when the card was written.
        return float(as_handed_out(release).noise_rms), float(release.with_ridge("auto").noise_rms)

    def largest_deviation(self, noise: NoiseLaw) -> float | None:
        return None


COMPARISONS = RegressionComparisons()

"""A private density: values, probabilities, quantiles, synthetic records, errors, and its picture."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, ArrayLike, brief, is_one_of, public_numbers
from dpfda.bases import Basis
from dpfda.errors import UsageError
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.privacy import REPLACE
from dpfda.releases.bands import Band, check_level, multiplier, noise_limits
from dpfda.releases.base import AnyRelease, pandas
from dpfda.releases.cards.words import Statement, say
from dpfda.releases.certificate import Certificate, changed
from dpfda.releases.comparisons import EVEN, CurveComparisons
from dpfda.releases.decoded import Count, Decoded, added_noise, finite, finite_number, read_count, write_count
from dpfda.releases.detection import compared, density_verdict, unevenly
from dpfda.releases.plots import INK, NOISE, axes_or_new, title
from dpfda.releases.smoothing import Smoothing
from dpfda.statistics.density.mesh import Mesh, level_of, node_weights, proper
from dpfda.statistics.density.smoothing import (
    Frame,
    density_smoothing,
    frame_of,
    mesh_axes,
    on_mesh,
    places_of,
    sides_of,
    steps_shares,
)

LINE, SIDE = 801, 121  # points of a picture along a line, and along each side of a map

__all__ = ["DensityRelease", "Mesh", "density_smoothing"]


@dataclass(frozen=True, eq=False, repr=False)
class DensityRelease(AnyRelease):
    """A private density: noisy coordinates in a public basis, and their card.

    Calling it gives a proper density: nowhere negative. Its integral over the domain is the share of the units that lie
    `inside`, which is one unless units outside stand out from the noise of their number. Quantiles, moments, marginal
    densities and synthetic records are those of the units in the domain: of others only their number is known.
    """

    basis: Basis
    noisy: Array  # (size,) coordinates of the density times the volume of the domain, as paid for
    noise: NoiseLaw  # the law of what was added to them
    count: Count | None  # None where the number of units is public
    n: float  # the number of units, noisy where that is private
    smoothing: Smoothing  # weights on the coordinates of `frame`
    certificate: Certificate
    outside: Count | None = None  # a noisy number of units outside the domain, where those were counted apart

    kind: ClassVar[str] = "density"
    has_band: ClassVar[bool] = True
    computed: ClassVar[tuple[str, ...]] = ("weights", "risk")
    axis: ClassVar[str] = "x"
    sides: ClassVar[tuple[int, ...]] = (201, 41, 9)

    @property
    def volume(self) -> float:
        return math.prod(self.basis.domain.lengths)

    @property
    def inside(self) -> float:
        """The share of the units that lie in the domain."""
        return inside_of(self.outside, self.n)

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """For the card: what the noise tells of points outside the domain."""
        return () if self.outside is None else (("outside", outside_text(self.outside, self.n)),)

    @cached_property
    def frame(self) -> Frame:
        """The basis that smoothing works in: cosines for equal steps, unless they are left as they are."""
        if self.smoothing.name != "none":
            return frame_of(self.noisy, self.noise.variances, self.basis, self.n, self.inside)
        size = self.basis.size
        return Frame(self.basis, self.noisy, self.noise.variances, np.zeros(size), np.zeros(size, dtype=bool))

    @property
    def coordinates(self) -> Array:
        """Coordinates after smoothing, in the basis of `frame`, of the density times the volume; before projection."""
        return self.smoothing.weights * self.frame.noisy

    @cached_property
    def mesh(self) -> Mesh:
        """The density of units in the domain: the nearest proper one to the smoothed function, linear between nodes."""
        return proper(*self._nodes)

    @cached_property
    def _nodes(self) -> tuple[tuple[Array, ...], Array]:
        """The smoothed function at the nodes of a mesh, for the units in the domain."""
        axes = mesh_axes(self.frame.basis)
        return axes, on_mesh(self.frame.basis, self.coordinates, axes) / (self.volume * self.inside)

    @cached_property
    def _level(self) -> tuple[float, float]:
        return level_of(*self._nodes)

    def __call__(self, points: ArrayLike) -> Array:
        """Values of the density at points of the domain, (m,), in the units of the domain.

        A kernel estimate on three and more sides is computed at the points themselves: its mesh is too wide for them.
        """
        if self.basis.domain.dimension < FEW_NODES or self.smoothing.name != "none" or sides_of(self.basis) is not None:
            return self.inside * self.mesh(points)
        given = public_numbers(points, "Points")
        values = self.basis.evaluate(self.coordinates, np.atleast_1d(given)) / (self.volume * self.inside)
        level, total = self._level
        found: Array = self.inside * np.maximum(values - level, 0.0) / total
        return found[0] if given.ndim == 0 else found

    def raw(self, points: ArrayLike) -> Array:
        """What was paid for, neither smoothed nor projected, (m,): it may be negative."""
        given = public_numbers(points, "Points")
        values = self.basis.evaluate(self.noisy, np.atleast_1d(given)) / self.volume
        return values[0] if given.ndim == 0 else values

    def distribution(self, points: ArrayLike) -> Array:
        """The probability that a unit in the domain lies below a point in every coordinate, (m,)."""
        return self.mesh.distribution(points)

    def quantile(self, probabilities: ArrayLike) -> Array:
        """Where the distribution function of the units in the domain reaches a probability, on a line, (m,)."""
        return self.mesh.quantile(probabilities)

    def integral(self, low: ArrayLike | None = None, high: ArrayLike | None = None) -> float:
        """The probability of the interval or box from low to high, by default of the whole domain."""
        return self.inside * self.mesh.integral(low, high)

    def sample(self, size: int, *, seed: int | None = None) -> Array:
        """Synthetic records, (size,) on a line and (size, p) on a box: as many as wanted, free."""
        return self.mesh.sample(size, seed=seed)

    def mean(self) -> Array:
        """The mean of each coordinate, (p,); a number on a line."""
        return self.mesh.mean()

    def variance(self) -> Array:
        """The variance of each coordinate, (p,); a number on a line."""
        return self.mesh.variance()

    def marginal(self, axis: int) -> Mesh:
        """The density of one coordinate, with the same methods."""
        return self.mesh.marginal(axis)

    def kernel(self, bandwidth: ArrayLike) -> Mesh:
        """The density smoothed further by a Gaussian kernel of this bandwidth, reflected at the ends of the domain."""
        return self.mesh.blurred(bandwidth)

    @cached_property
    def tested(self) -> Statement | None:
        """Whether a histogram was seen to differ from a uniform one, for the card: a test at level 1 %.

        None for kernel estimates, whose smoothing before the noise is not in the file: `Density.publish` tests them.
        """
        sides = sides_of(self.basis)
        if sides is None or not self.noise.independent:
            return None
        shape, places = tuple(side.size for side in sides), places_of(self.basis)
        order = np.argsort(np.ravel_multi_index(places, shape))
        shares = steps_shares(self.basis, sides)[order]
        return density_verdict(
            unevenly(self.noisy[order], shares, self.noise.ordered(order), self.n * self.inside, shape)
        )

    @property
    def against_noise(self) -> str:
        """How large the noise was against what was released, in words."""
        axes = self.mesh.axes
        squares = float(np.sum(node_weights(axes) * (self.mesh.values - 1 / self.volume) ** 2)) / self.volume
        return compared(self.certificate.noise_rms, math.sqrt(squares), "density around a uniform one")

    def smooth(self, name: str = "auto") -> DensityRelease:
        """The same release with another smoothing: "auto", "none", "sobolev-1", -2, -4, -8, "james-stein"."""
        smoothing = density_smoothing(name, self.noisy, self.noise, self.basis, self.n, self.inside)
        card = changed(self.certificate, "smoothing", self.smoothing.name, name)
        return replace(self, smoothing=smoothing, certificate=card)

    @property
    def estimated_error(self) -> float:
        """Estimated root mean square distance over the domain from the density that the people were drawn from.

        It counts noise, smoothing and, unless the smoothing is "none", the sampling of people, if the density is as
        smooth as the weights take it to be; before the projection, which can only lower it. Not counted: what is
        rougher than the basis, and clipping to the domain.
        """
        frame, risk = self.frame, self.smoothing.risk
        if not frame.basis.orthonormal:
            gram = frame.basis.gram().diagonal()
            risk *= float(gram @ frame.noise_variances / frame.noise_variances.sum())
        if self.count is not None:
            risk += float(np.sum(self.coordinates**2)) / self.count.value**2 * float(self.count.noise.variances[0])
        return float(np.sqrt(risk)) / self.volume

    def band(self, level: float = 0.95, points: ArrayLike | None = None) -> Band:
        """A simultaneous band for what the noise did to `raw`, whatever smoothing was chosen.

        It holds the function that the exact coordinates give: for steps, the histogram of the records.
        """
        check_level(level)
        where = self.basis.asked(self.points() if points is None else points)
        lower, upper, _ = noise_limits(self, where, level, self._multiplier)
        flat = where[:, 0] if where.shape[1] == 1 else where
        return Band(flat, lower / self.volume, upper / self.volume, level)

    def _multiplier(self, level: float) -> float:
        """The number of deviations that covers the noise everywhere at once."""
        if sides_of(self.basis) is None or not self.noise.independent:
            return multiplier(self.basis, self.noise, level)
        # One coordinate alone makes a step, and they are independent: none goes further with this probability.
        failure = -math.expm1(math.log(level) / self.basis.size)
        standard = self.noise.standard()
        return float(np.max(standard.tail(failure) / np.sqrt(standard.variances)))

    def to_frame(self, points: ArrayLike | None = None, *, level: float = 0.95) -> Any:
        """A pandas DataFrame with points, the density, on a line its distribution function, and the noise band."""
        pd, rows = pandas(), self._asked(points)
        band = self.band(level, rows)
        columns = self._named(rows) | {"density": self(rows)}
        if rows.shape[1] == 1:
            columns["distribution"] = self.distribution(rows)
        return pd.DataFrame(columns | {"lower": band.lower, "upper": band.upper})

    def plot(self, ax: Any = None, *, level: float = 0.95) -> Any:
        """A picture: on a line the density with its noise band, on a rectangle a coloured map; returns the axes."""
        return plot_density(self, ax, level)

    def to_plain(self) -> dict[str, Any]:
        return {
            "noisy": self.noisy.tolist(),
            "noise": self.noise.describe(),
            "count": write_count(self.count),
            "n": self.n,
            "smoothing": self.smoothing.to_plain(),
            **({} if self.outside is None else {"outside": write_count(self.outside)}),
        }

    @staticmethod
    def from_plain(data: dict[str, Any], basis: Basis, certificate: Certificate) -> DensityRelease:
        n = finite_number(data["n"])
        _check_name(data["smoothing"]["name"])
        if n <= 0:
            raise ValueError
        release = DensityRelease(
            basis=basis,
            noisy=finite(data["noisy"], basis.size),
            noise=added_noise(data["noise"], basis.size),
            count=read_count(data["count"]),
            n=n,
            smoothing=Smoothing.from_plain(data["smoothing"], basis.size),
            certificate=certificate,
            outside=read_count(data.get("outside"), positive=False),
        )
        # Numbers may be finite and yet too large to compute with.
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            finite(release.mesh.values, *release.mesh.values.shape)
            finite_number(release.estimated_error)
        return release


def _check_name(smoothing: str) -> None:
    """Refuses a smoothing that nobody knows."""
    from dpfda.releases.smoothing import FAMILIES

    if not is_one_of(smoothing, ("auto", *FAMILIES)):
        raise UsageError(f"Unknown smoothing {brief(smoothing)}.", parameter="smoothing", value=smoothing)


def density_release(
    decoded: Decoded, n: int | None, basis: Basis, certificate: Certificate, *, smoothing: str
) -> DensityRelease:
    """A density from noisy coordinates; n is the number of units where it is public."""
    units = float(n) if decoded.count is None else decoded.count.value  # type: ignore[arg-type]
    inside = inside_of(decoded.outside, units)
    return DensityRelease(
        basis=basis,
        noisy=decoded.noisy,
        noise=decoded.noise,
        count=decoded.count,
        n=units,
        smoothing=density_smoothing(smoothing, decoded.noisy, decoded.noise, basis, units, inside),
        certificate=certificate,
        outside=decoded.outside,
    )


FEW_NODES = 3  # sides from which on the nodes of a mesh are few along each
STANDS_OUT = 3.0  # deviations of the noise: by chance a larger number is heard once in a hundred releases at most
LEAST_INSIDE = 0.01  # of all units: where the noise says less, there is no shape to tell of


def inside_of(outside: Count | None, n: float) -> float:
    """The share of the units in the domain: one, unless more of them lie outside than the noise may have put there."""
    if outside is None or outside.value <= STANDS_OUT * deviation_of(outside):
        return 1.0
    return max(1 - outside.value / n, LEAST_INSIDE)


def deviation_of(count: Count) -> float:
    return math.sqrt(float(count.noise.variances[0]))


def outside_text(outside: Count, n: float) -> str:
    """What the card says of points outside the domain: a noisy share, with its deviation."""
    # One sentence, whatever was seen: its form tells nothing.
    return (
        f"about {max(outside.value / n, 0.0):.3g} of all units, by a noisy number with a deviation of "
        f"{deviation_of(outside) / n:.2g}; what is within {STANDS_OUT:g} deviations counts as none, and the integral "
        f"of the density is {inside_of(outside, n):.3g}"
    )


def plot_density(release: DensityRelease, ax: Any, level: float) -> Any:
    """Draw a density with the band of its noise, or as a map; never a true one beside it, which no release knows."""
    dimension = release.basis.domain.dimension
    if dimension > 2:
        raise UsageError(
            f"plot() draws densities on a line or a rectangle; this one has {dimension} sides. Draw a marginal(axis)."
        )
    ax = axes_or_new(ax, (7.5, 4.5))
    draw = _line if dimension == 1 else _map
    draw(release, ax, level)
    title(release.certificate, ax)
    return ax


def _name(release: DensityRelease) -> str:
    about = f"error about {release.estimated_error:.2g} root mean square"
    return f"private density (smoothing: {release.smoothing.name}), {about}"


def _names(release: DensityRelease) -> list[str]:
    """The columns that the points came from, where the card knows them."""
    told = dict(release.certificate.chosen).get("points", "").split(", ")
    sides = release.basis.domain.dimension
    return told if len(told) == sides and all(told) else ["x"] if sides == 1 else ["x1", "x2"]


def _line(release: DensityRelease, ax: Any, level: float) -> None:
    points = release.points(LINE)
    band = release.band(level, points)
    # A density is never below zero: there is nothing to see down there.
    lower, upper = np.maximum(band.lower, 0.0), np.maximum(band.upper, 0.0)
    label = f"{100 * level:g} % noise band, everywhere, before smoothing"
    if np.isfinite(upper).all():
        ax.fill_between(points[:, 0], lower, upper, color=NOISE, alpha=0.5, lw=0, label=label)
    ax.plot(points[:, 0], release(points), color=INK, lw=2, label=_name(release))
    ax.set_xlim(*release.basis.domain.sides[0])
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel(*_names(release))
    ax.set_ylabel("density")
    ax.grid(alpha=0.25)
    ax.legend(frameon=False, fontsize=9)


def _map(release: DensityRelease, ax: Any, level: float) -> None:
    points = release.points(SIDE)
    grid, values = points.reshape(SIDE, SIDE, 2), release(points).reshape(SIDE, SIDE)
    image = ax.pcolormesh(grid[..., 0], grid[..., 1], values, shading="gouraud", cmap="viridis")
    ax.figure.colorbar(image, ax=ax, label=f"density, error about {release.estimated_error:.2g} root mean square")
    one, other = _names(release)
    ax.set_xlabel(one)
    ax.set_ylabel(other)


RELEASE = DensityRelease


class DensityComparisons(CurveComparisons):
    """One unit moves its share of the points; coordinates are those of the density times the volume."""

    sensitivity_is_proven = True
    told: tuple[str, ...] = ("outside",)

    def noise_rms(self, release: Any) -> tuple[float, ...]:
        return tuple(found / math.prod(release.basis.domain.lengths) for found in super().noise_rms(release))

    def lattice_step(self, card: Certificate) -> float | None:
        return None  # the largest weight of the features, which are not in the file

    def moves(self, card: Certificate, release: Any) -> Statement | None:
        return say("moves", "points", units=card.n) if card.neighbours == REPLACE else say("moves", "one-point")

    def units(self, release: Any) -> float | None:
        return float(release.n)

    def noise_scale(self, noise: NoiseLaw, card: Certificate) -> float | None:
        known = card.sensitivity_norm in EVEN and card.neighbours == REPLACE and card.lattice_step > 0
        return max(noise.scales) / card.lattice_step if known else None


COMPARISONS = DensityComparisons()

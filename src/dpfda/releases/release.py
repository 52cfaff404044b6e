"""A private function, what it cost, and everything that is free afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, ArrayLike
from dpfda.bases import Basis
from dpfda.errors import MissingExtra, UsageError
from dpfda.mechanisms.choice import ChoiceLaw
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.releases.bands import Band, check_level, multiplier, noise_limits
from dpfda.releases.base import AnyRelease, pandas
from dpfda.releases.calculus import Function
from dpfda.releases.cards.words import Statement, say
from dpfda.releases.certificate import Certificate, changed
from dpfda.releases.decoded import Count, finite, noise_law, read_count, write_count
from dpfda.releases.detection import NO_NOISE, compared, constant_in, differs
from dpfda.releases.roughness import Roughness, roughness_of
from dpfda.releases.smoothing import Smoothing, smooth


def smoothed(name: str, noisy: Array, noise: NoiseLaw, basis: Basis) -> Smoothing:
    """A smoothing of noisy coordinates, as careful as the law of their noise asks for."""
    return smooth(name, noisy, noise.variances, basis.frequencies, care=noise.care)


@dataclass(frozen=True, eq=False, repr=False)
class Release(AnyRelease):
    """A private function: noisy coordinates in a public basis around a public centre, and their card.

    Nothing in it knows a record; every method is post-processing and costs nothing.
    """

    basis: Basis
    noisy: Array  # (size,) coordinates around the centre, as paid for
    centre: Array  # (size,) coordinates of the public centre
    noise: NoiseLaw  # the law of what was added to the coordinates
    count: Count | None  # None where the number of units is public
    smoothing: Smoothing
    certificate: Certificate

    kind: ClassVar[str] = "mean"
    has_band: ClassVar[bool] = True
    computed: ClassVar[tuple[str, ...]] = ("weights", "risk")

    @property
    def coordinates(self) -> Array:
        """Coordinates after smoothing, with the centre added back, (size,)."""
        return self.centre + self.smoothing.weights * self.noisy

    @property
    def function(self) -> Function:
        return self._function(self.coordinates, self._roughness)

    @property
    def _roughness(self) -> Roughness | None:
        """How rough the noise is, which decides what derivatives there are; None where it has all."""
        name = self.certificate.mechanism
        return roughness_of(self.basis, self.noise.variances, self.smoothing.name, mechanism=name)

    def __call__(self, points: ArrayLike) -> Array:
        """Values at points of the domain, (m,)."""
        return self.function(points)

    def derivative(self, order: int | tuple[int, ...] = 1) -> Function:
        """A derivative, itself callable anywhere.

        Refused where the noise has none of this order, however many coordinates are released: a process such as a
        Matérn of order 1/2, or raw noise that no smoothing has touched. `smooth` is the way out, and free.
        """
        return self.function.derivative(order)

    def smoothing_for(self, order: int | tuple[int, ...] = 1) -> str | None:
        """The name of the smoothing that a derivative needs: that of the release if it is enough; None if none is."""
        orders, rough = self.basis.order(order), self._roughness
        return self.smoothing.name if rough is None or rough.has(orders) else rough.smooth_enough(orders)

    def integral(self, low: ArrayLike | None = None, high: ArrayLike | None = None) -> float:
        """The integral from low to high, by default over the whole domain."""
        return self.function.integral(low, high)

    def inner(self, other: Callable[[Array], ArrayLike]) -> float:
        """The mean over the domain of the product with another function."""
        return self.function.inner(other)

    def norm(self) -> float:
        """The root mean square over the domain."""
        return self.function.norm()

    @property
    def estimated_error(self) -> float:
        """Estimated root mean square distance of the smoothed curve from the exact clipped mean.

        It counts what noise and smoothing did, by Stein's estimate: unbiased in square for Gaussian noise, some percent
        too low for radial noise. Never below what is left of the noise. Not counted: clipping, basis, sampling, and a
        penalty or threshold before the noise, which the card names.
        """
        self._check_noise("error estimate")
        variances = self.noise.variances
        risk = max(self.smoothing.risk, float(self.smoothing.weights**2 @ variances))
        # One in an orthonormal basis; else the share of the noise in coordinates that reaches the curve.
        risk *= float(np.sum(self.basis.gram().diagonal() * variances) / variances.sum())
        if self.count is not None:
            moved = Function(self.basis, self.coordinates - self.centre, self.function.order).norm()
            risk += (moved / self.count.value) ** 2 * float(self.count.noise.variances[0])
        return float(np.sqrt(risk))

    @cached_property
    def tested(self) -> Statement:
        """Whether a shape, or at least a level, was seen above the noise, for the card.

        Two tests at level 1 %: against all curves that differ from the centre by a constant, and against the centre.
        """
        if not self.noise.added:
            return NO_NOISE
        constant = constant_in(self.basis)
        # A penalty before the noise bends a constant, unless the constant is a function of the basis by itself.
        told = not self.certificate.shrunk_by or np.count_nonzero(constant) == 1
        if told and differs(self.noisy, self.noise, self.basis.frequencies, constant):
            return say("detected", "shape")
        if differs(self.noisy, self.noise, self.basis.frequencies):
            return say("detected", "constant" if told else "not-the-centre")
        return say("detected", "centre")

    @property
    def against_noise(self) -> str:
        """How large the noise was against what was released, in words."""
        if not self.noise.added:
            return ""
        released = Function(self.basis, self.smoothing.weights * self.noisy, self.function.order).norm()
        return compared(self.certificate.noise_rms, released, "curve around the centre")

    def smooth(self, name: str = "auto") -> Release:
        """The same release with another smoothing: "auto", "none", "sobolev-1", -2, -4, -8, "james-stein"."""
        if not isinstance(name, str) or name != "none":
            self._check_noise("smoothing")
        smoothing = smoothed(name, self.noisy, self.noise, self.basis)  # refuses what is no name
        card = changed(self.certificate, "smoothing", self.smoothing.name, name)
        return replace(self, smoothing=smoothing, certificate=card)

    def band(self, level: float = 0.95, points: ArrayLike | None = None) -> Band:
        """A simultaneous band for what the noise did, whatever smoothing was chosen.

        It stands around the coordinates as they were paid for: smoothing depends on them and adds a bias that nobody
        knows, so a band around the smoothed curve could not keep its level.
        """
        check_level(level)
        self._check_noise("noise band")
        where = self.basis.asked(self.points() if points is None else points)
        lower, upper, (centre,) = noise_limits(
            self, where, level, lambda share: multiplier(self.basis, self.noise, share), self.centre
        )
        flat = where[:, 0] if where.shape[1] == 1 else where
        return Band(flat, centre + lower, centre + upper, level)

    def _check_noise(self, what: str) -> None:
        if not self.noise.added:
            raise UsageError(f"A function chosen among candidates has no {what}: no noise was added to it.")

    def to_frame(self, points: ArrayLike | None = None, *, level: float = 0.95) -> Any:
        """A pandas DataFrame with points, values and the noise band; a chosen function has none."""
        pd, rows = pandas(), self._asked(points)
        columns = self._named(rows) | {"value": self(rows)}
        if self.noise.added:
            band = self.band(level, rows)
            columns |= {"lower": band.lower, "upper": band.upper}
        return pd.DataFrame(columns)

    def to_fdatagrid(self, points: ArrayLike | None = None) -> Any:
        """A scikit-fda FDataGrid with one curve."""
        try:
            from skfda import FDataGrid
        except ImportError:
            raise MissingExtra("to_fdatagrid() needs scikit-fda: pip install 'dpfda[fda]'.") from None
        domain = self.basis.domain
        if domain.dimension == 1:
            # In order: scikit-fda interpolates between neighbours.
            where = self.points() if points is None else np.unique(domain.points(points), axis=0)
            return FDataGrid(self(where)[None, :], where[:, 0], domain_range=[domain.sides[0]])
        if points is not None:
            raise UsageError("On a box to_fdatagrid() takes no points: scikit-fda wants a full grid, which it makes.")
        axes = [np.linspace(low, high, 41) for low, high in domain.sides]
        values = self(self.points()).reshape(1, *(len(axis) for axis in axes))
        return FDataGrid(values, axes, domain_range=list(domain.sides))

    def plot(self, ax: Any = None, *, level: float = 0.95) -> Any:
        """A picture of the curve with its noise band; returns the axes."""
        from dpfda.releases.plots import plot

        return plot(self, ax, level)

    def to_plain(self) -> dict[str, Any]:
        return {
            "noisy": self.noisy.tolist(),
            "centre": self.centre.tolist(),
            "noise": self.noise.describe(),
            "count": write_count(self.count),
            "smoothing": self.smoothing.to_plain(),
        }

    @staticmethod
    def from_plain(data: dict[str, Any], basis: Basis, certificate: Certificate) -> Release:
        return Release(
            basis=basis,
            noisy=finite(data["noisy"], basis.size),
            centre=finite(data["centre"], basis.size),
            noise=_law(data["noise"], basis.size),
            count=read_count(data["count"]),
            smoothing=Smoothing.from_plain(data["smoothing"], basis.size),
            certificate=certificate,
        )


def _law(data: Any, size: int) -> NoiseLaw:
    """The law of added noise, or of a choice among candidates; a frame is no function."""
    noise = noise_law(data, size)
    if not (noise.added or isinstance(noise, ChoiceLaw)):
        raise ValueError
    return noise

"""Private principal components: functions that can be evaluated anywhere, and scores of public curves."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, ArrayLike, brief, is_whole, public_numbers
from dpfda.bases import Basis
from dpfda.bases.domain import MOST_ASKED, check_asked
from dpfda.errors import UsageError
from dpfda.messages import arg
from dpfda.privacy import REPLACE
from dpfda.releases.base import AnyRelease, pandas
from dpfda.releases.calculus import Function
from dpfda.releases.cards.words import Statement, say
from dpfda.releases.certificate import Certificate
from dpfda.releases.comparisons import CurveComparisons, nothing_added
from dpfda.releases.decoded import finite, finite_number
from dpfda.releases.plots import UNSEEN, axes_or_new, check_interval, title
from dpfda.releases.roughness import roughness_of_draw

LINES = ("-", "--", "-.", ":")


@dataclass(frozen=True, eq=False, repr=False)
class ComponentsRelease(AnyRelease):
    """Private principal components: orthonormal functions around a mean, and their card."""

    basis: Basis
    frame: Array  # (size, k) coordinates of the components, orthonormal columns with fixed signs
    variances: Array | None  # (k,) variance along each component, None where it was not paid for
    total: float | None  # variance of whole curves, None where it was not paid for
    centre: Array  # (size,) coordinates of what is subtracted before scores are taken
    certificate: Certificate

    kind: ClassVar[str] = "components"
    deviation: float | None = None  # of the noise in a variance, where variances were released

    @property
    def components(self) -> tuple[Function, ...]:
        """The components, each callable anywhere in the domain."""
        roughness = roughness_of_draw(self.basis, self.certificate.mechanism)
        return tuple(self._function(column, roughness) for column in self.frame.T)

    @property
    def mean(self) -> Function:
        """What is subtracted before scores are taken: the private mean, or the public centre."""
        return self._function(self.centre)

    def __call__(self, points: ArrayLike) -> Array:
        """Values of all components at points of the domain, (k, m)."""
        count = public_numbers(points, "Points").size // self.basis.domain.dimension
        check_asked(count, MOST_ASKED // self.frame.shape[1])
        return np.stack([component(points) for component in self.components])

    @property
    def explained_variance(self) -> Array:
        """The variance along each component, (k,)."""
        if self.variances is None:
            raise UsageError(
                "The explained variance was not released: it costs budget. Ask for it with ",
                arg("explained_variance", 0.2),
                ", the share of epsilon that it may take, or use ",
                arg("mechanism", "covariance"),
                ", which has it for nothing.",
                parameter="explained_variance",
            )
        return self.variances

    @property
    def explained_ratio(self) -> Array:
        """The share of the total variance of the smoothed covariance that each component has, (k,).

        Smoothing removes rough functions first, so shares of the first components are rather too large; `deviation` is
        that of the noise in a variance.
        """
        variances = self.explained_variance
        if self.total is None:
            raise UsageError(
                "The variance of whole curves was not released, so shares of it are unknown: ",
                arg("explained_variance"),
                " has the variances themselves. With ",
                arg("mechanism", "covariance"),
                " both come for nothing.",
            )
        # Smoothing and projection may leave a total below its parts; shares never add up to more than one.
        return variances / max(self.total, float(variances.sum()), 1e-300)

    def explained(self, index: int) -> str:
        """What is known of the variance along one component, in words; nothing where it was not paid for."""
        if not is_whole(index, 0, self.frame.shape[1] - 1):
            raise UsageError(f"Components are numbered 0 to {self.frame.shape[1] - 1}, got {brief(index)}.")
        if self.variances is None:
            return ""
        if self.total is None:
            return f"variance {self.variances[index]:.3g}{self._give_or_take}"
        share = 100 * float(self.explained_ratio[index])
        return f"{share:.3g} % of the variance" if share >= 0.1 else "less than 0.1 % of the variance"

    @property
    def _give_or_take(self) -> str:
        return "" if self.deviation is None else f", noise {self.deviation:.2g}"

    @property
    def seen(self) -> bool:
        """Whether the variance of any component stands out from the noise in it; True where none was released."""
        known = self.variances is not None and self.deviation is not None
        return not known or float(np.max(self.variances)) > 2 * self.deviation  # type: ignore[arg-type, operator]

    def scores(self, values: ArrayLike, grid: ArrayLike) -> Array:
        """Scores of public curves, given by their values on a grid: curves of the data would not stay private.

        (..., q) -> (..., k)
        """
        return (self.basis.coordinates(values, grid) - self.centre) @ self.frame

    def curves(self, scores: ArrayLike, points: ArrayLike) -> Array:
        """The curves that have these scores, (..., k) -> (..., m)."""
        table = public_numbers(scores, "Scores")
        if table.shape[-1:] != (self.frame.shape[1],):
            raise UsageError(f"There are {self.frame.shape[1]} components, got scores of shape {table.shape}.")
        if not np.isfinite(table).all():
            raise UsageError("Scores must be finite numbers: a curve of an infinite score has no values.")
        return self.basis.evaluate(self.centre + table @ self.frame.T, points)

    def to_frame(self, points: ArrayLike | None = None) -> Any:
        """A pandas DataFrame with points and the values of each component there."""
        pd, rows = pandas(), self._asked(points)
        values = {f"component_{index + 1}": column for index, column in enumerate(self(rows))}
        return pd.DataFrame(self._named(rows) | values)

    def plot(self, ax: Any = None) -> Any:
        """A picture of the components; returns the axes."""
        return plot_components(self, ax)

    def to_plain(self) -> dict[str, Any]:
        return {
            "frame": self.frame.tolist(),
            "variances": None if self.variances is None else self.variances.tolist(),
            "total": self.total,
            "deviation": self.deviation,
            "centre": self.centre.tolist(),
        }

    @staticmethod
    def from_plain(data: dict[str, Any], basis: Basis, certificate: Certificate) -> ComponentsRelease:
        k = len(data["frame"][0])
        frame = finite(data["frame"], basis.size, k)
        if not 1 <= k <= basis.size or np.abs(frame.T @ frame - np.eye(k)).max() > 1e-6 or not basis.orthonormal:
            raise ValueError
        return ComponentsRelease(
            basis=basis,
            frame=frame,
            variances=None if data["variances"] is None else finite(data["variances"], k),
            total=None if data["total"] is None else finite_number(data["total"]),
            centre=finite(data["centre"], basis.size),
            certificate=certificate,
            deviation=None if data["deviation"] is None else finite_number(data["deviation"]),
        )

    def __repr__(self) -> str:
        card = self.certificate
        return f"ComponentsRelease({self.frame.shape[1]} of {card.dataset!r}, {card.guarantee})"


def with_signs(frame: Array) -> Array:
    """Columns turned so that the coordinate of largest size is positive: a sign is no property of a component."""
    largest = np.abs(frame).argmax(axis=0)
    turned: Array = frame * np.where(frame[largest, np.arange(frame.shape[1])] < 0, -1.0, 1.0)
    return turned


def smoothest_first(frame: Array, frequencies: Array) -> Array:
    """The frame of the same span whose columns are ordered from smooth to rough: a function of the span alone."""
    weights = 1 / (1 + frequencies**2)
    _, turn = np.linalg.eigh((frame.T * weights) @ frame)
    return with_signs(frame @ turn[:, ::-1])


def principal(matrix: Array, frequencies: Array, noise: float, k: int) -> Array:
    """The first k components of a noisy covariance, largest variance first, (size, size) -> (size, k).

    Where noise hides what the data say, smooth functions go first into their span: twice the noise's deviation, falling
    off with the frequency, is added to the diagonal. (On scans and growth curves once does less.) It loses its weight
    as the number of units grows. Within the span the covariance alone decides; its ties are broken by smoothness.
    """
    smooth = np.diag(1 / (1 + frequencies**2))
    _, vectors = np.linalg.eigh(matrix + 2 * noise * smooth)
    span = vectors[:, ::-1][:, :k]
    tie = 1e-9 * max(float(np.trace(matrix)), noise, 1e-300)
    _, turn = np.linalg.eigh(span.T @ (matrix + tie * smooth) @ span)
    return with_signs(span @ turn[:, ::-1])


def plot_components(release: ComponentsRelease, ax: Any = None) -> Any:
    """Draw principal components as curves around zero, each with the share of variance it explains if that is known."""
    check_interval(release.basis.domain.dimension, "principal components", "release(points)")
    ax = axes_or_new(ax, (7.5, 4.5))
    points = release.points(401)
    ax.axhline(0.0, color="black", lw=0.8)
    for index, values in enumerate(release(points)):
        share = f", {release.explained(index)}" if release.explained(index) else ""
        # Lines differ in kind too: colours alone do not tell them apart for everybody.
        ax.plot(points[:, 0], values, lw=2, ls=LINES[index % len(LINES)], label=f"private component {index + 1}{share}")
    ax.set_xlim(*release.basis.domain.sides[0])
    ax.set_xlabel("t")
    ax.grid(alpha=0.25)
    unseen = not release.seen or (release.variances is not None and not release.variances.any())
    ax.legend(frameon=False, fontsize=9, title=UNSEEN if unseen else None)
    title(release.certificate, ax)
    return ax


RELEASE = ComponentsRelease


class ComponentsComparisons(CurveComparisons):
    """Components are drawn as a whole, or made from a covariance after the noise."""

    sensitivity_is_proven = True

    power = 2
    steps = 2.0**32

    def moves(self, card: Certificate, release: Any) -> Statement | None:
        # A covariance behind them may have been led by a mean, of which the file knows nothing.
        if not nothing_added(card):
            return None
        if card.neighbours == REPLACE:
            return say("moves", "moments", by=math.sqrt(2) * card.bound**2 / card.n)
        return say("moves", "sum-of-moments", by=card.bound**2, counted=False)

    def made_from(self, card: Certificate) -> tuple[Certificate, ...]:
        if card.what.code != "components":
            return ()
        return tuple(
            replace(card, what=say("what", what), statistic="covariance") for what in ("covariance", "second-moment")
        )


COMPARISONS = ComponentsComparisons()

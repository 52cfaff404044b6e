"""A private kernel machine: decisions and predictions anywhere, and what the noise did to them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, ArrayLike, Label, as_points, brief
from dpfda.bases import Basis, Domain
from dpfda.bases.domain import check_asked
from dpfda.errors import UsageError
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.messages import arg
from dpfda.privacy import REPLACE
from dpfda.releases.bands import at_points
from dpfda.releases.base import AnyRelease, pandas
from dpfda.releases.cards.words import Statement, say
from dpfda.releases.certificate import Certificate
from dpfda.releases.comparisons import EVEN, CurveComparisons, from_shares
from dpfda.releases.decoded import added_noise, finite, finite_number
from dpfda.releases.detection import compared, differs
from dpfda.releases.plots import INK, NOISE, axes_or_new, title

TASKS = ("classifier", "regressor")
REGIONS = ("#d9a679", NOISE)  # of the class below zero and of the class above
UNSURE = 2.0  # deviations of the noise


@dataclass(frozen=True, eq=False, repr=False)
class MachineRelease(AnyRelease):
    """A private function that decides or predicts: noisy weights of public features, and their card."""

    basis: Basis  # the features
    noisy: Array  # (size,) their weights, as paid for
    noise: NoiseLaw  # the law of what was added to the weights
    task: str  # "classifier" or "regressor"
    loss: str
    penalty: float
    classes: tuple[Label, Label] | None  # of a classifier: the one below zero, the one above
    bound: float | None  # of a regressor: predictions are moved into it
    certificate: Certificate

    kind: ClassVar[str] = "machine"
    axis: ClassVar[str] = "x"
    parts: ClassVar[str] = "features"

    def __post_init__(self) -> None:
        if self.task not in TASKS or (self.classes is None) is (self.task == "classifier"):
            raise ValueError(f"A machine is one of {TASKS}, a classifier with its classes, got {brief(self.task)}.")
        if (self.bound is None) is (self.task == "regressor"):
            raise ValueError("A regressor has a bound on responses, and a classifier has none.")

    def __call__(self, points: ArrayLike) -> Array:
        """Values of the function at points of the domain, (m,); a classifier decides by their sign."""
        return self.basis.evaluate(self.noisy, points)

    def decide(self, points: ArrayLike) -> Array:
        """Values at any points, moved into the domain as the records were, (m,)."""
        rows = as_points(points, self.basis.domain.dimension)
        check_asked(len(rows))
        return self(into(self.basis.domain, rows))

    def predict(self, points: ArrayLike) -> np.ndarray[Any, Any]:
        """The class of each point, or the predicted response within its bound, (m,)."""
        values = self.decide(points)
        if self.classes is None:
            assert self.bound is not None
            return np.clip(values, -self.bound, self.bound)
        return np.asarray(np.array(self.classes)[(values > 0).astype(int)])

    def probabilities(self, points: ArrayLike) -> Array:
        """The chances of both classes at each point, (m, 2); the logistic loss alone gives its values that meaning."""
        if self.loss != "logistic":
            raise UsageError(
                f"Values of a machine with loss {brief(self.loss)} are no probabilities. Fit one with ",
                arg("loss", "logistic"),
                ".",
                parameter="loss",
                value=self.loss,
            )
        from scipy.special import expit

        values = self.decide(points)
        return np.stack([expit(-values), expit(values)], axis=1)

    def noise_deviation(self, points: ArrayLike) -> Array:
        """The standard deviation of what the noise did to the function at points of the domain, (m,)."""
        return at_points(self.basis, self.basis.asked(points), self.noise)[0]

    @cached_property
    def tested(self) -> Statement:
        """Whether the function was seen above the noise, for the card: a test at level 1 %."""
        return say("detected", "function" if differs(self.noisy, self.noise, self.basis.frequencies) else "zero")

    @property
    def against_noise(self) -> str:
        """How large the noise was against what was released, in words: nothing is smoothed, so both are in it."""
        released = math.sqrt(max(float(self.noisy @ self.basis.gram() @ self.noisy), 0.0))
        return compared(self.certificate.noise_rms, released, "function")

    def to_frame(self, points: ArrayLike | None = None) -> Any:
        """A pandas DataFrame with points, values of the function, the noise in them, and predictions."""
        pd, rows = pandas(), self._asked(points)
        values = {"value": self(rows), "noise": self.noise_deviation(rows), "prediction": self.predict(rows)}
        return pd.DataFrame(self._named(rows) | values)

    def plot(self, ax: Any = None) -> Any:
        """A picture of the function on a line, or of its surface or decision regions in the plane; returns the axes."""
        return plot_machine(self, ax)

    def to_plain(self) -> dict[str, Any]:
        return {
            "noisy": self.noisy.tolist(),
            "noise": self.noise.describe(),
            "task": self.task,
            "loss": self.loss,
            "penalty": self.penalty,
            "classes": None if self.classes is None else list(self.classes),
            "bound": self.bound,
        }

    @staticmethod
    def from_plain(data: dict[str, Any], basis: Basis, certificate: Certificate) -> MachineRelease:
        classes = None if data["classes"] is None else check_classes(data["classes"])
        return MachineRelease(
            basis=basis,
            noisy=finite(data["noisy"], basis.size),
            noise=added_noise(data["noise"], basis.size),
            task=data["task"],
            loss=str(data["loss"]),
            penalty=finite_number(data["penalty"]),
            classes=classes,
            bound=None if data["bound"] is None else finite_number(data["bound"]),
            certificate=certificate,
        )


def into(domain: Domain, points: ArrayLike) -> Array:
    """Points as rows inside the domain: those beyond it on its edge, missing or infinite coordinates at the middle.

    Each by itself; records are read by the same rule.
    """
    rows = as_points(points, domain.dimension)
    lows, highs = np.array(domain.sides).T
    middles = lows / 2 + highs / 2
    return np.clip(np.where(np.isfinite(rows), rows, middles), lows, highs)


def check_classes(classes: object) -> tuple[Label, Label]:
    """Two different public labels: numbers or texts."""
    labels = tuple(_plain(label) for label in classes) if isinstance(classes, tuple | list | np.ndarray) else ()
    number = [isinstance(label, int | float) for label in labels]
    known = all(isinstance(label, str) for label in labels) or all(number)
    finite_labels = all(not isinstance(label, float) or math.isfinite(label) for label in labels)
    if len(labels) != 2 or not known or not finite_labels or labels[0] == labels[1]:
        raise UsageError(
            parameter="classes",
            value=classes,
            rule=(
                "must be two different labels, both numbers or both texts, stated in advance, e.g. (-1, 1) "
                "or ('healthy', 'ill')"
            ),
            fix="They may not be read from the data.",
        )
    return labels[0], labels[1]


def _plain(label: Any) -> Label:
    """A label as Python's own number or text."""
    found: Label = label.item() if isinstance(label, np.generic) else label
    return found


def plot_machine(release: MachineRelease, ax: Any) -> Any:
    """Draw a machine; never a record beside it, which no release knows."""
    dimension = release.basis.domain.dimension
    if dimension > 2:
        raise UsageError(f"plot() draws lines and planes; this machine lives in {dimension} dimensions. Evaluate it.")
    ax = axes_or_new(ax, (7.5, 4.5) if dimension == 1 else (6.5, 5.0))
    (_line if dimension == 1 else _plane)(release, ax)
    title(release.certificate, ax)
    return ax


def _line(release: MachineRelease, ax: Any) -> None:
    points = release.points(401)
    values, reach = release(points), UNSURE * release.noise_deviation(points)
    where = points[:, 0]
    ax.fill_between(
        where, values - reach, values + reach, color=NOISE, alpha=0.5, lw=0, label="two deviations of noise"
    )
    ax.plot(where, values, color=INK, lw=2, label=f"private function, loss: {release.loss}")
    if release.classes is not None:
        ax.axhline(0.0, color="0.4", lw=0.8)
        ax.set_ylabel(f"above zero: {release.classes[1]}, below: {release.classes[0]}")
    ax.set_xlim(*release.basis.domain.sides[0])
    ax.set_xlabel("x")
    ax.grid(alpha=0.25)
    ax.legend(frameon=False, fontsize=9)


def _plane(release: MachineRelease, ax: Any) -> None:
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    size = 161
    points = release.points(size)
    grid, values = points.reshape(size, size, 2), release(points).reshape(size, size)
    if release.classes is None:
        image = ax.pcolormesh(grid[..., 0], grid[..., 1], values, shading="gouraud", cmap="viridis")
        ax.figure.colorbar(image, ax=ax, label=f"private function, loss: {release.loss}")
    else:
        above = (values > 0).astype(float)
        ax.pcolormesh(
            grid[..., 0], grid[..., 1], above, shading="nearest", cmap=ListedColormap(REGIONS), vmin=0, vmax=1
        )
        unsure = np.abs(values) < UNSURE * release.noise_deviation(points).reshape(size, size)
        ax.contourf(
            grid[..., 0], grid[..., 1], unsure.astype(float), levels=[0.5, 1.5], colors="none", hatches=["////"]
        )
        ax.contour(grid[..., 0], grid[..., 1], above, levels=[0.5], colors=INK, linewidths=1.5)
        named = [Patch(color=colour, label=str(label)) for colour, label in zip(REGIONS, release.classes, strict=True)]
        hatched = Patch(facecolor="none", edgecolor="k", hatch="////", label="within two deviations of the noise")
        ax.legend(handles=[*named, hatched], fontsize=8, loc="upper right")
    ax.set_xlabel("x1")
    ax.set_ylabel("x2")


RELEASE = MachineRelease


class MachineComparisons(CurveComparisons):
    """Coordinates are multiples of the lattice step itself; how far a minimiser moves is proven by its reason alone."""

    sensitivity_is_proven = True

    def lattice_step(self, card: Certificate) -> float | None:
        return None

    def noise_scale(self, noise: NoiseLaw, card: Certificate) -> float | None:
        if card.lattice_step <= 0:
            return None
        if card.sensitivity_norm == "BlockNorm":
            return from_shares(noise.scales, card.lattice_step)
        known = card.sensitivity_norm in EVEN and card.neighbours == REPLACE
        return max(noise.scales) / card.lattice_step if known else None

    def step_in_coordinates(self, release: Any) -> float | None:
        card = release.certificate
        return None if card.n_is_planned or card.lattice_step <= 0 else float(card.lattice_step)


COMPARISONS = MachineComparisons()

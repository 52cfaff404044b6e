"""Come here for what the options about points mean: where they lie, whose they are, and what is wished for of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpfda.apps.wishes import interval, kernel_of, numbers
from dpfda.arrays import brief
from dpfda.errors import UsageError

BOUGHT = "private-iqr"
MOST_EDGES = 4096


@dataclass(frozen=True, slots=True)
class PointSource:
    """The file, and the columns that hold points."""

    file: Path
    points: tuple[str, ...]
    unit: str | None

    @property
    def column(self) -> str | None:
        """The column that says whose row it is; None where every row is another person."""
        return None if self.unit == "row" else self.unit


@dataclass(frozen=True, slots=True)
class DensityWishes:
    """What is public, and what is wished for, of a density."""

    domain: tuple[str, ...]
    edges: tuple[str, ...]
    epsilon: float
    delta: float
    neighbours: str
    mechanism: str
    calibration: str
    kernel: str | None
    bandwidth: str | None
    bandwidth_epsilon: float | None
    eta: float | None
    size: int | None

    def parameters(self) -> dict[str, Any]:
        """The parameters of an estimator that say all this."""
        if bool(self.domain) == bool(self.edges):
            raise UsageError(
                "A density needs a domain known in advance, e.g. --domain 0,100, or else the edges of bins, e.g. "
                "--edges 0,1,5,10, and not both. Neither may be read from the data."
            )
        return {
            "domain": domain_of(self.domain) if self.domain else None,
            "edges": edges_of(self.edges) if self.edges else None,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours,
            "mechanism": self.mechanism,
            "calibration": self.calibration,
            "kernel": kernel_of(self.kernel),
            "bandwidth": bandwidth_of(self.bandwidth),
            "bandwidth_epsilon": self.bandwidth_epsilon,
            "eta": self.eta,
            "size": self.size,
        }


@dataclass(frozen=True, slots=True)
class MachineWishes:
    """What is public, and what is wished for, of a kernel machine."""

    domain: tuple[str, ...]
    epsilon: float
    delta: float
    neighbours: str
    loss: str
    kernel: str | None
    penalty: float | None
    features: int | None
    mechanism: str
    eta: float | None

    def parameters(self) -> dict[str, Any]:
        """The parameters of an estimator that say all this."""
        if not self.domain:
            raise UsageError(
                "A kernel machine needs a domain known in advance: one interval for every coordinate, e.g. --domain "
                "0,1, or one for each, e.g. --domain '0,1;18,90'. It may not be read from the data."
            )
        return {
            "domain": domain_of(self.domain),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours,
            "loss": self.loss,
            "kernel": kernel_of(self.kernel),
            "penalty": self.penalty,
            "features": "auto" if self.features is None else self.features,
            "mechanism": self.mechanism,
            "eta": self.eta,
        }


def domain_of(texts: tuple[str, ...]) -> list[tuple[float, ...]]:
    """The sides of a domain: stated one after the other, or separated by semicolons."""
    return [interval(part) for text in texts for part in text.split(";")]


def edges_of(texts: tuple[str, ...]) -> list[list[float]]:
    """Edges along each side: numbers, and stretches of equal steps such as 0:100:5, by default of steps of one."""
    sides = [part for text in texts for part in text.split(";")]
    try:
        return [[edge for item in side.split(",") for edge in _stretch(item)] for side in sides]
    except ValueError:
        raise UsageError(
            "--edges takes increasing numbers separated by commas, or stretches FIRST:LAST:STEP of at most "
            f"{MOST_EDGES} of them, e.g. --edges 0,1,5:100:5; got {brief(' '.join(texts))}."
        ) from None


def _stretch(item: str) -> list[float]:
    first, *rest = (float(part) for part in item.split(":"))
    if not rest:
        return [first]
    last, step = (*rest, 1.0)[:2]
    steps = (last - first) / step
    if len(rest) > 2 or not 1 <= steps <= MOST_EDGES or abs(steps - round(steps)) > 1e-9 * steps:
        raise ValueError
    return [*(first + index * step for index in range(round(steps))), last]


def bandwidth_of(text: str | None) -> Any:
    """A number, one for each side, rows of a matrix separated by semicolons, or the name of a private choice."""
    if text is None or text == BOUGHT:
        return text
    rows = [numbers(part, "--bandwidth", count=None) for part in text.split(";")]
    if len(rows) > 1:
        return rows
    return rows[0] if len(rows[0]) > 1 else rows[0][0]


def classes_of(text: str) -> tuple[str, str]:
    """Two labels separated by a comma."""
    labels = tuple(label.strip() for label in text.split(","))
    if len(labels) != 2 or not all(labels) or labels[0] == labels[1]:
        raise UsageError(
            "--classes takes two different labels separated by a comma, e.g. --classes healthy,ill; got "
            f"{brief(text)}. They may not be read from the data."
        )
    return labels[0], labels[1]

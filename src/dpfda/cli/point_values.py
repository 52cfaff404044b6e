"""What the options about points mean, and what is checked about points in a file before anything is charged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import dpfda
from dpfda.arrays import brief
from dpfda.cli.columns import check_numbers, read_numbers, read_points
from dpfda.cli.releasing import NOTHING, check_row
from dpfda.cli.values import OutputOptions, interval, kernel_of
from dpfda.errors import UsageError
from dpfda.mechanisms.table import by_name
from dpfda.page.evaluation import numbers

BOUGHT = "private-iqr"
MOST_EDGES = 4096


@dataclass(frozen=True, slots=True)
class PointSourceOptions:
    """The file, and the columns that hold points."""

    file: Path
    points: tuple[str, ...]
    unit: str | None

    @property
    def column(self) -> str | None:
        """The column that says whose row it is; None where every row is another person."""
        return None if self.unit == "row" else self.unit


@dataclass(frozen=True, slots=True)
class DensityOptions:
    """What is public, and what is asked for, of a density."""

    domain: tuple[str, ...]
    edges: tuple[str, ...]
    epsilon: float
    delta: float
    neighbours: str
    mechanism: str
    calibration: str | None
    kernel: str | None
    bandwidth: str | None
    bandwidth_epsilon: float | None
    eta: float | None
    size: int | None
    answers: int | None = None

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
            "mechanism": by_name(
                self.mechanism,
                "density",
                {
                    "calibration": self.calibration,
                    "kernel": kernel_of(self.kernel),
                    "bandwidth": bandwidth_of(self.bandwidth),
                    "eta": self.eta,
                    "answers": self.answers,
                },
            ),
            "bandwidth_epsilon": self.bandwidth_epsilon,
            "size": self.size,
        }


@dataclass(frozen=True, slots=True)
class MachineOptions:
    """What is public, and what is asked for, of a kernel machine."""

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
            "mechanism": by_name(self.mechanism, "machine", {"eta": self.eta}),
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


def protected_points(source: PointSourceOptions, beside: dict[str, str]) -> dpfda.Curves:
    """The points of a file, when it is clear who is protected."""
    if (source.unit is None) == ("the counts" not in beside.values()):
        raise UsageError(
            "Say who is protected, by one of the two: --unit COLUMN, or --unit row if every row is another person; or "
            "--counts COLUMN if a row stands for so many people, one point each."
        )
    points = read_points(source.file, source.points, unit=source.column, beside=beside)
    check_row(source.file, source.unit)
    return points


def called_after(points: dpfda.Curves, what: str, column: str | None) -> dpfda.Curves:
    """The points, named after the column beside them too: with another label or other counts it is another release."""
    return points if column is None else replace(points, columns=f"{points.columns}; {what} {column}")


@dataclass(frozen=True)
class Counts:
    """How many people rows stand for, read when it is needed."""

    points: dpfda.Curves
    column: str

    def __post_init__(self) -> None:
        from dpfda.records.columns import check_count

        check_count(self.column)
        check_numbers(self.points, self.column)

    @cached_property
    def numbers(self) -> Any:
        """One for each row, (n,), NaN where a cell is none."""
        return read_numbers(self.points, self.column, what="counts")

    def total(self) -> int:
        """The number of people."""
        from dpfda.records.labelled import as_points
        from dpfda.records.points import count_units

        return count_units(as_points(self.points, self.points.source.width, counts=self.numbers))


def number_of_units(est: Any, points: dpfda.Curves, counts: Counts | None, empty: str) -> int:
    """The number of units to plan with: counted where it is public, else the public guess."""
    from dpfda.statistics.estimator import size_of

    unit = dpfda.Unit(points.unit or "row", est.neighbours)
    people = None if counts is None else counts.total
    return size_of(points, unit, n=est.n, planned_n=est.planned_n, nothing=empty, people=people).planned


def check_sides(points: dpfda.Curves, sides: int) -> None:
    """One column for each side of the domain."""
    columns = points.source.width
    if columns != sides:
        raise UsageError(
            f"--points names {columns} column{'s' * (columns > 1)} ({points.columns}) and the domain has {sides} "
            f"side{'s' * (sides > 1)}: one for each." + NOTHING
        )


def check_drawn(sides: int, output: OutputOptions, *, what: str) -> None:
    """A picture only where there can be one, before anything is charged."""
    if output.picture is not None and sides > 2:
        raise UsageError(
            f"--plot draws {what} of one or two coordinates, and there are {sides}. Leave it out." + NOTHING
        )

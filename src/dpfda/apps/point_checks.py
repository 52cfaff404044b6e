"""Come here for what is checked about points in a file before anything is charged: whose, how many, which sides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import dpfda
from dpfda.apps.columns import check_numbers, read_numbers, read_points
from dpfda.apps.point_wishes import PointSource
from dpfda.apps.releasing import NOTHING, check_row
from dpfda.apps.wishes import Output
from dpfda.errors import UsageError


def protected_points(source: PointSource, beside: dict[str, str]) -> dpfda.Curves:
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
        from dpfda.records.given_points import as_points
        from dpfda.records.points import count_units

        return count_units(as_points(self.points, self.points.source.width, counts=self.numbers))


def number_of_units(est: Any, points: dpfda.Curves, counts: Counts | None, empty: str) -> int:
    """The number of units to plan with: counted where it is public, else the public guess."""
    from dpfda.estimators.base import size_of

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


def check_drawn(sides: int, output: Output, *, what: str) -> None:
    """A picture only where there can be one, before anything is charged."""
    if output.picture is not None and sides > 2:
        raise UsageError(
            f"--plot draws {what} of one or two coordinates, and there are {sides}. Leave it out." + NOTHING
        )

"""Come here for private curves: where they come from, on which grid, and who is the privacy unit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np

from dpfda.arrays import Array, ArrayLike, brief, public_numbers
from dpfda.errors import DataError, UsageError
from dpfda.privacy import Unit
from dpfda.records.headers import MAY_BE_A_RECORD, called, in_few_words, listed, may_be_record
from dpfda.records.units import UnitIndex

NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$")  # at the end of a column's name
Ids = np.ndarray[tuple[int], np.dtype[np.generic]]
Answer = TypeVar("Answer")


class Source(Protocol):
    """Rows of values that can be read again and again, in batches."""

    @property
    def width(self) -> int:
        """How many values a row has: a fact of the layout."""

    def rows(self) -> int: ...

    def ids(self) -> Ids | None:
        """The identifier of each row's unit, or a whole number for it, negative if missing; None: each row is one."""

    def batches(self, rows: int) -> Iterator[Array]:
        """Consecutive batches, (m, width), NaN where a value is missing or unreadable."""


@dataclass(frozen=True)
class Curves:
    """Curves on a common public grid, read when they are needed and never shown."""

    source: Source
    grid: Array | None  # (q,) or (q, p); None: equally spaced over the domain
    unit: str | None  # what the identifiers are called; None: each row was assumed to be one unit
    columns: str = ""  # which columns hold the values, in a few words

    def __post_init__(self) -> None:
        if self.grid is not None and len(self.grid) != self.source.width:
            raise UsageError(
                f"Grid and values must have the same length, got {len(self.grid)} grid points and "
                f"{self.source.width} values a curve."
            )

    def __repr__(self) -> str:
        return f"Curves(width={self.source.width}, unit={self.unit!r})"

    @cached_property
    def rows(self) -> int:
        return quietly(self.source.rows)

    @cached_property
    def units(self) -> UnitIndex | None:
        ids = quietly(self.source.ids)
        if ids is None:
            return None
        return UnitIndex.of_codes(ids.astype(np.int64)) if ids.dtype.kind == "i" else UnitIndex.build(ids)

    def size_under(self, unit: Unit) -> int:
        """The number of privacy units; public only where units are replaced.

        Rows that do not say whose they are enter no sum: several people may stand behind them, or one who has other
        rows too. Where units are replaced they count as one unit that is empty, so that somebody's identifier may be
        lost without changing the number of units.
        """
        if self.units is None:
            return self.rows
        return self.units.size + (1 if unit.size_is_public and self.units.unknown else 0)

    def batches(self, rows: int) -> Iterator[Array]:
        return self.source.batches(rows)


def quietly(count: Callable[[], Answer]) -> Answer:
    """The answer, or an error that says nothing about the records; it may be asked before the charge."""
    with suppress(Exception):
        return count()
    raise DataError(
        "The rows or their units could not be counted. Check that the data can be read. Nothing was charged."
    )


def as_grid(grid: ArrayLike | None) -> Array | None:
    """A public grid: finite numbers, one row a point."""
    if grid is None:
        return None
    try:
        array = public_numbers(grid, "A grid")
    except UsageError:
        array = np.empty(0)
    if array.ndim not in (1, 2) or array.size == 0 or not np.isfinite(array).all():
        raise UsageError(
            "A grid is a non-empty sequence of finite numbers, one for each value of a curve; on a box one row a point."
        )
    return array


def header_grid(columns: list[str]) -> Array:
    """The grid that stands in the column names, e.g. age_1, age_1.25."""
    numbers = [NUMBER.search(name) for name in columns]
    if any(number is None for number in numbers):
        name = columns[numbers.index(None)]
        raise DataError(
            f"{called(name, columns)} does not end in a number, so no grid can be read from the header. Pass grid=."
        )
    grid = np.array([float(number.group()) for number in numbers if number is not None])
    if may_be_record(columns) and not np.all(np.diff(grid) > 0):
        # Before a refusal of points outside the domain would show them.
        raise DataError(
            f"The numbers in the header do not increase, so no grid can be read from it: {MAY_BE_A_RECORD}."
        )
    return grid


def grid_of(grid: ArrayLike | str | None, columns: list[str]) -> Array | None:
    """The grid of a table: as stated, or with "header" from the names of its columns."""
    if isinstance(grid, str):
        if grid != "header":
            raise UsageError(f"grid is a sequence of numbers, 'header' or None, got {grid!r}.")
        return header_grid(columns)
    return as_grid(grid)


def choose_columns(columns: list[str], pattern: str | None, unit: str | None) -> list[str]:
    """The value columns that a shell pattern names, in the order of the file.

    Without a pattern all but the unit's, if they look like grid points: one stem and a number, as in t1, t2, t3.
    """
    from fnmatch import fnmatchcase

    if len(set(columns)) < len(columns):
        # Without the name: of a table that was read without a header it is somebody's value.
        raise DataError("Two columns of the table have one name. Rename one.")
    if not (pattern is None or isinstance(pattern, str)) or not (unit is None or isinstance(unit, str)):
        raise UsageError(
            f"Columns are chosen by text: a pattern such as 't*' and the name of the unit's column, got "
            f"{brief(pattern)} and {brief(unit)}."
        )
    if unit is not None and unit not in columns:
        raise DataError(f"No column {unit!r} for the privacy unit. Columns are: {listed(columns)}.")
    chosen = [name for name in columns if fnmatchcase(name, pattern or "*") and name != unit]
    if not chosen:
        raise DataError(f"No column matches the pattern {pattern or '*'!r}. Columns are: {listed(columns)}.")
    if pattern is None and len(chosen) > 1 and len({NUMBER.sub("", name) for name in chosen}) > 1:
        raise DataError(
            f"These columns are not all points of one curve: {listed(chosen, columns)}. Name those that are by a "
            "pattern, e.g. 't*'; '*' takes them all."
        )
    return chosen


def name_columns(columns: list[str], among: list[str]) -> str:
    """The value columns of a table in a few words, for the card."""
    return in_few_words(columns, among)

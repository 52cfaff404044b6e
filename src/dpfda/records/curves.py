"""Private curves: where they come from, on which grid, and who is the privacy unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import DataError, UsageError
from dpfda.privacy import Unit
from dpfda.records.identity import Identity

Answer = TypeVar("Answer")


class Source(Protocol):
    """Rows of values that can be read again and again, in batches."""

    @property
    def width(self) -> int:
        """How many values a row has: a fact of the layout."""

    def rows(self) -> int:
        """The number of rows."""

    def identity(self) -> Identity | None:
        """Who the rows belong to; None: each row is a unit of its own."""

    def batches(self, rows: int) -> Iterator[Array]:
        """Consecutive batches, (m, width), NaN where a value is missing or unreadable."""


@dataclass(frozen=True)
class Curves:
    """Curves on a common public grid, read when they are needed and never shown."""

    source: Source
    grid: Array | None  # (q,) or (q, p); None: equally spaced over the domain
    unit: str | None  # what the identifiers are called; None: each row was assumed to be one unit
    columns: str = ""  # which columns hold the values, in a few words
    unused: str = ""  # which columns of the same table nothing is read from, in a few words

    def __post_init__(self) -> None:
        if self.grid is not None and len(self.grid) != self.source.width:
            raise UsageError(
                f"Grid and values must have the same length, got {len(self.grid)} grid points and "
                f"{self.source.width} values a curve.",
                parameter="grid",
            )

    def __repr__(self) -> str:
        return f"Curves(width={self.source.width}, unit={self.unit!r})"

    @property
    def notes(self) -> tuple[tuple[str, str], ...]:
        """For the card: columns that are not read, which may say that rows are of different kinds."""
        if not self.unused:
            return ()
        whose = f"rows of one {self.unit}" if self.unit is not None else "rows"
        return (("not used", f"columns {self.unused}; {whose} are averaged whatever these say"),)

    @property
    def notes_of_counts(self) -> tuple[tuple[str, str], ...]:
        """The same where rows stand for many people."""
        added = "all rows are added up whatever these say, and rows that are totals of others count once more"
        return (("not used", f"columns {self.unused}; {added}"),) if self.unused else ()

    @cached_property
    def rows(self) -> int:
        """The number of rows; an error in counting them says nothing about the records."""
        return quietly(self.source.rows)

    @cached_property
    def units(self) -> Identity | None:
        """The unit of each row; None where each row is a unit."""
        return quietly(self.source.identity)

    def size_under(self, unit: Unit) -> int:
        """The number of privacy units, as `Identity` defines it; public only where units are replaced.

        Rows that say nobody enter no sum: several people may stand behind them, or one who has other rows too.
        """
        if self.units is None:
            return self.rows
        return self.units.count if unit.size_is_public else self.units.size

    def batches(self, rows: int) -> Iterator[Array]:
        """Consecutive batches of so many rows, (m, width)."""
        return self.source.batches(rows)


def quietly(count: Callable[[], Answer]) -> Answer:
    """The result of a function, or one constant error: its own message could tell something about a record."""
    with suppress(Exception), np.errstate(all="ignore"):
        return count()
    raise DataError(
        "The rows or their units could not be counted. Check that the data can be read. Nothing was charged."
    )

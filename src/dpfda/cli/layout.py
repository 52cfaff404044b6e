"""The layout of a file: names, declared types and groups of columns, and nothing from any row."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

# What values may be. Not told apart: one word in one cell makes text of numbers when a file is written.
PLAIN = "numbers or text"
NESTED = "lists or records"
PARQUET = (".parquet", ".pq")
FEWEST_ALIKE = 3
WIDEST_LONG = 8  # columns of a table with one row a reading
# One pattern for names that run together, as in PatientID, which ends in a capital ID.
ENDS_IN_ID = re.compile(r"[a-z](ID|Id)$")
TIMES = re.compile(
    r"^(t|x|time|times|timestamp|date|datetime|hour|minute|day|week|month|year|age|visit|position)$", re.I
)
# Times that hardly stand in a table of one row a person; beside them any other column may be the reading.
CLOCKS = re.compile(r"^(t|time|times|timestamp|datetime|hour|minute|position|argvals)$", re.I)
# Times that are no facts about a person as an age is: beside a person and one other column they tell readings apart.
DAYS = re.compile(r"^(date|day|week|month|year)$", re.I)
COUNTERS = re.compile(r"^(index|row|no|nr|number|visit|session|scan|curve|rep|replicate|sex|gender|group|case)$", re.I)
READINGS = re.compile(
    r"^(y|value|values|reading|readings|measurement|result|load|kwh|usage|level|height|weight)$", re.I
)


@dataclass(frozen=True, slots=True)
class Group:
    """Columns that look alike: the same but for numbers, of which the last may be the place of a grid point."""

    stem: str  # before the first number
    names: tuple[str, ...]
    places: tuple[float, ...]  # times of day in hours; none where more than one number differs

    @property
    def even(self) -> bool:
        """Whether the numbers increase by equal steps, as an even grid takes them to do."""
        from dpfda.records.columns import is_even

        return bool(self.places) and is_even(self.places)

    @property
    def increasing(self) -> bool:
        return bool(self.places) and all(low < high for low, high in pairwise(self.places))

    def pattern(self, names: Iterable[str]) -> str | None:
        """The shell pattern that names these columns and no other; None if there is none so simple."""
        from dpfda.records.columns import pattern_for

        return pattern_for(self.names, names)


@dataclass(frozen=True)  # no slots: what is computed from a million names is kept
class Layout:
    """What the first line of a CSV file, or the schema of a Parquet file, says; nothing else of the file is read."""

    file: Path
    names: tuple[str, ...]
    kinds: dict[str, str] | None  # of each column, as a schema declares it; a CSV file declares none

    @property
    def form(self) -> str:
        return "CSV" if self.kinds is None else "Parquet"

    @cached_property
    def bare(self) -> bool:
        """Whether names may be the record of a person, e.g. numbers, which may be grid points too."""
        from dpfda.records.headers import may_be_record

        return may_be_record(self.names)

    @cached_property
    def places(self) -> bool:
        """Whether numbers for names can be the places of grid points: they increase, and the rest are names."""
        from dpfda.records.headers import may_be_record

        alike = {name for group in self.groups if group.increasing for name in group.names}
        return bool(alike) and not may_be_record([name for name in self.names if name not in alike])

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Columns that look alike, at least three of them, in the order of the file."""
        from dpfda.records.columns import NUMBERED

        found: dict[str, list[str]] = {}
        for name in self.names:
            if NUMBERED.search(name):
                found.setdefault(NUMBERED.sub("#", name), []).append(name)
        return tuple(_group(members) for members in found.values() if len(members) >= FEWEST_ALIKE)

    @cached_property
    def measured(self) -> tuple[Group, ...]:
        """Groups that may hold the values of a curve, as far as a schema declares their types."""
        return tuple(group for group in self.groups if self.declared(group) == PLAIN)

    def declared(self, group: Group) -> str:
        """What a schema declares the columns of a group to hold; what is no number, if one of them holds that."""
        kinds = self.kinds or {}
        return next((kinds[name] for name in group.names if kinds.get(name, PLAIN) != PLAIN), PLAIN)

    @cached_property
    def others(self) -> tuple[str, ...]:
        """Columns outside of all groups."""
        alike = {name for group in self.groups for name in group.names}
        return tuple(name for name in self.names if name not in alike)

    @cached_property
    def persons(self) -> tuple[str, ...]:
        """Columns whose names sound as if they said whose row it is."""
        from dpfda.records.columns import PERSONS

        could = (name for name in self.others if PERSONS.search(name) or ENDS_IN_ID.search(name))
        return tuple(name for name in could if (self.kinds or {}).get(name) != NESTED)

    @cached_property
    def long(self) -> tuple[str, str] | None:
        """The columns of time and of readings, if the table looks like one row a reading."""
        if self.groups or not FEWEST_ALIKE <= len(self.names) <= WIDEST_LONG:
            return None
        times = [name for name in self.names if TIMES.match(name)]
        clocks = [name for name in times if CLOCKS.match(name)]
        readings = [name for name in self.names if READINGS.match(name) and name not in times]
        rest = [name for name in self.others if not COUNTERS.match(name) and name not in (*times, *self.persons)]
        if not readings and self.persons and (clocks or (len(rest) == 1 and any(map(DAYS.match, times)))):
            readings = rest[-1:]  # what is measured stands last as a rule
        # Of a day and an hour the hour runs along the curve.
        return ((clocks or times)[-1], readings[0]) if times and readings else None

    @property
    def curves(self) -> tuple[str, ...]:
        """In a table of one row a reading the columns that tell curves apart: whose it is, and of which day."""
        if self.long is None:
            return ()
        time, reading = self.long
        rest = [name for name in self.names if name not in (time, reading)]
        unit = [name for name in self.persons if name in rest][:1] or rest[:1]
        return (*unit, *(name for name in rest if TIMES.match(name) and name not in unit))


def _group(names: list[str]) -> Group:
    from dpfda.records.columns import NUMBERED, places

    return Group(NUMBERED.split(names[0])[0], tuple(names), tuple(places(names) or ()))


def layout_of(file: Path) -> Layout:
    """The layout of a CSV or Parquet file."""
    from dpfda.records.files import ParquetTable, open_table

    table = open_table(file)
    # What a cell of a CSV file looks like is a fact about a person.
    kinds = {str(each.name): _kind(each.type) for each in table.schema} if isinstance(table, ParquetTable) else None
    return Layout(file, table.columns, kinds)


def _kind(declared: Any) -> str:
    """A declared type in a few words.

    Coarse on purpose: numbers that became text, widths of integers and whole numbers that became fractions are often
    chosen by what wrote the file, from the values.
    """
    import pyarrow as pa

    if isinstance(declared, pa.BaseExtensionType):
        return _kind(declared.storage_type)
    if pa.types.is_dictionary(declared) or pa.types.is_run_end_encoded(declared):
        return _kind(declared.value_type)
    if pa.types.is_temporal(declared):
        return "dates or times"
    return NESTED if pa.types.is_nested(declared) else PLAIN

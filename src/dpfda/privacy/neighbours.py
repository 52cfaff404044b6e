"""Who is protected, and which data sets are neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dpfda.arrays import brief
from dpfda.errors import UsageError

REPLACE = "replace-one"
ADD_REMOVE = "add-or-remove-one"
RELATIONS = (REPLACE, ADD_REMOVE)


class Counting(StrEnum):
    """How the number of units is known, which decides what exactly neighbouring data sets are."""

    ROWS = "rows"  # every row is a unit, and the number of rows is public
    IDENTIFIERS = "identifiers"  # so many identifiers, and one unit for rows without one, present or not
    PEOPLE = "people"  # rows state how many people they stand for, and their total is public
    STATED = "stated"  # by the user; never compared with the records
    PRIVATE = "private"  # a guess to plan with; the number itself is protected

    @property
    def of_records(self) -> bool:
        """Whether all units of the records were counted, so that they are exactly n."""
        return self not in (Counting.STATED, Counting.PRIVATE)


@dataclass(frozen=True, slots=True)
class Unit:
    """What one neighbour differs in: all records of one privacy unit.

    Under `replace-one` the number of units is public; under `add-or-remove-one` it is private.
    """

    name: str
    neighbours: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise UsageError(f"The name of a privacy unit is a text, e.g. 'person', got {brief(self.name)}.")
        if not isinstance(self.neighbours, str) or self.neighbours not in RELATIONS:
            known = ", ".join(map(repr, RELATIONS))
            raise UsageError(parameter="neighbours", value=self.neighbours, rule=f"must be one of {known}")

    @property
    def size_is_public(self) -> bool:
        """Whether the number of units is public: it is if units are replaced."""
        return self.neighbours == REPLACE

"""Come here for who is protected, and what counts as a neighbouring data set."""

from __future__ import annotations

from dataclasses import dataclass

from dpfda.arrays import brief
from dpfda.errors import UsageError

REPLACE = "replace-one"
ADD_REMOVE = "add-or-remove-one"
RELATIONS = (REPLACE, ADD_REMOVE)


@dataclass(frozen=True, slots=True)
class Unit:
    """What one neighbour differs in: all records of one privacy unit.

    Under `replace-one` the number of units is public; under `add-or-remove-one` it is private.
    """

    name: str
    neighbours: str

    def __post_init__(self) -> None:
        if not isinstance(self.neighbours, str) or self.neighbours not in RELATIONS:
            known = ", ".join(map(repr, RELATIONS))
            raise UsageError(f"neighbours must be one of {known}, got {brief(self.neighbours)}.")

    @property
    def size_is_public(self) -> bool:
        return self.neighbours == REPLACE

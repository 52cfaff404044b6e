"""Cards as plain data and back: every field under its name, statements as codes with values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from dpfda.errors import DataError
from dpfda.releases.cards import first_schema, words
from dpfda.releases.cards.words import Statement, plain_of
from dpfda.releases.entry import Fits, LedgerEntry
from dpfda.releases.fields import check, check_fields, is_moderate, read_change, read_domain, read_losses, read_texts

SCHEMA = "dpfda-card-2"
HIDDEN = frozenset({"older_record"})  # fields that belong to cards of the first schema alone


def to_plain(card: Any) -> dict[str, Any]:
    """All fields of a card as JSON has them, in the schema that the card is of."""
    names = [field.name for field in fields(card) if field.name not in HIDDEN]
    found = {name: _plain(name, getattr(card, name)) for name in names}
    return first_schema.written(card, found) if card.schema == first_schema.SCHEMA else found


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, Statement):
        return value.to_dict()
    if isinstance(value, Fits | LedgerEntry):
        return value.to_dict()
    if name in ("chosen", "software"):
        return {key: plain_of(said) for key, said in value}
    if name == "domain":
        return [list(side) for side in value]
    if name in ("losses", "afterwards"):
        return [dict(part) for part in value]
    return [plain_of(said) for said in value] if name == "warnings" else value


def read_plain(kind: type, data: dict[str, Any]) -> dict[str, Any]:
    """The fields of a card from plain data of either schema; DataError where one is none, else any exception."""
    schema = data.get("schema", first_schema.SCHEMA)
    if schema == first_schema.SCHEMA:
        return first_schema.read(kind, data)
    check_fields(kind, data, schema=SCHEMA)
    known = {field.name: str(field.type) for field in fields(kind) if field.name not in HIDDEN}
    if set(known) != set(data):
        raise KeyError(*(set(known) ^ set(data)))
    return {name: _read(name, annotation, data[name]) for name, annotation in known.items()}


READERS: dict[str, Callable[[Any], Any]] = {
    "domain": read_domain,
    "losses": read_losses,
    "chosen": lambda said: _named("chosen", said),
    "software": lambda said: _named("software", said),
    "warnings": lambda said: _warnings(said),
    "entry": lambda entry: None if entry is None else LedgerEntry.from_dict(entry),
    "fits": lambda fits: None if fits is None else Fits.from_dict(fits),
    "result": lambda value: value if value is None else _moderate(value),
    "afterwards": lambda changes: tuple(read_change(**change) for change in changes),
}


def _read(name: str, annotation: str, value: Any) -> Any:
    if annotation == "Statement":
        return words.read(name, value)
    return READERS[name](value) if name in READERS else value


def _named(name: str, data: Any) -> tuple[tuple[str, str], ...]:
    check(name, data, (lambda found: isinstance(found, dict), "texts by name"))
    found = tuple((key, _said(name, said)) for key, said in data.items())
    check(name, data, (lambda _: all(said is not None for _, said in found), "texts by name"))
    return tuple((key, said) for key, said in found if said is not None)


def _warnings(data: Any) -> tuple[str, ...]:
    if not isinstance(data, list | tuple) or not all(isinstance(said, str | dict) for said in data):
        return read_texts("warnings", data)  # refuses it
    return tuple(said for said in (_said("warnings", one) for one in data) if said is not None)


def _moderate(value: Any) -> Any:
    check("result", value, (is_moderate, "a number whose square is a double, or null"))
    return value


def _said(name: str, data: Any) -> str | None:
    """A text, or a code with values where the field has some; None for anything else."""
    if isinstance(data, dict) and name in words.WORDS:
        found = words.read(name, data)
        if found.code == words.SAID:  # those are written as texts
            raise DataError(f"on its card {name} must hold texts and codes. Take a fresh copy of it.")
        return found
    return data if isinstance(data, str) else None

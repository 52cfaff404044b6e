"""Come here for the tables of a ledger as one transaction sees them; the same words for every database."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Any

from dpfda.errors import LedgerDamaged
from dpfda.privacy.ledger.events import ANCHOR, COLUMNS, OUTPUT, SCHEMA, Event, event_of, first_link

Rows = Callable[[str, tuple[Any, ...]], list[tuple[Any, ...]]]
ALL = ", ".join(COLUMNS)
APPEND = f"INSERT INTO dpfda_events ({ALL}) VALUES ({', '.join('?' * len(COLUMNS))})"


class Book:
    """What stands in a ledger, inside one transaction."""

    def __init__(self, rows: Rows, name: str) -> None:
        self._rows = rows
        self.name = name  # of the ledger, for messages
        found = rows("SELECT id, version FROM dpfda_ledger", ())
        if len(found) != 1 or found[0][1] != SCHEMA:
            raise LedgerDamaged(
                f"The ledger {name} is of schema {found[0][1] if found else 'none'}, and this version of dpfda reads "
                f"schema {SCHEMA}. Use the version that made it, or a fresh copy of it."
            )
        self.id = str(found[0][0])

    def head(self) -> tuple[int, bytes]:
        """The number and the hash of the newest event."""
        found = self._rows("SELECT number, hash FROM dpfda_events ORDER BY number DESC LIMIT 1", ())
        return (int(found[0][0]), bytes(found[0][1])) if found else (0, first_link(self.id))

    def append(self, kind: str, **columns: Any) -> Event:
        """Add an event to the chain; the guards of the database look at it once more."""
        number, link = self.head()
        if columns.get("dataset") == 0:
            columns["dataset"] = number + 1  # a data set is named by the event that creates it
        at = time.time_ns() // 1_000_000
        event = Event(number=number + 1, previous=link, kind=kind, at=at, **columns).sealed()
        self._rows(APPEND, event.row())
        return event

    def keep(self, charge: Event, output: bytes) -> Event:
        """Add what was drawn, and its digest to the chain."""
        digest = hashlib.sha256(output).digest()
        event = self.append(OUTPUT, dataset=charge.dataset, charged=charge.number, digest=digest)
        self._rows("INSERT INTO dpfda_outputs (charged, output) VALUES (?, ?)", (charge.number, output))
        return event

    def event(self, number: int) -> Event | None:
        return self._one("number = ?", (number,))

    def charge_under(self, key: str) -> Event | None:
        return self._one("key = ?", (key,))

    def fate_of(self, charge: Event) -> Event | None:
        """The output or the burn of a charge; None while it is open."""
        return self._one("charged = ?", (charge.number,))

    def output_of(self, charge: Event) -> bytes | None:
        found = self._rows("SELECT output FROM dpfda_outputs WHERE charged = ?", (charge.number,))
        return bytes(found[0][0]) if found else None

    def outputs(self) -> dict[int, bytes]:
        """The digests of all outputs, by the number of their charge."""
        numbers = [row[0] for row in self._rows("SELECT charged FROM dpfda_outputs", ())]
        text = "SELECT output FROM dpfda_outputs WHERE charged = ?"
        return {number: hashlib.sha256(bytes(self._rows(text, (number,))[0][0])).digest() for number in numbers}

    def named(self, name: str) -> Event | None:
        """The event that created the data set of this name, or of which this is a copy."""
        found = self._one("name = ?", (name,))
        return found if found is None or found.dataset == found.number else self.event(found.dataset or 0)

    def newest(self, dataset: int) -> Event:
        """The event that holds the totals of a data set: its newest charge, or its creation."""
        found = self._one("dataset = ? AND total IS NOT NULL ORDER BY number DESC LIMIT 1", (dataset,))
        if found is None:
            raise LedgerDamaged(f"The ledger {self.name} has lost the creation of its data set number {dataset}.")
        return found

    def frozen(self, dataset: int) -> bool:
        return self._one("dataset = ? AND kind = 'freeze'", (dataset,)) is not None

    def anchored(self) -> bool:
        return self._one(f"kind = '{ANCHOR}' LIMIT 1", ()) is not None

    def has_charges(self) -> bool:
        return bool(self._rows("SELECT 1 FROM dpfda_events WHERE key IS NOT NULL LIMIT 1", ()))

    def events(self, dataset: int | None = None, *, charges: bool = False) -> list[Event]:
        """All events in their order, or those of one data set, or its charges alone."""
        where = "" if dataset is None else "WHERE dataset = ?" + (" AND kind = 'charge'" if charges else "")
        found = self._rows(
            f"SELECT {ALL} FROM dpfda_events {where} ORDER BY number", () if dataset is None else (dataset,)
        )
        return [event_of(row) for row in found]

    def _one(self, where: str, values: tuple[Any, ...]) -> Event | None:
        found = self._rows(f"SELECT {ALL} FROM dpfda_events WHERE {where}", values)
        return event_of(found[0]) if found else None

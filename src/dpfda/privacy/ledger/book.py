"""Come here for the tables of a ledger as one transaction sees them; the same words for every database."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Any

from dpfda.errors import LedgerDamaged
from dpfda.privacy.ledger.events import ANCHOR, BURN, COLUMNS, FREEZE, OUTPUT, SCHEMA, Event, event_of, first_link
from dpfda.privacy.ledger.guards import STATES

Rows = Callable[[str, tuple[Any, ...]], list[tuple[Any, ...]]]
ALL = ", ".join(COLUMNS)
APPEND = f"INSERT INTO dpfda_events ({ALL}) VALUES ({', '.join('?' * len(COLUMNS))})"


# The ledger's identifier and version, the entry since which it is anchored, and the head of its chain.
COVER = (
    f"SELECT id, version, (SELECT max(number) FROM dpfda_events WHERE dataset IS NULL AND {STATES}), "
    "(SELECT max(number) FROM dpfda_events), (SELECT hash FROM dpfda_events ORDER BY number DESC LIMIT 1) "
    "FROM dpfda_ledger"
)


class Book:
    """What stands in a ledger, inside one transaction."""

    def __init__(self, cover: list[tuple[Any, ...]], rows: Rows, name: str) -> None:
        self._rows = rows
        self.name = name  # of the ledger, for messages
        if len(cover) != 1 or cover[0][1] != SCHEMA:
            raise LedgerDamaged(
                f"The ledger {name} is of schema {cover[0][1] if cover else 'none'}, and this version of dpfda reads "
                f"schema {SCHEMA}. Use the version that made it, or a fresh copy of it."
            )
        self.id = str(cover[0][0])
        # The number of the event that began its anchor, the newest of them; None if it never had one.
        self.anchored = None if cover[0][2] is None else int(cover[0][2])
        # The number and the hash of the newest event.
        self.head = (0, first_link(self.id)) if cover[0][3] is None else (int(cover[0][3]), bytes(cover[0][4]))

    def append(self, kind: str, **columns: Any) -> Event:
        """Add an event to the chain; the guards of the database look at it once more."""
        number, link = self.head
        if columns.get("dataset") == 0:
            columns["dataset"] = number + 1  # a data set is named by the event that creates it
        at = columns.pop("at", time.time_ns() // 1_000_000)
        event = Event(number=number + 1, previous=link, kind=kind, at=at, **columns).sealed()
        self._rows(APPEND, event.row())
        self.head = (event.number, event.hash)
        self.anchored = event.number if kind == ANCHOR else self.anchored
        return event

    def keep(self, charge: Event, output: bytes) -> Event:
        """Add what was drawn, and its digest to the chain; the time is that of the charge.

        How long a draw took may depend on the records, and nothing here may.
        """
        digest = hashlib.sha256(output).digest()
        event = self.append(OUTPUT, dataset=charge.dataset, charged=charge.number, digest=digest, at=charge.at)
        self._rows("INSERT INTO dpfda_outputs (charged, output) VALUES (?, ?)", (charge.number, output))
        return event

    def burn(self, charge: Event) -> Event:
        """Add that a draw failed; the time is that of the charge."""
        return self.append(BURN, dataset=charge.dataset, charged=charge.number, at=charge.at)

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

    def names(self) -> dict[str, int]:
        """All names of data sets and copies, in their order, and the numbers of the events that created them."""
        found = self._rows("SELECT name, dataset FROM dpfda_events WHERE name IS NOT NULL ORDER BY number", ())
        return {str(name): int(dataset) for name, dataset in found}

    def state(self, dataset: int) -> tuple[Event, bool]:
        """The event that holds the totals of a data set, its newest charge or its creation; whether it is frozen."""
        found = self._all(f"dataset = ? AND {STATES} ORDER BY number DESC LIMIT 2", (dataset,))
        frozen = bool(found) and found[0].kind == FREEZE
        if len(found) <= frozen:
            raise LedgerDamaged(f"The ledger {self.name} has lost the creation of its data set number {dataset}.")
        return found[frozen], frozen

    def has_charges(self) -> bool:
        return bool(self._rows("SELECT 1 FROM dpfda_events WHERE key IS NOT NULL LIMIT 1", ()))

    def events(self, dataset: int | None = None) -> list[Event]:
        """All events in their order, or those of one data set."""
        if dataset is None:
            return self._all("number > 0 ORDER BY number", ())
        return self._all("dataset = ? ORDER BY number", (dataset,))

    def charges(self, dataset: int) -> list[Event]:
        return self._all(f"dataset = ? AND {STATES} AND kind = 'charge' ORDER BY number", (dataset,))

    def _one(self, where: str, values: tuple[Any, ...]) -> Event | None:
        return next(iter(self._all(where, values)), None)

    def _all(self, where: str, values: tuple[Any, ...]) -> list[Event]:
        return [event_of(row) for row in self._rows(f"SELECT {ALL} FROM dpfda_events WHERE {where}", values)]

"""The entries of a ledger, chained by their hashes, and the transaction that reads and adds them."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, NoReturn

from dpfda.errors import LedgerDamaged

SCHEMA = 1
CREATE, COPY, CHARGE, OUTPUT, BURN, FREEZE, ANCHOR = "create", "copy", "charge", "output", "burn", "freeze", "anchor"
KINDS = (CREATE, COPY, CHARGE, OUTPUT, BURN, FREEZE, ANCHOR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One row of the chain; columns that its kind does not have are None, and nothing in it depends on the data."""

    number: int
    previous: bytes
    kind: str
    at: int  # milliseconds since 1970; of an output or a burn, when it was charged
    dataset: int | None = None  # the number of the event that created it
    name: str | None = None  # create, copy: what people call it
    key: str | None = None  # charge: its idempotency key
    charged: int | None = None  # output, burn: the number of the charge
    digest: bytes | None = None  # charge: of all that was ordered; output: of what was drawn
    what: str | None = None
    unit: str | None = None
    neighbours: str | None = None
    epsilon: float | None = None  # create: the cap; charge: what was ordered
    delta: float | None = None
    losses: str | None = None  # charge: the privacy curves as ordered, for any accountant
    sums: str | None = None  # create, charge: running totals of the data set
    cost: int | None = None  # charge: in units, alone, at the data set's delta
    total: int | None = None  # create, charge: in units, of the data set up to here, at its delta
    cap: int | None = None  # create: in units
    hash: bytes = b""

    def sealed(self) -> Event:
        """The same event with its hash."""
        return _with_hash(self, self.fingerprint())

    def fingerprint(self) -> bytes:
        """SHA-256 over the previous hash and every column, in their order, as JSON: `[name, value]` for each."""
        columns = [[name, _plain(getattr(self, name))] for name in COLUMNS if name != "hash"]
        return hashlib.sha256(json.dumps(columns, separators=(",", ":"), ensure_ascii=True).encode()).digest()

    def row(self) -> tuple[Any, ...]:
        """The columns in the order of the table."""
        return tuple(getattr(self, name) for name in COLUMNS)


COLUMNS = tuple(field.name for field in fields(Event))


def event_of(row: tuple[Any, ...]) -> Event:
    """An event from a row of a database; drivers hand out bytes as several types."""
    values: dict[str, Any] = {
        name: bytes(value) if isinstance(value, memoryview | bytearray) else value
        for name, value in zip(COLUMNS, row, strict=True)
    }
    return Event(**values)


def first_link(ledger: str) -> bytes:
    """What stands for the hash before the first event; it ties the identifier of the ledger into the chain."""
    return hashlib.sha256(f"dpfda-ledger-{SCHEMA} {ledger}".encode()).digest()


def _plain(value: object) -> object:
    """A column as JSON: bytes and doubles in hexadecimal, since languages differ in how they print decimal digits."""
    if isinstance(value, float):
        return value.hex()
    return value.hex() if isinstance(value, bytes) else value


def _with_hash(event: Event, found: bytes) -> Event:
    values = {name: getattr(event, name) for name in COLUMNS}
    return Event(**(values | {"hash": found}))


GONE = "is missing, and was there before. A backup was restored, or a log was cut off"
OTHER = "is not the one that was there before: another copy was put back"


class VerifiedChain:
    """The chain of one ledger as far as this process has read it.

    Whether a key was charged, what was spent, which budget a name has and whether it is frozen are looked up here and
    never through an index of the database: a damaged index page hides rows without a word. Entries are only added, so
    what was found once holds, whatever becomes of the file.
    """

    def __init__(self, ledger: str, name: str) -> None:
        self.ledger = ledger  # its identifier
        self.name = name  # for messages
        self.lock = threading.Lock()
        self.events: list[Event] = []
        self.keys: dict[str, Event] = {}
        self.names: dict[str, Event] = {}
        self.fates: dict[int, Event] = {}  # outputs and burns, by the number of their charge
        self.by_dataset: dict[int | None, list[Event]] = {}  # by the data set; None for anchors

    def link(self, number: int) -> bytes:
        """The hash of an entry; what stands for it before the first one."""
        return self.events[number - 1].hash if number else first_link(self.ledger)

    def grow(self, start: int, rows: Iterable[tuple[Any, ...]]) -> int:
        """Add what a walk through the whole table found, from the entry `start` on that was known before it began.

        Returns the number of the newest entry that it found.
        """
        last = self.learn(max(0, start - 1), self._sorted(rows))
        if last < start:
            self.damaged(start, GONE)
        return last

    def learn(self, last: int, events: Iterable[Event]) -> int:
        """Add the entries after the last one, some of which another thread may have added meanwhile."""
        with self.lock:
            for event in events:
                if event.number != last + 1:
                    self.damaged(last + 1, "is missing")
                if event.number > len(self.events):
                    self._add(event)
                elif event.hash != self.link(event.number):
                    self.damaged(event.number, OTHER)
                last = event.number
        return last

    def _sorted(self, rows: Iterable[tuple[Any, ...]]) -> list[Event]:
        found = [event_of(row) for row in rows]
        if not all(type(event.number) is int for event in found):
            self.damaged(len(self.events) + 1, "has no number")
        return sorted(found, key=lambda event: event.number)

    def _add(self, event: Event) -> None:
        if event.previous != self.link(event.number - 1):
            self.damaged(event.number, "does not carry the hash of the one before")
        if event.fingerprint() != event.hash:
            self.damaged(event.number, "does not have its hash: a column was changed")
        self._index(event)
        self.events.append(event)

    def _index(self, event: Event) -> None:
        if event.key is not None:
            if event.key in self.keys:
                self.damaged(event.number, "has no key of its own")
            self.keys[event.key] = event
        if event.name is not None:
            if event.name in self.names:
                self.damaged(event.number, "has no name of its own")
            self.names[event.name] = event
        if event.charged is not None:
            if event.charged in self.fates:
                self.damaged(event.number, "is a second output of one charge")
            self.fates[event.charged] = event
        self.by_dataset.setdefault(event.dataset, []).append(event)

    def check_outputs(self, kept: Iterable[int]) -> None:
        """Refuse a ledger that lacks an output, or has one that no entry speaks of."""
        entered = {number: fate for number, fate in self.fates.items() if fate.kind == OUTPUT}
        found = set(kept)
        for number, fate in entered.items():
            if number not in found:
                self.damaged(fate.number, "has an output that is not the one that was entered")
        more = found - set(entered)
        if more:
            self.damaged(min(more), "has an output that was not entered")

    def damaged(self, number: int, what: str) -> NoReturn:
        """Raise the error that names an entry and what is wrong with it."""
        raise damage(self.name, number, what)


def damage(ledger: str, number: int, what: str) -> LedgerDamaged:
    """The error for an entry that does not fit."""
    return LedgerDamaged(f"The ledger {ledger} is damaged: entry {number} {what}. Put the newest whole copy back.")


Rows = Callable[[str, tuple[Any, ...]], list[tuple[Any, ...]]]
ALL = ", ".join(COLUMNS)
APPEND = f"INSERT INTO dpfda_events ({ALL}) VALUES ({', '.join('?' * len(COLUMNS))})"
COVER = "SELECT id, version FROM dpfda_ledger"
OUTPUTS = "SELECT charged FROM dpfda_outputs"


def scan(table: str) -> str:
    """All entries from a number on, by a walk through the whole table: the sign before the column rules out an index.

    A damaged index would hide rows; what a walk lacks shows in the chain.
    """
    return f"SELECT {ALL} FROM {table} WHERE +number >= ?"


class Transaction:
    """A ledger inside one transaction: the verified entries that it can see, and those that it adds itself.

    Another thread may read further meanwhile, so only the first `size` entries of the verified chain count here.
    """

    def __init__(self, verified: VerifiedChain, size: int, rows: Rows) -> None:
        self._rows = rows
        self._verified = verified
        self._size = size  # of the chain as this transaction sees it: another thread may have read on
        self._added: list[Event] = []
        self.name = verified.name  # of the ledger, for messages
        self.id = verified.ledger
        anchors = self._all(verified.by_dataset.get(None, []))
        # The number of the event that began its anchor, the newest of them; None if it never had one.
        self.anchored = anchors[-1].number if anchors else None
        # The number and the hash of the newest event.
        self.head = (size, verified.link(size))

    @property
    def grown(self) -> bool:
        """Whether this transaction has added something."""
        return bool(self._added)

    def compare(self, known: VerifiedChain | None) -> None:
        """Refuse a ledger that lacks what this process knew of it before."""
        if known is not None and known.ledger == self.id:
            number = len(known.events)
            if number > self._size:
                known.damaged(number, GONE)
            if self._verified.link(number) != known.link(number):
                known.damaged(number, OTHER)

    def settle(self) -> None:
        """After the commit: count the entries that were added as verified."""
        self._verified.learn(self._size, self._added)

    def append(self, kind: str, **columns: Any) -> Event:
        """Add an event to the chain; the guards of the database look at it once more."""
        number, link = self.head
        if columns.get("dataset") == 0:
            columns["dataset"] = number + 1  # a data set is named by the event that creates it
        at = columns.pop("at", time.time_ns() // 1_000_000)
        event = Event(number=number + 1, previous=link, kind=kind, at=at, **columns).sealed()
        self._rows(APPEND, event.row())
        self._added.append(event)
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
        """The event of this number; None if there is none."""
        return next((event for event in self._among([number]) if event.number == number), None)

    def charge_under(self, key: str) -> Event | None:
        """The charge that was made under an idempotency key; None if there is none."""
        return self._one(self._verified.keys.get(key), lambda event: event.key == key)

    def fate_of(self, charge: Event) -> Event | None:
        """The output or the burn of a charge; None while it is open."""
        return self._one(self._verified.fates.get(charge.number), lambda event: event.charged == charge.number)

    def stored(self, charge: Event, fate: Event) -> bytes:
        """What was drawn on a charge, if it is still what the chain says."""
        found = self._rows("SELECT output FROM dpfda_outputs WHERE charged = ?", (charge.number,))
        output = bytes(found[0][0]) if found and isinstance(found[0][0], bytes | memoryview) else None
        if output is None or hashlib.sha256(output).digest() != fate.digest:
            raise LedgerDamaged(
                f"The output of entry {charge.number} of the ledger {self.name} is not the one that was entered. Put "
                "the newest whole copy back."
            )
        return output

    def outputs(self) -> dict[int, bytes]:
        """The digests of all outputs, by the number of their charge."""
        numbers = [row[0] for row in self._rows(OUTPUTS, ())]
        text = "SELECT output FROM dpfda_outputs WHERE charged = ?"
        return {
            number: hashlib.sha256(b"".join(bytes(row[0]) for row in self._rows(text, (number,)))).digest()
            for number in numbers
        }

    def named(self, name: str) -> Event | None:
        """The event that created the data set of this name, or of which this is a copy."""
        found = self._one(self._verified.names.get(name), lambda event: event.name == name)
        return found if found is None or found.dataset == found.number else self.event(found.dataset or 0)

    def names(self) -> dict[str, int]:
        """All names of data sets and copies, in their order, and the numbers of the events that created them."""
        return {event.name: event.dataset or 0 for event in self.events() if event.name is not None}

    def state(self, dataset: int) -> tuple[Event, bool]:
        """The event that holds the totals of a data set, its newest charge or its creation; whether it is frozen."""
        own = self.events(dataset)
        totals = [event for event in own if event.kind in (CREATE, CHARGE)]
        if not totals:
            raise LedgerDamaged(f"The ledger {self.name} has lost the creation of its data set number {dataset}.")
        return totals[-1], any(event.kind == FREEZE for event in own)

    def has_charges(self) -> bool:
        """Whether anything was ever charged to this ledger."""
        return any(event.key is not None for event in self.events())

    def events(self, dataset: int | None = None) -> list[Event]:
        """All events in their order, or those of one data set."""
        if dataset is None:
            return self._verified.events[: self._size] + self._added
        return self._all(self._verified.by_dataset.get(dataset, [])) + [e for e in self._added if e.dataset == dataset]

    def charges(self, dataset: int) -> list[Event]:
        """The charges to one data set, oldest first."""
        return [event for event in self.events(dataset) if event.kind == CHARGE]

    def _among(self, numbers: list[int]) -> list[Event]:
        return [self._verified.events[n - 1] for n in numbers if 1 <= n <= self._size] + self._added

    def _one(self, known: Event | None, fits: Callable[[Event], bool]) -> Event | None:
        """What is known, if this transaction can see it; else what it has added itself."""
        if known is not None and known.number <= self._size:
            return known
        return next(filter(fits, self._added), None)

    def _all(self, known: list[Event]) -> list[Event]:
        return [event for event in known if event.number <= self._size]

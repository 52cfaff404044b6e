"""The rows of a ledger: what each kind of event holds, and the hash that chains it to the one before."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from typing import Any

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
        return tuple(getattr(self, name) for name in COLUMNS)


COLUMNS = tuple(field.name for field in fields(Event))


def event_of(row: tuple[Any, ...]) -> Event:
    """An event from a row of a database, which may hand out its bytes in another dress."""
    values: dict[str, Any] = {
        name: bytes(value) if isinstance(value, memoryview | bytearray) else value
        for name, value in zip(COLUMNS, row, strict=True)
    }
    return Event(**values)


def first_link(ledger: str) -> bytes:
    """What stands for the hash before the first event: so the ledger's identifier is in the chain too."""
    return hashlib.sha256(f"dpfda-ledger-{SCHEMA} {ledger}".encode()).digest()


def _plain(value: object) -> object:
    """A column as JSON: doubles in hexadecimal, since their decimal digits are a matter of taste; bytes as well."""
    if isinstance(value, float):
        return value.hex()
    return value.hex() if isinstance(value, bytes) else value


def _with_hash(event: Event, found: bytes) -> Event:
    values = {name: getattr(event, name) for name in COLUMNS}
    return Event(**(values | {"hash": found}))

"""The ledger of a command: its options, the key of a request, and what a dry run asks of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

import click

from dpfda.cli.notices import note_charge, notice
from dpfda.errors import UsageError

if TYPE_CHECKING:
    from dpfda.ledger import Charge, Quote, Receipt

LEDGER = [
    click.option(
        "--ledger",
        metavar="URL",
        help="Where the budget of --dataset is kept, e.g. sqlite:///budget.db; made by dpfda budget create.",
    ),
    click.option(
        "--anchor",
        type=click.Path(path_type=Path),
        help="File outside of the ledger that remembers its newest entry: an old copy put back is noticed.",
    ),
    click.option(
        "--key",
        help="Name of this request: with the same key the same command gives the same output again, free.  [default: "
        "a random one, which is printed]",
    ),
]


class LedgerOptions(Protocol):
    """Where the options of a ledger stand."""

    @property
    def ledger(self) -> str | None: ...
    @property
    def anchor(self) -> Path | None: ...
    @property
    def key(self) -> str | None: ...
    @property
    def dry_run(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class LedgerChoice:
    """The options of a ledger, for commands that have no other output."""

    ledger: str | None
    anchor: Path | None
    key: str | None
    dry_run: bool


@dataclass(frozen=True, slots=True)
class LedgerQuote:
    """What a ledger says to a charge that was not entered."""

    charge: Charge
    quote: Quote
    known: bool  # whether the key was charged before


@dataclass(slots=True)
class CommandLedger:
    """A ledger as one command sees it: all under one key."""

    ledger: Any
    key: str
    receipt: Receipt | None = None
    told: bool = False  # whether the user chose the key

    def charge(self, entry: Charge) -> Receipt:
        note_charge(self.key, "If it was charged already, the same command with")
        self.receipt = self.ledger.under(self.key).charge(entry)
        note_charge(self.key, "It was charged: the same command with")
        if not self.told:
            # Before anything is read or written: whoever loses the output can have it again.
            notice(
                f"Key of this request: --key {self.key} gives the output of this command again, free, once it has one."
            )
        return self.receipt

    def asked(self, price: Charge) -> LedgerQuote:
        """What the ledger would say to a charge, for a dry run; what it would refuse outright is refused here."""
        entry, entries = replace(price, key=self.key), self.ledger.history()
        return LedgerQuote(entry, self.ledger.quote(entry), any(each.key == entry.key for each in entries))

    def store(self, receipt: Receipt, output: bytes) -> bytes:
        return bytes(self.ledger.store(receipt, output))

    def burn(self, receipt: Receipt) -> None:
        self.ledger.burn(receipt)

    def __deepcopy__(self, memo: object) -> CommandLedger:
        return self  # a clone of an estimator charges the same ledger


def check_books(order: LedgerOptions, paths: list[Path]) -> None:
    """Nothing is written over the ledger or its anchor: what was spent would be forgotten."""
    from dpfda.cli.targets import same_file
    from dpfda.ledger.names import SQLITE, sqlite_path

    books = [] if order.anchor is None else [order.anchor]
    if order.ledger is not None and order.ledger.startswith(SQLITE):
        file = sqlite_path(order.ledger).resolve()
        # The newest charges may stand in the log beside it.
        books += [file, *(file.with_name(file.name + end) for end in ("-wal", "-shm", "-journal", "-head"))]
    if any(same_file(path, book) for path in paths for book in books):
        raise UsageError(
            "An output cannot be written over the ledger or its anchor. Name another. Nothing was charged."
        )


def ledger_of(order: LedgerOptions) -> CommandLedger | None:
    """The ledger of a command; None where nothing is to be charged and nothing asked."""
    for name in ("anchor", "key"):
        if getattr(order, name) is not None and order.ledger is None:
            raise UsageError(f"--{name} goes with --ledger, e.g. --ledger sqlite:///budget.db. Nothing was charged.")
    if order.key is not None and not order.key.strip():
        raise UsageError("--key is a word of your own for this request, e.g. --key mean-2026. Nothing was charged.")
    if order.ledger is None:
        return None
    from dpfda.cli.budget_words import opened

    return CommandLedger(
        opened(order.ledger, order.anchor),
        order.key or uuid4().hex,
        told=order.key is not None,
    )

"""The durable ledger: one address, one budget a data set, nothing spent twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

from dpfda.arrays import check_flag
from dpfda.errors import DataError, ReleaseFailed, UsageError
from dpfda.ledger import chain
from dpfda.ledger.accounting import Tight, exceeded, quote_of, tight_total
from dpfda.ledger.anchor import Anchor, Mark
from dpfda.ledger.book import Book
from dpfda.ledger.charging import begin_anchor, charge_of, check_new, enter
from dpfda.ledger.contract import AnyLedger, Charge, KeyedLedger, Receipt
from dpfda.ledger.database import PATIENCE, Database
from dpfda.ledger.events import ANCHOR, BURN, COPY, CREATE, FREEZE
from dpfda.ledger.names import POSTGRES, SQLITE, check_name, shown_of, sqlite_path
from dpfda.ledger.reports import Reports
from dpfda.ledger.rules import (
    ADAPTIVE,
    CountedCharge,
    account_of,
    cap_of,
    check_fits,
    check_relation,
    order_of,
    sums_row,
)
from dpfda.ledger.views import Quote
from dpfda.messages import Words, arg
from dpfda.privacy.totals import Sums

T = TypeVar("T")


class Ledger(Reports):
    """Budgets of data sets in a database, which no process, thread, crash or copy of this object can overspend.

    `url` is `sqlite:///ledger.db`, `sqlite:////srv/ledger.db` or `postgresql://user@host/name`. `anchor` names a file
    outside the database that remembers how far it had come, so that a restored backup is noticed. Nothing is opened
    before it is used, and only `create` makes a new ledger. Copies and pickles are the same ledger by its address.
    """

    def __init__(self, url: str, *, anchor: str | Path | None = None) -> None:
        self._database, self._url = _database(url, keeps=anchor is None)
        self._anchor = None if anchor is None else Anchor(Path(anchor).absolute())

    def create(
        self,
        dataset: str,
        *,
        epsilon: float,
        delta: float,
        unit: str | None = None,
        neighbours: str = "replace-one",
        copies: Sequence[str] = (),
        adaptive: bool = False,
    ) -> None:
        """Make a budget for a data set and its copies; the ledger too, where there is none.

        Composition is tightest for prices that do not depend on what earlier releases gave. With `adaptive` they may:
        charges are then granted by filters, which hold for any choice of prices.
        """
        if not isinstance(copies, list | tuple):
            raise UsageError(parameter="copies", value=copies, rule="are a list of names")
        names = [check_name(name) for name in (dataset, *copies)]
        if len(set(names)) < len(names):
            raise UsageError(f"A data set and its copies have a name each, got {', '.join(map(repr, names))}.")
        check_flag(adaptive, "adaptive")
        budget, cap = cap_of(epsilon, delta)
        check_relation(neighbours)
        if unit is not None:
            check_name(unit, "The name of a unit")

        def act(book: Book) -> None:
            for name in names:
                check_new(book, name)
            created = book.append(
                CREATE,
                dataset=0,
                name=dataset,
                unit=unit,
                neighbours=neighbours,
                what=ADAPTIVE if adaptive else None,
                epsilon=budget.epsilon,
                delta=budget.delta,
                sums=sums_row(Sums.nothing()),
                total=0,
                cap=cap,
            )
            for copy in copies:
                book.append(COPY, dataset=created.number, name=copy)

        self._database.make()
        # Not again: it would find its own name taken.
        self._write(act, again=False)

    def add_copy(self, dataset: str, name: str) -> None:
        """Let another name lead to the same budget: the data are the same."""
        check_name(name)

        def act(book: Book) -> None:
            account = account_of(book, dataset)
            known = book.named(name)
            if known is not None and known.number == account.created.number:
                return
            check_new(book, name, account.created.number)
            book.append(COPY, dataset=account.created.number, name=name)

        self._write(act)

    def freeze(self, dataset: str) -> None:
        """End a budget: nothing more is charged to it, for ever; what was stored can still be fetched by its key."""

        def act(book: Book) -> None:
            account = account_of(book, dataset)
            if not account.frozen:
                book.append(FREEZE, dataset=account.created.number)

        self._write(act)

    def charge(self, entry: Charge) -> Receipt:
        """Enter a charge, durably, or raise and enter nothing; the same key and request give the same receipt, free."""
        order = order_of(entry)
        until = time.monotonic() + PATIENCE
        tight: Tight | None = None
        while True:
            receipt = self._write(partial(enter, order, tight), more=True)
            if isinstance(receipt, Receipt):
                return receipt
            if tight is not None and tight.total > tight.account.cap:
                raise exceeded(order, tight)
            if time.monotonic() > until:
                raise DataError(
                    f"Other charges to {entry.dataset!r} were faster for {PATIENCE:g} seconds, and each changes what "
                    "is left. Nothing was charged; try again."
                )
            # The slow accountant works while others may charge; what it finds holds for the entries that it saw.
            tight = self._tight(order)

    def quote(self, entry: Charge) -> Quote:
        """What a charge would cost and leave; nothing is entered."""
        order = order_of(entry)
        with self._reading() as book:
            check_fits(account_of(book, entry.dataset), entry)
        return quote_of(order, self._tight(order))

    def store(self, receipt: Receipt, output: bytes) -> bytes:
        """Keep what was drawn on a charge, durably; what stands is returned, since another process may be first."""

        def act(book: Book) -> bytes:
            charge = charge_of(book, receipt)
            fate = book.fate_of(charge)
            if fate is not None and fate.kind == BURN:
                raise ReleaseFailed
            if fate is None:
                book.keep(charge, bytes(output))
                return bytes(output)
            return chain.stored(book, charge, fate)

        return self._write(act, more=True)

    def burn(self, receipt: Receipt) -> None:
        """Say that the draw failed: the charge stays, and its key gives nothing ever again."""

        def act(book: Book) -> None:
            charge = charge_of(book, receipt)
            if book.fate_of(charge) is None:
                book.burn(charge)

        self._write(act, more=True)

    def close(self) -> None:
        """Let go of the database; the next use opens it again. Nothing is lost without it."""
        self._database.close()

    def under(self, key: str) -> KeyedLedger:
        """A view of this ledger that charges under one key: the same request again costs nothing."""
        return KeyedLedger(self, key)

    def start_anchor(self, *, former: str | Path | None = None, lost: bool = False) -> None:
        """Anchor a ledger that has entries already, from here on. It is entered.

        A ledger that has an anchor needs it for that: `former` gets a last line, and is refused ever after, also with
        an older copy of the ledger. `lost` says that there is none any more, and stands in the history.
        """
        check_flag(lost, "lost")
        if self._anchor is None:
            raise UsageError(
                "Name the file first: ",
                Words("Ledger(url, anchor='ledger.anchor').start_anchor()", "dpfda budget anchor URL --anchor FILE"),
                ".",
                parameter="anchor",
            )
        if self._anchor.seen().mark is not None:
            raise UsageError(f"The anchor {str(self._anchor.path)!r} is there already. Name a new file.")
        if former is not None and lost:
            raise UsageError(
                "A former anchor is there or it is lost: give ",
                Words("former=...", "--former FILE"),
                " or ",
                arg("lost", True),
                ", not both.",
            )
        old = None if former is None else Anchor(Path(former).absolute())
        mark = self._database.write(partial(begin_anchor, old, lost))
        # In this order: if it ends in between, no anchor is left, rather than two.
        if old is not None:
            old.add(replace(mark, closed=True))
        self._anchor.add(mark)

    def _tight(self, order: CountedCharge) -> Tight:
        with self._reading() as book:
            account = account_of(book, order.charge.dataset)
            history = book.charges(account.created.number)
        return tight_total(account, history, order)

    def _write(self, act: Callable[[Book], T], *, again: bool = True, more: bool = False) -> T:
        """Something in a transaction, between a look at the anchor and a new line in it."""

        def anchored(book: Book) -> tuple[T, Mark | None]:
            self._check_anchor(book)
            done = act(book)
            number, digest = book.head
            return done, Mark(book.id, number, digest) if number else None

        done, mark = self._database.write(anchored, again=again, more=more)
        if self._anchor is not None and mark is not None and not self._anchor.add(mark):
            # Somebody was faster, and noted a later entry: of this ledger, or of another branch of it.
            with self._reading():
                pass
        return done

    def _check_anchor(self, book: Book) -> None:
        """A ledger that was anchored once is written with its anchor only: else a restored one would go unnoticed."""
        if self._anchor is None:
            if book.anchored is not None:
                raise UsageError(
                    f"The ledger {book.name} has an anchor, and is only written with it: open it with ",
                    Words("anchor='...'", "--anchor FILE"),
                    ", the file that was named when it was made. Nothing was entered.",
                )
            return
        seen = self._anchor.seen()
        if book.head[0] == 0 and seen.mark is None:
            book.append(ANCHOR)  # a new ledger: anchored from its first entry on
        else:
            self._anchor.check(book, seen)

    def __repr__(self) -> str:
        anchor = "" if self._anchor is None else f", anchor={str(self._anchor.path)!r}"
        return f"Ledger({self._database.name!r}{anchor})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ledger):
            return NotImplemented
        return (self._url, self._anchor) == (other._url, other._anchor)

    def __hash__(self) -> int:
        return hash((self._url, self._anchor))

    def __reduce__(self) -> tuple[object, ...]:
        return _opened, (self._url, None if self._anchor is None else str(self._anchor.path))

    def __deepcopy__(self, memo: object) -> Ledger:
        return self


def _opened(url: str, anchor: str | None) -> Ledger:
    return Ledger(url, anchor=anchor)


def _database(url: str, *, keeps: bool) -> tuple[Database, str]:
    """The database that an address names, and the address as any process would understand it."""
    if isinstance(url, str) and url.startswith(SQLITE):
        from dpfda.ledger.sqlite import SqliteDatabase

        path = sqlite_path(url)
        return SqliteDatabase(path, keeps=keeps), f"{SQLITE}{path}"
    if isinstance(url, str) and url.startswith(POSTGRES):
        from dpfda.ledger.postgres import PostgresDatabase

        return PostgresDatabase(url), url
    raise UsageError(f"A ledger is named 'sqlite:///ledger.db' or 'postgresql://user@host/name', got {shown_of(url)}.")


def as_ledger(thing: object) -> AnyLedger | None:
    """The ledger that was given, or the one at this address; what cannot keep an output would lose it, and is refused.

    >>> as_ledger("sqlite:///budget.db") == Ledger("sqlite:///budget.db")
    True
    """
    if thing is None:
        return None
    if isinstance(thing, str):
        return Ledger(thing)
    if isinstance(thing, type) or not all(callable(getattr(thing, name, None)) for name in ("charge", "store", "burn")):
        raise UsageError(
            parameter="ledger",
            rule=(
                "must be None, an address such as 'sqlite:///budget.db' or a ledger such as "
                f"dpfda.Ledger('sqlite:///budget.db'), got a {type(thing).__name__}"
            ),
            fix="Nothing was charged.",
        )
    return cast(AnyLedger, thing)

"""The durable ledger: one address, one budget for each data set, nothing spent twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

from dpfda.arrays import check_flag
from dpfda.errors import DataError, ReleaseFailed, UsageError
from dpfda.ledger.accounting import (
    ADAPTIVE,
    CountedCharge,
    Tight,
    account_of,
    cap_of,
    check_fits,
    check_relation,
    count,
    exceeded,
    is_nominal,
    losses_text,
    order_of,
    quote_of,
    spent_of,
    sums_row,
    tight_total,
)
from dpfda.ledger.anchor import Anchor, Mark
from dpfda.ledger.chain import ANCHOR, BURN, CHARGE, COPY, CREATE, FREEZE, OUTPUT, Event, Transaction
from dpfda.ledger.contract import AnyLedger, Charge, KeyedLedger, Quote, Receipt
from dpfda.ledger.database import PATIENCE, Database
from dpfda.ledger.names import POSTGRES, SQLITE, check_distinct, check_name, shown_of, sqlite_path
from dpfda.ledger.reports import Reports
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
        """Create a budget for a data set and its copies; the ledger too, where there is none.

        Composition is tightest for prices that do not depend on the results of earlier releases. With `adaptive` they
        may: charges are then granted by privacy filters, which hold for any choice of prices.
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

        def act(transaction: Transaction) -> None:
            for name in names:
                check_new(transaction, name)
            created = transaction.append(
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
                transaction.append(COPY, dataset=created.number, name=copy)

        self._database.make()
        # Not again: it would find its own name taken.
        self._write(act, again=False)

    def add_copy(self, dataset: str, name: str) -> None:
        """Give the budget of a data set another name, for a copy of the same data."""
        check_name(name)

        def act(transaction: Transaction) -> None:
            account = account_of(transaction, dataset)
            known = transaction.named(name)
            if known is not None and known.number == account.created.number:
                return
            check_new(transaction, name, account.created.number)
            transaction.append(COPY, dataset=account.created.number, name=name)

        self._write(act)

    def freeze(self, dataset: str) -> None:
        """End a budget: nothing more is charged to it, ever; stored releases can still be fetched by their keys."""

        def act(transaction: Transaction) -> None:
            account = account_of(transaction, dataset)
            if not account.frozen:
                transaction.append(FREEZE, dataset=account.created.number)

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
        """What a charge would cost and leave, refused where the charge would be; nothing is entered."""
        order = order_of(entry)
        with self._reading() as transaction:
            self._check_anchor_named(transaction)
            check_fits(account_of(transaction, entry.dataset), entry)
        return quote_of(order, self._tight(order))

    def store(self, receipt: Receipt, output: bytes) -> bytes:
        """Keep what was drawn on a charge, durably; returns what is kept, since another process may be first."""

        def act(transaction: Transaction) -> bytes:
            charge = charge_of(transaction, receipt)
            fate = transaction.fate_of(charge)
            if fate is not None and fate.kind == BURN:
                raise ReleaseFailed
            if fate is None:
                transaction.keep(charge, bytes(output))
                return bytes(output)
            return transaction.stored(charge, fate)

        return self._write(act, more=True)

    def burn(self, receipt: Receipt) -> None:
        """Note that the draw failed: the charge stays, and its key gives nothing any more."""

        def act(transaction: Transaction) -> None:
            charge = charge_of(transaction, receipt)
            if transaction.fate_of(charge) is None:
                transaction.burn(charge)

        self._write(act, more=True)

    def close(self) -> None:
        """Close the connections; the next use opens new ones. Nothing is lost if it is not called."""
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
        with self._reading() as transaction:
            account = account_of(transaction, order.charge.dataset)
            history = transaction.charges(account.created.number)
        return tight_total(account, history, order)

    def _write(self, act: Callable[[Transaction], T], *, again: bool = True, more: bool = False) -> T:
        """Something in a transaction, between a look at the anchor and a new line in it."""

        def anchored(transaction: Transaction) -> tuple[T, Mark | None]:
            self._check_anchor(transaction)
            done = act(transaction)
            number, digest = transaction.head
            return done, Mark(transaction.id, number, digest) if number else None

        done, mark = self._database.write(anchored, again=again, more=more)
        if self._anchor is not None and mark is not None and not self._anchor.add(mark):
            # Somebody was faster, and noted a later entry: of this ledger, or of another branch of it.
            with self._reading():
                pass
        return done

    def _check_anchor(self, transaction: Transaction) -> None:
        """Refuse a ledger that is not the one which its anchor remembers; a new ledger is anchored here."""
        self._check_anchor_named(transaction)
        if self._anchor is None:
            return
        seen = self._anchor.seen()
        if transaction.head[0] == 0 and seen.mark is None:
            transaction.append(ANCHOR)  # a new ledger: anchored from its first entry on
        else:
            self._anchor.check(transaction, seen)

    def _check_anchor_named(self, transaction: Transaction) -> None:
        """A ledger that was anchored once is charged with its anchor only: else a restored one would go unnoticed."""
        if self._anchor is None and transaction.anchored is not None:
            raise UsageError(
                f"The ledger {transaction.name} has an anchor, and is only written with it: open it with ",
                Words("anchor='...'", "--anchor FILE"),
                ", the file that was named when it was made. Nothing was entered.",
                parameter="anchor",
            )

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
    """The ledger itself, or the one at this address; None stays None.

    What cannot keep outputs is refused, since a release that was paid for could be lost.

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


LOST = "the anchor before was said to be lost"  # what an entry says


def enter(order: CountedCharge, tight: Tight | None, transaction: Transaction) -> Receipt | None:
    """Enter a charge in its transaction and return its receipt.

    A key that was charged before gives the same receipt again. None means that the quick bounds do not suffice: the
    tight accountant has to decide, outside of the transaction.
    """
    entry = order.charge
    account = account_of(transaction, entry.dataset)
    known = transaction.charge_under(entry.key)
    if known is not None:
        return _again(transaction, order, known, account.created.number)
    check_fits(account, entry)
    found = count(account, entry.budget, order.losses, order.people(account))
    total, cost = found.total, found.cost
    if tight is not None and tight.account.newest.number == account.newest.number:
        total = tight.total if total is None else min(total, tight.total)
        cost = tight.cost if cost is None else cost
    if total is None or cost is None or total > account.cap:
        return None
    if not account.pure:
        cost = min(cost, total)  # alone it is no more than together with others
    event = transaction.append(
        CHARGE,
        dataset=account.created.number,
        key=entry.key,
        digest=order.digest,
        what=entry.what,
        unit=entry.unit.name,
        neighbours=entry.unit.neighbours,
        epsilon=entry.budget.epsilon,
        delta=entry.budget.delta,
        losses=losses_text(order),
        sums=sums_row(found.sums),
        cost=cost,
        total=total,
    )
    return Receipt(
        entry.dataset,
        entry.key,
        transaction.id,
        event.number,
        event.hash.hex(),
        spent_of(account, total),
        account.budget,
        nominal=account.nominal or entry.nominal,
        adaptive=account.adaptive,
    )


def check_new(transaction: Transaction, name: str, dataset: int | None = None) -> None:
    """Refuse a name for a budget that is taken, or that differs from another one in case alone."""
    if transaction.named(name) is not None:
        raise UsageError(
            f"The ledger {transaction.name} has a budget for {name!r} already, and it is neither raised nor "
            "made again. Nothing was entered."
        )
    check_distinct(name, [known for known, owner in transaction.names().items() if owner != dataset], transaction.name)


def charge_of(transaction: Transaction, receipt: Receipt) -> Event:
    """The event of a charge that a receipt is for."""
    found = transaction.charge_under(receipt.key)
    if found is None or (receipt.ledger, receipt.number, receipt.digest) != (
        transaction.id,
        found.number,
        found.hash.hex(),
    ):
        raise UsageError(
            f"The ledger {transaction.name} has no such charge under the key {receipt.key!r}. Charge first."
        )
    return found


def begin_anchor(former: Anchor | None, lost: bool, transaction: Transaction) -> Mark:
    """Enter that an anchor begins; a former anchor must be named, or said to be lost."""
    if transaction.anchored is None:
        if former is not None or lost:
            raise UsageError(
                f"The ledger {transaction.name} never had an anchor, so none is given up or lost: begin one without ",
                arg("former="),
                " and ",
                arg("lost="),
                ". Nothing was entered.",
            )
    elif former is not None:
        former.check_former(transaction, former.seen())
    elif not lost:
        raise UsageError(
            f"The ledger {transaction.name} has an anchor since entry {transaction.anchored}. "
            "Name it, so that it is closed: ",
            Words("former='...'", "--former FILE"),
            "; or say ",
            arg("lost", True),
            ", if it is gone, which stands in the history. Nothing was entered.",
        )
    event = transaction.append(ANCHOR, what=LOST if lost else None)
    return Mark(transaction.id, event.number, event.hash)


def _again(transaction: Transaction, order: CountedCharge, known: Event, dataset: int) -> Receipt:
    """The receipt of the first call under this key; the same request only."""
    same = order.is_known_by(known.digest)
    former = None if same or known.dataset != dataset else order.earlier()
    if known.dataset != dataset or not (same or (former is not None and former.is_known_by(known.digest))):
        raise UsageError(
            f"The key {order.charge.key!r} stands for another request already. The same key gives the same release "
            "again; for a new one use a new key. Nothing was charged."
        )
    fate = transaction.fate_of(known)
    if fate is not None and fate.kind == BURN:
        raise ReleaseFailed
    account = account_of(transaction, order.charge.dataset)
    output = transaction.stored(known, fate) if fate is not None and fate.kind == OUTPUT else None
    return Receipt(
        order.charge.dataset,
        known.key or "",
        transaction.id,
        known.number,
        known.hash.hex(),
        spent_of(account, known.total or 0),
        account.budget,
        output,
        nominal=any(is_nominal(event) for event in transaction.charges(dataset) if event.number <= known.number),
        earlier=not same,
        adaptive=account.adaptive,
    )

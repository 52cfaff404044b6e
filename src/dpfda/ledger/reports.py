"""The reading half of a ledger: what is left, what was entered, and whether every hash, total and output is right."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NoReturn

from dpfda.arrays import brief, is_whole
from dpfda.errors import DpfdaError, LedgerDamaged, UsageError
from dpfda.ledger.accounting import (
    SUMS,
    Account,
    Lacking,
    Unreadable,
    account_of,
    composed,
    count,
    grouped,
    is_nominal,
    losses_in,
    people_of,
    plain_losses,
    readable,
    sums_in,
    sums_row,
)
from dpfda.ledger.amounts import covers, epsilon_of, units_up
from dpfda.ledger.anchor import Anchor, Seen
from dpfda.ledger.chain import (
    ANCHOR,
    BURN,
    CHARGE,
    COLUMNS,
    COPY,
    CREATE,
    FREEZE,
    OUTPUT,
    SCHEMA,
    Event,
    Transaction,
    damage,
)
from dpfda.ledger.contract import Dataset, Entry, Remaining
from dpfda.ledger.database import Database
from dpfda.privacy.budget import EPSILON_UNITS, Budget
from dpfda.privacy.composition import Statement, compose
from dpfda.privacy.profiles import Profile, StatedProfile
from dpfda.privacy.totals import Sums, filtered_epsilon

FILTER = "privacy filter"


class Reports:
    """The reading half of a ledger."""

    _database: Database
    _anchor: Anchor | None

    @property
    def id(self) -> str:
        """The random public word that names this ledger wherever it is copied to."""
        with self._reading() as transaction:
            return transaction.id

    @property
    def anchored(self) -> int | None:
        """The entry since which this ledger is anchored; None if it never was."""
        with self._reading() as transaction:
            return transaction.anchored

    def spent(self, dataset: str | None = None, *, people: int = 1) -> Statement:
        """What all charges compose to, at the data set's delta, by the best accountant; for groups of people too.

        Where prices are adaptive it is the cap, from the first charge on: a privacy filter proves nothing less. What
        it counts stands beside it as `counter`, and is no guarantee. A ledger of one budget needs no name.
        """
        with self._reading() as transaction:
            account = _account(transaction, dataset)
            charges = transaction.charges(account.created.number)
        return _composed(account, charges, people)

    def remaining(self, dataset: str | None = None, *, people: int = 1) -> Remaining:
        """What is left of the cap at the data set's delta; for `people`, as if the cap were promised to such groups.

        Where prices are adaptive it is what the filter leaves, whose counter is no guarantee. A ledger of one budget
        needs no name.
        """
        with self._reading() as transaction:
            account = _account(transaction, dataset)
            charges = transaction.charges(account.created.number)
        if account.frozen:
            return Remaining(0.0, account.budget.delta, account.nominal, account.adaptive)
        if account.adaptive:
            spent = min(_counted(account, charges, people), account.cap)
        elif account.pure and people == 1:
            spent = account.spent
        else:
            found = _composed(account, charges, people).epsilon
            spent = units_up(found) if math.isfinite(found) else account.cap
        left = epsilon_of(max(0, account.cap - spent))
        return Remaining(left, account.budget.delta, account.nominal, account.adaptive)

    def datasets(self) -> tuple[Dataset, ...]:
        """All budgets, in the order in which they were made."""
        with self._reading() as transaction:
            events = transaction.events()
        return tuple(_dataset(event, events) for event in events if event.kind == CREATE)

    def history(self, dataset: str | None = None) -> tuple[Entry, ...]:
        """All entries in their order, or those of one data set."""
        with self._reading() as transaction:
            number = None if dataset is None else account_of(transaction, dataset).created.number
            events = transaction.events(number)
            names = {event.number: event.name for event in events if event.kind == CREATE}
        return tuple(_entries(events, names))

    def entry(self, number: int) -> Entry:
        """One entry by its number."""
        _check_number(number)
        with self._reading() as transaction:
            event = transaction.event(number)
            created = None if event is None or event.dataset is None else transaction.event(event.dataset)
            # With all that its total rests on.
            before = [] if event is None else transaction.events(event.dataset)
        if event is None:
            raise UsageError(f"The ledger {self._database.name} has no entry {brief(number)}.")
        entries = _entries(before, {} if created is None else {created.number: created.name})
        return next(entry for entry in entries if entry.number == number)

    def output(self, number: int) -> bytes | None:
        """What was drawn on a charge, as it was stored; None if nothing was."""
        _check_number(number)
        with self._reading() as transaction:
            event = transaction.event(number)
            if event is None or event.kind != CHARGE:
                return None
            fate = transaction.fate_of(event)
            return transaction.stored(event, fate) if fate is not None and fate.kind == OUTPUT else None

    def export(self) -> dict[str, Any]:
        """Everything but the outputs, in plain values: any accountant can recompute what was spent from it."""
        with self._reading() as transaction:
            events = transaction.events()
            name = transaction.id
        return {
            "format": f"dpfda-ledger-export-{SCHEMA}",
            "schema": SCHEMA,
            "ledger": name,
            "units_in_epsilon": EPSILON_UNITS,
            "sums": list(SUMS),
            "columns": list(COLUMNS),
            "events": [_plain(event) for event in events],
        }

    def check(self) -> None:
        """Recompute the chain, the totals, the outputs and the guards; LedgerDamaged names what does not fit."""
        # Before the ledger is looked at: what was noted by then must stand in it.
        seen = Seen(False) if self._anchor is None else self._anchor.seen()
        marks = self._anchor.marks() if self._anchor is not None and seen.there else []
        with self._database.whole() as transaction:
            if self._anchor is not None:
                self._anchor.check(transaction, seen)
                for mark in marks:
                    self._anchor.compare(mark, transaction)
            check_chain(transaction)
        problems = self._database.problems()
        if problems:
            raise LedgerDamaged(
                f"The ledger {self._database.name} is damaged: {problems[0]}. Put the newest whole copy back."
            )
        missing = self._database.guards()
        if missing:
            raise LedgerDamaged(
                f"The ledger {self._database.name} lacks its guards: {', '.join(missing)} was taken away or changed."
            )

    @contextmanager
    def _reading(self) -> Iterator[Transaction]:
        seen = None if self._anchor is None else self._anchor.seen()
        with self._database.reading() as transaction:
            if self._anchor is not None and seen is not None:
                self._anchor.check(transaction, seen)
            yield transaction


def _account(transaction: Transaction, dataset: str | None) -> Account:
    """The budget of this name, or the only one."""
    if dataset is not None:
        return account_of(transaction, dataset)
    names = transaction.names()
    if len(set(names.values())) != 1:
        listed = ", ".join(map(repr, list(names)[:5])) or "none"
        raise UsageError(f"Name the data set: the budgets of the ledger {transaction.name} are {listed}.")
    return account_of(transaction, next(iter(names)))


def _losses(account: Account, charges: list[Event]) -> list[Profile]:
    """The curves of all charges, for the budget's relation of neighbours."""
    return [
        loss
        for event in charges
        for loss in grouped(losses_in(event), people_of(account.created.neighbours, event.neighbours))
    ]


def _counted(account: Account, charges: list[Event], people: int) -> int:
    """What the filter of an adaptive budget counts; for groups, as if it had counted for them from the beginning."""
    if people == 1:
        return account.spent
    sums = Sums.nothing().plus([loss.grouped(people) for loss in _losses(account, charges)])
    found = filtered_epsilon(sums, account.budget)
    return units_up(found) if math.isfinite(found) else account.cap


def _capped(account: Account, people: int) -> Statement:
    """What a privacy filter proves, whatever was charged so far: the cap, and what follows from it for groups."""
    cap = StatedProfile(account.budget.epsilon, account.budget.delta).grouped(people)
    epsilon = cap.epsilon if cap.stated < 1 else math.inf
    counter = epsilon_of(account.spent)
    return Statement(epsilon, cap.stated, cap.pure, math.inf, FILTER, nominal=account.nominal, counter=counter)


def _composed(account: Account, charges: list[Event], people: int) -> Statement:
    losses = _losses(account, charges)
    if account.adaptive and losses:
        return _capped(account, people)
    found = replace(compose(losses, delta=account.budget.delta, people=people), nominal=account.nominal)
    if people > 1 or not losses:
        return found
    # What the newest entry states was proved too, and for a pure budget it is the exact sum.
    entered = epsilon_of(account.spent)
    pure = min(found.pure, entered) if account.pure else found.pure
    return replace(found, epsilon=min(found.epsilon, entered), pure=pure)


def _dataset(created: Event, events: list[Event]) -> Dataset:
    own = [event for event in events if event.dataset == created.number]
    charges = [event for event in own if event.kind == CHARGE]
    newest = charges[-1] if charges else created
    account = Account(created, newest, any(event.kind == FREEZE for event in own))
    return Dataset(
        name=account.name,
        copies=tuple(event.name or "" for event in own if event.kind == COPY),
        cap=account.budget,
        unit=account.unit,
        neighbours=created.neighbours or "",
        frozen=account.frozen,
        charges=len(charges),
        spent=epsilon_of(account.spent),
        number=created.number,
        nominal=any(map(is_nominal, charges)),
        adaptive=account.adaptive,
    )


def _entries(events: list[Event], names: dict[int, str | None]) -> Iterator[Entry]:
    approximate: set[int | None] = set()  # data sets that an approximate draw was charged to, up to here
    for event in events:
        if is_nominal(event):
            approximate.add(event.dataset)
        with readable(event):
            entry = _entry(event, names)
        yield replace(entry, total_nominal=event.kind == CHARGE and event.dataset in approximate)


def _entry(event: Event, names: dict[int, str | None]) -> Entry:
    digest = None if event.digest is None else event.digest.hex()
    moment = datetime.fromtimestamp(event.at / 1000, tz=UTC).isoformat(timespec="milliseconds")
    return Entry(
        number=event.number,
        kind=event.kind,
        at=moment.replace("+00:00", "Z"),
        dataset=None if event.dataset is None else names.get(event.dataset),
        digest=event.hash.hex(),
        previous=event.previous.hex(),
        name=event.name,
        key=event.key,
        charged=event.charged,
        what=event.what,
        unit=event.unit,
        neighbours=event.neighbours,
        budget=None if event.epsilon is None or event.delta is None else Budget(event.epsilon, event.delta),
        losses=() if event.losses is None else tuple(plain_losses(event)),
        cost=None if event.cost is None else epsilon_of(event.cost),
        total=None if event.total is None else epsilon_of(event.total),
        request=digest if event.kind == CHARGE else None,
        output=digest if event.kind == OUTPUT else None,
        nominal=is_nominal(event),
    )


def _plain(event: Event) -> dict[str, Any]:
    """An event as JSON: bytes in hexadecimal, curves and sums opened up."""
    found: dict[str, Any] = {}
    for name in COLUMNS:
        value = getattr(event, name)
        if value is None:
            continue
        found[name] = value.hex() if isinstance(value, bytes) else value
        if name in ("losses", "sums"):
            with readable(event):
                found[name] = json.loads(value)
    return found


def _check_number(number: object) -> None:
    """Entries are numbered by whole numbers that a database holds."""
    if not is_whole(number, -(2**63), 2**63 - 1):
        raise UsageError(f"Entries of a ledger are numbered by whole numbers, got {brief(number)}.")


ACCURACY = 1.01  # accountants agree to a hundredth; another version of one may find a little more


def check_chain(transaction: Transaction) -> None:
    """Walk through all entries, whose hashes were checked when they were read; the first that does not fit is named."""
    walk = _Walk(transaction)
    for event in transaction.events():
        walk.see(event)
    walk.end()


class _Walk:
    """What the entries so far add up to."""

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction
        self.accounts: dict[int, Account] = {}
        self.history: dict[int, tuple[Profile, ...]] = {}
        self.names: set[str] = set()
        self.keys: set[str] = set()
        self.charges: dict[int, Event] = {}
        self.fates: dict[int, Event] = {}

    def see(self, event: Event) -> None:
        ways = {CREATE: self._create, COPY: self._copy, CHARGE: self._charge, FREEZE: self._freeze}
        ways |= {OUTPUT: self._fate, BURN: self._fate, ANCHOR: self._anchor}
        try:
            ways[event.kind](event)
            return
        except Lacking:
            what = "lacks a column"
        except Unreadable:
            what = "cannot be read"
        except LedgerDamaged:
            raise
        except (DpfdaError, ValueError, TypeError, KeyError):
            what = "cannot be read"
        _damaged(self.transaction, event.number, what)

    def end(self) -> None:
        """What only shows at the end: outputs that are gone or too many."""
        kept = self.transaction.outputs()
        for number, fate in self.fates.items():
            if fate.kind == OUTPUT and kept.pop(number, None) != fate.digest:
                _damaged(self.transaction, fate.number, "has an output that is not the one that was entered")
        if kept:
            _damaged(self.transaction, min(kept), "has an output that was not entered")

    def _create(self, event: Event) -> None:
        self._name(event)
        if event.dataset != event.number or event.total != 0 or event.sums != sums_row(Sums.nothing()):
            _damaged(self.transaction, event.number, "does not begin with nothing spent")
        self.accounts[event.number] = Account(event, event, False)
        self.history[event.number] = ()

    def _copy(self, event: Event) -> None:
        self._name(event)
        self._account(event)

    def _freeze(self, event: Event) -> None:
        account = self._account(event)
        self.accounts[account.created.number] = Account(account.created, account.newest, True)

    def _charge(self, event: Event) -> None:
        account = self._account(event)
        if account.frozen:
            _damaged(self.transaction, event.number, "was charged to a frozen budget")
        if event.key is None or event.key in self.keys:
            _damaged(self.transaction, event.number, "has no key of its own")
        self.keys.add(event.key)
        losses = losses_in(event)
        people = people_of(account.created.neighbours, event.neighbours)
        budget = Budget(event.epsilon or 0.0, event.delta or 0.0)
        if not covers(budget, losses):
            _damaged(self.transaction, event.number, "states less than its curves")
        found = count(account, budget, losses, people)
        number = account.created.number
        self.history[number] += grouped(losses, people)
        if not _alike(sums_in(event), found.sums):
            _damaged(self.transaction, event.number, "does not have the sums of its curves")
        if event.total is None or event.total > account.cap:
            _damaged(self.transaction, event.number, "is beyond the cap")
        if (account.pure or account.adaptive) and (event.cost != found.cost or event.total != found.total):
            _damaged(self.transaction, event.number, "does not add up")
        # Totals that the slow accountant found are recomputed one by one: the next total may rest on each of them.
        proved = found.total is not None and event.total >= found.total
        if not proved and composed(self.history[number], account) > event.total * ACCURACY:
            _damaged(self.transaction, event.number, "states less than its history composes to")
        self.charges[event.number] = event
        self.accounts[number] = Account(account.created, event, False)

    def _fate(self, event: Event) -> None:
        charge = self.charges.get(event.charged or 0)
        if charge is None or charge.dataset != event.dataset:
            _damaged(self.transaction, event.number, "belongs to no charge")
        if charge.number in self.fates:
            _damaged(self.transaction, event.number, "is a second output of one charge")
        self.fates[charge.number] = event

    def _anchor(self, event: Event) -> None:
        """An anchor was begun: nothing to add up."""

    def _name(self, event: Event) -> None:
        if event.name is None or event.name in self.names:
            _damaged(self.transaction, event.number, "has no name of its own")
        self.names.add(event.name)

    def _account(self, event: Event) -> Account:
        found = self.accounts.get(event.dataset or 0)
        if found is None:
            _damaged(self.transaction, event.number, "belongs to no data set")
        return found


def _alike(entered: Sums, found: Sums) -> bool:
    """Whether two totals are the same but for the last digits of logarithms, which differ between machines."""
    pairs = zip(entered.to_row().values(), found.to_row().values(), strict=True)
    return all(abs(one - other) <= 2 + abs(other) // 10**9 for one, other in pairs)


def _damaged(transaction: Transaction, number: int, what: str) -> NoReturn:
    raise damage(transaction.name, number, what)

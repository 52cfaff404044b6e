"""Whether a ledger is whole: every hash, total and output recomputed."""

from __future__ import annotations

import hashlib
from typing import NoReturn

from dpfda.errors import DpfdaError, LedgerDamaged
from dpfda.ledger.accounting import composed
from dpfda.ledger.amounts import covers
from dpfda.ledger.book import Book, damage
from dpfda.ledger.events import ANCHOR, BURN, CHARGE, COPY, CREATE, FREEZE, OUTPUT, Event
from dpfda.ledger.rules import Account, Lacking, Unreadable, count, grouped, losses_in, people_of, sums_in, sums_row
from dpfda.privacy.budget import Budget
from dpfda.privacy.profiles import Profile
from dpfda.privacy.totals import Sums

ACCURACY = 1.01  # accountants agree to a hundredth; another version of one may find a little more


def stored(book: Book, charge: Event, fate: Event) -> bytes:
    """What was drawn on a charge, if it is still what the chain says."""
    output = book.output_of(charge)
    if output is None or hashlib.sha256(output).digest() != fate.digest:
        raise LedgerDamaged(
            f"The output of entry {charge.number} of the ledger {book.name} is not the one that was entered. Put "
            "the newest whole copy back."
        )
    return output


def check_chain(book: Book) -> None:
    """Walk through all entries, whose hashes were checked when they were read; the first that does not fit is named."""
    walk = _Walk(book)
    for event in book.events():
        walk.see(event)
    walk.end()


class _Walk:
    """What the entries so far add up to."""

    def __init__(self, book: Book) -> None:
        self.book = book
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
        _damaged(self.book, event.number, what)

    def end(self) -> None:
        """What only shows at the end: outputs that are gone or too many."""
        kept = self.book.outputs()
        for number, fate in self.fates.items():
            if fate.kind == OUTPUT and kept.pop(number, None) != fate.digest:
                _damaged(self.book, fate.number, "has an output that is not the one that was entered")
        if kept:
            _damaged(self.book, min(kept), "has an output that was not entered")

    def _create(self, event: Event) -> None:
        self._name(event)
        if event.dataset != event.number or event.total != 0 or event.sums != sums_row(Sums.nothing()):
            _damaged(self.book, event.number, "does not begin with nothing spent")
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
            _damaged(self.book, event.number, "was charged to a frozen budget")
        if event.key is None or event.key in self.keys:
            _damaged(self.book, event.number, "has no key of its own")
        self.keys.add(event.key)
        losses = losses_in(event)
        people = people_of(account.created.neighbours, event.neighbours)
        budget = Budget(event.epsilon or 0.0, event.delta or 0.0)
        if not covers(budget, losses):
            _damaged(self.book, event.number, "states less than its curves")
        found = count(account, budget, losses, people)
        number = account.created.number
        self.history[number] += grouped(losses, people)
        if not _alike(sums_in(event), found.sums):
            _damaged(self.book, event.number, "does not have the sums of its curves")
        if event.total is None or event.total > account.cap:
            _damaged(self.book, event.number, "is beyond the cap")
        if (account.pure or account.adaptive) and (event.cost != found.cost or event.total != found.total):
            _damaged(self.book, event.number, "does not add up")
        # Totals that the slow accountant found are recomputed one by one: the next total may rest on each of them.
        proved = found.total is not None and event.total >= found.total
        if not proved and composed(self.history[number], account) > event.total * ACCURACY:
            _damaged(self.book, event.number, "states less than its history composes to")
        self.charges[event.number] = event
        self.accounts[number] = Account(account.created, event, False)

    def _fate(self, event: Event) -> None:
        charge = self.charges.get(event.charged or 0)
        if charge is None or charge.dataset != event.dataset:
            _damaged(self.book, event.number, "belongs to no charge")
        if charge.number in self.fates:
            _damaged(self.book, event.number, "is a second output of one charge")
        self.fates[charge.number] = event

    def _anchor(self, event: Event) -> None:
        """An anchor was begun: nothing to add up."""

    def _name(self, event: Event) -> None:
        if event.name is None or event.name in self.names:
            _damaged(self.book, event.number, "has no name of its own")
        self.names.add(event.name)

    def _account(self, event: Event) -> Account:
        found = self.accounts.get(event.dataset or 0)
        if found is None:
            _damaged(self.book, event.number, "belongs to no data set")
        return found


def _alike(entered: Sums, found: Sums) -> bool:
    """Whether two totals are the same but for the last digits of logarithms, which differ between machines."""
    pairs = zip(entered.to_row().values(), found.to_row().values(), strict=True)
    return all(abs(one - other) <= 2 + abs(other) // 10**9 for one, other in pairs)


def _damaged(book: Book, number: int, what: str) -> NoReturn:
    raise damage(book.name, number, what)

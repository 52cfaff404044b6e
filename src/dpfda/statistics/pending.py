"""A release that is paid for and not yet handed out: as a whole, or point by point, but never both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpfda.arrays import Integers
from dpfda.bases import Domain
from dpfda.curator import GIVEN, Payment, ReleaseOrder
from dpfda.errors import UsageError
from dpfda.mechanisms import Randomness
from dpfda.online import (
    Facts,
    FiniteOracle,
    OnlineLaw,
    Oracle,
    OwnFunction,
    Sections,
    Store,
    as_store,
    check_store,
    open_online,
    open_store,
)
from dpfda.privacy import Budget
from dpfda.records.forgetting import forgets_records
from dpfda.releases.entry import Fits, LedgerEntry


@dataclass(eq=False, repr=False, kw_only=True)
class Pending:
    """A private function that has been paid for, for the one oracle that will answer for it.

    Two noisy versions of one function are two releases, and only one was paid for. Copies of an estimator do not get
    it, nor do pickles, nor processes that were forked after the fit. It is erased when it is asked for, also by an
    attempt that fails.
    """

    sections: Sections | OwnFunction | None  # None once it was handed out
    law: OnlineLaw
    facts: Facts
    randomness: Randomness | None
    payment: Payment

    @forgets_records
    def online(self, store: str | Path | Store | None) -> Oracle:
        """Answers point by point, kept in a store; the card has the entry of the ledger, which is known by now."""
        check_store(store, self.law, self.facts, randomness=self.randomness)  # refuses a store of another release
        sections = self.sections
        if sections is None:
            raise UsageError(GIVEN)
        try:
            # Before anything is bound: whatever interrupts the rest, nobody can come back for another noise.
            self.payment.hand_over()
            paid = replace(self.facts, fits=Fits.of(self.payment.receipt), entry=LedgerEntry.of(self.payment.receipt))
            return open_online(sections, self.law, store, facts=paid, randomness=self.randomness)
        finally:
            self.erase()

    def erase(self) -> None:
        """Forget what records add up to."""
        self.sections = None


@dataclass(eq=False, repr=False, kw_only=True)
class PendingRelease(Pending):
    """What records add up to, behind one charge: as a whole or point by point, whichever is asked for first."""

    order: ReleaseOrder
    gathered: Integers | None  # for the release as a whole

    @property
    def what(self) -> str:
        """What it holds, in words."""
        if not isinstance(self.sections, Sections):
            return ""
        if dict(self.facts.encoding).get("places") == "points":
            return (
                "the points of all records and what they add up to, without noise, until release_ or open() asks for it"
            )
        return (
            f"what all records add up to in each of {len(self.sections.masses)} cells, without noise, until release_ "
            "or open() asks for it"
        )

    @forgets_records
    def whole(self) -> Any:
        """The release in its basis."""
        payment, gathered = self.payment, self.gathered
        if gathered is None:
            raise UsageError(GIVEN)
        try:
            return payment.spend(lambda log: self.order.draw(log, payment.receipt, gathered))
        finally:
            self.erase()

    def erase(self) -> None:
        self.gathered = self.sections = None


def reopened(
    store: str | Path | Store | None, dataset: str, domain: Domain, budget: Budget, neighbours: str
) -> Oracle | FiniteOracle:
    """The finite release that a store holds, if it is the one that an estimator with these settings would make."""
    oracle = open_store(as_store(store))
    card = oracle.certificate
    same = (card.dataset, card.domain, card.epsilon, card.neighbours) == (
        dataset,
        domain.sides,
        budget.epsilon,
        neighbours,
    )
    if not same or card.delta > budget.delta:
        oracle.close()
        raise UsageError(
            f"The store holds another release: the {card.what} of {card.dataset!r}, {card.guarantee}. Open it as it "
            "was made, or name a new store."
        )
    return oracle

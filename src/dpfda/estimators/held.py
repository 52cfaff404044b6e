"""Come here for a release that is paid for and not yet given out: as a whole, or point by point, but never both."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from dpfda.arrays import Integers
from dpfda.bases import Domain
from dpfda.curator import Order
from dpfda.errors import UsageError
from dpfda.mechanisms import Randomness
from dpfda.online import (
    Facts,
    FiniteOracle,
    OnlineLaw,
    Oracle,
    Sections,
    Store,
    as_store,
    check_store,
    open_online,
    open_store,
)
from dpfda.privacy import Budget

GIVEN = (
    "This fit was given out already, and one charge pays for one noise: another version of the same function would be "
    "a second release. To go on with a store, open it with the points, est.open(store, points), which is free; to get "
    "a new release, fit again, which is charged."
)


class Claim:
    """The right to give out what one charge has paid for: taken once, by one thread of the process that paid."""

    def __init__(self) -> None:
        self._lock, self._process = Lock(), os.getpid()

    def take(self) -> None:
        # A lock that is never let go.
        if self._process != os.getpid() or not self._lock.acquire(blocking=False):
            raise UsageError(GIVEN)

    def __getstate__(self) -> object:
        raise TypeError("What waits for its release cannot be copied or pickled: it would be given out twice.")


@dataclass(eq=False, repr=False)
class Held:
    """What records add up to, behind one charge; whichever way it is asked for first is the only one.

    Two noisy versions of one function are two releases, and only one was paid for. Copies of an estimator do not get
    it, nor do pickles, nor processes that were forked after the fit.
    """

    order: Order
    gathered: Integers  # for the release as a whole
    sections: Sections  # for answers point by point
    law: OnlineLaw
    facts: Facts
    randomness: Randomness | None
    claim: Claim = field(default_factory=Claim)

    def whole(self) -> Any:
        """The release in its basis."""
        self.claim.take()
        return self.order.draw(self.gathered)

    def online(self, store: str | Path | Store | None) -> Oracle:
        """Answers point by point, kept in a store."""
        check_store(store, self.law, self.facts, randomness=self.randomness)  # refuses a store of another release
        # Before anything is bound: whatever interrupts the rest, nobody can come back for another noise.
        self.claim.take()
        return open_online(self.sections, self.law, store, facts=self.facts, randomness=self.randomness)


def reopened(
    store: str | Path | Store | None, dataset: str, domain: Domain, budget: Budget, neighbours: str
) -> Oracle | FiniteOracle:
    """The finite release that a store holds, if it is the one that an estimator with these wishes would make."""
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

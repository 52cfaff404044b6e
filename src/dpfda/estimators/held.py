"""Come here for a release that is paid for and not yet given out: as a whole, or point by point, but never both."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from dpfda.arrays import Integers
from dpfda.curator import Order
from dpfda.errors import UsageError
from dpfda.mechanisms import Randomness
from dpfda.online import Facts, OnlineLaw, Oracle, Sections, Store, check_store, open_online

GIVEN = (
    "This fit was given out already, and one charge pays for one noise: another version of the same function would be "
    "a second release. To go on with a store, open it with the points, est.open(store, points), which is free; to get "
    "a new release, fit again, which is charged."
)


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
    _taken: Any = field(default_factory=Lock)
    _process: int = field(default_factory=os.getpid)

    def whole(self) -> Any:
        """The release in its basis."""
        self._take()
        return self.order.draw(self.gathered)

    def online(self, store: str | Path | Store | None) -> Oracle:
        """Answers point by point, kept in a store."""
        check_store(store, self.law, self.facts, randomness=self.randomness)  # refuses a store of another release
        # Before anything is bound: whatever interrupts the rest, nobody can come back for another noise.
        self._take()
        return open_online(self.sections, self.law, store, facts=self.facts, randomness=self.randomness)

    def _take(self) -> None:
        if self._process != os.getpid() or not self._taken.acquire(blocking=False):
            raise UsageError(GIVEN)

    def __getstate__(self) -> object:
        raise TypeError("Records that wait for their release cannot be copied or pickled.")

"""Come here for a release that is paid for and not yet given out: as a whole, or point by point, but never both."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpfda.curator import Order
from dpfda.errors import ReleaseFailed, UsageError
from dpfda.mechanisms import Randomness
from dpfda.online import Facts, OnlineLaw, Oracle, Sections, Store, open_online

GIVEN = (
    "This fit was given out already, and one charge pays for one noise: another version of the same function would be "
    "a second release. To go on with a store, open it with the points, est.open(store, points), which is free; to get "
    "a new release, fit again, which is charged."
)


@dataclass(eq=False, repr=False)
class Held:
    """Records behind one charge; whichever way they are asked for first is the only one.

    Two noisy versions of one function are two releases, and only one was paid for. Copies of an estimator do not get
    it, and neither do pickles.
    """

    order: Order  # the release as a whole
    sections: Callable[[], Sections]  # the private function, for answers point by point
    law: OnlineLaw
    facts: Facts
    randomness: Randomness | None
    _lock: Any = field(default_factory=threading.Lock)
    _taken: bool = False

    def whole(self) -> Any:
        """The release in its basis."""
        with self._lock:
            self._check()
            self._taken = True  # also if it fails: nobody knows what was drawn
            return self.order.draw()

    def online(self, store: str | Path | Store | None) -> Oracle:
        """Answers point by point, kept in a store."""
        with self._lock:
            self._check()
            oracle = open_held(self, store)
            self._taken = True
            return oracle

    def _check(self) -> None:
        if self._taken:
            raise UsageError(GIVEN)

    def __getstate__(self) -> object:
        raise TypeError("Records that wait for their release cannot be copied or pickled.")


def open_held(held: Held, store: str | Path | Store | None) -> Oracle:
    """An oracle on a store; the records are read here, and any failure says nothing about them."""
    sections = _quiet(held.sections)
    if sections is None:
        raise ReleaseFailed
    return open_online(sections, held.law, store, facts=held.facts, randomness=held.randomness)


def _quiet(build: Callable[[], Sections]) -> Sections | None:
    try:
        return build()
    except Exception:
        return None

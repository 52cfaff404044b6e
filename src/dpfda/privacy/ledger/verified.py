"""Entries of a ledger that were read in order, each with its hash recomputed: what every decision rests on."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, NoReturn

from dpfda.errors import LedgerDamaged
from dpfda.privacy.ledger.events import OUTPUT, Event, event_of, first_link

GONE = "is missing, and was there before. A backup was restored, or a log was cut off"
OTHER = "is not the one that was there before: another copy was put back"


class Verified:
    """The chain of one ledger as far as this process has read it.

    Whether a key was charged, what was spent, which budget a name has and whether it is frozen are looked up here and
    never through an index of the database: a damaged index page hides rows without a word. Entries are only added, so
    what was found once holds, whatever becomes of the file.
    """

    def __init__(self, ledger: str, name: str) -> None:
        self.ledger = ledger  # its identifier
        self.name = name  # for messages
        self.lock = threading.Lock()
        self.events: list[Event] = []
        self.keys: dict[str, Event] = {}
        self.names: dict[str, Event] = {}
        self.fates: dict[int, Event] = {}  # outputs and burns, by the number of their charge
        self.owned: dict[int | None, list[Event]] = {}  # by the data set; None for anchors

    def link(self, number: int) -> bytes:
        """The hash of an entry; what stands for it before the first one."""
        return self.events[number - 1].hash if number else first_link(self.ledger)

    def grow(self, start: int, rows: Iterable[tuple[Any, ...]]) -> int:
        """Add what a walk through the whole table found, from the entry `start` on that was known before it began.

        Returns the number of the newest entry that it found.
        """
        last = self.learn(max(0, start - 1), self._sorted(rows))
        if last < start:
            self.damaged(start, GONE)
        return last

    def learn(self, last: int, events: Iterable[Event]) -> int:
        """Add the entries after the last one, some of which another thread may have added meanwhile."""
        with self.lock:
            for event in events:
                if event.number != last + 1:
                    self.damaged(last + 1, "is missing")
                if event.number > len(self.events):
                    self._add(event)
                elif event.hash != self.link(event.number):
                    self.damaged(event.number, OTHER)
                last = event.number
        return last

    def _sorted(self, rows: Iterable[tuple[Any, ...]]) -> list[Event]:
        found = [event_of(row) for row in rows]
        if not all(type(event.number) is int for event in found):
            self.damaged(len(self.events) + 1, "has no number")
        return sorted(found, key=lambda event: event.number)

    def _add(self, event: Event) -> None:
        if event.previous != self.link(event.number - 1):
            self.damaged(event.number, "does not carry the hash of the one before")
        if event.fingerprint() != event.hash:
            self.damaged(event.number, "does not have its hash: a column was changed")
        self._index(event)
        self.events.append(event)

    def _index(self, event: Event) -> None:
        if event.key is not None:
            if event.key in self.keys:
                self.damaged(event.number, "has no key of its own")
            self.keys[event.key] = event
        if event.name is not None:
            if event.name in self.names:
                self.damaged(event.number, "has no name of its own")
            self.names[event.name] = event
        if event.charged is not None:
            if event.charged in self.fates:
                self.damaged(event.number, "is a second output of one charge")
            self.fates[event.charged] = event
        self.owned.setdefault(event.dataset, []).append(event)

    def check_outputs(self, kept: Iterable[int]) -> None:
        """Refuse a ledger that lacks an output, or has one that no entry speaks of."""
        entered = {number: fate for number, fate in self.fates.items() if fate.kind == OUTPUT}
        found = set(kept)
        for number, fate in entered.items():
            if number not in found:
                self.damaged(fate.number, "has an output that is not the one that was entered")
        more = found - set(entered)
        if more:
            self.damaged(min(more), "has an output that was not entered")

    def damaged(self, number: int, what: str) -> NoReturn:
        raise damage(self.name, number, what)


def damage(ledger: str, number: int, what: str) -> LedgerDamaged:
    """What is said of an entry that does not fit."""
    return LedgerDamaged(f"The ledger {ledger} is damaged: entry {number} {what}. Put the newest whole copy back.")

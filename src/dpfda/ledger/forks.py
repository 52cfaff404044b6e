"""Closing ledgers across a fork: neither SQLite's locks nor half a conversation survive one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet


class ForkGate:
    """Lets any number of threads work on ledgers, but none while the process forks.

    A child inherits what SQLite remembers of locks, and none of the locks: two processes would believe to be one. And
    it inherits locks that other threads hold inside of libraries, which nobody will ever release. So a fork waits
    until all transactions are over, and every connection that is kept for later is closed first.
    """

    def __init__(self) -> None:
        self.members: WeakSet[Any] = WeakSet()  # with a method `close`
        self._fresh()

    @contextmanager
    def inside(self) -> Iterator[None]:
        me = threading.get_ident()
        with self._change:
            self._change.wait_for(lambda: not self._forking or me in self._busy)
            self._busy[me] = self._busy.get(me, 0) + 1
        change, busy = self._change, self._busy
        try:
            yield
        finally:
            with change:
                busy[me] -= 1
                if not busy[me]:
                    del busy[me]
                change.notify_all()

    def before(self) -> None:
        """Called in the parent, by the thread that forks."""
        me = threading.get_ident()
        self._change.acquire()
        self._change.wait_for(lambda: not self._forking)
        self._forking = True  # from here on nobody begins
        self._change.wait_for(lambda: not self._busy.keys() - {me})
        for member in list(self.members):
            member.close()

    def after_in_parent(self) -> None:
        self._forking = False
        self._change.notify_all()
        self._change.release()

    def after_in_child(self) -> None:
        self._fresh()

    def _fresh(self) -> None:
        self._change = threading.Condition()
        self._busy: dict[int, int] = {}
        self._forking = False


GATE = ForkGate()


def _register(register: Callable[..., None]) -> None:
    register(before=GATE.before, after_in_parent=GATE.after_in_parent, after_in_child=GATE.after_in_child)


if hasattr(os, "register_at_fork"):
    _register(os.register_at_fork)

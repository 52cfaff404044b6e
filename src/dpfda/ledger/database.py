"""What a ledger asks of a database, and how connections are closed before a process forks."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar
from weakref import WeakSet

from dpfda.errors import DataError, LedgerDamaged, ReleaseFailed
from dpfda.ledger.chain import SCHEMA, Transaction, VerifiedChain
from dpfda.messages import Message, Words


class ForkLock:
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
        """A context for work on a ledger; a fork waits until all threads have left it."""
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
        """Called in the parent: let the other threads go on."""
        self._forking = False
        self._change.notify_all()
        self._change.release()

    def after_in_child(self) -> None:
        """Called in the child, where only the thread that forked exists: start with nobody inside."""
        self._fresh()

    def _fresh(self) -> None:
        self._change = threading.Condition()
        self._busy: dict[int, int] = {}
        self._forking = False


FORK_LOCK = ForkLock()


def _register(register: Callable[..., None]) -> None:
    register(
        before=FORK_LOCK.before, after_in_parent=FORK_LOCK.after_in_parent, after_in_child=FORK_LOCK.after_in_child
    )


if hasattr(os, "register_at_fork"):
    _register(os.register_at_fork)


PATIENCE = 60.0  # seconds that one process waits for another
_CREATE = "dpfda budget create URL --dataset NAME --epsilon ... --delta ..."
MAKE_ONE = Message("make one with ", Words(f"Ledger.create, or {_CREATE}", _CREATE))
T = TypeVar("T")


class NoLedger(DataError):
    """There is nothing at the address of a ledger."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no ledger at {name}: ", MAKE_ONE)


class Lost(DataError):
    """The connection was lost, perhaps during the commit: only looking again tells what was entered."""

    def __init__(self, name: str, said: str) -> None:
        super().__init__(
            f"The ledger {name} was lost in the middle: {said}. Whether something was entered is not known; repeat a "
            "charge under the same key, it is charged once."
        )


class DatabaseSession:
    """What a process keeps of a ledger between transactions; databases add their connections."""

    verified: VerifiedChain | None = None  # the entries that were read and verified so far


class Database(ABC):
    """One ledger's tables; a member writes these methods, and keeps its own words for troubles."""

    name: str  # as people may see it: without a password
    _session: DatabaseSession

    @abstractmethod
    def close(self) -> None:
        """Let go of connections that are kept; the next use opens new ones."""

    @abstractmethod
    def make(self) -> None:
        """Make the tables and their guards where there are none."""

    @abstractmethod
    def writing(self, *, more: bool = False) -> AbstractContextManager[Transaction]:
        """A transaction in which this connection alone writes; durable at its end, or nothing of it is.

        `more` says that another will probably follow soon.
        """

    @abstractmethod
    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one moment."""

    @contextmanager
    def whole(self) -> Iterator[Transaction]:
        """The same, with every entry read and verified anew, whatever is known from before."""
        known, self._session.verified = self._session.verified, None
        try:
            with self.reading() as transaction:
                yield transaction
                transaction.compare(known)
        finally:
            # What was known before stays known: a copy that lacks it must not be taken for the whole ledger later.
            if known is not None:
                self._session.verified = known

    @abstractmethod
    def problems(self) -> list[str]:
        """What the database's own check of its pages and indices finds."""

    @abstractmethod
    def guards(self) -> list[str]:
        """The guards that are missing or not as they were made."""

    def cover(self, found: list[tuple[Any, ...]], known: VerifiedChain | None) -> VerifiedChain:
        """The entries that are known of the ledger with this cover; none yet if it is another one."""
        if len(found) != 1 or found[0][1] != SCHEMA:
            raise LedgerDamaged(
                f"The ledger {self.name} is of schema {found[0][1] if found else 'none'}, and this version of dpfda "
                f"reads schema {SCHEMA}. Use the version that made it, or put the newest whole copy back."
            )
        ledger = str(found[0][0])
        return known if known is not None and known.ledger == ledger else VerifiedChain(ledger, self.name)

    def write(self, act: Callable[[Transaction], T], *, again: bool = True, more: bool = False) -> T:
        """Do something in a transaction; if the connection is lost, look again, which tells what became of it.

        `again` is for what finds itself done: a charge its key, an output its charge.
        """
        try:
            with self.writing(more=more) as transaction:
                return act(transaction)
        except Lost as error:
            if not again:
                raise
            lost = error
        try:
            with self.writing(more=more) as transaction:
                return act(transaction)
        except DataError as error:
            if isinstance(error, ReleaseFailed):
                raise
        # It cannot even be looked at: only the first trouble is known, and not what became of it.
        raise lost from None

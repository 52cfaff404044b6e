"""What a ledger asks of a database: to write alone, all or nothing, durably; and to read one moment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from dpfda.errors import DataError, LedgerDamaged, ReleaseFailed
from dpfda.ledger.book import Book, Verified
from dpfda.ledger.events import SCHEMA
from dpfda.messages import Message, Words

PATIENCE = 60.0  # seconds that one process waits for another
_CREATE = "dpfda budget create URL --dataset NAME --epsilon ... --delta ..."
MAKE_ONE = Message("make one with ", Words(f"Ledger.create, or {_CREATE}", _CREATE))
T = TypeVar("T")


class NoLedger(DataError):
    """There is nothing at the address of a ledger."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no ledger at {name}: ", MAKE_ONE)


class Lost(DataError):
    """The database went away, perhaps during the last step: only looking again tells what was entered."""

    def __init__(self, name: str, said: str) -> None:
        super().__init__(
            f"The ledger {name} was lost in the middle: {said}. Whether something was entered is not known; repeat a "
            "charge under the same key, it is charged once."
        )


class Database(ABC):
    """One ledger's tables; a member writes these methods, and keeps its own words for troubles."""

    name: str  # as people may see it: without a password

    @abstractmethod
    def close(self) -> None:
        """Let go of connections that are kept; the next use opens new ones."""

    @abstractmethod
    def make(self) -> None:
        """Make the tables and their guards where there are none."""

    @abstractmethod
    def writing(self, *, more: bool = False) -> AbstractContextManager[Book]:
        """A transaction in which this connection alone writes; durable at its end, or nothing of it is.

        `more` says that another will probably follow soon.
        """

    @abstractmethod
    def reading(self) -> AbstractContextManager[Book]:
        """A transaction that sees one moment."""

    @abstractmethod
    def whole(self) -> AbstractContextManager[Book]:
        """The same, with every entry read and verified anew, whatever is known from before."""

    @abstractmethod
    def problems(self) -> list[str]:
        """What the database's own check of its pages and indices finds."""

    @abstractmethod
    def guards(self) -> list[str]:
        """The guards that are missing or not as they were made."""

    def cover(self, found: list[tuple[Any, ...]], known: Verified | None) -> Verified:
        """The entries that are known of the ledger with this cover; none yet if it is another one."""
        if len(found) != 1 or found[0][1] != SCHEMA:
            raise LedgerDamaged(
                f"The ledger {self.name} is of schema {found[0][1] if found else 'none'}, and this version of dpfda "
                f"reads schema {SCHEMA}. Use the version that made it, or put the newest whole copy back."
            )
        ledger = str(found[0][0])
        return known if known is not None and known.ledger == ledger else Verified(ledger, self.name)

    def write(self, act: Callable[[Book], T], *, again: bool = True, more: bool = False) -> T:
        """Do something in a transaction; if the connection is lost, look again, which tells what became of it.

        `again` is for what finds itself done: a charge its key, an output its charge.
        """
        try:
            with self.writing(more=more) as book:
                return act(book)
        except Lost as error:
            if not again:
                raise
            lost = error
        try:
            with self.writing(more=more) as book:
                return act(book)
        except DataError as error:
            if isinstance(error, ReleaseFailed):
                raise
        # It cannot even be looked at: only the first trouble is known, and not what became of it.
        raise lost from None

"""Come here for ledgers in a file: SQLite with a write-ahead log, synchronous at every commit."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4
from weakref import finalize

from dpfda.errors import DataError, DpfdaError, LedgerDamaged
from dpfda.privacy.ledger.book import COVER, Book
from dpfda.privacy.ledger.database import NO_LEDGER, PATIENCE, Database, Lost
from dpfda.privacy.ledger.events import SCHEMA
from dpfda.privacy.ledger.forks import GATE
from dpfda.privacy.ledger.sqlite_schema import name_of, schema

APPLICATION = 0x64706664  # "dpfd", in the header of the file
LOG = 32  # pages in the log before it is moved into the file


class SqliteDatabase(Database):
    """A file; the connection of the last charge or output is kept, so that the next one waits for the disk once.

    Closing the last connection moves the log into the file. With an anchor none is kept (`keeps` is False): then the
    file alone is the whole ledger at any time, and putting an older copy in its place is what it looks like.
    """

    def __init__(self, path: Path, *, keeps: bool) -> None:
        self.path = path
        self.name = f"sqlite:///{path}"
        self.keeps = keeps
        self._idle: list[_Kept] = []  # one at most; taken and put back whole, which needs no lock
        GATE.members.add(self)
        finalize(self, _close, self._idle)

    def close(self) -> None:
        _close(self._idle)

    def make(self) -> None:
        with self._troubles(), self._connection("rwc") as connection:
            if _patiently(connection, "PRAGMA application_id").fetchone()[0] == APPLICATION:
                return
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                _patiently(connection, "PRAGMA journal_mode = WAL")
            _patiently(connection, "BEGIN IMMEDIATE")
            try:
                if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                    for statement in schema():
                        connection.execute(statement)
                    connection.execute("INSERT INTO dpfda_ledger VALUES (1, ?, ?)", (uuid4().hex, SCHEMA))
                    connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute("COMMIT")
            finally:
                _undo(connection)

    @contextmanager
    def writing(self, *, more: bool = False) -> Iterator[Book]:
        with self._transaction("BEGIN IMMEDIATE", more=more and self.keeps) as book:
            yield book

    @contextmanager
    def reading(self) -> Iterator[Book]:
        with self._transaction("BEGIN") as book:
            yield book

    def guards(self) -> list[str]:
        with self._troubles(), self._connection("rw") as connection:
            found = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall())
        return [name_of(text) for text in schema() if found.get(name_of(text)) != text]

    @contextmanager
    def _transaction(self, begin: str, *, more: bool = False) -> Iterator[Book]:
        with self._troubles(), self._connection("rw", more=more) as connection:
            self._check_names()
            if _patiently(connection, "PRAGMA application_id").fetchone()[0] != APPLICATION:
                raise DataError(f"There is no ledger in {self.name}, but something else: {NO_LEDGER}")
            _patiently(connection, begin)
            try:
                cover = connection.execute(COVER).fetchall()
                yield Book(cover, lambda text, values: connection.execute(text, values).fetchall(), self.name)
                self._commit(connection)
            finally:
                _undo(connection)

    def _commit(self, connection: sqlite3.Connection) -> None:
        try:
            _patiently(connection, "COMMIT")
            return
        except sqlite3.Error as error:
            said = str(error)
        if "full" in said:
            # A write failed before the last page of the log was there: nothing of it counts.
            raise DataError(self._words(said)) from None
        raise Lost(self.name, said) from None

    @contextmanager
    def _connection(self, mode: str, *, more: bool = False) -> Iterator[sqlite3.Connection]:
        """A connection of this process alone; with `more` it is kept for the next to ask."""
        with GATE.inside():
            kept = self._kept() or _Kept(self._opened(mode), self._place())
            well = False
            try:
                yield kept.connection
                well = True
            finally:
                if well and more and not self._idle:
                    self._idle.append(kept)
                else:
                    kept.connection.close()

    def _kept(self) -> _Kept | None:
        """The connection of the last charge, if the file is still the same."""
        try:
            kept = self._idle.pop()
        except IndexError:
            return None
        if kept.place != self._place():
            kept.connection.close()
            return None
        return kept

    def _place(self) -> tuple[int, int]:
        """Which file stands under the name now."""
        try:
            found = self.path.stat()
            return found.st_dev, found.st_ino
        except OSError:
            return 0, 0

    def _check_names(self) -> None:
        """SQLite names its log after the file: who comes by another hard link does not see what stands in it."""
        names = self.path.stat().st_nlink
        if names > 1:
            raise DataError(
                f"The file of the ledger {self.name} has {names} names (hard links), and each would forget what was "
                "charged under the others. Remove all names but one. Nothing was entered."
            )

    def _opened(self, mode: str) -> sqlite3.Connection:
        if not self.path.parent.is_dir():
            raise DataError(f"There is no folder {str(self.path.parent)!r} for the ledger {self.name}. Make it first.")
        if mode == "rw" and not self.path.exists():
            raise DataError(f"There is no ledger at {self.name}: {NO_LEDGER}")
        connection = sqlite3.connect(
            f"file:{quote(str(self.path))}?mode={mode}",
            uri=True,
            timeout=PATIENCE,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {LOG}")
        return connection

    @contextmanager
    def _troubles(self) -> Iterator[None]:
        """What the file system or another process did, in public words."""
        try:
            yield
            return
        except sqlite3.IntegrityError as error:
            refused = str(error)
            problem: DpfdaError = LedgerDamaged(
                f"The ledger {self.name} refused an entry by its own guard: {refused.removeprefix('dpfda: ')}. Nothing "
                "was entered."
            )
        except sqlite3.Error as error:
            said = str(error)
            damaged = "malformed" in said or "no such table" in said or "no such column" in said
            problem = LedgerDamaged(self._words(said)) if damaged else DataError(self._words(said))
        except OSError as error:
            problem = DataError(self._words(f"unable to open it, {(error.strerror or 'unknown trouble').lower()}"))
        # Outside of the handler: no chain of frames goes with it.
        raise problem from None

    def _words(self, said: str) -> str:
        if "locked" in said or "busy" in said:
            return (
                f"The ledger {self.name} was kept busy by other processes for {PATIENCE:g} seconds. Nothing was "
                "entered; try again."
            )
        if "not a database" in said:
            return f"{self.name} is no ledger: the file is something else. Name another file."
        if "malformed" in said or "no such" in said:
            return f"The ledger {self.name} is damaged: {said}. Nothing was entered; take a fresh copy of it."
        way = {
            "readonly": "It may only be read here; open it where it may be written.",
            "unable to open": "Look at the permissions of the file and its folder.",
            "full": "Make room on the disk.",
        }
        out = next((text for word, text in way.items() if word in said), "Try again.")
        return f"The ledger {self.name} cannot be used: {said}. {out} Nothing was entered."


@dataclass(frozen=True, slots=True)
class _Kept:
    connection: sqlite3.Connection
    place: tuple[int, int]


def _close(idle: list[_Kept]) -> None:
    while idle:
        idle.pop().connection.close()


def _undo(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


def _patiently(connection: sqlite3.Connection, statement: str) -> Any:
    """Run a statement, and wait for the others as long as it takes: some locks do not wait by themselves."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return connection.execute(statement)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
        time.sleep(0.005)

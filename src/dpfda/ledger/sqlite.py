"""Ledgers in a file: SQLite with a write-ahead log, synchronous at every commit."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4
from weakref import finalize

from dpfda.arrays import may_never_end
from dpfda.errors import DataError, DpfdaError, LedgerDamaged
from dpfda.ledger.anchor import LogHead, Mark
from dpfda.ledger.chain import COVER, OUTPUTS, SCHEMA, Transaction, VerifiedChain, scan
from dpfda.ledger.database import FORK_LOCK, MAKE_ONE, PATIENCE, Database, DatabaseSession, Lost, NoLedger
from dpfda.ledger.schema import name_of, sqlite_schema

APPLICATION = 0x64706664  # "dpfd", in the header of the file
LOG = 32  # pages in the log before it is moved into the file
CONTENT = ("CHECK constraint", "NULL value")  # what the chain itself decides; `check` looks at these too
UNREADABLE = "malformed, something in it cannot be read"
# Errors that only a damaged file gives: statements here are right, and the tables are those that were made.
DAMAGE = {
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_INTERNAL,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_TOOBIG,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_RANGE,
    sqlite3.SQLITE_SCHEMA,
}


class SqliteDatabase(Database):
    """A ledger in a file; the connection of the last charge stays open, so that the next one waits for the disk once.

    Closing the last connection moves the log into the file; until then a note beside it says how far the log goes. With
    an anchor no connection stays open (`keeps` is False): then the file alone is the whole ledger at any time, and an
    older copy in its place is recognised as one.
    """

    _session: _SqliteSession

    def __init__(self, path: Path, *, keeps: bool) -> None:
        self.path = path
        self.name = f"sqlite:///{path}"
        self.keeps = keeps
        self._head = LogHead(path)
        self._session = _SqliteSession()
        FORK_LOCK.members.add(self)
        finalize(self, _close, self._session, self._head)

    def close(self) -> None:
        _close(self._session, self._head)

    def make(self) -> None:
        with self._troubles(), self._connection("rwc") as connection:
            if _patiently(connection, "PRAGMA application_id").fetchone()[0] == APPLICATION:
                return
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                _patiently(connection, "PRAGMA journal_mode = WAL")
            _patiently(connection, "BEGIN IMMEDIATE")
            try:
                if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                    for statement in sqlite_schema():
                        connection.execute(statement)
                    connection.execute("INSERT INTO dpfda_ledger VALUES (1, ?, ?)", (uuid4().hex, SCHEMA))
                    connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute("COMMIT")
            finally:
                _undo(connection)

    @contextmanager
    def writing(self, *, more: bool = False) -> Iterator[Transaction]:
        with self._transaction("BEGIN IMMEDIATE", more=more and self.keeps) as transaction:
            yield transaction

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        with self._transaction("BEGIN") as transaction:
            yield transaction

    def problems(self) -> list[str]:
        with self._troubles(), self._connection("rw") as connection:
            return _problems(connection)

    def guards(self) -> list[str]:
        with self._troubles(), self._connection("rw") as connection:
            found = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall())
        return [name_of(text) for text in sqlite_schema() if found.get(name_of(text)) != text]

    @contextmanager
    def _transaction(self, begin: str, *, more: bool = False) -> Iterator[Transaction]:
        reads = begin == "BEGIN"
        with self._troubles(), self._connection("rw", more=more, reads=reads) as connection:
            self._check_names()
            self._check_kind(connection)
            # Both before the transaction begins: what they know of was entered by then, so it must stand in the file.
            noted, known = self._head.seen(), self._session.verified
            start = 0 if known is None else len(known.events)
            _patiently(connection, begin)
            try:
                transaction = self._read(connection, noted, known, start)
                yield transaction
                if transaction.grown:
                    # Once more in the header of the file: a table that ends early is noticed.
                    connection.execute(f"PRAGMA user_version = {transaction.head[0]}")
                self._commit(connection)
                transaction.settle()
                if transaction.grown and self.keeps:
                    self._head.note(Mark(transaction.id, *transaction.head))
            finally:
                _undo(connection)

    def _read(
        self, connection: sqlite3.Connection, noted: list[Mark], known: VerifiedChain | None, start: int
    ) -> Transaction:
        """The ledger as this transaction sees it, checked as far as anything may rest on it."""

        def rows(text: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
            return connection.execute(text, values).fetchall()

        verified = self.cover(rows(COVER, ()), known)
        new = verified is not known
        size = verified.grow(0 if new else start, rows(scan("dpfda_events NOT INDEXED"), (0 if new else start,)))
        stated = connection.execute("PRAGMA user_version").fetchone()[0]
        if stated > size:
            verified.damaged(stated, "is missing, and the header of the file counts it")
        for mark in noted:
            if mark.ledger == verified.ledger and (mark.number > size or verified.link(mark.number) != mark.digest):
                verified.damaged(mark.number, f"is missing, and {str(self._head.path)!r} has it: a log was cut off")
        if new:
            verified.check_outputs(row[0] for row in rows(OUTPUTS, ()))
            broken = [text for text in _problems(connection) if not text.startswith(CONTENT)]
            if broken:
                raise LedgerDamaged(self._words(f"malformed, {broken[0]}"))
            self._session.verified = verified
        return Transaction(verified, size, rows)

    def _check_kind(self, connection: sqlite3.Connection) -> None:
        if _patiently(connection, "PRAGMA application_id").fetchone()[0] == APPLICATION:
            return
        if connection.execute("SELECT count(*) FROM sqlite_master WHERE name LIKE 'dpfda%'").fetchone()[0]:
            raise LedgerDamaged(self._words("malformed, its header does not call it a ledger"))
        raise DataError(f"There is no ledger in {self.name}, but something else: ", MAKE_ONE)

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
    def _connection(self, mode: str, *, more: bool = False, reads: bool = True) -> Iterator[sqlite3.Connection]:
        """A connection of this process alone; with `more` it is kept for the next to ask."""
        with FORK_LOCK.inside():
            if reads and mode == "rw" and self._only_read():
                with self._copied() as connection:
                    yield connection
                return
            kept = self._kept() or _IdleConnection(self._opened(mode), self._place())
            well = False
            try:
                yield kept.connection
                well = True
            finally:
                if well and more and not self._session.idle:
                    self._session.idle.append(kept)
                else:
                    kept.connection.close()
                    self._head.leave(self._session.verified)

    def _kept(self) -> _IdleConnection | None:
        """The connection of the last charge, if the file is still the same."""
        try:
            kept = self._session.idle.pop()
        except IndexError:
            return None
        if kept.place != self._place():
            kept.connection.close()
            return None
        return kept

    def _only_read(self) -> bool:
        """Whether this process may read the ledger, and not write beside it what SQLite needs to read a log."""
        own = os.access in os.supports_effective_ids
        places = (self.path, self.path.parent)
        return self.path.is_file() and not all(os.access(place, os.W_OK, effective_ids=own) for place in places)

    @contextmanager
    def _copied(self) -> Iterator[sqlite3.Connection]:
        """A connection to a copy of the file and its log, as they stood together at one moment."""
        with tempfile.TemporaryDirectory(prefix="dpfda-") as folder:
            copy = Path(folder) / "ledger.db"
            until = time.monotonic() + PATIENCE
            while not self._copy(copy):
                if time.monotonic() > until:
                    raise DataError(self._words("locked"))
                time.sleep(0.005)
            connection = _connected(copy, "rw")
            try:
                yield connection
            finally:
                connection.close()

    def _copy(self, copy: Path) -> bool:
        """Copy the file and its log; False if either was written meanwhile."""
        files = [self.path, self._head.log]
        before = [_state(file) for file in files]
        for file in files:
            target = copy.with_name(copy.name + file.name.removeprefix(self.path.name))
            target.unlink(missing_ok=True)
            with suppress(FileNotFoundError):
                target.write_bytes(file.read_bytes())
        return before == [_state(file) for file in files]

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
            raise NoLedger(self.name)
        if may_never_end(self.path):
            raise DataError(f"The ledger {self.name} cannot be used: it is a pipe or a device. Name a file.")
        return _connected(self.path, mode)

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
            problem = self._problem(error)
        except (UnicodeDecodeError, OverflowError):  # a text of the file, also one in an error of SQLite's
            problem = LedgerDamaged(self._words(UNREADABLE))
        except OSError as error:
            problem = DataError(self._words(f"unable to open it, {(error.strerror or 'unknown trouble').lower()}"))
        # Outside of the handler: no chain of frames goes with it.
        raise problem from None

    def _problem(self, error: sqlite3.Error) -> DpfdaError:
        said, code = str(error), getattr(error, "sqlite_errorcode", 0) & 0xFF
        if said.startswith("Could not decode"):
            return LedgerDamaged(self._words(UNREADABLE))
        if code == sqlite3.SQLITE_NOTADB:
            if not self._named_inside():
                return DataError(f"{self.name} is no ledger: the file is something else. Name another file.")
            return LedgerDamaged(self._words(f"malformed, {said}"))
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY and not self._only_read():
            # The file may be written, and SQLite does not: it does not know the format that the header names.
            return LedgerDamaged(self._words("malformed, its header names a format that cannot be written"))
        if code in DAMAGE or "malformed" in said or "no such" in said:
            return LedgerDamaged(self._words(f"malformed, {said}"))
        return DataError(self._words(said))

    def _named_inside(self) -> bool:
        """Whether a file that SQLite does not know has the tables of a ledger in it.

        A file that SQLite does know is never opened beside it: closing it again would let go of all locks that this
        process has on it, and others would take its log away.
        """
        try:
            return b"CREATE TABLE dpfda_events" in self.path.read_bytes()
        except OSError:
            return False

    def _words(self, said: str) -> str:
        if "locked" in said or "busy" in said:
            return (
                f"The ledger {self.name} was kept busy by other processes for {PATIENCE:g} seconds. Nothing was "
                "entered; try again."
            )
        if said.startswith("malformed, "):
            return (
                f"The ledger {self.name} is damaged: {said.removeprefix('malformed, ')}. Nothing was entered; put the "
                "newest whole copy back."
            )
        way = {
            "readonly": "It may only be read here; open it where it may be written.",
            "unable to open": "Look at the permissions of the file and its folder.",
            "full": "Make room on the disk.",
        }
        out = next((text for word, text in way.items() if word in said), "Try again.")
        return f"The ledger {self.name} cannot be used: {said}. {out} Nothing was entered."


@dataclass(frozen=True, slots=True)
class _IdleConnection:
    """A connection, and the device and inode of the file that it was opened on."""

    connection: sqlite3.Connection
    place: tuple[int, int]


@dataclass
class _SqliteSession(DatabaseSession):
    """At most one idle connection, beside the entries that were verified."""

    idle: list[_IdleConnection] = field(default_factory=list)  # taken and put back whole, which needs no lock


def _close(session: _SqliteSession, head: LogHead) -> None:
    while session.idle:
        session.idle.pop().connection.close()
    head.leave(session.verified)


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        timeout=PATIENCE,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute(f"PRAGMA wal_autocheckpoint = {LOG}")
    except BaseException:
        connection.close()
        raise
    return connection


def _problems(connection: sqlite3.Connection) -> list[str]:
    """What the database's own check finds: pages, indices and rows that do not fit together."""
    found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check").fetchall()]
    return [text for text in found if text != "ok"]


def _state(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns
    except FileNotFoundError:
        return None


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

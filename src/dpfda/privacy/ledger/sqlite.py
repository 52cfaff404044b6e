"""Come here for ledgers in a file: SQLite with a write-ahead log, synchronous at every commit."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from dpfda.errors import DataError, DpfdaError, LedgerDamaged
from dpfda.privacy.ledger.book import Book
from dpfda.privacy.ledger.database import NO_LEDGER, PATIENCE, Database, Lost
from dpfda.privacy.ledger.events import SCHEMA
from dpfda.privacy.ledger.guards import NEVER, RULES, tables

APPLICATION = 0x64706664  # "dpfd", in the header of the file
TYPES = {"integer": "INTEGER", "blob": "BLOB", "real": "REAL"}
WHOLE = tuple(
    f"{column} IS NULL OR typeof({column}) = '{kind}'"
    for kind, columns in (
        ("integer", ("number", "at", "dataset", "charged", "cost", "total", "cap")),
        ("blob", ("previous", "hash", "digest")),
        ("real", ("epsilon", "delta")),
    )
    for column in columns
)


def schema() -> list[str]:
    """Tables, indices and triggers; the triggers refuse before anything is done, whatever the statement says."""
    found = tables(**TYPES, whole=WHOLE)
    for table, rules in RULES.items():
        tests = "".join(f" SELECT RAISE(ABORT, 'dpfda: {said}') WHERE {test};" for test, said in rules)
        found.append(f"CREATE TRIGGER {table}_insert BEFORE INSERT ON {table} BEGIN{tests} END")
        for verb in ("UPDATE", "DELETE"):
            found.append(
                f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} BEGIN "
                f"SELECT RAISE(ABORT, 'dpfda: {NEVER}'); END"
            )
    return found


class SqliteDatabase(Database):
    """A file, opened anew for every transaction: nothing is inherited by a fork, shared by threads or left beside it.

    The last connection to close moves the log into the file, so that a copy of the file alone is a whole ledger.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = f"sqlite:///{path}"

    def make(self) -> None:
        with self._troubles(), self._connection("rwc") as connection:
            if connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION:
                return
            _patiently(connection, "PRAGMA journal_mode = WAL")
            _patiently(connection, "BEGIN IMMEDIATE")
            try:
                kept = connection.execute("SELECT name FROM sqlite_master").fetchall()
                if not kept:
                    for statement in schema():
                        connection.execute(statement)
                    connection.execute("INSERT INTO dpfda_ledger VALUES (1, ?, ?)", (uuid4().hex, SCHEMA))
                    connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[Book]:
        with self._transaction("BEGIN IMMEDIATE") as book:
            yield book

    @contextmanager
    def reading(self) -> Iterator[Book]:
        with self._transaction("BEGIN") as book:
            yield book

    def guards(self) -> list[str]:
        with self._troubles(), self._connection("rw") as connection:
            found = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall())
        return [_name(text) for text in schema() if found.get(_name(text)) != text]

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Book]:
        with self._troubles(), self._connection("rw") as connection:
            self._look(connection)
            _patiently(connection, begin)
            try:
                yield Book(lambda text, values: connection.execute(text, values).fetchall(), self.name)
                self._commit(connection)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def _commit(self, connection: sqlite3.Connection) -> None:
        try:
            _patiently(connection, "COMMIT")
            return
        except sqlite3.Error as error:
            problem = self._words(str(error))
        raise Lost(problem)

    def _look(self, connection: sqlite3.Connection) -> None:
        """Refuse what is no ledger."""
        if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
            raise DataError(f"There is no ledger in {self.name}: {NO_LEDGER}")

    @contextmanager
    def _connection(self, mode: str) -> Iterator[sqlite3.Connection]:
        if mode == "rw" and not self.path.exists():
            raise DataError(f"There is no ledger at {self.name}: {NO_LEDGER}")
        if not self.path.parent.is_dir():
            raise DataError(f"There is no folder {str(self.path.parent)!r} for the ledger {self.name}. Make it first.")
        where = f"file:{quote(str(self.path))}?mode={mode}"
        connection = sqlite3.connect(where, uri=True, timeout=PATIENCE, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            yield connection
        finally:
            connection.close()

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
        # Outside of the handler: no chain of frames goes with it.
        raise problem

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


def _name(statement: str) -> str:
    words = statement.removeprefix("CREATE UNIQUE").removeprefix("CREATE").split()
    return words[1]

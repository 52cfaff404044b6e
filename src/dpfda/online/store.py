"""Where answers are kept: in SQLite, durable before they leave, or in memory."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dpfda.arrays import brief, may_never_end
from dpfda.errors import DataError, UsageError
from dpfda.online.engine import Answer

FORMAT = "dpfda-store-1"
PREFIX = "sqlite:///"
PATIENCE = 60.0  # seconds that one process waits for another
_SCHEMA = """
CREATE TABLE IF NOT EXISTS header (name TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS answers (number INTEGER PRIMARY KEY, point BLOB NOT NULL UNIQUE, state BLOB NOT NULL);
"""
# Connections of a parent process: a child must neither use nor close them, or the parent's locks would be gone.
_INHERITED: list[sqlite3.Connection] = []


@runtime_checkable
class Store(Protocol):
    """Where the answers of one oracle are kept.

    One process writes at a time, and what was committed is never changed: an answer that left is the same for ever.
    """

    @property
    def name(self) -> str:
        """What messages call it."""

    def header(self) -> dict[str, Any] | None:
        """The public description that the store is bound to; None if it is new."""

    def writing(self) -> Any:
        """A context in which this process alone writes; all of it is durable at the end, or none."""

    def bind(self, header: dict[str, Any]) -> None:
        """Write the public description of the release into a new store."""

    def since(self, number: int) -> list[Answer]:
        """Answers after the first `number`, in the order in which they were given."""

    def append(self, number: int, answers: list[Answer]) -> None:
        """More answers, the first of them after `number` earlier ones."""

    def close(self) -> None:
        """Close the file; the next use opens it again."""


class MemoryStore:
    """Answers that live as long as the process; a forked child is refused, since it would answer by itself."""

    name = "memory"

    def __init__(self) -> None:
        self._header: dict[str, Any] | None = None
        self._answers: list[Answer] = []
        self._process = os.getpid()
        self._lock = threading.RLock()

    def header(self) -> dict[str, Any] | None:
        return self._header

    @contextmanager
    def writing(self) -> Iterator[None]:
        if self._process != os.getpid():
            raise UsageError(
                "Answers kept in memory belong to one process: a copy of it would give other answers to the same "
                "question. Open a store such as 'sqlite:///oracle.db'."
            )
        with self._lock:
            yield

    def bind(self, header: dict[str, Any]) -> None:
        self._header = header

    def since(self, number: int) -> list[Answer]:
        return self._answers[number:]

    def append(self, number: int, answers: list[Answer]) -> None:
        self._answers += answers

    def close(self) -> None:
        pass


class SqliteStore:
    """A file; write-ahead log, synchronous at every commit, a connection of its own in every process.

    It is one path of one noise. A copy that is asked further, or a backup put back after answers left, would draw
    another noise for the same charge: whoever keeps backups restores them to read, not to ask.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._process = -1
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.RLock()  # several oracles may share a store; its connection can write for one at a time

    @property
    def name(self) -> str:
        return f"{PREFIX}{self.path}"

    def header(self) -> dict[str, Any] | None:
        with self._troubles(), self._alone():
            row = self._connect().execute("SELECT text FROM header WHERE name = 'header'").fetchone()
        return None if row is None else _header(row[0], self.name)

    @contextmanager
    def writing(self) -> Iterator[None]:
        with self._troubles(), self._alone():
            connection = self._connect()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def bind(self, header: dict[str, Any]) -> None:
        text = json.dumps(header, sort_keys=True, allow_nan=False)
        self._connect().execute("INSERT INTO header VALUES ('header', ?)", (text,))

    def since(self, number: int) -> list[Answer]:
        # Alone: another thread's transaction on the same connection would show what it has not committed.
        with self._troubles(), self._alone():
            rows = (
                self._connect()
                .execute("SELECT number, point, state FROM answers WHERE number > ? ORDER BY number", (number,))
                .fetchall()
            )
        found = []
        for expected, (have, point, state) in enumerate(rows, start=number + 1):
            if have != expected or not point or not state or len(point) % 8 or len(state) % 8:
                raise DataError(f"The store {self.name!r} is damaged. Take a fresh copy of it.")
            found.append(Answer(_doubles(point), _doubles(state)))
        return found

    def append(self, number: int, answers: list[Answer]) -> None:
        self._connect().executemany(
            "INSERT INTO answers VALUES (?, ?, ?)",
            [
                (index, _bytes(answer.point), _bytes(answer.state))
                for index, answer in enumerate(answers, start=number + 1)
            ],
        )

    def close(self) -> None:
        with self._alone():
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def _alone(self) -> threading.RLock:
        if self._process not in (-1, os.getpid()):
            # A thread of the parent may have held it.
            self._lock = threading.RLock()
        return self._lock

    def _connect(self) -> sqlite3.Connection:
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        if self._connection is not None:
            _INHERITED.append(self._connection)
        if may_never_end(self.path):
            raise DataError(f"The store {self.name!r} cannot be used: it is a pipe or a device. Name a file.")
        connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        self._prepare(connection)
        self._connection, self._process = connection, os.getpid()
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        # Several processes may create the file at once: the switch to a log does not wait for the others by itself.
        until = time.monotonic() + PATIENCE
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.executescript(_SCHEMA)
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.01)

    @contextmanager
    def _troubles(self) -> Iterator[None]:
        """What the file system or another process did, in public words."""
        try:
            yield
        except sqlite3.Error as error:
            problem = str(error)
        else:
            return
        # Outside of the handler: no chain of frames goes with it.
        raise DataError(f"The store {self.name!r} cannot be used: {problem}. Name another file, or try again.")


def as_store(store: str | Path | Store | None) -> Store:
    """A store from what people type: `sqlite:///oracle.db`, a path, or None for memory."""
    if store is None:
        return MemoryStore()
    if isinstance(store, str):
        if store.startswith(PREFIX) and len(store) > len(PREFIX):
            return SqliteStore(Path(store.removeprefix(PREFIX)))
        raise UsageError(
            f"A store is named 'sqlite:///oracle.db', a Path, or None for memory, got {brief(store)}.",
            parameter="store",
            value=store,
        )
    if isinstance(store, Path):
        return SqliteStore(store)
    if isinstance(store, type) or not callable(getattr(store, "header", None)):
        raise UsageError(
            f"A store is named 'sqlite:///oracle.db', a Path, or None for memory, got {brief(store)}.",
            parameter="store",
            value=store,
        )
    return store


def header_of(store: str | Path | Store | None) -> dict[str, Any] | None:
    """The header of a store; None if it is new or does not exist, and then nothing is made."""
    where = as_store(store)
    if isinstance(where, SqliteStore) and not where.path.is_file():
        return None
    header = where.header()
    if not isinstance(store, Store):
        where.close()
    return header


def check_header(found: dict[str, Any], expected: dict[str, Any], name: str) -> None:
    """Refuse a store that was made for another private function."""
    found, expected = _flat(found), _flat(expected)
    different = sorted(key for key in expected if found.get(key) != expected[key])
    if different:
        said = "; ".join(
            f"{key}: {_short(found.get(key))} there, {_short(expected.get(key))} here" for key in different
        )
        raise UsageError(
            f"The store {brief(name)} belongs to another release ({said}). Open it as it was made, or name a new store."
        )


def _flat(header: dict[str, Any]) -> dict[str, Any]:
    """A header with the parts of its law by their own names, so that a difference can be named."""
    law = header.get("law")
    if isinstance(law, dict):
        law = {name: value for name, value in law.items() if name not in ("mu", "scale")} | {"noise": law.get("scale")}
    return {key: value for key, value in header.items() if key != "law"} | (law if isinstance(law, dict) else {})


def _short(value: object) -> str:
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _header(text: str, name: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise DataError(f"The store {brief(name)} is not of format {FORMAT}. Take a fresh copy of it.")
    return data


def _doubles(data: bytes) -> tuple[float, ...]:
    return tuple(np.frombuffer(data, dtype="<f8").tolist())


def _bytes(numbers: tuple[float, ...]) -> bytes:
    return np.array(numbers, dtype="<f8").tobytes()

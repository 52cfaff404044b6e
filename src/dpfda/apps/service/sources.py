"""Come here for what may lie in the folder: release files, and stores of oracles, which are opened without records."""

from __future__ import annotations

import filecmp
import sqlite3
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any

from dpfda.apps.service.entry import Entry, entry
from dpfda.errors import DataError, DpfdaError
from dpfda.releases import load

FAILURES = (DpfdaError, ArithmeticError, AttributeError, LookupError, MemoryError, OSError, TypeError, ValueError)
MARK = ".withdrawn"


def sources(folder: Path) -> list[Path]:
    """The files of a folder that may be served, release files before stores."""
    stores = [file for file in folder.glob("*.db") if not file.with_name(file.name + MARK).exists()]
    return sorted(folder.glob("*.json")) + sorted(stores)


def read(name: str, file: Path) -> Entry | None:
    """What a file holds, if it may be served."""
    thing = None
    try:
        thing = _opened(file) if file.suffix == ".db" else load(file)
        found = entry(name, thing, file, stamp(file))
        if found.answers.public:  # asking an oracle would make an answer
            found.answers.probe()
    except FAILURES:
        with suppress(Exception):
            thing.close()  # type: ignore[union-attr]
        return None
    return found


def _opened(file: Path) -> Any:
    """An oracle over what a store holds. It has no records, so that it can answer nothing that was not answered."""
    from dpfda.online import open_store

    # Looked at without writing: a database of something else must stay as it is.
    with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        try:
            connection.execute("SELECT text FROM header LIMIT 1")
        except sqlite3.Error:
            raise DataError("This is no store.") from None
    return open_store(file)


def stamp(file: Path) -> object:
    """What changes when a file does; a store grows while it stays the same."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino if file.suffix == ".db" else (found.st_mtime_ns, found.st_size, found.st_ino)


def put_away(file: Path) -> None:
    """Take a file out of what is served, and keep it: it has been paid for."""
    if file.suffix == ".db":
        # Other processes may be writing to the store: under a new name it would be a second release with other answers.
        file.with_name(file.name + MARK).touch()
        return
    for number in count(1):
        target = file.with_name(f"{file.name}{MARK}{'' if number == 1 else f'-{number}'}")
        if not target.exists() or filecmp.cmp(file, target, shallow=False):
            with suppress(FileNotFoundError):
                file.replace(target)
            return

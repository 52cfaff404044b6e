"""What is being served: files in a folder, oracles beside them, publishing and withdrawing."""

from __future__ import annotations

import filecmp
import json
import os
import re
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any

from dpfda.arrays import Array, brief
from dpfda.errors import DataError, DpfdaError, UsageError
from dpfda.releases import load
from dpfda.service.answers import Answerer, Worker, answerer
from dpfda.service.refusals import NO_FOLDER, NOT_FOUND, TAKEN, UNFIT, Refused


class ServedEntry:
    """One id of the service: the release or oracle behind it, the file it came from, and its card as JSON."""

    __slots__ = ("_worker", "answers", "card", "file", "id", "stamp", "summary")

    def __init__(self, name: str, answers: Answerer, file: Path | None, stamp: object) -> None:
        self.id, self.answers, self.file, self.stamp = name, answers, file, stamp
        self._worker: Worker | None = None
        here = f"/releases/{name}"
        links = {"self": here, "card": f"{here}/card", "evaluate": f"{here}/evaluate"}
        self.summary = {
            "id": name,
            "kind": answers.kind,
            "what": str(answers.card.get("what", answers.kind)),
            "dataset": str(answers.card.get("dataset", "")),
            "links": links | ({} if answers.file is None else {"file": f"{here}/file"}),
        }
        asked = {
            "coordinates": len(answers.lower),
            "lower": list(answers.lower),
            "upper": list(answers.upper),
            "names": list(answers.names),
            "answers": "at once" if answers.public else "at the deadline",
        }
        self.card = json.dumps({**answers.card, **self.summary, **asked}, allow_nan=False).encode()

    async def ask(self, points: Array, *, most: int) -> Array:
        """What an online oracle answers, in its own thread, together with whoever else waits."""
        if self._worker is None:
            self._worker = Worker(self.answers.evaluate, most=most)
        return await self._worker.ask(points)

    def close(self) -> None:
        """Let the thread finish what it does, then close what it asks."""
        if self._worker is not None:
            self._worker.close()
        self.answers.close()


def entry(name: str, thing: Any, file: Path | None = None, stamp: object = None) -> ServedEntry:
    """An entry for a release, an oracle or any `Answers`."""
    made = answerer(thing)
    try:
        return ServedEntry(name, made, file, stamp)
    except (TypeError, ValueError):
        raise UsageError("The card is no JSON: it holds something that is not finite, or no number or text.") from None


FAILURES = (DpfdaError, ArithmeticError, AttributeError, LookupError, MemoryError, OSError, TypeError, ValueError)
MARK = ".withdrawn"


def sources(folder: Path) -> list[Path]:
    """The files of a folder that may be served, release files before stores."""
    stores = [file for file in folder.glob("*.db") if not file.with_name(file.name + MARK).exists()]
    return sorted(folder.glob("*.json")) + sorted(stores)


def read(name: str, file: Path) -> ServedEntry | None:
    """The entry for a file; None if it may not be served."""
    thing: Any = None
    try:
        thing = _opened(file) if file.suffix == ".db" else load(file)
        found = entry(name, thing, file, stamp(file))
        if found.answers.public:  # asking an oracle would make an answer
            found.answers.probe()
    except FAILURES:
        with suppress(Exception):
            thing.close()
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
    """A value that changes when a file is replaced; the stamp of a store stays, since it grows while it is served."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino if file.suffix == ".db" else (found.st_mtime_ns, found.st_size, found.st_ino)


def put_away(file: Path) -> None:
    """Stop serving a file, and keep it under another name: it has been paid for."""
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


ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class ServedReleases:
    """Everything that is served, by id; the folder is read again only when the owner asks for it."""

    def __init__(self, things: Mapping[str, Any], folder: Path | None = None) -> None:
        self.folder = folder
        self.refused: tuple[str, ...] = ()  # files in the folder that are not served
        self._changing = threading.Lock()
        self._entries: dict[str, ServedEntry] = {}
        for name, thing in things.items():
            if not ID.fullmatch(name):
                raise UsageError(
                    f"An id has 1 to 100 letters, digits, dots, hyphens and underscores, a letter or digit first, got "
                    f"{brief(name)}."
                )
            self._entries[name] = entry(name, thing)
        if folder is not None:
            if not folder.is_dir():
                raise DataError(f"No folder {str(folder)!r}. Name the folder that holds the release files.")
            self.reload()

    def __iter__(self) -> Iterator[ServedEntry]:
        entries = self._entries
        return iter([entries[name] for name in sorted(entries)])

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, name: str) -> ServedEntry:
        """The entry of this id; the refusal NOT_FOUND if there is none."""
        found = self._entries.get(name)
        if found is None:
            raise Refused(NOT_FOUND)
        return found

    def reload(self) -> None:
        """Look at the folder again: new files are served, changed ones anew, those that are gone no more."""
        if self.folder is None:
            raise Refused(NO_FOLDER)
        with self._changing:
            kept = {name: known for name, known in self._entries.items() if known.file is None}
            refused = []
            for file in sources(self.folder):
                taken = file.stem in kept or not ID.fullmatch(file.stem)
                found = None if taken else self._entry_of(file)
                if found is None:
                    refused.append(file.name)
                else:
                    kept[file.stem] = found
            gone = [known for name, known in self._entries.items() if kept.get(name) is not known]
            # One assignment: whoever asks meanwhile sees the old entries or the new ones.
            self._entries, self.refused = kept, tuple(refused)
        for known in gone:
            known.close()

    def _entry_of(self, file: Path) -> ServedEntry | None:
        """The entry of a file: the present one if the file has not changed; None if it may not be served."""
        known = self._entries.get(file.stem)
        if known is not None and known.file == file and known.stamp == stamp(file):
            return known
        return read(file.stem, file)

    def publish(self, name: str, body: bytes) -> ServedEntry:
        """Serve a release from now on; its file is complete on the disk first."""
        if self.folder is None:
            raise Refused(NO_FOLDER)
        with self._changing:
            target = self.folder / f"{name}.json"
            if name in self._entries or target.exists():
                raise Refused(TAKEN)
            draft = self.folder / f"{name}.json.part"
            try:
                with draft.open("wb") as file:
                    file.write(body)
                    file.flush()
                    os.fsync(file.fileno())
                found = read(name, draft)
                if found is None:
                    raise Refused(UNFIT)
                draft.replace(target)
                _sync(self.folder)
            finally:
                with suppress(OSError):
                    draft.unlink(missing_ok=True)
            published = ServedEntry(name, found.answers, target, stamp(target))
            self._entries = {**self._entries, name: published}
            return published

    def withdraw(self, name: str) -> None:
        """Stop serving a release."""
        with self._changing:
            known = self.get(name)
            if known.file is not None and known.file.exists():
                put_away(known.file)
            self._entries = {other: kept for other, kept in self._entries.items() if other != name}
        known.close()

    def close(self) -> None:
        """Close the oracles."""
        for known in self:
            known.close()


def _sync(folder: Path) -> None:
    """The name of a new file is durable only when its folder is."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

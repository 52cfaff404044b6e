"""Come here for what is being served: files in a folder, oracles beside them, publishing and withdrawing."""

from __future__ import annotations

import filecmp
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from dpfda.apps.service.answers import Answerer, answerer
from dpfda.apps.service.refusals import NO_FOLDER, NOT_FOUND, TAKEN, UNFIT, Refused
from dpfda.errors import DataError, DpfdaError, UsageError
from dpfda.releases import load

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Entry:
    """One thing that is served, with its answers to questions about itself made in advance."""

    __slots__ = ("answers", "card", "file", "id", "stamp", "summary")

    def __init__(self, name: str, answers: Answerer, file: Path | None = None, stamp: object = None) -> None:
        self.id, self.answers, self.file, self.stamp = name, answers, file, stamp
        here = f"/releases/{name}"
        links = {"self": here, "card": f"{here}/card", "evaluate": f"{here}/evaluate"}
        self.summary = {
            "id": name,
            "kind": answers.kind,
            "what": str(answers.card.get("what", answers.kind)),
            "dataset": str(answers.card.get("dataset", "")),
            "links": links | ({} if file is None else {"file": f"{here}/file"}),
        }
        asked = {
            "coordinates": len(answers.lower),
            "lower": list(answers.lower),
            "upper": list(answers.upper),
            "names": list(answers.names),
            "answers": "at once" if answers.public else "at the deadline",
        }
        self.card = json.dumps({**answers.card, **self.summary, **asked}, allow_nan=False).encode()


class Shelf:
    """Everything that is served, by id. Files are looked at when the owner says so, never while somebody asks."""

    def __init__(self, things: Mapping[str, Any], folder: Path | None = None) -> None:
        self.folder = folder
        self.refused: tuple[str, ...] = ()  # files in the folder that are not served
        self._changing = threading.Lock()
        self._entries: dict[str, Entry] = {}
        for name, thing in things.items():
            if not ID.fullmatch(name):
                raise UsageError(
                    f"An id has 1 to 100 letters, digits, dots, hyphens and underscores, a letter or digit first, got "
                    f"{name!r}."
                )
            self._entries[name] = _entry(name, thing)
        if folder is not None:
            if not folder.is_dir():
                raise DataError(f"No folder {str(folder)!r}. Name the folder that holds the release files.")
            self.reload()

    def __iter__(self) -> Iterator[Entry]:
        entries = self._entries
        return iter([entries[name] for name in sorted(entries)])

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, name: str) -> Entry:
        found = self._entries.get(name)
        if found is None:
            raise Refused(NOT_FOUND)
        return found

    def reload(self) -> None:
        """Look at the folder again: new files are served, changed ones anew, those that are gone no more."""
        if self.folder is None:
            raise Refused(NO_FOLDER)
        with self._changing:
            kept = {name: entry for name, entry in self._entries.items() if entry.file is None}
            refused = []
            for file in sorted(self.folder.glob("*.json")):
                known, stamp = self._entries.get(file.stem), _stamp(file)
                if known is not None and known.file is not None and known.stamp == stamp:
                    kept[file.stem] = known
                elif ID.fullmatch(file.stem) and file.stem not in kept and (found := _read(file.stem, file)):
                    kept[file.stem] = found
                else:
                    refused.append(file.name)
            # One assignment: whoever asks meanwhile sees the old shelf or the new one.
            self._entries, self.refused = kept, tuple(refused)

    def publish(self, name: str, body: bytes) -> Entry:
        """Serve a release from now on, its file whole on the disk before anybody hears of it."""
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
                found = _read(name, draft)
                if found is None:
                    raise Refused(UNFIT)
                draft.replace(target)
                _sync(self.folder)
            finally:
                with suppress(OSError):
                    draft.unlink(missing_ok=True)
            entry = Entry(name, found.answers, target, _stamp(target))
            self._entries = {**self._entries, name: entry}
            return entry

    def withdraw(self, name: str) -> None:
        """Serve a release no more; its file stays in the folder under another name, since it has been paid for."""
        with self._changing:
            entry = self.get(name)
            if entry.file is not None:
                with suppress(FileNotFoundError):
                    _put_away(entry.file)
            self._entries = {other: kept for other, kept in self._entries.items() if other != name}
            entry.answers.close()

    def close(self) -> None:
        """Close the oracles."""
        for entry in self._entries.values():
            entry.answers.close()


def _entry(name: str, thing: Any, file: Path | None = None) -> Entry:
    made = answerer(thing)
    try:
        return Entry(name, made, file, None if file is None else _stamp(file))
    except (TypeError, ValueError):
        raise UsageError("The card is no JSON: it holds something that is not finite, or no number or text.") from None


def _read(name: str, file: Path) -> Entry | None:
    """What a file holds, if it is a release that may be served."""
    try:
        found = _entry(name, load(file), file)
        found.answers.probe()
    except (DpfdaError, ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError):
        return None
    return found


def _stamp(file: Path) -> object:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _put_away(file: Path) -> None:
    for number in count(1):
        target = file.with_name(f"{file.name}.withdrawn{'' if number == 1 else f'-{number}'}")
        if not target.exists() or filecmp.cmp(file, target, shallow=False):
            file.replace(target)
            return


def _sync(folder: Path) -> None:
    """The name of a new file is durable only when its folder is."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

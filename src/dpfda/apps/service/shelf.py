"""Come here for what is being served: files in a folder, oracles beside them, publishing and withdrawing."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpfda.apps.service.entry import Entry, entry
from dpfda.apps.service.refusals import NO_FOLDER, NOT_FOUND, TAKEN, UNFIT, Refused
from dpfda.apps.service.sources import put_away, read, sources, stamp
from dpfda.arrays import brief
from dpfda.errors import DataError, UsageError

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


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
                    f"{brief(name)}."
                )
            self._entries[name] = entry(name, thing)
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
            kept = {name: known for name, known in self._entries.items() if known.file is None}
            refused = []
            for file in sources(self.folder):
                known = self._entries.get(file.stem)
                if file.stem in kept or not ID.fullmatch(file.stem):
                    refused.append(file.name)
                elif known is not None and known.file == file and known.stamp == stamp(file):
                    kept[file.stem] = known
                elif (found := read(file.stem, file)) is not None:
                    kept[file.stem] = found
                else:
                    refused.append(file.name)
            gone = [known for name, known in self._entries.items() if kept.get(name) is not known]
            # One assignment: whoever asks meanwhile sees the old shelf or the new one.
            self._entries, self.refused = kept, tuple(refused)
        for known in gone:
            known.close()

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
                found = read(name, draft)
                if found is None:
                    raise Refused(UNFIT)
                draft.replace(target)
                _sync(self.folder)
            finally:
                with suppress(OSError):
                    draft.unlink(missing_ok=True)
            published = Entry(name, found.answers, target, stamp(target))
            self._entries = {**self._entries, name: published}
            return published

    def withdraw(self, name: str) -> None:
        """Serve a release no more."""
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

"""The newest entry of a ledger in a file, noted beside its log: a log that was cut off or taken away is noticed."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dpfda.ledger.anchor import Mark, locked
from dpfda.ledger.book import Verified

_SLOT = 128  # bytes; there are two, so that one is whole while the other is written
_LINE = re.compile(rb"([0-9a-f]{32}) ([1-9][0-9]{0,17}) ([0-9a-f]{64}) *\n")


@dataclass(frozen=True, slots=True)
class LogHead:
    """A small file that is there as long as the log is: which entry was the newest when a writer last returned.

    While a log waits to be moved into the file, SQLite takes a log that is missing or ends early for one that was
    never written. It is no anchor: whoever puts back the file, its log and this note together is not noticed. It is
    not forced to the disk, since a log that was is not lost with the power.
    """

    ledger: Path

    @property
    def path(self) -> Path:
        return self.ledger.with_name(f"{self.ledger.name}-head")

    @property
    def log(self) -> Path:
        return self.ledger.with_name(f"{self.ledger.name}-wal")

    def seen(self) -> list[Mark]:
        """The newest entries that were noted, of this ledger or of one that was here before; none where no note is."""
        try:
            return _marks(self.path.read_bytes())
        except OSError:
            return []

    def note(self, mark: Mark) -> None:
        """Note an entry, unless a later one of the same ledger is; a charge does not fail for a note."""
        with suppress(OSError):
            self._note(mark)

    def _note(self, mark: Mark) -> None:
        while True:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                with locked(file):
                    if not self._same(file):
                        continue  # the last one to leave has removed it meanwhile
                    slots = [_parsed(os.pread(file, _SLOT, place * _SLOT)) for place in (0, 1)]
                    own = [found.number if found and found.ledger == mark.ledger else 0 for found in slots]
                    if max(own) < mark.number:
                        line = f"{mark.ledger} {mark.number} {mark.digest.hex()}".ljust(_SLOT - 1) + "\n"
                        os.pwrite(file, line.encode(), _SLOT * own.index(min(own)))
                    return
            finally:
                os.close(file)

    def leave(self, verified: Verified | None) -> None:
        """Remove the note where the log is gone and the file is known to hold what was noted.

        Where the folder cannot be looked into the note stays: leaving a ledger never fails, also after a commit.
        """
        with suppress(OSError):
            self._leave(verified)

    def _leave(self, verified: Verified | None) -> None:
        if verified is None or self.log.exists():
            return
        file = os.open(self.path, os.O_RDWR)
        try:
            with locked(file):
                noted = _marks(os.pread(file, 2 * _SLOT, 0))
                # The log is looked for again: a writer that comes now waits for the lock, and finds the note gone.
                if self._same(file) and not self.log.exists() and all(holds(verified, mark) for mark in noted):
                    os.unlink(self.path)
        finally:
            os.close(file)

    def _same(self, file: int) -> bool:
        """Whether an open file still stands under its name."""
        try:
            return os.path.samestat(os.fstat(file), os.stat(self.path))
        except FileNotFoundError:
            return False


def holds(verified: Verified, mark: Mark) -> bool:
    """Whether a chain has an entry that was noted; what was noted of a ledger that was here before does not matter."""
    if mark.ledger != verified.ledger:
        return True
    return mark.number <= len(verified.events) and verified.link(mark.number) == mark.digest


def _marks(text: bytes) -> list[Mark]:
    return [mark for mark in map(_parsed, (text[:_SLOT], text[_SLOT : 2 * _SLOT])) if mark is not None]


def _parsed(slot: bytes) -> Mark | None:
    found = _LINE.fullmatch(slot)
    return None if found is None else Mark(found[1].decode(), int(found[2]), bytes.fromhex(found[3].decode()))

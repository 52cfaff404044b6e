"""Come here for the anchor: a file outside the database that remembers how far a ledger had come."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dpfda.errors import DataError, LedgerDamaged, UsageError
from dpfda.privacy.ledger.book import Book

_LINE = re.compile(rb"([0-9a-f]{32}) ([1-9][0-9]{0,17}) ([0-9a-f]{64})( closed)?\n")
_LONGEST = 120  # bytes of a line
_TAIL = 4096


@dataclass(frozen=True, slots=True)
class Mark:
    """One line of an anchor: this ledger had this entry."""

    ledger: str
    number: int
    digest: bytes
    closed: bool = False  # the last one: this entry began another anchor


@dataclass(frozen=True, slots=True)
class Seen:
    """What an anchor says at one moment: whether there is one, and its last whole line."""

    there: bool
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Anchor:
    """A text file with a line `ledger number hash` for what was entered, on disk before a charge is confirmed.

    A ledger that is put back from a backup lacks the last line's entry, and is refused. Whoever can also put back the
    anchor defeats it: it belongs on another disk, or another machine, than the ledger and its backups.
    """

    path: Path

    def seen(self) -> Seen:
        """The last whole line; a line that a crash has torn was never confirmed to anybody."""
        with self._troubles():
            if not self.path.exists():
                return Seen(False)
            with open(self.path, "rb") as file:
                end = file.seek(0, os.SEEK_END)
                file.seek(max(0, end - _TAIL))
                tail = file.read()
        marks = list(_marks(tail))
        if not marks and len(tail) > _LONGEST:
            raise DataError(f"{str(self.path)!r} is no anchor of a ledger, but something else. Name another file.")
        return Seen(True, marks[-1] if marks else None)

    def marks(self) -> list[Mark]:
        with self._troubles():
            return list(_marks(self.path.read_bytes()))

    def check(self, book: Book, seen: Seen) -> None:
        """Refuse a ledger that does not hold what its anchor remembers, and a file that is not its anchor."""
        self.check_holds(book, seen)
        if book.anchored is None:
            raise UsageError(
                f"The ledger {book.name} never had an anchor, and {str(self.path)!r} is none of it. Leave it out, or "
                "begin one on purpose: Ledger(url, anchor=...).start_anchor(). Nothing was entered."
            )
        if seen.mark is not None and (seen.mark.closed or seen.mark.number < book.anchored):
            raise UsageError(
                f"The anchor {str(self.path)!r} was given up: entry {book.anchored} of the ledger {book.name} began "
                "another one. Open the ledger with that one. Nothing was entered."
            )

    def check_holds(self, book: Book, seen: Seen) -> None:
        """Refuse a ledger that does not hold what this file remembers of it."""
        if not seen.there:
            raise DataError(self._missing(book))
        if seen.mark is not None:
            self.compare(seen.mark, book)
        elif book.has_charges():
            raise LedgerDamaged(
                f"The anchor {str(self.path)!r} holds no line: it cannot say how far the ledger {book.name} had come. "
                "Nothing was entered; put the right file there."
            )

    def check_former(self, book: Book, seen: Seen) -> None:
        """Refuse to give up what is not the ledger's anchor."""
        self.check_holds(book, seen)
        if seen.mark is not None and seen.mark.closed:
            raise UsageError(
                f"The anchor {str(self.path)!r} was given up already, with entry {seen.mark.number} of the ledger "
                f"{book.name}. Name the one that was begun there; or say lost=True, if it is gone. Nothing was entered."
            )

    def _missing(self, book: Book) -> str:
        begun = "Ledger(url, anchor=...).start_anchor"
        if book.anchored is None:
            return (
                f"There is no anchor at {str(self.path)!r}, and the ledger {book.name} never had one. Leave it out, or "
                f"begin one on purpose: {begun}(). Nothing was entered."
            )
        return (
            f"There is no anchor at {str(self.path)!r}, and the ledger {book.name} has one since entry "
            f"{book.anchored}. Put the file back; if it is lost, begin a new one on purpose: {begun}(lost=True). "
            "Nothing was entered."
        )

    def compare(self, mark: Mark, book: Book) -> None:
        if mark.ledger != book.id:
            raise LedgerDamaged(
                f"The anchor {str(self.path)!r} belongs to ledger {mark.ledger}, and {book.name} is ledger {book.id}. "
                "Nothing was entered; open each with its own."
            )
        event = book.event(mark.number)
        if event is None or event.hash != mark.digest:
            raise LedgerDamaged(
                f"The ledger {book.name} is older than its anchor {str(self.path)!r}, or another branch of it: entry "
                f"{mark.number} is {'missing' if event is None else 'not the one that was anchored'}. A backup was "
                "restored, and what was spent since then is forgotten in it. Nothing was entered; put the newest copy "
                "back."
            )

    def add(self, mark: Mark) -> bool:
        """Note an entry, on disk when this returns; False if one as late is noted already, which may be another."""
        line = f"{mark.ledger} {mark.number} {mark.digest.hex()}{' closed' if mark.closed else ''}\n".encode()
        with self._troubles():
            new = not self.path.exists()
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                with locked(file):
                    end = os.lseek(file, 0, os.SEEK_END)
                    start = max(0, end - _TAIL)
                    tail = os.pread(file, _TAIL, start)
                    known = list(_marks(tail))
                    if known and known[-1].ledger == mark.ledger and known[-1].number >= mark.number:
                        return known[-1] == mark
                    # A torn line is closed first, so that it cannot run into this one.
                    _write(file, line if end == 0 or tail.endswith(b"\n") else b"\n" + line)
                    os.fsync(file)
            finally:
                os.close(file)
            if new:
                _sync_folder(self.path.parent)
        return True

    @contextmanager
    def _troubles(self) -> Iterator[None]:
        try:
            yield
            return
        except OSError as error:
            problem = error.strerror or "unknown trouble"
        raise DataError(
            f"The anchor {str(self.path)!r} cannot be used: {problem}. If a charge was on its way, repeat it under "
            "the same key: it is charged once."
        )


def _marks(text: bytes) -> Iterator[Mark]:
    for line in text.splitlines(keepends=True):
        found = _LINE.fullmatch(line)
        if found:
            yield Mark(found[1].decode(), int(found[2]), bytes.fromhex(found[3].decode()), found[4] is not None)


def _write(file: int, line: bytes) -> None:
    while line:
        line = line[os.write(file, line) :]


@contextmanager
def locked(file: int) -> Iterator[None]:
    """One process at a time; where the system has no such locks, a line is still written in one piece."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # some systems cannot open a folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

"""Files beside a ledger that remember how far it had come: the anchor, and the head of SQLite's log."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from dpfda.arrays import may_never_end
from dpfda.errors import DataError, LedgerDamaged, UsageError
from dpfda.ledger.chain import Transaction, VerifiedChain
from dpfda.messages import Words, arg

_LINE = re.compile(rb"([0-9a-f]{32}) ([1-9][0-9]{0,17}) ([0-9a-f]{64})( closed)?")
# What a crash leaves of a line: its beginning, or all but its end. The next process that writes ends it.
_TORN = re.compile(
    rb"[0-9a-f]{1,32}|[0-9a-f]{32} (?:[1-9][0-9]{0,17})?|[0-9a-f]{32} [1-9][0-9]{0,17} [0-9a-f]{0,64}"
    rb"|[0-9a-f]{32} [1-9][0-9]{0,17} [0-9a-f]{64} (?:c|cl|clo|clos|close|closed)?"
)
_LONGEST = 120  # bytes of a line
_MOST_BYTES = 2**28  # of more than two million entries
BEGIN = Words("Ledger(url, anchor=...).start_anchor()", "dpfda budget anchor URL --anchor FILE")
BEGIN_AGAIN = Words("Ledger(url, anchor=...).start_anchor(lost=True)", "dpfda budget anchor URL --anchor FILE --lost")


@dataclass(frozen=True, slots=True)
class Mark:
    """One line of an anchor: it says that the ledger had this entry."""

    ledger: str
    number: int
    digest: bytes
    closed: bool = False  # the last one: this entry began another anchor


@dataclass(frozen=True, slots=True)
class Seen:
    """What an anchor says at one moment: whether the file exists, and the latest entry that it has noted."""

    there: bool
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class _Known:
    """The lines that this process has checked: where they end, the last one, and what they say together."""

    end: int = 0
    last: bytes = b""
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Anchor:
    """A text file with a line `ledger number hash` for what was entered, on disk before a charge is confirmed.

    A ledger that is put back from a backup lacks the latest entry, and is refused. All lines count, and their numbers
    rise: a line that is added again brings nothing back. Whoever can also put back the anchor defeats it: it belongs
    on another disk, or another machine, than the ledger and its backups.
    """

    path: Path
    _known: list[_Known] = field(default_factory=lambda: [_Known()], init=False, repr=False, compare=False)

    def seen(self) -> Seen:
        """The latest entry that was noted; an incomplete line after a crash was never confirmed, and does not count."""
        with self._troubles():
            if not self.path.exists():
                return Seen(False)
            with open(self.path, "rb") as file:
                known, text = self._rest(file)
        latest = self._latest(known, self._checked(known, text))
        end = text.rfind(b"\n") + 1
        if end:
            last = text[text.rfind(b"\n", 0, end - 1) + 1 : end]
            self._known[0] = _Known(known.end + end, last, latest)
        return Seen(True, latest)

    def marks(self) -> list[Mark]:
        """All complete lines, read again from the start."""
        with self._troubles():
            text = self.path.read_bytes()
        return self._checked(_Known(), text)

    def _rest(self, file: BinaryIO) -> tuple[_Known, bytes]:
        """What follows the lines that were checked before; everything, where other ones stand in their place."""
        known = self._known[0]
        file.seek(known.end - len(known.last))
        text = file.read()
        if text.startswith(known.last):
            return known, text[len(known.last) :]
        file.seek(0)
        return _Known(), file.read()

    def _checked(self, known: _Known, text: bytes) -> list[Mark]:
        """The whole lines, which a ledger wrote in the order of its entries; anything else is damage.

        All of them count: whoever may only add lines could fill any tail of the file with old ones.
        """
        *ended, tail = text.split(b"\n")
        found = [(line, _LINE.fullmatch(line)) for line in ended]
        marks = [_mark(match) for _, match in found if match is not None]
        others = [line for line, match in found if match is None] + ([tail] if tail else [])
        if not all(map(_TORN.fullmatch, others)):
            if not marks and known.mark is None and len(text) > _LONGEST:
                raise DataError(f"{str(self.path)!r} is no anchor of a ledger, but something else. Name another file.")
            raise self._damaged("it has a line that no ledger wrote")
        before = [*([] if known.mark is None else [known.mark]), *marks]
        if not all(itertools.starmap(_follows, itertools.pairwise(before))):
            raise self._damaged("its lines are not in the order in which a ledger notes its entries")
        return marks

    @staticmethod
    def _latest(known: _Known, marks: list[Mark]) -> Mark | None:
        """The last line, since numbers rise; an anchor is closed wherever that stands."""
        if not marks:
            return known.mark
        closed = (known.mark is not None and known.mark.closed) or any(mark.closed for mark in marks)
        return replace(marks[-1], closed=closed)

    def _damaged(self, what: str) -> LedgerDamaged:
        return LedgerDamaged(
            f"The anchor {str(self.path)!r} is damaged: {what}. Put the whole file back; if it is lost, begin a new "
            "one on purpose: ",
            BEGIN_AGAIN,
            ".",
        )

    def check(self, transaction: Transaction, seen: Seen) -> None:
        """Refuse a ledger that does not hold what its anchor remembers, and a file that is not its anchor."""
        self.check_holds(transaction, seen)
        if transaction.anchored is None:
            raise UsageError(
                f"The ledger {transaction.name} never had an anchor, and {str(self.path)!r} is none of it. "
                "Leave it out, or begin one on purpose: ",
                BEGIN,
                ". Nothing was entered.",
            )
        if seen.mark is not None and (seen.mark.closed or seen.mark.number < transaction.anchored):
            raise UsageError(
                f"The anchor {str(self.path)!r} was given up: entry {transaction.anchored} of the ledger "
                f"{transaction.name} began another one. Open the ledger with that one. Nothing was entered."
            )

    def check_holds(self, transaction: Transaction, seen: Seen) -> None:
        """Refuse a ledger that does not hold what this file remembers of it."""
        if not seen.there:
            raise self._missing(transaction)
        if seen.mark is not None:
            self.compare(seen.mark, transaction)
        elif transaction.has_charges():
            raise LedgerDamaged(
                f"The anchor {str(self.path)!r} holds no line: it cannot say how far the ledger "
                f"{transaction.name} had come. Nothing was entered; put the right file there."
            )

    def check_former(self, transaction: Transaction, seen: Seen) -> None:
        """Refuse a file that is not the anchor which the ledger has now."""
        self.check_holds(transaction, seen)
        if seen.mark is not None and seen.mark.closed:
            raise UsageError(
                f"The anchor {str(self.path)!r} was given up already, with entry {seen.mark.number} of the "
                f"ledger {transaction.name}. Name the one that was begun there; or say ",
                arg("lost", True),
                ", if it is gone. Nothing was entered.",
            )

    def _missing(self, transaction: Transaction) -> DataError:
        if transaction.anchored is None:
            return DataError(
                f"There is no anchor at {str(self.path)!r}, and the ledger {transaction.name} never had one. "
                "Leave it out, or begin one on purpose: ",
                BEGIN,
                ". Nothing was entered.",
            )
        return DataError(
            f"There is no anchor at {str(self.path)!r}, and the ledger {transaction.name} has one since entry "
            f"{transaction.anchored}. Put the file back; if it is lost, begin a new one on purpose: ",
            BEGIN_AGAIN,
            ". Nothing was entered.",
        )

    def compare(self, mark: Mark, transaction: Transaction) -> None:
        """Refuse a ledger of which this anchor noted an entry that the ledger lacks, or has with another hash."""
        if mark.ledger != transaction.id:
            raise LedgerDamaged(
                f"The anchor {str(self.path)!r} belongs to ledger {mark.ledger}, and {transaction.name} is ledger "
                f"{transaction.id}. Nothing was entered; open each with its own."
            )
        event = transaction.event(mark.number)
        if event is None or event.hash != mark.digest:
            raise LedgerDamaged(
                f"The ledger {transaction.name} is older than its anchor {str(self.path)!r}, or another branch of it: "
                f"entry {mark.number} is {'missing' if event is None else 'not the one that was anchored'}. A "
                "backup was restored, and what was spent since then is forgotten in it. Nothing was entered; put the "
                "newest copy back."
            )

    def add(self, mark: Mark) -> bool:
        """Note an entry, on disk when this returns; False if a later one or one of another ledger is noted already."""
        line = f"{mark.ledger} {mark.number} {mark.digest.hex()}{' closed' if mark.closed else ''}\n".encode()
        with self._troubles():
            new = not self.path.exists()
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                with locked(file):
                    with open(os.dup(file), "rb") as copy:
                        known, text = self._rest(copy)
                    # A torn line is ended first, so that it cannot run into this one; it may lack its end only.
                    end = b"" if not text or text.endswith(b"\n") else b"\n"
                    latest = self._latest(known, self._checked(known, text + end))
                    later = latest is not None and (latest.ledger != mark.ledger or latest.number >= mark.number)
                    _write(file, end if later else end + line)
                    os.fsync(file)
            finally:
                os.close(file)
            if new:
                _sync_folder(self.path.parent)
        return not later or latest == mark

    @contextmanager
    def _troubles(self) -> Iterator[None]:
        if may_never_end(self.path):
            raise DataError(f"The anchor {str(self.path)!r} is a pipe or a device, which may never end. Name a file.")
        with suppress(OSError):
            if self.path.stat().st_size > _MOST_BYTES:
                raise DataError(
                    f"{str(self.path)!r} has more than {_MOST_BYTES // 2**20} MB, and no anchor has. Name another file."
                )
        try:
            yield
            return
        except OSError as error:
            problem = error.strerror or "unknown trouble"
        raise DataError(
            f"The anchor {str(self.path)!r} cannot be used: {problem}. If a charge was on its way, repeat it under "
            "the same key: it is charged once."
        )


def _mark(line: re.Match[bytes]) -> Mark:
    return Mark(line[1].decode(), int(line[2]), bytes.fromhex(line[3].decode()), line[4] is not None)


def _follows(before: Mark, mark: Mark) -> bool:
    """Whether a ledger may note one after the other; the same again, where a process died at the end of a line."""
    again = (before.number, before.digest) == (mark.number, mark.digest)
    return before.ledger == mark.ledger and (again or before.number < mark.number)


def _write(file: int, line: bytes) -> None:
    while line:
        line = line[os.write(file, line) :]


@contextmanager
def locked(file: int) -> Iterator[None]:
    """A context that one process enters at a time; without such locks a line is still written in one piece."""
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


_SLOT = 128  # bytes; there are two, so that one is whole while the other is written
_SLOT_LINE = re.compile(rb"([0-9a-f]{32}) ([1-9][0-9]{0,17}) ([0-9a-f]{64}) *\n")


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
        """The file of the note, beside the ledger."""
        return self.ledger.with_name(f"{self.ledger.name}-head")

    @property
    def log(self) -> Path:
        """SQLite's write-ahead log of the ledger."""
        return self.ledger.with_name(f"{self.ledger.name}-wal")

    def seen(self) -> list[Mark]:
        """The newest entries that were noted, of this ledger or of one that was here before; none where no note is."""
        try:
            return [] if may_never_end(self.path) else _marks(self.path.read_bytes())
        except OSError:
            return []

    def note(self, mark: Mark) -> None:
        """Note an entry, unless a later one of the same ledger is noted; never raises, since the charge was made."""
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

    def leave(self, verified: VerifiedChain | None) -> None:
        """Remove the note where the log is gone and the file is known to hold what was noted.

        Where the folder cannot be looked into the note stays: leaving a ledger never fails, also after a commit.
        """
        with suppress(OSError):
            self._leave(verified)

    def _leave(self, verified: VerifiedChain | None) -> None:
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


def holds(verified: VerifiedChain, mark: Mark) -> bool:
    """Whether a chain has an entry that was noted; notes about another ledger at the same place do not matter."""
    if mark.ledger != verified.ledger:
        return True
    return mark.number <= len(verified.events) and verified.link(mark.number) == mark.digest


def _marks(text: bytes) -> list[Mark]:
    return [mark for mark in map(_parsed, (text[:_SLOT], text[_SLOT : 2 * _SLOT])) if mark is not None]


def _parsed(slot: bytes) -> Mark | None:
    found = _SLOT_LINE.fullmatch(slot)
    return None if found is None else Mark(found[1].decode(), int(found[2]), bytes.fromhex(found[3].decode()))

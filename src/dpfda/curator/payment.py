"""One charge and all that is drawn on it: stored before it is handed out, and the same ever after."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from threading import Lock
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

from dpfda.arrays import Integers
from dpfda.errors import DpfdaError, ReleaseFailed, UsageError
from dpfda.ledger import AnyLedger, Receipt
from dpfda.ledger.outputs import NONE, Document, pack, unpack
from dpfda.messages import Message, Words
from dpfda.releases import Certificate
from dpfda.releases.certificate import ChoiceCard
from dpfda.releases.documents import card_digest, content_digest
from dpfda.releases.files import exact_digest, file_digest

T = TypeVar("T")
STORE = b"answers point by point, kept in a store"  # begins the output of a charge whose noise is drawn as it is asked
GIVEN = Message(
    Words("This fit", "What was charged under this key"),
    " was given out already, and one charge pays for one noise: another version of the same function would be a second "
    "release. To go on with a store, ",
    Words("open it with the points, est.open(store, points)", "ask it without --new"),
    ", which is free; ",
    Words("to get a new release, fit again", "for another release use another --key"),
    ", which is charged.",
)


def check_ledger(ledger: AnyLedger | None) -> None:
    """Refuse what is no ledger before anything is charged: one that cannot keep an output would lose it."""
    if ledger is not None and not all(callable(getattr(ledger, name, None)) for name in ("charge", "store", "burn")):
        raise UsageError(
            parameter="ledger",
            rule=(
                f"must be None or a ledger such as dpfda.Ledger('sqlite:///budget.db'), got a {type(ledger).__name__}"
            ),
            fix="Nothing was charged.",
        )


@dataclass(eq=False)
class DrawLog:
    """What was drawn on one charge, in order: it records what is drawn, or plays what an earlier call has stored."""

    played: list[Integers] | None = None
    drawn: list[Integers] = field(default_factory=list)

    def take(self, draw: Callable[[], Integers]) -> Integers:
        """The next vector of integers; it is drawn only if nothing was stored."""
        if self.played is not None:
            if not self.played:
                raise ReleaseFailed  # a charge that was given out half, by a process that is gone
            return self.played.pop(0)
        self.drawn.append(np.asarray(draw(), dtype=np.int64))
        return self.drawn[-1]

    def to_bytes(self, made: object = None) -> bytes:
        """What was drawn as a ledger keeps it, with digests of what was made of it and goes out."""
        return pack(self.drawn, documents_in(made), dict(software()))

    @staticmethod
    def of(stored: bytes) -> DrawLog:
        """The log that `to_bytes` wrote."""
        if stored.startswith(STORE):
            raise UsageError(GIVEN)
        try:
            return DrawLog(list(unpack(stored).vectors))
        except ValueError:
            # Nothing that was drawn here, or of a version that is to come.
            raise UsageError("What the ledger keeps under this key is no such release. Take a new key.") from None


@dataclass(eq=False)
class Payment:
    """A charge that was entered; what it pays for is drawn once, by one thread of the process that paid."""

    ledger: AnyLedger | None
    receipt: Receipt | None
    _lock: Any = field(default_factory=Lock, init=False, repr=False)
    _process: int = field(default_factory=os.getpid, init=False, repr=False)

    def spend(self, body: Callable[[DrawLog], T]) -> T:
        """What `body` makes of all that it draws; stored before it is handed out, and played where it was before.

        Whatever goes wrong in it is one constant error: the charge stays, and its key gives nothing ever again.
        """
        self.claim()
        stored = None if self.receipt is None else self.receipt.output
        if stored is not None:
            return body(DrawLog.of(stored))
        made, kept = self.attempt(lambda: self._drawn(body))
        if kept is None:
            return made
        # Another process under the same key was first: its noise is handed out, and nobody may see this one.
        del made
        self.receipt = replace(self.receipt, output=kept) if self.receipt is not None else None
        return body(DrawLog.of(kept))

    def _drawn(self, body: Callable[[DrawLog], T]) -> tuple[T, bytes | None]:
        """What `body` makes, and what the ledger keeps instead of it, if it keeps something else."""
        log = DrawLog()
        made = body(log)
        return made, self._keep(log.to_bytes(made))

    def attempt(self, read: Callable[[], T]) -> T:
        """What comes of reading records; if anything at all goes wrong, the charge is burnt and the error constant.

        Where the ledger is gone, it cannot be burnt. Then the key gives what was stored in the last moment, if that
        was, or is drawn anew: what was drawn here was handed to nobody and is kept nowhere.
        """
        outcome = _attempt(read)
        if isinstance(outcome, tuple):
            return outcome[0]
        if outcome is not None:
            raise outcome  # an interrupt, as new: the charge stays open under its key
        burnt = _attempt(self._burn)
        if isinstance(burnt, BaseException):
            raise burnt
        # Raised out here, with one constant text: a chained exception would carry private values in its frames.
        raise ReleaseFailed

    def _burn(self) -> None:
        if self.ledger is not None and self.receipt is not None:
            self.ledger.burn(self.receipt)

    def _keep(self, drawn: bytes) -> bytes | None:
        """Store what was drawn; what stands instead of it, if anything does."""
        if self.ledger is None or self.receipt is None:
            return None
        kept = self.ledger.store(self.receipt, drawn)
        return None if kept == drawn else kept

    def hand_over(self) -> None:
        """Note that the noise is drawn point by point into a store from here on, and nowhere else."""
        self.begin(lambda log: None)

    def begin(self, body: Callable[[DrawLog], T]) -> T:
        """What `body` makes of all that it draws, where more is drawn on the same charge later, and never stored.

        Nobody else may go on with it. The output holds a word of this call alone: two that came to the same draws, or
        to none at all, must not both believe to have been first.
        """
        self.claim()
        if self.given:
            raise UsageError(GIVEN)
        made, kept = self.attempt(lambda: self._begun(body))
        if kept is not None:
            del made  # nobody may see it, in no frame of a traceback either
            raise UsageError(GIVEN)
        return made

    def _begun(self, body: Callable[[DrawLog], T]) -> tuple[T, bytes | None]:
        log = DrawLog()
        made = body(log)
        return made, self._keep(STORE + uuid4().bytes + log.to_bytes())

    @property
    def given(self) -> bool:
        """Whether something was drawn on this charge before, perhaps by another process."""
        return self.receipt is not None and self.receipt.output is not None

    def claim(self) -> None:
        """Refuse whoever comes second, from whichever thread, and processes that were forked after the charge."""
        if self._process != os.getpid() or not self._lock.acquire(blocking=False):
            raise UsageError(GIVEN)

    def __getstate__(self) -> object:
        raise TypeError("What was paid for and not yet drawn cannot be copied or pickled: it would be given out twice.")


def _attempt(read: Callable[[], T]) -> tuple[T] | BaseException | None:
    """What comes of it, in brackets; None if anything at all goes wrong, and what ends a program as a new exception.

    No frame that saw a record or a draw is alive once this returns: not even that of an interrupt. A program may have
    told NumPy to raise or to warn where a number overflows or vanishes: one person's would then decide what happens.
    """
    try:
        with np.errstate(all="ignore"):
            return (read(),)
    except Exception:
        return None
    except KeyboardInterrupt:
        return KeyboardInterrupt()
    except SystemExit as ending:
        return SystemExit(ending.code if isinstance(ending.code, int) else 1)


def documents_in(made: object) -> tuple[Document, ...]:
    """Digests of all that is handed out, whole: whoever changes any of it is found out by the ledger."""
    if isinstance(made, tuple):
        return tuple(document for part in made for document in documents_in(part))
    card = getattr(made, "certificate", made)
    if not isinstance(card, Certificate | ChoiceCard):
        return documents_in(getattr(made, "cards", ()))
    whole, exact = content_digest(card.to_dict()), NONE
    if card is not made:
        try:
            whole, exact = file_digest(made), exact_digest(made)
        except (DpfdaError, TypeError, ValueError):
            whole = NONE  # it cannot be written to a file, so there is none to compare with
    return (Document(card_digest(card), whole, exact),)


def software(receipt: Receipt | None = None) -> tuple[tuple[str, str], ...]:
    """The versions that drew a release: those of now, or what the ledger kept where an output is played again.

    So the same key gives the same card under every version.
    """
    if receipt is not None and receipt.output is not None:
        with suppress(ValueError):  # answers point by point keep none
            kept = unpack(receipt.output).software
            if kept:
                return tuple(kept.items())
    return _installed()


@cache
def _installed() -> tuple[tuple[str, str], ...]:
    """Versions of what is installed; looking them up takes longer than a small release."""
    return tuple((name, version(name)) for name in ("dpfda", "opendp", "numpy"))

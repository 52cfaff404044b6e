"""What a ledger is: charges go in before records are read, and the noise that was paid for is kept."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol
from uuid import uuid4

from dpfda.arrays import check_flag
from dpfda.ledger.amounts import check_stated
from dpfda.ledger.names import check_key
from dpfda.ledger.views import Quote
from dpfda.privacy.budget import Budget
from dpfda.privacy.neighbours import REPLACE, Unit
from dpfda.privacy.profiles import Profile


@dataclass(frozen=True, slots=True)
class Charge:
    """What a release asks of a ledger: nothing in it depends on the data.

    `losses` are the privacy curves of all that is drawn, in the order of time, for composition; empty means that only
    the budget is known.
    A budget below what the curves compose to is refused, and so is one that cannot be shown to hold for them.
    `nominal` says that the draw is approximate: its curves are those of the law it aims at, and no guarantee.
    `key` names the request: the same key and the same request get the same output again, free. `request` is a hash of
    all that was ordered.
    """

    dataset: str
    what: str
    budget: Budget
    losses: tuple[Profile, ...] = ()
    unit: Unit = field(default_factory=lambda: Unit("row", REPLACE))
    key: str = field(default_factory=lambda: uuid4().hex)
    request: str = ""
    nominal: bool = False

    def __post_init__(self) -> None:
        # A list could grow after it was compared with the price.
        object.__setattr__(self, "losses", tuple(self.losses))
        check_flag(self.nominal, "nominal")
        check_stated(self.budget, self.losses)


@dataclass(frozen=True, slots=True)
class Receipt:
    """A charge that was entered: where it stands, and what it left; for the card."""

    dataset: str
    key: str
    ledger: str  # the ledger's own identifier, a random word; empty where none is kept
    number: int  # of the entry
    digest: str  # of the entry, in hexadecimal, as the chain has it
    # At most, of the data set up to here, at its own delta; None where nobody composes. With `adaptive` it is what the
    # filter counts, and no guarantee: that is the cap.
    spent: Budget | None
    cap: Budget | None
    output: bytes | None = None  # what an earlier call under the same key stored
    recorded: bool = True  # False where an estimator only counts for itself
    nominal: bool = False  # whether what was spent rests on an approximate draw: then it is no guarantee
    adaptive: bool = False  # whether prices may depend on earlier releases, so that a privacy filter granted the charge


class AnyLedger(Protocol):
    """Whatever can refuse or record a charge before records are read."""

    def charge(self, entry: Charge) -> Receipt:
        """Enter a charge, durably, or raise; the same key and request again give the same receipt, free."""

    def store(self, receipt: Receipt, output: bytes) -> bytes:
        """Keep what was drawn, before it is handed out; returns what stands: another process may have been first."""

    def burn(self, receipt: Receipt) -> None:
        """Say that the draw failed: the charge stays, and its key gives nothing ever again."""


@dataclass(frozen=True, slots=True)
class KeyedLedger:
    """A view of a ledger under one idempotency key; as safe to copy and pickle as the ledger itself."""

    ledger: AnyLedger
    key: str

    def __post_init__(self) -> None:
        check_key(self.key)

    def charge(self, entry: Charge) -> Receipt:
        return self.ledger.charge(replace(entry, key=self.key))

    def quote(self, entry: Charge) -> Quote | None:
        """What the ledger would say to the charge; None where it cannot say it."""
        ask = getattr(self.ledger, "quote", None)
        return None if ask is None else ask(replace(entry, key=self.key))

    def store(self, receipt: Receipt, output: bytes) -> bytes:
        return self.ledger.store(receipt, output)

    def burn(self, receipt: Receipt) -> None:
        self.ledger.burn(receipt)

"""What a ledger is: charges go in before records are read, the noise that was paid for is kept, and what it reports."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from uuid import uuid4

from dpfda.arrays import check_flag
from dpfda.ledger.amounts import check_stated
from dpfda.ledger.names import check_key
from dpfda.privacy.budget import REPLACE, Budget, Unit
from dpfda.privacy.profiles import Profile


@dataclass(frozen=True, slots=True)
class Charge:
    """What a release asks of a ledger: nothing in it depends on the data.

    `losses` are the privacy curves of all that is drawn, in the order of time, for composition; empty means that only
    the budget is known.
    A budget below what the curves compose to is refused, and so is one that cannot be shown to hold for them.
    `nominal` says that the draw is approximate: its curves are those of the law it aims at, and no guarantee.
    `key` names the request: the same key and the same request get the same output again, free. `request` is a hash of
    all that was ordered, and `former` the one that earlier versions made of it. `instead` is what they ordered for the
    same call, where that has changed: a key that stands for it goes on, and its receipt says so.
    """

    dataset: str
    what: str
    budget: Budget
    losses: tuple[Profile, ...] = ()
    unit: Unit = field(default_factory=lambda: Unit("row", REPLACE))
    key: str = field(default_factory=lambda: uuid4().hex)
    request: str = ""
    nominal: bool = False
    former: str = ""
    instead: Charge | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        # A list could grow after it was compared with the price.
        object.__setattr__(self, "losses", tuple(self.losses))
        check_flag(self.nominal, "nominal")
        check_stated(self.budget, self.losses)


@dataclass(frozen=True, slots=True)
class Receipt:
    """A charge that was entered: its place in the ledger, and what was spent up to it; cards are made from it."""

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
    earlier: bool = False  # whether the key stands for what earlier versions ordered for the same call: that is due


class AnyLedger(Protocol):
    """The interface of a ledger: anything that can refuse or record a charge before records are read."""

    def charge(self, entry: Charge) -> Receipt:
        """Enter a charge, durably, or raise; the same key and request again give the same receipt, free."""

    def store(self, receipt: Receipt, output: bytes) -> bytes:
        """Keep what was drawn before it is published; returns what is kept, since another process may be first."""

    def burn(self, receipt: Receipt) -> None:
        """Note that the draw failed: the charge stays, and its key gives nothing any more."""


@dataclass(frozen=True, slots=True)
class KeyedLedger:
    """A view of a ledger under one idempotency key; as safe to copy and pickle as the ledger itself."""

    ledger: AnyLedger
    key: str

    def __post_init__(self) -> None:
        check_key(self.key)

    def charge(self, entry: Charge) -> Receipt:
        """Charge under the key of this view; the same request again costs nothing."""
        return self.ledger.charge(replace(entry, key=self.key))

    def quote(self, entry: Charge) -> Quote | None:
        """What the ledger would say to the charge; None where it cannot say it."""
        ask = getattr(self.ledger, "quote", None)
        return None if ask is None else ask(replace(entry, key=self.key))

    def store(self, receipt: Receipt, output: bytes) -> bytes:
        """As the ledger itself."""
        return self.ledger.store(receipt, output)

    def burn(self, receipt: Receipt) -> None:
        """As the ledger itself."""
        self.ledger.burn(receipt)


@dataclass(frozen=True, slots=True)
class Entry:
    """One event of a ledger, in plain values; what its kind does not have is None."""

    number: int
    kind: str  # create, copy, charge, output, burn, freeze, anchor
    at: str  # in universal time
    dataset: str | None  # the name that it was created under
    digest: str  # the entry's hash in the chain
    previous: str
    name: str | None = None
    key: str | None = None
    charged: int | None = None  # the charge that an output or a burn belongs to
    what: str | None = None
    unit: str | None = None
    neighbours: str | None = None
    budget: Budget | None = None  # create: the cap; charge: what was ordered
    losses: tuple[dict[str, Any], ...] = ()
    # Epsilons at the data set's delta: at most. Where its prices are adaptive, what the filter counts: no guarantee.
    cost: float | None = None  # of a charge alone
    total: float | None = None  # of the data set up to here; `spent` may find less
    request: str | None = None  # charge: the digest of all that was ordered
    output: str | None = None  # output: the digest of what was drawn
    nominal: bool = False  # charge: drawn approximately, so that its cost is no guarantee
    total_nominal: bool = False  # charge: its total rests on an approximate draw, this one or an earlier one


@dataclass(frozen=True, slots=True)
class Dataset:
    """A budget: its names, its cap, whom it protects, and what its newest entry says."""

    name: str
    copies: tuple[str, ...]
    cap: Budget
    unit: str | None  # None until the first charge pins it
    neighbours: str
    frozen: bool
    charges: int
    # Epsilon at the cap's delta, as the newest entry has it: an upper bound that took no time. With `adaptive` it is
    # what the filter counts, and no guarantee: that is the cap.
    spent: float
    number: int  # of the entry that created it
    nominal: bool = False  # whether what was spent rests on an approximate draw
    adaptive: bool = False  # whether prices may be chosen after seeing earlier releases


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left of a budget, at its own delta; epsilon may be 0, which no release can ask for."""

    epsilon: float
    delta: float
    nominal: bool = False  # whether what was spent rests on an approximate draw, and so what is left
    adaptive: bool = False  # whether a privacy filter counts: a limit for charges, while the guarantee is the cap


@dataclass(frozen=True, slots=True)
class Quote:
    """What a charge would cost and leave, without charging it; epsilons are at the delta of the cap."""

    cost: float  # alone
    spent: float  # before
    after: float
    cap: Budget
    allowed: bool
    affordable: float  # the largest epsilon up to the one ordered that would be granted, rounded down; 0 if none
    nominal: bool = False  # whether `after` rests on an approximate draw
    refusal: str | None = None  # what the charge itself would raise; None if it is allowed
    adaptive: bool = False  # whether epsilons are what a privacy filter counts: no guarantee, which is the cap

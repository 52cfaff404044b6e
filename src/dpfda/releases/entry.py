"""Where a release stands in a ledger: what links a card to the entry that was charged."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dpfda.ledger import Receipt
from dpfda.ledger.amounts import shown_spent
from dpfda.privacy import Budget
from dpfda.releases.cards.words import plain
from dpfda.releases.fields import is_number, is_whole_number

FILTERED = (
    "prices in this budget may depend on what earlier releases gave, and the privacy filter that grants charges proves "
    "nothing less; its counter is no guarantee by itself"
)
# On cards from before: a filter proves no total.
_TOTALS = (
    "prices in this budget may depend on what earlier releases gave, so a privacy filter granted the charge: the total "
    "is what the filter proves, which can be more than the releases would cost had their prices been fixed in advance"
)
NOTHING = "nothing was recorded: no ledger was given"
MARKS = ("nominal", "adaptive")  # left out of files where they say nothing, as before they were kept


@dataclass(frozen=True, slots=True)
class Fits:
    """How many fits of one estimator there were without a ledger, and what they add up to."""

    number: int
    epsilon: float
    delta: float
    nominal: bool

    @staticmethod
    def of(receipt: Receipt | None) -> Fits | None:
        """What a card keeps of a receipt that stands in no ledger; None for a first fit."""
        if receipt is None or receipt.recorded or receipt.spent is None or receipt.number <= 1:
            return None
        return Fits(receipt.number, receipt.spent.epsilon, receipt.spent.delta, receipt.nominal)

    @property
    def text(self) -> str:
        spent = f"{'nominally ' * self.nominal}{Budget(self.epsilon, self.delta)}"
        return f"{self.number} fits of this estimator and its clones add up to {spent}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Fits:
        fits = Fits(**data)
        if not is_whole_number(fits.number) or fits.number < 2 or not isinstance(fits.nominal, bool):
            raise TypeError
        if not (is_number(fits.epsilon) and is_number(fits.delta)) or min(fits.epsilon, fits.delta) < 0:
            raise TypeError
        return fits


def recorded(entry: LedgerEntry | None, fits: Fits | None) -> str:
    """What a card says of the ledger: where the charge stands, or that nobody has it."""
    if entry is not None:
        return entry.text
    return NOTHING if fits is None else f"{NOTHING}; {fits.text}"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """The entry of a ledger under which a release was charged, and what the data set had spent after it.

    Amounts are (epsilon, delta), composed at the delta of the data set; None where nobody composes or caps. Where
    prices are adaptive, `spent` is what a privacy filter counts, and the guarantee is `cap`. A ledger that lives as
    long as its process has no name, and its entries no digest.
    """

    ledger: str
    number: int
    digest: str
    key: str
    spent: tuple[float, float] | None
    cap: tuple[float, float] | None
    nominal: bool = False  # whether what was spent rests on an approximate draw: then it is no guarantee
    adaptive: bool = False  # whether prices may depend on what earlier releases gave

    def __post_init__(self) -> None:
        # A file may hold anything: texts that are texts, and amounts that are two numbers.
        if not all(isinstance(text, str) for text in (self.ledger, self.digest, self.key)):
            raise TypeError
        if not is_whole_number(self.number) or self.number < 0:
            raise TypeError
        if not (isinstance(self.nominal, bool) and isinstance(self.adaptive, bool)):
            raise TypeError

    @staticmethod
    def of(receipt: Receipt | None) -> LedgerEntry | None:
        """What a card keeps of a receipt: everything but what was drawn; None where nothing was recorded."""
        if receipt is None or not receipt.recorded:
            return None
        return LedgerEntry(
            receipt.ledger,
            receipt.number,
            receipt.digest,
            receipt.key,
            _pair(receipt.spent),
            _pair(receipt.cap),
            receipt.nominal,
            receipt.adaptive,
        )

    @property
    def text(self) -> str:
        """The entry in words, for the card."""
        if self.spent is None or not self.adaptive:
            return self._composed
        return f"{self._where}; {self.capped}"

    @property
    def older_text(self) -> str:
        """The same as cards from before had it, which took what a filter counts for a total."""
        return f"{self._composed}; {_TOTALS}" if self.spent is not None and self.adaptive else self._composed

    @property
    def capped(self) -> str:
        """What holds of a budget whose prices are adaptive: all of it, whatever its filter has counted so far."""
        cap, counted = self.cap, "" if self.spent is None else f", and stands at {shown_spent(self.spent[0])}"
        whole = "" if cap is None else f", epsilon {plain(cap[0])}{_at(cap[1])}"
        nominal = ", nominally, since it rests on an approximate draw" if self.nominal else ""
        return f"the guarantee of the data set is its whole budget{whole}{nominal}: {FILTERED}{counted}"

    @property
    def _where(self) -> str:
        book = f"ledger {self.ledger}" if self.ledger else "a ledger that ended with its process"
        return f"charged before reading as entry {self.number} of {book}"

    @property
    def _composed(self) -> str:
        if self.spent is None:
            return self._where
        of = "" if self.cap is None else f" of {plain(self.cap[0])}"
        bound = "nominally" if self.nominal else "at most"
        more = ", which rests on an approximate draw and is no guarantee" if self.nominal else ""
        amount = f"{bound} epsilon {shown_spent(self.spent[0])}{of}{_at(self.spent[1])}{more}"
        return f"{self._where}; with it the data set has spent {amount}"

    def to_dict(self) -> dict[str, Any]:
        """The entry as plain data; marks that joined later are left out where they say nothing."""
        marked = {name: value for name, value in asdict(self).items() if name not in MARKS or value}
        return marked | {
            "spent": None if self.spent is None else list(self.spent),
            "cap": None if self.cap is None else list(self.cap),
        }

    @staticmethod
    def from_dict(data: dict[str, Any]) -> LedgerEntry:
        return LedgerEntry(**data | {"spent": _amounts(data["spent"]), "cap": _amounts(data["cap"])})


def _at(delta: float) -> str:
    return f" at delta {plain(delta)}" if delta else ""


def _pair(budget: Budget | None) -> tuple[float, float] | None:
    return None if budget is None else (budget.epsilon, budget.delta)


def _amounts(data: Any) -> tuple[float, float] | None:
    if data is None:
        return None
    epsilon, delta = data
    if not (is_number(epsilon) and is_number(delta)) or min(epsilon, delta) < 0:
        raise TypeError
    return float(epsilon), float(delta)

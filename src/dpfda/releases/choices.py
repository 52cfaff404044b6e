"""The card of a private choice among candidates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dpfda.privacy import REPLACE
from dpfda.releases.cards import plain as plain_cards
from dpfda.releases.cards.plain import SCHEMA
from dpfda.releases.cards.words import Statement, statement
from dpfda.releases.certificate import AnyCard
from dpfda.releases.entry import Fits, LedgerEntry
from dpfda.releases.fields import check
from dpfda.releases.wording import neighbour_entries, plain, units_text, up, wrapped


@dataclass(frozen=True, slots=True)
class ChoiceCard(AnyCard):
    """What was chosen among, under which guarantee. Every field is public: stated in advance, or paid for."""

    what: Statement
    dataset: str
    unit: str
    unit_was_assumed: bool
    n: int
    candidates: int
    epsilon: float
    rho: float
    attacker_power: float  # at 5 % false positives
    chosen: tuple[tuple[str, str], ...]  # how each public parameter came about, and what came out
    randomness: Statement
    software: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    # As on every card: the privacy curve of the choice, how far one unit moves a score and the scale it is measured by,
    # both in lattice steps (0 where they were not kept), and the entry of the ledger.
    losses: tuple[dict[str, Any], ...] = field(default=(), hash=False)
    sensitivity: float = 0.0
    noise_scale: float = 0.0
    entry: LedgerEntry | None = None
    fits: Fits | None = None  # those before it, where nothing was recorded
    counting: str = ""  # how n is known, a `Counting`; empty on cards from before it was kept
    neighbours: str = REPLACE  # a choice knows replaced units alone
    result: float | None = None  # what was chosen, where that is a number
    schema: str = SCHEMA
    older_record: str = ""  # what a card of the first schema says of the ledger

    def __post_init__(self) -> None:
        for name in ("what", "randomness"):
            object.__setattr__(self, name, statement(getattr(self, name)))

    @staticmethod
    def from_dict(data: dict[str, Any]) -> ChoiceCard:
        """The card that `to_dict` wrote; DataError where a field is none, else any exception where one is missing."""
        check("neighbours", data.get("neighbours", REPLACE), (lambda value: value == REPLACE, repr(REPLACE)))
        return ChoiceCard(**plain_cards.read_plain(ChoiceCard, data))

    @property
    def sentence(self) -> str:
        """What the guarantee means, for those who are in the data."""
        if not self.private:
            return "The choice can be predicted, so it promises nothing to anybody."
        return self._meaning("been another one")

    @property
    def entries(self) -> tuple[tuple[str, str], ...]:
        """What the card says, as labels and texts."""
        assumed = "; no column of persons was named, so every row counts as another person"
        return (
            ("guarantee", f"pure epsilon = {plain(self.epsilon)}; for composition {up(self.rho, 4)}-zCDP"),
            ("protects", f"one {self.unit} (neighbours: {self.neighbours}){assumed if self.unit_was_assumed else ''}"),
            *neighbour_entries(self.counting, self.unit, self.neighbours, assumed=self.unit_was_assumed),
            ("units", units_text(self.counting, self.n)),
            ("mechanism", f"exponential mechanism on {self.candidates} candidates, drawn exactly"),
            *self.chosen,
            ("randomness", self.randomness),
            ("ledger", self.recorded),
            (
                "attacker",
                f"detects one {self.unit} with probability at most {up(self.attacker_power, 3)} at 5 % false alarms",
            ),
            self._software(),
        )

    def text(self) -> str:
        """The card for people."""
        lines = [
            wrapped("", f"Card of a choice: {self.what} for '{self.dataset}'"),
            *(wrapped("", f"Warning: {stamp}") for stamp in self.stamps),
            "",
            *(wrapped(f"  {label:<15}", text) for label, text in self.entries),
            "",
            wrapped("  ", self.sentence),
        ]
        return "\n".join(lines)

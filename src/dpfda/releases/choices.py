"""The card of a private choice among candidates."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from dpfda.privacy import REPLACE
from dpfda.releases.certificate import NOT_PRIVATE, SCHEMA
from dpfda.releases.entry import LedgerEntry
from dpfda.releases.fields import check, check_fields, read_losses, read_named, read_texts
from dpfda.releases.wording import neighbour_entries, plain, units_text, up, wrapped


@dataclass(frozen=True, slots=True)
class ChoiceCard:
    """What was chosen among, under which guarantee. Every field is public: stated in advance, or paid for."""

    what: str
    dataset: str
    unit: str
    unit_was_assumed: bool
    n: int
    candidates: int
    epsilon: float
    rho: float
    attacker_power: float  # at 5 % false positives
    chosen: tuple[tuple[str, str], ...]  # how each public parameter came about, and what came out
    randomness: str
    recorded: str
    software: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    # As on every card: the privacy curve of the choice, how far one unit moves a score and the scale it is measured by,
    # both in lattice steps (0 where they were not kept), and the entry of the ledger.
    losses: tuple[dict[str, Any], ...] = field(default=(), hash=False)
    sensitivity: float = 0.0
    noise_scale: float = 0.0
    entry: LedgerEntry | None = None
    counting: str = ""  # how n is known, a `Counting`; empty on cards from before it was kept
    schema: str = SCHEMA

    @property
    def private(self) -> bool:
        """Whether the choice was drawn from a source that nobody can predict."""
        return self.randomness.startswith("system")

    @property
    def neighbours(self) -> str:
        return REPLACE

    def to_dict(self) -> dict[str, Any]:
        """The card as plain data; what joined later is left out where it says nothing."""
        data = {name: value for name, value in asdict(self).items() if name != "counting" or value}
        return data | {
            "neighbours": self.neighbours,
            "chosen": dict(self.chosen),
            "software": dict(self.software),
            "warnings": list(self.warnings),
            "losses": [dict(loss) for loss in self.losses],
            "entry": None if self.entry is None else self.entry.to_dict(),
        }

    @staticmethod
    def from_dict(data: dict[str, Any]) -> ChoiceCard:
        """The card that `to_dict` wrote; DataError where a field is none, else any exception where one is missing."""
        check_fields(ChoiceCard, data, schema=SCHEMA)
        # A choice knows replaced units alone, so that its relation of neighbours is no field.
        check("neighbours", data.get("neighbours", REPLACE), (lambda value: value == REPLACE, repr(REPLACE)))
        told = {name: value for name, value in data.items() if name != "neighbours"}
        return ChoiceCard(
            **told
            | {
                "chosen": read_named("chosen", data["chosen"]),
                "software": read_named("software", data["software"]),
                "warnings": read_texts("warnings", data["warnings"]),
                "losses": read_losses(data.get("losses", ())),
                "entry": None if data.get("entry") is None else LedgerEntry.from_dict(data["entry"]),
            }
        )

    @property
    def sentence(self) -> str:
        """What the guarantee means, for those who are in the data."""
        if not self.private:
            return "The choice can be predicted, so it promises nothing to anybody."
        times = up(math.exp(self.epsilon), 3) if self.epsilon < 700 else f"e^{plain(self.epsilon)}"
        return (
            f"Whatever a reader concludes would be at most {times} times more or less likely had this {self.unit} been "
            "another one."
        )

    @property
    def stamps(self) -> tuple[str, ...]:
        """What has to be seen first: warnings, and that a choice is not private."""
        return self.warnings if self.private or NOT_PRIVATE in self.warnings else (NOT_PRIVATE, *self.warnings)

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
            ("software", ", ".join(f"{name} {version}" for name, version in self.software)),
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

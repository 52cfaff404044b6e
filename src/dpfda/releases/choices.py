"""Come here for the card of a private choice among candidates."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from dpfda.privacy import REPLACE
from dpfda.releases.certificate import NOT_PRIVATE, _entry, _plain, _up, _wrapped


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

    @property
    def private(self) -> bool:
        """Whether the choice was drawn from a source that nobody can predict."""
        return self.randomness.startswith("system")

    @property
    def neighbours(self) -> str:
        return REPLACE

    def to_dict(self) -> dict[str, Any]:
        """The card as plain data."""
        return asdict(self) | {
            "neighbours": self.neighbours,
            "chosen": dict(self.chosen),
            "software": dict(self.software),
            "warnings": list(self.warnings),
        }

    @property
    def sentence(self) -> str:
        """What the guarantee means, for those who are in the data."""
        if not self.private:
            return "The choice can be predicted, so it promises nothing to anybody."
        times = _up(math.exp(self.epsilon), 3) if self.epsilon < 700 else f"e^{_plain(self.epsilon)}"
        return (
            f"Whatever a reader concludes would be at most {times} times more or less likely had this {self.unit} been "
            "another one."
        )

    def text(self) -> str:
        """The card for people."""
        assumed = "; no column of persons was named, so every row counts as another person"
        stamps = self.warnings if self.private or NOT_PRIVATE in self.warnings else (NOT_PRIVATE, *self.warnings)
        lines = [
            _wrapped("", f"Card of a choice: {self.what} for '{self.dataset}'"),
            *(_wrapped("", f"Warning: {stamp}") for stamp in stamps),
            "",
            _entry("guarantee", f"pure epsilon = {_plain(self.epsilon)}; for composition {_up(self.rho, 4)}-zCDP"),
            _entry(
                "protects", f"one {self.unit} (neighbours: {self.neighbours}){assumed if self.unit_was_assumed else ''}"
            ),
            _entry("units", f"{self.n}"),
            _entry("mechanism", f"exponential mechanism on {self.candidates} candidates, drawn exactly"),
            *(_entry(name, how) for name, how in self.chosen),
            _entry("randomness", self.randomness),
            _entry("ledger", self.recorded),
            _entry(
                "attacker",
                f"detects one {self.unit} with probability at most {_up(self.attacker_power, 3)} at 5 % false alarms",
            ),
            _entry("software", ", ".join(f"{name} {version}" for name, version in self.software)),
            "",
            _wrapped("  ", self.sentence),
        ]
        return "\n".join(lines)

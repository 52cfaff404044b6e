"""Come here for what a check of a card found: disagreements, each in one line, and how the command ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# By what disagrees: the numbers of the guarantee, the bytes of the file, the ledger; or nothing could be read.
GUARANTEE, EDITED, LEDGER, UNREADABLE = "guarantee", "edited", "ledger", "unreadable"
EXIT_CODES = {GUARANTEE: 3, EDITED: 3, LEDGER: 4, UNREADABLE: 5}


@dataclass(frozen=True, slots=True)
class Finding:
    """One disagreement: the rule, what is stated, and what was found instead."""

    kind: str
    rule: str
    stated: str
    recomputed: str

    @property
    def text(self) -> str:
        if self.kind == UNREADABLE:
            return f"{self.rule}: {self.stated}: {self.recomputed}"
        return f"{self.rule}: stated {self.stated}, recomputed {self.recomputed}"


@dataclass(frozen=True, slots=True)
class Report:
    """What was found wrong, what held, and what nobody could check from what was given."""

    subject: str
    findings: tuple[Finding, ...]
    held: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.findings

    @property
    def verdict(self) -> str:
        """In few words; where nothing could be looked at, nothing is said against anybody."""
        if self.ok:
            return "holds"
        unread = all(finding.kind == UNREADABLE for finding in self.findings)
        return "COULD NOT BE CHECKED" if unread else "DOES NOT HOLD"

    @property
    def exit_code(self) -> int:
        return worst(finding.kind for finding in self.findings)

    def text(self) -> str:
        """The report for people: one line for each disagreement, for all that held, and for each note."""
        lines = [f"{self.subject}: {self.verdict}"]
        said = {True: "unchecked", False: "disagrees"}
        lines += [f"  {said[finding.kind == UNREADABLE]}  {finding.text}" for finding in self.findings]
        lines += [f"  holds      {rule}" for rule in self.held]
        lines += [f"  note       {note}" for note in self.notes]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return {
            "subject": self.subject,
            "ok": self.ok,
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "findings": [
                {"kind": f.kind, "rule": f.rule, "stated": f.stated, "recomputed": f.recomputed} for f in self.findings
            ],
            "held": list(self.held),
            "notes": list(self.notes),
        }


def worst(kinds: Any) -> int:
    """The exit code for all of them: what is wrong comes before what could not be looked at."""
    found = {EXIT_CODES[kind] for kind in kinds}
    return min(found, default=0)


class Checks:
    """Findings as they come, the rules that held, and notes."""

    __slots__ = ("findings", "held", "notes")

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.held: list[str] = []
        self.notes: list[str] = []

    def rule(self, holds: bool, kind: str, rule: str, stated: object, recomputed: object) -> bool:
        """Enter a rule under what held, or as a disagreement."""
        if holds:
            self.held.append(rule)
        else:
            self.findings.append(Finding(kind, rule, str(stated), str(recomputed)))
        return holds

    def report(self, subject: str) -> Report:
        return Report(subject, tuple(self.findings), tuple(dict.fromkeys(self.held)), tuple(self.notes))

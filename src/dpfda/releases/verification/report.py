"""What a check of a card found: disagreements, each in one line, and how the command ends."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dpfda.releases.cards.words import plain

# By what disagrees: the numbers of the guarantee, the bytes of the file, the ledger; or nothing could be read.
GUARANTEE, EDITED, LEDGER, UNREADABLE = "guarantee", "edited", "ledger", "unreadable"
CLOSE = 1e-9  # relative: roundings of a few operations, and the spare of a calibration
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
    """What was found wrong, what held, and what could not be compared with anything that was given."""

    subject: str
    findings: tuple[Finding, ...]
    held: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()  # parts that should have been compared, and could not be
    limits: tuple[str, ...] = ()  # the same, where only what the file tells by itself was asked for

    @property
    def ok(self) -> bool:
        """Whether all that was asked for was compared or recomputed, and holds."""
        return not self.findings and not self.missing

    @property
    def verdict(self) -> str:
        """In few words; where nothing could be looked at, nothing is said against anybody."""
        if self.findings:
            unread = all(finding.kind == UNREADABLE for finding in self.findings)
            return "COULD NOT BE CHECKED" if unread else "DOES NOT HOLD"
        if self.missing:
            return "INCOMPLETE: the guarantee holds as recomputed, and these parts could not be compared"
        return "holds, as far as the file alone tells" if self.limits else "holds"

    @property
    def exit_code(self) -> int:
        if self.missing and not self.findings:
            return EXIT_CODES[UNREADABLE]
        return worst(EXIT_CODES[finding.kind] for finding in self.findings)

    def text(self) -> str:
        """The report for people: one line for each disagreement, for all that held, and for each note."""
        lines = [f"{self.subject}: {self.verdict}"]
        said = {True: "unchecked", False: "disagrees"}
        lines += [f"  {said[finding.kind == UNREADABLE]}  {finding.text}" for finding in self.findings]
        lines += [f"  missing    {part}" for part in self.missing]
        lines += [f"  limit      {part}" for part in self.limits]
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
            "not_compared": list(self.missing),
            "limits": list(self.limits),
            "held": list(self.held),
            "notes": list(self.notes),
        }


def worst(codes: Iterable[int]) -> int:
    """The exit code for all of them: what is wrong comes before what could not be looked at."""
    return min((code for code in codes if code), default=0)


class Checks:
    """Findings as they come, the rules that held, notes, and what could not be compared."""

    __slots__ = ("findings", "held", "missing", "notes")

    def __init__(self) -> None:
        self.missing: list[str] = []
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

    def number(self, rule: str, stated: float, due: float | None, *, within: float = CLOSE) -> bool:
        """Compare a number of the guarantee with what it should be; False where nobody knows what that is."""
        if due is None:
            return False
        self.rule(math.isclose(stated, due, rel_tol=within), GUARANTEE, rule, plain(stated), f"{due:.10g}")
        return True

    def report(self, subject: str) -> Report:
        return Report(
            subject, tuple(self.findings), tuple(dict.fromkeys(self.held)), tuple(self.notes), tuple(self.missing)
        )

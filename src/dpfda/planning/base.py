"""What every plan is: the answer to a request, as plain data and for people."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from dpfda.bases import Basis
from dpfda.privacy import Budget

# What may hide a signal where it is stated, however many units there are.
STATED = ("penalty", "bandwidth", "kernel", "eta", "size")


class AnyPlan(ABC):
    """Choices that are made before any record is read. Duties of a plan: `title`, `facts` and `lines`."""

    request: Any  # a Request, or one of another kind with the same names
    reasons: tuple[tuple[str, str], ...]  # how each public parameter came about

    @property
    @abstractmethod
    def title(self) -> str:
        """What would be released, and of how many units."""

    @property
    @abstractmethod
    def warnings(self) -> tuple[str, ...]:
        """What should be known before anything is spent."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What it says as plain data, beside the request, reasons and warnings."""

    @abstractmethod
    def lines(self) -> tuple[tuple[str, str], ...]:
        """What it says to people, each line under a label."""

    @property
    def n(self) -> int:
        return int(self.request.n)

    @property
    def budget(self) -> Budget:
        budget: Budget = self.request.budget
        return budget

    @property
    def bound(self) -> float:
        return float(self.request.bound)

    @property
    def instead(self) -> str:
        """What else to state where neither more units nor more epsilon help; empty where nothing was stated."""
        stated = [f"another {name}" for name in STATED if getattr(self.request, name, None) is not None]
        return f": state {' or '.join(stated)}, or leave {'it' if len(stated) == 1 else 'them'} out" if stated else ""

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {
            "n": self.n,
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            **self.facts(),
            "reasons": dict(self.reasons),
            "warnings": list(self.warnings),
        }

    def text(self, *more: tuple[str, str]) -> str:
        """The plan for people, with more lines about what it would be applied to."""
        because = (("because", f"{name}: {how}") for name, how in self.reasons)
        lines = [
            f"Plan for {self.title} at {self.budget}; no values read, nothing charged",
            *(f"Warning: {warning}" for warning in self.warnings),
            "",
            *(f"  {label:<11} {what}" for label, what in (*self.lines(), *because, *more)),
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


def basis_text(basis: Basis) -> str:
    """A basis for people, e.g. "cosine, 12 functions"."""
    return f"{basis.describe()['family']}, {basis.size} function{'s' * (basis.size > 1)}"


def price(spends: Budget) -> dict[str, float]:
    """What a plan would spend, as plain data."""
    return {"epsilon": spends.epsilon, "delta": spends.delta}

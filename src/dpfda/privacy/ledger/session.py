"""Come here for a ledger that lives as long as the process."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from fractions import Fraction

from dpfda.errors import BudgetExceeded
from dpfda.privacy.budget import Budget
from dpfda.privacy.ledger.contract import Charge, Receipt


def exactly(amount: float) -> Fraction:
    """An amount as it was typed: ten charges of 0.1 make 1, which doubles do not."""
    return Fraction(str(amount))


@dataclass(slots=True)
class SessionLedger:
    """A ledger in memory, with an optional cap on the sum of epsilons and of deltas (basic composition).

    It counts for this process alone, all data sets together; a child process starts with a copy of it.

    >>> ledger = SessionLedger(cap=Budget(epsilon=1.0, delta=1e-6))
    >>> _ = ledger.charge(Charge("scans", "mean", Budget(epsilon=0.75, delta=1e-6)))
    >>> ledger.epsilon
    0.75
    """

    cap: Budget | None = None
    entries: list[Charge] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @property
    def epsilon(self) -> float:
        return float(sum(exactly(entry.budget.epsilon) for entry in self.entries))

    @property
    def delta(self) -> float:
        return float(sum(exactly(entry.budget.delta) for entry in self.entries))

    def charge(self, entry: Charge) -> Receipt:
        with self._lock:
            if self.cap is not None:
                left = exactly(self.cap.epsilon) - sum(exactly(old.budget.epsilon) for old in self.entries)
                delta_left = exactly(self.cap.delta) - sum(exactly(old.budget.delta) for old in self.entries)
                if exactly(entry.budget.epsilon) > left or exactly(entry.budget.delta) > delta_left:
                    raise BudgetExceeded(
                        f"This release of '{entry.dataset}' costs epsilon {entry.budget.epsilon:g}, delta "
                        f"{entry.budget.delta:g}; left are epsilon {float(left):g}, delta {float(delta_left):g}. "
                        "Lower the request. Nothing was charged."
                    )
            self.entries.append(entry)
            number = len(self.entries)
        return Receipt(entry.dataset, entry.key, "", number, "", Budget(self.epsilon, self.delta), self.cap)

    def store(self, receipt: Receipt, output: bytes) -> bytes:
        return output

    def burn(self, receipt: Receipt) -> None:
        """Nothing to do: what a session has charged stays charged."""

    def __getstate__(self) -> object:
        raise TypeError("A SessionLedger cannot be copied or pickled: a copy would forget what is spent afterwards.")

    def __deepcopy__(self, memo: object) -> SessionLedger:
        # sklearn's clone copies parameters deeply; the clone must charge the same ledger.
        return self

"""Come here for a ledger that lives as long as the process."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field, replace

from dpfda.errors import BudgetExceeded, ReleaseFailed, UsageError
from dpfda.privacy.budget import Budget
from dpfda.privacy.ledger.contract import Charge, Receipt
from dpfda.privacy.ledger.keyed import Keyed
from dpfda.privacy.units import exactly

__all__ = ["SessionLedger", "exactly"]


@dataclass(slots=True)
class SessionLedger:
    """A ledger in memory, with an optional cap on the sum of epsilons and of deltas (basic composition).

    It counts for the process that made it, all data sets together; a child process is refused, since its copy would
    forget what the others spend, and draw a second noise under the same key.

    >>> ledger = SessionLedger(cap=Budget(epsilon=1.0, delta=1e-6))
    >>> _ = ledger.charge(Charge("scans", "mean", Budget(epsilon=0.75, delta=1e-6)))
    >>> ledger.epsilon
    0.75
    """

    cap: Budget | None = None
    entries: list[Charge] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    _receipts: dict[str, Receipt] = field(default_factory=dict, repr=False, compare=False)
    _burnt: set[str] = field(default_factory=set, repr=False, compare=False)

    _process: int = field(default_factory=os.getpid, repr=False, compare=False)

    @property
    def epsilon(self) -> float:
        return float(sum(exactly(entry.budget.epsilon) for entry in self.entries))

    @property
    def delta(self) -> float:
        return float(sum(exactly(entry.budget.delta) for entry in self.entries))

    @property
    def nominal(self) -> bool:
        """Whether what was spent rests on an approximate draw: then it is no guarantee."""
        return any(entry.nominal for entry in self.entries)

    def charge(self, entry: Charge) -> Receipt:
        if self._process != os.getpid():
            raise UsageError(
                "A SessionLedger counts for the process that made it, and this is another: what is spent here would be "
                "forgotten there. Use dpfda.Ledger('sqlite:///budget.db'). Nothing was charged."
            )
        with self._lock:
            known = self._receipts.get(entry.key)
            if known is not None:
                return self._again(entry, known)
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
            spent = Budget(self.epsilon, min(self.delta, 1 - 2**-53))
            number = len(self.entries)
            receipt = Receipt(entry.dataset, entry.key, "", number, "", spent, self.cap, nominal=self.nominal)
            self._receipts[entry.key] = receipt
        return receipt

    def _again(self, entry: Charge, known: Receipt) -> Receipt:
        if entry != self.entries[known.number - 1]:
            raise UsageError(
                f"The key {entry.key!r} stands for another request already. The same key gives the same release "
                "again; for a new one use a new key. Nothing was charged."
            )
        if entry.key in self._burnt:
            raise ReleaseFailed
        return known

    def store(self, receipt: Receipt, output: bytes) -> bytes:
        with self._lock:
            known = self._known(receipt)
            if known.key in self._burnt:
                raise ReleaseFailed
            if known.output is None:
                known = self._receipts[known.key] = replace(known, output=bytes(output))
            return known.output or b""

    def burn(self, receipt: Receipt) -> None:
        with self._lock:
            known = self._known(receipt)
            if known.output is None:
                self._burnt.add(known.key)

    def _known(self, receipt: Receipt) -> Receipt:
        known = self._receipts.get(receipt.key)
        if known is None or (known.ledger, known.number) != (receipt.ledger, receipt.number):
            raise UsageError(f"This ledger has no such charge under the key {receipt.key!r}. Charge first.")
        return known

    def under(self, key: str) -> Keyed:
        """A view of this ledger that charges under one key: the same request again costs nothing."""
        return Keyed(self, key)

    def __getstate__(self) -> object:
        raise TypeError("A SessionLedger cannot be copied or pickled: a copy would forget what is spent afterwards.")

    def __deepcopy__(self, memo: object) -> SessionLedger:
        # sklearn's clone copies parameters deeply; the clone must charge the same ledger.
        return self

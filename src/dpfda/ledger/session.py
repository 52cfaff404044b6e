"""Ledgers that live as long as the process, and what an estimator without a ledger has spent."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field, replace
from fractions import Fraction
from threading import Lock
from typing import Any
from uuid import uuid4
from weakref import ref

from dpfda.errors import BudgetExceeded, ReleaseFailed, SpendingWarning, UsageError, warn
from dpfda.ledger.contract import Charge, KeyedLedger, Receipt
from dpfda.privacy.budget import Budget, exactly


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
        """The sum of all epsilons so far."""
        return float(sum(exactly(entry.budget.epsilon) for entry in self.entries))

    @property
    def delta(self) -> float:
        """The sum of all deltas so far."""
        return float(sum(exactly(entry.budget.delta) for entry in self.entries))

    @property
    def nominal(self) -> bool:
        """Whether what was spent rests on an approximate draw: then it is no guarantee."""
        return any(entry.nominal for entry in self.entries)

    def charge(self, entry: Charge) -> Receipt:
        """Enter a charge, or raise BudgetExceeded and enter nothing; the same key and request are free."""
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
        """Keep what was drawn on a charge; what is kept is returned, since another thread may have been first."""
        with self._lock:
            known = self._known(receipt)
            if known.key in self._burnt:
                raise ReleaseFailed
            if known.output is None:
                known = self._receipts[known.key] = replace(known, output=bytes(output))
            return known.output or b""

    def burn(self, receipt: Receipt) -> None:
        """Note that a draw failed: the charge stays, and its key gives nothing any more."""
        with self._lock:
            known = self._known(receipt)
            if known.output is None:
                self._burnt.add(known.key)

    def _known(self, receipt: Receipt) -> Receipt:
        known = self._receipts.get(receipt.key)
        if known is None or (known.ledger, known.number) != (receipt.ledger, receipt.number):
            raise UsageError(f"This ledger has no such charge under the key {receipt.key!r}. Charge first.")
        return known

    def under(self, key: str) -> KeyedLedger:
        """A view of this ledger that charges under one key: the same request again costs nothing."""
        return KeyedLedger(self, key)

    def __getstate__(self) -> object:
        raise TypeError("A SessionLedger cannot be copied or pickled: a copy would forget what is spent afterwards.")

    def __deepcopy__(self, memo: object) -> SessionLedger:
        # sklearn's clone copies parameters deeply; the clone must charge the same ledger.
        return self


ADVICE = "Tune on public curves, then fit once; a ledger counts in all processes, and stops at its budget."
SENT = (
    "A clone of an estimator without a ledger was sent to another process. What it spends there is not counted here: "
    f"every fit spends again. {ADVICE}"
)
_PROCESS = uuid4().hex  # of this run: numbers of processes come again, on other machines above all


class OwnSpend:
    """The charges of one estimator's fits and of its clones' fits, added up, which is always safe.

    Searches and cross-validation fit clones and throw them away, so a charge is also counted for the estimators that
    this one was cloned from. There is no cap, and no other process knows of it, so cards say that nothing was recorded.

    >>> spent = OwnSpend()
    >>> for _ in range(10):
    ...     _ = spent.charge(Charge("scans", "mean", Budget(0.1, 0.0)))
    >>> spent.total
    Budget(epsilon=1.0, delta=0.0)
    """

    def __init__(self, above: OwnSpend | None = None) -> None:
        self.first: OwnSpend = self if above is None else above.first  # of the estimator that all were cloned from
        # Those between, as long as somebody can ask them.
        self._between = () if above is None or above is self.first else (ref(above), *above._alive())
        self.number = 0
        self.nominal = False  # whether a fit paid for an approximate draw
        self._epsilon = self._delta = Fraction(0)
        self._settle()

    def _settle(self) -> None:
        self._process, self._lock = _here(), Lock()

    def _alive(self) -> tuple[ref[OwnSpend], ...]:
        return tuple(each for each in self._between if each() is not None)

    @property
    def is_clone(self) -> bool:
        """Whether the estimator was cloned from another one, as searches and cross-validation do."""
        return self.first is not self

    @property
    def total(self) -> Budget:
        """The sum of all charges to this estimator and to its clones."""
        return Budget(float(self._epsilon), min(float(self._delta), 1 - 2**-53))

    def charge(self, entry: Charge) -> Receipt:
        """Add a charge here and for all estimators that this one was cloned from; warn where several fits add up."""
        counters = [self, *(found for each in self._between if (found := each()) is not None)]
        counters += [self.first] if self.is_clone else []
        elsewhere = self._process != _here()
        if elsewhere:
            for counter in counters:
                counter._settle()  # a thread of the other process may have held its lock
        with self.first._lock:
            for counter in counters:
                counter.number += 1
                counter.nominal = counter.nominal or entry.nominal
                counter._epsilon += exactly(entry.budget.epsilon)
                counter._delta += exactly(entry.budget.delta)
            number, total, nominal = self.first.number, self.first.total, self.first.nominal
        if elsewhere:
            warn(
                f"This estimator was made in another process, and spends {entry.budget} here without a ledger: that is "
                f"not counted there. {ADVICE}",
                SpendingWarning,
            )
        elif self.is_clone and number > 1:
            warn(
                f"{number} fits of one estimator and its clones, as GridSearchCV and cross_val_score make them, have "
                f"spent {total} in all, without a ledger. {ADVICE}",
                SpendingWarning,
            )
        return Receipt(entry.dataset, entry.key, "", number, "", total, None, recorded=False, nominal=nominal)

    def store(self, receipt: Receipt, output: bytes) -> bytes:
        """The output itself: nothing is kept."""
        return output

    def burn(self, receipt: Receipt) -> None:
        """Nothing to do: what was spent stays spent."""

    def __copy__(self) -> OwnSpend:
        return self

    def __deepcopy__(self, memo: Any) -> OwnSpend:
        return self  # copies of an estimator spend together

    def __getstate__(self) -> dict[str, Any]:
        if self.is_clone and not self.number:
            warn(SENT, SpendingWarning)
        return {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_between")}

    def __setstate__(self, state: Any) -> None:
        self.__init__()  # type: ignore[misc]
        if isinstance(state, dict):
            self.__dict__.update(state)
            return
        for budget in state[0]:  # as it was kept before: a list of budgets
            self.number += 1
            self._epsilon += exactly(budget.epsilon)
            self._delta += exactly(budget.delta)


def _here() -> tuple[str, int]:
    return _PROCESS, os.getpid()

"""Come here for what one estimator and its clones have spent without a ledger: counted, and forgotten with them."""

from __future__ import annotations

import os
from fractions import Fraction
from threading import Lock
from typing import Any
from uuid import uuid4
from weakref import ref

from dpfda.errors import SpendingWarning, warn
from dpfda.privacy.budget import Budget
from dpfda.privacy.ledger.contract import Charge, Receipt
from dpfda.privacy.ledger.session import exactly

ADVICE = "Tune on public curves, then fit once; a ledger counts in all processes, and stops at its budget."
SENT = (
    "A clone of an estimator without a ledger was sent to another process. What it spends there is not counted here: "
    f"every fit spends again. {ADVICE}"
)
_PROCESS = uuid4().hex  # of this run: numbers of processes come again, on other machines above all


class OwnSpend:
    """The charges of one estimator's fits and of its clones' fits, added up, which is always safe.

    Searches and cross-validation fit clones and throw them away, so those of whom it was cloned hear of every charge.
    No budget limits it and nobody else knows of it, so cards say that nothing was recorded.

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
        return self.first is not self

    @property
    def total(self) -> Budget:
        return Budget(float(self._epsilon), min(float(self._delta), 1 - 2**-53))

    def charge(self, entry: Charge) -> Receipt:
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

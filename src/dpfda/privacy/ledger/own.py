"""What one estimator and its clones have spent without a ledger: counted, and forgotten with them."""

from __future__ import annotations

import os
from fractions import Fraction
from threading import Lock
from typing import Any
from uuid import uuid4

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

    `above` counts for the estimator that this one is a clone of, and hears of every charge: searches and
    cross-validation fit clones. No budget limits it and nobody else knows of it, so cards say that nothing was
    recorded.

    >>> spent = OwnSpend()
    >>> for _ in range(10):
    ...     _ = spent.charge(Charge("scans", "mean", Budget(0.1, 0.0)))
    >>> spent.total
    Budget(epsilon=1.0, delta=0.0)
    """

    def __init__(self, above: OwnSpend | None = None) -> None:
        self.above = above
        self.number = 0
        self.nominal = False  # whether a fit paid for an approximate draw
        self._epsilon = self._delta = Fraction(0)
        self._settle()

    def _settle(self) -> None:
        self._process, self._lock = _here(), Lock()

    @property
    def total(self) -> Budget:
        return Budget(float(self._epsilon), min(float(self._delta), 1 - 2**-53))

    @property
    def line(self) -> list[OwnSpend]:
        """This counter and those above it."""
        return [self] if self.above is None else [self, *self.above.line]

    def charge(self, entry: Charge) -> Receipt:
        elsewhere = self._process != _here()
        if elsewhere:
            for counter in self.line:
                counter._settle()  # a thread of the other process may have held its lock
        first = self.line[-1]
        with first._lock:
            for counter in self.line:
                counter.number += 1
                counter.nominal = counter.nominal or entry.nominal
                counter._epsilon += exactly(entry.budget.epsilon)
                counter._delta += exactly(entry.budget.delta)
            number, total, nominal = first.number, first.total, first.nominal
        if elsewhere:
            warn(
                f"This estimator was made in another process, and spends {entry.budget} here without a ledger: that is "
                f"not counted there. {ADVICE}",
                SpendingWarning,
            )
        elif self.above is not None and number > 1:
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
        if self.above is not None and not self.number:
            warn(SENT, SpendingWarning)
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

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

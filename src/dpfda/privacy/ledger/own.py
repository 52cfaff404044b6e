"""Come here for what one estimator has spent without a ledger: counted, and forgotten with it."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpfda.privacy.budget import Budget
from dpfda.privacy.ledger.contract import Charge, Receipt
from dpfda.privacy.ledger.session import exactly


@dataclass(slots=True)
class OwnSpend:
    """The charges of one estimator's fits, added up: epsilons and deltas each, which is always safe.

    No budget limits it and nobody else knows of it, so cards say that nothing was recorded.

    >>> spent = OwnSpend()
    >>> for _ in range(10):
    ...     _ = spent.charge(Charge("scans", "mean", Budget(0.1, 0.0)))
    >>> spent.total
    Budget(epsilon=1.0, delta=0.0)
    """

    budgets: list[Budget] = field(default_factory=list)
    nominal: bool = False  # whether one of them paid for an approximate draw

    @property
    def total(self) -> Budget:
        delta = float(sum(exactly(budget.delta) for budget in self.budgets))
        return Budget(float(sum(exactly(budget.epsilon) for budget in self.budgets)), min(delta, 1 - 2**-53))

    def charge(self, entry: Charge) -> Receipt:
        self.budgets.append(entry.budget)
        self.nominal = self.nominal or entry.nominal
        number, nominal = len(self.budgets), self.nominal
        return Receipt(entry.dataset, entry.key, "", number, "", self.total, None, recorded=False, nominal=nominal)

    def store(self, receipt: Receipt, output: bytes) -> bytes:
        return output

    def burn(self, receipt: Receipt) -> None:
        """Nothing to do: what was spent stays spent."""

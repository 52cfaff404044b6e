"""The ledger of a session: it refuses before anything is spent, and there is only ever one of it."""

from __future__ import annotations

import copy
import pickle
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sklearn.base import BaseEstimator, clone

from dpfda.errors import BudgetExceeded
from dpfda.ledger import Charge, SessionLedger
from dpfda.privacy import Budget

NO_COPY = "A SessionLedger cannot be copied or pickled: a copy would forget what is spent afterwards."


def cost(epsilon: float, delta: float = 0.0) -> Charge:
    return Charge("scans", "mean", Budget(epsilon=epsilon, delta=delta))


def test_without_a_cap_everything_is_recorded_in_order() -> None:
    ledger = SessionLedger()
    assert (ledger.epsilon, ledger.delta, ledger.entries) == (0, 0, [])
    for entry in (cost(2.0), cost(0.25, 1e-6), cost(0.5, 2e-6)):
        ledger.charge(entry)
    assert [entry.budget.epsilon for entry in ledger.entries] == [2.0, 0.25, 0.5]
    assert ledger.epsilon == 2.75
    assert ledger.delta == 3e-6


def test_a_cap_can_be_spent_to_the_last_bit_and_no_further() -> None:
    ledger = SessionLedger(cap=Budget(epsilon=1.0, delta=2.0**-20))
    for _ in range(4):
        ledger.charge(cost(0.25, 2.0**-22))
    assert (ledger.epsilon, ledger.delta) == (1.0, 2.0**-20)
    with pytest.raises(BudgetExceeded):
        ledger.charge(cost(5e-324))
    assert len(ledger.entries) == 4


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (cost(0.5), "This release of 'scans' costs epsilon 0.5, delta 0; left are epsilon 0.25, delta 1e-06. "),
        (
            cost(0.125, 1e-5),
            "This release of 'scans' costs epsilon 0.125, delta 1e-05; left are epsilon 0.25, delta 1e-06. ",
        ),
    ],
)
def test_a_charge_beyond_the_cap_in_epsilon_or_in_delta_is_refused_and_not_recorded(asked: Charge, text: str) -> None:
    ledger = SessionLedger(cap=Budget(epsilon=1.0, delta=1e-6))
    ledger.charge(cost(0.75))
    with pytest.raises(BudgetExceeded, match=f"^{re.escape(text + 'Lower the request. Nothing was charged.')}$"):
        ledger.charge(asked)
    assert [entry.budget for entry in ledger.entries] == [Budget(epsilon=0.75, delta=0.0)]
    ledger.charge(cost(0.25, 1e-6))


def test_a_pure_cap_allows_no_delta_at_all() -> None:
    with pytest.raises(BudgetExceeded, match="left are epsilon 1, delta 0"):
        SessionLedger(cap=Budget(epsilon=1.0, delta=0.0)).charge(cost(0.5, 5e-324))


def test_threads_that_race_for_the_last_unit_never_overspend() -> None:
    """Eight threads, started together, ask 400 times for a 64th of a budget: exactly 64 of them get it."""
    for _ in range(5):
        ledger = SessionLedger(cap=Budget(epsilon=1.0, delta=0.0))
        start = threading.Barrier(8)

        def ask(ledger: SessionLedger = ledger, start: threading.Barrier = start) -> int:
            start.wait()
            granted = 0
            for _ in range(50):
                try:
                    ledger.charge(cost(1 / 64))
                    granted += 1
                except BudgetExceeded:
                    pass
            return granted

        with ThreadPoolExecutor(8) as pool:
            granted = sum(future.result() for future in [pool.submit(ask) for _ in range(8)])
        assert granted == len(ledger.entries) == 64
        assert ledger.epsilon == 1.0


class SlowBudget:
    """A cap whose delta is read slowly: a second thread could get in between what is left and the entry."""

    epsilon = 1.0

    @property
    def delta(self) -> float:
        threading.Event().wait(0.02)
        return 0.0


def test_the_check_and_the_entry_are_one_step() -> None:
    ledger = SessionLedger(cap=SlowBudget())  # type: ignore[arg-type]
    start = threading.Barrier(4)
    refused = []

    def ask() -> None:
        start.wait()
        try:
            ledger.charge(cost(1.0))
        except BudgetExceeded as error:
            refused.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(ledger.entries), len(refused)) == (1, 3)


def test_a_refusal_leaves_the_ledger_open_for_others() -> None:
    ledger = SessionLedger(cap=Budget(epsilon=1.0, delta=0.0))
    with pytest.raises(BudgetExceeded):
        ledger.charge(cost(2.0))
    ledger.charge(cost(1.0))
    assert ledger.epsilon == 1.0


class Estimator(BaseEstimator):
    def __init__(self, ledger: SessionLedger | None = None) -> None:
        self.ledger = ledger


def test_clones_and_deep_copies_charge_the_same_ledger() -> None:
    ledger = SessionLedger(cap=Budget(epsilon=1.0, delta=0.0))
    cloned = clone(Estimator(ledger))
    assert cloned.ledger is ledger
    assert copy.deepcopy({"deep": [ledger]})["deep"][0] is ledger
    cloned.ledger.charge(cost(1.0))
    with pytest.raises(BudgetExceeded):
        ledger.charge(cost(0.5))


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_ledger_cannot_be_pickled(protocol: int) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(NO_COPY)}$"):
        pickle.dumps(SessionLedger(), protocol=protocol)


def test_a_ledger_cannot_be_copied() -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(NO_COPY)}$"):
        copy.copy(SessionLedger())


def test_a_ledger_does_not_show_its_lock() -> None:
    assert repr(SessionLedger()) == "SessionLedger(cap=None, entries=[])"


def test_ten_charges_of_a_tenth_fill_a_cap_of_one_exactly() -> None:
    ledger = SessionLedger(cap=Budget(epsilon=1.0, delta=0.0))
    for _ in range(10):
        ledger.charge(cost(0.1))
    assert ledger.epsilon == 1.0
    with pytest.raises(BudgetExceeded, match="left are epsilon 0, delta 0"):
        ledger.charge(cost(1e-300))

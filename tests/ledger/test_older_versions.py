"""Ledgers that an earlier version made: they open, charge, give their outputs again and are checked."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from dpfda.errors import BudgetExceeded, ReleaseFailed
from dpfda.ledger import Charge, Ledger
from dpfda.privacy import Budget, GaussianProfile, PureProfile

# Made before entries were verified when they are read: closed, and as a killed process left one, with its log.
KEPT = Path(__file__).parents[1] / "golden" / "ledgers" / "schema-1.zip"


def pure(key: str, epsilon: float = 0.25) -> Charge:
    return Charge("scans", "mean", Budget(epsilon, 0.0), losses=(PureProfile(epsilon),), key=key, request="r")


@pytest.fixture(params=["closed", "killed"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    with zipfile.ZipFile(KEPT) as archive:
        archive.extractall(tmp_path)
    return Ledger(f"sqlite:///{tmp_path / request.param / 'ledger.db'}")


def test_what_was_left_is_left(ledger: Ledger) -> None:
    assert [ledger.remaining(name).epsilon for name in ("scans", "scans-clean")] == [2.25, 2.25]
    assert 1.1 < ledger.remaining("noisy").epsilon < 1.2
    assert not any(budget.nominal for budget in ledger.datasets())
    assert [entry.kind for entry in ledger.history("scans")].count("charge") == 3
    ledger.check()


def test_keys_are_resumed_and_charges_go_on(ledger: Ledger) -> None:
    assert ledger.charge(pure("stored")).output == b"an output"
    with pytest.raises(ReleaseFailed):
        ledger.charge(pure("burnt"))
    opened = ledger.charge(pure("open"))
    assert opened.output is None
    assert ledger.store(opened, b"late") == b"late"
    normal = Charge("noisy", "mean", Budget(1.0, 1e-6), losses=(GaussianProfile(0.2),), key="normal", request="r")
    assert ledger.charge(normal).number == 9
    ledger.charge(pure("new", 2.25))
    with pytest.raises(BudgetExceeded):
        ledger.charge(pure("more"))
    ledger.check()
    ledger.close()
    Ledger(f"sqlite:///{ledger._database.path}").check()  # type: ignore[attr-defined]

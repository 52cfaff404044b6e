"""Golden ledgers check, charge and resume their keys, to the last byte: run by test_golden_keys.py.

Keys of that version were given to requests with all digits of computed numbers, which depend on the processor.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden_requests import everything

import dpfda
from dpfda.curator import payment
from dpfda.errors import UsageError
from dpfda.ledger import Charge
from dpfda.ledger.outputs import Document, unpack
from dpfda.privacy import Budget

GOLDEN = Path(__file__).parents[1] / "golden" / "keys"
KINDS = ("sqlite", "postgresql")


@pytest.fixture(params=KINDS)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """A copy of a ledger of each kind, and its kind."""
    if request.param == "sqlite":
        shutil.copy(GOLDEN / "keys.db", tmp_path / "keys.db")
        return f"sqlite:///{tmp_path / 'keys.db'}", request.param
    import psycopg

    url = str(request.getfixturevalue("postgres_url"))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((GOLDEN / "keys-postgresql.sql").read_bytes())
    return url, request.param


def test_every_key_gives_its_release_again_and_costs_nothing(golden: tuple[str, str]) -> None:
    url, kind = golden
    known = json.loads((GOLDEN / f"keys-{kind}.json").read_text())
    ledger = dpfda.Ledger(url)
    before = ledger.history()
    calls = everything(ledger)
    assert set(calls) == set(known)
    for key, call in calls.items():
        # Roundings of linear algebra differ between processors.
        np.testing.assert_allclose(call(), known[key], rtol=1e-9, atol=1e-12, err_msg=key)
    assert ledger.history() == before
    ledger.check()


def test_a_key_gives_the_card_that_its_ledger_keeps_the_digest_of(
    golden: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cards kept sentences then. Those whose numbers no linear algebra rounds are compared to the last byte."""
    made: list[tuple[tuple[Document, ...], tuple[Document, ...]]] = []
    spend = payment.Payment.spend

    def watched(paid: payment.Payment, body: Any) -> Any:
        found = spend(paid, body)
        assert paid.receipt is not None
        assert paid.receipt.output is not None
        made.append((payment.documents_in(found), unpack(paid.receipt.output).documents))
        return found

    monkeypatch.setattr(payment.Payment, "spend", watched)
    calls = everything(dpfda.Ledger(golden[0]))
    for key in ("mean", "mean-pure", "density", "bound"):
        calls[key]()
        again, kept = made.pop()
        assert [known.card for known in again] == [known.card for known in kept], key
        assert [known.whole for known in again] == [known.whole for known in kept], key


def test_another_request_under_a_known_key_is_refused(golden: tuple[str, str]) -> None:
    ledger = dpfda.Ledger(golden[0])
    other = dpfda.MeanFunction(
        epsilon=0.3, delta=1e-6, bound=2.0, domain=(0, 1), size=5, dataset="scans", ledger=ledger.under("mean")
    )
    with pytest.raises(UsageError, match="stands for another request already"):
        other.fit(np.zeros((400, 24)), grid=np.linspace(0, 1, 24))


def test_the_ledger_goes_on_counting(golden: tuple[str, str]) -> None:
    ledger = dpfda.Ledger(golden[0])
    left = ledger.remaining("scans").epsilon
    ledger.charge(Charge("scans", "mean", Budget(0.25, 0.0)))
    assert ledger.remaining("scans").epsilon < left
    ledger.check()

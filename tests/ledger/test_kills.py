"""Processes are killed with signal 9 at random moments: nothing is handed out that was not charged, and nothing twice.

The moments are seeded; where they fall in a process's work depends on the machine. What is asserted holds wherever.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest
from worker_releases import DATASET, Orders, charge, digest

from dpfda.errors import BudgetExceeded
from dpfda.privacy.ledger.durable import Ledger

WORKER = Path(__file__).parent / "worker_releases.py"


def handed_out(folder: Path) -> list[tuple[str, str]]:
    """Keys and digests of outputs that a process has seen and written down; a torn last line was not."""
    lines = [line for path in folder.glob("handed-*") for line in path.read_text().splitlines(keepends=True)]
    return [(line.split()[0], line.split()[1]) for line in lines if line.endswith("\n")]


def killed_until_exhausted(orders: Orders) -> dict[str, int]:
    """Run it all, and see that every promise held."""
    folder = Path(orders.folder)
    folder.mkdir()
    ran = subprocess.run([sys.executable, str(WORKER), json.dumps(asdict(orders))], stdout=subprocess.PIPE, check=True)
    errors = [path.read_text() for path in sorted(folder.glob("error-*"))]
    assert not errors, errors[0]
    did: dict[str, int] = json.loads(ran.stdout)
    assert did["killed"] == orders.kills
    ledger = Ledger(orders.url, anchor=orders.anchor)
    ledger.check()
    history = ledger.history(DATASET)

    # The budget is used up to the last unit.
    charges = [entry.key for entry in history if entry.kind == "charge"]
    assert len(charges) == orders.charges
    assert len(set(charges)) == len(charges)
    assert ledger.spent(DATASET).epsilon == 1.0
    assert ledger.remaining(DATASET).epsilon == 0.0
    with pytest.raises(BudgetExceeded):
        ledger.charge(charge("one more", orders.charges))

    # Whatever was handed out had been charged, and is what the ledger keeps; no key has two outputs anywhere.
    handed = handed_out(folder)
    outputs = dict(handed)
    assert len(outputs) == len(set(handed))
    assert outputs.keys() <= set(charges)
    assert len(charges) >= len(outputs) > 0
    kept = Counter(entry.charged for entry in history if entry.kind == "output")
    assert all(count == 1 for count in kept.values())
    assert len(kept) >= len(outputs)
    for key, seen in outputs.items():
        stored = ledger.charge(charge(key, orders.charges)).output  # free: it has been paid for
        assert stored is not None
        assert digest(stored) == seen
    assert len(ledger.history(DATASET)) == len(history)
    return did | {"handed out": len(outputs), "outputs": len(kept)}


@pytest.mark.parametrize("anchored", [False, True], ids=["plain", "anchored"])
def test_twelve_kills_neither_lose_a_charge_nor_repeat_a_release(url: str, tmp_path: Path, anchored: bool) -> None:
    anchor = str(tmp_path / "anchor") if anchored else None
    killed_until_exhausted(Orders(url, anchor, str(tmp_path / "lives"), charges=100, kills=12, seed=1))


@pytest.mark.audit
@pytest.mark.parametrize("anchored", [False, True], ids=["plain", "anchored"])
def test_three_hundred_kills_neither_lose_a_charge_nor_repeat_a_release(
    url: str, tmp_path: Path, anchored: bool
) -> None:
    anchor = str(tmp_path / "anchor") if anchored else None
    print(killed_until_exhausted(Orders(url, anchor, str(tmp_path / "lives"), charges=1000, kills=300, seed=2)))

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
import worker_fits
from worker_releases import DATASET, Orders, charge, digest

from dpfda.errors import BudgetExceeded
from dpfda.ledger.durable import Ledger

WORKER = Path(__file__).parent / "worker_releases.py"
FITS = Path(__file__).parent / "worker_fits.py"


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


def fits_killed(url: str, folder: Path, kills: int) -> None:
    """Whole fits under a few keys: whatever was saved under one key is one release, byte by byte."""
    folder.mkdir()
    orders = {"url": url, "place": str(folder), "kills": kills, "seed": 3}
    ran = subprocess.run([sys.executable, str(FITS), json.dumps(orders)], stdout=subprocess.PIPE, check=True)
    errors = [path.read_text() for path in sorted(folder.glob("error-*"))]
    assert not errors, errors[0]
    assert json.loads(ran.stdout) == {"killed": kills}
    ledger = Ledger(url)
    ledger.check()
    charges = [entry.key for entry in ledger.history(worker_fits.DATASET) if entry.kind == "charge"]
    assert len(charges) == len(set(charges)) <= worker_fits.KEYS
    saved: dict[str, set[bytes]] = {}
    for path in folder.glob("key-*.json"):
        saved.setdefault(path.name.partition(".")[0], set()).add(path.read_bytes())
    assert saved
    assert saved.keys() <= set(charges)
    assert all(len(files) == 1 for files in saved.values())
    assert len({next(iter(files)) for files in saved.values()}) == len(saved)
    # And whoever comes later, with the same key, gets the same again.
    for key, files in saved.items():
        worker_fits.fit(url, key).save(folder / "again")
        assert {(folder / "again").read_bytes()} == files
        (folder / "again").unlink()
    assert len(ledger.history(worker_fits.DATASET)) == len(Ledger(url).history(worker_fits.DATASET))


def test_fits_that_are_killed_hand_out_one_release_a_key(url: str, tmp_path: Path) -> None:
    fits_killed(url, tmp_path / "fits", kills=20)


@pytest.mark.audit
def test_a_hundred_fits_that_are_killed_hand_out_one_release_a_key(url: str, tmp_path: Path) -> None:
    fits_killed(url, tmp_path / "fits", kills=100)

"""Processes that release under keys until they are killed, and for the one that kills them.

Run with one argument, the orders as JSON; says in JSON what it did. Nothing is imported that the ledger does not need,
and lives are forked from one process that has imported it, so that a kill falls into the ledger's work, not into
Python's.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import random
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from dpfda.errors import BudgetExceeded
from dpfda.ledger import Charge
from dpfda.ledger.durable import Ledger
from dpfda.privacy import Budget, PureProfile

DATASET = "scans"


@dataclass(frozen=True)
class Orders:
    url: str
    anchor: str | None
    folder: str  # where lives write what they have handed out
    charges: int  # that the budget of 1 allows
    kills: int
    seed: int
    processes: int = 4


def charge(key: str, charges: int) -> Charge:
    """One of so many equal parts of a pure epsilon of 1."""
    part = 1 / charges
    return Charge(DATASET, "noise", Budget(part, 0.0), losses=(PureProfile(part),), key=key, request="the only one")


def digest(output: bytes) -> str:
    return hashlib.sha256(output).hexdigest()


# Shared by all lives: how many kills there were.
KILLS = mmap.mmap(-1, 8)


def pool(orders: Orders) -> int:
    """How many keys there are to choose from: they grow with the kills, so that most of these fall before the end."""
    done = int.from_bytes(KILLS[:], "little")
    return 2 * orders.charges if done >= orders.kills else max(8, 5 * orders.charges * done // (4 * orders.kills))


def live(orders: Orders, ledger: Ledger, life: int) -> None:
    """Release under keys of a pool that all lives share, so that they also meet and also resume each other's."""
    folder, chance = Path(orders.folder), random.Random(f"{orders.seed} {life}")
    with open(folder / f"handed-{life}", "ab", buffering=0) as handed:
        while True:
            key = f"key-{chance.randrange(pool(orders))}"
            try:
                receipt = ledger.charge(charge(key, orders.charges))
            except BudgetExceeded:
                (folder / "exhausted").touch()
                if (folder / "enough").exists():
                    return
                continue
            output = receipt.output
            if output is None:
                time.sleep(chance.choice((0.0, 0.001, 0.004)))
                output = ledger.store(receipt, os.urandom(24))
            handed.write(f"{key} {digest(output)}\n".encode())
            os.fsync(handed.fileno())


def begin(orders: Orders, ledger: Ledger, life: int, chance: random.Random) -> int:
    """Fork a life; it has a ledger of its own, or the one that was opened before the fork."""
    shared = chance.random() < 0.5
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        live(orders, ledger if shared else Ledger(orders.url, anchor=orders.anchor), life)
        code = 0
    except BaseException:
        (Path(orders.folder) / f"error-{life}").write_text(traceback.format_exc())
    finally:
        os._exit(code)


def main(orders: Orders) -> dict[str, int]:
    chance, folder = random.Random(orders.seed), Path(orders.folder)
    ledger = Ledger(orders.url, anchor=orders.anchor)
    ledger.create(DATASET, epsilon=1.0, delta=0.0)
    lives = killed = killed_before = 0
    running: list[int] = []
    while killed < orders.kills:
        while len(running) < orders.processes:
            running.append(begin(orders, ledger, lives, chance))
            lives += 1
        time.sleep(chance.uniform(0.0, 0.05))
        victim = running.pop(chance.randrange(len(running)))
        killed_before += not (folder / "exhausted").exists()
        os.kill(victim, signal.SIGKILL)
        _, status = os.waitpid(victim, 0)
        if not os.WIFSIGNALED(status):
            break  # it ended by itself: its error stands in its file
        killed += 1
        KILLS[:] = killed.to_bytes(8, "little")
    (folder / "enough").touch()
    while len(running) < orders.processes:
        running.append(begin(orders, ledger, lives, chance))
        lives += 1
    for child in running:
        os.waitpid(child, 0)
    return {"killed": killed, "killed before exhaustion": killed_before, "lives": lives}


if __name__ == "__main__":
    print(json.dumps(main(Orders(**json.loads(sys.argv[1])))))

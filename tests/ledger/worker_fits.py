"""Processes that fit and save releases under keys until they are killed.

Run with one argument, the orders as JSON; says in JSON what it did. A release is written under a name of its own, in
full or not at all; that is what was handed out.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

import dpfda
from dpfda.ledger.durable import Ledger

DATASET, KEYS = "scans", 6


def curves() -> Any:
    """The records: the same for every process."""
    rng = np.random.default_rng(0)
    return np.sin(np.linspace(0, np.pi, 12)) * (0.5 + 0.1 * rng.normal(size=(300, 1)))


def fit(url: str, key: str) -> Any:
    known = {"epsilon": 0.5, "delta": 1e-7, "bound": 1.0, "size": 8, "dataset": DATASET}
    return dpfda.MeanFunction(**known, ledger=dpfda.Ledger(url).under(key)).fit(curves()).release_


def live(url: str, folder: Path, life: int, chance: random.Random) -> None:
    number = 0
    while True:
        key = f"key-{chance.randrange(KEYS)}"
        unfinished = folder / f"unfinished-{life}"
        fit(url, key).save(unfinished)
        unfinished.rename(folder / f"{key}.{life}.{number}.json")
        number += 1


def main(url: str, place: str, kills: int, seed: int) -> dict[str, int]:
    folder, chance = Path(place), random.Random(seed)
    Ledger(url).create(DATASET, epsilon=100.0, delta=1e-5)
    fit_once_outside(folder)
    killed, running = 0, []
    while killed < kills:
        while len(running) < 4:
            child = os.fork()
            if child == 0:
                try:
                    live(url, folder, killed * 10 + len(running), chance)
                except BaseException:
                    (folder / f"error-{os.getpid()}").write_text(traceback.format_exc())
                finally:
                    os._exit(1)
            running.append(child)
        time.sleep(chance.uniform(0.0, 0.15))
        victim = running.pop(0)
        os.kill(victim, signal.SIGKILL)
        _, status = os.waitpid(victim, 0)
        killed += 1
        if not os.WIFSIGNALED(status):
            break
    for child in running:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return {"killed": killed}


def fit_once_outside(folder: Path) -> None:
    """Everything is imported before the first fork, so that kills fall into releases."""
    spare = f"sqlite:///{folder / 'spare.db'}"
    Ledger(spare).create(DATASET, epsilon=1.0, delta=1e-6)
    fit(spare, "spare")


if __name__ == "__main__":
    print(json.dumps(main(**json.loads(sys.argv[1]))))

"""A process that charges when it is told to, in forked children and threads, to race with others.

`python worker_race.py URL` opens a ledger, says "ready", and answers every order, a line of JSON on its input, with a
line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from dpfda.errors import BudgetExceeded
from dpfda.ledger import Charge
from dpfda.ledger.durable import Ledger
from dpfda.privacy import Budget, GaussianProfile, PureProfile


def charge(order: dict[str, Any], number: int, who: str) -> Charge:
    """The order's charge, under a key of its own unless all are to use the same."""
    profile = PureProfile(order["epsilon"]) if order["mu"] is None else GaussianProfile(order["mu"])
    budget = Budget(order["epsilon"], 0.0 if order["mu"] is None else order["delta"])
    key = order["key"] or f"{order['dataset']}, {who}, {number}"
    return Charge(order["dataset"], "noise", budget, losses=(profile,), key=key, request="the same for all")


def race(ledger: Ledger, order: dict[str, Any], who: str) -> dict[str, Any]:
    """Charge as often as ordered; how often it was granted, and all outputs."""
    outputs = []
    for number in range(order["times"]):
        try:
            receipt = ledger.charge(charge(order, number, who))
        except BudgetExceeded:
            continue
        output = ledger.store(receipt, os.urandom(16)) if receipt.output is None else receipt.output
        outputs.append(output.hex())
    return {"granted": len(outputs), "outputs": outputs}


def together(ledger: Ledger, order: dict[str, Any]) -> list[dict[str, Any]]:
    """The race in forked children and in threads at once, all with one ledger that was opened before."""
    children = []
    for place in range(order["forks"]):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.close(reading)
                found = race(ledger, order, f"child {place} of {os.getppid()}")
                with os.fdopen(writing, "w") as answer:
                    json.dump(found, answer)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        os.close(writing)
        children.append((child, reading))
    with ThreadPoolExecutor(max(1, order["threads"])) as pool:
        names = [f"thread {place} of {os.getpid()}" for place in range(order["threads"])]
        results = list(pool.map(lambda name: race(ledger, order, name), names))
    for child, reading in children:
        with os.fdopen(reading) as answer:
            text = answer.read()
        _, status = os.waitpid(child, 0)
        if status:
            raise RuntimeError(f"a forked child ended with {status}")
        results.append(json.loads(text))
    return results


if __name__ == "__main__":
    opened = Ledger(sys.argv[1])
    opened.datasets()  # the connection is open before any fork
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(together(opened, json.loads(line))), flush=True)

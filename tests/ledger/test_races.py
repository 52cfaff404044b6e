"""Processes, forked children and threads race for the last of a budget: exactly the budget is granted."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from worker_race import race

from dpfda.errors import DataError
from dpfda.ledger.durable import Ledger
from dpfda.privacy import GaussianProfile

WORKER = Path(__file__).parent / "worker_race.py"
PROCESSES = THREADS = 8


@contextmanager
def workers(url: str, count: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes of their own, ready to be told."""
    with ExitStack() as stack:
        found = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, str(WORKER), url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
            )
            for _ in range(count)
        ]
        stack.callback(lambda: [worker.kill() for worker in found])
        for worker in found:
            assert answer(worker) == "ready"
        yield found


def answer(worker: subprocess.Popen[str]) -> str:
    assert worker.stdout is not None
    return worker.stdout.readline().strip()


def tell(worker: subprocess.Popen[str], order: dict[str, Any]) -> None:
    assert worker.stdin is not None
    print(json.dumps(order), file=worker.stdin, flush=True)


def order(dataset: str, epsilon: float, **more: Any) -> dict[str, Any]:
    """One charge of pure epsilon under an own key, in one thread, unless told otherwise."""
    plain = {"delta": 0.0, "mu": None, "key": None, "times": 1, "forks": 0, "threads": 1}
    return {"dataset": dataset, "epsilon": epsilon, **plain, **more}


def all_at_once(ledger: Ledger, processes: list[subprocess.Popen[str]], wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """Eight processes, and eight threads of this one, with one ledger."""
    with ThreadPoolExecutor(THREADS) as pool:
        for process in processes:
            tell(process, wanted)
        threads = list(pool.map(lambda place: race(ledger, wanted, f"thread {place}"), range(THREADS)))
        return [*threads, *(found for process in processes for found in json.loads(answer(process)))]


def granted(results: list[dict[str, Any]]) -> int:
    return sum(result["granted"] for result in results)


def charged(ledger: Ledger, dataset: str) -> list[str]:
    """The keys of all charges, in the order in which they were entered."""
    return [entry.key for entry in ledger.history(dataset) if entry.kind == "charge"]


# How many charges are left, of how large a part of 1.
LAST = [(1, 0.5), (3, 0.1), (7, 0.001)]


def test_processes_and_threads_that_race_for_the_last_units_get_exactly_those(url: str) -> None:
    ledger = Ledger(url)
    ledger.create("there is a ledger", epsilon=1.0, delta=0.0)
    with workers(url, PROCESSES) as processes:
        for number, (left, part) in enumerate(LAST * 3):
            dataset = f"race {number}"
            ledger.create(dataset, epsilon=1.0, delta=0.0)
            before = round(1 / part) - left
            for place in range(before) if before < 20 else ():
                race(ledger, order(dataset, part), f"before {place}")
            if before >= 20:
                race(ledger, order(dataset, 1.0 - left * part), "before")
            results = all_at_once(ledger, processes, order(dataset, part))
            assert granted(results) == left
            assert len(results) == PROCESSES + THREADS
            assert ledger.spent(dataset).epsilon == 1.0
            assert ledger.remaining(dataset).epsilon == 0.0
            assert granted([race(ledger, order(dataset, part / 1000), "late")]) == 0
    ledger.check()


def test_many_charges_of_all_at_once_fill_the_budget_exactly(url: str) -> None:
    ledger = Ledger(url)
    ledger.create("all", epsilon=1.0, delta=0.0)
    with workers(url, PROCESSES) as processes:
        results = all_at_once(ledger, processes, order("all", 0.01, times=8))  # 128 ask for 100
    assert granted(results) == 100
    assert len(set(charged(ledger, "all"))) == len(charged(ledger, "all")) == 100
    assert len({output for result in results for output in result["outputs"]}) == 100
    assert ledger.spent("all").epsilon == 1.0
    ledger.check()


def most(mu: float, epsilon: float, delta: float) -> int:
    """The largest number of equal Gaussians whose composition, a Gaussian again, meets the budget."""
    count = 0
    while GaussianProfile(mu * math.sqrt(count + 1)).delta(epsilon) <= delta:
        count += 1
    return count


def test_gaussian_charges_are_granted_as_long_as_their_composition_fits(url: str) -> None:
    """The bound is the closed form: k Gaussians of mu are one of mu sqrt(k)."""
    ledger = Ledger(url)
    ledger.create("there is a ledger", epsilon=1.0, delta=0.0)
    with workers(url, PROCESSES) as processes:
        for number, mu in enumerate((0.05, 0.07, 0.15)):
            fit, dataset = most(mu, 1.0, 1e-6), f"gaussian {number}"
            ledger.create(dataset, epsilon=1.0, delta=1e-6)
            assert 1 < fit < 40, mu
            before = max(0, fit - 5)
            own = GaussianProfile(mu)
            epsilon = next(value / 1000 for value in range(1, 10_000) if own.delta(value / 1000) <= 1e-6)
            wanted = order(dataset, epsilon, delta=1e-6, mu=mu)
            assert granted([race(ledger, {**wanted, "times": before}, "before")]) == before
            assert granted(all_at_once(ledger, processes, wanted)) == fit - before
            assert len(charged(ledger, dataset)) == fit
            assert ledger.spent(dataset).epsilon <= 1.0
    ledger.check()


def test_a_key_that_all_charge_at_once_is_charged_once_and_has_one_output(url: str) -> None:
    ledger = Ledger(url)
    ledger.create("one", epsilon=1.0, delta=0.0)
    with workers(url, PROCESSES) as processes:
        for number in range(8):
            results = all_at_once(ledger, processes, order("one", 0.125, key=f"shared {number}"))
            assert granted(results) == PROCESSES + THREADS  # one is paid for, all others are it again
            assert len({output for result in results for output in result["outputs"]}) == 1
            assert charged(ledger, "one") == [f"shared {place}" for place in range(number + 1)]
    assert ledger.spent("one").epsilon == 1.0
    ledger.check()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_forked_children_and_threads_share_a_ledger_that_was_open_before(url: str) -> None:
    ledger = Ledger(url)
    ledger.create("there is a ledger", epsilon=1.0, delta=0.0)
    with workers(url, 1) as (parent,):
        for number, part in enumerate((1.0, 0.25, 0.1)):
            dataset = f"forks {number}"
            ledger.create(dataset, epsilon=1.0, delta=0.0)
            tell(parent, order(dataset, part, forks=PROCESSES, threads=THREADS))
            results = json.loads(answer(parent))
            assert granted(results) == round(1 / part)
            assert len(results) == PROCESSES + THREADS
            assert ledger.spent(dataset).epsilon == 1.0
            ledger.create(f"shared {number}", epsilon=1.0, delta=0.0)
            tell(parent, order(f"shared {number}", part, forks=PROCESSES, threads=THREADS, key=f"shared {number}"))
            results = json.loads(answer(parent))
            assert len({output for result in results for output in result["outputs"]}) == 1
            assert len(charged(ledger, f"shared {number}")) == 1
    ledger.check()


FORKS_AMONG_THREADS = """
import os, signal, sys, threading
sys.path.insert(0, sys.argv[1])
from worker_race import race
from test_races import order
from dpfda.ledger.durable import Ledger
ledger = Ledger(sys.argv[2])
done = threading.Event()
granted = []
def charge(place):
    while not done.is_set() and len(granted) < 600:
        granted.append(race(ledger, order("forks", 1e-6), f"thread {place} {len(granted)}")["granted"])
threads = [threading.Thread(target=charge, args=(place,)) for place in range(4)]
for thread in threads:
    thread.start()
ended = []
for round_ in range(int(sys.argv[3])):
    child = os.fork()
    if child == 0:
        code = 1
        signal.alarm(15)
        try:
            code = race(ledger, order("forks", 1e-6, times=3), f"child {round_}")["granted"] - 3
        finally:
            os._exit(code % 256)
    ended.append(os.waitpid(child, 0)[1])
    if ended[-1]:
        break
done.set()
for thread in threads:
    thread.join()
print(sum(granted), ended)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_in_the_middle_of_other_threads_charges_is_harmless(url: str) -> None:
    """A child inherits whatever its parent's threads held at that moment: locks, files, half of a conversation."""
    ledger, rounds = Ledger(url), 20
    ledger.create("forks", epsilon=1.0, delta=0.0)
    command = [sys.executable, "-c", FORKS_AMONG_THREADS, str(Path(__file__).parent), url, str(rounds)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stderr
    granted, _, ended = ran.stdout.strip().partition(" ")
    assert ended == str([0] * rounds), ran.stderr
    assert len(charged(ledger, "forks")) == int(granted) + 3 * rounds
    ledger.check()


def test_a_check_during_charges_raises_no_false_alarm(url: str, tmp_path: Path) -> None:
    """The anchor moves on while the check reads: what it says must be compared with no older state."""
    ledger = Ledger(url, anchor=tmp_path / "anchor")
    ledger.create("busy", epsilon=1.0, delta=0.0)
    with ThreadPoolExecutor(4) as pool:
        charging = [pool.submit(race, ledger, order("busy", 1e-6, times=60), f"thread {place}") for place in range(3)]
        checks = 0
        while not all(future.done() for future in charging) or checks < 3:
            Ledger(url, anchor=tmp_path / "anchor").check()
            ledger.remaining("busy")
            checks += 1
    assert granted([future.result() for future in charging]) == 180
    ledger.check()


def test_connections_that_are_cut_at_any_moment_neither_lose_nor_repeat_a_charge(postgres_url: str) -> None:
    """Whoever hears of no answer asks again under the same key, and gets the one charge that there is, or makes it."""
    import psycopg

    ledger = Ledger(postgres_url)
    ledger.create("cut", epsilon=1.0, delta=0.0)
    done, cuts = threading.Event(), 0

    def charging(place: int) -> list[str]:
        own, outputs = Ledger(postgres_url), []
        for number in range(20):  # 80 ask for 50
            wanted = order("cut", 0.02, key=f"{place} {number}")
            while True:
                try:
                    outputs += race(own, wanted, "")["outputs"]
                except DataError:
                    continue
                break
        return outputs

    with ThreadPoolExecutor(4) as pool, psycopg.connect(postgres_url, autocommit=True) as connection:
        working = [pool.submit(charging, place) for place in range(4)]
        while not all(future.done() for future in working):
            found = connection.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ).fetchone()
            cuts += 0 if found is None else found[0]
            done.wait(0.02)
        outputs = [output for future in working for output in future.result()]
    assert cuts > 10
    assert len(outputs) == len(set(outputs)) == len(charged(ledger, "cut")) == 50
    assert ledger.spent("cut").epsilon == 1.0
    ledger.check()

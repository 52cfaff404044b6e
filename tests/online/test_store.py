"""Stores: bound to one release, durable, one writer at a time; finite releases behind the same face."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from refusals import refused
from setting import facts, law_for, sections_for

import dpfda
from dpfda.errors import DataError, UsageError
from dpfda.kernels import Gaussian, Matern
from dpfda.mechanisms import SeededRandomness
from dpfda.online import MemoryStore, SqliteStore, as_store, header_of, open_finite, open_online, open_store
from dpfda.online.noise_ahead import NoiseAhead

KERNEL = Matern(2.5, rho=0.3)


def opened(store, **changes):
    return open_online(sections_for(KERNEL), law_for(KERNEL), store, facts=facts(**changes))


def changed(path: Path, statement: str, *values) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()


def test_a_file_is_synchronous_at_every_commit_and_has_a_write_ahead_log(tmp_path):
    with opened(tmp_path / "a.db") as oracle:
        connection = oracle._store._connect()
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


def test_an_answer_stands_in_the_file_before_it_leaves(tmp_path):
    """Seen by another connection, at once, in full."""
    with opened(tmp_path / "a.db") as oracle:
        value = oracle(0.25)[0]
        other = sqlite3.connect(tmp_path / "a.db")
        rows = other.execute("SELECT number, point, state FROM answers").fetchall()
        other.close()
    ((number, point, state),) = rows
    assert number == 1
    assert np.frombuffer(point, "<f8").tolist() == [0.25]
    assert np.frombuffer(state, "<f8")[0] == value
    assert len(state) == 24


@pytest.mark.parametrize(
    ("open_other", "message"),
    [
        (lambda path: opened(path, dataset="other"), r'dataset: "ages" there, "other" here'),
        (lambda path: opened(path, n=7), "n: 400 there, 7 here"),
        (lambda path: opened(path, neighbours="add-or-remove-one"), "neighbours: "),
        (
            lambda path: open_online(sections_for(KERNEL), law_for(KERNEL, n=300), path, facts=facts()),
            "sensitivity: .* there, .* here",
        ),
        (
            lambda path: open_online(
                sections_for(Matern(1.5, rho=0.3)), law_for(Matern(1.5, rho=0.3)), path, facts=facts()
            ),
            "kernel: .* there, .* here",
        ),
    ],
    ids=["dataset", "n", "neighbours", "scale", "kernel"],
)
def test_a_store_of_another_release_is_refused(open_other, message, tmp_path):
    opened(tmp_path / "a.db").close()
    with pytest.raises(UsageError, match=message) as caught:
        open_other(tmp_path / "a.db")
    assert "Open it as it was made, or name a new store." in str(caught.value)


def test_a_scale_calibrated_anew_may_differ_in_its_last_digits(tmp_path):
    """Another version of a numerical library must not lock anybody out: the store's own scale goes on."""
    from dataclasses import replace

    with opened(tmp_path / "a.db") as oracle:
        kept = oracle._law
    law = law_for(KERNEL)
    with open_online(
        sections_for(KERNEL), replace(law, scale=law.scale * (1 + 1e-12)), tmp_path / "a.db", facts=facts()
    ) as again:
        assert again._law == kept


def test_what_is_no_store_is_refused(tmp_path):
    for bad in ("oracle.db", "sqlite:///", "postgresql://x"):
        with refused(UsageError, "store", bad):
            as_store(bad)
    (tmp_path / "text.db").write_text("no database at all, but long enough to be looked at as one" * 20)
    with pytest.raises(DataError, match="cannot be used: file is not a database"):
        opened(tmp_path / "text.db")
    with pytest.raises(DataError, match="cannot be used: unable to open database file"):
        opened(tmp_path / "no" / "folder.db")
    with pytest.raises(DataError, match=r"No store .*none.db'. Check the path"):
        open_store(tmp_path / "none.db")
    as_store(tmp_path / "empty.db").header()
    with pytest.raises(DataError, match=r"is empty\. Open it with a release first"):
        open_store(tmp_path / "empty.db")


def test_a_damaged_store_is_refused(tmp_path):
    with opened(tmp_path / "a.db") as oracle:
        oracle([0.1, 0.2])
    changed(tmp_path / "a.db", "UPDATE answers SET state = x'00' WHERE number = 2")
    with pytest.raises(DataError, match=r"is damaged\. Take a fresh copy of it"):
        opened(tmp_path / "a.db")
    for state in (np.zeros(2), np.array([0.0, np.nan, 0.0])):
        changed(tmp_path / "a.db", "UPDATE answers SET state = ? WHERE number = 2", state.tobytes())
        with pytest.raises(DataError, match=r"An answer in the store is damaged\. Take a fresh copy"):
            opened(tmp_path / "a.db")
    changed(tmp_path / "a.db", "DELETE FROM answers WHERE number = 1")
    with pytest.raises(DataError, match=r"is damaged\. Take a fresh copy of it"):
        open_store(tmp_path / "a.db")
    header = header_of(tmp_path / "a.db")
    for card in (None, {}, {**header["card"], "losses": 3}):
        changed(tmp_path / "a.db", "UPDATE header SET text = ?", json.dumps(header | {"card": card}))
        for again in (open_store, opened):
            with pytest.raises(DataError, match=r"is damaged\. Take a fresh copy of it"):
                again(tmp_path / "a.db")
    changed(tmp_path / "a.db", "UPDATE header SET text = ?", json.dumps(header | {"law": 3}))
    with pytest.raises(DataError, match=r"is damaged\. Take a fresh copy of it"):
        open_store(tmp_path / "a.db")
    for text in ("{", "[]", "{}"):
        changed(tmp_path / "a.db", "UPDATE header SET text = ?", text)
        with pytest.raises(DataError, match="is not of format dpfda-store-1"):
            open_store(tmp_path / "a.db")


def test_rows_of_a_factor_that_do_not_fit_are_refused(tmp_path):
    kernel = Gaussian(rho=0.1)
    with open_online(sections_for(kernel), law_for(kernel), tmp_path / "g.db", facts=facts()) as oracle:
        oracle([0.1, 0.2])
    changed(tmp_path / "g.db", "UPDATE answers SET state = ? WHERE number = 2", np.zeros(3).tobytes())
    with pytest.raises(DataError, match=r"An answer in the store is damaged\. Take a fresh copy"):
        open_store(tmp_path / "g.db")


def test_oracles_that_share_a_store_object_take_turns(tmp_path):
    for store in (MemoryStore(), SqliteStore(tmp_path / "a.db")):
        oracles = [opened(store) for _ in range(4)]
        points, found = np.random.default_rng(0).random((20, 5)), {}

        def ask(k, oracles=oracles, points=points, found=found):
            found[k] = np.array([oracles[k](row) for row in points])

        threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4
        assert all((values == found[0]).all() for values in found.values())


# Finite releases ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def release():
    curves = SeededRandomness(1).normal((40, 11))
    mean = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.0, domain=(0.0, 1.0))
    return mean.fit(curves).release_


@pytest.mark.parametrize("store", ["memory", "file"])
def test_a_finite_release_has_the_same_face(release, store, tmp_path):
    points = np.linspace(0, 1, 7)
    with open_finite(release, tmp_path / "f.db" if store == "file" else None) as oracle:
        assert (oracle(points) == release(points)).all()
        assert oracle.certificate == release.certificate
        assert oracle.domain.sides == ((0.0, 1.0),)
        assert oracle.asked == 0
        assert oracle.points().shape == (0, 1)
        oracle.refresh()
        assert repr(oracle).startswith("FiniteOracle(Release(mean")
    with pytest.raises(UsageError, match="This oracle is closed"):
        oracle(points)


def test_a_finite_release_comes_back_from_its_store_without_data(release, tmp_path):
    points = np.linspace(0, 1, 7)
    open_finite(release, tmp_path / "f.db").close()
    open_finite(release, tmp_path / "f.db").close()
    with open_store(tmp_path / "f.db") as oracle:
        assert (oracle(points) == release(points)).all()
    with refused(UsageError, "store"):
        open_finite(release.smooth("none"), tmp_path / "f.db")
    with pytest.raises(UsageError, match="belongs to another release"):
        opened(tmp_path / "f.db")


# Several processes ----------------------------------------------------------------------------------------------------

CHILD = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import numpy as np
from setting import facts, law_for, sections_for
from dpfda.kernels import Gaussian, Matern
from dpfda.online import open_online
kernel = Matern(2.5, rho=0.3)
oracle = None
while time.time() < float(sys.argv[3]):
    time.sleep(0.001)
oracle = open_online(sections_for(kernel), law_for(kernel), "sqlite:///" + sys.argv[2], facts=facts())
"""
SAME = CHILD + "print(json.dumps(oracle([0.123, 0.5, *np.linspace(0, 1, 30)]).tolist()), flush=True)"
FOREVER = CHILD + textwrap.dedent("""
    generator = np.random.default_rng(int(sys.argv[4]))
    while True:
        points = generator.random(generator.integers(1, 40))
        print(json.dumps([points.tolist(), oracle(points).tolist()]), flush=True)
    """)


def start(script: str, *arguments, output: Path) -> subprocess.Popen:
    command = [sys.executable, "-c", script, str(Path(__file__).parent), *map(str, arguments)]
    with output.open("w") as said:
        return subprocess.Popen(command, stdout=said, stderr=said, text=True)


def test_eight_processes_that_ask_the_same_new_points_get_one_answer(tmp_path):
    """They create the store at the same time, too."""
    files = [tmp_path / f"said-{k}" for k in range(8)]
    children = [start(SAME, tmp_path / "a.db", time.time() + 3.0, output=file) for file in files]
    assert [child.wait(timeout=120) for child in children] == [0] * 8
    answers = [json.loads(file.read_text()) for file in files]
    assert len(answers) == 8
    assert all(values == answers[0] for values in answers)
    with opened(tmp_path / "a.db") as oracle:
        assert oracle.asked == 32
        assert oracle([0.123, 0.5]).tolist() == answers[0][:2]


def test_what_was_answered_before_a_kill_is_answered_after_it(tmp_path):
    """Two processes on one store, killed in the middle, three times over; no point ever has two answers."""
    known: dict[float, float] = {}
    for round_ in range(3):
        files = [tmp_path / f"said-{round_}-{k}" for k in range(2)]
        children = [start(FOREVER, tmp_path / "a.db", 0, 10 * round_ + k, output=file) for k, file in enumerate(files)]
        deadline = time.monotonic() + 60
        while min(file.read_text().count("\n") for file in files) < 15 + 10 * round_:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        for child in children:
            child.send_signal(signal.SIGKILL)
        for child in children:
            assert child.wait(timeout=60) == -signal.SIGKILL
        for line in (line for file in files for line in file.read_text().splitlines()):
            if line.endswith("]]"):  # the last one may be cut off
                for point, value in zip(*json.loads(line), strict=True):
                    assert known.setdefault(point, value) == value
        with opened(tmp_path / "a.db") as oracle:
            points = list(known)
            assert oracle(points).tolist() == [known[point] for point in points]
            assert oracle.asked >= len(known)
    assert len(known) > 500


def in_a_child(work) -> str:
    """What a forked child says."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = str(work())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def test_a_forked_child_asks_the_same_store_with_noise_of_its_own(tmp_path):
    with opened(tmp_path / "a.db") as oracle:
        first = float(oracle(0.5)[0])
        stock = list(oracle._noise._stock)
        connection = oracle._store._connect()
        said = in_a_child(lambda: [float(oracle(0.5)[0]), float(oracle(0.25)[0]), oracle._noise._stock[0] in stock])
        known, new, shared = json.loads(said.lower())
        assert known == first
        assert not shared
        assert oracle(0.25)[0] == new
        assert oracle._store._connect() is connection


def test_memory_is_refused_in_a_forked_child():
    oracle = opened(None)
    first = oracle(0.5)[0]
    assert in_a_child(lambda: repr(float(oracle(0.5)[0]))) == repr(float(first))
    assert "Answers kept in memory belong to one process" in in_a_child(lambda: oracle(0.25))


def test_a_forked_child_throws_noise_drawn_ahead_away():
    noise = NoiseAhead(SeededRandomness(1))
    noise.take(3)
    said = in_a_child(lambda: noise.take(1)[0] == 1 or len(noise._stock))
    assert int(said) == 4095  # a stock of its own, not what was left of the parent's
    assert len(noise._stock) == 4093


def waiting(store):
    """A store whose next transaction stops before its commit, until it is told to fail: the two events."""
    reached, told, honest = threading.Event(), threading.Event(), store.append

    def slow(number, answers):
        honest(number, answers)
        store.append = honest
        reached.set()
        told.wait(30)
        raise sqlite3.OperationalError("disk full")

    store.append = slow
    return reached, told


def ask_and_fail(oracle):
    with pytest.raises(DataError, match="disk full"):
        oracle([0.5])


def test_what_another_thread_has_not_committed_is_no_answer(tmp_path):
    store = SqliteStore(tmp_path / "oracle.db")
    one, other = opened(store), opened(store)
    reached, told = waiting(store)
    failing = threading.Thread(target=ask_and_fail, args=(one,))
    failing.start()
    reached.wait(30)
    reading = threading.Thread(target=other.refresh)
    reading.start()
    time.sleep(0.2)
    told.set()
    failing.join(30)
    reading.join(30)
    assert other.asked == 0
    assert other([0.5]) == one([0.5])


def test_a_child_that_was_forked_in_the_middle_of_an_answer_knows_nothing_of_it(tmp_path):
    store = SqliteStore(tmp_path / "oracle.db")
    oracle = opened(store)
    reached, told = waiting(store)
    failing = threading.Thread(target=ask_and_fail, args=(oracle,))
    failing.start()
    reached.wait(30)
    assert in_a_child(lambda: str(len(oracle.points()))) == "0"
    told.set()
    failing.join(30)

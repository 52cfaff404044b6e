"""Units of epsilon, names and addresses, the chain's hash, and the gate that forks pass through."""

from __future__ import annotations

import hashlib
import os
import threading
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpfda.ledger.amounts import epsilon_of, shown, units_down, units_up
from dpfda.ledger.chain import COLUMNS, Event, event_of, first_link
from dpfda.ledger.database import ForkLock
from dpfda.ledger.names import secrets_of, without_password


@pytest.mark.parametrize(
    ("amount", "up", "down"),
    [
        (0.1, 10**11, 10**11),
        (1e6, 10**18, 10**18),
        (1e-12, 1, 1),
        (1e-13, 1, 0),
        (0.1234567890123456, 123456789013, 123456789012),
    ],
)
def test_costs_are_rounded_up_and_caps_down(amount: float, up: int, down: int) -> None:
    assert (units_up(amount), units_down(amount)) == (up, down)


@given(st.integers(min_value=1, max_value=10**15))
def test_an_epsilon_reads_back_as_the_same_units(units: int) -> None:
    assert units_up(epsilon_of(units)) == units == units_down(epsilon_of(units))


@pytest.mark.parametrize(
    ("units", "up", "down"),
    [
        (600_000_000_000, "0.60", "0.60"),
        (605_000_000_000, "0.61", "0.60"),
        (0, "0.00", "0.00"),
        (1, "0.000000000001", "0.000000000001"),
        (12_345_000_000, "0.013", "0.012"),
        (4 * 10**12, "4.00", "4.00"),
        (123_456 * 10**10, "1234.56", "1234.56"),
    ],
)
def test_amounts_are_shown_on_the_safe_side(units: int, up: str, down: str) -> None:
    assert shown(units, up=True) == up
    assert shown(units, up=False) == down


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("postgresql://host/x", "postgresql://host/x"),
        ("postgresql://me@host/x", "postgresql://me@host/x"),
        ("postgresql:///x?host=/var/run", "postgresql:///x?host=/var/run"),
        ("postgresql://me:secret@host:5432/x?sslmode=require", "postgresql://me:...@host:5432/x?sslmode=require"),
        ("postgresql://me@/x?host=/var/run&password=secret", "postgresql://me@/x?host=/var/run&password=..."),
        ("postgresql://me@/x?sslpassword=secret", "postgresql://me@/x?sslpassword=..."),
        ("postgresql://me:se/cret@host/x", "postgresql://..."),
        ("postgresql://me:se?cret@host/x", "postgresql://..."),
        ("postgresql://me:se#cret@host/x", "postgresql://..."),
        ("postgresql://me:secret[@host/x", "postgresql://..."),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, text: str) -> None:
    assert without_password(url) == text
    assert "cret" not in text


def test_messages_of_a_driver_are_searched_for_the_password_as_typed_and_as_meant() -> None:
    assert secrets_of("postgresql://me:s%20t@host/x?password=other") == ["s%20t", "s t", "other"]
    assert secrets_of("postgresql://me@host/x") == []
    assert secrets_of("postgresql://me:secret[@host/x") == ["postgresql://me:secret[@host/x"]


EVENT = Event(
    number=2,
    previous=bytes(32),
    kind="charge",
    at=3,
    dataset=1,
    name="n",
    key="k",
    charged=4,
    digest=bytes(range(32)),
    what="mean",
    unit="row",
    neighbours="replace-one",
    epsilon=0.1,
    delta=1e-6,
    losses="[]",
    sums="[0]",
    cost=5,
    total=6,
    cap=7,
)


@pytest.mark.parametrize("column", [name for name in COLUMNS if name != "hash"])
def test_every_column_is_in_the_hash(column: str) -> None:
    value = getattr(EVENT, column)
    other = {int: 99, str: "other", bytes: b"\1" * 32, float: 0.5}[type(value)]
    assert replace(EVENT, **{column: other}).fingerprint() != EVENT.fingerprint()
    assert replace(EVENT, **{column: None}).fingerprint() != EVENT.fingerprint()


def test_columns_cannot_change_places_in_the_hash() -> None:
    assert replace(EVENT, name=None, key="n").fingerprint() != replace(EVENT, name="n", key=None).fingerprint()


def test_the_hash_is_what_the_documentation_says() -> None:
    """SHA-256 of the JSON of all columns but the hash, doubles and bytes in hexadecimal."""
    small = Event(number=1, previous=b"\0" * 32, kind="anchor", at=5)
    names = [field.name for field in fields(Event)][4:-1]
    text = f'[["number",1],["previous","{"00" * 32}"],["kind","anchor"],["at",5],'
    text += ",".join(f'["{name}",null]' for name in names) + "]"
    assert small.sealed().hash == hashlib.sha256(text.encode()).digest()
    assert event_of(small.sealed().row()) == small.sealed()


def test_the_first_entry_is_chained_to_the_name_of_the_ledger() -> None:
    assert first_link("a") != first_link("b")


def test_a_fork_waits_for_work_that_has_begun_and_lets_none_begin() -> None:
    gate, order = ForkLock(), []
    begun, finish = threading.Event(), threading.Event()

    class Member:
        def close(self) -> None:
            order.append("closed")

    member = Member()
    gate.members.add(member)

    def work() -> None:
        with gate.inside():
            begun.set()
            finish.wait()
            order.append("worked")

    def fork() -> None:
        gate.before()
        order.append("forked")
        gate.after_in_parent()

    def late() -> None:
        with gate.inside():
            order.append("late")

    threads = [threading.Thread(target=work)]
    threads[0].start()
    begun.wait()
    threads.append(threading.Thread(target=fork))
    threads[1].start()
    while not gate._forking:
        pass
    threads.append(threading.Thread(target=late))
    threads[2].start()
    finish.set()
    for thread in threads:
        thread.join()
    assert order == ["worked", "closed", "forked", "late"]


def test_a_thread_that_forks_in_the_middle_of_its_own_work_does_not_wait_for_itself() -> None:
    gate = ForkLock()
    with gate.inside():
        gate.before()
        gate.after_in_parent()
        with gate.inside():
            passed = ["parent"]
    gate.before()
    gate.after_in_child()
    with gate.inside():
        passed.append("child")
    assert passed == ["parent", "child"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_the_gate_is_registered_with_the_system() -> None:
    from dpfda.ledger.database import FORK_LOCK

    with FORK_LOCK.inside():
        change = FORK_LOCK._change
    child = os.fork()
    if child == 0:
        os._exit(int(FORK_LOCK._change is change))
    assert os.waitpid(child, 0)[1] == 0
    assert FORK_LOCK._change is change

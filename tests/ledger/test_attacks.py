"""Attacks on the ledger: refunds, two names of one file, other branches, forged entries, passwords, odd numbers."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpfda import Ledger
from dpfda.errors import BudgetExceeded, DataError, LedgerDamaged, UsageError
from dpfda.ledger import Charge
from dpfda.ledger.chain import COLUMNS, Event, event_of
from dpfda.privacy import Budget
from dpfda.privacy.profiles import GaussianProfile, Profile, PureProfile


def charge(key: str, epsilon: float, delta: float = 0.0, losses: tuple[Profile, ...] = ()) -> Charge:
    return Charge("d", "mean", Budget(epsilon, delta), losses, key=key)


def made(url: str, *, epsilon: float = 1.0, delta: float = 0.0, anchor: Path | None = None) -> Ledger:
    ledger = Ledger(url, anchor=anchor)
    ledger.create("d", epsilon=epsilon, delta=delta)
    return ledger


# One file, one ledger.

ELSEWHERE = (
    "import sys, dpfda\n"
    "from dpfda.privacy import Budget; from dpfda.ledger import Charge\n"
    "try: dpfda.Ledger(sys.argv[1]).charge(Charge('d', 'mean', Budget(0.6, 0.0))); print('granted')\n"
    "except dpfda.errors.DpfdaError as error: print(error)"
)


def elsewhere(url: str) -> str:
    """What becomes of a charge of 0.6 in another process."""
    ran = subprocess.run([sys.executable, "-c", ELSEWHERE, url], capture_output=True, text=True, check=True)
    return ran.stdout


def test_a_second_name_of_the_file_is_no_second_budget(tmp_path: Path) -> None:
    """SQLite names its log after the file: under another hard link it does not see what stands in it."""
    ledger = made(f"sqlite:///{tmp_path / 'a.db'}")
    ledger.charge(charge("x", 0.6))
    os.link(tmp_path / "a.db", tmp_path / "b.db")
    for name in ("a.db", "b.db"):
        assert "has 2 names" in elsewhere(f"sqlite:///{tmp_path / name}")
    with pytest.raises(DataError, match=r"has 2 names .*Remove all names but one"):
        ledger.charge(charge("y", 0.1))
    (tmp_path / "b.db").unlink()
    assert "left 0.40" in elsewhere(f"sqlite:///{tmp_path / 'a.db'}")
    ledger.check()


@pytest.mark.parametrize("way", ["file", "folder"])
def test_a_link_to_the_file_or_its_folder_leads_to_the_same_budget(tmp_path: Path, way: str) -> None:
    (tmp_path / "kept").mkdir()
    ledger = made(f"sqlite:///{tmp_path / 'kept' / 'a.db'}")
    ledger.charge(charge("x", 0.6))
    (tmp_path / "b").symlink_to(tmp_path / "kept" / ("a.db" if way == "file" else ""))
    assert "left 0.40" in elsewhere(f"sqlite:///{tmp_path / 'b'}{'' if way == 'file' else '/a.db'}")


@pytest.mark.parametrize("name", ["a.db", "a.db-wal", "a.db-shm", "a.db-journal", "link.db"])
def test_no_output_is_written_over_the_log_of_a_ledger(tmp_path: Path, name: str) -> None:
    """The newest charges stand in the log, until the last process that has the ledger open is gone."""
    from dpfda.cli.charging import LedgerChoice, check_books

    (tmp_path / "link.db").symlink_to(tmp_path / "a.db")
    account = LedgerChoice(f"sqlite:///{tmp_path / 'link.db'}", None, None, dry_run=False)
    check_books(account, [tmp_path / "mean.json"])
    with pytest.raises(UsageError, match="cannot be written over the ledger"):
        check_books(account, [tmp_path / name])


# Anchors.


def test_two_branches_of_a_ledger_cannot_both_be_granted_under_one_anchor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy is charged between the moment when the other has looked at the anchor and when it writes there."""
    url, copy, anchor = (tmp_path / name for name in ("a.db", "b.db", "anchor"))
    ledger = made(f"sqlite:///{url}", anchor=anchor)
    shutil.copy(url, copy)
    branch = Ledger(f"sqlite:///{copy}", anchor=anchor)
    add = type(ledger._anchor).add
    granted: list[str] = []

    def overtaken(self: Any, mark: Any) -> Any:
        monkeypatch.undo()
        granted.append(branch.charge(charge("y", 0.6)).key)
        return add(self, mark)

    monkeypatch.setattr(type(ledger._anchor), "add", overtaken)
    with pytest.raises(LedgerDamaged, match="another branch of it"):
        granted.append(ledger.charge(charge("x", 0.6)).key)
    assert granted == ["y"]


def test_a_process_that_is_overtaken_on_the_same_ledger_is_granted_under_the_anchor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    anchor = tmp_path / "anchor"
    ledger = made(f"sqlite:///{tmp_path / 'a.db'}", anchor=anchor)
    other = Ledger(f"sqlite:///{tmp_path / 'a.db'}", anchor=anchor)
    add = type(ledger._anchor).add

    def overtaken(self: Any, mark: Any) -> Any:
        monkeypatch.undo()
        other.charge(charge("y", 0.2))
        return add(self, mark)

    monkeypatch.setattr(type(ledger._anchor), "add", overtaken)
    assert ledger.charge(charge("x", 0.2)).key == "x"
    ledger.check()


def test_a_log_that_was_deleted_is_noticed_by_the_anchor(tmp_path: Path) -> None:
    """A process that is killed leaves its charge in the log; without the log the file is an old copy of itself."""
    path, anchor = tmp_path / "a.db", tmp_path / "anchor"
    ledger = made(f"sqlite:///{path}", anchor=anchor)
    with sqlite3.connect(path) as reader:
        reader.execute("BEGIN").execute("SELECT count(*) FROM dpfda_events").fetchall()  # keeps the log from ending
        ledger.charge(charge("x", 0.6))
        shutil.copy(path, tmp_path / "b.db")
    assert (tmp_path / "a.db").exists()
    shutil.move(tmp_path / "b.db", path)
    for rest in ("a.db-wal", "a.db-shm"):
        (tmp_path / rest).unlink(missing_ok=True)
    with pytest.raises(LedgerDamaged, match="older than its anchor"):
        Ledger(f"sqlite:///{path}", anchor=anchor).charge(charge("y", 0.6))


# Entries by hand.


def by_hand(url: str, forge: Callable[[Event], dict[str, Any]]) -> None:
    """Enter a charge past the library, as whoever may insert can: right in all columns but for those forged."""
    path = url.removeprefix("sqlite:///")
    connection = sqlite3.connect(path)
    rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM dpfda_events ORDER BY number").fetchall()
    last = event_of(rows[-1])
    state = next(event for event in map(event_of, reversed(rows)) if event.kind == "charge")
    new = {"number": last.number + 1, "previous": last.hash, "key": "forged", "hash": b""}
    event = replace(state, **(new | forge(state))).sealed()
    marks = ", ".join("?" * len(COLUMNS))
    connection.execute(f"INSERT INTO dpfda_events ({', '.join(COLUMNS)}) VALUES ({marks})", event.row())
    connection.commit()
    connection.close()


def test_a_refund_by_hand_is_found_by_the_check_also_after_honest_charges(sqlite_url: str) -> None:
    """The forged entry has the sums of its curves, and states a total of nearly nothing."""
    ledger = made(sqlite_url, epsilon=10.0, delta=1e-6)
    ledger.charge(charge("x", 9.0, losses=(PureProfile(9.0),)))
    ledger.check()

    def forge(state: Event) -> dict[str, Any]:
        from dpfda.ledger.accounting import described, sums_in, sums_row

        tiny = (PureProfile(1e-12),)
        sums = sums_row(sums_in(state).plus(tiny))
        return {"losses": described(tiny), "sums": sums, "epsilon": 1e-12, "cost": 1, "total": 1}

    ledger.close()
    by_hand(sqlite_url, forge)
    with pytest.raises(LedgerDamaged, match="states less than its history composes to"):
        ledger.check()
    # The next honest charge rests on the forged total; the check must not.
    ledger.charge(charge("y", 5.0, losses=(PureProfile(5.0),)))
    with pytest.raises(LedgerDamaged, match="states less than its history composes to"):
        ledger.check()


def test_a_charge_for_nothing_by_hand_is_found_by_the_check(sqlite_url: str) -> None:
    ledger = made(sqlite_url, delta=0.0)
    ledger.charge(charge("x", 0.1))
    ledger.close()
    by_hand(sqlite_url, lambda state: {"cost": 0, "total": state.total})
    with pytest.raises(LedgerDamaged, match="entry 3 "):
        ledger.check()


# What the ledger holds.


def test_the_ledger_does_not_keep_how_long_a_draw_took(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time until an output or a burn may depend on the records: on their number, and on what a solver does."""
    ledger = made(url)
    now = [1_000_000_000_000]
    monkeypatch.setattr("dpfda.ledger.chain.time.time_ns", lambda: now[0] * 1_000_000)
    for key in ("kept", "burnt"):
        receipt = ledger.charge(charge(key, 0.1))
        now[0] += 12_345
        ledger.store(receipt, b"noise") if key == "kept" else ledger.burn(receipt)
    entries = {entry.number: entry for entry in ledger.history()}
    fates = [entry for entry in entries.values() if entry.charged is not None]
    assert [entry.kind for entry in fates] == ["output", "burn"]
    assert all(entry.at == entries[entry.charged or 0].at for entry in fates)
    ledger.check()


# Numbers, names, passwords.


@pytest.mark.parametrize("delta", [0.0, 0.5], ids=["pure", "with a delta"])
@pytest.mark.parametrize("epsilon", [1e20, 1e300, 1.7e308])
def test_an_enormous_epsilon_is_refused_in_words(sqlite_url: str, epsilon: float, delta: float) -> None:
    ledger = made(sqlite_url, delta=delta)
    with pytest.raises((BudgetExceeded, UsageError), match=r"."):
        ledger.charge(charge("x", epsilon, delta))
    with pytest.raises(BudgetExceeded, match="Nothing was charged"):
        ledger.charge(charge("y", epsilon, delta, losses=(GaussianProfile(1e100),)))
    assert ledger.history()[-1].kind == "create"


@pytest.mark.parametrize(
    "url",
    [
        "host=db user=me password=hunter2",
        "postgresql+psycopg://db/name?password=hunter2",
        "postgres:me:hunter2/name",
        "PostgreSQL://me:hunter2/name",
    ],
)
def test_an_address_that_is_not_understood_is_not_repeated(url: str) -> None:
    with pytest.raises(UsageError, match=r"^A ledger is named ") as caught:
        Ledger(url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("name", ["a'; DROP TABLE dpfda_events; --", 'b"?%s%', "$1 :x @y", "été"])
def test_names_and_keys_are_never_read_as_statements(url: str, name: str) -> None:
    ledger = Ledger(url)
    ledger.create(name, epsilon=1.0, delta=0.0)
    receipt = ledger.charge(replace(charge(name, 0.25), dataset=name))
    assert ledger.store(receipt, b"x") == b"x"
    assert [(found.name, found.charges) for found in ledger.datasets()] == [(name, 1)]
    ledger.check()


# Roles on a server.


def test_an_analyst_s_role_as_the_documentation_grants_it_charges_and_changes_nothing(postgres_url: str) -> None:
    """The grants are those of docs/ledger.md, word for word."""
    import psycopg

    text = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text()
    grants = [line.strip() for line in text.splitlines() if line.strip().startswith("GRANT ")]
    assert len(grants) == 2
    made(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute("CREATE ROLE analyst LOGIN")
        try:
            for grant in grants:
                owner.execute(grant.encode())
            theirs = postgres_url.replace("postgres@", "analyst@")
            ledger = Ledger(theirs)
            assert ledger.store(ledger.charge(charge("x", 0.6)), b"noise") == b"noise"
            with pytest.raises(BudgetExceeded):
                ledger.charge(charge("y", 0.6))
            ledger.check()
            with psycopg.connect(theirs, autocommit=True) as analyst:
                for statement in (
                    "UPDATE dpfda_ledger SET one = 1",
                    "UPDATE dpfda_events SET total = 0",
                    "DELETE FROM dpfda_events",
                    "TRUNCATE dpfda_events",
                    "ALTER TABLE dpfda_events DISABLE TRIGGER ALL",
                    "SET session_replication_role = replica",
                    "DROP TABLE dpfda_outputs",
                ):
                    with pytest.raises(psycopg.Error):
                        analyst.execute(statement.encode())
            ledger.close()
        finally:
            owner.execute("DROP OWNED BY analyst")
            owner.execute("DROP ROLE analyst")

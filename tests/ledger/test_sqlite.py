"""Ledgers in a file: what is no ledger, what the disk does, and what it costs."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpfda.errors import DataError, DpfdaError, LedgerDamaged, UsageError
from dpfda.ledger import Charge, Ledger, database, sqlite
from dpfda.ledger.chain import COLUMNS, event_of
from dpfda.privacy import Budget, GaussianProfile, PureProfile


def cost(key: str = "k", epsilon: float = 0.25) -> Charge:
    return Charge("scans", "mean", Budget(epsilon, 0.0), losses=(PureProfile(epsilon),), key=key)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def made(path: Path) -> Ledger:
    ledger = Ledger(f"sqlite:///{path}")
    ledger.create("scans", epsilon=1.0, delta=0.0)
    return ledger


def every_act(ledger: Ledger) -> Iterator[object]:
    yield lambda: ledger.charge(cost())
    yield lambda: ledger.remaining("scans")
    yield lambda: ledger.history()
    yield lambda: ledger.check()
    yield lambda: ledger.freeze("scans")
    yield lambda: ledger.id


def test_only_create_makes_a_file(path: Path) -> None:
    for act in every_act(Ledger(f"sqlite:///{path}")):
        with pytest.raises(DataError, match=r"^There is no ledger at sqlite:///.*\.db: make one with Ledger\.create"):
            act()  # type: ignore[operator]
    assert not path.exists()
    made(path)
    assert path.exists()


def test_a_mistake_in_create_makes_no_file(path: Path) -> None:
    with pytest.raises(UsageError):
        Ledger(f"sqlite:///{path}").create("scans", epsilon=-1.0, delta=0.0)
    assert not path.exists()


def test_a_folder_that_is_missing_is_named(path: Path) -> None:
    with pytest.raises(DataError, match=r"^There is no folder '.*nowhere' for the ledger .* Make it first\.$"):
        made(path.parent / "nowhere" / "ledger.db")


def test_a_file_that_is_something_else_is_left_alone(path: Path) -> None:
    path.write_text("time,value\n" * 1000)
    before = path.read_bytes()
    ledger = Ledger(f"sqlite:///{path}")
    for act in (*every_act(ledger), lambda: made(path)):
        with pytest.raises(DataError, match=r"is no ledger: the file is something else\. Name another file\.$"):
            act()  # type: ignore[operator]
    assert path.read_bytes() == before


def test_another_database_is_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE patients (name TEXT)")
        connection.commit()
    before = path.read_bytes()
    ledger = Ledger(f"sqlite:///{path}")
    for act in (*every_act(ledger), lambda: made(path)):
        with pytest.raises(DataError, match=r"^There is no ledger in .*, but something else: make one"):
            act()  # type: ignore[operator]
    assert path.read_bytes() == before


def test_an_empty_file_may_become_a_ledger(path: Path) -> None:
    path.touch()
    ledger = made(path)
    ledger.charge(cost())
    assert [entry.kind for entry in ledger.history("scans")] == ["create", "charge"]


@pytest.mark.parametrize("url", ["sqlite:///", "sqlite:///:memory:"])
def test_a_ledger_in_memory_is_called_otherwise(url: str) -> None:
    with pytest.raises(UsageError, match=r"^A ledger in a file is named 'sqlite:///ledger\.db', got .*SessionLedger"):
        Ledger(url)


@pytest.mark.parametrize("url", ["ledger.db", "mysql://me:secret@host/x", 7])
def test_other_addresses_are_refused_without_repeating_a_password(url: object) -> None:
    with pytest.raises(UsageError, match=r"^A ledger is named 'sqlite:///ledger\.db' or 'postgresql://") as caught:
        Ledger(url)  # type: ignore[arg-type]
    assert "secret" not in str(caught.value)


def test_a_relative_name_stays_where_it_was_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    ledger = Ledger("sqlite:///ledger.db", anchor="anchor")
    monkeypatch.chdir(tmp_path / "there")
    ledger.create("scans", epsilon=1.0, delta=0.0)
    assert sorted(found.name for found in (tmp_path / "here").iterdir()) == ["anchor", "ledger.db"]
    assert repr(ledger) == f"Ledger('sqlite:///{tmp_path}/here/ledger.db', anchor='{tmp_path}/here/anchor')"


@pytest.mark.parametrize("name", ["a b.db", "per%20cent.db", "what?.db", "hash#.db", "ünï.db"])
def test_any_name_of_a_file_is_taken_as_it_is(tmp_path: Path, name: str) -> None:
    made(tmp_path / name).close()
    assert [found.name for found in tmp_path.iterdir()] == [name]


# What the disk and others do.


def test_a_file_that_may_only_be_read_says_so() -> None:
    """Tried by a child that is nobody, since an administrator may write everywhere."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        ledger = made(path)
        ledger.close()
        path.chmod(0o444)
        os.chmod(folder, 0o755)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            try:
                ledger.charge(cost())
                os.write(writing, b"charged")
            except DataError as error:
                os.write(writing, str(error).encode())
            finally:
                os._exit(0)
        os.close(writing)
        os.waitpid(child, 0)
        with open(reading, "rb") as pipe:
            said = pipe.read().decode()
        assert said.endswith("It may only be read here; open it where it may be written. Nothing was entered.")
        assert ledger.remaining("scans").epsilon == 1.0


def test_a_busy_file_is_waited_for_and_then_given_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = made(path)
    monkeypatch.setattr(sqlite, "PATIENCE", 0.2)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DataError, match=r"was kept busy by other processes for 0\.2 seconds\. Nothing was entered"):
            ledger.charge(cost())
        assert ledger.remaining("scans").epsilon == 1.0  # readers do not wait
        other.execute("ROLLBACK")
    assert ledger.charge(cost()).number == 2


class Failing:
    """A connection whose statements of one kind fail, before or after they are done."""

    def __init__(self, connection: sqlite3.Connection, word: str, error: sqlite3.Error, *, done: bool) -> None:
        self.connection, self.word, self.error, self.done = connection, word, error, done

    def execute(self, text: str, *values: object) -> sqlite3.Cursor:
        if text.startswith(self.word):
            if self.done:
                self.connection.execute(text, *values)
            raise self.error
        return self.connection.execute(text, *values)

    def __getattr__(self, name: str) -> object:
        return getattr(self.connection, name)


def failing(monkeypatch: pytest.MonkeyPatch, word: str, said: str, *, times: int, done: bool = False) -> None:
    """Let the next connections fail."""
    connect, left = sqlite3.connect, [times]

    def opened(*args: object, **options: object) -> object:
        connection = connect(*args, **options)  # type: ignore[call-overload]
        if not left[0]:
            return connection
        left[0] -= 1
        return Failing(connection, word, sqlite3.OperationalError(said), done=done)

    monkeypatch.setattr(sqlite.sqlite3, "connect", opened)


@pytest.mark.parametrize(
    ("said", "way"),
    [
        ("database or disk is full", "Make room on the disk."),
        ("disk I/O error", "Try again."),
        ("unable to open database file", "Look at the permissions of the file and its folder."),
        ("attempt to write a readonly database", "It may only be read here; open it where it may be written."),
    ],
)
def test_a_trouble_of_the_disk_is_one_error_and_enters_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, said: str, way: str
) -> None:
    ledger = made(path)
    failing(monkeypatch, "INSERT", said, times=1)
    with pytest.raises(DataError) as caught:
        ledger.charge(cost())
    assert str(caught.value) == f"The ledger sqlite:///{path} cannot be used: {said}. {way} Nothing was entered."
    assert caught.value.__cause__ is None
    assert len(ledger.history()) == 1
    assert ledger.charge(cost()).number == 2


def test_a_disk_that_is_full_at_the_commit_has_taken_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = made(path)
    failing(monkeypatch, "COMMIT", "database or disk is full", times=1)
    with pytest.raises(DataError, match=r"disk is full\. Make room on the disk\. Nothing was entered\.$"):
        ledger.charge(cost())
    assert len(ledger.history()) == 1


def test_a_folder_that_is_closed_is_one_error(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, anchored = made(path), Ledger(f"sqlite:///{path}", anchor=tmp_path / "anchor")

    def closed(self: Path, **options: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "stat", closed)
    with pytest.raises(DataError, match=r"cannot be used: unable to open it, permission denied\. Look at the perm"):
        ledger.charge(cost())
    with pytest.raises(
        DataError, match=r"^The anchor .* cannot be used: Permission denied\. If a charge was on its way"
    ):
        anchored.remaining("scans")


def test_a_folder_that_closes_after_the_commit_fails_no_charge(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(path)
    anchored = Ledger(f"sqlite:///{path}", anchor=tmp_path / "anchor")
    anchored.start_anchor()
    exists = Path.exists

    def closed(self: Path) -> bool:
        if self.name.endswith("-wal"):
            raise PermissionError(13, "Permission denied", str(self))
        return exists(self)

    monkeypatch.setattr(Path, "exists", closed)
    receipt = anchored.charge(cost())
    assert (receipt.number, receipt.spent) == (len(anchored.history()), Budget(0.25, 0.0))


def test_a_commit_that_failed_after_it_was_done_is_found_and_not_charged_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = made(path)
    failing(monkeypatch, "COMMIT", "disk I/O error", times=1, done=True)
    receipt = ledger.charge(cost())
    assert (receipt.number, receipt.spent) == (2, Budget(0.25, 0.0))
    ledger.close()
    failing(monkeypatch, "COMMIT", "disk I/O error", times=1, done=True)
    assert ledger.store(receipt, b"output") == b"output"
    assert [entry.kind for entry in ledger.history()] == ["create", "charge", "output"]


def test_a_commit_that_failed_before_it_was_done_is_tried_once_more(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = made(path)
    failing(monkeypatch, "COMMIT", "disk I/O error", times=1)
    assert ledger.charge(cost()).number == 2
    assert len(ledger.history()) == 2


def test_what_became_of_a_commit_is_not_claimed_where_it_is_not_known(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = made(path)
    failing(monkeypatch, "COMMIT", "disk I/O error", times=2, done=True)
    text = "Whether something was entered is not known; repeat a charge under the same key, it is charged once."
    with pytest.raises(database.Lost) as caught:
        ledger.create("other", epsilon=1.0, delta=0.0)
    assert str(caught.value) == f"The ledger sqlite:///{path} was lost in the middle: disk I/O error. {text}"


def test_a_damaged_file_is_called_damaged(path: Path) -> None:
    ledger = made(path)
    for number in range(200):
        ledger.charge(cost(str(number), 1e-6))
    ledger.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + os.urandom(len(whole) - 8192))
    with pytest.raises(
        LedgerDamaged, match=r"^The ledger .* is damaged: .*\. Nothing was entered; put the newest whole"
    ):
        ledger.check()


def test_a_file_that_was_moved_away_is_not_written_to(path: Path, tmp_path: Path) -> None:
    """The kept connection would still reach the old file, where nobody looks any more."""
    ledger = made(path)
    ledger.charge(cost("a"))
    shutil.copy(path, tmp_path / "other.db")
    ledger.close()
    ledger.charge(cost("b"))
    path.rename(tmp_path / "away.db")
    with pytest.raises(DataError, match="There is no ledger at"):
        ledger.charge(cost("c"))


def test_another_schema_is_refused(path: Path) -> None:
    ledger = made(path)
    ledger.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TRIGGER dpfda_ledger_update")
        connection.execute("UPDATE dpfda_ledger SET version = 2")
        connection.commit()
    with pytest.raises(LedgerDamaged, match="is of schema 2, and this version of dpfda reads schema 1"):
        ledger.charge(cost())


def test_a_guard_that_refuses_our_own_entry_says_which(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = made(path)
    from dpfda.ledger import durable

    monkeypatch.setattr(durable, "cap_of", lambda epsilon, delta: (Budget(epsilon, delta), -1))
    with pytest.raises(LedgerDamaged, match=r"refused an entry by its own guard: CHECK constraint failed: cap"):
        ledger.create("other", epsilon=1.0, delta=0.0)
    assert len(ledger.history()) == 1


# Anchors.


def test_an_anchor_can_be_started_later_and_is_then_needed(path: Path, tmp_path: Path) -> None:
    plain = made(path)
    plain.charge(cost("a"))
    anchored = Ledger(f"sqlite:///{path}", anchor=tmp_path / "anchor")
    with pytest.raises(DataError, match=r"^There is no anchor at .* on purpose: .*start_anchor\(\)\. Nothing was"):
        anchored.charge(cost("b"))
    anchored.start_anchor()
    anchored.charge(cost("b"))
    assert [line.split()[1] for line in (tmp_path / "anchor").read_text().splitlines()] == ["3", "4"]
    with pytest.raises(UsageError, match="has an anchor, and is only written with it"):
        plain.charge(cost("c"))
    with pytest.raises(UsageError, match=r"is there already\. Name a new file\.$"):
        anchored.start_anchor()
    with pytest.raises(UsageError, match=r"^Name the file first"):
        plain.start_anchor()
    assert plain.remaining("scans").epsilon == 0.5  # whoever only reads needs no anchor
    anchored.check()


def test_an_anchor_of_another_ledger_is_refused(path: Path, tmp_path: Path) -> None:
    anchor = tmp_path / "anchor"
    Ledger(f"sqlite:///{tmp_path / 'other.db'}", anchor=anchor).create("scans", epsilon=1.0, delta=0.0)
    with pytest.raises(LedgerDamaged, match=r"belongs to ledger [0-9a-f]{32}, and .* is ledger [0-9a-f]{32}\. Nothing"):
        Ledger(f"sqlite:///{path}", anchor=anchor).create("scans", epsilon=1.0, delta=0.0)


def test_an_empty_anchor_is_filled_by_a_new_ledger_only(path: Path, tmp_path: Path) -> None:
    anchor = tmp_path / "anchor"
    anchor.touch()
    ledger = Ledger(f"sqlite:///{path}", anchor=anchor)
    ledger.create("scans", epsilon=1.0, delta=0.0)
    ledger.charge(cost("a"))
    anchor.write_text("")
    with pytest.raises(LedgerDamaged, match=r"holds no line: it cannot say how far the ledger .* Nothing was entered"):
        ledger.charge(cost("b"))


def test_a_file_that_is_no_anchor_is_not_written_to(path: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.write_text("dear diary\n" * 50)
    with pytest.raises(DataError, match=r"is no anchor of a ledger, but something else\. Name another file\.$"):
        Ledger(f"sqlite:///{path}", anchor=notes).create("scans", epsilon=1.0, delta=0.0)
    assert notes.read_text() == "dear diary\n" * 50


def test_an_anchor_that_cannot_be_written_is_one_error(path: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^The anchor .* cannot be used: .*\. If a charge was on its way, repeat it"):
        Ledger(f"sqlite:///{path}", anchor=tmp_path).create("scans", epsilon=1.0, delta=0.0)


def test_an_old_copy_of_the_file_alone_is_noticed_while_the_ledger_is_in_use(path: Path, tmp_path: Path) -> None:
    """With an anchor nothing waits in a log beside the file: the copy is old, and putting it back is seen at once."""
    ledger = Ledger(f"sqlite:///{path}", anchor=tmp_path / "anchor")
    ledger.create("scans", epsilon=1.0, delta=0.0)
    ledger.charge(cost("a"))
    shutil.copy(path, tmp_path / "old.db")
    ledger.charge(cost("b"))
    shutil.copy(tmp_path / "old.db", path)
    for act in (lambda: ledger.charge(cost("c")), lambda: ledger.remaining("scans"), ledger.check):
        with pytest.raises(LedgerDamaged, match="A backup was restored"):
            act()


# What it costs.


@pytest.mark.audit
def test_a_thousand_charges_with_outputs_are_small(path: Path) -> None:
    """Under 1 MB in all; how long they take is in the benchmarks."""
    ledger = Ledger(f"sqlite:///{path}")
    ledger.create("scans", epsilon=1000.0, delta=1e-6)
    loss = GaussianProfile(0.11234567891234, 1.234567e-12, 64, 1234567.8912)
    for _ in range(1000):
        receipt = ledger.charge(Charge("scans", "mean, gaussian", Budget(0.5, 1e-6), losses=(loss,)))
        ledger.store(receipt, os.urandom(300))
    ledger.close()
    assert [found.name for found in path.parent.iterdir()] == [path.name]
    assert path.stat().st_size < 1_000_000
    ledger.check()


def test_a_ledger_is_closed_when_its_process_ends(path: Path) -> None:
    made(path).close()
    code = (
        "import sys; from dpfda.privacy import *; from dpfda.ledger import Charge, Ledger\n"
        "Ledger(sys.argv[1]).charge(Charge('scans', 'mean', Budget(0.25, 0.0)))"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, f"sqlite:///{path}"], capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_every_trouble_is_an_error_of_this_package(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = made(path)
    failing(monkeypatch, "BEGIN", "something nobody has heard of", times=1)
    with pytest.raises(DpfdaError, match=r"cannot be used: something nobody has heard of\. Try again\. Nothing was"):
        ledger.charge(cost())


# A forger who owns the database, takes the guards away and computes all hashes again.


def story(path: Path) -> Ledger:
    """1 create, 2 copy, 3 charge, 4 output, 5 charge, 6 burn, 7 create (normal noise), 8 charge, 9 freeze."""
    ledger = Ledger(f"sqlite:///{path}")
    ledger.create("scans", epsilon=1.0, delta=0.0, copies=["copy"])
    ledger.store(ledger.charge(cost("a")), b"output")
    ledger.burn(ledger.charge(cost("b")))
    ledger.create("noisy", epsilon=1.0, delta=1e-6)
    ledger.charge(Charge("noisy", "mean", Budget(0.5, 1e-6), losses=(GaussianProfile(0.1),), key="c"))
    ledger.freeze("noisy")
    ledger.check()
    ledger.close()
    return ledger


def forged(path: Path, changes: dict[int, dict[str, Any]], more: dict[str, Any] | None = None) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'index'").fetchall():
            connection.execute(f"DROP INDEX {name}")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM dpfda_events ORDER BY number").fetchall()
        events = [event_of(row) for row in rows]
        if more is not None:
            events.append(replace(events[more.pop("like") - 1], number=len(events) + 1, **more))
        connection.execute("DELETE FROM dpfda_events")
        link = events[0].previous
        for event in events:
            sealed = replace(event, **changes.get(event.number, {}), previous=link).sealed()
            link = sealed.hash
            connection.execute(f"INSERT INTO dpfda_events VALUES ({', '.join('?' * len(COLUMNS))})", sealed.row())


@pytest.mark.parametrize(
    ("changes", "more", "said"),
    [
        ({3: {"cost": 1, "total": 1}}, None, "entry 3 does not add up"),
        ({3: {"total": 2 * 10**12}}, None, "entry 3 is beyond the cap"),
        ({3: {"losses": '[{"law":"pure","epsilon":0.1}]'}}, None, "entry 3 does not have the sums of its curves"),
        ({3: {"losses": "{"}}, None, "entry 3 cannot be read"),
        ({3: {"kind": "bribe"}}, None, "entry 3 cannot be read"),
        ({3: {"sums": None}}, None, "entry 3 lacks a column"),
        ({1: {"total": 5}}, None, "entry 1 does not begin with nothing spent"),
        ({2: {"name": "scans"}}, None, "entry 2 has no name of its own"),
        ({2: {"dataset": 9}}, None, "entry 2 belongs to no data set"),
        ({5: {"key": "a"}}, None, "entry 5 has no key of its own"),
        ({6: {"charged": 1}}, None, "entry 6 belongs to no charge"),
        ({6: {"charged": 3}}, None, "entry 6 is a second output of one charge"),
        ({8: {"total": 10**10}}, None, "entry 8 states less than its history composes to"),
        ({}, {"like": 8, "key": "d"}, "entry 10 was charged to a frozen budget"),
        ({4: {"kind": "burn", "digest": None}}, None, "entry 3 has an output that was not entered"),
    ],
)
def test_a_forger_who_computes_the_hashes_is_found_by_what_does_not_add_up(
    path: Path, changes: dict[int, dict[str, Any]], more: dict[str, Any] | None, said: str
) -> None:
    ledger = story(path)
    forged(path, changes, None if more is None else dict(more))
    with pytest.raises(LedgerDamaged, match=rf"^The ledger .* is damaged: {said}\. Put the newest whole copy back\.$"):
        ledger.check()


def test_only_the_guards_miss_a_forgery_that_adds_up(path: Path) -> None:
    """Whoever owns the database can write another story; an anchor or an old card would still tell."""
    ledger = story(path)
    forged(path, {3: {"what": "covariance"}})
    with pytest.raises(LedgerDamaged, match="entry 9 is not the one that was there before"):
        ledger.check()
    ledger = Ledger(f"sqlite:///{path}")
    with pytest.raises(LedgerDamaged, match=r"lacks its guards: dpfda_keys, .* was taken away or changed\.$"):
        ledger.check()


def test_the_output_of_a_key_is_compared_with_its_digest_before_it_is_given(path: Path) -> None:
    ledger = story(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER dpfda_outputs_update")
        connection.execute("UPDATE dpfda_outputs SET output = x'00'")
    with pytest.raises(LedgerDamaged, match=r"^The output of entry 3 of the ledger .* is not the one that was entered"):
        ledger.charge(cost("a"))

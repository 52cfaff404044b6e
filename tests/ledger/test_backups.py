"""Old copies that are put back, rows that are edited, and statements that the database itself refuses."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from dpfda.errors import BudgetExceeded, DataError, LedgerDamaged, UsageError
from dpfda.ledger import Charge
from dpfda.ledger.accounting import losses_in, sums_in, sums_row
from dpfda.ledger.anchor import Anchor, Mark
from dpfda.ledger.chain import COLUMNS, Event, event_of
from dpfda.ledger.durable import Ledger
from dpfda.privacy import Budget, GaussianProfile, PureProfile


def cost(key: str, epsilon: float = 0.25) -> Charge:
    return Charge("scans", "noise", Budget(epsilon, 0.0), losses=(PureProfile(epsilon),), key=key, request="r")


def filled(url: str, anchor: Path | None = None) -> Ledger:
    """A ledger of one budget with two charges, an output and a burnt key."""
    ledger = Ledger(url, anchor=anchor)
    ledger.create("scans", epsilon=1.0, delta=0.0)
    ledger.store(ledger.charge(cost("one")), b"output of one")
    ledger.burn(ledger.charge(cost("two")))
    return ledger


class Raw:
    """The database under a ledger, by hand."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.lite = url.startswith("sqlite")

    @contextmanager
    def connection(self) -> Iterator[Any]:
        if self.lite:
            with closing(sqlite3.connect(self.url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
                yield connection
        else:
            import psycopg

            with psycopg.connect(self.url, autocommit=True) as connection:
                yield connection

    def run(self, text: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self.connection() as connection:
            cursor = connection.execute(text if self.lite else text.replace("?", "%s"), values)
            return list(cursor.fetchall()) if cursor.description else []

    def refused(self, text: str, values: tuple[Any, ...] = ()) -> str:
        """What the database says to a statement that it refuses."""
        import psycopg

        with pytest.raises((sqlite3.Error, psycopg.Error)) as caught:
            self.run(text, values)
        return str(caught.value)

    def events(self) -> list[Event]:
        return [event_of(row) for row in self.run(f"SELECT {', '.join(COLUMNS)} FROM dpfda_events ORDER BY number")]

    def unguarded(self) -> None:
        """Take the triggers away, as an owner of the database can."""
        if self.lite:
            for (name,) in self.run("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
                self.run(f"DROP TRIGGER {name}")
        else:
            for name, table in self.run(
                "SELECT DISTINCT tgname, tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal"
            ):
                self.run(f"DROP TRIGGER {name} ON {table}")


def insert(event: Event, verb: str = "INSERT") -> tuple[str, tuple[Any, ...]]:
    marks = ", ".join("?" * len(COLUMNS))
    return f"{verb} INTO dpfda_events ({', '.join(COLUMNS)}) VALUES ({marks})", event.row()


def next_charge(events: list[Event], **changes: Any) -> Event:
    """A charge that would be right in every column, but for the changes; its hash is right in any case."""
    last = [event for event in events if event.kind == "charge"][-1]
    proper: dict[str, Any] = {
        "number": events[-1].number + 1,
        "previous": events[-1].hash,
        "key": "forged",
        "total": last.total + last.cost,
    }
    return replace(last, **(proper | changes), hash=b"").sealed()


FORGED = {
    "a total above the cap": ({"cost": 500_000_000_001, "total": 1_000_000_000_001}, "the total stays within the cap"),
    "a total that does not add up": ({"total": 500_000_000_000}, "a pure budget adds up"),
    "a total of less than before": ({"total": 0, "cost": 0}, "a pure budget adds up"),
    "a number that leaves one out": ({"number": 99}, "an entry has the number after the last one"),
    "a number that is taken": ({"number": 2}, "an entry has the number after the last one"),
    "another previous hash": ({"previous": bytes(32)}, "an entry carries the hash of the last one"),
    "a key that was charged": ({"key": "one"}, "a key is charged once"),
    "no data set": ({"dataset": 77}, "an entry belongs to a data set"),
    "a second output": (
        {"kind": "output", "charged": 2, "total": None, "cost": None, "key": None, "losses": None, "sums": None}
        | {"epsilon": None, "delta": None},
        "a charge has one output",
    ),
    "an output of a burnt charge": (
        {"kind": "output", "charged": 4, "total": None, "cost": None, "key": None, "losses": None, "sums": None}
        | {"epsilon": None, "delta": None},
        "none once it is burnt",
    ),
}


@pytest.mark.parametrize("forged", FORGED, ids=list(FORGED))
def test_the_database_refuses_a_forged_entry(url: str, forged: str) -> None:
    """The entry's own hash is right: whoever forges knows how to compute it."""
    ledger, raw = filled(url), Raw(url)
    before = raw.events()
    assert [event.kind for event in before] == ["create", "charge", "output", "charge", "burn"]
    changes, said = FORGED[forged]
    assert said in raw.refused(*insert(next_charge(before, **changes)))
    if raw.lite:
        assert said in raw.refused(*insert(next_charge(before, **changes), "INSERT OR REPLACE"))
        assert said in raw.refused(*insert(next_charge(before, **changes), "REPLACE"))
    assert raw.events() == before
    ledger.check()
    assert ledger.spent("scans").epsilon == 0.5


def test_the_entry_that_is_forged_would_be_taken_if_nothing_were_wrong_with_it(url: str) -> None:
    """Else the refusals above might have another reason."""
    filled(url)
    raw = Raw(url)
    raw.run(*insert(next_charge(raw.events())))
    assert len(raw.events()) == 6


CHANGES = [
    "UPDATE dpfda_events SET total = 0",
    "UPDATE dpfda_events SET cap = 9000000000000 WHERE kind = 'create'",
    "UPDATE dpfda_events SET key = 'three' WHERE key = 'two'",
    "UPDATE dpfda_events SET at = at + 1 WHERE number = 1",
    "DELETE FROM dpfda_events WHERE number = 5",
    "DELETE FROM dpfda_events",
    "UPDATE dpfda_outputs SET output = hash FROM dpfda_events WHERE dpfda_outputs.charged = 2",
    "DELETE FROM dpfda_outputs",
    "UPDATE dpfda_ledger SET id = 'another'",
    "DELETE FROM dpfda_ledger",
    "INSERT INTO dpfda_events SELECT * FROM dpfda_events WHERE number = 2 ON CONFLICT (number) DO UPDATE SET cap = 1",
    "INSERT INTO dpfda_outputs SELECT * FROM dpfda_outputs WHERE true ON CONFLICT (charged) DO UPDATE SET charged = 4",
]


@pytest.mark.parametrize("statement", CHANGES)
def test_the_database_refuses_to_change_what_is_entered(url: str, statement: str) -> None:
    ledger, raw = filled(url), Raw(url)
    before, outputs = raw.events(), raw.run("SELECT * FROM dpfda_outputs")
    assert "dpfda: " in raw.refused(statement)
    assert raw.events() == before
    assert raw.run("SELECT * FROM dpfda_outputs") == outputs
    ledger.check()


@pytest.mark.parametrize("table", ["dpfda_events", "dpfda_outputs", "dpfda_ledger"])
def test_postgresql_refuses_to_empty_a_table(postgres_url: str, table: str) -> None:
    ledger, raw = filled(postgres_url), Raw(postgres_url)
    assert "dpfda: " in raw.refused(f"TRUNCATE {table}")
    assert "dpfda: " in raw.refused(f"TRUNCATE {table} CASCADE")
    ledger.check()


def test_the_database_refuses_a_second_output_for_a_charge(url: str) -> None:
    ledger, raw = filled(url), Raw(url)
    for number, said in ((2, "a charge has one output"), (4, "an output belongs to an entry")):
        assert said in raw.refused("INSERT INTO dpfda_outputs (charged, output) VALUES (?, ?)", (number, b"another"))
    assert ledger.charge(cost("one")).output == b"output of one"


# What an owner of the database can do all the same, and what of it is seen.


EDITED = {
    "the cost of a charge": ("UPDATE dpfda_events SET cost = 1 WHERE number = 2", 2),
    "the total": ("UPDATE dpfda_events SET total = 1 WHERE number = 4", 4),
    "the cap": ("UPDATE dpfda_events SET cap = 9000000000000 WHERE number = 1", 1),
    "the losses": ("UPDATE dpfda_events SET losses = '[]' WHERE number = 2", 2),
    "a key": ("UPDATE dpfda_events SET key = 'three' WHERE number = 4", 4),
    "the time": ("UPDATE dpfda_events SET at = at - 1 WHERE number = 3", 3),
    "what is missing in the middle": ("DELETE FROM dpfda_events WHERE number = 3", 3),
    "an output": ("UPDATE dpfda_outputs SET output = previous FROM dpfda_events WHERE number = 1", 3),
    "an output that is gone": ("DELETE FROM dpfda_outputs", 3),
}


@pytest.mark.parametrize("edited", EDITED, ids=list(EDITED))
def test_a_row_that_was_edited_past_the_guards_is_named_by_the_check(url: str, edited: str) -> None:
    ledger, raw = filled(url), Raw(url)
    ledger.check()
    raw.unguarded()
    statement, number = EDITED[edited]
    raw.run(statement)
    with pytest.raises(LedgerDamaged, match=rf"entry {number} "):
        ledger.check()


def test_guards_that_were_taken_away_are_missed_by_the_check(url: str) -> None:
    ledger = filled(url)
    Raw(url).unguarded()
    with pytest.raises(LedgerDamaged, match="guard"):
        ledger.check()


@pytest.mark.parametrize("table", ["dpfda_events", "dpfda_outputs", "dpfda_ledger"])
def test_guards_that_were_put_to_sleep_are_missed_by_the_check(postgres_url: str, table: str) -> None:
    ledger, raw = filled(postgres_url), Raw(postgres_url)
    raw.run(f"ALTER TABLE {table} DISABLE TRIGGER USER")
    with pytest.raises(LedgerDamaged, match=f"lacks its guards: {table}"):
        ledger.check()


def test_a_forged_total_that_the_curves_do_not_bear_out_is_named_by_the_check(url: str) -> None:
    """With delta above 0 the database cannot recompute a total; the entry is right in all else, its hash included."""
    ledger, raw = Ledger(url), Raw(url)
    ledger.create("scans", epsilon=1.0, delta=1e-6)
    gaussian = Charge("scans", "noise", Budget(0.5, 1e-6), losses=(GaussianProfile(0.1),), request="r")
    receipts = [ledger.charge(replace(gaussian, key=key)) for key in ("one", "two")]
    before = raw.events()
    third = ledger.charge(replace(gaussian, key="three"))
    proper = raw.events()[-1]
    assert third.spent is not None
    assert receipts[1].spent is not None
    raw.unguarded()
    raw.run("DELETE FROM dpfda_events WHERE number = ?", (third.number,))
    raw.run(*insert(replace(proper, total=before[0].total, hash=b"").sealed()))
    with pytest.raises(LedgerDamaged, match="entry 4 is not the one that was there before"):
        ledger.datasets()  # this process remembers
    ledger = Ledger(url)
    assert ledger.datasets()[0].spent == 0.0  # a budget that has come back, if nobody looks
    with pytest.raises(LedgerDamaged, match=rf"entry {third.number} states less than its history composes to"):
        ledger.check()


def test_a_forged_total_is_found_although_honest_charges_rest_on_it(url: str) -> None:
    """No guard stops whoever may insert: with delta above 0 a total may fall, when a better count is made."""
    ledger, raw = Ledger(url), Raw(url)
    ledger.create("scans", epsilon=1.0, delta=1e-6)
    for key in ("one", "two"):
        ledger.charge(cost(key, 0.4))
    last = raw.events()[-1]
    sums = sums_row(sums_in(last).plus(losses_in(last)))
    forged = replace(last, number=4, previous=last.hash, key="forged", cost=0, total=0, sums=sums, hash=b"").sealed()
    raw.run(*insert(forged))
    for key in ("three", "four"):  # 2 in all, of a budget of 1
        ledger.charge(cost(key, 0.4))
    with pytest.raises(LedgerDamaged, match="entry 4 states less than its history composes to"):
        ledger.check()


# Old copies.

OLDER = r"is older than its anchor .*: entry \d is missing\. A backup was restored"


def copied(url: str, to: Path, how: str) -> None:
    """A copy of the file of a ledger, as people make them."""
    source = Path(url.removeprefix("sqlite:///"))
    if how in ("files", "over the file"):
        for path in source.parent.glob(f"{source.name}*"):
            shutil.copy2(path, to.parent / path.name.replace(source.name, to.name))
        return
    with closing(sqlite3.connect(source)) as connection:
        if how == "vacuum into":
            connection.execute("VACUUM INTO ?", (str(to),))
        else:
            with closing(sqlite3.connect(to)) as other:
                connection.backup(other)


def put_back(copy: Path, url: str, how: str) -> None:
    target = Path(url.removeprefix("sqlite:///"))
    if how == "over the file":
        shutil.copyfile(copy, target)  # the same file as before, with what it held before
        return
    for path in target.parent.glob(f"{target.name}*"):
        path.unlink()
    for path in copy.parent.glob(f"{copy.name}*"):
        shutil.copy2(path, target.parent / path.name.replace(copy.name, target.name))


WAYS = ["files", "over the file", "vacuum into", "backup"]


def after_restoring(url: str, anchor: Path | None, how: str, folder: Path) -> Ledger:
    """Two charges, a copy, a third charge, and the copy put back: the third charge is forgotten."""
    ledger = filled(url, anchor)
    copied(url, folder / "copy.db", how)
    ledger.store(ledger.charge(cost("three")), b"output of three")
    assert ledger.spent("scans").epsilon == 0.75
    put_back(folder / "copy.db", url, how)
    return Ledger(url, anchor=anchor)


@pytest.mark.parametrize("how", WAYS)
def test_an_old_copy_put_back_is_detected_by_the_anchor(sqlite_url: str, tmp_path: Path, how: str) -> None:
    anchor = tmp_path / "elsewhere" / "anchor"
    anchor.parent.mkdir()
    ledger = after_restoring(sqlite_url, anchor, how, tmp_path)
    with pytest.raises(LedgerDamaged, match=OLDER):
        ledger.check()
    for key in ("three", "four"):
        with pytest.raises(LedgerDamaged, match=OLDER):
            ledger.charge(cost(key))
    assert [event.key for event in Raw(sqlite_url).events() if event.kind == "charge"] == ["one", "two"]


@pytest.mark.parametrize("how", [way for way in WAYS if way != "over the file"])
def test_without_an_anchor_an_old_copy_cannot_be_told_from_the_present(
    sqlite_url: str, tmp_path: Path, how: str
) -> None:
    """This is what the anchor is for: the copy is a ledger in good order, and its budget has come back."""
    ledger = after_restoring(sqlite_url, None, how, tmp_path)
    ledger.check()
    assert ledger.spent("scans").epsilon == 0.5
    ledger.charge(cost("three"))
    ledger.charge(cost("four"))
    with pytest.raises(BudgetExceeded):
        ledger.charge(cost("five"))


def test_a_ledger_that_has_an_anchor_cannot_be_used_without_it(url: str, tmp_path: Path) -> None:
    """Else whoever restores a copy leaves the anchor out as well. A quote is refused as its charge would be."""
    filled(url, tmp_path / "anchor")
    for act in (Ledger(url).charge, Ledger(url).quote, Ledger(url).under("three").quote):
        with refused(UsageError, "anchor"):
            act(cost("three"))
    assert Ledger(url).spent("scans").epsilon == 0.5
    assert Ledger(url, anchor=tmp_path / "anchor").quote(cost("three")).allowed


def test_an_anchor_that_is_gone_is_not_begun_anew(url: str, tmp_path: Path) -> None:
    filled(url, tmp_path / "anchor")
    (tmp_path / "anchor").unlink()
    ledger = Ledger(url, anchor=tmp_path / "anchor")
    for act in (lambda: ledger.charge(cost("three")), *looks(ledger)):
        with pytest.raises(
            DataError, match=r"^There is no anchor at .* has one since entry 1\. Put .* Nothing was entered\.$"
        ):
            act()
    assert not (tmp_path / "anchor").exists()


def looks(ledger: Ledger) -> list[Callable[[], object]]:
    """All that reads a ledger and enters nothing."""
    reads: list[Callable[[], object]] = [ledger.check, ledger.export, ledger.datasets, ledger.history]
    named: list[Callable[[], object]] = [
        partial(look, "scans") for look in (ledger.spent, ledger.remaining, ledger.history)
    ]
    return [*reads, *named, partial(ledger.quote, cost("three")), partial(ledger.entry, 1), lambda: ledger.id]


def test_a_ledger_that_never_had_an_anchor_is_not_used_with_one(url: str, tmp_path: Path) -> None:
    """A mistyped --anchor is neither passed over nor a beginning: not even before the first charge."""
    Ledger(url).create("scans", epsilon=1.0, delta=0.0)
    typo = tmp_path / "typo"
    ledger = Ledger(url, anchor=typo)
    for act in (lambda: ledger.charge(cost("one")), *looks(ledger)):
        with pytest.raises(
            DataError, match=r"^There is no anchor at .* never had one\. Leave it out, or begin one on purpose: .*\.$"
        ):
            act()
    assert not typo.exists()
    typo.write_bytes(b"")
    for act in (lambda: ledger.charge(cost("one")), *looks(ledger)):
        with pytest.raises(UsageError, match=r"^The ledger .* never had an anchor, and .*typo' is none of it\. Leave"):
            act()
    assert (Ledger(url).anchored, len(Ledger(url).history())) == (None, 1)


def test_a_second_anchor_closes_the_first(url: str, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    first, second = filled(url, old), Ledger(url, anchor=new)
    entered = len(first.history())
    with pytest.raises(
        UsageError, match=r"has an anchor since entry 1\. Name it, .*: former='\.\.\.'; or say lost=True, .* entered\.$"
    ):
        second.start_anchor()
    with pytest.raises(UsageError, match=r"^A former anchor is there or it is lost: .*, not both\.$"):
        second.start_anchor(former=old, lost=True)
    with pytest.raises(DataError, match=r"^There is no anchor at .*typo"):
        second.start_anchor(former=tmp_path / "typo")
    assert (len(first.history()), new.exists()) == (entered, False)
    second.start_anchor(former=old)
    assert old.read_text().splitlines()[-1].endswith(" closed")
    assert second.anchored == entered + 1
    second.charge(cost("three"))
    for act in (lambda: first.charge(cost("four")), *looks(first)):
        with pytest.raises(
            UsageError, match=rf"^The anchor .*old' was given up: entry {entered + 1} of the ledger .* began another"
        ):
            act()
    with pytest.raises(UsageError, match=r"was given up already, with entry .*; or say lost=True, if it is gone\."):
        Ledger(url, anchor=tmp_path / "third").start_anchor(former=old)
    second.check()


def test_an_anchor_that_was_given_up_does_not_pass_an_old_copy(sqlite_url: str, tmp_path: Path) -> None:
    """A copy from before the second anchor and the first anchor fitted together, but for its last line."""
    old, new = tmp_path / "old", tmp_path / "new"
    ledger = filled(sqlite_url, old)
    copied(sqlite_url, tmp_path / "copy.db", "backup")
    later = Ledger(sqlite_url, anchor=new)
    later.start_anchor(former=old)
    later.charge(cost("three"))
    for each in (ledger, later):
        each.close()
    put_back(tmp_path / "copy.db", sqlite_url, "files")
    for anchor in (old, new):
        with pytest.raises(LedgerDamaged, match=OLDER):
            Ledger(sqlite_url, anchor=anchor).charge(cost("four"))


def test_an_anchor_begun_by_a_process_that_was_killed_is_not_one_of_two(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is entered first: the former anchor may then still be closed, and passes nothing before."""
    old, new = tmp_path / "old", tmp_path / "new"
    first, second = filled(url, old), Ledger(url, anchor=new)
    with monkeypatch.context() as killed:
        killed.setattr(Anchor, "add", lambda *_: _killed(new, None))
        with pytest.raises(KeyboardInterrupt):
            second.start_anchor(former=old)
    with pytest.raises(UsageError, match="was given up: entry"):
        first.charge(cost("three"))
    second.start_anchor(former=old)
    second.charge(cost("three"))
    second.check()


def test_a_lost_anchor_is_said_to_be_lost(url: str, tmp_path: Path) -> None:
    filled(url, tmp_path / "anchor")
    (tmp_path / "anchor").unlink()
    ledger = Ledger(url, anchor=tmp_path / "anew")
    ledger.start_anchor(lost=True)
    ledger.charge(cost("three"))
    assert [entry.what for entry in ledger.history() if entry.kind == "anchor"] == [
        None,
        "the anchor before was said to be lost",
    ]


@pytest.mark.parametrize("said", [{"lost": True}, {"former": "other"}], ids=["lost", "former"])
def test_what_never_was_is_not_given_up(url: str, tmp_path: Path, said: dict[str, Any]) -> None:
    Ledger(url).create("scans", epsilon=1.0, delta=0.0)
    with pytest.raises(UsageError, match=r"never had an anchor, so none is given up or lost: .* was entered\.$"):
        Ledger(url, anchor=tmp_path / "anchor").start_anchor(**said)
    assert len(Ledger(url).history()) == 1


def test_a_torn_last_line_of_an_anchor_does_not_lock_the_ledger(url: str, tmp_path: Path) -> None:
    """A process was killed while it wrote: the line before it still stands."""
    anchor = tmp_path / "anchor"
    ledger = filled(url, anchor)
    whole = anchor.read_bytes()
    for cut in (1, 5, 20, 50):
        anchor.write_bytes(whole[:-cut])
        Ledger(url, anchor=anchor).check()
    ledger.charge(cost("three"))
    Ledger(url, anchor=anchor).check()
    assert ledger.spent("scans").epsilon == 0.75


@pytest.mark.parametrize("open_before", [False, True], ids=["opened anew", "open all the time"])
def test_an_old_line_that_is_added_to_an_anchor_does_not_pass_an_old_copy(
    sqlite_url: str, tmp_path: Path, open_before: bool
) -> None:
    """Lines can be added where the anchor stands, and the old one fits the old copy."""
    anchor = tmp_path / "anchor"
    ledger = filled(sqlite_url, anchor)
    old = anchor.read_bytes().splitlines(keepends=True)[-1]
    copied(sqlite_url, tmp_path / "copy.db", "files")
    ledger.charge(cost("three"))
    if not open_before:
        put_back(tmp_path / "copy.db", sqlite_url, "files")
        ledger = Ledger(sqlite_url, anchor=anchor)
    with anchor.open("ab") as file:
        file.write(old)
    for act in (ledger.check, lambda: ledger.spent("scans"), lambda: ledger.charge(cost("four"))):
        with pytest.raises(LedgerDamaged, match=r"^The anchor .* is damaged: its lines are not in the order in which"):
            act()


def test_an_anchor_counts_all_its_lines_however_many_old_ones_are_added(tmp_path: Path) -> None:
    anchor = Anchor(tmp_path / "anchor")
    marks = [Mark("a" * 32, number, bytes([number]) * 32) for number in (1, 2, 3)]
    for mark in marks:
        assert anchor.add(mark)
    anchor.path.write_bytes(anchor.path.read_bytes() + anchor.path.read_bytes().splitlines(keepends=True)[1] * 100)
    for act in (Anchor(anchor.path).seen, anchor.seen, anchor.marks, lambda: anchor.add(replace(marks[2], number=4))):
        with pytest.raises(LedgerDamaged, match="not in the order"):
            act()


def test_an_anchor_that_was_closed_stays_closed_whatever_is_added(tmp_path: Path) -> None:
    anchor = Anchor(tmp_path / "anchor")
    first = Mark("a" * 32, 1, bytes(32))
    anchor.add(replace(first, closed=True))
    assert anchor.seen().mark == replace(first, closed=True)
    anchor.add(replace(first, number=2))
    for read in (anchor, Anchor(anchor.path)):
        assert read.seen().mark == Mark("a" * 32, 2, bytes(32), closed=True)


def test_an_anchor_takes_the_lines_of_one_ledger(tmp_path: Path) -> None:
    """Two new ledgers may find the same empty file at the same moment."""
    anchor = Anchor(tmp_path / "anchor")
    mark, other = Mark("a" * 32, 1, bytes(32)), Mark("b" * 32, 2, bytes(32))
    assert anchor.add(mark)
    assert not anchor.add(other)
    assert anchor.marks() == [mark]


@pytest.mark.parametrize("place", [0, 10, 33, 50, -3, -1], ids=str)
@pytest.mark.parametrize("which", [0, -1], ids=["first line", "last line"])
def test_a_damaged_line_of_an_anchor_is_not_passed_over(
    sqlite_url: str, tmp_path: Path, which: int, place: int
) -> None:
    """One bit of the newest line, and an older copy of the ledger would be taken for the newest."""
    anchor = tmp_path / "anchor"
    filled(sqlite_url, anchor)
    lines = [bytearray(line) for line in anchor.read_bytes().splitlines(keepends=True)]
    lines[which][place] ^= 0x80
    anchor.write_bytes(b"".join(lines))
    ledger = Ledger(sqlite_url, anchor=anchor)
    for act in (ledger.check, lambda: ledger.spent("scans"), lambda: ledger.charge(cost("three"))):
        with pytest.raises(
            LedgerDamaged,
            match=r"^The anchor .* is damaged: it has a line that no ledger wrote\. Put the whole file back",
        ):
            act()
    Ledger(sqlite_url, anchor=tmp_path / "anew").start_anchor(lost=True)
    Ledger(sqlite_url, anchor=tmp_path / "anew").check()


@pytest.mark.parametrize("closed", [False, True], ids=["a line", "a closing line"])
def test_a_line_torn_anywhere_is_ended_by_the_next_one_and_accepted(tmp_path: Path, closed: bool) -> None:
    first, second = Mark("a" * 32, 9, bytes(32)), Mark("a" * 32, 10, bytes(32), closed=closed)
    whole = Anchor(tmp_path / "whole")
    whole.add(first)
    start = whole.path.stat().st_size
    whole.add(second)
    text = whole.path.read_bytes()
    for cut in range(start, len(text)):
        torn = Anchor(tmp_path / f"torn {cut}")
        torn.path.write_bytes(text[:cut])
        assert torn.seen().mark == first
        third = Mark("a" * 32, 11, bytes(32))
        assert torn.add(third)
        for read in (torn, Anchor(torn.path)):
            assert read.seen().mark == replace(third, closed=closed and cut == len(text) - 1)


def test_a_line_that_lacks_its_end_only_is_later_than_the_entry_before(tmp_path: Path) -> None:
    """Else the slower of two processes would note its entry behind it, and the numbers would fall."""
    anchor = Anchor(tmp_path / "anchor")
    marks = [Mark("a" * 32, number, bytes(32)) for number in (1, 2, 3)]
    anchor.add(marks[0])
    anchor.add(marks[2])
    anchor.path.write_bytes(anchor.path.read_bytes()[:-1])
    assert not Anchor(anchor.path).add(marks[1])
    assert anchor.marks() == [marks[0], marks[2]]


@pytest.mark.parametrize("torn", [None, b"", b"0123"], ids=["no file", "an empty file", "half a line"])
def test_a_ledger_whose_maker_was_killed_before_the_anchor_was_written_can_still_be_used(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torn: bytes | None
) -> None:
    """Nothing has been charged yet, so nothing can be forgotten; where there is no file at all, it is begun anew."""
    path = tmp_path / "anchor"
    with monkeypatch.context() as killed:
        killed.setattr(Anchor, "add", lambda *_: _killed(path, torn))
        with pytest.raises(KeyboardInterrupt):
            Ledger(url, anchor=path).create("scans", epsilon=1.0, delta=0.0)
    ledger = Ledger(url, anchor=path)
    if torn is None:
        with pytest.raises(DataError, match=r"^There is no anchor at .*: Ledger\(url, anchor=\.\.\.\)\.start_anchor"):
            ledger.charge(cost("one"))
        ledger.start_anchor(lost=True)
    ledger.charge(cost("one"))
    ledger.check()
    # From here on an anchor without a line is an anchor that was lost.
    path.write_bytes(b"")
    with pytest.raises(LedgerDamaged, match=r"^The anchor .* holds no line"):
        ledger.charge(cost("two"))


def _killed(path: Path, torn: bytes | None) -> None:
    if torn is not None:
        path.write_bytes(torn)
    raise KeyboardInterrupt


@pytest.mark.parametrize("how", ["template", "rows"])
def test_an_old_copy_of_a_postgresql_database_is_detected_by_the_anchor(
    postgres_url: str, postgres_host: str, tmp_path: Path, how: str
) -> None:
    anchor, raw = tmp_path / "anchor", Raw(postgres_url)
    ledger = filled(postgres_url, anchor)
    tables = ("dpfda_ledger", "dpfda_events", "dpfda_outputs")
    name = postgres_url.split("/")[3].partition("?")[0]
    home = Raw(f"postgresql://postgres@/postgres?host={postgres_host}")

    def disconnected() -> None:
        home.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ?", (name,))

    if how == "template":
        disconnected()
        home.run(f"CREATE DATABASE {name}_copy TEMPLATE {name}")
    else:
        kept = {table: raw.run(f"SELECT * FROM {table}") for table in tables}
    ledger = Ledger(postgres_url, anchor=anchor)
    ledger.charge(cost("three"))
    if how == "template":
        home.run(f"DROP DATABASE {name} WITH (FORCE)")
        home.run(f"ALTER DATABASE {name}_copy RENAME TO {name}")
    else:
        with raw.connection() as connection:
            for table in tables:
                connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")  # as an owner can
            for table, rows in kept.items():
                connection.execute(f"DELETE FROM {table}")
                for row in rows:
                    connection.execute(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(row))})", row)
    old = Ledger(postgres_url, anchor=anchor)
    for act in (old.check, lambda: old.charge(cost("four"))):
        with pytest.raises(LedgerDamaged, match=OLDER):
            act()
    assert [event.key for event in raw.events() if event.kind == "charge"] == ["one", "two"]

"""Damage to the file of a ledger: whatever happens to its bytes, nothing is given back unseen."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from dpfda.errors import BudgetExceeded, LedgerDamaged, NoBudget, ReleaseFailed
from dpfda.ledger import Charge, Ledger
from dpfda.ledger.chain import scan
from dpfda.privacy import Budget, GaussianProfile, PureProfile

PAGE = 4096
FLIPS, FEW = 2000, 60
KEYS = 40


def pure(key: str, epsilon: float = 0.03, dataset: str = "scans") -> Charge:
    return Charge(dataset, "mean", Budget(epsilon, 0.0), losses=(PureProfile(epsilon),), key=key, request="r")


def normal(key: str, mu: float = 0.05) -> Charge:
    return Charge("noisy", "mean", Budget(0.5, 1e-6), losses=(GaussianProfile(mu),), key=key, request="r")


def story(path: Path) -> Ledger:
    """Three budgets: one of sums with many outputs, one of Gaussian releases, one that is frozen."""
    ledger = Ledger(f"sqlite:///{path}")
    ledger.create("scans", epsilon=3.0, delta=0.0, copies=["scans-clean"])
    ledger.create("noisy", epsilon=2.0, delta=1e-6)
    ledger.create("ended", epsilon=1.0, delta=0.0)
    ledger.freeze("ended")
    for number in range(KEYS):
        ledger.store(ledger.charge(pure(f"key {number}")), f"output {number} ".encode() * (1 + number))
        ledger.charge(normal(f"normal {number}"))
    ledger.burn(ledger.charge(pure("burnt")))
    return ledger


Question = Callable[[Ledger], object]


def asked(ledger: Ledger, charge: Charge) -> object:
    try:
        return ledger.charge(charge).output
    except (BudgetExceeded, NoBudget, ReleaseFailed) as error:
        return type(error)


# What a flipped bit may decide: what is left, what a key gives, whether more is granted than there is.
QUESTIONS: dict[str, Question] = {
    "left": lambda ledger: ledger.remaining("scans"),
    "left under another name": lambda ledger: ledger.remaining("scans-clean"),
    "left of normal noise": lambda ledger: ledger.remaining("noisy"),
    "left of what is frozen": lambda ledger: ledger.remaining("ended"),
    "the budgets": lambda ledger: ledger.datasets(),
    "a first output again": lambda ledger: asked(ledger, pure("key 0")),
    "an output again": lambda ledger: asked(ledger, pure("key 21")),
    "the last output again": lambda ledger: asked(ledger, pure(f"key {KEYS - 1}")),
    "a burnt key": lambda ledger: asked(ledger, pure("burnt")),
    "a charge to what is frozen": lambda ledger: asked(ledger, pure("late", 0.1, "ended")),
    "all that is left": lambda ledger: asked(ledger, pure("all", 1.77)),
    "more than is left": lambda ledger: asked(ledger, pure("more", 0.01, "scans-clean")),
}


def answers(path: Path) -> Iterator[tuple[str, object]]:
    """One answer after another, until the ledger is found to be damaged: whoever asks next is told the same."""
    ledger = Ledger(f"sqlite:///{path}")
    try:
        for name, question in QUESTIONS.items():
            yield name, question(ledger)
    except LedgerDamaged:
        yield "damaged", True
    ledger.close()


def sound(path: Path, truth: dict[str, object], what: str) -> bool:
    """Whether the damage was found; if it was not, every answer must be the right one."""
    found = dict(answers(path))
    damaged = found.pop("damaged", False)
    wrong = {name: answer for name, answer in found.items() if answer != truth[name]}
    assert not wrong, f"{what}: {wrong}"
    return bool(damaged)


class Copies:
    """A ledger's files as they stood at one moment, to be damaged one way after another."""

    def __init__(self, files: dict[str, bytes], folder: Path) -> None:
        self.files, self.folder = files, folder

    def path(self, **changes: bytes | None) -> Path:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        for name, content in {**self.files, **changes}.items():
            if content is not None:
                (self.folder / name).write_bytes(content)
        return self.folder / "ledger.db"

    def flipped(self, number: int) -> tuple[Path, str]:
        """One bit changed, anywhere in any of the files."""
        draw = random.Random(number)
        place = draw.randrange(8 * sum(map(len, self.files.values())))
        for name, content in self.files.items():
            if 0 <= place < 8 * len(content):
                damaged = bytearray(content)
                damaged[place // 8] ^= 1 << place % 8
                return self.path(**{name: bytes(damaged)}), f"bit {place % 8} of byte {place // 8} of {name}"
            place -= 8 * len(content)
        raise AssertionError


@pytest.fixture(scope="module", params=["closed", "with a log"])
def copies(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Copies:
    """A ledger that was closed; and one as a process leaves it that is killed, with a log that was not moved yet."""
    folder = tmp_path_factory.mktemp("ledger")
    ledger = story(folder / "ledger.db")
    if request.param == "closed":
        ledger.close()
    files = {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if not file.name.endswith("-shm")}
    names = ["ledger.db"] if request.param == "closed" else ["ledger.db", "ledger.db-head", "ledger.db-wal"]
    assert list(files) == names
    ledger.close()
    return Copies(files, folder / "damaged")


@pytest.fixture(scope="module")
def truth(copies: Copies) -> dict[str, object]:
    found = dict(answers(copies.path()))
    assert list(found) == list(QUESTIONS)
    assert found["an output again"] == b"output 21 " * 22
    assert found["all that is left"] is None  # granted, with no output yet
    assert found["more than is left"] is BudgetExceeded
    return found


def test_a_flipped_bit_gives_nothing_back(copies: Copies, truth: dict[str, object]) -> None:
    noticed = [sound(*_flip(copies, truth, number)) for number in range(FEW)]
    assert any(noticed)


@pytest.mark.audit
def test_none_of_two_thousand_flipped_bits_gives_anything_back(copies: Copies, truth: dict[str, object]) -> None:
    noticed = [sound(*_flip(copies, truth, number)) for number in range(FLIPS)]
    assert sum(noticed) > FLIPS // 4


def _flip(copies: Copies, truth: dict[str, object], number: int) -> tuple[Path, dict[str, object], str]:
    path, what = copies.flipped(number)
    return path, truth, what


# More than one bit.


def pages(content: bytes) -> list[bytes]:
    return [content[start : start + PAGE] for start in range(0, len(content), PAGE)]


def test_zeroed_pages_give_nothing_back(copies: Copies, truth: dict[str, object]) -> None:
    found = pages(copies.files["ledger.db"])
    for number in range(len(found)):
        changed = b"".join([*found[:number], bytes(PAGE), *found[number + 1 :]])
        sound(copies.path(**{"ledger.db": changed}), truth, f"page {number + 1} zeroed")


def test_swapped_pages_give_nothing_back(copies: Copies, truth: dict[str, object]) -> None:
    found = pages(copies.files["ledger.db"])
    for trial in range(len(found)):
        one, other = random.Random(trial).sample(range(len(found)), 2)
        changed = list(found)
        changed[one], changed[other] = found[other], found[one]
        sound(copies.path(**{"ledger.db": b"".join(changed)}), truth, f"pages {one + 1} and {other + 1} swapped")


def test_files_that_were_cut_off_give_nothing_back(copies: Copies, truth: dict[str, object]) -> None:
    for name, content in copies.files.items():
        for trial in range(12):
            size = random.Random(trial).randrange(1, len(content))
            sound(copies.path(**{name: content[:size]}), truth, f"{name} cut to {size} bytes")


def test_a_page_of_an_older_copy_gives_nothing_back(tmp_path: Path) -> None:
    """A page that a disk did not write: each in turn stands as it did before the last charges."""
    ledger = story(tmp_path / "ledger.db")
    ledger.close()
    older = pages((tmp_path / "ledger.db").read_bytes())
    for number in range(12):
        ledger.store(ledger.charge(pure(f"new {number}", 0.1)), b"new")
    ledger.close()
    copies = Copies({"ledger.db": (tmp_path / "ledger.db").read_bytes()}, tmp_path / "damaged")
    newer = pages(copies.files["ledger.db"])
    truth = dict(answers(copies.path()))
    for number in range(len(older)):
        changed = b"".join([*newer[:number], older[number], *newer[number + 1 :]])
        sound(copies.path(**{"ledger.db": changed}), truth, f"page {number + 1} as it was")


# Logs that were cut off, without an anchor.


@pytest.fixture
def killed(tmp_path: Path) -> Copies:
    """The files of a process that was killed: its charges stand in the log alone."""
    ledger = story(tmp_path / "ledger.db")
    files = {name: (tmp_path / name).read_bytes() for name in ("ledger.db", "ledger.db-wal", "ledger.db-head")}
    ledger.close()
    return Copies(files, tmp_path / "killed")


@pytest.mark.parametrize("left", [0.0, 0.02, 0.1, None])
def test_a_log_that_was_cut_off_or_taken_away_is_noticed(killed: Copies, left: float | None) -> None:
    log = killed.files["ledger.db-wal"]
    path = killed.path(**{"ledger.db-wal": None if left is None else log[: int(left * len(log))]})
    for _ in range(2):  # by whoever comes next too: nothing is tidied away
        with pytest.raises(
            LedgerDamaged, match=r"entry \d+ is missing, and '.*ledger\.db-head' has it: a log was cut off"
        ):
            Ledger(f"sqlite:///{path}").remaining("scans")


def test_a_whole_log_is_moved_into_the_file_and_its_note_goes(killed: Copies) -> None:
    path = killed.path()
    ledger = Ledger(f"sqlite:///{path}")
    assert ledger.remaining("scans").epsilon == pytest.approx(1.77)
    ledger.check()
    ledger.close()
    assert [file.name for file in path.parent.iterdir()] == ["ledger.db"]


def test_a_process_remembers_what_a_file_had(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = story(path)
    ledger.close()
    older = path.read_bytes()
    ledger.charge(pure("new"))
    ledger.close()
    path.write_bytes(older)
    for act in (lambda: ledger.remaining("scans"), ledger.check, lambda: ledger.charge(pure("newer"))):
        with pytest.raises(LedgerDamaged, match="is missing"):
            act()


def test_a_note_of_another_ledger_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    former = story(path)
    note = (tmp_path / "ledger.db-head").read_bytes()
    for file in tmp_path.iterdir():
        file.unlink()
    former.close()
    (tmp_path / "ledger.db-head").write_bytes(note)
    ledger = Ledger(f"sqlite:///{path}")
    ledger.create("scans", epsilon=1.0, delta=0.0)
    ledger.charge(pure("a", 0.25))
    assert ledger.remaining().epsilon == 0.75


def test_the_check_of_the_database_itself_is_part_of_the_check(tmp_path: Path) -> None:
    """An index that lacks an entry: the chain is whole, and a guard is not."""
    path = tmp_path / "ledger.db"
    ledger = story(path)
    ledger.check()
    ledger.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = "
            "'dpfda_names') WHERE name = 'dpfda_fates'"
        )
    with pytest.raises(LedgerDamaged, match=r"^The ledger .* is damaged: "):
        Ledger(f"sqlite:///{path}").check()


# On a server.


def test_entries_on_a_server_are_read_without_an_index(postgres_url: str) -> None:
    """Even where the server is told to avoid walks: then a damaged index hides nothing."""
    import psycopg

    ledger = Ledger(postgres_url)
    ledger.create("scans", epsilon=3.0, delta=0.0)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("SET enable_seqscan = off")
        plan = connection.execute(f"EXPLAIN {scan('dpfda_events').replace('?', '1')}".encode()).fetchall()
    assert "Seq Scan on dpfda_events" in str(plan)
    assert "Index" not in str(plan)


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE dpfda_outputs",
        "DROP TABLE dpfda_events",
        "ALTER TABLE dpfda_events RENAME COLUMN total TO totals",
        "ALTER TABLE dpfda_events DISABLE TRIGGER ALL; DELETE FROM dpfda_events WHERE number = 2",
        "ALTER TABLE dpfda_events DISABLE TRIGGER ALL; DELETE FROM dpfda_events WHERE number > 2",
        "ALTER TABLE dpfda_events DISABLE TRIGGER ALL; UPDATE dpfda_events SET total = 1 WHERE number = 2",
        "ALTER TABLE dpfda_outputs DISABLE TRIGGER ALL; DELETE FROM dpfda_outputs",
        "ALTER TABLE dpfda_ledger DISABLE TRIGGER ALL; UPDATE dpfda_ledger SET id = 'another'",
        "ALTER TABLE dpfda_ledger DISABLE TRIGGER ALL; DELETE FROM dpfda_ledger",
    ],
)
def test_a_damaged_ledger_on_a_server_is_one_error_for_every_act(postgres_url: str, damage: str) -> None:
    import psycopg

    ledger = Ledger(postgres_url)
    ledger.create("scans", epsilon=3.0, delta=0.0)
    ledger.store(ledger.charge(pure("a")), b"output")
    ledger.close()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(damage.encode())
    fresh = Ledger(postgres_url)
    acts: list[Callable[[], object]] = [
        lambda: fresh.remaining("scans"),
        lambda: fresh.history(),
        lambda: fresh.check(),
        lambda: fresh.charge(pure("b")),
        lambda: fresh.freeze("scans"),
        lambda: ledger.check(),
    ]
    for act in acts:
        with pytest.raises(LedgerDamaged):
            act()
    # A process that has read the entries before knows better than the table, or says that it is damaged.
    with suppress(LedgerDamaged):
        assert ledger.remaining("scans").epsilon == 2.97

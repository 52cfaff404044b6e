"""Damage to the file of a ledger: whatever happens to its bytes, nothing is given back unseen."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dpfda.errors import BudgetExceeded, LedgerDamaged, NoBudget, ReleaseFailed
from dpfda.privacy import Budget, Charge, GaussianProfile, PureProfile
from dpfda.privacy.ledger import Ledger

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
    "normal noise beyond the cap": lambda ledger: asked(
        ledger, Charge("noisy", "mean", Budget(6.0, 1e-6), losses=(GaussianProfile(1.0),), key="loud")
    ),
}


def answers(path: Path) -> Iterator[tuple[str, object]]:
    ledger = Ledger(f"sqlite:///{path}")
    for name, question in QUESTIONS.items():
        try:
            yield name, question(ledger)
        except LedgerDamaged:
            yield name, LedgerDamaged
    ledger.close()


def sound(path: Path, truth: dict[str, object], what: str) -> bool:
    """Whether every answer is right or says that the ledger is damaged; returns whether one did."""
    found = dict(answers(path))
    wrong = {name: answer for name, answer in found.items() if answer not in (truth[name], LedgerDamaged)}
    assert not wrong, f"{what}: {wrong}"
    return LedgerDamaged in found.values()


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
    assert LedgerDamaged not in found.values()
    assert found["an output again"] == b"output 21 " * 22
    assert found["all that is left"] is None  # granted, with no output yet
    assert found["more than is left"] is found["normal noise beyond the cap"] is BudgetExceeded
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

"""A damaged ledger on the command line: one line that says so, exit code 5, and nothing is done."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

URL = "sqlite:///ledger.db"
CHARGED = ("--ledger", URL, "--dataset", "scans")
RELEASE = ("--unit", "ID", "--values", "t*", "--epsilon", 0.5, "--delta", 0, "--bound", 1, *CHARGED)
COMMANDS: dict[str, tuple[Any, ...]] = {
    "show": ("budget", "show", URL),
    "history": ("budget", "history", URL),
    "history as JSON": ("budget", "history", URL, "--json"),
    "check": ("budget", "check", URL),
    "freeze": ("budget", "freeze", URL, "--dataset", "scans"),
    "copy": ("budget", "copy", URL, "--dataset", "scans", "--name", "other"),
    "export": ("budget", "export", URL),
    "anchor": ("budget", "anchor", URL, "--anchor", "new.anchor"),
    "create": ("budget", "create", URL, "--dataset", "other", "--epsilon", 1, "--delta", 0),
    "create, tried": ("budget", "create", URL, "--dataset", "other", "--epsilon", 1, "--delta", 0, "--dry-run"),
    "release": ("release", "mean", "scans.csv", *RELEASE, "--out", "new.json"),
    "release, tried": ("release", "mean", "scans.csv", *RELEASE, "--out", "new.json", "--dry-run"),
    "verify": ("verify", "mean.json", "--ledger", URL),
}


def changed(place: int, new: bytes) -> Callable[[bytes], bytes]:
    return lambda whole: whole[:place] + new + whole[place + len(new) :]


def flipped_hash(whole: bytes) -> bytes:
    place = whole.rindex(b'[{"epsilon"')
    return changed(place + 2, b"!")(whole)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "a changed entry": flipped_hash,
    "half of the file": lambda whole: whole[: len(whole) // 2],
    "noise after the first page": lambda whole: whole[:4096] + os.urandom(len(whole) - 4096),
    "another header": changed(0, b"SQLite formas 3"),
    "the number of the application": changed(68, b"\0\0\0\0"),
    "a schema that cannot be parsed": lambda whole: whole.replace(b"CREATE TRIGGER", b"CREATE TRIGGEP", 1),
    "text that is no text": lambda whole: whole.replace(b"CREATE TRIGGER", b"\xff\xfe\xff TRIGGER", 1),
    "a count that is too high": changed(60, (10**6).to_bytes(4, "big")),
}


@pytest.fixture
def ledger(run: Callable[..., Any], tmp_path: Path, csv_lines: list[str]) -> Path:
    (tmp_path / "scans.csv").write_text("\n".join(csv_lines))
    assert run("budget", "create", URL, "--dataset", "scans", "--epsilon", 4, "--delta", 0).code == 0
    assert run("release", "mean", "scans.csv", *RELEASE, "--out", "mean.json").code == 0
    return tmp_path / "ledger.db"


@pytest.mark.parametrize("kind", DAMAGE, ids=list(DAMAGE))
def test_every_command_says_that_the_ledger_is_damaged(run: Callable[..., Any], ledger: Path, kind: str) -> None:
    damaged = DAMAGE[kind](ledger.read_bytes())
    for name, arguments in COMMANDS.items():
        ledger.write_bytes(damaged)
        found = run(*arguments)
        said = found.err + found.out
        assert (found.code, "damaged" in said, "Traceback" in said) == (5, True, False), f"{name}: {said}"
        assert not (ledger.parent / "new.json").exists()
        assert ledger.read_bytes() == damaged, name

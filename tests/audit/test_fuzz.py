"""Random calls and random command lines: only our errors, known exit codes, and no case that hangs or swells."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz_calls import LIMIT, Caller, Tally
from fuzz_lines import Typist


def checked(tally: Tally, share: float) -> None:
    print(tally.text())
    assert not tally.faults, tally.text()
    assert tally.slowest < LIMIT
    assert tally.reached >= share * tally.cases


@pytest.fixture(autouse=True)
def _quiet_pictures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)


def test_a_few_hundred_random_calls_end_with_a_value_or_one_of_our_errors(tmp_path: Path) -> None:
    checked(Caller(1, tmp_path / "files").run(500), 0.4)


def test_random_command_lines_end_with_a_known_exit_code(tmp_path: Path) -> None:
    checked(Typist(1, tmp_path / "files").run(120), 0.2)


@pytest.mark.audit
@pytest.mark.parametrize("seed", range(10))
def test_fifty_thousand_random_calls_end_with_a_value_or_one_of_our_errors(tmp_path: Path, seed: int) -> None:
    checked(Caller(100 + seed, tmp_path / "files").run(5000), 0.5)


@pytest.mark.audit
@pytest.mark.parametrize("seed", range(10))
def test_ten_thousand_random_command_lines_end_with_a_known_exit_code(tmp_path: Path, seed: int) -> None:
    checked(Typist(100 + seed, tmp_path / "files").run(1000), 0.25)

"""The command charges the same on every database: a budget from its making to its end."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dpfda.cli.main import main


def test_a_budget_from_its_making_to_its_end(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"p{i}," + ",".join(["0.5"] * 5) for i in range(500)]
    (tmp_path / "scans.csv").write_text("\n".join(["ID,t0,t1,t2,t3,t4", *rows]) + "\n")

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["dpfda", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return int(left.value.code or 0), captured.out, captured.err

    def facts() -> Any:
        return json.loads(run("budget", "show", url, "--json")[1])["datasets"][0]

    assert run("budget", "create", url, "--dataset", "scans", "--epsilon", 4, "--delta", 0, "--copies", "old")[0] == 0
    asked = ("release", "mean", "scans.csv", "--unit", "ID", "--values", "t*", "--delta", 0, "--bound", 1)
    charged = (*asked, "--ledger", url, "--dataset", "old", "--out", "m.json", "--overwrite")
    assert run(*charged, "--epsilon", "3.4", "--dry-run")[0] == 0
    assert facts()["left"] == 4.0
    assert run(*charged, "--epsilon", "3.4", "--key", "first")[0] == 0
    first = (tmp_path / "m.json").read_bytes()
    assert facts()["left"] == 0.6
    refused = run(*charged, "--epsilon", 1, "--key", "second")
    assert refused == (
        4,
        "",
        "Error: This release costs epsilon 1.00; spent 3.40 of 4.00 for 'scans', left 0.60. Lower it to --epsilon "
        "0.60. Nothing was charged.\n",
    )
    assert run(*charged, "--epsilon", "0.6", "--key", "second")[0] == 0
    assert (tmp_path / "m.json").read_bytes() != first
    assert run(*charged, "--epsilon", "3.4", "--key", "first")[0] == 0
    assert (tmp_path / "m.json").read_bytes() == first
    assert (facts()["left"], facts()["releases"]) == (0.0, 2)
    assert run("budget", "freeze", url, "--dataset", "scans")[0] == 0
    assert run("budget", "check", url)[0] == 0
    assert facts()["frozen"]

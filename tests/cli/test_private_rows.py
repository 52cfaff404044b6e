"""A mistake inside one person's row changes neither the exit code nor the shape of what the command prints."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
ASK = ("--values", "t*", "--epsilon", 1, "--delta", "1e-6", "--bound", 1, "--overwrite")
CELLS = 20
UNITS = {
    "ID": "units          301: 300 identifiers, and one unit for rows without any, present or not",
    "row": "units          300\n",
}
MISTAKES: dict[str, str] = {
    "a word": "p7," + ",".join(["hello", *["0.1"] * (CELLS - 1)]),
    "a secret looking like code": "p7," + ",".join(["{0.__class__}%s", *["0.1"] * (CELLS - 1)]),
    "a short row": "p7,0.1",
    "a long row": "p7," + ",".join(["0.1"] * (CELLS + 5)),
    "no identifier": "," + ",".join(["0.1"] * CELLS),
    "infinity": "p7," + ",".join(["inf"] * CELLS),
    "minus infinity": "p7," + ",".join(["-inf"] * CELLS),
    "the largest number": "p7," + ",".join(["1e308", "-1e308"] * (CELLS // 2)),
    "beyond the largest number": "p7," + ",".join(["1e999"] * CELLS),
    "no values": "p7" + "," * CELLS,
    "not a number": "p7," + ",".join(["nan"] * CELLS),
    "a very long cell": "p7," + ",".join(["9" * 5000, *["0.1"] * (CELLS - 1)]),
    "letters of another script": "p7," + ",".join(["零", *["0.1"] * (CELLS - 1)]),
}


def shape(text: str) -> str:
    """The text with every number replaced, without what the noise alone lets be seen or not."""
    text, seen = re.subn(r"\n  detected  .*(\n {10,}.*)*", "", text)
    assert seen == 1
    return re.sub(r"\d+(\.\d+)?(e[-+]?\d+)?", "#", text)


@pytest.mark.parametrize("unit", ["ID", "row"])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_row_cannot_be_told_from_outside(
    mistake: str, unit: str, run: Run, csv_lines: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "scans.csv"
    file.write_text("\n".join(csv_lines) + "\n")
    clean = run("release", "mean", file, "--unit", unit, *ASK)
    csv_lines[8] = MISTAKES[mistake]
    file.write_text("\n".join(csv_lines) + "\n", encoding="utf-8")
    other = run("release", "mean", file, "--unit", unit, *ASK)
    assert clean.code == other.code == 0
    assert clean.err == other.err == ""
    assert shape(clean.out) == shape(other.out)
    assert UNITS[unit] in clean.out
    if (mistake, unit) == ("no identifier", "ID"):  # p7 is gone, and who has no identifier counts in any case
        assert "units          300: 299 identifiers, and one unit for rows without any, present or not" in other.out
    else:
        assert UNITS[unit] in other.out


def test_an_empty_line_is_no_row_and_changes_nothing_else(run: Run, csv_lines: list[str], tmp_path: Path) -> None:
    file = tmp_path / "scans.csv"
    file.write_text("\n".join([*csv_lines[:8], "", *csv_lines[8:]]) + "\n\n")
    done = run("release", "mean", file, "--unit", "ID", *ASK)
    assert (done.code, done.err) == (0, "")
    assert UNITS["ID"] in done.out


def test_a_failure_after_reading_says_nothing_about_the_records(
    run: Run, csv_lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpfda.records import csv_files as csvfile

    def broken(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError("p7 has 0.1234")

    file = tmp_path / "scans.csv"
    file.write_text("\n".join(csv_lines) + "\n")
    monkeypatch.setattr(csvfile.CsvSource, "batches", broken)
    done = run("release", "mean", file, "--unit", "ID", *ASK)
    assert (done.code, done.out) == (5, "")
    assert done.err == (
        "Error: The release failed after records were read. Nothing more can be said without saying something about "
        "them; the charge stays, and its key gives nothing any more: take a new one.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["scans.csv"]


def test_an_unforeseen_error_shows_its_kind_and_neither_text_nor_frames(
    run: Run, csv_lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpfda.statistics.mean.estimator import MeanFunction

    def broken(*arguments: object, **options: object) -> None:
        raise RuntimeError("p7 has 0.1234")

    file = tmp_path / "scans.csv"
    file.write_text("\n".join(csv_lines) + "\n")
    monkeypatch.setattr(MeanFunction, "fit_order", broken)
    done = run("release", "mean", file, "--unit", "ID", *ASK)
    assert (done.code, done.out) == (1, "")
    assert done.err == "Error: Something unforeseen happened (RuntimeError). Please report it, without your data.\n"

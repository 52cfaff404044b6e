"""`dpfda reproduce` runs studies by name, prints and writes them, and stamps all of it not private."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dpfda.reproduce import catalogue as reproductions
from dpfda.studies.outcome import STAMP, Outcome, Reproduction, Setting, Table

Run = Callable[..., Any]


def small(setting: Setting) -> Outcome:
    """A study of two rows that repeats what it was given."""
    rows = tuple((f"row {i}", 1 / i, None) for i in setting.track([3, 7], "rows"))
    about = Table("What was given", ("quick", "seed"), ((str(setting.quick), setting.seed),))
    return Outcome((Table("Thirds and sevenths", ("what", "value", "empty"), rows), about), notes=("Said [once].",))


def drawn(setting: Setting) -> Outcome:
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().plot([0, 1])
    return Outcome(figures=(figure,))


def hungry(setting: Setting) -> Outcome:
    return Outcome(notes=(setting.file("scans.csv").read_text(),))


@pytest.fixture(autouse=True)
def studies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three small studies in place of the real ones."""
    module = ModuleType("dpfda.reproduce.small_studies")
    made = {"doe-table-1": small, "doe-figure-2": drawn, "roe-table-1": hungry}
    module.REPRODUCTIONS = tuple(Reproduction(name, f"Title of {name}", run) for name, run in made.items())  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(reproductions, "HOMES", {name: ("small_studies", f"Title of {name}") for name in made})


def test_the_list_names_everything(run: Run) -> None:
    done = run("reproduce", "--list")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "doe-table-1                 Title of doe-table-1",
        "doe-figure-2                Title of doe-figure-2",
        "roe-table-1                 Title of roe-table-1",
    ]
    assert json.loads(run("reproduce", "--list", "--json").out)["doe-table-1"] == "Title of doe-table-1"


def test_a_table_is_printed_and_written_with_its_stamp(run: Run, tmp_path: Path) -> None:
    done = run("reproduce", "doe-table-1")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[:2] == ["Title of doe-table-1", STAMP]
    assert "row 3  0.3333" in " ".join(done.out.split("\n")).replace("   ", "  ")
    assert "Said [once]." in lines
    assert lines[-2] == "Written: reproduced/doe-table-1.csv, reproduced/doe-table-1-2.csv"
    written = (tmp_path / "reproduced" / "doe-table-1.csv").read_text().splitlines()
    assert written == [f"# Thirds and sevenths. {STAMP}", "what,value,empty", f"row 3,{1 / 3!r},", f"row 7,{1 / 7!r},"]


def test_quick_and_seed_reach_the_study(run: Run, tmp_path: Path) -> None:
    assert run("reproduce", "doe-table-1", "--quick", "--seed", 7, "--out", "here/there").code == 0
    written = (tmp_path / "here" / "there" / "doe-table-1-2.csv").read_text().splitlines()
    assert written[1:] == ["quick,seed", "True,7"]
    assert run("reproduce", "doe-table-1").code == 0
    assert (tmp_path / "reproduced" / "doe-table-1-2.csv").read_text().splitlines()[2] == "False,1"


def test_a_figure_is_written(run: Run, tmp_path: Path) -> None:
    done = run("reproduce", "doe-figure-2")
    assert (done.code, done.err) == (0, "")
    assert "Written: reproduced/doe-figure-2.png" in done.out
    assert (tmp_path / "reproduced" / "doe-figure-2.png").read_bytes().startswith(b"\x89PNG")


def test_json_is_everything_and_nothing_else(run: Run) -> None:
    done = run("reproduce", "doe-table-1", "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert found["stamp"] == STAMP
    (one,) = found["reproductions"]
    assert (one["name"], one["title"], one["notes"]) == ("doe-table-1", "Title of doe-table-1", ["Said [once]."])
    assert one["tables"][0]["rows"] == [["row 3", 1 / 3, None], ["row 7", 1 / 7, None]]
    assert one["written"] == ["reproduced/doe-table-1.csv", "reproduced/doe-table-1-2.csv"]


def test_data_come_from_the_folder_that_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "scans.csv").write_text("seen")
    done = run("reproduce", "roe-table-1", "--data", "data")
    assert (done.code, done.err) == (0, "")
    assert "seen" in done.out.splitlines()


@pytest.mark.parametrize("arguments", [[], ["--data", "."]], ids=["no folder", "a folder without it"])
def test_a_missing_file_is_a_data_error(arguments: list[str], run: Run) -> None:
    done = run("reproduce", "roe-table-1", *arguments)
    assert (done.code, done.err) == (5, "Error: This needs the file scans.csv. Name its folder: --data FOLDER.\n")


@pytest.mark.parametrize("words", [["all"], ["doe", "roe"], ["doe-table", "doe-figure-2", "doe", "roe-table-1"]])
def test_one_that_lacks_its_data_does_not_stop_the_others(words: list[str], run: Run, tmp_path: Path) -> None:
    done = run("reproduce", *words, "--quick")
    assert done.code == 5
    assert done.err.splitlines() == [
        "roe-table-1: This needs the file scans.csv. Name its folder: --data FOLDER.",
        "Error: Not reproduced for want of data: roe-table-1.",
    ]
    names = sorted(path.name for path in (tmp_path / "reproduced").iterdir())
    assert names == ["doe-figure-2.png", "doe-table-1-2.csv", "doe-table-1.csv"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["doe-tabel-1"],
            2,
            "Nothing to reproduce is called 'doe-tabel-1'. Did you mean doe-table-1 or roe-table-1? All names: dpfda "
            "reproduce --list.",
        ),
        (["xyz"], 2, "Nothing to reproduce is called 'xyz'. All names: dpfda reproduce --list."),
        (
            [],
            2,
            "Say what to reproduce, e.g. dpfda reproduce lin-table-2. All names: dpfda reproduce --list.",
        ),
        (["doe-table-1", "--data", "none"], 5, "No folder 'none'. Check --data."),
        (["doe-table-1", "--out", "file/there"], 5, "Cannot write to 'file/there'. Name another folder with --out."),
    ],
)
def test_a_mistake_gives_one_line(arguments: list[str], code: int, message: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("reproduce", *arguments)
    assert (done.code, done.out, done.err) == (code, "", f"Error: {message}\n")
    assert not (tmp_path / "reproduced").exists()


@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
def test_bars_show_every_item_and_may_stand_within_each_other(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dpfda.cli.tables import progress_bars

    monkeypatch.setenv("FORCE_COLOR", "1" if terminal else "")
    monkeypatch.setenv("TERM", "xterm")
    with progress_bars() as track:
        found = [(a, b) for a in track(range(3), "outer") for b in track((x for x in "xy"), "inner")]
    assert found == [(a, b) for a in range(3) for b in "xy"]
    shown = capsys.readouterr()
    assert shown.out == ""
    assert ("outer" in shown.err) == terminal

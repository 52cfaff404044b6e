"""The command as a process: how it ends, and that all it said arrives."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

RUN = "from dpfda.apps.command import run; run()"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=False)


def test_the_installed_command_is_the_one_that_is_tested_here() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"dpfda": "dpfda.apps.command:run"}


@pytest.mark.parametrize(
    ("arguments", "code", "said", "complained"),
    [
        (("--version",), 0, "dpfda, version", ""),
        (("reproduce", "--list"), 0, "lin-table-2", ""),
        (("plan", "mean", "--n", "9", "--epsilon", "0", "--delta", "0", "--bound", "1"), 2, "", "Error: epsilon must"),
        (
            ("plan", "mean", "--n", "9", "--epsilon", "1", "--delta", "0", "--bound", "1", "--mechanism", "gaussian"),
            3,
            "",
            "Error: gaussian noise cannot meet",
        ),
        (("show", "nowhere.json"), 5, "", "Error: "),
    ],
    ids=["version", "list", "usage", "privacy", "data"],
)
def test_a_process_ends_with_its_code_and_all_its_words(
    arguments: tuple[str, ...], code: int, said: str, complained: str
) -> None:
    done = run(*arguments)
    assert done.returncode == code
    assert said in done.stdout
    assert done.stderr.startswith(complained)
    assert done.stderr.count("\n") == bool(complained)


def test_a_refusal_after_the_layout_was_read_keeps_its_code(tmp_path: Path) -> None:
    """Reading starts threads of another library; a process that ended beside them lost its code once in twenty."""
    table = tmp_path / "scans.csv"
    table.write_text("ID,t1,t2\n" + "".join(f"{i},0.1,0.2\n" for i in range(500)))
    options = ("--unit", "ID", "--values", "t*", "--epsilon", "1", "--delta", "0", "--bound", "1")
    for _ in range(5):
        done = run("release", "mean", str(table), *options, "--mechanism", "gp")
        assert done.returncode == 3, done.stderr


@pytest.mark.parametrize("json", [(), ("--json",)], ids=["text", "json"])
def test_a_reader_that_leaves_makes_no_failure_of_a_release(json: tuple[str, ...], tmp_path: Path) -> None:
    """As in `dpfda release ... | head -1` under `set -o pipefail`: the release was written, and stands."""
    table = tmp_path / "scans.csv"
    table.write_text("ID,t1,t2\n" + "".join(f"{i},0.1,0.2\n" for i in range(500)))
    options = ("--unit", "ID", "--values", "t*", "--epsilon", "1", "--delta", "0", "--bound", "1")
    command = [sys.executable, "-c", RUN, "release", "mean", str(table), *options, "--out", str(tmp_path / "a.json")]
    with subprocess.Popen([*command, *json], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()  # before a word was said
        assert process.stderr.read() == b""
        assert process.wait() == 0
    assert (tmp_path / "a.json").is_file()

"""The command as a process: how it ends, and that all it said arrives."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path

import pytest

RUN = "from dpfda.cli.command import run; run()"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=False)


def test_the_installed_command_is_the_one_that_is_tested_here() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"dpfda": "dpfda.cli.command:run"}


@pytest.mark.parametrize(
    ("arguments", "code", "said", "complained"),
    [
        (("--version",), 0, "dpfda, version", ""),
        (("reproduce", "--list"), 0, "lin-table-2", ""),
        (
            ("plan", "mean", "--n", "9", "--epsilon", "0", "--delta", "0", "--bound", "1"),
            2,
            "",
            "Error: --epsilon must",
        ),
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


@pytest.mark.parametrize("times", [1, pytest.param(60, marks=pytest.mark.audit)])
def test_a_refusal_after_the_layout_was_read_keeps_its_code(times: int, tmp_path: Path) -> None:
    """Reading starts threads of another library; a process that ended beside them lost its code once in twenty.

    Sixty processes miss that with probability 0.05; one shows that the code is the right one.
    """
    table = tmp_path / "scans.csv"
    table.write_text("ID,t1,t2\n" + "".join(f"{i},0.1,0.2\n" for i in range(500)))
    options = ("--unit", "ID", "--values", "t*", "--epsilon", "1", "--delta", "0", "--bound", "1")
    for _ in range(times):
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


FULL = Path("/dev/full")
full = pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
OPTIONS = ("--unit", "ID", "--values", "t*", "--epsilon", "1", "--delta", "0", "--bound", "1")


def in_shell(streams: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command with streams that are redirected or closed by a shell."""
    command = shlex.join([sys.executable, "-c", RUN, *arguments])
    return subprocess.run(
        ["/bin/sh", "-c", f"{command} {streams}"], capture_output=True, text=True, check=False, cwd=folder
    )


@pytest.fixture
def scans(tmp_path: Path) -> Path:
    (tmp_path / "scans.csv").write_text("ID,t1,t2\n" + "".join(f"{i},0.1,0.2\n" for i in range(500)))
    return tmp_path


@full
@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("check", "scans.csv")], ids=" ".join)
def test_an_output_that_cannot_be_written_is_an_error_of_ours(arguments: tuple[str, ...], scans: Path) -> None:
    done = in_shell("> /dev/full", *arguments, folder=scans)
    assert done.returncode == 5
    assert done.stderr == (
        "Error: The system refused to write the output, or to read a file: No space left on device.\n"
    )


@full
def test_a_release_whose_card_cannot_be_printed_says_what_was_written_and_charged(scans: Path) -> None:
    """Whoever repeats it, as a script would after a failure, must know that it was paid for."""
    run_there = partial(in_shell, folder=scans)
    budget = ("sqlite:///b.db", "--dataset", "scans")
    assert run_there("", "budget", "create", *budget, "--epsilon", "1", "--delta", "0").returncode == 0
    asked = ("release", "mean", "scans.csv", *OPTIONS, "--out", "a.json", "--key", "k", "--ledger", *budget)
    done = run_there("> /dev/full", *asked)
    assert done.returncode == 5
    assert done.stderr.endswith(
        "No space left on device. Written before: a.json. It was charged: the same command with --key k goes on with "
        "it, free.\n"
    )
    first = (scans / "a.json").read_bytes()
    again = run_there("", *asked, "--overwrite")
    assert (again.returncode, (scans / "a.json").read_bytes()) == (0, first)


@full
def test_a_notice_that_cannot_be_printed_stops_nothing_after_the_charge(scans: Path) -> None:
    budget = ("sqlite:///b.db", "--dataset", "scans")
    assert in_shell("", "budget", "create", *budget, "--epsilon", "1", "--delta", "0", folder=scans).returncode == 0
    asked = ("release", "mean", "scans.csv", *OPTIONS, "--out", "a.json", "--ledger", *budget)
    done = in_shell("2> /dev/full", *asked, folder=scans)
    assert done.returncode == 0
    assert "Written: a.json" in done.stdout
    assert in_shell("2> /dev/full", "show", "nowhere.json", folder=scans).returncode == 5


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_leave_the_exit_code_as_it_is(closed: str, scans: Path) -> None:
    done = in_shell(closed, "release", "mean", "scans.csv", *OPTIONS, "--out", "a.json", folder=scans)
    assert (done.returncode, done.stderr) == (0, "")
    assert in_shell(closed, "show", "a.json", folder=scans).returncode == 0
    missing = in_shell(closed, "show", "nowhere.json", folder=scans)
    assert missing.returncode == 5
    assert "Traceback" not in missing.stderr


def test_help_names_every_exit_code() -> None:
    said = " ".join(run("--help").stdout.split())
    assert "0 done, 2 usage, 3 refused for privacy, 4 budget, 5 data or output, 130 interrupted." in said

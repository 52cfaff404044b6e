"""Every public mistake gives one line that says what to type, the right exit code, and leaves nothing behind.

What is refused is told by class, exit code, parameter and value. The lines themselves, which people read, are kept in
`tests/golden/texts/mistakes.txt`; `pytest -n0 tests/cli/test_mistakes.py --rewrite-golden` writes them anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

from dpfda.errors import CannotMeetBudget, DataError, DpfdaError, IncompatibleNoise, UsageError

Run = Callable[..., Any]
USAGE, PRIVACY, DATA = 2, 3, 5
GOOD: dict[str, object] = {"--unit": "ID", "--values": "t*", "--epsilon": 1, "--delta": "1e-6", "--bound": 1}
GOLDEN = Path(__file__).parents[1] / "golden" / "texts" / "mistakes.txt"
# Older versions of click have no class of its own for it.
NO_SUCH_COMMAND = getattr(click.exceptions, "NoSuchCommand", click.UsageError)
Compare = Callable[[str, str], None]


@dataclass(frozen=True)
class Refusal:
    """How a command is refused: the error, its exit code, and the parameter and the value that it is about, if any."""

    kind: type[BaseException]
    code: int
    parameter: str | None = None
    value: str | None = None

    @classmethod
    def of(cls, done: Any) -> Refusal:
        error = done.error
        if isinstance(error, DpfdaError):
            return cls(type(error), done.code, error.parameter, error.value)
        parameter = getattr(error, "param", None)
        return cls(type(error), done.code, None if parameter is None else parameter.name)


# Options that are changed (None: left out), and how the command is refused.
MISTAKES: dict[str, tuple[dict[str, object], Refusal]] = {
    "epsilon zero": ({"--epsilon": 0}, Refusal(UsageError, USAGE, "epsilon", "0.0")),
    "epsilon negative": ({"--epsilon": -1}, Refusal(UsageError, USAGE, "epsilon", "-1.0")),
    "epsilon nan": ({"--epsilon": "nan"}, Refusal(UsageError, USAGE, "epsilon", "nan")),
    "epsilon infinite": ({"--epsilon": "inf"}, Refusal(UsageError, USAGE, "epsilon", "inf")),
    "epsilon a word": ({"--epsilon": "one"}, Refusal(click.BadParameter, USAGE, "epsilon")),
    "epsilon missing": ({"--epsilon": None}, Refusal(click.MissingParameter, USAGE, "epsilon")),
    "delta one": ({"--delta": 1}, Refusal(UsageError, USAGE, "delta", "1.0")),
    "delta negative": ({"--delta": "-1e-6"}, Refusal(UsageError, USAGE, "delta", "-1e-06")),
    "delta missing": ({"--delta": None}, Refusal(click.MissingParameter, USAGE, "delta")),
    "unit missing": ({"--unit": None}, Refusal(click.MissingParameter, USAGE, "unit")),
    "bound missing": ({"--bound": None}, Refusal(UsageError, USAGE, "bound")),
    "bound and limits": ({"--limits": "0,12"}, Refusal(UsageError, USAGE, "limits", "'0,12'")),
    "bound zero": ({"--bound": 0}, Refusal(UsageError, USAGE, "bound", "0.0")),
    "limits turned round": ({"--bound": None, "--limits": "12,0"}, Refusal(UsageError, USAGE, "limits", "'12,0'")),
    "limits of one number": ({"--bound": None, "--limits": "12"}, Refusal(UsageError, USAGE)),
    "domain turned round": ({"--domain": "1,0"}, Refusal(UsageError, USAGE, "domain", "'1,0'")),
    "domain of words": ({"--domain": "a,b"}, Refusal(UsageError, USAGE)),
    "domain of three numbers": ({"--domain": "0,1,2"}, Refusal(UsageError, USAGE)),
    "grid outside the domain": ({"--grid": "header"}, Refusal(UsageError, USAGE, "points")),
    "unknown grid": ({"--grid": "footer"}, Refusal(click.BadParameter, USAGE, "grid")),
    "unknown mechanism": ({"--mechanism": "cauchy"}, Refusal(click.BadParameter, USAGE, "mechanism")),
    "unknown kernel": (
        {"--mechanism": "gp", "--kernel": "linear,1"},
        Refusal(UsageError, USAGE, "kernel", "'linear,1'"),
    ),
    "a kernel without a range": (
        {"--mechanism": "gp", "--kernel": "gaussian"},
        Refusal(UsageError, USAGE, "kernel", "'gaussian'"),
    ),
    "a kernel whose range is a word": (
        {"--mechanism": "gp", "--kernel": "gaussian,wide"},
        Refusal(UsageError, USAGE, "kernel", "'gaussian,wide'"),
    ),
    "a published calibration of ours": (
        {"--mechanism": "k-norm", "--calibration": "published"},
        Refusal(UsageError, USAGE, "calibration"),
    ),
    "noise that no scale makes private": (
        {"--mechanism": "iclp-qr", "--eta": 0.5},
        Refusal(IncompatibleNoise, PRIVACY),
    ),
    "unknown basis": ({"--basis": "wavelet"}, Refusal(UsageError, USAGE, "name", "'wavelet'")),
    "unknown smoothing": ({"--smoothing": "lowess"}, Refusal(click.BadParameter, USAGE, "smoothing")),
    "unknown neighbours": ({"--neighbours": "all"}, Refusal(click.BadParameter, USAGE, "neighbours")),
    "private count without a guess": ({"--neighbours": "add-or-remove-one"}, Refusal(UsageError, USAGE)),
    "a guess where the count is public": ({"--planned-n": 5000}, Refusal(UsageError, USAGE)),
    "a guess of nobody": (
        {"--neighbours": "add-or-remove-one", "--planned-n": 0},
        Refusal(click.BadParameter, USAGE, "planned_n"),
    ),
    "no workers": ({"--workers": 0}, Refusal(click.BadParameter, USAGE, "workers")),
    "gaussian noise for pure privacy": (
        {"--delta": 0, "--mechanism": "gaussian"},
        Refusal(CannotMeetBudget, PRIVACY, "delta", "0.0"),
    ),
    "a missing column": ({"--unit": "person"}, Refusal(DataError, DATA)),
    "no matching column": ({"--values": "x*"}, Refusal(DataError, DATA)),
    "an output folder that is not there": ({"--out": "there/mean.json"}, Refusal(DataError, DATA)),
    "an output that is a folder": ({"--out": "."}, Refusal(DataError, DATA)),
    "a folder for the picture that is not there": ({"--plot": "there/mean.png"}, Refusal(DataError, DATA)),
    "a picture of unknown kind": ({"--plot": "mean.xyz"}, Refusal(UsageError, USAGE)),
    "release and picture in one file": ({"--plot": "mean.png", "--out": "mean.png"}, Refusal(UsageError, USAGE)),
}


def command(changes: dict[str, object]) -> list[object]:
    options = {name: value for name, value in (GOOD | changes).items() if value is not None}
    return ["release", "mean", "scans.csv", *(part for pair in options.items() for part in pair)]


def lines_on_file() -> dict[str, str]:
    """The lines that are kept, by the name of the mistake."""
    parts = GOLDEN.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    return dict(part.removeprefix("# ").split("\n", 1) for part in parts)


@pytest.fixture(scope="module")
def on_file(request: pytest.FixtureRequest) -> Iterator[Compare]:
    """Compare a line with the one that is kept; with --rewrite-golden keep what was said first."""
    rewrite, kept = request.config.getoption("--rewrite-golden"), lines_on_file()
    said_now: dict[str, str] = {}

    def compare(mistake: str, said: str) -> None:
        line = said.removesuffix("\n")
        assert line == (said_now.setdefault(mistake, line) if rewrite else kept[mistake])

    yield compare
    if rewrite:
        every = sorted((kept | said_now).items())  # those that were not run stay as they are
        GOLDEN.write_text("\n".join(f"# {name}\n{line}\n" for name, line in every), encoding="utf-8")


def check(done: Any, refusal: Refusal) -> None:
    assert done.out == ""
    assert re.fullmatch(r"Error: \S[^\n]*\.\n", done.err)
    assert Refusal.of(done) == refusal


@pytest.mark.parametrize("extra", [(), ("--dry-run",), ("--json",)], ids=["plain", "dry run", "json"])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gives_one_line_and_its_exit_code(
    mistake: str, extra: tuple[str, ...], run: Run, csv: Path, tmp_path: Path, on_file: Compare
) -> None:
    changes, refusal = MISTAKES[mistake]
    done = run(*command(changes), *extra)
    check(done, refusal)
    on_file(mistake, done.err.replace(str(tmp_path), "{tmp}"))
    assert [path.name for path in tmp_path.iterdir()] == ["scans.csv"]


def test_the_good_command_is_good(run: Run, csv: Path) -> None:
    assert run(*command({})).code == 0


def test_there_is_no_option_for_a_seed(run: Run, csv: Path) -> None:
    done = run(*command({"--seed": 1}))
    assert (done.code, done.out) == (USAGE, "")
    assert re.fullmatch(r"Error: No such option:? '?--seed'?\..* Try 'dpfda release mean --help'\.\n", done.err)


def test_the_data_cannot_be_overwritten_by_the_release(run: Run, csv: Path, on_file: Compare) -> None:
    before = csv.read_bytes()
    done = run(*command({"--out": "./scans.csv"}), "--overwrite")
    check(done, Refusal(UsageError, USAGE))
    on_file("release over the data", done.err)
    assert csv.read_bytes() == before


@pytest.mark.parametrize("option", ["--out", "--plot"])
def test_a_folder_that_cannot_be_written_is_found_before_anything_is_charged(
    option: str, run: Run, csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_file: Compare
) -> None:
    from dpfda.cli import main, targets

    def read_only(*arguments: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(targets, "TemporaryFile", read_only)
    monkeypatch.setattr(main, "TemporaryFile", read_only)
    done = run(*command({option: "mean.png"}))
    check(done, Refusal(DataError, DATA))
    on_file("a folder that cannot be written", done.err.replace(str(tmp_path), "{tmp}"))
    demonstrated = run("demo", "--out", "there")
    check(demonstrated, Refusal(DataError, DATA))
    on_file("a folder for the demonstration that cannot be written", demonstrated.err)


def test_an_existing_picture_is_not_replaced_unasked(run: Run, csv: Path, tmp_path: Path, on_file: Compare) -> None:
    (tmp_path / "mean.png").write_text("old")
    done = run(*command({"--plot": "mean.png"}))
    check(done, Refusal(DataError, DATA))
    on_file("a picture that exists", done.err)
    assert (tmp_path / "mean.png").read_text() == "old"
    assert not (tmp_path / "scans-mean.json").exists()


UNREADABLE: dict[str, tuple[str, bytes | None]] = {
    "no file": ("none.csv", None),
    "a file of unknown kind": ("scans.xlsx", b"PK"),
    "a file that is no Parquet": ("scans.parquet", b"text"),
    "an empty file": ("scans.csv", b""),
    "two columns of one name": ("scans.csv", b"ID,t0,t0\n"),
}


@pytest.mark.parametrize("mistake", UNREADABLE)
def test_a_file_that_cannot_be_read_is_a_data_error(mistake: str, run: Run, tmp_path: Path, on_file: Compare) -> None:
    name, content = UNREADABLE[mistake]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    arguments = command({})
    arguments[2] = name
    done = run(*arguments)
    check(done, Refusal(DataError, DATA))
    on_file(mistake, done.err)


def test_a_parquet_column_of_dates_is_a_data_error(run: Run, tmp_path: Path, on_file: Compare) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"ID": ["a"], "t0": pa.array([0], pa.date32())}), tmp_path / "scans.parquet")
    arguments = command({})
    arguments[2] = "scans.parquet"
    done = run(*arguments)
    check(done, Refusal(DataError, DATA))
    on_file("a column of dates", done.err)


OTHER_COMMANDS: dict[str, tuple[list[str], Refusal]] = {
    "no such command": (["nonsense"], Refusal(NO_SUCH_COMMAND, USAGE)),
    "no such statistic": (["release", "variogram"], Refusal(NO_SUCH_COMMAND, USAGE)),
    "show without a file": (["show"], Refusal(click.MissingParameter, USAGE, "file")),
    "show of no file": (["show", "none.json"], Refusal(DataError, DATA)),
    "evaluate of no file": (["evaluate", "none.json", "--at", "0"], Refusal(DataError, DATA)),
    "evaluate nowhere": (["evaluate", "none.json"], Refusal(click.UsageError, USAGE)),
    "a file for the demonstration": (["demo", "--out", "scans.csv"], Refusal(click.BadParameter, USAGE, "out")),
    "a folder under a file": (["demo", "--out", "scans.csv/demo"], Refusal(DataError, DATA)),
}


@pytest.mark.parametrize("mistake", OTHER_COMMANDS)
def test_mistakes_of_the_other_commands_give_one_line_too(mistake: str, run: Run, csv: Path, on_file: Compare) -> None:
    arguments, refusal = OTHER_COMMANDS[mistake]
    done = run(*arguments)
    check(done, refusal)
    # Versions of click differ in whether a refused path names the help to ask for.
    on_file(mistake, done.err.replace(" Try 'dpfda demo --help'.", ""))


def test_every_line_on_file_is_said() -> None:
    elsewhere = {
        "release over the data",
        "a folder that cannot be written",
        "a folder for the demonstration that cannot be written",
        "a picture that exists",
        "a column of dates",
    }
    assert set(lines_on_file()) == elsewhere | set(MISTAKES) | set(UNREADABLE) | set(OTHER_COMMANDS)


def test_no_message_shows_a_cell_of_the_file(run: Run, csv: Path) -> None:
    cells = {cell for line in csv.read_text().splitlines()[1:] for cell in line.split(",")}
    for changes, _ in MISTAKES.values():
        assert not cells & set(re.split(r"[\s,;:()']+", run(*command(changes)).err))


def test_interrupting_gives_one_line(run: Run, csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpfda.statistics.mean.estimator import MeanFunction

    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(MeanFunction, "fit_order", interrupt)
    done = run(*command({}))
    assert (done.code, done.out) == (130, "")
    assert done.err.strip() == "Error: Interrupted."


def test_a_column_called_row_is_not_mistaken_for_the_word(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "scans.csv"
    file.write_text("row,t1,t2\np1,1,2\np1,1,2\np2,1,2\n")
    done = run("release", "mean", file, "--unit", "row", "--values", "t*", "--epsilon", 1, "--delta", 0, "--bound", 1)
    assert done.code == 2
    assert "but there is a column 'row' too. Rename the column." in done.err


def test_without_a_header_no_record_is_shown(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "scans.csv"
    file.write_text("0.123,0.456,0.789\n0.2,0.3,0.4\n")
    done = run("release", "mean", file, "--unit", "ID", "--epsilon", 1, "--delta", 0, "--bound", 1)
    assert done.code == 5
    assert "Columns are: not shown, since the first line may be a record: give the file a line of names." in done.err
    assert "0.123" not in done.err


def test_bytes_that_are_no_text_are_refused(run):
    outcome = run("sample", "density.json", "--size", "7", "--names", "\udcff")
    assert outcome.code == 2
    assert "is no text in UTF-8" in outcome.err

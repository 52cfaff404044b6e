"""Every public mistake gives one line that says what to type, the right exit code, and leaves nothing behind."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
USAGE, PRIVACY, DATA = 2, 3, 5
GOOD: dict[str, object] = {"--unit": "ID", "--values": "t*", "--epsilon": 1, "--delta": "1e-6", "--bound": 1}
HELP = " Try 'dpfda release mean --help'."
DELTA = "Use 0 for pure privacy, or at most 1e-5, well below one over the number of people."
COLUMNS = "Columns are: ID, t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, ... (21 in all)."

# Options that are changed (None: left out), exit code, and the whole message.
MISTAKES: dict[str, tuple[dict[str, object], int, str]] = {
    "epsilon zero": (
        {"--epsilon": 0},
        USAGE,
        "--epsilon must be a positive finite number, got 0.0. Most people choose 0.1 to 10.",
    ),
    "epsilon negative": (
        {"--epsilon": -1},
        USAGE,
        "--epsilon must be a positive finite number, got -1.0. Most people choose 0.1 to 10.",
    ),
    "epsilon nan": (
        {"--epsilon": "nan"},
        USAGE,
        "--epsilon must be a positive finite number, got nan. Most people choose 0.1 to 10.",
    ),
    "epsilon infinite": (
        {"--epsilon": "inf"},
        USAGE,
        "--epsilon must be a positive finite number, got inf. Most people choose 0.1 to 10.",
    ),
    "epsilon a word": (
        {"--epsilon": "one"},
        USAGE,
        "Invalid value for '--epsilon': 'one' is not a valid float." + HELP,
    ),
    "epsilon missing": ({"--epsilon": None}, USAGE, "Missing option '--epsilon'." + HELP),
    "delta one": ({"--delta": 1}, USAGE, f"--delta must lie in [0, 1), got 1.0. {DELTA}"),
    "delta negative": ({"--delta": "-1e-6"}, USAGE, f"--delta must lie in [0, 1), got -1e-06. {DELTA}"),
    "delta missing": ({"--delta": None}, USAGE, "Missing option '--delta'." + HELP),
    "unit missing": ({"--unit": None}, USAGE, "Missing option '--unit'." + HELP),
    "bound missing": (
        {"--bound": None},
        USAGE,
        "A mean curve needs a bound known in advance, e.g. --bound 6, or the range of values, e.g. --limits 0,12. "
        "It may not be read from the data. Nothing was charged. Unknown? An epsilon of about 30 over the number of "
        "people buys one, e.g. 0.1 for 300. Spend a little: dpfda bounds scans.csv --unit ID --values 't*' "
        "--epsilon 0.1 --candidates LOW,HIGH.",
    ),
    "bound and limits": (
        {"--limits": "0,12"},
        USAGE,
        "--bound 1 and --limits 0,12 both bound the curves. Leave one of them out.",
    ),
    "bound zero": (
        {"--bound": 0},
        USAGE,
        "--bound must be a positive finite number, in the units of the curves, got 0.0. It may not be read from the "
        "data.",
    ),
    "limits turned round": (
        {"--bound": None, "--limits": "12,0"},
        USAGE,
        "--limits takes two finite ends, the lower one first, e.g. --limits 0,12; got '12,0'.",
    ),
    "limits of one number": (
        {"--bound": None, "--limits": "12"},
        USAGE,
        "--limits takes 2 numbers separated by commas, e.g. --limits 0,1; got '12'.",
    ),
    "domain turned round": (
        {"--domain": "1,0"},
        USAGE,
        "--domain takes two finite ends, the lower one first, e.g. --domain 0,1; got '1,0'.",
    ),
    "domain of words": (
        {"--domain": "a,b"},
        USAGE,
        "--domain takes 2 numbers separated by commas, e.g. --domain 0,1; got 'a,b'.",
    ),
    "domain of three numbers": (
        {"--domain": "0,1,2"},
        USAGE,
        "--domain takes 2 numbers separated by commas, e.g. --domain 0,1; got '0,1,2'.",
    ),
    "grid outside the domain": (
        {"--grid": "header"},
        USAGE,
        "Points must lie in the domain [0, 1], got points from 0 to 19. Leave these points out, or state a "
        "wider domain from the start.",
    ),
    "unknown grid": (
        {"--grid": "footer"},
        USAGE,
        "Invalid value for '--grid': 'footer' is not one of 'even', 'header'." + HELP,
    ),
    "unknown mechanism": (
        {"--mechanism": "cauchy"},
        USAGE,
        "Invalid value for '--mechanism': 'cauchy' is not one of 'auto', 'gaussian', 'k-norm', 'laplace', 'gp', "
        "'iclp-qr', 'iclp-ar', 'frl', 'bernstein', 'exponential'." + HELP,
    ),
    "unknown kernel": (
        {"--mechanism": "gp", "--kernel": "linear,1"},
        USAGE,
        "--kernel takes a name and a range, e.g. --kernel matern-3/2,0.1; got 'linear,1'. Names are exponential, "
        "gaussian, matern-3/2, matern-5/2.",
    ),
    "a kernel without a range": (
        {"--mechanism": "gp", "--kernel": "gaussian"},
        USAGE,
        "--kernel takes a name and a range, e.g. --kernel matern-3/2,0.1; got 'gaussian'. Names are exponential, "
        "gaussian, matern-3/2, matern-5/2.",
    ),
    "a kernel whose range is a word": (
        {"--mechanism": "gp", "--kernel": "gaussian,wide"},
        USAGE,
        "--kernel takes a name and a range, e.g. --kernel matern-3/2,0.1; got 'gaussian,wide'. Names are exponential, "
        "gaussian, matern-3/2, matern-5/2.",
    ),
    "a published calibration of ours": (
        {"--mechanism": "k-norm", "--calibration": "published"},
        USAGE,
        "--calibration is for --mechanism gp, iclp-qr, iclp-ar, frl or bernstein; 'k-norm' does not use it. Leave it "
        "out.",
    ),
    "noise that no scale makes private": (
        {"--mechanism": "iclp-qr", "--eta": 0.5},
        PRIVACY,
        "No finite scale of this laplace process is private: a person's coordinates fall like j^-2 and the noise like "
        "j^-2, but they must fall faster by more than j^-0.5 than the noise. Take eta above 0.625 with a penalty above "
        "0, e.g. eta = 0.7, or state size to release finitely many coordinates.",
    ),
    "unknown basis": (
        {"--basis": "wavelet"},
        USAGE,
        "A basis is one of beam, bernstein, bspline, cosine, fourier, legendre, reinsch, got 'wavelet'. Others are "
        "built by hand.",
    ),
    "unknown smoothing": (
        {"--smoothing": "lowess"},
        USAGE,
        "Invalid value for '--smoothing': 'lowess' is not one of 'auto', 'none', 'sobolev-1', 'sobolev-2', "
        "'sobolev-4', 'sobolev-8', 'james-stein'." + HELP,
    ),
    "unknown neighbours": (
        {"--neighbours": "all"},
        USAGE,
        "Invalid value for '--neighbours': 'all' is not one of 'replace-one', 'add-or-remove-one'." + HELP,
    ),
    "private count without a guess": (
        {"--neighbours": "add-or-remove-one"},
        USAGE,
        "Under add-or-remove-one the number of units is private and may not be read. State a public guess, e.g. "
        "--planned-n 5000.",
    ),
    "a guess where the count is public": (
        {"--planned-n": 5000},
        USAGE,
        "--planned-n is for --neighbours add-or-remove-one; under replace-one the number is public.",
    ),
    "a guess of nobody": (
        {"--neighbours": "add-or-remove-one", "--planned-n": 0},
        USAGE,
        "Invalid value for '--planned-n': 0 is not in the range x>=1." + HELP,
    ),
    "no workers": ({"--workers": 0}, USAGE, "Invalid value for '--workers': 0 is not in the range x>=1." + HELP),
    "gaussian noise for pure privacy": (
        {"--delta": 0, "--mechanism": "gaussian"},
        PRIVACY,
        "gaussian noise cannot meet (epsilon = 1, delta = 0) at any scale: it needs delta > 0. For delta = 0 use "
        "--mechanism k-norm or laplace.",
    ),
    "a missing column": ({"--unit": "person"}, DATA, f"No column 'person' for the privacy unit. {COLUMNS}"),
    "no matching column": ({"--values": "x*"}, DATA, f"No column matches the pattern 'x*'. {COLUMNS}"),
    "an output folder that is not there": (
        {"--out": "there/mean.json"},
        DATA,
        "No folder {tmp}/there' to write to. Make it first. Nothing was charged.",
    ),
    "an output that is a folder": (
        {"--out": "."},
        DATA,
        "'.' is a folder. Name a file in it. Nothing was charged.",
    ),
    "a folder for the picture that is not there": (
        {"--plot": "there/mean.png"},
        DATA,
        "No folder {tmp}/there' to write to. Make it first. Nothing was charged.",
    ),
    "a picture of unknown kind": (
        {"--plot": "mean.xyz"},
        USAGE,
        "--plot writes .png, .pdf, .svg, got 'mean.xyz'. Nothing was charged.",
    ),
    "release and picture in one file": (
        {"--plot": "mean.png", "--out": "mean.png"},
        USAGE,
        "The data, the release and the picture must be different files. Name another with --out or --plot. Nothing was "
        "charged.",
    ),
}


def command(changes: dict[str, object]) -> list[object]:
    options = {name: value for name, value in (GOOD | changes).items() if value is not None}
    return ["release", "mean", "scans.csv", *(part for pair in options.items() for part in pair)]


def check(done: Any, code: int, message: str) -> None:
    assert done.out == ""
    assert done.err == f"Error: {message}\n"
    assert done.code == code


@pytest.mark.parametrize("extra", [(), ("--dry-run",), ("--json",)], ids=["plain", "dry run", "json"])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gives_one_line_and_its_exit_code(
    mistake: str, extra: tuple[str, ...], run: Run, csv: Path, tmp_path: Path
) -> None:
    changes, code, message = MISTAKES[mistake]
    done = run(*command(changes), *extra)
    assert done.err.count("\n") == 1
    check(done, code, message.replace("{tmp}", f"'{tmp_path}"))
    assert [path.name for path in tmp_path.iterdir()] == ["scans.csv"]


def test_the_good_command_is_good(run: Run, csv: Path) -> None:
    assert run(*command({})).code == 0


def test_there_is_no_option_for_a_seed(run: Run, csv: Path) -> None:
    done = run(*command({"--seed": 1}))
    assert (done.code, done.out) == (USAGE, "")
    assert re.fullmatch(r"Error: No such option:? '?--seed'?\..* Try 'dpfda release mean --help'\.\n", done.err)


def test_the_data_cannot_be_overwritten_by_the_release(run: Run, csv: Path) -> None:
    before = csv.read_bytes()
    done = run(*command({"--out": "./scans.csv"}), "--overwrite")
    text = "The data, the release and the picture must be different files. Name another with --out or --plot."
    check(done, USAGE, f"{text} Nothing was charged.")
    assert csv.read_bytes() == before


@pytest.mark.parametrize("option", ["--out", "--plot"])
def test_a_folder_that_cannot_be_written_is_found_before_anything_is_charged(
    option: str, run: Run, csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpfda.cli import main, targets

    def read_only(*arguments: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(targets, "TemporaryFile", read_only)
    monkeypatch.setattr(main, "TemporaryFile", read_only)
    done = run(*command({option: "mean.png"}))
    check(done, DATA, f"Cannot write to {str(tmp_path)!r}. Name another folder. Nothing was charged.")
    check(run("demo", "--out", "there"), DATA, "Cannot write to 'there'. Name another folder with --out.")


def test_an_existing_picture_is_not_replaced_unasked(run: Run, csv: Path, tmp_path: Path) -> None:
    (tmp_path / "mean.png").write_text("old")
    done = run(*command({"--plot": "mean.png"}))
    check(done, DATA, "'mean.png' exists. Say --overwrite, or name another file. Nothing was charged.")
    assert (tmp_path / "mean.png").read_text() == "old"
    assert not (tmp_path / "scans-mean.json").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "No file 'none.csv'. Check the path."),
        (
            "scans.xlsx",
            b"PK",
            "'scans.xlsx' is neither .csv, .tsv, .txt nor .parquet. Convert it, or pass a data frame.",
        ),
        ("scans.parquet", b"text", "'scans.parquet' is not a Parquet file that can be read."),
        ("scans.csv", b"", "'scans.csv' is empty: its first line must name the columns."),
        (
            "scans.csv",
            b"ID,t0,t0\n",
            "Two columns of 'scans.csv' have one name, or its first line is a record. The first line must name "
            "the columns, each by another name.",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_a_data_error(
    name: str, content: bytes | None, message: str, run: Run, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    arguments = command({})
    arguments[2] = name
    check(run(*arguments), DATA, message)


def test_a_parquet_column_of_dates_is_a_data_error(run: Run, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"ID": ["a"], "t0": pa.array([0], pa.date32())}), tmp_path / "scans.parquet")
    arguments = command({})
    arguments[2] = "scans.parquet"
    message = "Column 't0' holds date32[day], not numbers. Choose the value columns by a pattern: 't*'."
    check(run(*arguments), DATA, message)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nonsense"], USAGE, "No such command 'nonsense'. Try 'dpfda --help'."),
        (["release", "variogram"], USAGE, "No such command 'variogram'. Try 'dpfda release --help'."),
        (["show"], USAGE, "Missing argument 'FILE'. Try 'dpfda show --help'."),
        (["show", "none.json"], DATA, "No release file 'none.json'. Check the path."),
        (["evaluate", "none.json", "--at", "0"], DATA, "No release file 'none.json'. Check the path."),
        (["evaluate", "none.json"], USAGE, "Missing option '--at'. Try 'dpfda evaluate --help'."),
        (["demo", "--out", "scans.csv"], USAGE, "Invalid value for '--out': Directory 'scans.csv' is a file."),
        (
            ["demo", "--out", "scans.csv/demo"],
            DATA,
            "Cannot write to 'scans.csv/demo'. Name another folder with --out.",
        ),
    ],
)
def test_mistakes_of_the_other_commands_give_one_line_too(
    arguments: list[str], code: int, message: str, run: Run, csv: Path
) -> None:
    done = run(*arguments)
    assert (done.out, done.code) == ("", code)
    assert re.fullmatch(re.escape(f"Error: {message}") + r"( Try 'dpfda demo --help'\.)?\n", done.err)


def test_no_message_shows_a_cell_of_the_file(run: Run, csv: Path) -> None:
    cells = {cell for line in csv.read_text().splitlines()[1:] for cell in line.split(",")}
    for changes, _, _ in MISTAKES.values():
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

"""`dpfda check`: what it says of a file is the same for all neighbours of the file, and ends in a command to type."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpfda.cli import statements
from dpfda.cli.main import cli, main
from dpfda.cli.statements import KINDS, Group, Layout, layout_of

Run = Callable[..., Any]
ALL = ("--unit", "ID", "--values", "t*", "--epsilon", "1", "--delta", "1e-6", "--bound", "1")
USAGE, DATA = 2, 5
CURVE = ["--unit", "--values", "--epsilon", "--delta", "--bound"]
HEADER = "ID,visit,t1,t2,t3,t4"
CELLS = st.one_of(
    st.floats(width=64).map(str),
    st.sampled_from(["", "nan", "inf", "-1e308", "1e999", "hello", '"', ";", "\t", "p0", "0" * 3000, "零"]),
    st.text(alphabet=st.characters(blacklist_characters="\r\n", blacklist_categories=("Cs",)), max_size=12),
)
ROWS = st.lists(st.lists(CELLS, max_size=8).map(",".join), max_size=4)
COMMANDS = {
    "nothing stated": (),
    "all stated": ALL,
    "a density": ("--points", "visit", "--kind", "density"),
    "the grid in the header": ("--values", "t*", "--grid", "header", "--domain", "0,5"),
    "wrong names": ("--unit", "id", "--values", "u*"),
    "json": (*ALL, "--json"),
}


def said(*arguments: object) -> tuple[int, str, str]:
    """Exit code and texts of the command as a process of its own would leave them, without fixtures."""
    import contextlib
    import io

    out, err, kept = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["dpfda", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as left:
            main()
    finally:
        sys.argv = kept
    return int(left.value.code or 0), out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("neighbours")


@pytest.mark.parametrize("stated", COMMANDS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(one=ROWS, other=ROWS, place=st.integers(0, 5))
def test_neighbouring_csv_files_are_not_told_apart(
    stated: str, one: list[str], other: list[str], place: int, folder: Path
) -> None:
    """One person's rows are anything at all, any number of them and anywhere; the others are as they were."""
    others = [f"p{i},{i % 2},0.1,0.2,0.3,0.4" for i in range(5)]
    file = folder / "scans.csv"
    found = []
    for rows in (one, other):
        file.write_text("\n".join([HEADER, *others[:place], *rows, *others[place:]]) + "\n", encoding="utf-8")
        found.append(said("check", file, *COMMANDS[stated]))
    assert found[0] == found[1]
    assert found[0][0] == (DATA if stated == "wrong names" else 0)
    assert found[0][2] == ""


@pytest.mark.parametrize("stated", COMMANDS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(st.one_of(st.none(), st.floats()), min_size=4, max_size=4), rows=st.integers(0, 3))
def test_neighbouring_parquet_files_are_not_told_apart(
    stated: str, values: list[float | None], rows: int, folder: Path
) -> None:
    """One person has any number of rows and any values, missing ones too, under one declared schema."""
    schema = pa.schema([("ID", pa.string()), ("visit", pa.int64()), *((f"t{j}", pa.float64()) for j in range(1, 5))])
    file = folder / "scans.parquet"
    found = []
    for mine in ([], [values] * rows):
        table = [["p1", 1, 0.1, 0.2, 0.3, 0.4], *(["p2", None, *each] for each in mine)]
        pq.write_table(pa.table([list(column) for column in zip(*table, strict=True)], schema=schema), file)
        found.append(said("check", file, *COMMANDS[stated]))
    assert found[0] == found[1]


def test_nothing_but_the_first_line_is_read(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpfda.records import csv_files as csvfile

    def broken(*arguments: object) -> None:
        raise AssertionError("rows were read")

    (tmp_path / "scans.csv").write_text(HEADER + "\np1,0,1,2,3,4\n")
    for name in ("rows", "identity", "batches"):
        monkeypatch.setattr(csvfile.CsvSource, name, broken)
    assert run("check", "scans.csv", *ALL).code == 0


def test_what_is_missing_is_named_and_the_command_ends_the_text(run: Run, csv: Path) -> None:
    done = run("check", csv.name)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("scans.csv: CSV, 21 columns\n")
    assert "t0 to t19, 20 alike: --values 't*'; numbered 0 to 19 by equal steps" in done.out
    options = [line.split()[0] for line in done.out.splitlines() if line.startswith("  --")]
    assert options == ["--unit", "--values", "--epsilon", "--delta", "--bound"]
    assert "Unknown? Spend a little: dpfda bounds scans.csv --epsilon 0.1" in " ".join(done.out.split())
    command = done.out.splitlines()[-1].strip()
    assert (
        command == "dpfda release mean scans.csv --unit ID --values 't*' --epsilon EPSILON --delta DELTA --bound BOUND"
    )


def test_the_command_in_the_end_runs_once_the_capitals_are_filled_in(run: Run, csv: Path) -> None:
    typed = run("check", csv.name, "--values", "t*", "--epsilon", 1, "--delta", 0).out.splitlines()[-1]
    words = shlex.split(typed.replace("BOUND", "1"))
    assert run(*words[1:]).code == 0


@pytest.mark.parametrize(
    ("kind", "stated", "needed"),
    [
        ("covariance", (), CURVE),
        ("components", ("--limits", "0,1"), CURVE[:-1]),
        ("mean", ("--unit", "ID"), CURVE[2:]),
        ("regression", (), ["--covariates", *CURVE, "--covariate-limits"]),
        ("regression", ("--covariates", "t1"), [*CURVE, "--covariate-limits"]),
        ("regression", ("--covariates", "t1=a|b"), CURVE),
        ("density", (), ["--points", "--unit", "--domain", "--epsilon", "--delta"]),
        ("density", ("--counts", "t0", "--edges", "0,1"), ["--points", "--epsilon", "--delta"]),
        ("classifier", (), ["--points", "--label", "--classes", "--unit", "--domain", "--epsilon", "--delta"]),
        ("regressor", (), ["--points", "--response", "--response-bound", "--unit", "--domain", "--epsilon", "--delta"]),
        ("mean", ("--neighbours", "add-or-remove-one"), [*CURVE, "--planned-n"]),
    ],
)
def test_every_kind_has_its_own_needs(
    kind: str, stated: tuple[str, ...], needed: list[str], run: Run, csv: Path
) -> None:
    done = run("check", csv.name, "--kind", kind, *stated, "--json")
    facts = json.loads(done.out)
    assert [each["option"] for each in facts["missing"]] == needed
    assert facts["command"].startswith(f"dpfda release {kind} scans.csv ")
    assert not facts["complete"]


@pytest.mark.parametrize(
    ("option", "kind"),
    [
        (("--points", "t1"), "density"),
        (("--points", "t1", "--label", "t2"), "classifier"),
        (("--points", "t1", "--response", "t2"), "regressor"),
        (("--covariates", "t1"), "regression"),
        (("--k", 2), "components"),
        ((), "mean"),
    ],
)
def test_the_kind_is_known_by_its_options(option: tuple[object, ...], kind: str, run: Run, csv: Path) -> None:
    assert json.loads(run("check", csv.name, *option, "--json").out)["kind"] == kind


def test_every_option_of_every_release_is_taken() -> None:
    from dpfda.cli.check import check, targets

    taken = {name for option in check.params for name in option.opts}
    assert set(targets()) == set(KINDS)
    for target in targets().values():
        assert {name for option in target.params for name in option.opts} <= taken


def test_options_are_checked_as_the_release_would(run: Run, csv: Path) -> None:
    done = run("check", csv.name, "--epsilon", "much")
    assert (done.code, done.out) == (USAGE, "")
    assert done.err.startswith("Error: Invalid value for '--epsilon': 'much' is not a valid float.")
    other = run("check", csv.name, "--points", "t1", "--bound", 1)
    assert other.code == USAGE
    assert other.err == (
        "Error: --bound is no option of `dpfda release density`. Leave it out, or say --kind for another: mean, "
        "covariance, components, regression, density, classifier, regressor.\n"
    )


WRONG = {
    "a column that is not there": (("--unit", "id"), "--unit names a column 'id', and there is none. Is it 'ID'?"),
    "a pattern of nothing": (("--values", "u*"), "--values 'u*' matches no column."),
    "a point that is not there": (("--points", "t1,age"), "--points 'age' matches no column."),
    "a covariate that is not there": (
        ("--covariates", "t1,age"),
        "--covariates names a column 'age', and there is none.",
    ),
    "levels that are none": (
        ("--covariates", "t1=a"),
        "--covariates takes two or more different levels of a column, separated by |, e.g. 'age,sex=female|male'; got "
        "'t1=a'.",
    ),
    "a bound and limits": (
        ("--bound", "1", "--limits", "0,1"),
        "--bound and --limits both bound the curves. Leave one of them out.",
    ),
    "domain and edges": (
        ("--points", "t1", "--domain", "0,1", "--edges", "0,1"),
        "--domain and --edges both say where points may lie. Leave one of them out.",
    ),
    "unit and counts": (
        ("--points", "t1", "--unit", "ID", "--counts", "t2"),
        "--unit and --counts both say who is protected. Leave one of them out.",
    ),
    "grid points outside of the domain": (
        ("--grid", "header", "--values", "t*"),
        "The names put grid points from 0 to 19, outside the domain 0 to 1: say --domain 0,19, or a wider one.",
    ),
    "grid points without numbers": (
        ("--grid", "header", "--values", "*"),
        "--grid header takes the numbers at the end of names, and a column that holds values has none there.",
    ),
    "a domain of words": (
        ("--grid", "header", "--values", "t*", "--domain", "a,b"),
        "--domain takes 2 numbers separated by commas, e.g. --domain 0,1; got 'a,b'.",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_what_cannot_be_is_said_and_ends_with_the_code_of_data(mistake: str, run: Run, csv: Path) -> None:
    stated, text = WRONG[mistake]
    done = run("check", csv.name, *stated)
    assert (done.code, done.err) == (DATA, "")
    assert text in " ".join(done.out.split())
    assert "To type" not in done.out
    assert json.loads(run("check", csv.name, *stated, "--json").out)["wrong"] == [text]


def test_a_column_called_row_is_not_the_word(tmp_path: Path, run: Run) -> None:
    (tmp_path / "a.csv").write_text("row,t1,t2,t3\n")
    done = run("check", "a.csv", "--unit", "row")
    assert (done.code, done.err) == (DATA, "")
    assert "there is a column 'row' too. Rename it." in " ".join(done.out.split())


def test_types_are_said_where_a_schema_declares_them(tmp_path: Path, run: Run) -> None:
    columns = {
        "ID": pa.array(["a"]).dictionary_encode(),
        "when": pa.array([0], pa.timestamp("s")),
        "ill": pa.array([True]),
        "price": pa.array([None], pa.decimal128(5, 2)),
        "parts": pa.array([[1]]),
        "t1": pa.array([1], pa.int32()),
        "t2": pa.array([0.5]),
        "t3": pa.array([0], pa.date32()),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    done = run("check", "a.parquet", "--values", "t*")
    assert done.code == DATA
    assert "ID (numbers or text), when (dates or times), ill (numbers or text)" in done.out
    assert "parts (lists or records)" in " ".join(done.out.split())
    assert "Column 't3' is declared to hold dates or times, not numbers." in done.out


# Names, then rows of (person, time, value), the grid that stands in for GRID, and the domain.
LONG: dict[str, tuple[str, list[str], str, str]] = {
    "whole numbers": ("id,t,value", [f"{p},{t},{p + t}" for p in range(4) for t in range(3)], "[0, 1, 2]", "0,2"),
    "fractions": (
        "id,t,y",
        [f"{p},{t / 3:.9f},{p}" for p in range(4) for t in range(4)],
        "[t / 3 for t in range(4)]",
        "0,1",
    ),
    "times of day": (
        "meter,time,kWh",
        [f"{p},{h:02}:{m:02},{p + h}" for p in range(3) for h in range(3) for m in (0, 30)],
        "[f'{h:02}:{m:02}' for h in range(3) for m in (0, 30)]",
        "0,24",
    ),
    "dates": (
        "person,date,steps",
        [f"{p},2024-03-0{d},{p * d}" for p in range(3) for d in range(1, 5)],
        "['2024-03-01', '2024-03-02', '2024-03-03', '2024-03-04']",
        "8825,8829",
    ),
    "several days a person": (
        "meter,day,hour,kWh",
        [f"{p},{d},{h},{p + d + h}" for p in range(3) for d in range(2) for h in range(4)],
        "[0, 1, 2, 3]",
        "0,3",
    ),
}


@pytest.mark.parametrize("case", LONG)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_recipe_for_a_long_table_makes_a_wide_one_that_holds_every_reading(
    case: str, form: str, tmp_path: Path, run: Run
) -> None:
    names, rows, grid, domain = LONG[case]
    long = pd.read_csv(StringIO("\n".join([names, *rows])))
    if form == "csv":
        long.to_csv("long.csv", index=False)
    else:
        long.to_parquet("long.parquet")
    done = run("check", f"long.{form}")
    assert (done.code, done.err) == (0, "")
    assert f"This looks like one row a reading ({names.replace(',', ', ')})." in done.out
    assert "To type" not in done.out
    assert json.loads(run("check", f"long.{form}", "--json").out)["long"]
    (line,) = [line for line in done.out.splitlines() if line.startswith("  python -c ")]
    code = shlex.split(line)[2]
    with pytest.raises(NameError, match="GRID"):
        exec(code, {})  # only its user knows the grid
    with pytest.raises(AssertionError, match="some place of GRID occurs nowhere as it is written there"):
        exec(code, {"GRID": ["nowhere"]})
    assert not (tmp_path / "wide.csv").exists()
    exec(code, {"GRID": eval(grid)})
    wide = pd.read_csv("wide.csv")
    values = wide.filter(regex="^t[0-9]")
    assert values.notna().all(axis=None)
    assert sorted(values.to_numpy().ravel()) == sorted(long.iloc[:, -1])
    (next_,) = [line for line in done.out.splitlines() if line.startswith("  dpfda check wide.csv")]
    assert run(*shlex.split(next_)[1:], "--domain", domain).code == 0


@pytest.mark.parametrize("first", ["p1,0.5,0.25,0.75", "p1,0.25,0.5,0.75", "1,2,3,4"])
def test_a_first_line_that_may_be_a_record_is_not_shown(first: str, tmp_path: Path, run: Run) -> None:
    (tmp_path / "bare.csv").write_text(first + "\np2,1,2,3\n")
    for stated in ((), ("--unit", "ID"), ("--json",)):
        done = run("check", "bare.csv", *stated)
        assert not any(cell in done.out + done.err for cell in ("p1", "0.25", "0.5", "0.75"))
    assert "the first line may be a record" in run("check", "bare.csv").out
    (tmp_path / "bare.csv").write_text("age\n41\n")
    assert run("check", "bare.csv").out.startswith("bare.csv: CSV, 1 column\n")
    (tmp_path / "bare.csv").write_text("p1,0.5,0.5\n")
    done = run("check", "bare.csv")
    assert (done.code, done.out) == (DATA, "")
    assert done.err == (
        "Error: Two columns of 'bare.csv' have one name, or its first line is a record. The first line must name the "
        "columns, each by another name.\n"
    )


def test_the_command_in_the_end_shows_no_password(run: Run, csv: Path) -> None:
    for more in ((), ("--json",)):
        done = run("check", csv.name, *ALL, "--ledger", "postgresql://me:opensesame@host/db", *more)
        assert done.code == 0
        assert "opensesame" not in done.out
        assert "--ledger" in done.out


def test_names_that_are_places_are_shown_when_that_is_said(tmp_path: Path, run: Run) -> None:
    (tmp_path / "places.csv").write_text("ID,0,0.5,2\n")
    done = run("check", "places.csv", "--grid", "header", "--domain", "0,2")
    assert done.code == 0
    assert "0 to 2, 3 alike: --values '[0-9]*'; their numbers are not evenly spaced" in done.out


@pytest.mark.parametrize(
    ("name", "code"), [("none.csv", DATA), ("scans.xlsx", DATA), ("empty.csv", DATA), ("text.parquet", DATA)]
)
def test_a_file_that_cannot_be_read_is_a_data_error(name: str, code: int, run: Run, tmp_path: Path) -> None:
    if name != "none.csv":
        (tmp_path / name).write_text("" if name == "empty.csv" else "text")
    done = run("check", name)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("Error: ")


def test_a_pattern_takes_all_of_a_group_and_nothing_else() -> None:
    group = Group("t", ("t1", "t2", "t3"), (1.0, 2.0, 3.0))
    assert group.pattern(("ID", *group.names)) == "t*"
    assert group.pattern(("time", *group.names)) == "t[0-9]*"
    assert group.pattern(("t1x", *group.names)) is None
    assert Group("[a]", ("[a]1", "[a]2", "[a]3"), (1.0, 2.0, 3.0)).pattern(()) == "[[]a]*"


def test_times_of_day_are_columns_of_one_curve(tmp_path: Path, run: Run) -> None:
    times = [f"{hour:02}:{minute:02}" for hour in range(24) for minute in (0, 30)]
    (tmp_path / "load.csv").write_text(",".join(["household", "date", *times]) + "\n")
    done = run("check", "load.csv", "--epsilon", 1, "--delta", 0, "--bound", 5)
    assert done.code == 0
    assert "00:00 to 23:30, 48 alike: --values '[0-9]*'; numbered 0 to 23.5 by equal steps\n" in done.out
    assert done.out.endswith(
        "  dpfda release mean load.csv --unit household --values '[0-9]*' --epsilon 1 --delta 0 --bound 5\n"
    )
    (group,) = Layout(Path("a.csv"), ("1st", *times), None).groups
    assert group.pattern(("1st", *times)) == "[0-9]*:[0-9]*"
    assert group.places == tuple(half / 2 for half in range(48))


def test_a_wide_list_of_other_columns_is_cut(tmp_path: Path, run: Run) -> None:
    names = [f"gene_{chr(97 + index % 26)}{chr(97 + index // 26)}" for index in range(60)]
    (tmp_path / "genes.csv").write_text(",".join(["ID", *names]) + "\n")
    assert ", ... (61 in all)" in run("check", "genes.csv").out


def test_names_that_sound_like_persons_could_be_the_unit() -> None:
    layout = Layout(Path("a.csv"), ("PatientID", "household", "user_id", "avoid", "video", "idle", "t1"), None)
    assert layout.persons == ("PatientID", "household", "user_id")


def test_the_layout_of_a_semicolon_table_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("ID;t1;t2;t3\np;1,5;2;3\n")
    assert layout_of(file).names == ("ID", "t1", "t2", "t3")


def test_help_shows_check_among_the_first_things_to_do() -> None:
    assert "dpfda check scans.csv" in CliRunner().invoke(cli, ["--help"]).output


DECLARED = {
    "lists": (pa.array([[1.0, 2.0]] * 3), "lists or records"),
    "structs": (pa.array([{"a": 1.0}] * 3), "lists or records"),
    "dates": (pa.array([0] * 3, pa.date32()), "dates or times"),
    "categories of dates": (pa.array([0] * 3, pa.date32()).dictionary_encode(), "dates or times"),
}


@pytest.mark.parametrize(("column", "declared"), DECLARED.values(), ids=DECLARED)
def test_columns_that_a_release_refuses_by_their_declared_type_are_not_recommended(
    column: pa.Array, declared: str, run: Run, tmp_path: Path
) -> None:
    names = {"ID": pa.array(["a", "b", "c"])} | {f"t{j}": column for j in range(4)}
    pq.write_table(pa.table(names), tmp_path / "a.parquet")
    done = run("check", "a.parquet", "--unit", "ID")
    assert (done.code, done.err) == (0, "")
    assert f"t0 to t3, 4 alike, declared to hold {declared}, not numbers: a release refuses them" in done.out
    assert "--values 't*'" not in done.out.splitlines()[-1]
    assert "--values PATTERN" in done.out.splitlines()[-1]
    refused = run("release", "mean", "a.parquet", *ALL, "--force")
    assert refused.code == DATA
    assert "not numbers" in refused.err


def test_numbers_beside_lists_are_the_curve(run: Run, tmp_path: Path) -> None:
    lists = {f"t{j}": pa.array([[1.0]] * 3) for j in range(9)}
    numbers = {f"u{j}": pa.array([1.0] * 3) for j in range(4)}
    pq.write_table(pa.table({"ID": pa.array(["a", "b", "c"]), **lists, **numbers}), tmp_path / "a.parquet")
    assert "--values 'u*'" in run("check", "a.parquet").out.splitlines()[-1]


def test_a_list_names_no_person(run: Run, tmp_path: Path) -> None:
    columns = {"ID": pa.array([["a"]] * 3)} | {f"t{j}": pa.array([1.0] * 3) for j in range(4)}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    assert "--unit COLUMN" in run("check", "a.parquet").out.splitlines()[-1]
    done = run("check", "a.parquet", "--unit", "ID")
    assert done.code == DATA
    assert "Column 'ID' is declared to hold lists or records, which cannot name a privacy unit." in done.out


def test_a_title_in_the_first_line_is_guessed_at(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Export from Excel\nID,t1,t2\np1,0.5,1\n")
    said = " ".join(run("check", "a.csv").out.split())
    assert "There is no other: if the first line of the file is a title, delete it" in said


@pytest.mark.parametrize("options", [(), ALL, ("--grid", "header", "--json")], ids=["nothing", "all", "json"])
def test_names_of_columns_are_grouped_once(
    options: tuple[str, ...], tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A header may have a million of them, and a group of them takes seconds."""
    grouped: list[int] = []
    one = statements._group
    monkeypatch.setattr(statements, "_group", lambda names: grouped.append(len(names)) or one(names))
    (tmp_path / "wide.csv").write_text("ID,t1,t2,t3,t4\n")
    assert run("check", "wide.csv", *options).code in (0, DATA)
    assert grouped == [4]

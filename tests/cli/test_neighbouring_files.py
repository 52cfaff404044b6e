"""Neighbouring files: the same exit code, the same messages and the same card, whatever one person's cells hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Run = Callable[..., Any]
PEOPLE, DATA, USAGE = 40, 5, 2
SPENT = ("--epsilon", 100, "--delta", 1e-6, "--unit", "ID", "--force", "--json", "--overwrite")
POINTS = (*SPENT, "--domain", "0,1")
NOISY = ("noise_rms", "detected", "warnings")  # fields of cards that noise decides
CURVES = (*SPENT, "--values", "t*", "--bound", 2)
COMMANDS: dict[str, tuple[object, ...]] = {
    "mean": ("release", "mean", *CURVES),
    "covariance": ("release", "covariance", *CURVES),
    "components": ("release", "components", "--k", 1, *CURVES),
    "regression": ("release", "regression", *CURVES, "--covariates", "age", "--covariate-limits", "0:100"),
    "density": ("release", "density", "--points", "t0", *POINTS),
    "classifier": ("release", "classifier", "--points", "t0,t1", "--label", "group", "--classes", "0,1", *POINTS),
    "text classes": ("release", "classifier", "--points", "t0,t1", "--label", "sex", "--classes", "f,m", *POINTS),
    "regressor": ("release", "regressor", "--points", "t0", "--response", "t1", "--response-bound", 1, *POINTS),
    "bounds": ("bounds", "--epsilon", 100, "--unit", "ID", "--values", "t*", "--candidates", "0.01,100", "--json"),
    "check": ("check", "--json", "--values", "t*", "--unit", "ID"),
}
NAMES = ("ID", "age", "group", "sex", "t0", "t1", "t2")
ODD = ("ill", "(1+2j)", "[1.0, 2.0]", "1971-03-02", "nan", "-inf", "1e308", "", "true")


def rows(odd: str | None) -> list[list[str]]:
    found = [
        [
            f"p{place}",
            str(20 + place),
            str(place % 2),
            "fm"[place % 2],
            f"{place / PEOPLE}",
            f"{1 - place / PEOPLE}",
            "0.5",
        ]
        for place in range(PEOPLE)
    ]
    if odd is not None:
        found[-1][1:] = [odd] * (len(NAMES) - 1)
    return found


def written(form: str, odd: str | None) -> str:
    table = rows(odd)
    if form == "csv":
        quoted = [[f'"{cell}"' if "," in cell else cell for cell in row] for row in table]
        Path("people.csv").write_text("\n".join(",".join(row) for row in [list(NAMES), *quoted]) + "\n")
        return "people.csv"
    columns = {}
    for name, cells in zip(NAMES, zip(*table, strict=True), strict=True):
        try:
            columns[name] = pa.array([float(cell) for cell in cells])
        except ValueError:
            columns[name] = pa.array(cells)  # one word makes text of all
    pq.write_table(pa.table(columns), "people.parquet")
    return "people.parquet"


def public(out: str) -> Any:
    """What was printed, but for numbers that noise decides."""
    told = {name: fact for name, fact in json.loads(out).items() if name not in NOISY}
    if told.get("what") == {"code": "bound"}:
        told["bound"] = told["chosen"].pop("bound")[:0]
        del told["result"]
    told.get("chosen", {}).pop("outside", None)  # a noisy number
    return told


def check(command: str, form: str, cells: list[str], run: Run) -> None:
    first, second, *rest = COMMANDS[command]
    words = (first, second) if first == "release" else (first,)
    options = rest if first == "release" else [second, *rest]
    outcomes = []
    for odd in (None, *cells):
        done = run(*words, written(form, odd), *options)
        outcomes.append((done.code, done.err, public(done.out) if done.out else None))
    assert outcomes[0][0] == 0, outcomes[0]
    assert outcomes == outcomes[:1] * len(outcomes)


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_exit_code_message_or_card_depends_on_one_persons_cells(command: str, form: str, run: Run) -> None:
    """Two cells for each command, in turn, so that each form of file meets all of them."""
    turn = 2 * [*COMMANDS].index(command)
    check(command, form, [ODD[(turn + place) % len(ODD)] for place in range(2)], run)


@pytest.mark.audit
@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_exit_code_message_or_card_depends_on_any_cell(command: str, form: str, run: Run) -> None:
    check(command, form, [*ODD], run)


# What is read as something else is refused, and nothing is charged.


def test_a_long_table_is_no_table_of_curves_of_one_point(run: Run, tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text(
        "meter,time,kWh\n" + "".join(f"{m},{t},1\n" for m in range(30) for t in range(4))
    )
    stated = ("--unit", "meter", "--values", "kWh", "--epsilon", 1, "--delta", 1e-6, "--bound", 1)
    done = run("release", "mean", "long.csv", *stated)
    assert (done.code, done.out) == (USAGE, "")
    assert done.err.startswith("Error: 1 feature(s): these curves have one value each, as the readings of a long table")
    assert run("release", "covariance", "long.csv", *stated, "--dry-run").code == USAGE
    assert run("bounds", "long.csv", *stated[:6], "--candidates", "0.1,10").code == USAGE
    checked = run("check", "long.csv", *stated)
    assert checked.code == DATA
    assert "This looks like one row a reading (meter, time, kWh)." in checked.out
    assert "--values 'kWh' names one column, so every curve would have one point." in " ".join(checked.out.split())


@pytest.mark.parametrize(
    ("header", "values", "said"),
    [
        (
            "ID,t1,t2,tariff",
            "t*",
            "The pattern 't*' matches columns that are not alike; beside the others stand: tariff",
        ),
        (
            "ID,age_1,age_1.25,age_1.5,age_2",
            "age_*",
            "Say --grid header to take the numbers for places, or --grid even",
        ),
        ("ID,joint,t1,t2", "t*", "Keep the rows of one kind, or say --rows average if that is meant."),
        ("time,subject_1,subject_2,subject_3", "subject_*", "are named after persons."),
    ],
    ids=["pattern", "grid", "kinds", "transposed"],
)
def test_what_names_contradict_is_refused_by_release_and_check(
    header: str, values: str, said: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(header + "\n" + "1," * header.count(",") + "1\n")
    unit = header.split(",")[0]
    stated = ("--unit", unit, "--values", values, "--epsilon", 1, "--delta", 1e-6, "--bound", 1)
    done = run("release", "mean", "a.csv", *stated)
    assert (done.code, done.out) == (DATA, "")
    assert said in done.err
    checked = run("check", "a.csv", *stated)
    if "grid" not in said:  # there the command that is printed says --grid header
        assert checked.code == DATA
        assert said in " ".join(checked.out.split())
    else:
        assert "--grid header --domain 1,2" in checked.out


def test_thousands_of_deaths_are_no_people(run: Run, tmp_path: Path) -> None:
    (tmp_path / "deaths.csv").write_text("region,age,deaths_thousand\nA,10,3.5\nB,20,7.1\n")
    stated = ("--points", "age", "--counts", "deaths_thousand", "--domain", "0,100", "--epsilon", 1, "--delta", 0)
    done = run("release", "density", "deaths.csv", *stated)
    assert (done.code, done.out) == (DATA, "")
    assert "By its name column 'deaths_thousand' counts thousands or millions, and counts are people." in done.err
    assert run("check", "deaths.csv", *stated, "--kind", "density").code == DATA


def test_the_card_of_counts_names_columns_that_may_hold_totals(run: Run, tmp_path: Path) -> None:
    (tmp_path / "deaths.csv").write_text("region,age,deaths\nA,10,3000\nB,20,7000\nWorld,20,10000\n")
    stated = ("--points", "age", "--counts", "deaths", "--domain", "0,100", "--epsilon", 10, "--delta", 0)
    done = run("release", "density", "deaths.csv", *stated)
    assert done.code == 0
    said = " ".join(done.out.split())
    assert (
        "not used: columns region; all rows are added up whatever these say, and rows that are totals of others" in said
    )

"""Densities on the command line: released, planned, shown, evaluated, sampled, refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfda
from dpfda.cli.charging import unrecorded
from dpfda.mechanisms.table import typed_for
from dpfda.statistics.density.release import DensityRelease

Run = Callable[..., Any]
USAGE, PRIVACY, DATA = 2, 3, 5
FORCE = "--force"
SPENT = ("--epsilon", 1, "--delta", "1e-6")
ASKED = ("--points", "age", "--unit", "person", "--domain", "0,100", *SPENT)
COUNTED = ("--neighbours", "add-or-remove-one", "--planned-n", 1000)


def ages() -> np.ndarray:
    return np.round(100 * np.random.default_rng(5).beta(2, 4, 2000), 3)


def heights() -> np.ndarray:
    return np.round(np.random.default_rng(6).normal(170, 10, 2000), 3)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Two visits of each of 1000 people, with age and height."""
    rows = ["person,age,height,town"]
    rows += [f"p{i % 1000},{a},{h},north" for i, (a, h) in enumerate(zip(ages(), heights(), strict=True))]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def deaths(tmp_path: Path) -> Path:
    """Deaths by age in years: 9,000 people in 30 rows."""
    path = tmp_path / "deaths.csv"
    path.write_text("age,deaths\n" + "".join(f"{age + 0.5},{20 * age + 10}\n" for age in range(30)))
    return path


@pytest.fixture
def density(run: Run, people: Path, tmp_path: Path) -> DensityRelease:
    assert run("release", "density", people.name, *ASKED, "--out", "density.json").code == 0
    made: DensityRelease = dpfda.load(tmp_path / "density.json")
    return made


@pytest.fixture
def box(run: Run, people: Path, tmp_path: Path) -> DensityRelease:
    asked = ("--points", "height,age", "--unit", "person", "--domain", "120,220;0,100", *SPENT)
    assert run("release", "density", people.name, *asked, "--out", "box.json").code == 0
    made: DensityRelease = dpfda.load(tmp_path / "box.json")
    return made


def release(run: Run, file: Path, *more: object) -> Any:
    return run("release", "density", file.name, *ASKED, *more)


def test_a_release_writes_its_file_and_prints_its_card(run: Run, people: Path, tmp_path: Path) -> None:
    done = release(run, people)
    assert (done.code, done.err) == (0, "")
    made = dpfda.load(tmp_path / "people-density.json")
    assert type(made) is DensityRelease
    assert done.out == f"{made.certificate.text()}\n\nWritten: people-density.json\n{unrecorded('people')}\n"
    assert (made.certificate.unit, made.certificate.n, made.certificate.dataset) == ("person", 1001.0, "people")
    assert made.certificate.private
    assert dict(made.certificate.chosen)["points"] == "age"


def test_a_release_can_be_named_drawn_and_printed_as_json(run: Run, people: Path, tmp_path: Path) -> None:
    done = release(run, people, "--out", "a.json", "--plot", "a.png", "--dataset", "town", "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == dpfda.load(tmp_path / "a.json").certificate.to_dict()
    assert json.loads(done.out)["dataset"] == "town"
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    again = release(run, people, "--out", "a.json")
    assert (again.code, again.out) == (5, "")
    assert again.err == "Error: 'a.json' exists. Say --overwrite, or name another file. Nothing was charged.\n"
    assert release(run, people, "--out", "a.json", "--overwrite").code == 0


def test_a_dry_run_reads_no_values_and_writes_nothing(
    run: Run, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpfda.records.csv_files import CsvSource

    def read(*arguments: object, **options: object) -> None:
        raise AssertionError("values were read")

    monkeypatch.setattr(CsvSource, "batches", read)
    done = release(run, people, "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert "no values read, nothing charged" in done.out
    assert "\n  protects    one person, replace-one\n  points      age\n" in done.out
    assert json.loads(release(run, people, "--dry-run", "--json").out)["n"] == 1001
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_the_number_of_people_can_be_private(run: Run, people: Path, tmp_path: Path) -> None:
    done = release(run, people, *COUNTED)
    assert (done.code, done.err) == (0, "")
    card = dpfda.load(tmp_path / "people-density.json").certificate
    assert card.neighbours == "add-or-remove-one"
    assert card.n != 1000.0


def test_a_density_is_that_of_the_file(run: Run, people: Path, tmp_path: Path) -> None:
    """At epsilon 1000 noise is small: the distribution function within 0.03 of that of people's points."""
    assert release(run, people, "--epsilon", 1000, "--delta", 0).code == 0
    made = dpfda.load(tmp_path / "people-density.json")
    points = np.linspace(5, 95, 19)
    exact = (ages()[:, None] <= points).mean(axis=0)
    assert np.abs(made.distribution(points) - exact).max() < 0.03


def test_a_person_counts_once_whatever_the_number_of_points(run: Run, tmp_path: Path) -> None:
    """At epsilon 1000: one person with 500 points of 500 weighs as much as each of the others."""
    file = tmp_path / "people.csv"
    rows = [f"p{i},20" for i in range(499)] + ["many,80"] * 500
    file.write_text("person,age\n" + "\n".join(rows) + "\n")
    asked = ("--points", "age", "--unit", "person", "--edges", "0,50,100", "--epsilon", 1000, "--delta", 0)
    asked = (*asked, "--smoothing", "none")
    assert run("release", "density", file, *asked).code == 0
    made = dpfda.load(tmp_path / "people-density.json")
    assert made.certificate.n == 501
    assert made.integral(50, 100) == pytest.approx(2 / 501, abs=1e-3)  # rows of nobody are one unit, in the middle
    assert run("release", "density", file, *asked, "--n", 500, "--out", "stated.json").code == 0
    stated = dpfda.load(tmp_path / "stated.json")
    assert stated.certificate.n == 500
    assert stated.integral(50, 100) == pytest.approx(1 / 500, abs=1e-3)


def test_rows_can_stand_for_many_people(run: Run, deaths: Path, tmp_path: Path) -> None:
    """At epsilon 1000 noise is far below a thousandth of a probability."""
    asked = ("--points", "age", "--counts", "deaths", "--edges", "0:30", "--epsilon", 1000, "--delta", 0)
    asked = (*asked, "--smoothing", "none")
    done = run("release", "density", deaths, *asked)
    assert (done.code, done.err) == (0, "")
    made = dpfda.load(tmp_path / "deaths-density.json")
    assert (made.certificate.n, made.certificate.unit) == (9000.0, "person")
    exact = (20 * np.arange(30) + 10) / 9000
    np.testing.assert_allclose(made(np.arange(30) + 0.5), exact, atol=1e-3)
    planned = run("release", "density", deaths, *asked, "--dry-run")
    assert planned.code == 0
    assert "Plan for a density of 9000 units" in planned.out
    assert "\n  protects    one person, replace-one\n  points      age\n  counts      column deaths\n" in planned.out


def test_a_dry_run_reads_no_counts_where_their_sum_is_private(
    run: Run, deaths: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpfda.records.csv_files import CsvSource

    def read(*arguments: object, **options: object) -> None:
        raise AssertionError("values were read")

    monkeypatch.setattr(CsvSource, "batches", read)
    asked = ("--points", "age", "--counts", "deaths", "--edges", "0:30", *SPENT, *COUNTED)
    done = run("release", "density", deaths, *asked, "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert "Plan for a density of 1000 units" in done.out


def test_parquet_is_read_as_csv_is(run: Run, people: Path, deaths: Path, tmp_path: Path) -> None:
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as pq

    for file in (people, deaths):
        pq.write_table(arrow_csv.read_csv(file), file.with_suffix(".parquet"))
    loud = ("--epsilon", 1e6, "--delta", 0)
    whole = ("--points", "age", "--unit", "person", "--edges", "0:100:10", *loud)
    counted = ("--points", "age", "--counts", "deaths", "--edges", "0:30:10", *loud)
    for name, asked in (("people", whole), ("deaths", counted)):
        made = []
        for ending in ("csv", "parquet"):
            assert (
                run("release", "density", f"{name}.{ending}", *asked, "--out", f"{ending}.json", "--overwrite").code
                == 0
            )
            made.append(dpfda.load(tmp_path / f"{ending}.json"))
        np.testing.assert_allclose(made[0].noisy, made[1].noisy, atol=1e-4)


def test_columns_come_in_the_order_in_which_they_are_named(box: DensityRelease) -> None:
    assert dict(box.certificate.chosen)["points"] == "height, age"
    assert box.certificate.domain == ((120.0, 220.0), (0.0, 100.0))
    means = box.mean()
    assert abs(means[0] - heights().mean()) < 5
    assert abs(means[1] - ages().mean()) < 5


@pytest.mark.parametrize(
    "points",
    [("--points", "age", "--points", "height"), ("--points", "age,height"), ("--points", "[ah]*")],
    ids=["repeated", "a list", "a pattern"],
)
def test_columns_are_named_one_by_one_in_a_list_or_by_a_pattern(
    points: tuple[str, ...], run: Run, people: Path
) -> None:
    sides = ("--domain", "0,100", "--domain", "120,220")
    done = run("release", "density", people, *points, "--unit", "person", *sides, *SPENT, "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert "\n  points      age, height\n" in done.out


def test_patterns_pass_over_columns_that_are_something_else(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "scans.csv"
    file.write_text("x_id,x1,x2\n" + "".join(f"p{i},0.{i},0.5\n" for i in range(300)))
    done = run(
        "release", "density", file, "--points", "x*", "--unit", "x_id", "--domain", "0,1;0,1", *SPENT, "--dry-run"
    )
    assert (done.code, done.err) == (0, "")
    assert "\n  points      x1, x2\n" in done.out


def test_many_columns_are_told_by_the_first_and_the_last(tmp_path: Path) -> None:
    from dpfda.cli.columns import read_points
    from dpfda.records import open_table

    file = tmp_path / "wide.csv"
    file.write_text("a,b,c,d,e\n1,2,3,4,5\n")
    found = read_points(open_table(file), ("*",), unit=None, beside={})
    assert found.columns == "5 columns, a to e"


def test_a_name_may_hold_a_comma_or_a_bracket(tmp_path: Path) -> None:
    from dpfda.cli.columns import point_columns

    header = ["a,b", "c[1]", "d"]
    assert point_columns(header, ("a,b", "c[1]"), {}) == ["a,b", "c[1]"]


@pytest.mark.parametrize("mechanism", typed_for("density"))
def test_every_mechanism_can_be_asked_for(mechanism: str, run: Run, people: Path, tmp_path: Path) -> None:
    paper = ("--bandwidth", 5) if mechanism in ("gp", "sobolev", "iclp-qr", "frl", "bernstein") else ()
    done = release(run, people, "--mechanism", mechanism, *paper)
    assert (done.code, done.err) == (0, "")
    made = dpfda.load(tmp_path / "people-density.json")
    assert mechanism in ("auto", made.certificate.mechanism)
    assert made.integral() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("sides", "points", "bandwidth"),
    [("0,100", "age", "4"), ("0,100;120,220", "age,height", "8,9"), ("0,100;120,220", "age,height", "64,10;10,81")],
    ids=["a number", "one for each side", "a matrix"],
)
def test_a_bandwidth_is_a_number_one_for_each_side_or_a_matrix(
    sides: str, points: str, bandwidth: str, run: Run, people: Path
) -> None:
    asked = ("--points", points, "--unit", "person", "--domain", sides, *SPENT, "--mechanism", "gp")
    done = run("release", "density", people, *asked, "--bandwidth", bandwidth, "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert "stated by the user" in done.out


def test_a_bandwidth_can_be_bought(run: Run, people: Path, tmp_path: Path) -> None:
    bought = ("--mechanism", "gp", "--bandwidth", "private-iqr", "--bandwidth-epsilon", 0.5)
    planned = release(run, people, *bought, "--dry-run")
    assert planned.code == 0
    assert "\n  bandwidth   bought for epsilon = 0.5 on top; planned with a tenth of each side\n" in planned.out
    done = release(run, people, *bought)
    assert (done.code, done.err) == (0, "")
    assert "Scott's rule of a private interquartile range, for epsilon = 0.5 of its own" in " ".join(done.out.split())
    assert "guarantee (epsilon = 1.5, delta = 1e-06)" in " ".join(done.out.split())


HELP = " Try 'dpfda release density --help'."
COLUMNS = "Columns are: person, age, height, town."
WHO = (
    "Say who is protected, by one of the two: --unit COLUMN, or --unit row if every row is another person; or --counts "
    "COLUMN if a row stands for so many people, one point each."
)
DOMAIN = (
    "A density needs a domain known in advance, e.g. --domain 0,100, or else the edges of bins, e.g. --edges 0,1,5,10, "
    "and not both. Neither may be read from the data."
)
EDGES = (
    "--edges takes increasing numbers separated by commas, or stretches FIRST:LAST:STEP of at most 4096 of them, e.g. "
    "--edges 0,1,5:100:5; got "
)
GOOD: dict[str, object] = {
    "--points": "age",
    "--unit": "person",
    "--domain": "0,100",
    "--epsilon": 1,
    "--delta": "1e-6",
}
# Options that are changed (None: left out), exit code, and the whole message.
MISTAKES: dict[str, tuple[dict[str, object], int, str]] = {
    "nobody protected": ({"--unit": None}, USAGE, WHO),
    "protected twice": ({"--counts": "height"}, USAGE, WHO),
    "no domain": ({"--domain": None}, USAGE, DOMAIN),
    "domain and edges": ({"--edges": "0,1"}, USAGE, DOMAIN),
    "no points": ({"--points": None}, USAGE, "Missing option '--points'." + HELP),
    "no epsilon": ({"--epsilon": None}, USAGE, "Missing option '--epsilon'." + HELP),
    "no delta": ({"--delta": None}, USAGE, "Missing option '--delta'." + HELP),
    "a column that is not there": (
        {"--points": "weight"},
        DATA,
        f"No column 'weight' for a coordinate. {COLUMNS}",
    ),
    "a pattern that nothing matches": (
        {"--points": "w*"},
        DATA,
        f"No column matches the pattern 'w*'. {COLUMNS}",
    ),
    "a unit that is not there": (
        {"--unit": "house"},
        DATA,
        f"No column 'house' for the privacy unit. {COLUMNS}",
    ),
    "counts that are not there": (
        {"--unit": None, "--counts": "deaths"},
        DATA,
        f"No column 'deaths' for the counts. {COLUMNS}",
    ),
    "the unit as a coordinate": (
        {"--points": "person"},
        USAGE,
        "Column 'person' cannot be a coordinate and the privacy unit at once.",
    ),
    "the counts as a coordinate": (
        {"--unit": None, "--counts": "age"},
        USAGE,
        "Column 'age' cannot be a coordinate and the counts at once.",
    ),
    "a column twice": (
        {"--points": "age,age"},
        USAGE,
        "--points names the column 'age' twice. Each coordinate has a column of its own.",
    ),
    "a pattern that leaves nothing": (
        {"--points": "pers*"},
        USAGE,
        "--points names no column that is left for a coordinate; got 'pers*'.",
    ),
    "more columns than sides": (
        {"--points": "age,height"},
        USAGE,
        "--points names 2 columns (age, height) and the domain has 1 side: one for each. Nothing was charged.",
    ),
    "fewer columns than sides": (
        {"--domain": "0,1;0,1"},
        USAGE,
        "--points names 1 column (age) and the domain has 2 sides: one for each. Nothing was charged.",
    ),
    "a domain of words": (
        {"--domain": "a,b"},
        USAGE,
        "--domain takes 2 numbers separated by commas, e.g. --domain 0,1; got 'a,b'.",
    ),
    "a domain turned round": (
        {"--domain": "100,0"},
        USAGE,
        "--domain takes two finite ends, the lower one first, e.g. --domain 0,100; got '100,0'.",
    ),
    "edges of words": ({"--domain": None, "--edges": "a,b"}, USAGE, EDGES + "'a,b'."),
    "steps that do not fit": ({"--domain": None, "--edges": "0:10:3"}, USAGE, EDGES + "'0:10:3'."),
    "steps backwards": ({"--domain": None, "--edges": "10:0"}, USAGE, EDGES + "'10:0'."),
    "steps of nothing": ({"--domain": None, "--edges": "0:10:nan"}, USAGE, EDGES + "'0:10:nan'."),
    "too many steps": ({"--domain": None, "--edges": "0:100:0.01"}, USAGE, EDGES + "'0:100:0.01'."),
    "a stretch of four": ({"--domain": None, "--edges": "0:10:1:1"}, USAGE, EDGES + "'0:10:1:1'."),
    "edges that fall": (
        {"--domain": None, "--edges": "0,5,1"},
        USAGE,
        "--edges are increasing finite numbers with both ends of the domain, e.g. [0, 1, 5, 10], one such list for "
        "each side of a box, with at most 4096 cells in all, got [[0.0, 5.0, 1.0]].",
    ),
    "a kernel without a mechanism": (
        {"--kernel": "gaussian,0.1"},
        USAGE,
        "--kernel is for --mechanism gp, iclp-qr, frl or bernstein; 'auto' does not use it. Leave it out.",
    ),
    "a bandwidth without a mechanism": (
        {"--bandwidth": "1"},
        USAGE,
        "--bandwidth is for --mechanism gp, sobolev, iclp-qr, frl or bernstein; 'auto' does not use it. Leave it "
        "out, or smooth after the noise, free: release_.kernel(h).",
    ),
    "a bandwidth of words": (
        {"--mechanism": "gp", "--bandwidth": "narrow"},
        USAGE,
        "--bandwidth takes numbers separated by commas, e.g. --bandwidth 0,1; got 'narrow'.",
    ),
    "a price without a bandwidth": (
        {"--bandwidth-epsilon": 1},
        USAGE,
        "--bandwidth-epsilon goes with --bandwidth private-iqr. Leave it out.",
    ),
    "an unknown mechanism": (
        {"--mechanism": "cauchy"},
        USAGE,
        "Invalid value for '--mechanism': 'cauchy' is not one of 'auto', 'gaussian', 'k-norm', 'laplace', 'gp', "
        "'sobolev', 'iclp-qr', 'frl', 'bernstein'." + HELP,
    ),
    "noise that cannot be pure": (
        {"--mechanism": "gaussian", "--delta": 0},
        PRIVACY,
        "gaussian noise cannot meet (epsilon = 1, delta = 0) at any scale: it needs delta > 0. For delta = 0 use "
        "--mechanism k-norm or laplace.",
    ),
    "edges with a paper": (
        {"--domain": None, "--edges": "0,100", "--mechanism": "frl"},
        USAGE,
        "With edges the density is constant between them: leave size out, and mechanism at 'auto', 'gaussian' or "
        "'laplace'.",
    ),
    "a guess that is not needed": (
        {"--planned-n": 5},
        USAGE,
        "--planned-n is for --neighbours add-or-remove-one; under replace-one the number is public.",
    ),
    "a guess that is missing": (
        {"--neighbours": "add-or-remove-one"},
        USAGE,
        "Under add-or-remove-one the number of units is private and may not be read. State a public guess, e.g. "
        "--planned-n 5000.",
    ),
    "a picture of another kind": (
        {"--plot": "a.gif"},
        USAGE,
        "--plot writes .png, .pdf, .svg, got 'a.gif'. Nothing was charged.",
    ),
    "the data as the release": (
        {"--out": "people.csv"},
        USAGE,
        "The data, the release and the picture must be different files. Name another with --out or --plot. Nothing was "
        "charged.",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gives_one_line_and_leaves_nothing(mistake: str, run: Run, people: Path, tmp_path: Path) -> None:
    changed, code, message = MISTAKES[mistake]
    asked = [part for pair in (GOOD | changed).items() if pair[1] is not None for part in pair]
    done = run("release", "density", people.name, *asked)
    assert (done.code, done.out, done.err) == (code, "", f"Error: {message}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_noise_that_hides_everything_can_be_asked_for(run: Run, people: Path) -> None:
    assert release(run, people, "--epsilon", 1e-6, "--delta", 0, "--force").code == 0


def test_a_picture_of_three_coordinates_is_refused_before_the_charge(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "xyz.csv"
    file.write_text("x,y,z\n" + "0.1,0.2,0.3\n" * 200)
    asked = ("--points", "x,y,z", "--unit", "row", "--domain", "0,1;0,1;0,1", *SPENT)
    done = run("release", "density", file, *asked, "--plot", "a.png")
    text = "--plot draws densities of one or two coordinates, and there are 3. Leave it out. Nothing was charged."
    assert (done.code, done.err) == (USAGE, f"Error: {text}\n")
    assert run("release", "density", file, *asked, "--force").code == 0


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        ("", DATA, "'broken.csv' is empty: its first line must name the columns."),
        (
            "age,age,person\n1,2,3\n",
            DATA,
            "Two columns of 'broken.csv' have one name, or its first line is a record. The first line must name "
            "the columns, each by another name.",
        ),
        (
            "1,2\n3,4\n",
            DATA,
            "No column 'person' for the privacy unit. Columns are: not shown, "
            "since the first line may be a record: give the file a line of names.",
        ),
    ],
    ids=["nothing", "a column twice", "no header"],
)
def test_a_broken_file_gives_one_line(content: str, code: int, message: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "broken.csv"
    file.write_text(content)
    done = release(run, file)
    assert (done.code, done.out, done.err) == (code, "", f"Error: {message}\n")


def test_a_file_without_rows_has_no_density(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "broken.csv"
    file.write_text("person,age\n")
    text = "No row has an identifier: whose curves or points they are is unknown. Nothing was charged."
    for more in ((), ("--force",)):
        done = release(run, file, *more)
        assert (done.code, done.out, done.err) == (DATA, "", f"Error: {text}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["broken.csv"]


def test_files_that_are_not_there_or_no_tables_are_named(run: Run, tmp_path: Path) -> None:
    done = release(run, tmp_path / "none.csv")
    assert (done.code, done.err) == (DATA, "Error: No file 'none.csv'. Check the path.\n")
    (tmp_path / "broken.parquet").write_text("no parquet")
    done = release(run, tmp_path / "broken.parquet")
    assert (done.code, done.err) == (DATA, "Error: 'broken.parquet' is not a Parquet file that can be read.\n")


def test_a_parquet_column_of_dates_is_no_coordinate(run: Run, people: Path, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as pq

    table = arrow_csv.read_csv(people)
    born = pa.array([0] * table.num_rows, pa.date32())
    pq.write_table(table.append_column("born", born), tmp_path / "people.parquet")
    asked = ("--unit", "person", "--domain", "0,100;0,1", *SPENT)
    done = run("release", "density", "people.parquet", "--points", "age,born", *asked)
    assert (done.code, done.out) == (DATA, "")
    assert done.err == "Error: Column 'born' holds date32[day], not numbers. Name columns of numbers.\n"


def test_a_column_called_row_must_be_renamed(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("row,age\n1,2\n")
    done = run("release", "density", file, "--points", "age", "--unit", "row", "--domain", "0,100", *SPENT)
    text = "--unit row says that every row is another person, but there is a column 'row' too. Rename the column."
    assert (done.code, done.err) == (USAGE, f"Error: {text}\n")


ROWS: dict[str, str] = {
    "a word": "p7,hello,170,north",
    "a secret looking like code": "p7,{0.__class__}%s,170,north",
    "a short row": "p7",
    "a long row": "p7,20,170,north,9,9,9",
    "no identifier": ",20,170,north",
    "infinity": "p7,inf,170,north",
    "the largest number": "p7,1e308,170,north",
    "beyond the largest number": "p7,1e999,170,north",
    "no values": "p7,,,",
    "not a number": "p7,nan,nan,north",
    "a very long cell": f"p7,{'9' * 5000},170,north",
    "letters of another script": "p7,零,170,north",
}


def shape(text: str) -> str:
    """The text with every number replaced."""
    return re.sub(r"\d+(\.\d+)?(e[-+]?\d+)?", "#", text)


@pytest.mark.parametrize("unit", ["person", "row"])
@pytest.mark.parametrize("mistake", ROWS)
def test_a_mistake_in_a_row_cannot_be_told_from_outside(mistake: str, unit: str, run: Run, people: Path) -> None:
    asked = ("--points", "age", "--unit", unit, "--domain", "0,100", *SPENT, "--overwrite")
    clean = run("release", "density", people, *asked)
    lines = people.read_text().splitlines()
    lines[8] = ROWS[mistake]
    people.write_text("\n".join(lines) + "\n", encoding="utf-8")
    other = run("release", "density", people, *asked)
    assert clean.code == other.code == 0
    assert clean.err == other.err == ""
    assert shape(clean.out) == shape(other.out)


@pytest.mark.parametrize("cell", ["", "many", "-5", "1e999", "nan", "2.7"])
def test_a_count_that_is_none_changes_only_the_number(cell: str, run: Run, deaths: Path) -> None:
    asked = ("--points", "age", "--counts", "deaths", "--edges", "0:30", *SPENT, "--overwrite")
    asked = (*asked, *COUNTED)
    clean = run("release", "density", deaths, *asked)
    deaths.write_text(deaths.read_text().replace("0.5,10\n", f"0.5,{cell}\n", 1))
    other = run("release", "density", deaths, *asked)
    assert (clean.code, clean.err) == (other.code, other.err) == (0, "")
    assert shape(clean.out) == shape(other.out)


def test_counts_that_cannot_be_read_say_nothing_about_them(
    run: Run, deaths: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpfda.records.csv_files import CsvSource

    def broken(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError("0.5 has 10")

    monkeypatch.setattr(CsvSource, "batches", broken)
    done = run("release", "density", deaths, "--points", "age", "--counts", "deaths", "--edges", "0:30", *SPENT)
    text = "The column of counts could not be read. Check that the file can be read. Nothing was charged."
    assert (done.code, done.out, done.err) == (DATA, "", f"Error: {text}\n")


def test_a_failure_after_reading_says_nothing_about_the_records(
    run: Run, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpfda.records.csv_files import CsvSource

    def broken(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError("p7 has 20.5")

    monkeypatch.setattr(CsvSource, "batches", broken)
    done = release(run, people)
    assert (done.code, done.out) == (DATA, "")
    assert done.err == (
        "Error: The release failed after records were read. Nothing more can be said without saying something about "
        "them; the charge stays, and its key gives nothing any more: take a new one.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_show_adds_mean_quartiles_and_error_to_the_card(run: Run, density: DensityRelease, box: DensityRelease) -> None:
    done = run("show", "density.json")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(density.certificate.text() + "\n\n  Of the released density (smoothing: auto): mean ")
    quartiles = ", ".join(f"{each:.4g}" for each in density.quantile([0.25, 0.5, 0.75]))
    said = " ".join(done.out.split())
    assert f"quartiles {quartiles}. It is off by about {density.estimated_error:.2g} root mean square" in said
    assert " where a uniform density is 0.01. The noise before smoothing, " in said
    assert re.search(r" times as large as the released density around a uniform one, \S+\.$", said)
    data = json.loads(run("show", "density.json", "--json").out)
    assert data["mean"] == [float(density.mean())]
    assert data["quartiles"] == density.quantile([0.25, 0.5, 0.75]).tolist()
    of_box = json.loads(run("show", "box.json", "--json").out)
    assert of_box["mean"] == box.mean().tolist()
    assert of_box["deviation"] == pytest.approx(np.sqrt(box.variance()))
    assert "quartiles" not in of_box


def test_evaluate_prints_density_distribution_and_band(run: Run, density: DensityRelease) -> None:
    done = run("evaluate", "density.json", "--at", "20,40", "--cdf", "--level", 0.9)
    assert done.code == 0
    assert done.err.startswith("Note: The noise band stands around the values before smoothing (")
    header, *rows = [line.split("\t") for line in done.out.splitlines()]
    assert header == ["x", "density", "distribution", "lower", "upper"]
    at, band = [20.0, 40.0], density.band(0.9, [20.0, 40.0])
    exact = [at, density(at), density.distribution(at), band.lower, band.upper]
    np.testing.assert_allclose(np.array(rows, dtype=float).T, exact, rtol=1e-8)
    plain = json.loads(run("evaluate", "density.json", "--at", "20,40", "--json").out)
    assert plain == {"x": at, "density": density(at).tolist()}


def test_evaluate_gives_quantiles(run: Run, density: DensityRelease) -> None:
    done = run("evaluate", "density.json", "--quantiles", "0.1,0.5", "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == {"probability": [0.1, 0.5], "quantile": density.quantile([0.1, 0.5]).tolist()}


def test_evaluate_takes_points_of_a_box(run: Run, box: DensityRelease) -> None:
    done = run("evaluate", "box.json", "--at", "160:20,180:40", "--cdf", "--level", 0.95, "--json")
    assert done.code == 0
    assert done.err.startswith("Note: The noise band stands around the values before smoothing (")
    found, at = json.loads(done.out), [[160.0, 20.0], [180.0, 40.0]]
    assert (found["x1"], found["x2"]) == ([160.0, 180.0], [20.0, 40.0])
    assert found["density"] == box(at).tolist()
    assert found["distribution"] == box.distribution(at).tolist()
    assert found["upper"] == box.band(0.95, at).upper.tolist()


def test_the_band_of_a_kernel_density_on_a_box_is_left_to_those_who_wait(run: Run, people: Path) -> None:
    asked = ("--points", "age,height", "--unit", "person", "--domain", "0,100;120,220", *SPENT, "--mechanism", "gp")
    assert run("release", "density", people.name, *asked, "--bandwidth", "20,20", "--out", "k.json", FORCE).code == 0
    done = run("evaluate", "k.json", "--at", "20:170", "--level", 0.9)
    text = (
        "The law of the noise band of a kernel density on a box takes minutes: leave --level out, or take "
        "dpfda.load(...).band(level, points) in Python."
    )
    assert (done.code, done.out, done.err) == (USAGE, "", f"Error: {text}\n")
    assert run("evaluate", "k.json", "--at", "20:170", "--cdf").code == 0


def test_an_infinite_band_is_null_in_json_and_explained(run: Run, density: DensityRelease, tmp_path: Path) -> None:
    from dataclasses import replace

    from dpfda.mechanisms.noise import Noise
    from dpfda.releases import Count

    replace(density, count=Count(2.0, Noise("gaussian", (1,), (2.0,)))).save(tmp_path / "few.json")
    done = run("evaluate", "few.json", "--at", "20", "--level", 0.95, "--json")
    assert done.code == 0
    assert json.loads(done.out, parse_constant=pytest.fail)["lower"] == [None]
    assert done.err == "Note: The noise band is infinite: the noisy number of units could be zero.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("density.json",), "Missing option '--at'. Try 'dpfda evaluate --help'."),
        (
            ("density.json", "--at", "200"),
            "Points must lie in the domain [0, 100], got points from 200 to 200. Leave these points out, or state a "
            "wider domain from the start.",
        ),
        (("density.json", "--at", "a"), "--at takes points, separated by commas, e.g. --at 0,1; got 'a'."),
        (("density.json", "--at", "1:2"), "--at takes points, separated by commas, e.g. --at 0,1; got '1:2'."),
        (
            ("box.json", "--at", "160,20"),
            "--at takes points of 2 coordinates, with colons between them, separated by commas, e.g. --at 0:0,1:1; got "
            "'160,20'.",
        ),
        (
            ("density.json", "--at", "1", "--derivative", "1"),
            "A density has no derivatives here: leave --derivative out.",
        ),
        (
            ("density.json", "--at", "1", "--covariates", "1"),
            "--covariates is for a regression, which predicts a curve for them: leave it out.",
        ),
        (
            ("density.json", "--quantiles", "0.5", "--at", "1"),
            "--quantiles stands alone: leave --at, --level and --cdf out.",
        ),
        (
            ("density.json", "--quantiles", "half"),
            "--quantiles takes numbers separated by commas, e.g. --quantiles 0,1; got 'half'.",
        ),
        (
            ("density.json", "--quantiles", "1.5"),
            "Quantiles are for probabilities from 0 to 1, got (1.5,).",
        ),
        (
            ("box.json", "--quantiles", "0.5"),
            "Quantiles belong to a line; this density has 2 sides. Take marginal(axis).quantile().",
        ),
    ],
)
@pytest.mark.usefixtures("density", "box")
def test_a_mistake_in_evaluate_gives_one_line(arguments: tuple[str, ...], message: str, run: Run) -> None:
    done = run("evaluate", *arguments)
    assert (done.code, done.out, done.err) == (USAGE, "", f"Error: {message}\n")


def test_quantiles_are_for_densities(run: Run, csv: Path) -> None:
    asked = ("--unit", "ID", "--values", "t*", "--bound", 1, *SPENT, "--out", "mean.json")
    assert run("release", "mean", csv, *asked).code == 0
    for more in (("--quantiles", "0.5"), ("--at", "0.5", "--cdf")):
        done = run("evaluate", "mean.json", *more)
        assert (done.code, done.err) == (USAGE, "Error: --cdf and --quantiles are for a density: leave them out.\n")


def test_synthetic_records_follow_the_released_density(run: Run, density: DensityRelease, tmp_path: Path) -> None:
    """Kolmogorov's test at level 1e-6 with a seed that never fails by chance."""
    done = run("sample", "density.json", "--size", 20000, "--seed", 1)
    assert (done.code, done.out, done.err) == (0, "Written: density-sample.csv (20000 rows)\n", "")
    head, *rows = (tmp_path / "density-sample.csv").read_text().splitlines()
    assert head == "x"
    drawn = np.sort(np.array(rows, dtype=float))
    np.testing.assert_array_equal(drawn, np.sort(density.sample(20000, seed=1)))
    steps = np.arange(20001) / 20000
    below = density.distribution(drawn)
    assert max((steps[1:] - below).max(), (below - steps[:-1]).max()) < 2.7 / np.sqrt(20000)
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.usefixtures("box")
def test_synthetic_records_can_be_named_and_written_as_parquet(run: Run, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    done = run("sample", "box.json", "--size", 50, "--names", "height, age", "--out", "made.parquet", "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == {"written": ["made.parquet"], "rows": 50}
    table = pq.read_table(tmp_path / "made.parquet")
    assert (table.column_names, table.num_rows) == (["height", "age"], 50)
    assert run("sample", "box.json", "--size", 2).code == 0
    assert (tmp_path / "box-sample.csv").read_text().splitlines()[0] == "x1,x2"


def test_other_seeds_give_other_records_and_the_same_seed_the_same(run: Run, density: DensityRelease) -> None:
    texts = []
    for seed in (1, 1, 2):
        assert run("sample", "density.json", "--size", 5, "--seed", seed, "--overwrite").code == 0
        texts.append(Path("density-sample.csv").read_text())
    assert texts[0] == texts[1] != texts[2]
    assert density.certificate.private


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("density.json",), USAGE, "Missing option '--size'. Try 'dpfda sample --help'."),
        (
            ("density.json", "--size", 0),
            USAGE,
            "Invalid value for '--size': 0 is not in the range 1<=x<=10000000. Try 'dpfda sample --help'.",
        ),
        (("density.json", "--size", 5, "--names", "a,b"), USAGE, "--names takes one name; got 'a,b'."),
        (
            ("box.json", "--size", 5, "--names", "a,a"),
            USAGE,
            "--names takes 2 different names, separated by commas; got 'a,a'.",
        ),
        (("density.json", "--size", 5, "--out", "a.xlsx"), USAGE, "--out writes .csv or .parquet, got 'a.xlsx'."),
        (
            ("density.csv", "--size", 5, "--out", "density.csv"),
            DATA,
            "No release file 'density.csv'. Check the path.",
        ),
        (
            ("density.json", "--size", 5, "--out", "people.csv"),
            DATA,
            "'people.csv' exists. Say --overwrite, or name another file.",
        ),
    ],
)
@pytest.mark.usefixtures("density", "box")
def test_a_mistake_in_sample_gives_one_line(arguments: tuple[object, ...], code: int, message: str, run: Run) -> None:
    done = run("sample", *arguments)
    assert (done.code, done.out, done.err) == (code, "", f"Error: {message}\n")


def test_records_are_drawn_from_densities_only(run: Run, csv: Path) -> None:
    asked = ("--unit", "ID", "--values", "t*", "--bound", 1, *SPENT, "--out", "mean.json")
    assert run("release", "mean", csv, *asked).code == 0
    done = run("sample", "mean.json", "--size", 5)
    text = "Records are drawn from a density, and 'mean.json' holds a mean function."
    assert (done.code, done.err) == (USAGE, f"Error: {text}\n")


def test_what_is_read_is_never_written_over(run: Run, density: DensityRelease, tmp_path: Path) -> None:
    density.save(tmp_path / "density.csv")
    done = run("sample", "density.csv", "--size", 5, "--out", "./density.csv", "--overwrite")
    text = "What is read and what is written must be different files. Name another with --out."
    assert (done.code, done.err) == (USAGE, f"Error: {text}\n")
    dpfda.load(tmp_path / "density.csv")


@pytest.mark.usefixtures("density")
def test_a_table_that_cannot_be_written_leaves_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    for name in ("a.csv", "a.parquet"):
        done = run("sample", "density.json", "--size", 5, "--out", name)
        text = f"Error: Cannot write '{name}': No space left on device. Name another file.\n"
        assert (done.code, done.out, done.err) == (DATA, "", text)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["density.json", "people.csv"]


def test_a_plan_says_what_would_be_done_and_ranks_the_noise(run: Run) -> None:
    done = run("plan", "density", "--n", 2000, "--domain", "0,1", *SPENT)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Plan for a density of 2000 units at (epsilon = 1, delta = 1e-06); no values read")
    assert "Expected error for the reference density, with sampling, noise and smoothing" in done.out
    data = json.loads(run("plan", "density", "--n", 2000, "--domain", "0,1", *SPENT, "--json").out)
    est = dpfda.DensityFunction(epsilon=1.0, delta=1e-6, domain=(0, 1), force=True)
    assert data["noise_rms"] == est.plan(2000).noise_rms
    assert {row["mechanism"] for row in data["table"]} == set(typed_for("density")) - {"auto", "k-norm"}
    assert [row["note"] for row in data["table"] if row["mechanism"] == data["mechanism"]] == ["chosen"]


def test_a_plan_refuses_what_a_release_would(run: Run) -> None:
    done = run("plan", "density", "--n", 2000, *SPENT)
    assert (done.code, done.out, done.err) == (USAGE, "", f"Error: {DOMAIN}\n")

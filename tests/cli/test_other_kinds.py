"""Covariances, components and regressions on the command line: released, planned, evaluated, refused."""

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
from dpfda.statistics.components.release import ComponentsRelease
from dpfda.statistics.covariance.release import CovarianceRelease
from dpfda.statistics.regression.release import RegressionRelease

Run = Callable[..., Any]
PUBLIC = ("--epsilon", 1, "--delta", "1e-6", "--bound", 1)
ASKED = ("--unit", "person", "--values", "t[0-9]*", *PUBLIC)
COVARIATES = ("--covariates", "age,treated", "--covariate-limits", "20:80,0:1")
EXTRA: dict[str, tuple[object, ...]] = {"covariance": (), "components": ("--k", 2), "regression": COVARIATES}
MADE = {"covariance": CovarianceRelease, "components": ComponentsRelease, "regression": RegressionRelease}
PLANNED: dict[str, tuple[object, ...]] = {
    "covariance": (),
    "components": ("--k", 2),
    "regression": ("--covariate-limits", "20:80,0:1"),
}


def release(kind: str, run: Run, file: Path, *more: object) -> Any:
    return run("release", kind, file.name, *EXTRA[kind], *ASKED, *more)


@pytest.mark.parametrize("kind", EXTRA)
def test_a_release_writes_its_file_and_prints_its_card(kind: str, run: Run, patients: Path, tmp_path: Path) -> None:
    done = release(kind, run, patients)
    assert (done.code, done.err) == (0, "")
    made = dpfda.load(tmp_path / f"patients-{kind}.json")
    assert type(made) is MADE[kind]
    assert done.out == f"{made.certificate.text()}\n\nWritten: patients-{kind}.json\n{unrecorded('patients')}\n"
    assert (made.certificate.unit, made.certificate.n, made.certificate.dataset) == ("person", 2001.0, "patients")
    assert made.certificate.private
    shown = run("show", f"patients-{kind}.json").out
    assert shown.startswith(made.certificate.text() + "\n")
    assert ("The noise before smoothing, " in shown) is (kind != "components")


@pytest.mark.parametrize("kind", EXTRA)
def test_a_release_can_be_named_drawn_and_printed_as_json(kind: str, run: Run, patients: Path, tmp_path: Path) -> None:
    done = release(kind, run, patients, "--out", "a.json", "--plot", "a.png", "--dataset", "trial", "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == dpfda.load(tmp_path / "a.json").certificate.to_dict()
    assert json.loads(done.out)["dataset"] == "trial"
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    again = release(kind, run, patients, "--out", "a.json")
    assert (again.code, again.out) == (5, "")
    assert again.err == "Error: 'a.json' exists. Say --overwrite, or name another file. Nothing was charged.\n"
    assert release(kind, run, patients, "--out", "a.json", "--overwrite").code == 0


@pytest.mark.parametrize("kind", EXTRA)
def test_a_dry_run_reads_no_values_and_writes_nothing(
    kind: str, run: Run, patients: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpfda.records.csv_files import CsvSource

    def read(*arguments: object, **options: object) -> None:
        raise AssertionError("values were read")

    monkeypatch.setattr(CsvSource, "batches", read)
    done = release(kind, run, patients, "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert "no values read, nothing charged" in done.out.replace("\n", " ")
    assert "one person, replace-one" in done.out
    assert json.loads(release(kind, run, patients, "--dry-run", "--json").out)["n"] == 2001
    assert [path.name for path in tmp_path.iterdir()] == ["patients.csv"]


@pytest.mark.parametrize("kind", EXTRA)
def test_the_number_of_people_can_be_private(kind: str, run: Run, patients: Path, tmp_path: Path) -> None:
    counted = ("--neighbours", "add-or-remove-one", "--planned-n", 2000)
    done = release(kind, run, patients, *counted)
    assert (done.code, done.err) == (0, "")
    card = dpfda.load(tmp_path / f"patients-{kind}.json").certificate
    assert card.neighbours == "add-or-remove-one"
    assert card.n != 2000.0


def test_a_covariance_is_that_of_the_file(run: Run, patients: Path, tmp_path: Path) -> None:
    """At epsilon 1000 noise is small: within a tenth of the largest entry of the covariance of people's averages."""
    assert release("covariance", run, patients, "--epsilon", 1000).code == 0
    made = dpfda.load(tmp_path / "patients-covariance.json")
    table = np.loadtxt(patients, delimiter=",", skiprows=1, usecols=range(3, 15))
    people = (table[:2000] + table[2000:]) / 2
    exact = np.cov(people.T, bias=True)
    t = np.linspace(0, 1, 12)
    assert np.abs(made(t, t) - exact).max() < 0.1 * exact.max()
    assert np.abs(made.mean(t) - people.mean(axis=0)).max() < 0.05


def test_components_through_a_covariance_and_by_the_exponential_mechanism(
    run: Run, patients: Path, tmp_path: Path
) -> None:
    drawn = ("--delta", 0, "--mechanism", "exponential")
    assert release("components", run, patients, *drawn, "--out", "plain.json").code == 0
    assert release("components", run, patients, *drawn, "--explained-variance", 0.2, "--out", "paid.json").code == 0
    assert release("components", run, patients, "--out", "covariance.json").code == 0
    plain, paid, through = (dpfda.load(tmp_path / f"{name}.json") for name in ("plain", "paid", "covariance"))
    assert plain.variances is None
    assert (paid.variances is not None, paid.total) == (True, None)
    assert paid.certificate.epsilon == 1.0
    assert (through.explained_ratio > 0).all()
    for made in (plain, paid, through):
        np.testing.assert_allclose(made.frame.T @ made.frame, np.eye(2), atol=1e-9)


def test_a_mean_release_can_be_the_centre(run: Run, patients: Path, tmp_path: Path) -> None:
    assert run("release", "mean", patients.name, *ASKED).code == 0
    centred = ("--centre", "patients-mean.json")
    assert release("covariance", run, patients, *centred, "--mean", "centre", "--out", "c.json").code == 0
    made, mean = dpfda.load(tmp_path / "c.json"), dpfda.load(tmp_path / "patients-mean.json")
    t = np.linspace(0, 1, 12)
    assert made.lead == 0
    np.testing.assert_allclose(made.mean(t), mean(t), atol=0.05)
    assert release("regression", run, patients, *centred).code == 0
    refused = release("components", run, patients, "--centre", "c.json")
    text = "--centre takes the file of a mean, and 'c.json' holds a second moment around the centre."
    assert (refused.code, refused.out, refused.err) == (2, "", f"Error: {text}\n")


def test_a_regression_finds_the_coefficients_of_the_file(run: Run, patients: Path, tmp_path: Path) -> None:
    """At epsilon 1000 noise is small: coefficients within a tenth of what the curves were made with."""
    assert release("regression", run, patients, "--epsilon", 1000).code == 0
    made = dpfda.load(tmp_path / "patients-regression.json")
    assert made.names == ("intercept", "age", "treated")
    t = np.linspace(0, 1, 5)
    np.testing.assert_allclose(made.coefficient("treated")(t), 0.2 * (1 - t), atol=0.02)
    np.testing.assert_allclose(60 * made.coefficient("age")(t), 0.3 * t, atol=0.03)


def test_a_regression_reads_parquet_and_cells_that_are_no_numbers(run: Run, patients: Path, tmp_path: Path) -> None:
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as pq

    pq.write_table(arrow_csv.read_csv(patients), tmp_path / "patients.parquet")
    assert release("regression", run, tmp_path / "patients.parquet").code == 0
    broken = patients.read_text().replace("p7,", "p7,x", 1)
    patients.write_text(broken)
    done = release("regression", run, patients, "--overwrite")
    assert (done.code, done.err) == (0, "")


def test_covariates_that_cannot_be_read_say_nothing_about_them(
    run: Run, patients: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpfda.records.csv_files import CsvSource

    def secret(*arguments: object, **options: object) -> None:
        raise RuntimeError("p7 is 44")

    monkeypatch.setattr(CsvSource, "batches", secret)
    done = release("regression", run, patients)
    text = "The covariates could not be read. Check that the file can be read. Nothing was charged."
    assert (done.code, done.out, done.err) == (5, "", f"Error: {text}\n")


def test_covariates_may_have_a_bound_and_no_intercept(run: Run, patients: Path, tmp_path: Path) -> None:
    asked = ("--covariates", "treated", "--covariate-bound", 1, "--no-intercept", "--ridge", 0.01)
    assert run("release", "regression", patients.name, *asked, *ASKED).code == 0
    made = dpfda.load(tmp_path / "patients-regression.json")
    assert (made.names, made.ridge) == (("treated",), 0.01)


@pytest.mark.parametrize("kind", PLANNED)
def test_a_plan_says_the_error_of_every_mechanism(kind: str, run: Run) -> None:
    done = run("plan", kind, "--n", 5000, *PLANNED[kind], *PUBLIC)
    assert (done.code, done.err) == (0, "")
    assert "no values read, nothing charged" in done.out.replace("\n", " ")
    (chosen,) = [line for line in done.out.splitlines() if line.endswith("chosen")]
    data = json.loads(run("plan", kind, "--n", 5000, *PLANNED[kind], *PUBLIC, "--json").out)
    assert chosen.split()[0] == data["mechanism"]
    errors = [row["predicted"] for row in data["table"] if row["predicted"] is not None]
    assert errors == sorted(errors)
    assert len(errors) >= 4


@pytest.mark.parametrize("kind", PLANNED)
def test_a_plan_says_why_a_mechanism_cannot(kind: str, run: Run) -> None:
    done = run("plan", kind, "--n", 5000, *PLANNED[kind], "--epsilon", 1, "--delta", 0, "--limits", "0,1")
    assert done.code == 0
    said = " ".join(done.out.split())
    assert "gaussian noise cannot meet (epsilon = 1, delta = 0) at any scale" in said.replace(
        "gaussian, gp:", "gaussian:"
    )
    pure = "k-norm or laplace" if kind == "regression" else "wishart or k-norm"
    assert f"For delta = 0 use --mechanism {pure}." in said


def test_a_plan_of_a_regression_with_a_bound_counts_its_covariates(run: Run) -> None:
    asked = ("--n", 5000, "--covariate-bound", 3, *PUBLIC)
    assert run("plan", "regression", *asked, "--covariate-count", 2).code == 0
    text = (
        "--covariate-count goes with --covariate-bound, where neither ranges nor --covariates say how many there are."
    )
    for wrong in (asked, ("--n", 5000, "--covariate-limits", "0:1", "--covariate-count", 1, *PUBLIC)):
        done = run("plan", "regression", *wrong)
        assert (done.code, done.out, done.err) == (2, "", f"Error: {text}\n")


def test_evaluate_gives_a_covariance_at_a_grid_or_at_pairs(run: Run, patients: Path, tmp_path: Path) -> None:
    assert release("covariance", run, patients).code == 0
    made = dpfda.load(tmp_path / "patients-covariance.json")
    done = run("evaluate", "patients-covariance.json", "--at", "0,0.5,1")
    header, *rows = [line.split("\t") for line in done.out.splitlines()]
    assert header == ["s", "t", "value", "noise_before_smoothing"]
    s, t, value, noise = np.array(rows, dtype=float).T
    np.testing.assert_array_equal(s, [0, 0, 0, 0.5, 0.5, 0.5, 1, 1, 1])
    np.testing.assert_array_equal(t, [0, 0.5, 1] * 3)
    np.testing.assert_allclose(value.reshape(3, 3), made([0, 0.5, 1], [0, 0.5, 1]), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(noise.reshape(3, 3), made.noise_deviation([0, 0.5, 1], [0, 0.5, 1]), rtol=1e-8)
    pairs = json.loads(run("evaluate", "patients-covariance.json", "--at", "0:0.5,1:0.25", "--json").out)
    assert (pairs["s"], pairs["t"]) == ([0.0, 1.0], [0.5, 0.25])
    assert pairs["value"] == pytest.approx([made(0.0, 0.5), made(1.0, 0.25)], rel=1e-9)


def test_evaluate_gives_all_components_and_their_derivatives(run: Run, patients: Path, tmp_path: Path) -> None:
    assert release("components", run, patients).code == 0
    made = dpfda.load(tmp_path / "patients-components.json")
    for order in (0, 1):
        done = run("evaluate", "patients-components.json", "--at", "0,1", "--derivative", order, "--json")
        assert json.loads(done.out) == {
            "t": [0.0, 1.0],
            **{f"component_{i + 1}": made.components[i].derivative(order)([0.0, 1.0]).tolist() for i in range(2)},
            "explained_variance": made.variances.tolist(),
            "explained_ratio": made.explained_ratio.tolist(),
            "total_variance": made.total,
            "noise_in_variance": made.deviation,
        }


def test_evaluate_gives_coefficients_with_their_bands(run: Run, patients: Path, tmp_path: Path) -> None:
    assert release("regression", run, patients).code == 0
    made = dpfda.load(tmp_path / "patients-regression.json")
    found = json.loads(run("evaluate", "patients-regression.json", "--at", "0,1", "--level", 0.9, "--json").out)
    assert found["coefficient"] == ["intercept", "intercept", "age", "age", "treated", "treated"]
    assert found["value"][2:4] == made.coefficient("age")([0.0, 1.0]).tolist()
    assert found["upper"][4:] == made.band("treated", 0.9, [0.0, 1.0]).upper.tolist()
    table = run("evaluate", "patients-regression.json", "--at", "0,1").out.splitlines()
    assert table[0] == "coefficient\tt\tvalue"
    assert table[3].startswith("age\t0\t")


@pytest.mark.parametrize("kind", EXTRA)
def test_a_report_is_written_for_every_kind(kind: str, run: Run, patients: Path, tmp_path: Path) -> None:
    assert release(kind, run, patients).code == 0
    done = run("report", f"patients-{kind}.json")
    assert (done.code, done.out) == (0, f"Written: patients-{kind}.html\n")
    assert "<svg" in (tmp_path / f"patients-{kind}.html").read_text()


PAIRS = "--at takes points, e.g. --at 0,1 for all pairs of them, or pairs, e.g. --at 0:0.5,0:1; got {!r}."
NEITHER = (
    "A covariance function has neither a noise band nor derivatives here: leave --level and --derivative out. The "
    "column noise_before_smoothing says how large the noise was."
)


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        ("covariance", ("--at", "0:1,2"), PAIRS.format("0:1,2")),
        ("covariance", ("--at", "0:x"), PAIRS.format("0:x")),
        ("covariance", ("--at", "0:1:1"), PAIRS.format("0:1:1")),
        ("covariance", ("--at", "0", "--level", 0.9), NEITHER),
        ("covariance", ("--at", "0", "--derivative", 1), NEITHER),
        ("components", ("--at", "0", "--level", 0.9), "Principal components have no noise band: leave --level out."),
        ("components", ("--at", "0:1"), "--at takes numbers separated by commas, e.g. --at 0,1; got '0:1'."),
        (
            "regression",
            ("--at", "0", "--level", 0.9, "--derivative", 1),
            "--level gives the noise band of the curve itself: leave --derivative out.",
        ),
    ],
)
def test_a_mistake_in_evaluate_gives_one_line(
    kind: str, arguments: tuple[object, ...], message: str, run: Run, patients: Path
) -> None:
    assert release(kind, run, patients).code == 0
    done = run("evaluate", f"patients-{kind}.json", *arguments)
    assert (done.code, done.out, done.err) == (2, "", f"Error: {message}\n")


BUY = (
    "Nothing was charged. Unknown? An epsilon of about 30 over the number of people buys one, e.g. 0.1 for 300. Spend "
    "a little: dpfda bounds patients.csv --unit person --values 't[0-9]*' --epsilon 0.1 --candidates LOW,HIGH."
)
NEEDS = "needs a bound known in advance, e.g. --bound 6, or the range of values, e.g. --limits 0,12. It may not be read"
RANGES = (
    "Covariates need public ranges known in advance, e.g. --covariate-limits 18:90,0:1, or else --covariate-bound 3, "
    "and not both. They may not be read from the data."
)
LIMITS = (
    "--covariate-limits takes one range LOW:HIGH, LOW below HIGH, for each covariate, separated by commas, e.g. "
    "18:90,0:1; got {!r}."
)
DIFFER = (
    "--covariates takes two or more different levels of a column, separated by |, e.g. 'age,sex=female|male'; got {!r}."
)
NAMED = "--covariates takes different names separated by commas, e.g. age,sex, none of them 'intercept'; got {!r}."
BOTH = (
    "Column {!r} cannot be a covariate and a value of the curves, or the privacy unit, at once. Name the value columns "
    "by another pattern."
)
COLUMNS = "Columns are: person, age, treated, t0, t1, t2, t3, t4, t5, t6, t7, t8, ... (15 in all)."


def regress(**changes: object) -> tuple[object, ...]:
    """The options of a regression, some of them changed, or left out where None."""
    options: dict[str, object] = {
        "unit": "person",
        "values": "t[0-9]*",
        "epsilon": 1,
        "delta": "1e-6",
        "bound": 1,
        "covariates": "age,treated",
        "covariate_limits": "20:80,0:1",
    }
    kept = {name: value for name, value in (options | changes).items() if value is not None}
    return tuple(part for name, value in kept.items() for part in (f"--{name.replace('_', '-')}", value))


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"covariate_limits": None}, 2, RANGES),
        ({"covariate_bound": 3}, 2, RANGES),
        (
            {"covariate_limits": "20:80"},
            2,
            "There are 2 covariates and 1 ranges in --covariate-limits: one range for each.",
        ),
        ({"covariate_limits": "20,80"}, 2, LIMITS.format("20,80")),
        ({"covariate_limits": "20:80,a:b"}, 2, LIMITS.format("20:80,a:b")),
        ({"covariate_limits": ""}, 2, LIMITS.format("")),
        ({"covariates": "age,age"}, 2, NAMED.format("age,age")),
        ({"covariates": "age,"}, 2, NAMED.format("age,")),
        ({"covariates": "age,intercept"}, 2, NAMED.format("age,intercept")),
        ({"covariates": "age,weight"}, 5, f"No column 'weight' for a covariate. {COLUMNS}"),
        ({"covariate_limits": "20:80,1:0"}, 2, LIMITS.format("20:80,1:0")),
        ({"covariate_limits": "20:80,0:inf"}, 2, LIMITS.format("20:80,0:inf")),
        ({"covariates": "age,treated=1"}, 2, DIFFER.format("treated=1")),
        ({"covariates": "age,treated=1|1"}, 2, DIFFER.format("treated=1|1")),
        ({"covariates": "age,treated=1|"}, 2, DIFFER.format("treated=1|")),
        (
            {"covariates": "age,treated=0|1"},
            2,
            "There are 1 covariates without levels and 2 ranges in --covariate-limits: one range for each.",
        ),
        ({"covariates": "age,treated=0|1", "covariate_limits": None}, 2, RANGES),
        ({"covariates": "age,person"}, 2, BOTH.format("person")),
        ({"values": "t0,treated"}, 2, BOTH.format("treated")),
        ({"values": "*"}, 2, BOTH.format("age")),
        (
            {"values": "t*"},
            5,
            "The pattern 't*' matches columns that are not alike; beside the others stand: treated. Take 't[0-9]*', or "
            "list the names, separated by commas; '*' takes all columns.",
        ),
        ({"bound": None}, 2, f"A regression of curves {NEEDS} from the data. {BUY}"),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, dict) else "",
)
def test_a_mistake_with_covariates_gives_one_line(
    changes: dict[str, object], code: int, message: str, run: Run, patients: Path, tmp_path: Path
) -> None:
    done = run("release", "regression", patients.name, *regress(**changes))
    assert (done.code, done.out, done.err) == (code, "", f"Error: {message}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["patients.csv"]


@pytest.mark.parametrize(
    ("kind", "what"), [("covariance", "A covariance function"), ("components", "A principal component")]
)
def test_a_missing_bound_is_named(kind: str, what: str, run: Run, patients: Path) -> None:
    budget = ("--epsilon", 1, "--delta", 0)
    done = run("release", kind, patients.name, "--unit", "person", "--values", "t[0-9]*", *budget)
    assert (done.code, done.out, done.err) == (2, "", f"Error: {what} {NEEDS} from the data. {BUY}\n")
    assert run("plan", kind, "--n", 100, *budget).err == f"Error: {what} {NEEDS} from the data.\n"


@pytest.mark.parametrize("kind", EXTRA)
@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (("--epsilon", 0), 2, "--epsilon must be a positive finite number, got 0.0. Most people choose 0.1 to 10."),
        (
            ("--delta", 0, "--mechanism", "gaussian"),
            3,
            "gaussian noise cannot meet (epsilon = 1, delta = 0) at any scale: it needs delta > 0. For delta = 0 use "
            "--mechanism {} or {}.",
        ),
        (
            ("--neighbours", "add-or-remove-one"),
            2,
            "Under add-or-remove-one the number of units is private and may not be read. State a public guess, e.g. "
            "--planned-n 5000.",
        ),
        (("--plot", "a.xyz"), 2, "--plot writes .png, .pdf, .svg, got 'a.xyz'. Nothing was charged."),
        (("--unit", "somebody"), 5, f"No column 'somebody' for the privacy unit. {COLUMNS}"),
    ],
    ids=["epsilon", "mechanism", "count", "picture", "unit"],
)
def test_a_mistake_gives_one_line_whatever_is_released(
    more: tuple[object, ...], code: int, message: str, kind: str, run: Run, patients: Path, tmp_path: Path
) -> None:
    done = release(kind, run, patients, *more)
    message = message.format(*(("k-norm", "laplace") if kind == "regression" else ("wishart", "k-norm")))
    assert (done.code, done.out, done.err) == (code, "", f"Error: {message}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["patients.csv"]


@pytest.mark.parametrize(("kind", "n"), [("covariance", 2), ("regression", 2)])
def test_noise_larger_than_the_bound_is_refused_unless_forced(kind: str, n: int, run: Run, patients: Path) -> None:
    patients.write_text("\n".join(patients.read_text().splitlines()[: n + 1]) + "\n")
    tiny = ("--epsilon", 0.01, "--delta", 0)
    done = release(kind, run, patients, *tiny)
    assert (done.code, done.out) == (2, "")
    assert re.fullmatch(
        rf"Error: With n = {n + 1} and epsilon 0\.01 the error expected.* (half|a quarter of) the bound\. "
        r"About n = \d+ would do, with any bound: the noise is in proportion to it\. Say --force to release it all "
        r"the same\. Nothing was charged\.\n",
        done.err,
    )
    assert release(kind, run, patients, *tiny, "--force").code == 0


def test_a_dry_run_refuses_a_header_that_is_not_even_unless_the_grid_is_stated(run: Run, tmp_path: Path) -> None:
    rows = "".join(f"p{i},1,2,3\n" for i in range(50))
    asked = ("--unit", "ID", "--values", "age_*", "--epsilon", 1, "--delta", 0, "--bound", 5, "--dry-run", "--force")
    for header, more, refused in (
        ("ID,age_1,age_2,age_8", (), True),
        ("ID,age_1,age_2,age_3", (), False),
        ("ID,age_3,age_1,age_2", (), True),
        ("ID,age_3,age_1,age_2", ("--grid", "even"), False),
        ("ID,age_1,age_2,age_8", ("--grid", "header"), False),
    ):
        (tmp_path / "growth.csv").write_text(f"{header}\n{rows}")
        done = run("release", "mean", "growth.csv", *asked, "--domain", "1,8", *more)
        assert done.code == (5 if refused else 0)
        assert ("Say --grid header to take the numbers for places, or --grid even" in done.err) is refused


def test_variances_along_components_are_shown_where_they_were_released(
    run: Run, patients: Path, tmp_path: Path
) -> None:
    drawn = ("--delta", 0, "--mechanism", "exponential")
    assert release("components", run, patients, "--out", "through.json").code == 0
    assert release("components", run, patients, *drawn, "--explained-variance", 0.2, "--out", "paid.json").code == 0
    assert release("components", run, patients, *drawn, "--out", "none.json").code == 0
    for name, total in (("through", True), ("paid", False)):
        made = dpfda.load(tmp_path / f"{name}.json")
        line = f"Variance along the components: {made.variances[0]:.4g}, {made.variances[1]:.4g}"
        shown = " ".join(run("show", f"{name}.json").out.split())
        assert line in shown
        assert f"noise in each has the deviation {made.deviation:.2g}." in shown
        assert ("of a total of" in shown) is total
        assert run("evaluate", f"{name}.json", "--at", "0,1").err.startswith(f"Note: {line}")
        data = json.loads(run("show", f"{name}.json", "--json").out)
        assert data["explained_variance"] == made.variances.tolist()
        assert data["noise_in_variance"] == made.deviation
        assert ("explained_ratio" in data) is total
        assert data["epsilon"] == made.certificate.epsilon
    assert "Variance along" not in run("show", "none.json").out
    assert run("evaluate", "none.json", "--at", "0").err == ""
    assert "explained_variance" not in json.loads(run("evaluate", "none.json", "--at", "0", "--json").out)


def test_a_plan_of_components_says_what_a_distance_is_at_most(run: Run) -> None:
    done = run("plan", "components", "--n", 5000, "--k", 2, *PUBLIC)
    assert "Predicted squared distance of the span, of at most 2, for a reference population" in done.out

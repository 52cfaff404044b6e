"""Regressions on the command line: declared levels, what cells count as, predictions, and bands that are infinite."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfda

Run = Callable[..., Any]
ASKED = ("--unit", "person", "--values", "t[0-9]*", "--delta", "1e-6", "--bound", 1)
LEVELS = ("--covariates", "age,sex=female|male", "--covariate-limits", "20:80")


@pytest.fixture
def people(patients: Path, tmp_path: Path) -> Path:
    """The patients with a column of words for the one that says whether they were treated."""
    header, *rows = [line.split(",") for line in patients.read_text().splitlines()]
    words = {"0": "female", "1": "male"}
    lines = [[*header[:2], "sex", *header[3:]], *([*row[:2], words[row[2]], *row[3:]] for row in rows)]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(",".join(line) for line in lines) + "\n")
    return path


def parquet(csv: Path) -> Path:
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as pq

    path = csv.with_suffix(".parquet")
    pq.write_table(arrow_csv.read_csv(csv), path)
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_declared_levels_find_what_words_say(kind: str, run: Run, people: Path, tmp_path: Path) -> None:
    """At epsilon 1000 noise is small: coefficients within a tenth of what the curves were made with."""
    file = people if kind == "csv" else parquet(people)
    done = run("release", "regression", file.name, *LEVELS, *ASKED, "--epsilon", 1000)
    assert (done.code, done.err) == (0, "")
    made = dpfda.load(tmp_path / "people-regression.json")
    assert made.names == ("intercept", "age", "sex=male")
    t = np.linspace(0, 1, 5)
    np.testing.assert_allclose(made.coefficient("sex=male")(t), 0.2 * (1 - t), atol=0.02)
    np.testing.assert_allclose(60 * made.coefficient("age")(t), 0.3 * t, atol=0.03)
    said = " ".join(done.out.split())
    assert "age in [20, 80], sex=male in [0, 1]" in said
    assert "declared: sex is female, male, compared with female; a cell that is none of them counts as missing" in said


def test_levels_need_no_range_and_a_common_bound_will_do(run: Run, people: Path, tmp_path: Path) -> None:
    asked = ("release", "regression", people.name, *ASKED, "--epsilon", 5, "--overwrite")
    assert run(*asked, "--covariates", "sex=female|male").code == 0
    assert dpfda.load(tmp_path / "people-regression.json").covariates.limits == ((0.0, 1.0),)
    assert run(*asked, "--covariates", "age,sex=female|male", "--covariate-bound", 90).code == 0
    assert dpfda.load(tmp_path / "people-regression.json").covariates.names == ("age", "sex=male")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_words_without_levels_count_as_missing_and_everything_says_so(
    kind: str, run: Run, people: Path, tmp_path: Path
) -> None:
    file = people if kind == "csv" else parquet(people)
    plain = ("--covariates", "age,sex", "--covariate-limits", "20:80,0:1", *ASKED, "--epsilon", 5)
    says = "a covariate that is no number counts as missing and is filled by the middle of its limits"
    once = "each person counts once, with the averages of covariates and curve: coefficients compare people, not visits"
    for more in (("--dry-run",), ()):
        done = run("release", "regression", file.name, *plain, *more)
        assert (done.code, done.err) == (0, "")
        assert says in " ".join(done.out.split())
        assert once in " ".join(done.out.split())
    found = run("evaluate", "people-regression.json", "--at", "0,1", "--level", 0.9)
    assert "\t-inf\tinf" in found.out
    assert found.err == (
        "Note: The noise bands are infinite: noise in the moments of covariates may hide that they are linearly "
        "dependent, although it would not for covariates spread evenly over their limits. Next to everybody seems to "
        "be at the middle of its limits in sex, as if its cells were no numbers: are they?\n"
    )
    data = json.loads(run("evaluate", "people-regression.json", "--at", "0", "--level", 0.9, "--json").out)
    assert set(data["lower"]) == {None}


def test_a_type_that_was_declared_is_refused_in_words_of_the_command(run: Run, people: Path, tmp_path: Path) -> None:
    import pandas as pd

    pd.read_csv(people).astype({"sex": "category"}).to_parquet(tmp_path / "people.parquet")
    asked = ("--covariates", "age,sex", "--covariate-limits", "20:80,0:1", *ASKED, "--epsilon", 5)
    done = run("release", "regression", "people.parquet", *asked)
    assert (done.code, done.out) == (5, "")
    assert done.err.startswith("Error: Column 'sex' of the covariates is a category. Declare its levels, e.g. --covari")
    assert "--covariates 'sex=a|b'" in done.err
    assert run("release", "regression", "people.parquet", *LEVELS, *ASKED, "--epsilon", 5).code == 0


def test_a_plan_knows_levels_and_whether_bands_will_be_finite(run: Run) -> None:
    asked = ("plan", "regression", *LEVELS, "--delta", 0, "--bound", 1, "--epsilon", 1)
    done = run(*asked, "--n", 20000)
    assert (done.code, done.err) == (0, "")
    said = " ".join(done.out.split())
    assert "age in [20, 80], sex=male in [0, 1]" in said
    assert "bands finite, expected: noise in the moments of covariates reaches" in said
    assert "coefficients compare people, not visits of one person" in said
    few = json.loads(run(*asked, "--n", 200, "--json").out)
    assert few["band_share"] > 1
    assert "infinite, expected" in few["bands"]
    needed = int(few["bands"].split("n = ")[1].split(",")[0])
    epsilon = float(few["bands"].split("epsilon = ")[1].split(",")[0])
    assert needed == pytest.approx(200 * few["band_share"], rel=0.1)
    assert epsilon == pytest.approx(few["band_share"], rel=0.1)
    assert json.loads(run(*asked, "--n", 2 * needed, "--json").out)["band_share"] < 1


def test_evaluate_says_from_where_on_a_band_could_be_finite(run: Run, patients: Path) -> None:
    few = patients.read_text().splitlines()[:151]
    patients.write_text("\n".join(few) + "\n")
    asked = ("--covariates", "age,treated", "--covariate-limits", "20:80,0:1", *ASKED, "--epsilon", 1, "--force")
    assert run("release", "regression", patients.name, *asked).code == 0
    found = run("evaluate", "patients-regression.json", "--at", "0", "--level", 0.95)
    assert found.code == 0
    assert "With covariates spread evenly over their limits bands could be finite from about n = " in found.err


def test_evaluate_predicts_a_curve_and_says_where_it_extrapolates(run: Run, people: Path, tmp_path: Path) -> None:
    assert run("release", "regression", people.name, *LEVELS, *ASKED, "--epsilon", 5).code == 0
    made = dpfda.load(tmp_path / "people-regression.json")
    asked = ("evaluate", "people-regression.json", "--at", "0,0.5", "--json")
    inside = run(*asked, "--covariates", "50,1")
    assert (inside.code, inside.err) == (0, "")
    data = json.loads(inside.out)
    assert data["t"] == [0.0, 0.5]
    assert data["value"] == pytest.approx(made.predict([[50.0, 1.0]], [0.0, 0.5])[0].tolist(), rel=1e-12)
    slope = json.loads(run(*asked, "--covariates", "50,1", "--derivative", 1).out)["value"]
    assert slope == pytest.approx(made.curves([[50.0, 1.0]])[0].derivative(1)([0.0, 0.5]).tolist())
    beyond = run(*asked, "--covariates", "95,1")
    assert beyond.code == 0
    assert beyond.err.startswith(
        "Note: This curve extrapolates: age beyond the declared limits, where no record was counted. Declared: age in "
    )
    for wrong, text in (
        (("--covariates", "50"), "--covariates (age, sex=male) takes 2 numbers separated by commas"),
        (("--covariates", "50,1", "--level", 0.9), "A predicted curve has no noise band here"),
    ):
        done = run(*asked, *wrong)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"Error: {text}")
    assert run("release", "mean", people.name, *ASKED, "--epsilon", 1).code == 0
    done = run("evaluate", "people-mean.json", "--at", "0", "--covariates", "1")
    text = "--covariates is for a regression, which predicts a curve for them: leave it out."
    assert (done.code, done.out, done.err) == (2, "", f"Error: {text}\n")

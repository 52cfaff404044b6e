"""`dpfda release function` and `plan function`: functions of the user's own from tables; dictionaries and stores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfda
from dpfda import kernels

Run = Callable[..., Any]
CLAIM = ("--domain", "0,1", "--kernel", "matern-3/2,0.3", "--sensitivity", 0.003)
BUDGET = ("--epsilon", 1, "--delta", "1e-6")


@pytest.fixture
def fit(tmp_path: Path) -> Path:
    t = np.linspace(0, 1, 41)
    lines = [f"{a:.6f},{np.sin(6 * a):.9f}" for a in t]
    (tmp_path / "fit.csv").write_text("\n".join(["t,f", *lines]) + "\n")
    return tmp_path / "fit.csv"


def test_values_on_a_grid_are_released_as_by_the_estimator(run: Run, fit: Path, tmp_path: Path) -> None:
    done = run("release", "function", fit, "--points", "t", "--value", "f", *CLAIM, *BUDGET)
    assert done.code == 0, done.err
    made = dpfda.load(tmp_path / "fit-function.json")
    table = np.loadtxt(fit, delimiter=",", skiprows=1)
    est = dpfda.PerturbedFunction(
        epsilon=1.0, delta=1e-6, sensitivity=0.003, kernel=kernels.Matern(1.5, 0.3), domain=(0.0, 1.0)
    ).fit(table[:, 1], grid=table[:, 0])
    card, other = made.certificate.to_dict(), est.release_.certificate.to_dict()
    assert made.noise == est.release_.noise
    assert made.basis == est.release_.basis
    assert {name for name in card if card[name] != other[name]} <= {"dataset", "created", "detected", "key", "id"}
    assert np.abs(made(table[:, 0]) - table[:, 1]).max() < 0.3
    assert "user's claim" in done.out
    assert run("verify", "fit-function.json").code in (0, 5)


def test_a_dry_run_reads_no_value_and_writes_nothing(run: Run, fit: Path, tmp_path: Path) -> None:
    asked = ("--points", "t", "--value", "f", *CLAIM, *BUDGET, "--dry-run", "--json")
    done = run("release", "function", fit, *asked)
    assert done.code == 0
    fit.write_text(fit.read_text().replace(",0.", ",nothing 0."))
    assert run("release", "function", fit, *asked).out == done.out
    assert not (tmp_path / "fit-function.json").exists()


def test_coordinates_and_vectors_have_their_own_forms(run: Run, tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("c\n0.5\n0.2\n0.1\n")
    done = run(
        *("release", "function", "c.csv", "--value", "c", "--domain", "0,1", "--kernel", "matern-3/2,0.3"),
        *("--norm", "weighted-l1", "--sensitivity", 0.01, "--epsilon", 1, "--delta", 0),
    )
    assert done.code == 0, done.err
    assert dpfda.load(tmp_path / "c-function.json").certificate.mechanism == "laplace"
    (tmp_path / "M.csv").write_text("1,0,0\n0,2,0\n0,0,3\n")
    vector = ("release", "function", "c.csv", "--value", "c", "--covariance", "M.csv", "--sensitivity", 0.01)
    assert run(*vector, *BUDGET, "--out", "v.json").code == 0
    made = dpfda.load(tmp_path / "v.json")
    assert made.basis.size == 3
    assert np.abs(made([0.5, 1.5, 2.5]) - [0.5, 0.2, 0.1]).max() < 1


def test_the_ledger_is_charged_once(run: Run, fit: Path, tmp_path: Path) -> None:
    book = f"sqlite:///{tmp_path / 'b.db'}"
    assert run("budget", "create", book, "--dataset", "fit", "--epsilon", 1.2, "--delta", "1e-5").code == 0
    asked = ("release", "function", fit, "--points", "t", "--value", "f", *CLAIM, *BUDGET, "--ledger", book)
    assert run(*asked, "--key", "a").code == 0
    first = (tmp_path / "fit-function.json").read_bytes()
    assert run(*asked, "--key", "a", "--overwrite").code == 0  # the same output again, free
    assert (tmp_path / "fit-function.json").read_bytes() == first
    assert run(*asked, "--key", "b", "--overwrite").code == 4


def test_a_value_that_is_no_number_fails_after_the_charge_with_one_constant_text(run: Run, fit: Path) -> None:
    fit.write_text(fit.read_text().replace(",0.", ",x0.", 1))
    done = run("release", "function", fit, "--points", "t", "--value", "f", *CLAIM, *BUDGET)
    assert done.code == 5
    assert "The release failed after records were read" in done.err


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--points", "t", "--value", "g", *CLAIM), "'g'"),
        (("--points", "t", "--value", "t", *CLAIM), "at once"),
        (("--points", "t", "--value", "f", "--domain", "0,1", "--sensitivity", 1), "--kernel matern-3/2,0.2"),
        (("--points", "t", "--value", "f", *CLAIM[:-1], -1), "--sensitivity must be a positive"),
        (("--points", "t", "--value", "f", *CLAIM, "--norm", "rms"), "root mean square"),
        (("--value", "f", "--covariance", "none.csv", "--sensitivity", 1), "--covariance"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_charged(
    run: Run, fit: Path, asked: tuple[object, ...], said: str
) -> None:
    done = run("release", "function", fit, *asked, *BUDGET)
    assert done.code in (2, 5)
    assert said in done.err


def test_a_plan_says_how_large_the_noise_will_be(run: Run) -> None:
    done = run("plan", "function", *CLAIM, *BUDGET, "--json")
    assert done.code == 0
    plan = dpfda.PerturbedFunction(
        epsilon=1.0, delta=1e-6, sensitivity=0.003, kernel=kernels.Matern(1.5, 0.3), domain=(0.0, 1.0)
    ).plan()
    assert json.loads(done.out)["noise_rms"] == pytest.approx(plan.noise_rms)
    assert "landmarks" in run("plan", "function", *CLAIM, *BUDGET, "--grid-size", 20).out
    assert "20 functions" in run("plan", "function", *CLAIM, *BUDGET, "--coordinates", 20).out
    assert run("plan", "function", *CLAIM, *BUDGET, "--coordinates", 20, "--grid-size", 20).code == 2


# Dictionaries and stores of means.


@pytest.fixture
def shapes(tmp_path: Path) -> Path:
    t = np.linspace(0, 1, 25)
    rows = [np.zeros(25), 0.5 * np.sin(2 * np.pi * t), 0.5 * np.cos(2 * np.pi * t)]
    lines = [",".join(f"{value:.6f}" for value in row) for row in rows]
    (tmp_path / "shapes.csv").write_text("\n".join([",".join(f"s{j}" for j in range(25)), *lines]) + "\n")
    return tmp_path / "shapes.csv"


def test_a_dictionary_of_public_functions_is_read_from_a_file(run: Run, shapes: Path, tmp_path: Path) -> None:
    t = np.linspace(0, 1, 20)
    curves = 0.5 * np.sin(2 * np.pi * t) + np.linspace(-0.1, 0.1, 500)[:, None]
    header = ",".join(["ID", *(f"t{j:02d}" for j in range(20))])
    lines = [",".join([str(i), *(f"{value:.5f}" for value in row)]) for i, row in enumerate(curves)]
    (tmp_path / "curves.csv").write_text("\n".join([header, *lines]) + "\n")
    asked = ("curves.csv", "--unit", "ID", "--values", "t*", "--epsilon", 1, "--delta", 0, "--bound", 1)
    chosen = ("--mechanism", "dictionary", "--candidates", shapes)
    done = run("release", "mean", *asked, *chosen)
    assert done.code == 0, done.err
    release = dpfda.load(tmp_path / "curves-mean.json")
    assert release.certificate.mechanism == "dictionary"
    # The true shape is hundreds of ranks ahead: another one has a chance below 1e-9.
    assert np.abs(release(t) - 0.5 * np.sin(2 * np.pi * t)).max() < 0.1
    limits = ("--epsilon", 1, "--delta", 0, "--limits", "-1,1")
    assert run("plan", "mean", "--n", 500, *limits, *chosen, "--json").code == 0
    done = run("release", "mean", *asked, "--mechanism", "dictionary", "--overwrite")
    assert done.code == 2
    assert "--candidates shapes.csv" in done.err
    assert run("release", "mean", *asked, "--candidates", shapes, "--overwrite").code == 2  # auto would ignore it
    shapes.write_text("a,b\n1,x\n")
    done = run("release", "mean", *asked, *chosen, "--overwrite")
    assert done.code == 2
    assert "--candidates takes a table of finite numbers" in done.err


def test_a_mean_is_kept_in_a_store_that_answers(run: Run, csv: Path, tmp_path: Path) -> None:
    asked = ("--unit", "ID", "--values", "t*", "--epsilon", 1, "--delta", "1e-6", "--bound", 1, "--force")
    process = ("--mechanism", "gp", "--kernel", "matern-3/2,0.2", "--out", "mean.json")
    assert run("release", "mean", csv, *asked, *process, "--open", "oracle.db", "--dry-run").code == 0
    assert not (tmp_path / "oracle.db").exists()
    done = run("release", "mean", csv, *asked, *process, "--open", "oracle.db")
    assert done.code == 0, done.err
    assert "oracle.db" in done.err
    of_file = run("evaluate", "mean.json", "--at", "0.1,0.5", "--json").out
    assert run("evaluate", "oracle.db", "--at", "0.1,0.5", "--json").out == of_file
    with dpfda.online.open_store(tmp_path / "oracle.db") as oracle:
        assert oracle([0.1, 0.5]).tolist() == json.loads(of_file)["value"]
    again = run("release", "mean", csv, *asked, *process, "--open", "oracle.db", "--overwrite")
    assert again.code != 0  # the store holds another release
    assert "oracle.db" in again.err

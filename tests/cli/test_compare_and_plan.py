"""`dpfda compare` runs mechanisms on simulated curves; `dpfda plan` reads no data at all."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpfda
from dpfda.cli.compare import CALIBRATIONS, SCENARIOS
from dpfda.cli.words import in_words
from dpfda.errors import DpfdaError
from dpfda.mechanisms import GaussianProcess
from dpfda.mechanisms.table import typed_for
from dpfda.studies import comparison, simulators
from dpfda.studies.comparison import compare
from dpfda.studies.outcome import STAMP

Run = Callable[..., Any]
CASE = ("--scenario", "S-2", "--n", 100, "--epsilon", 1, "--delta", 0, "--repetitions", 3)
SOME = ("--mechanisms", "auto, laplace,gaussian")
PLAN = ("--n", 142, "--epsilon", 1, "--delta", "1e-6")


def test_the_names_in_help_are_those_of_the_studies() -> None:
    assert set(simulators.MEANS) == set(SCENARIOS)
    assert comparison.CALIBRATIONS == CALIBRATIONS


def test_compare_prints_the_ranking_and_the_stamp(run: Run, tmp_path: Path) -> None:
    done = run("compare", *CASE, *SOME)
    assert (done.code, done.err) == (0, "")
    found = compare(
        "S-2", n=100, epsilon=1.0, delta=0.0, mechanisms=["auto", "laplace", "gaussian"], repetitions=3, seed=1
    )
    assert done.out.splitlines()[0] == STAMP
    words = " ".join(done.out.split())
    for row in found.rows:
        if row.total is None:
            assert f"{row.mechanism} (exact): {row.note}" in words
        else:
            assert f"{row.mechanism} exact {row.total:.4g} {row.total_standard_error:.4g} {row.privacy:.4g}" in words
    assert f"Without privacy the sample mean errs by {found.sampling:.4g}" in words
    assert not list(tmp_path.iterdir())


def test_compare_writes_table_and_picture(run: Run, tmp_path: Path) -> None:
    done = run("compare", *CASE, *SOME, "--out", "c.csv", "--plot", "c.png")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("\nWritten: c.csv, c.png\n")
    assert STAMP in (tmp_path / "c.csv").read_text().splitlines()[0]
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    refused = run("compare", *CASE, *SOME, "--out", "c.csv")
    assert (refused.code, refused.out) == (5, "")
    assert refused.err == "Error: 'c.csv' exists. Say --overwrite, or name another file.\n"
    assert run("compare", *CASE, *SOME, "--out", "c.csv", "--overwrite").code == 0


def test_json_of_compare_is_the_comparison_and_nothing_else(run: Run) -> None:
    done = run("compare", *CASE, *SOME, "--seed", 5, "--bound", 2, "--errors", "heavy", "--json")
    assert (done.code, done.err) == (0, "")
    expected = compare(
        "S-2",
        n=100,
        epsilon=1.0,
        delta=0.0,
        mechanisms=["auto", "laplace", "gaussian"],
        repetitions=3,
        seed=5,
        bound=2.0,
        errors="heavy",
    )
    assert json.loads(done.out) == json.loads(json.dumps(expected.to_dict()))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([*CASE, "--plot", "c.xyz"], 2, "--plot writes .png, .pdf, .svg, got 'c.xyz'."),
        (
            [*CASE, "--plot", "c.png", "--out", "c.png"],
            2,
            "The table and the picture must be different files. Name another with --out or --plot.",
        ),
        (
            [*CASE, "--mechanisms", "cauchy"],
            2,
            f"Mechanisms to compare are {', '.join(comparison.MECHANISMS)}; got cauchy.",
        ),
        (
            [*CASE, "--epsilon", 0],
            2,
            "--epsilon must be a positive finite number, got 0.0. Most people choose 0.1 to 10.",
        ),
        (CASE[2:], 2, "Missing option '--scenario'. Choose from: S-1, S-2, S-3, S-4. Try 'dpfda compare --help'."),
        (
            [*CASE, "--scenario", "S-9"],
            2,
            "Invalid value for '--scenario': 'S-9' is not one of 'S-1', 'S-2', 'S-3', 'S-4'. Try 'dpfda compare "
            "--help'.",
        ),
        (
            [*CASE, "--repetitions", 1],
            2,
            "Invalid value for '--repetitions': 1 is not in the range x>=2. Try 'dpfda compare --help'.",
        ),
        (
            [*CASE, "--mechanisms", "gaussian"],
            3,
            "gaussian noise cannot meet (epsilon = 1, delta = 0) at any scale: it needs delta > 0. For delta = 0 use "
            "--mechanism k-norm or laplace.",
        ),
    ],
)
def test_a_mistake_in_compare_gives_one_line(
    arguments: list[object], code: int, message: str, run: Run, tmp_path: Path
) -> None:
    done = run("compare", *arguments)
    assert (done.code, done.out, done.err) == (code, "", f"Error: {message}\n")
    assert not list(tmp_path.iterdir())


def test_plan_prints_the_plan(run: Run, tmp_path: Path) -> None:
    done = run("plan", "mean", *PLAN, "--bound", 2)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Plan for 142 units at (epsilon = 1, delta = 1e-06); no values read, nothing charged\n")
    assert done.out.startswith(dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=2.0).plan(142).text() + "\n")
    assert not list(tmp_path.iterdir())


def test_plan_ranks_all_mechanisms(run: Run) -> None:
    done = run("plan", "mean", "--n", 500, "--epsilon", 1, "--delta", 0, "--bound", 1)
    assert (done.code, done.err) == (0, "")
    ranking = dpfda.MeanFunction(epsilon=1.0, delta=0.0, bound=1.0).plan(500).table()
    words = " ".join(done.out.split())
    shown = []
    for mechanism, calibration, *numbers, note in ranking.rows:
        if numbers[0] is not None:
            line = " ".join([mechanism, calibration, *(f"{number:.4g}" for number in numbers), note]).strip()
            assert line in words
            shown.append(words.index(line))
    assert len(shown) >= 9
    assert shown == sorted(shown)
    # Why the others cannot be used, once for each; what cannot be asked for on a command line is left out.
    assert words.count("gaussian: gaussian noise cannot meet (epsilon = 1, delta = 0)") == 1
    assert words.count(" gp: ") == 1
    assert "dictionary" not in words


@pytest.mark.parametrize("mechanism", typed_for("mean"))
@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize(
    ("words", "stated"),
    [
        (("--bound", 2, "--delta", 0), {"bound": 2.0, "delta": 0.0}),
        (("--limits", "60,210", "--delta", "1e-6", "--size", 9), {"limits": (60.0, 210.0), "delta": 1e-6, "size": 9}),
        (("--bound", "1e-70", "--delta", 0), {"bound": 1e-70, "delta": 0.0}),
        (("--bound", 1, "--delta", 2), {"bound": 1.0, "delta": 2.0}),
    ],
    ids=["pure", "limits", "bound", "delta"],
)
def test_the_command_plans_and_refuses_what_the_estimator_does(
    run: Run, mechanism: str, neighbours: str, words: tuple[Any, ...], stated: dict[str, Any]
) -> None:
    asked = ("--n", 142, "--epsilon", 1, "--mechanism", mechanism, "--neighbours", neighbours)
    done = run("plan", "mean", *asked, *words, "--json")
    est = dpfda.MeanFunction(epsilon=1.0, mechanism=mechanism, neighbours=neighbours, **stated)
    if done.code == 0:
        assert json.loads(json.dumps(est.plan(142).to_dict())).items() <= json.loads(done.out).items()
        return
    with pytest.raises(DpfdaError) as refused:
        est.plan(142)
    assert (done.code, done.out) == (refused.value.exit_code, "")
    assert done.err == f"Error: {in_words(refused.value.message)}\n"


def test_a_plan_of_a_mean_loads_no_estimator() -> None:
    """scikit-learn, with pandas and parts of SciPy, takes most of a second to load, and nothing of it is needed."""
    code = (
        "import sys\n"
        "from dpfda.cli.main import main\n"
        "try:\n    main()\n"
        "finally:\n    print(sorted({'sklearn', 'pandas', 'scipy.stats', 'pyarrow'} & set(sys.modules)))\n"
    )
    words = [sys.executable, "-c", code, "plan", "mean", *map(str, PLAN), "--bound", "1"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Plan for ")
    assert done.stdout.splitlines()[-1] == "[]"


def test_plan_draws_a_picture(run: Run, tmp_path: Path) -> None:
    done = run("plan", "mean", *PLAN, "--bound", 2, "--plot", "plan.png")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("\nWritten: plan.png\n")
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")
    refused = run("plan", "mean", *PLAN, "--bound", 2, "--plot", "plan.png")
    text = "Error: 'plan.png' exists. Say --overwrite, or name another file.\n"
    assert (refused.code, refused.out, refused.err) == (5, "", text)


def test_plan_takes_what_a_noise_process_needs(run: Run) -> None:
    process = ("--mechanism", "gp", "--kernel", "gaussian,0.05", "--eta", 1, "--penalty", 0.01, "--size", 9)
    done = run("plan", "mean", *PLAN, "--bound", 1, *process, "--calibration", "published", "--json")
    assert (done.code, done.err) == (0, "")
    est = dpfda.MeanFunction(
        epsilon=1.0,
        delta=1e-6,
        bound=1.0,
        mechanism=GaussianProcess(kernel=dpfda.kernels.Gaussian(0.05), eta=1.0, penalty=0.01, calibration="published"),
        size=9,
    )
    assert json.loads(json.dumps(est.plan(142).to_dict())).items() <= json.loads(done.out).items()


def test_plan_takes_limits_domain_grid_and_mechanism(run: Run) -> None:
    done = run(
        "plan", "mean", *PLAN, "--limits", "60,210", "--domain", "1,18", "--grid-size", 5, "--mechanism", "k-norm"
    )
    assert (done.code, done.err) == (0, "")
    est = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, limits=(60.0, 210.0), domain=(1.0, 18.0), mechanism="k-norm")
    assert done.out.startswith(est.plan(142, grid_size=5).text() + "\n")


def test_json_of_plan_is_the_plan_and_nothing_else(run: Run) -> None:
    done = run("plan", "mean", *PLAN, "--bound", 2, "--neighbours", "add-or-remove-one", "--json")
    assert (done.code, done.err) == (0, "")
    est = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=2.0, neighbours="add-or-remove-one")
    found, plan = json.loads(done.out), json.loads(json.dumps(est.plan(142).to_dict()))
    assert found.pop("table") == json.loads(json.dumps(est.plan(142).table().to_dict()["rows"]))
    assert found == plan


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            PLAN,
            2,
            "A mean curve needs a bound known in advance, e.g. --bound 6, or the range of values, e.g. --limits 0,12. "
            "It may not be read from the data.",
        ),
        (
            [*PLAN, "--bound", 1, "--limits", "0,1"],
            2,
            "--bound 1 and --limits 0,1 both bound the curves. Leave one of them out.",
        ),
        (
            [*PLAN, "--bound", 1, "--n", 0],
            2,
            "Invalid value for '--n': 0 is not in the range x>=1. Try 'dpfda plan mean --help'.",
        ),
        ([*PLAN, "--bound", 1, "--plot", "p.xyz"], 2, "--plot writes .png, .pdf, .svg, got 'p.xyz'."),
        (
            [*PLAN, "--bound", 1, "--domain", "0"],
            2,
            "--domain takes 2 numbers separated by commas, e.g. --domain 0,1; got '0'.",
        ),
        (
            [*PLAN, "--bound", 1, "--delta", 0, "--mechanism", "gaussian"],
            3,
            "gaussian noise cannot meet (epsilon = 1, delta = 0) at any scale: it needs delta > 0. For delta = 0 use "
            "--mechanism k-norm or laplace.",
        ),
    ],
)
def test_a_mistake_in_plan_gives_one_line(arguments: list[object], code: int, message: str, run: Run) -> None:
    done = run("plan", "mean", *arguments)
    assert (done.code, done.out, done.err) == (code, "", f"Error: {message}\n")

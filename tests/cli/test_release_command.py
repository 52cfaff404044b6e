"""`dpfda release mean` does the job on CSV and Parquet files, and a dry run does nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfda
from dpfda.cli.charging import unrecorded

Run = Callable[..., Any]
BUDGET = ("--epsilon", 1, "--delta", "1e-6")
ASK = ("--values", "t*", *BUDGET, "--bound", 1)


def check_near(release: dpfda.Release, mean: np.ndarray, grid: np.ndarray) -> None:
    """No coordinate is further off than 8 deviations, or 30 with the longer tails of radial noise.

    The noise is real: a false alarm has chance below 1e-12 (Gaussian 20 * 1.3e-15, Laplace 20 * exp(-42)).
    """
    exact = release.basis.coordinates(mean, grid) - release.centre
    reach = 8 if release.noise.name == "gaussian" else 30
    assert (np.abs(release.noisy - exact) < reach * np.sqrt(release.noise.variances) + 1e-5).all()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_release_from_a_file_is_near_the_exact_mean(
    kind: str, request: pytest.FixtureRequest, run: Run, mean: np.ndarray, tmp_path: Path
) -> None:
    file = request.getfixturevalue(kind)
    done = run("release", "mean", file, "--unit", "ID", *ASK)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Release card: mean function of 'scans'\n")
    assert done.out.endswith(f"\n\nWritten: scans-mean.json\n{unrecorded('scans')}\n")
    assert names(tmp_path) == sorted([file.name, "scans-mean.json"])
    release = dpfda.load(tmp_path / "scans-mean.json")
    card = release.certificate
    chosen = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.0).plan(301, grid_size=20).mechanism.name
    assert (card.n, card.unit, card.unit_was_assumed, card.mechanism) == (301.0, "ID", False, chosen)
    assert card.text() + "\n" == done.out[: done.out.index("\nWritten")]
    check_near(release, mean, np.linspace(0, 1, 20))


def test_unit_row_takes_every_row_for_a_person(run: Run, csv: Path, tmp_path: Path) -> None:
    done = run("release", "mean", csv, "--unit", "row", *ASK, "--out", "rows.json")
    assert done.code == 0
    card = dpfda.load(tmp_path / "rows.json").certificate
    assert (card.unit, card.unit_was_assumed, card.n) == ("row", True, 300.0)
    assert "every row counts as another person" in " ".join(done.out.split())


def test_repeated_units_are_counted_once(run: Run, csv_lines: list[str], tmp_path: Path) -> None:
    rows = [line.replace(f"p{i},", f"p{i // 2},", 1) for i, line in enumerate(csv_lines[1:])]
    (tmp_path / "days.csv").write_text("\n".join([csv_lines[0], *rows]) + "\n")
    assert run("release", "mean", "days.csv", "--unit", "ID", *ASK).code == 0
    assert dpfda.load(tmp_path / "days-mean.json").certificate.n == 151.0


def test_the_grid_can_stand_in_the_header(run: Run, csv: Path, mean: np.ndarray, tmp_path: Path) -> None:
    done = run(
        "release", "mean", csv, "--unit", "ID", *ASK, "--grid", "header", "--domain", "-1,21", "--smoothing", "none"
    )
    assert done.code == 0
    release = dpfda.load(tmp_path / "scans-mean.json")
    assert release.certificate.domain == ((-1.0, 21.0),)
    check_near(release, mean, np.arange(20.0))


def test_limits_stand_for_a_bound_around_their_middle(run: Run, csv: Path, mean: np.ndarray, tmp_path: Path) -> None:
    arguments = ("--values", "t*", *BUDGET, "--limits", "-1,2", "--basis", "cosine", "--dataset", "lungs")
    done = run("release", "mean", csv, "--unit", "ID", *arguments)
    assert done.code == 0
    release = dpfda.load(tmp_path / "scans-mean.json")
    card = release.certificate
    assert (card.bound, card.centre, card.basis, card.dataset) == (1.5, "the constant 0.5", "cosine", "lungs")
    check_near(release, mean, np.linspace(0, 1, 20))


@pytest.mark.parametrize("mechanism", ["auto", "k-norm", "laplace"])
def test_delta_zero_gives_pure_noise(mechanism: str, run: Run, csv: Path, mean: np.ndarray, tmp_path: Path) -> None:
    pure = ("--values", "t*", "--epsilon", 2, "--delta", 0, "--bound", 1, "--mechanism", mechanism)
    done = run("release", "mean", csv, "--unit", "ID", *pure)
    assert done.code == 0
    assert "  guarantee      pure epsilon = 2; for composition 2-zCDP" in done.out.splitlines()
    release = dpfda.load(tmp_path / "scans-mean.json")
    assert release.certificate.mechanism == ("k-norm" if mechanism == "auto" else mechanism)
    assert release.noise.name == "radial"
    check_near(release, mean, np.linspace(0, 1, 20))


@pytest.mark.parametrize("mechanism", ["gaussian", "gp", "iclp-qr", "iclp-ar", "frl", "bernstein", "exponential"])
def test_a_mechanism_of_the_papers_is_as_asked(
    mechanism: str, run: Run, csv: Path, mean: np.ndarray, tmp_path: Path
) -> None:
    done = run("release", "mean", csv, "--unit", "ID", *ASK, "--mechanism", mechanism)
    assert (done.code, done.err) == (0, "")
    assert dpfda.load(tmp_path / "scans-mean.json").certificate.mechanism == mechanism


def test_kernel_penalty_size_and_calibration_stand_on_the_card(run: Run, csv: Path, tmp_path: Path) -> None:
    process = ("--mechanism", "gp", "--kernel", "matern-5/2,0.2", "--eta", 1.5, "--penalty", 0.01, "--size", 7)
    done = run("release", "mean", csv, "--unit", "ID", *ASK, *process, "--calibration", "published")
    assert (done.code, done.err) == (0, "")
    card = dpfda.load(tmp_path / "scans-mean.json").certificate
    chosen = dict(card.chosen)
    assert "Matern(order=2.5, rho=0.2)" in chosen["kernel"]
    assert chosen["penalty"] == "eta = 1.5, penalty = 0.01; stated by the user"
    assert chosen["calibration"] == "as published, more noise than privacy needs"
    assert card.size == 7


def test_under_add_or_remove_one_the_number_of_units_is_noisy(run: Run, csv: Path, tmp_path: Path) -> None:
    relation = ("--neighbours", "add-or-remove-one", "--planned-n", 250)
    done = run("release", "mean", csv, "--unit", "ID", *ASK, *relation)
    assert done.code == 0
    release = dpfda.load(tmp_path / "scans-mean.json")
    assert release.certificate.n_is_noisy
    assert release.count is not None
    # Beyond 9 deviations with chance below 1e-18.
    assert abs(release.count.value - 300) < 9 * np.sqrt(release.count.noise.variances[0])
    assert "(noisy: the number itself is private)" in done.out
    assert "had this ID not been included" in done.out


@pytest.mark.parametrize("name", ["none", "sobolev-4", "james-stein"])
def test_smoothing_is_as_asked(name: str, run: Run, csv: Path, tmp_path: Path) -> None:
    assert run("release", "mean", csv, "--unit", "ID", *ASK, "--smoothing", name).code == 0
    assert dpfda.load(tmp_path / "scans-mean.json").smoothing.name == name


@pytest.mark.parametrize(
    ("name", "start"), [("mean.png", b"\x89PNG\r\n"), ("mean.pdf", b"%PDF"), ("mean.svg", b"<?xml")]
)
def test_a_picture_is_written_on_request(name: str, start: bytes, run: Run, csv: Path, tmp_path: Path) -> None:
    done = run("release", "mean", csv, "--unit", "ID", *ASK, "--plot", name)
    assert done.code == 0
    assert f"Written: scans-mean.json, {name}\n" in done.out
    content = (tmp_path / name).read_bytes()
    assert content.startswith(start)
    assert len(content) > 5000


@pytest.mark.parametrize("extra", [(), ("--plot", "mean.png", "--out", "there.json"), ("--overwrite",)])
@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
def test_a_dry_run_writes_nothing_and_says_what_would_happen(
    relation: str, extra: tuple[str, ...], run: Run, csv: Path, tmp_path: Path
) -> None:
    guess = ("--neighbours", relation, *(("--planned-n", 300) if relation == "add-or-remove-one" else ()))
    done = run("release", "mean", csv, "--unit", "ID", *ASK, *guess, *extra, "--dry-run")
    assert (done.code, done.err) == (0, "")
    units = 300 if relation == "add-or-remove-one" else 301
    assert done.out.startswith(
        f"Plan for {units} units at (epsilon = 1, delta = 1e-06); no values read, nothing charged\n"
    )
    assert names(tmp_path) == ["scans.csv"]


def test_a_dry_run_reads_no_value_and_draws_nothing(run: Run, csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpfda import curator
    from dpfda.records import csv_files as csvfile

    def forbidden(*arguments: object, **options: object) -> None:
        raise AssertionError("a dry run touched what it must not")

    monkeypatch.setattr(csvfile.CsvSource, "batches", forbidden)
    monkeypatch.setattr(curator.Curator, "release", forbidden)
    assert run("release", "mean", csv, "--unit", "ID", *ASK, "--dry-run").code == 0


def test_json_is_the_card_and_nothing_else(run: Run, csv: Path, tmp_path: Path) -> None:
    done = run("release", "mean", csv, "--unit", "ID", *ASK, "--json", "--plot", "mean.png")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == dpfda.load(tmp_path / "scans-mean.json").certificate.to_dict()


def test_json_of_a_dry_run_is_the_plan_and_nothing_else(run: Run, csv: Path) -> None:
    done = run("release", "mean", csv, "--unit", "ID", *ASK, "--dry-run", "--json")
    assert (done.code, done.err) == (0, "")
    plan = json.loads(done.out)
    expected = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.0).plan(301, grid_size=20).to_dict()
    assert plan == json.loads(json.dumps(expected))


def test_an_existing_release_is_replaced_only_when_asked(run: Run, csv: Path, tmp_path: Path) -> None:
    assert run("release", "mean", csv, "--unit", "ID", *ASK).code == 0
    before = (tmp_path / "scans-mean.json").read_bytes()
    refused = run("release", "mean", csv, "--unit", "ID", *ASK)
    assert refused.code == 5
    assert refused.err == (
        "Error: 'scans-mean.json' exists. Say --overwrite, or name another file. Nothing was charged.\n"
    )
    assert (tmp_path / "scans-mean.json").read_bytes() == before
    assert run("release", "mean", csv, "--unit", "ID", *ASK, "--overwrite").code == 0
    # Two releases are equal with a chance far below 1e-30: the noise is real.
    assert (tmp_path / "scans-mean.json").read_bytes() != before


def test_too_much_noise_is_refused_unless_forced(run: Run, csv: Path, tmp_path: Path) -> None:
    little = ("--values", "t*", "--epsilon", 0.001, "--delta", "1e-6", "--bound", 1)
    refused = run("release", "mean", csv, "--unit", "ID", *little)
    assert refused.code == 2
    assert refused.err.startswith(
        "Error: With n = 301 and epsilon 0.001 the error expected, after the best smoothing, would be "
    )
    assert refused.err.endswith(
        " would do, with any bound: the noise is in proportion to it. Say --force to release it all the same. Nothing "
        "was charged.\n"
    )
    assert names(tmp_path) == ["scans.csv"]
    assert run("release", "mean", csv, "--unit", "ID", *little, "--force").code == 0


def test_workers_change_nothing_that_can_be_seen(run: Run, csv: Path, tmp_path: Path) -> None:
    assert run("release", "mean", csv, "--unit", "ID", *ASK, "--workers", 3).code == 0
    assert dpfda.load(tmp_path / "scans-mean.json").certificate.n == 301.0

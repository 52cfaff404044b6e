"""A command plans once, and opens its file once for the names of columns; a dry run does no more than that."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpfda.records.csv_files import CsvSource, CsvTable
from dpfda.records.files import ParquetSource, ParquetTable

Run = Callable[..., Any]
SPENT = ("--epsilon", 1, "--delta", "1e-6")
CURVES = ("--unit", "ID", "--values", "t*", "--bound", 1.5, *SPENT)
POINTS = ("--unit", "ID", "--points", "x", "--domain", "0,1", *SPENT)
# For each command its options, and the planners that it may call: once in all.
COMMANDS: dict[str, tuple[tuple[object, ...], tuple[str, ...]]] = {
    "mean": (CURVES, ("mean.estimator.make_plan",)),
    "covariance": (CURVES, ("covariance.estimator.plan_moments",)),
    "components": (("--k", 1, *CURVES), ("components.estimator.plan_components",)),
    "regression": (
        ("--covariates", "x", "--covariate-limits", "0:1", *CURVES),
        ("regression.estimator.plan_regression",),
    ),
    "density": (POINTS, ("density.estimator.plan_density",)),
    "classifier": (
        ("--label", "ill", "--classes", "0,1", *POINTS),
        ("machines.base.plan_machine", "machines.base.plan_exactly"),
    ),
    "regressor": (
        ("--response", "y", "--response-bound", 1, *POINTS),
        ("machines.base.plan_machine", "machines.base.plan_exactly"),
    ),
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    names = ["ID", "x", "y", "ill", *(f"t{j}" for j in range(8))]
    rows = [
        [f"p{i}", *(f"{v:.4f}" for v in rng.uniform(0, 1, 2)), str(i % 2), *(f"{v:.4f}" for v in rng.uniform(0, 1, 8))]
        for i in range(400)
    ]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(",".join(row) for row in [names, *rows]) + "\n")
    return path


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, seen: list[str], *, static: bool = False) -> None:
    """Note every call of a function, and let it go on."""
    whole = getattr(owner, name)

    def note(*arguments: Any, **options: Any) -> Any:
        seen.append(name)
        return whole(*arguments, **options)

    monkeypatch.setattr(owner, name, staticmethod(note) if static else note)


@pytest.mark.parametrize("last", [("--dry-run",), ()], ids=["dry run", "release"])
@pytest.mark.parametrize("kind", COMMANDS)
def test_a_plan_is_made_once_and_the_header_is_read_once(
    kind: str, last: tuple[str, ...], run: Run, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, planners = COMMANDS[kind]
    plans: list[str] = []
    for planner in planners:
        module, name = planner.rsplit(".", 1)
        counted(monkeypatch, importlib.import_module(f"dpfda.statistics.{module}"), name, plans)
    opened: list[str] = []
    counted(monkeypatch, CsvTable, "open", opened, static=True)
    done = run("release", kind, table, *options, "--force", *last)
    assert (done.code, done.err) == (0, "")
    assert len(plans) == 1
    assert opened == ["open"]


def test_the_schema_of_a_parquet_file_is_read_once(run: Run, parquet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    counted(monkeypatch, ParquetTable, "open", opened, static=True)
    done = run("release", "mean", parquet, "--unit", "ID", "--values", "t*", "--bound", 1.5, *SPENT)
    assert (done.code, opened) == (0, ["open"])


@pytest.mark.parametrize("kind", [*COMMANDS, "bounds"])
def test_a_dry_run_with_a_stated_number_opens_the_file_once_and_reads_no_value(
    kind: str, run: Run, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regressions and machines count the rows, and bounds the people: nothing else is opened for values."""

    def read(*arguments: object) -> None:
        raise AssertionError("values were read")

    monkeypatch.setattr(CsvSource, "batches", read)
    monkeypatch.setattr(ParquetSource, "batches", read)
    opened: list[Path] = []
    whole = Path.open

    def note(self: Path, *arguments: Any, **options: Any) -> Any:
        opened.append(self)
        return whole(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", note)
    if kind == "bounds":
        asked = ("bounds", table, "--unit", "ID", "--values", "t*", "--epsilon", 1, "--candidates", "0.1,10")
    else:
        asked = ("release", kind, table, *COMMANDS[kind][0], "--force", "--n", 400)
    done = run(*asked, "--dry-run")
    assert (done.code, done.err) == (0, "")
    passes = {"regression": 1, "classifier": 1, "regressor": 1, "bounds": 1}.get(kind, 0)
    assert opened == [table] * (1 + passes)


def test_the_same_order_is_refused_by_the_ledger_in_a_dry_run_and_in_a_release(run: Run, table: Path) -> None:
    assert (
        run("budget", "create", "sqlite:///b.db", "--dataset", "people", "--epsilon", 0.5, "--delta", "1e-5").code == 0
    )
    for kind, (options, _) in COMMANDS.items():
        asked = ("release", kind, table, *options, "--force", "--ledger", "sqlite:///b.db", "--key", f"one {kind}")
        dry, wet = run(*asked, "--dry-run"), run(*asked)
        assert dry.code == wet.code == 4, kind
        assert dry.err == wet.err

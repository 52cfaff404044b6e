"""The command as people run it, and small files for it to read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from dpfda.cli.main import main

UNITS, COLUMNS = 300, 20


@dataclass(frozen=True)
class Outcome:
    """What a run of the command left behind."""

    code: int
    out: str
    err: str
    error: BaseException | None = field(default=None, compare=False)  # what the command was refused with


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run `dpfda` in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def once(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["dpfda", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return Outcome(int(left.value.code or 0), captured.out, captured.err, left.value.__context__)

    return once


def values() -> np.ndarray:
    """Curves around half a sine wave, of root mean square below one."""
    t = np.linspace(0, 1, COLUMNS)
    return 0.6 * np.sin(np.pi * t) + np.random.default_rng(0).normal(0, 0.1, (UNITS, COLUMNS))


def lines(prefix: str = "t") -> list[str]:
    header = "ID," + ",".join(f"{prefix}{j}" for j in range(COLUMNS))
    rows = [f"p{i}," + ",".join(f"{v:.4f}" for v in row) for i, row in enumerate(values())]
    return [header, *rows]


@pytest.fixture
def csv_lines() -> list[str]:
    return lines()


@pytest.fixture
def mean() -> np.ndarray:
    """The exact mean of the curves in the files."""
    return np.round(values(), 4).mean(axis=0)


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "scans.csv"
    path.write_text("\n".join(lines()) + "\n")
    return path


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"t{j}": column for j, column in enumerate(np.round(values(), 4).T)}
    path = tmp_path / "scans.parquet"
    pq.write_table(pa.table({"ID": [f"p{i}" for i in range(UNITS)], **columns}), path)
    return path


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    """Two curves of each of 2000 people, with their age and whether they were treated."""
    generator = np.random.default_rng(1)
    t, age, treated = np.linspace(0, 1, 12), generator.uniform(20, 80, 2000), generator.integers(0, 2, 2000)
    curves = 0.3 * np.sin(np.pi * t) + 0.005 * age[:, None] * t + 0.2 * treated[:, None] * (1 - t)
    rows = ["person,age,treated," + ",".join(f"t{j}" for j in range(12))]
    for visit in range(2):
        for i in range(2000):
            noisy = curves[i] + 0.1 * generator.normal()
            rows.append(f"p{i},{age[i] + visit:.2f},{treated[i]}," + ",".join(f"{v:.4f}" for v in noisy))
    path = tmp_path / "patients.csv"
    path.write_text("\n".join(rows) + "\n")
    return path

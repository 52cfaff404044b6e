"""Questions to a private function, one by one and in batches: time against the limit of 50 microseconds, and growth."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from dpfda.arrays import Array
from dpfda.bases.domain import as_domain
from dpfda.kernels import Gaussian, Kernel, Matern
from dpfda.online import Facts, Oracle, Sections, calibrated, open_online
from dpfda.privacy import Budget

LIMIT = 50.0  # microseconds of computation a question, secure noise included
UNITS = 10_000
MARKS = (1_000, 10_000, 100_000)


def opened(kernel: Kernel, store: Path | None = None, dimension: int = 1, size: int = 1024) -> Oracle:
    """A density of ten thousand people, whose points lie on a public grid."""
    domain = as_domain([(0.0, 1.0)] * dimension)
    generator = np.random.default_rng(0)
    records = np.floor(generator.random((UNITS, dimension)) * size) / size
    law = calibrated(kernel, domain, sensitivity=2**0.5 / UNITS, moved=2 / UNITS, budget=Budget(1.0, 1e-6))
    facts = Facts("density", "bench", "person", False, "replace-one", UNITS, "sections differ by sqrt(2) at most")
    return open_online(Sections.counted(records, 1 / UNITS, kernel), law, store, facts=facts)


def one_by_one(oracle: Oracle, points: Iterable[float], marks: Iterable[int]) -> dict[int, float]:
    """Microseconds of computation a question, over the tenth of all questions before each mark."""
    wanted = {int(0.9 * mark): mark for mark in marks} | {mark: mark for mark in marks}
    begun, found = 0.0, {}
    start = time.process_time()
    for number, point in enumerate(points, start=1):
        oracle(point)
        if number in wanted:
            mark, now = wanted[number], time.process_time()
            if number == mark:
                found[mark] = 1e6 * (now - begun) / (mark - int(0.9 * mark))
            begun = now
    found[0] = 1e6 * (time.process_time() - start) / max(marks)  # of all
    return found


def at_once(oracle: Oracle, points: Array) -> float:
    """Microseconds a question in batches of ten thousand, with all that a store does."""
    begun = time.perf_counter()
    for start in range(0, len(points), 10_000):
        oracle(points[start : start + 10_000])
    return 1e6 * (time.perf_counter() - begun) / len(points)


def run(console: Console, *, quick: bool = False) -> None:
    """Print microseconds a question, growth from the first thousand to the last, batches in SQLite, Cholesky rows."""
    marks = MARKS[:2] if quick else MARKS
    points = np.random.default_rng(1).random(marks[-1])
    table = Table(
        "kernel",
        *(f"after {mark:,}" for mark in marks),
        "average",
        f"average / limit of {LIMIT:.0f}",
        "batches, memory",
        "batches, SQLite",
        title=f"{marks[-1]:,} questions in random order, microseconds each, {UNITS:,} records",
    )
    for order in (0.5, 1.5, 2.5):
        kernel = Matern(order, rho=0.2)
        times = one_by_one(opened(kernel), points.tolist(), marks)
        with tempfile.TemporaryDirectory() as folder, opened(kernel, Path(folder) / "oracle.db") as stored:
            durable = at_once(stored, points)
        table.add_row(
            f"Matérn {2 * order:.0f}/2",
            *(f"{times[mark]:.1f}" for mark in marks),
            f"{times[0]:.1f}",
            f"{times[0] / LIMIT:.2f}",
            f"{at_once(opened(kernel), points):.1f}",
            f"{durable:.1f}",
        )
    console.print(table)
    for dimension, size in ((1, 1024), (2, 32)):
        oracle = opened(Gaussian(rho=0.1), None, dimension, size)
        where = np.random.default_rng(2).random((2_000, dimension))
        begun = time.perf_counter()
        oracle(where)
        batch = time.perf_counter() - begun
        begun = time.perf_counter()
        for point in np.random.default_rng(3).random((20, dimension)):
            oracle(point[None, :])
        single = (time.perf_counter() - begun) / 20
        console.print(
            f"Gaussian kernel in {dimension} dimension(s), Cholesky rows: 2,000 points at once {batch:.2f} s, "
            f"then {1e3 * single:.1f} ms a point"
        )

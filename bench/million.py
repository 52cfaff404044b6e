"""A million 48-point curves in one Parquet file: time against reading it and taking the plain mean, and memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import dpfda

CHILD = """
import re, sys, dpfda
curves = dpfda.read_curves(sys.argv[1], values="t*")
dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=2.0).fit(curves)
# Not getrusage: its peak is inherited from the parent process.
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024)
"""


def write(path: Path, rows: int) -> None:
    """Simulated curves, written in pieces."""
    rng, t = np.random.default_rng(rows), np.linspace(0, 1, 48)
    writer, piece = None, 50_000
    for start in range(0, rows, piece):
        count = min(piece, rows - start)
        values = np.sin(2 * np.pi * t) * rng.normal(1, 0.3, (count, 1)) + rng.normal(0, 0.3, (count, 48))
        table = pa.table({f"t{j:02d}": column for j, column in enumerate(values.T)})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def plain_mean(path: Path) -> None:
    """Read the whole file, then take the mean of each column."""
    table = pq.read_table(path)
    [column.to_numpy().mean() for column in table.columns]


def streamed_mean(path: Path) -> None:
    """The same in batches of row groups, which needs less memory."""
    total = 0.0
    for batch in pq.ParquetFile(path).iter_batches(65536):
        total = total + np.array([np.asarray(column).sum() for column in batch.columns])


def private_mean(path: Path) -> None:
    """The default release."""
    curves = dpfda.read_curves(path, values="t*")
    dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=2.0).fit(curves)


def best(function: Callable[[Path], None], path: Path, repetitions: int) -> float:
    """The least of several times."""
    times = []
    for _ in range(repetitions):
        started = time.perf_counter()
        function(path)
        times.append(time.perf_counter() - started)
    return min(times)


def run(console: Console, *, folder: Path, rows: int, repetitions: int = 5) -> float:
    """Print time and memory; the ratio to the faster of the two plain means."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {size: folder / f"{size}.parquet" for size in (rows, 100_000, 10_000)}
    for size, path in files.items():
        write(path, size)
    large = files[rows]
    try:
        peers = {"plain mean, whole file": plain_mean, "plain mean, in batches": streamed_mean}
        seconds = {name: best(peer, large, repetitions) for name, peer in peers.items()}
        ours = best(private_mean, large, repetitions)
        memory = {size: _peak(path) for size, path in files.items()}
    finally:
        for path in files.values():
            path.unlink()
    table = Table("what", "seconds", "ratio, aim 1.5", title=f"{rows:,} curves of 48 points from one Parquet file")
    fastest = min(seconds.values())
    for name, value in (*seconds.items(), ("private mean (1, 1e-6)", ours)):
        table.add_row(name, f"{value:.2f}", f"{value / fastest:.2f}")
    console.print(table)
    console.print(
        "peak memory of the private mean: "
        + ", ".join(f"{megabytes:.0f} MB for {size:,} curves" for size, megabytes in memory.items())
    )
    return ours / fastest


def _peak(path: Path) -> float:
    """Megabytes at the peak of a process that does nothing else; Linux only."""
    done = subprocess.run([sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=True)
    return float(done.stdout)

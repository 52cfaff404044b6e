"""Charges of a durable ledger: milliseconds each, beside a bare commit of the same size, and the size of a thousand."""

from __future__ import annotations

import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from uuid import uuid4

from rich.console import Console
from rich.table import Table

from dpfda.ledger import Charge
from dpfda.ledger.durable import Ledger
from dpfda.privacy import Budget, GaussianProfile

LIMIT = 10.0  # milliseconds a charge, fully durable
MOST = 1_000_000  # bytes after a thousand charges
ENTRIES = 1_000
ROW = 600  # bytes, about what an entry takes
MU = 0.02  # a thousand of them cost less than a tenth of the cap


def run(console: Console, *, quick: bool = False) -> None:
    """Print the time of a charge when the ledger is new and after a thousand, and what a bare commit takes then."""
    times = 30 if quick else 200
    table = Table(
        "database",
        "entries",
        "charge",
        "charge and output",
        "bare commit",
        "charge / commit",
        f"charge / limit of {LIMIT:g}",
        title=f"a charge, milliseconds, median (95 % of them below); write and fsync: {_fsync(times):.2f} ms",
    )
    with tempfile.TemporaryDirectory() as folder:
        with _bare_sqlite(Path(folder) / "bare.db") as commit:
            _measure(table, "SQLite", Ledger(f"sqlite:///{Path(folder) / 'ledger.db'}"), commit, times)
            anchored = Ledger(f"sqlite:///{Path(folder) / 'anchored.db'}", anchor=Path(folder) / "anchor")
            _measure(table, "SQLite, anchored", anchored, commit, times)
        sizes = [_size(Path(folder) / f"size {output}.db", output) for output in (0, 64)]
    server = _server()
    if server is None:
        console.print("PostgreSQL: not run. Install Debian's package postgresql and psycopg.")
    else:
        with server as address, _bare_postgres(address) as commit:
            _measure(table, "PostgreSQL", Ledger(address), commit, times)
    console.print(table)
    console.print(
        f"SQLite after {ENTRIES:,} charges: {sizes[0] / 1e3:,.0f} kB (limit {MOST / 1e3:,.0f} kB, ratio "
        f"{sizes[0] / MOST:.2f}); with an output of 64 bytes each {sizes[1] / 1e3:,.0f} kB"
    )


def _measure(table: Table, name: str, ledger: Ledger, commit: Callable[[], object], times: int) -> None:
    for entries in (0, ENTRIES):
        ledger.create(f"timed {entries}", epsilon=8.0, delta=1e-6)
        for _ in range(entries):
            ledger.charge(_charge(f"timed {entries}"))
        # Charges and bare commits take turns: whatever else the disk does, it does to both.
        charges, commits, both = [], [], []
        for _ in range(times if entries else min(times, 50)):
            commits.append(_took(commit))
            charges.append(_took(lambda: ledger.charge(_charge(f"timed {entries}"))))  # noqa: B023
            both.append(_took(lambda: ledger.store(ledger.charge(_charge(f"timed {entries}")), os.urandom(256))))  # noqa: B023
        middle = statistics.median(charges)
        bare = statistics.median(commits)
        table.add_row(
            name,
            f"{entries:,}",
            _shown(charges),
            _shown(both),
            _shown(commits),
            f"{middle / bare:.1f}",
            f"{middle / LIMIT:.2f}",
        )


def _charge(dataset: str) -> Charge:
    return Charge(dataset, "mean, gaussian", Budget(0.1, 1e-7), losses=(GaussianProfile(MU),), request=uuid4().hex)


def _took(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return 1e3 * (time.perf_counter() - begun)


def _shown(times: list[float]) -> str:
    return f"{statistics.median(times):.2f} ({statistics.quantiles(times, n=20)[-1]:.2f})"


def _fsync(times: int) -> float:
    """Milliseconds to append so many bytes to a file and wait for the disk."""
    with tempfile.NamedTemporaryFile(buffering=0) as file:

        def act() -> None:
            file.write(os.urandom(ROW))
            os.fsync(file.fileno())

        return statistics.median(_took(act) for _ in range(times))


@contextmanager
def _bare_sqlite(path: Path) -> Iterator[Callable[[], object]]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE bare (number INTEGER PRIMARY KEY, entry BLOB)")
    yield lambda: connection.execute("INSERT INTO bare (entry) VALUES (?)", (os.urandom(ROW),))
    connection.close()


def _size(file: Path, output: int) -> int:
    """Bytes of a ledger of so many charges, each with an output of so many random bytes, and of its log."""
    ledger = Ledger(f"sqlite:///{file}")
    ledger.create("sized", epsilon=8.0, delta=1e-6)
    for _ in range(ENTRIES):
        receipt = ledger.charge(_charge("sized"))
        if output:
            ledger.store(receipt, os.urandom(output))
    return sum(path.stat().st_size for path in file.parent.glob(f"{file.name}*"))


@contextmanager
def _bare_postgres(address: str) -> Iterator[Callable[[], object]]:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE bare (number bigserial PRIMARY KEY, entry bytea)")
        yield lambda: connection.execute("INSERT INTO bare (entry) VALUES (%s)", (os.urandom(ROW),))


def _server() -> AbstractContextManager[str] | None:
    """The private server of the tests, for this run."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "ledger"))
    import postgres_server

    if postgres_server.missing() is not None:
        return None

    @contextmanager
    def running() -> Iterator[str]:
        note = Path(tempfile.gettempdir()) / f"dpfda-bench-{uuid4().hex}"
        yield f"postgresql://postgres@/postgres?host={postgres_server.host(note, os.getpid())}"
        postgres_server.stop(note)

    return running()

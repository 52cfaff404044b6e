"""What all tests share: a floor on their number, so that none is lost unseen, and a word on those that did not run."""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from uuid import uuid4

import pytest

# Before numpy is imported: where processes share the cores, threads of linear algebra wait for each other in circles,
# and some tests take ten times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

sys.path.insert(0, str(Path(__file__).parent))  # for `refusals`
sys.path.insert(0, str(Path(__file__).parent / "ledger"))

import postgres_server
from hypothesis import settings

FLOOR = 16500

# A deadline of an example would be a timed assertion: it fails where the machine is busy.
settings.register_profile("dpfda", deadline=None)
settings.load_profile("dpfda")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-golden", action="store_true", help="Write texts of cards and refusals anew; do not compare them."
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A full run collects at least this many tests; a run of named files or of the audit is not held to it."""
    whole = set(config.args) <= {str(path) for path in config.getini("testpaths")} | set(config.getini("testpaths"))
    if whole and config.option.markexpr == "not audit" and len(items) < FLOOR:
        raise pytest.UsageError(f"only {len(items)} tests were collected; there should be at least {FLOOR}")


def pytest_configure(config: pytest.Config) -> None:
    """Say where this run's PostgreSQL server will be found; workers hear of it through the environment."""
    if not hasattr(config, "workerinput"):
        place = Path(tempfile.gettempdir()) / f"dpfda-tests-{uuid4().hex}"
        os.environ[postgres_server.NOTE] = f"{place}|{os.getpid()}"


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the server, if a test has started it."""
    if not hasattr(config, "workerinput"):
        postgres_server.stop(Path(os.environ[postgres_server.NOTE].rsplit("|", 1)[0]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for the tests that were skipped because there is no PostgreSQL."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", ()):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if postgres_server.DID_NOT_RUN in reason:
            reasons[reason.partition(postgres_server.DID_NOT_RUN)[2]] += 1
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count} ledger tests on PostgreSQL did not run: {reason}")

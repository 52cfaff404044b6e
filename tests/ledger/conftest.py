"""The databases that tests of ledgers run on: a file of SQLite, and a private PostgreSQL server."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import postgres_server

REQUIRED = "DPFDA_REQUIRE_POSTGRES"


@pytest.fixture(scope="session")
def postgres_host() -> str:
    """The folder of the socket of a server of this run alone; without one, the test is skipped, or fails if told to."""
    missing = postgres_server.missing()
    if missing is not None:
        if os.environ.get(REQUIRED):
            pytest.fail(f"{postgres_server.DID_NOT_RUN}{missing}; {REQUIRED} is set.", pytrace=False)
        pytest.skip(f"{postgres_server.DID_NOT_RUN}{missing}")
    note, owner = os.environ[postgres_server.NOTE].rsplit("|", 1)
    return postgres_server.host(Path(note), int(owner))


@pytest.fixture
def postgres_url(postgres_host: str) -> Iterator[str]:
    """An empty database of this test's own."""
    import psycopg

    name = f"ledger_{uuid4().hex}"
    with psycopg.connect(f"postgresql://postgres@/postgres?host={postgres_host}", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    yield f"postgresql://postgres@/{name}?host={postgres_host}"
    with psycopg.connect(f"postgresql://postgres@/postgres?host={postgres_host}", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """The address of an empty database, of each kind in turn."""
    name = {"sqlite": "sqlite_url", "postgresql": "postgres_url"}[request.param]
    return str(request.getfixturevalue(name))

"""The private server of the tests: durable, of this run alone, and gone when the run is, also when it was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import postgres_server
import pytest


def settings(url: str) -> dict[str, str]:
    import psycopg

    with psycopg.connect(url) as connection:
        return dict(connection.execute("SELECT name, setting FROM pg_settings").fetchall())


def test_the_server_waits_for_the_disk_and_listens_on_no_network(postgres_url: str) -> None:
    found = settings(postgres_url)
    assert (found["fsync"], found["synchronous_commit"], found["full_page_writes"]) == ("on", "on", "on")
    assert found["listen_addresses"] == ""


@pytest.mark.parametrize("round_", [1, 2])
def test_every_test_has_an_empty_database(postgres_url: str, round_: int) -> None:
    import psycopg

    with psycopg.connect(postgres_url) as connection:
        found = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
        assert found == (0,)
        connection.execute("CREATE TABLE mine (a int)")


def test_a_run_that_is_killed_leaves_no_server_behind(postgres_host: str, tmp_path: Path) -> None:
    note = tmp_path / "note"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as owner:
        folder = Path(postgres_server.host(note, owner.pid))
        assert folder != Path(postgres_host)
        assert (folder / "cluster").is_dir()
        owner.send_signal(signal.SIGKILL)
    end = time.monotonic() + postgres_server.PATIENCE
    while (folder.exists() or note.exists()) and time.monotonic() < end:
        time.sleep(0.1)
    assert not folder.exists()
    assert not note.exists()


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    note = tmp_path / "note"
    note.write_text('{"pid": 0, "error": "no space"}')
    with pytest.raises(RuntimeError, match=r"^The private PostgreSQL server did not start: no space$"):
        postgres_server.host(note, os.getpid())


def run_without_a_server(**environment: str) -> subprocess.CompletedProcess[str]:
    """A run of one test in a process that finds no server's programs."""
    code = (
        "import sys, pytest; sys.path.insert(0, sys.argv[1]); import postgres_server; "
        "postgres_server.binaries = lambda: None; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', sys.argv[2]]))"
    )
    one = f"{__file__}::{test_the_server_waits_for_the_disk_and_listens_on_no_network.__name__}"
    return subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent), one],
        env={name: value for name, value in os.environ.items() if name != "DPFDA_REQUIRE_POSTGRES"} | environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_a_server_tests_are_skipped_and_the_last_lines_say_so() -> None:
    ran = run_without_a_server()
    *_, note, closing = ran.stdout.strip().splitlines()
    assert ran.returncode == 0, ran.stdout
    assert note == "1 ledger tests on PostgreSQL did not run: install Debian's package postgresql"
    assert closing.startswith("1 skipped in ")


def test_where_a_server_is_required_its_absence_is_a_failure() -> None:
    ran = run_without_a_server(DPFDA_REQUIRE_POSTGRES="1")
    assert ran.returncode == 1, ran.stdout
    assert "PostgreSQL did not run: install Debian's package postgresql; DPFDA_REQUIRE_POSTGRES is set." in ran.stdout


def test_the_library_that_talks_to_the_server_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_server, "binaries", lambda: Path("somewhere"))
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert postgres_server.missing() == "install psycopg, e.g. pip install 'dpfda[postgres]'"

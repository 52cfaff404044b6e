"""Ledgers that may only be read: they are shown, and nothing is written beside them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dpfda.errors import DataError
from dpfda.ledger import Charge, Ledger
from dpfda.privacy import Budget, PureProfile


def cost(key: str) -> Charge:
    return Charge("scans", "mean", Budget(0.25, 0.0), losses=(PureProfile(0.25),), key=key)


def as_nobody(act: Callable[[], object]) -> str:
    """What an act gives in a child that is nobody, since an administrator may write everywhere."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            os.write(writing, repr(act()).encode())
        except DataError as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with open(reading, "rb") as pipe:
        return pipe.read().decode()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that nobody can reach."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def closed(folder: Path) -> Path:
    ledger = Ledger(f"sqlite:///{folder / 'ledger.db'}")
    ledger.create("scans", epsilon=1.0, delta=0.0)
    ledger.charge(cost("a"))
    ledger.close()
    return folder / "ledger.db"


def killed(folder: Path) -> Path:
    """With a log that was not moved into the file."""
    ledger = Ledger(f"sqlite:///{folder / 'live.db'}")
    ledger.create("scans", epsilon=1.0, delta=0.0)
    ledger.charge(cost("a"))
    for end in ("", "-wal", "-head"):
        shutil.copy(folder / f"live.db{end}", folder / f"ledger.db{end}")
    ledger.close()
    return folder / "ledger.db"


@pytest.mark.parametrize("make", [closed, killed])
@pytest.mark.parametrize(
    "mode", [0o555, 0o755, 0o777], ids=["nobody may write", "the owner may write", "a free folder"]
)
def test_a_ledger_that_may_only_be_read_is_shown(folder: Path, make: Callable[[Path], Path], mode: int) -> None:
    path = make(folder)
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(mode)
    before = sorted(file.name for file in folder.iterdir())
    ledger = Ledger(f"sqlite:///{path}")

    def shown() -> tuple[object, ...]:
        ledger.check()
        return ledger.remaining().epsilon, len(ledger.history()), ledger.spent().epsilon, len(ledger.datasets())

    assert as_nobody(shown) == "(0.75, 2, 0.25, 1)"
    assert sorted(file.name for file in folder.iterdir()) == before
    said = as_nobody(lambda: ledger.charge(cost("b")))
    assert said.startswith("DataError: The ledger ")
    assert said.endswith("Nothing was entered.")


def test_a_role_that_may_only_read_is_shown_a_ledger_on_a_server(postgres_url: str) -> None:
    import psycopg

    ledger = Ledger(postgres_url)
    ledger.create("scans", epsilon=1.0, delta=0.0)
    ledger.charge(cost("a"))
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        role = f"reader_{connection.info.dbname}"
        connection.execute(f"CREATE ROLE {role} LOGIN".encode())
        connection.execute(f"GRANT SELECT ON dpfda_ledger, dpfda_events, dpfda_outputs TO {role}".encode())
    try:
        reader = Ledger(postgres_url.replace("postgres@", f"{role}@"))
        assert reader.remaining().epsilon == 0.75
        assert [entry.kind for entry in reader.history()] == ["create", "charge"]
        reader.check()
        with pytest.raises(DataError, match=r"cannot be written: .*\. Nothing was entered\.$"):
            reader.charge(cost("b"))
        reader.close()
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"DROP OWNED BY {role}".encode())
            connection.execute(f"DROP ROLE {role}".encode())

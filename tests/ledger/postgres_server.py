"""A private PostgreSQL server that lives exactly as long as one run of the tests.

The first test that needs it starts this file as a process of its own (`serve`), which makes a cluster in a new folder,
runs the server as a child, and takes both away when it is told to, or when the run of the tests is no longer there: a
run that is killed leaves nothing behind, and nothing is ever used twice.
"""

from __future__ import annotations

import fcntl
import glob
import importlib.util
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

NOTE = "DPFDA_POSTGRES_NOTE"  # where a run's processes read of its server: a path and the run's process id
DID_NOT_RUN = "PostgreSQL did not run: "
PATIENCE = 120.0  # seconds; a loaded machine takes its time
SETTINGS = {
    "listen_addresses": "",  # the socket in its own folder is the only door
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "max_connections": "200",
    "shared_buffers": "16MB",
    "log_min_messages": "fatal",
}


def binaries() -> Path | None:
    """The folder of a server's programs: Debian keeps them beside the path."""
    kept = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=_version, reverse=True)
    found = shutil.which("initdb")
    for folder in [*kept, *([str(Path(found).resolve().parent)] if found else [])]:
        if all(os.access(Path(folder) / name, os.X_OK) for name in ("initdb", "postgres")):
            return Path(folder)
    return None


def _version(folder: str) -> tuple[int, ...]:
    return tuple(int(part) for part in Path(folder).parent.name.split(".") if part.isdigit())


def missing() -> str | None:
    """What has to be installed before a server can be started, in words; None if nothing."""
    if binaries() is None:
        return "install Debian's package postgresql"
    if importlib.util.find_spec("psycopg") is None:
        return "install psycopg, e.g. pip install 'dpfda[postgres]'"
    return None


def host(note: Path, owner: int) -> str:
    """The folder of the socket of this run's server, which is started if nobody did so before."""
    with open(f"{note}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not note.exists():
            command = [sys.executable, __file__, str(note), str(owner)]
            subprocess.run(command, stdin=subprocess.DEVNULL, start_new_session=True, check=True, timeout=PATIENCE)
            end = time.monotonic() + PATIENCE
            while not note.exists():
                if time.monotonic() > end:
                    raise RuntimeError(f"The private PostgreSQL server did not start within {PATIENCE:g} s.")
                time.sleep(0.05)
    found = json.loads(note.read_text())
    if "error" in found:
        raise RuntimeError(f"The private PostgreSQL server did not start: {found['error']}")
    return str(found["host"])


def stop(note: Path) -> None:
    """Take the server of this run away, if there is one, and wait until it is gone."""
    with suppress(FileNotFoundError):
        found = json.loads(note.read_text())
        with suppress(ProcessLookupError):
            os.kill(found["pid"], signal.SIGTERM)
        end = time.monotonic() + PATIENCE
        while note.exists() and alive(found["pid"]) and time.monotonic() < end:
            time.sleep(0.05)
    for path in (note, Path(f"{note}.lock")):
        path.unlink(missing_ok=True)


def alive(process: int) -> bool:
    """Whether it still runs; one that waits for its parent to hear of its end does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        if Path("/proc/self/stat").exists():
            return False
        with suppress(ProcessLookupError):
            os.kill(process, 0)
            return True
        return False
    return state not in "ZX"


def serve(note: Path, owner: int) -> None:
    """Run a server until the owner ends or says so; the note says where it is, or why there is none."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    folder = Path(tempfile.mkdtemp(prefix="dpfda-postgres-"))
    server = None
    try:
        try:
            server = _started(folder)
            said: dict[str, Any] = {"pid": os.getpid(), "host": str(folder)}
        except (OSError, RuntimeError, KeyError, subprocess.SubprocessError) as error:
            said = {"pid": os.getpid(), "error": str(error)}
        written = Path(f"{note}.new")
        written.write_text(json.dumps(said))
        written.replace(note)
        while alive(owner) and server is not None and server.poll() is None:
            time.sleep(0.2)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if server is not None:
            _ended(server)
        shutil.rmtree(folder, ignore_errors=True)
        if not alive(owner):
            for path in (note, Path(f"{note}.lock")):
                path.unlink(missing_ok=True)


def _started(folder: Path) -> subprocess.Popen[bytes]:
    programs = binaries()
    if programs is None:
        raise RuntimeError("no programs were found")
    identity: dict[str, Any] = {}
    if os.geteuid() == 0:
        # The server refuses to be run by the superuser; Debian's package brings a user for it.
        person = pwd.getpwnam("postgres")
        identity = {"user": person.pw_uid, "group": person.pw_gid, "extra_groups": []}
        os.chown(folder, person.pw_uid, person.pw_gid)
    common: dict[str, Any] = {"cwd": folder, "stdin": subprocess.DEVNULL, **identity}
    cluster = folder / "cluster"
    made = subprocess.run(
        [programs / "initdb", "-D", cluster, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        **common,
    )
    if made.returncode:
        raise RuntimeError(made.stderr.strip())
    settings = [f"--{name}={value}" for name, value in {**SETTINGS, "unix_socket_directories": str(folder)}.items()]
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen([programs / "postgres", "-D", cluster, *settings], stdout=log, stderr=log, **common)
    end = time.monotonic() + PATIENCE
    while not _ready(folder):
        if server.poll() is not None or time.monotonic() > end:
            _ended(server)
            raise RuntimeError((folder / "log").read_text(errors="replace").strip() or "it ended at once")
        time.sleep(0.05)
    return server


def _ready(folder: Path) -> bool:
    import psycopg

    try:
        psycopg.connect(f"postgresql://postgres@/postgres?host={folder}", connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def _ended(server: subprocess.Popen[bytes]) -> None:
    for wish, seconds in ((signal.SIGINT, 20.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, None)):
        if server.poll() is None:
            server.send_signal(wish)
            with suppress(subprocess.TimeoutExpired):
                server.wait(seconds)


if __name__ == "__main__" and os.fork() == 0:  # nobody's child: it outlives the worker that needed it first
    serve(Path(sys.argv[1]), int(sys.argv[2]))

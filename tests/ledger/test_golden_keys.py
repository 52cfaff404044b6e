"""Keys go on: those of golden ledgers whatever the code looks like by now, new ones on any processor."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
# A setting of OpenBLAS, which NumPy brings along: it computes as on a processor of this kind.
KINDS = ("Haswell", "Sandybridge", "Nehalem") if platform.machine() in ("x86_64", "AMD64") else ()


def run(*words: str, kind: str) -> str:
    """What a process says that computes as on another processor."""
    folder = HERE.parents[1]
    around = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, *words],
        env={**around, "OPENBLAS_CORETYPE": kind},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_golden_ledgers_check_charge_and_resume_on_the_kind_of_processor_that_charged_them() -> None:
    said = run("-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", str(HERE / "golden_keys.py"), kind="Haswell")
    assert "8 passed" in said


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.audit) if kind == "Sandybridge" else kind for kind in KINDS]
)
def test_a_request_is_the_same_on_every_processor(kind: str) -> None:
    told: dict[str, Any] = json.loads(run(str(HERE / "golden_requests.py"), kind=kind))
    here: dict[str, Any] = json.loads(run(str(HERE / "golden_requests.py"), kind=""))
    assert told == here
    assert len(set(told.values())) == len(told) >= 16

"""Pipes and devices in the place of files: one error, soon, and nothing is charged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dpfda
from dpfda.errors import DataError
from dpfda.ledger import anchor as anchors


@pytest.fixture(params=["pipe", "/dev/zero"])
def endless(request, tmp_path):
    """A path whose reader waits for ever, or reads for ever."""
    if request.param != "pipe":
        return request.param
    os.mkfifo(tmp_path / "pipe")
    return str(tmp_path / "pipe")


@pytest.fixture
def address(tmp_path):
    """A ledger with a budget."""
    found = f"sqlite:///{tmp_path / 'l.db'}"
    dpfda.Ledger(found).create("d", epsilon=2.0, delta=1e-6)
    return found


def test_an_anchor_that_never_ends_is_refused(endless, address):
    anchored = dpfda.Ledger(address, anchor=endless)
    est = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.0, dataset="d", ledger=anchored, force=True)
    for act in (lambda: est.fit(np.zeros((5, 3))), anchored.start_anchor, anchored.check):
        with pytest.raises(DataError):
            act()
    assert dpfda.Ledger(address).remaining("d").epsilon == pytest.approx(2.0)


def test_a_file_that_is_too_large_for_an_anchor_is_not_read(address, tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes(b"")
    os.truncate(file, anchors._MOST_BYTES + 1)
    with pytest.raises(DataError):
        dpfda.Ledger(address, anchor=file).start_anchor()


def test_a_ledger_or_a_store_that_is_no_file_is_refused(endless):
    with pytest.raises(DataError):
        dpfda.Ledger(f"sqlite:///{endless}").create("d", epsilon=1.0, delta=1e-6)
    est = dpfda.DensityFunction(epsilon=1.0, delta=1e-3, domain=(0, 1), mechanism="gp", force=True)
    with pytest.raises(DataError):
        est.open(f"sqlite:///{endless}", np.full(50, 0.5))


@pytest.mark.parametrize("command", ["show", "check", "anchor"])
def test_commands_end_with_code_five(endless, address, command):
    """In a process of its own, since the fault was to wait for ever."""
    arguments = ["budget", command, address, "--anchor", endless]
    code = "from dpfda.cli.command import run; run()"
    source = str(Path(dpfda.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        timeout=60,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    assert done.returncode == 5

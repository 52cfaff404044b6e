"""The service against strangers: schemathesis with all its checks, and 1,000 evaluations a second."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfda

sys.path.insert(0, str(Path(__file__).parents[2]))
from bench.service import cpu, load, request, start

pytestmark = pytest.mark.audit
TOKEN = "a-token-of-the-owner-2026"
SECONDS = 30.0


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of five kinds."""
    folder = tmp_path_factory.mktemp("releases")
    t, rng = np.linspace(0, 1, 20), np.random.default_rng(0)
    curves = np.sin(np.pi * t) * (0.5 + 0.1 * rng.normal(size=(800, 1)))
    stated: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-6, "bound": 1.0, "domain": (0.0, 1.0)}
    dpfda.MeanFunction(**stated).fit(curves, grid=t).release_.save(folder / "mean.json")
    dpfda.CovarianceFunction(**stated, force=True).fit(curves, grid=t).release_.save(folder / "covariance.json")
    dpfda.FPCA(n_components=2, **stated, force=True).fit(curves, grid=t).release_.save(folder / "components.json")
    model = dpfda.FunctionOnScalarRegression(covariate_bound=1.0, **stated, force=True)
    model.fit(rng.uniform(-1, 1, (800, 2)), curves, grid=t).release_.save(folder / "regression.json")
    people = dpfda.DensityFunction(epsilon=2.0, delta=1e-6, domain=(0.0, 100.0), force=True).fit(
        rng.normal(40, 12, 800)
    )
    people.release_.save(folder / "density.json")
    return folder


@pytest.fixture
def serving(releases: Path, tmp_path: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[str], int]]]:
    """Start the service over a copy of the files; the process and its port."""
    processes = []

    def run(*options: str) -> tuple[subprocess.Popen[str], int]:
        folder = shutil.copytree(releases, tmp_path / "releases")
        processes.append(start(folder, "--quiet", *options))
        return processes[-1]

    yield run
    for process, _ in processes:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 0


def schemathesis(port: int, folder: Path, *options: str, settings: str = "") -> str:
    """What `schemathesis run` prints, with all its checks; an error if it finds anything."""
    found = shutil.which("schemathesis") or str(Path(sys.executable).with_name("schemathesis"))
    assert Path(found).exists(), "schemathesis is one of the test extras and is not installed"
    (folder / "schemathesis.toml").write_text(settings)
    done = subprocess.run(
        [found, "run", f"http://127.0.0.1:{port}/openapi.json", "--checks", "all", "--seed", "1", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
    return done.stdout


def test_schemathesis_finds_nothing_where_everybody_may_only_read(serving, tmp_path):
    schemathesis(serving()[1], tmp_path, "--max-examples", "100")


def test_schemathesis_finds_nothing_with_the_owner_s_token(serving, tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    port = serving("--token-file", str(tmp_path / "token"))[1]
    schemathesis(port, tmp_path, "--max-examples", "100", "--header", f"Authorization: Bearer {TOKEN}")


@pytest.mark.parametrize("kind", ["mean", "covariance", "components", "density", "regression"])
def test_schemathesis_finds_nothing_in_any_kind_of_release(serving, tmp_path, kind):
    """With the id given, every request reaches the release itself."""
    settings = f'[parameters]\n"path.id" = "{kind}"\n'
    schemathesis(serving()[1], tmp_path, "--max-examples", "100", "--include-path-regex", "id", settings=settings)


def test_a_thousand_evaluations_a_second_are_answered_without_a_failure(serving):
    """Thirty seconds, one process, the client on the same machine.

    Where other tests take the machine meanwhile, what the service computes for one answer says what it could do.
    """
    process, port = serving()
    requests = [request("mean", 1, seed) for seed in range(64)]
    before = cpu(process)
    outcome = asyncio.run(load(port, requests, connections=32, seconds=SECONDS, rate=1000.0))
    computing = (cpu(process) - before) / outcome.answered
    assert outcome.failed == 0
    assert outcome.unanswered == 0
    assert outcome.answered >= 0.99 * 1000 * SECONDS or computing < 0.0007

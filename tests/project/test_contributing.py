"""The walk-throughs of CONTRIBUTING.md are run as they stand: a kernel, a basis and a statistic from outside."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python ?(?P<file>\S*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the named files, and with `session.py`, all other blocks in their order."""
    place = tmp_path_factory.mktemp("contributor")
    session = []
    for block in BLOCK.finditer((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
        if block["file"]:
            target = place / block["file"]
            target.parent.mkdir(exist_ok=True)
            target.write_text(block["code"], encoding="utf-8")
        else:
            session.append(block["code"])
    assert len(session) >= 4
    (place / "session.py").write_text("\n".join(session), encoding="utf-8")
    return place


def python(folder: Path, *words: str, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: what is registered there is not registered here."""
    path = f"{folder}:{ROOT / 'src'}"
    environment = {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "HOME": str(folder), "PATH": ""} | more
    return subprocess.run(
        [sys.executable, *words], cwd=cwd or folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_session_runs(folder: Path) -> None:
    done = python(folder, "-W", "ignore::dpfda.errors.AssumptionWarning", "session.py")
    assert done.returncode == 0, done.stderr


def command_line(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """`dpfda` with the new kind, on its file."""
    if not (folder / "binned.json").exists():
        python(folder, "session.py")
    code = (
        "import sys\nfrom dpfda.releases import kinds\nkinds.register('binned', 'binned')\n"
        f"sys.argv = ['dpfda', {command[0]!r}, 'binned.json', *{command[1:]!r}]\n"
        "from dpfda.cli.main import main\nmain()\n"
    )
    return python(folder, "-c", code)


@pytest.mark.parametrize("command", [("show",), ("evaluate", "--at", "0.1,0.9"), ("report",)], ids=str)
def test_the_command_line_knows_the_new_kind(folder: Path, command: tuple[str, ...]) -> None:
    done = command_line(folder, *command)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_service_answers_for_the_new_kind(folder: Path) -> None:
    command_line(folder, "show")  # makes the file
    code = (
        "from starlette.testclient import TestClient\n"
        "import dpfda\nfrom dpfda.releases import kinds\nfrom dpfda.service import make_app\n"
        "kinds.register('binned', 'binned')\nrelease = dpfda.load('binned.json')\n"
        "client = TestClient(make_app({'bins': release}), base_url='http://localhost')\n"
        "answer = client.post('/releases/bins/evaluate', json={'points': [[0.1], [0.9]]})\n"
        "assert answer.status_code == 200, answer.text\n"
        "assert answer.json()['values'] == release([0.1, 0.9]).tolist()\n"
    )
    done = python(folder, "-c", code)
    assert done.returncode == 0, done.stderr


def test_the_guarantee_of_the_new_kind_is_recomputed(folder: Path) -> None:
    done = command_line(folder, "verify")
    assert "the guarantee holds as recomputed" in done.stdout, done.stdout + done.stderr
    assert not re.search(r"^\s+fails\b", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("plugin", "tests", "member"),
    [
        ("my_kernels", "tests/kernels/test_contract.py", "Wendland"),
        ("my_bases", "tests/bases/test_contract.py", "quarter-waves"),
        ("my_laws", "tests/mechanisms/test_registered.py", "double-laplace"),
    ],
)
def test_the_contract_runs_on_what_was_registered(folder: Path, plugin: str, tests: str, member: str) -> None:
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", plugin, tests, "-k", member)
    done = python(folder, *words, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert re.search(r"^(?!0 )\d+ passed", done.stdout, re.MULTILINE)


TYPED = "import sys; sys.argv = ['dpfda', *sys.argv[1:]]; from dpfda.cli.main import main; main()"


@pytest.mark.parametrize(
    ("modules", "command", "shown"),
    [
        ("my_laws", "plan mean --n 3000 --epsilon 1 --delta 0 --bound 1 --mechanism double-laplace", "double-laplace"),
        ("my_bases", "plan mean --n 3000 --epsilon 1 --delta 0 --bound 1 --basis quarter-waves --size 5", "quarter"),
        (
            "my_kernels, my_laws",
            "plan mean --n 3000 --epsilon 1 --delta 1e-6 --bound 1 --mechanism gp --kernel wendland,0.5",
            "Wendland",
        ),
        ("my_laws", "verify double.json", "the guarantee holds as recomputed"),
        ("my_bases", "show quarter.json", "quarter"),
    ],
)
def test_the_command_imports_the_modules_that_are_named(folder: Path, modules: str, command: str, shown: str) -> None:
    if not (folder / "double.json").exists():
        python(folder, "session.py")
    done = python(folder, "-c", TYPED, *command.split(), DPFDA_MODULES=modules)
    assert shown in done.stdout, done.stdout + done.stderr
    without = python(folder, "-c", TYPED, *command.split())
    assert without.returncode not in (0, 1), without.stdout  # refused, and nothing unforeseen
    assert "Traceback" not in without.stderr


def test_a_module_that_cannot_be_imported_is_named(folder: Path) -> None:
    (folder / "failing.py").write_text("raise RuntimeError('not today')", encoding="utf-8")
    for name in ("nowhere", "failing"):
        done = python(folder, "-c", TYPED, "--version", DPFDA_MODULES=f"my_laws,{name}")
        assert (done.returncode, done.stdout) == (2, "")
        assert name in done.stderr
        assert "Traceback" not in done.stderr


RINGS = """
from dataclasses import dataclass

import numpy as np

from dpfda.kernels import Isotropic, register


@register(by_range={"rings": lambda rho: Rings(rho)})
@dataclass(frozen=True, slots=True)
class Rings(Isotropic):
    rho: float

    def at_distance(self, distance):
        return np.exp(-distance / self.rho) * np.cos(8 * distance / self.rho)
"""


def test_the_contract_finds_a_kernel_that_is_definite_on_a_line_alone(folder: Path) -> None:
    (folder / "rings.py").write_text(RINGS, encoding="utf-8")
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "rings", "tests/kernels/test_contract.py")
    done = python(folder, *words, "-k", "semidefinite and Rings", cwd=ROOT)
    assert done.returncode == 1, done.stdout[-3000:] + done.stderr[-1000:]
    assert re.search(r"^2 failed", done.stdout, re.MULTILINE), done.stdout[-3000:]  # in the plane and in space


WRONG_LAW = """
import numpy as np
from my_laws import DoubleLaplace

from dpfda.mechanisms import register_mechanism
"""
WRONG_DRAW = """

@register_mechanism("{name}")
class Wrong{number}(DoubleLaplace):
    name = "{name}"

    def draw(self, coordinates, scale, *, randomness):
        {body}
"""
HONEST = "super().draw(coordinates, scale, randomness=randomness)"
WRONG = {
    "wrong-no-noise": ("return coordinates", "given_source_alone"),
    "wrong-a-tenth": (
        "return super().draw(coordinates, scale / 10, randomness=randomness)",
        "variances_of_its_law",
    ),
    "wrong-floats": ("return coordinates + np.random.laplace(0, scale, len(coordinates))", "64_bit_integers"),
    "wrong-numpy": ("return coordinates + np.random.laplace(0, 2 * scale, 6).astype(int)", "given_source_alone"),
    "wrong-always-the-same": (
        "return coordinates + np.random.default_rng(1).laplace(0, scale, 6).astype(int)",
        "given_source_alone",
    ),
    "wrong-looks": (f"return {HONEST} // 2 * 2 + (coordinates > 9)", "look_at_the_coordinates"),
}


def test_the_contract_finds_laws_that_are_not_drawn(folder: Path) -> None:
    draws = [
        WRONG_DRAW.format(name=name, number=number, body=body) for number, (name, (body, _)) in enumerate(WRONG.items())
    ]
    (folder / "wrong_laws.py").write_text(WRONG_LAW + "".join(draws), encoding="utf-8")
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "wrong_laws", "tests/mechanisms/test_registered.py")
    done = python(folder, *words, "-k", "wrong", cwd=ROOT)
    assert done.returncode == 1, done.stdout[-3000:] + done.stderr[-1000:]
    failed = re.findall(r"^FAILED \S+::(\w+)\[(\S+)\]", done.stdout, re.MULTILINE)
    for name, (_, caught) in WRONG.items():
        assert any(caught in test and member.endswith(name) for test, member in failed), name

"""The only place that draws: its bits, its limits, its behaviour after a fork, and that nothing else draws."""

from __future__ import annotations

import ast
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import opendp.measurements
import pytest
from refusals import refused
from scipy.stats import binom, chisquare

import dpfda
from dpfda.errors import UsageError
from dpfda.mechanisms import Randomness, SeededRandomness, SystemRandomness

SOURCES = [SystemRandomness(), SeededRandomness(0)]
every = pytest.mark.parametrize("randomness", SOURCES, ids=lambda r: type(r).__name__)


@every
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 2.0**53])
def test_noise_is_a_vector_of_64_bit_integers_at_either_end_of_the_range(
    randomness: Randomness, law: str, scale: float
) -> None:
    """At the smallest scale a number other than 0 has a chance below e^-1000; at the largest, of a 0, below 1e-15."""
    z = getattr(randomness, law)(scale, 40)
    assert z.shape == (40,)
    assert z.dtype == np.int64
    if scale != 1.0:
        assert np.all(z == 0) if scale < 1 else np.all(z != 0)


@every
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.0, -1.0, 9.99e-4, 2.0**53 + 2.0, math.inf, math.nan])
def test_a_scale_out_of_range_is_refused(randomness: Randomness, law: str, scale: float) -> None:
    with refused(UsageError, "scale", scale):
        getattr(randomness, law)(scale, 3)


@every
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("size", [0, -1])
def test_no_coordinate_at_all_is_refused(randomness: Randomness, law: str, size: int) -> None:
    with refused(UsageError, "size", size):
        getattr(randomness, law)(1.0, size)


@every
def test_bits_are_uniform_integers_below_2_to_the_53(randomness: Randomness) -> None:
    """Each of the 53 bits, and 64 equal cells: level 1e-6 for each of 54 tests, anew in each run for the system's."""
    draws = 20_000
    bits = randomness.bits53(draws)
    assert bits.dtype == np.int64
    assert bits.shape == (draws,)
    assert bits.min() >= 0
    assert bits.max() < 2**53
    low, high = binom(draws, 0.5).ppf([5e-7, 1 - 5e-7])
    for position in range(53):
        assert low <= np.sum((bits >> position) & 1) <= high
    assert chisquare(np.bincount(bits >> 47, minlength=64)).pvalue > 1e-6
    # 20,000 numbers out of 2^53: two are equal with a chance of 2e-8.
    assert len(np.unique(bits)) == draws


def test_only_the_systems_noise_is_private_and_a_seed_repeats() -> None:
    assert SystemRandomness().private is True
    assert SeededRandomness(0).private is False
    one, same = SeededRandomness(8), SeededRandomness(8)
    for draw in ("laplace", "gaussian"):
        assert np.array_equal(getattr(one, draw)(1e9, 20), getattr(same, draw)(1e9, 20))
    assert np.array_equal(one.bits53(20), same.bits53(20))
    assert np.array_equal(one.normal((2, 3)), same.normal((2, 3)))
    assert np.array_equal(one.uniform((2, 3)), same.uniform((2, 3)))


def test_the_systems_source_takes_no_seed_and_keeps_no_state() -> None:
    with pytest.raises(TypeError):
        SystemRandomness(0)  # type: ignore[call-arg]
    assert vars(SystemRandomness()) == {}


FORK = """
import json, os, sys
import numpy as np
from dpfda.mechanisms import SystemRandomness

source, numpy_source = SystemRandomness(), np.random.default_rng()
source.laplace(1e12, 3), source.gaussian(1e12, 3), source.bits53(3)

def draw():
    return {
        "laplace": source.laplace(1e12, 3).tolist(),
        "gaussian": source.gaussian(1e12, 3).tolist(),
        "bits53": source.bits53(3).tolist(),
        "numpy": numpy_source.integers(0, 2**53, 3).tolist(),
    }

answers = []
for _ in range(2):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, json.dumps(draw()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    answers.append(json.loads(os.read(read, 65536)))
answers.append(draw())
json.dump(answers, sys.stdout)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_forked_children_and_their_parent_draw_different_noise() -> None:
    """Two equal numbers would be a chance below 1e-10; a numpy generator in the same children repeats itself."""
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True, timeout=120)
    answers = json.loads(done.stdout)
    for name in ("laplace", "gaussian", "bits53"):
        drawn = [number for answer in answers for number in answer[name]]
        assert len(set(drawn)) == len(drawn) == 9
    assert answers[0]["numpy"] == answers[1]["numpy"] == answers[2]["numpy"]


def test_a_sampler_that_returns_another_length_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(*_: Any, **__: Any) -> Any:
        return lambda zeros: zeros[1:]

    monkeypatch.setattr(opendp.measurements, "make_laplace", short)
    with pytest.raises(RuntimeError, match=r"^the sampler returned a vector of another length$"):
        SystemRandomness().laplace(1.0, 3)


DRAWS = re.compile(
    r"\b(np|numpy)\.random\b|\bdefault_rng\b|\bRandomState\b|^\s*(import|from) (random|secrets)\b"
    r"|\bsecrets\.|\burandom\b|\bgetrandom\b|\bfrom numpy import random\b"
    r"|\bmake_(laplace|gaussian)\b|^\s*(import|from) opendp\b",
    re.MULTILINE,
)


def code_without_docstrings(text: str) -> str:
    """The code alone: examples in docstrings may make up their data."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def test_nothing_else_in_the_package_draws() -> None:
    root = Path(dpfda.__file__).parent
    files = sorted(root.rglob("*.py"))
    assert len(files) > 40
    drawing = [str(file.relative_to(root)) for file in files if DRAWS.search(code_without_docstrings(file.read_text()))]
    # Synthetic records come from a release, after its noise: whoever has it may draw, and with a seed too. What a
    # release shows above its noise is judged by simulated noise with a public seed, which enters no release. The check
    # of a summary, for contributors, makes up its records.
    assert drawing == [
        "curator/checking.py",
        "mechanisms/randomness.py",
        "releases/detection.py",
        "statistics/density/mesh.py",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "x = np.random.normal()",
        "rng = default_rng(0)",
        "import random",
        "from random import gauss",
        "import secrets",
        "x = os.urandom(8)",
        "from numpy import random",
        "import opendp.measurements",
    ],
)
def test_the_search_finds_what_it_is_after(line: str) -> None:
    assert DRAWS.search(code_without_docstrings(f'"""A module."""\ndef f():\n    {line}\n'))

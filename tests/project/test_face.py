"""The public names, what importing them costs, and the examples in README."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import dpfda

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()

NAMES = [
    "Budget",
    "Certificate",
    "CovarianceFunction",
    "Curator",
    "Curves",
    "DensityFunction",
    "Domain",
    "FPCA",
    "FunctionOnScalarRegression",
    "KernelClassifier",
    "KernelRegressor",
    "Ledger",
    "Maximiser",
    "MeanFunction",
    "PerturbedFunction",
    "Plan",
    "Reading",
    "Release",
    "SessionLedger",
    "StatedLoss",
    "Unit",
    "bases",
    "errors",
    "kernels",
    "load",
    "mechanisms",
    "open_store",
    "planner",
    "private_bound",
    "private_choice",
    "read_curves",
    "sensitivities",
    "studies",
]


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_the_public_names_are_these():
    assert sorted(dpfda.__all__) == NAMES
    assert dir(dpfda) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_there_and_says_what_it_is(name):
    assert getattr(dpfda, name).__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Meen'"):
        dpfda.Meen  # noqa: B018


def test_importing_the_package_loads_no_heavy_library():
    loaded = json.loads(run("import sys, json, dpfda; print(json.dumps(sorted(sys.modules)))"))
    heavy = {"opendp", "dp_accounting", "pandas", "matplotlib", "sklearn", "scipy", "pyarrow", "skfda", "rich", "click"}
    assert not heavy & set(loaded)


def test_bases_kernels_and_mechanisms_load_no_heavy_library_either():
    code = (
        "import sys, json, dpfda; dpfda.bases, dpfda.kernels, dpfda.mechanisms, dpfda.Budget;"
        "print(json.dumps(sorted(sys.modules)))"
    )
    assert not {"opendp", "pandas", "matplotlib", "sklearn", "scipy", "pyarrow"} & set(json.loads(run(code)))


def test_the_version_is_said_once():
    from importlib.metadata import version

    assert version("dpfda") == dpfda.__version__
    assert f"## {dpfda.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_python_examples_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    assert blocks("python")
    for block in blocks("python"):
        exec(block, names)
    assert (tmp_path / "mean.json").is_file()


def test_the_commands_of_the_readme_run(tmp_path, monkeypatch):
    from dpfda.cli.main import cli

    monkeypatch.chdir(tmp_path)
    # The example file of the README: scans.csv with a person in each row's ID and values in t1, t2, ...
    rows = ["ID,t1,t2,t3,t4,t5"] + [f"{i % 200},{i % 3},1,0.5,{i % 2},0.25" for i in range(600)]
    Path("scans.csv").write_text("\n".join(rows))
    commands = [line for block in blocks("console") for line in block.splitlines() if line.startswith("$ dpfda")]
    assert len(commands) >= 4
    for command in commands:
        result = CliRunner().invoke(cli, shlex.split(command.removeprefix("$ dpfda")))
        assert result.exit_code == 0, f"{command}: {result.output}"


def test_the_readme_names_the_two_commands():
    assert "make demo" in README
    assert "make test" in README


def test_the_command_line_reference_is_up_to_date():
    """In a process of its own: a command that a test has called without its group keeps other words for --help."""
    code = "import sys; sys.path.insert(0, 'scripts'); from make_docs import reference; sys.stdout.write(reference())"
    made = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert made.stdout == (ROOT / "docs" / "command-line.md").read_text(), "run make docs"

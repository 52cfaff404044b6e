"""Imports go one way, and public code never names the private side."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "dpfda"

# From left to right: a module imports only what stands to its left.
LAYERS = [
    "parameters",
    "messages",
    "errors",
    "arrays",
    "kernels",
    "bases",
    "privacy",
    "mechanisms",
    "ledger",
    "releases",
    "page",
    "records",
    "planning",
    "curator",
    "online",
    "statistics",
    "service",
    "studies",
    "cli",
    "reproduce",
]
# Who may see records: whole folders, and files of a statistic by their role.
PRIVATE_FOLDERS = {"records", "curator", "online", "cli", "studies", "reproduce"}
PRIVATE_ROLES = {
    "summary",
    "estimator",
    "base",  # what the estimators of kernel machines share
    "online",
    "bandwidth",
    "leave_one_out",
    "pending",
    "private_bound",
    "private_choice",
}
# A store holds answers that were paid for, and is opened without any record.
ALLOWED = {("service/served.py", "online")}

FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path) for path in FILES}


def imported(path: Path) -> set[str]:
    """The modules that a file imports, wherever in it the import stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "dpfda":
            package = node.module.removeprefix("dpfda").lstrip(".")
            inside = {f"{package}.{alias.name}".lstrip(".") for alias in node.names}
            found |= {name if name in MODULES or not package else package for name in inside}
        elif isinstance(node, ast.Import):
            found |= {alias.name.removeprefix("dpfda.") for alias in node.names if alias.name.startswith("dpfda.")}
    return found


def layer(module: str) -> str:
    return module.split(".")[0]


def is_private(module: str) -> bool:
    if layer(module) == "statistics":
        return module.split(".")[-1] in PRIVATE_ROLES
    return layer(module) in PRIVATE_FOLDERS


def test_every_folder_and_module_is_a_layer() -> None:
    assert {layer(module) for module in MODULES} == set(LAYERS)


def test_the_map_of_the_package_has_the_layers_in_their_order() -> None:
    text = ast.get_docstring(ast.parse((SOURCE / "__init__.py").read_text())) or ""
    assert re.findall(r"^    (\w+)(?:\.py|/) ", text, re.MULTILINE) == LAYERS


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_what_stands_to_its_left(path: Path) -> None:
    allowed = set(LAYERS[: LAYERS.index(layer(name_of(path))) + 1])
    assert {layer(module) for module in imported(path)} <= allowed


PUBLIC = [path for path in FILES if not is_private(name_of(path))]


@pytest.mark.parametrize("path", PUBLIC, ids=lambda path: str(path.relative_to(SOURCE)))
def test_public_code_never_names_the_private_side(path: Path) -> None:
    seen = {module for module in imported(path) if is_private(module)}
    assert {module for module in seen if (str(path.relative_to(SOURCE)), module) not in ALLOWED} == set()


def test_every_role_of_a_statistic_has_a_side() -> None:
    """A file of a new name must be put on a side on purpose."""
    known = PRIVATE_ROLES | {
        *("release", "page", "plan", "sensitivity", "features", "losses", "solver"),
        *("covariates", "perturbation", "noise", "errors", "papers", "default_design", "windows", "smoothing", "mesh"),
        *("utilities", "own_loss", "sides"),
    }
    folders = {path.parent.name for path in SOURCE.glob("statistics/*/__init__.py")}
    roles = {path.stem for path in SOURCE.glob("statistics/**/*.py") if path.stem != "__init__"}
    assert roles - known == set()
    assert folders >= {"mean", "covariance", "components", "regression", "density", "machines", "maximiser"}


def test_nothing_imports_the_reproductions() -> None:
    outside = [path for path in FILES if layer(name_of(path)) != "reproduce"]
    assert [path for path in outside if any(layer(module) == "reproduce" for module in imported(path))] == []


def test_everything_else_works_without_the_reproductions(tmp_path: Path) -> None:
    shutil.copytree(SOURCE, tmp_path / "dpfda", ignore=shutil.ignore_patterns("reproduce", "__pycache__"))
    code = (
        "import dpfda, dpfda.studies.comparison, dpfda.service\n"
        "from dpfda.cli.main import cli\n"
        f"assert str(dpfda.__file__).startswith({str(tmp_path)!r})\n"
        "assert 'reproduce' not in cli.commands and 'compare' in cli.commands\n"
        "est = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.0, domain=(0.0, 1.0))\n"
        "print(est.plan(n=1000).to_dict()['mechanism'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (0, "gaussian\n"), done.stderr


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_holds_one_subject_and_says_which(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 600
    assert text.startswith('"""'), "the first line says what is in it"
    assert not text.startswith('"""Come here')


@pytest.mark.parametrize(
    "folder",
    sorted(
        path.parent
        for path in SOURCE.rglob("__init__.py")
        if "\n    " in (ast.get_docstring(ast.parse(path.read_text())) or "")
    ),
    ids=lambda folder: str(folder.relative_to(SOURCE)),
)
def test_the_list_of_files_in_a_package_is_complete(folder: Path) -> None:
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    listed = re.findall(r"^    (\w+)\.py +\S", text, re.MULTILINE)
    assert sorted(listed) == sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")


def test_this_check_sees_an_import_inside_a_function(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(
        "def f():\n    from dpfda.records import Curves\n    import dpfda.curator\n    from dpfda import planning\n"
        "    from dpfda.statistics.mean import summary\n"
    )
    assert imported(bad) == {"records", "curator", "planning", "statistics.mean.summary"}
    assert [is_private(module) for module in sorted(imported(bad))] == [True, False, True, True]

"""Imports go one way, and the public side never sees the private side."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "dpfda"

# From left to right: a module imports only what stands to its left.
LAYERS = [
    "errors",
    "arrays",
    "symmetric",
    "norms",
    "kernels",
    "bases",
    "privacy",
    "mechanisms",
    "releases",
    "records",
    "machines",
    "summaries",
    "planner",
    "curator",
    "online",
    "estimators",
    "studies",
    "apps",
]
PRIVATE = {
    "mechanisms",
    "records",
    "machines",
    "summaries",
    "planner",
    "curator",
    "online",
    "estimators",
    "studies",
    "apps",
}
FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def layer(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The layers that a file imports, wherever in it the import stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "dpfda":
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("dpfda.")}
    return found


def test_every_folder_and_module_is_a_layer():
    assert {layer(path) for path in FILES} == set(LAYERS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_what_stands_to_its_left(path):
    allowed = set(LAYERS[: LAYERS.index(layer(path)) + 1])
    assert imported(path) <= allowed


@pytest.mark.parametrize(
    "path", [path for path in FILES if layer(path) in ("releases", "privacy", "bases", "kernels")], ids=str
)
def test_the_public_side_never_imports_the_private_side(path):
    assert not imported(path) & PRIVATE


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_holds_one_subject_and_says_which(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 600
    assert text.startswith('"""'), "the first line says what is in it"


def test_this_check_sees_an_import_inside_a_function(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text(
        "def f():\n    from dpfda.records import Curves\n    import dpfda.curator\n    from dpfda import planner\n"
    )
    assert imported(bad) == {"records", "curator", "planner"}

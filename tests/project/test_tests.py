"""Every test can fail: it asserts something, expects an error, or calls a function that does."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
# Calls that fail by themselves; so does whatever is called `assert_...` or `check...`.
FAILING = {"raises", "warns", "refused", "fail", "validate"}


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def can_fail(function: ast.FunctionDef, known: set[str]) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = called(node)
            if name in FAILING | known or name.startswith(("assert_", "check")):
                return True
    return False


def idle(source: str) -> list[str]:
    """The tests of a file that nothing can make fail but an error that they do not look for."""
    functions = {node.name: node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}
    known: set[str] = set()
    more = {""}
    while more:
        known |= more
        more = {name for name, each in functions.items() if name not in known and can_fail(each, known)}
        more = {name for name in more if not name.startswith("test_")}
    return [name for name, each in functions.items() if name.startswith("test_") and not can_fail(each, known)]


@pytest.mark.parametrize("path", sorted(TESTS.rglob("test_*.py")), ids=lambda path: str(path.relative_to(TESTS)))
def test_every_test_can_fail(path: Path) -> None:
    assert idle(path.read_text()) == []


def test_this_check_finds_tests_without_an_assertion() -> None:
    assert idle("def test_a(): print(1)") == ["test_a"]
    assert idle("def test_a(): assert 1") == []
    assert idle("def test_a():\n    with pytest.raises(ValueError): f()") == []
    assert idle("def f(): assert 1\ndef g(): f()\ndef test_a(): g()") == []
    assert idle("def f(): print(1)\ndef test_a(): f()") == ["test_a"]

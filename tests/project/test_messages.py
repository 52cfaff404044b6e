"""Messages never repeat a whole argument of the user's, which may be the data by a slip of the hand.

The fields `value` of an error and `arg(name, value)` in its message are made brief by themselves; see `test_errors`.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from dpfda import errors, messages

SOURCE = Path(__file__).parents[2] / "src" / "dpfda"
ERRORS = {name for module in (errors, messages) for name, thing in vars(module).items() if isinstance(thing, type)}

# What may be shown in full, since it is text that was found short before.
SHORT = {
    # Names of files: `as_path` takes 4,096 bytes at most, and the file system fewer.
    "str(...)",
    "file.name",
    "self.file.name",
    "where.name",
    "self.name",
    "self._store.name",
    # Names of data sets and keys, to be typed again: a ledger takes 200 characters at most.
    "account.name",
    "card.dataset",
    "entry.dataset",
    "entry.key",
    "order.charge.key",
    "receipt.key",
    "known[0]",
    "name",
    "other",
    # A word of our own.
    "PRIVATE",
}
# `name` and `other` stand for many things; only here are they names that a ledger has accepted.
OF_LEDGERS = {"ledger/names.py", "ledger/durable.py"}


def shown(node: ast.AST) -> str | None:
    """What a part of a message shows by its `repr`, if it does."""
    if isinstance(node, ast.FormattedValue) and node.conversion == ord("r"):
        value = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "repr":
        value = node.args[0]
    else:
        return None
    is_text = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "str"
    return "str(...)" if is_text else ast.unparse(value)


def spoken(tree: ast.AST) -> list[ast.AST]:
    """Whatever is raised, and errors of ours that are made to be raised later."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS)
    ]


def repeated(source: str) -> set[str]:
    parts = (part for message in spoken(ast.parse(source)) for part in ast.walk(message))
    return {found for found in map(shown, parts) if found is not None}


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_an_error_shows_a_value_by_brief(path):
    place = path.relative_to(SOURCE).as_posix()
    allowed = SHORT if place in OF_LEDGERS else SHORT - {"name", "other"}
    allowed |= {"name"} if place == "__init__.py" else set()  # of an attribute of the package, as Python says it
    assert repeated(path.read_text()) <= allowed, "use dpfda.arrays.brief"


def test_this_check_sees_values_in_errors_that_are_raised_and_that_are_made():
    assert repeated("raise UsageError(f'got {self.edges!r}')") == {"self.edges"}
    assert repeated("problem = UsageError('got ' + repr(value))") == {"value"}
    assert repeated("raise UsageError(parameter='edges', value=edges, rule=f'is not {edges!r}')") == {"edges"}
    assert repeated("TEXT = Message('Take ', Words(f'edges={edges!r}', '--edges'), '.')") == {"edges"}
    assert repeated("raise DataError(f'No file {str(path)!r}, {brief(edges)}')") == {"str(...)"}

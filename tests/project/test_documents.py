"""What documents name exists: functions and tests by their names, files by their paths, links by their targets."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = {path.stem for path in (ROOT / "src" / "dpfda").iterdir() if not path.name.startswith("_")}
# Read for names of functions, and for whole sentences of ours.
NAMED = ["docs/architecture.md", "docs/mathematics.md", "docs/papers.md", "docs/security.md", "CONTRIBUTING.md"]
NAMED += sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "decisions").glob("*.md"))
EVERY = sorted(
    str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")) if path.is_file()
)
DOTTED = re.compile(r"(?<![\w./-])(?:dpfda\.)?([a-z_]+(?:\.\w+)+)(?![\w/-])")
TEST = re.compile(r"\b(tests/[\w/]+\.py)(?:::(\w+))?")
FILE = re.compile(r"(?<![\w/.])((?:src|tests|docs|scripts|bench)/[\w./-]*\w)")
LINK = re.compile(r"\[[^\]]+\]\(([^)#\s]+)(?:#[^)]*)?\)")


def text_of(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def code_in(text: str) -> Iterator[str]:
    """What stands in backticks, and blocks of text that are drawings."""
    yield from re.findall(r"^```text.*?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    # A paragraph is one line: what stands in backticks may go on in the next one.
    yield from re.findall(r"`([^`\n]+)`", re.sub(r"(?<!\n)\n(?!\n)", " ", prose_of(text)))


def prose_of(text: str) -> str:
    """All but blocks of code."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def named_functions(text: str) -> set[str]:
    return {
        name
        for code in code_in(text)
        for name in DOTTED.findall(code)
        if name.split(".")[0] in LAYERS and not name.endswith((".py", ".md"))
    }


def found(name: str) -> Any:
    """The module, class, function or attribute of this name, relative to dpfda."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing: Any = import_module(".".join(["dpfda", *parts[:length]]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            thing = getattr(thing, part)
        return thing
    raise AttributeError(name)


@cache
def functions_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("document", NAMED)
def test_every_function_that_is_named_exists(document: str) -> None:
    lost = []
    for name in sorted(named_functions(text_of(document))):
        try:
            found(name)
        except AttributeError:
            lost.append(name)
    assert lost == []


@pytest.mark.parametrize("document", EVERY)
def test_every_test_and_file_that_is_named_exists(document: str) -> None:
    text = text_of(document)
    lost = [file for file, _ in TEST.findall(text) if not (ROOT / file).is_file()]
    lost += [f"{file}::{test}" for file, test in TEST.findall(text) if test and test not in functions_in(file)]
    lost += [file for file in FILE.findall(text) if not (ROOT / file).exists()]
    assert lost == []


@pytest.mark.parametrize("document", EVERY)
def test_every_link_leads_somewhere(document: str) -> None:
    here = (ROOT / document).parent
    targets = [target for target in LINK.findall(prose_of(text_of(document))) if "://" not in target]
    assert [target for target in targets if not (here / target).exists()] == []


def test_the_mathematics_names_a_function_and_a_test_for_every_statement() -> None:
    text = text_of("docs/mathematics.md")
    assert len(named_functions(text)) > 40
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title = section.splitlines()[0]
        assert named_functions(section), title
        assert TEST.search(section), title


def test_these_checks_find_what_is_lost() -> None:
    assert named_functions("`privacy.calibration.calibrate` and `dpfda.kernels.register`, not `a.b`") == {
        "privacy.calibration.calibrate",
        "kernels.register",
    }
    with pytest.raises(AttributeError):
        found("privacy.calibration.no_such_function")
    assert "test_these_checks_find_what_is_lost" in functions_in("tests/project/test_documents.py")

"""docs/papers.md names every statement of the five papers, and what it names exists."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

import dpfda
from dpfda.cli.main import cli
from dpfda.reproduce.catalogue import HOMES

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")


def numbered(kind: str, *numbers: object) -> list[str]:
    return [f"{kind} {number}" for number in numbers]


# The numbers that stand in the papers themselves; the supplement of Mirshani et al. goes on with their numbers.
PAPERS: dict[str, list[str]] = {
    "Hall, Rinaldo and Wasserman (2013)": [
        *numbered("Definition", 1, 10),
        "Lemma 2",
        *numbered("Remark", 1, 2),
        *numbered("Proposition", 3, 4, 5, 6, 7, 8),
        "Corollary 9",
        *numbered("Section", 3.2, 4.1, "4.1.1", "4.1.2", 4.2, 4.3),
        *numbered("Section 5,", "batch", "online", "exponential kernel"),
        *numbered("Figure", 1, 2, 3),
    ],
    "Mirshani, Reimherr and Slavković (2019)": [
        *numbered("Definition", 2.1, 3.1, 3.2),
        *numbered("Theorem", 3.1, 3.2, 3.3, 4.1, 4.2),
        "Lemma 3.1",
        "Corollary 3.1",
        *numbered("Scenario", *range(1, 8)),
        *numbered("Figure", *range(1, 13)),
        *numbered("Table", 1, 2),
    ],
    "Awan, Kenney, Reimherr and Slavković (2019)": [
        *numbered("Definition", 2.1, 2.2),
        *numbered("Proposition", 2.3, 3.1),
        *numbered("Theorem", 3.2, 3.3, 4.1, 4.2),
        *numbered("Remark", 3.4, 4.3),
        "Example 3.5",
        "Section 4, covariance",
        "Section 5, sampler",
        *numbered("Figure", 1, 2, 3),
        *numbered("Table", 1, 2),
    ],
    "Lin and Reimherr (2026)": [
        *numbered("Definition", 1, 2),
        *numbered("Remark", 3, 13, 17, 19),
        *numbered("Theorem", 4, 5, 6, 7, 8, 9, 12, 14, 16, 18),
        *numbered("Assumption", 10, 11),
        "Corollary 15",
        "Algorithm 1",
        *numbered("Section", 2.3, 3.3, 4.4),
        *numbered("Figure", *range(1, 10)),
        *numbered("Table", 1, 2, 3),
        *numbered("Appendix", "C.1", "C.2"),
    ],
}


def rows(text: str) -> dict[str, list[list[str]]]:
    """The cells of every row, by the heading above its table."""
    found: dict[str, list[list[str]]] = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        lines = [line for line in part.splitlines() if line.startswith("| ")]
        cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
        found[part.splitlines()[0]] = [row for row in cells if row[0] != "statement"]
    return found


EVERY = [(paper, row) for paper, listed in rows(TEXT).items() for row in listed]


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def exists(name: str) -> bool:
    """Whether a class, function or attribute of this name stands in the package."""
    thing: Any = dpfda
    path = "dpfda"
    for part in name.split("."):
        path = f"{path}.{part}"
        if not hasattr(thing, part):
            try:
                thing = import_module(path)
            except ModuleNotFoundError:
                return False
        else:
            thing = getattr(thing, part)
    return True


def is_command(words: list[str]) -> bool:
    """Whether the first words are a command, and those that begin with -- are options of it."""
    command: click.Command = cli
    while words and isinstance(command, click.Group) and words[0] in command.commands:
        command, words = command.commands[words[0]], words[1:]
    known = {option for parameter in command.params for option in parameter.opts}
    return command is not cli and all(word in known for word in words if word.startswith("--"))


@cache
def functions_of(file: str) -> set[str]:
    path = ROOT / file
    return (
        set(re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)) if path.is_file() else set()
    )


def lost_tests(row: list[str]) -> list[str]:
    asked = [name for cell in row[3:] for name in named(cell) if name.startswith("tests/")]
    lost = []
    for name in asked:
        file, _, test = name.partition("::")
        if not functions_of(file) or (test and test not in functions_of(file)):
            lost.append(name)
    return lost


@pytest.mark.parametrize("paper", PAPERS)
def test_every_statement_of_a_paper_has_one_row(paper: str) -> None:
    listed = [row[0] for row in rows(TEXT)[paper]]
    assert sorted(listed) == sorted(PAPERS[paper])


def test_every_row_says_what_does_it_which_test_holds_it_and_what_was_seen() -> None:
    for paper, row in EVERY:
        assert len(row) == 5, (paper, row)
        assert all(row), (paper, row)
        assert named(row[2]), (paper, row[0])
        assert any(name.startswith("tests/") for name in named(row[3])), (paper, row[0])
        assert "partly" not in " ".join(row), (paper, row[0])


def test_every_function_and_command_that_is_named_exists() -> None:
    for paper, row in EVERY:
        for name in named(row[2]):
            if name.startswith("dpfda "):
                words = name.split()[1:]
                assert is_command(words), (paper, row[0], name)
                if words[0] == "reproduce":
                    assert words[1] in HOMES, (paper, row[0], name)
            else:
                assert exists(name), (paper, row[0], name)


def test_every_test_that_is_named_exists() -> None:
    assert [lost for _, row in EVERY for lost in lost_tests(row)] == []


def test_every_figure_and_table_is_reproduced_and_every_reproduction_is_named() -> None:
    told = {words.split()[2] for _, row in EVERY for words in named(row[2]) if words.startswith("dpfda reproduce ")}
    assert told == set(HOMES)
    for paper, row in EVERY:
        if row[0].startswith(("Figure", "Table")):
            assert "dpfda reproduce" in row[2], (paper, row[0])


def test_these_checks_find_what_is_lost() -> None:
    made = "## A\n\n| Theorem 1 | it | `MeanFunktion` | `tests/project/test_papers.py::test_none` | 1 |\n"
    ((row,),) = rows(made).values()
    assert lost_tests(row) == ["tests/project/test_papers.py::test_none"]
    assert not exists("MeanFunktion")
    assert exists("MeanFunction.open")
    assert not is_command(["reproduse"])
    assert not is_command(["release", "mean", "--no-such-option"])

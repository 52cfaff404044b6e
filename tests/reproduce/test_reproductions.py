"""Everything that can be reproduced is on the list, under the name by which it is found."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import dpfda
from dpfda.errors import UsageError
from dpfda.reproduce.catalogue import HOMES, load, select

STUDIES = Path(dpfda.__file__).parent / "reproduce"


@pytest.mark.parametrize("name", HOMES)
def test_a_name_leads_to_its_reproduction(name: str) -> None:
    found = load(name)
    assert (found.name, found.title) == (name, HOMES[name][1])


def test_no_reproduction_is_left_off_the_list() -> None:
    written = [path.stem for path in STUDIES.glob("*.py") if re.search(r"^REPRODUCTIONS?\b", path.read_text(), re.M)]
    made = []
    for stem in written:
        module = import_module(f"dpfda.reproduce.{stem}")
        made += getattr(module, "REPRODUCTIONS", ()) or (module.REPRODUCTION,)
    assert sorted(reproduction.name for reproduction in made) == sorted(HOMES)


def test_the_names_are_those_of_the_papers_tables_and_figures() -> None:
    figures = [f"mirshani-figure-{number}" for number in (1, 4, 5, 6, 7, 8, 9, 10)]
    assert set(HOMES) >= {
        *figures,
        "awan-figures-1-2-3",
        "awan-table-1",
        "awan-table-2",
        "mirshani-figures-2-3-11-12",
        "mirshani-table-1",
        "mirshani-table-2",
        "lin-covariance",
        "lin-regression",
        "lin-table-1",
        "lin-table-2",
        "lin-figure-1",
        "lin-figure-2",
        "lin-figure-3",
        "lin-figure-4",
        "lin-figure-5",
        "lin-figure-9",
        "lin-table-3",
        "hall-figure-1",
        "hall-figure-2",
        "hall-figure-3",
        "lin-figures-6-7-8",
    }


def test_a_word_stands_for_all_that_begin_with_it() -> None:
    assert select("lin-table-1") == ("lin-table-1",)
    # Figure 1 is a name, not the beginning of Figure 10.
    assert select("mirshani-figure-1") == ("mirshani-figure-1",)
    assert set(select("lin")) == {name for name in HOMES if name.startswith("lin-")}
    assert select("all") == tuple(HOMES)


@pytest.mark.parametrize("word", ["", "li", "lin-", "table-1"])
def test_half_a_word_stands_for_nothing(word: str) -> None:
    with pytest.raises(UsageError, match=f"^Nothing to reproduce is called '{word}'"):
        select(word)


def test_near_names_are_suggested() -> None:
    with pytest.raises(UsageError) as raised:
        select("lin-tabel-2")
    assert str(raised.value).startswith("Nothing to reproduce is called 'lin-tabel-2'. Did you mean lin-table-2 or ")

"""Tables on a terminal: four digits, nothing cut off, wide ones in pieces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpfda.cli.tables import MOST_ROWS, cell_text, leading_columns, pieces, print_table
from dpfda.studies.outcome import Table


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (1 / 3, "0.3333"),
        (np.float64(1234567.0), "1.235e+06"),
        (np.int64(5000), "5000"),
        (123456, "123456"),
        (None, ""),
        ("Matérn 3/2", "Matérn 3/2"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (True, "True"),
    ],
    ids=str,
)
def test_a_cell_is_written_for_people(cell: object, shown: str) -> None:
    assert cell_text(cell) == shown


@given(
    widths=st.lists(st.integers(1, 30), min_size=1, max_size=15),
    leading=st.integers(1, 3),
    available=st.integers(40, 200),
)
def test_pieces_hold_every_column_once_and_fit(widths: list[int], leading: int, available: int) -> None:
    leading = min(leading, len(widths))
    groups = pieces(widths, leading, available)
    head = list(range(leading))
    assert all(group[:leading] == head for group in groups)
    assert [column for group in groups for column in group[leading:]] == list(range(leading, len(widths)))
    for group in groups:
        # One column more than the head may be too wide by itself; nothing else may.
        assert sum(widths[column] for column in group) <= available or len(group) <= leading + 1


def test_columns_that_name_the_rows_come_before_the_first_fraction() -> None:
    assert leading_columns([("S-1", 1000, 0.5)]) == 2
    assert leading_columns([(0.1, 0.2)]) == 1
    assert leading_columns([("a", "b")]) == 1
    assert leading_columns([]) == 1


WIDE = Table(
    "A wide table",
    ("mean", "n", *(f"column {i}" for i in range(12))),
    tuple((name, 1000, *(i + 0.25 for i in range(12))) for name in ("S-1", "[bold]S-2[/bold]")),
)


def test_a_wide_table_is_cut_into_pieces_led_by_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(WIDE, width=80)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "A wide table"
    assert max(map(len, lines)) <= 80
    heads = [line for line in lines if line.startswith("mean")]
    assert len(heads) >= 2
    assert sum(head.count("column") for head in heads) == 12
    # Nothing in a cell is taken for a style.
    assert sum(line.startswith("[bold]S-2[/bold]") for line in lines) == len(heads)


def test_a_pipe_gets_whole_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(WIDE)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("mean")] == [lines[2]]
    assert lines[2].count("column") == 12
    assert not any(line.endswith(" ") for line in lines)


def test_a_long_table_says_where_the_rest_is(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(Table("Long", ("i",), tuple((i,) for i in range(MOST_ROWS + 5))), where="long.csv")
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "... and 5 more rows in long.csv"
    assert len(lines) == MOST_ROWS + 5


def test_a_table_without_rows_shows_its_head(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(Table("Empty", ("a", "b"), ()))
    assert "a" in capsys.readouterr().out.splitlines()[2]

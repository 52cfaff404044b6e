"""Where a row of a CSV file ends: by the line break of the header, and never inside somebody's cell."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpfda.records import csv_files as csvfile
from dpfda.records import read_curves
from dpfda.records.csv_files import CsvSource

searching = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
ENDS = ["\n", "\r\n", "\r"]
# What ends a line for some program: Python's str.splitlines knows ten signs.
BREAKS = ["\r", "\n", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\0", "\x1a"]


@pytest.fixture(params=["fast", "careful", "small blocks"])
def reader(request, monkeypatch):
    """Each way of reading."""
    if request.param == "careful":
        monkeypatch.setattr(CsvSource, "_fast", lambda self, *args, **kwargs: None)
    if request.param == "small blocks":
        monkeypatch.setattr(csvfile, "BLOCK", 7)
    return request.param


def read(file):
    """Identifiers and values of all rows."""
    curves = read_curves(file, values="t*", unit="id")
    table = np.concatenate([np.empty((0, 2)), *curves.batches(3)])
    ids = curves.source.texts("id")
    assert curves.rows == len(table) == len(ids)
    return list(zip([name.strip() for name in ids], table.tolist(), strict=True))


def units(file):
    return read_curves(file, values="t*", unit="id").units.size


def bare(rows):
    """Rows whose missing values compare equal."""
    return repr(rows)


@pytest.mark.parametrize("end", ENDS, ids=repr)
@pytest.mark.parametrize("sign", BREAKS, ids=repr)
def test_a_sign_in_a_cell_ends_no_row_unless_it_is_the_line_break_of_the_header(tmp_path, reader, sign, end):
    """One person's eight rows with a carriage return each were eight people."""
    if sign == end:
        return
    lines = ["id,t1,t2,note", "a,1,2,x", *(f"b,3,4,x{sign}q{place},9,9" for place in range(8)), "c,5,6,"]
    file = tmp_path / "c.csv"
    file.write_bytes((end.join(lines) + end).encode())
    assert units(file) == 3
    assert [name for name, _ in read(file)] == ["a", *"bbbbbbbb", "c"]


def test_a_carriage_return_that_pandas_does_not_quote_makes_no_person(tmp_path, reader):
    table = pd.DataFrame({"id": [f"P{place}" for place in range(9)], "t1": 1.0, "t2": 2.0, "note": "fine"})
    table.loc[4, "note"] = "a\rb\rc\r"
    table.to_csv(tmp_path / "c.csv", index=False)
    assert read(tmp_path / "c.csv") == [(f"P{place}", [1.0, 2.0]) for place in range(9)]


@pytest.mark.parametrize("end", ENDS, ids=repr)
def test_line_breaks_written_twice_or_otherwise_make_no_rows_of_their_own(tmp_path, reader, end):
    file = tmp_path / "c.csv"
    for other in ("\r\n", "\r\r\n", "\n"):
        if end == "\r" or (end, other) == ("\r\n", "\n"):
            continue
        file.write_bytes(f"id,t1,t2{end}a,1,2{other}{other}b,3,4{other}".encode())
        assert read(file) == [("a", [1, 2]), ("b", [3, 4])]
    file.write_bytes(b"id,t1,t2\r\r\na,1,2\r\r\nb,3,4\r\r\n")  # text mode of Windows, twice
    assert read(file) == [("a", [1, 2]), ("b", [3, 4])]


@pytest.mark.parametrize("end", ENDS, ids=repr)
@pytest.mark.parametrize("rest", ["1,2,", "1,2,,,,9", "1", ""], ids=["one more", "many more", "fewer", "none"])
def test_a_quoted_cell_of_several_lines_is_one_cell_however_many_the_row_has(tmp_path, reader, rest, end):
    """A delimiter at the end of the line tore the row, and its second line was another person."""
    lines = ["id,note,t1,t2", "a,x,1,2", *(f'b,"x{end}Q{place}",{rest}' for place in range(8)), "c,x,5,6"]
    file = tmp_path / "c.csv"
    file.write_bytes((end.join(lines) + end).encode())
    assert units(file) == 3
    assert [name for name, _ in read(file)] == ["a", *"bbbbbbbb", "c"]


def quoted(rows, sign, end):
    """Rows as a program writes them that quotes cells."""
    stream = io.StringIO()
    csv.writer(stream, delimiter=sign, lineterminator=end).writerows(rows)
    return stream.getvalue().encode()


# A cell that begins with a delimiter or a line break is the one thing that a stray mark before it can run into.
CELLS = st.text(alphabet='01,;"\n\r aé\x0b\u2028', max_size=8).filter(
    lambda text: not text.lstrip('" ').startswith((",", ";", "\t", "\r", "\n"))
)
ROWS = st.lists(st.lists(CELLS, min_size=3, max_size=5), max_size=4)


@searching
@given(
    before=ROWS.map(lambda rows: [["x", "1", "2"], *rows]),
    after=ROWS,
    one=st.lists(st.sampled_from([*b'0,;"\n\r a', 0, 255]), max_size=24).map(bytes),
    other=st.lists(st.sampled_from(['"', '""', ",", "\n", "\r\n", "x", ' "', '",', ',"']), max_size=9).map("".join),
    sign=st.sampled_from(",;"),
    end=st.sampled_from(ENDS),
    block=st.integers(1, 80),
)
@example(before=[["x"]], after=[["c", 'a, "b"', "4"]], one=b'p,"', other="p", sign=",", end="\n", block=9)
@example(before=[["x"]], after=[["c", "x", '"']], one=b'p,1,"', other='p,""', sign=",", end="\n", block=80)
@example(before=[["x"]], after=[["c", "x\n", "y,"]], one=b'p,1,"', other='"p"', sign=",", end="\n", block=80)
def test_whatever_one_person_writes_the_rows_of_all_others_stay(
    tmp_path, monkeypatch, before, after, one, other, sign, end, block
):
    """The lines of one person are replaced by any bytes; those around them were written by a program that quotes."""
    file, found = tmp_path / "c.csv", []
    first, last = (
        quoted([[f"P{place}", *row] for place, row in enumerate(rows)], sign, end) for rows in (before, after)
    )
    header = sign.join(["id", "t1", "note", "t2"]).encode() + end.encode()
    for lines in (one, other.encode()):
        file.write_bytes(header + first + lines + end.encode() + last)
        with monkeypatch.context() as patch:
            patch.setattr(csvfile, "BLOCK", block)
            rows = read(file)
        assert len(rows) >= len(before) + len(after)
        found.append((bare(rows[: len(before)]), bare(rows[len(rows) - len(after) :])))
    assert found[0] == found[1]
    assert len(read_rows(tmp_path, header + first)) == len(before)


def read_rows(folder, content):
    file = folder / "d.csv"
    file.write_bytes(content)
    return read(file)


def test_two_stray_marks_join_no_more_lines_than_a_cell_of_a_spreadsheet_may_have(tmp_path, monkeypatch):
    """Nobody can tell such lines from a cell with line breaks; so few of them are at stake."""
    lines = ["id,t1,t2", 'a,"1', *(f"b{place},1,2" for place in range(50)), 'c,9"', "d,1,2"]
    file = tmp_path / "c.csv"
    file.write_text("\n".join(lines) + "\n")
    assert len(read(file)) == 2
    monkeypatch.setattr(csvfile, "LONGEST_UNEVEN", 100)
    assert [name for name, _ in read(file)] == ["a", *(f"b{place}" for place in range(50)), "c", "d"]


def test_a_row_with_a_cell_for_every_column_may_be_long_but_not_without_end(tmp_path, monkeypatch):
    file = tmp_path / "c.csv"
    file.write_text('id,t1,t2,note\na,1,2,"' + "long\n" * 50_000 + '"\nb,3,4,\n')
    assert read(file) == [("a", [1, 2]), ("b", [3, 4])]
    monkeypatch.setattr(csvfile, "LONGEST_ROW", 1000)
    assert read(file)[-1] == ("b", [3, 4])

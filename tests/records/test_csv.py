"""CSV files: both readers agree on every row, and no row changes another."""

from __future__ import annotations

import csv
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpfda.errors import DataError
from dpfda.privacy import Unit
from dpfda.records import csv_files as csvfile
from dpfda.records import read_curves
from dpfda.records.csv_files import CsvSource

NAN = np.nan
searching = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@pytest.fixture(params=["fast", "careful", "small blocks"])
def reader(request, monkeypatch):
    """Each way of reading; tests that ask for it hold for all of them."""
    if request.param == "careful":
        monkeypatch.setattr(CsvSource, "_fast", lambda self, *args, **kwargs: None)
    if request.param == "small blocks":
        monkeypatch.setattr(csvfile, "BLOCK", 7)
    return request.param


def written(tmp_path, content, name="c.csv"):
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def read(file, *, values="t*", unit="id", rows=1000):
    """Rows and identifiers, after checking that counts, identifiers and batches agree."""
    curves = read_curves(file, values=values, unit=unit)
    batches = list(curves.batches(rows))
    assert all(0 < len(batch) <= rows for batch in batches)
    table = np.concatenate([np.empty((0, curves.source.width)), *batches])
    ids = curves.source.texts(unit)
    assert curves.rows == len(table) == len(ids)
    return table, list(ids)


def same(table, expected):
    return np.array_equal(table, np.array(expected, dtype=float).reshape(table.shape), equal_nan=True)


# Spellings.


@pytest.mark.parametrize("sign", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", ["", "\ufeff"], ids=["plain", "byte order mark"])
@pytest.mark.parametrize("last", [True, False], ids=["last line ended", "last line open"])
def test_delimiters_line_ends_and_a_byte_order_mark_are_understood(tmp_path, reader, sign, end, start, last):
    lines = ["id,t1,t2", "a,1,2", "", "b,3.5,-4e3", "", "a,,6"]
    text = start + end.join(line.replace(",", sign) for line in lines) + (end if last else "")
    table, ids = read(written(tmp_path, text), rows=2)
    assert same(table, [[1, 2], [3.5, -4000], [NAN, 6]])
    assert ids == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("", NAN),
        ("NA", NAN),
        ("NaN", NAN),
        ("nan", NAN),
        ("null", NAN),
        ("None", NAN),
        (".", NAN),
        ("n/a", NAN),
        ("missing", NAN),
        ("TRUE", 1),
        ("3 kWh", NAN),
        ("50%", NAN),
        ("1 234", NAN),
        ("(1+0j)", 1),
        ("(1+2j)", NAN),
        ("1,5", 1.5),
        ("0x10", NAN),
        ("2020-01-01", NAN),
        ("1_000", 1000),
        (" 1.5 ", 1.5),
        ("+1.5", 1.5),
        (".5", 0.5),
        ("5.", 5),
        ("1e3", 1000),
        ("1E+3", 1000),
        ("inf", np.inf),
        ("-Infinity", -np.inf),
        ("1e400", np.inf),
        ("1e-400", 0),
        ("5e-324", 5e-324),
        ("0.1", 0.1),
        ("1.7976931348623157e308", 1.7976931348623157e308),
        ("123456789012345678901234567890", 123456789012345678901234567890.0),
        ('"7"', 7),
        ('""', NAN),
        ('"', NAN),
        ('"7', 7),
        ('7"', NAN),
        ('"7""', 7),
        ("٣", 3),
        ("\0", NAN),
        ("9" * 200_000, np.inf),
    ],
    ids=lambda cell: repr(cell)[:12],
)
def test_a_cell_is_a_number_or_missing_whatever_it_holds(tmp_path, reader, cell, value):
    table, ids = read(written(tmp_path, f"id;t0;t1\na;1;2\nb;3;{cell}\nc;5;6\n"))
    assert same(table, [[1, 2], [3, value], [5, 6]])
    assert ids == ["a", "b", "c"]


def test_quoted_names_and_cells_may_hold_the_delimiter_and_quotation_marks(tmp_path, reader):
    text = 'id,"t,1",t2\n"a, b",1,"2"\n"say ""hi""",3,4\n"plain",5,6\n'
    table, ids = read(written(tmp_path, text), values="*")
    assert same(table, [[1, 2], [3, 4], [5, 6]])
    assert ids == ["a, b", 'say "hi"', "plain"]


def test_short_rows_are_padded_and_long_ones_cut(tmp_path, reader):
    table, ids = read(written(tmp_path, "t1,t2,id\n1,2,a\n3\n4,5,b,6,7\n,,\n   \n8,9,c\n"))
    assert same(table, [[1, 2], [3, NAN], [4, 5], [NAN, NAN], [NAN, NAN], [8, 9]])
    assert ids == ["a", "", "b", "", "", "c"]


def test_a_cell_that_is_no_utf_8_is_read_as_excel_writes_it_and_leaves_others_alone(tmp_path, reader):
    table, ids = read(written(tmp_path, b"id,t1,note\nJos\xe9,1,\nJos\xe8,2,\nJos\xc3\xa9,3,caf\xe9\n"))
    assert same(table, [[1], [2], [3]])
    assert ids == ["José", "Josè", "José"]


@pytest.mark.parametrize("note", ["", "é", '"x, y"', b"\xff".decode("latin-1"), "\x02"])
def test_one_cell_of_a_row_leaves_the_identifier_beside_it_alone(tmp_path, reader, note):
    for cell in ("P\x011", "P1\x1a", "P1"):
        file = written(tmp_path, f"id,t1,note\nP1,1,\n{cell},2,{note}\n".encode("latin-1"))
        assert read_curves(file, values="t*", unit="id", grid=[0.5]).units.size == 1


def test_a_header_that_is_no_text_can_still_be_chosen_from(tmp_path, reader):
    table, _ = read(written(tmp_path, b"id,t\xff,t2\na,1,2\n"), values="*")
    assert same(table, [[1, 2]])


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n\n"])
def test_a_header_alone_is_a_file_without_rows(tmp_path, reader, end):
    table, ids = read(written(tmp_path, "id,t1,t2" + end))
    assert table.shape == (0, 2)
    assert ids == []


# No line changes another.


LINES = st.lists(
    st.text(alphabet=st.sampled_from('019.,;"-eE+_ aN\tx'), min_size=1, max_size=14)
    | st.builds("{},{},{}".format, st.integers(0, 3), st.floats(), st.floats())
    | st.sampled_from(['"', 'a,"1', '"a,1,2', 'a,1,"', "a,1,2,3", ",,", '"a","1","2"', '"a""",1,2', "a,1", ' ,"1" ,2']),
    min_size=1,
    max_size=8,
)


@searching
@given(lines=LINES, rows=st.integers(1, 9), block=st.integers(1, 60))
@example(lines=['x,1,"', "y,2,3"], rows=1, block=9)
def test_both_readers_and_all_blocks_give_every_line_the_same_row(tmp_path, monkeypatch, lines, rows, block):
    file = written(tmp_path, "id,t1,t2\n" + "\n".join(lines) + "\n")
    whole, ids = read(file)
    with monkeypatch.context() as patch:
        patch.setattr(csvfile, "BLOCK", block)
        table, names = read(file, rows=rows)
        assert same(table, whole)
        assert names == ids
        patch.setattr(CsvSource, "_fast", lambda self, *args, **kwargs: None)
        table, names = read(file, rows=rows)
        assert same(table, whole)
        assert names == ids


UNMARKED = LINES.map(lambda lines: [line.replace('"', "") or "a" for line in lines])


@searching
@given(lines=UNMARKED, other=LINES, data=st.data())
def test_a_bad_line_changes_no_other_row(tmp_path, lines, other, data):
    place = data.draw(st.integers(0, len(lines) - 1))
    one, one_ids = read(written(tmp_path, "id,t1,t2\n" + "\n".join(lines)))
    assert len(one) == len(lines)
    lines[place] = other[0]
    two, two_ids = read(written(tmp_path, "id,t1,t2\n" + "\n".join(lines)))
    rest = np.arange(len(lines)) != place
    assert same(one[rest], two[rest])
    assert one_ids[:place] + one_ids[place + 1 :] == two_ids[:place] + two_ids[place + 1 :]


CELLS = st.text(alphabet=st.sampled_from('01,;"\n\r aé'), max_size=8)


@searching
@given(
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=6),
    block=st.integers(1, 60),
    sign=st.sampled_from(",;\t"),
)
@example(rows=[("a", "1\n2", "b,1,2\nc,3,4"), ("d", "5", "")], block=9, sign=",")
@example(rows=[("a", '"\r\n",', '"'), ("d", "5", '"')], block=4, sign=",")
def test_rows_as_a_writer_of_tables_has_them_are_read_as_they_were(tmp_path, monkeypatch, rows, block, sign):
    """A note of one person cannot make rows of its own, nor take those of others, whatever stands in it."""
    file = tmp_path / "c.csv"
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter=sign, quoting=csv.QUOTE_ALL)
        writer.writerows([("id", "note", "t1"), *rows])
    monkeypatch.setattr(csvfile, "BLOCK", block)
    curves = read_curves(file, values=["t1"], unit="id", grid=[0.5])
    assert curves.rows == len(rows)
    found = [bare(text) for text in curves.source.texts("id")]
    assert found == [bare(row[0]) for row in rows]


def bare(text):
    """Without marks and spaces, which do not tell people apart."""
    return "".join(text.replace('"', "").split())


def test_a_note_of_several_lines_makes_no_person(tmp_path, reader):
    text = 'id,t1,t2,note\na,1,2,"called twice\r\nz,100,100,no answer\n""z"",1,1,x"\nb,3,4,\n'
    table, ids = read(written(tmp_path, text))
    assert ids == ["a", "b"]
    assert same(table, [[1, 2], [3, 4]])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_an_empty_line_is_a_gap_where_there_is_one_column_alone(tmp_path, reader, end):
    file = written(tmp_path, end.join(["age", "1", "", '""', "4", "", ""]))
    curves = read_curves(file, values=["age"], grid=[0.5])
    assert curves.rows == 5
    assert same(np.concatenate(list(curves.batches(2))), [[1], [NAN], [NAN], [4], [NAN]])


def test_a_file_whose_columns_have_changed_since_it_was_opened_is_refused(tmp_path):
    file = written(tmp_path, "id,t1,t2\na,1,2\n")
    curves, times = read_curves(file, values="t*", unit="id"), file.stat()
    written(tmp_path, "t1,id,t2\n1,a,2\n")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(DataError, match="have changed since it was opened"):
        next(curves.batches(1))
    assert same(next(read_curves(file, values="t*", unit="id").batches(1)), [[1, 2]])


def test_an_open_quotation_mark_swallows_nobody(tmp_path, reader):
    """A reader of multi-line cells would give one person power over the rows of all who follow."""
    table, ids = read(written(tmp_path, 'id,t1,t2\na,1,2\nb,"3,4\nc,5,6\n"d,7,8\ne,9,10\n'))
    assert same(table, [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]])
    assert ids == ["a", "b", "c", "d", "e"]


# Layout errors, before anything else.


@pytest.mark.parametrize(
    ("content", "options", "text"),
    [
        ("", {}, "'c.csv' is empty: its first line must name the columns."),
        ("\nid,t1\n", {}, "'c.csv' is empty: its first line must name the columns."),
        (
            "id,t1,t1\n1,2,3\n",
            {},
            "Two columns of 'c.csv' have one name, or its first line is a record. The first line must name "
            "the columns, each by another name.",
        ),
        ("a,b\n1,2\n", {"values": "t*"}, "No column matches the pattern 't*'. Columns are: a, b."),
        ("a,b\n1,2\n", {"values": "a", "unit": "a"}, "No column matches the pattern 'a'. Columns are: a, b."),
        ("a,b\n1,2\n", {"unit": "who"}, "No column 'who' for the privacy unit. Columns are: a, b."),
        (
            ",".join(f"c{i}" for i in range(13)),
            {"unit": "who"},
            "No column 'who' for the privacy unit. Columns are: c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, ... "
            "(13 in all).",
        ),
        (
            "id,t1,tx\n",
            {"values": "t1,tx", "grid": "header"},
            "Column 'tx' does not end in a number, so no grid can be read from the header. Pass grid=.",
        ),
    ],
)
def test_a_wrong_layout_is_named(tmp_path, content, options, text):
    with pytest.raises(DataError) as caught:
        read_curves(written(tmp_path, content), **options)
    assert str(caught.value) == text


@pytest.mark.parametrize("header", ["ID, t1, t2", ' ID ,"t1", "t2"', "ID\u00a0,t1 ,\u00a0t2", "ID;  t1;t2 "])
def test_spaces_beside_the_names_of_columns_are_no_part_of_them(tmp_path, reader, header):
    file = tmp_path / "a.csv"
    rows = "p1, 0.5, 1\np2,0.25,2\n".replace(",", ";" if ";" in header else ",")
    file.write_text(f"{header}\n{rows}")
    curves = read_curves(file, values="t*", unit="ID")
    assert np.concatenate(list(curves.source.batches(10))).tolist() == [[0.5, 1.0], [0.25, 2.0]]
    assert curves.size_under(Unit("ID", "replace-one")) == 3  # and one for rows without an identifier


def test_names_that_differ_in_spaces_alone_are_one_name(tmp_path):
    (tmp_path / "a.csv").write_text("t1, t1\n1,2\n")
    with pytest.raises(DataError, match=r"Two columns of 'a\.csv' have one name"):
        read_curves(tmp_path / "a.csv")


@pytest.mark.parametrize(("values", "unit"), [("t*", None), ("t*", "ID")])
def test_a_title_in_the_place_of_the_names_is_guessed_at(tmp_path, values, unit):
    (tmp_path / "a.csv").write_text("Export from Excel\nID,t1,t2\np1,0.5,1\n")
    said = r"Columns are: Export from Excel\. There is no other: if the first line of the file is a title, delete it"
    with pytest.raises(DataError, match=said):
        read_curves(tmp_path / "a.csv", values=values, unit=unit)

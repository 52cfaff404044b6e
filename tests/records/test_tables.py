"""Parquet files, frames and matrices: types, nulls, row groups, grids, and the texts of layout errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from refusals import refused

from dpfda.errors import DataError, UsageError
from dpfda.privacy import REPLACE, Unit
from dpfda.records import Curves, as_curves, from_frame, read_curves
from dpfda.records.columns import as_grid, header_grid
from dpfda.records.identity import Identity

REPLACING = Unit("unit", REPLACE)

NAN = np.nan


def rows(curves, batch=1000):
    return np.concatenate([np.empty((0, curves.source.width)), *curves.batches(batch)]).tolist()


def same(one, two):
    return np.array_equal(np.array(one, dtype=float), np.array(two, dtype=float), equal_nan=True)


MIXED = pa.table(
    {
        "id": pa.array([2**60, 2**60 + 1, None, 2**60]),
        "t1": pa.array([True, None, False, True]),
        "t2": pa.array([1, None, 2**62 + 1, -3], pa.int64()),
        "t3": pa.array([0.5, None, np.inf, 1e30], pa.float32()),
        "t4": pa.array([2**64 - 1, 0, None, 1], pa.uint64()),
        "t5": pa.array([1.5, None, NAN, 1e308]),
        "name": pa.array(["x", "y", None, "z"]),
    }
)
EXPECTED = [
    [1, 1, 0.5, 2.0**64, 1.5],
    [NAN, NAN, NAN, 0, NAN],
    [0, 2.0**62, np.inf, NAN, NAN],
    [1, -3, float(np.float32(1e30)), 1, 1e308],
]


@pytest.mark.parametrize("group", [1, 3, 100])
@pytest.mark.parametrize("batch", [1, 2, 100])
def test_columns_of_any_number_type_with_nulls_are_read_alike(tmp_path, group, batch):
    file = tmp_path / "c.parquet"
    pq.write_table(MIXED, file, row_group_size=group)
    curves = read_curves(file, values="t*", unit="id")
    assert same(rows(curves, batch), EXPECTED)
    assert curves.rows == 4
    assert curves.units.codes.tolist() == [0, 1, -1, 0]
    table = as_curves(MIXED.drop(["name"]), grid=None, units="id")
    assert same(rows(table), [EXPECTED[i] for i in (0, 3, 1, 2)])  # rows of a person stand together


def test_a_file_without_rows_has_its_layout_all_the_same(tmp_path):
    file = tmp_path / "c.PQ"
    pq.write_table(MIXED.slice(0, 0), file)
    curves = read_curves(file, values="t*", unit="id")
    assert (curves.rows, curves.size_under(REPLACING), curves.source.width) == (0, 1, 5)
    assert rows(curves) == []


def test_column_names_with_points_are_found(tmp_path):
    file = tmp_path / "c.parquet"
    pq.write_table(pa.table({"age_1": [1.0], "age_1.25": [2.0], "age_-2e1": [3.0]}), file)
    curves = read_curves(file, grid="header")
    assert curves.grid.tolist() == [1.0, 1.25, -20.0]
    assert rows(curves) == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize(
    ("names", "grid"),
    [(["t1", "t2"], [1, 2]), (["x-1", "x+2.5"], [-1, 2.5]), (["7", "1e3"], [7, 1000]), (["a1b2", "h08"], [2, 8])],
)
def test_a_header_can_hold_the_grid(names, grid):
    assert header_grid(names).tolist() == grid


def test_unit_columns_of_any_plain_type_say_whose_row_it_is():
    for ids in (["a", "b", "a"], [1.5, None, 1.5], [b"\xff", b"\xfe", b"\xff"], [True, False, True]):
        curves = as_curves(pa.table({"who": ids, "t": [1.0, 2.0, 3.0]}), grid=None, units="who")
        assert (curves.size_under(REPLACING), curves.unit) == (len(set(ids) - {None}) + 1, "who")
    words = pa.table({"who": pa.array(["a", "b", "a"]).dictionary_encode(), "t": [1.0, 2.0, 3.0]})
    assert as_curves(words, grid=None, units="who").size_under(REPLACING) == 3


def test_row_groups_with_dictionaries_of_their_own_know_the_same_people(tmp_path):
    parts = [pa.array(part).dictionary_encode() for part in (["a", "b"], ["b", "a"], ["c", "b"])]
    table = pa.table({"who": pa.chunked_array(parts), "t": np.zeros(6)})
    pq.write_table(table, tmp_path / "c.parquet", row_group_size=2)
    curves = read_curves(tmp_path / "c.parquet", values="t", unit="who")
    assert curves.units.codes.tolist() == [0, 1, 1, 0, 2, 1]


def test_words_in_a_pandas_column_of_objects_are_missing_values():
    frame = pd.DataFrame({"t1": [1.0, "x", None], "t2": ["2", 3, 10**400]}, dtype=object)
    assert same(rows(as_curves(frame, grid=None, units=None)), [[1, 2], [NAN, 3], [NAN, NAN]])


def test_extension_types_of_pandas_are_read_as_numbers():
    frame = pd.DataFrame(
        {
            "a": pd.array([1, None], dtype="Int64"),
            "b": pd.array([0.5, None], dtype="Float32"),
            "c": pd.array([True, None], dtype="boolean"),
            "d": pd.arrays.SparseArray([0.0, 2.0]),
            5: [1.0, 2.0],
        }
    )
    assert same(rows(from_frame(frame, values="*")), [[1, 0.5, 1, 0, 1], [NAN, NAN, NAN, 2, 2]])


def test_rows_of_different_lengths_are_cut_or_padded_each_by_itself():
    ragged = [[1.0, 2.0, 3.0, 4.0], [5.0], [], ["x", None, 6.0], 7.0]
    assert same(
        rows(as_curves(ragged, grid=[0, 0.5, 1], units=None)),
        [[1, 2, 3], [5, NAN, NAN], [NAN] * 3, [NAN, NAN, 6], [7, NAN, NAN]],
    )


def test_a_list_without_rows_takes_its_width_from_the_grid():
    curves = as_curves([], grid=[0, 0.5, 1], units=[])
    assert (curves.rows, curves.size_under(REPLACING), curves.source.width) == (0, 1, 3)


def test_curves_pass_as_they_are_and_show_no_number_of_rows():
    curves = as_curves(np.zeros((12345, 3)), grid=[0, 0.5, 1], units=None)
    assert as_curves(curves, grid=None, units=None) is curves
    assert repr(curves) == "Curves(width=3, unit=None)"
    assert "12345" not in repr(curves)


def nested(file):
    pq.write_table(pa.table({"id": pa.array([[1], [2]]), "t": [1.0, 2.0]}), file)
    return file


class Grid:
    data_matrix = np.zeros((2, 3, 2))
    grid_points = ((0.0, 0.5, 1.0),)


WRONG = [
    (lambda p: read_curves(p / "none.csv"), DataError, r"No file '.*none.csv'\. Check the path\."),
    (lambda p: read_curves(p), DataError, r"'.*' is a folder\. Name a file in it\."),
    (
        lambda p: read_curves(touched(p / "c.xlsx")),
        DataError,
        r"'c.xlsx' is neither .csv, .tsv, .txt nor .parquet\. Convert it, or pass a data frame\.",
    ),
    (lambda p: read_curves(touched(p / "c.parquet")), DataError, "'c.parquet' is not a Parquet file that can be read"),
    (
        lambda p: read_curves(touched(p / "c.csv", "t1\n1\n"), grid="uneven"),
        UsageError,
        "grid is a sequence of numbers, 'even', 'header' or None, got 'uneven'",
    ),
    (
        lambda p: read_curves(touched(p / "c.csv", "t1,t2\n"), grid=[0, 0.5, 1]),
        UsageError,
        "Grid and values must have the same length, got 3 grid points and 2 values a curve",
    ),
    (
        lambda p: read_curves(nested(p / "c.parquet"), values="*"),
        DataError,
        r"Column 'id' holds list<.*>, not numbers\. Choose the value columns by a pattern: 't\*'",
    ),
    (lambda p: read_curves(parquet(p / "c.parquet"), unit="ID"), DataError, "No column 'ID' for the privacy unit"),
    (
        lambda p: read_curves(nested(p / "c.parquet"), values="t", unit="id"),
        DataError,
        r"Column 'id' holds list<.*>, which cannot name a privacy unit\. Use text or numbers\.",
    ),
    (
        lambda p: as_curves(pa.table({"id": [[1]], "t": [1.0]}), grid=None, units="id"),
        DataError,
        "Column 'id' holds list<.*>, which cannot name a privacy unit",
    ),
    (
        lambda p: as_curves(pd.DataFrame({"t1": pd.to_datetime(["2020-01-01"])}), grid=None, units=None),
        DataError,
        r"Column 't1' does not hold numbers\. Name the value columns, e\.g\. dpfda\.records\.from_frame\(",
    ),
    (
        lambda p: as_curves(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), grid=None, units=None),
        DataError,
        r"Two columns of the table have one name\. Rename one\.",
    ),
    (
        lambda p: as_curves(pa.table([[1.0], [2.0]], names=["a", "a"]), grid=None, units=None),
        DataError,
        r"Two columns of the table have one name\. Rename one\.",
    ),
    (lambda p: from_frame(pl.DataFrame({"a": [1.0]}), values="t*"), DataError, r"No column matches the pattern 't\*'"),
    (
        lambda p: as_curves(pl.DataFrame({"a": [[1.0]]}), grid=None, units=None),
        DataError,
        "Column 'a' holds .*list<.*>, not numbers",
    ),
    (
        lambda p: as_curves(pl.Series([1.0]), grid=None, units=None),
        UsageError,
        "Curves are a table, one row a curve and one column a grid point, not one column",
    ),
    (lambda p: as_curves(pd.Series([1.0]), grid=None, units=None), UsageError, "Curves are a table"),
    (
        lambda p: as_curves(as_curves(np.zeros((2, 3)), grid=None, units=None), grid=[0, 1, 2], units=None),
        UsageError,
        "These Curves have their own grid and units: leave grid= and units= out",
    ),
    (lambda p: as_curves(Grid, grid=[0, 0.5, 1], units=None), UsageError, "An FDataGrid has its own grid: leave grid="),
    (
        lambda p: as_curves(Grid, grid=None, units=None),
        UsageError,
        r"Curves must have one value at each point, got 2\. Release each by itself\.",
    ),
    (
        lambda p: as_curves(np.zeros(7), grid=None, units=None),
        UsageError,
        r"Curves are a matrix, one row a curve and one column a grid point, got 1 dimension\(s\)\. Reshape your data",
    ),
    (lambda p: as_curves(np.zeros((2, 2, 2)), grid=None, units=None), UsageError, r"got 3 dimension\(s\)"),
    (lambda p: as_curves(None, grid=None, units=None), UsageError, r"got 0 dimension\(s\)"),
    (lambda p: as_curves(np.zeros((7, 0)), grid=None, units=None), UsageError, "no values in the curves"),
    (
        lambda p: as_curves(np.zeros((2, 2), dtype="datetime64[s]"), grid=None, units=None),
        UsageError,
        r"The curves are an array of type datetime64\[s\], not of numbers",
    ),
    (
        lambda p: as_curves(scipy.sparse.eye(3), grid=None, units=None),
        UsageError,
        r"Sparse input is not supported: curves are dense\. Use X\.toarray\(\)\.",
    ),
    (
        lambda p: as_curves([[1.0, 2.0], [3.0]], grid=None, units=None),
        UsageError,
        r"A list has no public width: .*\. Pass grid=, .*, or an array: numpy\.asarray\(X, dtype=float\)\.",
    ),
    *[
        (lambda p, grid=grid: as_grid(grid), UsageError, "A grid is a non-empty sequence of finite numbers")
        for grid in ([], [0, NAN], [0, np.inf], "abc", 5.0, [[[1.0]]], [[1.0], [1.0, 2.0]], {})
    ],
]


def touched(file, text=""):
    file.write_text(text)
    return file


def parquet(file):
    pq.write_table(MIXED, file)
    return file


@pytest.mark.parametrize(("make", "kind", "text"), WRONG)
def test_a_wrong_layout_is_refused_with_the_rule_and_the_way_out(tmp_path, make, kind, text):
    with pytest.raises(kind, match=text) as caught:
        make(tmp_path)
    assert type(caught.value) is kind


@pytest.mark.parametrize("n", [5, 7])
def test_no_message_about_a_matrix_says_how_many_rows_there_are(n):
    for table in (np.zeros(n), np.zeros((n, 0)), np.zeros((n, 2, 2))):
        with pytest.raises(UsageError) as caught:
            as_curves(table, grid=None, units=None)
        assert str(n) not in str(caught.value)


class Broken:
    width = 3

    def rows(self):
        raise KeyError("the rows of patient 17")

    identity = rows


def test_a_source_that_cannot_be_counted_gives_one_constant_error():
    for ask in (lambda curves: curves.rows, lambda curves: curves.units, lambda curves: curves.size_under(REPLACING)):
        with pytest.raises(DataError) as caught:
            ask(Curves(Broken(), None, "patient"))
        assert str(caught.value) == (
            "The rows or their units could not be counted. Check that the data can be read. Nothing was charged."
        )
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None


def test_units_are_grouped_only_if_their_rows_stand_together():
    assert Identity.of(["b", "b", "a"]).grouped
    assert not Identity.of(["b", "a", "b"]).grouped
    assert Identity.of([]).grouped


def test_columns_that_are_not_points_of_one_curve_must_be_chosen():
    """An identifier or an age among them would become a value of the curve without a word."""
    frame = pd.DataFrame({"ID": [1, 2], "age": [30, 40], "t1": [0.0, 1.0], "t2": [0.0, 1.0]})
    for unit in (None, "ID"):
        with pytest.raises(
            DataError, match=r"These columns are not all points of one curve: .*age, t1, t2\. Name those"
        ):
            as_curves(frame, grid=None, units=unit)
    assert as_curves(frame[["t1", "t2"]], grid=None, units=None).columns == "2 columns, t1 to t2"
    assert from_frame(frame, values="*").source.width == 4
    assert as_curves(pd.DataFrame(np.zeros((2, 3))), grid=None, units=None).source.width == 3


def test_the_grid_of_a_table_can_be_read_from_its_header():
    frame = pd.DataFrame({"age_1": [0.0], "age_1.25": [0.0], "age_18": [0.0]})
    assert as_curves(frame, grid="header", units=None).grid.tolist() == [1.0, 1.25, 18.0]
    with refused(UsageError, "grid", "header"):
        as_curves(np.zeros((2, 3)), grid="header", units=None)

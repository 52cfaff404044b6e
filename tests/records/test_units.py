"""Identifiers: the rows of one person are found whatever their type, and no identifier is ever shown."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import dpfda
from dpfda.errors import DataError, UsageError
from dpfda.privacy import ADD_REMOVE, REPLACE, Unit
from dpfda.records import as_curves
from dpfda.records.identity import identify, named_units
from dpfda.records.joined import curves_in_order
from dpfda.records.labelled import labelled


def people(ids):
    """Which rows belong together, as numbers by first appearance; -1 where it is not known."""
    index = identify(ids, len(ids))
    assert index.size == len(set(index.codes.tolist()) - {-1})
    return index.codes.tolist()


NAN = float("nan")


@pytest.mark.parametrize(
    ("ids", "codes"),
    [
        ([3, 1, 3], [0, 1, 0]),
        (["b", "a", "b"], [0, 1, 0]),
        ([None, 1, NAN, "x", np.float32("nan"), None, pd.NA, pd.NaT], [-1, 0, -1, 1, -1, -1, -1, -1]),
        ([1, 1.0, "1", np.int64(1), np.float32(1), decimal.Decimal(1)], [0, 0, 0, 0, 0, 0]),
        ([2**60, 2**60 + 1, 1.5, None], [0, 1, 2, -1]),
        ([2**70, 2**70 + 1, "a"], [0, 1, 2]),
        (["\ud800", "\ud801", "\ud800"], [0, 1, 0]),
        ([b"a", b"b", b"a"], [0, 1, 0]),
        ([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)], [0, 1]),
        ([True, False, True], [0, 1, 0]),
        (np.array([1.5, NAN, 1.5, NAN, np.inf, 0.0, -0.0]), [0, -1, 0, -1, -1, 1, 1]),
        (np.array([1, 2, 1], dtype=np.float16), [0, 1, 0]),
        (np.array([1, 2, 1]) * 1j, [0, 1, 0]),
        (np.array(["2020", "2021", "2020"], dtype="M8[Y]"), [0, 1, 0]),
        (np.array(["\ud800", "a", "\ud800"]), [0, 1, 0]),
        (np.array([b"\xff", b"\xfe", b"\xff"]), [0, 1, 0]),
        (pd.Series([2**60, 2**60 + 1, None], dtype="Int64"), [0, 1, -1]),
        (pd.Series(["a", None, "a"], dtype="category"), [0, -1, 0]),
        (pl.Series([2**60, 2**60 + 1, None, 2**60]), [0, 1, -1, 0]),
        (pa.chunked_array([[2**60, 2**60 + 1], [None, 2**60]]), [0, 1, -1, 0]),
        (np.array([2**63, 2**63 + 1], dtype=np.uint64), [0, 1]),
        (
            pa.chunked_array([pa.array(part).dictionary_encode() for part in (["a", "b"], ["b", None, "a"])]),
            [0, 1, 1, -1, 0],
        ),
        (pl.Series(["a", "b", None, "a"], dtype=pl.Categorical), [0, 1, -1, 0]),
        (pl.Series([0.0, -0.0, NAN, None, np.inf, 2.0]), [0, 0, -1, -1, -1, 1]),
        (["", "a", None], [-1, 0, -1]),
        (pa.chunked_array([["", "a", None]]), [-1, 0, -1]),
        ([(1, 2), (1, 2), (3,)], [0, 0, 1]),
        (pl.Series([], dtype=pl.Categorical), []),
        (pa.chunked_array([], pa.dictionary(pa.int32(), pa.string())), []),
        (pa.chunked_array([], pa.string()), []),
    ],
)
def test_rows_of_one_person_are_found_together(ids, codes):
    assert people(ids) == codes


@given(st.lists(st.one_of(st.none(), st.integers(), st.text(), st.floats(), st.binary(), st.booleans(), st.dates())))
def test_no_mixture_of_identifiers_is_an_error_and_equal_ones_are_never_split(ids):
    codes = people(np.fromiter(ids, dtype=object, count=len(ids)))
    for a, first in zip(ids, codes, strict=True):
        for b, second in zip(ids, codes, strict=True):
            if a == b and type(a) is type(b):
                assert first == second


def test_an_identifier_that_cannot_be_written_is_a_missing_one():
    class Rude:
        def __str__(self):
            raise RuntimeError("I am patient 17")

    assert people([Rude(), None, 1]) == [-1, -1, 0]


def test_one_missing_identifier_changes_nobody_elses():
    """By way of doubles, one missing identifier would merge large whole ones: other people's vectors would change."""
    large = [2**60 + i for i in range(5)]
    table = {f"t{i}": np.zeros(6) for i in range(3)}
    for make, column in (
        (pa.table, pa.array),
        (pl.DataFrame, pl.Series),
        (pd.DataFrame, lambda ids: pd.Series(ids, dtype="Int64")),
        (pd.DataFrame, lambda ids: pd.Series(ids, dtype=object)),
    ):
        for last in (7, None):
            frame = make({**table, "id": column([*large, last])})
            assert as_curves(frame, grid=None, units="id").size_under(Unit("id", REPLACE)) == (7 if last else 6)


@pytest.mark.parametrize(
    "units",
    [
        [1, 2],
        [1, 2, 3, 4],
        "id",
        5,
        np.zeros((3, 1)),
        {1, 2, 3},
        pa.chunked_array([[[1], [2], [3]]]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_units_of_another_length_are_refused_without_saying_how_many_rows_there_are(units):
    with pytest.raises(UsageError) as caught:
        as_curves(np.zeros((3, 2)), grid=None, units=units)
    assert str(caught.value) == (
        "units must hold one identifier for each row, no more and no fewer. "
        "Pass a vector, or the name of a column if the curves are a table."
    )


def test_rows_that_do_not_say_whose_they_are_are_left_out_and_one_unit_more_where_units_are_replaced():
    """Two people without an identifier: taking one away would move a common average by twice what a unit may."""
    curves = as_curves(np.zeros((4, 2)), grid=None, units=[None, "a", float("nan"), "a"])
    assert curves.size_under(Unit("person", REPLACE)) == 2
    assert curves.size_under(Unit("person", ADD_REMOVE)) == 1
    assert curves.units.codes.tolist() == [-1, 0, -1, 0]


@pytest.mark.parametrize(
    "units",
    [{"ID": [1, 1, 2]}, pd.Series([1, 1, 2], name="ID"), {"ID": np.array([1, 1, 2])}],
    ids=["mapping", "series", "array"],
)
def test_identifiers_can_say_what_a_unit_is_called(units):
    table = np.zeros((3, 4))
    assert as_curves(table, grid=None, units=units).unit == "ID"
    assert labelled(table, np.zeros(3), 4, units=units).unit == "ID"
    assert curves_in_order(table, grid=None, units=units).unit == "ID"


def test_identifiers_without_a_name_are_those_of_units():
    for units in ([1, 1, 2], pd.Series([1, 1, 2]), pd.Series([1, 1, 2], name=7)):
        assert as_curves(np.zeros((3, 4)), grid=None, units=units).unit == "unit"


@pytest.mark.parametrize("units", [{}, {"a": [1], "b": [2]}, {1: [1]}, {"": [1]}], ids=str)
def test_more_than_one_name_or_none_is_refused(units):
    with refused(UsageError, "units"):
        named_units(units)


SPENT = {"epsilon": 1.0, "delta": 1e-6, "force": True}
LINE = {**SPENT, "domain": [(0, 1)]}
FITS = {
    "mean": lambda x, ids: dpfda.MeanFunction(**SPENT, bound=1.0).fit(x, units=ids),
    "covariance": lambda x, ids: dpfda.CovarianceFunction(**SPENT, bound=1.0).fit(x, units=ids),
    "regression": lambda x, ids: dpfda.FunctionOnScalarRegression(**SPENT, bound=1.0, covariate_limits=[(0, 1)]).fit(
        x[["t1"]], x, units=ids
    ),
    "density": lambda x, ids: dpfda.DensityFunction(**LINE).fit(x[["t1"]], units=ids),
    "machine": lambda x, ids: dpfda.KernelRegressor(**LINE, features=5, response_bound=1.0).fit(
        x[["t1"]], x["t2"], units=ids
    ),
    "bound": lambda x, ids: dpfda.private_bound(x, units=ids, epsilon=1.0, quantile=0.9, candidates=(0.1, 10.0)),
}


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("name", FITS)
def test_where_no_row_has_an_identifier_it_cannot_be_told_whether_there_are_rows(name, rows):
    """Rows without an identifier are one unit, which may be absent: an empty table is a neighbour of such a table."""
    table = pd.DataFrame(np.full((rows, 3), 0.5), columns=["t1", "t2", "t3"])
    with pytest.raises(DataError, match=r"^No row has an identifier: .* Nothing was charged\.$"):
        FITS[name](table, [None] * rows)


def test_curves_without_units_and_grid_are_rows_on_an_even_grid():
    curves = as_curves(np.zeros((4, 2)))
    assert curves.unit is None
    assert curves.grid is None
    assert curves.size_under(Unit("row", REPLACE)) == 4

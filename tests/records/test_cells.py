"""Cells: each is read by itself, the same number in every container, and a gap where it holds none."""

from __future__ import annotations

import warnings
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import compute

from dpfda.bases.lattice import Lattice
from dpfda.errors import DataError, UsageError
from dpfda.records import as_curves, from_frame
from dpfda.records import encoder as encoder_module
from dpfda.records.cell_values import number
from dpfda.records.encoder import Encoder
from dpfda.records.labelled import as_points

NAN = float("nan")
CELLS = {
    1.5: [1.5, "1.5", " 1.5 ", b"1.5", "+1.5", "15e-1", np.float32(1.5), Decimal("1.5"), Fraction(3, 2), 1.5 + 0j],
    1.0: [True, np.True_, "True", "true", "FALSE".replace("FALSE", "TRUE"), 1, np.uint64(1), "(1+0j)", np.complex64(1)],
    NAN: [
        None,
        pd.NA,
        pd.NaT,
        "",
        "ill",
        "3 kWh",
        "50%",
        "1,234.5",
        "2020-01-01",
        b"\xff",
        1j,
        "(1+2j)",
        [1.0],
        (1.0, 2.0),
        {1.0: 2.0},
        np.ones(1),
        date(2020, 1, 1),
        timedelta(1),
        np.datetime64("2020-01-01"),
        np.timedelta64(5, "s"),
        pd.Timestamp("2020"),
        pd.Series([1.0]),
        object(),
        10**400,
        Decimal("sNaN"),
    ],
}


@pytest.mark.parametrize("value", CELLS)
def test_a_cell_is_its_number_or_a_gap_and_never_a_warning(value: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for cell in CELLS[value]:
            np.testing.assert_array_equal(number(cell), value, err_msg=type(cell).__name__)
            (batch,) = as_curves([[cell, 2.0]], grid=[0, 1], units=None).batches(1)
            assert batch[0, 1] == 2.0


def matrix(data: Any) -> list[list[float]]:
    return [row.tolist() for batch in from_frame(data, values="*").batches(10) for row in batch]


# Columns of three cells, 1, missing and 2, by their declared types.
PLAIN = {
    "decimal": pa.array([Decimal(1), None, Decimal(2)], pa.decimal128(9, 2)),
    "wide decimal": pa.array([Decimal(1), None, Decimal(2)], pa.decimal256(60, 2)),
    "half": pa.array([np.float16(1), None, np.float16(2)], pa.float16()),
    "unsigned": pa.array([1, None, 2], pa.uint64()),
    "dictionary of numbers": pa.array([1.0, None, 2.0]).dictionary_encode(),
    "dictionary of text": pa.array(["1", "ill", "2"]).dictionary_encode(),
    "run ends": compute.run_end_encode(pa.array([1.0, None, 2.0])),
    "text": pa.array(["1", "ill", "2"]),
    "large text": pa.array(["1", None, "2"], pa.large_string()),
    "text view": pa.array(["1", "", "2"], pa.string_view()),
    "bytes": pa.array([b"1", b"\xff", b"2"]),
    "fixed bytes": pa.array([b"1", b"?", b"2"], pa.binary(1)),
}


@pytest.mark.parametrize("kind", PLAIN)
def test_every_type_that_a_cell_can_bring_about_is_read_cell_by_cell(kind: str) -> None:
    table = pa.table({"a": PLAIN[kind], "b": PLAIN[kind]})
    np.testing.assert_array_equal(matrix(table), [[1, 1], [NAN, NAN], [2, 2]])
    if kind not in ("half", "run ends"):  # which pandas does not take over
        held = table.to_pandas(types_mapper=pd.ArrowDtype)
        np.testing.assert_array_equal(matrix(held), [[1, 1], [NAN, NAN], [2, 2]])


def test_text_that_is_no_text_is_a_gap() -> None:
    broken = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], "i4")), pa.py_buffer(b"1\xff")]
    )
    np.testing.assert_array_equal(matrix(pa.table({"a": broken})), [[1], [NAN]])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series([1, None, 2], dtype="Float32"),
        pd.Series(["1", "ill", "2"], dtype="string"),
        pd.Series([1, None, 2], dtype="category"),
        pd.Series(["1", "ill", "2"], dtype="category"),
        pd.Series([1 + 0j, 2j, 2], dtype=complex),
        pd.Series([1, np.nan, 2], dtype="Sparse[float]"),
        pd.Series([1, "ill", 2]),
    ],
    ids=lambda column: str(column.dtype),
)
def test_every_plain_type_of_pandas_is_read_cell_by_cell(column: pd.Series) -> None:
    np.testing.assert_array_equal(matrix(pd.DataFrame({"a": column, "b": column}))[0:3:2], [[1, 1], [2, 2]])
    assert np.isnan(matrix(pd.DataFrame({"a": column}))[1][0])


def test_columns_of_polars_that_arrow_cannot_hold_are_read_cell_by_cell() -> None:
    """Arrow would take the addresses of objects for their values."""
    frame = pl.DataFrame({"a": pl.Series([1.5, 2j, 2.0], dtype=pl.Object), "b": pl.Series([2**100, None, 1])})
    np.testing.assert_array_equal(matrix(frame), [[1.5, 2.0**100], [NAN, NAN], [2, 1]])


DECLARED = {
    "dates": (pa.array([0, 1], pa.date32()), pd.Series(pd.to_datetime(["2020", "2021"]))),
    "times with a zone": (
        pa.array([0, 1], pa.timestamp("s", "UTC")),
        pd.Series(pd.date_range("2020", periods=2, tz="UTC")),
    ),
    "durations": (pa.array([0, 1], pa.duration("s")), pd.Series(pd.to_timedelta([1, 2]))),
    "periods": (pa.array([0, 1], pa.time32("s")), pd.Series(pd.period_range("2020", periods=2))),
    "intervals": (pa.array([[1], [2]]), pd.Series(pd.interval_range(0, 2))),
    "records": (pa.array([{"t": 1}, {"t": 2}]), pd.Series(pd.to_datetime(["2020", "2021"])).astype("category")),
    "lists": (pa.array([[1.0], [2.0]]), pd.Series([[1.0], [2.0]], dtype=pd.ArrowDtype(pa.list_(pa.float64())))),
}


@pytest.mark.parametrize("kind", DECLARED)
def test_a_declared_type_that_holds_no_numbers_is_refused(kind: str) -> None:
    for column in DECLARED[kind]:
        whole = pa.table({"t1": column, "t2": column}) if isinstance(column, pa.Array) else pd.DataFrame({"t1": column})
        with pytest.raises(DataError, match=r"^Column 't1' (holds .*, not numbers|does not hold numbers)\."):
            from_frame(whole)
        with pytest.raises(DataError):
            as_points(whole[["t1"]] if isinstance(whole, pd.DataFrame) else whole.select(["t1"]), 1)
        with pytest.raises(DataError):
            as_points(column, 1)
        with pytest.raises(DataError):
            as_points(np.zeros(2), 1, counts=column)


def test_arrays_of_dates_and_records_are_refused() -> None:
    for kind in ("datetime64[s]", "f8,f8"):
        for make in (np.zeros, lambda shape, dtype: np.ma.zeros(shape, dtype=dtype)):
            with pytest.raises(UsageError, match="The curves are an array of type"):
                as_curves(make((3, 2), dtype=kind), grid=None, units=None)
    with pytest.raises(UsageError, match="counts is an array of type"):
        as_points(np.zeros(3), 1, counts=np.zeros(3, dtype="datetime64[s]"))


@pytest.mark.parametrize(
    "row", [{0.1: 5.0, 0.2: 6.0}, {0.1, 0.2}, frozenset([0.1]), pd.DataFrame({0.5: [1.0]}), np.ones((2, 2))], ids=type
)
def test_a_row_that_is_no_sequence_of_cells_is_a_row_of_gaps(row: Any) -> None:
    (batch,) = as_curves([[1.0, 2.0], row], grid=[0, 1], units=None).batches(5)
    np.testing.assert_array_equal(batch, [[1, 2], [NAN, NAN]])


def test_pairs_of_time_and_value_are_gaps_one_by_one() -> None:
    pairs = [[(0.0, 1.0), (1.0, 2.0)], [(0.0, 3.0), (1.0, 4.0)]]
    (batch,) = as_curves(pairs, grid=[0, 1], units=None).batches(5)
    assert np.isnan(batch).all()


ODD = st.one_of(
    st.none(),
    st.text(max_size=8),
    st.binary(max_size=4),
    st.complex_numbers(),
    st.lists(st.floats(), max_size=2),
    st.dates(),
    st.floats(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
)


@settings(max_examples=150, deadline=None)
@given(cell=ODD, place=st.integers(0, 4))
def test_one_cell_of_any_kind_leaves_all_others_as_they_are(cell: object, place: int) -> None:
    """In whatever type numpy, pandas and polars make of a column because of it."""
    cells: list[Any] = [0.25, 1.5, -2.0, 1e-3, 7.0]
    expected, cells[place] = [*cells], cell
    made: list[Any] = [pd.DataFrame({"t1": pd.Series(cells)}), [[each] for each in cells]]
    for build in (lambda: np.array(cells)[:, None], lambda: pl.DataFrame({"t1": cells}, strict=False)):
        try:
            made.append(build())
        except Exception:  # numpy and polars refuse some mixtures themselves
            continue
    for X in made:
        if isinstance(X, pl.DataFrame) and X.schema["t1"] not in (pl.Float64, pl.String, pl.Object):
            continue  # polars has made integers or nothing of all the others
        (batch,) = as_curves(X, grid=[0.5], units=None).batches(9)
        others = [index for index in range(5) if index != place]
        np.testing.assert_array_equal(batch[others, 0], np.array(expected)[others])


def test_gaps_take_the_same_path_whether_there_are_any_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    fill = encoder_module.fill
    monkeypatch.setattr(
        encoder_module, "fill", lambda columns, *rest: (calls.append(len(columns)), fill(columns, *rest))[1]
    )
    coder = Encoder.build(np.eye(3), np.linspace(0, 1, 3), np.zeros(3), 16.0, Lattice(1.0))
    whole = np.ones((5, 3))
    one = whole.copy()
    one[2, 1] = NAN
    for batch in (whole, one, np.full((5, 3), NAN), np.full((5, 3), 1e308)):
        coder.encode(batch)
    assert calls == [3] * 4

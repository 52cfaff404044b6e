"""Spellings of one person that are easily split, in every container that can hold them."""

from __future__ import annotations

import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dpfda
from dpfda.records import read_curves
from dpfda.records.identity import Identity, canonical
from dpfda.records.labelled import responses, signs

HOLDERS = {
    "list": list,
    "array": np.array,
    "objects": lambda cells: np.array(cells, dtype=object),
    "pandas": pd.Series,
    "pandas Arrow": lambda cells: pd.Series(cells, dtype=pd.ArrowDtype(pa.large_string())),
    "polars": pl.Series,
    "polars objects": lambda cells: pl.Series(cells, dtype=pl.Object),
    "categories": lambda cells: pd.Series(cells, dtype="category"),
    "Arrow": pa.array,
    "dictionary": lambda cells: pa.array(cells).dictionary_encode(),
    "bytes": lambda cells: [cell.encode() for cell in cells],
}
ONE_PERSON = {
    "a dotted capital": ["\u0130lker", "I\u0307lker"],
    "a Kelvin sign": ["\u212a7", "k7", "K7"],
    "eighteen digits": ["123456789012345678", "123456789012345678.0", "1.23456789012345678e17", "+0123456789012345678"],
    "a double as written": ["1e23", "1E+23", "100000000000000000000000", "100000000000000000000000.0"],
    "thirty-two signs": ["1" + "0" * 29, "1" + "0" * 29 + ".0", "1e29"],
    "thirty-two digits": ["1" + "0" * 31, "1e31"],
    "a decimal comma": ["1,0", "1", "1.0", "01,00"],
    "quotation marks": ["P2", '"P2"', '"P2', 'P2"', "'P2'", " \u201eP2\u201c "],
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("case", ONE_PERSON)
def test_one_person_is_not_split(case: str, holder: str) -> None:
    spellings = ONE_PERSON[case]
    index = Identity.of(HOLDERS[holder]([*spellings, "another", None] if holder == "list" else [*spellings, "another"]))
    assert index is not None
    assert index.codes[: len(spellings) + 1].tolist() == [0] * len(spellings) + [1]


@given(st.integers(-(10**40), 10**40))
@example(2**60)
@example(1152921504606847000)
def test_a_whole_number_is_one_whatever_holds_it(number: int) -> None:
    texts = [str(number), f"{number}.0", f"{number}.", f" {number},00 "]
    held = [number, Decimal(number), np.array([number], dtype=object)[0], *texts]
    assert {canonical(each) for each in held} == {canonical(number)}
    assert Identity.of(texts).size == 1  # type: ignore[union-attr]
    if -(2**63) <= number < 2**63:
        pair = [number, number - 1] if number > 0 else [number, number + 1]
        apart = Identity.of(list(map(str, pair)))
        assert Identity.of(np.array(pair)).size == Identity.of(pl.Series(pair)).size == apart.size  # type: ignore[union-attr]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_is_one_with_what_it_is_written_as(number: float) -> None:
    assert {canonical(number), canonical(np.float64(number)), canonical(f"{number:.17g}")} == {canonical(repr(number))}


def test_objects_of_polars_are_no_addresses() -> None:
    ids = [uuid.UUID(int=place // 10 + 1) for place in range(1000)]
    copies = [uuid.UUID(str(each)) for each in ids]
    for column in (ids, pl.Series(copies), pl.Series([str(each).upper() for each in ids])):
        assert Identity.of(column).size == 100  # type: ignore[union-attr]
    est = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.0)
    assert est.fit(np.zeros((1000, 3)), units=pl.Series("id", copies)).release_.certificate.n == 101


class Nameless:
    """An object that is written as its address."""


def test_an_address_says_nobody_in_a_frame_as_elsewhere() -> None:
    cells = [Nameless(), Nameless(), "P1", "p1 "]
    assert Identity.of(cells).size == 1  # type: ignore[union-attr]
    frame = pl.DataFrame({"id": pl.Series(cells, dtype=pl.Object), "t1": [0.1] * 4, "t2": [0.2] * 4})
    found = dpfda.records.from_frame(frame, values="t*", unit="id").units
    assert (found.codes.tolist(), found.size) == ([-1, -1, 0, 0], 1)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "spelling", ["P2", '"P2"', ' "P2"', ' "P2" ', '"P2', 'P2"', ' "p2 "', "'P2'"], ids=lambda each: f"<{each}>"
)
def test_quotes_and_spaces_in_a_csv_file_make_no_other_person(tmp_path, spelling) -> None:
    (tmp_path / "a.csv").write_text(f"id,t1,t2\nP1,1,2\nP2,3,4\n{spelling},5,6\nP1,7,8\n")
    curves = read_curves(tmp_path / "a.csv", values="t*", unit="id")
    assert curves.units.codes.tolist() == [0, 1, 1, 0]
    np.testing.assert_array_equal(np.concatenate([*curves.batches(9)]), [[1, 2], [3, 4], [5, 6], [7, 8]])


def test_one_long_exponent_does_not_hang() -> None:
    index = Identity.of([Decimal(1), Decimal("1E+10000000"), Decimal("1E-10000000"), Decimal("1.0")])
    assert index.codes.tolist()[::3] == [0, 0]  # type: ignore[union-attr]


def broken_text(cells: list[bytes]) -> pa.Array:
    """Arrow text that is no UTF-8, as other programs write it."""
    held = pa.array(cells, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(held), held.buffers())


@pytest.mark.parametrize(
    "held",
    [
        lambda column: column,
        lambda column: pa.chunked_array([column, column[:0]]),
        lambda column: column.dictionary_encode(),
        lambda column: pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([column]))),
    ],
    ids=["array", "chunks", "dictionary", "pandas"],
)
def test_text_that_is_no_text_is_an_identifier_and_no_label(held) -> None:
    column = held(broken_text([b"1", b"0", b"\xff\xfe", b"1"]))
    assert Identity.of(column).codes.tolist() == [0, 1, 2, 0]
    np.testing.assert_array_equal(signs(column, (0, 1)), [1, -1, np.nan, 1])
    np.testing.assert_array_equal(responses(column), [1, 0, np.nan, 1])

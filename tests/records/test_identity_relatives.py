"""Spellings of one person that are easily split, in every container that can hold them."""

from __future__ import annotations

import datetime
import unicodedata
import uuid
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as compute
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dpfda
from dpfda.records import read_curves
from dpfda.records.identity import Identity
from dpfda.records.labelled import responses, signs
from dpfda.records.spellings import canonical

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
    "run ends": lambda cells: compute.run_end_encode(pa.array(cells)),
    "tuples of one": lambda cells: [(cell,) for cell in cells],
    "bytes": lambda cells: [cell.encode() for cell in cells],
}
APOSTROPHES = (0x2018, 0x2019, 0x201B, 0x02BC, 0x2032, 0x0060, 0x00B4, 0x02B9, 0x055A, 0x05F3, 0xFF07, 0x1FBD, 0x0384)
# fmt: off
ONE_PERSON = {
    "a dotted capital": ["\u0130lker", "I\u0307lker"],
    "a Kelvin sign": ["\u212a7", "k7", "K7"],
    "eighteen digits": ["123456789012345678", "123456789012345678.0", "1.23456789012345678e17", "+0123456789012345678"],
    "a double as written": ["1e23", "1E+23", "100000000000000000000000", "100000000000000000000000.0"],
    "thirty-two signs": ["1" + "0" * 29, "1" + "0" * 29 + ".0", "1e29"],
    "thirty-two digits": ["1" + "0" * 31, "1e31"],
    "a decimal comma": ["1,0", "1", "1.0", "01,00"],
    "invisible signs": ["P1", "P\ufe0f1", "P\u034f1", "P\u31641", "P\u28001", "P\U000e01001", "P\u180b1", "P\u20651"],
    "an accent behind an invisible sign": ["Zo\u00eb", "Zoe\u0308", "Zoe\u200b\u0308", "ZOE\u034f\u0308"],
    "hyphens": ["P-1", "P\u20101", "P\u20111", "P\u20131", "P\u20141", "P\u22121", "p\ufe631"],
    "hyphens of a UUID": ["550e8400-e29b-41d4-a716-446655440000", "550E8400\u2011e29b\u201141d4-a716-446655440000"],
    "Turkish capitals": ["\u0131\u015f\u0131k", "I\u015eIK", "i\u015fik"],
    "Turkish dots": ["ilker", "\u0130LKER", "ILKER"],
    "digits of other scripts": ["P1", "P\u0661", "P\u06f1", "P\u0967", "p\uff11"],
    "text in Excel": ["001", '="001"', "1"],
    "dates": ["2020-03-01", "2020/03/01", "2020-3-1", "2020.03.01"],
    "apostrophes": ["O'Neil", *(f"O{chr(sign)}Neil" for sign in APOSTROPHES), "O''Neil", 'O"Neil'],
    "a double prime": ["6'2\"", "6\u20322\u2033", "6'2''"],
    "slashes and dots": ["a/b.c", "a\u2215b\u2024c", "a\u2044b\u00b7c", "A\uff0fB\u3002C", "a\u29f8b\u2219c"],
    "connectors, colons and tildes": ["p_1:~2", "p\u203f1\ua789\u223c2", "P\uff3f1\u2236\u301c2", "p\uff3f1\uff1a~2"],
    "hours": ["2020-03-01 09:00", "2020/3/1 9:00", "2020-03-01T09:00:00Z", "2020-03-01 9:00:00.000", "2020-3-1 9:00 AM",
              "2020-03-01T09", "2020-03-01, 09:00", "2020-03-01T10:30:00+01:30", "2020-03-01 09:19:32+00:19:32"],
    "times of day": ["09:00", "9:00", "09:00:00", "9:00:00.0", "9:00 a.m."],
    "days or months first": ["1/3/2020", "01.03.2020", "01-3-2020", "1/3/2020 0:00"],
    "truth": ["True", "TRUE", "1", "true", "1.0"],
    "a half": ["\u00bd", "0.5", ".5", "0,5", "1\u20442"],
    "thousands": ["1000", "1 000", "1\u00a0000", "1\u202f000", "1'000", "1\u2019000", "1_000"],
    "millions": ["1000000.5", "1,000,000.5", "1.000.000,5", "1 000 000,5", "1000000,5"],
    "a UUID in brackets": ["550e8400-e29b-41d4-a716-446655440000", "(550e8400-e29b-41d4-a716-446655440000)",
                           "{550E8400E29B41D4A716446655440000}", "0x550e8400e29b41d4a716446655440000"],
    "quotation marks": ["P2", '"P2"', '"P2', 'P2"', "'P2'", " \u201eP2\u201c "],
}
# fmt: on


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


SIGNS = st.integers(0, 0x10FFFF).map(chr).filter(lambda sign: not 0xD800 <= ord(sign) <= 0xDFFF)


@given(st.text(SIGNS, min_size=1, max_size=6))
@example("\u0131")
@example("\u0130")
@example("\u1e9e")
def test_case_and_normal_forms_make_no_other_person(text: str) -> None:
    spelled = {text.upper(), text.lower(), text.casefold(), f" {text}\u200b"}
    spelled |= {unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")}
    assert {canonical(each) for each in spelled} == {canonical(text)}
    key = canonical(text)
    assert key is None or canonical(key) == key


@pytest.mark.parametrize("make", [pd.Categorical, pd.CategoricalIndex, lambda ids: pd.Series(ids, dtype="category")])
def test_a_row_of_nobody_leaves_large_numbers_in_a_category_as_they_are(make: Callable[[list[object]], object]) -> None:
    numbers = [2**60 + 1 + 2 * place for place in range(200)]  # none is what a double is written as
    with_nobody = pd.Categorical.from_codes([*range(200), -1], categories=numbers)
    assert Identity.of(make(numbers)).size == 200  # type: ignore[union-attr]
    for held in (with_nobody, pd.Series(with_nobody), pd.CategoricalIndex(with_nobody)):
        found = Identity.of(held)
        assert (found.size, found.codes[-1]) == (200, -1)  # type: ignore[union-attr]


@pytest.mark.parametrize("nobody", [(None, None), ("", "NA"), [None], ()])
def test_parts_that_all_say_nobody_are_nobody(nobody: object) -> None:
    index = Identity.of([("h1", 1), ("h1", 2), nobody])
    assert (index.size, index.codes[-1]) == (2, -1)  # type: ignore[union-attr]


@pytest.mark.parametrize("spelling", ["-nan", "#NA", "1.#IND", "-1.#QNAN", "-Infinity", "+inf", "#N/A N/A"])
def test_what_other_tools_write_for_missing_is_nobody(spelling: str) -> None:
    assert canonical(spelling) is None


VALUES_OF_ONE_PERSON = {
    "truth": [True, np.True_, 1, 1.0, "true", "1"],
    "a moment": [
        datetime.datetime(2020, 3, 1, 9),
        np.datetime64("2020-03-01T09"),
        pd.Timestamp("2020-03-01 10:00", tz="Europe/Berlin"),
        "2020-03-01 9:00:00",
    ],
    "a mean local time": [
        datetime.datetime(1890, 1, 1, 0, 19, 32, tzinfo=datetime.timezone(datetime.timedelta(seconds=1172))),
        datetime.date(1890, 1, 1),
    ],
    "a time": [datetime.time(9), "09:00", "9:00", pa.scalar(datetime.time(9))],
    "a half": [Fraction(1, 2), 0.5, "0.5", "\u00bd"],
    "a large number": [10**300, 1e300, "1e300", Decimal("1e300"), str(10**300)],
    "one part": ["P1", ["P1"], ("p1 ",), np.array(["P1"]), np.array("P1"), {"P1"}, b"P1", np.void(b"P1")],
}


@pytest.mark.parametrize("case", VALUES_OF_ONE_PERSON)
def test_values_of_one_person_are_one_whatever_their_type(case: str) -> None:
    cells = VALUES_OF_ONE_PERSON[case]
    objects = np.empty(len(cells), dtype=object)
    objects[:] = cells
    for held in (cells, objects, pd.Series(cells, dtype=object), pl.Series(cells, dtype=pl.Object), tuple(cells)):
        assert Identity.of(held).codes.tolist() == [0] * len(cells)  # type: ignore[union-attr]


@given(st.binary(min_size=16, max_size=16))
@example(uuid.UUID("550e8400-e29b-41d4-a716-446655440000").bytes)
@example(b"Zo\xeb and friends ")
def test_sixteen_bytes_that_are_no_text_are_a_uuid(raw: bytes) -> None:
    try:
        text = not any(sign < " " or sign == "\x7f" for sign in raw.rstrip(b"\0\x1a \t\r\n").decode())
    except UnicodeDecodeError:
        text = False
    made = uuid.UUID(bytes=raw)
    if not text:
        assert Identity.of([made, raw, np.void(raw), str(made), made.hex.upper()]).size == 1  # type: ignore[union-attr]


@given(st.uuids(version=4))
def test_the_bytes_of_a_random_uuid_are_that_uuid(made: uuid.UUID) -> None:
    assert canonical(made.bytes) == canonical(made) == canonical(f"({made})")


@given(st.datetimes(datetime.datetime(1000, 1, 1), datetime.datetime(9999, 1, 1)), st.sampled_from("-/."))
def test_a_moment_is_one_however_it_is_written(moment: datetime.datetime, sign: str) -> None:
    date = f"{moment.year}{sign}{moment.month}{sign}{moment.day}"
    time = f"{moment.hour}:{moment:%M:%S.%f}"
    half = f"{moment:%I:%M:%S.%f %p}"
    texts = [f"{date} {time}", f"{date}T{time}Z", f"{date} {half}", moment.isoformat(), str(np.datetime64(moment))]
    assert {canonical(each) for each in (*texts, moment, np.datetime64(moment))} == {canonical(moment)}
    assert Identity.of(texts).size == 1  # type: ignore[union-attr]
    assert canonical(moment.time()) == canonical(time) == canonical(half)
    first = [f"{moment.month}{sign}{moment.day}{sign}{moment.year}", f"{moment:%m/%d/%Y}"]
    assert len({canonical(each) for each in first}) == 1


ALTERNATIVES = {
    "'": "'\u2018\u2019\u02bc\u2032`\u00b4", "-": "-\u2010\u2013\u2212", ".": ".\u2024\u00b7", "/": "/\u2215\uff0f",
    ":": ":\ua789\uff1a", " ": " \u00a0\u2009\t", "_": "_\u203f\uff3f", "1": "1\uff11\u0661", "k": "kK\u212a",
    "e": "eE",
}  # fmt: skip


@given(st.text("'-./: _1kex", min_size=1, max_size=10), st.data())
def test_signs_that_keyboards_put_in_the_place_of_others_make_no_other_person(text: str, data: st.DataObject) -> None:
    spelt = "".join(data.draw(st.sampled_from(ALTERNATIVES.get(sign, sign))) for sign in text)
    assert canonical(spelt) == canonical(text)
    found = [Identity.of(make([text, spelt, "z"])) for make in HOLDERS.values()]
    assert {tuple(each.codes) for each in found} == {tuple(found[0].codes)}  # type: ignore[union-attr]


def test_what_may_mean_two_things_is_not_merged() -> None:
    assert Identity.of(["1,000", "1000", "1/2", "0.5", "1/3/2020", "2020-03-01"]).size == 6  # type: ignore[union-attr]
    assert canonical("1,000") == canonical("1")  # a decimal comma


def test_bytes_that_are_no_text_are_told_apart_and_those_that_are_text_are_not() -> None:
    uuids = [uuid.UUID(int=7**30 * place) for place in range(1, 300)]
    assert Identity.of([*uuids, *(each.bytes for each in uuids)]).size == len(uuids)  # type: ignore[union-attr]
    counters = [place.to_bytes(8, "big") for place in range(1, 300)]
    assert Identity.of(counters).size >= 290  # type: ignore[union-attr]
    assert {canonical(each) for each in (b"Zo\xeb", "Zo\u00eb".encode(), "ZO\u00cb", b"zo\xeb\x00\x00 ")} == {
        "zo\u00eb"
    }


class Named(str):
    """A text that is shown by another name, as members of enumerations are."""

    __slots__ = ()

    def __str__(self) -> str:
        return "Named.FIRST"


def test_texts_of_enumerations_sets_and_mappings_are_one_in_any_company() -> None:
    for company in ([], [7]):
        assert Identity.of(["P1", Named("P1"), *company]).size == 1 + len(company)  # type: ignore[union-attr]
    assert canonical({"a": 1, "b": "2"}) == canonical({"b": 2, "a": "01"})
    assert canonical(frozenset("abcdef")) == canonical(frozenset("fedcba"))


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


def test_an_index_of_several_levels_names_a_unit_by_all_of_them() -> None:
    index = pd.MultiIndex.from_tuples([("h1", 1), ("H1 ", 1.0), ("h1", 2), ("h2", 1)], names=["household", "person"])
    assert Identity.of(index).codes.tolist() == [0, 0, 1, 2]  # type: ignore[union-attr]


def test_identifiers_with_run_ends_are_read_from_tables_too() -> None:
    ids = compute.run_end_encode(pa.array(["a", "A ", "b", None]))
    table = pa.table({"t1": [0.1] * 4, "t2": [0.2] * 4, "id": ids})
    assert dpfda.records.from_frame(table, values="t*", unit="id").units.codes.tolist() == [0, 0, 1, -1]

"""Names of columns are shown; the first record of a file without a header is not."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfda.errors import DataError
from dpfda.records import read_curves
from dpfda.records.columns import called, choose_columns, in_few_words, listed, may_be_record
from dpfda.records.joined import as_covariates
from dpfda.records.memory import from_frame

NAMES = {
    "plain": ["ID", "sex", "t1", "t1.5", "t2"],
    "ages": ["ID", "age_1", "age_1.25"],
    "times of day": ["household", "00:00", "00:30", "01:00"],
    "words that begin like months": ["ID", "marital", "decile", "mayor"],
    "other alphabets": ["номер", "größe", "年齢"],
}
RECORDS = {
    "whole numbers": ["1001", "female", "yes"],
    "decimal comma": ["Maria Huber", "0,41"],
    "groups of digits": ["Maria", "1 204,5"],
    "exponent": ["Maria", "1e-3"],
    "infinite": ["Maria", "inf"],
    "ISO date": ["Maria Huber", "1971-03-02"],
    "date and time": ["Maria", "1971-03-02T10:00:00Z"],
    "dotted date": ["Maria", "2.3.1971"],
    "date with a month": ["Maria", "2 Mar 1971"],
    "month first": ["Maria", "March 2, 1971"],
    "one time of day": ["Maria", "14:05"],
    "empty": ["Maria", ""],
    "blank": ["Maria", " "],
    "missing": ["Maria", "NA"],
    "repeated": ["yes", "yes"],
    "percent": ["Maria", "12%"],
    "address": ["Maria", "maria@example.org"],
}


@pytest.mark.parametrize("case", NAMES)
def test_names_are_names(case: str) -> None:
    assert not may_be_record(NAMES[case])
    assert listed(NAMES[case]) == ", ".join(NAMES[case])
    assert called(NAMES[case][0], NAMES[case]) == f"Column {NAMES[case][0]!r}"


@pytest.mark.parametrize("case", RECORDS)
def test_a_line_that_may_be_a_record_is_never_shown(case: str) -> None:
    first = RECORDS[case]
    assert may_be_record(first)
    assert listed(first) == "not shown, since the first line may be a record: give the file a line of names"
    assert called(first[0], first) == "A column"


@pytest.mark.parametrize("case", RECORDS)
@pytest.mark.parametrize(
    "options", [{"unit": "ID"}, {"values": "u*"}, {}, {"grid": "header"}], ids=["unit", "pattern", "all", "grid"]
)
def test_no_refusal_of_a_file_shows_its_first_record(case: str, options: dict[str, str], tmp_path: Path) -> None:
    file, first = tmp_path / "people.csv", RECORDS[case]
    file.write_text(";".join(first) + "\n" + ";".join(first[::-1]) + "\n")
    try:
        said = read_curves(file, **options).columns  # type: ignore[arg-type]
    except DataError as error:
        said = str(error)
    assert not any(cell in said for cell in first if cell.strip() and cell not in ("NA", "1001"))


def test_cards_count_columns_whose_names_may_be_values() -> None:
    header = ["Maria", "17.25", "0.4", "0.5"]
    assert in_few_words(header[1:], header) == "3 columns, from number 2 to number 4 of 4"
    assert in_few_words(["0.4"], header) == "column 3 of 4"
    assert in_few_words(["0.5", "0.4"], header, most=4) == "columns 3, 4 of 4"
    assert in_few_words(["t1", "t2"], ["", "t1", "t2"]) == "2 columns, t1 to t2"
    assert in_few_words(["x", "y"], ["x", "y"], most=4) == "x, y"


def test_a_frame_that_was_read_without_a_header_shows_no_record() -> None:
    frame = pd.DataFrame([["Eva", 0.1, "w"]], columns=["Maria", "0.41", "female"])
    born = frame.assign(Maria=pd.to_datetime("1971-03-02"))
    with pytest.raises(DataError, match=r"^A column does not hold numbers\. "):
        from_frame(born, values="*")
    with pytest.raises(DataError, match=r"^A column of the covariates holds no numbers\. "):
        as_covariates(frame, None)
    with pytest.raises(DataError, match=r"^A column of the covariates holds no numbers\. "):
        as_covariates(pa.Table.from_pandas(frame), None)
    with pytest.raises(DataError, match=r"^Two columns of the table have one name\. Rename one\.$"):
        choose_columns(["yes", "yes"], "*", None)


def test_a_schema_of_values_is_not_shown(tmp_path: Path) -> None:
    pq.write_table(pa.table({"Maria": [date(1971, 3, 2)], "0.41": [0.5]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"^A column holds date32\[day\], not numbers\."):
        read_curves(tmp_path / "a.parquet", values="*")


@pytest.mark.parametrize("content", [b"PK\x03\x04rest\n", b"\xff\xfeI\x00D\x00\n\x00", b"\x1f\x8b\x08\x00abc"])
def test_bytes_that_are_no_text_are_no_table(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DataError, match=r"^'a\.csv' is not a text file in UTF-8\. Save the table as CSV once more\.$"):
        read_curves(tmp_path / "a.csv")


def test_numbers_that_do_not_increase_are_no_grid(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("17.25,1001,0.491\n1,2,3\n")
    with pytest.raises(
        DataError, match=r"^The numbers in the header do not increase, so no grid can be read from it: the"
    ):
        read_curves(tmp_path / "a.csv", grid="header")
    (tmp_path / "a.csv").write_text("0,0.5,1\n1,2,3\n")
    assert read_curves(tmp_path / "a.csv", grid="header").grid.tolist() == [0.0, 0.5, 1.0]

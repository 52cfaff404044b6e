"""Come here for curves in CSV files: read fast where every cell is a number, carefully where one is not."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import DataError
from dpfda.records.cells import as_numbers, columns_of
from dpfda.records.identity import Identity

MISSING = ["", "NA", "NaN", "nan", "null", "None", "."]
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")  # bytes that no line of a table holds
BLOCK = 2**22  # bytes read at a time
PIECE = 2**16  # bytes read at a time of the first line
LONGEST_LINE = 2**27  # bytes: a header of a million columns has some ten million


@dataclass(frozen=True, slots=True)
class CsvSource:
    """Rows of a CSV file, one line a row: a cell that is no number is missing, a short line is padded, a long one cut.

    A quotation mark never reaches beyond its line. One left open would otherwise swallow the rows of other people.
    """

    file: Path
    names: tuple[str, ...]
    unit: str | None

    @staticmethod
    def header(file: Path) -> list[str]:
        first = _first_line(file)
        if not first:
            raise DataError(f"{file.name!r} is empty: its first line must name the columns.")
        if CONTROL.search(first):
            raise DataError(f"{file.name!r} is not a text file in UTF-8. Save the table as CSV once more.")
        # Spaces beside a name are no part of it, as in "ID, t1, t2": nobody would type them.
        columns = [name.strip() for name in _cells(first, _delimiter(first))]
        if len(set(columns)) < len(columns):
            # Without the name: where there is no header, it is somebody's value.
            raise DataError(
                f"Two columns of {file.name!r} have one name, or its first line is a record. The first line must name "
                "the columns, each by another name."
            )
        return columns

    @property
    def width(self) -> int:
        return len(self.names)

    def rows(self) -> int:
        return sum(len(_lines(block)) for block in _blocks(self.file))

    def identity(self) -> Identity | None:
        return None if self.unit is None else Identity.of(self._text_column(self.unit))

    def texts(self, name: str) -> list[str]:
        """The cells of a column as they are written."""
        texts: list[str] = self._text_column(name).to_pylist()
        return texts

    @property
    def delimiter(self) -> str:
        return self._layout()[1]

    def batches(self, rows: int) -> Iterator[Array]:
        for block in _blocks(self.file):
            table = self._numbers(block)
            for start in range(0, len(table), rows):
                yield table[start : start + rows]

    def _numbers(self, block: bytes) -> Array:
        if self._layout()[1] != ",":
            block = block.replace(b",", b".")  # no comma separates cells here, so it is a decimal sign
        # Both readers take a plain line alike, so no row is encoded otherwise because of another.
        table = self._fast(block, self.names, numbers=True)
        return self._careful(block, self.names) if table is None else columns_of(table, self.names)

    def _text_column(self, name: str) -> Any:
        """A column as Arrow text, which takes a fifth of the memory of Python's."""
        import pyarrow as pa

        parts: list[Any] = []
        for block in _blocks(self.file):
            table = self._fast(block, (name,), numbers=False)
            if table is None:
                parts.append(pa.array([row[0] for row in self._chosen(block, (name,))], pa.large_string()))
            else:
                parts.extend(table.column(0).cast(pa.large_string()).chunks)
        return pa.chunked_array(parts, pa.large_string())

    def _fast(self, block: bytes, names: tuple[str, ...], *, numbers: bool) -> Any:
        """The named columns of a block as an Arrow table; None if some line is not plain."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        columns, delimiter = self._layout()
        lines, block = len(_lines(block)), _unquoted(block, delimiter)
        if b'"' in block or block.startswith(BYTE_ORDER_MARK):
            return None
        kind = pa.float64() if numbers else pa.string()
        convert = arrow_csv.ConvertOptions(
            include_columns=list(names),
            column_types=dict.fromkeys(names, kind),
            null_values=MISSING,
            strings_can_be_null=False,
        )
        parse = arrow_csv.ParseOptions(delimiter=delimiter, quote_char=False)
        read = arrow_csv.ReadOptions(column_names=columns, block_size=len(block) + 1)
        try:
            table = arrow_csv.read_csv(pa.BufferReader(block), read, parse, convert)
        except pa.ArrowException:
            return None
        # Arrow passes over a line that is empty without its quotation marks. Both readers must see the same rows, or
        # one person's odd cell would move the identifiers of all others.
        return table if table.num_rows == lines else None

    def _careful(self, block: bytes, names: tuple[str, ...]) -> Array:
        cells = list(self._chosen(block, names))
        return as_numbers(np.array(cells, dtype=object).reshape(len(cells), len(names)))

    def _chosen(self, block: bytes, names: tuple[str, ...]) -> Iterator[list[str]]:
        columns, delimiter = self._layout()
        place_of = {name: place for place, name in enumerate(columns)}
        places = [place_of[name] for name in names]
        for line in _lines(block):
            row = _cells(line, delimiter)
            yield [row[place] if place < len(row) else "" for place in places]

    def _layout(self) -> tuple[list[str], str]:
        return _layout_of(self.file, self.file.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _layout_of(file: Path, changed: int) -> tuple[list[str], str]:
    """The columns of a file and what separates them; read once, since a header may name a million of them."""
    return CsvSource.header(file), _delimiter(_first_line(file))


def _first_line(file: Path) -> bytes:
    parts: list[bytes] = []
    with file.open("rb") as stream:
        while len(parts) * PIECE < LONGEST_LINE and (chunk := stream.read(PIECE)):
            parts.append(chunk)
            if b"\n" in chunk or b"\r" in chunk:
                break
        else:
            if len(parts) * PIECE >= LONGEST_LINE:
                raise DataError(
                    f"The first line of {file.name!r} has no end within {LONGEST_LINE} bytes: this is no table with a "
                    "line of names."
                )
    first = b"".join(parts).splitlines()
    return first[0].removeprefix(BYTE_ORDER_MARK) if first else b""


def _delimiter(first: bytes) -> str:
    return max(",;\t", key=lambda sign: first.count(sign.encode()))


def _blocks(file: Path) -> Iterator[bytes]:
    """All lines after the header, whole lines at a time; blocks without any are left out."""
    for number, piece in enumerate(_pieces(file, BLOCK)):
        block = re.split(rb"\r\n|\r|\n", piece, maxsplit=1)[1] if number == 0 else piece
        if block.strip(b"\r\n"):
            yield block


def _pieces(file: Path, size: int) -> Iterator[bytes]:
    """The bytes of a file, whole lines at a time; a line is cut where it becomes longer than any table has them."""
    rest: list[bytes] = []  # of a line that has not ended yet; joined once, so that long lines take linear time
    length = 0
    with file.open("rb") as stream:
        while chunk := stream.read(size):
            cut = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
            if cut:
                yield b"".join([*rest, chunk[:cut]])
                rest, length = [], 0
            if length < LONGEST_LINE and (part := chunk[cut : cut + LONGEST_LINE - length]):
                rest.append(part)
                length += len(part)
    if rest:
        yield b"".join([*rest, b"\n"])


def _lines(block: bytes) -> list[bytes]:
    """The lines of a block; empty ones are no rows."""
    return [line for line in block.splitlines() if line]


def _unquoted(block: bytes, delimiter: str) -> bytes:
    """The same lines without the quotation marks around cells that do not need them, and spaces beside those."""
    if b'"' not in block:
        return block
    end = re.escape(delimiter).encode() + rb"\r\n"
    # Spaces at the end of the cell before are no part of the match: the text that is kept begins with a delimiter.
    return re.sub(rb'(^|[%b]) *"([^"%b]*)" *(?=[%b]|$)' % (end, end, end), rb"\1\2", block)


def _cells(line: bytes, delimiter: str) -> list[str]:
    """The cells of one line; bytes that are no text are written out, so that different ones stay different."""
    text = _unquoted(line, delimiter).decode("utf-8", errors="backslashreplace")
    if '"' in text:
        try:
            # Strictly: a mark that is never closed is a sign like any other, and does not swallow the cells after it.
            return next(csv.reader([text], delimiter=delimiter, skipinitialspace=True, strict=True))
        except csv.Error:
            return [cell.strip(' "') for cell in text.split(delimiter)]
    return text.split(delimiter)

"""Curves in CSV files: read fast where every cell is a number, carefully where one is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import DataError
from dpfda.records.cell_values import as_numbers, columns_of
from dpfda.records.identity import Identity
from dpfda.records.spellings import decoded

MISSING = ["", "NA", "NaN", "nan", "null", "None", "."]
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")  # bytes that no line of a table holds
BLOCK = 2**22  # bytes read at a time
FIRST_END = re.compile(rb"\r*\n|\r(?!\r*\n)")  # of the first line; some programs write a carriage return twice
PIECE = 2**16  # bytes read at a time of the first line
MOST_FAST = 2**14  # columns: Arrow takes some kilobytes for each
LONGEST_LINE = 2**27  # bytes: a header of a million columns has some ten million
LONGEST_ROW = 2**24  # bytes of a row of several lines that has a cell for every column
LONGEST_UNEVEN = 2**17  # and of one that has more or fewer: more than the longest cell of a spreadsheet


@dataclass(frozen=True, slots=True)
class CsvTable:
    """The first line of a CSV file, read once when the table is opened."""

    file: Path
    first: bytes = field(repr=False)  # the line that names the columns
    end: bytes  # the line break after it, which alone ends a row: any other one is a sign in somebody's cell
    delimiter: str
    columns: tuple[str, ...] = field(repr=False)

    @staticmethod
    def open(file: Path) -> CsvTable:
        """The table in this file; refused if the first line cannot be names of columns."""
        first, end = _first_line(file)
        if not first:
            raise DataError(f"{file.name!r} is empty: its first line must name the columns.")
        if CONTROL.search(first):
            raise DataError(f"{file.name!r} is not a text file in UTF-8. Save the table as CSV once more.")
        delimiter = max(",;\t", key=lambda sign: first.count(sign.encode()))
        # Spaces beside a name are no part of it, as in "ID, t1, t2": nobody would type them.
        columns = tuple(name.strip() for name in _Lines(end, delimiter.encode(), 0).cells(first))
        if len(set(columns)) < len(columns):
            # Without the name: where there is no header, it is somebody's value.
            raise DataError(
                f"Two columns of {file.name!r} have one name, or its first line is a record. The first line must name "
                "the columns, each by another name."
            )
        return CsvTable(file, first, end, delimiter, columns)

    def source(self, names: tuple[str, ...], unit: str | None) -> CsvSource:
        """Rows of the named columns; `unit` is the column that says whose they are."""
        return CsvSource(self, names, unit)


@dataclass(frozen=True, slots=True)
class CsvSource:
    """Rows of a CSV file: a cell that is no number is missing, a short row is padded, a long one cut.

    A row is a line, or several where a cell in quotation marks has line breaks in it (RFC 4180). A mark that is not
    closed at the end of a cell, or not soon enough, is a sign like any other: it would swallow other people's rows. In
    a file of one column an empty line is a row with a gap, elsewhere it is no row.
    """

    table: CsvTable
    names: tuple[str, ...]
    unit: str | None

    @property
    def width(self) -> int:
        return len(self.names)

    def rows(self) -> int:
        return sum(len(self._rows(block)) for block in self._blocks())

    def identity(self) -> Identity | None:
        return None if self.unit is None else Identity.of(self._text_column(self.unit))

    def texts(self, name: str) -> list[str]:
        """The cells of a column as they are written."""
        texts: list[str] = self._text_column(name).to_pylist()
        return texts

    def batches(self, rows: int) -> Iterator[Array]:
        for block in self._blocks():
            table = self._numbers(block)
            for start in range(0, len(table), rows):
                yield table[start : start + rows]

    def _numbers(self, block: bytes) -> Array:
        if self.table.delimiter != ",":
            block = block.replace(b",", b".")  # no comma separates cells here, so it is a decimal sign
        # Both readers take a plain line alike, so no row is encoded otherwise because of another.
        table = self._fast(block, self.names, numbers=True)
        return self._careful(block, self.names) if table is None else columns_of(table, self.names)

    def _text_column(self, name: str) -> Any:
        """A column as Arrow text, which takes a fifth of the memory of Python's."""
        import pyarrow as pa

        parts: list[Any] = []
        for block in self._blocks():
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

        if b'"' in block or block.startswith(BYTE_ORDER_MARK) or len(self.table.columns) > MOST_FAST:
            return None
        if not _ends_alike(block, self.table.end):
            return None  # Arrow would end a row inside a cell
        kind = pa.float64() if numbers else pa.string()
        convert = arrow_csv.ConvertOptions(
            include_columns=list(names),
            column_types=dict.fromkeys(names, kind),
            null_values=MISSING,
            strings_can_be_null=False,
        )
        parse = arrow_csv.ParseOptions(
            delimiter=self.table.delimiter, quote_char=False, ignore_empty_lines=not self.narrow
        )
        read = arrow_csv.ReadOptions(column_names=list(self.table.columns), block_size=len(block) + 1)
        try:
            table = arrow_csv.read_csv(pa.BufferReader(block), read, parse, convert)
        except pa.ArrowException:
            return None
        # Arrow passes over a line that is empty without its quotation marks. Both readers must see the same rows, or
        # one person's odd cell would move the identifiers of all others.
        return table if table.num_rows == len(self._rows(block)) else None

    def _careful(self, block: bytes, names: tuple[str, ...]) -> Array:
        cells = list(self._chosen(block, names))
        return as_numbers(np.array(cells, dtype=object).reshape(len(cells), len(names)))

    def _chosen(self, block: bytes, names: tuple[str, ...]) -> Iterator[list[str]]:
        place_of = {name: place for place, name in enumerate(self.table.columns)}
        places = [place_of[name] for name in names]
        for line in self._rows(block):
            row = self._lines.cells(line)
            yield [row[place] if place < len(row) else "" for place in places]

    @property
    def narrow(self) -> bool:
        """Whether there is one column alone, so that a gap is an empty line."""
        return len(self.table.columns) == 1

    def _blocks(self) -> Iterator[bytes]:
        """All lines after the header, whole rows at a time, without quotation marks that are not needed."""
        file = self.table.file
        pieces = _pieces(file, BLOCK, self.table.end)
        first, _, lines = next(pieces, b"").partition(self.table.end)
        if first.removeprefix(BYTE_ORDER_MARK).rstrip(b"\r") != self.table.first:
            raise DataError(f"The columns of {file.name!r} have changed since it was opened. Open it again.")
        open_row = b""  # that had not ended where the last block did
        for piece in chain([lines], pieces):
            block = open_row + _unquoted(piece, self.table.delimiter)
            open_row = self._lines.rows(block)[1] if b'"' in block else b""
            if len(open_row) < len(block):
                yield block[: len(block) - len(open_row)]
        if open_row:
            yield open_row

    def _rows(self, block: bytes) -> list[bytes]:
        """The rows of a block after which no row is open; where one seems to be, its mark was never closed."""
        rows, _ = self._lines.rows(block, last=True)
        return rows if self.narrow else [row for row in rows if row]

    @property
    def _lines(self) -> _Lines:
        return _Lines(self.table.end, self.table.delimiter.encode(), len(self.table.columns))


def _first_line(file: Path) -> tuple[bytes, bytes]:
    """The first line and the line break that ends it."""
    parts: list[bytes] = []
    with file.open("rb") as stream:
        while len(parts) * PIECE < LONGEST_LINE and (chunk := stream.read(PIECE)):
            parts.append(chunk)
            if b"\n" in chunk or b"\r" in chunk:
                parts.append(stream.read(PIECE))  # what follows a carriage return
                break
        else:
            if len(parts) * PIECE >= LONGEST_LINE:
                raise DataError(
                    f"The first line of {file.name!r} has no end within {LONGEST_LINE} bytes: this is no table with a "
                    "line of names."
                )
    text = b"".join(parts).removeprefix(BYTE_ORDER_MARK)
    found = FIRST_END.search(text)
    if found is None:
        return text, b"\n"
    return text[: found.start()], b"\r\n" if found.group().startswith(b"\r\r") else found.group()


def _pieces(file: Path, size: int, end: bytes) -> Iterator[bytes]:
    """The bytes of a file, whole lines at a time; a line is cut where it becomes longer than any table has them."""
    rest: list[bytes] = []  # of a line that has not ended yet; joined once, so that long lines take linear time
    length = 0
    with file.open("rb") as stream:
        while chunk := stream.read(size):
            if chunk.endswith(b"\r"):
                chunk += stream.read(1)  # the other half of a line break
            found = chunk.rfind(end)
            cut = found + len(end) if found >= 0 else 0
            if cut:
                yield b"".join([*rest, chunk[:cut]])
                rest, length = [], 0
            if length < LONGEST_LINE and (part := chunk[cut : cut + LONGEST_LINE - length]):
                rest.append(part)
                length += len(part)
    if rest:
        yield b"".join([*rest, end])


def _ends_alike(block: bytes, end: bytes) -> bool:
    """Whether every carriage return and line feed of a block is part of a line break that ends a row."""
    returns, feeds, pairs = block.count(b"\r"), block.count(b"\n"), block.count(b"\r\n")
    if end == b"\n":
        return returns == pairs
    return feeds == 0 if end == b"\r" else returns == feeds == pairs


@dataclass(frozen=True, slots=True)
class _Row:
    """The cells of a row with quotation marks, and where it ends."""

    cells: tuple[bytes, ...]
    end: int


OPEN = _Row((), -1)  # a mark is not closed yet


@dataclass(frozen=True, slots=True)
class _Lines:
    """How a file is cut into rows: its line break, its delimiter, and how many columns it has.

    Whatever stands in the cells of a program that quotes them, each row is read as it was. Beside such rows, a line
    with a stray mark is a row by itself, unless the mark is closed at the end of a cell further down. That needs
    another stray mark, or a quoted cell that begins with a delimiter or a line break: anywhere else the next mark is
    followed by text, or the next cell has a mark in its midst. `tests/records/test_csv_rows.py` tries random bytes.
    """

    end: bytes
    sign: bytes
    columns: int

    def rows(self, block: bytes, *, last: bool = False) -> tuple[list[bytes], bytes]:
        """The rows of a block, without line breaks at their ends, and the bytes of a last one that is still open.

        After the `last` bytes of a file none is open: the mark was never closed, and its line is a row.
        """
        rows: list[bytes] = []
        start = 0
        while (mark := block.find(b'"', start)) >= 0:
            before = block.rfind(self.end, start, mark)
            line = before + len(self.end) if before >= 0 else start
            rows += self._split(block[start:line])  # lines without marks
            row = self._parsed(block, line)
            if row is OPEN and not last:
                return rows, block[line:]
            end = row.end if row is not None and row is not OPEN else self._line_end(block, mark)
            rows.append(block[line:end].rstrip(b"\r"))
            start = end + len(self.end)
        return rows + self._split(block[start:]), b""

    def _split(self, lines: bytes) -> list[bytes]:
        """Lines without marks as rows; a carriage return at the end of one is part of the line break."""
        rows = lines.split(self.end)
        return [row.rstrip(b"\r") for row in (rows if rows[-1] else rows[:-1])]

    def _line_end(self, block: bytes, place: int) -> int:
        found = block.find(self.end, place)
        return found if found >= 0 else len(block)

    def cells(self, row: bytes) -> list[str]:
        """The cells of one row, each decoded by itself: one that is no UTF-8 leaves the others as they are."""
        row = _unquoted(row, self.sign.decode())
        if b'"' not in row and row.isascii():
            return row.decode().split(self.sign.decode())
        found = self._parsed(row, 0) if b'"' in row else None
        if found is None or found.end < len(row):
            # A mark that is never closed is a sign like any other, and does not swallow the cells after it.
            return [decoded(cell.strip(b' "')) for cell in row.split(self.sign)]
        return [decoded(cell) for cell in found.cells]

    def _parsed(self, block: bytes, start: int) -> _Row | None:
        """The row that begins there, by RFC 4180; None if a mark stands where it belongs to no cell, or too far on."""
        cells: list[bytes] = []
        place, end = start, self._line_end(block, start)
        first_end = end
        while True:
            first = _past(block, place, b" ")
            if block[first : first + 1] == b'"':
                closing = _closing(block, first + 1, start + LONGEST_ROW)
                if closing < 0:
                    return OPEN if len(block) < start + LONGEST_ROW else None
                cells.append(block[first + 1 : closing].replace(b'""', b'"'))
                if closing > end:
                    end = self._line_end(block, closing + 1)
                place = min(end, _past(block, closing + 1, b" \r"))
                if place < end and block[place : place + 1] != self.sign:
                    return None
            else:
                found = block.find(self.sign, place, end)
                cells.append(block[place : found if found >= 0 else end])
                place = found if found >= 0 else end
                if end > first_end and b'"' in cells[-1]:
                    return None  # the mark that closed a cell of several lines may have opened one of another row
            if place >= end:
                break
            place += 1
        uneven = len(cells) != self.columns and end > first_end and end - start > LONGEST_UNEVEN
        return None if uneven else _Row(tuple(cells), end)


def _past(block: bytes, place: int, signs: bytes) -> int:
    while (sign := block[place : place + 1]) and sign in signs:
        place += 1
    return place


def _closing(block: bytes, place: int, most: int) -> int:
    """The mark that closes a cell, past those that are written twice; -1 if there is none."""
    while True:
        place = block.find(b'"', place, most)
        if place < 0 or block[place + 1 : place + 2] != b'"':
            return place
        place += 2


def _unquoted(block: bytes, delimiter: str) -> bytes:
    """The same lines without the quotation marks around cells that do not need them, and spaces beside those."""
    if b'"' not in block:
        return block
    end = re.escape(delimiter).encode() + rb"\r\n"
    # Spaces at the end of the cell before are no part of the match: the text that is kept begins with a delimiter.
    return re.sub(rb'(^|[%b]) *"([^"%b]*)" *(?=[%b]|$)' % (end, end, end), rb"\1\2", block)

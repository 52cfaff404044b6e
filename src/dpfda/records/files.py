"""Curves in files, wide format: one row a curve, one column a grid point; CSV and Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpfda.arrays import Array, ArrayLike, as_path
from dpfda.errors import DataError
from dpfda.records.cell_values import check_types, check_unit_type, columns_of
from dpfda.records.columns import Values, check_curve, check_rows, choose_columns, grid_of, in_few_words, listed, unused
from dpfda.records.csv_files import CsvTable
from dpfda.records.curves import Curves
from dpfda.records.identity import Identity

MOST_ROWS = 2**40  # that a file may state


def read_curves(
    path: str | Path,
    *,
    values: Values | None = None,
    unit: str | None = None,
    grid: ArrayLike | str | None = None,
    rows: str | None = None,
) -> Curves:
    """Curves from a CSV or Parquet file in wide format, read lazily.

    `values` is a shell pattern over column names, e.g. "t*", or a list of names; None for all if they look alike.
    `unit` is the column that says whose curve it is; `grid` the public positions of the value columns, "header" to read
    them from the column names, "even" for equally spaced; None for equally spaced unless the names contradict. All
    rows of a unit are averaged, whatever other columns say; where one of those says by its name that rows are of
    different kinds, e.g. `joint`, that has to be stated: rows="average".
    """
    return curves_in(open_table(path), values=values, unit=unit, grid=grid, rows=rows)


def curves_in(
    table: Table,
    *,
    values: Values | None,
    unit: str | None,
    grid: ArrayLike | str | None,
    rows: str | None,
    beside: tuple[str, ...] = (),
) -> Curves:
    """Curves of a table as `read_curves` has them; columns beside them may be used too, e.g. as covariates."""
    header = list(table.columns)
    chosen = choose_columns(header, values, unit)
    check_curve(chosen, header)
    left = unused(header, (*chosen, *beside, *(() if unit is None else (unit,))))
    check_rows(rows, left)
    return Curves(
        table.source(tuple(chosen), unit),
        grid_of(grid, chosen),
        unit,
        in_few_words(chosen, header),
        listed(left, header) if left else "",
    )


def open_table(path: str | Path) -> Table:
    """The table in a CSV or Parquet file: its names of columns are read, once, and nothing else."""
    file = as_path(path)
    if not _is_file(file):
        raise DataError(_what_else(file))
    if file.suffix.lower() in (".parquet", ".pq"):
        return ParquetTable.open(file)
    if file.suffix.lower() in (".csv", ".tsv", ".txt"):
        return CsvTable.open(file)
    raise DataError(f"{file.name!r} is neither .csv, .tsv, .txt nor .parquet. Convert it, or pass a data frame.")


def _is_file(file: Path) -> bool:
    """Whether it can be read more than once, from its start to its end: no folder, device or pipe."""
    try:
        return file.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _what_else(file: Path) -> str:
    """What is said of a path that leads to no regular file."""
    try:
        if file.is_dir():
            return f"{str(file)!r} is a folder. Name a file in it."
        if file.exists():
            return f"{str(file)!r} is a pipe, a socket or a device, and a table is read twice. Save it as a file first."
    except (OSError, ValueError):  # a name that no file can have
        pass
    return f"No file {str(file)!r}. Check the path."


@dataclass(frozen=True, slots=True)
class ParquetTable:
    """The schema of a Parquet file and its number of rows, read once when the table is opened."""

    file: Path
    schema: Any
    rows: int

    @staticmethod
    def open(file: Path) -> ParquetTable:
        """The table in this file."""
        found = _parquet(file)
        return ParquetTable(file, found.schema_arrow, int(found.metadata.num_rows))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(str(name) for name in self.schema.names)

    def source(self, names: tuple[str, ...], unit: str | None) -> ParquetSource:
        """Rows of the named columns; `unit` is the column that says whose they are."""
        return ParquetSource(self, names, unit)


Table = CsvTable | ParquetTable


@dataclass(frozen=True, slots=True)
class ParquetSource:
    """Row groups of a Parquet file, decoded a batch at a time."""

    table: ParquetTable
    names: tuple[str, ...]
    unit: str | None

    def __post_init__(self) -> None:
        check_types(self.table.schema, self.names)
        if self.unit is not None:
            check_unit_type(self.table.schema, self.unit)

    @property
    def width(self) -> int:
        return len(self.names)

    def rows(self) -> int:
        return self.table.rows

    def identity(self) -> Identity | None:
        if self.unit is None:
            return None
        return Identity.of(_parquet(self.table.file).read(columns=[self.unit])[self.unit])

    def batches(self, rows: int) -> Iterator[Array]:
        for batch in _parquet(self.table.file).iter_batches(rows, columns=list(self.names), use_threads=True):
            yield columns_of(batch, self.names)


def _parquet(file: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # A small buffer for each column instead of whole row groups, so that memory does not grow with the file.
        found = pq.ParquetFile(file, pre_buffer=False, buffer_size=2**16)
        # Damaged bytes may state any schema: what Arrow cannot even describe fails here, not with records in hand.
        _ = found.schema_arrow
        sane = 0 <= found.metadata.num_rows <= MOST_ROWS
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError, MemoryError):
        sane = False
    if not sane:
        raise DataError(f"{file.name!r} is not a Parquet file that can be read.")
    return found

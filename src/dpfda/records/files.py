"""Curves in files, wide format: one row a curve, one column a grid point; CSV and Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpfda.arrays import Array, ArrayLike, as_path
from dpfda.errors import DataError
from dpfda.records.cell_values import check_types, check_unit_type, columns_of
from dpfda.records.columns import Values, check_curve, check_rows, choose_columns, grid_of, unused
from dpfda.records.csv_files import CsvSource
from dpfda.records.curves import Curves, name_columns
from dpfda.records.headers import listed
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
    return read_beside(path, values=values, unit=unit, grid=grid, rows=rows, beside=())


def read_beside(
    path: str | Path,
    *,
    values: Values | None,
    unit: str | None,
    grid: ArrayLike | str | None,
    rows: str | None,
    beside: tuple[str, ...],
) -> Curves:
    """Curves as `read_curves` has them, where columns beside them are used too, e.g. as covariates."""
    file, source = _source(path)
    header = source.header(file)
    chosen = choose_columns(header, values, unit)
    check_curve(chosen, header)
    left = unused(header, (*chosen, *beside, *(() if unit is None else (unit,))))
    check_rows(rows, left)
    return Curves(
        source(file, tuple(chosen), unit),
        grid_of(grid, chosen),
        unit,
        name_columns(chosen, header),
        listed(left, header) if left else "",
    )


def read_header(path: str | Path) -> list[str]:
    """The names of a file's columns."""
    file, source = _source(path)
    return source.header(file)


def _source(path: str | Path) -> tuple[Path, type[ParquetSource] | type[CsvSource]]:
    file = as_path(path)
    if not _is_file(file):
        raise DataError(_what_else(file))
    if file.suffix.lower() in (".parquet", ".pq"):
        return file, ParquetSource
    if file.suffix.lower() in (".csv", ".tsv", ".txt"):
        return file, CsvSource
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
class ParquetSource:
    """Row groups of a Parquet file, decoded a batch at a time."""

    file: Path
    names: tuple[str, ...]
    unit: str | None

    @staticmethod
    def header(file: Path) -> list[str]:
        return [str(name) for name in _parquet(file).schema_arrow.names]

    def __post_init__(self) -> None:
        schema = _parquet(self.file).schema_arrow
        check_types(schema, self.names)
        if self.unit is not None:
            check_unit_type(schema, self.unit)

    @property
    def width(self) -> int:
        return len(self.names)

    def rows(self) -> int:
        return int(_parquet(self.file).metadata.num_rows)

    def identity(self) -> Identity | None:
        if self.unit is None:
            return None
        return Identity.of(_parquet(self.file).read(columns=[self.unit])[self.unit])

    def batches(self, rows: int) -> Iterator[Array]:
        for batch in _parquet(self.file).iter_batches(rows, columns=list(self.names), use_threads=True):
            yield columns_of(batch, self.names)


def _parquet(file: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # A small buffer for each column instead of whole row groups, so that memory does not grow with the file.
        found = pq.ParquetFile(file, pre_buffer=False, buffer_size=2**16)
        # Damaged bytes may state any schema: what Arrow cannot even describe fails here, not with records in hand.
        found.schema_arrow  # noqa: B018
        sane = 0 <= found.metadata.num_rows <= MOST_ROWS
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError, MemoryError):
        sane = False
    if not sane:
        raise DataError(f"{file.name!r} is not a Parquet file that can be read.")
    return found

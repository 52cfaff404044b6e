"""Columns of a file that are points: which they are, what stands beside them, and whether both fit the domain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any

import dpfda
from dpfda.arrays import brief
from dpfda.cli.releasing import NOTHING, check_row
from dpfda.cli.values import OutputOptions, PointSourceOptions
from dpfda.errors import DataError, UsageError

if TYPE_CHECKING:
    from dpfda.records.files import Table

WILD = set("*?[")


def point_columns(header: list[str], asked: tuple[str, ...], taken: Mapping[str, str]) -> list[str]:
    """The columns that names and patterns stand for, in the order in which they are asked for.

    `taken` says what other columns are; patterns pass over them.
    """
    from dpfda.records.columns import check_column

    chosen: list[str] = []
    for text in asked:
        # A name may hold a comma.
        for part in [text] if text in header else [part.strip() for part in text.split(",")]:
            if part in taken:
                raise UsageError(f"Column {brief(part)} cannot be a coordinate and {taken[part]} at once.")
            if part in header or not WILD & set(part):
                check_column(header, part, "a coordinate")
                found = [part]
            else:
                found = [name for name in _matching(header, part) if name not in taken and name not in chosen]
            twice = [name for name in found if name in chosen]
            if twice:
                raise UsageError(
                    f"--points names the column {brief(twice[0])} twice. Each coordinate has a column of its own."
                )
            chosen += found
    return chosen


def _matching(header: list[str], pattern: str) -> list[str]:
    """The columns that a pattern matches; they need not look alike, for every coordinate is another thing."""
    from dpfda.records.columns import choose_columns

    # A pattern that nothing matches is refused as that of curves is.
    return [name for name in header if fnmatchcase(name, pattern)] or choose_columns(header, pattern, None)


def read_points(table: Table, asked: tuple[str, ...], *, unit: str | None, beside: Mapping[str, str]) -> dpfda.Curves:
    """Points in a CSV or Parquet file, read lazily; `beside` says what columns beside them are."""
    from dpfda.records.columns import check_column, unused
    from dpfda.records.files import curves_in
    from dpfda.records.headers import in_few_words, listed

    header = list(table.columns)
    for name, what in beside.items():
        check_column(header, name, what)
    if unit is not None and unit in beside:
        raise UsageError(f"Column {brief(unit)} cannot be the privacy unit and {beside[unit]} at once.")
    taken = dict(beside) if unit is None else {**beside, unit: "the privacy unit"}
    if unit is not None:
        check_column(header, unit, "the privacy unit")
    chosen = point_columns(header, asked, taken)
    if not chosen:
        raise UsageError(f"--points names no column that is left for a coordinate; got {brief(', '.join(asked))}.")
    curves = curves_in(table, values=[chosen[0]], unit=unit, grid="even", rows="average")
    left = unused(header, (*chosen, *taken))
    return replace(
        curves,
        source=_numeric(curves.source, tuple(chosen)),
        columns=in_few_words(chosen, header, most=4),
        unused=listed(left, header) if left else "",
    )


def _numeric(source: Any, names: tuple[str, ...]) -> Any:
    """The same source with other columns; what is refused of them is said in the words of the command."""
    try:
        return replace(source, names=names)
    except DataError as error:
        if not error.fix:
            raise
        raise DataError(str(error).removesuffix(error.fix), "Name columns of numbers.") from None


def check_numbers(points: dpfda.Curves, name: str) -> None:
    """A column beside points holds numbers, as far as its type says so."""
    _numeric(points.source, (name,))


def read_numbers(points: dpfda.Curves, name: str, *, what: str) -> Any:
    """A column of numbers beside points, (n,), NaN where a cell is none."""
    import numpy as np

    source = _numeric(points.source, (name,))
    try:
        found = np.concatenate([np.empty((0, 1)), *source.batches(2**16)])[:, 0]
    except Exception:
        found = None
    if found is None:
        # Out here and with one constant text: nothing about the records.
        raise DataError(
            f"The column of {what} could not be read. Check that the file can be read. Nothing was charged."
        )
    return found


def classes_in(points: dpfda.Curves, name: str, classes: tuple[str, str]) -> tuple[Any, Any]:
    """The classes as a release has them: numbers if both are, else texts, whatever the labels turn out to be.

    One word in a column of numbers makes a column of texts of it, so that says nothing; other types are refused.
    """
    source: Any = points.source
    _check_label_type(source.table, name)
    return plain_numbers(classes) or classes


def read_labels(points: dpfda.Curves, name: str, classes: tuple[Any, Any]) -> Any:
    """A column of labels beside points, (n,), each as it stands in its cell."""
    try:
        found = _texts(points.source, name, numbers=not isinstance(classes[0], str))
    except Exception:
        found = None
    if found is None:
        raise DataError("The column of labels could not be read. Check that the file can be read. Nothing was charged.")
    return found


def plain_numbers(texts: tuple[str, str]) -> tuple[float, float] | None:
    """Both texts as numbers, whole ones as whole ones; None if one is none."""
    from dpfda.records.labelled import label_of

    first, second = (label_of(text) for text in texts)
    if not (isinstance(first, float) and isinstance(second, float)) or any(text.strip().isalpha() for text in texts):
        return None  # "True" and "False" stay words in the answers, and are read as 1 and 0
    one, other = (int(each) if each.is_integer() else each for each in (first, second))
    return one, other


def _check_label_type(table: Table, name: str) -> None:
    from dpfda.records.files import ParquetTable

    if not isinstance(table, ParquetTable):
        return
    import pyarrow as pa

    kind = table.schema.field(name).type
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_nested(plain) or pa.types.is_temporal(plain):
        raise DataError(
            f"Column {brief(name)} holds {kind}, and labels are numbers or texts. Convert the column first."
        )


def _texts(source: Any, name: str, *, numbers: bool) -> Any:
    import numpy as np

    from dpfda.records.files import ParquetTable

    if isinstance(source.table, ParquetTable):
        import pyarrow.parquet as pq

        from dpfda.records.cell_values import cells_of

        found = cells_of(pq.read_table(source.table.file, columns=[name])[name])
    else:
        found = source.texts(name)
        if numbers and source.table.delimiter != ",":
            found = [text.replace(",", ".") for text in found]  # a decimal sign, as in all other columns
    labels = np.empty(len(found), dtype=object)
    labels[:] = found
    return labels


def protected_points(table: Table, source: PointSourceOptions, beside: dict[str, str]) -> dpfda.Curves:
    """The points of a file, when it is clear who is protected."""
    if (source.unit is None) == ("the counts" not in beside.values()):
        raise UsageError(
            "Say who is protected, by one of the two: --unit COLUMN, or --unit row if every row is another person; or "
            "--counts COLUMN if a row stands for so many people, one point each."
        )
    points = read_points(table, source.points, unit=source.column, beside=beside)
    check_row(table, source.unit)
    return points


def called_after(points: dpfda.Curves, what: str, column: str | None) -> dpfda.Curves:
    """The points, named after the column beside them too: with another label or other counts it is another release."""
    return points if column is None else replace(points, columns=f"{points.columns}; {what} {column}")


@dataclass(frozen=True)
class Counts:
    """How many people rows stand for, read when it is needed."""

    points: dpfda.Curves
    column: str

    def __post_init__(self) -> None:
        from dpfda.records.columns import check_count

        check_count(self.column)
        check_numbers(self.points, self.column)

    @cached_property
    def numbers(self) -> Any:
        """One for each row, (n,), NaN where a cell is none."""
        return read_numbers(self.points, self.column, what="counts")


def check_sides(points: dpfda.Curves, sides: int) -> None:
    """One column for each side of the domain."""
    columns = points.source.width
    if columns != sides:
        raise UsageError(
            f"--points names {columns} column{'s' * (columns > 1)} ({points.columns}) and the domain has {sides} "
            f"side{'s' * (sides > 1)}: one for each." + NOTHING
        )


def check_drawn(sides: int, output: OutputOptions, *, what: str) -> None:
    """A picture only where there can be one, before anything is charged."""
    if output.picture is not None and sides > 2:
        raise UsageError(
            f"--plot draws {what} of one or two coordinates, and there are {sides}. Leave it out." + NOTHING
        )

"""Columns of a file that a command names: points, what stands beside them, and covariates with their limits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any

import dpfda
from dpfda.arrays import brief
from dpfda.cli.releasing import NOTHING, check_row
from dpfda.cli.values import OutputOptions, PointSourceOptions, SourceOptions
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
    from dpfda.records.columns import check_column, in_few_words, listed, unused
    from dpfda.records.files import curves_in

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


@dataclass(frozen=True, slots=True)
class Named:
    """The columns that are covariates, and the declared levels of some of them."""

    columns: tuple[str, ...]
    levels: dict[str, tuple[str, ...]]

    @property
    def ranges(self) -> int:
        """How many of them need a range."""
        return len(self.columns) - len(self.levels)


def names_of(text: str) -> Named:
    """Names separated by commas, some with levels."""
    columns, levels = [], {}
    for part in text.split(","):
        name, sign, listed = (piece.strip() for piece in part.partition("="))
        columns.append(name)
        if sign:
            levels[name] = tuple(level.strip() for level in listed.split("|"))
            if len(set(levels[name])) < max(2, len(levels[name])) or not all(levels[name]):
                raise UsageError(
                    "--covariates takes two or more different levels of a column, separated by |, e.g. "
                    f"'age,sex=female|male'; got {brief(part.strip())}."
                )
    if not all(columns) or len({*columns, "intercept"}) <= len(columns):
        raise UsageError(
            f"--covariates takes different names separated by commas, e.g. age,sex, none of them 'intercept'; got "
            f"{brief(text)}."
        )
    return Named(tuple(columns), levels)


def limits_of(text: str | None, bound: float | None, named: Named | None) -> list[tuple[float, float]] | None:
    """Pairs of numbers, one for each covariate; what the estimator would refuse too, here in words of the command."""
    needed = named is None or named.ranges > 0
    if text is None and bound is None and not needed:
        return None
    if (text is None) == (bound is None):
        raise UsageError(
            "Covariates need public ranges known in advance, e.g. --covariate-limits 18:90,0:1, or else "
            "--covariate-bound 3, and not both. They may not be read from the data."
        )
    if text is None:
        return None
    try:
        pairs = [tuple(float(end) for end in part.split(":")) for part in text.split(",")]
    except ValueError:
        pairs = []
    if not pairs or any(len(pair) != 2 or not -math.inf < pair[0] < pair[1] < math.inf for pair in pairs):
        raise UsageError(
            "--covariate-limits takes one range LOW:HIGH, LOW below HIGH, for each covariate, separated by commas, "
            f"e.g. 18:90,0:1; got {brief(text)}."
        )
    if named is not None and len(pairs) != named.ranges:
        without = " without levels" if named.levels else ""
        raise UsageError(
            f"There are {named.ranges} covariates{without} and {len(pairs)} ranges in --covariate-limits: one range "
            "for each."
        )
    return [(low, high) for low, high in pairs]


def check_columns(table: Table, source: SourceOptions, named: Named) -> None:
    """Covariates are columns of the file, and none is a value of the curves too."""
    from dpfda.records.columns import check_column, choose_columns

    header = list(table.columns)
    for name in named.columns:
        check_column(header, name, "a covariate")
    values = choose_columns(header, source.values, None if source.unit == "row" else source.unit)
    both = [name for name in named.columns if name in values or name == source.unit]
    if both:
        raise UsageError(
            f"Column {brief(both[0])} cannot be a covariate and a value of the curves, or the privacy unit, at once. "
            "Name the value columns by another pattern."
        )


def read_covariates(table: Table, named: Named) -> Any:
    """The columns of covariates as a table with their names; texts where levels are declared."""
    covariates = _read(table, named)
    if covariates is None:
        # Out here and with one constant text: nothing about the records.
        raise DataError("The covariates could not be read. Check that the file can be read. Nothing was charged.")
    return covariates


def empty_covariates(curves: Any, named: Named) -> Any:
    """A table of missing covariates, as many as there are rows, where only the charge is asked about."""
    import numpy as np
    import pyarrow as pa

    texts, missing = pa.array(np.full(curves.rows, "")), pa.array(np.full(curves.rows, np.nan))
    return pa.table({name: texts if name in named.levels else missing for name in named.columns})


def _read(table: Table, named: Named) -> Any:
    import numpy as np
    import pyarrow as pa

    from dpfda.records.files import ParquetTable

    try:
        if isinstance(table, ParquetTable):
            from pyarrow import parquet

            return parquet.read_table(table.file, columns=list(named.columns))
        columns = {}
        for name in named.columns:
            reader = table.source((name,), name)
            if name in named.levels:
                columns[name] = pa.array(reader.texts(name), pa.large_string())
            else:
                columns[name] = pa.array(np.concatenate([np.empty((0, 1)), *reader.batches(2**16)])[:, 0])
        return pa.table(columns)
    except Exception:
        return None

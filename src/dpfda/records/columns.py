"""Names of columns: which are points of one curve, where they lie, and what names say that must not be passed over.

Names are public, so whatever they contradict is refused before anything is charged. A header that may be somebody's
record is never shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from glob import escape

import numpy as np

from dpfda.arrays import Array, ArrayLike, brief, is_one_of, public_numbers
from dpfda.errors import DataError, UsageError
from dpfda.messages import LONGEST, arg

MAY_BE_A_RECORD = "the first line may be a record: give the file a line of names"
ALONE = "There is no other: if the first line of the file is a title, delete it, since that line names the columns."
MOST = 12  # names in a list
FEWEST_TIMES = 3  # as many times of day are the columns of a curve; one or two may stand in a record
TIME = re.compile(r"\s*\d{1,2}:\d{2}(:\d{2})?\s*")
MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
# Beginnings of dates that have letters in them: 1971-03-02T10:00, 2 Mar 1971, Mar 2, 1971.
DATE = re.compile(
    rf"\s*(\d{{4}}-\d\d?-\d\d?|\d\d?[./-]\d\d?[./-]\d{{2,4}}|\d\d?[. -]*({MONTHS})[a-z.]*[ -]*\d{{2,4}}"
    rf"|({MONTHS})[a-z.]* \d\d?,? \d{{2,4}})",
    re.IGNORECASE,
)
MISSING = {"na", "nan", "n/a", "<na>", "nat", "null", "none"}  # what is written for a missing value


def may_be_record(names: Sequence[str]) -> bool:
    """Whether names of columns may be the values of a person: a file without a header shows its first record there.

    So it is if a name repeats, is empty, a date or a missing value, or has no letter, as numbers with any decimal sign.
    A record of words alone looks like names; nobody can tell.
    """
    times = sum(TIME.fullmatch(name) is not None for name in names)
    return len(set(names)) < len(names) or 0 < times < FEWEST_TIMES or any(map(_is_value, names))


def _is_value(name: str) -> bool:
    if TIME.fullmatch(name):
        return False
    wordless = not any(sign.isalpha() for sign in name)
    missing = name.strip().lower() in MISSING
    return wordless or missing or _is_number(name) or DATE.match(name) is not None or "@" in name


def _is_number(name: str) -> bool:
    try:
        float(name)  # 1e-3, inf and nan have letters
    except ValueError:
        return False
    return True


def listed(names: Sequence[str], among: Sequence[str] | None = None) -> str:
    """Names in a list, the first of many; `among` are those of the whole table."""
    if may_be_record(names if among is None else among):
        return f"not shown, since {MAY_BE_A_RECORD}"
    shown = ", ".join(name if len(name) <= LONGEST else f"{name[:LONGEST]}..." for name in names[:MOST])
    return shown if len(names) <= MOST else f"{shown}, ... ({len(names)} in all)"


def all_of(names: Sequence[str]) -> str:
    """All columns of a table for a message that looks for another one, with the likely reason if there is one alone."""
    return f"{listed(names)}." + (f" {ALONE}" if len(names) == 1 else "")


def called(name: str, among: Sequence[str]) -> str:
    """A column as a message calls it."""
    return "A column" if may_be_record(among) else f"Column {brief(name)}"


def in_few_words(chosen: Sequence[str], among: Sequence[str], *, most: int = 1) -> str:
    """Chosen columns of a table for the card: by names, or where those may be somebody's values, by their places."""
    if not may_be_record(chosen):
        return ", ".join(chosen) if len(chosen) <= most else f"{len(chosen)} columns, {chosen[0]} to {chosen[-1]}"
    wanted = set(chosen)
    places = [place for place, name in enumerate(among, 1) if name in wanted]
    if len(places) <= most:
        return f"column{'s' * (len(places) > 1)} {', '.join(map(str, places))} of {len(among)}"
    return f"{len(places)} columns, from number {places[0]} to number {places[-1]} of {len(among)}"


NUMBERED = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
NUMBER = re.compile(NUMBERED.pattern + "$")  # at the end of a column's name
TIME_OF_DAY = re.compile(r"(?:^|\D)(\d{1,2}):(\d{2})(?::(\d{2}))?$")
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}.*$")
PERSONS = re.compile(
    r"(^|[_ .-])(p?id|uid|person|people|subject|patient|household|customer|user|meter|client|participant|respondent|"
    r"individual|child|member|donor|girl|boy)s?([_ .-]|$)",
    re.IGNORECASE,
)
# Names of columns that say which of several different things a row measures, so that rows are not alike.
KINDS = re.compile(
    r"^(joint|limb|side|leg|hand|foot|eye|ear|channel|electrode|sensor|lead|tract|tissue|organ|variable|measure|"
    r"metric|quantity|parameter|indicator|kind|axis)s?([_ .-]?(name|id|code|type|no|nr))?$",
    re.IGNORECASE,
)
THOUSANDS = re.compile(
    r"thousand|million|(^|[^0-9])'?000s?([^0-9]|$)|1[ ,.']?000s?([^0-9]|$)|(^|[_ .(-])mio([_ .)-]|$)", re.I
)
EVEN = 0.02  # of a step: places that are rounded when they are written are off by so much
Values = str | Sequence[str]


def alike(names: Sequence[str]) -> bool:
    """Whether names are the same but for numbers, as t1, t2, t3; a single one always is."""
    return len(names) == 1 or (
        len({NUMBERED.sub("#", name) for name in names}) == 1 and NUMBERED.search(names[0]) is not None
    )


def choose_columns(columns: list[str], values: Values | None, unit: str | None) -> list[str]:
    """The value columns: those of a shell pattern in the order of the file, or those that are listed.

    What a pattern matches must look alike, as t1, t2, t3, so that 't*' does not take `tariff` along; '*' takes all but
    the unit's. Without a pattern all but the unit's are taken, if they look alike.
    """
    _check_names(columns)
    if not (unit is None or isinstance(unit, str)):
        raise UsageError(parameter="unit", value=unit, rule="is the name of a column")
    if unit is not None:
        check_column(columns, unit, "the privacy unit")
    rest = [name for name in columns if name != unit]
    if values is None:
        if rest and not alike(rest):
            raise DataError(
                f"These columns are not all points of one curve: {listed(rest, columns)}. Name those that are by a "
                "pattern, e.g. 't*'; '*' takes them all."
            )
        chosen = rest
    else:
        names = set(rest)  # searching a list for each of a million names would not end
        chosen = list(
            dict.fromkeys(
                name
                for part in _parts(values, columns)
                for name in ([part] if part in names else _found(part, rest, columns))
            )
        )
    if not chosen:
        raise DataError(f"No column matches the pattern {brief(values or '*')}. Columns are: {all_of(columns)}")
    return chosen


def check_column(columns: list[str], name: str, what: str) -> None:
    """A column is there; the refusal says what it was wanted for."""
    _check_names(columns)
    if name not in columns:
        raise DataError(f"No column {brief(name)} for {what}. Columns are: {all_of(columns)}")


def _check_names(columns: list[str]) -> None:
    if len(set(columns)) < len(columns):
        # Without the name: of a table that was read without a header it is somebody's value.
        raise DataError("Two columns of the table have one name. Rename one.")


def _parts(values: Values, columns: list[str]) -> list[str]:
    if not isinstance(values, str):
        listed_names = isinstance(values, Iterable) and getattr(values, "ndim", 1) > 0  # an array may hold one cell
        parts = list(values) if listed_names else []
        if not parts or not all(isinstance(part, str) for part in parts):
            raise UsageError(
                parameter="values", value=values, rule="is a pattern, e.g. 't*', or a list of names of columns"
            )
        return parts
    if values in columns or "," not in values or any(fnmatchcase(name, values) for name in columns):
        return [values]
    return [part.strip() for part in values.split(",")]


def _found(part: str, rest: list[str], columns: list[str]) -> list[str]:
    found = [name for name in rest if fnmatchcase(name, part)]
    if not found:
        raise DataError(f"No column matches the pattern {brief(part)}. Columns are: {all_of(columns)}")
    if part == "*" or alike(found):
        return found
    raise DataError(_unlike(part, found, rest, columns))


def _unlike(part: str, found: list[str], rest: list[str], columns: list[str]) -> str:
    """What is said of a pattern whose columns do not look alike: those outside the largest group, and a way out."""
    groups: dict[str, list[str]] = {}
    for name in found:
        groups.setdefault(NUMBERED.sub("#", name), []).append(name)
    largest = max(groups.values(), key=lambda group: (len(group), NUMBERED.search(group[0]) is not None))
    others = unused(found, largest)
    tighter = pattern_for(largest, rest) if NUMBERED.search(largest[0]) else None
    way = f"Take {tighter!r}, or list" if tighter and not may_be_record(columns) else "List"
    return (
        f"The pattern {brief(part)} matches columns that are not alike; beside the others stand: "
        f"{listed(others, columns)}. {way} the names, separated by commas; '*' takes all columns."
    )


def pattern_for(names: Sequence[str], among: Iterable[str]) -> str | None:
    """The shell pattern that names these columns, which are alike, and no other; None if there is none so simple."""
    others = set(among) - set(names)
    stem = escape(NUMBERED.split(names[0])[0])
    whole = "[0-9]*".join(escape(part) for part in NUMBERED.split(names[0]))
    for found in (*(stem + tail for tail in ("*", "[0-9]*", "[-+0-9]*")), whole):
        if all(fnmatchcase(name, found) for name in names) and not any(fnmatchcase(name, found) for name in others):
            return found
    return None


def check_curve(names: list[str], among: list[str]) -> None:
    """Refuse columns that are named after persons: in a table of curves those are rows."""
    stem = NUMBER.sub("", names[0])
    if len(names) > 1 and alike(names) and PERSONS.search(stem) and not may_be_record(among):
        raise DataError(
            f"Columns {brief(names[0])} to {brief(names[-1])} are named after persons. A table of curves has one row a "
            "curve and one column a grid point: transpose it, e.g. frame.set_index('time').T, or rename the columns."
        )


def unused(columns: list[str], used: Iterable[str]) -> list[str]:
    """The columns that nothing is read from."""
    taken = set(used)
    return [name for name in columns if name not in taken]


def check_rows(rows: str | None, left: list[str]) -> None:
    """Rows of different kinds are averaged only if that is stated; `left` are the columns that are not used."""
    if rows is not None and not is_one_of(rows, ("average",)):
        raise UsageError(parameter="rows", value=rows, rule="is 'average' or None")
    kinds = [name for name in left if KINDS.match(name)]
    if kinds and rows is None and not may_be_record(left):
        raise DataError(
            f"By its name column {brief(kinds[0])} says which kind of row it is, and it is not used: rows "
            "of all kinds would be averaged. Keep the rows of one kind, or say ",
            arg("rows", "average"),
            " if that is meant.",
        )


def check_count(name: str) -> None:
    """Refuse a column of counts that is named after thousands: every row would stand for too few people."""
    if THOUSANDS.search(name):
        raise DataError(
            f"By its name column {brief(name)} counts thousands or millions, and counts are people. Multiply it first, "
            "and give it a name that says so."
        )


def places(names: Sequence[str]) -> list[float] | None:
    """Where the names of columns that look alike put grid points: at the one number that differs.

    Times of day are hours, dates are days. None if names do not look alike, or more than one number differs.
    """
    if not alike(names):
        return None
    for read in (_time_of_day, _date):
        found = [place for name in names if (place := read(name)) is not None]
        if len(found) == len(names):
            return found
    table = [NUMBERED.findall(name) for name in names]
    moving = [place for place in range(len(table[0])) if len({row[place] for row in table}) > 1]
    if len(moving) > 1 or not table[0]:
        return None
    return [float(row[moving[0] if moving else -1]) for row in table]


def _time_of_day(name: str) -> float | None:
    """Hours until a time of day at the end of a name."""
    found = TIME_OF_DAY.search(name)
    if found is None:
        return None
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return hours + minutes / 60 + seconds / 3600


def _date(name: str) -> float | None:
    """Days until a date at the end of a name."""
    found = ISO_DATE.search(name)
    if found is None:
        return None
    try:
        return (datetime.fromisoformat(found.group()) - datetime(2000, 1, 1)).total_seconds() / 86400
    except (ValueError, TypeError):
        return None


def is_even(found: Sequence[float]) -> bool:
    """Whether places increase by equal steps, but for the rounding with which they are written."""
    if len(found) < 2:
        return True
    with np.errstate(all="ignore"):
        line = np.linspace(found[0], found[-1], len(found))
        step = (found[-1] - found[0]) / (len(found) - 1)
        return bool(step > 0 and np.abs(np.array(found) - line).max() <= EVEN * step)


def check_even(names: list[str]) -> None:
    """Refuse an even grid that was not asked for where the names put the points elsewhere."""
    if not alike(names) or NUMBERED.search(names[0]) is None:
        return  # names without numbers say nothing
    found = places(names)
    # A hyphen before a number may be a minus sign or stand between.
    if found is not None and (is_even(found) or is_even([abs(place) for place in found])):
        return
    raise DataError(
        "The numbers in the names of the value columns do not increase by equal steps, and an even "
        "grid would put the points elsewhere. Say ",
        arg("grid", "header"),
        " to take the numbers for places, or ",
        arg("grid", "even"),
        " for equal steps all the same.",
    )


def header_grid(columns: list[str]) -> Array:
    """The grid that stands in the column names, e.g. age_1, age_1.25; of times of day in hours."""
    found = places(columns)
    if found is None and len(columns) > 1 and alike(columns):
        raise DataError(
            "More than one number differs between the names of the value columns, so no grid can be read "
            "from the header. Pass ",
            arg("grid="),
            ".",
        )
    last = [NUMBER.search(name) for name in columns]
    if found is None and None in last:
        name = columns[last.index(None)]
        raise DataError(
            f"{called(name, columns)} does not end in a number, so no grid can be read from the header. Pass ",
            arg("grid="),
            ".",
        )
    grid = np.array(found or [float(number.group()) for number in last if number is not None])
    if may_be_record(columns) and not np.all(np.diff(grid) > 0):
        # Before a refusal of points outside the domain would show them.
        raise DataError(
            f"The numbers in the header do not increase, so no grid can be read from it: {MAY_BE_A_RECORD}."
        )
    return grid


def as_grid(grid: ArrayLike | None) -> Array | None:
    """A public grid: finite numbers, one row a point."""
    if grid is None:
        return None
    try:
        array = public_numbers(grid, "A grid")
    except UsageError:
        array = np.empty(0)
    if array.ndim not in (1, 2) or array.size == 0 or not np.isfinite(array).all():
        raise UsageError(
            "A grid is a non-empty sequence of finite numbers, one for each value of a curve; on a box a row a point.",
            parameter="grid",
        )
    return array


def grid_of(grid: ArrayLike | str | None, columns: list[str]) -> Array | None:
    """The grid of a table: as stated, with "header" from the names of its columns, None: even.

    Without a word about it, names that put the points elsewhere are refused.
    """
    if isinstance(grid, str):
        if grid == "even":
            return None
        if grid != "header":
            raise UsageError(parameter="grid", value=grid, rule="is a sequence of numbers, 'even', 'header' or None")
        return header_grid(columns)
    if grid is None and columns:
        check_even(columns)
    return as_grid(grid)

"""What `dpfda check` finds: the layout of a file, and what a release still has to be told by its user."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from dpfda.cli.columns import names_of
from dpfda.cli.values import PRICE_OF_BOUND, interval
from dpfda.cli.words import in_words
from dpfda.errors import DataError, UsageError

# What values may be. Not told apart: one word in one cell makes text of numbers when a file is written.
PLAIN = "numbers or text"
NESTED = "lists or records"
PARQUET = (".parquet", ".pq")
FEWEST_ALIKE = 3
WIDEST_LONG = 8  # columns of a table with one row a reading
# One pattern for names that run together, as in PatientID, which ends in a capital ID.
ENDS_IN_ID = re.compile(r"[a-z](ID|Id)$")
TIMES = re.compile(
    r"^(t|x|time|times|timestamp|date|datetime|hour|minute|day|week|month|year|age|visit|position)$", re.I
)
# Times that hardly stand in a table of one row a person; beside them any other column may be the reading.
CLOCKS = re.compile(r"^(t|time|times|timestamp|datetime|hour|minute|position|argvals)$", re.I)
# Times that are no facts about a person as an age is: beside a person and one other column they tell readings apart.
DAYS = re.compile(r"^(date|day|week|month|year)$", re.I)
COUNTERS = re.compile(r"^(index|row|no|nr|number|visit|session|scan|curve|rep|replicate|sex|gender|group|case)$", re.I)
READINGS = re.compile(
    r"^(y|value|values|reading|readings|measurement|result|load|kwh|usage|level|height|weight)$", re.I
)


@dataclass(frozen=True, slots=True)
class Group:
    """Columns that look alike: the same but for numbers, of which the last may be the place of a grid point."""

    stem: str  # before the first number
    names: tuple[str, ...]
    places: tuple[float, ...]  # times of day in hours; none where more than one number differs

    @property
    def even(self) -> bool:
        """Whether the numbers increase by equal steps, as an even grid takes them to do."""
        from dpfda.records.columns import is_even

        return bool(self.places) and is_even(self.places)

    @property
    def increasing(self) -> bool:
        return bool(self.places) and all(low < high for low, high in pairwise(self.places))

    def pattern(self, names: Iterable[str]) -> str | None:
        """The shell pattern that names these columns and no other; None if there is none so simple."""
        from dpfda.records.columns import pattern_for

        return pattern_for(self.names, names)


@dataclass(frozen=True)  # no slots: what is computed from a million names is kept
class Layout:
    """What the first line of a CSV file, or the schema of a Parquet file, says; nothing else of the file is read."""

    file: Path
    names: tuple[str, ...]
    kinds: dict[str, str] | None  # of each column, as a schema declares it; a CSV file declares none

    @property
    def form(self) -> str:
        return "CSV" if self.kinds is None else "Parquet"

    @cached_property
    def bare(self) -> bool:
        """Whether names may be the record of a person, e.g. numbers, which may be grid points too."""
        from dpfda.records.columns import may_be_record

        return may_be_record(self.names)

    @cached_property
    def places(self) -> bool:
        """Whether numbers for names can be the places of grid points: they increase, and the rest are names."""
        from dpfda.records.columns import may_be_record

        alike = {name for group in self.groups if group.increasing for name in group.names}
        return bool(alike) and not may_be_record([name for name in self.names if name not in alike])

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Columns that look alike, at least three of them, in the order of the file."""
        from dpfda.records.columns import NUMBERED

        found: dict[str, list[str]] = {}
        for name in self.names:
            if NUMBERED.search(name):
                found.setdefault(NUMBERED.sub("#", name), []).append(name)
        return tuple(_group(members) for members in found.values() if len(members) >= FEWEST_ALIKE)

    @cached_property
    def measured(self) -> tuple[Group, ...]:
        """Groups that may hold the values of a curve, as far as a schema declares their types."""
        return tuple(group for group in self.groups if self.declared(group) == PLAIN)

    def declared(self, group: Group) -> str:
        """What a schema declares the columns of a group to hold; what is no number, if one of them holds that."""
        kinds = self.kinds or {}
        return next((kinds[name] for name in group.names if kinds.get(name, PLAIN) != PLAIN), PLAIN)

    @cached_property
    def others(self) -> tuple[str, ...]:
        """Columns outside of all groups."""
        alike = {name for group in self.groups for name in group.names}
        return tuple(name for name in self.names if name not in alike)

    @cached_property
    def persons(self) -> tuple[str, ...]:
        """Columns whose names sound as if they said whose row it is."""
        from dpfda.records.columns import PERSONS

        could = (name for name in self.others if PERSONS.search(name) or ENDS_IN_ID.search(name))
        return tuple(name for name in could if (self.kinds or {}).get(name) != NESTED)

    @cached_property
    def long(self) -> tuple[str, str] | None:
        """The columns of time and of readings, if the table looks like one row a reading."""
        if self.groups or not FEWEST_ALIKE <= len(self.names) <= WIDEST_LONG:
            return None
        times = [name for name in self.names if TIMES.match(name)]
        clocks = [name for name in times if CLOCKS.match(name)]
        readings = [name for name in self.names if READINGS.match(name) and name not in times]
        rest = [name for name in self.others if not COUNTERS.match(name) and name not in (*times, *self.persons)]
        if not readings and self.persons and (clocks or (len(rest) == 1 and any(map(DAYS.match, times)))):
            readings = rest[-1:]  # what is measured stands last as a rule
        # Of a day and an hour the hour runs along the curve.
        return ((clocks or times)[-1], readings[0]) if times and readings else None

    @property
    def curves(self) -> tuple[str, ...]:
        """In a table of one row a reading the columns that tell curves apart: whose it is, and of which day."""
        if self.long is None:
            return ()
        time, reading = self.long
        rest = [name for name in self.names if name not in (time, reading)]
        unit = [name for name in self.persons if name in rest][:1] or rest[:1]
        return (*unit, *(name for name in rest if TIMES.match(name) and name not in unit))


def _group(names: list[str]) -> Group:
    from dpfda.records.columns import NUMBERED, places

    return Group(NUMBERED.split(names[0])[0], tuple(names), tuple(places(names) or ()))


def layout_of(file: Path) -> Layout:
    """The layout of a CSV or Parquet file."""
    from dpfda.records.files import ParquetTable, open_table

    table = open_table(file)
    # What a cell of a CSV file looks like is a fact about a person.
    kinds = {str(each.name): _kind(each.type) for each in table.schema} if isinstance(table, ParquetTable) else None
    return Layout(file, table.columns, kinds)


def _kind(declared: Any) -> str:
    """A declared type in a few words.

    Coarse on purpose: numbers that became text, widths of integers and whole numbers that became fractions are often
    chosen by what wrote the file, from the values.
    """
    import pyarrow as pa

    if isinstance(declared, pa.BaseExtensionType):
        return _kind(declared.storage_type)
    if pa.types.is_dictionary(declared) or pa.types.is_run_end_encoded(declared):
        return _kind(declared.value_type)
    if pa.types.is_temporal(declared):
        return "dates or times"
    return NESTED if pa.types.is_nested(declared) else PLAIN


CURVES = ("mean", "covariance", "components", "regression")
POINTS = ("density", "classifier", "regressor")
KINDS = (*CURVES, *POINTS)
# Statements that a kind cannot do without, by the option that makes them: of several, one is enough.
NEEDED: dict[str, tuple[tuple[str, ...], ...]] = {
    **dict.fromkeys(CURVES, (("unit",), ("values",), ("epsilon",), ("delta",), ("bound", "limits"))),
    "density": (("points",), ("unit", "counts"), ("domain", "edges"), ("epsilon",), ("delta",)),
    "classifier": (("points",), ("label",), ("classes",), ("unit",), ("domain",), ("epsilon",), ("delta",)),
    "regressor": (("points",), ("response",), ("response_bound",), ("unit",), ("domain",), ("epsilon",), ("delta",)),
}
NEEDED["regression"] = (("covariates",), *NEEDED["regression"])
# What stands in the command where only the user knows, and why.
PLACES = {
    "unit": (
        "COLUMN",
        "who is protected: the column that says whose row it is, or 'row' if every row is another person",
    ),
    "values": ("PATTERN", "which columns hold the values of a curve, e.g. 't*'"),
    "points": ("COLUMN,...", "which columns hold the coordinates of a point"),
    "label": ("COLUMN", "the column of labels"),
    "classes": ("A,B", "both labels, known in advance"),
    "response": ("COLUMN", "the column of responses"),
    "response_bound": ("BOUND", "how large a response may be, known in advance; it may not be read from the data"),
    "covariates": ("NAME,...", "which columns the curves are regressed on, e.g. 'age,sex=female|male'"),
    "covariate_limits": ("LOW:HIGH,...", "the range of each covariate, known in advance, or --covariate-bound"),
    "domain": ("LOW,HIGH", "where points may lie, known in advance; it may not be read from the data"),
    "epsilon": ("EPSILON", "how much privacy is lost; most people choose 0.1 to 10"),
    "delta": ("DELTA", "0 for pure privacy, or at most 1e-5, well below one over the number of people"),
    "bound": (
        "BOUND",
        "how large a curve may be, by its root mean square, known in advance, or --limits LOW,HIGH for its values; it "
        "may not be read from the data. Unknown? Spend a little: dpfda bounds",
    ),
    "planned_n": ("N", "a public guess of the number of units, which is private under add-or-remove-one"),
}
# Where one of several will do.
EITHER = {"density unit": ", or --counts COLUMN if a row stands for many people", "density domain": ", or --edges"}
# Options that name a column of the file, and what the column then is.
NAMING = {"counts": "the counts", "label": "the label", "response": "the response"}
MEASURED = ("counts", "response")  # those whose column holds numbers


@dataclass(frozen=True, slots=True)
class MissingOption:
    """Something the command still has to be told."""

    option: str
    place: str
    why: str

    @property
    def flag(self) -> str:
        return flag(self.option)


def flag(name: str) -> str:
    """The option that sets a parameter."""
    return "--" + name.replace("_", "-")


def kind_of(given: dict[str, object]) -> str:
    """What is meant to be released, by the options that only one kind has."""
    for option, kind in (("label", "classifier"), ("classes", "classifier"), ("response", "regressor")):
        if option in given:
            return kind
    if {"points", "counts", "edges"} & set(given):
        return "density"
    if {"covariates", "covariate_limits"} & set(given):
        return "regression"
    return "components" if "k" in given else "mean"


def missing(kind: str, given: dict[str, object], layout: Layout) -> list[MissingOption]:
    """What has to be stated still, in the order in which a command states it."""
    found = []
    for choices in NEEDED[kind]:
        if not any(choice in given for choice in choices) and not (choices == ("values",) and all_alike(given, layout)):
            option = choices[0]
            place, why = PLACES[option]
            if option == "bound":
                why = f"{why} {shlex.quote(str(layout.file))} --epsilon 0.1 ... {PRICE_OF_BOUND}"
            found.append(MissingOption(option, place, why + EITHER.get(f"{kind} {option}", "")))
    if kind == "regression" and not {"covariate_limits", "covariate_bound"} & set(given) and needs_ranges(given):
        found.append(MissingOption("covariate_limits", *PLACES["covariate_limits"]))
    if given.get("neighbours") == "add-or-remove-one" and "planned_n" not in given:
        found.append(MissingOption("planned_n", *PLACES["planned_n"]))
    return found


def all_alike(given: dict[str, object], layout: Layout) -> bool:
    """Whether all columns but the unit's look alike: a release then takes them without being told."""
    rest = [name for name in layout.names if name != given.get("unit")]
    return any(group.places and set(group.names) == set(rest) for group in layout.measured)


def needs_ranges(given: dict[str, object]) -> bool:
    """Whether some covariate has no declared levels."""
    return any("=" not in part for part in str(given.get("covariates", "")).split(","))


def guessed(
    kind: str, given: dict[str, object], layout: Layout, open_statements: list[MissingOption], *, shown: bool
) -> dict[str, str]:
    """What the layout lets us put into the command instead of a placeholder; from names alone."""
    found: dict[str, str] = {}
    if not shown:
        return found
    asked = {statement.option for statement in open_statements}
    if "unit" in asked and len(layout.persons) == 1:
        found["unit"] = layout.persons[0]
    group = largest(layout)
    if "values" in asked and group is not None:
        pattern = group.pattern(layout.names)
        if pattern is not None:
            found["values"] = pattern
    if kind in CURVES and "grid" not in given:
        chosen = {name for columns in chosen_columns(kind, given, layout).values() for name in columns}
        curve = next((each for each in layout.groups if set(each.names) == chosen), None) if chosen else group
        if curve is not None and curve.increasing and not curve.even:
            # As an even grid it would be refused.
            found["grid"] = "header"
            if "domain" not in given:
                found["domain"] = f"{curve.places[0]:g},{curve.places[-1]:g}"
    return found


def largest(layout: Layout) -> Group | None:
    """The group of columns that is most likely the curve."""
    return max(layout.measured, key=lambda group: len(group.names), default=None)


def wrong(kind: str, given: dict[str, object], layout: Layout, *, shown: bool) -> list[str]:
    """What cannot be as it was stated, as far as names, declared types and numbers that were typed tell."""
    found = [
        f"{flag(option)} names a column {str(given[option])!r}, and there is none."
        + _near(given[option], layout, shown)
        for option in ("unit", *NAMING)
        if option in given and given[option] not in layout.names and (option, given[option]) != ("unit", "row")
    ]
    if given.get("unit") == "row" and "row" in layout.names:
        found.append("--unit row says that every row is another person, but there is a column 'row' too. Rename it.")
    values = chosen_columns(kind, given, layout)
    for text, columns in values.items():
        if not columns:
            found.append(f"{flag('values' if kind in CURVES else 'points')} {text!r} matches no column.")
    every = [name for columns in values.values() for name in columns]
    measured = [*every, *(str(given[option]) for option in MEASURED if option in given)]
    if layout.kinds is not None and layout.kinds.get(str(given.get("unit"))) == NESTED:
        found.append(f"Column {str(given['unit'])!r} is declared to hold {NESTED}, which cannot name a privacy unit.")
    for name in measured if layout.kinds is not None and shown else ():
        declared = (layout.kinds or {}).get(name, PLAIN)
        if declared != PLAIN:
            found.append(f"Column {name!r} is declared to hold {declared}, not numbers.")
            break
    if "covariates" in given:
        found += _covariates(str(given["covariates"]), layout, shown)
    if "bound" in given and "limits" in given:
        found.append("--bound and --limits both bound the curves. Leave one of them out.")
    if "domain" in given and "edges" in given:
        found.append("--domain and --edges both say where points may lie. Leave one of them out.")
    if "unit" in given and "counts" in given:
        found.append("--unit and --counts both say who is protected. Leave one of them out.")
    from dpfda.records.columns import check_count

    if "counts" in given and given["counts"] in layout.names:
        found += _refused(lambda: check_count(str(given["counts"])))
    if kind in CURVES:
        found += _grid(given, every, shown)
    if kind in CURVES and every and shown:
        found += _curve(given, layout)
    return found


def _curve(given: dict[str, object], layout: Layout) -> list[str]:
    """What a release would refuse about the names of the columns, in its own words."""
    from dpfda.records.columns import check_curve, check_rows, choose_columns, unused

    header, unit = list(layout.names), given.get("unit")
    column = str(unit) if unit in layout.names else None
    beside = names_of(str(given["covariates"])).columns if "covariates" in given else ()

    def chosen() -> list[str]:
        return choose_columns(header, str(given["values"]), column)

    found = _refused(chosen)
    if found:
        return found
    names = chosen()
    if len(names) == 1 and "grid" not in given:
        found.append(
            f"--values {str(given['values'])!r} names one column, so every curve would have one point. Curves are read "
            "from wide tables: one row a curve, one column a grid point."
        )
    left = unused(header, (*names, *beside, *((column,) if column else ())))
    rows = str(given["rows"]) if "rows" in given else None
    return [*found, *_refused(lambda: check_curve(names, header)), *_refused(lambda: check_rows(rows, left))]


def _refused(check: Callable[[], object]) -> list[str]:
    try:
        check()
    except DataError as error:
        return [in_words(error.message)]
    return []


def chosen_columns(kind: str, given: dict[str, object], layout: Layout) -> dict[str, list[str]]:
    """The columns that hold values or coordinates, by each name or pattern that was stated."""
    stated = given.get("values" if kind in CURVES else "points", ())
    texts = [stated] if isinstance(stated, str) else [str(each) for each in stated] if isinstance(stated, tuple) else []
    if kind in POINTS:
        texts = [part.strip() for text in texts for part in ([text] if text in layout.names else text.split(","))]
    taken = {given.get(option) for option in ("unit", *NAMING)}
    return {
        text: [name for name in layout.names if name == text or (fnmatchcase(name, text) and name not in taken)]
        for text in texts
    }


def _grid(given: dict[str, object], values: list[str], shown: bool) -> list[str]:
    """Whether the places in the names lie in the domain that was stated."""
    if given.get("grid") != "header" or not values:
        return []
    if not shown:
        return ["--grid header takes numbers that increase, and those in the first line do not: it may be a record."]
    from dpfda.records.columns import header_grid

    try:
        places = header_grid(values).tolist()
    except DataError:
        return ["--grid header takes the numbers at the end of names, and a column that holds values has none there."]
    try:
        low, high = interval(str(given.get("domain", "0,1")))
    except UsageError as error:
        return [in_words(error.message)]
    if min(places) < low or max(places) > high:
        return [
            f"The names put grid points from {min(places):g} to {max(places):g}, outside the domain {low:g} to "
            f"{high:g}: say --domain {min(places):g},{max(places):g}, or a wider one."
        ]
    return []


def _covariates(text: str, layout: Layout, shown: bool) -> list[str]:
    try:
        named = names_of(text).columns
    except UsageError as error:
        return [in_words(error.message)]
    return [
        f"--covariates names a column {name!r}, and there is none.{_near(name, layout, shown)}"
        for name in named
        if name not in layout.names
    ]


def _near(name: object, layout: Layout, shown: bool) -> str:
    """The column that may have been meant."""
    from difflib import get_close_matches

    same = [each for each in layout.names if each.lower() == str(name).lower()]
    near = (same or get_close_matches(str(name), layout.names, n=1)) if shown else []
    return f" Is it {near[0]!r}?" if near else ""


def command(kind: str, told: dict[str, object], layout: Layout) -> str:
    """The command to type, with everything it is told in the order in which help shows it."""
    words = ["dpfda", "release", kind, shlex.quote(str(layout.file))]
    for option, value in told.items():
        for each in value if isinstance(value, tuple) else (value,):
            words += [flag(option)] if each is True else [flag(option), str(each)]
    return " ".join(words)

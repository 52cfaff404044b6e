"""The names of columns in messages: shown where they are names, never where they may be a record."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpfda.messages import LONGEST, brief

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

"""Sentences of cards: labelled lines, numbers that are rounded safely, and what neighbours are."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context
from textwrap import fill

from dpfda.privacy import REPLACE, Counting


def entry(label: str, said: str) -> str:
    """A labelled line of a card."""
    return wrapped(f"  {label:<15}", said)


def wrapped(start: str, text: str) -> str:
    """Lines of at most 118 characters, the later ones below the beginning of the text."""
    return fill(
        text,
        width=118,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )


def plain(value: float) -> str:
    """A number in few digits if they say it exactly, else in all of them: a guarantee is not rounded."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value)).removesuffix(".0")


def steps(value: float) -> str:
    """A number of lattice steps as people read it: the last digits of a double are in the fields of the card."""
    return f"{value:.10g}"


def up(value: float, digits: int) -> str:
    """A number rounded up, since the card says "at most"."""
    return f"{float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal_from_float(value)):g}"


COMPARED = (
    "compared trimmed, in one Unicode form, upper and lower case alike; numbers, dates and UUIDs in one spelling, so "
    "that 1, 1.0, 01 and +1 are one {unit}; rows without an identifier enter no sum"
)


def neighbours_are(counting: Counting, unit: str, relation: str) -> str:
    """What two neighbouring data sets have in common and in what they differ, after "neighbours are ..."."""
    if counting is Counting.IDENTIFIERS:
        return (
            f"two data sets with the same identifiers that differ in the rows of one {unit}; rows without an "
            "identifier are one unit more, which always counts, present or not"
        )
    if counting is Counting.ROWS:
        return "two tables with the same number of rows that differ in one row"
    if counting is Counting.OUTSIDE:
        return (
            f"two data sets of which one has another {unit} in the place of one, as the user's claim understands them"
        )
    if counting is Counting.PEOPLE:
        return f"two tables that count the same number of people and differ in the point of one {unit}"
    if relation == REPLACE:
        return (
            f"two data sets of which one has another {unit}, with all its rows, in the place of one; the number of "
            "units was stated and not compared with the data"
        )
    return f"two data sets of which one has all rows of one {unit} more; the number of units is protected"


def units_text(counting: str, n: float) -> str:
    """The public number of units, and where it comes from."""
    if counting == Counting.IDENTIFIERS:
        return f"{n:.0f}: {n - 1:.0f} identifiers, and one unit for rows without any, present or not"
    if counting == Counting.OUTSIDE:
        return "not stated: the records were read elsewhere"
    return f"{n:.0f}, stated by the user" if counting == Counting.STATED else f"{n:.0f}"


def neighbour_entries(counting: str, unit: str, relation: str, *, assumed: bool) -> tuple[tuple[str, str], ...]:
    """What a card says of neighbours and identifiers; nothing for cards from before it was kept."""
    if not counting:
        return ()
    how = Counting(counting)
    compared = (
        () if assumed or how in (Counting.PEOPLE, Counting.OUTSIDE) else (("identifiers", COMPARED.format(unit=unit)),)
    )
    return (("neighbours", neighbours_are(how, unit, relation)), *compared)

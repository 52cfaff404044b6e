"""Come here for how cards are worded: labelled lines, numbers that are not rounded, bounds that are rounded up."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context
from textwrap import fill


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

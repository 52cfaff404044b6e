"""Texts of messages: values told briefly, and what Python and the command line call by different words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Sized
from dataclasses import dataclass
from datetime import date, time, timedelta
from numbers import Number
from pathlib import PurePath
from typing import Self

import numpy as np

LONGEST = 80  # characters of a value that a message shows
MOST_LISTED = 6  # entries of a list that a message shows: more than any public list of one argument needs to be told
DEEPEST = 3  # lists within lists
PLAIN = (Number, np.generic, date, time, timedelta, PurePath, type)  # types whose values tell themselves in a few words


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument that a message names: `planned_n=5000` in Python, `--planned-n 5000` on the command line.

    It keeps texts alone, made by `brief`: the value itself may be the data by a slip of the hand.
    """

    name: str
    python: str
    typed: tuple[str, ...] = ()  # each value as it is typed on a command line

    def __str__(self) -> str:
        return self.python


def arg(name: str, *values: object) -> Argument:
    """An argument with values to choose from, or without any; a name that ends in `=` reads so in Python.

    >>> str(arg("mechanism", "k-norm", "laplace")), arg("limits", (0, 12)).typed, str(arg("grid="))
    ("mechanism='k-norm' or 'laplace'", ('0,12',), 'grid=')
    """
    if not values:
        return Argument(name.removesuffix("="), name)
    return Argument(name, f"{name}={either([brief(value) for value in values])}", tuple(map(_typed, values)))


def either(texts: Sequence[str]) -> str:
    """Texts to choose from: `a, b or c`."""
    return " or ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


@dataclass(frozen=True, slots=True)
class Words:
    """What Python and the command line call by different words: a function here, a command there."""

    python: str
    command: str

    def __str__(self) -> str:
        return self.python


Part = str | Argument | Words


class Message(str):
    """A text that knows its parts: it reads as Python says it, and the command line renders it with its own words."""

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> Self:
        made = super().__new__(cls, "".join(map(str, parts)))
        made.parts = tuple(each for part in parts for each in (part.parts if isinstance(part, Message) else (part,)))
        return made

    def render(self, word: Callable[[Argument | Words], str]) -> str:
        """The text with other words for what it names."""
        return "".join(part if isinstance(part, str) else word(part) for part in self.parts)


def brief(value: object) -> str:
    """A value of the user's for a message: short, in one line, and never what may be somebody's records.

    An array, a table or a long list in the place of a public argument is often the data by a slip of the hand, so only
    its type and length are told. Of objects that are not known here the type alone: what they show of themselves may
    hold data, or fail.

    >>> brief(0.5), brief(("a", "b")), brief([0.1] * 500), brief(np.zeros((3, 2))), brief(10**5000)
    ('0.5', "('a', 'b')", 'a list of length 500', 'an ndarray of length 3', 'a value of type int')
    """
    try:
        return _shown(value, depth=0)
    except Exception:  # an object of the user's, a whole number with thousands of digits, lists in lists without end
        return _told_by_type(value)


def _shown(value: object, depth: int) -> str:
    if isinstance(value, str | bytes):
        return _cut(repr(value[: LONGEST + 1]))
    if isinstance(value, list | tuple | set | frozenset | dict):
        return _listed(value, depth) if len(value) <= MOST_LISTED and depth < DEEPEST else _told_by_type(value)
    if value is ...:
        return "..."  # of an example whose value is left open
    if value is None or (isinstance(value, PLAIN) and not isinstance(value, np.void)):  # which holds a row of a table
        return _cut(_line(repr(value)))
    if type(value).__module__.partition(".")[0] == "dpfda":
        text = _line(repr(value))
        return text if len(text) <= LONGEST else _told_by_type(value)
    return _told_by_type(value)


def _listed(value: Collection[object], depth: int) -> str:
    """A short container, with its entries told as briefly; what gets long in sum is told by type and length."""
    if isinstance(value, dict):
        parts = [f"{_shown(key, depth + 1)}: {_shown(entry, depth + 1)}" for key, entry in value.items()]
    else:
        parts = [_shown(entry, depth + 1) for entry in value]
    text = ", ".join(parts)
    if isinstance(value, tuple):
        text = f"({text},)" if len(parts) == 1 else f"({text})"
    else:
        text = f"[{text}]" if isinstance(value, list) else f"{{{text}}}"
    return text if len(text) <= LONGEST else _told_by_type(value)


def _told_by_type(value: object) -> str:
    name = _name(value)
    try:
        if isinstance(value, Sized):
            return f"{'an' if name[:1] in 'aeiouAEIOU' or name == 'ndarray' else 'a'} {name} of length {len(value)}"
    except Exception:  # a single number as an array has no length, and an object may refuse to tell it
        pass
    return f"a value of type {name}" if name else "a value of an unknown type"


def _name(value: object) -> str:
    try:
        return _cut(type(value).__name__)
    except Exception:  # a type can hide its name, too
        return ""


def told(error: Exception) -> str:
    """What an error of the user's own code says, for a message of ours: its type, and the beginning of its text."""
    try:
        return f"{type(error).__name__}: {_cut(_line(str(error)))}"
    except Exception:  # errors are objects of the user's, too
        return _name(error)


def _line(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _typed(value: object, between: tuple[str, ...] = (",", ":")) -> str:
    """A value as it is typed on a command line: `private`, `0,12`, `18:90,0:1`, `'sex=female|male'`."""
    shown = brief(value)
    if isinstance(value, str) and shown[-1] == shown[0]:  # else it was cut
        return shown[1:-1]
    if not (between and isinstance(value, list | tuple | dict) and shown[0] in "[({"):  # else told by type and length
        return shown
    if isinstance(value, dict):
        listed = (f"{_typed(name, ())}={_typed(levels, ('|',))}" for name, levels in value.items())
        return f"'{','.join(listed)}'"
    return between[0].join(_typed(each, between[1:]) for each in value)

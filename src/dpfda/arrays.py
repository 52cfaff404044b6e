"""Array types that signatures name, and the rules that turn public input into numbers and paths."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable, Sized
from datetime import date, time, timedelta
from numbers import Integral, Number, Real
from pathlib import Path, PurePath

import numpy as np
import numpy.typing as npt

from dpfda.errors import DpfdaError, UsageError

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
ArrayLike = npt.ArrayLike

NUMBERS = "biuf"  # kinds of numpy types that hold real numbers
LONGEST = 80  # characters of a value that a message shows
MOST_LISTED = 6  # entries of a list that a message shows: more than any public list of one argument needs to be told
DEEPEST = 3  # lists within lists
LONGEST_PATH = 4096  # bytes of a path, as in Linux
PLAIN = (Number, np.generic, date, time, timedelta, PurePath, type)  # types whose values tell themselves in a few words
MOST_NUMBERS = 2**27  # of one public array: a gigabyte
Label = int | float | str | bool  # of a class


def as_real(value: object) -> float:
    """A public number as a double; what is none, or too large for one, becomes NaN, which no rule accepts.

    >>> as_real("1"), as_real(True), as_real(10**400), as_real(3)
    (nan, nan, nan, 3.0)
    """
    if type(value) is float:  # nearly all are, and asking for an abstract type takes ten times as long
        return value
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_ | np.timedelta64):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def is_whole(value: object, least: int, most: int) -> bool:
    """Whether a public value is a whole number between two others; a truth value is none.

    >>> is_whole(3, 1, 5), is_whole(3.0, 1, 5), is_whole(True, 1, 5)
    (True, False, False)
    """
    if type(value) is int:
        return least <= value <= most
    whole = isinstance(value, Integral) and not isinstance(value, bool | np.timedelta64)
    return whole and least <= int(value) <= most  # type: ignore[call-overload]


def check_flag(value: object, name: str, *, none: bool = False) -> None:
    """Refuse what is neither True nor False: a text such as "no" would count as true."""
    if not (isinstance(value, bool | np.bool_) or (none and value is None)):
        raise UsageError(f"{name} must be {'None, ' if none else ''}True or False, got {brief(value)}.")


def as_plain_ints(value: object, *names: str) -> None:
    """Turn whole numbers in the fields of a frozen value into plain ones: NumPy's narrow types overflow in arithmetic.

    The fields were found to be whole numbers, or tuples of them, before; None stays.
    """
    for name in names:
        found = getattr(value, name)
        if isinstance(found, tuple | list):
            object.__setattr__(value, name, tuple(map(int, found)))
        elif found is not None:
            object.__setattr__(value, name, int(found))


def is_one_of(value: object, words: Iterable[str]) -> bool:
    """Whether a public value is one of some words; of a table or an array it may not be asked directly."""
    return isinstance(value, str) and value in words


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
        return _typed(value)


def _shown(value: object, depth: int) -> str:
    if isinstance(value, str | bytes):
        return _cut(repr(value[: LONGEST + 1]))
    if isinstance(value, list | tuple | set | frozenset | dict):
        return _listed(value, depth) if len(value) <= MOST_LISTED and depth < DEEPEST else _typed(value)
    if value is None or (isinstance(value, PLAIN) and not isinstance(value, np.void)):  # which holds a row of a table
        return _cut(_line(repr(value)))
    if type(value).__module__.partition(".")[0] == "dpfda":
        text = _line(repr(value))
        return text if len(text) <= LONGEST else _typed(value)
    return _typed(value)


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
    return text if len(text) <= LONGEST else _typed(value)


def _typed(value: object) -> str:
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


def as_path(path: object) -> Path:
    """A path from what people pass for one."""
    try:
        name = os.fspath(path)  # type: ignore[call-overload]
        signs = os.fsencode(name)
        if isinstance(name, str) and b"\0" not in signs and len(signs) <= LONGEST_PATH:
            return Path(name)
    except Exception:  # no path, or signs that no file system can write
        pass
    raise UsageError(f"A file is named by text or a pathlib.Path, got {brief(path)}.")


def public_numbers(values: object, what: str) -> Array:
    """Public numbers as doubles, in any shape; text, dates, complex numbers and uneven lists are refused.

    >>> public_numbers([0, 0.5], "Points").tolist()
    [0.0, 0.5]
    """
    try:
        with np.errstate(all="ignore"):
            given = values.filled(np.nan) if _masked(values) else np.asarray(values)  # type: ignore[attr-defined]
            if given.size > MOST_NUMBERS:  # a view may be larger than memory
                raise UsageError(f"{what} are at most {MOST_NUMBERS} numbers at a time, got {given.size}. Give fewer.")
            if given.dtype.kind == "O" and all(isinstance(cell, Real) for cell in given.ravel()):
                given = np.array([float(cell) for cell in given.ravel()]).reshape(given.shape)
            if given.dtype.kind in NUMBERS:
                return np.asarray(given, dtype=np.float64)
    except UsageError:
        raise
    except Exception:  # whatever an object of the user's raises when it is asked for numbers
        pass
    raise UsageError(f"{what} must be numbers, e.g. 0.5 or [0.0, 0.5, 1.0], got {brief(values)}.")


def _masked(values: object) -> bool:
    return isinstance(values, np.ma.MaskedArray) and values.dtype.kind == "f"


def values_of(function: Callable[..., object], *arguments: object, what: str) -> Array:
    """What a public function of the user's gives, as doubles; it may fail or give no numbers, and that is said."""
    try:
        given = function(*arguments)
    except DpfdaError:
        raise
    except Exception as error:
        raise UsageError(f"{what} failed with {told(error)}. It must give numbers.") from error
    return public_numbers(given, f"The values of {what}")


def as_points(points: ArrayLike, dimension: int) -> Array:
    """Points as rows, (m, dimension); on a line a plain sequence of numbers will do.

    >>> as_points([0.0, 0.5], dimension=1).shape
    (2, 1)
    """
    array = public_numbers(points, "Points")
    if array.ndim <= 1 and dimension == 1:
        return array.reshape(-1, 1)
    if array.ndim == 1 and array.size == dimension:
        return array.reshape(1, dimension)
    if array.ndim != 2 or array.shape[1] != dimension:
        raise UsageError(
            f"Points in {dimension} dimension(s) must have shape (m, {dimension}), got {array.shape}. "
            "Put one point in each row."
        )
    return array

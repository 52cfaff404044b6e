"""Array types that signatures name, and the rules that turn public input into numbers and paths."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from dpfda.errors import DpfdaError, UsageError
from dpfda.messages import brief as brief
from dpfda.messages import told as told

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
ArrayLike = npt.ArrayLike

NUMBERS = "biuf"  # kinds of numpy types that hold real numbers
LONGEST_PATH = 4096  # bytes of a path, as in Linux
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


def is_whole(value: object, least: int, most: int) -> TypeGuard[int]:
    """Whether a public value is a whole number between two others; a truth value is none.

    >>> is_whole(3, 1, 5), is_whole(3.0, 1, 5), is_whole(True, 1, 5)
    (True, False, False)
    """
    if type(value) is int:
        return least <= value <= most
    if not isinstance(value, Integral) or isinstance(value, bool | np.timedelta64):
        return False
    return least <= int(value) <= most


def check_flag(value: object, name: str, *, none: bool = False) -> None:
    """Refuse what is neither True nor False: a text such as "no" would count as true."""
    if not (isinstance(value, bool | np.bool_) or (none and value is None)):
        raise UsageError(parameter=name, value=value, rule=f"must be {'None, ' if none else ''}True or False")


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


def as_path(path: object) -> Path:
    """A path from what people pass for one."""
    try:
        name = os.fspath(path) if isinstance(path, str | os.PathLike) else b""
        signs = os.fsencode(name)
        if isinstance(name, str) and b"\0" not in signs and len(signs) <= LONGEST_PATH:
            return Path(name)
    except Exception:  # no path, or signs that no file system can write
        pass
    if isinstance(path, str | Path) and len(str(path)) > LONGEST_PATH:
        raise UsageError(f"The path of a file has at most {LONGEST_PATH} signs, got {brief(path)}.", parameter="path")
    raise UsageError(f"A file is named by text or a pathlib.Path, got {brief(path)}.", parameter="path", value=path)


def may_never_end(file: Path) -> bool:
    """Whether a path leads to a pipe, a socket or a device: to open one is to wait, and to read it may never end."""
    try:
        mode = os.stat(file).st_mode
    except (OSError, ValueError):
        return False  # there is none, or it cannot be looked at: whoever opens it says so
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def public_numbers(values: object, what: str) -> Array:
    """Public numbers as doubles, in any shape; text, dates, complex numbers and uneven lists are refused.

    >>> public_numbers([0, 0.5], "Points").tolist()
    [0.0, 0.5]
    """
    try:
        with np.errstate(all="ignore"):
            given = values.filled(np.nan) if _masked(values) else np.asarray(values)
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


def _masked(values: object) -> TypeGuard[np.ma.MaskedArray[Any, Any]]:
    return isinstance(values, np.ma.MaskedArray) and values.dtype.kind == "f"


def numbers(text: str, option: str, *, count: int | None) -> tuple[float, ...]:
    """Numbers that are separated by commas; `option` is named in the refusal."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if not values or (count is not None and len(values) != count):
        wanted = "numbers" if count is None else f"{count} numbers"
        raise UsageError(f"{option} takes {wanted} separated by commas, e.g. {option} 0,1; got {brief(text)}.")
    return values


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
            "Put one point in each row.",
            parameter="points",
            value=array.shape,
        )
    return array

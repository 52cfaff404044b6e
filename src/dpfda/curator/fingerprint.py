"""The hash of what was ordered: the same request under the same key is the same release.

Much of what is ordered is computed: eigenvalues, weights, a penalty by a rule. Processors round such numbers each in
their own way, and so do releases of a linear algebra library, while a key has to go on wherever it is used again.
So a request is known by what is left of its numbers without their last digits, `request_hash`. `exact_hash` sees all
digits: keys of earlier versions stand in ledgers under it.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.releases.cards.words import Statement

DIGITS = 10  # of a number alone
FEW = 16  # numbers in a row that are told one by one
PLACES = 9  # decimals of each, where the largest of them is 1
SUMS = 4  # of many numbers in a row
SUM_PLACES = 7  # decimals of each sum, where the numbers have norm 1

Numbers = Callable[[Any], list[bytes] | None]  # the words of what is a number, or a row of them; None: it is none


def request_hash(*parts: object) -> str:
    """A hash of public values of any kind: numbers, arrays, functions, dataclasses, and collections of them.

    Without the last digits of numbers. Two that round differently to the digits that are kept are rare: of a number
    that is off by 1e-14 one in ten thousand, and its key is then refused, with nothing charged.

    >>> request_hash("mean", 1.0) == request_hash("mean", 1 + 1e-14) != request_hash("mean", 1.001)
    True
    """
    return _hash(parts, _in_few_digits)


def exact_hash(*parts: object) -> str:
    """The same to the last digit.

    >>> exact_hash("mean", 1.0) == exact_hash("mean", 1.0) != exact_hash("mean", 1)
    True
    """
    return _hash(parts, lambda value: None)


def _hash(parts: tuple[object, ...], numbers: Numbers) -> str:
    digest = hashlib.sha256()
    for word in _words(parts, (), numbers):
        digest.update(len(word).to_bytes(8, "big") + word)
    return digest.hexdigest()


def _in_few_digits(value: Any) -> list[bytes] | None:
    """A number in few digits; a row of numbers by its shape and largest or norm, and what is left of each or of sums.

    Whole numbers alone are exact. In a row they may be computed as well: tables of lattice steps.
    """
    if isinstance(value, float):
        return [f"number {value:.{DIGITS}g}".encode()]
    if not isinstance(value, list | tuple | np.ndarray) or len(value) == 0:
        return None
    if not isinstance(value, np.ndarray) and not all(type(part) in (int, float) for part in value):
        return None
    try:
        row = np.asarray(value, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        return None
    kind = value.dtype.kind if isinstance(value, np.ndarray) else ""
    shape, flat = f"numbers {kind}{row.shape}", row.ravel()
    if not np.isfinite(flat).all():
        return [shape.encode(), *(f"{number:.{DIGITS}g}".encode() for number in flat.tolist())]
    largest = float(np.abs(flat).max(initial=0.0))
    if largest == 0.0:
        return [shape.encode(), b"zero"]
    if len(flat) <= FEW:
        told, places, size = flat / largest, PLACES, largest
    else:
        norm = float(np.linalg.norm(flat / largest))
        told, places, size = _sums(flat / largest / norm), SUM_PLACES, norm * largest
    # Adding 0 turns a negative zero into a positive one.
    return [f"{shape} {size:.{DIGITS}g} {' '.join(f'{round(x, places) + 0.0:.{places}f}' for x in told)}".encode()]


def _sums(flat: Array) -> Array:
    """Sums of numbers with weights that look random, so that no two rows of one norm are likely to share them."""
    places = np.arange(len(flat), dtype=np.int64)
    steps = (40_503, 30_011, 50_021, 60_013)  # times a place, modulo the prime 65,521
    return np.array([flat @ ((places + 1) * step % 65_521 / 65_521 - 0.5) for step in steps[:SUMS]])


def _words(value: Any, around: tuple[int, ...], numbers: Numbers) -> Iterator[bytes]:
    """A value as a sequence of byte strings; two values that would be released differently differ here.

    `around` are the identities of what it is a part of: a function may know itself.
    """
    found = numbers(value)
    if found is not None:
        yield from found
        return
    if id(value) in around:
        yield f"number {around.index(id(value))} again".encode()
        return
    around = (*around, id(value))
    if isinstance(value, Statement):
        value = str(value)  # keys were given when cards kept sentences
    if is_dataclass(value) and not isinstance(value, type):
        yield type(value).__name__.encode()
        for name, part in _parts(value).items():
            yield name.encode()
            yield from _words(part, around, numbers)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield f"{value.dtype.str}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, Mapping):
        yield f"mapping of {len(value)}".encode()
        for name in sorted(value, key=str):
            yield from _words(str(name), around, numbers)
            yield from _words(value[name], around, numbers)
    elif isinstance(value, list | tuple | set | frozenset | np.ndarray):
        yield f"sequence of {len(value)}".encode()
        for part in sorted(value, key=repr) if isinstance(value, set | frozenset) else value:
            yield from _words(part, around, numbers)
    elif isinstance(value, FunctionType | MethodType | CodeType | functools.partial):
        yield from _of_function(value, around, numbers)
    elif callable(value) and hasattr(value, "__qualname__"):
        yield f"{value.__module__}.{value.__qualname__}".encode()
    else:
        # Without addresses in memory, which change from run to run.
        yield f"{type(value).__name__} {re.sub(r' at 0x[0-9a-f]+', '', repr(value))}".encode()
        if getattr(type(value), "__repr__", None) is object.__repr__:
            yield from _words(getattr(value, "__dict__", {}), around, numbers)


def _parts(value: Any) -> dict[str, Any]:
    """What a dataclass is hashed by: its fields, or what it says itself.

    A class whose fields have changed says what they were (`request_parts`): keys that stand in ledgers must go on.
    """
    if hasattr(value, "request_parts"):
        parts: dict[str, Any] = value.request_parts()
        return parts
    return {field.name: getattr(value, field.name) for field in fields(value) if field.compare}


def _of_function(value: Any, around: tuple[int, ...], numbers: Numbers) -> Iterator[bytes]:
    """A function by its name, what it does and what it holds: all lambdas of a module have one name."""
    if isinstance(value, functools.partial):
        yield b"partial"
        yield from _words((value.func, value.args, value.keywords), around, numbers)
    elif isinstance(value, MethodType):
        yield b"method"
        yield from _words((value.__func__, value.__self__), around, numbers)
    elif isinstance(value, CodeType):
        yield value.co_code
        yield from _words((value.co_names, value.co_freevars, value.co_consts), around, numbers)
    else:
        yield f"{value.__module__}.{value.__qualname__}".encode()
        held = [cell.cell_contents for cell in value.__closure__ or () if _is_full(cell)]
        yield from _words((value.__code__, value.__defaults__, value.__kwdefaults__, held), around, numbers)


def _is_full(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
        return True
    except ValueError:  # a name that is not bound yet
        return False

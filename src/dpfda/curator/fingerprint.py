"""The hash of what was ordered: the same request under the same key is the same release."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from dpfda.releases.cards.words import Statement


def request_hash(*parts: object) -> str:
    """A hash of public values of any kind: numbers, arrays, functions, dataclasses, and collections of them.

    >>> request_hash("mean", 1.0) == request_hash("mean", 1.0) != request_hash("mean", 1)
    True
    """
    digest = hashlib.sha256()
    for word in _words(parts, ()):
        digest.update(len(word).to_bytes(8, "big") + word)
    return digest.hexdigest()


def _words(value: Any, around: tuple[int, ...]) -> Iterator[bytes]:
    """A value as a sequence of byte strings; two values that would be released differently differ here.

    `around` are the identities of what it is a part of: a function may know itself.
    """
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
            yield from _words(part, around)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield f"{value.dtype.str}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, Mapping):
        yield f"mapping of {len(value)}".encode()
        for name in sorted(value, key=str):
            yield from _words(str(name), around)
            yield from _words(value[name], around)
    elif isinstance(value, list | tuple | set | frozenset | np.ndarray):
        yield f"sequence of {len(value)}".encode()
        for part in sorted(value, key=repr) if isinstance(value, set | frozenset) else value:
            yield from _words(part, around)
    elif isinstance(value, FunctionType | MethodType | CodeType | functools.partial):
        yield from _of_function(value, around)
    elif callable(value) and hasattr(value, "__qualname__"):
        yield f"{value.__module__}.{value.__qualname__}".encode()
    else:
        # Without addresses in memory, which change from run to run.
        yield f"{type(value).__name__} {re.sub(r' at 0x[0-9a-f]+', '', repr(value))}".encode()
        if getattr(type(value), "__repr__", None) is object.__repr__:
            yield from _words(getattr(value, "__dict__", {}), around)


def _parts(value: Any) -> dict[str, Any]:
    """What a dataclass is hashed by: its fields, or what it says itself.

    A class whose fields have changed says what they were (`request_parts`): keys that stand in ledgers must go on.
    """
    if hasattr(value, "request_parts"):
        parts: dict[str, Any] = value.request_parts()
        return parts
    return {field.name: getattr(value, field.name) for field in fields(value) if field.compare}


def _of_function(value: Any, around: tuple[int, ...]) -> Iterator[bytes]:
    """A function by its name, what it does and what it holds: all lambdas of a module have one name."""
    if isinstance(value, functools.partial):
        yield b"partial"
        yield from _words((value.func, value.args, value.keywords), around)
    elif isinstance(value, MethodType):
        yield b"method"
        yield from _words((value.__func__, value.__self__), around)
    elif isinstance(value, CodeType):
        yield value.co_code
        yield from _words((value.co_names, value.co_freevars, value.co_consts), around)
    else:
        yield f"{value.__module__}.{value.__qualname__}".encode()
        held = [cell.cell_contents for cell in value.__closure__ or () if _is_full(cell)]
        yield from _words((value.__code__, value.__defaults__, value.__kwdefaults__, held), around)


def _is_full(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
        return True
    except ValueError:  # a name that is not bound yet
        return False

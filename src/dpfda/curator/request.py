"""Come here for the hash of what was ordered: the same request under the same key is the same release."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def request_hash(*parts: object) -> str:
    """A hash of public values of any kind: numbers, arrays, dataclasses, and collections of them.

    >>> request_hash("mean", 1.0) == request_hash("mean", 1.0) != request_hash("mean", 1)
    True
    """
    digest = hashlib.sha256()
    for word in _words(parts):
        digest.update(len(word).to_bytes(8, "big") + word)
    return digest.hexdigest()


def _words(value: Any) -> Iterator[bytes]:
    """A value as a sequence of byte strings; two values that would be released differently differ here."""
    if is_dataclass(value) and not isinstance(value, type):
        yield type(value).__name__.encode()
        for field in fields(value):
            if field.compare:
                yield field.name.encode()
                yield from _words(getattr(value, field.name))
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield f"{value.dtype.str}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, Mapping):
        yield f"mapping of {len(value)}".encode()
        for name in sorted(value, key=str):
            yield from _words(str(name))
            yield from _words(value[name])
    elif isinstance(value, list | tuple | set | frozenset | np.ndarray):
        yield f"sequence of {len(value)}".encode()
        for part in sorted(value, key=repr) if isinstance(value, set | frozenset) else value:
            yield from _words(part)
    elif callable(value) and hasattr(value, "__qualname__"):
        yield f"{value.__module__}.{value.__qualname__}".encode()
    else:
        # Without addresses in memory, which change from run to run.
        yield f"{type(value).__name__} {re.sub(r' at 0x[0-9a-f]+', '', repr(value))}".encode()

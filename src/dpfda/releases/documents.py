"""JSON documents from files of bounded size: each name once, every number finite, every text text."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NoReturn

from dpfda.arrays import as_path, may_never_end
from dpfda.errors import DataError

# Lists, objects, and what stands in them: each takes far more memory than its two bytes in the file. A covariance of a
# thousand functions has half a million numbers, and a feature map of 2^14 points on 64 sides a million.
MOST_PARTS = 2_000_000
# Of 32 bytes each, more than a double written in full takes. What is larger is none of ours.
MOST_BYTES = 64 * 2**20
DEEPEST = 64  # a list in a list in a list; sums of kernels may stand a few deep


def read_document(path: str | Path, *, called: str = "file") -> tuple[bytes, Any]:
    """The bytes of a file and the JSON in them, None where they are no JSON; `DataError` where they cannot be read."""
    content = read_content(path, called=called)
    try:
        return content, parsed(content)
    except (ValueError, RecursionError):
        return content, None


def read_content(path: str | Path, *, called: str = "file") -> bytes:
    """All bytes of a regular file, within the limit: a pipe or a device may never end. `called` is for its error."""
    file = as_path(path)
    try:
        content = None
        if not may_never_end(file):
            with file.open("rb") as stream:
                content = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise DataError(f"No {called} {str(path)!r}. Check the path.") from None
    except OSError as error:
        raise DataError(f"Cannot read {str(path)!r}: {error.strerror}. Name the JSON file of a release.") from None
    if content is None:
        raise DataError(f"{str(path)!r} is a pipe or a device, which may never end. Name a file.")
    if len(content) > MOST_BYTES:
        raise DataError(f"{str(path)!r} has more than {MOST_BYTES // 2**20} MB, and no file of ours has. Name another.")
    return content


def parsed(content: bytes) -> Any:
    """What JSON says; ValueError or RecursionError where it is none, or leaves open what it says."""
    # Each part is the first of a list or an object, or stands behind a comma.
    if sum(map(content.count, (b"[", b"{", b","))) > MOST_PARTS:
        raise ValueError(f"more than {MOST_PARTS} lists, objects and values in them")
    data = json.loads(
        content.decode("utf-8"),
        parse_constant=_no_constant,
        parse_float=_finite,
        parse_int=_whole,
        object_pairs_hook=_each_once,
    )
    _check_depth(data)
    if b"\\u" in content:
        json.dumps(data, ensure_ascii=False).encode("utf-8")  # half a character is no text: ValueError
    return data


def _check_depth(data: Any) -> None:
    """Whatever walks through the data later does so by calling itself."""
    level = [data] if isinstance(data, dict | list) else []
    for _ in range(DEEPEST):
        inner = (part.values() if isinstance(part, dict) else part for part in level)
        level = [part for parts in inner for part in parts if isinstance(part, dict | list)]
        if not level:
            return
    raise ValueError(f"lists and objects stand more than {DEEPEST} deep in each other")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"a number of {len(digits)} digits is no double")
    return number


def _whole(digits: str) -> int:
    _finite(digits)  # nothing of ours counts so far, and whatever computes with it would overflow
    return int(digits)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) != len(pairs):
        raise ValueError("a name stands twice")
    return named

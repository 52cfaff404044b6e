"""JSON documents in files: read within limits, each name once, every number finite; sealed by a digest."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, Protocol

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


class Card(Protocol):
    """A card of either kind, as far as its digest needs it."""

    def to_dict(self) -> dict[str, Any]: ...


# All of the end of a file, so that no byte of it is free either.
END = re.compile(rb',\n "digest": "([0-9a-f]{64})"\n\}\n\Z')
LOOKED_THROUGH = 2**20  # bytes of a file in which the place of a change is looked for


def sealed(data: dict[str, Any]) -> str:
    """Plain data as JSON, ended by the SHA-256 digest of every byte before it; anybody can compute it.

    It finds accidents and edits, not forgers: who edits a file can make its digest anew. Against those stand the
    recomputed guarantee and the ledger.
    """
    return with_digest(json.dumps(data, indent=1, allow_nan=False))


def with_digest(text: str) -> str:
    """The text of a JSON object, ended by the digest of every byte before it."""
    body = text.removesuffix("}").rstrip("\n")
    return f'{body},\n "digest": "{digest_of(body.encode("utf-8"))}"\n}}\n'


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# What this digest leaves out, and that of the whole file has: warnings may be added after the draw, as those of
# components that show nothing, and so may what was changed afterwards; words about the ledger follow from the entry,
# and what was detected from the noisy numbers.
FREE = frozenset({"software", "recorded", "warnings", "afterwards", "detected"})


def card_digest(card: Card) -> bytes:
    """SHA-256 of all that a card says and post-processing keeps: by it a ledger knows a card that it let out.

    Whole numbers and equal doubles count as the same, since a file may hold either.
    """
    said = {name: _plain(value) for name, value in card.to_dict().items() if name not in FREE}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).digest()


def content_digest(data: Mapping[str, Any]) -> bytes:
    """SHA-256 of plain data, each leaf as it is and where it is: 1 and 1.0 are two things, and so are two orders."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).digest()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**53:
        return float(value)
    return value


def stated_digest(content: bytes) -> str | None:
    """The digest that a file ends with; None where it ends otherwise."""
    found = END.search(content)
    return None if found is None else found.group(1).decode("ascii")


def broken(content: bytes) -> tuple[str, str] | None:
    """What a file says of its bytes and what is true of them, where the two differ; None for a whole file."""
    digests = _digests(content)
    if digests is None:
        return "a digest at the very end", f"none is there{_where(content)}"
    stated, true = digests
    return None if stated == true else (stated, f"{true}{_where(content)}")


def _digests(content: bytes) -> tuple[str, str] | None:
    """The digest that a file ends with and the one that its bytes have; None where it ends otherwise."""
    found = END.search(content)
    return None if found is None else (found.group(1).decode("ascii"), digest_of(content[: found.start()]))


def check_seal(content: bytes, path: str | Path) -> None:
    """Refuse a file whose bytes do not fit the digest at its end, or that has none: anybody could take it off."""
    digests = _digests(content)
    if digests is None:
        raise DataError(
            f"{str(path)!r} does not end with its digest, as every file of dpfda does: it was cut off or edited. Take "
            "a fresh copy of it."
        )
    if digests[0] != digests[1]:
        raise DataError(
            f"{str(path)!r} was changed after it was written: its bytes do not fit the digest at its end. Take a fresh "
            "copy of it; `dpfda verify` says what can be said of this one."
        )


def _where(content: bytes) -> str:
    """Where a file stops being what is written by us, if that can be told: a changed value looks like any other."""
    if len(content) > LOOKED_THROUGH:  # it is parsed and written anew, which takes many times its size
        return ""
    try:
        data = parsed(content)
    except UnicodeDecodeError as error:
        return f"; byte {error.start + 1} is no text"
    except json.JSONDecodeError as error:
        return f"; no JSON from line {error.lineno}, column {error.colno} on"
    except ValueError as error:
        return f"; {error}"
    except RecursionError:
        return ""
    if not isinstance(data, dict):
        return ""
    lines = json.dumps(data, indent=1, allow_nan=False).split("\n")
    for number, (one, other) in enumerate(zip(content.decode("utf-8").split("\n"), [*lines, ""], strict=False), 1):
        if one != other:
            column = next((place for place, (a, b) in enumerate(zip(one, other, strict=False), 1) if a != b), 0)
            return f"; line {number}{f', column {column}' if column else ''} is not written as dpfda writes it"
    return ""

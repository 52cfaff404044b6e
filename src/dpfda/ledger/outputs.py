"""What a ledger keeps of a draw: the integers, and digests of the files and cards that were published with them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dpfda.arrays import Integers

VERSION = 3  # 1 kept digests of cards alone, 2 digests of files whose cards kept sentences
DIGEST = 32  # bytes
NONE = bytes(DIGEST)


@dataclass(frozen=True, slots=True)
class Document:
    """Digests of one release file or card that was published."""

    card: bytes  # of what post-processing keeps of its card
    whole: bytes  # of the release file, or of all that the card says
    exact: bytes = NONE  # of a release, but for the numbers that are computed from the rest of it


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """All that was drawn on one charge, in order, digests of what was published, and the versions of the software."""

    vectors: tuple[Integers, ...]
    cards: tuple[bytes, ...] = ()
    documents: tuple[Document, ...] = ()  # empty in outputs of version 1
    software: Mapping[str, str] = field(default_factory=dict)
    cards_of_fields: bool = False  # whether cards were of the schema of now: the same key gives the same bytes again


def pack(
    vectors: Sequence[Integers], documents: Sequence[Document] = (), software: Mapping[str, str] | None = None
) -> bytes:
    """Version, digests, the versions that drew it, then lengths and integers, compressed.

    High bytes of integers are mostly alike, so bytes of equal places stand together.
    """
    sizes = np.array([len(vectors), *map(len, vectors)], dtype="<i8")
    integers = np.concatenate([sizes, *vectors]).astype("<i8")
    packed = zlib.compress(integers.view(np.uint8).reshape(-1, 8).T.tobytes(), 9)
    digests = b"".join(part for known in documents for part in (known.card, known.whole, known.exact))
    versions = json.dumps(dict(software or {}), separators=(",", ":")).encode("ascii")
    return bytes([VERSION, len(documents)]) + digests + len(versions).to_bytes(2, "little") + versions + packed


def unpack(output: bytes) -> Kept:
    """What `pack` wrote, in this version or before; ValueError for anything else."""
    if len(output) < 2 or output[0] not in (1, 2, VERSION):
        raise ValueError("no draw of this version")
    each = 1 if output[0] == 1 else 3
    start = 2 + DIGEST * each * output[1]
    digests = [output[place : place + DIGEST] for place in range(2, start, DIGEST)]
    if any(len(digest) != DIGEST for digest in digests):
        raise ValueError("damaged")
    if output[0] == 1:
        return Kept(_vectors(output[start:]), tuple(digests))
    size = int.from_bytes(output[start : start + 2], "little")
    documents = tuple(Document(*digests[place : place + 3]) for place in range(0, len(digests), 3))
    return Kept(
        _vectors(output[start + 2 + size :]),
        tuple(known.card for known in documents),
        documents,
        _software(output[start + 2 : start + 2 + size]),
        output[0] == VERSION,
    )


def _software(content: bytes) -> dict[str, str]:
    found = json.loads(content.decode("ascii"))
    if not isinstance(found, dict) or not all(isinstance(said, str) for said in found.values()):
        raise ValueError("damaged")
    return found


def _vectors(packed: bytes) -> tuple[Integers, ...]:
    try:
        columns = np.frombuffer(zlib.decompress(packed), dtype=np.uint8).reshape(8, -1)
        integers = np.ascontiguousarray(columns.T).view("<i8")[:, 0].astype(np.int64)
        count = int(integers[0])
        ends = np.cumsum(integers[1 : 1 + count])
        if count < 0 or len(ends) != count or (count and ends[-1] != len(integers) - 1 - count):
            raise ValueError("lengths do not fit")
        return tuple(np.split(integers[1 + count :], ends[:-1])[:count])
    except (zlib.error, IndexError) as error:
        raise ValueError("damaged") from error

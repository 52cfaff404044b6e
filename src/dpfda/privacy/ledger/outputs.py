"""Come here for what a ledger keeps of a draw: the integers, and digests of the cards that went out with them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Integers

VERSION = 1
DIGEST = 32  # bytes


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """All that was drawn on one charge, in order, and the digests of its cards."""

    vectors: tuple[Integers, ...]
    cards: tuple[bytes, ...]


def pack(vectors: Sequence[Integers], cards: Sequence[bytes] = ()) -> bytes:
    """Version, digests, then lengths and integers, compressed.

    High bytes of integers are mostly alike, so bytes of equal places stand together.
    """
    sizes = np.array([len(vectors), *map(len, vectors)], dtype="<i8")
    integers = np.concatenate([sizes, *vectors]).astype("<i8")
    packed = zlib.compress(integers.view(np.uint8).reshape(-1, 8).T.tobytes(), 9)
    return bytes([VERSION, len(cards)]) + b"".join(cards) + packed


def unpack(output: bytes) -> Kept:
    """What `pack` wrote; ValueError for anything else."""
    if len(output) < 2 or output[0] != VERSION:
        raise ValueError("no draw of this version")
    start = 2 + DIGEST * output[1]
    cards = tuple(output[2 + DIGEST * i : 2 + DIGEST * (i + 1)] for i in range(output[1]))
    try:
        columns = np.frombuffer(zlib.decompress(output[start:]), dtype=np.uint8).reshape(8, -1)
        integers = np.ascontiguousarray(columns.T).view("<i8")[:, 0].astype(np.int64)
        count = int(integers[0])
        ends = np.cumsum(integers[1 : 1 + count])
        if count < 0 or len(ends) != count or (count and ends[-1] != len(integers) - 1 - count):
            raise ValueError("lengths do not fit")
        return Kept(tuple(np.split(integers[1 + count :], ends[:-1])[:count]), cards)
    except (zlib.error, IndexError) as error:
        raise ValueError("damaged") from error

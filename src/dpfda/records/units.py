"""Come here for privacy units: which records belong to one person, and their average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.errors import UsageError
from dpfda.records.cells import ids_of

LARGEST = 2.0**50  # a vector's coordinates before averaging; far beyond any that clipping would not cut


@dataclass(frozen=True, slots=True)
class UnitIndex:
    """The unit of every row, numbered by first appearance; `size` counts the units."""

    codes: Integers  # (rows,)
    size: int

    @property
    def grouped(self) -> bool:
        """Whether the rows of each unit stand together."""
        return bool((np.diff(self.codes) >= 0).all())

    @staticmethod
    def build(ids: Sequence[object] | np.ndarray[tuple[int], np.dtype[np.generic]]) -> UnitIndex:
        """An index from one identifier for each row; a missing identifier is an identifier like any other."""
        import pyarrow as pa

        array = pa.array(ids) if isinstance(ids, np.ndarray) and ids.dtype.kind in "iub" else _plain(ids)
        encoded = array.dictionary_encode(null_encoding="encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return UnitIndex(codes, len(encoded.dictionary))


def _plain(ids: Sequence[object] | np.ndarray[tuple[int], np.dtype[np.generic]]) -> Any:
    import pyarrow as pa

    # As bytes: identifiers of mixed types or broken text would fail to convert, and the error would show one of them.
    return pa.array([label(i) for i in ids], type=pa.large_binary())


def label(identifier: object) -> bytes:
    """What an identifier is compared by: 1, 1.0 and "1" are one person, since to split a person is never safe."""
    try:
        if identifier is None or identifier != identifier:
            return b"\0missing"
        if isinstance(identifier, float | np.floating) and identifier == int(identifier):
            identifier = int(identifier)
        return (identifier if isinstance(identifier, str) else str(identifier)).encode("utf-8", "surrogatepass")
    except Exception:
        return b"\0missing"  # pandas.NA, infinity, and whatever cannot be written


def _vector(ids: object) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
    import pyarrow as pa

    try:
        if hasattr(ids, "__arrow_c_stream__") and not hasattr(ids, "iloc"):
            return ids_of(pa.chunked_array(ids))
        # Lists, and pandas columns of its own types, keep their values as they are: next to a missing one, numpy would
        # turn whole numbers into doubles and merge large ones.
        return np.asarray(ids) if isinstance(getattr(ids, "dtype", None), np.dtype) else np.array(ids, dtype=object)
    except (TypeError, ValueError, pa.ArrowException):
        return np.empty((0, 0))


def check_units(ids: object, rows: int) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
    """Identifiers as a vector with one entry for each row."""
    array = _vector(ids)
    if array.shape != (rows,):
        # No numbers here: that of the rows may be private.
        raise UsageError(
            "units must hold one identifier for each row, no more and no fewer. "
            "Pass a vector, or the name of a column if the curves are a table."
        )
    return array


def average(vectors: Array, present: Array, codes: Integers) -> tuple[Integers, Integers, Integers]:
    """Sums and counts of the records of each unit in a batch: the units, (size, units), (units,).

    Vectors are integers as doubles. As 64-bit integers their sums do not depend on the order of records nor on how
    batches cut a unit, not even beyond 2^53, where doubles would round.
    """
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    weighted = (np.clip(vectors, -LARGEST, LARGEST) * present)[:, order].astype(np.int64)
    counts = np.add.reduceat(present[order].astype(np.int64), starts)
    return ordered[starts], np.add.reduceat(weighted, starts, axis=1), counts

"""Come here for privacy units: which records belong to one person, and their average."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.errors import UsageError
from dpfda.records.cells import NO_ID, ids_of

LARGEST = 2.0**50  # a vector's coordinates before averaging; far beyond any that clipping would not cut


@dataclass(frozen=True, slots=True)
class UnitIndex:
    """The unit of every row, numbered by first appearance, -1 where it is not known; `size` counts the units."""

    codes: Integers  # (rows,)
    size: int

    @property
    def grouped(self) -> bool:
        """Whether the rows of each unit stand together."""
        return bool((np.diff(self.codes[self.codes >= 0]) >= 0).all())

    @property
    def unknown(self) -> bool:
        """Whether some row does not say whose it is."""
        return bool((self.codes < 0).any())

    @staticmethod
    def build(ids: Sequence[object] | np.ndarray[tuple[int], np.dtype[np.generic]]) -> UnitIndex:
        """An index from one identifier for each row."""
        import pyarrow as pa

        whole = isinstance(ids, np.ndarray) and ids.dtype.kind in "iub"
        # As bytes: identifiers of mixed types or broken text would fail to convert, and the error would show one.
        return _numbered(pa.array(ids) if whole else pa.array([label(i) for i in ids], type=pa.large_binary()))

    @staticmethod
    def of_codes(codes: Integers) -> UnitIndex:
        """An index from numbers that are the same for the same unit, negative where it is not known."""
        import pyarrow as pa

        return _numbered(pa.array(codes, mask=codes < 0))


def _numbered(ids: Any) -> UnitIndex:
    encoded = ids.dictionary_encode()
    return UnitIndex(np.asarray(encoded.indices.fill_null(-1), dtype=np.int64), len(encoded.dictionary))


def label(identifier: object) -> bytes | None:
    """What an identifier is compared by: 1, 1.0 and "1" are one person. None: it does not say whose row it is."""
    try:
        if identifier is None or identifier != identifier:
            return None
        if isinstance(identifier, float | np.floating) and identifier == int(identifier):
            identifier = int(identifier)
        if isinstance(identifier, bytes) and identifier in {word.encode() for word in NO_ID}:
            return None  # bytes are compared as they are, in every kind of table
        text = identifier if isinstance(identifier, str) else str(identifier)
        return None if text.strip() in NO_ID else text.encode("utf-8", "surrogatepass")
    except Exception:
        return None  # pandas.NA, infinity, and whatever cannot be written


def _vector(ids: object) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
    import pyarrow as pa

    try:
        if isinstance(ids, np.ma.MaskedArray):
            array = np.array(ids.data, dtype=object)
            array[np.ma.getmaskarray(ids)] = None
            return array
        if isinstance(ids, Sequence | deque) and not isinstance(ids, str | bytes):
            # One by one: numpy would make a matrix of identifiers that happen to have the same length.
            array = np.empty(len(ids), dtype=object)
            for place, identifier in enumerate(ids):
                array[place] = identifier
            return array
        if hasattr(ids, "__arrow_c_stream__") and not hasattr(ids, "iloc"):
            return named(ids_of(pa.chunked_array(ids)))
        # pandas columns of its own types keep their values as they are: next to a missing one, numpy would turn whole
        # numbers into doubles and merge large ones.
        return np.asarray(ids) if isinstance(getattr(ids, "dtype", None), np.dtype) else np.array(ids, dtype=object)
    except (TypeError, ValueError, pa.ArrowException):
        return np.empty((0, 0))


def named(codes: Integers) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
    """Numbers for units as identifiers, None where they are negative."""
    identifiers = codes.astype(object)
    identifiers[codes < 0] = None
    return identifiers


def named_units(units: object) -> tuple[object, str]:
    """Identifiers and what one of them is called: by a vector that has a name, or as {"ID": identifiers}; else "unit".

    >>> named_units({"ID": [1, 1, 2]})
    ([1, 1, 2], 'ID')
    """
    if isinstance(units, Mapping):
        if len(units) != 1 or not all(isinstance(name, str) and name for name in units):
            raise UsageError('units with a name are given as {"ID": identifiers}: one name, one vector.')
        ((name, ids),) = units.items()
        return ids, str(name)
    name = getattr(units, "name", None)
    return units, name if isinstance(name, str) and name else "unit"


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

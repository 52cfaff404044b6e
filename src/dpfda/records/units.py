"""Privacy units: the identifiers that people pass, and the average of the records of one unit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.errors import UsageError
from dpfda.records.identity import Identity

LARGEST = 2.0**50  # a vector's coordinates before averaging; far beyond any that clipping would not cut


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


def identify(ids: object, rows: int) -> Identity:
    """Who the rows belong to, from a vector with one identifier for each of them."""
    identity = Identity.of(ids)
    if identity is None or len(identity.codes) != rows:
        # No numbers here: that of the rows may be private.
        raise UsageError(
            "units must hold one identifier for each row, no more and no fewer. "
            "Pass a vector, or the name of a column if the curves are a table."
        )
    return identity


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

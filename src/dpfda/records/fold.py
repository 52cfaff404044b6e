"""The sum over all units: exact, in batches, the same bit for bit in any order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeVar

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.bases.lattice import FRACTIONS
from dpfda.records.curves import Curves
from dpfda.records.identity import Identity, average
from dpfda.records.reading import with_progress

Encode = Callable[[Array], tuple[Array, Array]]
Item = TypeVar("Item")
Result = TypeVar("Result")


class Clipping(Protocol):
    """Turns the average vector of a unit into its bounded contribution.

    It looks at that vector alone, so that one unit moves the sum by a bounded amount, whatever the other units are.
    """

    def clip(self, vectors: Array, out: Array | None = None) -> Array:
        """Columns of whole numbers that add up to the contributions of all units, (size, m) -> (sums, any).

        A unit is a column of `vectors`; `out` may be written to.
        """


HELD = 2**25  # numbers kept at a time for units whose records lie scattered: 256 MB


def exact_sum(
    curves: Curves,
    encode: Encode,
    lattice: Clipping,
    *,
    units: Identity | None,
    size: int,
    batch_rows: int | None,
    workers: int,
    progress: bool | None,
    sums: int | None = None,
) -> Integers:
    """The integer sum over all units of their clipped average vectors, (size,), or (sums,) if clipping changes that.

    Memory does not grow with the number of rows, but for eight bytes a row when `units` are given.
    """
    # By default about a million values at a time: 8 MB, whatever the grid.
    rows = batch_rows or max(64, 2**20 // curves.source.width)
    batches = _batches(curves, rows, progress)
    if units is None:

        def one_batch(values: Array) -> Integers:
            vectors, _ = encode(values)
            return _total(vectors, 1, lattice)

        parts = in_order(one_batch, batches, workers)
    elif units.grouped:
        parts = _grouped(in_order(encode, batches, workers), units, lattice)
    else:
        parts = _scattered(curves, encode, lattice, units, size, rows, workers, progress)
    with one_thread_each(curves.rows):
        return _add(parts, size if sums is None else sums)


def _batches(curves: Curves, batch_rows: int, progress: bool | None) -> Iterator[Array]:
    batches = (batch for batch in curves.batches(batch_rows) if len(batch))
    return with_progress(batches, total=-(-curves.rows // batch_rows), show=progress)


def _total(sums: Array | Integers, counts: Integers | int, lattice: Clipping) -> Integers:
    # A unit without any value has count 0 and sum 0: it contributes the centre.
    averages = sums / (np.maximum(counts, 1) * FRACTIONS)
    # Up to 2^28 units of at most 2^24 steps add up exactly in doubles.
    total: Integers = lattice.clip(averages, averages).sum(axis=1).astype(np.int64)
    return total


def _add(parts: Iterable[Integers], size: int) -> Integers:
    total = np.zeros(size, dtype=np.int64)
    for part in parts:
        total += part
    return total


def _with_codes(encoded: Iterable[tuple[Array, Array]], units: Identity) -> Iterator[tuple[Array, Array, Integers]]:
    """Batches with the units of their rows; rows whose unit is not known are left out."""
    row = 0
    for vectors, present in encoded:
        codes = units.codes[row : row + len(present)]
        row += len(present)
        if len(codes) != len(present):
            break
        known = codes >= 0
        if known.all():
            yield vectors, present, codes
        elif known.any():
            yield vectors[:, known], present[known], codes[known]
    if row != len(units.codes):
        raise RuntimeError("the rows and their units are out of step")


def _grouped(encoded: Iterable[tuple[Array, Array]], units: Identity, lattice: Clipping) -> Iterator[Integers]:
    """Totals of batches whose units stand together; the last unit of a batch waits for the next one."""
    waiting = None
    for vectors, present, known in _with_codes(encoded, units):
        codes, sums, counts = average(vectors, present, known)
        if waiting is not None and waiting[0] == codes[0]:
            sums[:, 0] += waiting[1]
            counts[0] += waiting[2]
        elif waiting is not None:
            yield _total(waiting[1][:, None], np.array([waiting[2]]), lattice)
        yield _total(sums[:, :-1], counts[:-1], lattice)
        waiting = codes[-1], sums[:, -1], counts[-1]
    if waiting is not None:
        yield _total(waiting[1][:, None], np.array([waiting[2]]), lattice)


def _scattered(
    curves: Curves,
    encode: Encode,
    lattice: Clipping,
    units: Identity,
    size: int,
    batch_rows: int,
    workers: int,
    progress: bool | None,
) -> Iterator[Integers]:
    """Totals of units whose records lie scattered: as many passes over the data as it takes to hold a share each."""
    share = max(1, HELD // size)
    for first in range(0, units.size, share):
        last = min(first + share, units.size)
        sums, counts = np.zeros((size, last - first), dtype=np.int64), np.zeros(last - first, dtype=np.int64)
        encoded = in_order(encode, _batches(curves, batch_rows, progress), workers)
        for vectors, present, codes in _with_codes(encoded, units):
            mine = (first <= codes) & (codes < last)
            if mine.any():
                who, part, count = average(vectors[:, mine], present[mine], codes[mine])
                sums[:, who - first] += part
                counts[who - first] += count
        yield _total(sums, counts, lattice)


def one_thread_each(rows: int) -> AbstractContextManager[object]:
    """A context without the threads that matrix products would start beside ours: they slow each other down."""
    if rows < 2**16:  # looking for the libraries takes longer than they would
        return nullcontext()
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limits


def in_order(function: Callable[[Item], Result], items: Iterable[Item], workers: int) -> Iterator[Result]:
    """Results in the order of the items, computed on `workers` threads while this one reads, a few at a time."""
    with ThreadPoolExecutor(workers) as pool:
        running: deque[Future[Result]] = deque()
        for item in items:
            running.append(pool.submit(function, item))
            if len(running) > workers:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()

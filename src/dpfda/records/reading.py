"""How records are read: in which batches, on how many threads, with or without a progress bar."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from dpfda.arrays import as_plain_ints, check_flag, is_whole
from dpfda.errors import UsageError


@dataclass(frozen=True, slots=True)
class Reading:
    """How records are read; nothing here changes a release, not by a bit.

    Parameters
    ----------
    batch_rows : rows read at a time; None for about a million values.
    workers : threads that encode; None for one for each processor, at most four.
    progress : whether a bar shows how far reading is; None for a bar on a terminal alone.
    """

    batch_rows: int | None = None
    workers: int | None = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        for name, number, most in (("batch_rows", self.batch_rows, 2**20), ("workers", self.workers, 2**10)):
            if number is not None and not is_whole(number, 1, most):
                raise UsageError(
                    parameter=name, value=number, rule=f"must be None or a whole number between 1 and {most}"
                )
        check_flag(self.progress, "progress", none=True)
        as_plain_ints(self, "batch_rows", "workers")

    @property
    def threads(self) -> int:
        """How many threads encode records: as stated, or one for each processor and at most four."""
        return min(4, os.cpu_count() or 1) if self.workers is None else self.workers


def as_reading(reading: object) -> Reading:
    """How records are to be read; None for the usual way."""
    if reading is None:
        return Reading()
    if not isinstance(reading, Reading):
        raise UsageError(
            parameter="reading", value=reading, rule="must be None or an object such as dpfda.Reading(workers=2)"
        )
    return reading


PATIENCE = 2.0  # seconds before a bar appears


def with_progress(batches: Iterable[Any], *, total: int, show: bool | None) -> Iterator[Any]:
    """The same batches, with a bar on standard error once they take longer than two seconds.

    `show=None` means only on a terminal.
    """
    if show is False or (show is None and not sys.stderr.isatty()):
        yield from batches
        return
    started, bar, task = time.monotonic(), None, None
    try:
        for batch in batches:
            yield batch
            if bar is None and time.monotonic() - started > PATIENCE:
                bar, task = _bar(total)
            if bar is not None and task is not None:
                bar.advance(task)
    finally:
        if bar is not None:
            with suppress(Exception):
                bar.stop()


def _bar(total: int) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("reading records"), BarColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True
    )
    bar.start()
    return bar, bar.add_task("", total=total)

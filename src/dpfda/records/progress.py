"""Come here for the progress bar that appears when reading takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

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

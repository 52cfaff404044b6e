"""Come here for the bars that show how far a study has come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import length_hint
from typing import Any

Track = Callable[[Iterable[Any], str], Iterable[Any]]


@contextmanager
def progress_bars() -> Iterator[Track]:
    """A bar on standard error for each loop that is tracked, one below the other; none where that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:

        def track(items: Iterable[Any], what: str) -> Iterator[Any]:
            task = bars.add_task(what, total=length_hint(items) or None)
            for item in items:
                yield item
                bars.advance(task)
            bars.remove_task(task)

        yield track

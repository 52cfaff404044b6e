"""Tables and progress bars on a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import length_hint
from textwrap import fill
from typing import Any, SupportsFloat

import click

from dpfda.studies.outcome import Table

MOST_ROWS = 100  # beyond it the file is the better place to look
NARROWEST = 40


def cell_text(cell: object) -> str:
    """A cell for people: numbers in four digits, nothing for None."""
    if cell is None:
        return ""
    if isinstance(cell, float) or (hasattr(cell, "dtype") and isinstance(cell, SupportsFloat)):
        value = float(cell)
        return f"{value:.4g}" if math.isfinite(value) else str(value)
    return str(cell)


def pieces(widths: Sequence[int], leading: int, available: int) -> list[list[int]]:
    """Columns in groups that fit, each led by the first columns, which name the rows."""
    head = list(range(leading))
    start = sum(widths[column] for column in head)
    groups: list[list[int]] = []
    used = math.inf
    for column in range(leading, len(widths)):
        if used + widths[column] > available:
            groups.append(list(head))
            used = start
        groups[-1].append(column)
        used += widths[column]
    return groups or [head]


def leading_columns(rows: Sequence[Sequence[object]]) -> int:
    """How many columns name the rows: those before the first that holds a number with a fraction, but at least one."""
    count = len(rows[0]) if rows else 1
    for column in range(count):
        if any(isinstance(row[column], float) for row in rows):
            return max(1, column)
    return 1


def print_table(table: Table, *, where: str = "", width: int | None = None) -> None:
    """Print a table; in pieces where it is wider than the terminal, its first rows where it is long."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    console = Console(width=width)
    # A file or a pipe has no edge: tables are cut for terminals only.
    available = console.width if console.is_terminal or width is not None else 10_000
    if available == 10_000:
        console = Console(width=available)
    rows = table.rows[:MOST_ROWS]
    shown = [[cell_text(cell) for cell in row] for row in rows]
    longest = [
        max(len(name), *(len(row[i]) for row in shown)) if shown else len(name) for i, name in enumerate(table.columns)
    ]
    leading = leading_columns(rows)
    groups = pieces([length + 2 for length in longest], leading, max(available - 2, NARROWEST))
    click.echo(f"\n{table.title}")
    for group in groups:
        drawn = Drawn(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for column in group:
            numeric = any(isinstance(row[column], int | float) for row in rows)
            drawn.add_column(Text(table.columns[column]), justify="right" if numeric else "left", overflow="fold")
        for line in shown:
            drawn.add_row(*(Text(line[column]) for column in group))
        _print(console, drawn)
    if len(table.rows) > MOST_ROWS:
        click.echo(f"... and {len(table.rows) - MOST_ROWS} more rows{f' in {where}' if where else ''}")


def print_notes(notes: Sequence[str]) -> None:
    """Print paragraphs, in lines of at most 118 characters."""
    for note in notes:
        click.echo(f"\n{fill(note, width=118, break_long_words=False, break_on_hyphens=False)}")


def _print(console: Any, drawn: Any) -> None:
    """Through click, so that one place writes: lines without the blanks that rich fills them with."""
    with console.capture() as captured:
        console.print(drawn)
    click.echo("\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n")))


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

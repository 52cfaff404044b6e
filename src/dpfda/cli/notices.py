"""What a command says beside its output: notices, and what stands when it ends before its time."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path

import click

CHARGED = "dpfda.charged"  # where a context keeps what became of the charge
WRITTEN = "dpfda.written"  # and which files are whole


def notice(text: str) -> None:
    """Say something beside the output; if nobody can hear it, the work goes on."""
    with suppress(OSError):
        click.echo(text, err=True)


def note_charge(key: str, how: str) -> None:
    """Leave word for whoever ends the command from here on: what was drawn is kept, or is drawn then."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[CHARGED] = f"{how} --key {shlex.quote(key)} goes on with it, free."


def note_written(path: Path) -> None:
    """Leave word that a file is there, for a command that cannot print its own."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[WRITTEN] = (*context.meta.get(WRITTEN, ()), str(path))


def standing(context: click.Context) -> str:
    """What stands of a command that did not end as it should: files, and what became of the charge."""
    written = context.meta.get(WRITTEN, ())
    said = [f"Written before: {', '.join(written)}."] if written else []
    return " ".join([*said, *filter(None, [context.meta.get(CHARGED)])])

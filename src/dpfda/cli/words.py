"""What commands say: messages in the words of the command line, notices beside the output, and what stands."""

from __future__ import annotations

import shlex
from contextlib import suppress
from functools import cache
from pathlib import Path

import click

from dpfda.messages import Argument, Message, Words, either

# Arguments whose options have another name than they have.
OTHER_NAMES = {"n_components": "k", "units": "unit", "covariate_levels": "covariates"}


def in_words(text: str) -> str:
    """A text of the package with options for the arguments that it names."""
    return text.render(_word) if isinstance(text, Message) else text


def option_of(name: str) -> click.Option | None:
    """The option that states an argument, if there is one."""
    return _options().get(OTHER_NAMES.get(name, name))


def _word(part: Argument | Words) -> str:
    if isinstance(part, Words):
        return part.command
    option = option_of(part.name)
    if option is None:
        return part.python
    flag = max(option.opts, key=len)
    return flag if option.is_flag or not part.typed else f"{flag} {either(part.typed)}"


@cache
def _options() -> dict[str, click.Option]:
    """The options of all commands, by the names of their parameters."""
    from dpfda.cli.main import cli

    found: dict[str, click.Option] = {}
    waiting: list[click.Command] = [cli]
    while waiting:
        command = waiting.pop()
        waiting += command.commands.values() if isinstance(command, click.Group) else ()
        for option in command.params:
            if isinstance(option, click.Option):
                found.setdefault(str(option.name), option)
    return found


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

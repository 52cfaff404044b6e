"""Messages in the words of the command line: options where Python has arguments."""

from __future__ import annotations

from functools import cache

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

"""Regenerate docs/command-line.md from the command's own help: `make docs`."""

from __future__ import annotations

from pathlib import Path

import click
from click.testing import CliRunner

from dpfda.cli.main import cli

TARGET = Path(__file__).parents[1] / "docs" / "command-line.md"


def helps(command: click.Command, words: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """The help of a command and of all below it, as the command prints it."""
    text = CliRunner().invoke(cli, [*words, "--help"], prog_name="dpfda", terminal_width=100).output
    found = [(" ".join(("dpfda", *words)), text)]
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            found += helps(command.commands[name], (*words, name))
    return found


def reference() -> str:
    """The page."""
    parts = ["# The `dpfda` command", "", "Made by `make docs` from the command's own help; do not edit.", ""]
    for path, text in helps(cli):
        parts += [f"## {path}", "", "```text", text.rstrip(), "```", ""]
    return "\n".join(parts)


if __name__ == "__main__":
    TARGET.write_text(reference())
    print(f"written: {TARGET}")

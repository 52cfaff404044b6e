"""The first thing that runs when somebody types `dpfda`: nothing is loaded yet, and Ctrl-C is quiet."""

from __future__ import annotations

import os
import sys


def run() -> None:
    """The command as a process; interrupted while it is still being loaded, it says so, without a traceback."""
    _open_streams()
    try:
        from dpfda.cli.main import run as go
    except KeyboardInterrupt:
        sys.stderr.write("Error: Interrupted.\n")
        sys.exit(130)
    go()


def _open_streams() -> None:
    """Streams that were closed, as by `>&-`, lead nowhere: else a file that is opened later would take their place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115

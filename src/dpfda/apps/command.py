"""Come here for the first thing that runs when somebody types `dpfda`: nothing is loaded yet, and Ctrl-C is quiet."""

from __future__ import annotations

import sys


def run() -> None:
    """The command as a process; interrupted while it is still being loaded, it says so, without a traceback."""
    try:
        from dpfda.apps.cli import run as go
    except KeyboardInterrupt:
        sys.stderr.write("Error: Interrupted.\n")
        sys.exit(130)
    go()

"""Functions that are given records, and leave none behind in an error: not in its frames, nor in its text."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from traceback import clear_frames
from typing import ParamSpec, TypeVar

from dpfda.errors import DataError, DpfdaError

UNREADABLE = (
    "The records could not be read: whatever holds them failed while it was read. Its own words are not repeated, "
    "because they may show a record. Try the same call with made-up records of the same form."
)
P = ParamSpec("P")
T = TypeVar("T")


def forgets_records(function: Callable[P, T]) -> Callable[P, T]:
    """The same function; whatever it raises has files and lines in its traceback, but no local variables.

    Debuggers and reports of errors show local variables, and here they are records. An interruption is an error too.
    Frames of whoever called cannot be emptied: what stands there is the caller's own.
    """

    @functools.wraps(function)
    def forgetful(*args: P.args, **kwargs: P.kwargs) -> T:
        handled = sys.exception()
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            del args, kwargs  # this frame is a part of the traceback as well
            _forget(error, handled)
            raise

    return forgetful


def reads_records(function: Callable[P, T]) -> Callable[P, T]:
    """The same function; what fails in the code of others while they hand out records becomes one constant error.

    A reader of a file that meets an odd cell shows it in its message.
    """

    @functools.wraps(function)
    def wordless(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except (DpfdaError, Warning):
            raise
        except Exception:
            failed = DataError(UNREADABLE)
        # Outside of the handler: what was handled would be kept as the context.
        raise failed

    return wordless


def _forget(error: BaseException, handled: BaseException | None) -> None:
    """Empty all frames of an error, and of those that it came from, up to one that the caller was about to handle."""
    waiting: list[BaseException | None] = [error]
    seen = {id(handled)}
    while waiting:
        found = waiting.pop()
        if found is not None and id(found) not in seen:
            seen.add(id(found))
            clear_frames(found.__traceback__)
            waiting += [found.__cause__, found.__context__]

"""Decorators that keep records out of errors: out of the frames of a traceback, and out of messages."""

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
    """A decorator: what the function raises keeps files and lines in its traceback, but no local variables.

    Debuggers and error reports show local variables, and here they are records. Interruptions are errors too. Frames of
    the caller cannot be emptied: what is there belongs to the caller.
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
    """A decorator: errors of other libraries, raised while they hand out records, become one constant error.

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

"""Every exception this package raises, and the exit code each gives the command line.

An error is data: `parameter`, `value`, `rule` and `fix` are fields, and its text is rendered from them. Python reads
`str(error)`, with arguments as they are passed to a function; the command line renders the same parts with its options.

DpfdaError
├── UsageError            2  a public argument is wrong: the message says the rule, the value, the way out
│   └── MissingExtra      2  an optional library is not installed
├── PrivacyRefused        3  the request cannot be private as asked
│   ├── CannotMeetBudget  3  no noise scale of this mechanism meets the budget
│   └── IncompatibleNoise 3  no scale of this noise process is private for this summary
├── BudgetError           4  the ledger does not allow the release; nothing was charged
│   ├── BudgetExceeded    4  it has less left than the release costs
│   ├── NoBudget          4  it has no budget of this name, or a frozen one
│   └── LedgerDamaged     5  its entries do not fit together, or are older than their anchor
└── DataError             5  a file or its layout is not as stated
    └── ReleaseFailed     5  something failed after records were read: one constant text, the charge stays

Warnings are about public facts alone, so that they are the same whatever the records are:

DpfdaWarning
├── AssumptionWarning     something was not stated, and was assumed
└── SpendingWarning       the same records were paid for again, and no ledger counts it
"""

from __future__ import annotations

import copyreg
import sys
import warnings
from pathlib import Path
from typing import Any, ClassVar

from dpfda.messages import Message, Part, arg, brief

UNSTATED: Any = object()
Text = str | tuple[Part, ...]


class DpfdaError(Exception):
    """The root of all errors of this package.

    Most are made of fields, `UsageError(parameter="bound", value=bound, rule="must be positive", fix="Take ...")`,
    which reads "bound must be positive, got -1. Take ..."; others of a `statement`, whose fields are stated beside it.
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self, *statement: Part, parameter: str | None = None, value: object = UNSTATED, rule: Text = "", fix: Text = ""
    ) -> None:
        self.parameter = parameter  # the public argument that it is about, if it is about one
        self.value = None if value is UNSTATED else brief(value)  # as a short text
        self.rule, self.fix = _message(rule), _message(fix)
        if not statement and parameter is not None:
            got = "" if self.value is None else f", got {self.value}"
            statement = (arg(parameter), " ", self.rule, f"{got}.")
        super().__init__(Message(*statement, *((" ", self.fix) if self.fix else ())))

    @property
    def message(self) -> Message:
        """Its text with its parts."""
        return _message(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:  # constructors of subclasses may take other arguments than `args`
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class UsageError(DpfdaError, ValueError):
    """A public argument is wrong."""

    exit_code = 2


class MissingExtra(UsageError, ImportError):
    """An optional library is not installed."""


class PrivacyRefused(DpfdaError, ValueError):
    """The request cannot be private as asked."""

    exit_code = 3


class CannotMeetBudget(PrivacyRefused):
    """No noise scale of this mechanism meets the budget."""


class IncompatibleNoise(PrivacyRefused):
    """No scale of this noise process is private for this summary in infinitely many coordinates."""


class BudgetError(DpfdaError):
    """The ledger does not allow the release."""

    exit_code = 4


class BudgetExceeded(BudgetError):
    """The ledger has less left than the release costs."""


class NoBudget(BudgetError):
    """The ledger has no budget of this name, or a frozen one."""


class LedgerDamaged(BudgetError):
    """The entries of a ledger do not fit together, or are older than their anchor."""

    exit_code = 5


class DataError(DpfdaError, ValueError):
    """A file or its layout is not as stated."""

    exit_code = 5


class ReleaseFailed(DataError):
    """A failure after records were read; its text is constant, so that it tells nothing about them."""

    def __init__(self) -> None:
        super().__init__(
            "The release failed after records were read. Nothing more can be said without saying something about "
            "them; the charge stays, and its key gives nothing any more: take a new one."
        )


class DpfdaWarning(UserWarning):
    """The root of all warnings of this package."""


class AssumptionWarning(DpfdaWarning):
    """A public fact was not stated, and something was assumed for it."""


class SpendingWarning(DpfdaWarning):
    """An estimator without a ledger, or a clone of it, has spent again."""


def warn(text: str, category: type[DpfdaWarning]) -> None:
    """Warn at the line outside this package from which it was called."""
    frame, depth = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(HERE):
        frame, depth = frame.f_back, depth + 1
    del frame  # a frame holds its locals
    warnings.warn(text, category, stacklevel=depth)


def _message(text: Text) -> Message:
    return text if isinstance(text, Message) else Message(*(text if isinstance(text, tuple) else (text,)))


HERE = str(Path(__file__).parent)

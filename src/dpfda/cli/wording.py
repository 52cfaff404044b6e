"""Messages in the words of the command line: options where Python has parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from dpfda.errors import CannotMeetBudget

OPTIONS = {
    "n_components": "--k",
    "covariate_limits": "--covariate-limits",
    "covariate_bound": "--covariate-bound",
    "planned_n": "--planned-n",
    "grid_size": "--grid-size",
    "explained_variance": "--explained-variance",
    "response_bound": "--response-bound",
    "bandwidth_epsilon": "--bandwidth-epsilon",
    "units": "--unit",
    **{
        name: f"--{name}"
        for name in ("mechanism", "size", "kernel", "eta", "penalty", "base", "basis", "bound", "limits", "mean")
    },
    **{
        name: f"--{name}"
        for name in ("centre", "grid", "rows", "covariates", "smoothing", "calibration", "ridge", "delta")
    },
    **{
        name: f"--{name}"
        for name in ("domain", "edges", "bandwidth", "counts", "classes", "loss", "features", "threshold")
    },
    **{name: f"--{name}" for name in ("epsilon", "dataset", "unit", "neighbours", "copies", "anchor", "key")},
    **{name: f"--{name}" for name in ("candidates", "quantile", "people", "ledger", "name")},
}
PURE_OF_MEANS = "mechanism='k-norm' or 'laplace'"
PURE_OF_MOMENTS = "mechanism='wishart' or 'k-norm'"
LEVELS = re.compile(r"covariate_levels=\{'([^']*)': \('a', 'b'\)\}")
# A parameter with a value, an example of one, or with none at all.
VALUE = r"'[^']*'(?: or '[^']*')*|\.\.\.|\([^()]*\)|\[[^\[\]()]*\]|[\w.+-]*[\w+-]"
STATED = re.compile(rf"(?<![\w.'-])({'|'.join(OPTIONS)})=({VALUE})?")
# Names that are no words, wherever they stand; words only where a message begins with them.
NAMED = re.compile(rf"(?<![\w.'-])({'|'.join(name for name in OPTIONS if '_' in name)})(?![\w=])")
LEADING = re.compile(
    r"^(kernel|eta|penalty|calibration|limits|size|bandwidth|edges|features|threshold|classes|loss|candidates|quantile)"
    r"(?= (?:is for|is the base|imply|must|are))"
)
# Calls of Python that have a command of their own.
SAID = (
    (re.compile(r"Lower epsilon to ([\d.]+)\."), r"Lower it to --epsilon \1."),
    (re.compile(r"make one with Ledger\.create, or "), "make one with "),
    (re.compile(r", or Ledger\.create\."), "."),
    (re.compile(r"Ledger\(url, anchor=[^)]*\)\.start_anchor\(\)"), "dpfda budget anchor URL --anchor FILE"),
    (
        re.compile(r"Ledger\(url, anchor=[^)]*\)\.start_anchor\(lost=True\)"),
        "dpfda budget anchor URL --anchor FILE --lost",
    ),
    (re.compile(r"former='?\.\.\.'?"), "--former FILE"),
    (re.compile(r"without former= and lost="), "without --former and --lost"),
    (re.compile(r"lost=True"), "--lost"),
    (re.compile(r"force=True"), "--force"),
    (re.compile(r"anchor='\.\.\.'"), "--anchor FILE"),
    (
        re.compile(r"^This fit was given out already.*To go on with a store.*$"),
        "What was charged under this key was given out already, and one charge pays for one noise. To go on with a "
        "store, ask it without --new, which is free; for another release use another --key, which is charged.",
    ),
    (re.compile(r"Release with the unit '([^']*)'"), r"Release with --unit \1"),
)
CHOSEN = re.compile(r"\bmechanism '([\w-]+)'")


def in_options(message: str) -> str:
    """A message of the package with the names of options for those of parameters."""
    for python, typed in SAID:
        message = python.sub(typed, message)
    message = LEVELS.sub(r"--covariates '\1=a|b'", message)
    message = STATED.sub(lambda found: f"{OPTIONS[found[1]]} {_typed(found[2] or '')}".rstrip(), message)
    message = NAMED.sub(lambda found: OPTIONS[found[1]], message)
    message = LEADING.sub(lambda found: OPTIONS[found[1]], message)
    return CHOSEN.sub(r"--mechanism \1", message)


def _typed(value: str) -> str:
    """A value as it is typed: without quotation marks, numbers of a list with commas alone between them."""
    return value.strip("[]()").replace(", ", ",") if value[:1] in ("[", "(") else value.replace("'", "")


def of_moments(message: str) -> str:
    """The same message with the pure mechanisms that suit second moments."""
    return message.replace(PURE_OF_MEANS, PURE_OF_MOMENTS)


@contextmanager
def said_of_moments() -> Iterator[None]:
    """Refusals inside name the pure mechanisms that suit second moments."""
    try:
        yield
    except CannotMeetBudget as error:
        raise CannotMeetBudget(of_moments(str(error))) from None

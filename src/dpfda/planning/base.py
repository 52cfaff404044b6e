"""What every plan is: the answer to a request, as plain data and for people; and whether it would show anything."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from dpfda.bases import Basis
from dpfda.errors import DpfdaError
from dpfda.messages import Message
from dpfda.privacy import Budget

# Of a plausible signal. An error of 0.7 times the signal, after the best smoothing, is that of noise as large as the
# signal itself: the square of the error is then half of the signal's square, and guessing zero has all of it.
NOISY_FROM = 0.7
SHOWN_FROM = 0.25  # of a signal: a design that leaves less of it before any noise shows next to nothing of it
LARGEST_EPSILON = 10.0  # beyond it a budget protects hardly anybody, and is not recommended
MOST_TIMES = 2**24  # how many times as many units are tried
# What may hide a signal where it is stated, however many units there are.
STATED = ("penalty", "bandwidth", "kernel", "eta", "size")


class AnyPlan(ABC):
    """Choices that are made before any record is read.

    Duties of a plan: `title`, `hidden`, `facts` and `lines`.
    """

    request: Any  # a Request, or one of another kind with the same names
    reasons: tuple[tuple[str, str], ...]  # how each public parameter came about

    @property
    @abstractmethod
    def title(self) -> str:
        """What would be released, and of how many units."""

    @property
    @abstractmethod
    def hidden(self) -> str:
        """Why nothing could be seen of a plausible signal; empty where it could."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What it says as plain data, beside the request, reasons and warnings."""

    @abstractmethod
    def lines(self) -> tuple[tuple[str, str], ...]:
        """What it says to people, each line under a label."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What should be known before anything is spent."""
        return (*self.budget.warnings(self.n), *self.faint, *self.cautions)

    @property
    def faint(self) -> tuple[str, ...]:
        """What is said where noise is expected to hide what is estimated."""
        return (f"Next to nothing could be seen: {self.hidden}.",) if self.hidden else ()

    @property
    def cautions(self) -> tuple[str, ...]:
        """What else should be known before anything is spent."""
        return ()

    @property
    def n(self) -> int:
        return int(self.request.n)

    @property
    def budget(self) -> Budget:
        budget: Budget = self.request.budget
        return budget

    @property
    def bound(self) -> float:
        return float(self.request.bound)

    @property
    def instead(self) -> str:
        """What else to state where neither more units nor more epsilon help; empty where nothing was stated."""
        stated = [f"another {name}" for name in STATED if getattr(self.request, name, None) is not None]
        return f": state {' or '.join(stated)}, or leave {'it' if len(stated) == 1 else 'them'} out" if stated else ""

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {
            "n": self.n,
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            **self.facts(),
            "reasons": dict(self.reasons),
            "warnings": list(self.warnings),
        }

    def text(self, *more: tuple[str, str]) -> str:
        """The plan for people, with more lines about what it would be applied to."""
        because = (("because", f"{name}: {how}") for name, how in self.reasons)
        lines = [
            f"Plan for {self.title} at {self.budget}; no values read, nothing charged",
            *(f"Warning: {warning}" for warning in self.warnings),
            "",
            *(f"  {label:<11} {what}" for label, what in (*self.lines(), *because, *more)),
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


Ranked = tuple[tuple[str, float | None, str], ...]


def ranked(names: Iterable[str], chosen: str, error: Callable[[str], float]) -> Ranked:
    """Mechanisms with the error predicted for each, least first, and a note; None where one cannot be used."""
    rows: list[tuple[str, float | None, str]] = []
    for name in names:
        try:
            rows.append((name, error(name), "chosen" if name == chosen else ""))
        except DpfdaError as problem:
            rows.append((name, None, problem.message))
    return tuple(sorted(rows, key=lambda row: math.inf if row[1] is None else row[1]))


def basis_text(basis: Basis) -> str:
    """A basis for people, e.g. "cosine, 12 functions"."""
    return f"{basis.describe()['family']}, {basis.size} function{'s' * (basis.size > 1)}"


def price(spends: Budget) -> dict[str, float]:
    """What a plan would spend, as plain data."""
    return {"epsilon": spends.epsilon, "delta": spends.delta}


def refusal(plan: AnyPlan, again: Callable[[int, float], AnyPlan], *, bounded: bool) -> Message:
    """Why a release would be mostly noise, and what would do; empty where it would not. Public facts alone.

    `again` plans the same with another n and epsilon. With `bounded` signal and noise are both in proportion to a
    bound, so that no bound changes their ratio.
    """
    if not plan.hidden:
        return Message()
    n, epsilon = plan.n, plan.budget.epsilon

    # Tried as they are said, rounded up: a plan may choose another design next to where it was tried.
    def units(times: float) -> int:
        return int(_two_digits(n * times))

    def price(times: float) -> float:
        return math.ceil(100 * epsilon * times) / 100

    ways = []
    # Where both together do not help, neither does alone, and need not be tried in steps.
    if not _holds(lambda times: bool(again(units(times), max(epsilon, LARGEST_EPSILON)).hidden), MOST_TIMES):
        more = _least(lambda times: not again(units(times), epsilon).hidden, MOST_TIMES)
        dearer = _least(lambda times: not again(n, price(times)).hidden, LARGEST_EPSILON / epsilon)
        ways += [f"n = {units(more)}"] if more is not None else []
        ways += [f"epsilon {price(dearer):g}"] if dearer is not None else []
    why = f"With n = {n} and epsilon {epsilon:g} {plan.hidden}."
    if not ways:
        return Message(f"{why} Neither more units nor more epsilon would do", plan.instead, ".")
    bound = ", with any bound: the noise is in proportion to it" if bounded else ""
    return Message(f"{why} About {' or '.join(ways)} would do{bound}.")


def _least(enough: Callable[[float], bool], most: float) -> float | None:
    """By how much to multiply, to eight percent, so that it is enough; None where nothing up to `most` is."""
    # In large steps: a plan of some kinds takes a second.
    low, high = 1.0, min(4.0, most)
    while not _holds(enough, high):
        if high >= most:
            return None
        low, high = high, min(8 * high, most)
    while high > 1.08 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _holds(enough, middle) else (middle, high)
    return high


def _holds(enough: Callable[[float], bool], times: float) -> bool:
    try:
        return enough(times)
    except DpfdaError:  # so many units, or so much epsilon, can not be planned
        return False


def _two_digits(number: float) -> float:
    """Rounded up to two digits."""
    step = 10.0 ** max(0, math.floor(math.log10(number)) - 1)
    return math.ceil(number / step) * step

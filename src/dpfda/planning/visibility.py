"""Whether a planned release would show more than its own noise, and which n or epsilon would do."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from dpfda.errors import DpfdaError
from dpfda.messages import Message
from dpfda.privacy import Budget

# Of a plausible signal. An error of 0.7 times the signal, after the best smoothing, is that of noise as large as the
# signal itself: the square of the error is then half of the signal's square, and guessing zero has all of it.
NOISY_FROM = 0.7
SHOWN_FROM = 0.25  # of a signal: a design that leaves less of it before any noise shows next to nothing of it
LARGEST_EPSILON = 10.0  # beyond it a budget protects hardly anybody, and is not recommended
MOST_TIMES = 2**24  # how many times as many units are tried


class Plannable(Protocol):
    """What a plan tells about itself: its public facts, and why nothing could be seen, or nothing."""

    @property
    def n(self) -> int: ...

    @property
    def budget(self) -> Budget: ...

    @property
    def hidden(self) -> str: ...

    @property
    def instead(self) -> str: ...


def refusal(plan: Plannable, again: Callable[[int, float], Plannable], *, bounded: bool) -> Message:
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

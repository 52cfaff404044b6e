"""The tight count of a charge, and what a refusal says could be granted instead."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dpfda.errors import BudgetExceeded
from dpfda.ledger.amounts import epsilon_of, shown, units_up
from dpfda.ledger.events import Event
from dpfda.ledger.losses import loss_from
from dpfda.ledger.rules import Account, CountedCharge, count, grouped, losses_in, people_of
from dpfda.ledger.views import Quote
from dpfda.messages import Message, Words, arg
from dpfda.privacy.budget import Budget
from dpfda.privacy.composition import compose
from dpfda.privacy.profiles import GaussianProfile, Profile

BEYOND = 10**30  # units: where there is no bound at all
_SHRINK = ("mu", "epsilon")  # what more noise lowers in the description of a curve
STEPS = 12  # of the slow accountant, in search of what could be granted,
LONG = 300  # unless there are more curves than these: a refusal is not worth a minute


@dataclass(frozen=True, slots=True)
class Tight:
    """What a charge makes of a budget, by the best accountant, for the entries that it saw."""

    account: Account
    history: tuple[Profile, ...]
    people: int
    cost: int
    before: int
    total: int


def tight_total(account: Account, events: list[Event], order: CountedCharge) -> Tight:
    """The charge on top of a data set's whole history, composed from the stored curves."""
    people = order.people(account)
    history = tuple(
        loss
        for event in events
        for loss in grouped(losses_in(event), people_of(account.created.neighbours, event.neighbours))
    )
    quick = count(account, order.charge.budget, order.losses, people)
    if account.pure or account.adaptive:
        return Tight(account, history, people, _or(quick.cost), account.spent, _or(quick.total))
    before = min(account.spent, composed(history, account)) if history else 0
    total = min(_or(quick.total), composed((*history, *grouped(order.losses, people)), account))
    cost = min(_or(quick.cost), composed(grouped(order.losses, people), account))
    return Tight(account, history, people, cost, before, total)


def composed(losses: tuple[Profile, ...], account: Account) -> int:
    """The tight epsilon in units, at the data set's delta."""
    if not losses:
        return 0
    found = compose(losses, delta=account.budget.delta).epsilon
    return units_up(found) if math.isfinite(found) else BEYOND


def quote_of(order: CountedCharge, tight: Tight) -> Quote:
    grant = affordable(order, tight)
    allowed = tight.total <= tight.account.cap
    return Quote(
        cost=epsilon_of(tight.cost) if tight.cost < BEYOND else math.inf,
        spent=epsilon_of(tight.before),
        after=epsilon_of(tight.total) if tight.total < BEYOND else math.inf,
        cap=tight.account.budget,
        allowed=allowed,
        affordable=float(grant),
        nominal=tight.account.nominal or order.charge.nominal,
        refusal=None if allowed else _refusal(order, tight, grant),
        adaptive=tight.account.adaptive,
    )


def exceeded(order: CountedCharge, tight: Tight) -> BudgetExceeded:
    """The refusal, with an epsilon that would be granted."""
    return BudgetExceeded(_refusal(order, tight, affordable(order, tight)))


def _refusal(order: CountedCharge, tight: Tight, grant: str) -> Message:
    """Why a charge is refused: its price at the delta of the budget, as a quote has it, and what could be granted."""
    account, budget = tight.account, order.charge.budget
    if account.pure and not budget.pure and tight.cost >= BEYOND:
        return Message(
            f"The budget of {account.name!r} is pure (delta = 0), and this release has delta {budget.delta:g}. "
            "Ask for ",
            arg("delta", 0),
            " with a mechanism for pure epsilon. Nothing was charged.",
        )
    if tight.cost >= BEYOND:
        return Message(
            f"This release has no epsilon at delta {account.budget.delta:g}, that of the budget of {account.name!r}: "
            f"its own delta is {budget.delta:g}. Ask for less delta. Nothing was charged."
        )
    left = max(0, account.cap - tight.before)
    digits = next((d for d in (2, 4, 6) if shown(tight.cost, up=True, digits=d) != shown(left, up=False, digits=d)), 12)
    none = "No epsilon" if budget.pure else f"No epsilon with delta {budget.delta:g}"
    lower = Message(Words(f"Lower epsilon to {grant}", f"Lower it to --epsilon {grant}"), ".")
    way = lower if float(grant) > 0 else Message(f"{none} would be granted any more.")
    if units_up(float(grant)) * tight.people > left:
        way = Message(way, " That is more than what is left, since releases compose to less than their sum.")
    elif tight.cost <= left:
        way = Message("Together that is more than their sum, since deltas add up too. ", way)
    price = shown(tight.cost, up=True, digits=digits)
    ordered = shown(tight.people * units_up(budget.epsilon), up=True, digits=digits)
    where = "" if price == ordered else f" at the budget's delta {account.budget.delta:g}"
    twice = (
        Message(" (counted twice: the budget is for ", arg("neighbours", "replace-one"), ")")
        if tight.people == 2
        else ""
    )
    return Message(
        f"This release costs epsilon {price}{where}",
        twice,
        f"; {'counted' if account.adaptive else 'spent'} {shown(tight.before, up=True, digits=digits)} of "
        f"{shown(account.cap, up=False)} for {account.name!r}, left {shown(left, up=False, digits=digits)}. ",
        way,
        " Nothing was charged.",
    )


def affordable(order: CountedCharge, tight: Tight) -> str:
    """The largest epsilon up to the one ordered that would be granted for the same release, rounded down; '0' if none.

    It stands for the same draws with more noise, calibrated to (epsilon, delta) at the charge's own delta.
    """
    account, asked = tight.account, units_up(order.charge.budget.epsilon)
    if account.pure:
        left = (account.cap - account.spent) // tight.people
        return shown(min(left, asked), up=False) if left > 0 and tight.cost < BEYOND else "0"

    def quickly(units: int) -> bool:
        budget, losses = _weaker(order, units)
        total = count(account, budget, losses, tight.people).total
        return total is not None and total <= account.cap

    def slowly(units: int) -> bool:
        if quickly(units) or account.adaptive:
            return quickly(units)
        _, losses = _weaker(order, units)
        return composed((*tight.history, *grouped(losses, tight.people)), account) <= account.cap

    low = _largest(quickly, 0, asked, steps=60)
    found = _largest(slowly, low, asked, steps=STEPS if len(tight.history) <= LONG else 0)
    for granted in (found, low):
        text = shown(granted, up=False)
        if granted > 0 and slowly(units_up(float(text))):
            return text
    return "0"


def _largest(granted: Callable[[int], bool], low: int, high: int, *, steps: int) -> int:
    """Bisection; what it returns was granted, or is where it started."""
    if high > low and granted(high):
        return high
    for _ in range(steps):
        middle = (low + high) // 2
        if middle == low or high - low < high // 1000:
            break
        low, high = (middle, high) if granted(middle) else (low, middle)
    return low


def _weaker(order: CountedCharge, units: int) -> tuple[Budget, tuple[Profile, ...]]:
    """The same release at a lower epsilon: the budget that it would state, and its curves."""
    asked = order.charge.budget
    budget = Budget(min(max(epsilon_of(units), 1e-12), asked.epsilon), asked.delta)
    if budget == asked:
        return budget, order.losses
    share = budget.epsilon / asked.epsilon
    normal = share if asked.pure else _mu(budget) / _mu(asked)
    return budget, tuple(_weakened(loss.describe(), share, normal) for loss in order.losses)


def _weakened(loss: dict[str, Any], share: float, normal: float) -> Profile:
    # Steps and distances stay: with more noise they could only be better.
    less = {name: value * (normal if name == "mu" else share) for name, value in loss.items() if name in _SHRINK}
    return loss_from(loss | less)


@lru_cache(maxsize=256)
def _mu(budget: Budget) -> float:
    """The shift in deviations that normal noise for this budget allows."""
    low, high = 0.0, 1.0
    while GaussianProfile(high).delta(budget.epsilon) <= budget.delta:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if GaussianProfile(middle).delta(budget.epsilon) <= budget.delta else (low, middle)
    return high


def _or(units: int | None) -> int:
    return BEYOND if units is None else units

"""What may be charged to a budget, how it is counted, and what a refusal says could be granted instead."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from dpfda.arrays import brief
from dpfda.errors import BudgetExceeded, LedgerDamaged, NoBudget, PrivacyRefused, UsageError
from dpfda.ledger.amounts import MOST_EPSILON, epsilon_of, loss_from, losses_of, shown, units_down, units_up
from dpfda.ledger.chain import Event, Transaction
from dpfda.ledger.contract import Charge, Quote
from dpfda.ledger.database import FORK_LOCK
from dpfda.ledger.names import check_key, check_name, way_to
from dpfda.messages import Message, Words, arg
from dpfda.privacy.budget import REPLACE, Budget, Unit
from dpfda.privacy.composition import compose
from dpfda.privacy.profiles import GaussianProfile, Profile
from dpfda.privacy.totals import Sums, filtered_epsilon


class Lacking(LedgerDamaged):
    """An entry lacks a column that its kind must have. The check of the chain adds the number of the entry."""


class Unreadable(LedgerDamaged):
    """An entry holds something that cannot be read as what its kind holds."""


NOMINAL = '{"nominal":true,"losses":'  # begins the curves of an approximate draw
SUMS = tuple(Sums.nothing().to_row())
ADAPTIVE = "adaptive"  # what the entry of a budget says whose prices may be chosen on the way


@dataclass(frozen=True, slots=True)
class Account:
    """The budget of one data set as one transaction sees it.

    Amounts of epsilon are whole units of 1e-12, as the database keeps them; `budget` has them as they were stated.
    """

    created: Event
    newest: Event
    frozen: bool
    nominal: bool = False  # whether a charge to it was drawn approximately

    @property
    def cap(self) -> int:
        """The largest epsilon that may be spent, in units, at the delta of the budget."""
        return int(_known(self.created.cap))

    @property
    def spent(self) -> int:
        """The epsilon that was spent so far, in units, as the newest entry has it: an upper bound."""
        return int(_known(self.newest.total))

    @property
    def budget(self) -> Budget:
        """The cap as it was stated."""
        return Budget(_known(self.created.epsilon), _known(self.created.delta))

    @property
    def name(self) -> str:
        """The name under which the budget was created; copies have other names."""
        return str(_known(self.created.name))

    @property
    def pure(self) -> bool:
        """Whether the budget has delta 0, so that epsilons simply add up."""
        return self.budget.pure

    @property
    def adaptive(self) -> bool:
        """Whether prices may depend on earlier releases: then filters decide, not the tightest composition."""
        return self.created.what == ADAPTIVE

    @property
    def unit(self) -> str | None:
        """What the privacy unit is called: stated when the budget was created, or fixed by the first charge."""
        return self.newest.unit if self.created.unit is None else self.created.unit


@dataclass(frozen=True, slots=True)
class CountedCharge:
    """A charge with its privacy curves and a digest of the whole request, by which a repeated key is recognised."""

    charge: Charge
    losses: tuple[Profile, ...]  # as ordered
    digest: bytes  # of all that was ordered
    former: bytes  # the digest that earlier versions entered

    def is_known_by(self, digest: bytes | None) -> bool:
        """Whether a key that stands for this digest stands for this request."""
        return digest in (self.digest, self.former)

    def earlier(self) -> CountedCharge | None:
        """What earlier versions ordered for the same call, where that was something else."""
        charge = self.charge.instead
        return None if charge is None else order_of(replace(charge, key=self.charge.key))

    def people(self, account: Account) -> int:
        """How many units of the relation of this charge make one of the budget: see `people_of`."""
        return people_of(account.created.neighbours, self.charge.unit.neighbours)


def order_of(charge: Charge) -> CountedCharge:
    """A charge as a budget counts it, after every check that does not need a ledger."""
    check_name(charge.dataset)
    check_key(charge.key)
    check_name(charge.what, "What is charged")
    check_name(charge.unit.name, "The name of a unit")
    losses = losses_of(charge)
    with FORK_LOCK.inside():
        # Libraries that the count needs are loaded here: not while others wait, nor half-way when a process forks.
        _quick(Sums.nothing().plus(losses), 1e-6)

    def digest(request: str, curves: str) -> bytes:
        price = (charge.budget.epsilon.hex(), charge.budget.delta.hex())
        said = [request, charge.what, *price, curves, charge.unit.name, charge.unit.neighbours]
        return hashlib.sha256(json.dumps(said, ensure_ascii=True).encode()).digest()

    # The last digits of computed numbers depend on the processor.
    rounded = [
        {name: f"{part:.10g}" if isinstance(part, float) else part for name, part in loss.describe().items()}
        for loss in losses
    ]
    return CountedCharge(
        charge,
        losses,
        digest(charge.request, json.dumps(rounded, sort_keys=True)),
        digest(charge.former or charge.request, described(losses)),
    )


def account_of(transaction: Transaction, name: str) -> Account:
    """The budget of a data set, found by its name or by the name of one of its copies; NoBudget if there is none."""
    created = transaction.named(check_name(name))
    if created is None:
        way = way_to(name, transaction.name, list(transaction.names()))
        raise NoBudget(
            f"The ledger {transaction.name} has no budget for {brief(name)}.",
            parameter="dataset",
            value=name,
            fix=(way, " Nothing was charged."),
        )
    nominal = any(map(is_nominal, transaction.charges(created.number)))
    return Account(created, *transaction.state(created.number), nominal)


def check_fits(account: Account, charge: Charge) -> None:
    """Refuse a charge that the budget does not cover: it is frozen, or protects another unit or relation."""
    if account.frozen:
        raise NoBudget(
            f"The budget of {account.name!r} is frozen: nothing more is released from it. Nothing was charged."
        )
    if account.unit is not None and account.unit != charge.unit.name:
        raise PrivacyRefused(
            f"The budget of {account.name!r} protects each {brief(account.unit)}, and this release each "
            f"{brief(charge.unit.name)}: the two do not add up. Release with ",
            arg("unit", account.unit),
            ". Nothing was charged.",
            parameter="unit",
            value=charge.unit.name,
        )
    if account.created.neighbours != charge.unit.neighbours and charge.unit.neighbours == REPLACE:
        raise PrivacyRefused(
            f"The budget of {account.name!r} is for ",
            arg("neighbours", "add-or-remove-one"),
            f", where the number of {charge.unit.name}s is private, and this release for ",
            arg("neighbours", "replace-one"),
            ", which makes it public. Release with ",
            arg("neighbours", "add-or-remove-one"),
            ". Nothing was charged.",
            parameter="neighbours",
            value=charge.unit.neighbours,
        )


def people_of(budget: str | None, charge: str | None) -> int:
    """How often a charge counts: once under the relation of the budget, else twice.

    Replacing a unit is removing it and adding another one, so a charge for add-or-remove-one counts as a group of two.
    """
    return 1 if budget == charge else 2


def described(losses: tuple[Profile, ...]) -> str:
    """Privacy curves as a ledger keeps them."""
    return json.dumps([loss.describe() for loss in losses], separators=(",", ":"), sort_keys=True, allow_nan=False)


def losses_text(order: CountedCharge) -> str:
    """The privacy curves of a charge as a ledger keeps them: a list, or an object that calls them nominal."""
    text = described(order.losses)
    return f"{NOMINAL}{text}}}" if order.charge.nominal else text


def is_nominal(event: Event) -> bool:
    """Whether a charge was drawn approximately; entries of a version that did not say so are not."""
    return event.losses is not None and event.losses.startswith(NOMINAL)


def losses_in(event: Event) -> tuple[Profile, ...]:
    """The privacy curves of a charge, as objects."""
    with readable(event):
        return tuple(loss_from(loss) for loss in plain_losses(event))


def plain_losses(event: Event) -> list[dict[str, Any]]:
    """The privacy curves of a charge as the plain data that the entry keeps."""
    with readable(event):
        found = json.loads(_known(event.losses))
        losses: list[dict[str, Any]] = found["losses"] if is_nominal(event) else found
    return losses


@contextmanager
def readable(event: Event) -> Iterator[None]:
    """A context that turns any error in reading an entry into Unreadable: the entry is damaged."""
    try:
        yield
        return
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        pass
    raise Unreadable(f"Entry {event.number} of the ledger cannot be read. Put the newest whole copy back.")


def grouped(losses: tuple[Profile, ...], people: int) -> tuple[Profile, ...]:
    """The privacy curves for groups of so many units; the curves themselves for one."""
    return losses if people == 1 else tuple(loss.grouped(people) for loss in losses)


def pure_cost(budget: Budget, losses: tuple[Profile, ...], people: int) -> int | None:
    """Units of pure epsilon: what was ordered or what was drawn, whichever is less; None if neither is pure."""
    drawn = [loss.pure for loss in grouped(losses, people)]
    found = []
    if all(map(math.isfinite, drawn)):
        found.append(sum(map(units_up, drawn)))
    if budget.pure:
        found.append(people * units_up(budget.epsilon))
    return min(found, default=None)


@dataclass(frozen=True, slots=True)
class ChargeTotals:
    """The cost of a charge and the totals after it, by bounds that take no time."""

    cost: int | None  # alone; None where it has no bound
    total: int | None  # with it
    sums: Sums


def count(account: Account, budget: Budget, losses: tuple[Profile, ...], people: int) -> ChargeTotals:
    """What a charge costs and what the total becomes, by bounds that take no time.

    For a pure budget these are exact sums; else the best of several bounds, each of which holds by itself.
    """
    own = grouped(losses, people)
    after = sums_in(account.newest).plus(own)
    pure = pure_cost(budget, losses, people)
    if account.pure:
        return ChargeTotals(pure, None if pure is None else account.spent + pure, after)
    if account.adaptive:
        return ChargeTotals(
            _filtered(Sums.nothing().plus(own), account.budget), _filtered(after, account.budget), after
        )
    delta = account.budget.delta
    alone = [*_quick(Sums.nothing().plus(own), delta), *_some(pure)]
    together = list(_quick(after, delta))
    if people == 1 and budget.delta <= delta:
        alone.append(units_up(budget.epsilon))
    if pure is not None:
        together.append(account.spent + pure)  # (a, delta) and (b, 0) make (a + b, delta)
    if account.newest.number == account.created.number:
        together += alone
    return ChargeTotals(min(alone, default=None), min(together, default=None), after)


def sums_row(sums: Sums) -> str:
    """Running totals as a ledger keeps them: their numbers alone, in the order of their names."""
    return json.dumps([sums.to_row()[name] for name in SUMS], separators=(",", ":"))


def sums_in(event: Event) -> Sums:
    """The running totals of a data set as an entry keeps them."""
    with readable(event):
        return Sums.from_row(dict(zip(SUMS, json.loads(_known(event.sums)), strict=True)))


def cap_of(epsilon: float, delta: float) -> tuple[Budget, int]:
    """A cap as a budget, checked, and in whole units, rounded down."""
    budget = Budget(epsilon, delta)
    cap = units_down(budget.epsilon) if budget.epsilon <= MOST_EPSILON else 0
    if cap < 1:
        raise UsageError(
            f"The epsilon of a budget lies between 1e-12 and 1e6, got {brief(epsilon)}.",
            parameter="epsilon",
            value=epsilon,
        )
    return budget, cap


def spent_of(account: Account, total: int) -> Budget | None:
    """A total as a budget, for cards; None for 0, since a budget of epsilon 0 does not exist."""
    return None if total == 0 else Budget(epsilon_of(total), account.budget.delta)


def check_relation(neighbours: str) -> str:
    """The relation of neighbours, if it is one of those that are known."""
    return Unit("row", neighbours).neighbours


@lru_cache(maxsize=64)
def _quick(sums: Sums, delta: float) -> tuple[int, ...]:
    """The quick bound in units, if there is one; the same charge often comes again."""
    epsilon = sums.epsilon(delta)
    return (units_up(epsilon),) if math.isfinite(epsilon) else ()


def _filtered(sums: Sums, cap: Budget) -> int | None:
    epsilon = filtered_epsilon(sums, cap)
    return units_up(epsilon) if math.isfinite(epsilon) else None


def _some(cost: int | None) -> list[int]:
    return [] if cost is None else [cost]


def _known(value: Any) -> Any:
    """A column that the guards of the database do not let be empty."""
    if value is None:
        raise Lacking("An entry of the ledger lacks a column that its kind must have. Put the newest whole copy back.")
    return value


BEYOND = 10**30  # units: where there is no bound at all
_SHRINK = ("mu", "epsilon")  # what more noise lowers in the description of a curve
STEPS = 12  # of the slow accountant, in search of what could be granted,
LONG = 300  # unless there are more curves than these: a refusal is not worth a minute


@dataclass(frozen=True, slots=True)
class Tight:
    """What a charge makes of a budget by the tight accountant, for the entries that it saw.

    `cost` is of the charge alone, `before` and `total` of the data set without and with it; all in units of epsilon.
    """

    account: Account
    history: tuple[Profile, ...]
    people: int
    cost: int
    before: int
    total: int


def tight_total(account: Account, events: list[Event], order: CountedCharge) -> Tight:
    """Compose a charge with the whole history of a data set, from the privacy curves that its entries keep."""
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
    """The tightest epsilon that is proved for these losses at the delta of the data set, in units."""
    if not losses:
        return 0
    found = compose(losses, delta=account.budget.delta).epsilon
    return units_up(found) if math.isfinite(found) else BEYOND


def quote_of(order: CountedCharge, tight: Tight) -> Quote:
    """What `Ledger.quote` returns: cost, totals, whether it would be granted, and what could be granted instead."""
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
    """The error for a charge beyond the cap; its text names an epsilon that would be granted."""
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
        _way_out(budget, tight, grant, left),
        " Nothing was charged.",
    )


def _way_out(budget: Budget, tight: Tight, grant: str, left: int) -> Message:
    """What could be granted instead, and why that may be more or less than what is left."""
    none = "No epsilon" if budget.pure else f"No epsilon with delta {budget.delta:g}"
    lower = Message(Words(f"Lower epsilon to {grant}", f"Lower it to --epsilon {grant}"), ".")
    way = lower if float(grant) > 0 else Message(f"{none} would be granted any more.")
    if units_up(float(grant)) * tight.people > left:
        return Message(way, " That is more than what is left, since releases compose to less than their sum.")
    if tight.cost <= left:
        return Message("Together that is more than their sum, since deltas add up too. ", way)
    return way


def affordable(order: CountedCharge, tight: Tight) -> str:
    """The largest epsilon, up to the one ordered, that would be granted for the same release; '0' if none would be.

    It is rounded down. It stands for the same draws with more noise, calibrated to (epsilon, delta) at the delta of the
    charge.
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

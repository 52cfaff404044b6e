"""What may be charged: whose budget it is, in which units it counts, and how much of it is left."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dpfda.arrays import brief
from dpfda.errors import LedgerDamaged, NoBudget, PrivacyRefused, UsageError
from dpfda.ledger.amounts import MOST_EPSILON, epsilon_of, units_down, units_up
from dpfda.ledger.book import Book
from dpfda.ledger.contract import Charge
from dpfda.ledger.events import Event
from dpfda.ledger.forks import GATE
from dpfda.ledger.losses import loss_from, losses_of
from dpfda.ledger.names import check_key, check_name, way_to
from dpfda.messages import arg
from dpfda.privacy.budget import Budget
from dpfda.privacy.neighbours import REPLACE, Unit
from dpfda.privacy.profiles import Profile
from dpfda.privacy.totals import Sums, filtered_epsilon


class Lacking(LedgerDamaged):
    """An entry is not whole; whoever walks through the chain knows which."""


class Unreadable(LedgerDamaged):
    """An entry holds something else than its kind has."""


NOMINAL = '{"nominal":true,"losses":'  # begins the curves of an approximate draw
SUMS = tuple(Sums.nothing().to_row())
ADAPTIVE = "adaptive"  # what the entry of a budget says whose prices may be chosen on the way


@dataclass(frozen=True, slots=True)
class Account:
    """A data set's budget as one transaction sees it."""

    created: Event
    newest: Event
    frozen: bool
    nominal: bool = False  # whether a charge to it was drawn approximately

    @property
    def cap(self) -> int:
        return int(_known(self.created.cap))

    @property
    def spent(self) -> int:
        return int(_known(self.newest.total))

    @property
    def budget(self) -> Budget:
        """The cap as it was stated."""
        return Budget(_known(self.created.epsilon), _known(self.created.delta))

    @property
    def name(self) -> str:
        return str(_known(self.created.name))

    @property
    def pure(self) -> bool:
        return self.budget.pure

    @property
    def adaptive(self) -> bool:
        """Whether prices may depend on earlier releases: then filters decide, not the tightest composition."""
        return self.created.what == ADAPTIVE

    @property
    def unit(self) -> str | None:
        """What one person's share is called: stated when the budget was made, or pinned by the first charge."""
        return self.newest.unit if self.created.unit is None else self.created.unit


@dataclass(frozen=True, slots=True)
class CountedCharge:
    """A charge as a budget counts it."""

    charge: Charge
    losses: tuple[Profile, ...]  # as ordered
    digest: bytes  # of all that was ordered

    def people(self, account: Account) -> int:
        """How many units of this charge's relation one of the budget's is worth: replacing is removing and adding."""
        return people_of(account.created.neighbours, self.charge.unit.neighbours)


def order_of(charge: Charge) -> CountedCharge:
    """A charge, checked for all that does not need a ledger."""
    check_name(charge.dataset)
    check_key(charge.key)
    check_name(charge.what, "What is charged")
    check_name(charge.unit.name, "The name of a unit")
    losses = losses_of(charge)
    with GATE.inside():
        # Libraries that the count needs are loaded here: not while others wait, nor half-way when a process forks.
        _quick(Sums.nothing().plus(losses), 1e-6)
    said = [
        charge.request,
        charge.what,
        charge.budget.epsilon.hex(),
        charge.budget.delta.hex(),
        described(losses),
        charge.unit.name,
        charge.unit.neighbours,
    ]
    return CountedCharge(charge, losses, hashlib.sha256(json.dumps(said, ensure_ascii=True).encode()).digest())


def account_of(book: Book, name: str) -> Account:
    """The budget of a data set or of one of its copies."""
    created = book.named(check_name(name))
    if created is None:
        way = way_to(name, book.name, list(book.names()))
        raise NoBudget(
            f"The ledger {book.name} has no budget for {brief(name)}.",
            parameter="dataset",
            value=name,
            fix=(way, " Nothing was charged."),
        )
    nominal = any(map(is_nominal, book.charges(created.number)))
    return Account(created, *book.state(created.number), nominal)


def check_fits(account: Account, charge: Charge) -> None:
    """Refuse what the budget does not cover: frozen, another unit, another relation."""
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
    """The privacy curves of a charge as ordered."""
    with readable(event):
        return tuple(loss_from(loss) for loss in plain_losses(event))


def plain_losses(event: Event) -> list[dict[str, Any]]:
    """The same as they are kept."""
    with readable(event):
        found = json.loads(_known(event.losses))
        losses: list[dict[str, Any]] = found["losses"] if is_nominal(event) else found
    return losses


@contextmanager
def readable(event: Event) -> Iterator[None]:
    """Whatever an entry holds instead of what it should is damage."""
    try:
        yield
        return
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        pass
    raise Unreadable(f"Entry {event.number} of the ledger cannot be read. Put the newest whole copy back.")


def grouped(losses: tuple[Profile, ...], people: int) -> tuple[Profile, ...]:
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
    """What a charge makes of a budget, by bounds that take no time."""

    cost: int | None  # alone; None where it has no bound
    total: int | None  # with it
    sums: Sums


def count(account: Account, budget: Budget, losses: tuple[Profile, ...], people: int) -> ChargeTotals:
    """The quick count: exact sums for a pure budget, else the best of several bounds, each of them valid."""
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
    with readable(event):
        return Sums.from_row(dict(zip(SUMS, json.loads(_known(event.sums)), strict=True)))


def cap_of(epsilon: float, delta: float) -> tuple[Budget, int]:
    """A cap, checked, and its units, rounded down."""
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
    """A total as a card states it; a budget of epsilon 0 does not exist."""
    return None if total == 0 else Budget(epsilon_of(total), account.budget.delta)


def check_relation(neighbours: str) -> str:
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

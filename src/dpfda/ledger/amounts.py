"""Epsilon in whole units, privacy losses as plain data, and the least price of what is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from typing import TYPE_CHECKING, Any

from dpfda.arrays import brief
from dpfda.errors import UsageError
from dpfda.privacy.budget import EPSILON_UNITS, Budget, exactly
from dpfda.privacy.composition import compose
from dpfda.privacy.profiles import GaussianProfile, LaplaceProfile, Profile, PureProfile, RangeProfile, StatedProfile
from dpfda.privacy.totals import Sums

if TYPE_CHECKING:
    from dpfda.ledger.contract import Charge


def _positive(value: object) -> float:
    return _number(value, lambda number: 0 < number < math.inf)


def _share(value: object) -> float:
    return _number(value, lambda number: 0 <= number <= 1)


def _steps(value: object) -> float:
    return math.inf if value is None else _positive(value)


def _distance(value: object) -> float:
    return _number(value, lambda number: 0 <= number < math.inf)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 2**53:
        raise ValueError
    return value


def _number(value: object, rule: Callable[[float], bool]) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError
    number = float(value)
    if not rule(number):
        raise ValueError
    return number


# What a description of each law holds, in the order of its profile's fields.
LAWS: dict[str, tuple[Callable[..., Profile], dict[str, Callable[[object], float]]]] = {
    "pure": (PureProfile, {"epsilon": _positive}),
    "range": (RangeProfile, {"epsilon": _positive}),
    "laplace": (LaplaceProfile, {"epsilon": _positive, "steps": _steps}),
    "gaussian": (GaussianProfile, {"mu": _positive, "distance": _distance, "size": _count, "steps": _steps}),
    "stated": (StatedProfile, {"epsilon": _positive, "delta": _share}),
}


def loss_from(description: Mapping[str, Any]) -> Profile:
    """The privacy curve that `describe()` wrote down, number for number.

    >>> loss_from({"law": "pure", "epsilon": 0.5})
    PureProfile(epsilon=0.5)
    """
    try:
        make, fields = LAWS[description["law"]]
        if set(description) != {"law", *fields}:
            raise ValueError
        return make(*(read(description[name]) for name, read in fields.items()))
    except (KeyError, TypeError, ValueError, OverflowError):
        raise UsageError(
            f"This is no description of a privacy loss: {brief(description)}. It names a law ("
            f"{', '.join(LAWS)}) and its numbers, e.g. {{'law': 'pure', 'epsilon': 0.5}}.",
            parameter="description",
            value=description,
        ) from None


def losses_of(charge: Charge) -> tuple[Profile, ...]:
    """The privacy curves that a charge is composed from.

    These are its own if all of them can be written down and read again; else the one that its budget states, since a
    ledger that composed other curves would forget them.
    """
    if charge.losses and all(is_kept(loss) for loss in charge.losses):
        return charge.losses
    return (StatedProfile(charge.budget.epsilon, charge.budget.delta),)


def is_kept(loss: Any) -> bool:
    """Whether a privacy curve can be written down and read again without loss."""
    try:
        return bool(loss_from(loss.describe()) == loss)
    except (AttributeError, UsageError, NotImplementedError):
        return False


MOST_EPSILON = 1e6  # 1e18 units fit into the 64 bits of a database


def units_up(amount: float) -> int:
    """Whole units of epsilon, not less than the amount as it was typed."""
    return math.ceil(exactly(amount) * EPSILON_UNITS)


def units_down(amount: float) -> int:
    """Whole units of epsilon, not more than the amount as it was typed."""
    return math.floor(exactly(amount) * EPSILON_UNITS)


def epsilon_of(units: int) -> float:
    """Units as a number; up to epsilon 1000 it converts back to the same units."""
    return units / EPSILON_UNITS


def shown_spent(amount: float) -> str:
    """An epsilon that was spent, for people: rounded up, but for a billionth of the whole.

    Safe roundings of an accountant leave 0.500000000001 where a half was spent; 0.51 would be misleading.

    >>> shown_spent(0.500000000001), shown_spent(3.08406260537)
    ('0.50', '3.09')
    """
    return "infinite" if math.isinf(amount) else shown(units_up(amount * (1 - 1e-9)), up=True)


def shown(units: int, *, up: bool, digits: int = 2) -> str:
    """Units as people read them: two decimals, or more where that would leave nothing.

    >>> shown(600_000_000_000, up=False), shown(1, up=True), shown(123_456_789, up=False)
    ('0.60', '0.000000000001', '0.00012')
    """
    with localcontext(prec=400, rounding=ROUND_CEILING if up else ROUND_FLOOR):  # any double has fewer digits
        value = Decimal(units).scaleb(-12)
        if value.adjusted() > 15:
            return f"{value:.3e}"
        places = digits if value == 0 else max(digits, digits - 1 - value.adjusted())
        return f"{value.quantize(Decimal(1).scaleb(-min(places, 12))):f}"


SLACK = 1 + 1e-9  # sums of doubles and safe roundings of an accountant


def check_stated(budget: Budget, losses: Sequence[Profile]) -> None:
    """Refuse a price below what is drawn for it, whichever budget it is charged to."""
    if covers(budget, losses):
        return
    way = ""
    if not all(map(is_kept, losses)):
        way = " Where one cannot be written down, the epsilons and deltas of all are added; state their sum."
    raise UsageError(
        f"A charge cannot cost less than its curves: they come to {'more' if way else _found(budget, losses)}, and "
        f"its budget states epsilon {budget.epsilon:g}{f', delta {budget.delta:g}' if budget.delta else ''}.{way} "
        "Nothing was charged."
    )


def covers(budget: Budget, losses: Sequence[Profile]) -> bool:
    """Whether (epsilon, delta) holds for all these losses together, as far as can be shown.

    No accountant knows a curve that cannot be kept: epsilons and deltas are then added. An epsilon beyond all budgets
    is refused by the budget, in its own words.
    """
    if not losses or budget.epsilon > MOST_EPSILON:
        return True
    epsilon, delta = budget.epsilon * SLACK, budget.delta * SLACK
    if all(map(is_kept, losses)):
        return _composes(losses, epsilon, delta, stated=budget.delta)
    return _adds_up(losses, epsilon, delta)


def _composes(losses: Sequence[Profile], epsilon: float, delta: float, *, stated: float) -> bool:
    """Whether accountants prove the guarantee, the quick ones first; `stated` is delta without its slack."""
    bounded = math.fsum(loss.pure for loss in losses if math.isfinite(loss.pure))
    others = [loss for loss in losses if not math.isfinite(loss.pure)]
    if not others and bounded <= epsilon:
        return True
    if stated == 0:
        return False
    # (a, 0) and (b, delta) make (a + b, delta): how a release with a private choice before it is priced.
    if len(others) == 1 and bounded < epsilon and others[0].delta(epsilon - bounded) <= delta:
        return True
    if len(losses) == 1:
        return losses[0].delta(epsilon) <= delta
    quick = Sums.nothing().plus(losses).epsilon(stated)
    return quick <= epsilon or compose(losses, delta=stated).epsilon <= epsilon


def _adds_up(losses: Sequence[Profile], epsilon: float, delta: float) -> bool:
    """Whether the guarantee holds by basic composition: of pure epsilons, and of equal shares for all other curves."""
    pure = [_pure(loss) for loss in losses]
    others = [loss for loss, bound in zip(losses, pure, strict=True) if not math.isfinite(bound)]
    left = epsilon - math.fsum(bound for bound in pure if math.isfinite(bound))
    return _shared(others, left, delta) or _shared(losses, epsilon, delta)


def _shared(losses: Sequence[Profile], epsilon: float, delta: float) -> bool:
    if not losses or epsilon < 0:
        return epsilon >= 0
    return math.fsum(_delta(loss, epsilon / len(losses)) for loss in losses) <= delta


def _pure(loss: Profile) -> float:
    """What a curve of one's own proves: nothing, where it leaves out the method or returns no such number."""
    try:
        return loss.pure if loss.pure >= 0 else math.inf
    except (AttributeError, NotImplementedError):
        return math.inf


def _delta(loss: Profile, epsilon: float) -> float:
    try:
        found = loss.delta(epsilon)
    except (AttributeError, NotImplementedError):
        return 1.0
    return found if found >= 0 else 1.0


def _found(budget: Budget, losses: Sequence[Profile]) -> str:
    if budget.pure:
        return f"pure epsilon {math.fsum(loss.pure for loss in losses):g}"
    return f"epsilon {compose(losses, delta=budget.delta).epsilon:g} at delta {budget.delta:g}"

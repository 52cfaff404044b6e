"""Privacy losses as plain data: what a ledger keeps and a card shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dpfda.arrays import brief
from dpfda.errors import UsageError
from dpfda.privacy.profiles import GaussianProfile, LaplaceProfile, Profile, PureProfile, RangeProfile, StatedProfile

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
    """The privacy curves that a charge is composed from: its own, or what its budget states where these are not kept.

    Only curves that can be written down and read again count: a ledger that composed others would forget them.
    """
    if charge.losses and all(is_kept(loss) for loss in charge.losses):
        return charge.losses
    return (StatedProfile(charge.budget.epsilon, charge.budget.delta),)


def is_kept(loss: object) -> bool:
    """Whether a curve can be written down and read again."""
    try:
        return loss_from(loss.describe()) == loss  # type: ignore[attr-defined]
    except (AttributeError, UsageError, NotImplementedError):
        return False

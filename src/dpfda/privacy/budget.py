"""Privacy units, relations of neighbours, and budgets (epsilon, delta) with the integer units that count them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from dpfda.arrays import as_real, brief
from dpfda.errors import UsageError

REPLACE = "replace-one"
ADD_REMOVE = "add-or-remove-one"
RELATIONS = (REPLACE, ADD_REMOVE)


class Counting(StrEnum):
    """How the number of units is known, which fixes what exactly neighbouring data sets are."""

    ROWS = "rows"  # every row is a unit, and the number of rows is public
    IDENTIFIERS = "identifiers"  # so many identifiers, and one unit for rows without one, present or not
    PEOPLE = "people"  # rows state how many people they stand for, and their total is public
    STATED = "stated"  # by the user; never compared with the records
    PRIVATE = "private"  # a guess to plan with; the number itself is protected
    OUTSIDE = "outside"  # unknown: what is released was computed from records elsewhere

    @property
    def of_records(self) -> bool:
        """Whether all units of the records were counted, so that they are exactly n."""
        return self not in (Counting.STATED, Counting.PRIVATE, Counting.OUTSIDE)


@dataclass(frozen=True, slots=True)
class Unit:
    """The privacy unit: neighbouring data sets differ in all records of one unit.

    Under `replace-one` the number of units is public; under `add-or-remove-one` it is private.
    """

    name: str
    neighbours: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise UsageError(
                f"The name of a privacy unit is a text, e.g. 'person', got {brief(self.name)}.",
                parameter="name",
                value=self.name,
            )
        if not isinstance(self.neighbours, str) or self.neighbours not in RELATIONS:
            known = ", ".join(map(repr, RELATIONS))
            raise UsageError(parameter="neighbours", value=self.neighbours, rule=f"must be one of {known}")

    @property
    def size_is_public(self) -> bool:
        """Whether the number of units is public: it is if units are replaced."""
        return self.neighbours == REPLACE


EPSILON_UNITS = 10**12  # in 1: for epsilon, rho and squares of mu
DELTA_UNITS = 10**18  # in 1: for delta and total variation distances


def exactly(amount: float) -> Fraction:
    """An amount as it was typed: ten times 0.1 make 1, which doubles do not."""
    if not math.isfinite(amount):
        raise UsageError(
            f"Only finite privacy losses can be added up, got {brief(amount)}.", parameter="amount", value=amount
        )
    return Fraction(repr(float(amount)))


def units(amount: float, in_one: int) -> int:
    """An amount in whole units, rounded up: 0.1 is exactly 100,000,000,000 units of epsilon."""
    return math.ceil(exactly(amount) * in_one)


def amount_of(total: Fraction) -> float:
    """The least double that, as it is printed, is not below an exact total; inf beyond all doubles."""
    try:
        nearest = float(total)
    except OverflowError:
        return math.inf
    while math.isfinite(nearest) and exactly(nearest) < total:
        nearest = math.nextafter(nearest, math.inf)
    return nearest


LEAST_EPSILON, MOST_EPSILON = 1e-15, 1e9  # of a release: noise for less or more is no double


CAUTIONS = {
    "large-epsilon": "epsilon = {epsilon:g} promises next to nothing: an attacker may become e^{epsilon:g} times more "
    "certain. Use at most 10.",
    "large-delta": "delta = {delta:g} is not below one over the number of units: it would allow one of them to be "
    "exposed outright. Use at most 1e-5.",
}


@dataclass(frozen=True, slots=True)
class Budget:
    """An (epsilon, delta) guarantee; delta = 0 is pure differential privacy.

    >>> Budget(epsilon=1.0, delta=0.0).pure
    True
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        # numpy's numbers are welcome, and become plain ones for cards and ledgers.
        epsilon, delta = as_real(self.epsilon), as_real(self.delta)
        if not 0 < epsilon < math.inf:
            raise UsageError(
                parameter="epsilon",
                value=self.epsilon,
                rule="must be a positive finite number",
                fix="Most people choose 0.1 to 10.",
            )
        if not 0 <= delta < 1:
            raise UsageError(
                parameter="delta",
                value=self.delta,
                rule="must lie in [0, 1)",
                fix="Use 0 for pure privacy, or at most 1e-5, well below one over the number of people.",
            )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)

    @property
    def pure(self) -> bool:
        """Whether delta is 0: then only mechanisms of pure epsilon can meet it."""
        return self.delta == 0

    def __str__(self) -> str:
        return f"(epsilon = {self.epsilon:g}, delta = {self.delta:g})"

    def cautions(self, units: int) -> tuple[str, ...]:
        """What should be known before anything is spent on this many units, by its names in `CAUTIONS`."""
        large = {"large-epsilon": self.epsilon > 10, "large-delta": self.delta * units >= 1}
        return tuple(name for name, holds in large.items() if holds)

    def warnings(self, units: int) -> tuple[str, ...]:
        """What should be said before anything is spent on this many units."""
        return tuple(CAUTIONS[name].format(epsilon=self.epsilon, delta=self.delta) for name in self.cautions(units))


def stated_budget(epsilon: float, delta: float) -> Budget:
    """The budget of a release as it is asked for; totals and shares of budgets may be smaller or larger."""
    budget = Budget(epsilon, delta)
    if not LEAST_EPSILON <= budget.epsilon <= MOST_EPSILON:
        raise UsageError(
            parameter="epsilon",
            value=budget.epsilon,
            rule=f"must lie between {LEAST_EPSILON:g} and {MOST_EPSILON:g}",
            fix="Beyond, noise is too large or too small for a double. Most people choose 0.1 to 10.",
        )
    return budget

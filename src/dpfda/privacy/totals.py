"""Running totals of privacy losses in exact integers, and budgets whose prices may adapt to earlier releases."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any

from dpfda.arrays import brief
from dpfda.errors import UsageError
from dpfda.privacy.budget import DELTA_UNITS, EPSILON_UNITS, Budget, amount_of, exactly, units
from dpfda.privacy.conversion import Sampler, gaussian_epsilon, root_up, weight_of, zcdp_epsilon
from dpfda.privacy.profiles import Profile


@dataclass(frozen=True, slots=True)
class Sums:
    """Totals of a data set's losses: whole units, each loss rounded up on its own, so that their order cannot matter.

    Bounded losses are kept by epsilon and by rho, Gaussian ones by `mu^2` and by what their samplers cost, losses that
    are only stated by epsilon and delta.

    >>> from dpfda.privacy.profiles import PureProfile
    >>> Sums.nothing().plus([PureProfile(0.1)] * 10).pure
    1.0
    """

    count: int
    bounded: int  # epsilon of the losses with a pure guarantee
    concentrated: int  # rho of the same
    squares: int  # mu^2 of the Gaussian ones
    distance: int  # of their samplers, in units of delta
    weight: int  # of their samplers, in units of delta; -1 where nothing is known
    size: int  # the integer coordinates of their samplers
    stated: int  # epsilon of losses with a stated delta
    lost: int  # their deltas

    @staticmethod
    def nothing() -> Sums:
        """The totals of a data set of which nothing was released."""
        return Sums(0, 0, 0, 0, 0, 0, 0, 0, 0)

    def plus(self, losses: Iterable[Profile]) -> Sums:
        """The totals with these losses added."""
        total = self
        for loss in losses:
            total = total._with(loss)
        return total

    def _with(self, loss: Profile) -> Sums:
        part = loss.parts()
        only_stated = part.delta > 0
        weight = weight_of(part)
        return Sums(
            count=self.count + 1,
            bounded=self.bounded + (0 if only_stated else units(part.epsilon, EPSILON_UNITS)),
            concentrated=self.concentrated + (0 if only_stated else units(part.rho, EPSILON_UNITS)),
            squares=self.squares + math.ceil(exactly(part.mu) ** 2 * EPSILON_UNITS),
            distance=self.distance + units(part.distance, DELTA_UNITS),
            weight=-1 if self.weight < 0 or math.isinf(weight) else self.weight + units(weight, DELTA_UNITS),
            size=self.size + part.size,
            stated=self.stated + (units(part.epsilon, EPSILON_UNITS) if only_stated else 0),
            lost=self.lost + units(part.delta, DELTA_UNITS),
        )

    @property
    def pure(self) -> float:
        """The epsilon that holds with delta = 0: an exact sum; inf where a loss has no such guarantee."""
        if self.squares or self.lost or self.stated:
            return math.inf
        return amount_of(Fraction(self.bounded, EPSILON_UNITS))

    @property
    def rho(self) -> float:
        """The zero-concentrated statement; inf where a loss has none."""
        if self.lost or self.stated:
            return math.inf
        return amount_of(Fraction(2 * self.concentrated + self.squares, 2 * EPSILON_UNITS))

    def epsilon(self, delta: float) -> float:
        """An epsilon that holds with this delta, at once: the better of basic and of concentrated composition.

        `compose` in `composition.py` finds a smaller one, and takes its time.
        """
        left = exactly(delta) - Fraction(self.lost, DELTA_UNITS)
        if left < 0:
            return math.inf
        by_addition = amount_of(Fraction(self.bounded + self.stated, EPSILON_UNITS))
        if self.squares == 0:
            basic = by_addition
        elif left == 0:
            return math.inf
        else:
            # Rounded down: less delta is left than was.
            basic = self._gaussian(math.nextafter(float(left), 0.0), by_addition)
        if left == 0:
            return basic
        return min(basic, self._concentrated(math.nextafter(float(left), 0.0)))

    def _gaussian(self, left: float, shift: float) -> float:
        """Basic composition of the closed form for all Gaussians with the sum of the rest."""
        mu = root_up(Fraction(self.squares, EPSILON_UNITS))
        return self._sampler().least(lambda part: math.nextafter(gaussian_epsilon(mu, part) + shift, math.inf), left)

    def _concentrated(self, left: float) -> float:
        rho = amount_of(Fraction(2 * self.concentrated + self.squares, 2 * EPSILON_UNITS))
        shift = amount_of(Fraction(self.stated, EPSILON_UNITS))
        return self._sampler().least(lambda part: math.nextafter(zcdp_epsilon(rho, part) + shift, math.inf), left)

    def _sampler(self) -> Sampler:
        weight = math.inf if self.weight < 0 else amount_of(Fraction(self.weight, DELTA_UNITS))
        return Sampler(amount_of(Fraction(self.distance, DELTA_UNITS)), weight, float(self.size))

    def to_row(self) -> dict[str, int]:
        """Plain whole numbers, for a row of a ledger."""
        return asdict(self)

    @staticmethod
    def from_row(row: Mapping[str, Any]) -> Sums:
        """The totals that `to_row` wrote down."""
        names = [field.name for field in fields(Sums)]
        right = isinstance(row, Mapping) and set(row) == set(names)
        if not right or not all(type(row[name]) is int and row[name] >= -(name == "weight") for name in names):
            raise UsageError(f"Totals of privacy losses are whole numbers called {', '.join(names)}, got {brief(row)}.")
        return Sums(**row)


SHARE = 3 / 8  # of delta for each of two filters; a quarter is left for what integer samplers cost


def filtered_epsilon(sums: Sums, cap: Budget) -> float:
    """A counter that stays below the cap's epsilon only while the cap holds, however the prices came about.

    The cap is all that is proved. The counter itself is no guarantee: whoever looks at the releases and stops where
    they tell much has learnt more than it shows, so no epsilon below the cap holds of what was released so far.

    Three filters stand side by side, each with a limit that is fixed with the cap: epsilons that add up (Rogers et al.
    2016), concentrated losses that add up (Feldman and Zrnic 2021), Gaussian shifts whose squares add up (Smith and
    Thakurta 2022). A charge is granted while one of them holds; once a filter has been passed it stays so. What was
    released belongs to one of three kinds of histories, each cut off by its own filter, so their deltas add up.

    >>> from dpfda.privacy.profiles import PureProfile
    >>> filtered_epsilon(Sums.nothing().plus([PureProfile(0.5)] * 2), Budget(1.0, 1e-6))
    1.0
    """
    found = [sums.pure]
    drawn = amount_of(Fraction(sums.distance, DELTA_UNITS))
    if cap.delta > 0 and cap.epsilon < 700 and drawn * (1 + math.exp(cap.epsilon)) * (1 + 1e-12) <= cap.delta / 4:
        delta = SHARE * cap.delta
        if math.isfinite(sums.rho):
            found.append(zcdp_epsilon(sums.rho, delta))
        if not (sums.bounded or sums.stated or sums.lost):
            found.append(gaussian_epsilon(root_up(Fraction(sums.squares, EPSILON_UNITS)), delta))
    return min(found)

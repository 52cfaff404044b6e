"""Public facts about covariates: their names, their limits, and how they are centred and scaled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.arrays import Array, ArrayLike, brief, is_whole, public_numbers
from dpfda.errors import UsageError
from dpfda.releases.cards.words import covariate_filled, plain
from dpfda.releases.fields import SMALLEST, is_moderate


@dataclass(frozen=True, slots=True)
class Covariates:
    """Covariates x enter as `(x - middles) / scales`, which for every record lies in the unit ball.

    Limits hold for each covariate by itself, a bound for the Euclidean norm of all of them; one of the two is None.
    """

    names: tuple[str, ...]
    limits: tuple[tuple[float, float], ...] | None
    bound: float | None
    middles: tuple[float, ...]
    scales: tuple[float, ...]
    intercept: bool

    @property
    def size(self) -> int:
        return len(self.names)

    @property
    def side(self) -> int:
        """How many coefficient functions there are, the intercept's included."""
        return self.size + (1 if self.intercept else 0)

    @property
    def fills(self) -> tuple[float, ...]:
        """What stands in for a missing value: the middle of the limits, or zero."""
        if self.limits is None:
            return (0.0,) * self.size
        return tuple(low / 2 + high / 2 for low, high in self.limits)

    @property
    def filled(self) -> str:
        """What a covariate that is missing is filled by, as a code of cards."""
        return "zero" if self.limits is None else "middle"

    @property
    def missing(self) -> str:
        """What becomes of a covariate that is missing, in words."""
        return covariate_filled(self.filled)

    @property
    def reference(self) -> float:
        """The mean square of a scaled covariate that is spread evenly over its limits, or over the ball."""
        return 1 / (3 * self.size) if self.limits is not None else 1 / (self.size + 2)

    def beyond(self, values: ArrayLike) -> tuple[str, ...]:
        """The covariates that some row of public values has beyond their limits: curves for it extrapolate."""
        table = public_numbers(values, "Covariates").reshape(-1, self.size)
        if self.limits is None:
            far = bool((np.linalg.norm(table, axis=1) > float(self.bound or 0.0)).any())
            return self.names if far else ()
        low, high = np.array(self.limits).T
        outside = ((table < low) | (table > high)).any(axis=0)
        return tuple(name for name, out in zip(self.names, outside, strict=True) if out)

    @property
    def text(self) -> str:
        """The limits in words, for the card."""
        if self.limits is None:
            return f"{', '.join(self.names)}: Euclidean norm at most {plain(self.bound or 0.0)}, scaled down to it"
        ranges = (
            f"{name} in [{plain(low)}, {plain(high)}]"
            for name, (low, high) in zip(self.names, self.limits, strict=True)
        )
        return f"{', '.join(ranges)}; values beyond are moved to the ends"

    def index(self, which: int | str) -> int | None:
        """The place of a covariate, by number or name; None for "intercept"."""
        if isinstance(which, str) and which == "intercept" and "intercept" not in self.names:
            return None
        if isinstance(which, str) and which in self.names:
            return self.names.index(which)
        if is_whole(which, 0, self.size - 1):
            return int(which)
        raise UsageError(
            f"A coefficient is 'intercept', a covariate's name ({', '.join(self.names)}) or its number, 0 to "
            f"{self.size - 1}; got {brief(which)}."
        )

    def combination(self, place: int | None, lead: float) -> Array:
        """The weights that make of scaled coefficients the one of a covariate in its own units, (side,)."""
        slopes = np.eye(self.size) / np.array(self.scales)
        if place is not None:
            return np.concatenate([np.zeros(self.side - self.size), slopes[place]])
        return np.concatenate([[lead], -np.array(self.middles) @ slopes])

    def design(self, values: ArrayLike, lead: float) -> Array:
        """Rows of public covariates as they enter the regression, (m, p) -> (m, side)."""
        try:
            table = public_numbers(values, "Covariates to predict for")
        except UsageError:
            table = np.full((0, 0, 0), np.nan)
        if table.ndim == 1 and self.size == 1:
            table = table[:, None]
        if table.ndim != 2 or table.shape[1] != self.size or not np.isfinite(table).all():
            raise UsageError(
                f"Covariates to predict for are a matrix of finite numbers, one row a curve and {self.size} column"
                f"{'s' * (self.size > 1)} ({', '.join(self.names)}), got shape {table.shape}."
            )
        scaled = (table - np.array(self.middles)) / np.array(self.scales)
        return np.concatenate([np.full((len(table), self.side - self.size), lead), scaled], axis=1)

    def to_plain(self) -> dict[str, Any]:
        return {
            "names": list(self.names),
            "limits": None if self.limits is None else [list(pair) for pair in self.limits],
            "bound": self.bound,
            "middles": list(self.middles),
            "scales": list(self.scales),
            "intercept": self.intercept,
        }

    @staticmethod
    def from_plain(data: dict[str, Any]) -> Covariates:
        limits = data["limits"]
        found = Covariates(
            tuple(map(str, data["names"])),
            None if limits is None else tuple((_number(low), _number(high)) for low, high in limits),
            None if data["bound"] is None else _number(data["bound"]),
            tuple(map(_number, data["middles"])),
            tuple(map(_number, data["scales"])),
            data["intercept"],
        )
        fits = (limits is None or len(limits) == found.size) and isinstance(found.intercept, bool)
        if not fits or not len(found.middles) == len(found.scales) == found.size or min(found.scales) < SMALLEST:
            raise ValueError
        return found


def _number(value: Any) -> float:
    if not is_moderate(value):
        raise ValueError
    return float(value)


def check_limits(limits: object) -> tuple[tuple[float, float], ...]:
    """Limits as pairs of finite numbers, one for each covariate; a single pair will do for one."""
    try:
        array = public_numbers(limits, "Limits")
    except UsageError:
        array = np.empty(0)
    if array.shape == (2,):
        array = array[None, :]
    # So that widths and their squares neither overflow nor vanish.
    wide = array.ndim == 2 and array.shape[1:] == (2,) and len(array) > 0
    if not (wide and (np.abs(array) <= 1e100).all() and (array[:, 1] - array[:, 0] >= 1e-100).all()):
        raise UsageError(
            parameter="covariate_limits",
            value=limits,
            rule=(
                "must be one pair (low, high) of finite numbers with low < high for each covariate, e.g. "
                "[(18, 90), (0, 1)]"
            ),
        )
    return tuple((float(low), float(high)) for low, high in array)


def check_names(names: Sequence[str] | None, size: int) -> tuple[str, ...]:
    """The names of covariates as a table has them, or z1, z2, ..."""
    return tuple(f"z{place + 1}" for place in range(size)) if names is None else tuple(names)

"""A private choice among finitely many candidates: the exponential mechanism, drawn exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Integers, brief
from dpfda.errors import UsageError
from dpfda.mechanisms.base import check_coordinates, check_profile, check_source, register_draw
from dpfda.mechanisms.decision import decide, exponential, exponential_exactly, wide
from dpfda.mechanisms.noise import NothingAdded, register_law
from dpfda.mechanisms.randomness import Randomness
from dpfda.privacy import RangeProfile
from dpfda.privacy.norms import L2, Norm, Sensitivity, up

MOST_CANDIDATES = 2**16
LARGEST_BATCH = 2**20  # proposals at a time
DIGITS = 60  # that scores are known to before any is refined
LARGEST_RATE = 2.0**100  # times any score it is finite


@dataclass(frozen=True, slots=True)
class Scores:
    """Exact numbers `sqrt(squares[i]) + wholes[i]` of integers, 0 or more: counts, distances, and sums of both."""

    squares: tuple[int, ...]
    wholes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.squares) <= MOST_CANDIDATES or len(self.squares) != len(self.wholes):
            raise UsageError(
                f"A choice needs 1 to {MOST_CANDIDATES} candidates with a square and a whole number each, got "
                f"{len(self.squares)} and {len(self.wholes)}.",
                parameter="squares",
                value=len(self.squares),
            )

    def exactly(self, candidate: int, digits: int) -> Decimal:
        """One score to this many digits."""
        with localcontext(wide(digits)):
            return Decimal(self.squares[candidate]).sqrt() + self.wholes[candidate]


def choose(scores: Scores, rate: float, *, randomness: Randomness) -> int:
    """Candidate i with probability exactly proportional to `exp(-rate score_i)`.

    Candidates are proposed at random and accepted with probability `exp(-rate (score_i - base))`; any base below all
    scores gives the same law, and this one makes the best candidate all but certain to be accepted. A batch holds so
    many proposals that one is enough but for a chance of e^-60, or e^-16 beyond 2^14 candidates: the time does not tell
    how the scores lie.
    """
    if not 0 < rate <= LARGEST_RATE:
        raise UsageError(
            f"The rate of a choice must be positive and at most {LARGEST_RATE:g}, got {brief(rate)}.",
            parameter="rate",
            value=rate,
        )
    size = len(scores.squares)
    with localcontext(wide(DIGITS)):
        values = [scores.exactly(candidate, DIGITS) for candidate in range(size)]
        base = min(values) * (1 - Decimal(10) ** (2 - DIGITS))
        exponents = np.array([float(Decimal(rate) * (value - base)) for value in values])
        lost = float(Decimal(rate) * max(values) * Decimal(10) ** (3 - DIGITS))
    low, high = exponential(exponents, 2.0**-52 * exponents + lost)
    mask = (1 << (size - 1).bit_length()) - 1
    batch = min(64 * (mask + 1), LARGEST_BATCH)
    while True:
        proposed = randomness.bits53(batch) & mask
        proposed = proposed[proposed < size]

        def refine(row: int, digits: int, proposed: Integers = proposed) -> tuple[Decimal, Decimal]:
            score = scores.exactly(int(proposed[row]), digits)
            with localcontext(wide(digits)):
                return exponential_exactly(Decimal(rate) * (score - base), Decimal(rate) * (score + base), digits)

        accepted = np.flatnonzero(decide(low[proposed], high[proposed], refine, randomness))
        if len(accepted):
            return int(proposed[accepted[0]])


def rate_of(epsilon: float, spread: float) -> float:
    """The rate `epsilon / spread` at which a choice costs epsilon, from below.

    For any two neighbours the changes of all scores must lie in an interval of this length: twice the sensitivity does,
    and sometimes less. Then log likelihood ratios lie in one of length epsilon. A few steps more reach below the
    decimal epsilon that was typed.
    """
    rate = epsilon / spread
    for _ in range(4):
        rate = math.nextafter(rate, 0.0)
    return rate


@register_draw
@dataclass(frozen=True, eq=False, repr=False)
class Dictionary:
    """A choice among public vectors, the nearer to the sum the more likely: `exp(-distance / scale)`.

    Hall et al. (2013), Section 3.2. `candidates` are integer sums, i.e. n times a function's coordinates, and
    `remainders` the norms, in the same steps, of what their functions have outside of the basis: the distance
    `sqrt(|S - g|^2 + r^2)` moves by at most as much as S does, so the choice costs `2 |v|_2 / scale`.
    """

    candidates: Integers  # (m, size)
    remainders: Integers | None = None  # (m,)

    name: ClassVar[str] = "dictionary"
    laws: ClassVar[tuple[str, ...]] = ("choice",)
    norms: ClassVar[tuple[str, ...]] = ("L2",)
    whole: ClassVar[bool] = True
    norm: ClassVar[Norm] = L2()
    pure: ClassVar[bool] = True

    def __post_init__(self) -> None:
        table: Any = _array(self.candidates)
        rests = np.zeros(len(table), dtype=np.int64) if self.remainders is None else _array(self.remainders)
        if table.ndim != 2 or table.dtype != np.int64 or not 1 <= len(table) <= MOST_CANDIDATES or not table.shape[1]:
            raise UsageError(
                f"A dictionary is a table of 64-bit integers, 1 to {MOST_CANDIDATES} candidates in rows, got "
                f"{table.dtype} of shape {table.shape}.",
                parameter="candidates",
                value=table.shape,
            )
        if rests.dtype != np.int64 or rests.shape != (len(table),) or (rests < 0).any():
            raise UsageError(
                f"Remainders are 64-bit integers, 0 or more, one for each of the {len(table)} candidates, got "
                f"{rests.dtype} of shape {rests.shape}.",
                parameter="remainders",
                value=rests.shape,
            )
        table.flags.writeable = rests.flags.writeable = False
        object.__setattr__(self, "candidates", table)
        object.__setattr__(self, "remainders", rests)

    def __repr__(self) -> str:
        return f"Dictionary({self.candidates.shape[0]} candidates of size {self.candidates.shape[1]})"

    @staticmethod
    def reach(bound: float, step: float) -> float:
        """How often the move of one unit counts in the range of distances: up and down."""
        return 2.0

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> RangeProfile:
        check_profile(sensitivity, scale, size)
        return RangeProfile(up(2 * sensitivity.to(self.norm, size).value / scale))

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Integers:
        check_source(randomness)
        vector = check_coordinates(coordinates)
        if len(vector) != self.candidates.shape[1]:
            raise UsageError(
                f"The candidates have {self.candidates.shape[1]} coordinates, not {len(vector)}.",
                parameter="coordinates",
                value=len(vector),
            )
        if not 1 / LARGEST_RATE <= scale <= LARGEST_RATE:
            raise UsageError(
                parameter="scale", value=scale, rule=f"must lie between {1 / LARGEST_RATE:g} and {LARGEST_RATE:g}"
            )
        # Rounded down, so that the rate drawn with never exceeds the rate paid for.
        rate = math.nextafter(1 / scale, 0.0)
        chosen: Integers = self.candidates[choose(self.distances(vector), rate, randomness=randomness)].copy()
        return chosen

    def distances(self, vector: Integers) -> Scores:
        """The exact distance of every candidate from a vector."""
        # Python's integers: squares of sums leave 64 bits.
        moves = vector.astype(object) - self.candidates.astype(object)
        rests = np.asarray(self.remainders).astype(object)
        squares = (moves * moves).sum(axis=1) + rests * rests
        return Scores(tuple(int(square) for square in squares), (0,) * len(squares))

    def noise(self, scale: float, size: int) -> ChoiceLaw:
        """A choice adds nothing, and the law says so."""
        return ChoiceLaw((size,), (scale,))


@register_law
@dataclass(frozen=True, slots=True)
class ChoiceLaw(NothingAdded):
    """The coordinates are those of a candidate, chosen at a price of 1 / scale for each unit of distance."""

    name: ClassVar[str] = "choice"

    @property
    def text(self) -> str:
        return "none added: a choice among public candidates"


def _array(given: object) -> Any:
    """An array of what was given; an empty one of what is none, which no rule accepts."""
    try:
        return np.atleast_1d(np.array(given))
    except Exception:  # uneven lists, objects of the user's own
        return np.empty(0)

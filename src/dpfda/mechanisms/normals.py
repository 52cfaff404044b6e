"""Standard normal numbers as real numbers, of which any digit can be asked for."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal, localcontext

import numpy as np

from dpfda.arrays import Array, Integers, brief
from dpfda.errors import UsageError
from dpfda.mechanisms.decision import Booleans, decide, exponential, exponential_exactly, wide
from dpfda.mechanisms.randomness import Randomness

WORD = 53  # bits that are drawn at a time


@dataclass(frozen=True, slots=True, eq=False)
class Reals:
    """Random numbers `sign (whole + fraction)`; a fraction is a uniform number of infinitely many bits.

    53 bits of it are known at first. Further ones are drawn when they are asked for, and stay: however often and
    closely one looks at a number, it is the same number.
    """

    signs: Integers  # -1 or 1, (size,)
    wholes: Integers  # 0 or more, (size,)
    words: Integers  # the first 53 bits of the fractions, (size,)
    randomness: Randomness
    longer: dict[int, tuple[int, int]] = field(default_factory=dict)  # more bits of single fractions, how many in all

    @property
    def values(self) -> Array:
        """The numbers in doubles, (size,); the middles of the cells that they are known to lie in."""
        middles: Array = np.copysign(self.wholes + (self.words + 0.5) * 2.0**-WORD, self.signs)
        return middles

    @property
    def errors(self) -> Array:
        """How far `values` may be from the numbers, (size,)."""
        # Half a cell for the unknown bits, half a cell where a half is rounded off, and the rounding of one sum.
        errors: Array = 2.0**-WORD * (1 + 2.0**-50) * (1 + np.abs(self.values))
        return errors

    def integers(self, indices: Iterable[int], bits: int) -> list[int]:
        """Odd numbers c with `|2^(bits+1) number - c| <= 1`, by that many bits of the fractions, at least 53."""
        indices = list(indices)
        self._lengthen(indices, bits)
        return [self._middle(index, bits) for index in indices]

    def refine(self, index: int, digits: int) -> tuple[Decimal, Decimal]:
        """Bounds on one number that are less than `10^-digits` apart."""
        bits = 4 * digits + WORD
        centre = self.integers([index], bits)[0]
        # Rounded outwards in whole numbers; a decimal made from a text is exact in every context.
        one, unit = 10 ** (digits + 1), bits + 1
        low, high = (centre - 1) * one >> unit, -((-centre - 1) * one >> unit)
        return Decimal(f"{low}E-{digits + 1}"), Decimal(f"{high}E-{digits + 1}")

    def take(self, rows: Integers) -> Reals:
        """Some of the numbers, with all that is known of them."""
        longer = {new: self.longer[row] for new, row in enumerate(rows.tolist()) if row in self.longer}
        return Reals(self.signs[rows], self.wholes[rows], self.words[rows], self.randomness, longer)

    def _middle(self, index: int, bits: int) -> int:
        fraction, known = self.longer.get(index, (int(self.words[index]), WORD))
        cell = (int(self.wholes[index]) << bits) + (fraction >> (known - bits))
        return int(self.signs[index]) * (2 * cell + 1)

    def _lengthen(self, indices: list[int], bits: int) -> None:
        """Draw what is missing of so many bits of some fractions."""
        known = {index: self.longer.get(index, (int(self.words[index]), WORD)) for index in indices}
        missing = {index: math.ceil((bits - have) / WORD) for index, (_, have) in known.items() if have < bits}
        words = iter(self.randomness.bits53(sum(missing.values())).tolist() if missing else ())
        for index, count in missing.items():
            fraction, have = known[index]
            for _ in range(count):
                fraction = fraction << WORD | next(words)
            self.longer[index] = fraction, have + count * WORD


def join(parts: list[Reals]) -> Reals:
    """Numbers of one source in a row."""
    starts = np.cumsum([0, *(len(part.words) for part in parts)]).tolist()
    longer = {
        start + row: bits for start, part in zip(starts, parts, strict=False) for row, bits in part.longer.items()
    }
    signs, wholes, words = (
        np.concatenate(columns) for columns in zip(*((p.signs, p.wholes, p.words) for p in parts), strict=True)
    )
    return Reals(signs, wholes, words, parts[0].randomness, longer)


def draw_normals(size: int, randomness: Randomness) -> Reals:
    """Independent standard normal numbers, exactly: no digit of them comes from a rounded operation.

    Rejection from a staircase (after von Neumann, and Karney 2016): k with chance `2^-(k+1)`, x uniform, either sign;
    k + x is accepted with probability `exp(-a)`, `a = (k+x)^2/2 - (k-1) log 2 - 1/2`, so what is accepted has density
    proportional to `2^-k exp(-a)`, that is `exp(-(k+x)^2/2)`. a is nowhere negative: it grows with x, and at x = 0 its
    least value over the integers is 0, at k = 1. Half of all proposals are accepted; how many were not says nothing of
    those that were.

    A proposal is decided by finitely many bits of x; all others have not been looked at and are uniform still. This is
    why no quantile function has to be inverted: to know a number more closely is to draw more bits of it.
    """
    if size < 1:
        raise UsageError(
            f"Normal numbers are drawn one or more at a time, got size {brief(size)}.", parameter="size", value=size
        )
    parts: list[Reals] = []
    missing = size
    while missing > 0:
        # So many that one batch is nearly always enough.
        proposals = propose(math.ceil(2 * missing + 6 * math.sqrt(missing) + 8), randomness)
        accepted = np.flatnonzero(accept(proposals))[:missing]
        parts.append(proposals.take(accepted))
        missing -= len(accepted)
    return join(parts) if len(parts) > 1 else parts[0]


def propose(size: int, randomness: Randomness) -> Reals:
    """A sign, a whole number k with chance `2^-(k+1)`, and a uniform fraction."""
    coins, words = randomness.bits53(2 * size).reshape(2, size)
    signs, flips = 2 * (coins & 1) - 1, coins >> 1
    wholes = np.zeros(size, dtype=np.int64)
    # Tails before the first head; after 52 tails in a row there is more to flip.
    while (open_ := np.flatnonzero(flips == 0)).size:
        wholes[open_] += WORD - 1
        flips[open_] = randomness.bits53(len(open_)) >> 1
    wholes += np.frexp((flips & -flips).astype(np.float64))[1] - 1
    return Reals(signs, wholes, words, randomness)


def accept(proposals: Reals) -> Booleans:
    """Decide every proposal exactly."""

    def refine(row: int, digits: int) -> tuple[Decimal, Decimal]:
        return interval_exactly(proposals, row, digits)

    return decide(*interval(proposals), refine, proposals.randomness)


def interval(proposals: Reals) -> tuple[Array, Array]:
    """Bounds in doubles on the acceptance probability of every proposal, whatever its unknown bits, each (size,)."""
    size = np.abs(proposals.values)
    exponent = size * size / 2 - (proposals.wholes - 1) * math.log(2) - 0.5
    # The size is known up to 2^-52 (1 + size), and each of six operations adds a rounding of at most the sum of terms.
    return exponential(exponent, 2.0**-48 * (size * size + size + 2))


def interval_exactly(proposals: Reals, row: int, digits: int) -> tuple[Decimal, Decimal]:
    """Bounds in decimals on the acceptance probability of one proposal: it falls with the size of the number."""
    bounds = []
    with localcontext(wide(digits)):
        ends = sorted(abs(end) for end in proposals.refine(row, digits))
        steps = (int(proposals.wholes[row]) - 1) * Decimal(2).ln()
        for end in ends:
            square = end * end / 2
            bounds.append(exponential_exactly(square - steps - Decimal("0.5"), square + abs(steps) + 1, digits))
    return bounds[1][0], bounds[0][1]

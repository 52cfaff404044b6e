"""Proposals of frames in real numbers: what `stiefel` does in doubles, with every error proven."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpfda.arrays import ArrayLike
from dpfda.mechanisms.frames.interval import Arithmetic, Interval, Numbers, joined, nearly_orthonormal
from dpfda.mechanisms.frames.stiefel import Central, Level, Normal, Pair, Single, Spans


def normals_needed(spans: Spans) -> int:
    """How many normal numbers one proposal takes."""
    first = spans.single
    count = len(first.central.excess) + 1 if isinstance(first, Single) else len(first.excess) + 2
    for level in spans.levels:
        extra = level.envelope.weight if isinstance(level.envelope, Central) else 0
        count += len(level.envelope.excess) + extra
    return count


@dataclass(slots=True)
class Replay:
    """Proposals in intervals, one to a row: logarithms of their acceptance, and the columns of their frames.

    Parameters of the envelopes are taken as the real numbers that these doubles are. Excesses are differences of
    doubles, exact here, and the envelopes were fitted to values not above them: no acceptance exceeds 1.
    """

    spans: Spans
    arithmetic: Arithmetic
    normals: Interval  # (rows, normals_needed)
    taken: int = 0
    outside: Numbers | bool = False  # rows that have left the unit ball: rejected, whatever else they are

    def run(self) -> tuple[Interval, list[Interval]]:
        spans = self.spans
        log, first = self._first()
        columns = [first[..., np.argsort(spans.order)]]
        for level, below, law in zip(spans.levels, spans.laws[:-1], spans.laws[1:], strict=True):
            excess = self._number(np.delete(law, level.leading)) - self._number(law[[level.leading]])
            extended, leading, column = self._extend(columns, level, excess, self._number(below))
            log = log + extended
            zero = leading - leading
            columns = [
                joined([rows[..., : level.leading], head.column, rows[..., level.leading :]])
                for rows, head in zip([column, *columns], [leading] + [zero] * len(columns), strict=True)
            ]
            # A difference of a number with itself is zero, and known to be.
            for rows in columns[1:]:
                rows.middle[..., level.leading] *= 0
                rows.radius[..., level.leading] = rows.middle[..., level.leading]
        return log, columns

    def _number(self, values: ArrayLike) -> Interval:
        return self.arithmetic.exact(values)

    def _take(self, count: int) -> Interval:
        self.taken += count
        return self.normals[..., self.taken - count : self.taken]

    def _first(self) -> tuple[Interval, Interval]:
        law, single = self.spans.laws[0][self.spans.order], self.spans.single
        excess = self._number(law[1:]) - self._number(law[:1])
        if isinstance(single, Pair):
            return self._pair(single, excess)
        central = single.central
        log, leading, x = self._on_sphere(central, self._take(len(central.excess)) / self._roots(central), excess)
        return log, joined([leading.column, x])

    def _pair(self, pair: Pair, excess: Interval) -> tuple[Interval, Interval]:
        circle = pair.circle.central
        log, one, rest = self._on_sphere(circle, self._take(1) / self._roots(circle), self._number(circle.excess))
        other = rest[..., 0]
        if pair.slope < 0:
            one, other = other, one
        share = other * other
        second, tilt = self._number(pair.second), self._number(pair.tilt)
        at_axis = self._number(pair.excess) + tilt
        widths = at_axis - (second * share).column
        x = self._take(len(pair.excess)) / (widths + widths).sqrt()
        left = self._inside(x * x)
        # The chord of the circle's law against exp(-s) prod (excess - s + tilt)^(-1/2), and the tilt inside the ball.
        price = (widths / at_axis).log().sum() * self._number(0.5)
        log = log + (self._number(pair.slope) - second) * share - price - tilt * left
        root = left.sqrt()
        vector = joined([(one * root).column, (other * root).column, x])
        gaps = excess - self._number([pair.second, *pair.excess])
        return log - (gaps * vector[..., 1:] * vector[..., 1:]).sum(), vector

    def _extend(
        self, columns: list[Interval], level: Level, excess: Interval, below: Interval
    ) -> tuple[Interval, Interval, Interval]:
        envelope = level.envelope
        roots = self._roots(envelope)
        white = [column / roots for column in columns]
        rows, log_determinant, error = nearly_orthonormal(white)
        squares = columns[0] * columns[0]
        for column in columns[1:]:
            squares = squares + column * column
        # Jensen: `below` is at most the excess less half the logarithm of the precision.
        log = ((below - excess) * squares).sum() - log_determinant * self._number(0.5)
        z = self._take(len(envelope.excess))
        along = [(row * z).sum() for row in rows]
        # The coefficients of the projection are those times (I + E)^-1, and so off by at most twice E times their size.
        size = sum(abs(part.middle) + part.radius for part in along)
        for row, part in zip(rows, along, strict=True):
            z = z - self.arithmetic.interval(part.middle, part.radius + 2 * error * size).column * row
        if isinstance(envelope, Central):
            placed, leading, x = self._on_sphere(envelope, z / roots, excess)
        else:
            placed, leading, x = self._in_ball(envelope, z / roots, excess)
        return log + placed, leading, x

    def _roots(self, envelope: Central | Normal) -> Interval:
        excess, tilt = self._number(envelope.excess), self._number(envelope.tilt)
        if isinstance(envelope, Central):
            return (self._number(1) + self._number(2) * excess / tilt).sqrt()
        return (self._number(2) * (excess + tilt)).sqrt()

    def _on_sphere(self, central: Central, x: Interval, excess: Interval) -> tuple[Interval, Interval, Interval]:
        chi = self._take(central.weight)
        length = (chi * chi).sum()
        norm = (length + (x * x).sum()).sqrt()
        x = x / norm.column
        squares = x * x
        y = (self._number(central.excess) * squares).sum()
        size, tilt, half = self._number(central.dimension), self._number(central.tilt), self._number(0.5)
        log = size * half * ((tilt + y + y) / size).log() + (size - tilt) * half - (excess * squares).sum()
        return log, length.sqrt() / norm, x

    def _in_ball(self, normal: Normal, x: Interval, excess: Interval) -> tuple[Interval, Interval, Interval]:
        squares = x * x
        left = self._inside(squares)
        tilt, power = self._number(normal.tilt), self._number((normal.weight - 2) / 2)
        log = tilt * (self._number(1) - left) - ((excess - self._number(normal.excess)) * squares).sum()
        if normal.weight > 2:
            log = log + power * left.log()
        if normal.weight - 2 < 2 * normal.tilt:  # the bound on these terms, as `Normal.log_bound` has it
            log = log + power - tilt
            if normal.weight > 2:
                log = log - power * (power / tilt).log()
        return log, left.sqrt(), x

    def _inside(self, squares: Interval) -> Interval:
        """What is left of a unit length; where nothing is, one is put in its place and the row is marked."""
        left = self._number(1) - squares.sum()
        beyond = left.middle + left.radius < 0
        self.outside = self.outside | beyond
        one = self._number(np.ones(np.shape(beyond)))
        radius = np.where(beyond, one.radius, left.radius)
        if radius.dtype != object:
            # Inside or outside, doubles cannot tell: nothing is known then, and decimals decide.
            radius = np.where(~beyond & (left.middle <= left.radius), np.inf, radius)
        return Interval(np.where(beyond, one.middle, left.middle), radius, self.arithmetic)

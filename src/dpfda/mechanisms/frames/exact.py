"""One frame drawn in real numbers and rounded to a lattice: proposals in intervals, every decision the true one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from dpfda.arrays import Array, ArrayLike, Integers
from dpfda.mechanisms.decision import decide, wide
from dpfda.mechanisms.frames.interval import (
    Arithmetic,
    Interval,
    Numbers,
    TooWide,
    cholesky,
    joined,
    log_determinant_of,
    nearly_orthonormal,
    orthonormal_columns,
)
from dpfda.mechanisms.frames.stiefel import Central, Level, Normal, Pair, Single, SpanEnvelopes
from dpfda.mechanisms.normals import Reals, draw_normals
from dpfda.mechanisms.randomness import Randomness


def normals_needed(spans: SpanEnvelopes) -> int:
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

    spans: SpanEnvelopes
    arithmetic: Arithmetic
    normals: Interval  # (rows, normals_needed)
    taken: int = 0
    outside: Numbers | bool = False  # rows that have left the unit ball: rejected, whatever else they are

    def run(self) -> tuple[Interval, list[Interval]]:
        """The logarithm of the acceptance probability of every row, and the columns of its frame."""
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


BITS = 53  # of an entry of the matrix after the point
HALF_BITS = 27  # of the low part when it is cut in two: sums of products of parts stay within 64 bits
Objects = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Rotation:
    """The orthogonal polar factor `U (U'U)^(-1/2)` of a matrix U of integers over 2^53.

    With `E = U'U - I`, known exactly, it is `U (I - E/2 + 3 E^2/8 - ...)`; E is about 2^-50, so that each term of the
    series brings fifteen digits.
    """

    scaled: Objects  # 2^53 U, (m, m)
    defect: Objects  # 2^106 E, (m, m)
    defect_bits: int  # |E| <= 2^-defect_bits

    @staticmethod
    def near(vectors: Array) -> Rotation:
        whole = np.rint(vectors * 2.0**BITS).astype(np.int64)
        high, low = whole >> HALF_BITS, whole & ((1 << HALF_BITS) - 1)
        mixed = (high.T @ low).astype(object)
        squares = (high.T @ high).astype(object) * 2 ** (2 * HALF_BITS) + (low.T @ low).astype(object)
        gram = squares + (mixed + mixed.T) * 2**HALF_BITS
        defect = gram - np.eye(len(whole), dtype=np.int64).astype(object) * 2 ** (2 * BITS)
        size = math.isqrt(int((defect * defect).sum())) + 1
        bits = 2 * BITS - size.bit_length()
        if bits < 20:
            raise RuntimeError("eigenvectors that are far from orthonormal")  # no such matrix is known to LAPACK
        return Rotation(whole.astype(object), defect, bits)

    def turn(self, columns: list[Interval], digits: int) -> Fixed:
        """Unit vectors in these coordinates, each given as one row of decimals."""
        bits = 4 * digits
        with localcontext(wide(3 * digits + 20)):
            one = Decimal(2) ** bits
            # Rounded to an integer: the error is the radius, and one step.
            vectors = np.array([[int(value * one) for value in column.middle[0]] for column in columns], dtype=object).T
            widest = max(max(column.radius[0]) for column in columns)
            steps = int(widest * one) + 2
        turned, term = vectors, vectors
        for power in range(1, bits // self.defect_bits + 2):
            # (1 + e)^(-1/2): each coefficient is the last one times (1/2 - power)/power.
            term = (self.defect @ term) * (1 - 2 * power) // (2 * power * 2 ** (2 * BITS))
            turned = turned + term
        # What the series leaves out and the roundings of its terms are below one step for each of its bits.
        side = len(self.scaled)
        return Fixed(self.scaled @ turned // 2**BITS, bits, 2 * math.isqrt(side) * (steps + side + bits) + 2)


@dataclass(frozen=True, slots=True)
class Fixed:
    """Columns of integers with a point, each entry at most so many steps off."""

    columns: Objects  # (m, k)
    bits: int  # after the point
    steps: int

    def intervals(self, arithmetic: Arithmetic) -> list[Interval]:
        """Its columns, each as one row."""
        one = Decimal(2) ** self.bits
        radius = np.full((1, len(self.columns)), Decimal(self.steps) / one, dtype=object)
        middles = [np.array([[Decimal(int(x)) / one for x in column]], dtype=object) for column in self.columns.T]
        return [arithmetic.interval(middle, radius, 4 * abs(middle)) for middle in middles]


@dataclass(frozen=True, slots=True, eq=False)
class Exponent:
    """`sign tr V'(S / scale - diag(prior))V`, and where a precision P is given `-(m/2) log|V'PV|` beside it.

    Sign -1 stands for what is orthogonal to the frame: the two forms add up to a trace. By operator Jensen the
    logarithm is at least `tr V' log(P) V`, so the matrix with `(m/2) log P` taken off is one to propose with.
    """

    sums: npt.NDArray[Any]  # symmetric integers of Python, (m, m)
    scale: float
    prior: tuple[float, ...]
    precision: tuple[float, ...] | None
    sign: int

    def approximate(self) -> Array:
        """The matrix to propose with, in doubles."""
        return np.asarray(self.sign * (self._sums - np.diag(np.array(self.prior) + self._logs)))

    @property
    def size(self) -> float:
        """A bound on the sum of the Frobenius norms of its parts."""
        parts = (self._sums, np.array(self.prior), self._logs)
        return float(sum(np.linalg.norm(part) for part in parts)) * (1 + 1e-9)

    @property
    def _sums(self) -> Array:
        return np.asarray(self.sums.astype(np.float64) / self.scale)

    @property
    def _logs(self) -> Array:
        side = len(self.prior)
        return np.zeros(side) if self.precision is None else side / 2 * np.log(np.array(self.precision))

    def at(self, frame: Fixed, arithmetic: Arithmetic) -> Interval:
        """The exponent at a frame."""
        # The form of S in integers: a step in an entry moves it by at most twice a row of S, and a little.
        form = int((self.sums @ frame.columns * frame.columns).sum())
        reach = (2 * 2**frame.bits + 3 * frame.steps) * frame.steps * frame.columns.shape[1]
        moved = reach * int(np.abs(self.sums).sum()) + 1
        one = Decimal(2) ** (2 * frame.bits)
        middle, radius = (np.array([Decimal(number) / one], dtype=object) for number in (form, moved))
        value = arithmetic.interval(middle, radius, 4 * abs(middle)) / arithmetic.exact(self.scale)
        columns = frame.intervals(arithmetic)
        for column in columns:
            value = value - (arithmetic.exact(self.prior) * column * column).sum()
        if self.precision is not None:
            weighted = [arithmetic.exact(self.precision) * column for column in columns]
            gram = [[(one_ * other).sum() for other in columns] for one_ in weighted]
            half = arithmetic.exact(len(self.prior) / 2)
            value = value - half * log_determinant_of(cholesky(gram))
        return value if self.sign > 0 else arithmetic.exact(0.0) - value


LATTICE = 2**20  # steps to a unit
FIRST_DIGITS = 40
BATCH = 64  # proposals at a time, all of them made whichever is accepted
MOST_IN_DOUBLES = 8  # columns, beyond which errors of doubles have grown too far to decide by
BATCH_IN_DECIMALS = 4  # fewer there, since each that might be accepted is looked at in decimals
BATCH_PROJECTED = 16  # likewise, but in few coordinates


@dataclass(frozen=True, slots=True)
class Proposals:
    """A batch of proposals whose normal numbers are fixed, to be looked at as closely as is needed.

    They have exponent `-sum excess |row|^2` in the coordinates of a rotation, in place of the true one. The true one
    exceeds it by at most `columns (top + error)`, so a last factor of the acceptance sets this right.
    """

    exponent: Exponent
    spans: SpanEnvelopes
    rotation: Rotation
    top: float
    error: float
    normals: Reals

    @property
    def width(self) -> float:
        return (len(self.spans.levels) + 1) * self.error

    def first_bounds(self) -> tuple[Array, Array]:
        """Bounds in doubles on all acceptance probabilities, with the last factor between its own bounds."""
        shape = (-1, normals_needed(self.spans))
        doubles = Arithmetic()
        numbers = Interval(self.normals.values.reshape(shape), self.normals.errors.reshape(shape), doubles)
        with np.errstate(all="ignore"):
            replay = Replay(self.spans, doubles, numbers)
            log, _ = replay.run()
            known = np.isfinite(log.middle) & np.isfinite(log.radius)
            centre, radius = np.where(known, log.middle, 0.0), np.where(known, log.radius, np.inf)
            # The last factor is at least this unless a determinant is in it, which may be anything.
            least = 2.1 * self.width if self.exponent.precision is None else np.inf
            low = np.exp(np.maximum(centre - radius - least, -800.0)) * (1 - 2.0**-50)
            high = np.exp(np.minimum(centre + radius, 0.0)) * (1 + 2.0**-50)
        low[~(centre - radius - least > -700.0)] = 0.0
        # Certainty of rejection is certain; otherwise no probability is zero.
        outside = np.broadcast_to(replay.outside, high.shape)
        return np.where(outside, 0.0, low), np.where(outside, 0.0, np.maximum(high, 1e-300))

    def bounds(self, row: int, digits: int) -> tuple[Decimal, Decimal]:
        """Bounds in decimals on one acceptance probability."""
        arithmetic = Arithmetic(digits)
        with localcontext(wide(digits)):
            try:
                replay = self._replay(row, arithmetic)
                log, columns = replay.run()
                if np.any(replay.outside):
                    return Decimal(0), Decimal(0)
                law = arithmetic.exact(self.spans.laws[-1])
                proposed = arithmetic.exact(self.top) * arithmetic.exact(len(columns))
                for column in columns:
                    proposed = proposed - (law * column * column).sum()
                at = self.exponent.at(self.rotation.turn(columns, digits), arithmetic)
                log = log + at - proposed - arithmetic.exact(self.width)
            except TooWide:
                return Decimal(0), Decimal(1)
            middle, radius, slack = log.middle.item(), log.radius.item(), 4 * arithmetic.unit
            low, high = (middle - radius).exp() * (1 - slack), (middle + radius).exp() * (1 + slack)
            return low, min(high, Decimal(1))

    def frame(self, row: int, digits: int) -> Fixed:
        """The columns of one proposal, turned back."""
        with localcontext(wide(digits)):
            _, columns = self._replay(row, Arithmetic(digits)).run()
        return self.rotation.turn(columns, digits)

    def _replay(self, row: int, arithmetic: Arithmetic) -> Replay:
        count = normals_needed(self.spans)
        return Replay(self.spans, arithmetic, refined(self.normals, row * count, count, arithmetic))


def refined(normals: Reals, start: int, count: int, arithmetic: Arithmetic) -> Interval:
    """Some normal numbers in decimals, (1, count)."""
    ends = [normals.refine(index, arithmetic.digits) for index in range(start, start + count)]
    middle = np.array([[(low + high) / 2 for low, high in ends]], dtype=object)
    radius = np.array([[high - low for low, high in ends]], dtype=object)
    return arithmetic.interval(middle, radius)


def draw_span(exponent: Exponent, columns: int, randomness: Randomness) -> tuple[Proposals, int]:
    """A batch of proposals and the one of them that is accepted."""
    matrix = exponent.approximate()
    values, vectors = np.linalg.eigh(matrix)
    top = float(values[-1])
    spans = SpanEnvelopes.of(top - values, columns)
    rotation = Rotation.near(vectors)
    error = _error(exponent.size, matrix, vectors, top - spans.laws[-1], rotation)
    # However large the error, proposals are right: they are accepted less often, by exp(-2 columns error). Nothing is
    # refused here, since a refusal would tell of the sums; `Frames` refuses by public facts what could make it large.
    batch = BATCH if columns <= MOST_IN_DOUBLES else BATCH_IN_DECIMALS
    batch = batch if exponent.precision is None else BATCH_PROJECTED
    while True:
        normals = draw_normals(batch * normals_needed(spans), randomness)
        proposals = Proposals(exponent, spans, rotation, top, error, normals)
        accepted = np.flatnonzero(decide(*proposals.first_bounds(), proposals.bounds, randomness))
        if len(accepted):
            return proposals, int(accepted[0])


def _error(size: float, matrix: Array, vectors: Array, values: Array, rotation: Rotation) -> float:
    """A bound on the distance in the operator norm between the true matrix and the one proposed with.

    Its parts: what doubles leave of `A U - U L`, the roundings of this product itself (`m^(3/2)` units in the last
    place of the norm of A at most), of the entries of A, of U and L, and the step to the nearest orthogonal matrix.
    """
    side = len(matrix)
    residual = float(np.linalg.norm(matrix @ vectors - vectors * values))
    units = (8 * side * math.sqrt(side) + 64) * 2.0**-52 + 4 * 2.0**-rotation.defect_bits
    return 2 * residual + (2 * size + float(np.linalg.norm(values))) * units


def draw_lattice_frame(exponent: Exponent, columns: int, k: int, randomness: Randomness) -> Integers:
    """A uniform frame of the span that is drawn, or of what is orthogonal to it, rounded to the lattice, (m, k)."""
    proposals, row = draw_span(exponent, columns, randomness)
    height = k if exponent.sign > 0 else len(exponent.prior)
    normals = draw_normals(height * k, randomness)
    digits = FIRST_DIGITS
    while True:
        arithmetic = Arithmetic(digits)
        with localcontext(wide(digits)):
            try:
                span = proposals.frame(row, digits).intervals(arithmetic)
                table = [refined(normals, j * height, height, arithmetic) for j in range(k)]
                if exponent.sign > 0:
                    # Uniform orthogonal matrices turn one frame of the span into any other.
                    frame = [_combined(span, weights) for weights in orthonormal_columns(table)]
                else:
                    frame = orthonormal_columns(table, span)
                cells = _cells(frame, digits)
            except TooWide:
                cells = None
        if cells is not None:
            return cells
        digits *= 2


def _combined(columns: list[Interval], weights: Interval) -> Interval:
    combined = columns[0] * weights[..., [0]]
    for place, column in enumerate(columns[1:], 1):
        combined = combined + column * weights[..., [place]]
    return combined


def _cells(frame: list[Interval], digits: int) -> Integers | None:
    """Every entry to the nearest lattice point, or nothing if one of them is too close to call."""
    # Room for all digits: the ends are exact.
    with localcontext(wide(4 * digits + 40)):
        half = Decimal("0.5")
        low, high = (
            [
                [math.floor(end * LATTICE + half) for end in (column.middle + sign * column.radius)[0]]
                for column in frame
            ]
            for sign in (-1, 1)
        )
    return np.array(low, dtype=np.int64).T if low == high else None

"""Come here for one frame drawn in real numbers and rounded to a lattice: every decision is the true one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.mechanisms.decision import decide, wide
from dpfda.mechanisms.frames.exponent import Exponent
from dpfda.mechanisms.frames.interval import Arithmetic, Interval, TooWide, orthonormal_columns
from dpfda.mechanisms.frames.replay import Replay, normals_needed
from dpfda.mechanisms.frames.rotation import Fixed, Rotation
from dpfda.mechanisms.frames.stiefel import Spans
from dpfda.mechanisms.normals import Reals, draw_normals
from dpfda.mechanisms.randomness import Randomness

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
    spans: Spans
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
    spans = Spans.of(top - values, columns)
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

"""Come here for the exact draw of principal components: orthonormal matrices with density `exp(tr V'AV)`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array, ArrayLike, Integers, brief, is_whole, public_numbers
from dpfda.errors import UsageError
from dpfda.mechanisms.base import check_source
from dpfda.mechanisms.frames.bingham import Pair, Single, accepted, fit_single
from dpfda.mechanisms.frames.envelopes import Central, Normal, fit
from dpfda.mechanisms.randomness import Randomness, SystemRandomness

LARGEST_ENTRY = 1e100
MOST_DRAWS = 10_000_000
MOST_NUMBERS = 2**21  # in the largest array of one batch
MOST_WORK = 2**31  # normal numbers without one acceptance, a minute or two


def draw_frames(A: ArrayLike, k: int, size: int = 1, *, randomness: Randomness | None = None) -> Array:
    """Independent orthonormal matrices with density proportional to `exp(tr V'AV)` against Haar measure, (size, m, k).

    Exact draws by rejection, not a Markov chain; exact up to the rounding of doubles, `2^-50 |A|` in the exponent.
    The density depends on the span of V alone, so V is uniform among the frames of its span: a span is drawn, of V or
    of what is orthogonal to it, whichever is smaller, and then a uniform frame of it. Typically one proposal in two is
    accepted, for tens of columns too; where none is in a minute or two, an error says so.
    """
    source = SystemRandomness() if randomness is None else randomness
    check_source(source)
    matrix = check_matrix(A)
    check_count(k, 1, len(matrix), "Frames have between 1 and {0} columns in {0} dimensions", "k")
    check_count(size, 1, None, "The number of draws is at least 1", "size")
    side = len(matrix)
    if k == side:
        return haar(size, side, source)
    small = min(k, side - k)
    values, vectors = np.linalg.eigh(matrix)
    # The complement of V has density exp(-tr W'AW): tr V'AV + tr W'AW is the trace of A.
    sampler = Spans.of(values.max() - values if small == k else values - values.min(), small)
    spans = vectors @ sampler.draw(size, source)
    if small == k:
        return spans @ haar(size, k, source)
    normals = source.normal((size, side, k))
    # Twice is enough for full orthogonality in doubles.
    for _ in range(2):
        normals -= spans @ (spans.transpose(0, 2, 1) @ normals)
    return orthonormal(normals)


@dataclass(frozen=True, slots=True)
class Level:
    """One vector of a span: the normalised projection of the leading axis, given the rest of the span.

    A k-dimensional span P holds a unit vector `v = (a, x)` along the projection of the leading axis, and what is
    orthogonal to v in P is a span P' orthogonal to that axis too. Haar measure of P is that of P' in one dimension less
    times `|a|^(k-1)` on the unit vectors orthogonal to P'. With excesses over the leading eigenvalue the exponent is
    `-tr P'E - x'Ex`. An envelope of the law of v with precision O has, on what is orthogonal to P', an integral
    proportional to `|B'O^-1 B|^(-1/2)`, B a frame of P', and this is at most `exp(tr B' log(O)/2 B)` by operator
    Jensen: so P' is drawn with the excess `E - log(O)/2`, by the same method, and what Jensen gave away decides.
    """

    leading: int
    envelope: Central | Normal

    def extend(self, frames: Array, randomness: Randomness) -> Array:
        """What is accepted of spans with one more vector, (N, n, k-1) -> (at most N, n + 1, k)."""
        roots = np.sqrt(self.envelope.precision)
        white = frames / roots[:, None]
        gram = white.transpose(0, 2, 1) @ white
        price = log_determinant(gram) + np.einsum("nia,nia,i->n", frames, frames, 2 * np.log(roots))
        normals = randomness.normal(frames.shape[:2])
        # Normals with this precision, given that they are orthogonal to the frame; the second pass removes rounding.
        for _ in range(2):
            normals -= (white @ np.linalg.solve(gram, white.transpose(0, 2, 1) @ normals[:, :, None]))[:, :, 0]
        first, others, accept = self.envelope.place(normals / roots, randomness)
        kept = accepted(accept - 0.5 * price, randomness)
        columns = np.concatenate([others[kept, :, None], frames[kept]], axis=2)
        row = np.zeros((len(kept), 1, columns.shape[2]))
        row[:, 0, 0] = first[kept]
        return np.concatenate([columns[:, : self.leading], row, columns[:, self.leading :]], axis=1)


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans with density `exp(-sum excess_i |row i of V|^2)`: one vector first, then a level for each other."""

    side: int
    order: Integers  # the coordinates of the first vector by their excess, (n,)
    single: Single | Pair
    levels: tuple[Level, ...]
    laws: tuple[Array, ...]  # the excess that the first vector, and then each level, is drawn with

    @staticmethod
    def of(excess: Array, k: int) -> Spans:
        levels: list[Level] = []
        laws = [excess]
        for weight in range(k, 1, -1):
            leading = int(np.argmin(excess))
            others = from_below(np.delete(excess, leading) - excess[leading])
            envelope = fit(others, weight)
            levels.append(Level(leading, envelope))
            logs = 0.5 * np.log(envelope.precision)
            # A little lower, so that it is an envelope as real numbers have it too.
            excess = (others - logs) - 2.0**-48 * (others + np.abs(logs) + 1)
            laws.append(excess)
        order = np.argsort(excess, kind="stable")
        single = fit_single(from_below(excess[order[1:]] - excess[order[0]]))
        return Spans(len(laws[0]), order.astype(np.int64), single, tuple(reversed(levels)), tuple(reversed(laws)))

    def propose(self, size: int, randomness: Randomness) -> Array:
        """What is accepted of so many proposals, (at most size, side, k)."""
        vectors = self.single.propose(size, randomness)[:, np.argsort(self.order)]
        frames: Array = vectors[:, :, None]
        for level in self.levels:
            frames = level.extend(frames, randomness)
        return frames

    def draw(self, size: int, randomness: Randomness) -> Array:
        """Exact draws, (size, side, k)."""
        found: list[Array] = []
        missing, tried, kept = size, 0, 0
        most = max(16, MOST_NUMBERS // (self.side * (len(self.levels) + 1)))
        while missing > 0:
            batch = min(math.ceil(1.1 * missing * (tried + 8) / (kept + 4)) + 16, most)
            frames = self.propose(batch, randomness)
            tried, kept = tried + batch, kept + len(frames)
            found.append(frames[:missing])
            missing -= len(found[-1])
            if not kept and tried * self.side * (len(self.levels) + 1) > MOST_WORK:
                raise UsageError(
                    f"None of {tried} proposals was accepted for {len(self.levels) + 1} of {self.side} dimensions. "
                    "Take fewer columns, or nearly all of them."
                )
        return np.concatenate(found)


def from_below(differences: Array) -> Array:
    """Rounded differences that are not negative, each moved to where it is not above the true one."""
    return np.asarray(np.nextafter(differences, 0.0))


def haar(size: int, side: int, randomness: Randomness) -> Array:
    """Uniform orthogonal matrices, (size, side, side)."""
    return orthonormal(randomness.normal((size, side, side)))


def orthonormal(matrices: Array) -> Array:
    """The frame of each matrix by Gram and Schmidt, unique by a positive diagonal: normals give Haar measure."""
    frames, triangles = np.linalg.qr(matrices)
    signs = np.sign(np.einsum("nii->ni", triangles))
    frames *= np.where(signs == 0, 1.0, signs)[:, None, :]
    return np.asarray(frames)


def log_determinant(gram: Array) -> Array:
    """Logarithms of the determinants of positive definite matrices, (N, k, k) -> (N,)."""
    if gram.shape[1] == 1:
        return np.asarray(np.log(gram[:, 0, 0]))
    return np.asarray(np.linalg.slogdet(gram)[1])


def check_matrix(A: ArrayLike) -> Array:
    """A symmetric matrix of moderate finite numbers."""
    matrix = public_numbers(A, "The entries of A")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise UsageError(f"Frames are drawn for a square matrix, got shape {matrix.shape}. Pass A as (m, m).")
    largest = float(np.abs(matrix).max())
    if not largest <= LARGEST_ENTRY:
        raise UsageError(
            f"The entries of A must be finite and at most {LARGEST_ENTRY:g}, the largest is {brief(largest)}. Rescale "
            "A."
        )
    if float(np.abs(matrix - matrix.T).max()) > 1e-12 * largest:
        raise UsageError(
            f"A must be symmetric, but an entry differs from its mirror by {np.abs(matrix - matrix.T).max():g}. "
            "Pass (A + A.T) / 2."
        )
    return np.asarray((matrix + matrix.T) / 2)


def check_count(value: int, least: int, most: int | None, rule: str, name: str) -> None:
    """A count is a whole number within its rule, and never so large that memory or patience ends."""
    if not is_whole(value, -(2**62), 2**62):
        raise UsageError(f"{rule.format(most)}, a whole number, got {name}={brief(value)}.")
    if value < least or (most is not None and value > most):
        raise UsageError(f"{rule.format(most)}, got {name}={brief(value)}.")
    if value > MOST_DRAWS:
        raise UsageError(f"{name} is at most {MOST_DRAWS} in one call, got {brief(value)}. Make several.")

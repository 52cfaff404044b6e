"""Exact draws of orthonormal frames with density proportional to `exp(tr V'AV)`, one unit vector at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array, ArrayLike, Integers, brief, is_whole, public_numbers
from dpfda.errors import UsageError
from dpfda.mechanisms.base import check_source
from dpfda.mechanisms.randomness import Randomness, SystemRandomness


@dataclass(frozen=True, slots=True)
class Central:
    """An angular central Gaussian law above `|a|^(weight-1) exp(-sum excess x^2)` on unit vectors `(a, x)`.

    With `y = sum excess x^2` and `d` the number of dimensions that weight and x make together,
    `exp(-y) (1 + 2y/tilt)^(d/2)` is largest at `y = (d - tilt)/2`, whatever the tilt (Kent, Ganeiber and Mardia 2018,
    for weight 1). Small excesses are its strength: where there are none it is exact.
    """

    excess: Array  # (n,)
    weight: int
    dimension: int
    tilt: float

    @property
    def precision(self) -> Array:
        return 1 + 2 * self.excess / self.tilt

    def place(self, normals: Array, randomness: Randomness) -> tuple[Array, Array, Array]:
        """Unit vectors from normals of this precision, (N, n): a, x and the logarithm of the acceptance."""
        lengths = np.sqrt(np.sum(randomness.normal((len(normals), self.weight)) ** 2, axis=1))
        norms = np.sqrt(lengths**2 + np.einsum("ni,ni->n", normals, normals))
        x = normals / norms[:, None]
        y = x**2 @ self.excess
        half = self.dimension / 2
        accept = half * np.log1p(2 * y / self.tilt) - y + (self.dimension - self.tilt) / 2
        return lengths / norms, x, accept - half * math.log(self.dimension / self.tilt)


@dataclass(frozen=True, slots=True)
class Normal:
    """A normal law above `(1 - |x|^2)^((weight-2)/2) exp(-sum excess x^2)` inside the unit ball, for weights from 2.

    Its precision is `2 (excess + tilt)`: inside the ball `tilt |x|^2` is bounded. Large excesses are its strength.
    """

    excess: Array  # (n,)
    weight: int
    tilt: float

    @property
    def precision(self) -> Array:
        return 2 * (self.excess + self.tilt)

    @property
    def log_bound(self) -> float:
        """The largest value of `(weight-2)/2 log(1 - s) + tilt s` for s in the unit interval."""
        power = (self.weight - 2) / 2
        if power >= self.tilt:
            return 0.0
        return self.tilt - power + (power * math.log(power / self.tilt) if power else 0.0)

    def place(self, normals: Array, randomness: Randomness) -> tuple[Array, Array, Array]:
        """Unit vectors `(sqrt(1 - |x|^2), x)` as for the other law; outside of the ball nothing is accepted."""
        squares = np.einsum("ni,ni->n", normals, normals)
        rest = np.maximum(1 - squares, 0.0)
        inside = rest > 0
        power = (self.weight - 2) / 2
        accept = power * np.log(np.where(inside, rest, 1.0)) + self.tilt * squares - self.log_bound
        return np.sqrt(rest), normals, np.where(inside, accept, -np.inf)


def fit(excess: Array, weight: int) -> Central | Normal:
    """The law with the smaller envelope; either is correct, and so is any tilt.

    What is sampled lies outside of `weight - 1` directions not known yet, most likely those of the smallest excesses.
    """
    others = np.sort(excess)[weight - 1 :]
    dimension = len(others) + weight
    tilt = least_tilt(others, weight)
    central = Central(excess, weight, dimension, tilt)
    if weight == 1:
        return central
    normal = Normal(excess, weight, max(least_tilt(others, weight - 2), weight - 2) / 2)
    if normal.tilt + float(excess.min()) <= 0:
        return central
    volume_of_central = central_volume(central, others)
    volume_of_normal = normal.log_bound - 0.5 * float(np.log(others + normal.tilt).sum())
    return normal if volume_of_normal < volume_of_central else central


def central_volume(central: Central, others: Array) -> float:
    """The logarithm of the integral of the envelope over x in the unit ball, without `pi^(n/2)`."""
    half = central.dimension / 2
    bound = half * math.log(central.dimension / central.tilt) - (central.dimension - central.tilt) / 2
    stretch = 0.5 * float(np.log1p(2 * others / central.tilt).sum())
    return bound - stretch + math.lgamma(central.weight / 2) - math.lgamma(half)


def least_tilt(excess: Array, weight: int) -> float:
    """The root of `weight/b + sum 1/(b + 2 excess) = 1`, at which an envelope is smallest; 0 if there is none."""
    tilt = float(weight)
    if weight == 0:
        smallest = 2 * float(excess.min())
        if smallest >= 1 and float((0.5 / excess).sum()) <= 1:
            return 0.0
        tilt = max(1 - smallest, 1e-6)  # at the smallest excess alone the sum is 1 or more there, or nearly
    # The left side is convex and falls: from below Newton's steps never pass the root.
    for _ in range(60):
        widths = tilt + 2 * excess
        above = weight / tilt + float((1 / widths).sum()) - 1
        if above < 1e-9:
            break
        tilt += above / (weight / tilt**2 + float((1 / widths**2).sum()))
    return tilt


@dataclass(frozen=True, slots=True)
class Single:
    """Proposals on the whole sphere from an angular central Gaussian law (Kent, Ganeiber and Mardia 2018)."""

    central: Central

    @property
    def volume(self) -> float:
        """The logarithm of the integral of the envelope, without a constant of the dimension."""
        return central_volume(self.central, self.central.excess)

    def propose(self, size: int, randomness: Randomness) -> Array:
        """What is accepted of so many proposals, (at most size, 1 + n)."""
        normals = randomness.normal((size, len(self.central.excess))) / np.sqrt(self.central.precision)
        first, others, accept = self.central.place(normals, randomness)
        kept = accepted(accept, randomness)
        return np.concatenate([first[kept, None], others[kept]], axis=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A point on the circle of the two leading coordinates, then normals for all others, kept inside the ball.

    A unit vector is `(sqrt(1 - |x|^2) (cos t, sin t), x)` with uniform measure `dt dx`. Given the angle, x has
    exponent `-sum (excess - s) x^2`, `s = second sin(t)^2`: normals of precision `2 (excess - s + tilt)`. The angle has
    density `exp(-s) prod (excess - s + tilt)^(-1/2)` then, and since a logarithm is concave this lies below
    `exp(-slope sin(t)^2)`, touching at the two axes. Large excesses are its strength.
    """

    second: float
    excess: Array  # (n - 1,)
    tilt: float

    @property
    def slope(self) -> float:
        """The slope of the chord, from below: a smaller one is an envelope still."""
        logs = np.log1p(-self.second / (self.excess + self.tilt))
        return self.second + 0.5 * float(np.sum(logs)) - 2.0**-44 * (self.second - float(np.sum(logs)))

    @property
    def circle(self) -> Single:
        """The law of the point on the circle; where the slope is negative the two axes change places."""
        excess = np.array([abs(self.slope)])
        return Single(Central(excess, 1, 2, least_tilt(excess, 1)))

    @property
    def volume(self) -> float:
        """The logarithm of the integral of the envelope, without the same constant."""
        from scipy.special import i0e

        spread = math.log(float(i0e(abs(self.slope) / 2))) + max(-self.slope, 0.0) + 0.5 * math.log(math.pi)
        return self.tilt + spread - 0.5 * float(np.log(self.excess + self.tilt).sum())

    def propose(self, size: int, randomness: Randomness) -> Array:
        """What is accepted of so many proposals, (at most size, 1 + n)."""
        circle = _on_circle(self.circle, size, randomness)[:, :: 1 if self.slope >= 0 else -1]
        squares = circle[:, 1] ** 2
        widths = self.excess + self.tilt - self.second * squares[:, None]
        # Jensen's price: the chord of the concave logarithm against the logarithm itself.
        chord = np.outer(squares, np.log1p(-self.second / (self.excess + self.tilt))).sum(axis=1)
        price = 0.5 * (chord - np.log(widths / (self.excess + self.tilt)).sum(axis=1))
        others = randomness.normal(widths.shape) / np.sqrt(2 * widths)
        rest = 1 - np.einsum("ni,ni->n", others, others)
        kept = accepted(np.where(rest > 0, price - self.tilt * rest, -np.inf), randomness)
        return np.concatenate([circle[kept] * np.sqrt(rest[kept, None]), others[kept]], axis=1)


def fit_single(excess: Array) -> Single | Pair:
    """The law with the smaller envelope for one unit vector `(a, x)`, excesses of x ascending."""
    single = Single(Central(excess, 1, len(excess) + 1, least_tilt(excess, 1)))
    if len(excess) == 1:
        return single
    second, others = float(excess[0]), excess[1:]
    least = least_tilt(others, 0) / 2
    gap = float(others[0]) - second
    # The best tilt has no closed form where the two leading coordinates mix; any with positive widths will do.
    tilts = [least, *(least + step for step in (0.25, 0.5, 1.0, 2.0))]
    pairs = [Pair(second, others, tilt) for tilt in tilts if gap + tilt > 1e-9 * (second + 1)]
    best = min(pairs, key=lambda pair: pair.volume, default=None)
    return single if best is None or single.volume <= best.volume else best


def accepted(log_probability: Array, randomness: Randomness) -> Integers:
    """The rows that a uniform number lets pass."""
    return np.flatnonzero(np.log(randomness.uniform((len(log_probability),))) < log_probability).astype(np.int64)


def _on_circle(single: Single, size: int, randomness: Randomness) -> Array:
    """Points of the circle, as many as were asked for, (size, 2)."""
    found, missing = [], size
    while missing > 0:
        found.append(single.propose(math.ceil(1.7 * missing) + 4, randomness)[:missing])
        missing -= len(found[-1])
    return np.concatenate(found)


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
    k = check_count(k, 1, len(matrix), "Frames have between 1 and {0} columns in {0} dimensions", "k")
    size = check_count(size, 1, None, "The number of draws is at least 1", "size")
    side = len(matrix)
    if k == side:
        return haar(size, side, source)
    small = min(k, side - k)
    values, vectors = np.linalg.eigh(matrix)
    # The complement of V has density exp(-tr W'AW): tr V'AV + tr W'AW is the trace of A.
    sampler = SpanEnvelopes.of(values.max() - values if small == k else values - values.min(), small)
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
class SpanEnvelopes:
    """SpanEnvelopes with density `exp(-sum excess_i |row i of V|^2)`: one vector first, then a level for each other."""

    side: int
    order: Integers  # the coordinates of the first vector by their excess, (n,)
    single: Single | Pair
    levels: tuple[Level, ...]
    laws: tuple[Array, ...]  # the excess that the first vector, and then each level, is drawn with

    @staticmethod
    def of(excess: Array, k: int) -> SpanEnvelopes:
        """Envelopes for spans of k vectors with these excesses, fitted one vector after the other."""
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
        return SpanEnvelopes(
            len(laws[0]), order.astype(np.int64), single, tuple(reversed(levels)), tuple(reversed(laws))
        )

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


def check_count(value: int, least: int, most: int | None, rule: str, name: str) -> int:
    """A count as a plain whole number: within its rule, and never so large that memory or patience ends."""
    if not is_whole(value, -(2**62), 2**62):
        raise UsageError(f"{rule.format(most)}, a whole number, got {name}={brief(value)}.")
    if value < least or (most is not None and value > most):
        raise UsageError(f"{rule.format(most)}, got {name}={brief(value)}.")
    if value > MOST_DRAWS:
        raise UsageError(f"{name} is at most {MOST_DRAWS} in one call, got {brief(value)}. Make several.")
    return int(value)

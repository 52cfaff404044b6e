"""Private principal components: the exponential mechanism over orthonormal frames, and a Gibbs sampler to compare."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpfda.arrays import Array, ArrayLike, Integers, as_plain_ints, as_real, brief
from dpfda.bases.symmetric import places, side_of
from dpfda.errors import UsageError
from dpfda.mechanisms.base import check_coordinates, check_profile, check_source, register_draw
from dpfda.mechanisms.frames.exact import LATTICE, Exponent, draw_lattice_frame
from dpfda.mechanisms.frames.stiefel import check_count, check_matrix, orthonormal
from dpfda.mechanisms.noise import NothingAdded, register_law
from dpfda.mechanisms.randomness import Randomness, SystemRandomness
from dpfda.messages import arg
from dpfda.privacy.norms import Norm, Nuclear, Sensitivity, up
from dpfda.privacy.profiles import RangeProfile

MOST_PROJECTED = 6  # beyond it too few proposals are accepted under the projected measure
SMALLEST_SCALE, LARGEST_SCALE = 1e-6, 1e18
LARGEST_PRECISION = 1e10  # beyond it doubles propose so badly that hardly anything is accepted


@register_draw
@dataclass(frozen=True, slots=True)
class Frames:
    """k orthonormal columns V for a sum S of outer products: density `exp(tr V'SV / scale)` against a base measure.

    Awan et al. (2019), Theorem 4.1. `base="bingham"`: the measure `exp(-tr V'PV/2)`, P the diagonal `precision`, or the
    uniform one; `"projected"`: the span of k vectors `N(0, P^-1)`, density `|V'PV|^(-m/2)`. Neither sees epsilon.

    A unit that changes S by D changes the exponent by `tr V'DV / scale`. Whatever V, `tr V'DV` lies between the sum of
    the negative eigenvalues of D and the sum of its positive ones: an interval of length nuclear(D). The normaliser
    moves all log likelihood ratios alike, so this is bounded range. The draw is one of real numbers, with every
    decision the true one (`frames.exactly`), and is rounded to a lattice afterwards: nothing is added to epsilon.

    Proposals are made 64 at a time whichever of them is accepted, so the time of a draw depends on the data only by the
    chance that all are rejected, 1e-4 where one in seven is accepted (`python -m bench` shows how many are), and by
    that of a decision that needs decimals, below 1e-4. Under the projected measure, and for more than 8 columns, fewer
    are made at a time and those that might be accepted are looked at in decimals: there the time depends on the data.
    """

    k: int
    precision: tuple[float, ...] | None = None
    base: Literal["bingham", "projected"] = "bingham"

    name: ClassVar[str] = "exponential"
    laws: ClassVar[tuple[str, ...]] = ("frame",)
    norms: ClassVar[tuple[str, ...]] = ("Nuclear",)
    whole: ClassVar[bool] = True
    norm: ClassVar[Norm] = Nuclear()
    pure: ClassVar[bool] = True
    warning: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if not isinstance(self.base, str) or self.base not in ("bingham", "projected"):
            raise UsageError(
                f"A base measure of frames is 'bingham' or 'projected', got {brief(self.base)}.",
                parameter="base",
                value=self.base,
            )
        _check(self.k, self.precision)
        as_plain_ints(self, "k")
        if self.base == "projected":
            if self.precision is None:
                raise UsageError(
                    "The projected base measure needs a precision: that of the normal vectors.", parameter="precision"
                )
            if self.k < len(self.precision) and len(self.precision) > MOST_PROJECTED:
                raise UsageError(
                    f"The projected base measure takes up to {MOST_PROJECTED} coordinates, got "
                    f"{len(self.precision)}: beyond, almost no proposal is accepted. Take fewer, or ",
                    arg("base", "bingham"),
                    ", which takes any number.",
                    parameter="precision",
                    value=len(self.precision),
                )

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> RangeProfile:
        check_profile(sensitivity, scale, size)
        return RangeProfile(up(sensitivity.to(self.norm, size).value / scale))

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Integers:
        """The frame in steps of 2^-20, row by row, (m k,): a uniform one of its span."""
        check_source(randomness)
        sums = _unpacked(coordinates, self.k, self.precision, scale)
        side = len(sums)
        if self.k == side:
            # Every frame spans the whole space: one of them says as much as any other.
            return (np.eye(side, dtype=np.int64) * LATTICE).reshape(-1)
        weights = self.precision or (0.0,) * side
        projected = self.base == "projected"
        # Halves of doubles are doubles. What is orthogonal to the frame is drawn where it is smaller.
        prior = (0.0,) * side if projected else tuple(weight / 2 for weight in weights)
        turned = not projected and side - self.k < self.k
        exponent = Exponent(sums.astype(object), scale, prior, weights if projected else None, -1 if turned else 1)
        columns = side - self.k if turned else self.k
        return draw_lattice_frame(exponent, columns, self.k, randomness).reshape(-1)

    def noise(self, scale: float, size: int) -> FrameLaw:
        """A choice adds nothing, and the law says so."""
        return FrameLaw((side_of(size) * self.k,), (scale,))


@register_draw
@dataclass(frozen=True, slots=True)
class Gibbs:
    """The same law as `Frames` in its Bingham form, by the Markov chain of Hoff (2009): approximate, for comparison.

    The chain has not reached its law after any number of steps, so the epsilon is that of the law it tends to and no
    more than nominal; `warning` says so on plans and cards.
    """

    k: int
    precision: tuple[float, ...] | None = None
    steps: int = 20_000

    name: ClassVar[str] = "gibbs"
    laws: ClassVar[tuple[str, ...]] = ("frame",)
    norms: ClassVar[tuple[str, ...]] = ("Nuclear",)
    whole: ClassVar[bool] = True
    base: ClassVar[str] = "bingham"
    norm: ClassVar[Norm] = Nuclear()
    pure: ClassVar[bool] = True
    warning: ClassVar[str] = (
        "A Markov chain draws these components approximately: epsilon is that of the law it tends to, not a guarantee. "
        "mechanism='exponential' draws them exactly."
    )

    def __post_init__(self) -> None:
        _check(self.k, self.precision)
        check_count(self.steps, 1, None, "A Markov chain takes at least 1 step", "steps")
        as_plain_ints(self, "k", "steps")

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> RangeProfile:
        check_profile(sensitivity, scale, size)
        return RangeProfile(up(sensitivity.to(self.norm, size).value / scale))

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Integers:
        check_source(randomness)
        sums = _unpacked(coordinates, self.k, self.precision, scale)
        matrix = sums / scale - np.diag(np.array(self.precision or (0.0,) * len(sums)) / 2)
        frame = gibbs_frames(matrix, self.k, self.steps, randomness=randomness)[0]
        cells: Integers = np.rint(frame * LATTICE).astype(np.int64).reshape(-1)
        return cells

    def noise(self, scale: float, size: int) -> FrameLaw:
        return FrameLaw((side_of(size) * self.k,), (scale,))


@register_law
@dataclass(frozen=True, slots=True)
class FrameLaw(NothingAdded):
    """The coordinates are those of an orthonormal frame, drawn by the exponential mechanism."""

    name: ClassVar[str] = "frame"

    @property
    def text(self) -> str:
        return "none added: a frame drawn by the exponential mechanism"


def _check(k: int, precision: tuple[float, ...] | None) -> None:
    if not (precision is None or isinstance(precision, tuple | list)):
        raise UsageError(
            f"The precision of a base measure is a tuple of numbers, got {brief(precision)}.",
            parameter="precision",
            value=precision,
        )
    most = None if precision is None else len(precision)
    check_count(k, 1, most, "Frames have at least 1 column" + ("" if most is None else " and at most {}"), "k")
    if precision is not None and not all(0 < as_real(value) <= LARGEST_PRECISION for value in precision):
        raise UsageError(
            f"The precision of a base measure is positive and at most {LARGEST_PRECISION:g}, got "
            f"{brief(precision)}. Leave out coordinates that have next to no variance.",
            parameter="precision",
            value=precision,
        )


def _unpacked(coordinates: Integers, k: int, precision: tuple[float, ...] | None, scale: float) -> Integers:
    """The matrix of sums, after checks that look at public facts alone."""
    vector = check_coordinates(coordinates)
    side = side_of(len(vector))
    check_count(k, 1, side, "Frames have between 1 and {0} columns in {0} dimensions", "k")
    if precision is not None and len(precision) != side:
        raise UsageError(
            f"The base measure has {len(precision)} coordinates, and the matrix {side}.",
            parameter="precision",
            value=len(precision),
        )
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise UsageError(
            f"The scale of a choice must lie between {SMALLEST_SCALE:g} and {LARGEST_SCALE:g}, got {brief(scale)}. "
            "An epsilon nearer to 1 brings it there.",
            parameter="scale",
            value=scale,
        )
    first, second = places(side)
    matrix = np.empty((side, side), dtype=np.int64)
    matrix[first, second] = matrix[second, first] = vector
    return matrix


def gibbs_frames(A: ArrayLike, k: int, steps: int, size: int = 1, *, randomness: Randomness | None = None) -> Array:
    """Last states of independent Markov chains that tend to density `exp(tr V'AV)`, (size, m, k), after Hoff (2009).

    Every chain starts uniformly; a step renews each column given the others, coordinate by coordinate. However many
    steps there are, these draws are approximate: no claim of privacy rests on them.
    """
    source = SystemRandomness() if randomness is None else randomness
    check_source(source)
    matrix = check_matrix(A)
    side = len(matrix)
    k = check_count(k, 1, side, "Frames have between 1 and {0} columns in {0} dimensions", "k")
    steps = check_count(steps, 0, None, "The number of steps is at least 0", "steps")
    size = check_count(size, 1, None, "The number of chains is at least 1", "size")
    frames = orthonormal(source.normal((size, side, k)))
    if k == side:
        return frames
    for _ in range(steps):
        for column in range(k):
            _renew(frames, column, matrix, source)
    return frames


def _renew(frames: Array, column: int, matrix: Array, randomness: Randomness) -> None:
    """One column given the others: a unit vector orthogonal to them, in the eigenvectors of what A is there."""
    others = np.delete(frames, column, axis=2)
    completed = np.linalg.qr(np.concatenate([others, frames[:, :, [column]]], axis=2), mode="complete")[0]
    free = completed[:, :, others.shape[2] :]  # (size, m, n)
    values, axes = np.linalg.eigh(free.transpose(0, 2, 1) @ matrix @ free)
    directions = free @ axes
    coordinates = np.einsum("nij,ni->nj", directions, frames[:, :, column])
    # A vector along an axis exactly has no direction in the others: any will do.
    coordinates = np.where(np.abs(coordinates) < 1e-100, 1e-100, coordinates)
    for place in range(coordinates.shape[1]):
        squares = coordinates**2
        squares[:, place] = 0.0
        rest = squares.sum(axis=1)
        # The exponent is linear in the square of one coordinate when the direction of the others stays.
        slope = values[:, place] - np.einsum("nj,nj->n", squares, values) / rest
        share = _share(slope, coordinates.shape[1], randomness)
        signs = np.where(randomness.uniform((len(share),)) < 0.5, -1.0, 1.0)
        coordinates *= np.sqrt((1 - share) / rest)[:, None]
        coordinates[:, place] = signs * np.sqrt(share)
    frames[:, :, column] = np.einsum("nij,nj->ni", directions, coordinates)


def _share(slope: Array, dimension: int, randomness: Randomness) -> Array:
    """The square of the first coordinate of a unit vector with density `exp(slope first^2)`, one for each slope.

    Rejection from angular central Gaussian laws, as for one component; only two lengths matter.
    """
    excess = np.abs(slope)
    ones = np.where(slope >= 0, 1, dimension - 1)  # how many coordinates have no excess
    # The root of ones/b + (dimension - ones)/(b + 2 excess) = 1.
    half = (dimension - 2 * excess) / 2
    root = np.sqrt(half**2 + 2 * excess * ones)
    # Of the two forms the one without cancellation.
    tilt = np.where(half >= 0, half + root, 2 * excess * ones / np.maximum(root - half, root))
    share = np.empty(len(slope))
    open_ = np.arange(len(slope))
    while len(open_):
        squares = randomness.normal((len(open_), dimension)) ** 2
        first, others = squares[:, 0], squares[:, 1:].sum(axis=1)
        rising, b, e = slope[open_] >= 0, tilt[open_], excess[open_]
        shrink = 1 + 2 * e / b
        first, others = np.where(rising, first, first / shrink), np.where(rising, others / shrink, others)
        proposal = first / (first + others)
        y = e * np.where(rising, 1 - proposal, proposal)
        log_bound = dimension / 2 * np.log(dimension / b) - (dimension - b) / 2
        accept = dimension / 2 * np.log1p(2 * y / b) - y - log_bound
        kept = np.log(randomness.uniform((len(open_),))) < accept
        share[open_[kept]] = proposal[kept]
        open_ = open_[~kept]
    return np.minimum(share, math.nextafter(1.0, 0.0))

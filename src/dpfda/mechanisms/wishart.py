"""Two-sided Wishart noise on symmetric matrices: pure epsilon for second moments."""

from __future__ import annotations

from dataclasses import dataclass
from operator import mul
from typing import ClassVar, Never

import numpy as np

from dpfda.arrays import Array, Integers, brief
from dpfda.bases.symmetric import multiplicities, pack, places, side_of
from dpfda.errors import UsageError
from dpfda.mechanisms.base import check_coordinates, check_profile, check_source
from dpfda.mechanisms.decision import Booleans
from dpfda.mechanisms.noise import Care, NoiseLaw, Simulator, register_law
from dpfda.mechanisms.normals import WORD, Reals, draw_normals
from dpfda.mechanisms.randomness import LARGEST_SCALE, SMALLEST_SCALE, Randomness
from dpfda.mechanisms.table import register_mechanism
from dpfda.privacy import PureProfile
from dpfda.privacy.norms import Norm, Nuclear, Sensitivity, up

LARGEST_BATCH = 2**20  # entries of matrices at a time


@register_mechanism("wishart", serves=("covariance", "components"), shaped=True)
@dataclass(frozen=True, slots=True)
class Wishart:
    """Noise `W_1 - W_2`, rounded, on a symmetric integer matrix S that is given by its entries (`symmetric.pack`).

    `W_i = (scale/2) G_i'G_i`, G_i of m+1 rows of m standard normal numbers: with one row more than columns the density
    is `exp(-tr W / scale)` on the cone of positive semidefinite matrices, up to a constant: no power of the determinant
    is left. `E|W_1 - W_2|_F^2 = m (m+1)^2 scale^2 / 2`.

    Privacy. Let S move by `D = D_+ - D_-`, both parts positive semidefinite. The sum is the same as before if W_1 grows
    by D_- and W_2 by D_+. Both stay in the cone, which is closed under sums, and their joint density falls by the
    factor `exp(-(tr D_- + tr D_+) / scale)`, everywhere. So every event keeps at least that share of its probability:
    with the parts of the eigendecomposition the loss is `nuclear(D) / scale`, and the same for -D. Rounding the sum,
    entry by entry, is post-processing; it is the same as rounding the noise, because S is whole. `draw_noise` says why
    this holds for what is computed, and not for real numbers alone.
    """

    name: ClassVar[str] = "wishart"
    laws: ClassVar[tuple[str, ...]] = ("wishart",)
    norms: ClassVar[tuple[str, ...]] = ("Nuclear",)
    norm: ClassVar[Norm] = Nuclear()
    pure: ClassVar[bool] = True

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> PureProfile:
        check_profile(sensitivity, scale, size)
        # The scale that is drawn with is this double itself: halves of doubles are exact, and so is all that follows.
        return PureProfile(up(sensitivity.to(self.norm, size).value / scale))

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Integers:
        check_source(randomness)
        vector = check_coordinates(coordinates)
        # A sum beyond 64 bits wraps around: a function of the noisy sum, so private too.
        noisy: Integers = vector + draw_noise(side_of(len(vector)), scale, randomness)
        return noisy

    def noise(self, scale: float, size: int) -> WishartLaw:
        return WishartLaw((size,), (scale,))


@register_law
@dataclass(frozen=True, slots=True)
class WishartLaw(NoiseLaw):
    """One block, the entries of a symmetric matrix as `symmetric.pack` orders them: a difference of two matrices.

    They are independent, with density proportional to `exp(-tr W / scale)`. The entries of the difference are
    uncorrelated, but not independent.
    """

    name: ClassVar[str] = "wishart"
    curves: ClassVar[tuple[str, ...]] = ("pure",)
    care: ClassVar[Care] = Care(1.75, 4.0)
    added: ClassVar[bool] = True
    independent: ClassVar[bool] = False
    at_one_point: ClassVar[float] = 2.2  # 2.12 for a matrix of one entry, the heaviest tail

    def __post_init__(self) -> None:
        NoiseLaw.__post_init__(self)
        if len(self.sizes) > 1:
            raise UsageError(
                f"Wishart noise is that of one symmetric matrix, not of {len(self.sizes)} blocks.",
                parameter="sizes",
                value=len(self.sizes),
            )
        side_of(self.size)

    @property
    def _side(self) -> int:
        return side_of(self.size)

    @property
    def variances(self) -> Array:
        """The variance of every entry, (size,); m by m, their squares add up to `m (m+1)^2 scale^2 / 2`."""
        # Each of two matrices G'G of m+1 rows has variances 2(m+1) and, off the diagonal, m+1; times (scale/2)^2.
        # The array keeps numpy's power, which rounds otherwise than Python's.
        squares = np.array(self.scales) ** 2
        return np.asarray(squares[0] * (self._side + 1) / multiplicities(self._side))

    @property
    def dimension(self) -> int:
        return 2 * self.size

    def from_uniforms(self, uniforms: Array) -> Array:
        parts = max(1, len(uniforms) * self.size // LARGEST_BATCH)
        return np.concatenate([self._differences(part) for part in np.array_split(uniforms, parts)])

    def _differences(self, uniforms: Array) -> Array:
        from scipy.special import gammaincinv, ndtri

        side = self._side
        # Bartlett: G'G has the law of A A', A lower triangular with independent normals below and, on the diagonal,
        # roots of chi-squares of m+1, m, ..., 2 degrees of freedom.
        first, second = places(side)
        noise = np.zeros((len(uniforms), self.size))
        for sign, points in zip((1.0, -1.0), np.split(uniforms, 2, axis=1), strict=True):
            factors = np.zeros((len(points), side, side))
            factors[:, second[side:], first[side:]] = ndtri(points[:, side:])
            factors[:, first[:side], first[:side]] = np.sqrt(
                2 * gammaincinv((side + 1 - np.arange(side)) / 2, points[:, :side])
            )
            squares = factors @ factors.transpose(0, 2, 1)
            noise += sign * self.scales[0] / 2 * squares[:, first, second]
        return noise

    def standard_draws(self, generator: Simulator, count: int) -> Array:
        """Differences of two matrices `G'G / 2`, G with one row more than columns, each entry over its deviation."""
        side = self._side
        first, second = places(side)
        drawn = np.zeros((count, self.size))
        for start in range(0, count, 256):
            part = drawn[start : start + 256]
            for sign in (0.5, -0.5):
                rows = generator.standard_normal((len(part), side + 1, side))
                part += sign * np.matmul(rows.transpose(0, 2, 1), rows)[:, first, second]
        drawn /= np.sqrt(self.standard().variances)
        return drawn

    def tail(self, failure: float) -> Array:
        from scipy.optimize import brentq

        def reach(degrees: int) -> float:
            """Chernoff's bound for a difference of two chi-squares, whose moments are `(1 - 4 t^2)^(-degrees/2)`."""

            def beyond(x: float) -> float:
                t = (np.hypot(degrees, x) - degrees) / (2 * x)  # where the bound is least
                return float(-t * x - degrees / 2 * np.log1p(-4 * t * t) - np.log(failure / 2))

            most = 8 * (degrees - np.log(failure / 2))
            return float(brentq(beyond, 1e-9, most))

        # On the diagonal (scale/2) times such a difference of m+1 degrees of freedom; off it, since a product of two
        # normal numbers is half a difference of two squares, (scale/4) times one of 2(m+1).
        side = self._side
        on, off = reach(side + 1) / 2, reach(2 * (side + 1)) / 4
        return self.scales[0] * np.where(np.arange(self.size) < side, on, off)

    def worst_loss(self, moved: float) -> None:
        return None  # it is the nuclear norm of a move that counts

    def weighted(self, weights: Array) -> Never:
        raise UsageError("Wishart noise on a symmetric matrix cannot be weighted entry by entry.", parameter="weights")

    def split(self, first: int) -> Never:
        raise UsageError(
            "The first entry of a symmetric matrix with Wishart noise cannot be split off.", parameter="first"
        )

    @property
    def text(self) -> str:
        return f"two-sided Wishart noise on a symmetric matrix, {self._side} by {self._side}"


def draw_noise(side: int, scale: float, randomness: Randomness) -> Integers:
    """The entries of `W_1 - W_2`, each rounded to the nearest integer, (side (side+1) / 2,).

    They have exactly the law of rounded real numbers. Doubles come with a bound on their error; where it leaves two
    integers open, whole numbers made of more and more bits of the same normal numbers decide. A number half-way between
    two integers would never be decided; it has probability zero, so this never happens, and which way it were rounded
    would change no probability. Values and time depend on the noise alone, not on what it is added to.
    """
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        # The largest scale leaves 64 bits only if a trace exceeds 1024 times the scale.
        raise UsageError(
            f"The scale of Wishart noise must lie between {SMALLEST_SCALE:g} and {LARGEST_SCALE:g} lattice steps, got "
            f"{brief(scale)}. An epsilon nearer to 1 brings it there.",
            parameter="scale",
            value=scale,
        )
    normals = draw_normals(2 * (side + 1) * side, randomness)
    rounded, decided = round_in_doubles(normals, side, scale)
    missing, bits = np.flatnonzero(~decided).tolist(), 2 * WORD
    while missing:
        found = round_in_integers(normals, side, scale, missing, bits)
        for entry, integer in found.items():
            rounded[entry] = (integer + 2**63) % 2**64 - 2**63
        missing, bits = [entry for entry in missing if entry not in found], 2 * bits
    return rounded


def round_in_doubles(normals: Reals, side: int, scale: float) -> tuple[Integers, Booleans]:
    """The rounded entries of `W_1 - W_2`, and where doubles are enough to be sure of them, each (size,)."""
    values, errors = (x.reshape(2, side + 1, side) for x in (normals.values, normals.errors))
    sizes = np.abs(values)
    products = values.transpose(0, 2, 1) @ values
    # A sum of side + 1 products, in any order, is off by at most as many roundings of the sum of their sizes.
    # Subtracting, scaling and the two ends below are three more; one is to spare for products of such errors, and for
    # what rounding takes from this bound itself.
    sums = sizes.transpose(0, 2, 1) @ sizes
    # The normals' own errors, on either side of each product.
    crossed = (sizes + errors).transpose(0, 2, 1) @ errors
    bound = (side + 5) * 2.0**-53 * sums + 1.001 * (crossed + crossed.transpose(0, 2, 1))
    noise = scale / 2 * pack(products[0] - products[1])
    error = scale / 2 * pack(bound[0] + bound[1])
    low, high = np.rint(noise - error), np.rint(noise + error)
    # Beyond 2^50 halves are no doubles any more.
    decided = (low == high) & (np.abs(noise) < 2.0**50)
    return np.where(decided, low, 0.0).astype(np.int64), decided


def round_in_integers(normals: Reals, side: int, scale: float, entries: list[int], bits: int) -> dict[int, int]:
    """Those of some rounded entries of `W_1 - W_2` that so many bits of the normal numbers decide; no rounding else."""
    first, second = (x[entries].tolist() for x in places(side))
    columns = {
        # Of both matrices one under the other; in units of 2^-(bits+1), each within one unit.
        column: normals.integers(range(column, 2 * (side + 1) * side, side), bits)
        for column in sorted({*first, *second})
    }
    sizes = {column: sum(map(abs, numbers)) for column, numbers in columns.items()}
    over, under = scale.as_integer_ratio()
    unit = 2 * under << 2 * (bits + 1)  # of the product: scale / 2 times the square of the numbers' unit
    found = {}
    for entry, i, j in zip(entries, first, second, strict=True):
        products = list(map(mul, columns[i], columns[j]))
        middle = sum(products[: side + 1]) - sum(products[side + 1 :])
        error = sizes[i] + sizes[j] + len(products)
        low, high = ((2 * over * (middle + end) + unit) // (2 * unit) for end in (-error, error))
        if low == high:
            found[entry] = low
    return found

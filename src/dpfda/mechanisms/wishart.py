"""Two-sided Wishart noise on symmetric matrices: pure epsilon for second moments."""

from __future__ import annotations

from dataclasses import dataclass
from operator import mul
from typing import ClassVar

import numpy as np

from dpfda.arrays import Integers, brief
from dpfda.bases.norms import Norm, Nuclear, Sensitivity, up
from dpfda.bases.symmetric import pack, places, side_of
from dpfda.errors import UsageError
from dpfda.mechanisms.base import check_coordinates, check_profile, check_source
from dpfda.mechanisms.decision import Booleans
from dpfda.mechanisms.noise import Noise
from dpfda.mechanisms.normals import WORD, Reals, draw_normals
from dpfda.mechanisms.randomness import LARGEST_SCALE, SMALLEST_SCALE, Randomness
from dpfda.privacy import PureProfile


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

    def noise(self, scale: float, size: int) -> Noise:
        return Noise("wishart", (size,), (scale,))


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
            f"{brief(scale)}. An epsilon nearer to 1 brings it there."
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

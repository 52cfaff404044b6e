"""Norms on coordinates, and sensitivities with their reasons."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from dpfda.arrays import Array, ArrayLike, as_plain_ints, as_real, brief, is_whole, public_numbers
from dpfda.bases.symmetric import multiplicities, side_of, unpack
from dpfda.errors import UsageError


def up(value: float, steps: int = 1) -> float:
    """The next float above: one call after each correctly rounded operation makes a proven upper bound."""
    for _ in range(steps):
        value = math.nextafter(value, math.inf)
    return value


class Norm(ABC):
    """A norm on coordinate vectors."""

    def __call__(self, vector: ArrayLike) -> float:
        """The norm of one vector; infinite where it is too large for a double."""
        try:
            numbers = public_numbers(vector, "Coordinates").ravel()
        except UsageError:
            numbers = np.full(1, np.nan)
        if not np.isfinite(numbers).all():
            raise UsageError(parameter="vector", value=vector, rule="must be finite numbers, one for each coordinate")
        with np.errstate(over="ignore"):
            return float(self._of(numbers))

    @abstractmethod
    def _of(self, vector: Array) -> float:
        """The norm of a vector of finite numbers, (size,)."""

    @abstractmethod
    def over_l2(self, size: int) -> float:
        """The largest value of this norm on the Euclidean unit sphere in `size` dimensions, rounded up."""

    def over_weighted_l2(self, weights: tuple[float, ...]) -> float:
        """The largest value on the ellipsoid `sum_j (weights[j] v_j)^2 <= 1`, rounded up; never below the exact one."""
        # It lies in a ball whose radius is its longest half-axis; norms that know better say so.
        return up(self.over_l2(len(weights)) / min(weights))


@dataclass(frozen=True, slots=True)
class L2(Norm):
    """The Euclidean norm."""

    def _of(self, vector: Array) -> float:
        return float(np.linalg.norm(vector))

    def over_l2(self, size: int) -> float:
        return 1.0


@dataclass(frozen=True, slots=True)
class L1(Norm):
    """The sum of absolute values."""

    def _of(self, vector: Array) -> float:
        return float(np.abs(vector).sum())

    def over_l2(self, size: int) -> float:
        if not is_whole(size, 1, 2**62):
            # Without it a size left out would turn every sensitivity into almost nothing.
            raise UsageError(
                f"L1() needs the number of coordinates to be converted to, at least 1, got {brief(size)}.",
                parameter="size",
                value=size,
            )
        root = math.isqrt(size)
        return float(root) if root * root == size else up(math.sqrt(size))

    def over_weighted_l2(self, weights: tuple[float, ...]) -> float:
        return root_sum_of_squares(tuple(up(1 / w) for w in weights))


@dataclass(frozen=True, slots=True)
class WeightedL2(Norm):
    """The Euclidean norm of weighted coordinates: `sqrt(sum_j (weights[j] v_j)^2)`."""

    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        _check_weights(self.weights)

    def _of(self, vector: Array) -> float:
        return L2()(_weighted(vector, self.weights))

    def over_l2(self, size: int) -> float:
        _check_same(self.weights, size)
        return max(self.weights)  # attained at one coordinate: the exact supremum of Mirshani et al., Theorem 4.1

    def over_weighted_l2(self, weights: tuple[float, ...]) -> float:
        _check_same(self.weights, len(weights))
        return max(_ratios(self.weights, weights))


@dataclass(frozen=True, slots=True)
class WeightedL1(Norm):
    """The sum of absolute values of weighted coordinates: `sum_j weights[j] |v_j|`."""

    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        _check_weights(self.weights)

    def _of(self, vector: Array) -> float:
        return L1()(_weighted(vector, self.weights))

    def over_l2(self, size: int) -> float:
        _check_same(self.weights, size)
        return root_sum_of_squares(self.weights)

    def over_weighted_l2(self, weights: tuple[float, ...]) -> float:
        _check_same(self.weights, len(weights))
        return root_sum_of_squares(_ratios(self.weights, weights))


def _ratios(weights: tuple[float, ...], others: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(w if other == 1.0 else up(w / other) for w, other in zip(weights, others, strict=True))


def root_sum_of_squares(numbers: tuple[float, ...]) -> float:
    """`sqrt(sum x^2)`, rounded up: fsum and sqrt are correctly rounded; each product is not."""
    return up(math.sqrt(up(math.fsum(up(x * x) for x in numbers))))


def _check_weights(weights: tuple[float, ...]) -> None:
    if not isinstance(weights, tuple | list) or not weights or not all(0 < as_real(w) < math.inf for w in weights):
        raise UsageError(
            f"A weighted norm needs positive finite weights, one for each coordinate, got {brief(weights)}.",
            parameter="weights",
            value=weights,
        )


def _check_same(weights: tuple[float, ...], size: int) -> None:
    if size != len(weights):
        raise UsageError(
            f"This norm has weights for {len(weights)} coordinates, not {size}.", parameter="size", value=size
        )


def _weighted(vector: Array, weights: tuple[float, ...]) -> Array:
    _check_same(weights, len(vector))
    weighted: Array = vector * np.array(weights)
    return weighted


@dataclass(frozen=True, slots=True)
class BlockNorm(Norm):
    """A weighted sum of the Euclidean norms of consecutive blocks: `sum_b weights[b] |v_b|_2`."""

    sizes: tuple[int, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if not all(isinstance(part, tuple | list) for part in (self.sizes, self.weights)):
            raise UsageError(
                f"Blocks are tuples of sizes and weights, got {brief(self.sizes)}, {brief(self.weights)}.",
                parameter="sizes",
                value=self.sizes,
            )
        if not self.sizes or len(self.sizes) != len(self.weights):
            raise UsageError(
                f"A block norm needs one weight for each block, got {len(self.sizes)} block(s) and "
                f"{len(self.weights)} weight(s).",
                parameter="weights",
                value=len(self.weights),
            )
        if not all(is_whole(s, 1, 2**31) for s in self.sizes) or not all(
            0 < as_real(w) < math.inf for w in self.weights
        ):
            raise UsageError(
                f"Block sizes must be at least 1 and weights positive, got {self.sizes} and {self.weights}.",
                parameter="sizes",
                value=self.sizes,
            )
        as_plain_ints(self, "sizes")

    def _of(self, vector: Array) -> float:
        self._check_size(len(vector))
        blocks = np.split(vector, np.cumsum(self.sizes)[:-1])
        return float(sum(w * np.linalg.norm(block) for w, block in zip(self.weights, blocks, strict=True)))

    def over_l2(self, size: int) -> float:
        self._check_size(size)
        return root_sum_of_squares(self.weights)  # Cauchy-Schwarz, attained: shares add in squares

    def over_weighted_l2(self, weights: tuple[float, ...]) -> float:
        self._check_size(len(weights))
        ends = np.cumsum(self.sizes).tolist()
        # Within a block the longest half-axis counts.
        least = tuple(min(weights[end - size : end]) for size, end in zip(self.sizes, ends, strict=True))
        return root_sum_of_squares(_ratios(self.weights, least))

    def _check_size(self, size: int) -> None:
        if size != sum(self.sizes):
            raise UsageError(
                f"The blocks {self.sizes} hold {sum(self.sizes)} coordinates, not {size}.", parameter="size", value=size
            )


@dataclass(frozen=True, slots=True)
class Nuclear(Norm):
    """The sum of absolute eigenvalues of a symmetric matrix, given by its entries as `symmetric.pack` orders them."""

    def _of(self, vector: Array) -> float:
        return float(np.abs(np.linalg.eigvalsh(unpack(vector))).sum())

    def over_l2(self, size: int) -> float:
        # It is tr(AU) for a reflection U. By Cauchy-Schwarz on the entries this is at most their norm times the root of
        # sum_i u_ii^2 + 4 sum_{i<j} u_ij^2 = 2m - sum_i u_ii^2. The trace of U is a whole number, and odd for odd m,
        # where sum_i u_ii^2 >= 1/m then. Attained, at reflections with a constant diagonal.
        side = side_of(size)
        return up(math.sqrt(up((2 * side**2 - side % 2) / side)))

    def over_weighted_l2(self, weights: tuple[float, ...]) -> float:
        # The same, with sum_{ij} u_ij^2 = m: for the Frobenius norm it is sqrt(m), attained by the identity.
        side = side_of(len(weights))
        largest = max(up(times / (w * w), 2) for times, w in zip(multiplicities(side).tolist(), weights, strict=True))
        return up(math.sqrt(up(side * largest)))


def frobenius(side: int) -> WeightedL2:
    """The Euclidean norm of a whole symmetric matrix on its entries, each kept once: `sqrt 2` off the diagonal.

    That weight is rounded down, so that a bound on the exact Frobenius norm is a bound on this one.
    """
    root = math.nextafter(math.sqrt(2.0), 0.0)
    return WeightedL2(tuple(1.0 if times == 1 else root for times in multiplicities(side)))


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far one privacy unit can move a vector, in which norm, and why."""

    value: float
    norm: Norm
    because: str

    def __post_init__(self) -> None:
        if not 0 < as_real(self.value) < math.inf:
            raise UsageError(
                f"A sensitivity must be positive and finite, got {brief(self.value)}.",
                parameter="value",
                value=self.value,
            )

    def to(self, norm: Norm, size: int) -> Sensitivity:
        """The same statement in another norm; only a Euclidean one, weighted or not, says enough to be converted."""
        if norm == self.norm:
            return self
        if isinstance(self.norm, WeightedL2):
            _check_same(self.norm.weights, size)
            factor = norm.over_weighted_l2(self.norm.weights)
        elif self.norm == L2():
            factor = norm.over_l2(size)
        else:
            raise UsageError(
                f"A sensitivity in {self.norm} cannot be converted to {norm} without loss. State it in L2() or "
                "WeightedL2().",
                parameter="norm",
                value=norm,
            )
        value = self.value * factor if factor == 1.0 else up(self.value * factor)
        because = f"{self.because}; by Cauchy-Schwarz at most {factor:.6g} times that in {type(norm).__name__}"
        return replace(self, value=value, norm=norm, because=because)

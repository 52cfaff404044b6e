"""The law of the noise in a release: what smoothing and bands are computed from."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dpfda.arrays import Array, as_plain_ints, as_real, brief, is_one_of, is_whole
from dpfda.bases.symmetric import multiplicities, places, side_of
from dpfda.errors import UsageError

LAWS = ("gaussian", "radial", "wishart", "choice", "frame")
LARGEST_BATCH = 2**20  # entries of matrices at a time
MOST_COORDINATES = 2**26


def check_blocks(*sizes: int) -> None:
    """Blocks of coordinates have whole numbers of them, at least 1."""
    if not all(is_whole(size, 1, MOST_COORDINATES) for size in sizes):
        raise UsageError(f"Noise needs blocks of at least 1 and positive scales, got {brief(sizes)} coordinates.")


def check_scale(*scales: float) -> None:
    """Scales of noise are positive finite numbers."""
    if not all(0 < as_real(scale) < math.inf for scale in scales):
        raise UsageError(f"Noise needs blocks of at least 1 and positive scales, got {brief(scales)} for scales.")


@dataclass(frozen=True, slots=True)
class Noise:
    """Independent noise in consecutive blocks of coordinates.

    `gaussian`: each coordinate of block b is normal with deviation `scales[b]`. `radial`: block b has density
    proportional to `exp(-|z|_2 / scales[b])`; blocks of one coordinate are Laplace noise. `wishart`: one block, the
    entries of a symmetric matrix as `symmetric.pack` orders them; the noise is a difference of two independent matrices
    with density proportional to `exp(-tr W / scales[0])`. `choice`: nothing was added, the coordinates are those of a
    candidate, chosen at a price of 1 / scale for each unit of distance. `frame`: nor here, they are those of an
    orthonormal frame, drawn by the exponential mechanism.
    """

    law: Literal["gaussian", "radial", "wishart", "choice", "frame"]
    sizes: tuple[int, ...]
    scales: tuple[float, ...]

    def __post_init__(self) -> None:
        if not is_one_of(self.law, LAWS):
            raise UsageError(f"A noise law is one of {', '.join(map(repr, LAWS))}, got {brief(self.law)}.")
        if not all(isinstance(part, tuple | list) for part in (self.sizes, self.scales)):
            raise UsageError(f"Noise has tuples of sizes and scales, got {brief(self.sizes)} and {brief(self.scales)}.")
        if len(self.sizes) != len(self.scales) or not self.sizes:
            raise UsageError(f"Noise needs one scale for each block, got {len(self.sizes)} and {len(self.scales)}.")
        check_blocks(*self.sizes)
        check_scale(*self.scales)
        as_plain_ints(self, "sizes")
        if self.law == "wishart":
            if len(self.sizes) > 1:
                raise UsageError(f"Wishart noise is that of one symmetric matrix, not of {len(self.sizes)} blocks.")
            side_of(self.size)

    @property
    def size(self) -> int:
        return sum(self.sizes)

    @property
    def dimension(self) -> int:
        """How many uniforms `quantiles` makes one noise vector from."""
        if self.law == "wishart":
            return 2 * self.size
        return {"gaussian": self.size, "radial": self.size + len(self.sizes)}.get(self.law, 0)

    @property
    def variances(self) -> Array:
        """The variance of every coordinate, (size,); a radial block of M coordinates has `E|z|^2 = M (M+1) scale^2`.

        The entries of Wishart noise are uncorrelated; m by m, their squares add up to `m (m+1)^2 scale^2 / 2`.
        """
        sizes, scales = np.array(self.sizes), np.array(self.scales)
        if self.law == "wishart":
            # Each of two matrices G'G of m+1 rows has variances 2(m+1) and, off the diagonal, m+1; times (scale/2)^2.
            side = side_of(self.size)
            return np.asarray(scales[0] ** 2 * (side + 1) / multiplicities(side))
        factor: Any = {"radial": sizes + 1, "gaussian": 1}.get(self.law, 0)
        of_block = scales**2 * factor
        return np.repeat(of_block, sizes).astype(np.float64)

    @property
    def text(self) -> str:
        """The law in words, e.g. "radial in 3 blocks of 8, 1 block of 5"."""
        if self.law == "gaussian":
            return "independent normal noise in every coordinate"
        if self.law == "choice":
            return "none added: a choice among public candidates"
        if self.law == "frame":
            return "none added: a frame drawn by the exponential mechanism"
        if self.law == "wishart":
            side = side_of(self.size)
            return f"two-sided Wishart noise on a symmetric matrix, {side} by {side}"
        if set(self.sizes) == {1}:
            return "independent Laplace noise in every coordinate"
        runs = [(size, len(list(run))) for size, run in itertools.groupby(self.sizes)]
        return "radial in " + ", ".join(f"{count} block{'s' * (count > 1)} of {size}" for size, count in runs)

    def scaled(self, factor: float) -> Noise:
        """The law of the noise times a positive factor."""
        return Noise(self.law, self.sizes, tuple(factor * scale for scale in self.scales))

    def weighted(self, weights: Array) -> Noise:
        """The law of the noise times a positive weight in each coordinate, which must be independent."""
        if self.law == "wishart":
            raise UsageError("Wishart noise on a symmetric matrix cannot be weighted entry by entry.")
        if self.law != "gaussian" and max(self.sizes) > 1:
            raise UsageError(f"Coordinates that share a block of {max(self.sizes)} cannot be weighted one by one.")
        scales = np.repeat(self.scales, self.sizes) * weights
        return Noise(self.law, (1,) * self.size, tuple(scales.tolist()))

    def split_first(self) -> tuple[Noise, Noise]:
        """The laws of the first coordinate and of all others; they must be independent."""
        if self.law == "wishart":
            raise UsageError("The first entry of a symmetric matrix with Wishart noise cannot be split off.")
        if self.sizes[0] == 1:
            return Noise(self.law, (1,), self.scales[:1]), Noise(self.law, self.sizes[1:], self.scales[1:])
        if self.law == "radial":
            raise UsageError(f"The first coordinate shares a radial block of {self.sizes[0]}: it cannot be split off.")
        rest = (self.sizes[0] - 1, *self.sizes[1:])
        return Noise(self.law, (1,), self.scales[:1]), Noise(self.law, rest, self.scales)

    def quantiles(self, uniforms: Array) -> Array:
        """Noise from points of the unit cube, (m, dimension) -> (m, size).

        A map, not a generator: fed with a low-discrepancy sequence it gives the same deterministic sample everywhere.
        """
        from scipy.special import gammaincinv, ndtri

        if self.law == "wishart":
            parts = max(1, len(uniforms) * self.size // LARGEST_BATCH)
            return np.concatenate([self._wishart(part) for part in np.array_split(uniforms, parts)])
        if self.law not in ("gaussian", "radial"):
            return np.zeros((len(uniforms), self.size))
        normals: Array = ndtri(uniforms[:, : self.size])
        if self.law == "gaussian":
            normals *= np.repeat(self.scales, self.sizes)
            return normals
        # exp(-|z|) is a scale mixture of normals: z = sqrt(w) g with w ~ 2 Gamma((M+1)/2) in M dimensions.
        shapes = (np.array(self.sizes) + 1) / 2
        mixing = np.sqrt(2 * gammaincinv(shapes, uniforms[:, self.size :]))
        normals *= np.repeat(mixing * np.array(self.scales), self.sizes, axis=1)
        return normals

    def _wishart(self, uniforms: Array) -> Array:
        from scipy.special import gammaincinv, ndtri

        side = side_of(self.size)
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

    def describe(self) -> dict[str, Any]:
        return {"law": self.law, "sizes": list(self.sizes), "scales": list(self.scales)}

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Noise:
        return Noise(data["law"], tuple(data["sizes"]), tuple(data["scales"]))

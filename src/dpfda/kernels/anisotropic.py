"""Kernels whose length scale differs by direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array, ArrayLike, as_points, brief, is_whole, public_numbers, values_of
from dpfda.errors import UsageError
from dpfda.kernels.base import Kernel, as_kernel, register


@register
@dataclass(frozen=True, slots=True)
class Anisotropic(Kernel):
    """A kernel at points transformed by a length matrix L: the distance becomes `|L^-1 (s - t)|`.

    The matrix is kept as a tuple of rows; a sequence of p lengths gives the diagonal one.

    >>> from dpfda.kernels import Gaussian
    >>> Anisotropic(Gaussian(rho=1.0), [0.5, 2.0]).matrix
    ((0.5, 0.0), (0.0, 2.0))
    """

    kernel: Kernel
    matrix: ArrayLike

    def __post_init__(self) -> None:
        as_kernel(self.kernel)
        object.__setattr__(self, "matrix", _rows(self.matrix))

    @property
    def dimension(self) -> int:
        return len(self._lengths())

    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        return values_of(self.kernel, self._transformed(s), self._transformed(t), what="a kernel")

    @property
    def smoothness(self) -> float:
        return self.kernel.smoothness

    @property
    def markov(self) -> bool:
        # On a line a length is a change of units. In a box a point has no two neighbours.
        return self.dimension == 1 and self.kernel.markov

    def decay(self, dimension: int = 1) -> float:
        """That of the kernel: a linear change of variables moves the eigenvalues' constant alone."""
        if not is_whole(dimension, self.dimension, self.dimension):
            raise UsageError(
                f"This length matrix has {self.dimension} axes, got dimension {brief(dimension)}. "
                f"Ask for decay({self.dimension}).",
                parameter="dimension",
                value=dimension,
            )
        return self.kernel.decay(dimension)

    def _lengths(self) -> Array:
        return np.array(self.matrix, dtype=np.float64)

    def _transformed(self, points: ArrayLike) -> Array:
        lengths = self._lengths()
        return np.asarray(np.linalg.solve(lengths, as_points(points, len(lengths)).T).T, dtype=np.float64)


def _rows(matrix: ArrayLike) -> tuple[tuple[float, ...], ...]:
    try:
        lengths = public_numbers(matrix, "Lengths")
    except UsageError:
        lengths = np.empty(0)
    if lengths.ndim == 1 and lengths.size and (lengths > 0).all():
        lengths = np.diag(lengths)
    if lengths.ndim != 2 or not lengths.size or lengths.shape[0] != lengths.shape[1] or not _invertible(lengths):
        raise UsageError(
            f"A length matrix must be square and invertible, with finite numbers, got {brief(matrix)}. "
            "Write p positive lengths, e.g. (0.5, 2.0), or p rows, e.g. ((0.5, 0.0), (0.1, 2.0)).",
            parameter="matrix",
            value=matrix,
        )
    return tuple(tuple(row) for row in lengths.tolist())


def _invertible(matrix: Array) -> bool:
    sizes = np.abs(matrix).max(axis=1)
    if not np.isfinite(matrix).all() or not sizes.all():
        return False
    # Rows first brought to one size: lengths of 1e-10 and 1e10 side by side are units, not a singular matrix.
    return bool(np.linalg.cond(matrix / sizes[:, None]) < 1e14)

"""Come here for functions spanned by a kernel at public points: the Nystroem features of kernel machines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from dpfda import kernels
from dpfda.arrays import Array, ArrayLike, brief, values_of
from dpfda.bases.base import Basis, check_size
from dpfda.bases.domain import Domain, DomainLike, as_domain
from dpfda.errors import UsageError
from dpfda.kernels import Kernel

CUT = 1e-10  # of the largest variance: what earlier landmarks leave of a later one has to be above it
POOL = 4  # candidates for each landmark that is chosen
AT_ONCE = 2**22  # kernel values held at a time
MOST_LANDMARKS = 1024  # each is compared with all before it
NODES = 4096  # quasi-random points for means over a box in more than two dimensions


@dataclass(frozen=True, slots=True)
class Landmarks(Basis):
    """The functions `z(x) = L^-1 K(points, x)` with `K(points, points) = L L'`, L lower triangular.

    They are orthonormal in the space of the kernel, so `z(x)'z(y)` is the kernel projected on the landmarks and
    `|z(x)|^2 <= K(x, x)`. L is unique, unlike eigenvectors: a file read elsewhere gives the same functions. The points
    stand in an order in which each adds something: `landmarks()` finds it.
    """

    kernel: Kernel
    domain: Domain
    points: tuple[tuple[float, ...], ...]
    size: int = field(init=False)
    family: ClassVar[str] = "landmarks"

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise UsageError(f"Landmarks need a kernel of dpfda.kernels, got {brief(self.kernel)}.")
        object.__setattr__(self, "size", len(self.points))
        check_size("landmarks", self.size, most=MOST_LANDMARKS)
        self.domain.points(np.array(self.points))  # refuses points elsewhere
        factor(self.kernel, self.points)  # refuses points that add nothing to those before them

    @property
    def orthonormal(self) -> bool:
        return False

    @property
    def frequencies(self) -> Array:
        """None: these functions have no order of roughness, so smoothing leaves them alone."""
        return np.zeros(self.size)

    def functions(self, points: Array, order: tuple[int, ...]) -> Array:
        from scipy.linalg import solve_triangular

        if any(order):
            raise UsageError(f"Functions spanned by landmarks have no derivatives here, got order {order}. Ask for 0.")
        lower, where = factor(self.kernel, self.points), np.array(self.points)
        table = np.empty((len(points), self.size))
        rows = max(1, AT_ONCE // self.size)
        for start in range(0, len(points), rows):
            sections = self.kernel(where, points[start : start + rows])
            table[start : start + rows] = solve_triangular(lower, sections, lower=True, overwrite_b=True).T
        return table

    def breaks(self, axis: int) -> Array:
        # On a line as many panels as landmarks, at whose points sections may bend; fewer on each side of a box.
        panels = self.size + 1 if self.domain.dimension == 1 else math.ceil(math.sqrt(self.size) / 4) + 1
        return np.linspace(0.0, 1.0, panels + 1)

    def nodes(self) -> tuple[Array, Array]:
        if self.domain.dimension <= 2:
            return Basis.nodes(self)
        # A product rule would have too many points; means over these are good to about a percent.
        return spread(self.domain, NODES), np.full(NODES, 1 / NODES)

    def describe(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "domain": [list(side) for side in self.domain.sides],
            "points": [list(point) for point in self.points],
            "kernel": kernels.describe(self.kernel),
        }


@lru_cache(maxsize=16)
def factor(kernel: Kernel, points: tuple[tuple[float, ...], ...]) -> Array:
    """The Cholesky factor of the kernel at landmarks, read-only, (m, m)."""
    where = np.array(points)
    order, lower = _pivots(kernel, where, len(points), ordered=True)
    if len(order) < len(points):
        raise UsageError(
            f"Landmark {len(order) + 1} of {len(points)} adds nothing to those before it in double precision. Leave it "
            "out, or let dpfda.bases.landmarks() choose an order."
        )
    lower.flags.writeable = False
    return lower


def _pivots(kernel: Kernel, where: Array, size: int, *, ordered: bool) -> tuple[list[int], Array]:
    """Places of landmarks in the order in which each adds most, and their factor; fewer where nothing is left to add.

    Pivoted Cholesky: what is left of a point is the variance that those before it do not explain.
    """
    squares = [values_of(kernel, point[None], point[None], what="the kernel").reshape(-1)[:1] for point in where]
    left = np.concatenate([np.empty(0), *squares])
    if left.shape != (len(where),):
        raise UsageError("A kernel gives a matrix of values, one row for each point of the one side.")
    if not (np.isfinite(left).all() and left.max() > 0):
        raise UsageError("Landmarks need a kernel with a positive finite value at some of them.")
    least = CUT * left.max()
    columns = np.zeros((len(where), size))
    order: list[int] = []
    for step in range(size):
        # The first among those that are equal but for rounding: the same on every machine.
        best = step if ordered else int(np.argmax(left >= left.max() * (1 - 1e-9)))
        if left[best] <= least:
            break
        column = kernel(where, where[best : best + 1])[:, 0] - columns[:, :step] @ columns[best, :step]
        columns[:, step] = column / math.sqrt(left[best])
        columns[order, step] = 0.0  # exactly zero but for rounding
        columns[best, step] = math.sqrt(left[best])
        left = left - columns[:, step] ** 2
        order.append(best)
        left[order] = -1.0
    return order, np.ascontiguousarray(columns[order][:, : len(order)])


def spread(domain: DomainLike, size: int) -> Array:
    """Public points all over a box: evenly spaced on an interval, a low-discrepancy sequence else, (size, p)."""
    from scipy.stats.qmc import Sobol

    box = as_domain(domain)
    check_size("landmarks", size, most=POOL * MOST_LANDMARKS)
    if box.dimension == 1:
        return box.grid(size) if size > 1 else np.array([[sum(box.sides[0]) / 2]])
    # Without scrambling it is the same everywhere; the first point, a corner, is left out.
    unit = Sobol(box.dimension, scramble=False).random_base2(math.ceil(math.log2(size + 1)))[1 : size + 1]
    lows, highs = np.array(box.sides).T
    points: Array = lows + (highs - lows) * unit
    return points


def landmarks(
    kernel: Kernel, domain: DomainLike, points: ArrayLike | None = None, *, size: int | None = None
) -> Landmarks:
    """Landmarks at public points, or at `size` points chosen so that each adds most to those before it.

    Points that add nothing in double precision are left out, so a smooth kernel may give fewer functions than asked.

    >>> from dpfda.kernels import Gaussian
    >>> landmarks(Gaussian(rho=1.0), [(0, 1), (0, 1)], size=9).size
    9
    """
    box = as_domain(domain)
    if not isinstance(kernel, Kernel):
        raise UsageError(f"Landmarks need a kernel of dpfda.kernels, got {brief(kernel)}.")
    if (points is None) == (size is None):
        raise UsageError("Landmarks need exactly one of points and size: where they stand, or how many to choose.")
    if points is None:
        assert size is not None
        check_size("landmarks", size, most=MOST_LANDMARKS)
        where = spread(box, POOL * size)
    else:
        where = box.points(points)
        check_size("landmarks", len(where), most=POOL * MOST_LANDMARKS)
    order, _ = _pivots(kernel, where, len(where) if size is None else size, ordered=False)
    return Landmarks(kernel, box, tuple(tuple(point) for point in where[order].tolist()))


def landmarks_from_dict(kernel: Mapping[str, Any], domain: DomainLike, points: list[list[float]]) -> Landmarks:
    """Landmarks from plain data, in the order in which they were written."""
    return Landmarks(kernels.from_dict(kernel), as_domain(domain), tuple(tuple(map(float, point)) for point in points))

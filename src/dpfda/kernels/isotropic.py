"""Come here for kernels of the distance between two points, in any dimension, and for how distances are taken."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from dpfda.arrays import Array, ArrayLike, as_points, public_numbers
from dpfda.kernels.base import Kernel


class Isotropic(Kernel):
    """A kernel that depends on the Euclidean distance alone. Duties of a subclass: `at_distance`."""

    __slots__ = ()

    @abstractmethod
    def at_distance(self, distance: Array) -> Array:
        """Values by distance; overflow is silent here, since a square of infinity still gives the right limit."""

    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        with np.errstate(over="ignore", under="ignore"):
            return self.at_distance(distances(s, t))


def distances(s: ArrayLike, t: ArrayLike) -> Array:
    """Euclidean distances of all pairs, (m, p) and (n, p) to (m, n).

    >>> distances([[0.0, 0.0]], [[3.0, 4.0], [0.0, 1.0]])
    array([[5., 1.]])
    """
    # Whichever side has rows says the dimension: then one point may stand alone as a plain sequence.
    sides = (public_numbers(s, "Points"), public_numbers(t, "Points"))
    dimension = max((side.shape[1] for side in sides if side.ndim == 2), default=1)
    one, other = as_points(s, dimension), as_points(t, dimension)
    # Differences first: |s|^2 + |t|^2 - 2 s't loses all digits for close points, and the kernel its definiteness.
    total = np.zeros((len(one), len(other)))
    for axis in range(dimension):
        total = np.hypot(total, one[:, axis, None] - other[None, :, axis])
    return total

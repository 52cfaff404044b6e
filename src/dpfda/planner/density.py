"""Come here for what a mechanism for a density consists of: features of points, noise, decoding, and why."""

from __future__ import annotations

from dataclasses import dataclass

from dpfda.arrays import Array
from dpfda.bases import Basis
from dpfda.mechanisms import Mechanism


@dataclass(frozen=True, eq=False)
class DensityDesign:
    """Everything that has to be known to release a density, chosen without any record.

    A point in cell g has the feature vector `features[g]`; a unit's is the average over its points, and the mechanism
    adds noise to the sum over units. Mean feature j times `decode[j]` is coordinate j, in `basis`, of the density
    times the volume of the domain; for an orthonormal basis that is the mean of its function j.

    Under add-or-remove-one the number of units is private and released too: the first column of `features` is then a
    positive constant, which has no place in `decode` nor in `basis`, and the mechanism covers that coordinate as well.
    """

    name: str  # as people type it
    basis: Basis
    features: Array  # (G, M), one row for each cell; only ratios matter
    decode: Array  # (basis.size,)
    mechanism: Mechanism
    reasons: tuple[tuple[str, str], ...]
    smoothing: bool = True  # whether it is made to be smoothed after the noise
    least_diameter: float = 0.0  # in the units of `features`, in the mechanism's norm: where a paper states more

"""Come here for what a mechanism for the mean consists of: a basis, weights, noise, and why."""

from __future__ import annotations

from dataclasses import dataclass

from dpfda.bases import Basis
from dpfda.mechanisms import Mechanism


@dataclass(frozen=True, eq=False)
class Design:
    """Everything that has to be known to make a release, chosen without any record."""

    name: str  # as people type it
    basis: Basis
    mechanism: Mechanism
    weights: tuple[float, ...] | None  # by which decoding multiplies; None: all one, and smoothing comes afterwards
    least_scale: float  # lattice steps; more noise than needed, where a paper's own calibration asks for it
    count_weight: int  # lattice steps that a unit adds to the count under add-or-remove-one
    reasons: tuple[tuple[str, str], ...]
    smoothing: bool = True  # whether it is made to be smoothed after the noise
    thresholds: tuple[float, ...] = ()  # in units of the bound, for coordinates that are shrunk before the noise

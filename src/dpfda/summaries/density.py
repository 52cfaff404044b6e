"""Come here for a density: the mean over units of the features of their points."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.bases import Basis
from dpfda.errors import UsageError
from dpfda.norms import Norm, Sensitivity, up
from dpfda.privacy import Noise
from dpfda.records import RADIUS, Curves
from dpfda.records.points import MASS, Cells, cell_masses
from dpfda.records.reading import Reading
from dpfda.records.sums import Encode
from dpfda.releases import Certificate, Count
from dpfda.releases.density import DensityRelease, density_smoothing
from dpfda.releases.density_frame import sides_of
from dpfda.releases.detection import density_verdict, strays
from dpfda.summaries.base import Decoded, Public, Summary
from dpfda.summaries.diameter import diameter, longest

MOST_FEATURES = 4096


@dataclass(frozen=True, eq=False)
class Density(Summary):
    """A unit's vector is the average over its points of their rows in a public table of integers.

    `norm` is that of the mechanism: the reach of one unit is computed in it, exactly, from the table. Under
    add-or-remove-one the table is led by a constant column, whose sum is the number of units.
    """

    cells: Cells
    table: Integers  # (cells.size, M)
    decode_weights: Array  # (M,) or, with a count, (M - 1,): from a sum of the table over the number of units
    norm: Norm
    counted: bool  # whether rows begin with the number of units that they stand for
    least: float = 0.0  # a sensitivity that a paper states, where it is larger

    missing: ClassVar[str] = (
        "points without a coordinate are left out; a unit without any other lies in the middle of the domain"
    )

    @property
    def name(self) -> str:
        return "density"

    @property
    def bounded(self) -> str:  # type: ignore[override]
        """For the card: what becomes of a point, and how far it may be moved."""
        return (
            "every point: outside the domain it is moved to its edge, inside to the middle of its cell; there are "
            f"{self.cells.text}"
        )

    @property
    def coarse(self) -> str:
        """For the card: a warning where cells are wide."""
        return self.cells.coarse

    @property
    def units_are_stated(self) -> bool:
        return self.counted

    def encode(self, public: Public, basis: Basis) -> Encode:
        def cells_of(values: Array) -> tuple[Array, Array]:
            where = self.cells.index(values[:, 1:] if self.counted else values)
            return where[None, :].astype(np.float64), np.ones(len(values))

        return cells_of

    def bounds(self, public: Public, basis: Basis) -> tuple[Sensitivity, ...]:
        replaced = public.unit.size_is_public
        reach = self.diameter if replaced else self.longest
        # A unit with several points has a fraction of a step, and the sum is rounded down: one step a coordinate.
        value = up(reach + self.norm(np.ones(self.table.shape[1])), 2)
        because = (
            f"the {'vectors' if replaced else 'longest vector'} of all {self.cells.size} cells were compared: "
            f"{'no two are further apart' if replaced else 'none is longer'} than {value:.10g}"
        )
        if self.least > value:
            value, because = self.least, f"{because}; the published bound is taken, which is larger"
        return (Sensitivity(value, self.norm, because),)

    @cached_property
    def diameter(self) -> float:
        """How far apart two units can be, in steps, but for rounding."""
        return diameter(self.table, self.norm)

    @cached_property
    def longest(self) -> float:
        """How long one unit can be, in steps, but for rounding."""
        return longest(self.table, self.norm)

    def size(self, public: Public, basis: Basis) -> int:
        return int(self.table.shape[1])

    def gather(self, curves: Curves, public: Public, basis: Basis, reading: Reading) -> Integers:
        masses = cell_masses(
            curves,
            self.cells,
            counted=self.counted,
            all_counted=public.counting.of_records,
            # A bar shows how many rows there are.
            reading=reading if public.unit.size_is_public else replace(reading, progress=False),
        )
        return self.features_of(masses)

    def features_of(self, masses: Integers) -> Integers:
        """What all units add up to, from their mass in every cell; rounded down where units have several points."""
        # In two parts, for the whole would not fit into 64 bits: at most 2^38 units, 2^24 steps a row, 2^12 cells.
        whole, rest = np.divmod(masses, MASS)
        total: Integers = whole @ self.table + (rest @ self.table) // MASS
        return total

    def decode(self, sums: Integers, noise: Noise, public: Public, basis: Basis) -> Decoded:
        count = None
        units = 0.0 if public.n is None else float(public.n)
        if public.n is None:
            constant = float(self.table[0, 0])
            of_count, noise = noise.split_first()
            units, sums = max(float(sums[0]) / constant, 1.0), sums[1:]
            count = Count(units, of_count.scaled(1 / constant))
        noisy = sums.astype(np.float64) / units * self.decode_weights
        return Decoded(noisy, scaled_noise(noise.scaled(1 / units), self.decode_weights), count)

    def lattice_step(self, public: Public) -> float:
        return float(np.abs(self.decode_weights).max() / public.planned)

    def moves(self, public: Public, card_n: float) -> str:
        if public.unit.size_is_public:
            return f"moves at most 1/{card_n:.0f} of all points from anywhere to anywhere"
        return "adds its point, or its several points together as one, anywhere"

    def noise_rms(self, decoded: Decoded, basis: Basis) -> float:
        # Coordinates are those of the density times the volume.
        return Summary.noise_rms(self, decoded, basis) / math.prod(self.cells.domain.lengths)

    def publish(
        self, decoded: Decoded, public: Public, basis: Basis, certificate: Certificate, *, smoothing: str
    ) -> Any:
        units = float(public.n) if decoded.count is None else decoded.count.value  # type: ignore[arg-type]
        return DensityRelease(
            basis=basis,
            noisy=decoded.noisy,
            noise=decoded.noise,
            count=decoded.count,
            n=units,
            smoothing=density_smoothing(smoothing, decoded.noisy, decoded.noise, basis, units),
            certificate=certificate,
        )

    def tested(self, decoded: Decoded, public: Public, basis: Basis) -> str:
        """Whether a kernel estimate is more than noise, and more than evenly spread points would give by chance.

        A histogram is tested from its release alone.
        """
        if sides_of(basis) is not None:
            return ""
        units = float(public.n) if decoded.count is None else decoded.count.value  # type: ignore[arg-type]
        widths = np.ones(1)
        for along in self.cells.edges:
            widths = np.multiply.outer(widths, np.diff(along)).ravel()
        shares = widths / widths.sum()
        features = (self.table if public.n is not None else self.table[:, 1:]) * self.decode_weights
        uniform = shares @ features
        centred = (features - uniform) * np.sqrt(shares / units)[:, None]
        return density_verdict(strays(decoded.noisy, decoded.noise, basis.frequencies, uniform, centred.T @ centred))


def scaled_noise(noise: Noise, weights: Array) -> Noise:
    """The law of noise times a weight in each coordinate; within a radial block of several they must be equal."""
    if noise.law == "gaussian" or max(noise.sizes) == 1:
        return noise.weighted(np.abs(weights))
    ends = np.cumsum(noise.sizes).tolist()
    blocks = [np.abs(weights[end - size : end]) for size, end in zip(noise.sizes, ends, strict=True)]
    if any(np.ptp(block) > 1e-12 * block.max() for block in blocks):
        raise UsageError("Coordinates that share a radial block of noise must be decoded with the same weight.")
    scales = tuple(scale * float(block[0]) for scale, block in zip(noise.scales, blocks, strict=True))
    return Noise(noise.law, noise.sizes, scales)


def integer_table(features: Array) -> tuple[Integers, float]:
    """Features as integers, the longest row of about 2^24, and how many steps one unit of a feature is."""
    if features.ndim != 2 or not 1 <= features.shape[1] <= MOST_FEATURES or not np.isfinite(features).all():
        raise UsageError(f"A density has 1 to {MOST_FEATURES} features of each cell, got an array {features.shape}.")
    steps = RADIUS / float(np.sqrt(np.einsum("ij,ij->i", features, features).max()))
    return np.rint(features * steps).astype(np.int64), steps

"""A density: the mean over units of the features of their points, and how far one unit moves it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.bases import Basis
from dpfda.bases.lattice import FRACTIONS
from dpfda.curator.summary import Public, Summary
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.privacy.norms import Sensitivity
from dpfda.records import Curves
from dpfda.records.fold import Clipping, Encode, exact_sum
from dpfda.records.points import MASS, cell_masses, counted_sum
from dpfda.records.reading import Reading
from dpfda.releases import Certificate
from dpfda.releases.cards.words import Statement, say
from dpfda.releases.decoded import Decoded
from dpfda.releases.detection import density_verdict, strays
from dpfda.statistics.density.features import FeatureTable, volumes_of
from dpfda.statistics.density.release import density_release, inside_of
from dpfda.statistics.density.sides import ProductTable
from dpfda.statistics.density.smoothing import sides_of


@dataclass(frozen=True, eq=False)
class Density(Summary):
    """A unit's vector is the average over its points of their rows in a public table of integers."""

    features: FeatureTable | ProductTable
    counted: bool  # whether rows begin with the number of units that they stand for

    adds_vectors: ClassVar[bool] = False  # of points, by a table
    missing: ClassVar[str] = say("missing", "points", nobody="")

    @property
    def name(self) -> str:
        return say("what", "density")

    @property
    def bounded(self) -> str:  # type: ignore[override]
        """For the card: what becomes of a point, and how far it may be moved."""
        return self.placed("is counted apart")

    def placed(self, apart: str) -> str:
        """The same, where a point outside in a cell of its own `apart`."""
        outside = f"{apart}, inside it is moved" if self.features.cells.apart else "is moved to its edge, inside"
        return (
            f"every point: outside the domain it {outside} to the middle of its cell; there are "
            f"{self.features.cells.text}"
        )

    @property
    def coarse(self) -> str:
        """For the card: a warning where cells are wide."""
        return self.features.cells.coarse

    @property
    def units_are_stated(self) -> bool:
        return self.counted

    def request_parts(self) -> dict[str, Any]:
        """The names under which keys of ledgers know this request."""
        table = self.features
        made: dict[str, Any] = {"table": table.rows} if isinstance(table, FeatureTable) else {"sides": table.sides}
        return {
            "cells": table.cells,
            **made,
            "decode_weights": table.decode_weights,
            "norm": table.norm,
            "counted": self.counted,
            "least": table.least,
        }

    def encode(self, public: Public, basis: Basis) -> Encode:
        def cells_of(values: Array) -> tuple[Array, Array]:
            where = self.features.cells.index(values[:, 1:] if self.counted else values)
            return where[None, :].astype(np.float64), np.ones(len(values))

        return cells_of

    def bounds(self, public: Public, basis: Basis) -> tuple[Sensitivity, ...]:
        return (self.features.sensitivity(replaced=public.unit.size_is_public),)

    def size(self, public: Public, basis: Basis) -> int:
        return self.features.size

    def gather(self, curves: Curves, public: Public, basis: Basis, reading: Reading) -> Integers:
        assert isinstance(self.features, FeatureTable)
        return self.features_of(self.masses(curves, public, reading))

    def masses(self, curves: Curves, public: Public, reading: Reading) -> Integers:
        """The mass of all units in every cell."""
        return cell_masses(
            curves,
            self.features.cells,
            counted=self.counted,
            all_counted=public.counting.of_records,
            # A bar shows how many rows there are.
            reading=reading if public.unit.size_is_public else replace(reading, progress=False),
        )

    def features_of(self, masses: Integers) -> Integers:
        """What all units add up to, from their mass in every cell; rounded down where units have several points."""
        assert isinstance(self.features, FeatureTable)
        # In two parts, for the whole would not fit into 64 bits: at most 2^38 units, 2^24 steps a row, 2^12 cells.
        whole, rest = np.divmod(masses, MASS)
        total: Integers = whole @ self.features.rows + (rest @ self.features.rows) // MASS
        return total

    def decode(self, sums: Integers, noise: NoiseLaw, public: Public, basis: Basis) -> Decoded:
        return self.features.decode(sums, noise, public.n)

    def lattice_step(self, public: Public) -> float:
        return float(np.abs(self.features.decode_weights).max() / public.planned)

    def moves(self, public: Public, card_n: float) -> Statement:
        return say("moves", "points", units=card_n) if public.unit.size_is_public else say("moves", "one-point")

    def noise_rms(self, decoded: Decoded, basis: Basis) -> float:
        # Coordinates are those of the density times the volume.
        return Summary.noise_rms(self, decoded, basis) / math.prod(self.features.cells.domain.lengths)

    def publish(
        self, decoded: Decoded, public: Public, basis: Basis, certificate: Certificate, *, smoothing: str
    ) -> Any:
        release = density_release(decoded, public.n, basis, certificate, smoothing=smoothing)
        return replace(release, certificate=replace(certificate, chosen=(*certificate.chosen, *release.told)))

    def tested(self, decoded: Decoded, public: Public, basis: Basis) -> Statement | None:
        """Whether a kernel estimate is more than noise, and more than evenly spread points would give by chance.

        A histogram is tested from its release alone.
        """
        if sides_of(basis) is not None or not isinstance(self.features, FeatureTable):
            return None  # of thousands of functions the covariance would take minutes
        units = float(public.n) if decoded.count is None else decoded.count.value  # type: ignore[arg-type]
        units *= (inside := inside_of(decoded.outside, units))
        widths = volumes_of(self.features.cells)
        shares = widths / widths.sum()
        rows = self.features.rows[: len(shares), self.features.leading :]
        features = inside * rows * self.features.decode_weights
        uniform = shares @ features
        centred = (features - uniform) * np.sqrt(shares / units)[:, None]
        return density_verdict(strays(decoded.noisy, decoded.noise, basis.frequencies, uniform, centred.T @ centred))


def density_of(features: FeatureTable | ProductTable, *, counted: bool) -> Density:
    """The summary that these features belong to."""
    return Density(features, counted) if isinstance(features, FeatureTable) else ProductDensity(features, counted)


HELD = 2**22  # numbers of vectors at a time
MOST_ROWS = 2**20  # as sums of counts allow


@dataclass(frozen=True, eq=False)
class ProductDensity(Density):
    """A unit's vector is the average over its points of products over the sides, rounded by itself."""

    features: ProductTable

    def encode(self, public: Public, basis: Basis) -> Encode:
        table, first = self.features, int(self.counted)

        def vectors_of(values: Array) -> tuple[Array, Array]:
            with np.errstate(all="ignore"):
                return table.encoded(values[:, first:])

        return vectors_of

    def clipping(self, public: Public) -> Clipping:
        return self.features

    def gather(self, curves: Curves, public: Public, basis: Basis, reading: Reading) -> Integers:
        table, encode = self.features, self.encode(public, basis)
        rows = min(max(64, HELD // table.size), MOST_ROWS)
        reading = replace(reading, batch_rows=min(rows, reading.batch_rows or rows))
        progress = reading.progress if public.unit.size_is_public else False
        if self.counted:
            return counted_sum(curves, lambda batch: table.clip(encode(batch)[0] / FRACTIONS), table.size, reading)
        total = exact_sum(
            curves,
            encode,
            table,
            units=curves.units,
            size=table.size,
            batch_rows=reading.batch_rows,
            workers=reading.threads,
            progress=progress,
        )
        if curves.units is not None and public.counting.of_records:
            total = total + table.middle[:, 0].astype(np.int64)  # the one unit that stands for rows of nobody
        return total

"""Kernel machines: the minimiser of a regularised risk, and how far one unit can move it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, Integers, Label
from dpfda.bases import Basis
from dpfda.bases.lattice import RADIUS
from dpfda.curator.summary import Public, Summary
from dpfda.errors import UsageError
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.privacy.norms import L2, Sensitivity, up
from dpfda.records import Curves
from dpfda.records.fold import Encode
from dpfda.records.reading import Reading
from dpfda.releases import Certificate
from dpfda.releases.cards.words import say
from dpfda.releases.decoded import Decoded
from dpfda.statistics.machines.losses import Loss
from dpfda.statistics.machines.release import MachineRelease, into
from dpfda.statistics.machines.sensitivity import SPARE, moved_by
from dpfda.statistics.machines.solver import minimise, tolerance_of

MOST_UNITS = 2**28  # weights in steps stay exact in doubles
FARTHEST = 2.0**60  # steps; weights beyond it are moved to it, and stay in 64 bits
AT_ONCE = 2**20
MISSING = say("missing", "labelled-points", nobody="")


@dataclass(frozen=True, slots=True)
class Rows:
    """All records of known units: features, targets, and what share of the risk each has."""

    features: Array  # (m, size)
    targets: Array  # (m,)
    shares: Array  # (m,) of all units together at most their number over n


@dataclass(frozen=True, eq=False)
class Machine(Summary):
    """The weights w that minimise `(1/n) sum_i loss_i(w) + penalty |w|^2`, in lattice steps.

    A unit's loss is the average over its records of `loss(w'z(x), y)`. How far a unit moves the minimiser is proven at
    `moved_by`. The solver stops at a proven distance from the minimiser, which each of two data sets may add.
    """

    task: str
    loss: Loss
    penalty: float
    reach: float  # of the features; longer ones are scaled down to it
    classes: tuple[Label, Label] | None = None
    bound: float | None = None  # of responses

    adds_vectors: ClassVar[bool] = False  # a minimiser
    missing: ClassVar[str] = MISSING

    @property
    def name(self) -> str:
        return say("what", self.task)

    def moved(self, public: Public) -> float:
        """How far one unit moves the exact minimiser."""
        units = public.planned if public.n is None else public.n
        return moved_by(self.loss, self.penalty, self.reach, units, replaced=public.unit.size_is_public)

    def tolerance(self, public: Public, size: int) -> float:
        """How far from the minimiser the solver stops at most."""
        units = float(public.planned if public.n is None else public.n)
        return tolerance_of(
            self.loss, penalty=self.penalty, reach=self.reach, units=units, size=size, moved=self.moved(public)
        )

    def step(self, public: Public) -> float:
        """A lattice step of the weights."""
        return self.moved(public) / RADIUS

    def encode(self, public: Public, basis: Basis) -> Encode:
        if public.planned > MOST_UNITS:
            raise UsageError(f"A kernel machine is fitted to at most 2^28 units, got {public.planned}.", parameter="n")

        def encode(values: Array) -> tuple[Array, Array]:
            features, targets, present = self.read(values, basis)
            return np.concatenate([targets[None], features.T]), present

        return encode

    def read(self, values: Array, basis: Basis) -> tuple[Array, Array, Array]:
        """Features and targets of a batch of records, and whether each has a target: each from its own row."""
        with np.errstate(all="ignore"):
            targets, points = values[:, 0], values[:, 1:]
            present = ~np.isnan(targets)
            if self.bound is None:
                targets = np.where(targets > 0, 1.0, -1.0)
            else:
                targets = np.clip(np.where(present, targets, 0.0), -self.bound, self.bound)
            features = basis.functions(into(basis.domain, points), (0,) * basis.domain.dimension)
            lengths = np.sqrt(np.einsum("ij,ij->i", features, features))
            features *= (self.reach / np.maximum(lengths, self.reach))[:, None]
        return features, targets, present.astype(np.float64)

    def rows(self, curves: Curves, public: Public, basis: Basis, reading: Reading) -> Rows:
        """All records, in one table: the minimiser is no function of a sum."""
        batch = reading.batch_rows or max(64, AT_ONCE // max(basis.size, curves.source.width))
        # The first part is empty: there may be no records at all.
        parts = [self.read(np.empty((0, public.width)), basis)]
        parts += [self.read(values, basis) for values in curves.batches(batch)]
        features, targets, present = (np.concatenate(part) for part in zip(*parts, strict=True))
        units, known = curves.units, present > 0
        counts = np.ones(len(targets))
        if units is not None:
            known &= units.codes >= 0
            of_unit = np.bincount(units.codes[known], minlength=max(units.size, 1))
            counts = np.maximum(of_unit[np.maximum(units.codes, 0)], 1).astype(np.float64)
        n = float(public.planned if public.n is None else public.n)
        # Left out by a share of zero: the same operations run whatever the records.
        return Rows(features, targets, np.where(known, 1.0, 0.0) / (counts * n))

    def gather(self, curves: Curves, public: Public, basis: Basis, reading: Reading) -> Integers:
        rows = self.rows(curves, public, basis, reading)
        tolerance = self.tolerance(public, basis.size)
        found = minimise(
            rows.features, rows.targets, rows.shares, loss=self.loss, penalty=self.penalty, tolerance=tolerance
        )
        if not found.distance <= tolerance:  # nor if it is no number
            # Not known to happen (tests/statistics/machines); without a proof nothing may leave.
            raise RuntimeError
        steps = np.clip(np.rint(found.weights / self.step(public)), -FARTHEST, FARTHEST)
        return steps.astype(np.int64)

    def size(self, public: Public, basis: Basis) -> int:
        return basis.size  # a private number of units is no part of the release

    def bounds(self, public: Public, basis: Basis) -> tuple[Sensitivity, ...]:
        moved, tolerance = self.moved(public), self.tolerance(public, basis.size)
        # Rounding to the lattice moves each coordinate by at most half a step, and divisions by less than another half.
        longest = up((RADIUS * (1 + 2 * tolerance / moved) + 2 * math.sqrt(basis.size)) * SPARE, 4)
        exact = "M reach / (penalty n)" if public.unit.size_is_public else "M reach / (2 penalty n)"
        because = (
            f"the minimiser moves by at most {exact}, {RADIUS} steps, with slopes M = {self.loss.lipschitz:g}, "
            f"features no longer than {self.reach:.6g}, penalty {self.penalty:.6g}; the solver is proven to stop "
            f"within {tolerance / moved:.2%} of that for either data set; rounding adds {math.sqrt(4 * basis.size):.3g}"
        )
        return (Sensitivity(longest, L2(), because),)

    def decode(self, sums: Integers, noise: NoiseLaw, public: Public, basis: Basis) -> Decoded:
        step = self.step(public)
        return Decoded(sums.astype(np.float64) * step, noise.scaled(step), None)

    def lattice_step(self, public: Public) -> float:
        return self.step(public)

    def moves(self, public: Public, card_n: float) -> str:
        return say("moves", "weights", by=self.moved(public))

    def publish(
        self, decoded: Decoded, public: Public, basis: Basis, certificate: Certificate, *, smoothing: str
    ) -> Any:
        targets = "labels are one of two classes" if self.bound is None else f"responses within {self.bound:g}"
        return MachineRelease(
            basis=basis,
            noisy=decoded.noisy,
            noise=decoded.noise,
            task=self.task,
            loss=self.loss.name,
            penalty=self.penalty,
            classes=self.classes,
            bound=self.bound,
            certificate=replace(
                certificate,
                bounded=f"points are moved into the domain, features scaled into length {self.reach:.6g}, {targets}",
            ),
        )

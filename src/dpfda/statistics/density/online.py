"""A kernel density that is answered point by point: the function, and how far one unit moves it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.curator import Curator, Payment, ReleaseOrder
from dpfda.errors import UsageError
from dpfda.kernels import Kernel
from dpfda.mechanisms import Randomness
from dpfda.online import Facts, OnlineLaw, Sections, calibrated
from dpfda.online.engine import MOST_MASS
from dpfda.online.specification import peak_of
from dpfda.privacy.norms import up
from dpfda.records.points import MASS, cell_masses, point_masses
from dpfda.releases.cards.words import say, with_nobody
from dpfda.statistics.density.papers import classical_factor
from dpfda.statistics.density.plan import APART, DensityPlan
from dpfda.statistics.density.summary import Density
from dpfda.statistics.density.windows import window
from dpfda.statistics.pending import PendingRelease


@dataclass(frozen=True, eq=False)
class Prepared:
    """A kernel density that may be answered point by point; everything public is checked, and nothing is read yet."""

    plan: DensityPlan
    summary: Density
    order: ReleaseOrder
    kernel: Kernel
    each: float  # what one unit weighs
    whole: int  # its mass
    law: OnlineLaw
    facts: Facts
    randomness: Randomness | None

    def read(self, payment: Payment) -> PendingRelease:
        """What the records add up to, after the charge: from here on they are not needed."""
        points, masses, features = payment.attempt(self._read)
        # Rows without units weigh whole units, so that nothing is cut off here.
        sections = Sections.counted(
            points,
            self.each / self.whole,
            self.kernel,
            masses=masses // (MASS // self.whole),
            reach=self.plan.request.reach if self._by_points else self.plan.cells.reach,
        )
        curves = self.order.curves
        order = replace(self.order, curves=replace(curves, source=NoRecords(curves.source.width)))
        return PendingRelease(
            order=order,
            gathered=features,
            sections=sections,
            law=self.law,
            facts=self.facts,
            randomness=self.randomness,
            payment=payment,
        )

    @property
    def _by_points(self) -> bool:
        return self.plan.request.by_sides

    def _read(self) -> tuple[Array, Integers, Integers]:
        """Where records are, or the cells they lie in, the mass there, and what they add up to for a whole release."""
        curves, summary, reading = self.order.curves, self.summary, self.order.reading
        if self._by_points:
            middle = np.mean(np.array(self.plan.cells.domain.sides), axis=1)
            points, masses = point_masses(curves, middle, counted=summary.counted, all_counted=True, reading=reading)
            return points, masses, summary.gather(curves, self.order.public, self.plan.basis, reading)
        cells = self.plan.cells
        masses = cell_masses(curves, cells, counted=summary.counted, all_counted=True, reading=reading)
        heard = np.concatenate([cells.centres, cells.outer_centres])
        # Empty cells stay, so that the time an answer takes does not tell which they are.
        return heard, masses[: len(heard)], summary.features_of(masses)


@dataclass(frozen=True, slots=True)
class NoRecords:
    """What is left of records that have been read: their width."""

    width: int

    def rows(self) -> int:
        return 0

    def identity(self) -> None:
        return None

    def batches(self, rows: int) -> Iterator[Array]:
        return iter(())


def prepare_density(
    plan: DensityPlan, summary: Density, curator: Curator, order: ReleaseOrder, *, answers: int | None
) -> Prepared:
    """A kernel estimate with Gaussian-process noise, as a whole or point by point; all that is public is checked."""
    request = plan.request
    public, curves = curator.public, curator.curves
    if public.n is None:
        raise UsageError(
            "A density is answered point by point under 'replace-one' only: it is divided by the number of units, "
            "which would be private."
        )
    # One mass for each unit if it has one point; else it is shared out among them.
    whole = 1 if curves.unit is None else MASS
    if public.n * whole > MOST_MASS:
        raise UsageError(f"Point by point, a density takes at most {MOST_MASS // whole} units, got {public.n}.")
    used = window(
        request.domain,
        public.n,
        bandwidth=request.bandwidth,
        kernel=request.kernel,
        family="gaussian",
        edition=request.edition,
    )
    each = 1 / (used.mass * public.n)  # what one unit weighs
    # The published noise is the exact one for a bound that is larger by a public factor, as in the whole release.
    published = request.calibration == "published"
    factor = classical_factor(plan.spends) if published else 1.0
    law = calibrated(
        used.kernel,
        request.domain,
        sensitivity=up(math.sqrt(2 * peak_of(used.kernel, request.domain)) * each * factor, 4),
        moved=2 * each,
        budget=plan.spends,
        answers=answers,
    )

    if request.by_sides:
        far = "at most a thousand sides away" if request.outside == APART else "outside the domain at its edge"
        where = f"every point counts where it is, {far}"
    else:
        where = summary.placed("counts where it is, or adds nothing if that is far away")
    facts = Facts(
        what=say("what", "density"),
        statistic="density",
        dataset=curator.dataset,
        unit=public.unit.name,
        unit_was_assumed=curves.unit is None and not summary.units_are_stated,
        neighbours=public.unit.neighbours,
        n=float(public.n),
        because="two sections of a kernel without negative values are at most the root of twice its peak apart"
        + ("; the published bound is taken, which is larger" if published else ""),
        chosen=tuple((name, how) for name, how in curator.chosen if name != "basis"),
        missing=f"{with_nobody(summary.missing, curator.nobody)}; {where}",
        warnings=tuple(filter(None, ("" if request.by_sides else plan.cells.coarse,))),
        before=curator.before,
        columns=curves.columns,
        counting=public.counting,
        encoding=request.encoding,
    )
    return Prepared(plan, summary, order, used.kernel, each, whole, law, facts, curator.randomness)

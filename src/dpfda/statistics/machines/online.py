"""Kernel machines that answer at the points asked for: the exact minimiser, held and never shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dpfda.arrays import Integers
from dpfda.curator import Order, Payment, exact_hash, request_hash
from dpfda.errors import ReleaseFailed
from dpfda.ledger import AnyLedger, Charge
from dpfda.mechanisms import Randomness
from dpfda.online import Facts, OnlineLaw, Oracle, Sections, Store, calibrated, open_online, weight_step
from dpfda.privacy import REPLACE, Counting, Unit
from dpfda.records import Curves
from dpfda.records.forgetting import forgets_records
from dpfda.releases.cards.words import say
from dpfda.statistics.machines.plan import ExactPlan
from dpfda.statistics.machines.release import into
from dpfda.statistics.machines.solver import minimise_exactly
from dpfda.statistics.machines.summary import MISSING
from dpfda.statistics.pending import Pending

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class PreparedMachine(Order):
    """The exact minimiser of some records, before they are read; everything public is checked."""

    plan: ExactPlan
    records: Curves
    bound: float | None
    facts: Facts
    law: OnlineLaw
    randomness: Randomness | None

    def spend(self, payment: Payment) -> PendingMachine:
        return PendingMachine(
            sections=payment.attempt(self.solved),
            law=self.law,
            facts=self.facts,
            randomness=self.randomness,
            payment=payment,
        )

    def solved(self) -> Sections:
        """The private function: here records are read."""
        sections = _solved(self.plan, self.records, self.bound)
        if sections is None:
            # Raised out here, with one constant text: a chained exception would carry private values in its frames.
            raise ReleaseFailed
        return sections


@dataclass(eq=False, repr=False, kw_only=True)
class PendingMachine(Pending):
    """A machine that has been paid for, and its oracle.

    Its sections are points of records: they are handed to the oracle, which erases them when it is closed.
    """

    oracle: Oracle | None = None

    @property
    def what(self) -> str:
        """What it holds, in words."""
        points = "the points of all records and their weights, without noise"
        if self.sections is not None:
            return f"{points}, until open() or predict() hands them to an oracle"
        return f"{points}, in its oracle, until open().close()" if self.oracle is not None and self.oracle.holds else ""

    @forgets_records
    def open(self, store: str | Path | Store | None) -> Oracle:
        """The oracle; a second one would draw the noise anew, which is a second release."""
        if self.oracle is None or store is not None:
            self.oracle = self.online(store)
        return self.oracle


def prepared(
    plan: ExactPlan,
    records: Curves,
    *,
    unit: str,
    bound: float | None,
    dataset: str,
    classes: object = None,
    assumed: tuple[tuple[str, str], ...] = (),
    ledger: AnyLedger | None = None,
    randomness: Randomness | None = None,
) -> PreparedMachine:
    """A machine that is neither charged nor solved yet."""
    facts = Facts(
        what=say("what", plan.request.task),
        statistic="machine",
        dataset=dataset,
        unit=unit,
        unit_was_assumed=records.unit is None,
        neighbours=REPLACE,
        n=float(plan.request.n),
        because=(
            f"the minimiser moves by at most M reach / (penalty n) with slopes M = {plan.request.loss.lipschitz:g}, "
            f"reach {plan.reach:.6g} and penalty {plan.penalty:.6g}, and the solver is proven to stop within "
            f"{plan.tolerance / plan.moved:.2%} of that for either data set"
        ),
        chosen=(*assumed, *plan.reasons),
        missing=MISSING,
        counting=Counting.ROWS if records.units is None else Counting.IDENTIFIERS,
        # A store is bound to it: two losses of one slope have one law, and are two functions.
        columns=f"{plan.request.loss!r}, classes {classes!r}, {records.columns or 'columns without names'}",
    )
    law = calibrated(
        plan.request.known_kernel,
        plan.request.domain,
        sensitivity=plan.sensitivity,
        moved=2 * plan.total,
        budget=plan.spends,
        weight_step=weight_step(plan.total),
        n=plan.most_records,
    )
    # The whole way once, on no records: what fails, fails before the charge.
    nothing = Sections.weighted(np.empty((0, law.domain.dimension)), np.empty(0), law.kernel, total=plan.total)
    open_online(nothing, law, None, facts=facts).close()
    what = f"{facts.what}, gp"
    price = Charge(
        dataset,
        what,
        plan.spends,
        (law.profile,),
        Unit(unit, REPLACE),
        request=request_hash(what, facts.without_reasons(), law.describe(), plan.request, bound),
        former=exact_hash(what, facts, law.describe(), plan.request, bound),
    )
    return PreparedMachine(price, ledger, plan, records, bound, facts, law, randomness)


def _solved(plan: ExactPlan, records: Curves, bound: float | None) -> Sections | None:
    """Where records are read; None if anything at all goes wrong."""
    try:
        values = np.concatenate([np.empty((0, records.source.width)), *records.batches(2**16)])
        request, loss = plan.request, plan.request.loss
        points = into(request.domain, values[:, 1:])
        targets = values[:, 0] if bound is None else np.clip(values[:, 0], -bound, bound)
        codes = np.arange(len(values)) if records.units is None else records.units.codes
        # In an order of their own: the same records in other rows are the same function, to the last bit.
        order = np.lexsort((targets, *points.T))
        points, targets, codes = points[order], targets[order], codes[order]
        known = (
            ~np.isnan(targets)
            & (codes >= 0)
            & _first_of(codes, ~np.isnan(targets), plan.most_records // int(request.n))
        )
        points, targets, codes = points[known], targets[known], codes[known]
        _, where, counts = np.unique(codes, return_inverse=True, return_counts=True)
        shares = 1.0 / (counts[where].astype(np.float64) * float(request.n))
        # Records where the kernel is larger than at any public point looked at are left out: each by itself.
        peaks = np.array([float(request.known_kernel(point[None], point[None])[0, 0]) for point in points])
        shares = np.where(peaks <= plan.reach**2 * (1 + 1e-9), shares, 0.0)
        weights, distance = minimise_exactly(
            request.known_kernel,
            points,
            targets,
            shares,
            loss=loss,
            penalty=plan.penalty,
            tolerance=plan.tolerance,
        )
        if not distance <= plan.tolerance:  # nor if it is no number
            return None
        return Sections.weighted(points, weights, request.known_kernel, total=plan.total)
    except Exception:
        return None


def _first_of(codes: Integers, readable: Flags, each: int) -> Flags:
    """Which records are among the first few of their unit, so that a public number of them is kept in all."""
    kept = np.zeros(len(codes), dtype=bool)
    seen: dict[int, int] = {}
    for place, (code, good) in enumerate(zip(codes.tolist(), readable.tolist(), strict=True)):
        if good:
            seen[code] = seen.get(code, 0) + 1
            kept[place] = seen[code] <= each
    return kept

"""Come here for kernel machines that answer at the points asked for: the exact minimiser, held and never shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dpfda.arrays import Integers
from dpfda.errors import ReleaseFailed, UsageError
from dpfda.machines.exact import minimise_exactly
from dpfda.mechanisms import Randomness
from dpfda.online import Facts, Oracle, Sections, Store, calibrated, open_online, weight_step
from dpfda.planner.exact_machines import MOST_RECORDS, ExactPlan
from dpfda.privacy import REPLACE, Charge, Ledger
from dpfda.records import Curves
from dpfda.releases.machine import into
from dpfda.summaries.machine import MISSING

Flags = npt.NDArray[np.bool_]


@dataclass(eq=False, repr=False)
class Held:
    """A private function that has been paid for, and the one oracle that answers for it."""

    plan: ExactPlan
    sections: Sections
    facts: Facts
    randomness: Randomness | None
    oracle: Oracle | None = None

    def open(self, store: str | Path | Store | None) -> Oracle:
        """The oracle; a second one would draw the noise anew, which is a second release."""
        if self.oracle is not None:
            if store is None:
                return self.oracle
            raise UsageError("This machine answers already. Another oracle would be a second release: fit again.")
        plan = self.plan
        law = calibrated(
            plan.request.known_kernel,
            plan.request.domain,
            sensitivity=plan.sensitivity,
            moved=2 * plan.total,
            budget=plan.spends,
            weight_step=weight_step(plan.total),
            n=MOST_RECORDS,
        )
        self.oracle = open_online(self.sections, law, store, facts=self.facts, randomness=self.randomness)
        return self.oracle

    def __getstate__(self) -> object:
        raise TypeError("A machine that answers online cannot be pickled: it holds records. Ask its store instead.")


def hold(
    plan: ExactPlan,
    records: Curves,
    *,
    unit: str,
    bound: float | None,
    dataset: str,
    ledger: Ledger | None,
    randomness: Randomness | None,
) -> Held:
    """The exact minimiser of these records, charged before they are read."""
    name = f"kernel {plan.request.task}"
    facts = Facts(
        what=name,
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
        chosen=plan.reasons,
        missing=MISSING,
        recorded="nothing was recorded: no ledger was given" if ledger is None else "charged before reading",
    )
    # The whole way once, on no records: what fails, fails before the charge.
    empty = Sections.weighted(
        np.empty((0, plan.request.domain.dimension)), np.empty(0), plan.request.known_kernel, total=plan.total
    )
    Held(plan, empty, facts, None).open(None).close()
    if ledger is not None:
        ledger.charge(Charge(dataset, f"{name}, gp", plan.spends))
    sections = _solved(plan, records, bound)
    if sections is None:
        raise ReleaseFailed
    return Held(plan, sections, facts, randomness)


def _solved(plan: ExactPlan, records: Curves, bound: float | None) -> Sections | None:
    """Where records are read; None if anything at all goes wrong."""
    try:
        values = np.concatenate([np.empty((0, records.source.width)), *records.batches(2**16)])
        request, loss = plan.request, plan.request.loss
        points = into(request.domain, values[:, 1:])
        targets = values[:, 0] if bound is None else np.clip(values[:, 0], -bound, bound)
        codes = np.arange(len(values)) if records.units is None else records.units.codes
        known = ~np.isnan(targets) & (codes >= 0) & _first_of(codes, ~np.isnan(targets), MOST_RECORDS // int(request.n))
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
        if distance > plan.tolerance:
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

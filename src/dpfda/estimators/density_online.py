"""Come here for a kernel density that is answered point by point: the function, and how far one unit moves it."""

from __future__ import annotations

import math

from dpfda.curator import Order
from dpfda.errors import UsageError
from dpfda.estimators.held import Held
from dpfda.norms import up
from dpfda.online import Facts, Sections, calibrated
from dpfda.online.law import peak_of
from dpfda.online.sections import MOST_MASS
from dpfda.planner.density_plan import DensityPlan
from dpfda.planner.density_windows import window
from dpfda.records.points import MASS, cell_masses


def hold_density(plan: DensityPlan, order: Order, *, answers: int | None) -> Held:
    """A kernel estimate with Gaussian-process noise, as a whole or point by point; all that is public is checked."""
    curator, request = order.curator, plan.request
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
    used = window(request.domain, public.n, bandwidth=request.bandwidth, kernel=request.kernel, family="gaussian")
    each = 1 / (used.mass * public.n)  # what one unit weighs
    law = calibrated(
        used.kernel,
        request.domain,
        sensitivity=up(math.sqrt(2 * peak_of(used.kernel, request.domain)) * each, 4),
        moved=2 * each,
        budget=plan.spends,
        answers=answers,
    )

    def sections() -> Sections:
        masses = cell_masses(curves, plan.cells, counted=plan.summary.counted, unknown=True, reading=curator.reading)
        # Rows without units weigh whole units, so that nothing is cut off here; and empty cells stay, so that the time
        # an answer takes does not tell which they are.
        return Sections.counted(plan.cells.centres, each / whole, used.kernel, masses=masses // (MASS // whole))

    facts = Facts(
        what="density",
        dataset=curator.dataset,
        unit=public.unit.name,
        unit_was_assumed=curves.unit is None,
        neighbours=public.unit.neighbours,
        n=float(public.n),
        because="two sections of a kernel without negative values are at most the root of twice its peak apart",
        chosen=tuple((name, how) for name, how in curator.chosen if name != "basis"),
        missing=plan.summary.missing,
        recorded=curator.recorded,
    )
    return Held(order, sections, law, facts, curator.randomness)

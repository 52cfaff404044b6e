"""Come here for a private choice among settings of the mean function: penalties, kernels' powers, basis sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.arrays import Array, ArrayLike, brief
from dpfda.bases import Basis
from dpfda.curator import Curator
from dpfda.errors import UsageError
from dpfda.estimators.mean import MeanFunction
from dpfda.mechanisms import Randomness
from dpfda.planner import Plan
from dpfda.planner.visibility import NOISY_FROM
from dpfda.privacy import REPLACE, AnyLedger
from dpfda.privacy.budget import stated_budget
from dpfda.privacy.ledger import as_ledger
from dpfda.records import Curves, as_curves
from dpfda.records.forgetting import forgets_records
from dpfda.records.reading import Reading
from dpfda.releases.choices import ChoiceCard
from dpfda.summaries import Public
from dpfda.summaries.selection import Residuals


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A setting that was paid for: its place in the list, and the estimator itself, not yet fitted."""

    index: int
    estimator: MeanFunction
    epsilon: float
    card: ChoiceCard

    def __index__(self) -> int:
        return self.index

    def text(self) -> str:
        """The card for people."""
        return self.card.text()


@forgets_records
def private_choice(
    X: Any,
    *,
    epsilon: float,
    candidates: Sequence[MeanFunction],
    grid: ArrayLike | str | None = None,
    units: object = None,
    dataset: str = "unnamed",
    ledger: AnyLedger | str | None = None,
    randomness: Randomness | None = None,
    force: bool = False,
    batch_rows: int | None = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> Choice:
    """The setting whose error promises to be least: what it leaves out of the mean, plus its noise.

    Settings are estimators that share bound, domain, centre and family of basis, e.g. of "gp" or "iclp-qr" with
    several penalties, or of "frl" with several sizes. The root mean square of what the penalty takes from the exact
    mean moves by at most `2 bound / n` if one unit is replaced, and the noise is public: one is drawn with probability
    proportional to `exp(-epsilon n (left out + noise) / (sqrt(8) bound))`. This costs pure epsilon, on top of that of
    the release that follows. A choice whose error would be about as large as the bound is refused before anything is
    charged, unless `force` is set. Settings that are smoothed after the noise adapt by themselves and need no choice.
    """
    budget = stated_budget(epsilon, 0.0)
    reading = Reading(batch_rows=batch_rows, workers=workers, progress=progress)
    listed = list(candidates) if isinstance(candidates, Sequence) else []
    if not listed or not all(isinstance(candidate, MeanFunction) for candidate in listed):
        raise UsageError(
            "candidates must be a list of estimators, e.g. [MeanFunction(mechanism='gp', penalty=p, ...) for p in "
            f"penalties], got {brief(candidates)}."
        )
    curves = as_curves(X, grid=grid, units=units)
    public = _shared(listed, curves)
    selection = residuals([candidate.plan_for(curves) for candidate in listed])
    off = math.log(len(listed) / 0.05) / budget.epsilon * math.sqrt(8) * public.lattice.bound / public.planned
    if off >= NOISY_FROM * public.lattice.bound and not force:
        needed = off / (NOISY_FROM * public.lattice.bound)
        raise UsageError(
            f"With n = {public.planned} and epsilon {budget.epsilon:g} the error of the choice would be "
            f"{off / public.lattice.bound:.0%} of the bound. About n = {math.ceil(needed * public.planned) + 1} or "
            f"epsilon {math.ceil(100 * needed * budget.epsilon + 1) / 100:g} would do, with any bound: the error is in "
            "proportion to it. Say force=True to choose all the same. Nothing was charged."
        )
    curator = Curator(
        curves,
        public,
        dataset=dataset,
        ledger=as_ledger(ledger),
        randomness=randomness,
        reading=reading,
        chosen=(
            ("settings", f"{len(listed)}, stated by the user, on {selection.size} functions"),
            ("bound", f"{public.lattice.bound:g}, on the root mean square of a unit's average curve"),
            ("accuracy", f"with probability 0.95 the error is at most {off:.3g} above that of the best setting"),
        ),
    )
    index, card = curator.choose(
        selection, budget=budget, told=lambda index: ("choice", f"number {index} of 0 to {len(listed) - 1}")
    )
    return Choice(index, listed[index], budget.epsilon, card)


def _shared(candidates: list[MeanFunction], curves: Curves) -> Public:
    """The public facts, which must be the same for all candidates."""
    for candidate in candidates:
        if candidate.neighbours != REPLACE:
            raise UsageError(
                f"A private choice needs neighbours='replace-one', where the number of units is public, got "
                f"{brief(candidate.neighbours)}."
            )
    facts = [candidate.facts(curves) for candidate in candidates]
    first = facts[0]
    for other in facts[1:]:
        same = other.lattice == first.lattice and other.cap == first.cap and other.n == first.n
        if not (same and np.array_equal(other.centre, first.centre) and np.array_equal(other.grid, first.grid)):
            raise UsageError("All candidates must have the same bound or limits, and the same centre.")
    return first


def residuals(plans: list[Plan]) -> Residuals:
    """The scores of planned settings on the largest of their bases; smaller ones leave out all the rest."""
    largest = max(plans, key=lambda plan: plan.basis.size)
    shape = (len(plans), largest.basis.size)
    weights, cuts = np.zeros(shape), np.full(shape, np.inf)
    for row, plan in enumerate(plans):
        if _kind(plan.basis) != _kind(largest.basis) or not plan.basis.orthonormal or plan.noise.law == "choice":
            one, other = (f"{x.design.name!r} ({x.basis.describe()['family']})" for x in (plan, largest))
            raise UsageError(
                "All candidates must add noise on an orthonormal basis of one family and kernel, so that they differ "
                f"in weights alone; {one} does not go with {other}."
            )
        weights[row, : plan.basis.size], cut = _shrinkage(plan)
        cuts[row, : plan.basis.size] = plan.bound * cut
    return Residuals(largest.basis, weights, np.array([plan.noise_rms for plan in plans]), cuts)


def _shrinkage(plan: Plan) -> tuple[Array, Array]:
    """The shares of the coordinates that a setting keeps, and the thresholds by which it cuts them instead."""
    if plan.design.thresholds:
        return np.zeros(plan.basis.size), np.array(plan.design.thresholds)
    return np.clip(plan.weights, 0.0, 1.0), np.full(plan.basis.size, np.inf)


def _kind(basis: Basis) -> dict[str, Any]:
    return {name: value for name, value in basis.describe().items() if name != "size"}

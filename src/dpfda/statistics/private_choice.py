"""A private choice among settings of the mean function: penalties, kernels' powers, basis sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, ArrayLike, Integers, brief, check_flag
from dpfda.bases import Basis
from dpfda.bases.lattice import RADIUS, Lattice
from dpfda.curator import ChoiceOrder, Curator
from dpfda.curator.order import ordered_by
from dpfda.curator.summary import Public, Selection
from dpfda.errors import UsageError
from dpfda.ledger import AnyLedger, as_ledger
from dpfda.mechanisms import Randomness
from dpfda.mechanisms.choice import Scores
from dpfda.messages import arg
from dpfda.planning.base import NOISY_FROM
from dpfda.privacy import REPLACE
from dpfda.privacy.budget import stated_budget
from dpfda.privacy.norms import up
from dpfda.records import Curves, as_curves
from dpfda.records.fold import Encode
from dpfda.records.forgetting import forgets_records
from dpfda.records.reading import Reading, as_reading
from dpfda.releases.certificate import ChoiceCard
from dpfda.statistics.mean.estimator import MeanFunction
from dpfda.statistics.mean.plan import Plan
from dpfda.statistics.mean.summary import Mean

SHARES = 2**24  # weights are rounded down to this many parts of one


@dataclass(frozen=True, eq=False)
class Residuals(Selection):
    """What each of several settings would leave out of the mean, plus its own error: the norm of a residual.

    Setting i keeps the share `weights[i, j]` of coordinate j, or all but `thresholds[i, j]` of it, and is off by
    `errors[i]` anyway, all in the units of the curve. Its score is `|min((1 - a) |S|, n threshold)|_2 + n error`, S the
    sum in lattice steps. Along the way from S to a neighbour, two radii at most, the gradients of two scores are no
    longer than 1 and have the signs of S, so they are at most a right angle and the root of two apart: so much of the
    way two scores can move against each other.
    """

    basis: Basis
    weights: Array  # (m, size)
    errors: Array  # (m,)
    thresholds: Array | None = None  # (m, size); infinite where nothing is cut
    # Integers from here on, in lattice steps times SHARES.
    left: Integers = field(init=False)

    name: ClassVar[str] = "choice among settings"
    spread: ClassVar[float] = up(2 * math.sqrt(2) * RADIUS * SHARES)

    def __post_init__(self) -> None:
        shapes = {np.shape(self.weights), (len(self.errors), self.basis.size)}
        cut = np.full(np.shape(self.weights), np.inf) if self.thresholds is None else np.asarray(self.thresholds)
        inside = np.all((np.asarray(self.weights) >= 0) & (np.asarray(self.weights) <= 1)) and np.all(cut >= 0)
        if len(shapes) > 1 or cut.shape != np.shape(self.weights) or not inside or not self.basis.orthonormal:
            raise UsageError(
                "Settings need an orthonormal basis, weights between 0 and 1 for each of its functions, thresholds of "
                f"0 or more and an error each, got weights of shape {np.shape(self.weights)}, {len(self.errors)} "
                f"errors and {self.basis.size} functions."
            )
        if not np.all((np.asarray(self.errors) >= 0) & np.isfinite(self.errors)):
            raise UsageError(f"The error of a setting must be finite, 0 or more, got {list(self.errors)}.")
        object.__setattr__(self, "thresholds", cut)
        # Rounded down, so that no share exceeds one.
        object.__setattr__(self, "left", np.floor((1 - np.asarray(self.weights)) * SHARES).astype(np.int64))

    @property
    def size(self) -> int:
        return self.basis.size

    @property
    def sums(self) -> int:
        return self.basis.size

    def encode(self, public: Public) -> Encode:
        return Mean().encode(public, self.basis)

    def clipping(self, public: Public) -> Lattice:
        return public.lattice

    def scores(self, total: Integers, public: Public) -> Scores:
        parts = int(public.n or public.planned) * SHARES
        steps = 1 / public.lattice.step
        # A residual never exceeds the bound itself: cuts beyond that are none.
        cut = np.rint(np.minimum(np.asarray(self.thresholds) * steps, 2.0 * RADIUS)).astype(np.int64).astype(object)
        residuals = np.minimum(self.left.astype(object) * np.abs(total.astype(object)), cut * parts)
        squares = tuple(int(square) for square in (residuals * residuals).sum(axis=1))
        errors = np.rint(np.minimum(self.errors * steps, 2.0**40)).astype(np.int64)
        return Scores(squares, tuple(int(error) * parts for error in errors))


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
def choice_order(
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
    reading: Reading | None = None,
) -> ChoiceOrder:
    """What `private_choice` would buy, with the same arguments: checked and priced, not charged, and no value read.

    Its `quote()` is what the ledger would say, its `release()` the choice.
    """
    budget = stated_budget(epsilon, 0.0)
    check_flag(force, "force")
    reading = as_reading(reading)
    listed = list(candidates) if isinstance(candidates, Sequence) else []
    if not listed or not all(isinstance(candidate, MeanFunction) for candidate in listed):
        raise UsageError(
            parameter="candidates",
            value=candidates,
            rule=(
                "must be a list of estimators, e.g. [MeanFunction(mechanism=GaussianProcess(penalty=p), ...) for p in "
                "penalties]"
            ),
        )
    curves = as_curves(X, grid=grid, units=units)
    public = _shared(listed, curves)
    selection = residuals([candidate.plan_for(curves) for candidate in listed])
    off = math.log(len(listed) / 0.05) / budget.epsilon * math.sqrt(8) * public.lattice.bound / public.planned
    if off >= NOISY_FROM * public.lattice.bound and not force:
        needed = off / (NOISY_FROM * public.lattice.bound)
        raise UsageError(
            f"With n = {public.planned} and epsilon {budget.epsilon:g} the error of the choice would be "
            f"{off / public.lattice.bound:.0%} of the bound. About n = "
            f"{math.ceil(needed * public.planned) + 1} or epsilon "
            f"{math.ceil(100 * needed * budget.epsilon + 1) / 100:g} would do, with any bound: the error "
            "is in proportion to it. Say ",
            arg("force", True),
            " to choose all the same. Nothing was charged.",
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
    return curator.order_choice(
        selection,
        budget=budget,
        told=lambda index: ("choice", f"number {index} of 0 to {len(listed) - 1}"),
        then=lambda index, card: Choice(index, listed[index], budget.epsilon, card),
    )


@ordered_by(choice_order)
def private_choice(order: ChoiceOrder) -> Choice:
    """The setting whose error promises to be least: what it leaves out of the mean, plus its noise.

    Settings are estimators that share bound, domain, centre and family of basis, e.g. of "gp" or "iclp-qr" with
    several penalties, or of "frl" with several sizes. The root mean square of what the penalty takes from the exact
    mean moves by at most `2 bound / n` if one unit is replaced, and the noise is public: one is drawn with probability
    proportional to `exp(-epsilon n (left out + noise) / (sqrt(8) bound))`. This costs pure epsilon, on top of that of
    the release that follows. A choice whose error would be about as large as the bound is refused before anything is
    charged, unless `force` is set. Settings that are smoothed after the noise adapt by themselves and need no choice.
    """
    choice: Choice = order.release()
    return choice


def _shared(candidates: list[MeanFunction], curves: Curves) -> Public:
    """The public facts, which must be the same for all candidates."""
    for candidate in candidates:
        if candidate.neighbours != REPLACE:
            raise UsageError(
                "A private choice needs ",
                arg("neighbours", "replace-one"),
                f", where the number of units is public, got {brief(candidate.neighbours)}.",
                parameter="neighbours",
                value=candidate.neighbours,
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
        if _kind(plan.basis) != _kind(largest.basis) or not plan.basis.orthonormal or not plan.noise.added:
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

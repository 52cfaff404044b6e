"""A private bound: a quantile of the units' norms, bought with budget instead of guessed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, ArrayLike, Integers, check_flag
from dpfda.bases import Domain, as_domain
from dpfda.bases.lattice import FRACTIONS, squared_norms
from dpfda.bases.projection import grid_weights
from dpfda.curator import ChoiceOrder, Curator
from dpfda.curator.order import ordered_by
from dpfda.curator.summary import Public, Selection
from dpfda.errors import UsageError
from dpfda.ledger import AnyLedger, as_ledger
from dpfda.mechanisms import Randomness
from dpfda.mechanisms.choice import MOST_CANDIDATES, Scores
from dpfda.messages import arg
from dpfda.privacy.budget import stated_budget
from dpfda.records import Encoder, as_curves
from dpfda.records.fold import Encode
from dpfda.records.forgetting import forgets_records
from dpfda.records.reading import Reading, as_reading
from dpfda.releases.cards.words import say
from dpfda.releases.certificate import ChoiceCard
from dpfda.statistics.estimator import Centre
from dpfda.statistics.mean.estimator import MeanFunction

PARTS = 64  # of a unit, in which scores are counted
VALUE_BITS = 44  # of a value within the cap: small candidates are told apart, and 2^19 records of a unit add up


@dataclass(frozen=True, eq=False)
class Within:
    """A unit's contribution: 1 for every bound that holds the root mean square of its average curve, else 0."""

    squares: Array  # (m,) of the bounds, increasing, in the units of the vectors

    def clip(self, vectors: Array, out: Array | None = None) -> Array:
        # Where the first bound stands that holds each unit; added up at once, for there may be many bounds.
        first = np.searchsorted(self.squares, squared_norms(vectors), side="left")
        counts = np.bincount(first, minlength=len(self.squares) + 1)[:-1]
        return np.cumsum(counts, dtype=np.float64)[:, None]


@dataclass(frozen=True, eq=False)
class NormQuantile(Selection):
    """The candidate within which a stated share of the units lies: its score is by how many units it misses that.

    Replacing one unit moves each count by at most one, and so each score; one may rise as another falls. Each candidate
    is `preference` parts of a unit worse than the one below it, whatever the data: among bounds that hold everybody,
    which all miss alike, the smallest is likeliest.
    """

    candidates: tuple[float, ...]  # increasing
    quantile: float
    domain: Domain
    width: int  # values of a curve
    preference: int = 0

    name: ClassVar[str] = say("what", "bound")
    spread: ClassVar[float] = 2.0 * PARTS

    @property
    def size(self) -> int:
        return self.width

    @property
    def sums(self) -> int:
        return len(self.candidates)

    def result(self, index: int) -> float:
        return self.candidates[index]

    def encode(self, public: Public) -> Encode:
        positions = public.grid[:, 0] if public.grid.shape[1] == 1 else np.arange(self.width, dtype=np.float64)
        # Only its repairs are asked for: no projection, so that no part of a curve is overlooked.
        encoder = Encoder.build(np.ones((1, self.width)), positions, public.centre, public.cap, public.lattice)
        factors = np.sqrt(mean_weights(public.grid, self.domain)) * (2.0**VALUE_BITS / public.cap)
        factors = factors if encoder.order is None else factors[encoder.order]

        def encode(values: Array) -> tuple[Array, Array]:
            # No record may cause a warning, nor an error where numpy is set to raise them.
            with np.errstate(all="ignore"):
                columns, present = encoder.repair(values)
                # Whole numbers, value by value: a unit's sum does not depend on the order of its records.
                return np.rint((columns - encoder.centre[:, None]) * factors[:, None]), present

        return encode

    def clipping(self, public: Public) -> Within:
        # A shade more, so that a curve that lies on a bound counts as within it whatever the rounding.
        return Within((np.array(self.candidates) * (2.0**VALUE_BITS / public.cap / FRACTIONS)) ** 2 * (1 + 1e-9))

    def scores(self, total: Integers, public: Public) -> Scores:
        target = math.ceil(self.quantile * int(public.n or public.planned))
        missed = (PARTS * abs(int(count) - target) for count in total)
        return Scores((0,) * len(total), tuple(parts + self.preference * i for i, parts in enumerate(missed)))


def mean_weights(grid: Array, domain: Domain) -> Array:
    """Weights of values on a grid for means over the domain; at repeated points they are shared, (q,)."""
    points, place, counts = np.unique(grid, axis=0, return_inverse=True, return_counts=True)
    weights: Array = (grid_weights(domain.to_unit(points)) / counts)[place.ravel()]
    return weights


GRID = 64  # candidates between two ends
WIDEST = 1e9  # the largest candidate over the smallest: beyond, small ones could not be told apart


@dataclass(frozen=True, slots=True)
class BoundChoice:
    """A bound that was paid for, to be stated as `bound=` in a release; `float()` of it is its value."""

    value: float
    epsilon: float
    quantile: float
    candidates: tuple[float, ...]
    card: ChoiceCard

    def __repr__(self) -> str:
        return f"BoundChoice(value={self.value!r}, epsilon={self.epsilon!r}, quantile={self.quantile!r})"

    def __float__(self) -> float:
        return self.value

    def text(self) -> str:
        """The card for people."""
        return self.card.text()


@forgets_records
def bound_order(
    X: Any,
    *,
    epsilon: float,
    quantile: float,
    candidates: Sequence[float],
    grid: ArrayLike | str | None = None,
    units: object = None,
    domain: Domain | Sequence[float] | Sequence[Sequence[float]] = (0.0, 1.0),
    centre: Centre | None = None,
    n: int | None = None,
    dataset: str = "unnamed",
    ledger: AnyLedger | str | None = None,
    randomness: Randomness | None = None,
    force: bool = False,
    reading: Reading | None = None,
) -> ChoiceOrder:
    """What `private_bound` would buy, with the same arguments: checked and priced, not charged, and no value read.

    Its `quote()` is what the ledger would say, its `release()` the choice.
    """
    budget = stated_budget(epsilon, 0.0)
    listed = candidates_of(candidates)
    if not (isinstance(quantile, int | float | np.number) and 0 < quantile <= 1):
        raise UsageError(parameter="quantile", value=quantile, rule="must lie in (0, 1], e.g. 0.95")
    check_flag(force, "force")
    reading = as_reading(reading)
    curves = as_curves(X, grid=grid, units=units)
    estimator = MeanFunction(epsilon=epsilon, delta=0.0, bound=listed[-1], domain=domain, centre=centre, n=n)
    public = estimator.facts(curves)
    if not force:
        check_heard(public.planned, budget.epsilon, float(quantile), len(listed))
    step = preference_of(budget.epsilon, float(quantile), len(listed), public.planned)
    selection = NormQuantile(listed, float(quantile), as_domain(domain), len(public.grid), step)
    curator = Curator(
        curves,
        public,
        dataset=dataset,
        ledger=as_ledger(ledger),
        randomness=randomness,
        reading=reading,
        notes=curves.notes,
        chosen=(
            ("quantile", f"{float(quantile):g} of all units, by the root mean square of a unit's average curve"),
            ("candidates", f"{len(listed)} bounds from {listed[0]:.6g} to {listed[-1]:.6g}, stated by the user"),
            ("accuracy", accuracy_of(budget.epsilon, float(quantile), len(listed), public.planned)),
        ),
    )
    return curator.order_choice(
        selection,
        budget=budget,
        told=lambda index: ("bound", f"{listed[index]:.6g}"),
        then=lambda index, card: BoundChoice(listed[index], budget.epsilon, float(quantile), listed, card),
    )


@ordered_by(bound_order)
def private_bound(order: ChoiceOrder) -> BoundChoice:
    """A bound within which about the stated share of units lies, by the root mean square of their average curves.

    It is chosen among public candidates, in increasing order, or among 64 between two ends (low, high), each the same
    factor above the one before, with probability proportional to `exp(-epsilon misses / 2)`, where a candidate misses
    the quantile by that many units; a larger candidate must hold a few more units than the one below it, so that bounds
    far above everybody are not as likely as the first that holds them. Costs pure epsilon, on top of what releases
    cost; the number of units is public: counted, or stated as n. A choice that would be made almost blindly, since it
    may miss the quantile by as many units as that holds, is refused before anything is charged, unless `force` is set.

    >>> import numpy as np
    >>> curves = np.ones((4000, 9)) * np.linspace(0, 2, 4000)[:, None]
    >>> choice = private_bound(curves, epsilon=1.0, quantile=0.9, candidates=(0.01, 100.0))
    >>> 1.4 < float(choice) < 2.2
    True
    """
    choice: BoundChoice = order.release()
    return choice


def candidates_of(candidates: Sequence[float]) -> tuple[float, ...]:
    try:
        given = np.array(candidates)
        # Texts and complex numbers would become numbers in silence.
        table = given.astype(np.float64) if given.dtype.kind in "iufO" else np.empty(0)
    except Exception:  # objects of the user's own
        table = np.empty(0)
    right = table.ndim == 1 and 2 <= len(table) <= MOST_CANDIDATES and bool(np.all(np.diff(table) > 0))
    if not (right and table[0] >= 1e-100 and table[-1] <= 1e100 and table[-1] <= WIDEST * table[0]):
        raise UsageError(
            parameter="candidates",
            value=candidates,
            rule=(
                f"are bounds known in advance: 2 to {MOST_CANDIDATES} increasing numbers between 1e-100 and "
                f"1e100, the last at most {WIDEST:g} times the first; two are the ends of a grid of {GRID}"
            ),
        )
    if len(table) == 2:
        table = np.append(table[0] * (table[1] / table[0]) ** (np.arange(GRID - 1) / (GRID - 1)), table[1])
    return tuple(table.tolist())


def preference_of(epsilon: float, quantile: float, size: int, n: int) -> int:
    """How many parts of a unit a candidate must be better than the one below it.

    So many that the next candidate is e^2 times less likely if it is no better; but over all candidates not more than a
    quarter of the units that the quantile holds, so that few data do not drown in it.
    """
    return int(PARTS * min(4 / epsilon, quantile * n / (4 * size)))


def missed_by(epsilon: float, size: int) -> int:
    """By how many units more than the best candidate the choice misses the quantile at most, but for one in twenty."""
    return math.ceil(2 * math.log(size / 0.05) / epsilon)


def check_heard(n: int, epsilon: float, quantile: float, size: int) -> None:
    """Refuse a choice in which the data would hardly be heard; all of this is public."""
    missed = missed_by(epsilon, size)
    if missed >= quantile * n:
        raise UsageError(
            f"With n = {n} and epsilon {epsilon:g} the bound would be drawn almost blindly: it may miss "
            f"the quantile by {missed} units. About n = {math.ceil(2 * missed / quantile)} or epsilon "
            f"{2 * missed * epsilon / (quantile * n):.2g} would do, or candidates that are fewer. Say ",
            arg("force", True),
            " to choose all the same. Nothing was charged.",
        )


def accuracy_of(epsilon: float, quantile: float, size: int, n: int) -> str:
    """How far off the choice may be: with probability 1 - p a score is within `2 log(m/p) / epsilon` of the best."""
    missed = missed_by(epsilon, size)
    more = preference_of(epsilon, quantile, size, n) / PARTS
    text = (
        f"of {n} units {quantile * n:.6g} should lie within it; with probability 0.95 the number that does is off by "
        f"at most {missed} units ({missed / max(n, 1):.1%}) more than for the best candidate, and by {more:.3g} more "
        "for each candidate below that one, since lower ones are preferred"
    )
    if missed >= (1 - quantile) * n:
        text += "; as many lie above the quantile, so it may come out much too large: more epsilon or a lower quantile"
    return text

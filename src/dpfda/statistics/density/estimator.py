"""The private density of points as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.exceptions import NotFittedError

from dpfda.arrays import Array, ArrayLike, brief
from dpfda.bases import Domain, as_domain
from dpfda.bases.cells import cells_between
from dpfda.curator import GIVEN, Curator, DrawLog, Order, Payment, ReleaseOrder
from dpfda.curator.fingerprint import request_hash
from dpfda.curator.summary import Public
from dpfda.errors import UsageError
from dpfda.ledger import Receipt
from dpfda.mechanisms import GaussianProcess
from dpfda.messages import arg
from dpfda.privacy import REPLACE, Budget, Unit
from dpfda.privacy.budget import stated_budget
from dpfda.records.forgetting import forgets_records
from dpfda.records.labelled import as_points
from dpfda.records.points import count_units
from dpfda.statistics.density.bandwidth import (
    BOUGHT,
    LEAVE_ONE_OUT,
    BandwidthChoice,
    leave_one_out,
    private_bandwidth,
)
from dpfda.statistics.density.plan import APART, EDGE, DensityPlan, DensityRequest, plan_density
from dpfda.statistics.density.release import DensityRelease
from dpfda.statistics.density.summary import Density, density_of
from dpfda.statistics.density.windows import FORMER, PRESENT, Bandwidth
from dpfda.statistics.estimator import FitOrder, Spender, needs_one, smoothing_after

if TYPE_CHECKING:
    from dpfda.online import FiniteOracle, Oracle, Store
    from dpfda.statistics.density.online import Prepared
    from dpfda.statistics.pending import PendingRelease


@dataclass(frozen=True, slots=True)
class OrderedDensity:
    """A density that is checked and not paid for yet."""

    plan: DensityPlan
    summary: Density
    curator: Curator
    order: ReleaseOrder
    earlier: Callable[[], OrderedDensity | None]  # what earlier versions ordered for the same call, if they did

    def due(self, receipt: Receipt | None) -> OrderedDensity:
        """What a charge stands for: this, or where a key goes on that was charged before, what was ordered then."""
        if receipt is None or not receipt.earlier:
            return self
        earlier = self.earlier()
        if earlier is None:
            raise RuntimeError("a ledger knows a request again that nobody can make")
        return earlier


@dataclass(frozen=True, slots=True)
class ReleasedDensity:
    """What became of an order: a release, or what waits to be asked for as a whole or point by point."""

    plan: DensityPlan
    whole: DensityRelease | None = None
    held: PendingRelease | None = None
    choice: BandwidthChoice | None = None


@dataclass(frozen=True, eq=False, repr=False)
class DensityOrder(Order):
    """A density, and before it the bandwidth if that is bought: charged together.

    So nobody pays for the bandwidth and not for the density that rests on it.
    """

    first: OrderedDensity  # with the bandwidth that was stated, or any
    epsilon: float  # of the bandwidth; 0 if none is bought
    how: str  # it is bought
    again: Callable[[BandwidthChoice, int], OrderedDensity]  # with the bandwidth that was bought, in that edition
    prepare: Callable[[OrderedDensity], Prepared] | None  # where answers may be given point by point
    prepared: Prepared | None  # the first, for its checks

    def spend(self, payment: Payment) -> ReleasedDensity:
        first = self.first.due(payment.receipt)
        if self.prepare is None or self.prepared is None:
            choice, found, whole = payment.spend(lambda log: self._whole(first, log, payment.receipt))
            return ReleasedDensity(found.plan, whole=whole, choice=choice)
        if not self.epsilon:
            prepared = self.prepared if first is self.first else self.prepare(first)
            return ReleasedDensity(first.plan, held=prepared.read(payment))
        # The bandwidth is kept and shown now, the noise is drawn later: nobody gets it under the same key again.
        choice, found = payment.begin(lambda log: self._bought(first, log, payment.receipt))
        held = self.prepare(found).read(Payment(None, payment.receipt))
        return ReleasedDensity(found.plan, held=held, choice=choice)

    def _whole(
        self, first: OrderedDensity, log: DrawLog, receipt: Receipt | None
    ) -> tuple[BandwidthChoice | None, OrderedDensity, DensityRelease]:
        choice, found = self._bought(first, log, receipt)
        return choice, found, found.order.draw(log, receipt)

    def _bought(
        self, first: OrderedDensity, log: DrawLog, receipt: Receipt | None
    ) -> tuple[BandwidthChoice | None, OrderedDensity]:
        if not self.epsilon:
            return None, first
        choice = private_bandwidth(
            lambda selection, share: first.curator.order_choice(selection, budget=share).draw(log, receipt),
            first.plan.cells,
            first.plan.n,
            epsilon=self.epsilon,
            counted=first.summary.counted,
            how=self.how,
        )
        return choice, self.again(choice, first.plan.request.edition)


@dataclass(kw_only=True, eq=False, repr=False)
class DensityFunction(Spender):
    """The density of points on an interval or a box, private: features of points, noise once, smoothing afterwards.

    Parameters
    ----------
    epsilon, delta : the guarantee; delta = 0 asks for pure privacy.
    domain : public interval, or list of intervals for a box. It need not hold all points.
    outside : what becomes of points outside the domain: "apart" (they are counted together in one more noisy number,
        the card states their share, and the density integrates to the rest) or "edge" (each is moved to its edge).
    edges : instead of a domain, public edges of bins, e.g. [0, 1, 5, 10]: the density is constant between them.
    neighbours : "replace-one" (the number of units is public) or "add-or-remove-one" (it is private).
    n : the public number of units, stated under "replace-one" instead of counted; never compared with the data.
    planned_n : public guess of the number of units, needed under "add-or-remove-one", where it may not be read.
    mechanism : "auto" (the planner's choice), "gaussian", "k-norm", "laplace"; of the papers "gp" and "sobolev" (Hall
        et al.), "iclp-qr", "frl" and "bernstein" (Lin and Reimherr), or an object with their settings, such as
        `dpfda.mechanisms.GaussianProcess(bandwidth=0.1)`.
    size : number of basis functions, None for the planner's choice.
    bandwidth_epsilon : price, on top of epsilon, of a mechanism's bandwidth "private-iqr" (Scott's rule of a private
        interquartile range) or "private-loo" (the least error by leave-one-out). Both are charged at once.
    smoothing : "auto", or "none"; chosen after the noise, free. The papers' mechanisms smooth before the noise, so
        "auto" leaves them as they are.
    dataset : name of the data set for the card and the ledger.
    ledger : where the budget is charged before records are read: a `dpfda.Ledger`, or its address.
    randomness : None for private noise; a seeded source for tests, which stamps the release not private.
    force : release although the plan expects next to nothing but noise; without it that is refused, uncharged.
    reading : how records are read, e.g. `dpfda.Reading(workers=2)`; it changes no release.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import DensityFunction
    >>> ages = np.linspace(0, 1, 5000) ** 2
    >>> est = DensityFunction(epsilon=1.0, delta=1e-6, domain=(0, 1)).fit(ages)
    >>> bool(est.release_(0.1) > est.release_(0.9))
    True
    >>> len(est.sample(10))
    10
    """

    statistic: ClassVar[str] = "density"
    counted_with: ClassVar[tuple[str, ...]] = (GaussianProcess.name,)
    nothing: ClassVar[str] = "There are no points: a density needs at least one."
    _opened = False
    domain: Domain | Sequence[float] | Sequence[Sequence[float]] | None = None
    edges: Sequence[float] | Sequence[Sequence[float]] | None = None
    size: int | None = None
    bandwidth_epsilon: float | None = None
    smoothing: str = "auto"
    outside: str = APART
    _held: PendingRelease | None = field(init=False, default=None)
    _released: DensityRelease | None = field(init=False, default=None)

    def plan(self, n: int) -> DensityPlan:
        """What a fit on n units would do and how large its noise would be; reads no data and costs nothing."""
        self._check_parameters()
        return self._plan(n, self._bandwidth)

    def _plan(self, n: int, bandwidth: Bandwidth | None, edition: int = PRESENT) -> DensityPlan:
        mechanism, settings = self._chosen()
        settings.pop("answers", None)  # which no plan needs
        if "bandwidth" in settings:
            settings["bandwidth"] = bandwidth
        return plan_density(
            DensityRequest(
                n=n,
                budget=Budget(self.epsilon, self.delta),
                domain=self._domain(),
                neighbours=Unit("unit", self.neighbours).neighbours,
                mechanism=mechanism,
                size=self.size,
                edges=self.edges,
                outside=self.outside,
                edition=edition,
                **settings,
            )
        )

    def _again(self, plan: DensityPlan, n: int) -> DensityPlan:
        return self._plan(n, plan.request.bandwidth, plan.request.edition)

    @forgets_records
    def fit(self, X: Any, y: None = None, *, counts: object = None, units: object = None) -> DensityFunction:
        """Release the density of these points; everything public is checked before the ledger is charged.

        X: a vector of points, a matrix with one row a point, a data frame, or `dpfda.Curves` from a file. `units` says
        whose point each row is: a vector of identifiers or a column's name; a person with several points counts once,
        with all of them. `counts` says how many people each row stands for, one point each: deaths by age need no row
        for every death.
        """
        return self.fit_order(self.order(X, counts=counts, units=units))

    @forgets_records
    def order(self, X: Any, *, counts: object = None, units: object = None) -> FitOrder:
        """What `fit` would release of these points: checked, planned and priced, not charged, and no point is read."""
        how = self._stated_bandwidth
        # Two ways to buy a bandwidth are two requests; keys of the first one were given before there was another.
        reasons = (("bandwidth", LEAVE_ONE_OUT),) if isinstance(how, str) and how == LEAVE_ONE_OUT else ()
        first = self._order(X, counts, units, self._bandwidth, reasons)
        if reasons:
            leave_one_out(first.plan.cells, first.plan.n, counted=first.summary.counted)  # what it refuses
        self.check_seen(first.plan)
        by_points = self._by_points and self.neighbours == REPLACE
        # Parameters that are set anew must not change what is paid for: the density after a bandwidth is by these.
        settled = copy(self)

        def again(choice: BandwidthChoice, edition: int) -> OrderedDensity:
            reasons = (("bandwidth", choice.because),)
            return settled._order(X, counts, units, choice.widths, reasons, edition=edition)

        order = DensityOrder(
            first.order.price,
            first.order.ledger,
            first,
            self._price,
            str(how),
            again,
            settled._prepared if by_points else None,
            self._prepared(first) if by_points else None,
        )
        return FitOrder(self, first.plan, order, first.plan.cells.domain.dimension)

    def _keep(self, released: Any, ordered: FitOrder) -> None:
        if released.choice is not None:
            self.bandwidth_choice_ = released.choice
        self._opened, self._held, self._released = False, released.held, released.whole
        self.plan_ = released.plan  # with the bandwidth that was bought

    @property
    def _by_points(self) -> bool:
        """Whether the noise can be drawn at the points that are asked for."""
        return bool(self._chosen()[0] == GaussianProcess.name)

    @property
    def _stated_bandwidth(self) -> Bandwidth | str | None:
        bandwidth: Bandwidth | str | None = self._chosen()[1].get("bandwidth")
        return bandwidth

    @property
    def _price(self) -> float:
        """What the bandwidth costs: nothing unless it is bought."""
        return float(self.bandwidth_epsilon or 0.0) if isinstance(self._stated_bandwidth, str) else 0.0

    @property
    def _bandwidth(self) -> Bandwidth | None:
        """The bandwidth to check a plan with: the stated one, or any before a private one is bought."""
        stated = self._stated_bandwidth
        if not isinstance(stated, str):
            if self.bandwidth_epsilon is not None:
                raise UsageError(
                    parameter="bandwidth_epsilon",
                    rule=("goes with ", arg("bandwidth", "private-iqr")),
                    fix="Leave it out.",
                )
            return stated
        if stated not in BOUGHT or self.bandwidth_epsilon is None or self.neighbours != REPLACE:
            raise UsageError(
                "A bandwidth is a number, one for each side, a matrix, None for a rule, or 'private-iqr' or "
                "'private-loo', which take ",
                arg("bandwidth_epsilon", ...),
                f" of its own and 'replace-one'; got {brief(stated)} with ",
                arg("bandwidth_epsilon", self.bandwidth_epsilon),
                f" and {brief(self.neighbours)}.",
                parameter="bandwidth",
                value=stated,
            )
        stated_budget(self.bandwidth_epsilon, 0.0)  # refuses what is none
        return tuple(length / 10 for length in self._domain().lengths)

    def _order(
        self,
        X: Any,
        counts: object,
        units: object,
        bandwidth: Bandwidth | None,
        reasons: tuple[tuple[str, str], ...] = (),
        *,
        edition: int = PRESENT,
    ) -> OrderedDensity:
        """The plan for these points and what would be released of them; not charged yet."""
        self._check_parameters()
        domain = self._domain()
        records = as_points(X, domain.dimension, units=units, counts=counts)
        counted = counts is not None
        unit = Unit(records.unit or ("person" if counted else "row"), self.neighbours)
        size = self._size(records, unit, (lambda: count_units(records)) if counted else None)
        plan = self._plan(size.planned, bandwidth, edition)
        public = Public.of_points(unit, size.n, size.planned, width=domain.dimension + counted, counting=size.counting)
        chosen = (
            *((("points", records.columns),) if records.columns else ()),
            *((("counts", "each row stands for so many people, one point each"),) if counted else ()),
            ("cells", f"{plan.cells.told}, {'equal' if self.edges is None else 'between edges stated by the user'}"),
            *reasons,
            *plan.reasons,
        )
        notes = records.notes_of_counts if counted else records.notes
        curator = self._curator_of(records, public, chosen, notes=notes, before=self._price)
        summary = density_of(plan.features, counted=counted)
        order = curator.order(
            summary,
            basis=plan.design.basis,
            mechanism=plan.design.mechanism,
            budget=plan.spends,
            smoothing=smoothing_after(self.smoothing, smoothable=plan.design.smoothing),
            name=plan.design.name,
        )
        if edition == PRESENT and self.outside == EDGE:
            # What earlier versions made of every call: keys of theirs stand for it without this word.
            order = replace(order, price=replace(order.price, request=request_hash(order.price.request, EDGE)))
        settled = copy(self)

        @cache
        def earlier() -> OrderedDensity | None:
            if edition == FORMER:
                return None
            try:
                return settled._order(X, counts, units, bandwidth, reasons, edition=FORMER)
            except UsageError:
                return None  # it was refused then

        # Under a key that stands in a ledger; without one nobody could have charged it before.
        before = None if self.ledger is None else earlier()
        if before is not None:
            order = replace(order, price=replace(order.price, instead=replace(before.order.price, key="earlier")))
        return OrderedDensity(plan, summary, curator, order, earlier)

    def _prepared(self, ordered: OrderedDensity) -> Prepared:
        # Loaded where it is needed: most densities are released as a whole, and answer nowhere point by point.
        from dpfda.statistics.density.online import prepare_density

        answers = self._chosen()[1].get("answers")
        return prepare_density(ordered.plan, ordered.summary, ordered.curator, ordered.order, answers=answers)

    @property
    def release_(self) -> DensityRelease:
        """The released density; a Gaussian process that was fitted is drawn here, unless it was opened in a store."""
        if self._held is not None:
            self._released, self._held = self._held.whole(), None
        if self._opened:
            raise UsageError(GIVEN)
        if self._released is None:
            raise NotFittedError("There is no release yet: fit the estimator first.")
        return self._released

    @forgets_records
    def open(
        self, store: str | Path | Store | None = None, X: Any = None, *, counts: object = None, units: object = None
    ) -> Oracle | FiniteOracle:
        """An oracle that answers at any points for ever, the same answer at the same point, across restarts.

        `store` is e.g. "sqlite:///oracle.db"; None keeps answers in memory. After a fit it costs nothing. With points X
        instead of a fit, a store that holds this release already is opened again, free, and a new one is charged. With
        mechanism "gp" the noise is drawn at the points that are asked for (Hall et al., Section 5); other releases
        have all their answers from the start. A store answers for one set of records: with others it would not notice,
        and whoever's record changed between two openings would be protected less.
        """
        from dpfda.online import check_store, header_of, open_finite, open_online
        from dpfda.online.card import OUTSIDE
        from dpfda.statistics.pending import reopened

        self._check_parameters()
        if X is None:
            if self._held is not None:
                oracle = self._held.online(store)
                self._held, self._opened = None, True
                return oracle
            return open_finite(self.release_, store)
        found = header_of(store)
        if not self._by_points:
            return (
                self.fit(X, counts=counts, units=units).open(store)
                if found is None
                else reopened(store, self.dataset, self._domain(), Budget(self.epsilon, self.delta), self.neighbours)
            )
        if isinstance(self._stated_bandwidth, str):
            raise UsageError(
                "A bandwidth that is bought would be another one each time: fit first, then open the store.",
                parameter="bandwidth",
            )
        edition = PRESENT if found is None or OUTSIDE in found else FORMER
        ordered = self._order(X, counts, units, self._stated_bandwidth, edition=edition)
        prepared = self._prepared(ordered)
        if found is None:
            self.check_seen(ordered.plan)
            payment = ordered.order.pay()
            due = ordered.due(payment.receipt)
            return (prepared if due is ordered else self._prepared(due)).read(payment).online(store)
        check_store(store, prepared.law, prepared.facts, randomness=self.randomness)
        held = prepared.read(Payment(None, None))  # the store was paid for when it was made
        return open_online(
            held.sections, held.law, store, facts=held.facts, randomness=self.randomness, must_exist=True
        )

    def __getstate__(self) -> Any:
        # Copies and pickles get what was released, and no records that wait.
        state = dict(super().__getstate__())
        return state | {"_held": None} if "_held" in state else state

    def sample(self, size: int, *, seed: int | None = None) -> Array:
        """Synthetic records from the released density, (size,) or (size, d): post-processing, free."""
        return self.release_.sample(size, seed=seed)

    def score_samples(self, X: ArrayLike) -> Array:
        """The logarithm of the released density at public points, as scikit-learn's density estimators have it."""
        with np.errstate(divide="ignore"):
            return np.log(self.release_(X))

    def _domain(self) -> Domain:
        if (self.domain is None) == (self.edges is None):
            raise needs_one(self, "A density", {"domain": (0.0, 100.0), "edges": [0, 1, 5, 10]})
        return as_domain(self.domain) if self.domain is not None else cells_between(self.edges).domain  # type: ignore[arg-type]

"""What kernel machines share: public facts, checks before anything is read, points of the domain."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpfda.arrays import Array, ArrayLike, brief, is_whole
from dpfda.bases import Basis, Domain, as_domain
from dpfda.bases.domain import MOST_SIDES
from dpfda.curator import ReleaseOrder
from dpfda.curator.summary import Public
from dpfda.errors import UsageError
from dpfda.kernels import Kernel
from dpfda.privacy import Budget, Unit
from dpfda.records import Curves
from dpfda.records.cell_values import as_numbers
from dpfda.records.data_frames import check_same_rows, with_units
from dpfda.records.forgetting import forgets_records
from dpfda.records.labelled import labelled, width_of
from dpfda.statistics.estimator import FitOrder, Size, Spender
from dpfda.statistics.machines.losses import Loss
from dpfda.statistics.machines.own_loss import StatedLoss
from dpfda.statistics.machines.plan import EXACT, ExactPlan, MachinePlan, MachineRequest, plan_exactly, plan_machine
from dpfda.statistics.machines.release import MachineRelease, into
from dpfda.statistics.machines.summary import Machine

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from dpfda.online import FiniteOracle, Oracle, Store
    from dpfda.statistics.machines.online import PendingMachine, PreparedMachine

UNIT = (0.0, 1.0)
ASSUMED = "none was stated, so [0, 1] for every coordinate: points outside were moved to its edge"


@dataclass(frozen=True, eq=False, repr=False)
class Planned:
    """Records with their plan; they are only counted, and that only where their number is public."""

    plan: MachinePlan | ExactPlan
    records: Curves
    unit: Unit
    size: Size


@dataclass(kw_only=True, eq=False, repr=False)
class KernelMachine(Spender):
    """What both machines share: public facts, checks before anything is read, and the release."""

    statistic: ClassVar[str] = "machine"
    counted_with: ClassVar[tuple[str, ...]] = (EXACT,)
    nothing: ClassVar[str] = "There are no records: a machine needs at least one."
    task: ClassVar[str]
    loss: str | StatedLoss
    kernel: Kernel | None = None
    penalty: float | None = None
    domain: Domain | Sequence[float] | Sequence[Sequence[float]] | None = None
    features: str | int | Basis | None = "auto"
    release_: MachineRelease = field(init=False)
    plan_: MachinePlan | ExactPlan = field(init=False)
    _held: PendingMachine = field(init=False)

    @abstractmethod
    def _loss(self) -> Loss: ...

    @abstractmethod
    def _facts(self) -> dict[str, Any]:
        """Classes, or the bound on responses."""

    def _remember(self) -> None:
        """Keep what predictions need of the parameters: they may be set anew after the fit."""

    def _assumed(self) -> tuple[tuple[str, str], ...]:
        """For the card: what was not stated."""
        return (("domain", ASSUMED),) if self.domain is None else ()

    @abstractmethod
    def _targets(self, y: Any) -> Array:
        """Labels as signs, or responses, one for each row; NaN where there is none."""

    def plan(self, n: int, *, dimension: int | None = None) -> MachinePlan | ExactPlan:
        """What a fit on n units would do and how large its noise would be; reads no data and costs nothing.

        `dimension` is the number of coordinates of a point, where the domain is one interval for all of them.
        """
        self._check_parameters()
        mechanism, settings = self._chosen()
        request = MachineRequest(
            n=n,
            budget=Budget(self.epsilon, self.delta),
            domain=self._domain(dimension),
            neighbours=Unit("unit", self.neighbours).neighbours,
            task=self.task,
            loss=self._loss(),
            kernel=self.kernel,
            penalty=self.penalty,
            mechanism=mechanism,
            features=self.features,
            **settings,
        )
        return plan_exactly(request) if mechanism == EXACT else plan_machine(request)

    def _again(self, plan: MachinePlan | ExactPlan, n: int) -> MachinePlan | ExactPlan:
        return self.plan(n, dimension=plan.request.domain.dimension)

    @forgets_records
    def fit(self, X: Any, y: Any, *, units: object = None) -> Self:
        """Release the machine of these records; everything public is checked before the ledger is charged.

        X: matrix (n, d), data frame, or `dpfda.Curves` from a file; y: one label or response for each row. `units` says
        whose record each row is: a vector of identifiers, or the name of a column of X. A person with several records
        counts once, with the average of their losses; without `units` every row is taken for another person.
        """
        return self.fit_order(self.order(X, y, units=units))

    @forgets_records
    def order(self, X: Any, y: Any, *, units: object = None) -> FitOrder:
        """What `fit` would release of these records: checked, planned and priced, not charged; points are not read."""
        return self._ordered(self._planned(X, y, units), _names(X, units))

    def _ordered(self, planned: Planned, names: tuple[str, ...]) -> FitOrder:
        plan = planned.plan
        self.check_seen(plan)
        order = self._order(planned, plan) if isinstance(plan, MachinePlan) else self._prepared(planned, plan)
        return FitOrder(self, plan, order, plan.request.domain.dimension, names)

    def _keep(self, released: Any, ordered: FitOrder) -> None:
        # What an earlier fit with another mechanism left is gone.
        kept, gone = ("_held", "release_") if isinstance(ordered.plan, ExactPlan) else ("release_", "_held")
        setattr(self, kept, released)
        self.__dict__.pop(gone, None)
        self._remember()

    def _planned(self, X: Any, y: Any, units: object) -> Planned:
        self._check_parameters()
        self._loss()  # refuses what is wrong before records are looked at, as the next lines do
        self._facts()
        X = with_units(X, units)
        width = width_of(X)
        if width is None and isinstance(X, list | tuple) and self._domain(None).dimension == 1:
            raise UsageError(
                "A list has no public width: each of its rows could have its own. State the domain with one interval "
                "for each coordinate, e.g. [(0, 1), (0, 1)], or pass an array: numpy.asarray(X, dtype=float)."
            )
        columns = None if width is None else width - (1 if isinstance(units, str) else 0)
        domain = self._domain(columns)
        check_same_rows(X, y, "y")
        records = labelled(X, self._targets(y), domain.dimension, units=units)
        unit = Unit(records.unit or "row", self.neighbours)
        size = self._size(records, unit)
        return Planned(self.plan(size.planned, dimension=domain.dimension), records, unit, size)

    def _prepared(self, planned: Planned, plan: ExactPlan) -> PreparedMachine:
        from dpfda.statistics.machines.online import prepared

        facts = self._facts()
        return prepared(
            plan,
            planned.records,
            unit=planned.unit.name,
            bound=facts.get("bound"),
            classes=facts.get("classes"),
            dataset=self.dataset,
            assumed=self._assumed(),
            ledger=self._payer(),
            randomness=self.randomness,
        )

    def _order(self, planned: Planned, plan: MachinePlan) -> ReleaseOrder:
        domain, facts, records, size = plan.request.domain, self._facts(), planned.records, planned.size
        public = Public.of_points(
            planned.unit,
            size.n,
            size.planned,
            width=1 + domain.dimension,
            counting=size.counting,
            bound=plan.request.loss.scale,
        )
        chosen = (
            *((("points", records.columns),) if records.columns else ()),
            *((("classes", " and ".join(map(repr, facts["classes"]))),) if "classes" in facts else ()),
            *self._assumed(),
            *plan.reasons,
        )
        return self._curator_of(records, public, chosen).order(
            Machine(plan.request.task, plan.request.loss, plan.penalty, plan.reach, **facts),
            basis=plan.basis,
            mechanism=plan.mechanism,
            budget=plan.spends,
            smoothing="none",
            name=plan.name,
        )

    def _values(self, X: ArrayLike) -> Array:
        """Values of the private function at public points, by the release or by the oracle."""
        check_is_fitted(self)
        rows = self._queries(X)
        if isinstance(self.plan_, ExactPlan):
            return self._held.open(None)(into(self.plan_.request.domain, rows))
        return self.release_.decide(rows)

    @forgets_records
    def open(
        self, store: str | Path | Store | None = None, X: Any = None, y: Any = None, *, units: object = None
    ) -> FiniteOracle | Oracle:
        """An oracle that answers at public points, the same for ever, kept in a store.

        With mechanism "gp" it is the only way in: noise is drawn at the points that are asked for, by one oracle for
        each fit; `predict` opens one in memory. Else it serves the release. With records X and y instead of a fit, a
        store that was made for "gp" is opened again, free, and a new one is charged. A store answers for one set of
        records: with others it would not notice, and whoever's record changed would be protected less.
        """
        self._check_parameters()
        from dpfda.online import check_store, header_of, open_finite, open_online
        from dpfda.statistics.pending import reopened

        if X is None:
            check_is_fitted(self)
            return self._held.open(store) if isinstance(self.plan_, ExactPlan) else open_finite(self.release_, store)
        planned = self._planned(X, y, units)
        plan = planned.plan
        if header_of(store) is None:
            return self.fit_order(self._ordered(planned, _names(X, units))).open(store)
        if not isinstance(plan, ExactPlan):
            budget = Budget(self.epsilon, self.delta)
            return reopened(store, self.dataset, plan.request.domain, budget, self.neighbours)
        machine = self._prepared(planned, plan)
        check_store(store, machine.law, machine.facts, randomness=self.randomness)
        return open_online(
            machine.solved(), machine.law, store, facts=machine.facts, randomness=self.randomness, must_exist=True
        )

    def _queries(self, X: Any) -> Array:
        """Public points as rows of numbers."""
        if hasattr(X, "tocsr") or type(X).__module__.startswith("scipy.sparse"):
            raise UsageError("Sparse input is not supported: points are dense. Use X.toarray().", parameter="X")
        try:
            array = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
        except Exception:  # uneven lists, objects of the user's own
            raise UsageError(f"Points are a matrix, one row a point, got {brief(X)}.", parameter="X", value=X) from None
        if array.dtype.kind == "c":
            raise UsageError("Complex data not supported: points are real.", parameter="X")
        if array.ndim == 1 and self.n_features_in_ == 1 and array.dtype != object:
            array = array[:, None]
        if array.ndim != 2:
            raise UsageError(
                f"Expected 2D array, got {array.ndim}D array instead. Reshape your data: one row a point, "
                "X.reshape(1, -1) for a single one.",
                parameter="X",
            )
        if array.shape[1] != self.n_features_in_:
            raise UsageError(
                f"X has {array.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input.",
                parameter="X",
            )
        return as_numbers(array)

    def _domain(self, columns: int | None) -> Domain:
        """The box of all coordinates; one interval stands for each of them."""
        domain = as_domain(UNIT if self.domain is None else self.domain)
        if not (columns is None or is_whole(columns, 0, MOST_SIDES)):
            raise UsageError(
                f"A point has at most {MOST_SIDES} coordinates, got dimension {brief(columns)}.",
                parameter="columns",
                value=columns,
            )
        if domain.dimension == 1 and columns is not None and columns > 1:
            return Domain(domain.sides * columns)
        return domain

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _names(X: Any, units: object) -> tuple[str, ...]:
    """The columns of a frame that are coordinates."""
    unit = units if isinstance(units, str) else None
    return tuple(str(name) for name in X.columns if str(name) != unit) if hasattr(X, "columns") else ()

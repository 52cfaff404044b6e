"""What all estimators of curves share: public facts, checks before anything is read, scikit-learn's tags."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from dpfda.arrays import Array, ArrayLike, check_flag, is_whole, public_numbers, values_of
from dpfda.bases import Basis, Domain, as_domain
from dpfda.bases.lattice import MOST_UNITS, Lattice
from dpfda.curator import Curator, Order
from dpfda.curator.summary import Public
from dpfda.errors import DataError, UsageError
from dpfda.kernels import Kernel
from dpfda.ledger import AnyLedger, Charge, OwnSpend, Quote, as_ledger
from dpfda.mechanisms import GaussianProcess, Mechanism, Process, Randomness
from dpfda.mechanisms.base import check_mechanism, check_source
from dpfda.mechanisms.table import AUTO, EUCLIDEAN, owner_of, resolve
from dpfda.messages import Message, arg
from dpfda.planning.base import AnyPlan, refusal
from dpfda.planning.request import Request, check_units
from dpfda.privacy import Budget, Counting, Unit
from dpfda.privacy.budget import stated_budget
from dpfda.privacy.norms import Norm
from dpfda.records import Curves, as_curves, smallest_cap
from dpfda.records.forgetting import forgets_records
from dpfda.records.reading import Reading, as_reading
from dpfda.releases import Release
from dpfda.releases.cards.words import say

if TYPE_CHECKING:
    from sklearn.utils import Tags

Centre = float | ArrayLike | Callable[[Array], ArrayLike]
ONE_POINT = (
    "1 feature(s): these curves have one value each, as the readings of a long table have (id, time, value). A curve "
    "is a row with one column for each grid point: make the table wide first; `dpfda check` on the file shows how. If "
    "curves of one point are meant, say where it lies: by `grid` with one number, or on the command line by --grid "
    "header and a column whose name ends in the place, as t0.5."
)

# Parameters that may be a list or an array; a class adds its own in `lists`, and all others are single values.
OF_MANY = frozenset(
    {
        "centre",
        "classes",
        "covariate_levels",
        "covariate_limits",
        "curvature",
        "domain",
        "edges",
        "limits",
        "utility",
        "utility_range",
    }
)
LONGEST_NUMBER = 2**12  # bits
LONGEST_NAME = 200


def is_single(value: object) -> bool:
    """Whether a value can be compared with a word or a number, and the answer is yes or no."""
    try:
        if isinstance(value, np.timedelta64 | np.datetime64) or (hasattr(value, "__array__") and np.ndim(value) > 0):
            return False
        return bool(value == value) or value != value
    except Exception:
        return False


COUNTED_ONLY = Message(
    arg("mechanism", GaussianProcess.name),
    " answers with weights that are bounded by the number of units, so that number is counted and not stated: leave ",
    arg("n"),
    " out, or take another mechanism.",
)


def smoothing_after(stated: str, *, smoothable: bool) -> str:
    """The smoothing after the noise. The papers' mechanisms smooth before it, so "auto" leaves them as they are."""
    return "none" if stated == "auto" and not smoothable else stated


def needs_one(estimator: object, what: str, examples: Mapping[str, Any]) -> UsageError:
    """The refusal of both or none of two parameters; one without an example has None for it."""
    first, second = examples
    shown: list[Any] = [arg(name, example) for name, example in examples.items() if example is not None]
    return UsageError(
        f"{what} needs exactly one of ",
        arg(first),
        " and ",
        arg(second),
        ", known in advance, e.g. ",
        *(shown if len(shown) == 1 else (shown[0], " or ", shown[1])),
        "; got ",
        arg(first, getattr(estimator, first)),
        " and ",
        arg(second, getattr(estimator, second)),
        ".",
        parameter=first,
        value=getattr(estimator, first),
        fix="Neither may be read from the data.",
    )


@dataclass(frozen=True, slots=True)
class Size:
    """How many units there are: to plan with, to divide by where that is public, and how it is known."""

    planned: int
    n: int | None
    counting: Counting


def _stated(n: object, unit: Unit) -> int:
    if not is_whole(n, 1, MOST_UNITS):
        raise UsageError(parameter="n", value=n, rule="states the number of units, a whole number between 1 and 2^38")
    if not unit.size_is_public:
        raise UsageError(
            parameter="n",
            rule="states the number of units, which is private under 'add-or-remove-one'",
            fix=(
                "State a public guess of it, ",
                arg("planned_n", n),
                ", or choose ",
                arg("neighbours", "replace-one"),
                ".",
            ),
        )
    return int(n)


@dataclass(frozen=True, eq=False, repr=False)
class FitOrder:
    """A fit that is checked, planned and priced, and neither charged nor read: what `order` of an estimator gives.

    `fit_order` of the same estimator releases it; a dry run asks what the ledger would say. It holds the records.
    """

    maker: Spender
    plan: Any
    order: Order
    width: int  # columns of the records, as scikit-learn counts
    names: tuple[str, ...] = ()  # and names them; empty where they have no names
    stated: dict[str, Any] = field(init=False)  # the parameters that it was made with

    def __post_init__(self) -> None:
        object.__setattr__(self, "stated", self.maker.get_params(deep=False))

    @property
    def price(self) -> Charge:
        """What the ledger is asked for."""
        return self.order.price

    def quote(self) -> Quote | None:
        """What the ledger would say to the charge, which is not entered; None without a ledger that can say it."""
        return self.order.quote()


@dataclass(kw_only=True, eq=False, repr=False)
class Spender(BaseEstimator):  # type: ignore[misc]
    """An estimator that charges a ledger, or counts for itself what it and its clones spend."""

    statistic: ClassVar[str]  # the name under which the table of mechanisms knows it
    bounds_norm: ClassVar[Norm] = (
        EUCLIDEAN  # of the bound of its summary: which noise laws a statistic from outside takes
    )
    lists: ClassVar[tuple[str, ...]] = ()  # parameters of its own that may be a list or an array
    counted_with: ClassVar[tuple[str, ...]] = ()  # mechanisms whose bound needs a number of units that was counted
    nothing: ClassVar[str] = "There are no curves: a release needs at least one."  # where there are no records

    epsilon: float
    delta: float
    mechanism: str | Mechanism | Process = AUTO
    neighbours: str = "replace-one"
    n: int | None = None
    planned_n: int | None = None
    dataset: str = "unnamed"
    ledger: AnyLedger | str | None = None
    randomness: Randomness | None = None
    force: bool = False
    reading: Reading | None = None

    def __new__(cls, *arguments: Any, **stated: Any) -> Self:
        # Before `__init__`, which could only say that it does not know the name.
        cls._check_moved(stated)
        made: Self = super().__new__(cls)
        return made

    @classmethod
    def _check_moved(cls, stated: Mapping[str, Any]) -> None:
        """Refuse settings of a mechanism in the place of parameters, and say where they belong."""
        known = {each.name for each in fields(cls) if each.init}
        for name in stated:
            if name in {each.name for each in fields(Reading)}:
                raise UsageError(
                    parameter=name,
                    rule="says how records are read, and belongs to the object that says all of it",
                    fix=f"Say reading=dpfda.Reading({name}=...).",
                )
            owner = None if name in known else owner_of(name, cls.statistic, stated.get("mechanism"))
            if owner is not None:
                raise UsageError(
                    parameter=name,
                    rule="belongs to the mechanism",
                    fix=f"Say mechanism=dpfda.mechanisms.{owner.__name__}({name}=...).",
                )

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as scikit-learn does; None of them may be a setting of the mechanism."""
        self._check_moved(params | {"mechanism": params.get("mechanism", self.mechanism)})
        made: Self = super().set_params(**params)
        return made

    def _chosen(self) -> tuple[Any, dict[str, Any]]:
        """The mechanism as plans take it: a name with the settings that were stated, or a noise law."""
        return resolve(self.mechanism, self.statistic)

    def check_seen(self, plan: AnyPlan) -> None:
        """Refuse what would be next to nothing but noise, by its plan alone, unless `force` is set.

        The message says which n or epsilon would do; nothing has been charged, and no record has been read.
        """
        check_flag(self.force, "force")
        if self.force:
            return
        stated = self.get_params(deep=False)
        bounded = stated.get("bound") is not None or stated.get("limits") is not None

        def again(n: int, epsilon: float) -> AnyPlan:
            return type(self)(**stated | {"epsilon": epsilon})._again(plan, n)

        text = refusal(plan, again, bounded=bounded)
        if text:
            raise UsageError(text, " Say ", arg("force", True), " to release it all the same. Nothing was charged.")

    @forgets_records
    def fit_order(self, ordered: FitOrder) -> Self:
        """Release what was ordered: charge, read, add noise once, keep. `fit` is this, of what `order` gives."""
        now = self.get_params(deep=False)
        # Before the charge: it is for what was ordered, and what is made of the release must be that too.
        if getattr(ordered, "maker", None) is not self or any(now[name] is not ordered.stated[name] for name in now):
            raise UsageError(
                "An order is released by the estimator that made it, with the parameters that it had: order again. "
                "Nothing was charged."
            )
        released = ordered.order.release()
        self.plan_, self.n_features_in_ = ordered.plan, ordered.width
        if ordered.names:
            self.feature_names_in_ = np.array(ordered.names, dtype=object)
        self._keep(released, ordered)
        return self

    @abstractmethod
    def _keep(self, released: Any, ordered: FitOrder) -> None:
        """Keep what an order has released, as attributes."""

    @abstractmethod
    def _again(self, plan: Any, n: int) -> AnyPlan:
        """The plan of the same release for another number of units."""

    def _check_parameters(self) -> None:
        """Refuse values that no parameter takes, so that later rules compare plain values only."""
        for name, value in self.get_params(deep=False).items():
            if not (name in OF_MANY or name in self.lists or is_single(value)):
                raise UsageError(parameter=name, value=value, rule="takes a single value")
            if isinstance(value, int) and value.bit_length() > LONGEST_NUMBER:
                raise UsageError(
                    parameter=name,
                    rule=f"is a whole number of more than {LONGEST_NUMBER} bits",
                    fix="State a smaller one.",
                )
        params = self.get_params(deep=False)
        named = params.get("dataset", "unnamed")
        if not (isinstance(named, str) and 1 <= len(named) <= LONGEST_NAME and named.isprintable()):
            raise UsageError(
                parameter="dataset",
                value=named,
                rule=f"is a name of 1 to {LONGEST_NAME} printable characters for the card",
            )
        if params.get("randomness") is not None:
            check_source(params["randomness"])
        if not (params.get("kernel") is None or "kernel" in self.lists or isinstance(params["kernel"], Kernel)):
            raise UsageError(
                parameter="kernel",
                value=params["kernel"],
                rule="must be a kernel such as dpfda.kernels.Matern(1.5, 0.1)",
            )
        if not isinstance(params.get("smoothing", "auto"), str):
            raise UsageError(
                parameter="smoothing", value=params["smoothing"], rule="is chosen by its name, e.g. 'auto' or 'none'"
            )
        if not (params.get("basis") is None or isinstance(params["basis"], str | Basis)):
            raise UsageError(
                parameter="basis",
                value=params["basis"],
                rule="must be None, a name, e.g. 'cosine', or an object such as dpfda.bases.cosine((0, 1), 9)",
            )
        stated_budget(params["epsilon"], params.get("delta", 0.0))
        mechanism = params.get("mechanism", "auto")
        if not isinstance(mechanism, str | Process):
            if isinstance(mechanism, type) or not hasattr(mechanism, "profile"):
                raise UsageError(
                    parameter="mechanism",
                    value=mechanism,
                    rule="must be a name, e.g. 'auto', or an object such as dpfda.mechanisms.Laplace()",
                )
            check_mechanism(mechanism)
        self._chosen()  # refuses settings that this statistic does not take
        as_reading(self.reading)

    @property
    def spent_(self) -> Budget | None:
        """What fits of this estimator and its clones without a ledger add up to in this process; None if none were."""
        own: OwnSpend | None = self.__dict__.get("_own")
        return None if own is None or not own.number else own.total

    @property
    def holds_(self) -> str:
        """What this estimator still holds of the records, in words: nothing, but for noise that is drawn later."""
        held = self.__dict__.get("_held")
        return "" if held is None else str(held.what)

    @property
    def spent_is_nominal_(self) -> bool:
        """Whether `spent_` rests on an approximate draw: then it is what was aimed at, and no guarantee."""
        own: OwnSpend | None = self.__dict__.get("_own")
        return own is not None and own.nominal

    def _size(self, records: Curves, unit: Unit, people: Callable[[], int] | None = None) -> Size:
        """The number of units of records; `people` counts them where rows state it."""
        if self.n is not None and self._chosen()[0] in self.counted_with:
            raise UsageError(COUNTED_ONLY)
        if self.planned_n is not None:
            check_units(self.planned_n, "planned_n")  # stated in vain under replace-one, yet no nonsense
        if self.n is not None:
            return Size(_stated(self.n, unit), self.n, Counting.STATED)
        if not unit.size_is_public:
            if self.planned_n is None:
                raise UsageError(
                    "Under add-or-remove-one the number of units is private, so n is unknown to the plan. State "
                    "a public guess, e.g. ",
                    arg("planned_n", 5000),
                    ".",
                    parameter="planned_n",
                )
            return Size(self.planned_n, None, Counting.PRIVATE)
        counted = records.size_under(unit) if people is None else people()
        if counted == 0:
            raise DataError(f"{self.nothing} Nothing was charged.")
        if people is None and records.units is not None and records.units.size == 0:
            # Whether there are rows without an identifier is not asked: they are one unit, and it may be absent.
            raise DataError(
                "No row has an identifier: whose curves or points they are is unknown. Nothing was charged."
            )
        by_rows = Counting.ROWS if records.units is None else Counting.IDENTIFIERS
        return Size(counted, counted, by_rows if people is None else Counting.PEOPLE)

    def _curator_of(
        self,
        records: Curves,
        public: Public,
        chosen: tuple[tuple[str, str], ...],
        *,
        notes: tuple[tuple[str, str], ...] | None = None,
        before: float = 0.0,
    ) -> Curator:
        """The one way to these records; `chosen` says on the card how its public parameters came about."""
        return Curator(
            records,
            public,
            dataset=self.dataset,
            ledger=self._payer(),
            randomness=self.randomness,
            reading=as_reading(self.reading),
            notes=records.notes if notes is None else notes,
            chosen=chosen,
            before=before,
        )

    def _payer(self) -> AnyLedger:
        """Who is charged: the ledger, or nobody, and then it is at least counted."""
        given = as_ledger(self.ledger)
        if given is not None:
            return given
        return self._counter()

    def _counter(self) -> OwnSpend:
        own: OwnSpend = self.__dict__.setdefault("_own", OwnSpend())
        return own

    def __sklearn_clone__(self) -> Self:
        # Searches and cross-validation fit clones and throw them away: what they spend is counted here.
        made: Self = super().__sklearn_clone__()
        if self.ledger is None:
            made.__dict__["_own"] = OwnSpend(above=self._counter())
        return made

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True  # a cell that is no number is missing; an error would show it
        tags.non_deterministic = True
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class ClippedCurves(Spender):
    """What estimators of clipped curves on a public grid share, whatever they take beside the curves."""

    what: ClassVar[str] = "A mean curve"  # begins a message
    bound: float | None = None
    limits: tuple[float, float] | None = None
    domain: Domain | Sequence[float] | Sequence[Sequence[float]] = (0.0, 1.0)
    centre: Centre | None = None
    size: int | None = None

    def facts(self, curves: Curves, *, count_weight: int = 0) -> Public:
        """The public facts about these curves: what was stated, their layout, and their number where it is public."""
        lattice, middle, limited = self._clipping()
        points = self._grid(curves, as_domain(self.domain))
        unit = Unit(curves.unit or "row", self.neighbours)
        size = self._size(curves, unit)
        return Public(
            unit=unit,
            n=size.n,
            planned=size.planned,
            counting=size.counting,
            grid=points,
            centre=self._centre(points, middle),
            cap=lattice.bound if limited else smallest_cap(lattice.bound, len(points)),
            lattice=lattice,
            count_weight=count_weight,
        )

    def _request(
        self, n: int, grid_size: int | None, basis: str | Basis | None, *, mechanism: Any = AUTO, **settings: Any
    ) -> Request:
        """What a plan is made from: the stated parameters, and the settings of the mechanism."""
        return Request(
            n=n,
            budget=Budget(self.epsilon, self.delta),
            bound=self._clipping()[0].bound,
            domain=as_domain(self.domain),
            neighbours=Unit("unit", self.neighbours).neighbours,
            mechanism=mechanism,
            basis=basis,
            size=self.size,
            grid_size=grid_size,
            **settings,
        )

    def _curator(self, curves: Curves, public: Public, reasons: tuple[tuple[str, str], ...]) -> Curator:
        """The one way to these curves; `reasons` say on the card how the plan's choices came about."""
        chosen = (
            ("bound", "stated by the user" if self.limits is None else "limits of values"),
            ("grid", f"{len(public.grid)} points, {'even' if curves.grid is None else 'stated by the user'}"),
            *((("values", curves.columns),) if curves.columns else ()),
            *self._centre_reason(),
            *reasons,
        )
        return self._curator_of(curves, public, chosen)

    def _centre_reason(self) -> tuple[tuple[str, str], ...]:
        """A release as the centre has been paid for, and its price adds to this one's."""
        if not isinstance(self.centre, Release):
            return ()
        card = self.centre.certificate
        bought = say("chosen", "bought-centre", what=str(card.what), dataset=card.dataset, guarantee=card.guarantee)
        return (("centre", bought),)

    def _check_public(self) -> None:
        """Refuse what is wrong with the parameters, before the curves are looked at."""
        self._check_parameters()
        Budget(self.epsilon, self.delta)
        as_domain(self.domain)
        self._clipping()

    def _clipping(self) -> tuple[Lattice, float, bool]:
        """The lattice, the middle of the limits, and whether limits were given."""
        if (self.bound is None) == (self.limits is None):
            raise needs_one(self, self.what, {"bound": 6.0, "limits": (0.0, 12.0)})
        if self.limits is None:
            return Lattice(self.bound), 0.0, False  # type: ignore[arg-type]
        if self.centre is not None:
            raise UsageError(
                parameter="limits",
                rule=(
                    "imply their own centre, half-way: leave ",
                    arg("centre"),
                    " out, or use ",
                    arg("bound"),
                    " with it",
                ),
            )
        try:
            low, high = public_numbers(self.limits, "Limits").tolist()
        except (TypeError, ValueError):
            low = high = float("nan")
        if not (isinstance(low, float) and np.isfinite([low, high]).all() and low < high):
            raise UsageError(
                parameter="limits", value=self.limits, rule="must be two finite numbers (low, high) with low < high"
            )
        return Lattice((high - low) / 2), (low + high) / 2, True

    def _grid(self, curves: Curves, domain: Domain) -> Array:
        if curves.grid is not None:
            return domain.points(curves.grid)
        if domain.dimension > 1:
            raise UsageError(
                "On a box the grid must be stated: pass ",
                arg("grid="),
                " with one point in each row.",
                parameter="grid",
            )
        if curves.source.width == 1:
            raise UsageError(ONE_POINT)
        return domain.grid(curves.source.width)

    def _centre(self, points: Array, middle: float) -> Array:
        if self.centre is None:
            return np.full(len(points), middle)
        flat = points[:, 0] if points.shape[1] == 1 else points
        if callable(self.centre):
            values = values_of(self.centre, flat, what="the centre")
        else:
            try:
                values = public_numbers(self.centre, "A centre")
            except UsageError:
                values = np.full(0, np.nan)
        if values.ndim == 0:
            values = np.full(len(points), float(values))
        if values.shape != (len(points),) or not (np.abs(values) <= 1e100).all():
            raise UsageError(
                parameter="centre",
                rule=(
                    f"must be a number, {len(points)} values on the grid, or a function that gives them, all "
                    f"finite and at most 1e100; got shape {values.shape}"
                ),
            )
        return values


class CurveEstimator(ClippedCurves):
    """An estimator of curves alone. Its duties: `plan`, and `_order_of` for what it orders by that plan."""

    @abstractmethod
    def plan(self, n: int, *, grid_size: int | None = None) -> Any:
        """What a fit on n units would do and what error to expect; reads no data and costs nothing."""

    @abstractmethod
    def _order_of(self, curves: Curves, plan: Any) -> Order:
        """What is ordered from the curator once the plan is made: a summary, with its basis, mechanism and budget."""

    def plan_for(self, curves: Curves) -> Any:
        """The plan for these curves; it looks at their layout, and at the number of units where that is public."""
        points = self._grid(curves, as_domain(self.domain))
        planned = self._size(curves, Unit(curves.unit or "row", self.neighbours)).planned
        return self.plan(planned, grid_size=len(points))

    def _again(self, plan: Any, n: int) -> Any:
        return self.plan(n, grid_size=plan.request.grid_size)

    @forgets_records
    def fit(self, X: Any, y: Any = None, *, grid: ArrayLike | str | None = None, units: object = None) -> Self:
        """Release what is estimated from these curves; everything public is checked before the ledger is charged.

        X: matrix (n, q), FDataGrid, data frame or `dpfda.Curves`. `units` says whose curve each row is: a vector of
        identifiers, with a name as in {"ID": identifiers}, or a column's name; without it every row is taken for
        another person, and the card says so. `grid` holds the points of the values, evenly spaced by default; "header"
        reads them from a table's column names.
        """
        return self.fit_order(self.order(X, grid=grid, units=units))

    @forgets_records
    def order(self, X: Any, *, grid: ArrayLike | str | None = None, units: object = None) -> FitOrder:
        """What `fit` would release of these curves: checked, planned and priced, not charged, and no value is read."""
        self._check_public()
        curves = as_curves(X, grid=grid, units=units)
        plan = self.plan_for(curves)
        self.check_seen(plan)
        return FitOrder(self, plan, self._order_of(curves, plan), curves.source.width)

    def _keep(self, released: Any, ordered: FitOrder) -> None:
        self.release_ = released

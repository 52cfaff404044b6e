"""A function of the user's own with a stated sensitivity, perturbed as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpfda.arrays import NUMBERS, Array, ArrayLike, as_real, brief, is_whole, public_numbers
from dpfda.bases import Basis, Domain, as_domain
from dpfda.curator import Curator
from dpfda.curator.summary import Public
from dpfda.errors import UsageError
from dpfda.kernels import Kernel
from dpfda.mechanisms.table import AUTO
from dpfda.messages import arg
from dpfda.planning.request import check_units
from dpfda.privacy import Budget, Counting, Unit
from dpfda.records import Curves
from dpfda.records.forgetting import forgets_records
from dpfda.records.reading import as_reading
from dpfda.releases.cards.words import NORMS
from dpfda.statistics.estimator import FitOrder, Spender
from dpfda.statistics.function.online import order_online
from dpfda.statistics.function.plan import (
    KERNEL,
    MOST_SIZE,
    MOST_VALUES,
    PROCESS,
    FunctionPlan,
    FunctionRequest,
    check_vector,
    make_plan,
)
from dpfda.statistics.function.release import FunctionRelease
from dpfda.statistics.function.summary import GivenFunction, StatedFunction

if TYPE_CHECKING:
    from dpfda.online import FiniteOracle, Oracle, Store

Given = Callable[[Array], ArrayLike] | ArrayLike


@dataclass(kw_only=True, eq=False, repr=False)
class PerturbedFunction(Spender):
    """A function that was computed from records, and noise for its stated sensitivity (Hall et al. 2013, Corollary 9).

    Whatever was computed, however: if replacing one unit moves it by at most `sensitivity`, the release is private.
    That it does not move further is **your claim**. Nothing can check it here, the card says so, and where it is false
    the guarantee does not hold. `dpfda.sensitivities` has bounds for common classes of functions.

    Parameters
    ----------
    epsilon, delta : the guarantee; delta = 0 asks for pure privacy.
    sensitivity : how far one unit moves the function at most, in `norm`: a public number that holds for all data.
    kernel : covariance of the noise, e.g. `dpfda.kernels.Matern(1.5, 0.2)`; its space is the one whose norm the
        sensitivity is in. For a plain vector a positive definite matrix M: the norm is then `|M^(-1/2) v|`.
    domain : public interval, or list of intervals for surfaces; none for a vector.
    norm : "kernel", the norm of the kernel's space; "weighted-l1", the sum over the kernel's eigenfunctions of changes
        of coordinates, each over the root of its eigenvalue (Lin and Reimherr, Theorem 8); "rms", root mean square, for
        coordinates alone.
    mechanism : "auto", "gp" (a Gaussian process), "laplace" (a Laplace process, pure, for "weighted-l1"), "k-norm"
        (pure).
    basis : None for a rule, "mercer" (the kernel's eigenfunctions), "landmarks" (the kernel at points), or a basis.
    size : number of coordinates, None for a rule.
    smoothing : of the noisy coordinates, free: "none", "auto" and others as for `MeanFunction`.
    unit : what one unit is called on the card, e.g. "person".
    neighbours : "replace-one" or "add-or-remove-one": between which data sets the sensitivity was proven.
    n : the public number of units, if it is to stand on the card.
    planned_n, force, reading : not used here; as for all estimators.
    dataset, ledger, randomness : as for `MeanFunction`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PerturbedFunction, kernels
    >>> wave = lambda t: np.sin(2 * np.pi * t)  # a mean of 5000 curves, say
    >>> est = PerturbedFunction(
    ...     epsilon=1.0, delta=1e-6, sensitivity=0.01, kernel=kernels.Matern(1.5, 0.2), domain=(0, 1)
    ... ).fit(wave)
    >>> bool(abs(est.release_(0.25) - 1) < 0.3)
    True
    """

    statistic: ClassVar[str] = "function"
    lists: ClassVar[tuple[str, ...]] = ("kernel",)

    sensitivity: float
    kernel: Kernel | ArrayLike
    domain: Domain | Sequence[float] | Sequence[Sequence[float]] | None = None
    norm: str = "kernel"
    basis: str | Basis | None = None
    size: int | None = None
    smoothing: str = "none"
    unit: str = "person"
    release_: FunctionRelease = field(init=False)
    plan_: FunctionPlan = field(init=False)

    def plan(self, *, grid: ArrayLike | None = None, coordinates: int | None = None) -> FunctionPlan:
        """What a fit would do and how large its noise would be; looks at no function and costs nothing.

        Without `grid` and `coordinates` for a function that can be asked anywhere.
        """
        self._check_parameters()
        if not 1e-100 <= as_real(self.sensitivity) <= 1e100:
            raise UsageError(
                parameter="sensitivity",
                value=self.sensitivity,
                rule="must be a positive finite number between 1e-100 and 1e100, proven for all data",
                fix="It may not be read from the data.",
            )
        if not isinstance(self.norm, str) or self.norm not in NORMS:
            raise UsageError(parameter="norm", value=self.norm, rule=f"must be one of {', '.join(map(repr, NORMS))}")
        if not (self.size is None or is_whole(self.size, 1, MOST_SIZE)):
            raise UsageError(
                parameter="size", value=self.size, rule=f"must be a whole number of coordinates, 1 to {MOST_SIZE}"
            )
        covariance = None if isinstance(self.kernel, Kernel) else check_vector(self.kernel)
        if not isinstance(self.kernel, Kernel) and covariance is None:
            raise UsageError(
                parameter="kernel",
                value=self.kernel,
                rule="must be a kernel such as dpfda.kernels.Matern(1.5, 0.2), or the covariance matrix of a vector",
            )
        if not (coordinates is None or is_whole(coordinates, 1, MOST_SIZE)):
            raise UsageError(
                parameter="coordinates", value=coordinates, rule=f"must be None or a whole number, 1 to {MOST_SIZE}"
            )
        domain = self._domain(covariance)
        points = None if grid is None else _grid(domain, grid)
        unit = Unit(self.unit, self.neighbours)
        if self.n is not None:
            check_units(self.n, "n")
        return make_plan(
            FunctionRequest(
                budget=Budget(self.epsilon, self.delta),
                sensitivity=float(self.sensitivity),
                norm=self.norm,
                kernel=self.kernel if isinstance(self.kernel, Kernel) else None,
                covariance=covariance,
                domain=domain,
                mechanism=self._chosen()[0],
                basis=self.basis,
                size=None if self.size is None else int(self.size),
                points=points,
                coordinates=None if coordinates is None else int(coordinates),
                n=self.n if self.n is not None and unit.size_is_public else 1,
            )
        )

    @forgets_records
    def fit(self, f: Given, y: None = None, *, grid: ArrayLike | None = None) -> PerturbedFunction:
        """Release a function: a callable of points, values on a `grid`, or coordinates in the kernel's eigenfunctions.

        A callable takes points, (m,) on an interval and (m, p) on a box, and gives (m,) values; it is called once,
        after the charge. An array is taken for values where a grid is given, for the vector where the kernel is a
        matrix, and for coordinates else. What is not finite fails after the charge: whether it is may
        depend on a record.
        """
        return self.fit_order(self.order(f, grid=grid))

    @forgets_records
    def order(self, f: Given, *, grid: ArrayLike | None = None) -> FitOrder:
        """What `fit` would release: checked, planned and priced, not charged, and the function is not asked."""
        values = None if callable(f) else _values(f)
        if values is None and grid is not None:
            raise UsageError("A function that can be asked anywhere needs no ", arg("grid="), ".", parameter="grid")
        of_vector = not isinstance(self.kernel, Kernel)
        given = None if values is None or grid is not None or of_vector else len(values)
        plan = self.plan(grid=grid, coordinates=given)
        if given is not None and self.size is not None and self.size != given:
            raise UsageError(
                parameter="size", value=self.size, rule=f"must be the number of coordinates that are given, {given}"
            )
        if values is not None:
            values = _fitting(values, plan)
        source = GivenFunction(plan.points, f if values is None else values)  # type: ignore[arg-type]
        unit = Unit(self.unit, self.neighbours)
        public = Public.of_points(
            unit,
            plan.n if unit.size_is_public else None,
            plan.n,
            width=source.width,
            bound=plan.request.sensitivity,
            counting=self._counting(),
        )
        curator = Curator(
            Curves(source, None, self.unit),
            public,
            dataset=self.dataset,
            ledger=self._payer(),
            randomness=self.randomness,
            reading=as_reading(self.reading),
            chosen=plan.reasons,
        )
        order = curator.order(
            StatedFunction(plan.request.sensitivity, self.norm, plan.map, tuple(plan.units.tolist()), plan.moved),
            basis=plan.basis,
            mechanism=plan.mechanism,
            budget=plan.spends,
            smoothing=self.smoothing,
            name=plan.name,
        )
        return FitOrder(self, plan, order, source.width)

    @forgets_records
    def open(
        self, store: str | Path | Store | None = None, f: Callable[[Array], ArrayLike] | None = None
    ) -> Oracle | FiniteOracle:
        """An oracle that answers at any points, the same for ever, kept in a store.

        Without `f` it serves the release of a fit. With a callable no basis is involved: noise is drawn at the points
        that are asked for (Hall et al. 2013, Section 5). That is a release of its own: a new store is charged, and one
        that was made for this function is opened again, free. A store answers for one function: with another it would
        not notice, and whoever's record changed would be protected less.
        """
        from dpfda.online import header_of, open_finite

        if f is None:
            check_is_fitted(self)
            return open_finite(self.release_, store)
        if not callable(f):
            raise UsageError(parameter="f", rule="must be a function of points: an oracle asks it anywhere")
        prepared = order_online(
            self._online_request(),
            f,
            self.dataset,
            self.unit,
            self._payer(),
            self.randomness,
            neighbours=self.neighbours,
            counting=self._counting(),
        )
        return prepared.reopened(store) if header_of(store) is not None else prepared.release().online(store)

    def _online_request(self) -> FunctionRequest:
        request = self.plan().request
        if request.kernel is None or request.norm != KERNEL or self._chosen()[0] not in (AUTO, PROCESS):
            raise UsageError(
                "Answers point by point have the noise of a Gaussian process, for a function with a kernel: take ",
                arg("mechanism", PROCESS),
                " and ",
                arg("norm", KERNEL),
                ".",
                parameter="mechanism",
            )
        return request

    @property
    def vector_(self) -> Array:
        """The released vector, where a vector was given."""
        if isinstance(self.kernel, Kernel):
            raise UsageError("This release is a function: call release_ at points.")
        return self.release_(self.plan_.points)

    def _keep(self, released: Any, ordered: FitOrder) -> None:
        self.release_ = released

    def _again(self, plan: FunctionPlan, n: int) -> FunctionPlan:
        return plan  # the sensitivity was stated: it knows no number of units

    def _counting(self) -> Counting:
        if not Unit(self.unit, self.neighbours).size_is_public:
            return Counting.PRIVATE
        return Counting.OUTSIDE if self.n is None else Counting.STATED

    def _domain(self, covariance: Array | None) -> Domain:
        if covariance is None:
            return as_domain((0.0, 1.0) if self.domain is None else self.domain)
        if self.domain is not None:
            raise UsageError("A vector has no ", arg("domain"), ": leave it out.", parameter="domain")
        return as_domain((0.0, float(len(covariance))))


def _grid(domain: Domain, grid: ArrayLike) -> Array:
    points = domain.points(grid)
    if not 1 <= len(points) <= MOST_VALUES or len(np.unique(points, axis=0)) < len(points):
        raise UsageError(
            parameter="grid",
            value=len(points),
            rule=f"must have between 1 and {MOST_VALUES} points, each once",
        )
    return points


def _values(f: object) -> Array:
    """Values that were given as an array: their shape is public, they themselves are not."""
    try:
        table = np.asarray(f)
    except Exception:  # whatever an object of the user's raises when it is asked for an array
        table = np.asarray(None)
    if table.dtype.kind not in NUMBERS or table.ndim != 1 or not len(table):
        raise UsageError(
            "A function is a callable of points, or a vector of numbers: values on a grid, or coordinates. Got "
            f"{brief(table.dtype)} of shape {table.shape}.",
            parameter="f",
        )
    return public_numbers(table, "Values of a function").copy()


def _fitting(values: Array, plan: FunctionPlan) -> Array:
    """The values at the points that the plan asks for: a grid may have more, which add nothing."""
    stated = plan.request.points
    if stated is None:
        if len(values) != plan.map.integers.shape[1]:
            raise UsageError(
                parameter="f",
                value=len(values),
                rule=f"must have {plan.map.integers.shape[1]} entries here",
            )
        return values
    if len(values) != len(stated):
        raise UsageError(
            f"Values and grid must have the same length, got {len(values)} values and {len(stated)} points.",
            parameter="grid",
        )
    if len(stated) == len(plan.points) and np.array_equal(stated, plan.points):
        return values
    place = {tuple(point): index for index, point in enumerate(stated.tolist())}
    return values[[place[tuple(point)] for point in plan.points.tolist()]]

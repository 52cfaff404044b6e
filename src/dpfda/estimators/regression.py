"""Come here for private regression of curves on covariates as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpfda.arrays import Array, ArrayLike
from dpfda.bases import Basis, Domain, as_domain
from dpfda.errors import UsageError
from dpfda.estimators.base import Centre, CurveEstimator
from dpfda.mechanisms import Mechanism, Randomness
from dpfda.planner.regression import RegressionPlan, plan_regression
from dpfda.planner.request import Request
from dpfda.privacy import Budget, Ledger, Unit
from dpfda.records.joined import as_covariates, curves_in_order, join
from dpfda.releases.calculus import Function
from dpfda.releases.covariates import Covariates, check_limits, check_names
from dpfda.releases.regression import RegressionRelease, check_ridge
from dpfda.summaries.regression import scaled

if TYPE_CHECKING:
    from sklearn.utils import Tags

MOST_COVARIATES = 64  # two thousand moments of them; noise in more would hide every coefficient


class FunctionOnScalarRegression(CurveEstimator):
    """Coefficient functions of curves regressed on covariates, private: `y(t) = b0(t) + b1(t) z1 + ... + bp(t) zp`.

    A unit is one observation: with several records the averages of its covariates and of its curves count. Sums of
    products of covariates, and of covariates and curves, are released with noise once; the equations are solved,
    stabilised by a ridge and smoothed across t afterwards, which costs nothing.

    Parameters
    ----------
    epsilon, delta : the guarantee; delta = 0 asks for pure privacy.
    bound, limits : public bound on a curve's root mean square (around the centre), or the range of its values.
    covariate_limits : one public pair (low, high) for each covariate; values beyond are moved to its ends. Categories
        are 0/1 columns, with (0, 1).
    covariate_bound : instead, a public bound on the Euclidean norm of the covariates together.
    domain : public interval, or list of intervals for surfaces.
    centre : public curve that is subtracted first: a number, values on the grid, or a function of the points.
    intercept : whether b0 is fitted; without it curves of people with all covariates zero are the centre.
    neighbours : "replace-one" (the number of units is public) or "add-or-remove-one" (it is private).
    planned_n : public guess of the number of units, needed under "add-or-remove-one", where it may not be read.
    mechanism : "auto" (the planner's choice), "gaussian", "k-norm", "laplace", or "iclp-qr", the Laplace process of Lin
        and Reimherr; or a mechanism object.
    basis : None for the planner's choice, the name of an orthonormal family, or a basis object.
    size : number of basis functions, None for the planner's choice.
    smoothing : "auto", "none", "sobolev-1", -2, -4, -8, "james-stein"; chosen after the noise, free.
    ridge : "auto", chosen after the noise, free; or a number added to the diagonal of the mean of z z', where z is
        covariates scaled into the unit ball.
    dataset, ledger, randomness, batch_rows, workers, progress : as for `MeanFunction`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda.estimators.regression import FunctionOnScalarRegression
    >>> t, dose = np.linspace(0, 1, 40), np.linspace(0, 10, 4000)
    >>> curves = 0.05 * dose[:, None] * np.sin(np.pi * t)
    >>> est = FunctionOnScalarRegression(
    ...     epsilon=1.0, delta=1e-6, bound=1.0, covariate_limits=[(0, 10)], domain=(0, 1)
    ... ).fit(dose, curves, grid=t)
    >>> bool(abs(est.coef_[0](0.5) - 0.05) < 0.02)
    True
    """

    what: ClassVar[str] = "A regression of curves"

    release_: RegressionRelease

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        bound: float | None = None,
        limits: tuple[float, float] | None = None,
        covariate_limits: Sequence[Sequence[float]] | Sequence[float] | None = None,
        covariate_bound: float | None = None,
        domain: Domain | Sequence[float] | Sequence[Sequence[float]] = (0.0, 1.0),
        centre: Centre | None = None,
        intercept: bool = True,
        neighbours: str = "replace-one",
        planned_n: int | None = None,
        mechanism: str | Mechanism = "auto",
        basis: str | Basis | None = None,
        size: int | None = None,
        smoothing: str = "auto",
        ridge: float | str = "auto",
        dataset: str = "unnamed",
        ledger: Ledger | None = None,
        randomness: Randomness | None = None,
        batch_rows: int | None = None,
        workers: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bound = bound
        self.limits = limits
        self.covariate_limits = covariate_limits
        self.covariate_bound = covariate_bound
        self.domain = domain
        self.centre = centre
        self.intercept = intercept
        self.neighbours = neighbours
        self.planned_n = planned_n
        self.mechanism = mechanism
        self.basis = basis
        self.size = size
        self.smoothing = smoothing
        self.ridge = ridge
        self.dataset = dataset
        self.ledger = ledger
        self.randomness = randomness
        self.batch_rows = batch_rows
        self.workers = workers
        self.progress = progress

    def plan(self, n: int, *, covariates: int | None = None, grid_size: int | None = None) -> RegressionPlan:
        """What a fit on n units would do and what error to expect; reads no data and costs nothing.

        `covariates` is their number, where covariate_limits do not say it.
        """
        limits = self._covariate_limits()
        if covariates is None and limits is None:
            raise UsageError("With covariate_bound a plan has to be told the number of covariates: covariates=2.")
        size = len(limits) if limits is not None else int(covariates or 0)
        return self._plan(n, self._covariates(check_names(None, size), size), grid_size)

    def _plan(self, n: int, covariates: Covariates, grid_size: int | None) -> RegressionPlan:
        lattice, _, _ = self._clipping()
        request = Request(
            n=n,
            budget=Budget(self.epsilon, self.delta),
            bound=lattice.bound,
            domain=as_domain(self.domain),
            neighbours=Unit("unit", self.neighbours).neighbours,
            mechanism=self.mechanism,
            basis=self.basis,
            size=self.size,
            grid_size=grid_size,
        )
        return plan_regression(request, covariates)

    def fit(
        self, Z: Any, Y: Any, *, grid: ArrayLike | str | None = None, units: object = None
    ) -> FunctionOnScalarRegression:
        """Release the coefficients of curves Y regressed on covariates Z; all that is public is checked first.

        Z: matrix (n, p), a vector for one covariate, or a data frame; a missing value is filled by the middle of its
        limits. Y: matrix (n, q), FDataGrid, data frame, or `dpfda.Curves` from a file, in the same order. `units` says
        whose record each row is: a vector of identifiers, or the name of a column of Y. `grid` as for `MeanFunction`.
        """
        reading = self._public_arguments()
        self._clipping()  # refuses, before anything is looked at, as the next lines do
        limits, ridge = self._covariate_limits(), check_ridge(self.ridge)
        table, names = as_covariates(Z, None if limits is None else len(limits))
        covariates = self._covariates(check_names(names, table.shape[1]), table.shape[1])
        curves = curves_in_order(Y, grid=grid, units=units)
        records = join(table, curves)
        facts = self.facts(curves)
        plan = self._plan(facts.planned, covariates, len(facts.grid))
        design = plan.design
        stated = (
            ("covariates", covariates.text),
            ("observation", "a unit's averages of covariates and curves"),
            *plan.reasons,
        )
        public = replace(facts, covariates=covariates.size)
        curator = replace(self._curator(curves, facts, reading, stated), curves=records, public=public)
        self.release_ = curator.release(
            design.summary(covariates, ridge),
            basis=design.basis,
            mechanism=design.mechanism,
            budget=plan.spends,
            # The papers' process smooths before the noise, so "auto" leaves it as it is.
            smoothing="none" if self.smoothing == "auto" and design.weights is not None else self.smoothing,
            name=design.name,
        )
        self.plan_ = plan
        self.grid_ = public.grid
        self.n_features_in_ = covariates.size
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        return self

    @property
    def coef_(self) -> tuple[Function, ...]:
        """The coefficient function of each covariate, in its own units, callable anywhere in the domain."""
        return self.release_.coefficients

    @property
    def intercept_(self) -> Function:
        """The curve of somebody with all covariates zero; the public centre where no intercept was fitted."""
        return self.release_.intercept

    def predict(self, Z: ArrayLike, points: ArrayLike | None = None) -> Array:
        """Curves for public covariates, on the grid of the fit or at points, (m, p) -> (m, number of points)."""
        return self.release_.predict(Z, self.grid_ if points is None else points)

    def _covariate_limits(self) -> tuple[tuple[float, float], ...] | None:
        if (self.covariate_bound is None) == (self.covariate_limits is None):
            raise UsageError(
                "A regression needs exactly one of covariate_limits and covariate_bound, known in advance, e.g. "
                f"covariate_limits=[(18, 90), (0, 1)]; got covariate_limits={self.covariate_limits!r} and "
                f"covariate_bound={self.covariate_bound!r}. Neither may be read from the data."
            )
        if not isinstance(self.intercept, bool | np.bool_):
            raise UsageError(f"intercept must be True or False, got {self.intercept!r}.")
        if self.covariate_limits is not None:
            return check_limits(self.covariate_limits)
        bound = self.covariate_bound
        number = isinstance(bound, Real) and not isinstance(bound, bool)
        if not number or not 1e-100 <= float(bound) <= 1e100:  # type: ignore[arg-type]
            raise UsageError(
                f"covariate_bound must be a positive finite number, between 1e-100 and 1e100, got {bound!r}. It may "
                "not be read from the data."
            )
        return None

    def _covariates(self, names: tuple[str, ...], size: int) -> Covariates:
        if not 1 <= size <= MOST_COVARIATES:
            raise UsageError(f"A regression takes between 1 and {MOST_COVARIATES} covariates, got {size}.")
        bound = None if self.covariate_bound is None else float(self.covariate_bound)
        return scaled(names, limits=self._covariate_limits(), bound=bound, intercept=bool(self.intercept))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = False
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags

"""Private regression of curves on covariates as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from dpfda.arrays import Array, ArrayLike, brief, check_flag, is_whole
from dpfda.bases import Basis
from dpfda.curator import ReleaseOrder
from dpfda.errors import UsageError
from dpfda.messages import arg
from dpfda.records.data_frames import check_same_rows
from dpfda.records.forgetting import forgets_records
from dpfda.records.joined import check_levels, columns_for, covariate_table, curves_in_order, join
from dpfda.releases.calculus import Function
from dpfda.statistics.estimator import ClippedCurves, FitOrder, needs_one, smoothing_after
from dpfda.statistics.regression.covariates import Covariates, check_limits, check_names
from dpfda.statistics.regression.plan import OBSERVATION, RegressionPlan, plan_regression
from dpfda.statistics.regression.release import RegressionRelease, check_ridge
from dpfda.statistics.regression.sensitivity import scaled
from dpfda.statistics.regression.summary import Regression

if TYPE_CHECKING:
    from sklearn.utils import Tags

MOST_COVARIATES = 64  # two thousand moments of them; noise in more would hide every coefficient


@dataclass(kw_only=True, eq=False, repr=False)
class FunctionOnScalarRegression(ClippedCurves):
    """Coefficient functions of curves regressed on covariates, private: `y(t) = b0(t) + b1(t) z1 + ... + bp(t) zp`.

    Each person (privacy unit) counts once, with the averages of covariates and curve: coefficients compare people, not
    visits of one person, also where a covariate varies within people. Sums of products of covariates, and of covariates
    and curves, are released with noise once; the equations are solved, stabilised by a ridge and smoothed across t
    afterwards, which costs nothing.

    Parameters
    ----------
    epsilon, delta : the guarantee; delta = 0 asks for pure privacy.
    bound, limits : public bound on a curve's root mean square (around the centre), or the range of its values.
    covariate_limits : one public pair (low, high) for each covariate without levels; values beyond are moved to its
        ends. A covariate that is no number counts as missing.
    covariate_bound : instead, a public bound on the Euclidean norm of the covariates together.
    covariate_levels : public levels of columns of a data frame, e.g. {"sex": ("female", "male")}: such a column becomes
        a 0/1 covariate for each level but the first, named "sex=male", and needs no limits; a cell that is none of
        the levels counts as missing. Declared, so that nothing is read from the data. 0/1 columns made by
        `pandas.get_dummies` are fine too if the categories are fixed first, with limits (0, 1).
    domain : public interval, or list of intervals for surfaces.
    centre : public curve that is subtracted first: a number, values on the grid, or a function of the points.
    intercept : whether b0 is fitted; without it curves of people with all covariates zero are the centre.
    neighbours : "replace-one" (the number of units is public) or "add-or-remove-one" (it is private).
    n : the public number of units, stated under "replace-one" instead of counted; never compared with the data.
    planned_n : public guess of the number of units, needed under "add-or-remove-one", where it may not be read.
    mechanism : "auto" (the planner's choice), "gaussian", "k-norm", "laplace", or the papers' processes, "gp" (Mirshani
        et al.) and "iclp-qr" (Lin and Reimherr); or an object: a noise law, or
        `dpfda.mechanisms.GaussianProcess(kernel=..., eta=..., penalty=...)` or `LaplaceProcess(...)`.
    basis : None for the planner's choice, the name of an orthonormal family, or a basis object.
    size : number of basis functions, None for the planner's choice.
    smoothing : "auto", "none", "sobolev-1", -2, -4, -8, "james-stein"; chosen after the noise, free.
    ridge : "auto", chosen after the noise, free; or a number added to the diagonal of the mean of z z', where z is
        covariates scaled into the unit ball.
    dataset, ledger, randomness, force, reading : as for `MeanFunction`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda.statistics.regression.estimator import FunctionOnScalarRegression
    >>> t, dose = np.linspace(0, 1, 40), np.linspace(0, 10, 4000)
    >>> curves = 0.05 * dose[:, None] * np.sin(np.pi * t)
    >>> est = FunctionOnScalarRegression(
    ...     epsilon=1.0, delta=1e-6, bound=1.0, covariate_limits=[(0, 10)], domain=(0, 1)
    ... ).fit(dose, curves, grid=t)
    >>> bool(abs(est.coef_[0](0.5) - 0.05) < 0.02)
    True
    """

    what: ClassVar[str] = "A regression of curves"
    statistic: ClassVar[str] = "regression"
    release_: RegressionRelease = field(init=False)

    covariate_limits: Sequence[Sequence[float]] | Sequence[float] | None = None
    covariate_bound: float | None = None
    covariate_levels: Mapping[str, Sequence[str]] | None = None
    intercept: bool = True
    basis: str | Basis | None = None
    smoothing: str = "auto"
    ridge: float | str = "auto"

    def plan(
        self, n: int, *, covariates: int | Sequence[str] | None = None, grid_size: int | None = None
    ) -> RegressionPlan:
        """What a fit on n units would do and what error to expect; reads no data and costs nothing.

        `covariates` are the names of the columns of Z, or their number, where covariate_limits do not say it.
        """
        self._check_parameters()
        limits, levels = self._covariate_limits(), check_levels(self.covariate_levels)
        if covariates is None and limits is None:
            raise UsageError(
                "With ",
                arg("covariate_bound"),
                " a plan has to be told the number of covariates: ",
                arg("covariates", 2),
                ".",
            )
        if covariates is None or is_whole(covariates, 1, MOST_COVARIATES):
            plain = len(limits) if limits is not None else int(covariates or 0) - len(levels)
            columns = (*check_names(None, plain), *levels)
        elif isinstance(covariates, list | tuple):
            columns = tuple(map(str, covariates))
        else:
            raise UsageError(
                parameter="covariates",
                value=covariates,
                rule=f"are the number of columns, 1 to {MOST_COVARIATES}, or a list of their names",
            )
        names = tuple(made for column in columns for made in columns_for(column, levels))
        return self._plan(n, self._covariates(names), grid_size)

    def _plan(self, n: int, covariates: Covariates, grid_size: int | None) -> RegressionPlan:
        mechanism, settings = self._chosen()
        request = self._request(n, grid_size, self.basis, mechanism=mechanism, **settings)
        plan = plan_regression(request, covariates)
        return replace(plan, reasons=(*plan.reasons, *self._levels_reason()))

    def _levels_reason(self) -> tuple[tuple[str, str], ...]:
        levels = check_levels(self.covariate_levels)
        if not levels:
            return ()
        said = "; ".join(f"{name} is {', '.join(each)}, compared with {each[0]}" for name, each in levels.items())
        return (("levels", f"declared: {said}; a cell that is none of them counts as missing"),)

    def _again(self, plan: RegressionPlan, n: int) -> RegressionPlan:
        return self._plan(n, plan.covariates, plan.request.grid_size)

    @forgets_records
    def fit(self, Z: Any, Y: Any, *, grid: ArrayLike | str | None = None, units: object = None) -> Self:
        """Release the coefficients of curves Y regressed on covariates Z; all that is public is checked first.

        Z: matrix (n, p), a vector for one covariate, or a data frame; a value that is missing or no number is filled by
        the middle of its limits. Y: matrix (n, q), FDataGrid, data frame, or `dpfda.Curves` from a file, in the same
        order. `units` says whose record each row is: a vector of identifiers, or the name of a column of Y. `grid` as
        for `MeanFunction`.
        """
        return self.fit_order(self.order(Z, Y, grid=grid, units=units))

    @forgets_records
    def order(self, Z: Any, Y: Any, *, grid: ArrayLike | str | None = None, units: object = None) -> FitOrder:
        """What `fit` would release of these records: checked, planned and priced, not charged, and no curve is read."""
        self._check_public()
        limits, ridge = self._covariate_limits(), check_ridge(self.ridge)
        levels = check_levels(self.covariate_levels)
        table, names = covariate_table(Z, levels, None if limits is None else len(limits))
        covariates = self._covariates(check_names(names, table.shape[1]))
        check_same_rows(Y, Z, "Z")
        curves = curves_in_order(Y, grid=grid, units=units)
        records = join(table, curves)
        facts = self.facts(curves)
        plan = self._plan(facts.planned, covariates, len(facts.grid))
        self.check_seen(plan)
        design = plan.design
        stated = (
            ("covariates", covariates.text),
            ("observation", OBSERVATION),
            *plan.reasons,
        )
        public = replace(facts, covariates=covariates.size)
        curator = replace(self._curator(curves, facts, stated), curves=records, public=public)
        order = curator.order(
            Regression(covariates, design.lead, design.weight, ridge, design.weights),
            basis=design.basis,
            mechanism=design.mechanism,
            budget=plan.spends,
            smoothing=smoothing_after(self.smoothing, smoothable=design.weights is None),
            name=design.name,
        )
        columns = tuple(dict.fromkeys(_column_of(name, levels) for name in names)) if levels and names else names
        width = covariates.size if columns is None else len(columns)
        return FitOrder(self, plan, order, width, columns or ())

    def _keep(self, released: Any, ordered: FitOrder) -> None:
        assert isinstance(ordered.order, ReleaseOrder)
        self.release_, self.grid_ = released, ordered.order.public.grid

    @property
    def coef_(self) -> tuple[Function, ...]:
        """The coefficient function of each covariate, in its own units, callable anywhere in the domain."""
        check_is_fitted(self, "release_")
        return self.release_.coefficients

    @property
    def intercept_(self) -> Function:
        """The curve of somebody with all covariates zero; the public centre where no intercept was fitted."""
        check_is_fitted(self, "release_")
        return self.release_.intercept

    def predict(self, Z: ArrayLike, points: ArrayLike | None = None) -> Array:
        """Curves for public covariates, on the grid of the fit or at points, (m, p) -> (m, number of points).

        A data frame with the columns of the fit, or a matrix with a 0/1 column for each level but the first. Beyond the
        limits of covariates it extrapolates, and nothing says how well.
        """
        check_is_fitted(self, "release_")
        levels = check_levels(self.covariate_levels)
        rows = covariate_table(Z, levels, None)[0] if levels and hasattr(Z, "columns") else Z
        return self.release_.predict(rows, self.grid_ if points is None else points)

    def _covariate_limits(self) -> tuple[tuple[float, float], ...] | None:
        alone = self.covariate_levels is not None and self.covariate_limits is None  # levels need no limits
        if (self.covariate_bound is None) == (self.covariate_limits is None) and not (
            alone and self.covariate_bound is None
        ):
            raise needs_one(self, "A regression", {"covariate_limits": [(18, 90), (0, 1)], "covariate_bound": None})
        check_flag(self.intercept, "intercept")
        if self.covariate_limits is not None:
            return check_limits(self.covariate_limits)
        if self.covariate_bound is None:
            return ()
        bound = self.covariate_bound
        number = isinstance(bound, Real) and not isinstance(bound, bool)
        if not number or not 1e-100 <= float(bound) <= 1e100:
            raise UsageError(
                parameter="covariate_bound",
                value=bound,
                rule="must be a positive finite number, between 1e-100 and 1e100",
                fix="It may not be read from the data.",
            )
        return None

    def _covariates(self, names: tuple[str, ...]) -> Covariates:
        if not 1 <= len(names) <= MOST_COVARIATES:
            raise UsageError(f"A regression takes between 1 and {MOST_COVARIATES} covariates, got {len(names)}.")
        bound, limits = self.covariate_bound, self._covariate_limits()
        if limits is not None:
            levels = check_levels(self.covariate_levels)
            indicators = {made for name in levels for made in columns_for(name, levels)}
            stated = iter(limits)
            # As many as there are covariates without levels; `covariate_table` and the next line have seen to it.
            wide = tuple((0.0, 1.0) if name in indicators else next(stated, None) for name in names)
            limits = tuple(pair for pair in (*wide, *stated) if pair is not None)
            if None in wide or len(limits) != len(names):
                raise UsageError(
                    "There must be one pair in ",
                    arg("covariate_limits"),
                    f" for each covariate without levels, got {brief(self.covariate_limits)} for {', '.join(names)}.",
                    parameter="covariate_limits",
                    value=self.covariate_limits,
                )
        return scaled(
            names, limits=limits, bound=None if bound is None else float(bound), intercept=bool(self.intercept)
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = False
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags


def _column_of(covariate: str, levels: Mapping[str, tuple[str, ...]]) -> str:
    """The column of Z that a covariate was made of."""
    return next((name for name in levels if covariate in columns_for(name, levels)), covariate)

"""Come here for private kernel machines as scikit-learn estimators: a classifier and a regressor."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dpfda.arrays import Array, ArrayLike
from dpfda.bases import Basis, Domain, as_domain
from dpfda.curator import Curator
from dpfda.errors import DataError, UsageError
from dpfda.kernels import Kernel
from dpfda.machines import Loss, loss_of
from dpfda.mechanisms import Mechanism, Randomness
from dpfda.planner.machines import MachinePlan, MachineRequest, plan_machine
from dpfda.privacy import Budget, Ledger, Unit
from dpfda.records import Curves, Lattice
from dpfda.records.cells import as_numbers
from dpfda.records.labelled import as_targets, labelled, signs, width_of
from dpfda.records.reading import Reading
from dpfda.releases.machine import Label, MachineRelease, check_classes
from dpfda.summaries import Public

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from dpfda.online import FiniteOracle


class KernelMachine(BaseEstimator):  # type: ignore[misc]
    """What both machines share: public facts, checks before anything is read, and the release."""

    task: ClassVar[str]
    epsilon: float
    delta: float
    kernel: Kernel | None
    penalty: float | None
    loss: str
    domain: Domain | Sequence[float] | Sequence[Sequence[float]]
    features: str | int | Basis | None
    eta: float | None
    mechanism: str | Mechanism
    neighbours: str
    planned_n: int | None
    dataset: str
    ledger: Ledger | None
    randomness: Randomness | None
    batch_rows: int | None
    release_: MachineRelease
    plan_: MachinePlan

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _facts(self) -> dict[str, Any]:
        """Classes, or the bound on responses."""
        raise NotImplementedError

    def _targets(self, y: Any) -> Array:
        raise NotImplementedError

    def plan(self, n: int, *, dimension: int | None = None) -> MachinePlan:
        """What a fit on n units would do and how large its noise would be; reads no data and costs nothing.

        `dimension` is the number of coordinates of a point, where the domain is one interval for all of them.
        """
        loss = self._loss()
        return plan_machine(
            MachineRequest(
                n=n,
                budget=Budget(self.epsilon, self.delta),
                domain=self._domain(dimension),
                neighbours=Unit("unit", self.neighbours).neighbours,
                task=self.task,
                loss=loss,
                kernel=self.kernel,
                penalty=self.penalty,
                mechanism=self.mechanism,
                features=self.features,
                eta=self.eta,
            )
        )

    def fit(self, X: Any, y: Any, *, units: object = None) -> Self:
        """Release the machine of these records; everything public is checked before the ledger is charged.

        X: matrix (n, d), data frame, or `dpfda.Curves` from a file; y: one label or response for each row. `units` says
        whose record each row is: a vector of identifiers, or the name of a column of X. A person with several records
        counts once, with the average of their losses; without `units` every row is taken for another person.
        """
        reading = Reading(batch_rows=self.batch_rows)
        self._loss()  # refuses what is wrong before records are looked at, as the next lines do
        facts = self._facts()
        width = width_of(X)
        columns = None if width is None else width - (1 if isinstance(units, str) else 0)
        domain = self._domain(columns)
        records = labelled(X, self._targets(y), domain.dimension, units=units)
        unit = Unit(records.unit or "row", self.neighbours)
        planned, n = self._sizes(records, unit)
        plan = self.plan(planned, dimension=domain.dimension)
        public = Public(
            unit=unit,
            n=n,
            planned=planned,
            grid=np.empty((0, domain.dimension)),
            centre=np.empty(0),
            cap=1.0,
            lattice=Lattice(plan.request.loss.scale),
            count_weight=0,
            covariates=1 + domain.dimension,
        )
        curator = Curator(
            records,
            public,
            dataset=self.dataset,
            ledger=self.ledger,
            randomness=self.randomness,
            reading=reading,
            chosen=plan.reasons,
        )
        self.release_ = curator.release(
            plan.summary(**facts),
            basis=plan.basis,
            mechanism=plan.mechanism,
            budget=plan.spends,
            smoothing="none",
            name=plan.name,
        )
        self.plan_ = plan
        self.n_features_in_ = domain.dimension
        names = [str(name) for name in X.columns if name != units] if hasattr(X, "columns") else []
        if names:
            self.feature_names_in_ = np.array(names, dtype=object)
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Values of the released function at points, moved into the domain as records were, (m,)."""
        check_is_fitted(self)
        return self.release_.decide(self._queries(X))

    def predict(self, X: ArrayLike) -> np.ndarray[Any, Any]:
        """The class, or the response within its bound, at public points, (m,): post-processing, free."""
        check_is_fitted(self)
        return self.release_.predict(self._queries(X))

    def open(self, store: str | Path | None = None) -> FiniteOracle:
        """The release behind the face of an oracle, kept in a store: it answers at every point, the same for ever."""
        from dpfda.online import open_finite

        check_is_fitted(self)
        return open_finite(self.release_, store)

    def _queries(self, X: Any) -> Array:
        """Public points as rows of numbers."""
        if hasattr(X, "tocsr") or type(X).__module__.startswith("scipy.sparse"):
            raise UsageError("Sparse input is not supported: points are dense. Use X.toarray().")
        array = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
        if array.dtype.kind == "c":
            raise UsageError("Complex data not supported: points are real.")
        if array.ndim == 1 and self.n_features_in_ == 1 and array.dtype != object:
            array = array[:, None]
        if array.ndim != 2:
            raise UsageError(
                f"Expected 2D array, got {array.ndim}D array instead. Reshape your data: one row a point, "
                "X.reshape(1, -1) for a single one."
            )
        if array.shape[1] != self.n_features_in_:
            raise UsageError(
                f"X has {array.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input."
            )
        return as_numbers(array)

    def _domain(self, columns: int | None) -> Domain:
        """The box of all coordinates; one interval stands for each of them."""
        domain = as_domain(self.domain)
        if domain.dimension == 1 and columns is not None and columns > 1:
            return Domain(domain.sides * columns)
        return domain

    def _sizes(self, records: Curves, unit: Unit) -> tuple[int, int | None]:
        """The number of units to plan with, and the number to divide by if it is public."""
        if unit.size_is_public:
            n = records.size_under(unit)
            if n == 0:
                raise DataError("There are no records: a machine needs at least one. Nothing was charged.")
            return n, n
        if self.planned_n is None:
            raise UsageError(
                "Under add-or-remove-one the number of units is private, so n is unknown to the plan. "
                "State a public guess, e.g. planned_n=5000."
            )
        return self.planned_n, None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True  # a cell that is no number is missing; an error would show it
        tags.non_deterministic = True
        tags.target_tags.required = True
        return tags


class KernelClassifier(ClassifierMixin, KernelMachine):  # type: ignore[misc]
    """A private classifier of two classes: the minimiser of a regularised risk, with noise once.

    Parameters
    ----------
    epsilon, delta : the guarantee; delta = 0 asks for pure privacy.
    kernel : of the space that the function lives in, e.g. `dpfda.kernels.Gaussian(0.5)`; None for a Gaussian kernel as
        wide as a rule of the domain says.
    penalty : of the squared norm of the function; noise falls in proportion to it. None for a rule of n, the budget,
        the kernel and the loss, which reads no data.
    loss : "hinge" (support vector machine), "smoothed-hinge", or "logistic", with which `predict_proba` has meaning.
    domain : public interval for every coordinate, or one interval for each; points outside are moved to its edge.
    classes : the two public labels, e.g. ("healthy", "ill"); a record with another label is left out. None: labels are
        numbers, those above zero are 1, all others 0.
    features : "auto" for public features by a rule of the budget and the kernel, their number, or a basis.
    mechanism : "auto" (the planner's choice), "gaussian", "k-norm", "laplace", or "iclp-qr", the Laplace process of Lin
        and Reimherr, on a domain with at most three sides; or a mechanism object.
    eta : for "iclp-qr", the power of the noise kernel in whose space the function lives; None for 2.
    neighbours : "replace-one" (the number of units is public) or "add-or-remove-one" (it is private).
    planned_n : public guess of the number of units, needed under "add-or-remove-one", where it may not be read.
    dataset : name of the data set for the card and the ledger.
    ledger : where the budget is charged before records are read.
    randomness : None for private noise; a seeded source for tests, which stamps the release not private.
    batch_rows : records read at a time.

    The time that a fit takes depends on the records: the solver goes on until it has proven its distance from the
    minimum.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda.estimators.machines import KernelClassifier
    >>> x = np.linspace(0, 1, 4000)[:, None]
    >>> ill = (np.abs(x[:, 0] - 0.5) < 0.25).astype(int)
    >>> est = KernelClassifier(epsilon=1.0, delta=1e-6, domain=(0, 1)).fit(x, ill)
    >>> est.predict([[0.1], [0.5], [0.9]]).tolist()
    [0, 1, 0]
    """

    task: ClassVar[str] = "classifier"

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        kernel: Kernel | None = None,
        penalty: float | None = None,
        loss: str = "hinge",
        domain: Domain | Sequence[float] | Sequence[Sequence[float]] = (0.0, 1.0),
        classes: Sequence[Label] | None = None,
        features: str | int | Basis | None = "auto",
        mechanism: str | Mechanism = "auto",
        eta: float | None = None,
        neighbours: str = "replace-one",
        planned_n: int | None = None,
        dataset: str = "unnamed",
        ledger: Ledger | None = None,
        randomness: Randomness | None = None,
        batch_rows: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.kernel = kernel
        self.penalty = penalty
        self.loss = loss
        self.domain = domain
        self.classes = classes
        self.features = features
        self.mechanism = mechanism
        self.eta = eta
        self.neighbours = neighbours
        self.planned_n = planned_n
        self.dataset = dataset
        self.ledger = ledger
        self.randomness = randomness
        self.batch_rows = batch_rows

    def _loss(self) -> Loss:
        return loss_of(self.loss)

    def _classes(self) -> tuple[Label, Label]:
        return (0, 1) if self.classes is None else check_classes(self.classes)

    def _facts(self) -> dict[str, Any]:
        return {"classes": self._classes()}

    def _targets(self, y: Any) -> Array:
        return signs(y, None if self.classes is None else self._classes())

    @property
    def classes_(self) -> np.ndarray[Any, Any]:
        """The two labels: the one for values below zero, the one for values above."""
        check_is_fitted(self)
        return np.array(self.release_.classes)

    def predict_proba(self, X: ArrayLike) -> Array:
        """Chances of both classes at public points, (m, 2); for the logistic loss alone."""
        check_is_fitted(self)
        return self.release_.probabilities(self._queries(X))

    def score(self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The share of public records that are classified as their label says, labels read as in `fit`."""
        right = (self.decision_function(X) > 0) == (self._targets(y) > 0)
        return float(np.average(right, weights=None if sample_weight is None else np.asarray(sample_weight)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # on a few dozen records, with noise
        return tags


class KernelRegressor(RegressorMixin, KernelMachine):  # type: ignore[misc]
    """A private regression function: the minimiser of a regularised risk, with noise once.

    Parameters
    ----------
    response_bound : public bound on the size of responses; those beyond it are moved to it, and predictions too.
    loss : "huber", "absolute" (a median), or "squared".
    threshold : of the Huber loss, beyond which residuals count linearly; None for a fifth of the bound.
    epsilon, delta, kernel, penalty, domain, features, mechanism, eta, neighbours, planned_n, dataset, ledger,
    randomness, batch_rows : as for `KernelClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda.estimators.machines import KernelRegressor
    >>> x = np.linspace(0, 1, 5000)[:, None]
    >>> est = KernelRegressor(epsilon=1.0, delta=1e-6, response_bound=1.0).fit(x, np.sin(6 * x[:, 0]))
    >>> bool(abs(est.predict([[0.25]])[0] - np.sin(1.5)) < 0.25)
    True
    """

    task: ClassVar[str] = "regressor"

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        response_bound: float,
        kernel: Kernel | None = None,
        penalty: float | None = None,
        loss: str = "huber",
        threshold: float | None = None,
        domain: Domain | Sequence[float] | Sequence[Sequence[float]] = (0.0, 1.0),
        features: str | int | Basis | None = "auto",
        mechanism: str | Mechanism = "auto",
        eta: float | None = None,
        neighbours: str = "replace-one",
        planned_n: int | None = None,
        dataset: str = "unnamed",
        ledger: Ledger | None = None,
        randomness: Randomness | None = None,
        batch_rows: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.response_bound = response_bound
        self.kernel = kernel
        self.penalty = penalty
        self.loss = loss
        self.threshold = threshold
        self.domain = domain
        self.features = features
        self.mechanism = mechanism
        self.eta = eta
        self.neighbours = neighbours
        self.planned_n = planned_n
        self.dataset = dataset
        self.ledger = ledger
        self.randomness = randomness
        self.batch_rows = batch_rows

    def _bound(self) -> float:
        bound = self.response_bound
        number = isinstance(bound, Real) and not isinstance(bound, bool)
        if not number or not 1e-100 <= float(bound) <= 1e100:
            raise UsageError(
                f"response_bound must be a positive finite number, between 1e-100 and 1e100, got {bound!r}. It may not "
                "be read from the data."
            )
        return float(bound)

    def _loss(self) -> Loss:
        return loss_of(self.loss, bound=self._bound(), threshold=self.threshold)

    def _facts(self) -> dict[str, Any]:
        return {"bound": self._bound()}

    def _targets(self, y: Any) -> Array:
        return as_numbers(as_targets(y))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # on a few dozen records, with noise
        return tags

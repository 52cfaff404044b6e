"""Private kernel machines as scikit-learn estimators: a classifier and a regressor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from dpfda.arrays import Array, ArrayLike, Label, as_real, brief, public_numbers, told
from dpfda.errors import AssumptionWarning, UsageError, warn
from dpfda.messages import arg
from dpfda.records.labelled import label_of, responses, signs
from dpfda.statistics.machines.base import KernelMachine
from dpfda.statistics.machines.losses import Loss, loss_of
from dpfda.statistics.machines.own_loss import StatedLoss, tabulated
from dpfda.statistics.machines.release import check_classes

if TYPE_CHECKING:
    from sklearn.utils import Tags

ASSUMED_CLASSES = (0, 1)
LABELS_ASSUMED = (
    "No classes were stated, so labels are taken to be 0 and 1, or False and True; records with any other label are "
    "left out. State the classes, e.g. classes=(-1, 1), ('healthy', 'ill') or, to end this warning, (0, 1)."
)


def _has_chances(est: KernelClassifier) -> bool:
    if isinstance(est.loss, StatedLoss) or est.loss != "logistic":
        raise AttributeError(
            f"predict_proba has meaning for loss='logistic' alone: values with loss {brief(est.loss)} are no "
            "probabilities."
        )
    return True


@dataclass(kw_only=True, eq=False, repr=False)
class KernelClassifier(ClassifierMixin, KernelMachine):  # type: ignore[misc]
    """A private classifier of two classes: the minimiser of a regularised risk, with noise once.

    Parameters
    ----------
    epsilon, delta : the guarantee; delta = 0 asks for pure privacy.
    kernel : of the space that the function lives in, e.g. `dpfda.kernels.Gaussian(0.5)`; None for a Gaussian kernel as
        wide as a rule of the domain says.
    penalty : of the squared norm of the function; noise falls in proportion to it. None for a rule of n, the budget,
        the kernel and the loss, which reads no data.
    loss : "hinge" (support vector machine), "smoothed-hinge", or "logistic", with which `predict_proba` has meaning; or
        a `dpfda.StatedLoss` of the user's own.
    domain : public interval for every coordinate, or one interval for each; points outside are moved to its edge. None
        for [0, 1], which the card says was assumed.
    classes : the two public labels, e.g. ("healthy", "ill") or (-1, 1), in any order; a record with another label is
        left out. None for 0 and 1, which a warning says was assumed. Numbers are compared as numbers and texts as
        texts without spaces around them: 1, 1.0, True and "1" are one label, since one word in an array turns the
        labels of all others into texts. Tools of scikit-learn that number labels before they fit, as
        `cross_val_predict(method="decision_function")` and `VotingClassifier` do, need (0, 1).
    features : "auto" for public features by a rule of the budget and the kernel, their number, or a basis.
    mechanism : "auto" (the planner's choice), "gaussian", "k-norm", "laplace"; of the papers "gp" (Hall et al.), the
        exact minimiser with process noise at the points asked for, up to 6144 units (a minute and 2 GB there), and
        "iclp-qr" (Lin and Reimherr), the Laplace process on a domain with at most three sides; or an object: a noise
        law, or `dpfda.mechanisms.LaplaceProcess(eta=...)`, eta the power of the noise kernel in whose space the
        function lives.
    neighbours : "replace-one" (the number of units is public) or "add-or-remove-one" (it is private).
    n : the public number of units, stated under "replace-one" instead of counted; never compared with the data.
    planned_n : public guess of the number of units, needed under "add-or-remove-one", where it may not be read.
    dataset : name of the data set for the card and the ledger.
    ledger : where the budget is charged before records are read: a `dpfda.Ledger`, or its address.
    randomness : None for private noise; a seeded source for tests, which stamps the release not private.
    force : release although the plan expects next to nothing but noise; without it that is refused, uncharged.
    reading : how records are read, e.g. `dpfda.Reading(batch_rows=1000)`; it changes no release.

    The time that a fit takes depends on the records: the solver goes on until it has proven its distance from the
    minimum.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda.statistics.machines.estimator import KernelClassifier
    >>> x = np.linspace(0, 1, 4000)[:, None]
    >>> ill = (np.abs(x[:, 0] - 0.5) < 0.25).astype(int)
    >>> est = KernelClassifier(epsilon=1.0, delta=1e-6, domain=(0, 1), classes=(0, 1)).fit(x, ill)
    >>> est.predict([[0.1], [0.5], [0.9]]).tolist()
    [0, 1, 0]
    """

    task: ClassVar[str] = "classifier"
    classes_: np.ndarray[Any, Any] = field(init=False)
    _stated: tuple[Label, Label] = field(init=False)

    loss: str | StatedLoss = "hinge"
    classes: Sequence[Label] | None = None

    def _loss(self) -> Loss:
        if isinstance(self.loss, StatedLoss):
            return tabulated(self.loss, margin=True, scale=1.0)
        return loss_of(self.loss)

    def _classes(self) -> tuple[Label, Label]:
        """The classes as they were stated: the release has the first below zero and the second above."""
        if self.classes is None:
            return ASSUMED_CLASSES
        first, second = check_classes(self.classes)
        compared = label_of(first), label_of(second)
        if None in compared or compared[0] == compared[1]:
            raise UsageError(
                arg("classes", self.classes),
                " cannot be told apart, or from a missing label, once labels are read from a table: numbers "
                "are compared as numbers, texts without spaces around them. Name them otherwise.",
                parameter="classes",
                value=self.classes,
            )
        return first, second

    def _facts(self) -> dict[str, Any]:
        return {"classes": self._classes()}

    def _assumed(self) -> tuple[tuple[str, str], ...]:
        told = ("labels", "none were stated, so 0 and 1: a record with any other label was left out")
        return (*((told,) if self.classes is None else ()), *super()._assumed())

    def _targets(self, y: Any) -> Array:
        if self.classes is None:
            # Whatever the labels are: whether some are neither 0 nor 1 is nobody's business.
            warn(LABELS_ASSUMED, AssumptionWarning)
        return signs(y, self._classes())

    def _remember(self) -> None:
        self._stated = self._classes()
        # In order, as scikit-learn has them.
        self.classes_ = np.unique(np.asarray(self._stated if self.classes is None else self.classes))

    def _oriented(self, X: ArrayLike) -> Array:
        """Values of the private function at public points, above zero for the second of the sorted labels."""
        values = self._values(X)
        first, second = self._stated
        return values if first < second else -values  # type: ignore[operator]

    def decision_function(self, X: ArrayLike) -> Array:
        """Values at public points, moved into the domain as records were, (m,): above zero for `classes_[1]`.

        The release has the classes in the order in which they were stated.
        """
        return self._oriented(X)

    def predict(self, X: ArrayLike) -> np.ndarray[Any, Any]:
        """The class of public points, (m,): post-processing, free."""
        values = self._oriented(X)
        return np.asarray(self.classes_[(values > 0).astype(int)])

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The accuracy on public points and labels, as scikit-learn's classifiers have it.

        Labels are compared as `fit` compares them: 1, "1" and True are one label. Any other label is a mistake.
        """
        from sklearn.metrics import accuracy_score

        try:
            predicted = signs(self.predict(X), self._stated)
            labels = np.nan_to_num(signs(y, self._stated), nan=0.0)
            return float(accuracy_score(labels, predicted, sample_weight=sample_weight))
        except (UsageError, NotFittedError):
            raise
        except Exception as error:  # of scikit-learn, or of whatever holds the labels
            raise UsageError(f"These points and labels have no score: {told(error)}") from error

    @available_if(_has_chances)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> Array:
        """Chances of both classes at public points, (m, 2), as `classes_` has them; for the logistic loss alone."""
        from scipy.special import expit

        values = self._oriented(X)
        return np.stack([expit(-values), expit(values)], axis=1)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # on a few dozen records, with noise
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class KernelRegressor(RegressorMixin, KernelMachine):  # type: ignore[misc]
    """A private regression function: the minimiser of a regularised risk, with noise once.

    Parameters
    ----------
    response_bound : public bound on the size of responses; those beyond it are moved to it, and predictions too.
    loss : "huber", "absolute" (a median), or "squared"; or a `dpfda.StatedLoss` of the user's own.
    threshold : of the Huber loss, beyond which residuals count linearly; None for a fifth of the bound.
    epsilon, delta, kernel, penalty, domain, features, mechanism, neighbours, n, planned_n, dataset, ledger,
    randomness, force, reading : as for `KernelClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda.statistics.machines.estimator import KernelRegressor
    >>> x = np.linspace(0, 1, 5000)[:, None]
    >>> est = KernelRegressor(epsilon=4.0, delta=1e-6, response_bound=1.0).fit(x, np.sin(6 * x[:, 0]))
    >>> bool(abs(est.predict([[0.25]])[0] - np.sin(1.5)) < 0.25)
    True
    """

    task: ClassVar[str] = "regressor"

    response_bound: float
    loss: str | StatedLoss = "huber"
    threshold: float | None = None

    def _bound(self) -> float:
        bound = as_real(self.response_bound)
        if not 1e-100 <= bound <= 1e100:
            raise UsageError(
                parameter="response_bound",
                value=self.response_bound,
                rule="must be a positive finite number, between 1e-100 and 1e100",
                fix="It may not be read from the data.",
            )
        return bound

    def _loss(self) -> Loss:
        if not isinstance(self.loss, StatedLoss):
            return loss_of(self.loss, bound=self._bound(), threshold=self.threshold)
        if self.threshold is not None:
            raise UsageError(
                parameter="threshold", rule=f"is for loss 'huber'; {brief(self.loss.name)} of the user's own has none"
            )
        return tabulated(self.loss, margin=False, scale=self._bound())

    def _facts(self) -> dict[str, Any]:
        return {"bound": self._bound()}

    def _targets(self, y: Any) -> Array:
        return responses(y)

    def predict(self, X: ArrayLike) -> Array:
        """Responses at public points, within their bound, (m,): post-processing, free."""
        return np.clip(self._values(X), -self._bound(), self._bound())

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The coefficient of determination on public points and responses, as scikit-learn's regressors have it."""
        given = (y,) if sample_weight is None else (y, sample_weight)
        sizes = {np.shape(public_numbers(part, "Responses and their weights")) for part in given}
        if sizes != {(len(self._values(X)),)}:
            raise UsageError(f"There must be one response, and one weight, for each of the points, got shapes {sizes}.")
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # on a few dozen records, with noise
        return tags

"""The private mean function as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpfda.arrays import Array, ArrayLike
from dpfda.bases import Basis
from dpfda.curator import Order
from dpfda.errors import UsageError
from dpfda.records import Curves
from dpfda.releases import Release
from dpfda.statistics.estimator import CurveEstimator, smoothing_after
from dpfda.statistics.mean.plan import Plan, make_plan
from dpfda.statistics.mean.summary import Mean, SmoothedMean

if TYPE_CHECKING:
    from dpfda.online import FiniteOracle, Store


@dataclass(kw_only=True, eq=False, repr=False)
class MeanFunction(CurveEstimator):
    """The mean curve of a population, private: encode, clip, sum exactly, add noise once, smooth afterwards.

    Parameters
    ----------
    epsilon, delta : the guarantee; delta = 0 asks for pure privacy.
    bound : public bound on a curve's root mean square (around the centre); curves beyond it are scaled down to it.
    limits : instead of a bound, the public range (low, high) of values; values beyond it are moved to its ends.
    domain : public interval, or list of intervals for surfaces.
    centre : public curve that is subtracted first: a number, values on the grid, or a function of the points.
    neighbours : "replace-one" (the number of units is public) or "add-or-remove-one" (it is private).
    n : the public number of units, stated under "replace-one" instead of counted; never compared with the data.
    planned_n : public guess of the number of units, needed under "add-or-remove-one", where it may not be read.
    mechanism : "auto" (the planner's choice), "gaussian", "laplace", "k-norm"; of the papers "gp", "iclp-qr",
        "iclp-ar", "frl", "bernstein", "exponential"; or an object: a noise law such as `dpfda.mechanisms.Laplace()`, or
        a mechanism of the papers with its settings, such as `dpfda.mechanisms.GaussianProcess(kernel=..., eta=1.0)`.
    basis : None for the planner's choice, a family's name, or a basis object.
    size : number of basis functions, None for the planner's choice.
    smoothing : "auto", "none", "sobolev-1", -2, -4, -8, "james-stein"; chosen after the noise, free. The papers'
        mechanisms smooth before the noise, so "auto" leaves them as they are.
    dataset : name of the data set for the card and the ledger.
    ledger : where the budget is charged before records are read: a `dpfda.Ledger`, or its address.
    randomness : None for private noise; a seeded source for tests, which stamps the release not private.
    force : release although the plan expects next to nothing but noise; without it that is refused, uncharged.
    reading : how records are read, e.g. `dpfda.Reading(workers=2)`; it changes no release.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import MeanFunction
    >>> t = np.linspace(0, 1, 50)
    >>> curves = np.sin(2 * np.pi * t) + np.linspace(-0.3, 0.3, 2000)[:, None]
    >>> est = MeanFunction(epsilon=1.0, delta=1e-6, bound=1.0, domain=(0, 1)).fit(curves, grid=t)
    >>> bool(abs(est.release_(0.25) - 1) < 0.2)
    True
    """

    statistic: ClassVar[str] = "mean"

    basis: str | Basis | None = None
    smoothing: str = "auto"
    release_: Release = field(init=False)

    def plan(self, n: int, *, grid_size: int | None = None) -> Plan:
        """What a fit on n units would do and how large its noise would be; reads no data and costs nothing."""
        self._check_parameters()
        _, middle, _ = self._clipping()
        mechanism, settings = self._chosen()
        if "candidates" in settings:
            settings["candidates"] = self._around_centre(settings["candidates"], middle)
        return make_plan(self._request(n, grid_size, self.basis, mechanism=mechanism, **settings))

    def _order_of(self, curves: Curves, plan: Plan) -> Order:
        design = plan.design
        public = self.facts(curves, count_weight=plan.count_weight)
        return self._curator(curves, public, plan.reasons).order(
            Mean(design.weights) if design.inner is None else SmoothedMean(inner=design.inner),
            basis=design.basis,
            mechanism=design.mechanism,
            budget=plan.spends,
            smoothing=smoothing_after(self.smoothing, smoothable=design.smoothing),
            least_scale=design.least_scale,
            name=design.name,
        )

    def open(self, store: str | Path | Store | None = None) -> FiniteOracle:
        """An oracle that answers at any points for ever from the release of a fit, kept in a store; free.

        The noise was drawn once, in finitely many coordinates, so all answers exist from the start. The same store is
        opened again for the same release; for another one it is refused.
        """
        from dpfda.online import open_finite

        check_is_fitted(self)
        return open_finite(self.release_, store)

    def _around_centre(self, candidates: Any, middle: float) -> tuple[Callable[[Array], ArrayLike], ...]:
        """The dictionary's candidates around the centre."""
        listed = isinstance(candidates, Sequence) and all(callable(candidate) for candidate in candidates)
        if not listed or not (self.centre is None or callable(self.centre) or isinstance(self.centre, int | float)):
            raise UsageError(
                parameter="candidates",
                rule=(
                    "must be a list of functions of the points, and with them centre a number or a function, got "
                    f"{type(candidates).__name__} and centre {type(self.centre).__name__}"
                ),
            )
        centre = middle if self.centre is None else self.centre

        def around(candidate: Callable[[Array], ArrayLike]) -> Callable[[Array], ArrayLike]:
            return lambda t: np.asarray(candidate(t)) - np.asarray(centre(t) if callable(centre) else centre)

        return tuple(around(candidate) for candidate in candidates)

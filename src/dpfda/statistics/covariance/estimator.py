"""The private covariance function as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from dpfda.bases import Basis
from dpfda.curator import Order
from dpfda.errors import UsageError
from dpfda.mechanisms import ExponentialDraw, GibbsChain
from dpfda.planning.request import Request
from dpfda.records import Curves
from dpfda.releases import Release
from dpfda.statistics.covariance.plan import MomentsPlan, plan_moments
from dpfda.statistics.covariance.release import CovarianceRelease
from dpfda.statistics.covariance.summary import Moments
from dpfda.statistics.estimator import CurveEstimator, smoothing_after

MEANS = ("joint", "centre")
DRAWN = (ExponentialDraw.name, GibbsChain.name)


class MomentsEstimator(CurveEstimator):
    """What a covariance function and its principal components share: how second moments are planned and released."""

    mean: str | None
    basis: str | Basis | None

    def _moments_request(self, n: int, grid_size: int | None) -> Request:
        mechanism, settings = self._chosen()
        settings.pop("base", None)  # which no covariance knows
        return self._request(n, grid_size, self.basis, mechanism=mechanism, **settings)

    @property
    def _joint(self) -> bool:
        """Whether the mean is released along with second moments."""
        if self.mean is None:
            return self._chosen()[0] not in DRAWN  # which know no mean
        if self.mean not in MEANS:
            raise UsageError(
                parameter="mean",
                value=self.mean,
                rule=(
                    "must be None or 'joint', to release it along with second moments, or 'centre', to take the "
                    "public centre for it"
                ),
            )
        return self.mean == "joint"

    def _order_moments(
        self,
        curves: Curves,
        plan: MomentsPlan,
        *,
        then: Callable[[CovarianceRelease], Any] = lambda released: released,
        what: str | None = None,
    ) -> Order:
        """The moments, or what `then` makes of them; `what` is what the ledger calls it."""
        curator = self._curator(curves, self.facts(curves), (*plan.reasons, self._mean_reason()))

        def warned(released: CovarianceRelease) -> Any:
            card = released.certificate
            return then(replace(released, certificate=replace(card, warnings=(*card.warnings, *plan.faint))))

        return curator.order(
            Moments(plan.design.lead, plan.design.weights, plan.design.norm),
            basis=plan.design.basis,
            mechanism=plan.design.mechanism,
            budget=plan.spends,
            smoothing=smoothing_after(self.smoothing, smoothable=plan.design.smoothable),
            name=plan.design.name,
            what=what,
            then=warned,
        )

    def _mean_reason(self) -> tuple[str, str]:
        if self._joint:
            return ("subtracted mean", "released along with second moments")
        return ("subtracted mean", "the centre" if isinstance(self.centre, Release) else "the public centre")


@dataclass(kw_only=True, eq=False, repr=False)
class CovarianceFunction(MomentsEstimator):
    """The covariance function of a population, private: mean and second moment in one release, clipped together.

    A unit with several curves counts with their average. Coordinates of the moments are released with noise, the mean
    is subtracted, entries are smoothed, and the nearest positive semidefinite function is taken: all after the noise.

    Parameters
    ----------
    epsilon, delta : the guarantee; delta = 0 asks for pure privacy.
    bound : public bound on a curve's root mean square (around the centre); curves beyond it are scaled down to it.
    limits : instead of a bound, the public range (low, high) of values; values beyond it are moved to its ends.
    domain : public interval, or list of intervals for surfaces.
    centre : public curve that is subtracted first: a number, values on the grid, a function, or a mean release.
    mean : "joint" (as None) releases the mean along with second moments; "centre" takes the centre for the mean, e.g. a
        mean release that has been paid for, and spends all on second moments, as "exponential" always does.
    neighbours : "replace-one" (the number of units is public) or "add-or-remove-one" (it is private).
    n : the public number of units, stated under "replace-one" instead of counted; never compared with the data.
    planned_n : public guess of the number of units, needed under "add-or-remove-one", where it may not be read.
    mechanism : "auto" (the planner's choice), "gaussian", "wishart", "k-norm", "laplace", or the papers' processes with
        a tensor product of their kernel, "gp" (Mirshani et al.) and "iclp-qr" (Lin and Reimherr); "exponential" (Awan
        et al.) draws second moments around the centre as a whole; or an object: a noise law, or
        `dpfda.mechanisms.GaussianProcess(kernel=..., eta=..., penalty=...)`, `LaplaceProcess(...)`, or
        `ExponentialDraw(kernel=...)`.
    basis : None for the planner's choice, the name of an orthonormal family, or a basis object.
    size : number of basis functions, None for the planner's choice.
    smoothing : "auto", "none", "sobolev-1", -2, -4, -8, "james-stein"; chosen after the noise, free.
    dataset, ledger, randomness, force, reading : as for `MeanFunction`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import CovarianceFunction
    >>> t = np.linspace(0, 1, 50)
    >>> curves = np.linspace(-0.9, 0.9, 5000)[:, None] * np.sin(np.pi * t)
    >>> est = CovarianceFunction(epsilon=1.0, delta=1e-6, bound=1.0, domain=(0, 1)).fit(curves, grid=t)
    >>> bool(abs(est.release_(0.5, 0.5) - 0.27) < 0.1)
    True
    """

    what: ClassVar[str] = "A covariance function"
    statistic: ClassVar[str] = "covariance"
    release_: CovarianceRelease = field(init=False)

    mean: str | None = None
    basis: str | Basis | None = None
    smoothing: str = "auto"

    def plan(self, n: int, *, grid_size: int | None = None) -> MomentsPlan:
        """What a fit on n units would do and what error to expect; reads no data and costs nothing."""
        self._check_parameters()
        if not self._joint and self.neighbours == "add-or-remove-one" and self._chosen()[0] not in DRAWN:
            raise UsageError(
                "Under add-or-remove-one the number of units is private and released along with the mean: mean must be "
                "'joint'."
            )
        return plan_moments(self._moments_request(n, grid_size), lead=self._joint)

    def _order_of(self, curves: Curves, plan: MomentsPlan) -> Order:
        return self._order_moments(curves, plan)

"""Private functional principal components as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpfda.arrays import Array, ArrayLike, as_real, is_whole
from dpfda.bases import Basis, combined
from dpfda.curator import Curator, DrawLog, Order, Payment, ReleaseOrder, described
from dpfda.errors import UsageError
from dpfda.ledger import Receipt
from dpfda.mechanisms import ExponentialDraw
from dpfda.mechanisms.table import AUTO
from dpfda.messages import arg
from dpfda.planning.request import check_units
from dpfda.privacy import Budget, PureProfile, StatedProfile
from dpfda.privacy.norms import up
from dpfda.records import Curves
from dpfda.releases.calculus import Function
from dpfda.releases.cards.words import say, with_besides
from dpfda.statistics.components.plan import ComponentsPlan, FramesPlan, plan_components
from dpfda.statistics.components.release import ComponentsRelease, with_signs
from dpfda.statistics.components.summary import Spans
from dpfda.statistics.covariance.estimator import MomentsEstimator
from dpfda.statistics.covariance.plan import plan_moments
from dpfda.statistics.covariance.release import CovarianceRelease, components_detected
from dpfda.statistics.covariance.summary import Moments
from dpfda.statistics.estimator import FitOrder


@dataclass(kw_only=True, eq=False, repr=False)
class FPCA(MomentsEstimator):
    """Functional principal components of a population, private.

    By default through a private covariance function; `mechanism="exponential"` draws the components themselves (Awan
    et al. 2019), exactly. A unit with several curves counts with their average.

    Parameters
    ----------
    n_components : how many components, less than the number of units.
    epsilon, delta : the guarantee; delta = 0 asks for pure privacy.
    bound, limits, domain, centre, neighbours, n, planned_n : as for `MeanFunction`.
    mean : "joint" releases the mean along with second moments; "centre" takes components around the public centre, as
        the exponential mechanism always does; None for "joint" where that is possible.
    mechanism : "auto" (least predicted distance of the span), "covariance" (through a covariance, its noise by the
        planner), "gaussian", "wishart", "k-norm", "laplace", "gp", "iclp-qr" (through a covariance with that noise),
        "exponential", or "gibbs", the paper's Markov chain, for comparison: its guarantee is approximate; or an object
        with settings, such as `dpfda.mechanisms.ExponentialDraw(kernel=..., base="projected")`.
    basis, size : as for `CovarianceFunction`.
    explained_variance : share of epsilon that the exponential mechanism spends on the variances along its components,
        e.g. 0.2; None to leave them out. Through a covariance they cost nothing.
    smoothing, dataset, ledger, randomness, force, reading : as for `MeanFunction`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import FPCA
    >>> t = np.linspace(0, 1, 50)
    >>> curves = np.linspace(-0.9, 0.9, 5000)[:, None] * np.sin(np.pi * t)
    >>> est = FPCA(n_components=1, epsilon=1.0, delta=0.0, bound=1.0, domain=(0, 1)).fit(curves, grid=t)
    >>> bool(abs(abs(est.components_[0](0.5)) - 2**0.5) < 0.3)
    True
    """

    what: ClassVar[str] = "A principal component"
    statistic: ClassVar[str] = "components"
    release_: ComponentsRelease = field(init=False)

    n_components: int = field(default=2, kw_only=False)
    mean: str | None = None
    basis: str | Basis | None = None
    explained_variance: float | None = None
    smoothing: str = "auto"

    @property
    def components_(self) -> tuple[Function, ...]:
        """The components, each callable anywhere in the domain; orthonormal, signs fixed."""
        check_is_fitted(self, "release_")
        return self.release_.components

    @property
    def explained_variance_(self) -> Array:
        """The variance along each component, (k,)."""
        check_is_fitted(self, "release_")
        return self.release_.explained_variance

    @property
    def explained_variance_ratio_(self) -> Array:
        """The share of the total variance that each component has, (k,)."""
        check_is_fitted(self, "release_")
        return self.release_.explained_ratio

    def plan(self, n: int, *, grid_size: int | None = None) -> ComponentsPlan:
        """What a fit on n units would do and what error to expect; reads no data and costs nothing."""
        self._check_parameters()
        k = self._check_components(n)
        request = self._moments_request(n, grid_size)
        if grid_size is not None and k > grid_size:
            raise UsageError(
                f"Curves with {grid_size} values have at most {grid_size} components, got {k}.",
                parameter="n_components",
            )
        share = self._share
        base = self._chosen()[1].get("base", ExponentialDraw().base)
        plan = plan_components(request, k=k, joint=self._joint, base=base, share=share)
        if k > plan.basis.size:
            raise UsageError(
                f"There can be at most {plan.basis.size} components in a basis of {plan.basis.size} functions, got ",
                arg("n_components", k),
                ".",
                parameter="n_components",
                value=k,
                fix=("State ", arg("size="), " for more functions."),
            )
        if isinstance(plan, FramesPlan):
            return plan
        if not self._joint and self.neighbours == "add-or-remove-one":
            raise UsageError(
                "Under add-or-remove-one the number of units is private and released along with the mean: "
                "leave mean out, or take ",
                arg("mechanism", ExponentialDraw.name),
                ", which needs neither.",
            )
        if share and self.mechanism != AUTO:
            raise UsageError(
                parameter="explained_variance",
                rule=(
                    "is a price that only the exponential mechanism asks: through a covariance the variances "
                    "cost nothing"
                ),
                fix="Leave it out.",
            )
        return plan

    def _order_of(self, curves: Curves, plan: ComponentsPlan) -> Order:
        if isinstance(plan, FramesPlan):
            return self._order_frames(curves, plan)
        k = int(self.n_components)
        count = f"{k} principal component{'s' * (k > 1)}"
        return self._order_moments(curves, plan, then=lambda moments: (moments, moments.components(k)), what=count)

    def _keep(self, released: Any, ordered: FitOrder) -> None:
        if isinstance(ordered.plan, FramesPlan):
            self.release_ = released
        else:
            self.covariance_, self.release_ = released

    def scores(self, values: ArrayLike, grid: ArrayLike) -> Array:
        """Scores of public curves on a grid, (..., q) -> (..., k).

        Not called `transform`: a pipeline would apply it to the data themselves, whose scores are not private.
        """
        return self.release_.scores(values, grid)

    def _order_frames(self, curves: Curves, plan: FramesPlan) -> Order:
        """Components by the exponential mechanism, and the variances along them if they are paid for."""
        curator = self._curator(curves, self.facts(curves), (*plan.reasons, self._mean_reason()))
        first = curator.order(
            Spans(lead=0, k=plan.k), basis=plan.basis, mechanism=plan.mechanism, budget=plan.spends, name=plan.name
        )
        return first if plan.rest is None else VariancesOrder.after(first, curator, plan, plan.rest)

    @property
    def _share(self) -> float:
        share = self.explained_variance
        if share is None:
            return 0.0
        if not 0 < as_real(share) < 1:
            raise UsageError(
                parameter="explained_variance",
                value=share,
                rule="is the share of epsilon to spend on it, between 0 and 1, e.g. 0.2",
            )
        if self.neighbours != "replace-one":
            raise UsageError(
                parameter="explained_variance",
                rule="needs the number of units, which is private under add-or-remove-one",
            )
        return float(share)

    def _check_components(self, n: int) -> int:
        k = self.n_components
        if not is_whole(k, 1, 2**31):
            raise UsageError(parameter="n_components", value=k, rule="must be a whole number, at least 1")
        check_units(n)
        if k > n:
            raise UsageError(
                parameter="n_components",
                value=k,
                rule=f"must not exceed the number of units: {n} curves span no more directions",
            )
        return int(k)


@dataclass(frozen=True, eq=False, repr=False)
class VariancesOrder(Order):
    """Components, then the variances along them: charged at once, so that neither is made if both cannot be paid."""

    first: ReleaseOrder
    curator: Curator
    plan: FramesPlan
    rest: Budget  # for the variances

    @staticmethod
    def after(first: ReleaseOrder, curator: Curator, plan: FramesPlan, rest: Budget) -> VariancesOrder:
        """The order of both."""
        losses = (*first.price.losses, StatedProfile(rest.epsilon, rest.delta))
        price = replace(first.price, budget=plan.price, losses=losses)
        return VariancesOrder(price, first.ledger, first, curator, plan, rest)

    def spend(self, payment: Payment) -> ComponentsRelease:
        return payment.spend(lambda log: self._both(log, payment.receipt))

    def _both(self, log: DrawLog, receipt: Receipt | None) -> ComponentsRelease:
        plan = self.plan
        drawn = self.first.draw(log, receipt)
        within = combined(plan.basis, drawn.frame.T)
        moments = plan_moments(
            replace(plan.request, mechanism="auto", basis=within, size=None, kernel=None, budget=self.rest), lead=False
        )
        second = self.curator.order(
            Moments(0), basis=within, mechanism=moments.design.mechanism, budget=moments.spends, smoothing="none"
        )
        return _turned(drawn, second.draw(log, receipt), plan.price, described(self.price.losses))


def _turned(
    drawn: ComponentsRelease, second: CovarianceRelease, paid: Budget, losses: tuple[dict[str, Any], ...]
) -> ComponentsRelease:
    """Components turned to the principal axes within their span, with the variances along them."""
    values, vectors = np.linalg.eigh(second.coordinates)
    card, more = drawn.certificate, second.certificate
    return replace(
        drawn,
        frame=with_signs(drawn.frame @ vectors[:, ::-1]),
        variances=np.maximum(values[::-1], 0.0),
        deviation=second.variance_deviation,
        certificate=replace(
            card,
            what=say("what", "components", count=drawn.frame.shape[1], variances=True),
            noise=with_besides(card.noise, more.mechanism),
            epsilon=paid.epsilon,
            rho=up(card.rho + more.rho),
            attacker_power=PureProfile(paid.epsilon).power(0.05),
            losses=losses,
            detected=components_detected(more.detected),
            chosen=(
                *card.chosen,
                (
                    "variances",
                    f"{more.mechanism} noise, {more.noise_rms:.4g} root mean square, for epsilon {more.epsilon:g} of "
                    f"{paid.epsilon:g}",
                ),
            ),
        ),
    )

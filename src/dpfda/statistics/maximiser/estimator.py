"""The private maximiser of the user's own objective: the exponential mechanism in general."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from dpfda.arrays import is_whole, told
from dpfda.bases import Basis
from dpfda.curator import Order
from dpfda.errors import UsageError
from dpfda.mechanisms import ExponentialDraw, Process
from dpfda.mechanisms.objective import Curvature, Utility
from dpfda.mechanisms.table import unknown
from dpfda.mechanisms.utility_checks import check_declared
from dpfda.records import Curves
from dpfda.releases import Release
from dpfda.statistics.estimator import CurveEstimator
from dpfda.statistics.maximiser.plan import ObjectivePlan, in_range, plan_objective
from dpfda.statistics.maximiser.summary import Maximum
from dpfda.statistics.maximiser.utilities import RobustDistance


@dataclass(kw_only=True, eq=False, repr=False)
class Maximiser(CurveEstimator):
    """The curve at which a sum of utilities, one of each unit, is largest, or near it: drawn, not disturbed.

    A curve b is drawn in proportion to `exp(rate sum_i u(x_i, b))` against a Gaussian process cut to a ball (Awan et
    al. 2019, Proposition 3.1 and Example 3.5 with its erratum). Curves are coordinates around the centre in the
    process's own orthonormal basis. Every unit's utility is moved into `utility_range`, so that one unit cannot do more
    than that. The guarantee is pure epsilon. It rests on the utility, which is trusted code: it must look at one unit
    at a time, give the same answer whenever it is asked, and keep no state. No trial can make sure of that.

    The utility is tried on made-up units before the ledger is charged. Once curves are read, a unit on which it fails
    counts as the lowest of the range; whatever else goes wrong is one constant error, and the charge stays.

    Parameters
    ----------
    utility : `utility(X, b)` takes units (n, m) and one point (m,), and returns (n,); the larger the better. Or an
        object of `dpfda.statistics.maximiser.utilities`, which knows its own range and curvature.
    utility_range : public (low, high) of one unit's utility; what lies beyond is moved to the ends.
    epsilon : the guarantee, pure; for composition epsilon^2/8-zCDP.
    bound, limits, domain, centre, neighbours, n, planned_n, dataset, ledger, randomness, force, reading : as for
        `MeanFunction`.
    mechanism : "exponential", or an object with settings: `dpfda.mechanisms.ExponentialDraw(kernel=..., radius=...,
        spread=..., candidates=..., penalty=..., eta=...)`, the base measure's covariance C, the radius of the ball that
        holds b, the base measure's root mean square before the cut, among how many of its points one is chosen where
        no curvature is known, and the penalty `n penalty <b, C^-eta b>` that is taken off the objective.
    size, basis : how many eigenfunctions of the base measure span the curves, or a Mercer basis.
    curvature : how strongly one unit's utility is known to bend: a number, or a function of the distance between unit
        and point that does not grow with it. The utility must be concave. Draws are then exact. Where this is not true
        the guarantee does not hold. None: one of the mechanism's `candidates` is chosen, and the utility may have any
        shape.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda.statistics.maximiser.estimator import Maximiser
    >>> from dpfda.statistics.maximiser.utilities import RobustDistance
    >>> t = np.linspace(0, 1, 30)
    >>> curves = 0.5 * np.sin(np.pi * t) + np.linspace(-0.1, 0.1, 4000)[:, None]
    >>> curves[:200] = -1.0  # one in twenty is wrong
    >>> est = Maximiser(utility=RobustDistance(knot=0.5), epsilon=2.0, bound=1.0, size=4).fit(curves, grid=t)
    >>> bool(abs(est.release_(0.5) - 0.5) < 0.25)
    True
    """

    what = "A maximiser"
    release_: Release = field(init=False)
    plan_: ObjectivePlan = field(init=False)
    # What all estimators of curves are asked for, and this one has no choice about.
    delta: float = field(default=0.0, init=False)
    smoothing = "none"
    statistic: ClassVar[str] = "maximiser"

    utility: Utility
    utility_range: tuple[float, float] | None = None
    curvature: float | Curvature | None = None
    mechanism: str | Process = ExponentialDraw.name
    basis: Basis | None = None

    def plan(self, n: int, *, grid_size: int | None = None) -> ObjectivePlan:
        """What a fit on n units would do and how large its error due to privacy would be; reads no data."""
        self._check_parameters()
        bound = self._clipping()[0].bound
        if not callable(self.utility):
            raise UsageError(parameter="utility", value=self.utility, rule="must be a function of units and a point")
        draw = self._draw()
        own = getattr(self.utility, "curvature", None)
        return plan_objective(
            self._request(n, grid_size, self.basis, kernel=draw.kernel),
            self.utility,
            utility_range=self._range(bound),  # looked at by the mechanism
            radius=draw.radius,
            spread=draw.spread,
            curvature=own if self.curvature is None else self.curvature,
            candidates=_whole(draw.candidates),
            penalty=draw.penalty,
            eta=draw.eta,
        )

    def _order_of(self, curves: Curves, plan: ObjectivePlan) -> Order:
        check_declared(plan.mechanism, plan.request.bound)
        plan.check_ends()
        curator = self._curator(curves, self.facts(curves), (*self._conditions(plan), *plan.reasons))
        summary = Maximum(_name(self.utility), plan.basis.size, plan.mechanism.limits, plan.mechanism.step, _law(plan))
        return curator.order(summary, basis=plan.basis, mechanism=plan.mechanism, budget=plan.budget, smoothing="none")

    def _range(self, bound: float) -> tuple[float, float]:
        if self.utility_range is None:
            if not hasattr(self.utility, "range"):
                raise UsageError(
                    "utility_range=(low, high), the public range of one unit's utility, must be stated: it is what a "
                    "unit can do to the objective."
                )
            stated = self._draw().radius
            radius = bound if stated is None else in_range("radius", stated)
            if isinstance(self.utility, RobustDistance):
                self.utility.check(bound + radius)
            try:
                own: tuple[float, float] = self.utility.range(bound + radius)
            except Exception as error:
                raise UsageError(f"The range of the utility failed with {told(error)}.") from error
            return own
        return self.utility_range

    def _draw(self) -> ExponentialDraw:
        name, settings = self._chosen()
        if name != ExponentialDraw.name:
            raise unknown(name, self.statistic, "a maximiser")
        return ExponentialDraw(**settings)

    def _conditions(self, plan: ObjectivePlan) -> tuple[tuple[str, str], ...]:
        """What the guarantee rests on, and what it does not cover, for the card."""
        trusted = (
            "utility",
            f"{_name(self.utility)}, trusted code: the guarantee holds only if it looks at one unit at a time, is "
            "deterministic and keeps no state. It was tried on made-up units",
        )
        if plan.mechanism.curvature is None:
            return trusted, ("time", "grows with the number of units, and is as long as the utility takes; not covered")
        whose = "the utility's own" if self.curvature is None else "stated by the user"
        return (
            trusted,
            ("curvature", f"{whose}; tried on made-up units. Where it is false the guarantee does not hold"),
            ("time", "depends on the units, through the number of proposals until one is accepted; not covered"),
        )


def _whole(candidates: object) -> int:
    if not is_whole(candidates, -(2**31), 2**31):
        raise UsageError(parameter="candidates", value=candidates, rule="must be a whole number of points")
    return int(candidates)


def _name(utility: object) -> str:
    return str(getattr(utility, "__name__", type(utility).__name__))


def _law(plan: ObjectivePlan) -> str:
    among = "" if plan.mechanism.curvature is not None else f" among {plan.mechanism.candidates} points of that measure"
    penalty = ", less the penalty" if plan.penalties else ""
    return (
        f"a curve drawn exactly{among} in proportion to exp({plan.rate:.4g} times the sum of utilities{penalty}) "
        "against a Gaussian process cut to a ball"
    )

"""The plan of principal components: through a covariance, or drawn by the exponential mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.bases import Basis
from dpfda.errors import DpfdaError, UsageError
from dpfda.mechanisms import ExponentialDraw, GibbsChain, ThroughCovariance
from dpfda.mechanisms.frames import Frames, Gibbs
from dpfda.mechanisms.frames.mechanism import LARGEST_PRECISION, MOST_PROJECTED
from dpfda.mechanisms.table import AUTO, names_for, unknown
from dpfda.messages import arg
from dpfda.planning.base import NOISY_FROM, AnyPlan, basis_text, price
from dpfda.planning.default_design import DEFAULT_BASIS, basis_of
from dpfda.planning.papers import eigenvalues_of, noise_basis
from dpfda.planning.request import Request
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import Nuclear, Sensitivity
from dpfda.statistics.covariance.errors import (
    PLAUSIBLE,
    REFERENCE,
    found_within,
    plausible_rate,
    subspace_error,
    turned_by_choice,
)
from dpfda.statistics.covariance.plan import STATISTIC as THROUGH
from dpfda.statistics.covariance.plan import MomentsPlan, check_side, plan_moments
from dpfda.statistics.covariance.sensitivity import ROUGH, check_orthonormal

STATISTIC = "components"
DRAWN = (ExponentialDraw.name, GibbsChain.name)  # components themselves, without a mean
TERMS = 40  # as in the paper's study; the base measure keeps rough functions out
BLIND = 1e-9  # a rate at which nothing is heard of the data
STEPS = 2_000  # of the Markov chain; the paper takes ten times as many and more minutes


@dataclass(frozen=True, eq=False)
class FramesPlan(AnyPlan):
    """The exponential mechanism for k components: its base measure, its rate, and what to expect of it."""

    request: Request
    k: int
    basis: Basis
    mechanism: Frames | Gibbs
    precision: Array  # (size,) of the base measure
    spends: Budget  # on the components
    rest: Budget | None  # on the variances along them, if these are asked for
    reasons: tuple[tuple[str, str], ...]
    name: str = ExponentialDraw.name

    @property
    def rate(self) -> float:
        """The density is `exp(rate tr V'CV)`, C the mean second moment in units of the bound squared."""
        times = 1 if self.request.counted else 2
        scale = calibrate(self.mechanism, Sensitivity(times * float(ROUGH**2), Nuclear(), "planned"), self.spends)
        return self.n * float(ROUGH**2) / scale

    @property
    def price(self) -> Budget:
        """What a fit charges: for the components, and for their variances if these are asked for."""
        return self.spends if self.rest is None else Budget(self.request.budget.epsilon, 0.0)

    def subspace_error(self, k: int) -> float:
        """The expected squared distance of the span, at most k, for the reference population."""
        turned = turned_by_choice(self.rate, self.basis.frequencies, self.precision)
        return subspace_error(turned, k, self.request.domain.dimension)

    @property
    def hidden(self) -> str:
        """Why next to nothing could be seen of the first component; empty where it could.

        Its expected distance from the true one, against that of a draw from the base measure, which knows no data. What
        lies outside the basis is lost to both, and no noise.
        """
        if self.basis.size == 1:
            return "the component would be the one function of the basis, whatever the curves are"
        rates = (plausible_rate(self.rate, self.request.domain.dimension), BLIND)
        drawn, blind = (found_within(turned_by_choice(rate, self.basis.frequencies, self.precision)) for rate in rates)
        if drawn < NOISY_FROM * blind:
            return ""
        return f"the first component of curves {PLAUSIBLE} would be {drawn / blind:.0%} as far off as without any data"

    @property
    def cautions(self) -> tuple[str, ...]:
        return (self.mechanism.warning,) if self.mechanism.warning else ()

    @property
    def title(self) -> str:
        return f"{self.k} principal component{'s' * (self.k > 1)} of {self.n} units"

    def facts(self) -> dict[str, Any]:
        return {
            "bound": self.bound,
            "basis": self.basis.describe(),
            "mechanism": self.name,
            "base": self.mechanism.base,
            "subspace_error": self.subspace_error(self.k),
            "spends": price(self.price),
        }

    def lines(self) -> tuple[tuple[str, str], ...]:
        return (
            ("mechanism", f"{self.name}, a frame drawn from the {self.mechanism.base} base measure, no noise added"),
            ("basis", basis_text(self.basis)),
            ("error", f"squared distance of the span: {self.subspace_error(self.k):.2g} of at most {self.k}"),
            ("expected", f"for {REFERENCE}"),
        )


ComponentsPlan = MomentsPlan | FramesPlan


def plan_components(request: Request, *, k: int, joint: bool, base: str, share: float | None = None) -> ComponentsPlan:
    """The way to k components that was asked for, or the one with the least predicted distance of the span.

    `joint` says that the mean is released too: the exponential mechanism cannot do that, and is not considered then.
    `share` of epsilon is kept for variances where they cost something.
    """
    check_side(request)
    ExponentialDraw(base=base)  # refuses what is none
    name = request.mechanism
    if name in DRAWN:
        if joint:
            raise UsageError(
                arg("mechanism", name),
                " releases no mean: it takes components around the public centre. Leave mean out, and let ",
                arg("centre="),
                " be a public curve or a mean release.",
                parameter="mechanism",
                value=name,
            )
        return plan_frames(request, k=k, base=base, share=share)
    if name in (AUTO, ThroughCovariance.name):
        through = plan_moments(replace(request, mechanism="auto", kernel=None), lead=joint, k=k)
        if name == ThroughCovariance.name or joint:
            if request.kernel is not None:
                raise UsageError(
                    parameter="kernel",
                    rule=("is the base measure of ", arg("mechanism", "exponential"), ", which is not considered here"),
                    fix="Leave it out.",
                )
            return through
        drawn = plan_frames(request, k=k, base=base, share=share)
        better = drawn.subspace_error(k) < through.subspace_error(k)
        chosen: ComponentsPlan = drawn if better else through
        why = "exponential mechanism" if better else f"{through.design.name} noise on second moments"
        reasons = [pair for pair in chosen.reasons if pair[0] != "mechanism"]
        return replace(chosen, reasons=(*reasons, ("mechanism", f"{why}: the least predicted distance of the span")))
    if isinstance(name, str) and name not in names_for(THROUGH):
        raise unknown(name, STATISTIC, "principal components")
    return plan_moments(request, lead=joint, k=k)


def plan_frames(request: Request, *, k: int, base: str, share: float | None = None) -> FramesPlan:
    """The exponential mechanism of Awan et al. with a Gaussian process as base measure."""
    if request.n * request.budget.epsilon > LARGEST_PRECISION:
        raise UsageError(
            f"The exponential mechanism is drawn for up to n epsilon = {LARGEST_PRECISION:g}, got "
            f"{request.n * request.budget.epsilon:g}. Take ",
            arg("mechanism", "covariance"),
            ".",
        )
    if request.eta is not None or request.penalty is not None:
        raise UsageError(
            arg("eta"),
            " and ",
            arg("penalty"),
            " are for ",
            arg("mechanism", "gp", "iclp-qr"),
            "; the exponential mechanism has a kernel alone.",
        )
    terms = TERMS if base == "bingham" else MOST_PROJECTED
    most = min(terms, request.grid_size or terms)
    if request.kernel is not None:
        basis = noise_basis(request, request.kernel, int(request.size or most))
        eigenvalues = eigenvalues_of(basis)
        # A kernel of smooth functions has eigenvalues that are next to nothing: they are left out.
        eigenvalues = eigenvalues[eigenvalues >= 1 / LARGEST_PRECISION]
        if len(eigenvalues) < basis.size:
            basis = noise_basis(request, request.kernel, max(1, len(eigenvalues)))
        # Eigenvalues of a kernel with variance 1 add up to 1 over the domain; those of the base measure are these.
        precision, why = 1 / eigenvalues, f"{request.kernel}, stated by the user"
    else:
        basis, _ = basis_of(request, max(most, k), DEFAULT_BASIS)
        precision = np.arange(1.0, basis.size + 1.0) ** 3
        why = "eigenvalues j^-3, which keeps components continuous: a rule"
    check_orthonormal(basis)
    if k > basis.size:
        raise UsageError(
            f"There can be at most {basis.size} components in this basis, got ",
            arg("n_components", k),
            ".",
            parameter="n_components",
            value=k,
        )
    spends, rest = _shared(request.budget.epsilon, share)
    gibbs = request.mechanism == GibbsChain.name
    values = tuple(precision.tolist())
    mechanism = Gibbs(k, values, STEPS) if gibbs else Frames(k, values, base)  # type: ignore[arg-type]
    kept = (
        ()
        if rest is None
        else (("variances", f"epsilon {rest.epsilon:g} of {request.budget.epsilon:g} is kept for them"),)
    )
    reasons = (("basis", f"{basis.size} functions"), ("base measure", why), *kept, ("mechanism", "stated by the user"))
    name = GibbsChain.name if gibbs else ExponentialDraw.name
    return FramesPlan(request, k, basis, mechanism, precision, spends, rest, reasons, name)


def _shared(epsilon: float, share: float | None) -> tuple[Budget, Budget | None]:
    """Two budgets that add up to no more than epsilon, in real numbers too."""
    if not share:
        return Budget(epsilon, 0.0), None
    first = (1 - share) * epsilon
    # Their difference is rounded to the nearest double; a step below, it is never too large.
    return Budget(first, 0.0), Budget(math.nextafter(epsilon - first, 0.0), 0.0)


def table(request: Request, *, k: int, joint: bool, base: str) -> tuple[tuple[str, float | None, str], ...]:
    """Every way to k components with the distance predicted for it, best first, and a note; reads no data."""
    rows: list[tuple[str, float | None, str]] = []
    through = tuple(name for name in names_for(THROUGH) if name not in DRAWN)
    for name in (*through, ExponentialDraw.name):
        try:
            plan = plan_components(replace(request, mechanism=name), k=k, joint=joint and name in through, base=base)
            note = "around the public centre only" if joint and name not in through else ""
            rows.append((name, plan.subspace_error(k), note))
        except DpfdaError as error:
            rows.append((name, None, error.message))
    return tuple(sorted(rows, key=lambda row: (math.inf if row[1] is None else row[1], row[0])))

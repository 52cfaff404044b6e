"""What releasing the maximiser of an objective would do to it, before any record is read."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dpfda.arrays import Array, ArrayLike, as_real, public_numbers
from dpfda.bases import Basis
from dpfda.bases.lattice import Lattice
from dpfda.errors import UsageError
from dpfda.kernels import Kernel
from dpfda.mechanisms.objective import (
    LEAST_DEVIATION,
    MOST_PLANNED,
    POINTS,
    UTILITY_STEPS,
    Curvature,
    Objective,
    Utility,
    bends,
    spread_of,
)
from dpfda.mechanisms.utility_checks import planned_acceptances
from dpfda.messages import arg
from dpfda.planning.base import NOISY_FROM, AnyPlan, basis_text
from dpfda.planning.papers import noise_basis, noise_kernel
from dpfda.planning.request import Request

SIZE = 8  # coordinates, where nobody states another number: the error grows with the root of it
SLOW, HOPELESS = 1e-4, 1e-8  # shares of proposals that are accepted: a plan warns, and a fit is refused


@dataclass(frozen=True, eq=False)
class ObjectivePlan(AnyPlan):
    """What a draw from `exp(rate objective)` against a Gaussian process would do, from public facts alone.

    Awan et al. (2019), Theorem 3.3: around the maximiser the draw is about normal. With `-second derivative / n` of the
    objective called the curvature H, its covariance is `(rate n H + C^-1)^-1`, C that of the base measure; for large n
    this is the theorem's `H^-1 / (rate n)`, where `rate = epsilon / (2 Delta)`. For a quadratic utility the first one
    is exact, but for the cut to the ball.
    """

    request: Request
    basis: Basis
    mechanism: Objective
    radius: float
    reasons: tuple[tuple[str, str], ...]
    penalties: tuple[float, ...] = ()  # of each unit, for each coordinate's square, in the units of utility and curve

    @property
    def rate(self) -> float:
        """What the utility is multiplied by: epsilon over twice its range, or once where units are added or removed."""
        low, high = self.mechanism.limits
        return self.budget.epsilon / ((1 if self.request.counted else 2) * (high - low))

    @property
    def prior(self) -> Array:
        """The deviation of every coordinate under the base measure, in the units of the curve, (size,)."""
        return np.array(self.mechanism.prior) * self.mechanism.step

    def curvatures(self) -> tuple[float, float] | None:
        """The curvature that was stated, if all units lie at the maximiser and if all lie as far away as they can."""
        if self.mechanism.curvature is None:
            return None
        near, far = bends(self.mechanism.curvature, np.array([0.0, self.request.bound + self.radius]))
        return float(near), float(far)

    def covariance(self, curvature: ArrayLike | None = None) -> Array:
        """The covariance of the draw around what it estimates, (size, size).

        `curvature` is a number or a symmetric matrix, the mean over units of minus the second derivative of the utility
        at the maximiser; by default the one stated for units that lie there.
        """
        return np.asarray(np.linalg.inv(self.n * self.rate * self._bent(curvature) + np.diag(1 / self.prior**2)))

    def asymptotic_covariance(self, curvature: ArrayLike | None = None) -> Array:
        """The covariance of Theorem 3.3, without the base measure: `2 Delta / (epsilon n)` times `H^-1`."""
        matrix = self._bent(curvature)
        if not float(np.linalg.eigvalsh(matrix).min()) > 0:
            raise UsageError(
                "Theorem 3.3 needs an objective that bends in every direction: a curvature above 0.",
                parameter="curvature",
            )
        return np.asarray(np.linalg.inv(matrix) / (self.n * self.rate))

    def kept(self, curvature: ArrayLike | None = None) -> Array:
        """What the base measure leaves of the maximiser: the draw lies around `kept @ maximiser`, (size, size)."""
        units = self.n * self.rate * self._curvature(curvature)
        whole = self.n * self.rate * self._bent(curvature) + np.diag(1 / self.prior**2)
        return np.asarray(np.linalg.solve(whole, units))

    def privacy_rms(self, curvature: ArrayLike | None = None) -> float:
        """The expected root mean square over the domain of what privacy adds."""
        return float(np.sqrt(np.trace(self.covariance(curvature))))

    def _bent(self, curvature: ArrayLike | None) -> Array:
        """How the objective bends for each unit, its penalty included: Theorem 3.3 speaks of that."""
        matrix = self._curvature(curvature)
        return matrix + np.diag(2 * np.array(self.penalties)) if self.penalties else matrix

    def _curvature(self, curvature: ArrayLike | None) -> Array:
        stated = self.curvatures()
        if curvature is None and stated is None:
            raise UsageError(
                "No curvature was stated, so no error can be predicted. Pass one: minus the second derivative of one "
                "unit's utility, on average, as a number or a matrix.",
                parameter="curvature",
                value=None,
            )
        given = public_numbers(stated[0] if curvature is None and stated is not None else curvature, "A curvature")
        # No product: an infinite number times zero is none.
        matrix = np.diag(np.full(self.basis.size, given)) if given.ndim == 0 else given
        square = matrix.shape == (self.basis.size, self.basis.size)
        if not (square and np.isfinite(matrix).all() and np.allclose(matrix, matrix.T)):
            raise UsageError(
                f"A curvature is a finite number or a symmetric matrix ({self.basis.size}, {self.basis.size}), got "
                f"shape {given.shape}.",
                parameter="curvature",
            )
        if not float(np.linalg.eigvalsh(matrix).min()) >= 0:
            raise UsageError("A curvature must be 0 or more in every direction: the utility is to be concave.")
        return matrix

    @property
    def drives(self) -> str:
        """What the error is due to, in words."""
        stated = self.curvatures()
        if stated is None or stated[0] == 0:
            return "not known without a curvature"
        share = float(np.trace(self.kept())) / self.basis.size
        if share < 0.5:
            return (
                f"the base measure, which leaves {share:.0%} of a coordinate on average: n epsilon is too small for "
                "the units to be heard"
            )
        return (
            "the range of one unit's utility over its curvature, the root of the number of coordinates, and one over "
            f"the root of n epsilon; the base measure leaves {share:.0%} of a coordinate on average"
        )

    @property
    def hidden(self) -> str:
        """Why next to nothing could be seen of a maximiser as large as the radius; empty where it could.

        Without a curvature nothing is known about that.
        """
        stated = self.curvatures()
        if stated is None or stated[0] == 0:
            return ""
        if float(np.trace(self.kept())) < 0.1 * self.basis.size:
            return "the draw would nearly be one of the base measure, which knows no data"
        share = self.privacy_rms() / self.radius
        return f"the draw would be off by {share:.0%} of the radius of its ball" if share >= NOISY_FROM else ""

    @property
    def cautions(self) -> tuple[str, ...]:
        found = []
        if self.acceptances is not None and min(self.acceptances) < SLOW:
            spread, alike = (1 / max(share, 1e-300) for share in self.acceptances)
            found.append(
                f"The utility bends so unevenly that in {self.basis.size} coordinates about one in {spread:.0e} "
                f"proposals would be accepted for units that spread, one in {alike:.0e} for units all alike: a draw "
                "may take very long, and does not give up. Take fewer coordinates, or leave curvature out."
            )
        if self.mechanism.curvature is None:
            found.append(
                "Without a curvature one of finitely many points is chosen: for large n epsilon the nearest of them is "
                "farther off than privacy asks for."
            )
        return tuple(found)

    @cached_property
    def acceptances(self) -> tuple[float, float] | None:
        """About the shares of proposals accepted for made-up units, spread and all alike; None without proposals."""
        if self.mechanism.curvature is None:
            return None
        rate = self.budget.epsilon / spread_of(not self.request.counted)
        return planned_acceptances(self.mechanism, self.request.bound, self.n, rate)

    def check_ends(self) -> None:
        """Refuse what would hardly ever end, by public facts: once units are read there is no giving up."""
        if self.acceptances is not None and self.acceptances[0] < HOPELESS:
            raise UsageError(
                f"For made-up units about one in {1 / max(self.acceptances[0], 1e-300):.0e} proposals would "
                "be accepted: the draw would hardly ever end. Take fewer coordinates (",
                arg("size="),
                "), a utility that bends more evenly, or no curvature: then one of a public number of "
                "candidates is chosen.",
                parameter="size",
            )

    @property
    def title(self) -> str:
        return f"{self.n} units"

    def facts(self) -> dict[str, Any]:
        stated = self.curvatures()
        return {
            "bound": self.request.bound,
            "radius": self.radius,
            "utility_range": list(self.mechanism.limits),
            "basis": self.basis.describe(),
            "prior": self.prior.tolist(),
            "privacy_rms": None if stated is None else [self.privacy_rms(c) for c in stated],
        }

    def lines(self) -> tuple[tuple[str, str], ...]:
        stated = self.curvatures()
        expected = "not known: no curvature was stated"
        if stated is not None:
            near, far = (self.privacy_rms(c) for c in stated)
            expected = f"about {near:.4g} root mean square due to privacy" + (
                "" if math.isclose(near, far) else f", if units lie near the maximiser; {far:.4g} if all lie far away"
            )
        return (
            ("mechanism", f"{self.mechanism.name}, rate {self.rate:.4g} for each unit of utility"),
            ("basis", basis_text(self.basis)),
            ("error", expected),
            ("driven by", self.drives),
        )


MOST_FUNCTIONS = 100  # the envelope of a draw is found in seconds up to here


def plan_objective(
    request: Request,
    utility: Utility,
    *,
    utility_range: tuple[float, float],
    radius: float | None,
    spread: float | None,
    curvature: float | Curvature | None,
    candidates: int,
    penalty: float | None = None,
    eta: float | None = None,
) -> ObjectivePlan:
    """The base measure, its basis and the mechanism, by public facts alone."""
    if request.n > MOST_PLANNED:
        raise UsageError(
            f"An objective is summed over at most {MOST_PLANNED} units, got {request.n}.",
            parameter="n",
            value=request.n,
        )
    if request.size is not None and request.size > MOST_FUNCTIONS:
        raise UsageError(
            f"A maximiser is drawn among at most {MOST_FUNCTIONS} functions, got ",
            arg("size", request.size),
            ".",
            parameter="size",
            value=request.size,
        )
    radius = in_range("radius", request.bound if radius is None else radius)
    spread = in_range("spread", radius if spread is None else spread)
    kernel, why = noise_kernel(request)
    basis = noise_basis(request, kernel, int(request.size or min(request.grid_size or SIZE, SIZE)))
    step = radius / POINTS
    deviations = _deviations(basis, spread) / step
    enough = max(1, int(np.sum(deviations >= LEAST_DEVIATION)))
    if enough < basis.size:
        basis = noise_basis(request, kernel, enough) if not isinstance(request.basis, Basis) else request.basis
        deviations = _deviations(basis, spread) / step  # what is still too narrow is refused by the mechanism
    penalties, why_penalty = _penalties(request, kernel, basis, penalty, eta)
    mechanism = Objective(
        utility=utility,
        limits=utility_range,
        prior=tuple(deviations.tolist()),
        unit_step=Lattice(request.bound).step,
        step=step,
        candidates=candidates,
        curvature=_as_function(curvature),
        # It belongs to the utility's own curvature, not to another one that was stated.
        across=getattr(utility, "across", None) if curvature == getattr(utility, "curvature", None) else None,
    )
    mechanism = _penalised(mechanism, penalties, request, step)
    how = "exact draws below a normal envelope" if curvature is not None else f"one of {candidates} points of it"
    return ObjectivePlan(
        request,
        basis,
        mechanism,
        radius,
        (
            ("basis", f"{basis.size} eigenfunctions of the base measure"),
            ("base measure", f"Gaussian process, {why}; root mean square {spread:g}, cut to a ball of {radius:g}"),
            ("sampler", how),
            *why_penalty,
        ),
        penalties,
    )


def _penalties(
    request: Request, kernel: Kernel, basis: Basis, penalty: float | None, eta: float | None
) -> tuple[tuple[float, ...], tuple[tuple[str, str], ...]]:
    """What the penalty `penalty <b, O^-1 b>` takes off for each coordinate's square, O a power of the base measure's C.

    Theorem 3.3 asks for a nuclear O and a base measure that is smoother, `O^-1 C` Hilbert-Schmidt. With eigenvalues
    that fall like `j^-b` that is `1/b < eta < 1 - 1/(2b)`. Privacy does not need it.
    """
    if penalty is None:
        if eta is not None:
            raise UsageError(
                parameter="eta", value=eta, rule="is the power of the kernel in the penalty", fix="State penalty too."
            )
        return (), ()
    decay = kernel.decay(request.domain.dimension)
    known = not math.isnan(decay)
    inverse = 0.0 if math.isinf(decay) or not known else 1 / decay
    power = 0.5 + inverse / 4 if eta is None else float(eta)
    eigenvalues = np.asarray(basis.eigenvalues, dtype=np.float64)
    if not float(eigenvalues.min()) > 0:
        raise UsageError(
            "A penalty needs eigenvalues above 0: the kernel has fewer functions than that in double precision.",
            parameter="size",
            value=basis.size,
        )
    with np.errstate(all="ignore"):
        found = float(penalty) / eigenvalues**power
    if not np.isfinite(found).all():
        raise UsageError(parameter="penalty", value=penalty, rule="is too large for these eigenvalues")
    holds = known and inverse < power < 1 - inverse / 2
    limit = f"{inverse:.3g} < eta < {1 - inverse / 2:.3g}"
    said = "holds" if holds else "is not known to hold"
    why = (
        f"{penalty:g} for each unit, eta = {power:g}: the central limit theorem of Awan et al. (3.3) {said} in "
        f"infinitely many coordinates{f', which takes {limit}' if known else ''}; no privacy rests on it"
    )
    return tuple(found.tolist()), (("penalty", why),)


def _penalised(made: Objective, penalties: tuple[float, ...], request: Request, step: float) -> Objective:
    """The mechanism with the penalty in its own steps: that of n units, planned ones where their number is private."""
    if not penalties:
        return made
    low, high = made.limits
    scaled = request.n * np.array(penalties) * step * step / (high - low) * UTILITY_STEPS
    made = replace(made, penalties=tuple(scaled.tolist()))
    rate = request.budget.epsilon / spread_of(not request.counted)
    if not float(np.max(made.precisions_at(rate))) <= 0.5 / LEAST_DEVIATION**2:
        raise UsageError(
            parameter="penalty",
            rule="leaves less than lattice steps of a coordinate",
            fix="Take a smaller penalty, a smaller eta, or a smaller size.",
        )
    return made


def _deviations(basis: Basis, spread: float) -> Array:
    eigenvalues = np.asarray(basis.eigenvalues)
    return np.asarray(spread * np.sqrt(eigenvalues / eigenvalues.sum()))


def in_range(name: str, value: object) -> float:
    """A length in the units of the curves."""
    found = as_real(value)
    if not 1e-60 <= found <= 1e60:
        raise UsageError(parameter=name, value=value, rule="lies between 1e-60 and 1e60, in the units of the curves")
    return found


def _as_function(curvature: object) -> Curvature | None:
    if curvature is None or callable(curvature):
        return curvature
    number = as_real(curvature)
    if not 0 <= number < math.inf:
        raise UsageError(
            parameter="curvature",
            value=curvature,
            rule="must be None, a number of 0 or more, or a function of the distance between unit and point",
        )
    return lambda distances: np.full(np.shape(distances), number)

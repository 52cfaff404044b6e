"""Plans of kernel machines, from public facts alone: on features, or the exact minimiser at the points asked for."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from numbers import Integral
from typing import Any

import numpy as np

from dpfda.arrays import Array, ArrayLike, as_plain_ints, as_real, brief, is_whole
from dpfda.bases import Basis, Domain
from dpfda.bases.base import MOST_FEATURES
from dpfda.bases.domain import check_asked
from dpfda.bases.features import Landmarks, fourier_features, landmarks, mercer_features, reach, spread
from dpfda.bases.lattice import RADIUS
from dpfda.errors import CannotMeetBudget, IncompatibleNoise, UsageError
from dpfda.kernels import Anisotropic, Gaussian, Kernel
from dpfda.mechanisms import Gaussian as GaussianNoise
from dpfda.mechanisms import GaussianProcess, KNorm, Laplace, LaplaceProcess, Mechanism
from dpfda.mechanisms.base import law_of
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.mechanisms.table import as_law, names_for, unknown
from dpfda.messages import Message, arg
from dpfda.planning.base import NOISY_FROM, SHOWN_FROM, AnyPlan, Ranked, price, ranked
from dpfda.planning.default_design import optimal_blocks
from dpfda.planning.request import check_kernel, check_units, check_used
from dpfda.privacy import REPLACE, Budget, calibrate
from dpfda.privacy.norms import L2, Sensitivity
from dpfda.releases.bands import at_points
from dpfda.statistics.machines.losses import Loss
from dpfda.statistics.machines.own_loss import TabulatedLoss
from dpfda.statistics.machines.sensitivity import moved_by
from dpfda.statistics.machines.solver import tolerance_of

STATISTIC = "machine"
EXACT = GaussianProcess.name  # on the exact minimiser, at the points that are asked for
MANY = 400  # features where their number costs no noise
CANDIDATES = (8, 12, 18, 27, 40, 60, 90, 135, 200)  # numbers of features where it does
TYPICAL = 2.0  # the norm of a function worth learning, in units of t over the reach
NOISE_WANTED = 0.15  # deviation of the noise in the function, in units of t, that a penalty aims at
LOW = 3  # sides of a domain up to which the leading eigenfunctions of a kernel are few
RULED = {
    True: "a rule of n, the budget, the kernel and the loss: a small share of a margin is noise",
    False: "a rule of n, the budget, the kernel and the loss: where noise and shrinkage together err least",
}
FEW_RECORDS, MOST_RECORDS = 2048, 6144  # whose kernel matrix is factored: laws of few are those of earlier versions
COPIES = 6  # of the kernel matrix that are held at once
LOOKED_AT = 1024  # public points at which the largest variance of a kernel is looked for
LARGEST_PENALTY = 0.5  # in units of M reach^2 / t: from there on every margin is violated, and noise falls no more


@dataclass(frozen=True, eq=False)
class MachineRequest:
    """A kernel machine as it is asked for; None leaves a choice to the planner."""

    n: int
    budget: Budget
    domain: Domain
    neighbours: str
    task: str
    loss: Loss
    kernel: Kernel | None = None
    penalty: float | None = None
    mechanism: str | Mechanism = "auto"
    features: str | int | Basis | None = "auto"
    eta: float | None = None

    def __post_init__(self) -> None:
        check_units(self.n)
        check_kernel(self.kernel, "Gaussian(0.1)")
        for name, value, least in (("penalty", self.penalty, 1e-100), ("eta", self.eta, 1.0)):
            if value is not None and not least <= as_real(value) <= 1e100:
                raise UsageError(parameter=name, value=value, rule=f"must be None or a number of at least {least:g}")
        check_used(self, STATISTIC, "eta")
        known = self.features is None or isinstance(self.features, Basis) or self.features == "auto"
        if not known and not is_whole(self.features, 1, MOST_FEATURES):
            raise UsageError(
                parameter="features",
                value=self.features,
                rule=(
                    f"must be 'auto', a number of features between 1 and {MOST_FEATURES}, None for the exact "
                    "minimiser, or a basis such as dpfda.bases.landmarks(...)"
                ),
            )
        as_plain_ints(self, "n", *(("features",) if isinstance(self.features, Integral) else ()))
        if isinstance(self.features, Basis) and self.features.domain != self.domain:
            raise UsageError(
                f"The features live on {self.features.domain.sides}, the estimator on {self.domain.sides}. Make the "
                "domains equal."
            )

    @property
    def replaced(self) -> bool:
        return self.neighbours == REPLACE

    @property
    def known_kernel(self) -> Kernel:
        return default_kernel(self.domain) if self.kernel is None else self.kernel


def check_penalty(penalty: float, loss: Loss, reach: float) -> None:
    """Refuse a penalty that double precision cannot prove a minimum for, before any record is read.

    In units of slopes and features it is between 1e-8 and 1e6; far beyond that whether a proof succeeds depends on the
    records.
    """
    plain_units = all(1e-50 <= number <= 1e50 for number in (loss.lipschitz, loss.scale, reach))
    unit = loss.lipschitz * reach**2 / loss.scale if plain_units else math.nan
    if not 1e-8 * unit <= penalty <= 1e6 * unit:
        raise UsageError(
            f"The penalty must lie between {1e-8 * unit:.3g} and {1e6 * unit:.3g} for this loss and kernel, whose "
            f"units must be neither tiny nor huge; got {brief(penalty)}.",
            parameter="penalty",
            value=penalty,
        )


def by(request: MachineRequest) -> str:
    """How the kernel came about."""
    return "stated by the user" if request.kernel is not None else "a rule of the domain"


def default_kernel(domain: Domain) -> Kernel:
    """A Gaussian kernel as wide as is often chosen, `exp(-sum_k u_k^2 / (d s^2))`, for points with deviation s.

    u is the difference in units of the sides and d their number; s = 1/7, since a domain stated in advance is wider
    than the points in it.
    """
    root = math.sqrt(domain.dimension) / 7
    if len(set(domain.lengths)) == 1:
        return Gaussian((root * domain.lengths[0]) ** 2)
    return Anisotropic(Gaussian(1.0), tuple(root * length for length in domain.lengths))


class PenalisedPlan(AnyPlan):
    """What both plans share: noise in a function whose norm is penalised."""

    request: MachineRequest
    name: str
    penalty: float
    reach: float

    @property
    @abstractmethod
    def noise_rms(self) -> float:
        """The size of the noise in the function."""

    @property
    def hidden(self) -> str:
        """Why next to nothing could be seen of a function as large as the margin; empty where it could."""
        return drowned(self.noise_rms, self.request.loss, self.penalty, self.reach)

    @property
    def title(self) -> str:
        return f"a kernel {self.request.task} of {self.n} units"

    def facts(self) -> dict[str, Any]:
        return {
            "task": self.request.task,
            "loss": self.request.loss.name,
            "penalty": self.penalty,
            "mechanism": self.name,
        }


@dataclass(frozen=True, eq=False)
class MachinePlan(PenalisedPlan):
    """Features, penalty and noise of a kernel machine, chosen without any record."""

    request: MachineRequest
    name: str  # of the mechanism, as people type it
    basis: Basis
    reach: float  # no feature vector is longer
    mechanism: Mechanism
    penalty: float
    noise: NoiseLaw  # of the weights
    spends: Budget
    reasons: tuple[tuple[str, str], ...]

    @property
    def sensitivity(self) -> float:
        """How far one unit moves the exact minimiser in Euclidean norm."""
        request = self.request
        return moved_by(request.loss, self.penalty, self.reach, request.n, replaced=request.replaced)

    @property
    def noise_rms(self) -> float:
        """The root mean square over the domain of what the noise does to the function."""
        return _rms(self.basis, self.noise)

    def noise_deviation(self, points: ArrayLike) -> Array:
        """The standard deviation of the noise in the function at points, before any data, (m,)."""
        return at_points(self.basis, self.basis.asked(points), self.noise)[0]

    def table(self) -> Ranked:
        """Every mechanism with its noise in the function at the same penalty, least first, and a note."""

        def noise(name: str) -> float:
            other = replace(self.request, mechanism=name, penalty=self.penalty, features=self._features(name))
            return (self if name == self.name else plan_machine(other)).noise_rms

        # The exact minimiser answers at points, and has no noise in a function.
        return ranked(sorted(name for name in names_for(STATISTIC) if name != EXACT), self.name, noise)

    def _features(self, name: str) -> str | int | Basis | None:
        return self.request.features if name == self.name or self.request.features is not None else "auto"

    def facts(self) -> dict[str, Any]:
        return super().facts() | {
            "features": self.basis.describe()["family"],
            "size": self.basis.size,
            "reach": self.reach,
            "sensitivity": self.sensitivity,
            "noise": self.noise.describe(),
            "noise_rms": self.noise_rms,
            "spends": price(self.spends),
        }

    def lines(self) -> tuple[tuple[str, str], ...]:
        loss = self.request.loss
        unit = "margins are 1" if loss.margin else f"responses lie within {loss.scale:g}"
        return (
            ("mechanism", f"{self.name}, {self.noise.text}"),
            ("loss", loss.told),
            ("features", f"{self.basis.size}, {self.basis.describe()['family']}, none longer than {self.reach:.4g}"),
            ("penalty", f"{self.penalty:.4g}"),
            ("moves", f"one unit moves the weights by at most {self.sensitivity:.4g}"),
            ("noise", f"{self.noise_rms:.4g} root mean square in the function, where {unit}"),
        )


def drowned(noise: float, loss: Loss, penalty: float, reach: float) -> str:
    """Why noise in a function hides it, or nothing: against the margin, or the bound on responses.

    No function is larger than `M reach^2 / (2 penalty)`, M the slope of the loss; where that is less, it counts.
    """
    left = min(1.0, loss.lipschitz * reach**2 / (2 * penalty * loss.scale))
    what = "margin" if loss.margin else "bound on responses"
    if not loss.margin and left < SHOWN_FROM:  # a label is a sign, however small its function
        return f"the penalty would leave {left:.1%} of a function as large as the {what}"
    share = noise / loss.scale / left
    if share < NOISY_FROM:
        return ""
    of = f"the {what}" if left == 1 else f"the largest function that the penalty leaves, {left:.2g} times the {what}"
    return f"the noise in the function would be {share:.0%} of {of}"


def plan_machine(request: MachineRequest) -> MachinePlan:
    """The mechanism that was asked for, or the one with the least noise in the function, by public facts alone."""
    if request.mechanism != "auto":
        return _planned(request, request.mechanism, "stated by the user")
    if request.features is None:
        raise UsageError(
            arg("features", None),
            ", the exact minimiser, is released with ",
            arg("mechanism", "gp"),
            ": noise at asked points.",
        )
    if request.budget.pure:
        return _planned(request, KNorm.name, "pure epsilon asks for K-norm noise")
    why = "delta > 0 allows Gaussian noise, and the least error is expected of it"
    gaussian = _planned(request, GaussianNoise.name, why)
    if request.domain.dimension > LOW:
        return gaussian
    # Compared at the same penalty, which else would aim at the same noise.
    pure = _planned(replace(request, penalty=gaussian.penalty), KNorm.name, "")
    if _error(gaussian) <= _error(pure):
        return gaussian
    return _planned(request, KNorm.name, "the least error is expected of it, and it needs no delta: pure epsilon")


def _error(plan: MachinePlan) -> float:
    """Squared noise in the function, and what the features leave of the kernel times a typical function's square."""
    total = _variance(plan.request.known_kernel, plan.request.domain)
    lost = max(1 - float(plan.basis.gram().trace()) / total, 0.0)
    return plan.noise_rms**2 + lost * (TYPICAL * plan.request.loss.scale) ** 2


def _variance(kernel: Kernel, domain: Domain) -> float:
    """The value of a kernel at the middle of the domain."""
    middle = np.array(domain.sides).mean(axis=1)[None]
    return float(kernel(middle, middle)[0, 0])


def _planned(request: MachineRequest, mechanism: str | Mechanism, why: str) -> MachinePlan:
    mechanism = as_law(mechanism, STATISTIC)
    name = mechanism if isinstance(mechanism, str) else mechanism.name
    if isinstance(mechanism, str) and mechanism not in names_for(STATISTIC):
        raise unknown(mechanism, STATISTIC, "a kernel machine")
    if request.features is None:
        raise UsageError(arg("features", None), " is for ", arg("mechanism", "gp"), f"; {brief(name)} needs features.")
    basis, why_features = _features(request, name)
    noise_maker = _noise_maker(name, basis) if isinstance(mechanism, str) else mechanism
    # Pure noise spends no delta.
    spends = Budget(request.budget.epsilon, 0.0) if noise_maker.pure else request.budget
    length, loss = reach(basis), request.loss
    penalty, why_penalty = _penalty(request, basis, _rms(basis, _unit_noise(noise_maker, basis, spends, 0.01)))
    check_penalty(penalty, loss, length)
    moved = moved_by(loss, penalty, length, request.n, replaced=request.replaced)
    tolerance = tolerance_of(loss, penalty=penalty, reach=length, units=float(request.n), size=basis.size, moved=moved)
    return MachinePlan(
        request,
        name,
        basis,
        length,
        noise_maker,
        penalty,
        _unit_noise(noise_maker, basis, spends, tolerance / moved).scaled(moved),
        spends,
        (
            ("mechanism", why),
            ("features", why_features),
            ("kernel", f"{request.known_kernel!r}, {by(request)}"),
            ("penalty", why_penalty),
            ("loss", loss.told),
        ),
    )


def _features(request: MachineRequest, name: str) -> tuple[Basis, str]:
    if isinstance(request.features, Basis):
        return request.features, "stated by the user"
    kernel, low = request.known_kernel, request.domain.dimension <= LOW
    stated = None if request.features == "auto" else int(request.features)  # type: ignore[arg-type]
    why = "their number stated by the user" if stated else "their number by a rule of the budget and the kernel"
    if name == LaplaceProcess.name:
        if not low:
            raise UsageError(
                "The Laplace process needs a domain with at most 3 sides. Use 'k-norm' or 'gaussian'.",
                parameter="domain",
            )
        power, decay = 2.0 if request.eta is None else float(request.eta), kernel.decay(request.domain.dimension)
        if stated is None and not (power - 1) * decay > 1:
            raise IncompatibleNoise(
                f"The Laplace process needs (eta - 1) times the decay of the kernel's eigenvalues above 1, got "
                f"{(power - 1) * decay:.3g}. Take a larger eta, or state the number of features."
            )
        basis = mercer_features(kernel, request.domain, stated or 100, power=power)
        return basis, f"{basis.size} eigenfunctions of the noise, the machine in the space of its power {power:g}"
    pure = name in (KNorm.name, Laplace.name)
    if low:
        if pure:
            return mercer_features(kernel, request.domain, stated or _few(request)), why
        return _landmarks(kernel, request.domain, stated or MANY), why
    size = stated or (min(max(round(math.sqrt(request.n * request.budget.epsilon)), 40), 200) if pure else MANY)
    try:
        # Where boxes are too large for landmarks to stand near every record, waves are everywhere.
        return fourier_features(kernel, request.domain, max(size, 2)), why
    except UsageError:
        return _landmarks(kernel, request.domain, size), why


def _few(request: MachineRequest) -> int:
    """How many eigenfunctions pure noise should be shared out to: where it meets what is left of the kernel.

    At the penalty that was stated, or at a tenth of the largest.
    """
    kernel, domain, loss = request.known_kernel, request.domain, request.loss
    parts = mercer_features(kernel, domain, CANDIDATES[-1]).eigenvalues
    total = _variance(kernel, domain)
    penalty = request.penalty or LARGEST_PENALTY / 10 * loss.lipschitz * total / loss.scale
    moved = moved_by(loss, penalty, math.sqrt(total), request.n, replaced=request.replaced)
    found = []
    for size in CANDIDATES:
        noise = sum(optimal_blocks(np.sqrt(parts[:size]))[1]) * moved / request.budget.epsilon
        left = max(total - float(parts[:size].sum()), 0.0) * (TYPICAL * loss.scale) ** 2 / total
        found.append((noise**2 + left, size))
    return min(found)[1]


@lru_cache(maxsize=16)
def _landmarks(kernel: Kernel, domain: Domain, size: int) -> Landmarks:
    return landmarks(kernel, domain, size=size)


def _noise_maker(name: str, basis: Basis) -> Mechanism:
    if name == GaussianNoise.name:
        return GaussianNoise()
    if name == Laplace.name:
        return Laplace()
    if name == LaplaceProcess.name:
        # Laplace noise of scale sqrt(lambda_j) on coordinates of the function, in units of the features' weights.
        values = np.asarray(basis.eigenvalues)
        power = float(basis.power)  # type: ignore[attr-defined]
        shape = values ** (0.5 / power) / np.sqrt(values)
        return Laplace(tuple((shape / shape.min()).tolist()))
    weights = np.sqrt(np.maximum(basis.gram().diagonal(), 1e-300))
    sizes, terms = optimal_blocks(np.maximum(weights, 1e-6 * weights.max()))
    return KNorm(sizes, tuple(math.sqrt(term / sum(terms)) for term in terms))


def _unit_noise(mechanism: Mechanism, basis: Basis, budget: Budget, share: float) -> NoiseLaw:
    """The law of the noise in weights that one unit moves by one; `share` is the solver's distance from them."""
    stated = Sensitivity(RADIUS * (1 + 2 * share) + 2 * math.sqrt(basis.size), L2(), "one unit of change")
    scale = calibrate(mechanism, stated, budget, size=basis.size)
    return law_of(mechanism, scale, basis.size).scaled(1 / RADIUS)


def _rms(basis: Basis, noise: NoiseLaw) -> float:
    return math.sqrt(float(basis.gram().diagonal() @ noise.variances))


def _penalty(request: MachineRequest, basis: Basis, unit: float) -> tuple[float, str]:
    """The penalty that was stated, or the one at which noise in the function is a small share of a margin."""
    if request.penalty is not None:
        return float(request.penalty), "stated by the user"
    loss, length = request.loss, reach(basis)
    noise = moved_by(loss, 1.0, length, request.n, replaced=request.replaced) * unit
    return ruled_penalty(loss, length, noise), RULED[loss.margin]


def ruled_penalty(loss: Loss, reach: float, noise: float) -> float:
    """The penalty by rule; `noise` is the root mean square in the function at penalty 1, and falls in proportion.

    A classifier needs noise that is a small share of its margin. A regressor needs the least error: for a function of
    norm R and a loss with curvature b it is at most `(noise / penalty)^2 + penalty R^2 / (2 b)`, noise and shrinkage.
    """
    if loss.margin:
        wanted = noise / (NOISE_WANTED * loss.scale)
    else:
        wanted = (4 * loss.typical_bend * (noise * reach / loss.scale) ** 2) ** (1 / 3)
    return min(wanted, LARGEST_PENALTY * loss.lipschitz * reach**2 / loss.scale)


@dataclass(frozen=True, eq=False)
class ExactPlan(PenalisedPlan):
    """Penalty and noise of the exact minimiser in the space of a kernel, from public facts alone."""

    request: MachineRequest
    reach: float  # the root of the kernel's largest variance; records where it is larger are scaled down
    penalty: float
    reasons: tuple[tuple[str, str], ...]
    name: str = EXACT

    @property
    def spends(self) -> Budget:
        return self.request.budget

    @property
    def most_records(self) -> int:
        """How many records are kept at most, of all units together: a public number."""
        return FEW_RECORDS if self.request.n <= FEW_RECORDS else MOST_RECORDS

    @property
    def moved(self) -> float:
        """How far one unit moves the exact minimiser in the norm of the kernel's space."""
        request = self.request
        return moved_by(request.loss, self.penalty, self.reach, request.n, replaced=True)

    @property
    def tolerance(self) -> float:
        """How far from the minimiser the solver stops at most."""
        return 2 * tolerance_of(
            self.request.loss,
            penalty=self.penalty,
            reach=self.reach,
            units=float(self.request.n),
            size=2 * self.most_records,
            moved=self.moved / 2,
        )

    @property
    def sensitivity(self) -> float:
        """How far one unit moves what the solver finds."""
        return (self.moved + 2 * self.tolerance) * (1 + 1e-9)

    @property
    def total(self) -> float:
        """All weights of sections together are never larger."""
        return self.request.loss.lipschitz / (2 * self.penalty) * (1 + 1e-9)

    @property
    def noise_rms(self) -> float:
        """The deviation of the noise where the kernel's variance is largest."""
        return self.sensitivity * self.reach * _unit_scale(self.request.budget)

    def noise_deviation(self, points: ArrayLike) -> Array:
        """The standard deviation of the noise at points, before any data, (m,)."""
        rows = self.request.domain.points(points)
        check_asked(len(rows), 100_000)  # the kernel is asked for one point after the other
        kernel = self.request.known_kernel
        roots = np.sqrt([float(kernel(row[None], row[None])[0, 0]) for row in rows])
        return roots * (self.sensitivity * _unit_scale(self.request.budget))

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"sensitivity": self.sensitivity, "noise_rms": self.noise_rms}

    def lines(self) -> tuple[tuple[str, str], ...]:
        return (
            ("mechanism", "gp, a Gaussian process drawn at the points asked for"),
            ("loss", self.request.loss.told),
            ("penalty", f"{self.penalty:.4g}"),
            ("moves", f"one unit moves the function by at most {self.sensitivity:.4g} in the norm of the space"),
            ("noise", f"standard deviation about {self.noise_rms:.4g} at a point"),
        )


def _unit_scale(budget: Budget) -> float:
    return calibrate(GaussianNoise(), Sensitivity(1.0, L2(), "one unit of change"), budget)


def plan_exactly(request: MachineRequest) -> ExactPlan:
    """The plan of the exact minimiser; what it cannot do is refused."""
    if request.budget.pure:
        raise CannotMeetBudget(
            "A Gaussian process needs delta > 0. For delta = 0 use ",
            arg("mechanism", "k-norm", "iclp-qr"),
            ".",
            parameter="delta",
        )
    if not request.replaced:
        raise UsageError("The exact minimiser is released under 'replace-one': its weights are bounded by a public n.")
    if request.n > MOST_RECORDS:
        gigabytes, work = COPIES * 8 * float(request.n) ** 2 / 1e9, float(request.n) ** 3 / 3
        raise UsageError(
            parameter="n",
            value=request.n,
            rule=(
                f"may be at most {MOST_RECORDS} units for the exact minimiser: it factors the kernel's matrix of all "
                f"pairs of units, which takes {gigabytes:.2g} GB and some dozens of times {work:.1g} operations"
            ),
            fix=Message(
                "Take features, whose number does not grow with n: ",
                arg("mechanism", "gaussian"),
                " and ",
                arg("features", MANY),
                f". With {MANY} of them little is lost of a smooth kernel.",
            ),
        )
    if not (request.features is None or request.features == "auto"):
        raise UsageError(
            arg("mechanism", "gp"),
            " releases the exact minimiser: ",
            arg("features"),
            f" must be None, got {brief(request.features)}.",
            parameter="features",
            value=request.features,
        )
    kernel, loss = request.known_kernel, request.loss
    where = spread(request.domain, LOOKED_AT)
    reach = math.sqrt(max(float(kernel(row[None], row[None])[0, 0]) for row in where))
    noise = moved_by(loss, 1.0, reach, request.n, replaced=True) * reach * _unit_scale(request.budget)
    stated = request.penalty is not None
    penalty = float(request.penalty) if request.penalty is not None else ruled_penalty(loss, reach, noise)
    check_penalty(penalty, loss, reach)
    return ExactPlan(
        request,
        reach,
        penalty,
        (
            ("mechanism", "stated by the user"),
            ("kernel", f"{kernel!r}, {by(request)}"),
            ("penalty", "stated by the user" if stated else "a rule of n, the budget, the kernel and the loss"),
            # Keys of earlier versions know no such line of a named loss.
            *((("loss", loss.told),) if isinstance(loss, TabulatedLoss) else ()),
        ),
    )

"""The plan of a covariance function: which noise, in how many coordinates, and what error to expect."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpfda import bases
from dpfda.arrays import Array, brief, is_whole
from dpfda.bases import Basis
from dpfda.bases.lattice import RADIUS
from dpfda.bases.symmetric import multiplicities, pack, packed_size, unpack
from dpfda.errors import UsageError
from dpfda.mechanisms import (
    ExponentialDraw,
    ExponentialMatrix,
    Gaussian,
    GaussianProcess,
    KNorm,
    Laplace,
    LaplaceProcess,
    Mechanism,
)
from dpfda.mechanisms.base import law_of
from dpfda.mechanisms.exponential_matrix import MOST_UNITS
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.mechanisms.table import as_law, is_pure, names_for, unknown
from dpfda.mechanisms.wishart import Wishart
from dpfda.messages import arg
from dpfda.planning.base import NOISY_FROM, SHOWN_FROM, AnyPlan, Ranked, basis_text, price, ranked
from dpfda.planning.default_design import DEFAULT_BASIS, basis_of, optimal_blocks, shape_weights
from dpfda.planning.papers import WIDEST, compatible, eigenvalues_of, noise_basis, noise_kernel, parameters_of
from dpfda.planning.request import Request, check_used
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import Norm, Nuclear
from dpfda.statistics.covariance.errors import (
    PLAUSIBLE,
    PLAUSIBLE_VARIANCE,
    REFERENCE,
    covariance_error,
    covariance_size,
    lost_of,
    plausible_within,
    subspace_error,
    turned_by_noise,
)
from dpfda.statistics.covariance.sensitivity import ROUGH, check_orthonormal, moved_by, moved_in

TERMS = 12  # of each side; fewer where the grid is coarser

Process = tuple[Basis, tuple[float, ...], tuple[float, ...], tuple[tuple[str, str], ...]]


def tensor_process(request: Request, name: str, *, lead: bool) -> Process:
    """The kernel's basis, the penalty's weights on the entries, the shape of the noise, and why.

    Entry (j, l) of the second moment has noise proportional to `sqrt(lambda_j lambda_l)` after the weight `a = p/(p +
    penalty)`, `p = (lambda_j lambda_l)^eta`. The mean's row belongs to the eigenvalue 1, the largest there is.
    """
    kernel, why_kernel = noise_kernel(request)
    chosen, why_penalty = parameters_of(request, name, kernel)
    if name == GaussianProcess.name:
        # Products of eigenvalues stand where eigenvalues do for a mean: the same exponents decide.
        compatible(request, "gaussian", chosen, kernel.decay(request.domain.dimension))
    size = int(request.size if request.size is not None else min(request.grid_size or TERMS, TERMS))
    basis = noise_basis(request, kernel, size)
    eigenvalues = eigenvalues_of(basis) / eigenvalues_of(basis)[0]
    while True:
        both = np.concatenate([[1.0], eigenvalues]) if lead else eigenvalues
        weights, shape = _shapes(both, chosen.eta, chosen.penalty)
        if shape.max() <= WIDEST * shape.min() or len(eigenvalues) == 1:
            break
        eigenvalues = eigenvalues[:-1]
    if len(eigenvalues) < basis.size:
        basis = noise_basis(request, kernel, len(eigenvalues))
    reasons = (
        ("basis", f"the {basis.size} leading eigenfunctions of the noise, in pairs"),
        ("kernel", why_kernel),
        ("penalty", why_penalty),
    )
    return basis, tuple(weights.tolist()), tuple((shape / shape.min()).tolist()), reasons


def _shapes(eigenvalues: Array, eta: float, penalty: float) -> tuple[Array, Array]:
    products = pack(np.outer(eigenvalues, eigenvalues))
    powers = np.maximum(products**eta, 1e-300)
    weights = powers / (powers + penalty)
    # Off the diagonal an entry stands for two, and needs less noise by sqrt 2.
    halves = np.where(multiplicities(len(eigenvalues)) == 2, math.sqrt(0.5), 1.0)
    return weights, halves * np.sqrt(products) / weights


COARSE = 2**8  # steps of a sum of squares in one step of what is drawn, so that the ball's radius has 2^24 of these
LEAST_SHARE = 1e-12  # of the base measure, below which an eigenfunction is left out


def drawn_design(request: Request, spends: Budget) -> MomentsDesign:
    """Awan et al., Section 4: a matrix of the ball, drawn in proportion to `exp(-sum |x_i x_i' - b|^2 / scale)`.

    The base measure is the Gaussian process whose covariance is the tensor product of a kernel with itself, symmetric
    functions of it, scaled so that its mean square is that of the ball, the fourth power of the bound.
    """
    if request.counted:
        raise UsageError(
            arg("mechanism", ExponentialDraw.name),
            " needs the number of units to be public: use ",
            arg("neighbours", "replace-one"),
            ", or a mechanism that adds noise.",
            parameter="mechanism",
            value=ExponentialDraw.name,
        )
    if request.n > MOST_UNITS:
        raise UsageError(
            parameter="n",
            value=request.n,
            rule=f"may be at most {MOST_UNITS} where the covariance is drawn as a whole",
            fix=("Take a mechanism that adds noise, e.g. ", arg("mechanism", "wishart"), "."),
        )
    if request.size is not None and request.size > LARGEST_SIDE:
        raise UsageError(
            parameter="size",
            value=request.size,
            rule=f"may be at most {LARGEST_SIDE} where the covariance is drawn as a whole",
            fix="A draw of more entries takes minutes, and tells nothing of them.",
        )
    kernel, why_kernel = noise_kernel(request)
    stated = request.size is not None or isinstance(request.basis, Basis)
    most = int(request.size if request.size is not None else min(request.grid_size or TERMS, TERMS))
    basis = noise_basis(request, kernel, most)
    eigenvalues = eigenvalues_of(basis)
    kept = int(np.sum(eigenvalues > LEAST_SHARE * eigenvalues.sum()))
    sizes = [kept] if stated else range(1, kept + 1)
    errors = {size: _drawn_error(request, spends, basis, eigenvalues[:size]) for size in sizes}
    size = min(size for size, error in errors.items() if error <= 1.05 * min(errors.values()))
    if size < basis.size:
        basis = noise_basis(request, kernel, size)
    mechanism = _drawn_by(request, eigenvalues[:size])
    why = "stated by the user" if stated else "as many as have the least predicted error"
    reasons = (("basis", f"{size} eigenfunctions of the base measure, in pairs: {why}"), ("base measure", why_kernel))
    return MomentsDesign(ExponentialDraw.name, basis, mechanism, 0, None, reasons)


def _drawn_by(request: Request, eigenvalues: Array) -> ExponentialMatrix:
    side = len(eigenvalues)
    products = pack(np.outer(eigenvalues, eigenvalues))
    # Its mean square is the sum of products: an entry off the diagonal counts twice, and has half of one.
    deviations = RADIUS * np.sqrt(products / multiplicities(side) / products.sum())
    return ExponentialMatrix(int(request.n), side, RADIUS, COARSE, tuple(deviations.tolist()))


def _drawn_error(request: Request, spends: Budget, basis: Basis, eigenvalues: Array) -> float:
    """As a plan of so many eigenfunctions predicts it, in units of the fourth power of the bound."""
    mechanism, side = _drawn_by(request, eigenvalues), len(eigenvalues)
    scale = min(calibrate(mechanism, bound, spends) for bound in moved_by(float(ROUGH**2), side, replaced=True)[1:])
    deviations = np.sqrt(law_of(mechanism, scale, packed_size(side)).variances) / (ROUGH**2 * request.n)
    variances = unpack((deviations / mechanism.weights(scale)) ** 2)
    return covariance_error(variances, basis.frequencies[:side], request.domain.dimension)


STATISTIC = "covariance"
# The papers' noise processes, and the noise that they are in their kernel's basis.
PROCESSES: dict[str, type[Gaussian] | type[Laplace]] = {LaplaceProcess.name: Laplace, GaussianProcess.name: Gaussian}
PURE = (Wishart.name, KNorm.name)  # those with the least error where there is no delta
MOST_STATED = 256  # functions that a user may ask for
LARGEST_SIDE = 48  # some thousand entries; noise in more would take longer than it tells
LEAST_SIDE = 3


@dataclass(frozen=True, eq=False)
class MomentsDesign:
    """Everything that has to be known to release second moments, chosen without any record."""

    name: str
    basis: Basis
    mechanism: Mechanism
    lead: int  # steps of `ROUGH` by which the mean is weighed; 0: no mean is released
    weights: tuple[float, ...] | None  # by which decoding multiplies the entries; None: smoothing comes afterwards
    reasons: tuple[tuple[str, str], ...]

    @property
    def smoothable(self) -> bool:
        """Whether it is made to be smoothed after the noise: neither a penalty nor a base measure came before it."""
        return self.weights is None and not getattr(self.mechanism, "whole", False)

    @property
    def norm(self) -> Norm | None:
        """That of a Gaussian process, in which one unit moves the entries by less than Frobenius norms say."""
        return self.mechanism.norm if self.name == GaussianProcess.name else None


@dataclass(frozen=True, eq=False)
class MomentsPlan(AnyPlan):
    """A design for second moments, the law of its noise, and what to expect of it."""

    request: Request
    design: MomentsDesign
    noise: NoiseLaw  # in the units of the curve, squared; of all entries that are released
    spends: Budget
    reasons: tuple[tuple[str, str], ...]
    kept: Array | None = None  # what a base measure leaves of the entries, each kept once

    @property
    def basis(self) -> Basis:
        return self.design.basis

    @property
    def variances(self) -> Array:
        """Noise variances of the covariance's entries in units of the fourth power of the bound, (size, size)."""
        spread = unpack(self.noise.variances) / self.bound**4
        return spread[1:, 1:] if self.design.lead else spread

    @property
    def noise_rms(self) -> float:
        """The root mean square of the noise in the covariance, before smoothing."""
        return float(np.sqrt(self.variances.sum())) * self.bound**2

    def predict(self) -> float:
        """The expected root mean square error due to noise and the finite basis, for the reference population."""
        # A base measure shrinks noise and covariance alike, so the noise counts as if neither were shrunk.
        shrunk = 1.0 if self.kept is None else np.maximum(unpack(self.kept), 1e-100) ** 2
        variances, frequencies = self.variances / shrunk, self.basis.frequencies
        dimension = self.request.domain.dimension
        return math.sqrt(covariance_error(variances, frequencies, dimension)) * self.bound**2

    def subspace_error(self, k: int) -> float:
        """The expected squared distance of the first k components' span, at most k, for the reference population."""
        if not is_whole(k, 1, 2**31):
            raise UsageError(
                f"The number of components is a whole number, at least 1, got {brief(k)}.", parameter="k", value=k
            )
        turned = turned_by_noise(self.variances, self.basis.frequencies)
        return subspace_error(turned, int(k), self.request.domain.dimension)

    def table(self) -> Ranked:
        """Every mechanism with the error predicted for it, best first, and a note; reads no data."""

        def error(name: str) -> float:
            mine = name == self.design.name
            joint = self.design.lead > 0
            plan = self if mine else plan_moments(replace(self.request, mechanism=name), lead=joint)
            return plan.predict()

        return ranked(sorted(names_for(STATISTIC)), self.design.name, error)

    @property
    def unseen(self) -> float:
        """The expected error relative to the covariance of the reference population itself."""
        return self.predict() / (self.bound**2 * covariance_size(self.request.domain.dimension))

    @property
    def hidden(self) -> str:
        """Why next to nothing could be seen of a plausible covariance; empty where it could."""
        weights = np.ones_like(self.variances)
        shrinks = "penalty" if self.kept is None else "base measure"
        shrunk = self.design.weights if self.kept is None else self.kept
        if shrunk is not None:
            weights = unpack(np.array(shrunk))[-self.basis.size :, -self.basis.size :]
        left = float(weights.max())
        if left < SHOWN_FROM:
            return f"the {shrinks} would leave {left:.1%} of the covariance"
        # It shrinks noise and covariance alike, so the noise counts as if neither were shrunk.
        variances = self.variances / np.maximum(weights, 1e-100) ** 2
        dimension = self.request.domain.dimension
        # Noise that is small before smoothing hides nothing; what is left then is the finite basis, or few grid points.
        if math.sqrt(variances.sum()) < NOISY_FROM * plausible_within(self.basis.frequencies, dimension):
            return ""
        share = lost_of(variances, self.basis.frequencies, dimension)
        said = "the error expected, after the best smoothing, would be"
        return f"{said} {share:.0%} of the covariance of curves {PLAUSIBLE}" if share >= NOISY_FROM else ""

    @property
    def title(self) -> str:
        return f"second moments of {self.n} units"

    def facts(self) -> dict[str, Any]:
        return {
            "bound": self.bound,
            "basis": self.basis.describe(),
            "mechanism": self.design.name,
            "noise": self.noise.describe(),
            "noise_rms": self.noise_rms,
            "predicted_rms": self.predict(),
            "subspace_errors": [self.subspace_error(k) for k in range(1, min(4, self.basis.size))],
            "spends": price(self.spends),
        }

    def lines(self) -> tuple[tuple[str, str], ...]:
        turned = ", ".join(f"{self.subspace_error(k):.2g} of at most {k}" for k in range(1, min(4, self.basis.size)))
        return (
            ("mechanism", f"{self.design.name}, {self.noise.text}"),
            ("basis", basis_text(self.basis)),
            (
                "noise",
                f"{self.noise_rms:.4g} root mean square before smoothing; a covariance of curves {PLAUSIBLE} is "
                f"{self.bound**2 * PLAUSIBLE_VARIANCE:.4g}",
            ),
            (
                "error",
                f"about {self.predict():.4g} root mean square expected after smoothing, {self.unseen:.0%} of the "
                "reference covariance",
            ),
            *((("components", f"squared distance of the span for k = 1, 2, ...: {turned}"),) if turned else ()),
            ("expected", f"for {REFERENCE}"),
        )


def check_side(request: Request) -> None:
    """A stated number of functions whose products can be released and turned in seconds."""
    if request.size is not None and request.size > MOST_STATED:
        raise UsageError(
            f"Second moments take at most {MOST_STATED} functions, got ",
            arg("size", request.size),
            ".",
            parameter="size",
            value=request.size,
            fix="Noise would hide more.",
        )


def plan_moments(request: Request, *, lead: bool, k: int | None = None) -> MomentsPlan:
    """The design that was asked for, or the one with the least predicted error, by public facts alone.

    `lead` says whether the mean is released along with second moments. With k, the error is that of the first k
    components' span, and there are more functions than components where possible.
    """
    least = 1 if k is None else k + 1
    check_side(request)
    if request.calibration != "exact" or request.candidates is not None:
        raise UsageError(
            "Second moments are always calibrated exactly and know no candidates: leave both out.",
            parameter="calibration",
        )
    if request.mechanism != "auto":
        return _planned(request, lead, least, "stated by the user")
    check_used(request, STATISTIC, "kernel", "eta", "penalty")
    names = PURE if request.budget.pure else (Gaussian.name, *PURE)
    plans = [_planned(replace(request, mechanism=name), lead, least, "") for name in names]
    best = min(plans, key=lambda plan: _cost(plan, k))
    why = f"{best.design.name} noise has the least predicted error of {', '.join(names)}"
    if best.design.name != "gaussian" and not request.budget.pure:
        why += ", and needs no delta: pure epsilon"
    return replace(best, reasons=(*best.design.reasons, ("mechanism", why)))


def _cost(plan: MomentsPlan, k: int | None) -> float:
    """The predicted error, of k components' span where k is given, as plans are compared by it."""
    # Gaussian noise spreads over several times as many entries, and smoothing has to find out which of them matter:
    # measured on scans and simulated curves, it is no better than a prediction 15 % lower says.
    caution = 1.15 if plan.design.name == "gaussian" else 1.0
    return caution * plan.predict() if k is None else caution**2 * plan.subspace_error(k)


def _planned(request: Request, lead: bool, least: int, why: str) -> MomentsPlan:
    request = replace(request, mechanism=as_law(request.mechanism, STATISTIC))
    name = request.mechanism if isinstance(request.mechanism, str) else request.mechanism.name
    if isinstance(request.mechanism, str) and name not in names_for(STATISTIC):
        raise unknown(name, STATISTIC, "second moments")
    if not isinstance(request.mechanism, str) and hasattr(request.mechanism, "k"):
        raise UsageError(
            f"{name} draws components and adds no noise to moments: FPCA takes it by its name.", parameter="mechanism"
        )
    # Pure noise spends no delta.
    pure = is_pure(name) and not request.budget.pure
    spends = Budget(request.budget.epsilon, 0.0) if pure else request.budget
    if name == ExponentialDraw.name:
        if lead:
            raise UsageError(
                arg("mechanism", name),
                " releases no mean: it draws second moments around the public centre. Leave ",
                arg("mean"),
                " out, and let ",
                arg("centre="),
                " be a public curve or a mean release.",
                parameter="mechanism",
                value=name,
            )
        design = drawn_design(request, spends)
    elif name in PROCESSES:
        design = _process(request, name, lead)
    else:
        size = _default_size(request, spends, name, lead, least)
        basis, reason = basis_of(request, size, DEFAULT_BASIS)
        check_orthonormal(basis)
        design = _own(request, name, basis, lead, reason)
    return replace(_with_noise(request, design, spends), reasons=(*design.reasons, ("mechanism", why)))


def _own(request: Request, name: str, basis: Basis, lead: bool, reason: str) -> MomentsDesign:
    steps = lead_steps(basis.size) if lead else 0
    side = basis.size + (1 if lead else 0)
    mechanism = request.mechanism if not isinstance(request.mechanism, str) else named(name, side)
    reasons = [("basis", reason)]
    if lead:
        reasons.append(("mean", f"weighed {steps / ROUGH:.2g} against the second moments, by a rule of the basis"))
    return MomentsDesign(name, basis, mechanism, steps, None, tuple(reasons))


def _process(request: Request, name: str, lead: bool) -> MomentsDesign:
    basis, weights, shape, reasons = tensor_process(request, name, lead=lead)
    steps = ROUGH // 2 if lead else 0
    return MomentsDesign(name, basis, PROCESSES[name](shape), steps, weights, reasons)


def _with_noise(request: Request, design: MomentsDesign, spends: Budget) -> MomentsPlan:
    side = design.basis.size + (1 if design.lead else 0)
    size = packed_size(side)
    square = float(ROUGH**2 + design.lead**2)
    replaced = not request.counted
    bounds = *moved_by(square, side, replaced=replaced), *moved_in(design.norm, design.lead, side, replaced=replaced)
    scales = [
        calibrate(design.mechanism, bound, spends, size=size, pure=PURE)
        for bound in bounds
        if bound.norm == design.mechanism.norm or bound.norm != Nuclear()
    ]
    noise = law_of(design.mechanism, min(scales), size).scaled((request.bound / ROUGH) ** 2 / request.n)
    kept = None if not isinstance(design.mechanism, ExponentialMatrix) else design.mechanism.weights(min(scales))
    if design.weights is not None:
        noise = noise.weighted(np.array(design.weights))
    return MomentsPlan(request, design, noise, spends, design.reasons, kept)


def named(name: str, side: int) -> Mechanism:
    """A mechanism for symmetric matrices of a side by its name."""
    twice = multiplicities(side) == 2
    if name == Wishart.name:
        return Wishart()
    if name == KNorm.name:
        return _blocks(side)
    # An entry off the diagonal stands for two in the Frobenius norm, so it needs less noise by sqrt 2.
    shape = tuple(np.where(twice, math.sqrt(0.5), 1.0).tolist())
    return Gaussian(shape) if name == Gaussian.name else Laplace(shape)


def _blocks(side: int) -> KNorm:
    """K-norm noise in blocks of diagonal entries and blocks of others, shares by the size of the blocks."""
    parts = [optimal_blocks(shape_weights(side, 0.0))]
    if side > 1:
        parts.append(optimal_blocks(shape_weights(packed_size(side) - side, 0.0)))
    total = sum(sum(terms) for _, terms in parts)
    sizes = tuple(size for block, _ in parts for size in block)
    # In the Frobenius norm shares add in squares; off the diagonal an entry counts sqrt 2 times.
    shares = tuple(
        math.sqrt(term / total) * (math.sqrt(2.0) if place else 1.0)
        for place, part in enumerate(parts)
        for term in part[1]
    )
    return KNorm(sizes, shares)


def lead_steps(size: int) -> int:
    """How much the mean is weighed against second moments in a basis of a size, in steps of `ROUGH`.

    With weight w all noise grows by `1 + w^2`, and the mean's part in the error, for a mean half as large as the bound,
    is `1/w^2` against `size`: least at `2 size w^4 + w^2 = 1`.
    """
    square = (math.sqrt(1 + 8 * size) - 1) / (4 * size)
    return max(1, round(math.sqrt(square) * ROUGH))


def _default_size(request: Request, spends: Budget, name: str, lead: bool, least: int) -> int:
    """The smallest number of functions whose predicted error is near the least, for the reference population.

    Near, because smoothing has to find out from noisy entries what the prediction knows.
    """
    if request.size is not None or isinstance(request.basis, Basis):
        return 1  # not used
    dimension = request.domain.dimension
    most = min(LARGEST_SIDE, request.grid_size or LARGEST_SIDE)
    floor = min(max(LEAST_SIDE, least), most)
    errors = {}
    for size in _sizes(floor, most):
        basis = bases.by_name(DEFAULT_BASIS, request.domain, size)
        plan = _with_noise(request, _own(request, name, basis, lead, ""), spends)
        errors[size] = covariance_error(plan.variances, np.arange(size, dtype=np.float64) ** (1 / dimension), dimension)
    return min(size for size, error in errors.items() if error <= 1.05 * min(errors.values()))


def _sizes(low: int, high: int) -> list[int]:
    """Every size up to twelve, then steps of a tenth."""
    sizes = {*range(low, min(high, 12) + 1), high}
    sizes |= {round(size) for size in np.geomspace(12, 48, 16) if low <= round(size) <= high}
    return sorted(sizes)

"""The mechanisms of the papers: the same pipeline in the basis of a noise kernel, as published.

`Compatibility` decides whether a noise process can protect a function at any finite scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dpfda import bases
from dpfda.arrays import Array, brief, is_one_of
from dpfda.bases import Basis
from dpfda.bases.lattice import RADIUS
from dpfda.errors import CannotMeetBudget, IncompatibleNoise, UsageError
from dpfda.kernels import Kernel, Matern, Tensor
from dpfda.mechanisms import (
    Bernstein,
    FiniteLaplace,
    Gaussian,
    GaussianProcess,
    Laplace,
    LaplaceProcess,
    Mechanism,
    SoftThreshold,
    ThresholdedLaplaceProcess,
)
from dpfda.mechanisms.randomness import LARGEST_SCALE
from dpfda.messages import arg
from dpfda.planning.default_design import basis_of, check_domain
from dpfda.planning.request import Design, Request, designs
from dpfda.planning.two_kernels import smoothed
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L2, Sensitivity, up

Law = Literal["gaussian", "laplace"]


@dataclass(frozen=True, slots=True)
class Compatibility:
    """Coordinates of a change fall like `j^-summary`, deviations of the noise like `j^-noise`.

    Where eigenvalues fall faster than any power of j, `of_eigenvalues` says that both exponents are powers of these.

    In infinitely many coordinates a finite scale exists if the change, divided by the noise, is bounded in square sum
    (Gaussian noise: Mirshani et al., Theorem 3.1) or in absolute sum (Laplace noise: Lin and Reimherr, Theorems 5, 7
    and 8), uniformly over changes `a_j u_j` with `|u|_2 <= 1`. So Gaussian noise needs `a_j / sqrt(lambda_j)` bounded,
    and Laplace noise needs it square summable; under the published sensitivity, which adds up, summable.
    """

    law: Law
    summary: float
    noise: float
    published: bool = False
    of_eigenvalues: bool = False

    def __post_init__(self) -> None:
        if not is_one_of(self.law, ("gaussian", "laplace")):
            raise UsageError(
                f"A noise process is 'gaussian' or 'laplace', got {brief(self.law)}.", parameter="law", value=self.law
            )
        if not (self.summary >= 0 and self.noise >= 0):
            raise UsageError(
                f"Exponents of decay are numbers, 0 or more, got {brief(self.summary)} and {brief(self.noise)}.",
                parameter="summary",
                value=(self.summary, self.noise),
            )

    @property
    def margin(self) -> float:
        """By how much the summary's exponent must exceed the noise's."""
        if self.law == "gaussian" or self.of_eigenvalues:
            return 0.0
        return 1.0 if self.published else 0.5

    @property
    def possible(self) -> bool:
        """Whether some finite scale is private in infinitely many coordinates."""
        gap = self.summary - self.noise
        return gap >= 0 if self.law == "gaussian" else gap > self.margin

    def check(self, way_out: str) -> None:
        """Refuse a pair for which no scale is private, naming both exponents and a choice that works."""
        if self.possible:
            return
        more = "at least as fast as" if self.law == "gaussian" else "faster than"
        if self.margin:
            more = f"faster by more than j^-{self.margin:g} than"
        raise IncompatibleNoise(
            f"No finite scale of this {self.law} process is private: a person's coordinates fall like "
            f"{self._power(self.summary)} and the noise like {self._power(self.noise)}, but they must fall {more} the "
            f"noise. {way_out}"
        )

    def _power(self, exponent: float) -> str:
        power = f"lambda_j^{exponent:g}" if self.of_eigenvalues else f"j^-{exponent:g}"
        return power if exponent > 0 else f"{power} (not at all)"


def penalised(law: Law, *, eta: float, penalty: float, decay: float, published: bool = False) -> Compatibility:
    """The pair of a mean penalised by the power eta of a kernel and of that kernel's noise.

    Weights are `lambda^eta / (lambda^eta + penalty)`, so they fall like `j^(-eta b)` where eigenvalues fall like
    `j^-b`, and noise deviations like `j^(-b/2)`. Without a penalty weights do not fall at all.

    >>> penalised("gaussian", eta=0.5, penalty=0.1, decay=4.0).possible
    True
    >>> penalised("laplace", eta=0.5, penalty=0.1, decay=4.0).possible
    False
    """
    falls = eta if penalty > 0 else 0.0
    if math.isinf(decay):
        # lambda^(eta - 1/2) falls faster than any power of j for eta above one half.
        return Compatibility(law, falls, 0.5, published, of_eigenvalues=True)
    return Compatibility(law, falls * decay, decay / 2, published)


@dataclass(frozen=True, slots=True)
class Parameters:
    """The power and the size of a penalty, or the number of terms, chosen before any record is read."""

    eta: float
    penalty: float
    terms: int | None = None


def privacy_safe(mechanism: str, *, n: int, epsilon: float, decay: float) -> Parameters:
    """The choice of Lin and Reimherr, Corollary 15, with constant one; curves are measured in units of their bound.

    `iclp-qr`: `eta = 1 + 2/b` and the least penalty at which the privacy error stays of order 1/n; `iclp-ar` the same
    with `eta = 2 (1 + 2/b)`; `frl`: `n^(1/3)` terms. For `gp` (Mirshani et al., Theorem 4.2) `eta = 1`, `penalty =
    1/n`. Here b is the decay of the kernel's eigenvalues.

    >>> privacy_safe("iclp-qr", n=1000, epsilon=1.0, decay=4.0)
    Parameters(eta=1.5, penalty=0.001, terms=None)
    """
    if not (n >= 1 and 0 < epsilon < math.inf and not decay <= 0):  # an unknown decay is no number
        raise UsageError(
            "Parameters are chosen for at least one unit, a positive epsilon and a positive decay, got ",
            arg("n", n),
            ", ",
            arg("epsilon", epsilon),
            ", ",
            arg("decay", decay),
            ".",
            parameter="n",
            value=n,
        )
    inverse = 0.0 if math.isinf(decay) else 1 / decay
    # (n epsilon^2)^(-eta b / (b + 2)) with eta = 1 + 2/b is 1 / (n epsilon^2); more penalty than 1/n only where needed.
    penalty = max(1 / n, 1 / (n * epsilon * epsilon))
    if mechanism == "iclp-qr":
        return Parameters(1 + 2 * inverse, penalty)
    if mechanism == "iclp-ar":
        return Parameters(2 * (1 + 2 * inverse), penalty)
    if mechanism == "frl":
        return Parameters(1.0, 0.0, max(1, math.floor(round(n ** (1 / 3), 9))))
    if mechanism == "gp":
        return Parameters(1.0, 1 / n)
    raise UsageError(
        f"Parameters are chosen for 'gp', 'iclp-qr', 'iclp-ar' and 'frl', got {brief(mechanism)}.",
        parameter="mechanism",
        value=mechanism,
    )


COUNT_SHARE = 0.5  # of the private count, in units of the bound


def simple_bound(eta: float, penalty: float) -> float:
    """The simpler bound of Mirshani et al., Theorem 4.1, on `max a_j / sqrt(lambda_j)`, for eta above one half."""
    square = (2 * eta - 1) ** (2 - 1 / eta) / (4 * eta**2 * penalty ** (1 / eta))
    return math.sqrt(square)


def published_scale(
    request: Request,
    name: str,
    shape: Array,
    *,
    weights: Array | None = None,
    roots: Array | None = None,
    parameters: Parameters | None = None,
) -> float:
    """The noise scale that the papers ask for, in lattice steps: never below the exact one, which is checked anyway.

    Mirshani et al.: `sqrt(2 log(2/delta)) / epsilon` for epsilon up to 1. Lin and Reimherr, Theorem 12: the sum of
    `1 / shape` where Cauchy-Schwarz needs the root of the sum of squares; with the right scale of a Laplace variable.
    """
    if request.calibration == "exact":
        return 0.0
    longest = longest_change(request)
    if request.calibration == "simple":
        if name != "gp" or weights is None or roots is None or parameters is None:
            raise UsageError(
                arg("calibration", "simple"),
                " is the simpler bound of ",
                arg("mechanism", "gp"),
                ".",
                parameter="calibration",
                value=request.calibration,
            )
        if parameters.penalty == 0 or parameters.eta <= 0.5:
            raise UsageError(
                f"The simpler bound needs a penalty above 0 and eta above 0.5, got {parameters.penalty:g} and "
                f"{parameters.eta:g}. Use ",
                arg("calibration", "exact"),
                ".",
                parameter="calibration",
            )
        ratio = simple_bound(parameters.eta, parameters.penalty) / float(np.max(weights / roots))
        return calibrate(Gaussian(), Sensitivity(longest * max(ratio, 1.0), L2(), "simple"), request.budget)
    if name == "gp":
        check_published(request.budget)
        return up(math.sqrt(2 * math.log(2 / request.budget.delta)) * longest / request.budget.epsilon, 4)
    return up(
        float(np.sum(1 / np.array(with_count(request, shape)))) * (1 + 1e-12) * longest / request.budget.epsilon, 4
    )


def check_published(budget: Budget) -> None:
    """Refuse a budget for which the published scale of the Gaussian process is not proven."""
    if budget.pure:
        raise CannotMeetBudget(
            f"A Gaussian process cannot meet {budget}: it needs delta > 0.", parameter="delta", value=budget.delta
        )
    if budget.epsilon > 1:
        raise CannotMeetBudget(
            "The published scale of the Gaussian process is proven for epsilon up to 1, got "
            f"{brief(budget.epsilon)}. Use ",
            arg("calibration", "exact"),
            ", which holds for every epsilon.",
            parameter="epsilon",
            value=budget.epsilon,
        )


def longest_change(request: Request) -> float:
    """How far one unit can move the integer sum, with the count where that is private, in the Euclidean norm."""
    return up(math.hypot(RADIUS, round(COUNT_SHARE * RADIUS)), 2) if request.counted else 2.0 * RADIUS


def with_count(request: Request, shape: Array) -> tuple[float, ...]:
    """The shape, led by that of a private count: as little noise as any coordinate has."""
    return (*((1.0,) * request.counted), *shape.tolist())


TERMS = 100  # of a noise process, as in the papers' studies; fewer where the grid is coarser
WIDEST = 2.0**20  # beyond this ratio of noise scales a coordinate carries nothing, and is left out
SMALLEST = 1e-300


@designs(GaussianProcess)
def gp(request: Request) -> Design:
    """The Gaussian process of Mirshani et al. around a mean penalised by a power of its kernel, or of another one."""
    if request.penalty_kernel is not None:
        return _two_kernels(request, request.penalty_kernel)
    return _process(request, "gp", "gaussian")


def _two_kernels(request: Request, penalising: Kernel) -> Design:
    """The same with a penalty in the space of a kernel of its own: the estimator's, beside that of the noise."""
    kernel, why_kernel = noise_kernel(request)
    chosen, why_penalty = parameters_of(request, "gp", penalising)
    possible = _compatible_kernels(request, kernel, penalising, chosen)
    whole, weights = _penalised_basis(request, penalising, chosen)
    made = smoothed(kernel, whole, weights, widest=WIDEST)
    shape = made.ratios[0] / made.ratios
    design = _design(
        request,
        "gp",
        made.outer,
        Gaussian(with_count(request, shape)),
        weights=None,
        least_scale=published_scale(request, "gp", shape),
        reasons=(
            ("basis", f"{len(shape)} combinations of {whole.size} eigenfunctions of the penalty's kernel{possible}"),
            ("kernel", why_kernel),
            ("penalty", f"{why_penalty}; in the space of {penalising}, stated by the user"),
        ),
    )
    return replace(design, inner=made.inner, kept=tuple(made.weights.tolist()))


def _compatible_kernels(request: Request, kernel: Kernel, penalising: Kernel, chosen: Parameters) -> str:
    """What is to be said of infinitely many coordinates; refused where these are asked for and cannot be protected.

    The smoother's coordinates fall like `j^(-eta b)`, b the decay of the penalty's kernel, and deviations of the noise
    like `j^(-c/2)`, c that of its own. Spaces of rough kernels are Sobolev spaces, which exponents tell apart; of two
    kernels whose eigenvalues fall faster than any power they say nothing.
    """
    dimension = request.domain.dimension
    summary, noise = (each.decay(dimension) for each in (penalising, kernel))
    falls = chosen.eta if chosen.penalty > 0 else 0.0
    exponent = falls * summary if falls else 0.0
    unknown = math.isnan(exponent + noise) or (math.isinf(exponent) and math.isinf(noise))
    possible = not unknown and Compatibility("gaussian", exponent, noise / 2).possible
    if possible:
        return ""
    if not _stated(request):
        way_out = "Take a smoother penalty_kernel or a larger eta, a rougher kernel, or state size."
        if unknown:
            raise IncompatibleNoise(
                f"Whether noise of {kernel} protects a mean penalised by {penalising} is not known in infinitely many "
                f"coordinates: decay exponents do not tell. {way_out}",
                parameter="penalty_kernel",
                value=penalising,
            )
        Compatibility("gaussian", exponent, noise / 2).check(way_out)
    return "; in infinitely many no finite scale is known to be private"


@designs(LaplaceProcess)
def iclp_qr(request: Request) -> Design:
    """The Laplace process of Lin and Reimherr around a mean with quadratic penalty."""
    return _process(request, "iclp-qr", "laplace")


def _process(request: Request, name: str, law: Law) -> Design:
    kernel, why_kernel = noise_kernel(request)
    chosen, why_penalty = parameters_of(request, name, kernel)
    possible = compatible(request, law, chosen, kernel.decay(request.domain.dimension))
    basis, weights = _penalised_basis(request, kernel, chosen)
    roots = np.sqrt(eigenvalues_of(basis))
    shape = roots / weights
    kept = _within_reach(request, shape)
    basis, weights, shape = _cut(request, kernel, basis, kept), weights[:kept], shape[:kept] / shape[:kept].min()
    least = published_scale(request, name, shape, weights=weights, roots=roots[:kept], parameters=chosen)
    truncated = (
        f"the {basis.size} leading eigenfunctions of the noise"
        if possible
        else f"truncated to {basis.size} functions; in infinitely many no finite scale is known to be private"
    )
    return _design(
        request,
        name,
        basis,
        (Gaussian if law == "gaussian" else Laplace)(with_count(request, shape)),
        weights=tuple(weights.tolist()),
        least_scale=least,
        reasons=(("basis", truncated), ("kernel", why_kernel), ("penalty", why_penalty)),
    )


@designs(ThresholdedLaplaceProcess)
def iclp_ar(request: Request) -> Design:
    """The Laplace process of Lin and Reimherr around a mean with absolute penalty: a soft threshold."""
    kernel, why_kernel = noise_kernel(request)
    chosen, why_penalty = parameters_of(request, "iclp-ar", kernel)
    if 0 in (chosen.eta, chosen.penalty) and not _stated(request):
        # Else the threshold leaves finitely many coordinates, and any noise can protect these.
        penalised("laplace", eta=0.0, penalty=0.0, decay=kernel.decay(request.domain.dimension)).check(
            "Take eta and penalty above 0, or state size to release finitely many coordinates."
        )
    basis = noise_basis(request, kernel, _terms(request))
    eigenvalues = eigenvalues_of(basis)
    # Curves are measured in units of the bound, so the threshold is too. Where it exceeds one nothing would be left.
    thresholds = chosen.penalty / np.maximum(2 * eigenvalues ** (chosen.eta / 2), SMALLEST)
    kept = max(1, int(np.sum(thresholds < 1)))
    basis, shape = _cut(request, kernel, basis, kept), np.sqrt(eigenvalues[:kept] / eigenvalues[:kept].min())
    steps = [int(t * request.n * RADIUS) for t in np.minimum(thresholds[:kept], 1.0)]
    return _design(
        request,
        "iclp-ar",
        basis,
        SoftThreshold(Laplace(with_count(request, shape)), (*((0,) * request.counted), *steps)),
        weights=None,
        least_scale=published_scale(request, "iclp-ar", shape),
        reasons=(
            ("basis", f"the {kept} leading eigenfunctions that the threshold leaves"),
            ("kernel", why_kernel),
            ("penalty", why_penalty),
        ),
        thresholds=tuple(np.minimum(thresholds[:kept], 1.0).tolist()),
    )


@designs(FiniteLaplace)
def frl(request: Request) -> Design:
    """Independent Laplace noise on a few coordinates: the finite-dimensional representation of Lin and Reimherr."""
    safe = privacy_safe("frl", n=request.n, epsilon=request.budget.epsilon, decay=1.0)
    size = int(request.size or min(safe.terms or 1, request.grid_size or TERMS))
    if request.basis is not None:
        basis, why = basis_of(request, size, "cosine")
        reasons: tuple[tuple[str, str], ...] = (("basis", why),)
    else:
        kernel, why_kernel = noise_kernel(request)
        basis = noise_basis(request, kernel, size)
        stated = "stated by the user" if request.size is not None else "the cube root of n, privacy-safe (Corollary 15)"
        reasons = (("basis", f"{size} eigenfunctions: {stated}"), ("kernel", why_kernel))
    shape = np.ones(basis.size)
    return _design(
        request,
        "frl",
        basis,
        Laplace(),
        weights=None,
        least_scale=published_scale(request, "frl", shape),
        reasons=reasons,
    )


@designs(Bernstein)
def bernstein(request: Request) -> Design:
    """Independent Laplace noise on the values at the points of a lattice, and Bernstein polynomials through them.

    Its published sensitivity, (K+1)^d times the supremum's, is already exact where values are bounded.
    """
    if request.calibration == "simple":
        published_scale(request, "bernstein", np.ones(1))  # refuses
    dimension = request.domain.dimension
    degree = 20 if dimension == 1 else 8
    size = int(request.size) if request.size is not None else (degree + 1) ** dimension
    if request.basis is not None:
        raise UsageError(
            arg("mechanism", "bernstein"),
            " brings its own basis: leave ",
            arg("basis"),
            " out, and state ",
            arg("size"),
            " instead.",
            parameter="basis",
            value=request.basis,
        )
    basis = bases.by_name("bernstein", request.domain, size)
    why = "stated by the user" if request.size is not None else f"degree {degree}, a rule"
    return _design(
        request,
        "bernstein",
        basis,
        Laplace(),
        weights=None,
        least_scale=0.0,
        reasons=(("basis", f"Bernstein polynomials: {why}"),),
    )


def noise_kernel(request: Request) -> tuple[Kernel, str]:
    """The kernel that was stated, or a Matérn kernel of order 3/2 with a tenth of each side as its range."""
    if request.kernel is not None:
        return request.kernel, f"{request.kernel}, stated by the user"
    sides = tuple(Matern(1.5, 0.1 * length) for length in request.domain.lengths)
    return (sides[0] if len(sides) == 1 else Tensor(sides)), "Matern 3/2, range a tenth of the domain: a rule"


def _design(
    request: Request,
    name: str,
    basis: Basis,
    mechanism: Mechanism,
    *,
    weights: tuple[float, ...] | None,
    least_scale: float,
    reasons: tuple[tuple[str, str], ...],
    thresholds: tuple[float, ...] = (),
) -> Design:
    how = {
        "exact": "",
        "simple": "the simpler bound of Theorem 4.1",
        "published": "as published, more noise than privacy needs" if least_scale else "as published, which is exact",
    }[request.calibration]
    return Design(
        name=name,
        basis=basis,
        mechanism=mechanism,
        weights=weights,
        least_scale=least_scale,
        count_weight=round(COUNT_SHARE * RADIUS) if request.counted else 0,
        reasons=(*reasons, *((("calibration", how),) if how else ())),
        smoothing=False,
        thresholds=thresholds,
    )


def parameters_of(request: Request, name: str, kernel: Kernel) -> tuple[Parameters, str]:
    """The power and the size of the penalty, stated or by a rule, and which of it."""
    decay = kernel.decay(request.domain.dimension)
    if math.isnan(decay) and (request.eta is None or request.penalty is None or not _stated(request)):
        raise UsageError(
            f"How fast the eigenvalues of {kernel} fall is not known. Give the kernel a smoothness, or state eta, "
            "penalty and size.",
            parameter="kernel",
            value=kernel,
        )
    safe = privacy_safe(name, n=request.n, epsilon=request.budget.epsilon, decay=decay)
    eta = safe.eta if request.eta is None else float(request.eta)
    penalty = safe.penalty if request.penalty is None else float(request.penalty)
    rule = "privacy-safe: by a rule of n, epsilon and the kernel"
    stated = [parameter for parameter in ("eta", "penalty") if getattr(request, parameter) is not None]
    how = {0: rule, 2: "stated by the user"}.get(len(stated), f"{''.join(stated)} stated by the user, the other {rule}")
    return Parameters(eta, penalty), f"eta = {eta:g}, penalty = {penalty:.4g}; {how}"


def _terms(request: Request) -> int:
    return int(request.size if request.size is not None else min(request.grid_size or TERMS, TERMS))


def noise_basis(request: Request, kernel: Kernel, size: int) -> Basis:
    """The leading eigenfunctions of the noise kernel, or a basis of them that was stated."""
    if isinstance(request.basis, Basis):
        check_domain(request.basis, request.domain)
        if request.basis.eigenvalues is None:
            raise UsageError(
                "A noise process needs the basis of its kernel: dpfda.bases.mercer(kernel, domain, size).",
                parameter="basis",
            )
        return request.basis
    if request.basis is not None:
        raise UsageError(
            "A noise process brings its kernel's own basis: leave ",
            arg("basis", request.basis),
            " out.",
            parameter="basis",
            value=request.basis,
        )
    return bases.mercer(kernel, request.domain, size)


def eigenvalues_of(basis: Basis) -> Array:
    """The positive eigenvalues of a kernel's basis."""
    eigenvalues = basis.eigenvalues
    assert eigenvalues is not None  # noise_basis made sure
    positive = eigenvalues[: int(np.sum(eigenvalues > 0))]
    return np.asarray(positive, dtype=np.float64)


def _penalised_basis(request: Request, kernel: Kernel, chosen: Parameters) -> tuple[Basis, Array]:
    basis = noise_basis(request, kernel, _terms(request))
    powers = np.maximum(eigenvalues_of(basis) ** chosen.eta, SMALLEST)  # a high power may vanish in doubles
    return basis, powers / (powers + chosen.penalty)


def _stated(request: Request) -> bool:
    """Whether the user asked for finitely many coordinates."""
    return request.size is not None or isinstance(request.basis, Basis)


def compatible(request: Request, law: Law, chosen: Parameters, decay: float) -> bool:
    """Whether a finite scale is private in infinitely many coordinates; refused if not, and these are asked for."""
    if math.isnan(decay):
        return False
    published = request.calibration == "published"
    pair = penalised(law, eta=chosen.eta, penalty=chosen.penalty, decay=decay, published=published)
    if not _stated(request):
        pair.check(_way_out(law, decay, published=published))
    return pair.possible


def _within_reach(request: Request, shape: Array) -> int:
    """How many leading coordinates have noise that can be drawn and leaves anything of them.

    Shapes fall while the penalty is small against the eigenvalues, and rise without end from there on.
    """
    # An upper bound on every scale below, so that none of them is too large to be drawn.
    scale = longest_change(request) * max(len(shape), 64) / request.budget.epsilon
    least = int(np.argmin(shape))
    beyond = np.flatnonzero(shape[least:] > max(1.0, min(WIDEST, LARGEST_SCALE / scale)) * shape[least])
    return least + int(beyond[0]) if len(beyond) else len(shape)


def _cut(request: Request, kernel: Kernel, basis: Basis, size: int) -> Basis:
    """The leading functions of a basis: eigenfunctions do not change with their number."""
    if size == basis.size:
        return basis
    if isinstance(request.basis, Basis):
        raise UsageError(
            f"Of the {basis.size} functions of this basis only {size} can carry noise that is neither zero nor beyond "
            "all scales. Take a smaller basis.",
            parameter="size",
            value=size,
        )
    return bases.mercer(kernel, request.domain, size)


def _way_out(law: Law, decay: float, *, published: bool) -> str:
    if math.isinf(decay):
        return "Take eta = 1 with a penalty above 0, or state size to release finitely many coordinates."
    least = 0.5 if law == "gaussian" else 0.5 + (1.0 if published else 0.5) / decay
    enough = math.ceil(least * 20 + 1) / 20
    return (
        f"Take eta {'of at least' if law == 'gaussian' else 'above'} {least:g} with a penalty above 0, e.g. eta = "
        f"{enough:g}, or state size to release finitely many coordinates."
    )

"""The densities of the papers: kernel estimates with noise processes, as features of points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from dpfda import bases
from dpfda.arrays import Array, as_real, brief, is_whole
from dpfda.bases import Basis, Domain
from dpfda.bases.cells import MOST_IN_ALL, Cells, fine_cells
from dpfda.bases.tensor import Tensor as Products
from dpfda.errors import UsageError
from dpfda.kernels import Exponential, Kernel
from dpfda.kernels import Gaussian as GaussianKernel
from dpfda.kernels import Tensor as TensorKernel
from dpfda.mechanisms import (
    Bernstein,
    FiniteLaplace,
    Gaussian,
    GaussianProcess,
    Laplace,
    LaplaceProcess,
    Mechanism,
    Process,
    SobolevProcess,
)
from dpfda.planning.papers import check_published
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L2, Sensitivity
from dpfda.statistics.density.features import with_outside
from dpfda.statistics.density.sides import SideTables
from dpfda.statistics.density.windows import (
    PRESENT,
    Bandwidth,
    Window,
    feature_basis,
    is_matrix,
    is_product,
    slanted_basis,
    spectral_basis,
    widths_of,
    window,
)


@dataclass(frozen=True, eq=False)
class DensityDesign:
    """Everything that has to be known to release a density, chosen without any record.

    A point in cell g has the feature vector `features[g]`; a unit's is the average over its points, and the mechanism
    adds noise to the sum over units. Mean feature j times `decode[j]` is coordinate j, in `basis`, of the density
    times the volume of the domain; for an orthonormal basis that is the mean of its function j.

    Under add-or-remove-one the number of units is private and released too: the first column of `features` is then a
    positive constant, which has no place in `decode` nor in `basis`, and the mechanism covers that coordinate as well.
    Where points outside the domain lie in a cell of their own, the last one, the next column is theirs.
    """

    name: str  # as people type it
    cells: Cells
    basis: Basis
    features: Array  # (cells.places, M); only ratios matter
    decode: Array  # (basis.size,)
    mechanism: Mechanism
    reasons: tuple[tuple[str, str], ...]
    smoothing: bool = True  # whether it is made to be smoothed after the noise
    least_diameter: float = 0.0  # in the units of `features`, in the mechanism's norm: where a paper states more
    sides: SideTables | None = None  # instead of `features`, where cells are too many


HEARD = 1e-3  # of a kernel's peak: points whose sections are below it in all of the domain need no cells
MOST_BY_SIDES = 4096
COUNT_SHARE = 0.5  # of a private count, in units of the longest row of features
ICLP_TERMS = {1: 100}  # of the Laplace process, as in the papers' studies
ICLP_PRODUCTS = 256
ICLP_SLANTED = 128  # of a full bandwidth matrix
ETAS = {1: 1.25}  # of Figure 3 of Lin and Reimherr; on a box that of Figure 4 which they call the sweet point
BOX_ETA = 1.05
SOBOLEV_PRODUCTS = 1024
DEGREES = {1: 20}  # of Bernstein polynomials, as elsewhere in the package
BOX_DEGREE = 8


@dataclass(frozen=True, eq=False)
class DensityFacts:
    """What a density of the papers is planned from: public cells, the number of units and the budget."""

    cells: Cells
    n: int
    budget: Budget
    counted: bool = False  # whether the number of units is private, and so is released with noise too
    edition: int = PRESENT
    calibration: str = "exact"  # or "published": the papers' own sensitivity, which is never less

    def __post_init__(self) -> None:
        if self.calibration not in ("exact", "published"):
            raise UsageError(
                f"The calibration of a density is 'exact' or 'published', got {brief(self.calibration)}.",
                parameter="calibration",
                value=self.calibration,
            )

    @property
    def domain(self) -> Domain:
        return self.cells.domain

    @property
    def volume(self) -> float:
        return math.prod(self.domain.lengths)

    @property
    def by_sides(self) -> bool:
        """Whether cells are so many that only features which are products over the sides can be told of them."""
        return self.cells.size > MOST_IN_ALL

    def in_cells(self) -> DensityFacts:
        """The same with cells that can be told one by one."""
        return replace(self, cells=replace(fine_cells(self.domain), apart=self.cells.apart))

    def published(self, mechanism: Mechanism, diameter: float) -> tuple[float, tuple[tuple[str, str], ...]]:
        """The least diameter of features under the calibration, and what is to be said of it."""
        if self.calibration != "published":
            return 0.0, ()
        factor = classical_factor(self.budget) if isinstance(mechanism, Gaussian) else 1.0
        return diameter * factor, (("calibration", "as published, more noise than privacy needs"),)

    def with_margin(self, kernel: Kernel) -> DensityFacts:
        """The same with cells beyond the ends of a line, as far as a point there is heard within."""
        if not self.cells.apart or self.domain.dimension > 1:
            return self
        (length,) = self.domain.lengths
        away = np.linspace(0, 1, 257)[:, None] * length
        heard = kernel(away, away[:1])[:, 0] > HEARD * _peak(kernel, self.domain)
        reach = float(away[heard].max(initial=0.0))
        return replace(self, cells=replace(self.cells, margin=reach))


# Who designs a density by each of the papers' mechanisms; each takes the facts and its own settings.
PAPERS: dict[str, Callable[..., DensityDesign]] = {}
Designer = TypeVar("Designer", bound=Callable[..., DensityDesign])


def _designs(mechanism: type[Process]) -> Callable[[Designer], Designer]:
    def add(function: Designer) -> Designer:
        PAPERS[mechanism.name] = function
        return function

    return add


@_designs(GaussianProcess)
def gp(
    facts: DensityFacts, *, bandwidth: Bandwidth | None = None, kernel: Kernel | None = None, size: int | None = None
) -> DensityDesign:
    """Hall et al., 4.1 and 4.1.1: a kernel estimate, and a Gaussian process whose covariance is the same kernel.

    In features whose inner products are the kernel, sections are bounded and the process is white.
    """
    used = window(facts.domain, facts.n, bandwidth=bandwidth, kernel=kernel, family="gaussian", edition=facts.edition)
    if facts.by_sides:
        if is_product(used.kernel, facts.domain.dimension):
            return _gp_by_sides(facts, used, size)
        facts = facts.in_cells()
    facts = facts.with_margin(used.kernel)
    basis, factors = feature_basis(used.kernel, facts.domain, size)
    features = basis.matrix(facts.cells.centres) * factors
    lengths = np.sum(features * features, axis=1)
    peaks = _peak(used.kernel, facts.domain)
    left_out = 1 - float(lengths.min()) / peaks
    return _design(
        facts,
        GaussianProcess.name,
        basis,
        np.concatenate([features, whitened(outer_sections(basis, facts.cells, used.kernel), factors)]),
        decode=factors * (facts.volume / used.mass),
        mechanism=Gaussian(),
        published=lambda: math.sqrt(2 * peaks),
        reasons=(
            ("kernel", used.because),
            ("basis", f"{basis.size} functions of the kernel, which leave out at most {max(left_out, 0.0):.2g} of it"),
        ),
    )


def _gp_by_sides(facts: DensityFacts, used: Window, size: int | None) -> DensityDesign:
    """The same where a point's features are products of what it has along each side: no cells but thousands a side."""
    basis, eigenvalues = spectral_basis(used.kernel, facts.domain, size, most=MOST_BY_SIDES)
    assert isinstance(basis, Products)
    tables = []
    for factor, along in zip(basis.factors, facts.cells.edges, strict=True):
        edges = np.array(along)
        tables.append(factor.matrix((edges[1:] + edges[:-1])[:, None] / 2) * np.sqrt(np.asarray(factor.eigenvalues)))
    sides = SideTables(tuple(tables), basis.index)
    longest, peaks = sides.longest, _peak(used.kernel, facts.domain)
    # A point outside may have a coordinate as long as any other point: no two are then further apart.
    outside = (longest,) if facts.cells.apart else ()
    count = (COUNT_SHARE * math.hypot(longest, *outside),) if facts.counted else ()
    factors = np.sqrt(eigenvalues)
    reasons = (
        ("kernel", used.because),
        (
            "basis",
            f"{basis.size} functions of the kernel, products over the sides, of points {len(tables[0])} places a side",
        ),
    )
    least, how = facts.published(Gaussian(), math.sqrt(2 * peaks))
    return DensityDesign(
        name=GaussianProcess.name,
        cells=facts.cells,
        basis=basis,
        features=np.empty((0, basis.size)),
        sides=replace(sides, leading=(*count, *outside)),
        decode=factors * (facts.volume / used.mass),
        mechanism=Gaussian(),
        reasons=(*reasons, *how),
        smoothing=False,
        least_diameter=least,
    )


@_designs(SobolevProcess)
def sobolev(facts: DensityFacts, *, bandwidth: Bandwidth | None = None, size: int | None = None) -> DensityDesign:
    """Hall et al., 4.2: a Gaussian kernel estimate with noise of covariance `exp(-sum_i |x_i - y_i| / h_i)`.

    Features are the coordinates of a section in the eigenfunctions of that noise, over its deviations: their length is
    the norm of the section in the Sobolev space.
    """
    widths = widths_of(bandwidth, facts.n, facts.domain, facts.edition)
    each = tuple(Exponential(width) for width in widths)
    most = None if len(each) == 1 else SOBOLEV_PRODUCTS
    basis, eigenvalues = spectral_basis(
        each[0] if len(each) == 1 else TensorKernel(each), facts.domain, size, most=most
    )
    facts = facts.with_margin(GaussianKernel.from_length(max(widths)))
    sections = gaussian_sections(basis, np.concatenate([facts.cells.centres, facts.cells.outer_centres]), widths)
    roots = np.sqrt(eigenvalues)
    told = ", ".join(f"{width:.4g}" for width in widths)
    return _design(
        facts,
        SobolevProcess.name,
        basis,
        sections / roots,
        decode=roots * facts.volume,
        mechanism=Gaussian(),
        published=lambda: 2 / ((2 * math.pi) ** (len(widths) / 4) * math.prod(widths)),
        reasons=(
            ("kernel", f"gaussian, with noise of an exponential covariance, bandwidth {told} for both"),
            ("basis", f"the {basis.size} leading eigenfunctions of the noise"),
        ),
    )


@_designs(LaplaceProcess)
def iclp_qr(
    facts: DensityFacts,
    *,
    bandwidth: Bandwidth | None = None,
    kernel: Kernel | None = None,
    eta: float | None = None,
    size: int | None = None,
) -> DensityDesign:
    """Lin and Reimherr, Theorem 16 as it should be: an estimate by the power eta of a kernel, with its Laplace process.

    The power is that of the operator on the domain, over the eta-th power of the kernel's mean over it: a section well
    inside has mass one, near the edges it loses some, as kernel estimates do.
    """
    dimension = facts.domain.dimension
    power = ETAS.get(dimension, BOX_ETA) if eta is None else as_real(eta)
    if not 1 < power < math.inf:
        raise UsageError(
            f"The power eta of a kernel must be above 1, e.g. 1.25, got {brief(eta)}.", parameter="eta", value=eta
        )
    slanted = is_matrix(bandwidth, dimension)
    family = "gaussian" if dimension == 1 or slanted else "exponential"
    used = window(facts.domain, facts.n, bandwidth=bandwidth, kernel=kernel, family=family, edition=facts.edition)
    if slanted:
        basis, eigenvalues = slanted_basis(used.kernel, facts.domain, size, most=ICLP_SLANTED)
    else:
        most = ICLP_TERMS.get(dimension, ICLP_PRODUCTS)
        basis, eigenvalues = spectral_basis(used.kernel, facts.domain, size, most=most)
    shares = eigenvalues * (facts.volume / used.mass)  # of what a constant keeps
    functions = basis.matrix(facts.cells.centres)
    # In the dual space of the noise: the Laplace process is white here.
    features = functions * shares ** (power - 0.5)
    return _design(
        facts,
        LaplaceProcess.name,
        basis,
        features,
        decode=np.sqrt(shares),
        mechanism=Laplace(),
        published=lambda: theorem_16(functions, shares, power),
        reasons=(
            ("kernel", f"{used.because}; eta = {power:g}"),
            ("basis", f"the {basis.size} leading eigenfunctions of the kernel"),
        ),
    )


@_designs(FiniteLaplace)
def frl(
    facts: DensityFacts, *, bandwidth: Bandwidth | None = None, kernel: Kernel | None = None, size: int | None = None
) -> DensityDesign:
    """Independent Laplace noise on the first coordinates of a kernel estimate in the eigenfunctions of its kernel."""
    family = "gaussian" if facts.domain.dimension == 1 else "exponential"
    used = window(facts.domain, facts.n, bandwidth=bandwidth, kernel=kernel, family=family, edition=facts.edition)
    facts = facts.with_margin(used.kernel)
    terms = max(1, math.ceil(round(facts.n ** (1 / 3), 9))) if size is None else size
    basis, eigenvalues = spectral_basis(used.kernel, facts.domain, min(terms, 256) if size is None else terms)
    inner = basis.matrix(facts.cells.centres) * eigenvalues
    features = np.concatenate([inner, outer_sections(basis, facts.cells, used.kernel)]) * (facts.volume / used.mass)
    how = "stated by the user" if size is not None else "the cube root of n, at most 256, a rule"
    return _design(
        facts,
        FiniteLaplace.name,
        basis,
        features,
        decode=np.ones(basis.size),
        mechanism=Laplace(),
        published=lambda: float(np.ptp(features, axis=0).sum()),
        reasons=(("kernel", used.because), ("basis", f"{basis.size} eigenfunctions of the kernel: {how}")),
    )


@_designs(Bernstein)
def bernstein(
    facts: DensityFacts,
    *,
    bandwidth: Bandwidth | None = None,
    kernel: Kernel | None = None,
    degree: int | None = None,
) -> DensityDesign:
    """Independent Laplace noise on a kernel estimate at the points of a lattice; Bernstein polynomials between them."""
    dimension = facts.domain.dimension
    family = "gaussian" if dimension == 1 else "exponential"
    used = window(facts.domain, facts.n, bandwidth=bandwidth, kernel=kernel, family=family, edition=facts.edition)
    steps = DEGREES.get(dimension, BOX_DEGREE) if degree is None else degree
    if not is_whole(steps, 1, 2**31):
        raise UsageError(
            f"The degree of Bernstein polynomials must be a whole number, at least 1, got {brief(degree)}.",
            parameter="degree",
            value=degree,
        )
    each = tuple(bases.bernstein(side, int(steps) + 1) for side in facts.domain.sides)
    basis = each[0] if dimension == 1 else bases.tensor(*each)
    index = basis.index if isinstance(basis, Products) else np.arange(basis.size)[:, None]
    lows, lengths = np.array([low for low, _ in facts.domain.sides]), np.array(facts.domain.lengths)
    facts = facts.with_margin(used.kernel)
    centres = np.concatenate([facts.cells.centres, facts.cells.outer_centres])
    features = used.kernel(centres, lows + lengths * index / steps)
    why = "stated by the user" if degree is not None else "a rule"
    return _design(
        facts,
        Bernstein.name,
        basis,
        features,
        # Coordinates in this basis are values over the root of its size.
        decode=np.full(basis.size, facts.volume / used.mass / math.sqrt(basis.size)),
        mechanism=Laplace(),
        published=lambda: basis.size * float(np.ptp(features)),
        reasons=(("kernel", used.because), ("basis", f"Bernstein polynomials of degree {steps}, {why}")),
    )


def outer_sections(basis: Basis, cells: Cells, kernel: Kernel) -> Array:
    """Coordinates, in eigenfunctions of a kernel, of its sections at points beyond the ends of a line, (any, size)."""
    if not cells.margin:
        return np.empty((0, basis.size))
    nodes, weights = basis.nodes()
    sections: Array = (kernel(cells.outer_centres, nodes) * weights) @ basis.matrix(nodes)
    return sections


KNOWN = 1e-4  # of the largest factor: what a section outside has along smaller ones is rounding in doubles


def whitened(sections: Array, factors: Array) -> Array:
    """Sections at points outside over the factors, but for those so small that processors would not agree on them."""
    known = factors > KNOWN * factors.max()
    return np.where(known, sections / np.where(known, factors, 1.0), 0.0)


def theorem_16(functions: Array, shares: Array, eta: float) -> float:
    """Theorem 16 of Lin and Reimherr with the root of the bound: `|K_x - K_y| sqrt(tr K^(eta-1))` at the cells.

    The norm of a difference of two sections of `K^eta` is at most `sqrt(2 M)` where M bounds the kernel and it has no
    negative values; cut to finitely many terms it may have some, and they count.
    """
    sections = functions * shares ** (eta / 2)
    most = float(np.sum(sections * sections, axis=1).max())
    # By Cauchy-Schwarz no value lies below -M.
    rows = max(1, 2**22 // len(sections))
    least = min(float((sections[i : i + rows] @ sections.T).min()) for i in range(0, len(sections), rows))
    return math.sqrt(2 * (most + max(0.0, -least))) * math.sqrt(float(np.sum(shares ** (eta - 1))))


def gaussian_sections(basis: Basis, centres: Array, widths: tuple[float, ...]) -> Array:
    """Coordinates, in a basis of eigenfunctions, of Gaussian densities around the centres, (G, size)."""
    factors = basis.factors if isinstance(basis, Products) else (basis,)
    index = basis.index if isinstance(basis, Products) else np.arange(basis.size)[:, None]
    result = np.ones((len(centres), basis.size))
    for axis, (factor, width) in enumerate(zip(factors, widths, strict=True)):
        places, where = np.unique(centres[:, axis], return_inverse=True)
        nodes, weights = factor.nodes()
        bells = np.exp(-0.5 * np.square((places[:, None] - nodes[:, 0]) / width)) / (math.sqrt(2 * math.pi) * width)
        result *= ((bells * weights) @ factor.matrix(nodes))[where][:, index[:, axis]]
    return result


def _peak(kernel: Kernel, domain: Domain) -> float:
    """`K(x, x)`, the same everywhere for the kernels of densities."""
    middle = np.mean(np.array(domain.sides), axis=1)[None, :]
    return float(kernel(middle, middle)[0, 0])


def _design(
    facts: DensityFacts,
    name: str,
    basis: Basis,
    features: Array,
    *,
    decode: Array,
    mechanism: Mechanism,
    published: Callable[[], float],  # asked for where it is wanted: some of them take seconds
    reasons: tuple[tuple[str, str], ...],
) -> DensityDesign:
    least, how = facts.published(mechanism, published() if facts.calibration == "published" else 0.0)
    if facts.cells.apart:
        features = with_outside(features, facts.cells, mechanism.norm)
    if facts.counted:
        longest = float(max(mechanism.norm(row) for row in features))
        features = np.column_stack([np.full(len(features), COUNT_SHARE * longest), features])
    return DensityDesign(
        name=name,
        cells=facts.cells,
        basis=basis,
        features=features,
        decode=decode,
        mechanism=mechanism,
        reasons=(*reasons, *how),
        smoothing=False,
        least_diameter=least,
    )


def classical_factor(budget: Budget) -> float:
    """How much larger `sqrt(2 log(2/delta)) / epsilon`, the scale of Hall et al., is than the exact one."""
    check_published(budget)
    exact = calibrate(Gaussian(), Sensitivity(1.0, L2(), "one"), budget)
    return max(1.0, math.sqrt(2 * math.log(2 / budget.delta)) / budget.epsilon / exact)

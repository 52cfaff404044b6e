"""The kernel that a density estimate smooths with: its bandwidth, its mass and its basis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from dpfda import bases
from dpfda.arrays import Array, brief
from dpfda.bases import Basis, Domain
from dpfda.bases.features import landmarks
from dpfda.bases.known_spectra import sides
from dpfda.errors import UsageError
from dpfda.kernels import Anisotropic, Exponential, Gaussian, Kernel, Matern, RationalQuadratic, Scaled, Tensor
from dpfda.messages import arg

# What a call leaves open has been understood in two ways. Keys of ledgers and stores of answers from before stand for
# the first one: bandwidths by a rule are in the units of the points, and points outside the domain lie at its edge.
FORMER, PRESENT = 1, 2

Bandwidth = float | Sequence[float] | Sequence[Sequence[float]] | Array

SMALLEST = 1e-13  # of the largest eigenvalue: beyond it double precision knows nothing of the kernel
MOST_FUNCTIONS = {1: 512}  # of a kernel's basis on an interval
MOST_PRODUCTS = 1600  # on a box
NARROWEST = 1 / 200  # of a side: a bandwidth below it has more eigenfunctions than are computed
CHUNK = 2**22  # values of a kernel at a time
LANDMARKS = 400  # for a kernel that is no product over the sides of a box


@dataclass(frozen=True, eq=False)
class Window:
    """A kernel, its integral over all of space, and where it comes from: `kernel / mass` has integral one."""

    kernel: Kernel
    mass: float
    because: str


def window(
    domain: Domain,
    n: int,
    *,
    bandwidth: Bandwidth | None,
    kernel: Kernel | None,
    family: str,
    edition: int = PRESENT,
) -> Window:
    """The kernel that was stated, or one of the family, "gaussian" or "exponential", with a bandwidth.

    A bandwidth is in the units of the points, as in the papers: one number, one for each side, or for a Gaussian kernel
    the matrix H of Hall et al., Section 4.1.1, whose roots they are. The rule without one is `n^(-1/(4+d))` of each
    side, as in the papers, whose domains have sides of length one: it goes with the units of the points.
    """
    if kernel is not None:
        if bandwidth is not None:
            raise UsageError("State kernel or bandwidth, not both: a kernel of one's own brings its ranges.")
        return Window(kernel, mass_of(kernel, domain.dimension), f"{kernel}, stated by the user")
    if bandwidth is None:
        ruled = widths_of(None, n, domain, edition)
        made = _family(family, ruled)
        where = f"{ruled[0]:.4g} in all directions"
        if edition == PRESENT:
            where = f"{rule(n, domain):.4g} of each side"
        return Window(made, mass_of(made, domain.dimension), f"{family}, n^(-1/(4+d)) = {where}")
    widths = _widths(bandwidth, domain.dimension)
    _check_wide(tuple(np.sqrt(np.diag(widths)) if widths.ndim == 2 else widths), domain)
    if widths.ndim == 2:
        if family != "gaussian":
            raise UsageError(
                f"A bandwidth matrix needs a Gaussian kernel; this one is {family}. State a number a side.",
                parameter="bandwidth",
            )
        full = Anisotropic(Gaussian.from_length(1.0), np.linalg.cholesky(widths))
        return Window(full, mass_of(full, domain.dimension), "gaussian, a full bandwidth matrix stated by the user")
    made = _family(family, tuple(widths.tolist()))
    told = ", ".join(f"{width:.4g}" for width in widths)
    return Window(made, mass_of(made, domain.dimension), f"{family}, bandwidth {told} stated by the user")


def is_matrix(bandwidth: Bandwidth | None, dimension: int) -> bool:
    """Whether a stated bandwidth is a matrix, and not one for each side."""
    return bandwidth is not None and dimension > 1 and _widths(bandwidth, dimension).ndim == 2


def rule(n: int, domain: Domain) -> float:
    """The bandwidth of the papers without its constant, `n^(-1/(4+d))`."""
    return math.pow(n, -1 / (4 + domain.dimension))


def widths_of(bandwidth: Bandwidth | None, n: int, domain: Domain, edition: int = PRESENT) -> tuple[float, ...]:
    """One bandwidth for each side, stated or by the rule; a matrix has none."""
    if bandwidth is None:
        units = np.ones(domain.dimension) if edition == FORMER else np.array(domain.lengths)
        widths = rule(n, domain) * units
    else:
        widths = _widths(bandwidth, domain.dimension)
    if widths.ndim == 2:
        raise UsageError("This mechanism needs a bandwidth for each side, not a matrix.")
    _check_wide(tuple(widths), domain)
    return tuple(widths.tolist())


def _check_wide(widths: tuple[float, ...], domain: Domain) -> None:
    for width, length in zip(widths, domain.lengths, strict=True):
        # A shade less, for a width that was made from this very bound.
        if width < NARROWEST * length * (1 - 1e-9):
            raise UsageError(
                f"A bandwidth of {width:.4g} is too narrow for a side of length {length:g}: it must be at "
                f"least {NARROWEST * length:.4g}. State a larger ",
                arg("bandwidth", ...),
            )


def _family(family: str, widths: tuple[float, ...]) -> Kernel:
    each = tuple(Gaussian.from_length(w) if family == "gaussian" else Exponential(w) for w in widths)
    return each[0] if len(each) == 1 else Tensor(each)


def _widths(bandwidth: Bandwidth, dimension: int) -> Array:
    problem = UsageError(
        f"A bandwidth in {dimension} dimension(s) is a positive number, {dimension} of them, or a symmetric positive "
        f"definite matrix with {dimension} rows, got {brief(bandwidth)}.",
        parameter="bandwidth",
        value=bandwidth,
    )
    try:
        widths = np.array(bandwidth, dtype=np.float64)
    except (TypeError, ValueError):
        raise problem from None
    if isinstance(bandwidth, bool) or not np.isfinite(widths).all():
        raise problem
    if isinstance(bandwidth, Real) or widths.ndim == 0:
        widths = np.full(dimension, float(widths))
    if widths.shape == (dimension,) and (widths > 0).all():
        return widths
    if widths.shape == (dimension, dimension) and np.array_equal(widths, widths.T):
        spectrum = np.linalg.eigvalsh(widths)
        if spectrum[0] > 1e-12 * spectrum[-1] > 0:
            # A diagonal matrix is one bandwidth for each side.
            diagonal = np.diag(widths)
            return np.sqrt(diagonal) if np.array_equal(widths, np.diag(diagonal)) else widths
    raise problem


def mass_of(kernel: Kernel, dimension: int) -> float:
    """The integral of `K(0, u)` over all of space, in closed form."""
    known = MASSES.get(type(kernel))
    if known is None:
        raise UsageError(
            f"The integral of {kernel} over all of space is not known here. Kernels of densities are "
            f"{', '.join(sorted(kind.__name__ for kind in MASSES))}."
        )
    return known(kernel, dimension)


def _matern_mass(order: float, rho: float, dimension: int) -> float:
    # The spectral density at frequency zero.
    log = math.lgamma(order + dimension / 2) - math.lgamma(order) + dimension / 2 * math.log(math.pi * 2 / order)
    return math.exp(log + dimension * math.log(rho))


def _rational_mass(kernel: RationalQuadratic, dimension: int) -> float:
    left = kernel.shape - dimension / 2
    if left <= 0:
        raise UsageError(
            f"A rational quadratic kernel in {dimension} dimension(s) has a finite integral for shapes above "
            f"{dimension / 2:g}, got {kernel.shape:g}."
        )
    log = math.lgamma(left) - math.lgamma(kernel.shape)
    return math.exp(log + dimension / 2 * math.log(2 * math.pi * kernel.shape * kernel.length**2))


def _tensor_mass(kernel: Tensor, dimension: int) -> float:
    if len(kernel.factors) != dimension:
        raise UsageError(f"This kernel has {len(kernel.factors)} factors, but the domain has {dimension} side(s).")
    return math.prod(mass_of(factor, 1) for factor in kernel.factors)


def _anisotropic_mass(kernel: Anisotropic, dimension: int) -> float:
    if kernel.dimension != dimension:
        raise UsageError(f"This kernel has {kernel.dimension} axes, but the domain has {dimension} side(s).")
    return mass_of(kernel.kernel, dimension) * abs(float(np.linalg.det(np.array(kernel.matrix, dtype=np.float64))))


MASSES: dict[type[Kernel], Callable[[Any, int], float]] = {
    Anisotropic: _anisotropic_mass,
    Exponential: lambda kernel, dimension: _matern_mass(0.5, kernel.rho, dimension),
    Gaussian: lambda kernel, dimension: (math.pi * kernel.rho) ** (dimension / 2),
    Matern: lambda kernel, dimension: _matern_mass(kernel.order, kernel.rho, dimension),
    RationalQuadratic: _rational_mass,
    Scaled: lambda kernel, dimension: kernel.factor * mass_of(kernel.kernel, dimension),
    Tensor: _tensor_mass,
}


def is_product(kernel: Kernel, dimension: int) -> bool:
    """Whether the eigenfunctions on a box are products of those on its sides."""
    return dimension == 1 or sides(kernel, dimension) is not None


def spectral_basis(kernel: Kernel, domain: Domain, size: int | None, *, most: int | None = None) -> tuple[Basis, Array]:
    """The leading eigenfunctions with their eigenvalues, as many as were stated or as double precision knows."""
    if not is_product(kernel, domain.dimension):
        raise UsageError(
            f"On a box this mechanism needs a kernel that is a product over its sides, got {kernel}. Write "
            "dpfda.kernels.Tensor((one, other))."
        )
    limit = most or MOST_FUNCTIONS.get(domain.dimension, MOST_PRODUCTS)
    basis = bases.mercer(kernel, domain, limit if size is None else size)
    eigenvalues = np.asarray(basis.eigenvalues)
    # Dropping coordinates is a projection: it can only lower the sensitivity.
    kept = int(np.sum(eigenvalues > SMALLEST * eigenvalues[0]))
    if kept < basis.size:
        basis = bases.mercer(kernel, domain, kept)
    return basis, eigenvalues[:kept]


SLANTED = {2: 28, 3: 10}  # Legendre polynomials along each side, of which eigenfunctions of other kernels are made
SMALLEST_SLANTED = 1e-6  # of the largest eigenvalue: below it polynomials of this degree know little


def slanted_basis(kernel: Kernel, domain: Domain, size: int | None, *, most: int) -> tuple[Basis, Array]:
    """Eigenfunctions of a smooth kernel that is no product over the sides, as combinations of polynomials.

    They are orthonormal exactly, and eigenfunctions as nearly as polynomials of their degree can be: what one unit
    moves is computed from their values, so privacy does not rest on that.
    """
    degree = SLANTED.get(domain.dimension)
    if degree is None:
        raise UsageError(
            f"A full bandwidth matrix goes with this mechanism on two or three sides, got {domain.dimension}. State a "
            "number for each side.",
            parameter="bandwidth",
            value=domain.dimension,
        )
    whole = bases.tensor(*(bases.legendre(side, degree) for side in domain.sides))
    axes = [np.polynomial.legendre.leggauss(2 * degree) for _ in domain.sides]
    lows, lengths = np.array([low for low, _ in domain.sides]), np.array(domain.lengths)
    nodes = np.stack([axis.ravel() for axis in np.meshgrid(*(x for x, _ in axes), indexing="ij")], axis=1)
    weights = np.ones(1)
    for _, along in axes:
        weights = np.multiply.outer(weights, along / 2).ravel()
    points = lows + lengths * (nodes + 1) / 2
    functions = whole.matrix(points) * weights[:, None]
    rows = max(1, CHUNK // len(points))
    operator = np.zeros((whole.size, whole.size))
    for start in range(0, len(points), rows):
        part = slice(start, start + rows)
        operator += functions[part].T @ (kernel(points[part], points) @ functions)
    eigenvalues, vectors = np.linalg.eigh((operator + operator.T) / 2)
    order = np.argsort(-eigenvalues, kind="stable")[: most if size is None else size]
    order = order[eigenvalues[order] > SMALLEST_SLANTED * eigenvalues[order[0]]]
    columns = vectors[:, order].T
    columns *= np.sign(columns[np.arange(len(columns)), np.abs(columns).argmax(axis=1)])[:, None]
    return bases.combined(whole, columns), eigenvalues[order]


def feature_basis(kernel: Kernel, domain: Domain, size: int | None) -> tuple[Basis, Array]:
    """Functions and factors r with `K(x, y) = sum_j r_j^2 f_j(x) f_j(y)`: eigenfunctions, or else landmarks."""
    if is_product(kernel, domain.dimension):
        basis, eigenvalues = spectral_basis(kernel, domain, size)
        return basis, np.sqrt(eigenvalues)
    made = landmarks(kernel, domain, size=LANDMARKS if size is None else size)
    return made, np.ones(made.size)

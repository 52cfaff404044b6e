"""Plans of a perturbed function: its basis, the map from values to coordinates, and the noise that a claim needs."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dpfda import bases
from dpfda.arrays import Array, ArrayLike, brief, is_one_of, public_numbers
from dpfda.bases import Basis, Domain
from dpfda.bases.features import Landmarks, factor
from dpfda.bases.lattice import RADIUS
from dpfda.errors import UsageError
from dpfda.kernels import Kernel
from dpfda.kernels.base import covariance_at
from dpfda.mechanisms import Gaussian, KNorm, Laplace, Mechanism
from dpfda.mechanisms.base import law_of
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.mechanisms.table import AUTO, unknown
from dpfda.messages import arg
from dpfda.planning.base import AnyPlan, basis_text, price
from dpfda.planning.default_design import BLOCK
from dpfda.planning.papers import Compatibility
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L1, L2, Sensitivity, up
from dpfda.releases.cards.words import NORMS

KERNEL, SUM, RMS = "kernel", "weighted-l1", "rms"
PROCESS = "gp"  # the noise of the papers: a Gaussian process whose covariance is the kernel
LEAST = 1e-8  # of the largest eigenvalue: a coordinate with less carries less than a ten-thousandth of the noise
SIZES = (50, 100, 200, 400)  # of coordinates, of which the first is taken that holds
HELD = 0.995  # so much of the kernel's variance
FINE = 4  # values of a function for each coordinate: aliasing then adds a thousandth to the sensitivity
MOST_SIDES = 2  # eigenfunctions up to here; landmarks in more dimensions
LANDMARKS = 256
MOST_VALUES = 4096
MOST_SIZE = 1024
SPARE_BITS = 44  # of the largest entry of an exact map: its integers stay exact in doubles
SHARE_OF_ROUNDING = 2.0**-12  # of the sensitivity, that the rounding of values may add
KERNEL_ERROR = 2.0**-42  # of a kernel's largest value, that a computed value may be off: Bessel functions are the worst


@dataclass(frozen=True, eq=False)
class ExactMap:
    """A public linear map from values of a function to lattice steps, carried out in whole numbers.

    Values become multiples of `unit`, entries are `integers / 2^shift`, and each sum is rounded once. So it is linear
    but for these roundings, however large the function is: a map in doubles would round by more for larger ones, and
    how large the function is nobody has bounded.
    """

    integers: npt.NDArray[np.object_]  # (size, q)
    shift: int
    unit: float

    @staticmethod
    def near(matrix: Array) -> ExactMap:
        """The exact map next to a matrix of steps for each unit of a value."""
        # Values are off by half a unit for either of two neighbours: one unit at every point moves sums by this much.
        unit = RADIUS * SHARE_OF_ROUNDING / (float(np.linalg.norm(matrix, 2)) * math.sqrt(matrix.shape[1]))
        shift = SPARE_BITS - math.frexp(float(np.abs(matrix).max()) * unit)[1]
        rounded = np.rint(np.ldexp(matrix * unit, shift))
        integers = np.array([[int(entry) for entry in row] for row in rounded], dtype=object)
        return ExactMap(integers.reshape(matrix.shape), shift, unit)

    @cached_property
    def matrix(self) -> Array:
        """Steps for each unit of a value, as it is carried out, (size, q)."""
        return np.ldexp(self.integers.astype(np.float64), -self.shift) / self.unit

    @property
    def rounding(self) -> float:
        """How far roundings move the difference of two neighbours, in steps, in the Euclidean norm."""
        size, count = self.integers.shape
        values = self.unit * float(np.linalg.norm(self.matrix, 2)) * math.sqrt(count)
        return up(values * (1 + 1e-9) + math.sqrt(size), 2)

    def __call__(self, values: Array) -> list[int]:
        """Lattice steps of finite values, (q,) to (size,)."""
        whole = [round(value) for value in (values / self.unit).tolist()]
        half = 1 << self.shift >> 1 if self.shift > 0 else 0
        sums = (sum(entry * value for entry, value in zip(row, whole, strict=True)) for row in self.integers.tolist())
        if self.shift <= 0:
            return [total << -self.shift for total in sums]
        return [(total + half) >> self.shift for total in sums]

    def request_parts(self) -> dict[str, Any]:
        """For the fingerprint of a request: a digest, since entries are many."""
        entries = ",".join(map(str, self.integers.ravel().tolist()))
        return {"shape": self.integers.shape, "digest": hashlib.sha256(entries.encode()).hexdigest(), "unit": self.unit}


@dataclass(frozen=True, eq=False)
class FunctionRequest:
    """What is public about a function of the user's own: its claim, where it is known, and what is asked for."""

    budget: Budget
    sensitivity: float
    norm: str
    kernel: Kernel | None  # None for a plain vector
    covariance: Array | None  # of a plain vector
    domain: Domain
    mechanism: Any
    basis: str | Basis | None
    size: int | None
    points: Array | None  # where values are given, (q, p); None for a function that can be asked anywhere
    coordinates: int | None  # how many, where these are given
    n: int

    @property
    def bound(self) -> float:
        return self.sensitivity


@dataclass(frozen=True, eq=False)
class FunctionPlan(AnyPlan):
    """What would be released of a function, from its claim alone."""

    request: FunctionRequest
    basis: Basis
    points: Array  # where the function is asked, (q, p); no rows where coordinates are given
    map: ExactMap
    units: Array  # what one lattice step is in each coordinate, in the units of the function
    moved: tuple[Sensitivity, ...]  # of the integers
    mechanism: Mechanism
    name: str
    noise: NoiseLaw
    spends: Budget
    reasons: tuple[tuple[str, str], ...]

    @property
    def title(self) -> str:
        return f"a function with the stated sensitivity {self.request.sensitivity:g}"

    @property
    def hidden(self) -> str:
        """Empty: how large the function is nobody has said."""
        return ""

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.budget.warnings(self.n)

    @property
    def noise_rms(self) -> float:
        """The expected root mean square of the noise over the domain."""
        return float(np.sqrt(np.trace(self.basis.gram() * self.noise.variances)))

    def coordinates(self, values: ArrayLike) -> Array:
        """Coordinates of public values at `points`, as the release computes them before the noise, (q,) to (size,).

        What a sensitivity in the norm "weighted-l1" is about: the sum of their changes, each over the root of its
        eigenvalue. Not private: it is for trying a claim on made-up data.
        """
        table = public_numbers(values, "Values of a function").reshape(-1)
        if len(table) != self.map.integers.shape[1]:
            raise UsageError(
                parameter="values", value=len(table), rule=f"must be {self.map.integers.shape[1]}, one for each point"
            )
        return np.asarray(self.map.matrix @ table * self.units)

    def facts(self) -> dict[str, Any]:
        return {
            "sensitivity": self.request.sensitivity,
            "norm": self.request.norm,
            "basis": self.basis.describe(),
            "mechanism": self.name,
            "noise": self.noise.describe(),
            "noise_rms": self.noise_rms,
            "spends": price(self.spends),
        }

    def lines(self) -> tuple[tuple[str, str], ...]:
        return (
            ("claim", f"one unit moves it by at most {self.request.sensitivity:g} in {NORMS[self.request.norm]}"),
            ("mechanism", f"{self.name}, {self.noise.text}"),
            ("basis", basis_text(self.basis)),
            ("noise", f"{self.noise_rms:.4g} root mean square over the domain"),
        )


@dataclass(frozen=True, eq=False)
class Coordinates:
    """A basis, the linear map from values to its coordinates, and by how much the noise of each differs."""

    basis: Basis
    points: Array
    matrix: Array  # (size, q)
    shape: Array  # (size,)
    covariance: Array | None  # of values, if their change has norm 1 in the kernel's space, (q, q)
    why: str


def make_plan(request: FunctionRequest) -> FunctionPlan:
    """The noise that the claim needs, from public facts alone."""
    name = _law(request)
    _check_compatible(request, name)
    found = _coordinates(request)
    mechanism: Mechanism = Gaussian() if name == "gaussian" else Laplace()
    if name == KNorm.name:
        mechanism, found = _in_blocks(found)
    steps = RADIUS / request.sensitivity
    exact = ExactMap.near(found.matrix * (steps / found.shape)[:, None])
    moved = _moved(request, found, exact)
    # K-norm and Laplace noise gain nothing from delta: they spend none.
    spends = request.budget if name == "gaussian" else Budget(request.budget.epsilon, 0.0)
    size, units = found.basis.size, found.shape / steps
    scale = min(calibrate(mechanism, each, spends, size=size) for each in moved)
    noise = law_of(mechanism, scale, size).weighted(units)
    shown = PROCESS if name == "gaussian" else name
    reasons = (
        ("sensitivity", "the user's claim: where it is false the guarantee does not hold"),
        ("basis", found.why),
        *((("kernel", f"{request.kernel}, stated by the user"),) if request.kernel is not None else ()),
        ("mechanism", "stated by the user" if request.mechanism != AUTO else _why(request, name)),
    )
    return FunctionPlan(
        request, found.basis, found.points, exact, units, moved, mechanism, shown, noise, spends, reasons
    )


def _law(request: FunctionRequest) -> str:
    if request.mechanism == AUTO:
        if not request.budget.pure:
            return "gaussian"
        return "laplace" if request.norm == SUM else KNorm.name
    name = Gaussian.name if request.mechanism == PROCESS else request.mechanism
    if not is_one_of(name, (Gaussian.name, Laplace.name, KNorm.name)):
        raise unknown(request.mechanism, "function", "a function")
    return str(name)


def _why(request: FunctionRequest, name: str) -> str:
    if name == "gaussian":
        return "delta > 0 allows a Gaussian process"
    return "a Laplace process meets pure epsilon" if name == "laplace" else "pure epsilon asks for K-norm noise"


def _check_compatible(request: FunctionRequest, name: str) -> None:
    """Refuse noise that can protect finitely many coordinates only, unless these are stated."""
    if request.size is not None or request.kernel is None or request.points is not None or request.coordinates:
        return  # finitely many numbers
    decay = request.kernel.decay(request.domain.dimension)
    if math.isnan(decay):
        return
    if request.norm == RMS:
        # A change of bounded root mean square: its coordinates need not fall at all.
        law = "gaussian" if name == "gaussian" else "laplace"
        Compatibility(law, 0.0, decay / 2 if math.isfinite(decay) else 1.0).check(  # type: ignore[arg-type]
            "State the sensitivity in the norm of the kernel's space, or size= to release finitely many coordinates."
        )
    if request.norm == KERNEL and name == "laplace":
        Compatibility("laplace", decay / 2, decay / 2).check(
            "State the sensitivity as norm='weighted-l1', take delta > 0, or size= to release finitely many "
            "coordinates."
        )


def _coordinates(request: FunctionRequest) -> Coordinates:
    if request.covariance is not None:
        return _of_vector(request, request.covariance)
    kernel, basis = request.kernel, request.basis
    assert kernel is not None
    if isinstance(basis, Basis):
        if basis.domain != request.domain:
            raise UsageError(
                parameter="basis", value=basis.domain.sides, rule=f"must live on the domain {request.domain.sides}"
            )
        return _in_basis(request, kernel, basis, "stated by the user")
    if not (basis is None or is_one_of(basis, ("mercer", "landmarks"))):
        raise UsageError(
            parameter="basis", value=basis, rule="must be None, 'mercer', 'landmarks' or a basis of dpfda.bases"
        )
    if basis is None:
        near = request.points is None and request.domain.dimension <= MOST_SIDES
        basis = "mercer" if near or request.norm == SUM or request.coordinates else "landmarks"
    if basis == "landmarks":
        if request.norm == SUM:
            raise UsageError(
                "A sensitivity in ", arg("norm", SUM), " is one of eigenfunctions: leave ", arg("basis"), " out."
            )
        return _at_landmarks(request, kernel)
    return _in_basis(request, kernel, *_eigenfunctions(request, kernel))


def _eigenfunctions(request: FunctionRequest, kernel: Kernel) -> tuple[Basis, str]:
    """As many eigenfunctions as hold nearly all of the kernel's variance, and can be told from rounding."""
    asked = request.size or request.coordinates
    most = SIZES[-1] if request.points is None else max(1, len(request.points) // FINE)
    nodes = request.domain.grid(101 if request.domain.dimension == 1 else 21)
    variance = float(np.mean([covariance_at(kernel, node[None])[0, 0] for node in nodes]))
    for size in (asked,) if asked else sorted({min(each, most) for each in SIZES}):
        basis: Basis = bases.mercer(kernel, request.domain, size)
        eigenvalues = np.asarray(basis.eigenvalues, dtype=np.float64)
        if asked or eigenvalues.sum() >= HELD * variance:
            break
    kept = int(np.sum(eigenvalues > LEAST * eigenvalues[0]))
    if kept < basis.size:
        if asked:
            raise UsageError(
                parameter="size",
                value=asked,
                rule=f"must be at most {kept}: the eigenvalues of {kernel} vanish beyond, and with them the noise",
            )
        basis = bases.mercer(kernel, request.domain, kept)
        eigenvalues = eigenvalues[:kept]
    held = f"{min(1.0, float(eigenvalues.sum()) / variance):.2%} of the variance of the noise"
    return basis, f"the {basis.size} leading eigenfunctions of the kernel, which hold {held}"


def _in_basis(request: FunctionRequest, kernel: Kernel, basis: Basis, why: str) -> Coordinates:
    eigenvalues = basis.eigenvalues
    if request.coordinates is not None:
        if eigenvalues is None:
            raise UsageError(
                "Coordinates are those in the eigenfunctions of the kernel: leave ",
                arg("basis"),
                " out, or give values on a grid.",
                parameter="basis",
            )
        roots = np.sqrt(eigenvalues)
        return Coordinates(basis, np.empty((0, request.domain.dimension)), np.eye(basis.size), roots, None, why)
    points = request.points if request.points is not None else _grid(request.domain, basis)
    matrix = basis.projection(points)
    covariance = covariance_at(kernel, points)
    shape = np.sqrt(np.einsum("ij,jk,ik->i", matrix, covariance, matrix, optimize=True))
    if request.norm == SUM:
        if eigenvalues is None:
            raise UsageError("A sensitivity in ", arg("norm", SUM), " needs the kernel's eigenfunctions as basis.")
        shape = np.sqrt(eigenvalues)
    if not (np.isfinite(shape).all() and shape.min() > math.sqrt(LEAST) / 2 * shape.max()):
        raise UsageError(
            parameter="size",
            value=basis.size,
            rule="is too large for this kernel: functions of the basis have next to no variance under it",
        )
    return Coordinates(basis, points, matrix, shape, covariance, why)


def _grid(domain: Domain, basis: Basis) -> Array:
    side = FINE * basis.size + 1 if domain.dimension == 1 else math.ceil(FINE * math.sqrt(basis.size)) + 1
    return domain.grid(min(side, math.floor(MOST_VALUES ** (1 / domain.dimension))))


def _at_landmarks(request: FunctionRequest, kernel: Kernel) -> Coordinates:
    """Values at points, whitened: the noise at these points is the process itself (Hall et al., Proposition 7)."""
    size = request.size or LANDMARKS
    if request.points is None:
        basis = bases.landmarks(kernel, request.domain, size=size)
    else:
        # In the order in which each adds most to those before it, so that the first are the best.
        chosen = bases.landmarks(kernel, request.domain, request.points).points[: request.size]
        basis = Landmarks(kernel, request.domain, chosen)
    return _whitened(basis, kernel)


def _whitened(basis: Landmarks, kernel: Kernel) -> Coordinates:
    from scipy.linalg import solve_triangular

    points = np.array(basis.points)
    matrix = solve_triangular(factor(kernel, basis.points), np.eye(basis.size), lower=True)
    why = f"the kernel at {basis.size} points, where the noise is the process itself; interpolated between them"
    return Coordinates(basis, points, matrix, np.ones(basis.size), covariance_at(kernel, points), why)


def _of_vector(request: FunctionRequest, covariance: Array) -> Coordinates:
    """A plain vector in the eigenvectors of its covariance matrix (Hall et al., Proposition 3)."""
    size = len(covariance)
    eigenvalues, vectors = np.linalg.eigh(covariance)
    if not eigenvalues[0] > LEAST * eigenvalues[-1]:
        raise UsageError(
            parameter="kernel",
            rule="must be a symmetric positive definite matrix, its smallest eigenvalue above 1e-8 of the largest",
        )
    # Entry i is the value of a step function between i and i + 1, whose coordinates are the entry over sqrt(size).
    rows = vectors.T[::-1]
    basis = bases.combined(bases.equal_steps(request.domain, size), rows)
    points = np.arange(size, dtype=np.float64)[:, None] + 0.5
    roots = np.sqrt(eigenvalues[::-1] / size)
    return Coordinates(basis, points, rows / math.sqrt(size), roots, covariance, "the entries of the vector")


def _moved(request: FunctionRequest, found: Coordinates, exact: ExactMap) -> tuple[Sensitivity, ...]:
    """How far one unit moves the integers, in every norm that the claim says something about.

    A change g of norm at most s in the space of the kernel has values on the points whose image under a matrix A has
    the Euclidean norm `s sqrt(|A K A'|)` at most, K the kernel at the points and |.| the largest eigenvalue: `A g =
    <g, A k>` for the sections k, whose combinations have squared norms `a' A K A' a`. It is attained. No quadrature is
    involved, and a basis that is computed approximately costs noise and no privacy.
    """
    claim, size = request.sensitivity, found.basis.size
    where = "in the norm of the kernel's space"
    if request.norm == SUM:
        # The claim is about the coordinates as the exact map makes them, see `FunctionPlan.coordinates`; those that are
        # given are multiplied by entries that are off by 2^-44 of the largest.
        longest = up(RADIUS * (1 + 2.0**-30), 2)
        total = up(longest + exact.rounding * math.sqrt(size), 2)
        because = f"the user's claim, {RADIUS} steps for a sum of {claim:g}, and roundings"
        return (Sensitivity(total, L1(), because), Sensitivity(up(longest + exact.rounding), L2(), because))
    if found.covariance is None:
        times = 1.0 + 2.0**-30
        if request.norm == RMS:
            times *= 1 / float(found.shape.min())
    elif request.norm == RMS:
        raise UsageError(
            "A sensitivity in root mean square says nothing about single values: give coordinates, or state it in the "
            "norm of the kernel's space.",
            parameter="norm",
            value=request.norm,
        )
    else:
        times = claim / RADIUS * _largest(exact.matrix, found.covariance)
    longest = up(RADIUS * times + exact.rounding, 2)
    because = (
        f"the user's claim, {claim:g} {where if request.norm == KERNEL else 'root mean square'}, is {RADIUS} steps; the"
        f" map from values to coordinates makes {times:.6g} times as much of it at most, and roundings add "
        f"{exact.rounding:.4g}"
    )
    return (Sensitivity(longest, L2(), because),)


def _largest(matrix: Array, covariance: Array) -> float:
    """The root of the largest eigenvalue of `A K A'`, from above, rounding errors included."""
    spread = matrix @ covariance @ matrix.T
    largest = float(np.linalg.eigvalsh((spread + spread.T) / 2)[-1])
    # Two products and an eigenvalue in doubles, and kernel values that are off themselves (Higham 2002, 3.5).
    sizes = np.abs(matrix)
    unit = 2.0**-53 * 4 * (covariance.shape[0] + matrix.shape[0])
    off = unit * float(np.linalg.norm(sizes @ np.abs(covariance) @ sizes.T, 2))
    off += KERNEL_ERROR * float(np.abs(covariance).max()) * float(np.linalg.norm(sizes.sum(axis=1))) ** 2
    if not off <= 0.1 * largest:
        raise UsageError(
            "This kernel at these points is singular in double precision: take fewer functions (",
            arg("size="),
            "), or a rougher kernel.",
            parameter="size",
        )
    return up(math.sqrt(largest + off), 2)


def _in_blocks(found: Coordinates) -> tuple[KNorm, Coordinates]:
    """K-norm noise in the best blocks, of which all coordinates in one have noise of the same size.

    A block of M coordinates, the largest of them s, costs `sqrt(M (M + 1)) s`; cuts are found by dynamic programming.
    """
    least, start = [0.0], [0]
    for end in range(1, len(found.shape) + 1):
        costs = {
            begin: least[begin] + math.sqrt((end - begin) * (end - begin + 1)) * float(found.shape[begin:end].max())
            for begin in range(max(0, end - BLOCK), end)
        }
        start.append(min(costs, key=costs.__getitem__))
        least.append(costs[start[-1]])
    edges = [len(found.shape)]
    while edges[0] > 0:
        edges.insert(0, start[edges[0]])
    sizes = tuple(high - low for low, high in pairwise(edges))
    terms = [least[high] - least[low] for low, high in pairwise(edges)]
    largest = np.repeat(np.maximum.reduceat(found.shape, edges[:-1]), sizes)
    shares = tuple(math.sqrt(term / sum(terms)) for term in terms)
    return KNorm(sizes, shares), replace(found, shape=largest)


def check_vector(given: object) -> Array | None:
    """A covariance matrix from what was given as the kernel; None where it is none."""
    if not isinstance(given, np.ndarray | list | tuple):
        return None
    table = public_numbers(given, "Entries of the covariance of a vector")
    square = table.ndim == 2 and table.shape[0] == table.shape[1] >= 1 and np.isfinite(table).all()
    if not (square and np.allclose(table, table.T, rtol=1e-12, atol=0)):
        raise UsageError(
            f"The covariance of a vector is a symmetric matrix of finite numbers, got {brief(table.shape)}.",
            parameter="kernel",
        )
    return (table + table.T) / 2

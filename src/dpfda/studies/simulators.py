"""Simulated curves of Lin and Reimherr and of Mirshani et al., and paths of noise processes; none of it private."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np

from dpfda import bases
from dpfda.arrays import Array, ArrayLike, brief
from dpfda.bases import Basis, mercer
from dpfda.bases.domain import DomainLike
from dpfda.bases.mercer import decompose
from dpfda.errors import UsageError
from dpfda.kernels import Exponential, Gaussian, Kernel, Matern
from dpfda.mechanisms import SeededRandomness

Mean = Callable[[Array], Array]

GRID: Array = np.linspace(0.0, 1.0, 100)
GRID.flags.writeable = False
LENGTH = 0.2  # of the errors' radial basis function kernel; the paper prints none
HEAVY_TERMS, HEAVY_DEGREES = 100, 5.0
ICLP_KERNEL = Matern(1.5, rho=0.1)  # the noise kernel of Lin and Reimherr, Section 6.1
TERMS = 50  # of the series of Mirshani et al.: "usually about m = 50"


def weights(grid: Array = GRID) -> Array:
    """Trapezoid weights of a grid on [0, 1], adding up to one, (q,)."""
    steps = np.diff(grid)
    parts = np.concatenate([steps[:1] / 2, (steps[1:] + steps[:-1]) / 2, steps[-1:] / 2])
    return np.asarray(parts / parts.sum(), dtype=np.float64)


def norms(curves: Array, grid: Array = GRID) -> Array:
    """The L2 norm of every curve, (n, q) to (n,)."""
    return np.asarray(np.sqrt(np.square(curves) @ weights(grid)), dtype=np.float64)


def _normal(t: Array, mean: float, deviation: float) -> Array:
    return np.asarray(np.exp(-0.5 * ((t - mean) / deviation) ** 2) / (deviation * math.sqrt(2 * math.pi)))


def _three_up_one_down(t: Array) -> Array:
    bumps = _normal(t, 0, 0.03) + _normal(t, 0.2, 0.05) + _normal(t, 0.5, 0.05) + _normal(t, 1, 0.03)
    return 0.2 * (bumps - _normal(t, 0.75, 0.03))


# One draw of the 25 uniform coefficients of S-4, the same in every study.
COEFFICIENTS: Array = 2 * SeededRandomness(2026).uniform((25,)) - 1


def _waves(t: Array) -> Array:
    # The paper does not say which functions S-4 combines: sines and cosines here, so that no kernel is favoured.
    speeds = 2 * math.pi * np.arange(1, 13)
    sines, cosines = np.sin(np.multiply.outer(t, speeds)), np.cos(np.multiply.outer(t, speeds))
    waves = math.sqrt(2) * (sines @ COEFFICIENTS[1::2] + cosines @ COEFFICIENTS[2::2])
    return np.asarray(COEFFICIENTS[0] + waves)


MEANS: Mapping[str, Mean] = MappingProxyType(
    {
        "S-1": lambda t: 10 * t * np.exp(-t),
        "S-2": lambda t: 0.3 * _normal(t, 0.3, 0.05) + 0.7 * _normal(t, 0.8, 0.05),
        "S-3": _three_up_one_down,
        "S-4": _waves,
    }
)


def sample(
    name: str,
    n: int,
    randomness: SeededRandomness,
    *,
    errors: Literal["gaussian", "heavy"] = "gaussian",
    length: float = LENGTH,
    kernel: Kernel = ICLP_KERNEL,
    grid: Array = GRID,
) -> Array:
    """Curves about one of the four means, (n, q): `X_i = mean + e_i`.

    Gaussian errors have the covariance `exp(-d^2 / (2 length^2))`. Heavy ones are Appendix D as it is printed: 100
    eigenfunctions of the noise kernel with t-distributed coefficients of 5 degrees of freedom, not scaled, so that a
    curve's squared norm is about 167 and the mean is a small part of it.
    """
    if name not in MEANS:
        raise UsageError(f"The means are {', '.join(MEANS)}, got {brief(name)}.")
    if errors == "gaussian":
        root = _root(Gaussian.from_length(length), tuple(grid))
        noise = randomness.normal((n, root.shape[1])) @ root.T
    elif errors == "heavy":
        functions = bases.mercer(kernel, (0.0, 1.0), HEAVY_TERMS).matrix(grid)
        noise = randomness.student((n, HEAVY_TERMS), HEAVY_DEGREES) @ functions.T
    else:
        raise UsageError(f"Errors are 'gaussian' or 'heavy', got {brief(errors)}.")
    return np.asarray(MEANS[name](grid) + noise)


@lru_cache(maxsize=16)
def _root(kernel: Kernel, grid: tuple[float, ...]) -> Array:
    """A matrix R with `R R'` the covariance on the grid, (q, r)."""
    values, vectors = np.linalg.eigh(kernel(np.array(grid), np.array(grid)))
    # A Gaussian kernel is singular in floating point: what lies below rounding is left out, not rooted.
    keep = values > 1e-10 * values.max()
    return np.asarray(vectors[:, keep] * np.sqrt(values[keep]))


def sine(t: Array) -> Array:
    """The mean of the scenarios, `0.1 sin(pi t)`."""
    return np.asarray(0.1 * np.sin(math.pi * t))


def karhunen_loeve(
    n: int,
    randomness: SeededRandomness,
    *,
    mean: Mean = sine,
    kernel: Kernel | None = None,
    decay: float = 4.0,
    terms: int = TERMS,
    grid: Array = GRID,
) -> Array:
    """Curves of Mirshani et al., equation (4), (n, q): `mean + sum_j j^(-decay/2) U_ij v_j`, U uniform on (-.4, .4).

    The v_j are eigenfunctions of the kernel, `Gaussian(0.001)` if none is named, at most `terms` of them and none whose
    eigenvalue is numerically zero.
    """
    basis = bases.mercer(Case().kernel if kernel is None else kernel, (0.0, 1.0), terms)
    eigenvalues = np.asarray(basis.eigenvalues)
    functions = basis.matrix(grid)[:, eigenvalues > 0]
    sizes = np.arange(1.0, functions.shape[1] + 1) ** (-decay / 2)
    scores = 0.4 * (2 * randomness.uniform((n, len(sizes))) - 1)
    return np.asarray(mean(grid) + (scores * sizes) @ functions.T)


@dataclass(frozen=True, slots=True)
class Case:
    """One panel of a scenario: the defaults of Mirshani et al., Section 5, and whatever is varied.

    The data always come from the eigenfunctions of `Gaussian(0.001)`; `kernel` is that of penalty and noise. The paper
    prints no default of the penalty: 0.01 is that of the authors' public program.
    """

    kernel: Kernel = field(default_factory=lambda: Gaussian(0.001))
    penalty: float = 0.01
    decay: float = 4.0
    mean: str = "0.1 sin(πt)"
    n: int = 25
    epsilon: float = 1.0
    delta: float = 0.1

    def sample(self, randomness: SeededRandomness, grid: Array = GRID) -> Array:
        """The curves of this panel, (n, q)."""
        return karhunen_loeve(self.n, randomness, mean=SCENARIO_MEANS[self.mean], decay=self.decay, grid=grid)


# The first is printed; Figure 10 shows three more without their formulas, so these are ours, of the same size.
SCENARIO_MEANS: Mapping[str, Mean] = MappingProxyType(
    {
        "0.1 sin(πt)": sine,
        "0.1 sin(2πt)": lambda t: 0.1 * np.sin(2 * math.pi * t),
        "0.2 (t - 1/2)": lambda t: 0.2 * (t - 0.5),
        "0.1 exp(-(t - 1/2)²/0.02)": lambda t: 0.1 * np.exp(-((t - 0.5) ** 2) / 0.02),
    }
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario of Mirshani et al.: which fields of a `Case` it varies, and over what."""

    number: int
    varied: Mapping[str, tuple[Any, ...]]

    def cases(self, parameter: str) -> tuple[Case, ...]:
        """One case for each value of a parameter that this scenario varies."""
        if parameter not in self.varied:
            known = ", ".join(self.varied)
            raise UsageError(f"Scenario {self.number} varies {known}, not {brief(parameter)}.")
        return tuple(replace(Case(), **{parameter: value}) for value in self.varied[parameter])


def _scenario(number: int, **varied: tuple[Any, ...]) -> Scenario:
    return Scenario(number, MappingProxyType(varied))


# The ends of every range are printed; the steps between are ours. So are the ranges of the three Matérn kernels of
# scenario 3: at 0.001, the default, they would be white noise on a grid of step 0.01.
SCENARIOS: Mapping[int, Scenario] = MappingProxyType(
    {
        1: _scenario(1, penalty=(1e-6, 1e-4, 1e-2, 1e-1, 3e-1, 1.0)),
        2: _scenario(2, kernel=tuple(Gaussian(rho) for rho in (0.002, 0.02, 0.2, 2.0))),
        3: _scenario(3, kernel=(Gaussian(0.001), Matern(2.5, 0.05), Matern(1.5, 0.05), Exponential(0.05))),
        4: _scenario(4, decay=(1.1, 1.5, 2.0, 2.5, 3.0, 4.0)),
        5: _scenario(5, epsilon=(5.0, 2.0, 1.0, 0.5, 0.2, 0.1), delta=(0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)),
        6: _scenario(6, n=(5, 10, 25, 50, 75, 100)),
        7: _scenario(7, mean=tuple(SCENARIO_MEANS)),
    }
)


Law = Literal["gaussian", "laplace"]
PROCESS_TERMS = 100


def draw_process(
    source: Kernel | Basis,
    points: ArrayLike,
    *,
    law: Law,
    size: int,
    terms: int | None = None,
    domain: DomainLike = (0.0, 1.0),
    randomness: SeededRandomness,
) -> Array:
    """Paths `sum_j sqrt(eigenvalue_j) x_j phi_j` with independent x_j of variance 1, (size, m).

    The source is a kernel, decomposed on the domain into so many terms (100 unless said), or a basis with eigenvalues,
    which has its own domain and takes all or the leading terms. Decompositions and tables of functions are kept.

    >>> from dpfda.kernels import Matern
    >>> draw_process(Matern(1.5, 0.1), [0.0, 0.5], law="laplace", size=3, randomness=SeededRandomness(1)).shape
    (3, 2)
    """
    if law not in get_args(Law):
        raise UsageError(f"The law of a process is one of {', '.join(get_args(Law))}, got {brief(law)}.")
    if size < 1:
        raise UsageError(f"At least one path must be drawn, got size {brief(size)}.")
    if not isinstance(randomness, SeededRandomness):
        raise UsageError(f"A study draws from SeededRandomness(seed), which is never private, got {brief(randomness)}.")
    table = process_table(source, points, terms=terms, domain=domain)
    shape = (size, len(table))
    return (randomness.normal(shape) if law == "gaussian" else randomness.laplace_variables(shape)) @ table


def process_table(
    source: Kernel | Basis, points: ArrayLike, *, terms: int | None = None, domain: DomainLike = (0.0, 1.0)
) -> Array:
    """Functions times roots of eigenvalues at points, read-only and kept for the next call, (terms, m).

    Terms whose eigenvalue is zero add nothing and are left out.
    """
    basis = mercer(source, domain, PROCESS_TERMS if terms is None else terms) if isinstance(source, Kernel) else source
    if not isinstance(basis, Basis) or basis.eigenvalues is None:
        raise UsageError(
            f"A process needs a kernel, or a basis with eigenvalues such as mercer(...), got {brief(source)}."
        )
    count = basis.size if terms is None else terms
    if not 1 <= count <= basis.size:
        raise UsageError(f"This basis has {basis.size} terms, got terms={brief(terms)}. Take a larger basis.")
    places = basis.domain.points(points)
    return _table(basis, places.tobytes(), places.shape, count)


@lru_cache(maxsize=16)
def _table(basis: Basis, points: bytes, shape: tuple[int, int], terms: int) -> Array:
    eigenvalues = np.asarray(basis.eigenvalues)[:terms]
    kept = int(np.sum(eigenvalues > 0))
    table: Array = basis.matrix(np.frombuffer(points).reshape(shape))[:, :kept] * np.sqrt(eigenvalues[:kept])
    table.flags.writeable = False
    return np.asarray(table.T)


def forget_processes() -> None:
    """Empty the caches of tables and of decompositions, so that the next draw pays for both."""
    _table.cache_clear()
    decompose.cache_clear()

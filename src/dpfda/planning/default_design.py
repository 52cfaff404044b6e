"""The designs of this package: isotropic Gaussian noise, K-norm noise in blocks, independent Laplace noise.

How pure epsilon is divided: blocks of coordinates, and their shares.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np

from dpfda import bases
from dpfda.arrays import Array, brief
from dpfda.bases import Basis, Domain
from dpfda.bases.lattice import RADIUS
from dpfda.errors import UsageError
from dpfda.mechanisms import Gaussian, KNorm, Laplace, Mechanism
from dpfda.mechanisms.table import as_law, unknown
from dpfda.planning.request import Design, Request
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L2, Sensitivity

BLOCK = 12  # one proposal in twenty is accepted; larger blocks gain a percent or two and cost ten times the draws
SHAPES = (0.0, 0.25)  # exponents p of design weights j^-p; steeper ones starve the coordinates of rough curves
MOST_COORDINATES = 1024


def optimal_blocks(weights: Array) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Contiguous blocks of at most twelve coordinates with the least `sum_b sqrt((M_b+1) sum a_j^2)`, and its terms."""
    squares = np.concatenate([[0.0], np.cumsum(weights**2)])
    start, _ = _cuts(squares)
    sizes: list[int] = []
    end = len(weights)
    while end > 0:
        sizes.insert(0, int(end - start[end]))
        end = int(start[end])
    edges = np.cumsum([0, *sizes])
    terms = [math.sqrt((high - low + 1) * (squares[high] - squares[low])) for low, high in itertools.pairwise(edges)]
    return tuple(sizes), tuple(terms)


def _cuts(squares: Array) -> tuple[list[int], list[float]]:
    """By dynamic programming: where the last block before each end starts, and the least sum up to there."""
    least, start = [0.0], [0]
    for end in range(1, len(squares)):
        begins = np.arange(max(0, end - BLOCK), end)
        costs = np.array(least[begins[0] :]) + np.sqrt((end - begins + 1) * (squares[end] - squares[begins]))
        best = int(np.argmin(costs))
        least.append(float(costs[best]))
        start.append(int(begins[best]))
    return start, least


def variances(weights: Array) -> Array:
    """Noise variances of the coordinates under the optimal blocks, for a change of at most epsilon, (size,)."""
    sizes, terms = optimal_blocks(weights)
    # A share e_b with e_b^2 = t_b / sum t gives block b the scale 1/e_b, and each coordinate M_b + 1 times its square.
    return np.repeat([(m + 1) * sum(terms) / term for m, term in zip(sizes, terms, strict=True)], sizes)


def shape_weights(size: int, exponent: float) -> Array:
    """How much each coordinate is expected to matter, for sharing out pure epsilon: `j^-p`, (size,)."""
    return np.arange(1, size + 1, dtype=np.float64) ** -exponent


@lru_cache(maxsize=256)
def best_shape(resolution: float, dimension: int, size: int | None, most: int) -> tuple[int, float]:
    """The size and the exponent of the shape with the least error over the default class; `resolution` is n epsilon.

    The error is that of the best linear smoothing in the worst case (`prediction.linear_minimax`), at replace-one
    neighbours. It is adaptive afterwards: smoothing is chosen from the noisy coordinates.
    """
    from dpfda.planning.prediction import DEFAULT_CLASS, linear_minimax

    middle = resolution ** (dimension / (dimension + 1))
    around = {round(middle * factor) for factor in np.geomspace(0.4, 1.6, 33)}
    sizes = [size] if size is not None else sorted({min(max(1, k), most) for k in around})
    found = []
    for k in sizes:
        frequencies = np.arange(k, dtype=np.float64) ** (1 / dimension)
        edge = float(k) ** (1 / dimension)
        for exponent in SHAPES:
            noise = variances(shape_weights(k, exponent)) * (2 / resolution) ** 2
            found.append((sum(linear_minimax(noise, frequencies, edge, DEFAULT_CLASS)), k, exponent))
    _, best, exponent = min(found)
    return best, exponent


DEFAULT_BASIS = "reinsch"  # cosines are flat at the ends, where most curves are not


def own_design(request: Request, mechanism: str | Mechanism) -> Design:
    """Raw coordinates with noise, to be smoothed afterwards."""
    gaussian = mechanism == Gaussian.name or isinstance(mechanism, Gaussian)
    basis, why = basis_of(request, default_size(request, pure=not gaussian), DEFAULT_BASIS)
    weights = design_weights(request, basis)
    sizes, terms = optimal_blocks(weights)
    share = basis.size**-0.25 if gaussian else (math.sqrt(2) / sum(terms)) ** (1 / 3)
    if request.counted:
        # A private count is one more block: an error z in it moves the mean by at most `bound z / n`, so with weight x
        # its term is `sqrt(2)/x` and the whole error `(T + sqrt(2)/x)^2 (1 + x^2)` is least at `x^3 = sqrt(2)/T`.
        # Gaussian noise: least at `x^4 = 1/size`.
        sizes, terms = (1, *sizes), (math.sqrt(2) / share, *terms)
    return Design(
        name=mechanism if isinstance(mechanism, str) else mechanism.name,
        basis=basis,
        mechanism=_shaped(sizes, terms)[mechanism] if isinstance(mechanism, str) else mechanism,
        weights=None,
        least_scale=0.0,
        count_weight=max(1, round(share * RADIUS)) if request.counted else 0,
        reasons=(("basis", why),),
    )


def own_names(budget: Budget) -> tuple[str, ...]:
    """The noise that a plan chooses from by itself: pure epsilon leaves no choice."""
    return (KNorm.name,) if budget.pure else (Gaussian.name, KNorm.name)


def why_own(name: str, budget: Budget) -> str:
    """Why one of `own_names` was chosen."""
    if budget.pure:
        return "pure epsilon asks for K-norm noise"
    if name == Gaussian.name:
        return "delta > 0 allows Gaussian noise, and it has the least predicted error"
    return "K-norm noise has the least predicted error, and needs no delta: pure epsilon"


def law_for(mechanism: str | Mechanism, statistic: str, *, size: int) -> Mechanism:
    """A noise law by its name, for `size` numbers that matter alike; an object is taken as it is.

    For plans of statistics from outside, whose commands offer every law that the norm of their bound allows.

    >>> law_for("k-norm", "bands", size=5).sizes, law_for("laplace", "bands", size=5)
    ((5,), Laplace(shape=None))
    """
    law: str | Mechanism = as_law(mechanism, statistic)
    if not isinstance(law, str):
        return law
    shaped = _shaped(*optimal_blocks(shape_weights(size, 0.0)))
    if law not in shaped:
        raise unknown(law, statistic, f"the statistic {brief(statistic)}")
    return shaped[law]


def _shaped(sizes: tuple[int, ...], terms: tuple[float, ...]) -> dict[str, Mechanism]:
    """The noise laws that plans shape, by name."""
    # Terms t_b = sqrt((M_b+1) sum a_j^2) have the least error at shares with e_b^2 proportional to t_b.
    blocks = KNorm(sizes, tuple(math.sqrt(term / sum(terms)) for term in terms))
    return {law.name: law for law in (Gaussian(), Laplace(), blocks)}


def default_size(request: Request, *, pure: bool) -> int:
    """How many coordinates to release.

    Pure noise grows with their number: the size of least error over the default class (`best_shape`), about
    `(n epsilon)^(1/2)` on an interval. Gaussian noise does not: `(n mu)^(2/3)`, where the squared noise `K / (n mu)^2`
    meets the squared tail `K^-2`. Smoothing afterwards is adaptive; too few coordinates could not be mended.
    """
    dimension = request.domain.dimension
    most = min(MOST_COORDINATES, request.grid_size or MOST_COORDINATES)
    if pure:
        return best_shape(_resolution(request), dimension, None, most)[0]
    mu = 1 / calibrate(Gaussian(), Sensitivity(1.0, L2(), "one"), request.budget)
    return int(min(math.ceil(min((request.n * mu) ** (2 * dimension / (dimension + 2)), MOST_COORDINATES)), most))


def design_weights(request: Request, basis: Basis) -> Array:
    """How much each coordinate is expected to matter; all the same in a basis without an order of roughness."""
    if not basis.frequencies.any():
        return shape_weights(basis.size, 0.0)
    _, exponent = best_shape(_resolution(request), request.domain.dimension, basis.size, basis.size)
    return shape_weights(basis.size, exponent)


def _resolution(request: Request) -> float:
    # Rounded, so that plans are remembered; beyond these ends every choice is the same.
    return float(f"{min(max(request.n * request.budget.epsilon, 1e-3), 1e7):.3g}")


def basis_of(request: Request, size: int, family: str) -> tuple[Basis, str]:
    """The basis that was stated, or one of the family and size that the rules give."""
    if isinstance(request.basis, Basis):
        check_domain(request.basis, request.domain)
        return request.basis, "stated by the user"
    name = family if request.basis is None else request.basis
    least = bases.LEAST_SIZES.get(name, 1)
    if request.size is not None:
        return bases.by_name(name, request.domain, int(request.size)), "its size stated by the user"
    return bases.by_name(name, request.domain, max(size, least)), "its size by a rule of n, the budget and the grid"


def check_domain(basis: Basis, domain: Domain) -> None:
    if basis.domain != domain:
        raise UsageError(
            f"The basis lives on {basis.domain.sides}, the estimator on {domain.sides}. Make the domains equal.",
            parameter="basis",
        )

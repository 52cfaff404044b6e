"""Come here for choices that are made before any record is touched: basis, size, blocks, mechanism."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda import bases
from dpfda.arrays import Array
from dpfda.bases import Basis, Domain
from dpfda.errors import UsageError
from dpfda.mechanisms import Gaussian, Mechanism, by_name
from dpfda.norms import L2, Sensitivity
from dpfda.privacy import ADD_REMOVE, Budget, Noise, calibrate
from dpfda.records import MOST_UNITS, RADIUS

DEFAULT_BASIS = "beam"  # cosines are flat at the ends, where most curves are not
BLOCK = 8  # one proposal in six is accepted; larger blocks gain a few percent and cost ten times the draws
MOST_COORDINATES = 1024


@dataclass(frozen=True, eq=False)
class Plan:
    """What a release would do, from public facts alone."""

    n: int
    budget: Budget
    bound: float
    basis: Basis
    mechanism: Mechanism
    noise: Noise  # of the coordinates of the mean, in the units of the curve, before smoothing
    count_weight: int  # lattice steps that a unit adds to the count under add-or-remove-one
    reasons: tuple[tuple[str, str], ...]

    @property
    def noise_rms(self) -> float:
        """The expected root mean square of the noise over the domain, before smoothing."""
        return float(np.sqrt(np.trace(self.basis.gram() * self.noise.variances)))

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {
            "n": self.n,
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "bound": self.bound,
            "basis": self.basis.describe(),
            "mechanism": self.mechanism.name,
            "noise": self.noise.describe(),
            "noise_rms": self.noise_rms,
            "reasons": dict(self.reasons),
        }

    def text(self, *more: tuple[str, str]) -> str:
        """The plan for people, with more lines about what it would be applied to."""
        lines = [
            f"Plan for {self.n} units at {self.budget}; no values read, nothing charged",
            "",
            f"  mechanism   {self.mechanism.name}, {self.noise.text}",
            f"  basis       {self.basis.describe()['family']}, {self.basis.size} function{'s' * (self.basis.size > 1)}",
            f"  noise       {self.noise_rms:.4g} root mean square before smoothing, "
            f"{self.noise_rms / self.bound:.1%} of the bound {self.bound:g}",
            *(f"  because     {name}: {how}" for name, how in self.reasons),
            *(f"  {name:<11} {what}" for name, what in more),
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


def make_plan(
    *,
    budget: Budget,
    n: int,
    bound: float,
    domain: Domain,
    neighbours: str,
    mechanism: str | Mechanism,
    basis: str | Basis | None,
    grid_size: int | None,
) -> Plan:
    """The default choices, by rules of n, the budget and the grid alone."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= MOST_UNITS:
        raise UsageError(f"n must be a whole number of units, at least 1, got {n!r}.")
    choice, why_mechanism = _choice(mechanism, budget)
    gaussian = choice == "gaussian" or isinstance(choice, Gaussian)
    # Pure noise grows faster with the number of coordinates, whatever delta it is given.
    rule = budget if gaussian else Budget(budget.epsilon, 0.0)
    chosen, why_basis = _basis(basis, domain, default_size(int(n), rule, domain, grid_size))
    counted = neighbours == ADD_REMOVE
    sizes, shares, count_share = _design(design_weights(chosen), counted=counted, isotropic=gaussian)
    made = by_name(choice, (sizes, shares)) if isinstance(choice, str) else choice
    count_weight = max(1, round(count_share * RADIUS)) if counted else 0
    longest = math.hypot(RADIUS, count_weight) if counted else 2.0 * RADIUS
    size = chosen.size + counted
    scale = calibrate(made, Sensitivity(longest, L2(), "the planned one"), budget, size=size)
    noise = made.noise(scale, size)
    if counted:
        noise = noise.split_first()[1]
    return Plan(
        n=int(n),
        budget=budget,
        bound=bound,
        basis=chosen,
        mechanism=made,
        noise=noise.scaled(bound / RADIUS / n),
        count_weight=count_weight,
        reasons=(("basis", why_basis), ("mechanism", why_mechanism)),
    )


def _choice(mechanism: str | Mechanism, budget: Budget) -> tuple[str | Mechanism, str]:
    if mechanism != "auto":
        return mechanism, "stated by the user"
    if budget.pure:
        return "k-norm", "pure epsilon asks for K-norm noise"
    return "gaussian", "delta > 0 allows Gaussian noise"


def default_size(n: int, budget: Budget, domain: Domain, grid_size: int | None) -> int:
    """How many coordinates to release: the minimax cut-off for a mean with one derivative of the size of the bound.

    On an interval `(n mu)^(2/3)` with Gaussian noise, `(n epsilon)^(1/2)` with pure noise: it balances the squared
    noise, `K / (n mu)^2` and `K^2 / (n epsilon)^2`, with the squared tail `K^-2`. Smoothing afterwards is adaptive, so
    too many coordinates cost little; too few could not be mended.
    """
    p = domain.dimension
    if budget.pure:
        size = (n * budget.epsilon) ** (p / (p + 1))
    else:
        mu = 1 / calibrate(Gaussian(), Sensitivity(1.0, L2(), "one"), budget)
        size = (n * mu) ** (2 * p / (p + 2))
    return int(min(math.ceil(min(size, MOST_COORDINATES)), grid_size or MOST_COORDINATES))


def _basis(basis: str | Basis | None, domain: Domain, size: int) -> tuple[Basis, str]:
    if isinstance(basis, Basis):
        if basis.domain != domain:
            raise UsageError(
                f"The basis lives on {basis.domain.sides}, the estimator on {domain.sides}. Make the domains equal."
            )
        return basis, "stated by the user"
    family = DEFAULT_BASIS if basis is None else basis
    chosen = bases.by_name(family, domain, max(size, bases.LEAST_SIZES.get(family, 1)))
    return chosen, "its size by a rule of n, the budget and the grid"


def design_weights(basis: Basis) -> Array:
    """How much each coordinate is expected to matter, for sharing out pure epsilon: `j^(-1/2)`, (size,).

    A basis without an order of roughness gives all coordinates the same weight.
    """
    if not basis.frequencies.any():
        return np.ones(basis.size)
    return 1 / np.sqrt(np.arange(1, basis.size + 1, dtype=np.float64))


def _design(weights: Array, *, counted: bool, isotropic: bool) -> tuple[tuple[int, ...], tuple[float, ...], float]:
    """Blocks, their shares, and the weight of the count in units of the bound.

    With terms `t_b = sqrt((M_b+1) sum a_j^2)` the shares `e_b^2` are proportional to `t_b`. A private count is one more
    block: an error z in it moves the mean by at most `bound * z / n`, so with weight x its term is `sqrt(2)/x` and the
    whole error `(T + sqrt(2)/x)^2 (1 + x^2)` is least at `x^3 = sqrt(2)/T`. Gaussian noise: least at `x^4 = 1/size`.
    """
    sizes, terms = optimal_blocks(weights)
    share = len(weights) ** -0.25 if isotropic else (math.sqrt(2) / sum(terms)) ** (1 / 3)
    if counted:
        sizes, terms = (1, *sizes), (math.sqrt(2) / share, *terms)
    total = sum(terms)
    return sizes, tuple(math.sqrt(term / total) for term in terms), share


def optimal_blocks(weights: Array) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Contiguous blocks of at most eight coordinates with the least `sum_b sqrt((M_b+1) sum a_j^2)`, and its terms."""
    size = len(weights)
    squares = np.concatenate([[0.0], np.cumsum(weights**2)])
    least, start = np.full(size + 1, np.inf), np.zeros(size + 1, dtype=int)
    least[0] = 0.0
    for end in range(1, size + 1):
        begins = np.arange(max(0, end - BLOCK), end)
        costs = least[begins] + np.sqrt((end - begins + 1) * (squares[end] - squares[begins]))
        best = int(np.argmin(costs))
        least[end], start[end] = costs[best], begins[best]
    sizes: list[int] = []
    end = size
    while end > 0:
        sizes.insert(0, int(end - start[end]))
        end = int(start[end])
    edges = np.cumsum([0, *sizes])
    terms = [math.sqrt((high - low + 1) * (squares[high] - squares[low])) for low, high in itertools.pairwise(edges)]
    return tuple(sizes), tuple(terms)

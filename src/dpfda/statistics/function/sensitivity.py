"""Bounds on how far one unit moves a function, for `PerturbedFunction(sensitivity=...)`.

Each is proven for the class of functions that it names, rounded up, and in the norm of the space of a kernel: the norm
in which a Gaussian process with that covariance protects a function (Hall et al. 2013, Corollary 9). That a function is
of the class is the user's claim, and the card says so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

from dpfda.arrays import as_real, brief, is_whole
from dpfda.bases.domain import Domain, DomainLike, as_domain
from dpfda.errors import UsageError
from dpfda.kernels import Anisotropic, Exponential, Isotropic, Kernel, Matern, Scaled, Tensor
from dpfda.privacy import ADD_REMOVE, RELATIONS, REPLACE

SPARE = 1 + 1e-12  # outweighs the roundings of a formula of a few operations


def mean_of_functions(bound: float, n: int) -> float:
    """Of a mean of n functions whose norms are at most `bound`: `2 bound / n`, if one of them is replaced.

    >>> round(mean_of_functions(1.0, 200), 12)
    0.01
    """
    return 2 * _positive(bound, "bound") / _count(n) * SPARE


def kernel_sum(kernel: Kernel, weight: float, *, height: float | None = None, neighbours: str = REPLACE) -> float:
    """Of `weight` times a sum of sections `K(x_i, .)`, one of each unit (Hall et al., 4.1).

    The section of x has the norm `sqrt(K(x, x))`, and two differ by `sqrt(K(x, x) + K(y, y) - 2 K(x, y))`: at most
    `sqrt(2 height)` where K has no negative values, else `2 sqrt(height)`. `height` is the largest `K(x, x)`, and known
    for a stationary kernel.

    >>> from dpfda.kernels import Gaussian
    >>> round(kernel_sum(Gaussian(rho=0.1), 1 / 100), 9)
    0.014142136
    """
    top = _height(kernel) if height is None else _positive(height, "height")
    if top is None:
        raise UsageError(
            f"The largest value K(x, x) of {brief(kernel)} is not known.",
            parameter="height",
            fix="State height=, the largest K(x, x) on the domain.",
        )
    each = math.sqrt(top)
    if _relation(neighbours) == REPLACE:
        each *= math.sqrt(2) if _never_negative(kernel) else 2
    return _positive(weight, "weight") * each * SPARE


def sobolev(kernel: Kernel, domain: DomainLike, derivatives: Mapping[int | tuple[int, ...], float]) -> float:
    """Of functions whose change has bounded derivatives, in the space of an exponential kernel (Hall et al., 4.2).

    `derivatives` bounds the size of the change everywhere, and of its derivatives of order 0 or 1 in each variable: on
    an interval {0: value, 1: slope}; in the plane {(0, 0): ..., (1, 0): ..., (0, 1): ..., (1, 1): ...}. With the rate
    `g = 1/rho` and an interval of length T the norm of Hall et al., (9), is at most `value^2 (1 + g T / 2) + slope^2 T
    / (2 g)`; for a product of exponential kernels (10) multiplies these factors, one of each variable, and every mixed
    derivative appears.

    >>> from dpfda.kernels import Exponential
    >>> round(sobolev(Exponential(1.0), (0, 1), {0: 0.01, 1: 0.02}), 9)
    0.018708287
    """
    box = as_domain(domain)
    rates = _rates(kernel, box)
    orders = list(itertools.product((0, 1), repeat=box.dimension))
    given = derivatives if isinstance(derivatives, Mapping) else {}
    stated = {(key,) if is_whole(key, 0, 1) else key: value for key, value in given.items()}
    if set(stated) != set(orders):
        raise UsageError(
            parameter="derivatives",
            value=derivatives,
            rule=f"must bound the change and its mixed first derivatives, here of the orders {orders}",
        )
    total = 0.0
    for order in orders:
        # A bound of zero is welcome: a constant change has no slope.
        size = as_real(stated[order])
        if not 0 <= size < math.inf:
            raise UsageError(parameter="derivatives", value=stated[order], rule="must be finite bounds, 0 or more")
        factors = (
            length / (2 * rate) if differentiated else 1 + rate * length / 2
            for differentiated, rate, length in zip(order, rates, box.lengths, strict=True)
        )
        total += size * size * math.prod(factors)
    return _positive(math.sqrt(total), "derivatives") * SPARE


def minimiser(*, slope: float, penalty: float, n: int, height: float = 1.0, neighbours: str = REPLACE) -> float:
    """Of the minimiser of `(1/n) sum_i loss_i(f(x_i)) + penalty |f|^2`, |f| the norm of the kernel's space.

    Losses are convex with slopes of at most `slope`, and `K(x, x) <= height`. The risk is strongly convex, and a
    replaced unit moves its minimiser by at most `slope sqrt(height) / (penalty n)` (Hall et al., 4.3); one that is
    added or removed, with n stated in advance, by half of that. The minimiser has to be exact: add twice the distance
    at which a solver stops.

    >>> round(minimiser(slope=1.0, penalty=0.1, n=1000), 12)
    0.01
    """
    times = 1 if _relation(neighbours) == REPLACE else 2
    reach = _positive(slope, "slope") * math.sqrt(_positive(height, "height"))
    return reach / (_positive(penalty, "penalty") * _count(n) * times) * SPARE


def _positive(value: object, name: str) -> float:
    number = as_real(value)
    if not 0 < number < math.inf:
        raise UsageError(parameter=name, value=value, rule="must be a positive finite number")
    return number


def _count(n: object) -> int:
    if not is_whole(n, 1, 2**53):
        raise UsageError(parameter="n", value=n, rule="must be a whole number of units, at least 1")
    return int(n)


def _relation(neighbours: object) -> str:
    if neighbours not in RELATIONS:
        raise UsageError(parameter="neighbours", value=neighbours, rule=f"must be '{REPLACE}' or '{ADD_REMOVE}'")
    return str(neighbours)


def _height(kernel: Kernel) -> float | None:
    """The value of a stationary kernel at distance zero; None for others."""
    if isinstance(kernel, Scaled):
        inner = _height(kernel.kernel)
        return None if inner is None else inner * kernel.factor
    if isinstance(kernel, Anisotropic):
        return _height(kernel.kernel)
    if isinstance(kernel, Tensor):
        heights = [_height(factor) for factor in kernel.factors]
        return None if None in heights else math.prod(height for height in heights if height is not None)
    return float(kernel([0.0], [0.0])[0, 0]) if isinstance(kernel, Isotropic) else None


def _never_negative(kernel: Kernel) -> bool:
    """Whether it is known that a kernel has no negative values."""
    if isinstance(kernel, Scaled | Anisotropic):
        return _never_negative(kernel.kernel)
    if isinstance(kernel, Tensor):
        return all(map(_never_negative, kernel.factors))
    # Positive definite and isotropic in every dimension: a mixture of Gaussians, where it is one of the package's own.
    return isinstance(kernel, Isotropic) and type(kernel).__module__.startswith("dpfda.kernels.")


def _rates(kernel: Kernel, box: Domain) -> tuple[float, ...]:
    """The rates of exponential kernels, one of each side."""
    factors = kernel.factors if isinstance(kernel, Tensor) else (kernel,)
    known = all(isinstance(factor, Exponential) or _is_half(factor) for factor in factors)
    if len(factors) != box.dimension or not known:
        raise UsageError(
            parameter="kernel",
            value=kernel,
            rule=f"must be exponential, or a Tensor of exponential kernels, one for each of {box.dimension} side(s)",
        )
    return tuple(1 / factor.rho for factor in factors)  # type: ignore[attr-defined]


def _is_half(kernel: Kernel) -> bool:
    return isinstance(kernel, Matern) and kernel.order == 0.5

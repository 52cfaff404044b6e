"""All bases that pass through the contract: a list, and whatever else is registered under a name; and quadrature."""

from __future__ import annotations

import numpy as np

from dpfda.arrays import Array
from dpfda.bases import (
    FAMILIES,
    FEATURE_MAPS,
    LEAST_SIZES,
    Basis,
    beam,
    bernstein,
    bspline,
    by_name,
    combined,
    contracted,
    cosine,
    fourier,
    legendre,
    mercer,
    reinsch,
    tensor,
)
from dpfda.kernels import BrownianBridge, BrownianMotion, Exponential, Gaussian, Matern, Periodic, Sobolev
from dpfda.kernels import Tensor as TensorKernel

UNIT = (0.0, 1.0)
SQUARE = [(0.0, 1.0), (-1.0, 2.0)]

MEMBERS: dict[str, Basis] = {
    "cosine": cosine(UNIT, 12),
    "cosine, one function": cosine(UNIT, 1),
    "cosine on a long interval": cosine((-20.0, 30.0), 7),
    "fourier, odd size": fourier(UNIT, 11),
    "fourier, even size": fourier((1.0, 1.5), 8),
    "legendre": legendre(UNIT, 12),
    "legendre on a short interval": legendre((2.0, 2.1), 6),
    "cubic splines": bspline(UNIT, 11),
    "linear splines": bspline((0.0, 24.0), 9, degree=1),
    "one piece of a spline": bspline(UNIT, 6, degree=5),
    "beam": beam(UNIT, 14),
    "beam, one function": beam(UNIT, 1),
    "beam on a long interval": beam((0.0, 24.0), 5),
    "reinsch": reinsch(UNIT, 14),
    "reinsch, three functions": reinsch(UNIT, 3),
    "reinsch on a long interval": reinsch((0.0, 24.0), 7),
    "bernstein": bernstein(UNIT, 9),
    "bernstein on another interval": bernstein((-1.0, 2.0), 6),
    "combinations": combined(cosine(UNIT, 4), np.array([[0.6, 0.0, 0.8, 0.0], [0.0, 1.0, 0.0, 0.0]])),
    "contracted": contracted(cosine(UNIT, 4), np.array([[0.6, 0.0, 0.7, 0.0], [0.0, 0.5, 0.0, 0.1]])),
    "combinations on a box": combined(tensor(cosine(UNIT, 2), cosine((-1.0, 2.0), 2)), [[0.8, -0.6, 0.0, 0.0]]),
    "exponential kernel": mercer(Exponential(0.3), UNIT, 12),
    "Matérn kernel of order 3/2": mercer(Matern(1.5, 0.3), (-1.0, 1.0), 10),
    "Matérn kernel of order 0.8": mercer(Matern(0.8, 0.5), UNIT, 6),
    "Gaussian kernel": mercer(Gaussian(0.1), UNIT, 8),
    "Sobolev kernel": mercer(Sobolev(2), UNIT, 8),
    "Brownian motion": mercer(BrownianMotion(), (0.0, 2.0), 9),
    "Brownian motion from 1 on": mercer(BrownianMotion(), (1.0, 3.0), 9),
    "Brownian bridge": mercer(BrownianBridge(2.0), (0.0, 2.0), 7),
    "scaled sum of kernels": mercer(0.5 * (Matern(1.5, 0.3) + Exponential(1.0)), UNIT, 7),
    "periodic kernel": mercer(Periodic(1.0, period=1.0), UNIT, 7),
    "products on a box": tensor(cosine((0.0, 1.0), 4), legendre((-1.0, 2.0), 4), size=9),
    "products in three dimensions": tensor(cosine(UNIT, 2), fourier((0.0, 2.0), 3), beam(UNIT, 2)),
    "bernstein on a box": tensor(bernstein((0.0, 1.0), 3), bernstein((-1.0, 2.0), 4)),
    "product of a product": tensor(tensor(cosine(UNIT, 2), cosine(UNIT, 2), size=3), cosine(UNIT, 2), size=5),
    "tensor kernel on a box": mercer(TensorKernel((Exponential(0.5), BrownianMotion())), [(0, 1), (0, 2)], 10),
    "Gaussian kernel on a box": mercer(Gaussian(0.5), SQUARE, 9),
    "Matérn kernel on a box": mercer(Matern(2.5, 1.0), SQUARE, 8),
}

# Also from outside: `pytest -p my_bases tests/bases/test_contract.py`.
LISTED = {basis.family for basis in MEMBERS.values()}
MEMBERS |= {
    f"registered {family}": by_name(family, UNIT, least + 5)
    for family, least in LEAST_SIZES.items()
    if family not in LISTED
}
# Steps jump, and feature maps are no bases of curves: tests/bases/test_steps.py and test_features.py hold them.
ELSEWHERE = {"steps", *FEATURE_MAPS}
UNTRIED = set(FAMILIES) - {basis.family for basis in MEMBERS.values()} - ELSEWHERE


def dense(basis: Basis) -> tuple[Array, Array]:
    """Points and weights of numpy's Gauss rule on many equal panels, breaking at the knots of all splines above."""
    panels, order = {1: (360, 20), 2: (12, 14), 3: (3, 10)}[basis.domain.dimension]
    x, w = np.polynomial.legendre.leggauss(order)
    unit = ((np.arange(panels)[:, None] + (x + 1) / 2) / panels).ravel()
    weights = np.tile(w / 2 / panels, panels)
    axes = [low + (high - low) * unit for low, high in basis.domain.sides]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    product = np.ones(1)
    for _ in axes:
        product = np.multiply.outer(product, weights).ravel()
    return points, product


def inside(basis: Basis, size: int, seed: int = 7) -> Array:
    """Random points, away from the ends, (size, p)."""
    lows, highs = np.array(basis.domain.sides).T
    return lows + (highs - lows) * np.random.default_rng(seed).uniform(0.02, 0.98, (size, basis.domain.dimension))

"""Finite families of functions: values to coordinates and back, evaluable anywhere.

To add one: its class with a `family` name and `@register` in a file of its own, and its lines here (import, `__all__`,
list of files); from outside the package, `@register` alone.

The files:

    base.py                what a basis is, and the table of families
    domain.py              the interval or box on which functions live
    projection.py          numerical integration, and values on a grid to coordinates
    trigonometric.py       cosines, and the Fourier basis
    demmler_reinsch.py     the default basis, and the modes of a free beam
    polynomial.py          Legendre and Bernstein polynomials
    spline.py              B-splines
    piecewise_constant.py  steps between public edges
    tensor.py              products of bases on a box
    combined.py            combinations of the functions of another basis
    contracted.py          combinations that are no longer than their coordinates
    mercer.py              eigenfunctions of a kernel
    known_spectra.py       kernels whose eigenfunctions are known in closed form
    galerkin.py            eigenfunctions of any kernel by polynomials
    features.py            feature maps of a kernel, for points
    cells.py               a fine public grid of cells, for densities
    lattice.py             the integer lattice on which units are clipped and summed
    symmetric.py           symmetric matrices as vectors

>>> basis = by_name("cosine", (0, 1), size=12)
>>> from_dict(basis.describe()) == basis
True
"""

from __future__ import annotations

import math

from dpfda.arrays import brief
from dpfda.bases.base import FAMILIES, FEATURE_MAPS, LEAST_SIZES, Basis, IntervalBasis, check_size, from_dict, register
from dpfda.bases.combined import combined
from dpfda.bases.contracted import contracted
from dpfda.bases.demmler_reinsch import beam, reinsch
from dpfda.bases.domain import Domain, DomainLike, as_domain
from dpfda.bases.features import fourier_features, landmarks, mercer_features
from dpfda.bases.mercer import mercer
from dpfda.bases.piecewise_constant import equal_steps, steps
from dpfda.bases.polynomial import bernstein, legendre
from dpfda.bases.spline import bspline
from dpfda.bases.tensor import tensor
from dpfda.bases.trigonometric import cosine, fourier
from dpfda.errors import UsageError

__all__ = [
    "FAMILIES",
    "FEATURE_MAPS",
    "LEAST_SIZES",
    "Basis",
    "Domain",
    "IntervalBasis",
    "as_domain",
    "beam",
    "bernstein",
    "bspline",
    "by_name",
    "combined",
    "contracted",
    "cosine",
    "equal_steps",
    "fourier",
    "fourier_features",
    "from_dict",
    "landmarks",
    "legendre",
    "mercer",
    "mercer_features",
    "register",
    "reinsch",
    "steps",
    "tensor",
]


def by_name(name: str, domain: DomainLike, size: int) -> Basis:
    """A basis by the name people type; on a box the smoothest products of that family on its sides.

    >>> by_name("cosine", [(0, 1), (0, 1)], size=10).size
    10
    """
    if not isinstance(name, str) or name not in LEAST_SIZES:
        known = ", ".join(sorted(LEAST_SIZES))
        raise UsageError(
            f"A basis is one of {known}, got {brief(name)}. Others are built by hand.", parameter="name", value=name
        )
    box = as_domain(domain)
    if box.dimension == 1:
        return FAMILIES[name](box, size)
    check_size(name, size)
    size = int(size)
    each = max(LEAST_SIZES[name], math.ceil(round(size ** (1 / box.dimension), 9)))
    return tensor(*(FAMILIES[name](Domain((interval,)), each) for interval in box.sides), size=size)

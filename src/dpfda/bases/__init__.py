"""Finite families of functions: values to coordinates and back, evaluable anywhere.

To add one: its class in a file of its own with a `family` name, its function in `FAMILIES` and in `__all__`.

>>> basis = by_name("cosine", (0, 1), size=12)
>>> from_dict(basis.describe()) == basis
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from dpfda.arrays import ArrayLike, brief, public_numbers, told
from dpfda.bases.base import Basis, IntervalBasis, check_size
from dpfda.bases.beam import beam
from dpfda.bases.combined import Combined
from dpfda.bases.domain import MOST_SIDES, Domain, DomainLike, as_domain
from dpfda.bases.features import (
    fourier_features,
    fourier_features_from_dict,
    landmarks,
    landmarks_from_dict,
    mercer_features,
    mercer_features_from_dict,
)
from dpfda.bases.mercer import mercer, mercer_from_dict
from dpfda.bases.piecewise_constant import equal_steps, steps
from dpfda.bases.polynomial import bernstein, legendre
from dpfda.bases.reinsch import reinsch
from dpfda.bases.spline import bspline
from dpfda.bases.tensor import MOST_PRODUCTS, Tensor, tensor
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
    "cosine",
    "equal_steps",
    "fourier",
    "fourier_features",
    "from_dict",
    "landmarks",
    "legendre",
    "mercer",
    "mercer_features",
    "reinsch",
    "steps",
    "tensor",
]


def tensor_from_dict(factors: list[Mapping[str, Any]], size: int) -> Tensor:
    """A product basis from plain data; what has too many products is refused before any factor is made."""
    if len(factors) > MOST_SIDES or math.prod(_stated_size(factor) for factor in factors) > MOST_PRODUCTS:
        raise UsageError(f"A product basis has at most {MOST_SIDES} factors with at most {MOST_PRODUCTS} products.")
    return tensor(*(from_dict(factor) for factor in factors), size=size)


def _stated_size(description: Mapping[str, Any]) -> int:
    """How many functions a description says that it has, at least one."""
    size = description.get("size") if isinstance(description, Mapping) else None
    return size if isinstance(size, int) and size > 0 else 1


def combined(whole: Basis, columns: ArrayLike) -> Combined:
    """Orthonormal combinations of basis functions, one in each row of `columns`, as a basis of their own."""
    table = public_numbers(columns, "Combinations of functions")
    if not isinstance(whole, Basis) or table.ndim != 2:
        raise UsageError(f"Combinations need a basis and one row for each, got {brief(whole)} and shape {table.shape}.")
    return Combined(whole, tuple(tuple(row) for row in table.tolist()))


def combined_from_dict(whole: Mapping[str, Any], columns: list[list[float]]) -> Combined:
    """Combinations from plain data."""
    return combined(from_dict(whole), columns)


# The functions that build a basis from the plain data of `describe`.
FAMILIES: dict[str, Callable[..., Basis]] = {
    "beam": beam,
    "bernstein": bernstein,
    "bspline": bspline,
    "combined": combined_from_dict,
    "cosine": cosine,
    "fourier": fourier,
    "fourier-features": fourier_features_from_dict,
    "landmarks": landmarks_from_dict,
    "legendre": legendre,
    "mercer": mercer_from_dict,
    "mercer-features": mercer_features_from_dict,
    "reinsch": reinsch,
    "steps": steps,
    "tensor": tensor_from_dict,
}
# Feature maps of a kernel: made for points, whose inner products they give, rather than for curves.
FEATURE_MAPS = ("fourier-features", "landmarks", "mercer-features")
# Those that a domain and a size determine, with the least size each needs on one side.
LEAST_SIZES: dict[str, int] = {
    "beam": 1,
    "bernstein": 1,
    "bspline": 4,
    "cosine": 1,
    "fourier": 1,
    "legendre": 1,
    "reinsch": 1,
}


def from_dict(description: Mapping[str, Any]) -> Basis:
    """The basis that `describe` wrote down.

    >>> from_dict({"family": "legendre", "domain": [[0, 1]], "size": 5}).size
    5
    """
    rest = dict(description) if isinstance(description, Mapping) else {}
    family = rest.pop("family", None)
    if not isinstance(family, str) or family not in FAMILIES:
        raise UsageError(f"A basis is one of the families {', '.join(sorted(FAMILIES))}, got {brief(family)}.")
    try:
        return FAMILIES[family](**rest)
    except TypeError as error:
        raise UsageError(
            f"This is no description of a {family} basis: {brief(description)} ({told(error)})."
        ) from error


def by_name(name: str, domain: DomainLike, size: int) -> Basis:
    """A basis by the name people type; on a box the smoothest products of that family on its sides.

    >>> by_name("cosine", [(0, 1), (0, 1)], size=10).size
    10
    """
    if not isinstance(name, str) or name not in LEAST_SIZES:
        known = ", ".join(sorted(LEAST_SIZES))
        raise UsageError(f"A basis is one of {known}, got {brief(name)}. Others are built by hand.")
    box = as_domain(domain)
    if box.dimension == 1:
        return FAMILIES[name](box, size)
    check_size(name, size)
    size = int(size)
    each = max(LEAST_SIZES[name], math.ceil(round(size ** (1 / box.dimension), 9)))
    return tensor(*(FAMILIES[name](Domain((interval,)), each) for interval in box.sides), size=size)

"""Kernels: the positive-definite functions behind noise processes, bases and kernel machines.

To add one: its class in a file of its own, one import here, one entry in `__all__`. Whatever class stands there can be
written to a file and read back.

>>> kernel = Matern(1.5, rho=0.2) + 0.1 * BrownianMotion()
>>> from_dict(describe(kernel)) == kernel
True
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from dpfda.kernels.anisotropic import Anisotropic
from dpfda.kernels.base import Isotropic, Kernel, OnLine, Product, Scaled, Sum, read, write
from dpfda.kernels.brownian import BrownianBridge, BrownianMotion
from dpfda.kernels.gaussian import Gaussian, RationalQuadratic
from dpfda.kernels.matern import Exponential, Matern
from dpfda.kernels.periodic import Periodic
from dpfda.kernels.sobolev import Sobolev
from dpfda.kernels.tensor import Tensor

__all__ = [
    "Anisotropic",
    "BrownianBridge",
    "BrownianMotion",
    "Exponential",
    "Gaussian",
    "Isotropic",
    "Kernel",
    "Matern",
    "OnLine",
    "Periodic",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "Sobolev",
    "Sum",
    "Tensor",
    "describe",
    "from_dict",
]


def describe(kernel: Kernel) -> dict[str, Any]:
    """Plain data, fit for JSON, from which `from_dict` builds an equal kernel.

    >>> describe(2.0 * Gaussian(rho=0.5))
    {'family': 'scaled', 'kernel': {'family': 'gaussian', 'rho': 0.5}, 'factor': 2.0}
    """
    return write(kernel, _FAMILIES)


def from_dict(data: Mapping[str, Any]) -> Kernel:
    """The kernel that `describe` wrote.

    >>> from_dict({"family": "matern", "order": 1.5, "rho": 0.2})
    Matern(order=1.5, rho=0.2)
    """
    return read(data, _FAMILIES)


# Isotropic, Kernel and OnLine are abstract: they have no values to write.
_FAMILIES: dict[str, type[Kernel]] = {
    name.lower(): value
    for name in __all__
    if isinstance(value := globals()[name], type) and not inspect.isabstract(value)
}

"""Kernels: the positive-definite functions behind noise processes, bases and kernel machines.

To add one: its class with `@register` in a file of its own, and its lines here (import, `__all__`, list of files);
from outside the package, `@register` alone. Whatever is registered can be written to a file and read back, and typed on
the command line if it says how.

The files:

    base.py         what a kernel is, the table of families, sums and products
    matern.py       Matérn kernels and the exponential kernel
    gaussian.py     the Gaussian kernel and the rational quadratic
    brownian.py     Brownian motion and bridge
    periodic.py     a periodic kernel
    sobolev.py      the kernels of Sobolev spaces
    anisotropic.py  length scales that differ by direction
    tensor.py       products over the axes of a box

>>> kernel = Matern(1.5, rho=0.2) + 0.1 * BrownianMotion()
>>> from_dict(describe(kernel)) == kernel
True
"""

from __future__ import annotations

from dpfda.kernels.anisotropic import Anisotropic
from dpfda.kernels.base import (
    BY_RANGE,
    FAMILIES,
    Isotropic,
    Kernel,
    OnLine,
    Product,
    Scaled,
    Sum,
    describe,
    example_of,
    from_dict,
    register,
)
from dpfda.kernels.brownian import BrownianBridge, BrownianMotion
from dpfda.kernels.gaussian import Gaussian, RationalQuadratic
from dpfda.kernels.matern import Exponential, Matern
from dpfda.kernels.periodic import Periodic
from dpfda.kernels.sobolev import Sobolev
from dpfda.kernels.tensor import Tensor

__all__ = [
    "BY_RANGE",
    "FAMILIES",
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
    "example_of",
    "from_dict",
    "register",
]

"""Come here for the tensor-product Laplace process of Lin and Reimherr (Appendix C.1) on second moments."""

from __future__ import annotations

import math

import numpy as np

from dpfda.arrays import Array
from dpfda.bases import Basis
from dpfda.planner.papers import WIDEST, eigenvalues_of, noise_basis, noise_kernel, parameters_of
from dpfda.planner.request import Request
from dpfda.symmetric import multiplicities, pack

TERMS = 12  # of each side; fewer where the grid is coarser

Process = tuple[Basis, tuple[float, ...], tuple[float, ...], tuple[tuple[str, str], ...]]


def tensor_process(request: Request, *, lead: bool) -> Process:
    """The kernel's basis, the penalty's weights on the entries, the shape of the noise, and why.

    Entry (j, l) of the second moment has noise proportional to `sqrt(lambda_j lambda_l)` after the weight `a = p/(p +
    penalty)`, `p = (lambda_j lambda_l)^eta`. The mean's row belongs to the eigenvalue 1, the largest there is.
    """
    kernel, why_kernel = noise_kernel(request)
    chosen, why_penalty = parameters_of(request, "iclp-qr", kernel)
    size = int(request.size if request.size is not None else min(request.grid_size or TERMS, TERMS))
    basis = noise_basis(request, kernel, size)
    eigenvalues = eigenvalues_of(basis) / eigenvalues_of(basis)[0]
    while True:
        both = np.concatenate([[1.0], eigenvalues]) if lead else eigenvalues
        weights, shape = _shapes(both, chosen.eta, chosen.penalty)
        if shape.max() <= WIDEST * shape.min() or len(eigenvalues) == 1:
            break
        eigenvalues = eigenvalues[:-1]
    if len(eigenvalues) < basis.size:
        basis = noise_basis(request, kernel, len(eigenvalues))
    reasons = (
        ("basis", f"the {basis.size} leading eigenfunctions of the noise, in pairs"),
        ("kernel", why_kernel),
        ("penalty", why_penalty),
    )
    return basis, tuple(weights.tolist()), tuple((shape / shape.min()).tolist()), reasons


def _shapes(eigenvalues: Array, eta: float, penalty: float) -> tuple[Array, Array]:
    products = pack(np.outer(eigenvalues, eigenvalues))
    powers = np.maximum(products**eta, 1e-300)
    weights = powers / (powers + penalty)
    # Off the diagonal an entry stands for two, and needs less noise by sqrt 2.
    halves = np.where(multiplicities(len(eigenvalues)) == 2, math.sqrt(0.5), 1.0)
    return weights, halves * np.sqrt(products) / weights

"""A mean penalised in the space of one kernel, under the Gaussian process of another."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfda import bases
from dpfda.arrays import Array
from dpfda.bases import Basis, contracted
from dpfda.bases.combined import Combined
from dpfda.errors import UsageError
from dpfda.kernels import Kernel
from dpfda.kernels.base import covariance_at
from dpfda.messages import arg

MOST_NODES = 4096  # at which a kernel is evaluated in pairs
RESOLVED = 1e-12  # of the largest: pivots below it are rounding


@dataclass(frozen=True, eq=False)
class Operator:
    """What turns noise in independent coordinates into a process with covariance C around a penalised mean.

    A is the smoother of the penalty, `a_j` on the j-th eigenfunction of its kernel, and `C^(-1/2) A` has the singular
    values r with right singular functions q. A curve x is encoded in the q, which are orthonormal; coordinate j has
    noise of deviation in proportion to `1 / r_j`, and decodes to the function `A q_j`: so `A x` plus the process. If x
    moves in a ball of diameter D, the whitened change is at most D times the largest r, the operator's norm, which is
    reached. What was cut off is a projection.
    """

    inner: Combined  # in which curves are encoded
    outer: Basis  # in which the release is a function
    ratios: Array  # (size,) singular values, largest first
    weights: Array  # what the penalty leaves of each eigenfunction of its kernel


def smoothed(kernel: Kernel, whole: Basis, weights: Array, *, widest: float) -> Operator:
    """The operator of a noise kernel and of weights on an orthonormal basis, as far as double precision tells it."""
    from scipy.linalg import solve_triangular

    points, shares = whole.nodes()
    if len(points) > MOST_NODES:
        raise UsageError(
            f"A penalty with a kernel of its own needs the noise kernel at {len(points)} points in pairs, more than "
            f"{MOST_NODES}. State a smaller ",
            arg("size"),
            ", or leave ",
            arg("penalty_kernel"),
            " out.",
            parameter="penalty_kernel",
        )
    # Functions whose eigenvalues are nothing but rounding have no weight, and are left out.
    table = whole.functions(points, (0,) * whole.domain.dimension)[:, : len(weights)] * shares[:, None]
    matrix = table.T @ covariance_at(kernel, points) @ table
    factor = _factor((matrix + matrix.T) / 2)
    size = len(factor)
    _, ratios, right = np.linalg.svd(solve_triangular(factor, np.diag(weights[:size]), lower=True))
    kept = int(np.sum(ratios * widest >= ratios[0]))
    rows = np.zeros((kept, whole.size))
    rows[:, :size] = right[:kept]
    left = np.zeros(whole.size)
    left[:size] = weights[:size]
    return Operator(bases.combined(whole, rows), contracted(whole, rows * left), ratios[:kept], left)


def _factor(matrix: Array) -> Array:
    """The Cholesky factor of the largest leading part that is positive definite in double precision."""
    from scipy.linalg import LinAlgError, cholesky

    for size in range(len(matrix), 0, -1):
        try:
            factor = np.asarray(cholesky(matrix[:size, :size], lower=True))
        except LinAlgError:
            continue
        pivots = factor.diagonal()
        if math.isfinite(float(factor.sum())) and float(pivots.min()) ** 2 > RESOLVED * float(pivots.max()) ** 2:
            return factor
    raise UsageError(
        "The noise kernel is zero, or no number, on the functions of the penalty's kernel.",
        parameter="kernel",
    )

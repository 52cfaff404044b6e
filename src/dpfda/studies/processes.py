"""Paths of noise processes, Gaussian or Laplace, drawn by the hundred. Nothing here is private."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from dpfda.arrays import Array, ArrayLike, brief
from dpfda.bases import Basis, mercer
from dpfda.bases.domain import DomainLike
from dpfda.bases.mercer import decompose
from dpfda.errors import UsageError
from dpfda.kernels import Kernel
from dpfda.mechanisms import SeededRandomness

Law = Literal["gaussian", "laplace"]
TERMS = 100


def draw_process(
    source: Kernel | Basis,
    points: ArrayLike,
    *,
    law: Law,
    size: int,
    terms: int | None = None,
    domain: DomainLike = (0.0, 1.0),
    randomness: SeededRandomness,
) -> Array:
    """Paths `sum_j sqrt(eigenvalue_j) x_j phi_j` with independent x_j of variance 1, (size, m).

    The source is a kernel, decomposed on the domain into so many terms (100 unless said), or a basis with eigenvalues,
    which has its own domain and takes all or the leading terms. Decompositions and tables of functions are kept.

    >>> from dpfda.kernels import Matern
    >>> draw_process(Matern(1.5, 0.1), [0.0, 0.5], law="laplace", size=3, randomness=SeededRandomness(1)).shape
    (3, 2)
    """
    if law not in get_args(Law):
        raise UsageError(f"The law of a process is one of {', '.join(get_args(Law))}, got {brief(law)}.")
    if size < 1:
        raise UsageError(f"At least one path must be drawn, got size {brief(size)}.")
    if not isinstance(randomness, SeededRandomness):
        raise UsageError(f"A study draws from SeededRandomness(seed), which is never private, got {brief(randomness)}.")
    table = process_table(source, points, terms=terms, domain=domain)
    shape = (size, len(table))
    return (randomness.normal(shape) if law == "gaussian" else randomness.laplace_variables(shape)) @ table


def process_table(
    source: Kernel | Basis, points: ArrayLike, *, terms: int | None = None, domain: DomainLike = (0.0, 1.0)
) -> Array:
    """Functions times roots of eigenvalues at points, read-only and kept for the next call, (terms, m).

    Terms whose eigenvalue is zero add nothing and are left out.
    """
    basis = mercer(source, domain, TERMS if terms is None else terms) if isinstance(source, Kernel) else source
    if not isinstance(basis, Basis) or basis.eigenvalues is None:
        raise UsageError(
            f"A process needs a kernel, or a basis with eigenvalues such as mercer(...), got {brief(source)}."
        )
    count = basis.size if terms is None else terms
    if not 1 <= count <= basis.size:
        raise UsageError(f"This basis has {basis.size} terms, got terms={brief(terms)}. Take a larger basis.")
    places = basis.domain.points(points)
    return _table(basis, places.tobytes(), places.shape, count)


@lru_cache(maxsize=16)
def _table(basis: Basis, points: bytes, shape: tuple[int, int], terms: int) -> Array:
    eigenvalues = np.asarray(basis.eigenvalues)[:terms]
    kept = int(np.sum(eigenvalues > 0))
    table: Array = basis.matrix(np.frombuffer(points).reshape(shape))[:, :kept] * np.sqrt(eigenvalues[:kept])
    table.flags.writeable = False
    return np.asarray(table.T)


def forget_processes() -> None:
    """Empty the caches of tables and of decompositions, so that the next draw pays for both."""
    _table.cache_clear()
    decompose.cache_clear()

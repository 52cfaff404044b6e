"""Designs that choose instead of adding noise: the exponential mechanism, and a dictionary."""

from __future__ import annotations

import numpy as np

from dpfda.arrays import Array
from dpfda.bases import Basis
from dpfda.bases.lattice import RADIUS
from dpfda.errors import UsageError
from dpfda.mechanisms import Dictionary, DictionaryDraw, Exponential, ExponentialDraw
from dpfda.messages import arg
from dpfda.planning.default_design import DEFAULT_BASIS, basis_of
from dpfda.planning.papers import TERMS, noise_basis, noise_kernel
from dpfda.planning.request import Design, Request, designs

DICTIONARY_SIZE = 64


@designs(ExponentialDraw)
def exponential(request: Request) -> Design:
    """Awan et al., Example 3.5: a function of the ball, drawn in proportion to `exp(-sum |X_i - b|^2 / scale)`.

    The base measure is the Gaussian process of a kernel, scaled so that its mean square is the bound's, and cut to the
    ball, where the sensitivity holds.
    """
    _public_size(request, "exponential")
    kernel, why = noise_kernel(request)
    basis = noise_basis(request, kernel, int(request.size or min(request.grid_size or TERMS, TERMS)))
    eigenvalues = np.asarray(basis.eigenvalues)
    if not (eigenvalues > 1e-12 * eigenvalues.sum()).all():
        basis = noise_basis(request, kernel, int(np.sum(eigenvalues > 1e-12 * eigenvalues.sum())))
        eigenvalues = np.asarray(basis.eigenvalues)
    prior = RADIUS * np.sqrt(eigenvalues / eigenvalues.sum())
    return Design(
        name="exponential",
        basis=basis,
        mechanism=Exponential(int(request.n), RADIUS, tuple(prior.tolist())),
        weights=None,
        least_scale=0.0,
        count_weight=0,
        reasons=(("basis", f"{basis.size} eigenfunctions of the base measure"), ("base measure", why)),
        smoothing=False,
    )


@designs(DictionaryDraw)
def dictionary(request: Request) -> Design:
    """Hall et al., Section 3.2: one of the user's candidate functions, the nearer to the mean the more likely."""
    _public_size(request, "dictionary")
    if not request.candidates:
        raise UsageError(
            arg("mechanism", "dictionary"),
            " chooses among candidates: say mechanism=dpfda.mechanisms.DictionaryDraw(candidates=[function, ...]), "
            "each a function of the points, e.g. lambda t: np.interp(t, grid, values). They must be public.",
            parameter="candidates",
        )
    basis, why = basis_of(request, min(request.grid_size or DICTIONARY_SIZE, DICTIONARY_SIZE), DEFAULT_BASIS)
    if not basis.orthonormal:
        raise UsageError(
            "A dictionary measures distances: take an orthonormal basis, e.g. 'cosine'.", parameter="basis"
        )
    table, rests = _coordinates(request, basis)
    steps = request.n * RADIUS / request.bound
    return Design(
        name="dictionary",
        basis=basis,
        mechanism=Dictionary(np.rint(table * steps).astype(np.int64), np.rint(rests * steps).astype(np.int64)),
        weights=None,
        least_scale=0.0,
        count_weight=0,
        reasons=(
            ("basis", why),
            ("candidates", f"{len(table)} public function{'s' * (len(table) > 1)}, stated by the user"),
        ),
        smoothing=False,
    )


def _coordinates(request: Request, basis: Basis) -> tuple[Array, Array]:
    """Coordinates of the candidates, (m, size), and the norms of what the basis leaves out, (m,)."""
    points, weights = basis.nodes()
    flat = points[:, 0] if points.shape[1] == 1 else points
    most = min(1e3, 2.0**62 / request.n / RADIUS)  # so that sums of n units stay within 64 bits
    rows = []
    for candidate in request.candidates or ():
        try:
            values = np.broadcast_to(np.asarray(candidate(flat), dtype=np.float64), len(points))
        except (TypeError, ValueError):
            values = np.full(len(points), np.nan)
        if not (np.abs(values) <= most * request.bound).all():
            raise UsageError(
                f"A candidate must give a finite number for each point, within {most:g} bounds of the centre.",
                parameter="candidates",
            )
        rows.append(values)
    values = np.array(rows)
    table = (values * weights) @ basis.matrix(points)
    rests = np.maximum(values**2 @ weights - np.sum(table**2, axis=1), 0.0)
    return table, np.sqrt(rests)


def _public_size(request: Request, name: str) -> None:
    if request.counted:
        raise UsageError(
            arg("mechanism", name),
            " needs the number of units to be public: use ",
            arg("neighbours", "replace-one"),
            ", or a mechanism that adds noise.",
            parameter="mechanism",
            value=name,
        )

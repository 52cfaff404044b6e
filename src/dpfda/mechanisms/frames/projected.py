"""Frames under the projected Gaussian measure: spans of normal vectors, weighted by `exp(tr V'AV)`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array, ArrayLike, public_numbers
from dpfda.errors import UsageError
from dpfda.mechanisms.base import check_source
from dpfda.mechanisms.frames.stiefel import (
    LARGEST_ENTRY,
    Pair,
    Single,
    accepted,
    check_count,
    check_matrix,
    draw_frames,
    fit_single,
    haar,
)
from dpfda.mechanisms.randomness import Randomness, SystemRandomness

MOST_PROPOSALS = 2_000_000  # without one acceptance
BINS = 6.0  # a bin of the mixing scale is this number over m wide, relative to the scale


def draw_projected(
    A: ArrayLike, precision: ArrayLike, k: int, size: int = 1, *, randomness: Randomness | None = None
) -> Array:
    """Independent orthonormal matrices with density `exp(tr V'AV) |V'PV|^(-m/2)` against Haar measure, (size, m, k).

    The base measure of Awan et al. (2019), Theorem 4.1: V is a uniform frame of the span of k independent vectors
    `N(0, P^-1)`. `precision` is P, a matrix or its diagonal; its scale does not matter. One component is drawn for any
    m. Several are drawn by rejection whose acceptance falls with m and with the spread of P: up to m = 6 or so it is
    no hindrance; where nothing is accepted in two million proposals, an error says so.
    """
    source = SystemRandomness() if randomness is None else randomness
    check_source(source)
    matrix = check_matrix(A)
    side = len(matrix)
    k = check_count(k, 1, side, "Frames have between 1 and {0} columns in {0} dimensions", "k")
    size = check_count(size, 1, None, "The number of draws is at least 1", "size")
    weights, axes = check_precision(precision, side)
    if k == side:
        return haar(size, side, source)
    rotated = axes.T @ matrix @ axes
    if k == 1:
        frames = _filtered(Mixture.of(rotated, weights).propose, size, source)
    else:
        frames = _filtered(_better_way(rotated, weights, k, source), size, source)
    # Proposals are uniform in their span or have one column: a rotation makes them so in either case.
    return np.asarray(axes @ frames @ haar(size, k, source))


def check_precision(precision: ArrayLike, side: int) -> tuple[Array, Array]:
    """Eigenvalues over the smallest, ascending with no meaning in their scale, and eigenvectors."""
    array = public_numbers(precision, "The precision of a base measure")
    if array.shape not in ((side,), (side, side)):
        raise UsageError(f"A precision is ({side}, {side}) or its diagonal, ({side},), got shape {array.shape}.")
    values, axes = (array, np.eye(side)) if array.ndim == 1 else np.linalg.eigh(check_matrix(array))
    if not (float(values.min()) > 0 and float(values.max()) <= LARGEST_ENTRY):
        raise UsageError(
            f"A precision must be positive definite with values up to {LARGEST_ENTRY:g}, its least is "
            f"{values.min():g} and its largest {values.max():g}. Leave out coordinates that have no variance."
        )
    return values / values.min(), axes


Way = Callable[[int, Randomness], Array]


def _filtered(way: Way, size: int, randomness: Randomness) -> Array:
    """So many of what a way of proposing gets accepted; it is never left running without end."""
    found: list[Array] = []
    missing, tried, kept = size, 0, 0
    while missing > 0:
        rate = (kept + 1) / (tried + 4)
        batch = min(max(64, math.ceil(1.1 * missing / rate)), 20_000)
        frames = way(batch, randomness)
        tried, kept = tried + batch, kept + len(frames)
        found.append(frames[:missing])
        missing -= len(found[-1])
        if not kept and tried >= MOST_PROPOSALS:
            raise UsageError(
                f"None of {tried} proposals was accepted under the projected Gaussian measure. Take fewer coordinates, "
                "one component, or the Bingham form of the base measure."
            )
    return np.concatenate(found)


def _better_way(matrix: Array, weights: Array, k: int, randomness: Randomness) -> Way:
    """The way that a pilot accepts more of: its own random numbers decide, so what is drawn afterwards stays exact."""
    ways = (_by_jensen(matrix, weights, k), _by_whitening(matrix, weights, k))
    pilots = [float(np.mean(np.exp(way(200, randomness)[1]))) for way in ways]
    best = ways[int(np.argmax(pilots))]

    def propose(size: int, source: Randomness) -> Array:
        frames, log_accept = best(size, source)
        return frames[accepted(log_accept, source)]

    return propose


Weighted = Callable[[int, Randomness], tuple[Array, Array]]


def _by_jensen(matrix: Array, weights: Array, k: int) -> Weighted:
    """Frames with `A - (m/2) log P` in place of A: `log|V'PV| >= tr V' log(P) V` by operator Jensen."""
    half, logs = len(weights) / 2, np.log(weights)

    def propose(size: int, randomness: Randomness) -> tuple[Array, Array]:
        frames = draw_frames(matrix - np.diag(half * logs), k, size, randomness=randomness)
        gram = frames.transpose(0, 2, 1) @ (weights[:, None] * frames)
        below = np.einsum("nia,i,nia->n", frames, logs, frames)
        return frames, -half * (np.linalg.slogdet(gram)[1] - below)

    return propose


def _by_whitening(matrix: Array, weights: Array, k: int) -> Weighted:
    """Uniform frames U of `P^(1/2)` times the span: the exponent is `-tr (U'CU)^-1 U'BU`, and `U'CU` is at most I.

    `C = P^-1` with largest value 1 and `B = C^(1/2) (max eig(A) - A) C^(1/2)`: U is proposed with `exp(-tr U'BU)`.
    """
    roots = 1 / np.sqrt(weights)
    excess = np.linalg.eigvalsh(matrix)[-1] * np.eye(len(weights)) - matrix
    whitened = roots[:, None] * excess * roots

    def propose(size: int, randomness: Randomness) -> tuple[Array, Array]:
        uniform = draw_frames(-whitened, k, size, randomness=randomness)
        turned = uniform.transpose(0, 2, 1)
        above = np.linalg.inv(turned @ (roots[:, None] ** 2 * uniform)) - np.eye(k)
        log_accept = -np.einsum("nab,nba->n", above, turned @ whitened @ uniform)
        return np.linalg.qr(roots[:, None] * uniform)[0], np.minimum(log_accept, 0.0)

    return propose


@dataclass(frozen=True, slots=True)
class Mixture:
    """One component: `u^(-m/2)` is a mixture of `exp(-s u/2)` with weights `s^(m/2-1)`, and for each s a Bingham law.

    Bins of s are narrow and each has the law of its lower end; within a bin s is uniform and what is left decides. The
    envelopes' integrals are known, so bins are chosen with the right weights.
    """

    edges: Array  # (bins + 1,); the last bin has no end
    chances: Array  # (bins + 1,)
    laws: tuple[tuple[Single | Pair, Array], ...]  # and where its coordinates stand: columns are eigenvectors
    weights: Array

    @staticmethod
    def of(matrix: Array, weights: Array) -> Mixture:
        """The mixture for a matrix A and the precisions of the normal vectors."""
        side = len(weights)
        # From where s u is small for every u to where even the least u = 1 leaves almost nothing.
        low, high = 1.0 / float(weights.max()), 4.0 * side + 40.0
        count = math.ceil(math.log(high / low) * side / BINS) + 1
        edges = np.concatenate([[0.0], np.geomspace(low, high, count)])
        laws, masses = [], []
        for place, edge in enumerate(edges):
            values, vectors = np.linalg.eigh(matrix - 0.5 * edge * np.diag(weights))
            values, vectors = values[::-1], vectors[:, ::-1]
            law = fit_single(values[0] - values[1:])
            laws.append((law, vectors))
            power = side / 2 - 1
            if place + 1 < len(edges):
                # The largest value of s^power in the bin; for m = 1 and 2 there is no or one component only.
                mass = power * math.log(edges[place + 1]) + math.log(edges[place + 1] - edge)
            else:
                mass = power * math.log(edge) - math.log(0.5 - power / edge)
            masses.append(values[0] + law.volume + mass)
        chances = np.exp(np.array(masses) - max(masses))
        return Mixture(edges, chances / chances.sum(), tuple(laws), weights)

    def propose(self, size: int, randomness: Randomness) -> Array:
        """What is accepted of so many proposals, (at most size, m, 1)."""
        ends = np.cumsum(self.chances)
        bins = np.minimum(np.searchsorted(ends, randomness.uniform((size,)) * ends[-1]), len(ends) - 1)
        found = [np.empty((0, len(self.weights)))]
        power = len(self.weights) / 2 - 1
        for place in np.unique(bins):
            law, vectors = self.laws[place]
            rows = law.propose(int(np.sum(bins == place)), randomness) @ vectors.T
            squares = rows**2 @ self.weights
            edge, uniform = self.edges[place], randomness.uniform((len(rows),))
            if place + 1 < len(self.edges):
                top = self.edges[place + 1]
                scale = edge + (top - edge) * uniform
                accept = power * np.log(scale / top) - (scale - edge) * squares / 2
            else:
                rate = 0.5 - power / edge
                scale = edge - np.log(uniform) / rate
                accept = power * np.log(scale / edge) - (scale - edge) * (squares / 2 - rate)
            found.append(rows[accepted(accept, randomness)])
        # In random order: bins were chosen in one, and what is taken from the front must not favour any.
        rows = np.concatenate(found)
        return rows[np.argsort(randomness.uniform((len(rows),)))][:, :, None]

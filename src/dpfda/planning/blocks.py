"""How pure epsilon is divided: blocks of coordinates and their shares."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np

from dpfda.arrays import Array

BLOCK = 12  # one proposal in twenty is accepted; larger blocks gain a percent or two and cost ten times the draws
SHAPES = (0.0, 0.25)  # exponents p of design weights j^-p; steeper ones starve the coordinates of rough curves
MOST_COORDINATES = 1024


def optimal_blocks(weights: Array) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Contiguous blocks of at most twelve coordinates with the least `sum_b sqrt((M_b+1) sum a_j^2)`, and its terms."""
    squares = np.concatenate([[0.0], np.cumsum(weights**2)])
    start, _ = _cuts(squares)
    sizes: list[int] = []
    end = len(weights)
    while end > 0:
        sizes.insert(0, int(end - start[end]))
        end = int(start[end])
    edges = np.cumsum([0, *sizes])
    terms = [math.sqrt((high - low + 1) * (squares[high] - squares[low])) for low, high in itertools.pairwise(edges)]
    return tuple(sizes), tuple(terms)


def _cuts(squares: Array) -> tuple[list[int], list[float]]:
    """By dynamic programming: where the last block before each end starts, and the least sum up to there."""
    least, start = [0.0], [0]
    for end in range(1, len(squares)):
        begins = np.arange(max(0, end - BLOCK), end)
        costs = np.array(least[begins[0] :]) + np.sqrt((end - begins + 1) * (squares[end] - squares[begins]))
        best = int(np.argmin(costs))
        least.append(float(costs[best]))
        start.append(int(begins[best]))
    return start, least


def variances(weights: Array) -> Array:
    """Noise variances of the coordinates under the optimal blocks, for a change of at most epsilon, (size,)."""
    sizes, terms = optimal_blocks(weights)
    # A share e_b with e_b^2 = t_b / sum t gives block b the scale 1/e_b, and each coordinate M_b + 1 times its square.
    return np.repeat([(m + 1) * sum(terms) / term for m, term in zip(sizes, terms, strict=True)], sizes)


def shape_weights(size: int, exponent: float) -> Array:
    """How much each coordinate is expected to matter, for sharing out pure epsilon: `j^-p`, (size,)."""
    return np.arange(1, size + 1, dtype=np.float64) ** -exponent


@lru_cache(maxsize=256)
def best_shape(resolution: float, dimension: int, size: int | None, most: int) -> tuple[int, float]:
    """The size and the exponent of the shape with the least error over the default class; `resolution` is n epsilon.

    The error is that of the best linear smoothing in the worst case (`prediction.linear_minimax`), at replace-one
    neighbours. It is adaptive afterwards: smoothing is chosen from the noisy coordinates.
    """
    from dpfda.planning.prediction import DEFAULT_CLASS, linear_minimax

    middle = resolution ** (dimension / (dimension + 1))
    around = {round(middle * factor) for factor in np.geomspace(0.4, 1.6, 33)}
    sizes = [size] if size is not None else sorted({min(max(1, k), most) for k in around})
    found = []
    for k in sizes:
        frequencies = np.arange(k, dtype=np.float64) ** (1 / dimension)
        edge = float(k) ** (1 / dimension)
        for exponent in SHAPES:
            noise = variances(shape_weights(k, exponent)) * (2 / resolution) ** 2
            found.append((sum(linear_minimax(noise, frequencies, edge, DEFAULT_CLASS)), k, exponent))
    _, best, exponent = min(found)
    return best, exponent

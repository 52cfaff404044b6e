"""A density between nodes: exact integrals, distribution, quantiles, moments, synthetic records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpfda.arrays import Array, ArrayLike, Integers, as_points, brief, is_whole, public_numbers
from dpfda.bases import Domain
from dpfda.bases.domain import MOST_ASKED, check_asked
from dpfda.errors import UsageError

BATCH = 2**22  # numbers held at a time when records are drawn, or points asked for
MOST_WEIGHTS, MOST_PRODUCTS = 2**30, 2**36  # in one call: some seconds
MOST_RECORDS = 10_000_000  # drawn at a time; more are drawn in several calls


@dataclass(frozen=True, eq=False)
class Mesh:
    """A density that is linear between nodes along each side: nowhere negative, with integral one.

    All that it tells is exact for this function. Where two nodes of a side are equal it jumps there.
    """

    axes: tuple[Array, ...]  # nodes of each side, increasing, with both ends of the domain
    values: Array  # (nodes of the first side, ..., of the last), in the units of the domain

    @cached_property
    def domain(self) -> Domain:
        return Domain(tuple((float(nodes[0]), float(nodes[-1])) for nodes in self.axes))

    def __call__(self, points: ArrayLike) -> Array:
        """Values at points of the domain, (m,); a single number gives a single number."""
        found = self._weighed(_interpolation, self.domain.points(points))
        return found[0] if np.ndim(points) == 0 else found

    def distribution(self, points: ArrayLike) -> Array:
        """The probability of lying below a point in every coordinate, (m,); outside the domain too."""
        rows = self._anywhere(points)
        found = np.clip(self._weighed(_below, rows), 0.0, 1.0)
        return found[0] if np.ndim(points) == 0 else found

    def integral(self, low: ArrayLike | None = None, high: ArrayLike | None = None) -> float:
        """The probability of the interval or box from low to high, by default of the whole domain, which is one."""
        starts, ends = np.array(self.domain.sides).T
        first = starts[None, :] if low is None else self._anywhere(low)
        last = ends[None, :] if high is None else self._anywhere(high)
        if first.shape != (1, len(self.axes)) or last.shape != first.shape or (first > last).any():
            raise UsageError(f"An integral goes from one lower to one upper end, got {brief(low)} to {brief(high)}.")
        within = [
            _below(nodes, end) - _below(nodes, start)
            for nodes, start, end in zip(self.axes, first.T, last.T, strict=True)
        ]
        return float(np.clip(self._contract(within)[0], 0.0, 1.0))

    def quantile(self, probabilities: ArrayLike) -> Array:
        """Where the distribution function reaches a probability, on a line, (m,)."""
        if len(self.axes) > 1:
            raise UsageError(
                f"Quantiles belong to a line; this density has {len(self.axes)} sides. Take marginal(axis).quantile()."
            )
        given = public_numbers(probabilities, "Probabilities")
        check_asked(given.size, what="probabilities")
        wanted = np.atleast_1d(given)
        if wanted.ndim > 1 or not ((wanted >= 0) & (wanted <= 1)).all():
            raise UsageError(f"Quantiles are for probabilities from 0 to 1, got {brief(probabilities)}.")
        found = _inverse_shared(self.axes[0], self.values, wanted)
        return found[0] if given.ndim == 0 else found

    def marginal(self, axis: int) -> Mesh:
        """The density of one coordinate."""
        if not is_whole(axis, 0, len(self.axes) - 1):
            raise UsageError(
                f"This density has sides 0 to {len(self.axes) - 1}, got {brief(axis)}.", parameter="axis", value=axis
            )
        return Mesh((self.axes[axis],), _summed(self.axes, self.values, keep=axis))

    def mean(self) -> Array:
        """The mean of each coordinate, (p,); a number on a line."""
        return self._alone(np.array([self._moment(axis, 1, 0.0) for axis in range(len(self.axes))]))

    def variance(self) -> Array:
        """The variance of each coordinate, (p,); a number on a line."""
        means = np.atleast_1d(self.mean())
        return self._alone(np.array([self._moment(axis, 2, means[axis]) for axis in range(len(self.axes))]))

    def sample(self, size: int, *, seed: int | None = None) -> Array:
        """Synthetic records, (size, p), on a line (size,): the density is public, and so are they; a seed repeats them.

        One coordinate after the other, each by inverting its distribution given those before it.
        """
        if not is_whole(size, 0, MOST_RECORDS):
            raise UsageError(
                f"The number of records to draw is a whole number, at least 0, got {brief(size)}. The most at a "
                f"time is {MOST_RECORDS}.",
                parameter="size",
                value=size,
            )
        if seed is not None and not is_whole(seed, 0, 2**128):
            raise UsageError(
                f"A seed is None or a whole number from 0 to 2^128, got {brief(seed)}.", parameter="seed", value=seed
            )
        # No noise of a mechanism: whoever has the release may draw, and need not hide how.
        uniforms = np.random.default_rng(seed).random((int(size), len(self.axes)))
        if len(self.axes) == 1:
            return _inverse_shared(self.axes[0], self.values, uniforms[:, 0])
        records = np.empty_like(uniforms)
        first = _summed(self.axes, self.values, keep=0)
        records[:, 0] = _inverse_shared(self.axes[0], first, uniforms[:, 0])
        step = max(1, BATCH // self.values[0].size)
        for start in range(0, len(records), step):
            part = slice(start, start + step)
            records[part] = self._rest(records[part, :1], uniforms[part])
        return records

    def blurred(self, bandwidth: ArrayLike) -> Mesh:
        """The density after adding Gaussian noise of this deviation along each side, reflected at the ends."""
        given = public_numbers(bandwidth, "Bandwidths")
        widths = np.full(len(self.axes), float(given)) if given.ndim == 0 else given
        if widths.shape != (len(self.axes),) or not (np.isfinite(widths) & (widths > 0)).all():
            raise UsageError(
                f"A bandwidth is a positive number, or one for each side, got {brief(bandwidth)}.",
                parameter="bandwidth",
                value=bandwidth,
            )
        values = self.values
        for axis, (nodes, width) in enumerate(zip(self.axes, widths, strict=True)):
            values = np.moveaxis(np.tensordot(_blur(nodes, float(width)), values, (1, axis)), 0, axis)
        return Mesh(self.axes, values / float(np.sum(values * node_weights(self.axes))))

    def _rest(self, known: Array, uniforms: Array) -> Array:
        """The other coordinates given the first, (m, 1) -> (m, p)."""
        columns = [known[:, 0]]
        slices = self.values
        weights = _interpolation(self.axes[0], columns[0])
        slices = np.tensordot(weights, slices, (1, 0))  # (m, nodes of the second side, ...)
        for axis in range(1, len(self.axes)):
            alone = slices
            for later in range(len(self.axes) - 1, axis, -1):
                alone = alone @ _widths(self.axes[later])
            columns.append(_inverse_each(self.axes[axis], alone, uniforms[:, axis]))
            slices = np.einsum("mi,mi...->m...", _interpolation(self.axes[axis], columns[-1]), slices)
        return np.stack(columns, axis=1)

    def _moment(self, axis: int, power: int, around: float) -> float:
        nodes, values = self.axes[axis], _summed(self.axes, self.values, keep=axis)
        middle, half = (nodes[1:] + nodes[:-1]) / 2, np.diff(nodes) / 2
        total = 0.0
        # Two Gauss nodes are exact for polynomials up to degree three: a line times a square.
        for side in (-(3**-0.5), 3**-0.5):
            density = values[:-1] * (1 - side) / 2 + values[1:] * (1 + side) / 2
            total += float(np.sum(half * density * (middle + side * half - around) ** power))
        return total

    def _alone(self, numbers: Array) -> Array:
        return numbers[0] if len(self.axes) == 1 else numbers

    def _anywhere(self, points: ArrayLike) -> Array:
        rows = as_points(points, len(self.axes))
        check_asked(len(rows))
        if np.isnan(rows).any():
            raise UsageError("Points must be numbers, got NaN among them.")
        lows, highs = np.array(self.domain.sides).T
        return np.clip(rows, lows, highs)

    def _weighed(self, weigh: Callable[[Array, Array], Array], rows: Array) -> Array:
        """Sums of all values with weights that depend on the points, some points at a time, (m, p) -> (m,)."""
        width, products = sum(map(len, self.axes)), self.values.size
        check_asked(len(rows), min(MOST_ASKED, MOST_WEIGHTS // width, MOST_PRODUCTS // products))
        step = max(1, BATCH // width)
        parts = []
        for start in range(0, max(len(rows), 1), step):
            columns = rows[start : start + step].T
            parts.append(self._contract([weigh(nodes, each) for nodes, each in zip(self.axes, columns, strict=True)]))
        return np.concatenate(parts)

    def _contract(self, weights: list[Array]) -> Array:
        """Sums of all values with weights for each side, each (m, nodes) -> (m,)."""
        step = max(1, BATCH // max(self.values[0].size, 1))
        parts = []
        for start in range(0, max(len(weights[0]), 1), step):
            part = slice(start, start + step)
            found = np.tensordot(weights[0][part], self.values, (1, 0))
            for each in weights[1:]:
                found = np.einsum("mi,mi...->m...", each[part], found)
            parts.append(found)
        return np.concatenate(parts)


def _places(nodes: Array, points: Array) -> tuple[Integers, Array, Array]:
    """For each point the node below it, the width to the next one, and the share of it that lies below, each (m,)."""
    below = np.clip(np.searchsorted(nodes, points, side="right") - 1, 0, len(nodes) - 2).astype(np.int64)
    width = nodes[below + 1] - nodes[below]
    return below, width, np.clip((points - nodes[below]) / width, 0.0, 1.0)


def _interpolation(nodes: Array, points: Array) -> Array:
    """How much of each node's value a point has, (m, nodes)."""
    below, _, share = _places(nodes, points)
    table, rows = np.zeros((len(points), len(nodes))), np.arange(len(points))
    table[rows, below], table[rows, below + 1] = 1 - share, share
    return table


def _below(nodes: Array, points: Array) -> Array:
    """The integral up to a point of the function that is one at a node and falls to zero at its neighbours."""
    below, width, share = _places(nodes, points)
    steps = np.where(np.arange(len(nodes) - 1) < below[:, None], np.diff(nodes), 0.0)
    table, rows = np.zeros((len(points), len(nodes))), np.arange(len(points))
    table[:, :-1] += steps / 2
    table[:, 1:] += steps / 2
    table[rows, below] += width * (share - share**2 / 2)
    table[rows, below + 1] += width * share**2 / 2
    return table


def _widths(nodes: Array) -> Array:
    """The integral of each node's function: half of the gaps beside it, (nodes,)."""
    gaps = np.diff(nodes) / 2
    return np.pad(gaps, (0, 1)) + np.pad(gaps, (1, 0))


def node_weights(axes: tuple[Array, ...]) -> Array:
    """By which values at the nodes are multiplied to give their integral, in the shape of the values."""
    weights = _widths(axes[0])
    for nodes in axes[1:]:
        weights = weights[..., None] * _widths(nodes)
    return weights


def _summed(axes: tuple[Array, ...], values: Array, *, keep: int) -> Array:
    """Values integrated along all sides but one, (nodes of that side,)."""
    for axis in range(len(axes) - 1, -1, -1):
        if axis != keep:
            values = np.tensordot(values, _widths(axes[axis]), (axis, 0))
    return values


def _inverse_shared(nodes: Array, values: Array, probabilities: Array) -> Array:
    """Quantiles of one density that is linear between nodes, (m,)."""
    masses = np.diff(nodes) * (values[1:] + values[:-1]) / 2
    cumulated = np.concatenate([[0.0], np.cumsum(masses)])
    wanted = probabilities * cumulated[-1]
    piece = np.clip(np.searchsorted(cumulated, wanted, side="left") - 1, 0, len(masses) - 1)
    return _within(nodes, piece, values[piece], values[piece + 1], wanted - cumulated[piece])


def _inverse_each(nodes: Array, values: Array, probabilities: Array) -> Array:
    """One quantile of each of many densities that are linear between the same nodes, (m, nodes), (m,) -> (m,)."""
    masses = np.diff(nodes) * (values[:, 1:] + values[:, :-1]) / 2
    cumulated = np.concatenate([np.zeros((len(values), 1)), np.cumsum(masses, axis=1)], axis=1)
    wanted = probabilities * cumulated[:, -1]
    piece = np.clip((cumulated < wanted[:, None]).sum(axis=1) - 1, 0, masses.shape[1] - 1)
    rows = np.arange(len(values))
    return _within(nodes, piece, values[rows, piece], values[rows, piece + 1], wanted - cumulated[rows, piece])


def _within(nodes: Array, piece: Integers, left: Array, right: Array, mass: Array) -> Array:
    """Where in its piece a density that goes straight from left to right has collected a mass."""
    width = np.diff(nodes)[piece]
    # The root of `left t + (right - left) t^2/2 = mass/width`, written without a difference of like numbers.
    density = np.divide(mass, width, out=np.zeros_like(mass), where=width > 0)
    root = np.sqrt(np.maximum(left**2 + 2 * (right - left) * density, 0.0))
    share = np.divide(2 * density, left + root, out=np.zeros_like(mass), where=left + root > 0)
    places: Array = nodes[piece] + width * np.clip(share, 0.0, 1.0)
    return places


def _blur(nodes: Array, width: float) -> Array:
    """What nodes get of each other's values under a Gaussian of this deviation that both ends reflect, (m, m)."""
    low, high = nodes[0], nodes[-1]
    # Flat to all digits beyond the one end, and unchanged to all digits below the other.
    width = float(np.clip(width, 1e-9 * (high - low), 4 * (high - low)))
    turns = int(np.ceil(4 * width / (high - low))) + 1
    table = np.zeros((len(nodes), len(nodes)))
    for turn in range(-turns, turns + 1):
        for image in (nodes, 2 * low - nodes):
            gaps = nodes[:, None] - (image[None, :] + 2 * turn * (high - low))
            table += np.exp(-0.5 * np.minimum(np.abs(gaps / width), 50.0) ** 2)  # less than any double from there on
    table *= _widths(nodes)
    # Each node hands on what it has, no more and no less: the integral stays as it was.
    handed = _widths(nodes) @ table
    return table * (_widths(nodes) / handed)


def proper(axes: tuple[Array, ...], values: Array) -> Mesh:
    """The density nearest in mean square to values at the nodes of a mesh: `max(values - c, 0)`, c by its integral.

    Densities are a convex set, so that it is at least as near to each of them as the values were: the projection
    never adds to the error.
    """
    level, total = level_of(axes, values)
    return Mesh(axes, np.maximum(values - level, 0.0) / total)


def level_of(axes: tuple[Array, ...], values: Array) -> tuple[float, float]:
    """The c of `proper`, and the integral of what stays, which is one but for rounding."""
    weights = node_weights(axes)
    flat, widths = values.ravel(), weights.ravel()
    order = np.argsort(-flat, kind="stable")
    mass, width = np.cumsum((flat * widths)[order]), np.cumsum(widths[order])
    with np.errstate(divide="ignore", invalid="ignore"):
        levels = (mass - 1) / width  # what has to be taken off if these are all that stay
    stays = (flat[order] > levels) & (width > 0)
    last = int(np.flatnonzero(stays)[-1])
    level = float(levels[last])
    return level, float(np.sum(np.maximum(values - level, 0.0) * weights))

"""The minimiser of a regularised risk, and a proof of how far from it the solver stopped."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array
from dpfda.kernels import Kernel
from dpfda.statistics.machines.losses import Loss, Smooth

ROUND = 2.0**-53
STEPS = 200  # Newton steps for one width; about ten are taken
HALVINGS = 60
ROUNDS = 100  # of smoothing less; about ten are taken
AGAIN = 10  # times as many Newton steps for a loss that bends sharply and has no kink; one is enough as a rule
NARROWEST = 1e-7  # in units of t; below it slopes would lose their digits
FIRST_PART = 2000  # records that a first guess is made from


@dataclass(frozen=True, eq=False)
class Minimum:
    """Weights, the slope of the loss at each record, and a proven bound on the distance to the exact minimiser."""

    weights: Array  # (p,)
    slopes: Array  # (n,) with respect to predictions
    distance: float


def tolerance_of(loss: Loss, *, penalty: float, reach: float, units: float, size: int, moved: float) -> float:
    """A public distance that the solver always proves: a hundredth of how far a unit moves the minimum, or rounding.

    The second part is what double precision costs for large n and small penalties: roundings of predictions by
    `delta = size 2^-53 reach |w|` cost a loss with a kink, or nearly one, up to `M delta`, and so the root of that over
    the penalty; those of the gradient's sum `units 2^-53 M reach / (2 penalty)`.
    """
    longest = loss.longest(penalty, reach)
    slopes = loss.lipschitz * reach / (2 * penalty)
    of_sums = (units + size + 100) * ROUND * slopes
    of_predictions = math.sqrt(loss.lipschitz * (size + 8) * ROUND * reach * longest / penalty) if loss.steep else 0.0
    return max(moved / 100, 4 * (of_predictions + of_sums))


def minimise(
    features: Array, targets: Array, shares: Array, *, loss: Loss, penalty: float, tolerance: float
) -> Minimum:
    """The minimiser of `sum_i shares[i] loss(w'z_i, y_i) + penalty |w|^2`, to a proven distance.

    Newton's method with a line search, which converges for every convex loss with Lipschitz slopes. A loss with a kink
    is smoothed, over less and less, around the slopes last found (the method of multipliers), until the proof holds for
    the loss itself: with slopes g and weights
    `w_g = -sum_i shares[i] g_i z_i / (2 penalty)`, the duality gap is `sum_i shares[i] excess_i + penalty |w - w_g|^2`,
    a sum of terms that are not negative, and `penalty |w - w*|^2` is at most that. Whatever the data, something is
    proven; that it is as little as `tolerance_of` says holds for duplicates, contradictions and no data at all.
    """
    weights = np.zeros(features.shape[1])
    if len(features) > 2 * FIRST_PART:
        # Every k-th record, weighed k times: a guess from which few steps over all of them remain.
        part = slice(None, None, len(features) // FIRST_PART)
        guess = shares[part] * (shares.sum() / max(shares[part].sum(), 1e-300))
        few = _Problem(features[part], targets[part], guess, loss, penalty)
        weights = few.descend(weights, loss.smooth(len(few.targets)), 10 * tolerance)
    for easier in loss.easier():
        near = _Problem(features, targets, shares, easier, penalty)
        weights = near.descend(weights, easier.smooth(len(features)), tolerance)
    problem, smooth = _Problem(features, targets, shares, loss, penalty), loss.smooth(len(features))
    best = Minimum(weights, np.zeros(len(features)), math.inf)
    # Predictions are nowhere larger than this: with a large penalty far smaller than the units of t.
    longest = float(np.sqrt(np.einsum("ij,ij->i", features, features).max(initial=0.0)))
    largest = loss.lipschitz * longest**2 * float(shares.sum()) / (2 * penalty)
    narrowest = NARROWEST * min(loss.scale, max(largest, 1e-9 * loss.scale))
    enough = tolerance / 4
    for _ in range(ROUNDS if loss.kinked else AGAIN if loss.steep else 1):
        weights = problem.descend(weights, smooth, enough)
        found, own = problem.proven(weights, smooth)
        best = min(best, found, key=lambda minimum: minimum.distance)
        if best.distance <= tolerance:
            break
        # Around its own slopes the smoothed loss has the minimiser of the loss itself: width is for speed alone.
        smooth = Smooth(max(smooth.width / 8, narrowest), own)
        enough = max(enough / 2, tolerance / 2**12)
    return best


@dataclass(frozen=True, eq=False)
class _Problem:
    features: Array  # (n, p)
    targets: Array  # (n,)
    shares: Array  # (n,)
    loss: Loss
    penalty: float

    def _risk(self, predictions: Array, weights: Array, smooth: Smooth) -> float:
        losses = self.loss.value(self.loss.argument(predictions, self.targets), smooth)
        return float(self.shares @ losses + self.penalty * (weights @ weights))

    def _slopes(self, predictions: Array, smooth: Smooth) -> Array:
        slopes = self.loss.slope(self.loss.argument(predictions, self.targets), smooth)
        return slopes * self.loss.direction(self.targets)

    def descend(self, weights: Array, smooth: Smooth, enough: float) -> Array:
        """Newton's method for the smoothed loss, until its own minimiser is at most `enough` away, or cannot be."""
        predictions = self.features @ weights
        risk = self._risk(predictions, weights, smooth)
        for _ in range(STEPS):
            slopes = self._slopes(predictions, smooth)
            gradient = self.features.T @ (self.shares * slopes) + 2 * self.penalty * weights
            # Strongly convex with modulus twice the penalty.
            if math.sqrt(gradient @ gradient) <= 2 * self.penalty * enough:
                break
            step = -self._newton(gradient, predictions, smooth)
            along, slope = self.features @ step, float(gradient @ step)
            moved = _line_search(self, predictions, weights, along, step, risk, slope, smooth)
            if moved is None:
                break
            size, risk = moved
            weights, predictions = weights + size * step, predictions + size * along
        return weights

    def _newton(self, gradient: Array, predictions: Array, smooth: Smooth) -> Array:
        from scipy.linalg import cho_factor, cho_solve

        curvature = self.shares * self.loss.curvature(self.loss.argument(predictions, self.targets), smooth)
        bent = np.flatnonzero(curvature > 0)
        rows = self.features[bent] * np.sqrt(curvature[bent])[:, None]
        ridge = 2 * self.penalty
        if len(bent) >= len(gradient):
            matrix = rows.T @ rows
            matrix[np.diag_indices_from(matrix)] += ridge
            return np.asarray(cho_solve(cho_factor(matrix, overwrite_a=True), gradient))
        if len(bent) == 0:
            return gradient / ridge
        # Fewer records than features where the loss is bent: the smaller of the two systems.
        matrix = rows @ rows.T
        matrix[np.diag_indices_from(matrix)] += ridge
        inner = cho_solve(cho_factor(matrix, overwrite_a=True), rows @ gradient)
        return np.asarray((gradient - rows.T @ inner) / ridge)

    def proven(self, weights: Array, smooth: Smooth) -> tuple[Minimum, Array]:
        """What the duality gap proves of these weights, roundings included, and the slopes with respect to t."""
        predictions = self.features @ weights
        slopes = self.loss.slope(self.loss.argument(predictions, self.targets), smooth)
        lengths = np.sqrt(np.einsum("ij,ij->i", self.features, self.features))
        # A sum of p products is off by at most p roundings of its terms, whatever their order.
        off = 2 * (len(weights) + 8) * ROUND * lengths * math.sqrt(weights @ weights)
        t = self.loss.argument(predictions, self.targets)
        off = off + 4 * ROUND * np.abs(t)
        # The excess is convex in t: it is largest at an end.
        excess = np.maximum(self.loss.excess(t - off, slopes), self.loss.excess(t + off, slopes))
        # A smooth loss has its own slope at the t at hand, so at the exact one its excess is of second order.
        excess = excess + self.loss.bend * off**2
        gap = float(self.shares @ np.maximum(excess, 0.0)) * (1 + 1e-9)
        own, slopes = slopes, slopes * self.loss.direction(self.targets)
        dual = -(self.features.T @ (self.shares * slopes)) / (2 * self.penalty)
        away = float(np.linalg.norm(weights - dual))
        sums = (len(t) + 100) * ROUND * float(self.shares @ (np.abs(slopes) * lengths)) / (2 * self.penalty)
        away = (away + sums + 4 * ROUND * float(np.linalg.norm(weights))) * (1 + 1e-9)
        return Minimum(weights, slopes, math.sqrt(gap / self.penalty + away**2) * (1 + 1e-9)), own


def _line_search(
    problem: _Problem,
    predictions: Array,
    weights: Array,
    along: Array,
    step: Array,
    risk: float,
    slope: float,
    smooth: Smooth,
) -> tuple[float, float] | None:
    """The first halved step that lowers the risk enough, and the risk there; None if roundings hide all descent."""
    size = 1.0
    for _ in range(HALVINGS):
        found = problem._risk(predictions + size * along, weights + size * step, smooth)
        if found <= risk + 1e-4 * size * slope + 64 * ROUND * abs(risk):
            return size, found
        size /= 2
    return None


TRIES = 8


def minimise_exactly(
    kernel: Kernel, points: Array, targets: Array, shares: Array, *, loss: Loss, penalty: float, tolerance: float
) -> tuple[Array, float]:
    """Weights b of the sections at points, and how far `sum_i b_i K(x_i, .)` is from the minimiser at most.

    The kernel's matrix is factored as far as double precision goes, the factor's rows are the features of `minimise`,
    and its slopes g give `b_i = -shares[i] g_i / (2 penalty)`. The proof is that of `minimise`, with predictions by the
    matrix itself: what the factor leaves out is counted, not ignored.
    """
    from scipy.linalg.lapack import dpstrf

    matrix = kernel(points, points)
    matrix = (matrix + matrix.T) / 2
    size = len(points)
    if size == 0 or not matrix.diagonal().max(initial=0.0) > 0:
        return np.zeros(size), 0.0
    packed, pivots, rank, _ = dpstrf(matrix, lower=1, tol=size * ROUND * float(matrix.diagonal().max()))
    rows = np.zeros((size, rank))
    rows[pivots - 1] = np.tril(packed)[:, :rank]
    weights, distance = np.zeros(size), math.inf
    # What the proof loses on the way from features to the matrix depends on the records: more digits until it is made.
    for tries in range(TRIES):
        inner = tolerance / 4 * 8.0**-tries
        weights, distance = _proven(matrix, rows, targets, shares, loss=loss, penalty=penalty, tolerance=inner)
        if distance <= tolerance:
            break
    return weights, distance


def _proven(
    matrix: Array, rows: Array, targets: Array, shares: Array, *, loss: Loss, penalty: float, tolerance: float
) -> tuple[Array, float]:
    """Weights from the slopes of the minimum in features, and the proof with predictions by the matrix itself."""
    size = len(rows)
    found = minimise(rows, targets, shares, loss=loss, penalty=penalty, tolerance=tolerance)
    weights = -shares * found.slopes / (2 * penalty)
    t = loss.argument(matrix @ weights, targets)
    before = loss.argument(rows @ found.weights, targets)
    # Roundings of sums of n terms, and of the kernel's own values.
    off = (2 * size + 100) * ROUND * (np.abs(matrix) @ np.abs(weights)) + 4 * ROUND * np.abs(t)
    slopes = found.slopes * loss.direction(targets)  # with respect to t: directions are 1 or -1
    excess = np.maximum(loss.excess(t - off, slopes), loss.excess(t + off, slopes))
    excess = excess + loss.bend * (np.abs(t - before) + off + _rounding(rows, found.weights)) ** 2
    gap = float(shares @ np.maximum(excess, 0.0)) * (1 + 1e-9)
    return weights, math.sqrt(gap / penalty) * (1 + 1e-9)


def _rounding(rows: Array, weights: Array) -> Array:
    """How far predictions from features are rounded at most, (n,)."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    off: Array = 2 * (len(weights) + 8) * ROUND * lengths * float(np.linalg.norm(weights))
    return off

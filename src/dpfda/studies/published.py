"""The mechanisms for a mean as they were published: their error in closed form, and drawn.

Every one of them adds independent noise along known functions, so its expected squared error given the sample is a sum.
Nothing here is private: bounds come from the sample, as they did in the papers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpfda.arrays import Array, brief
from dpfda.errors import UsageError
from dpfda.kernels import Kernel
from dpfda.mechanisms import Gaussian, SeededRandomness
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L2, Sensitivity

# published: as the authors ran it. correct: the same sensitivity with the scale that privacy needs.
# exact: the least sensitivity that holds under the same bound on a curve, and the scale that privacy needs.
Calibration = Literal["published", "correct", "exact"]
CALIBRATIONS: tuple[Calibration, ...] = ("published", "correct", "exact")


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Eigenvalues of a noise kernel, largest first, and its eigenfunctions at weighted points."""

    points: Array  # (q,)
    weights: Array  # (q,), adding up to one
    eigenvalues: Array  # (k,)
    functions: Array  # (q, k), orthonormal under the weights

    def coordinates(self, values: Array) -> Array:
        """Inner products with the eigenfunctions, (..., q) -> (..., k)."""
        return np.asarray((values * self.weights) @ self.functions)


def spectrum(kernel: Kernel, points: Array, weights: Array) -> Spectrum:
    """The eigenfunctions of a kernel that is known at weighted points only, as many as there are points.

    The sign of each function is such that its sum is not negative.
    """
    root = np.sqrt(weights)
    # Nyström: eigenvectors of W^1/2 K W^1/2 are W^1/2 times the eigenfunctions at the points.
    eigenvalues, vectors = np.linalg.eigh(root[:, None] * kernel(points, points) * root)
    functions = vectors[:, ::-1] / root[:, None]
    functions = functions * np.where(functions.sum(axis=0) < 0, -1.0, 1.0)
    # A smooth kernel is singular in floating point: no eigenvalue may fall below rounding, let alone below zero.
    return Spectrum(points, weights, np.maximum(eigenvalues[::-1], 1e-300), functions)


@dataclass(frozen=True, slots=True)
class Sample:
    """What a mechanism uses of a sample: its mean, and the bounds that the papers read from the data."""

    mean: Array  # at the points, (q,)
    n: int
    l2: float  # the largest norm of a curve
    l1: float = math.nan  # the largest sum of absolute coordinates of a curve
    sup: float = math.nan  # the largest absolute value


def take(curves: Array, terms: Spectrum) -> Sample:
    """Mean and largest norms of curves at the points of a spectrum, (n, q)."""
    coordinates = terms.coordinates(curves)
    return Sample(
        mean=np.asarray(curves.mean(axis=0)),
        n=len(curves),
        l2=math.sqrt((np.square(curves) @ terms.weights).max()),
        l1=float(np.abs(coordinates).sum(axis=1).max()),
        sup=float(np.abs(curves).max()),
    )


@dataclass(frozen=True, slots=True)
class NoisyMean:
    """A summary of one sample and the law of what is added: independent noise times each of several functions."""

    summary: Array  # before the noise, at the points, (q,)
    functions: Array  # (q, k)
    scales: Array  # Laplace scales or normal deviations, (k,)
    law: Literal["laplace", "normal"]
    weights: Array  # of the points, (q,)

    def estimation_error(self, target: Array) -> float:
        """The squared distance of the summary to a target, before any noise."""
        return float(self.weights @ np.square(self.summary - target))

    @property
    def privacy_error(self) -> float:
        """The expected squared norm of the noise; a Laplace variable of scale b has variance 2 b^2."""
        variances = np.square(self.scales) * (2 if self.law == "laplace" else 1)
        return float(self.weights @ np.square(self.functions) @ variances)

    def error(self, target: Array) -> float:
        """The expected squared distance of a release to a target: noise of mean zero adds to the rest."""
        return self.estimation_error(target) + self.privacy_error

    def draw(self, size: int, randomness: SeededRandomness) -> Array:
        """Releases as the mechanism would make them, (size, q)."""
        shape = (size, len(self.scales))
        noise = randomness.normal(shape) if self.law == "normal" else _laplace(randomness.uniform(shape))
        return np.asarray(self.summary + (noise * self.scales) @ self.functions.T)

    def squared_errors(self, target: Array, size: int, randomness: SeededRandomness) -> Array:
        """The squared distances of drawn releases to a target, (size,)."""
        return np.asarray(np.square(self.draw(size, randomness) - target) @ self.weights)


def frl(sample: Sample, terms: Spectrum, *, epsilon: float, size: int, calibration: Calibration) -> NoisyMean:
    """Finite-dimensional Laplace: the leading coordinates, each with the same noise (Lin and Reimherr, Section 2.3)."""
    functions = terms.functions[:, :size]
    summary = functions @ terms.coordinates(sample.mean)[:size]
    # The difference of two curves lies in an L2 ball, on which a sum of absolute values is at most sqrt(size) radii.
    reach = _choose(calibration, published=size, exact=math.sqrt(size))
    scales = np.full(size, 2 * sample.l2 / sample.n * reach / epsilon)
    return NoisyMean(summary, functions, scales, "laplace", terms.weights)


def iclp_ar(
    sample: Sample, terms: Spectrum, *, epsilon: float, eta: float, penalty: float, calibration: Calibration
) -> NoisyMean:
    """Laplace process on soft-thresholded coordinates (Lin and Reimherr, Theorem 12.2).

    As run it was calibrated rightly: their program halves the eigenvalues in noise, sensitivity and threshold alike.
    """
    thresholds = penalty / (2 * terms.eigenvalues ** (eta / 2))
    # Beyond the first threshold above the radius every coordinate of every mean is zero: no noise is needed there.
    beyond = np.flatnonzero(thresholds >= sample.l2)
    size = int(beyond[0]) + 1 if len(beyond) else len(thresholds)
    raw = terms.coordinates(sample.mean)[:size]
    summary = terms.functions[:, :size] @ (np.sign(raw) * np.maximum(np.abs(raw) - thresholds[:size], 0))
    roots = np.sqrt(terms.eigenvalues[:size])
    # Thresholding moves no two coordinates apart, so differences stay in the L2 ball.
    reach = _choose(calibration, published=float((1 / roots).sum()), exact=float(np.linalg.norm(1 / roots)))
    scales = 2 * sample.l2 / sample.n * reach * roots / epsilon
    return NoisyMean(summary, terms.functions[:, :size], scales, "laplace", terms.weights)


def iclp_qr(
    sample: Sample,
    terms: Spectrum,
    *,
    epsilon: float,
    eta: float,
    penalty: float,
    calibration: Calibration,
    sensitivity: Literal["theorem", "program"] = "theorem",
) -> NoisyMean:
    """Laplace process on ridge-shrunken coordinates (Lin and Reimherr, Theorem 12.3).

    `sensitivity` is the published one: the theorem's sum of weights times the L2 radius, or what reproduces their Table
    2, the largest weight times the L1 radius of the coordinates. As run the noise has variance `Delta^2 lambda_j /
    epsilon^2` (Theorem 8), half of what privacy needs: it spends sqrt(2) epsilon.
    """
    shrink = _ridge(terms, eta, penalty)
    roots = np.sqrt(terms.eigenvalues)
    ratios = shrink / roots
    stated = sample.l2 * ratios.sum() if sensitivity == "theorem" else sample.l1 * ratios.max()
    reach = _choose(calibration, published=float(stated), exact=float(sample.l2 * np.linalg.norm(ratios)))
    scales = 2 * reach / sample.n * roots / epsilon
    if calibration == "published":
        scales = scales / math.sqrt(2)
    summary = terms.functions @ (shrink * terms.coordinates(sample.mean))
    return NoisyMean(summary, terms.functions, scales, "laplace", terms.weights)


def gaussian_process(
    sample: Sample,
    terms: Spectrum,
    *,
    epsilon: float,
    delta: float,
    eta: float,
    penalty: float,
    calibration: Calibration,
) -> NoisyMean:
    """Gaussian process on ridge-shrunken coordinates (Mirshani et al., Theorem 4.1).

    Published: `sigma = sqrt(2 log(2/delta)) Delta / epsilon`, which holds for epsilon up to 1 only. The supremum of
    their theorem is exact, so the exact calibration differs by the tight privacy curve alone.
    """
    if calibration != "exact" and epsilon > 1:
        raise UsageError(
            f"The published Gaussian calibration needs epsilon at most 1, got {brief(epsilon)}. Use 'exact'."
        )
    shrink = _ridge(terms, eta, penalty)
    roots = np.sqrt(terms.eigenvalues)
    largest = float((shrink / roots).max())
    reach = 2 * sample.l2 / sample.n * _choose(calibration, published=largest, exact=largest)
    if calibration == "exact":
        because = "the supremum of Theorem 4.1"
        sigma = calibrate(Gaussian(), Sensitivity(reach, L2(), because), Budget(epsilon, delta))
    else:
        sigma = math.sqrt(2 * math.log(2 / delta)) * reach / epsilon
    summary = terms.functions @ (shrink * terms.coordinates(sample.mean))
    return NoisyMean(summary, terms.functions, sigma * roots, "normal", terms.weights)


def bernstein(sample: Sample, terms: Spectrum, *, epsilon: float, degree: int, calibration: Calibration) -> NoisyMean:
    """Bernstein polynomial of the mean with noise on its values at a lattice (Aldà and Rubinstein).

    On [0, 1]; the value at a lattice point is that of the nearest grid point, as Lin and Reimherr ran it. A cube of
    side `2 sup/n` holds the change of these values and touches it, so all three calibrations are one.
    """
    _choose(calibration, published=1.0, exact=1.0)
    order = np.arange(degree + 1)
    nearest = np.abs(terms.points[:, None] - order / degree).argmin(axis=0)
    counts = np.array([math.comb(degree, k) for k in order], dtype=np.float64)
    functions = counts * terms.points[:, None] ** order * (1 - terms.points[:, None]) ** (degree - order)
    scales = np.full(degree + 1, 2 * sample.sup / sample.n * (degree + 1) / epsilon)
    return NoisyMean(functions @ sample.mean[nearest], functions, scales, "laplace", terms.weights)


def _ridge(terms: Spectrum, eta: float, penalty: float) -> Array:
    powers = terms.eigenvalues**eta
    return np.asarray(powers / (powers + penalty))


def _choose(calibration: Calibration, *, published: float, exact: float) -> float:
    if calibration not in CALIBRATIONS:
        raise UsageError(f"A calibration is one of {', '.join(map(repr, CALIBRATIONS))}, got {brief(calibration)}.")
    return exact if calibration == "exact" else published


def _laplace(uniforms: Array) -> Array:
    """Standard Laplace variables by inversion."""
    centred = uniforms - 0.5
    # Never the logarithm of zero: a uniform of exactly 0 is taken for the smallest one above.
    return np.asarray(-np.sign(centred) * np.log(np.maximum(1 - 2 * np.abs(centred), 2.0**-53)))


def plain(sample: Sample, terms: Spectrum, *, eta: float, penalty: float) -> NoisyMean:
    """The penalised mean itself, their equation (2), with noise of scale zero."""
    powers = terms.eigenvalues**eta
    summary = terms.functions @ (powers / (powers + penalty) * terms.coordinates(sample.mean))
    return NoisyMean(summary, terms.functions, np.zeros(len(powers)), "normal", terms.weights)


def simple_bound(
    sample: Sample, terms: Spectrum, *, epsilon: float, delta: float, eta: float, penalty: float
) -> NoisyMean:
    """Noise by the second bound of their Theorem 4.1, which knows no eigenvalue and is never below the supremum."""
    factor = (2 * eta - 1) ** (1 - 1 / (2 * eta)) / eta
    reach = sample.l2 / sample.n * penalty ** (-1 / (2 * eta)) * factor
    return _process(sample, terms, epsilon=epsilon, delta=delta, eta=eta, penalty=penalty, reach=reach)


def as_programmed(
    sample: Sample, terms: Spectrum, *, epsilon: float, delta: float, eta: float, penalty: float
) -> NoisyMean:
    """What the authors' public program adds: a sum in place of the supremum, and eigenvectors in place of functions.

    Eigenvectors of Euclidean norm one have as functions on q points the norm `1/sqrt(q)`, so the noise is too small by
    sqrt(q); the sum makes up for a part of it. No guarantee holds.
    """
    powers = terms.eigenvalues**eta
    ratios = powers / (powers + penalty) / np.sqrt(terms.eigenvalues)
    reach = 2 * sample.l2 / sample.n * float(np.linalg.norm(ratios)) / math.sqrt(len(terms.points))
    return _process(sample, terms, epsilon=epsilon, delta=delta, eta=eta, penalty=penalty, reach=reach)


def shortfall(noisy: NoisyMean, right: NoisyMean) -> float:
    """How many times smaller one noise is than another of the same kernel."""
    return float(right.scales[0] / noisy.scales[0])


def _process(
    sample: Sample, terms: Spectrum, *, epsilon: float, delta: float, eta: float, penalty: float, reach: float
) -> NoisyMean:
    mean = plain(sample, terms, eta=eta, penalty=penalty)
    sigma = math.sqrt(2 * math.log(2 / delta)) * reach / epsilon
    return NoisyMean(mean.summary, mean.functions, sigma * np.sqrt(terms.eigenvalues), "normal", terms.weights)

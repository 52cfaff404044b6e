"""Come here for the penalised mean of Mirshani et al. without noise, with their simple bound, and as they ran it."""

from __future__ import annotations

import math

import numpy as np

from dpfda.studies.published import NoisyMean, Sample, Spectrum


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

"""Come here for the parameters behind the figures of Lin and Reimherr: safe selection and private cross-validation.

Safe selection knows the sample size and the kernel; cross-validation reads the data and is not private.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpfda.arrays import Array
from dpfda.kernels import Matern
from dpfda.studies import published
from dpfda.studies.published import Calibration, NoisyMean, Sample, Spectrum

TUNED = ("FRL", "ICLP-AR", "ICLP-QR")
EPSILON, DELTA, DEGREE, FOLDS = 1.0, 0.01, 20, 10


@dataclass(frozen=True, slots=True)
class Experiment:
    """A noise kernel and a law of errors: what distinguishes Figures 1 and 2 from 6, 7 and 8."""

    kernel: Matern
    errors: Literal["gaussian", "heavy"]

    @property
    def title(self) -> str:
        return f"Matérn {2 * self.kernel.order:.0f}/2, {self.errors} errors"

    @property
    def eta(self) -> float:
        """Of ICLP-QR in Corollary 15, `1 + 2/beta`; ICLP-AR takes twice as much."""
        return 1 + 2 / self.kernel.smoothness

    def sizes(self, n: int) -> list[int]:
        """The numbers of terms between `n^(1/(eta beta))` and `n^(1/3)`, for FRL."""
        low = math.ceil(n ** (1 / (self.eta * self.kernel.smoothness)) - 1e-9)
        return list(range(low, max(low, math.floor(n ** (1 / 3) + 1e-9)) + 1))


def release(
    mechanism: str,
    sample: Sample,
    terms: Spectrum,
    *,
    experiment: Experiment,
    parameter: float,
    calibration: Calibration,
    sensitivity: Literal["theorem", "program"] = "program",
) -> NoisyMean:
    """A tuned mechanism at one parameter: the number of terms of FRL, the penalty of the others."""
    if mechanism == "FRL":
        return published.frl(sample, terms, epsilon=EPSILON, size=int(parameter), calibration=calibration)
    if mechanism == "ICLP-AR":
        eta = 2 * experiment.eta
        # Curves over their largest norm have the threshold tau psi; halved eigenvalues, as in Table 2, do the rest.
        penalty = 2 ** (eta / 2) * sample.l2 * parameter
        return published.iclp_ar(sample, terms, epsilon=EPSILON, eta=eta, penalty=penalty, calibration=calibration)
    return published.iclp_qr(
        sample,
        terms,
        epsilon=EPSILON,
        eta=experiment.eta,
        penalty=parameter,
        calibration=calibration,
        sensitivity=sensitivity,
    )


def safe_parameter(mechanism: str, sample: Sample, terms: Spectrum, *, experiment: Experiment, truth: Array) -> float:
    """Corollary 15 with constant 1: penalty 1/n. FRL takes, as in the paper, the admissible size nearest the truth."""
    if mechanism != "FRL":
        return 1 / sample.n

    def estimation_error(size: int) -> float:
        noisy = published.frl(sample, terms, epsilon=EPSILON, size=size, calibration="published")
        return noisy.estimation_error(truth)

    return float(min(experiment.sizes(sample.n), key=estimation_error))


def candidates(mechanism: str, n: int, *, experiment: Experiment) -> list[float]:
    """What cross-validation chooses from: a tenth to ten times the safe penalty, or up to three terms more or fewer."""
    if mechanism != "FRL":
        return [float(factor) / n for factor in np.geomspace(0.1, 10, 21)]
    sizes = experiment.sizes(n)
    return [float(size) for size in range(max(1, sizes[0] - 3), sizes[-1] + 4)]


def cross_validated(
    parameters: Sequence[float], curves: Array, sample: Sample, make: Callable[[Sample, float], NoisyMean]
) -> float:
    """The parameter with the least expected distance of a noisy mean of nine tenths to the tenth left out.

    Noise is not drawn: its share is known. Distances to single curves left out differ from those to their mean by what
    no parameter changes.
    """
    totals = np.zeros(len(parameters))
    order = np.arange(len(curves)) % FOLDS
    for fold in range(FOLDS):
        left_out = curves[order == fold]
        rest = len(curves) - len(left_out)
        mean = (sample.n * sample.mean - left_out.sum(axis=0)) / rest
        training = Sample(mean, rest, sample.l2, sample.l1, sample.sup)
        target = left_out.mean(axis=0)
        totals += [make(training, parameter).error(target) for parameter in parameters]
    return parameters[int(np.argmin(totals))]

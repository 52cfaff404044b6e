"""Come here for the numbers behind the figures of Lin and Reimherr: errors on S-1 to S-4 by sample size."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from dpfda.arrays import Array
from dpfda.estimators import MeanFunction
from dpfda.mechanisms import SeededRandomness
from dpfda.studies import published, simulators
from dpfda.studies.lin_figure_parameters import (
    DEGREE,
    DELTA,
    EPSILON,
    TUNED,
    Experiment,
    candidates,
    cross_validated,
    release,
    safe_parameter,
)
from dpfda.studies.published import NoisyMean, Sample, Spectrum
from dpfda.studies.reproduction import Setting, Table
from dpfda.studies.simulators import GRID, MEANS

OURS_PURE, OURS_APPROXIMATE = "our default, pure", f"our default, ({EPSILON:g}, {DELTA:g})"
SELECTION = ("mean", "n", "mechanism", "PSS parameter", "PSS error", "PCV parameter", "PCV error", "PCV over PSS")
ERRORS = (
    "mean",
    "n",
    "mechanism",
    "calibration",
    "privacy-estimation error",
    "estimation error",
    "privacy error",
    "standard error",
)


def sizes(setting: Setting) -> tuple[int, ...]:
    return (200, 1000, 5000) if setting.quick else (100, 200, 500, 1000, 2000, 5000, 10000)


def _cases(setting: Setting, experiment: Experiment, what: str) -> Iterator[tuple[str, int, Iterator[Array]]]:
    """A mean, a sample size and samples one after the other, each case seeded on its own."""
    cases = list(itertools.product(enumerate(MEANS), sizes(setting)))
    for (index, name), n in setting.track(cases, f"{what}, {experiment.title}"):
        yield name, n, _samples(setting, experiment, name, n, 1_000_003 * setting.seed + 10 * n + index)


def _samples(setting: Setting, experiment: Experiment, name: str, n: int, seed: int) -> Iterator[Array]:
    randomness = SeededRandomness(seed)
    for _ in range(2 if setting.quick else 20):
        yield simulators.sample(name, n, randomness, errors=experiment.errors, kernel=experiment.kernel)


def selection(setting: Setting, experiment: Experiment, figure: str) -> Table:
    """Privacy-estimation errors with safe selection (PSS) and private cross-validation (PCV), averaged over samples."""
    terms = published.spectrum(experiment.kernel, GRID, simulators.weights())
    rows: list[tuple[object, ...]] = []
    for name, n, samples in _cases(setting, experiment, "PSS and PCV"):
        truth = MEANS[name](GRID)
        found = np.array([[_select(m, curves, terms, experiment, truth) for m in TUNED] for curves in samples])
        for index, mechanism in enumerate(TUNED):
            safe, valid = np.exp(np.log(found[:, index, [0, 2]]).mean(axis=0))
            errors = found[:, index, [1, 3]].mean(axis=0)
            rows.append((name, n, mechanism, *map(float, (safe, errors[0], valid, errors[1], errors[1] / errors[0]))))
    title = f"{figure}: privacy-estimation error for PSS and PCV, {experiment.title}"
    return Table(title, SELECTION, tuple(rows))


def _select(
    mechanism: str, curves: Array, terms: Spectrum, experiment: Experiment, truth: Array
) -> tuple[float, float, float, float]:
    """The safe parameter and its error, the cross-validated one and its error."""
    sample = published.take(curves, terms)

    def make(part: Sample, parameter: float) -> NoisyMean:
        return release(mechanism, part, terms, experiment=experiment, parameter=parameter, calibration="published")

    safe = safe_parameter(mechanism, sample, terms, experiment=experiment, truth=truth)
    chosen = cross_validated(candidates(mechanism, sample.n, experiment=experiment), curves, sample, make)
    return safe, make(sample, safe).error(truth), chosen, make(sample, chosen).error(truth)


def comparison(setting: Setting, experiment: Experiment, figure: str) -> Table:
    """The three errors of every mechanism with safe selection, beside our defaults, averaged over samples."""
    terms = published.spectrum(experiment.kernel, GRID, simulators.weights())
    rows: list[tuple[object, ...]] = []
    for name, n, samples in _cases(setting, experiment, "errors"):
        truth = MEANS[name](GRID)
        randomness = SeededRandomness(setting.seed)
        # Noise of the defaults is drawn: with two samples it needs more draws than with twenty.
        releases = 2 if setting.quick else 1
        parts = [_compare(curves, terms, experiment, truth, releases, randomness) for curves in samples]
        for label in parts[0]:
            errors = np.array([part[label] for part in parts])
            deviation = errors[:, 0].std(ddof=1) / math.sqrt(len(errors))
            rows.append((name, n, *label, *map(float, errors.mean(axis=0)), float(deviation)))
    title = f"{figure}: privacy-estimation, estimation and privacy errors with PSS, {experiment.title}"
    return Table(title, ERRORS, tuple(rows))


Errors = tuple[float, float, float]  # privacy-estimation, estimation, privacy


def _compare(
    curves: Array, terms: Spectrum, experiment: Experiment, truth: Array, releases: int, randomness: SeededRandomness
) -> dict[tuple[str, str], Errors]:
    sample = published.take(curves, terms)
    found: dict[tuple[str, str], NoisyMean] = {}
    penalty = 1 / sample.n
    for calibration in published.CALIBRATIONS:
        for mechanism in TUNED:
            parameter = safe_parameter(mechanism, sample, terms, experiment=experiment, truth=truth)
            found[mechanism, calibration] = release(
                mechanism, sample, terms, experiment=experiment, parameter=parameter, calibration=calibration
            )
        found["Bernstein", calibration] = published.bernstein(
            sample, terms, epsilon=EPSILON, degree=DEGREE, calibration=calibration
        )
        found["GP-ADP", calibration] = published.gaussian_process(
            sample,
            terms,
            epsilon=EPSILON,
            delta=DELTA,
            eta=experiment.eta,
            penalty=penalty,
            calibration=calibration,
        )
    found["ICLP-QR", "correct, Theorem 12"] = release(
        "ICLP-QR",
        sample,
        terms,
        experiment=experiment,
        parameter=penalty,
        calibration="correct",
        sensitivity="theorem",
    )
    errors = {
        label: (noisy.error(truth), noisy.estimation_error(truth), noisy.privacy_error)
        for label, noisy in found.items()
    }
    for label, delta in ((OURS_PURE, 0.0), (OURS_APPROXIMATE, DELTA)):
        errors[label, "exact"] = _ours(curves, sample, truth, delta, releases, randomness)
    return errors


def _ours(
    curves: Array, sample: Sample, truth: Array, delta: float, releases: int, randomness: SeededRandomness
) -> Errors:
    """Mean errors of releases by the default, with the bound that the other mechanisms are given."""
    estimator = MeanFunction(
        epsilon=EPSILON,
        delta=delta,
        bound=sample.l2,
        domain=(0.0, 1.0),
        randomness=randomness,
        progress=False,
        force=True,
    )
    values = np.array([estimator.fit(curves, grid=GRID).release_(GRID) for _ in range(releases)])
    distances = (values - truth, (sample.mean - truth)[None, :], values - sample.mean)
    total, estimation, privacy = (float((np.square(distance) @ simulators.weights()).mean()) for distance in distances)
    return total, estimation, privacy

"""Cross-validation and private cross-validation (Mirshani et al., Section 6). Neither is private."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from dpfda.arrays import Array, Integers, brief
from dpfda.errors import UsageError
from dpfda.kernels import Kernel
from dpfda.mechanisms import (
    FiniteLaplace,
    GaussianProcess,
    LaplaceProcess,
    SeededRandomness,
    ThresholdedLaplaceProcess,
)
from dpfda.studies import published, simulators
from dpfda.studies.outcome import STAMP, Table, no_progress
from dpfda.studies.published import Calibration, NoisyMean, Sample, Spectrum

# What is validated: the release that a sample, the kernel's eigenfunctions and a parameter make.
Release = Callable[[Sample, Spectrum, float], NoisyMean]
Score = Literal["squared distance", "distance"]
SCORES: tuple[Score, ...] = ("squared distance", "distance")


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Validation:
    """Scores of every kernel and parameter, and the best of them. Chosen on the data, so not private."""

    kernels: tuple[Kernel, ...]
    parameters: tuple[float, ...]
    scores: Array  # (kernels, parameters)

    @property
    def best(self) -> tuple[Kernel, float]:
        """The kernel and the parameter with the least score."""
        row, column = self._place
        return self.kernels[row], self.parameters[column]

    @property
    def best_kernels(self) -> tuple[Kernel, ...]:
        """For each parameter the kernel with the least score."""
        return tuple(self.kernels[row] for row in self.scores.argmin(axis=0))

    def excess(self, kernel: Kernel, parameter: float) -> float:
        """How far the score of a choice lies above the least, as a part of the least."""
        score = self.scores[self.kernels.index(kernel), self.parameters.index(parameter)]
        return float(score / self.scores.min() - 1)

    def to_table(self) -> Table:
        """All scores, one row for each kernel; the title says that nothing of it is private."""
        names = tuple(f"{parameter:g}" for parameter in self.parameters)
        rows = tuple((repr(kernel), *map(float, row)) for kernel, row in zip(self.kernels, self.scores, strict=True))
        return Table(f"Scores of cross-validation by kernel and parameter. {STAMP}", ("kernel", *names), rows)

    def text(self) -> str:
        """The best choice in words, under the stamp."""
        kernel, parameter = self.best
        count = self.scores.size
        return f"{STAMP}\nBest of {count} by cross-validation: {kernel!r} with parameter {parameter:g}."

    @property
    def _place(self) -> tuple[int, int]:
        row, column = np.unravel_index(self.scores.argmin(), self.scores.shape)
        return int(row), int(column)

    def __repr__(self) -> str:
        return f"<Validation of {len(self.kernels)} kernels and {len(self.parameters)} parameters. {self.text()}>"

    __str__ = text


def plain(*, eta: float = 1.0) -> Release:
    """The penalised mean without noise: ordinary cross-validation over the penalty."""
    return lambda sample, terms, penalty: published.plain(sample, terms, eta=eta, penalty=penalty)


def mechanism(
    name: str,
    *,
    epsilon: float,
    delta: float = 0.0,
    eta: float = 1.0,
    calibration: Calibration = "published",
) -> Release:
    """A published mechanism by name: private cross-validation over its penalty, or over the size of "frl"."""
    if name == FiniteLaplace.name:
        return lambda sample, terms, size: published.frl(
            sample, terms, epsilon=epsilon, size=int(size), calibration=calibration
        )
    known: dict[str, Callable[..., NoisyMean]] = {
        GaussianProcess.name: partial(published.gaussian_process, delta=delta),
        LaplaceProcess.name: published.iclp_qr,
        ThresholdedLaplaceProcess.name: published.iclp_ar,
    }
    if name not in known:
        names = " and ".join(", ".join(map(repr, (*known, FiniteLaplace.name))).rsplit(", ", 1))
        raise UsageError(f"Cross-validation knows {names}, got {brief(name)}.")
    return lambda sample, terms, penalty: known[name](
        sample, terms, epsilon=epsilon, eta=eta, penalty=penalty, calibration=calibration
    )


def validate(
    curves: Array,
    grid: Array,
    *,
    release: Release,
    kernels: Sequence[Kernel],
    parameters: Sequence[float],
    randomness: SeededRandomness,
    folds: int = 10,
    score: Score = "squared distance",
    draws: int = 0,
    weights: Array | None = None,
    track: Callable[[Iterable[Any], str], Iterable[Any]] = no_progress,
) -> Validation:
    """Score every kernel and parameter by folds; for public data and studies only, since the choice is not private.

    The score of a fold is the expected squared distance of its curves to the release of the others: bias in closed
    form plus the expected square of the noise, or the average over `draws` releases. "distance" is the authors' own
    score: the distance, not squared, to the mean of the fold for releases with noise, to each of its curves without.
    Distances follow the trapezoid rule; so does the kernel's decomposition, unless other weights are given for it.
    """
    curves, grid = np.asarray(curves, dtype=np.float64), np.asarray(grid, dtype=np.float64)
    n = len(curves)
    if not 2 <= folds <= n:
        raise UsageError(f"Cross-validation needs from 2 to {n} folds for {n} curves, got {brief(folds)}.")
    if score not in SCORES:
        raise UsageError(f"A score is one of {', '.join(map(repr, SCORES))}, got {brief(score)}.")
    parts = np.array_split(np.argsort(randomness.uniform((n,))), folds)
    # The same noise for every choice: scores are compared, and what they share cancels.
    seed = int(randomness.bits53(1)[0])
    scores = np.zeros((len(kernels), len(parameters)))
    measure = simulators.weights(grid)
    for row, kernel in enumerate(track(list(kernels), "cross-validation")):
        terms = published.spectrum(kernel, grid, measure if weights is None else weights)
        samples = [_rest(curves, part, terms) for part in parts]
        for column, parameter in enumerate(parameters):
            total = 0.0
            for part, sample in zip(parts, samples, strict=True):
                noisy = replace(release(sample, terms, parameter), weights=measure)
                total += _SCORES[score](noisy, curves[part], draws, seed)
            scores[row, column] = total / folds
    scores.flags.writeable = False
    return Validation(tuple(kernels), tuple(map(float, parameters)), scores)


def _rest(curves: Array, part: Integers, terms: Spectrum) -> Sample:
    return published.take(np.delete(curves, part, axis=0), terms)


def _squared(noisy: NoisyMean, left_out: Array, draws: int, seed: int) -> float:
    middle = left_out.mean(axis=0)
    # Around their own mean the curves of a fold are as far apart for every choice.
    apart = float((np.square(left_out - middle) @ noisy.weights).mean())
    if draws:
        return apart + float(noisy.squared_errors(middle, draws, SeededRandomness(seed)).mean())
    return apart + noisy.error(middle)


def _distance(noisy: NoisyMean, left_out: Array, draws: int, seed: int) -> float:
    if not noisy.scales.any():
        return float(np.sqrt(np.square(left_out - noisy.summary) @ noisy.weights).mean())
    if not draws:
        raise UsageError("The expected distance has no closed form: say how many releases to draw, e.g. draws=1000.")
    squares = noisy.squared_errors(left_out.mean(axis=0), draws, SeededRandomness(seed))
    return float(np.sqrt(squares).mean())


_SCORES: dict[Score, Callable[[NoisyMean, Array, int, int], float]] = {
    "squared distance": _squared,
    "distance": _distance,
}

"""Come here for the readings of Mirshani et al.'s private cross-validation: which noise, which score, which scans."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from dpfda.arrays import Array
from dpfda.kernels import Kernel
from dpfda.mechanisms.randomness import SeededRandomness
from dpfda.studies import penalised, validation
from dpfda.studies.mirshani_published import DELTA, EPSILON
from dpfda.studies.validation import Release, Score, Validation, validate


@dataclass(frozen=True, slots=True)
class Variant:
    """One reading of private cross-validation: which noise, which score, which scans."""

    name: str
    release: Release
    score: Score
    gaps: str


def _supremum() -> Release:
    return validation.mechanism("gp", epsilon=EPSILON, delta=DELTA, eta=1.0, calibration="published")


def _simple() -> Release:
    return lambda sample, terms, penalty: penalised.simple_bound(
        sample, terms, epsilon=EPSILON, delta=DELTA, eta=1.0, penalty=penalty
    )


def _programmed() -> Release:
    return lambda sample, terms, penalty: penalised.as_programmed(
        sample, terms, epsilon=EPSILON, delta=DELTA, eta=1.0, penalty=penalty
    )


READINGS: tuple[tuple[str, Release, Score], ...] = (
    ("as their program has it", _programmed(), "distance"),
    ("supremum of Theorem 4.1", _supremum(), "squared distance"),
    ("supremum of Theorem 4.1", _supremum(), "distance"),
    ("simple bound of Theorem 4.1", _simple(), "squared distance"),
)
VARIANTS: tuple[Variant, ...] = tuple(
    Variant(*reading, gaps) for reading, gaps in itertools.product(READINGS, ("left out", "filled"))
)


def search(
    curves: Array,
    grid: Array,
    kernels: tuple[Kernel, ...],
    penalties: tuple[float, ...],
    release: Release,
    score: Score,
    draws: int,
    seed: int,
) -> Validation:
    """Cross-validation in ten folds with what a reading says."""
    return validate(
        curves,
        grid,
        release=release,
        kernels=kernels,
        parameters=penalties,
        randomness=SeededRandomness(seed),
        score=score,
        draws=draws,
        # Their program decomposes the kernel with all points weighed alike; its score is the distance.
        weights=np.full(len(grid), 1 / len(grid)) if score == "distance" else None,
    )

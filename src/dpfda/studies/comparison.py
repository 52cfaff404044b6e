"""Comparison of mechanisms on simulated curves, where the true mean is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from dpfda.arrays import Array, brief
from dpfda.errors import DpfdaError, UsageError
from dpfda.mechanisms import SeededRandomness
from dpfda.mechanisms.table import by_name, typed_for
from dpfda.privacy import Budget
from dpfda.records.reading import Reading
from dpfda.statistics.mean.estimator import MeanFunction
from dpfda.statistics.mean.plan import calibrated
from dpfda.studies.outcome import STAMP, Table, no_progress
from dpfda.studies.simulators import GRID, MEANS, norms, sample, weights

MECHANISMS = typed_for("mean")  # all that need no candidates to choose among
CALIBRATIONS = ("exact", "published", "both")
COLUMNS = (
    "mechanism",
    "calibration",
    "total error",
    "total s.e.",
    "privacy part",
    "privacy s.e.",
    "ratio to best",
    "note",
)
OFFSET = 2**32  # noise and curves must not come from one stream

Errors = Literal["gaussian", "heavy"]
Track = Callable[[Iterable[Any], str], Iterable[Any]]


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """Mean squared L2 errors of one mechanism with their standard errors; None where it cannot meet the budget."""

    mechanism: str
    calibration: str
    total: float | None = None  # to the true mean
    total_standard_error: float | None = None
    privacy: float | None = None  # to the sample mean: noise, clipping, basis and smoothing
    privacy_standard_error: float | None = None
    ratio: float | None = None  # of the total error to the least of all
    note: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison, best mechanism first; not private, since curves and noise are seeded."""

    scenario: str
    n: int
    budget: Budget
    bound: float | None
    repetitions: int
    seed: int
    sampling: float  # error of the sample mean, which no mechanism can avoid
    sampling_standard_error: float
    rows: tuple[ComparisonRow, ...]
    errors: Errors = "gaussian"

    @property
    def title(self) -> str:
        """Curves, sample size, budget and repetitions, in words."""
        curves = self.scenario if self.errors == "gaussian" else f"{self.scenario} with {self.errors} errors"
        return f"{curves}, n = {self.n}, {self.budget}, {self.repetitions} repetitions"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the table has to know, in sentences."""
        bound = (
            "The bound is the largest norm in each sample, as in the papers: a study may, a release may not."
            if self.bound is None
            else f"The bound is {self.bound:g}; curves beyond it are clipped."
        )
        return (
            "Means of squared L2 distances: total error to the true mean, privacy part to the sample mean. "
            f"All mechanisms saw the same curves. {bound}",
            f"Without privacy the sample mean errs by {self.sampling:.4g} (s.e. {self.sampling_standard_error:.2g}).",
        )

    def table(self) -> Table:
        """The ranking, best first."""
        rows = tuple(
            (
                row.mechanism,
                row.calibration,
                row.total,
                row.total_standard_error,
                row.privacy,
                row.privacy_standard_error,
                row.ratio,
                row.note,
            )
            for row in self.rows
        )
        return Table(f"Total error on {self.title}", COLUMNS, rows)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain data."""
        return {"stamp": STAMP, **asdict(self)}

    def plot(self, ax: Any = None) -> Any:
        """Total errors on a logarithmic scale, with two standard errors to each side; returns the axes."""
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots(figsize=(8, 4.8), layout="constrained")
        done = [row for row in reversed(self.rows) if row.total is not None]
        labels = [row.mechanism if row.calibration == "exact" else f"{row.mechanism}, published" for row in done]
        reach = [2 * (row.total_standard_error or 0.0) for row in done]
        # Dots rather than bars: a logarithmic scale has no zero from which a bar could start.
        ax.errorbar([row.total for row in done], labels, xerr=reach, fmt="o", color="#1b4965", capsize=3)
        ax.axvline(self.sampling, color="0.3", ls="--", lw=1)
        ax.annotate(" sample mean, not private", (self.sampling, 0.02), xycoords=("data", "axes fraction"), fontsize=9)
        ax.set_xscale("log", nonpositive="clip")
        ax.grid(alpha=0.25)
        ax.margins(y=0.15)
        ax.set_xlabel("mean squared L2 distance to the true mean, with two standard errors to each side")
        ax.set_title(f"{self.title}  -  NOT PRIVATE", fontsize=10)
        return ax


def compare(
    scenario: str,
    *,
    n: int,
    epsilon: float,
    delta: float,
    mechanisms: Sequence[str] = MECHANISMS,
    calibration: str = "exact",
    repetitions: int = 20,
    seed: int = 1,
    bound: float | None = None,
    errors: Errors = "gaussian",
    track: Track = no_progress,
) -> Comparison:
    """Run mechanisms on the same simulated curves; those that cannot meet the budget are listed with the reason.

    `calibration="published"` takes the papers' own for their mechanisms, "both" one after the other; ours have one.
    """
    budget = Budget(epsilon, delta)
    _check(scenario, mechanisms, calibration, n=n, repetitions=repetitions)
    source, truth = SeededRandomness(seed), MEANS[scenario](GRID)
    runs = [Run(name, how, budget, SeededRandomness(OFFSET + seed)) for name, how in _cases(mechanisms, calibration)]
    sampling = []
    for _ in track(range(repetitions), scenario):
        curves = sample(scenario, n, source, errors=errors)
        largest = float(norms(curves).max()) if bound is None else bound
        sampling.append(_squared(curves.mean(axis=0) - truth))
        for run in runs:
            run.add(curves, truth, largest)
    return Comparison(scenario, n, budget, bound, repetitions, seed, *_mean(sampling), _ranked(runs), errors)


@dataclass(slots=True)
class Run:
    """The releases of one mechanism; its noise does not depend on which others are compared."""

    mechanism: str
    calibration: str
    budget: Budget
    randomness: SeededRandomness
    total: list[float] = field(default_factory=list)
    privacy: list[float] = field(default_factory=list)
    refused: DpfdaError | None = None
    chosen: str = ""

    @property
    def _stated(self) -> str | None:
        return self.calibration if self.mechanism in calibrated() else None

    def add(self, curves: Array, truth: Array, bound: float) -> None:
        """Release the mean of these curves once, unless the mechanism has refused before."""
        if self.refused is not None:
            return
        est = MeanFunction(
            epsilon=self.budget.epsilon,
            delta=self.budget.delta,
            bound=bound,
            mechanism=by_name(self.mechanism, "mean", {"calibration": self._stated}),
            randomness=self.randomness,
            reading=Reading(workers=1),
            force=True,
        )
        try:
            release = est.fit(curves, grid=GRID).release_
        except DpfdaError as error:
            self.refused = error
            return
        values = release(GRID)
        self.total.append(_squared(values - truth))
        self.privacy.append(_squared(values - curves.mean(axis=0)))
        self.chosen = release.certificate.mechanism

    def row(self) -> ComparisonRow:
        """Its row of the table."""
        if self.refused is not None:
            return ComparisonRow(self.mechanism, self.calibration, note=f"not applicable: {self.refused}")
        note = f"chose {self.chosen}" if self.mechanism == "auto" else ""
        return ComparisonRow(self.mechanism, self.calibration, *_mean(self.total), *_mean(self.privacy), note=note)


def _ranked(runs: Sequence[Run]) -> tuple[ComparisonRow, ...]:
    """The rows of all mechanisms, best first; raises the first refusal if none of them can meet the budget."""
    refusals = [run.refused for run in runs if run.refused is not None]
    if len(refusals) == len(runs):
        raise refusals[0]
    rows = [run.row() for run in runs]
    least = min(row.total for row in rows if row.total is not None)
    rated = (row if row.total is None else replace(row, ratio=row.total / least) for row in rows)
    return tuple(sorted(rated, key=lambda row: np.inf if row.ratio is None else row.ratio))


def _cases(mechanisms: Sequence[str], calibration: str) -> list[tuple[str, str]]:
    published = ("published",) if calibration == "published" else ("exact", "published")
    return [
        (name, how)
        for name in dict.fromkeys(mechanisms)
        for how in (published if calibration != "exact" and name in calibrated() else ("exact",))
    ]


def _squared(difference: Array) -> float:
    return float(weights() @ difference**2)


def _mean(values: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def _check(scenario: str, mechanisms: Sequence[str], calibration: str, *, n: int, repetitions: int) -> None:
    if scenario not in MEANS:
        raise UsageError(f"The scenarios are {', '.join(MEANS)}, got {brief(scenario)}.")
    unknown = [name for name in mechanisms if name not in MECHANISMS]
    if unknown or not mechanisms:
        raise UsageError(f"Mechanisms to compare are {', '.join(MECHANISMS)}; got {', '.join(unknown) or 'none'}.")
    if calibration not in CALIBRATIONS:
        raise UsageError(parameter="calibration", value=calibration, rule=f"must be one of {', '.join(CALIBRATIONS)}")
    if n < 1 or repetitions < 2:
        raise UsageError(
            f"A comparison needs n of at least 1 and 2 repetitions, got {brief(n)} and {brief(repetitions)}."
        )

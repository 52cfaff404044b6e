"""Tables 1 and 2 of Awan et al.: private principal components of growth curves and brain scans."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.bases.symmetric import pack, packed_size, unpack
from dpfda.mechanisms.frames import draw_frames
from dpfda.mechanisms.randomness import Randomness, SeededRandomness
from dpfda.mechanisms.wishart import Wishart
from dpfda.reproduce.paper_curves import FILES, Coordinates, read
from dpfda.statistics.components.release import principal
from dpfda.statistics.covariance.release import smooth_entries
from dpfda.studies.components import leading_frame, subspace_distance, variance_ratio
from dpfda.studies.outcome import Outcome, Reproduction, Setting, Table, leave_room

EPSILONS = (0.125, 0.25, 0.5, 1.0, 2.0)
COMPONENTS = (1, 2, 3)
REPETITIONS = 100  # every printed value is a mean over so many draws
EXPLAINED = {"Berkeley": (0.82, 0.95, 0.98), "DTI": (0.77, 0.86, 0.93)}  # by 1, 2, 3 components without privacy

Printed = tuple[float, float]  # mean, and its standard error as printed in parentheses
Rows = tuple[tuple[Printed, Printed, Printed], ...]  # one for each epsilon, in the order of COMPONENTS

# Table 1, ratio of variance explained by private and non-private components.
VARIANCE_RATIO: dict[str, Rows] = {
    "Berkeley": (
        ((0.264, 0.024), (0.494, 0.023), (0.672, 0.020)),
        ((0.343, 0.024), (0.523, 0.023), (0.681, 0.020)),
        ((0.408, 0.025), (0.523, 0.022), (0.729, 0.019)),
        ((0.550, 0.025), (0.680, 0.018), (0.775, 0.015)),
        ((0.743, 0.018), (0.787, 0.012), (0.855, 0.010)),
    ),
    "DTI": (
        ((0.372, 0.025), (0.569, 0.024), (0.727, 0.018)),
        ((0.497, 0.026), (0.676, 0.021), (0.811, 0.011)),
        ((0.726, 0.020), (0.812, 0.014), (0.876, 0.009)),
        ((0.879, 0.009), (0.885, 0.007), (0.910, 0.005)),
        ((0.933, 0.006), (0.928, 0.004), (0.939, 0.003)),
    ),
}

# Table 2, half the squared Frobenius distance of the projections.
SUBSPACE_DISTANCE: dict[str, Rows] = {
    "Berkeley": (
        ((0.776, 0.025), (1.115, 0.036), (1.100, 0.034)),
        ((0.701, 0.025), (1.046, 0.035), (1.135, 0.030)),
        ((0.633, 0.027), (1.063, 0.033), (1.066, 0.030)),
        ((0.484, 0.027), (0.883, 0.031), (0.962, 0.032)),
        ((0.275, 0.020), (0.770, 0.032), (0.938, 0.035)),
    ),
    "DTI": (
        ((0.679, 0.026), (1.098, 0.035), (1.074, 0.030)),
        ((0.544, 0.029), (0.976, 0.027), (1.079, 0.029)),
        ((0.296, 0.021), (0.861, 0.027), (0.982, 0.030)),
        ((0.131, 0.010), (0.770, 0.026), (0.940, 0.035)),
        ((0.073, 0.006), (0.640, 0.030), (0.758, 0.035)),
    ),
}


STEPS = 2.0**32  # to the square of the bound, which is 1 as in the paper


def through_covariance(sample: Coordinates, k: int, epsilon: float, size: int, randomness: Randomness) -> Array:
    """Components through second moments with two-sided Wishart noise, smoothed as a covariance is, (size, m, k)."""
    moments = np.rint(pack(sample.curves.T @ sample.curves) * STEPS).astype(np.int64)
    side = sample.curves.shape[1]
    frequencies = np.arange(side, dtype=np.float64)
    scale = 2 * STEPS / epsilon
    law = Wishart().noise(scale, packed_size(side)).scaled(1 / STEPS)
    deviation = float(np.sqrt(law.variances[side:].mean()))
    frames = []
    for _ in range(size):
        noisy = unpack(Wishart().draw(moments, scale, randomness=randomness) / STEPS)
        weights = smooth_entries("auto", noisy, unpack(law.variances), frequencies, care=law.care).weights
        values, vectors = np.linalg.eigh(unpack(weights * pack(noisy)))
        nearest = (vectors * np.maximum(values, 0.0)) @ vectors.T
        frames.append(principal(nearest, frequencies, deviation, k))
    return np.stack(frames)


def without_data(sample: Coordinates, k: int, epsilon: float, size: int, randomness: Randomness) -> Array:
    """The first k functions of the basis whatever the curves: what smoothness alone is worth, (size, m, k)."""
    return np.tile(np.eye(sample.curves.shape[1], k), (size, 1, 1))


MEASURES: dict[str, dict[str, Rows]] = {"variance ratio": VARIANCE_RATIO, "subspace distance": SUBSPACE_DISTANCE}
MANY = 20_000  # draws that leave the mean no error worth the name; fewer when quick
COLUMNS = (
    "data set",
    "k",
    "epsilon",
    "published",
    "published se",
    "mean of 100",
    "se of 100",
    "z of 100",
    "z of difference",
    "exact mean",
    "z",
)
NOTES = (
    "Settings that give the printed numbers: kernel exp(-s d^2) with s = 0.03 on ages and 0.0011 on places 1 to 93 "
    "(376 complete scans); its first 5 eigenfunctions; density exp(tr V'AV) on orthonormal frames with "
    "A = (epsilon X'X - Lambda^-1)/2. Every printed number is a mean over 100 draws of a Markov chain; ours are exact, "
    "independent draws.",
    "All ages weigh the same in eigenfunctions and inner products, their mean step 17/30, but curves are divided by "
    "the largest root of a plain sum of squares, so that no growth curve is longer than 0.753. With a norm by the same "
    "weights the root mean square z of Berkeley is 3.7 rather than 0.9, with trapezoid weights 1.1. Scans cannot tell: "
    "their step is 1. Nor does s matter much there: 0.001 and 0.0012 give the same z.",
    "Curves are centred by their sample mean and scaled by their largest norm: not private, whatever epsilon says. A "
    "scan is protected, not a person.",
    "z: exact mean less published value over the published standard error; its root mean square is about 1 if the "
    "settings are those of the paper. z of 100: the same for a mean over 100 draws, as many as the paper has, which is "
    "about sqrt 2 even for the authors' own program run twice, since either mean errs; z of difference counts both "
    "errors.",
    "Ours, pure: the same epsilon and bound spent on second moments with two-sided Wishart noise, smoothed afterwards. "
    "No data: the first k functions of the basis, whatever the curves; much of the variance is smooth.",
)

# How a method makes frames of k columns for one data set and epsilon: (coordinates, k, epsilon, size) -> (size, m, k).
Draw = Callable[[Coordinates, int, float, int, Randomness], Array]


def exponential(sample: Coordinates, k: int, epsilon: float, size: int, randomness: Randomness) -> Array:
    """Exact draws of the exponential mechanism as the tables have it, (size, m, k)."""
    return draw_frames(sample.exponent(epsilon), k, size, randomness=randomness)


# Other ways to the same components, on the same coordinates; each adds its mean and standard error to every row.
BESIDE: Mapping[str, Draw] = {"ours, pure": through_covariance, "no data": without_data}


@dataclass(frozen=True, slots=True)
class MeanOfDraws:
    """A mean over draws and its standard error."""

    value: float
    error: float


@dataclass(frozen=True, slots=True)
class ComponentCell:
    """One cell of either table: where it stands, what is printed there and what came out."""

    data: str
    k: int
    epsilon: float
    measure: str
    published: MeanOfDraws
    hundred: MeanOfDraws
    exact: MeanOfDraws
    beside: tuple[MeanOfDraws, ...] = ()

    @property
    def z(self) -> float:
        """How many published standard errors the exact mean lies above the published value."""
        return (self.exact.value - self.published.value) / self.published.error

    @property
    def z_hundred(self) -> float:
        """The same for the mean over as many draws as the paper has."""
        return (self.hundred.value - self.published.value) / self.published.error

    @property
    def z_difference(self) -> float:
        """The same by the standard error of a difference of two means."""
        return (self.hundred.value - self.published.value) / math.hypot(self.published.error, self.hundred.error)

    @property
    def row(self) -> tuple[object, ...]:
        """What the table shows, under COLUMNS and two for every method beside."""
        shown = (self.z_hundred, self.z_difference, self.exact.value, self.z)
        means = [number for mean in self.beside for number in (mean.value, mean.error)]
        place = (self.data, self.k, self.epsilon, self.published.value, self.published.error)
        return (*place, self.hundred.value, self.hundred.error, *shown, *means)


def measure(sample: Coordinates, frames: Array) -> dict[str, Array]:
    """Both measures of every frame against the components without privacy, each (size,)."""
    reference = leading_frame(sample.curves, frames.shape[-1])
    return {
        "variance ratio": variance_ratio(sample.curves, frames, reference),
        "subspace distance": subspace_distance(frames, reference),
    }


def cells(
    data: str, sample: Coordinates, randomness: Randomness, *, many: int = MANY, beside: Mapping[str, Draw] = BESIDE
) -> Iterator[ComponentCell]:
    """The 30 cells of one data set in both tables: one set of draws for both measures."""
    for (j, k), (i, epsilon) in itertools.product(enumerate(COMPONENTS), enumerate(EPSILONS)):
        hundred = measure(sample, exponential(sample, k, epsilon, REPETITIONS, randomness))
        exact = measure(sample, exponential(sample, k, epsilon, many, randomness))
        others = [measure(sample, draw(sample, k, epsilon, REPETITIONS, randomness)) for draw in beside.values()]
        for name, printed in MEASURES.items():
            found = tuple(_mean(values[name]) for values in (hundred, exact, *others))
            published = MeanOfDraws(*printed[data][i][j])
            yield ComponentCell(data, k, epsilon, name, published, found[0], found[1], found[2:])


def run(setting: Setting, *, number: int) -> Outcome:
    """One of the two tables, with the summary of both: they share their draws."""
    samples = {data: read(data, setting.file(file)) for data, file in FILES.items()}
    randomness = SeededRandomness(setting.seed)
    many = MANY // 10 if setting.quick else MANY
    found = [
        cell
        for data in setting.track(list(samples), "data sets of Tables 1 and 2")
        for cell in cells(data, samples[data], randomness, many=many)
    ]
    name = tuple(MEASURES)[number - 1]
    here = [cell for cell in found if cell.measure == name]
    extra = tuple(word for method in BESIDE for word in (method, f"{method}, se"))
    title = f"Table {number} of Awan et al.: {name}, private against non-private components"
    table = Table(title, COLUMNS + extra, tuple(cell.row for cell in here))
    return Outcome((table,), (picture(here, title),), (*NOTES, _explained(samples), summary(found, here, number)))


def root_mean_square(values: list[float]) -> float:
    """The root of the mean of squares: about 1 for z-scores that are as large as chance makes them."""
    return math.sqrt(sum(value * value for value in values) / len(values))


def summary(both: list[ComponentCell], here: list[ComponentCell], number: int) -> str:
    """The root mean squares of all kinds of z, of this table and of both."""
    where = {f"The {len(here)} cells of Table {number}": here, f"The {len(both)} cells of Tables 1 and 2": both}
    parts = []
    for words, chosen in where.items():
        exact = root_mean_square([cell.z for cell in chosen])
        difference = root_mean_square([cell.z_difference for cell in chosen])
        hundred = root_mean_square([cell.z_hundred for cell in chosen])
        parts.append(
            f"{words}: root mean square z {exact:.2f}; z of difference {difference:.2f}; z of 100 {hundred:.2f}."
        )
    return f"{' '.join(parts)} The largest z of all is {max(abs(cell.z) for cell in both):.1f}."


def _explained(samples: Mapping[str, Coordinates]) -> str:
    parts = []
    for data, sample in samples.items():
        ours = ", ".join(f"{share:.3f}" for share in sample.explained[: len(COMPONENTS)])
        parts.append(f"{data} {ours} (printed {', '.join(map(str, EXPLAINED[data]))})")
    return f"Variation explained by 1, 2, 3 components without privacy: {'; '.join(parts)}."


def _mean(values: Array) -> MeanOfDraws:
    return MeanOfDraws(float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values))))


def picture(shown: list[ComponentCell], title: str) -> Any:
    """A panel for each data set: printed values with two standard errors, exact means as lines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.5), layout="constrained")
    leave_room(figure)
    for ax, data in zip(figure.subplots(1, len(FILES), sharey=True), FILES, strict=True):
        for k in COMPONENTS:
            line = [cell for cell in shown if (cell.data, cell.k) == (data, k)]
            at = np.array([cell.epsilon for cell in line]) * 1.03 ** (k - 2)
            published, errors = [cell.published.value for cell in line], [2 * cell.published.error for cell in line]
            ax.errorbar(at, published, yerr=errors, fmt="o", ms=4, mfc="none", capsize=3, color=f"C{k - 1}")
            ax.plot(at, [cell.exact.value for cell in line], color=f"C{k - 1}", label=f"k = {k}")
        ax.set_xscale("log", base=2)
        ax.set_title(data, fontsize=10)
        ax.grid(alpha=0.25)
        ax.set_xlabel("epsilon")
    first = figure.axes[0]
    first.errorbar([], [], yerr=[], fmt="o", ms=4, mfc="none", capsize=3, color="0.4", label="printed, ± 2 se")
    first.plot([], [], color="0.4", label="mean of exact draws")
    first.set_ylabel(shown[0].measure)
    first.legend(frameon=False, fontsize=8)
    figure.suptitle(title, fontsize=10)
    return figure


REPRODUCTIONS = (
    Reproduction(
        "awan-table-1", "Table 1 of Awan et al.: variance ratio of private components", partial(run, number=1)
    ),
    Reproduction(
        "awan-table-2", "Table 2 of Awan et al.: subspace distance of private components", partial(run, number=2)
    ),
)

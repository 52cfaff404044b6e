"""Figures 3 and 4 of Lin and Reimherr: private kernel density estimates on a line and in a square."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.bases import Domain
from dpfda.bases.cells import Cells, equal_cells, fine_cells
from dpfda.mechanisms.randomness import SeededRandomness
from dpfda.privacy import Budget
from dpfda.reproduce.density_noise import PlannedDensity, integral, kernel_estimate, planned
from dpfda.statistics.density.estimator import DensityFunction
from dpfda.studies.outcome import Outcome, Reproduction, Setting, Table, leave_room

LINE = Domain(((0.0, 1.0),))
BOX = Domain(((-5.0, 5.0), (-5.0, 5.0)))  # 5 to 5 is printed
SHARES = (0.6, 0.4)
PLACES = (0.3, 0.7)
DEVIATION = 0.1
CORNERS = ((-3.0, -3.0), (3.0, 2.0))
CORRELATION = 0.5  # of coordinates with variance 1


def line_sample(n: int, randomness: SeededRandomness) -> Array:
    """Points on the unit interval, (n, 1)."""
    places = np.array(PLACES)[_parts(n, randomness)]
    points = np.full(n, np.nan)
    while (left := np.isnan(points)).any():
        # Truncated: whatever falls outside is drawn again from the same part.
        drawn = places[left] + DEVIATION * randomness.normal((int(left.sum()),))
        points[left] = np.where((drawn >= 0) & (drawn <= 1), drawn, np.nan)
    return points[:, None]


def box_sample(n: int, randomness: SeededRandomness) -> Array:
    """Points in the square, (n, 2)."""
    places = np.array(CORNERS)[_parts(n, randomness)]
    points = np.full((n, 2), np.nan)
    while (left := np.isnan(points[:, 0])).any():
        drawn = places[left] + randomness.normal((int(left.sum()), 2)) @ _root().T
        points[left] = np.where((np.abs(drawn) <= 5).all(axis=1)[:, None], drawn, np.nan)
    return points


def line_truth(points: Array) -> Array:
    """The density of the first mixture, (m, 1) -> (m,)."""
    result = np.zeros(len(points))
    for share, place in zip(SHARES, PLACES, strict=True):
        inside = _normal((1 - place) / DEVIATION) - _normal(-place / DEVIATION)
        away = (points[:, 0] - place) / DEVIATION
        result += share * np.exp(-0.5 * away**2) / (math.sqrt(2 * math.pi) * DEVIATION * inside)
    return result


def box_truth(points: Array) -> Array:
    """The density of the second mixture, (m, 2) -> (m,)."""
    result = np.zeros(len(points))
    inverse = np.linalg.inv(_root() @ _root().T)
    for share, place, inside in zip(SHARES, CORNERS, _kept(), strict=True):
        away = points - np.array(place)
        form = np.einsum("ij,jk,ik->i", away, inverse, away)
        result += share * np.exp(-0.5 * form) / (2 * math.pi * math.sqrt(1 - CORRELATION**2) * inside)
    return result


def _parts(n: int, randomness: SeededRandomness) -> Array:
    return np.asarray(randomness.uniform((n,)) >= SHARES[0], dtype=np.int64)


def _root() -> Array:
    return np.array([[1.0, 0.0], [CORRELATION, math.sqrt(1 - CORRELATION**2)]])


def _kept() -> tuple[float, ...]:
    """The probability of the square under each part, by a fine sum over its first coordinate."""
    first = -5 + 10 * (np.arange(4000) + 0.5) / 4000
    spread = math.sqrt(1 - CORRELATION**2)
    result = []
    for x, y in CORNERS:
        middle = y + CORRELATION * (first - x)
        second = np.array([_normal((5 - m) / spread) - _normal((-5 - m) / spread) for m in middle])
        result.append(float(np.sum(np.exp(-0.5 * (first - x) ** 2) * second)) / math.sqrt(2 * math.pi) * 10 / 4000)
    return tuple(result)


def _normal(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2


EPSILON = 1.0
DELTA = 0.01
FRL, BEST, NOBODY = "FRL", "ICLP-QR, best eta", "not private"
HALL = {f"Gaussian process of Hall et al., {how}": how for how in ("published", "exact")}
OURS = "our default, pure"
OURS_APPROXIMATE = "our default, approximate"
ETAS = (1.01, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0)
COLUMNS = ("method", "n", "bandwidth", "noise", "error to non-private", "error to truth", "size of truth")
NOTES = (
    "The paper prints pictures and no numbers, neither n nor epsilon, and of the bandwidth its order alone: there is "
    "no published value to stand beside. Here epsilon is 1, and the tables have n = 1000 and 10,000.",
    "Errors are expected integrals of squares. Those of the papers' mechanisms are closed forms given a sample, of the "
    "raw release, which may be negative; 'noise' is their part that privacy causes. Those of the default are averages "
    "over releases. All are averaged over samples.",
    "Sensitivities are exact, by all pairs of cells; the sensitivity of Theorem 16 is larger, and as printed it is too "
    "small where the kernel is. The power of the kernel is normalised to mass one well inside the domain. FRL has the "
    "number of terms, and one row of ICLP-QR the power, that comes nearest to the truth, which nobody could know; the "
    "paper takes cross-validation.",
    "Beside them: the Gaussian process of Hall et al. at (1, 0.01) with h = n^(-1/(4+d)) itself, with the noise of the "
    "paper and with no more than the exact privacy curve needs, and the default at the same guarantee.",
)


@dataclass(frozen=True)
class DensityExperiment:
    """One of the two settings of Section 6.2, with the panels of its figure."""

    title: str
    domain: Domain
    family: str
    sample: Callable[[int, SeededRandomness], Array]
    truth: Callable[[Array], Array]
    constant: float  # of the bandwidth
    methods: dict[str, dict[str, Any]]
    sizes: range  # of FRL
    shown: int  # the sample size of the picture
    repetitions: int  # samples

    def bandwidth(self, n: int) -> float:
        return self.constant * math.pow(n, -1 / (4 + self.domain.dimension))

    def cells(self, quick: bool) -> Cells:
        """All pairs of them are compared for a sensitivity: fewer are quicker."""
        coarse = (512,) if self.domain.dimension == 1 else (24, 24)
        return equal_cells(self.domain, coarse) if quick else fine_cells(self.domain)

    @property
    def places(self) -> Array:
        """Where functions are compared: the middles of equal cells."""
        counts = 512 if self.domain.dimension == 1 else 60
        axes = [low + (high - low) * (np.arange(counts) + 0.5) / counts for low, high in self.domain.sides]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

    @property
    def volume(self) -> float:
        return float(np.prod(self.domain.lengths))


FIGURE_3 = DensityExperiment(
    "Figure 3 of Lin and Reimherr: densities on the unit interval, epsilon = 1",
    LINE,
    "gaussian",
    line_sample,
    line_truth,
    0.2,
    {
        "ICLP-QR, eta = 1.25": {"mechanism": "iclp-qr", "eta": 1.25},
        "ICLP-QR, eta = 1.5": {"mechanism": "iclp-qr", "eta": 1.5},
        "FRL": {"mechanism": "frl"},
        "Bernstein, K = 10": {"mechanism": "bernstein", "degree": 10},
        "Bernstein, K = 30": {"mechanism": "bernstein", "degree": 30},
        "Bernstein, K = 50": {"mechanism": "bernstein", "degree": 50},
    },
    range(1, 21),
    1000,
    20,
)
FIGURE_4 = DensityExperiment(
    "Figure 4 of Lin and Reimherr: densities in the square, epsilon = 1",
    BOX,
    "exponential",
    box_sample,
    box_truth,
    1.0,
    {
        "ICLP-QR, eta = 1.01": {"mechanism": "iclp-qr", "eta": 1.01},
        "ICLP-QR, eta = 1.05": {"mechanism": "iclp-qr", "eta": 1.05},
        "ICLP-QR, eta = 1.2": {"mechanism": "iclp-qr", "eta": 1.2},
        "FRL": {"mechanism": "frl"},
        "Bernstein, K = 5": {"mechanism": "bernstein", "degree": 5},
        "Bernstein, K = 10": {"mechanism": "bernstein", "degree": 10},
    },
    range(4, 65, 4),
    10_000,
    10,
)
LINE_NOTES = (
    "The bandwidth is 0.2 n^(-1/5): with the constant 1 it would be 0.25 at n = 1000, and no estimate would show the "
    "two peaks that the figure shows.",
    "What the text says of the figure holds here: ICLP-QR and FRL are alike, a higher eta varies less and flattens the "
    "peaks, Bernstein polynomials miss the two peaks at K = 10, and at 30 and 50 are restless at both ends.",
)
BOX_NOTES = (
    "The limits of the square are taken as -5 and 5. The kernel is exp(-(|x| + |y|)/h), a product over the sides, with "
    "h = n^(-1/6). Of this kernel tr K^(eta-1) is infinite at every eta up to 1.5, so that Theorem 16 says nothing of "
    "the three powers of the figure; the process here has 256 terms, on which the exact sensitivity is finite.",
    "The figure has private surfaces close to the other one. With the noise that privacy needs they are not: see the "
    "table.",
)


def plans_of(experiment: DensityExperiment, n: int, cells: Cells) -> dict[str, tuple[PlannedDensity, ...]]:
    """What each method may do with n points: one plan, or several of which the one nearest to the truth counts."""
    budget, bandwidth = Budget(EPSILON, 0.0), experiment.bandwidth(n)
    result: dict[str, tuple[PlannedDensity, ...]] = {}
    for name, wishes in experiment.methods.items():
        several: list[dict[str, Any]] = [{"size": size} for size in experiment.sizes] if name == FRL else [{}]
        result[name] = tuple(planned(cells, n, budget, bandwidth=bandwidth, **wishes, **more) for more in several)
    result[BEST] = tuple(planned(cells, n, budget, "iclp-qr", bandwidth=bandwidth, eta=eta) for eta in ETAS)
    # The rule itself, in the units of the points.
    rule = bandwidth / experiment.constant
    for name, calibration in HALL.items():
        wide = planned(cells, n, Budget(EPSILON, DELTA), "gp", bandwidth=rule, calibration=calibration)
        result[name] = (wide,)
    return result


def ours(experiment: DensityExperiment, points: Array, randomness: SeededRandomness, *, delta: float) -> Array:
    """A release of the default where functions are compared."""
    estimator = DensityFunction(
        epsilon=EPSILON, delta=delta, domain=experiment.domain, randomness=randomness, force=True
    )
    return np.asarray(estimator.fit(points).release_(experiment.places))


Errors = tuple[float, ...]  # of the noise, to the sample's estimate, to the truth; the first is NaN if not known


def run(experiment: DensityExperiment, setting: Setting, notes: tuple[str, ...]) -> Outcome:
    """Errors at two sample sizes, and a picture."""
    randomness = SeededRandomness(setting.seed)
    places, volume = experiment.places, experiment.volume
    truth, cells = experiment.truth(places), experiment.cells(setting.quick)
    rows: list[tuple[object, ...]] = []
    figure: Any = None
    for n in setting.track([1000] if setting.quick else [1000, 10_000], "sample sizes"):
        plans, bandwidth = plans_of(experiment, n, cells), experiment.bandwidth(n)
        found: dict[str, list[Errors]] = {}
        for _ in range(2 if setting.quick else experiment.repetitions):
            points = experiment.sample(n, randomness)
            sample = kernel_estimate(points, places, cells=cells, bandwidth=bandwidth, family=experiment.family)
            for name, errors in _errors(experiment, points, sample, plans, randomness).items():
                found.setdefault(name, []).append(errors)
        for name, measured in found.items():
            noise, loss, error = (float(mean) for mean in np.mean(measured, axis=0))
            width = None if math.isnan(noise) else bandwidth / (experiment.constant if name in HALL else 1)
            told = None if math.isnan(noise) else noise
            rows.append((name, n, width, told, loss, error, integral(truth**2, volume)))
        if n == experiment.shown or setting.quick:
            figure = draw(experiment, points, sample, plans, randomness, curves=3 if setting.quick else 10)
    return Outcome((Table(experiment.title, COLUMNS, tuple(rows)),), (figure,), (*NOTES, *notes))


def _errors(
    experiment: DensityExperiment,
    points: Array,
    sample: Array,
    plans: dict[str, tuple[PlannedDensity, ...]],
    randomness: SeededRandomness,
) -> dict[str, Errors]:
    """The errors of every method on one sample; of several plans those of the one nearest to the truth."""
    places, volume = experiment.places, experiment.volume
    truth = experiment.truth(places)
    found: dict[str, Errors] = {}
    for name, several in plans.items():
        each = [(plan.noise_error, *plan.of(points).errors((sample, truth), places)) for plan in several]
        found[name] = min(each, key=lambda errors: errors[-1])
    for name, delta in ((OURS, 0.0), (OURS_APPROXIMATE, DELTA)):
        release = ours(experiment, points, randomness, delta=delta)
        distances = (integral((release - other) ** 2, volume) for other in (sample, truth))
        found[name] = (math.nan, *distances)
    return found | {NOBODY: (0.0, 0.0, integral((sample - truth) ** 2, volume))}


def draw(
    experiment: DensityExperiment,
    points: Array,
    sample: Array,
    plans: dict[str, tuple[PlannedDensity, ...]],
    randomness: SeededRandomness,
    *,
    curves: int,
) -> Any:
    """A panel for each method: the estimate that nobody protects in blue, private ones in red."""
    from matplotlib.figure import Figure

    places, truth = experiment.places, experiment.truth(experiment.places)
    flat = experiment.domain.dimension == 1
    figure = Figure(figsize=(15, 7.5), layout="constrained")
    leave_room(figure)
    names = (*experiment.methods, OURS)
    for position, name in enumerate(names):
        if name == OURS:
            drawn = [ours(experiment, points, randomness, delta=0.0) for _ in range(curves if flat else 1)]
        else:
            best = min((plan.of(points) for plan in plans[name]), key=lambda one: one.error(truth, places))
            drawn = [best.draw(places, randomness) for _ in range(curves if flat else 1)]
        if flat:
            ax = figure.add_subplot(2, 4, position + 1)
            for values in drawn:
                ax.plot(places[:, 0], values, color="C3", lw=0.6, alpha=0.7)
            ax.plot(places[:, 0], sample, color="C0", lw=1.5)
            ax.set_ylim(-0.5, 1.6 * float(truth.max()))
        else:
            ax = figure.add_subplot(2, 4, position + 1, projection="3d")
            side = round(len(places) ** 0.5)
            x, y = (places[:, axis].reshape(side, side) for axis in (0, 1))
            for values, colour in ((sample, "C0"), (drawn[0], "C3")):
                ax.plot_wireframe(x, y, values.reshape(side, side), color=colour, lw=0.4, rstride=3, cstride=3)
        ax.set_title(name, fontsize=10)
    figure.suptitle(f"{experiment.title}, n = {len(points)}: not private (blue) and private (red)", fontsize=10)
    return figure


def figure_3(setting: Setting) -> Outcome:
    """On the line."""
    return run(FIGURE_3, setting, LINE_NOTES)


def figure_4(setting: Setting) -> Outcome:
    """In the square."""
    return run(FIGURE_4, setting, BOX_NOTES)


REPRODUCTIONS = (
    Reproduction("lin-figure-3", "Figure 3 of Lin and Reimherr: private densities on a line", figure_3),
    Reproduction("lin-figure-4", "Figure 4 of Lin and Reimherr: private densities in a square", figure_4),
)

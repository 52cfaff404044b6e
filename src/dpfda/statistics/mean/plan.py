"""Plans of a mean: every mechanism with its predicted error, the one chosen, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.bases import Basis
from dpfda.bases.lattice import RADIUS
from dpfda.errors import DpfdaError
from dpfda.mechanisms import Bernstein, KNorm, Mechanism
from dpfda.mechanisms.base import law_of
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.mechanisms.table import AUTO, as_law, names_for, names_with, settings_of, unknown
from dpfda.planning.base import NOISY_FROM, SHOWN_FROM, AnyPlan, basis_text, price
from dpfda.planning.default_design import own_design, own_names, why_own
from dpfda.planning.prediction import (
    DEFAULT_CLASS,
    Prediction,
    SmoothnessClass,
    bernstein_bias,
    check_class,
    linear_minimax,
    worst_bias,
    worst_thresholding,
)
from dpfda.planning.request import DESIGNS, Design, Request, check_exact, check_used
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L2, Sensitivity
from dpfda.releases.bands import multiplier

STATISTIC = "mean"
SETTINGS = ("kernel", "eta", "penalty", "penalty_kernel", "candidates")


@dataclass(frozen=True, eq=False)
class Plan(AnyPlan):
    """What a release would do, from public facts alone."""

    request: Request
    design: Design
    noise: NoiseLaw  # of the coordinates as they are decoded, in the units of the curve, before smoothing
    spends: Budget  # what the release costs: the budget, or less
    reasons: tuple[tuple[str, str], ...]

    @property
    def basis(self) -> Basis:
        return self.design.basis

    @property
    def mechanism(self) -> Mechanism:
        return self.design.mechanism

    @property
    def count_weight(self) -> int:
        return self.design.count_weight

    @property
    def noise_rms(self) -> float:
        """The expected root mean square of the noise over the domain, before smoothing."""
        return float(np.sqrt(np.trace(self.basis.gram() * self.noise.variances)))

    def predict(self, within: SmoothnessClass = DEFAULT_CLASS) -> Prediction | None:
        """Worst-case errors over a class, in units of the bound's square; None for a choice among candidates.

        Frequencies are those of the mechanism's own basis. Sampling is at most the bound's square over n.
        """
        check_class(within)
        if not self.noise.added:
            return None
        inner = self.design.inner
        frequencies = self.basis.frequencies if inner is None else inner.whole.frequencies
        noise = self.noise.variances / self.bound**2
        # The first frequency that is left out; where the index is a place it stands for one.
        dimension = self.basis.domain.dimension
        edge = float(frequencies.max()) + 1 if frequencies.any() else self.basis.size ** (1 / dimension)
        if self.design.name == Bernstein.name:
            bias = bernstein_bias(round(self.basis.size ** (1 / dimension)) - 1, within)
            privacy = float(np.trace(self.basis.gram() * noise))
        elif self.design.thresholds:
            bias = worst_thresholding(np.array(self.design.thresholds), frequencies, edge, within)
            privacy = float(noise.sum())
        elif self.design.smoothing and self.basis.orthonormal and frequencies.any():
            bias, privacy = linear_minimax(noise, frequencies, edge, within)
        else:
            bias = worst_bias(self.weights, frequencies, edge, within)
            privacy = float(np.trace(self.basis.gram() * noise))
        return Prediction(bias, 1 / self.n, privacy)

    @property
    def weights(self) -> Array:
        """What the mechanism leaves of every coordinate of the mean before the noise, (size,); no threshold counted."""
        stated = self.design.weights if self.design.kept is None else self.design.kept
        if stated is not None:
            return np.array(stated)
        weights = getattr(self.mechanism, "weights", None)  # the exponential mechanism shrinks by its base measure
        return (
            np.ones(self.basis.size)
            if weights is None
            else np.asarray(weights(_scale(self.request, self.design, self.spends)))
        )

    def table(self, within: SmoothnessClass = DEFAULT_CLASS) -> Ranking:
        """All mechanisms for the same request, ranked by their predicted error; reads no data."""
        check_class(within)
        rows = []
        for name in names_for(STATISTIC):
            for calibration in ("exact", "published") if name in calibrated() else ("exact",):
                rows.append(self._row(name, calibration, within))
        if not any(row.chosen for row in rows):
            # A mechanism of the user's own, or the simpler bound.
            rows.append(Row(self.design.name, self.request.calibration, self.predict(within), chosen=True))
        return Ranking(self.n, self.budget, self.bound, within, tuple(sorted(rows, key=Row.order)))

    def _row(self, name: str, calibration: str, within: SmoothnessClass) -> Row:
        chosen = name == self.design.name and calibration == self.request.calibration
        # What was stated for one mechanism does not suit the others; what all share is the public facts.
        known = settings_of(name, STATISTIC)
        request = replace(
            self.request,
            mechanism=name,
            calibration=calibration,
            basis=None,
            size=None,
            kernel=self.request.kernel if "kernel" in known else None,
            eta=None,
            penalty=None,
            penalty_kernel=None,
            candidates=self.request.candidates if "candidates" in known else None,
        )
        try:
            plan = self if chosen else make_plan(request)
            prediction = plan.predict(within)
        except DpfdaError as error:
            return Row(name, calibration, None, chosen, note=error.message)
        note = "" if prediction is not None else "depends on its candidates"
        return Row(name, calibration, prediction, chosen, note=note)

    @property
    def hidden(self) -> str:
        """Why next to nothing could be seen of a mean as large as the bound; empty where it could.

        An error near the bound, or near what is left of the mean before the noise, or next to nothing that is left.
        """
        if not self.noise.added:
            # The distance of what is chosen exceeds the least one by the scale times the logarithm of the number.
            off = self.noise.scales[0] * math.log(max(len(self.request.candidates or ()), 2)) / self.bound
            return f"the choice would be off by {off:.0%} of the bound" if off >= NOISY_FROM else ""
        prediction = self.predict() if self.design.smoothing else None
        noise = self.noise_rms / self.bound
        error = noise if prediction is None else math.sqrt(prediction.of_noise)
        # Noise that is small before smoothing hides nothing; what is left then is sampling, and the finite basis.
        if min(noise, error) >= NOISY_FROM:
            after = "" if prediction is None else ", after the best smoothing,"
            return f"the error expected{after} would be {error:.0%} of the bound"
        left = float(np.max(self.weights)) * max((1 - t for t in self.design.thresholds), default=1.0)
        penalised = self.design.weights is not None or self.design.kept is not None or self.design.thresholds
        shrinks = "penalty" if penalised else "base measure"
        if left < SHOWN_FROM:
            return f"the {shrinks} would leave {max(left, 0.0):.1%} of the mean"
        # A penalty shrinks noise and mean alike: noise that is small against the bound may hide all that is left.
        share = min(noise, error) / left
        return f"the noise would be {share:.0%} of what the {shrinks} leaves of the mean" if share >= NOISY_FROM else ""

    def plot(self, figure: Any = None) -> Any:
        """Error against epsilon and against n for every mechanism, and the noise band around a simulated curve."""

        return plot(self, figure)

    @property
    def title(self) -> str:
        return f"{self.n} units"

    def facts(self) -> dict[str, Any]:
        prediction = self.predict()
        return {
            "bound": self.bound,
            "basis": self.basis.describe(),
            "mechanism": self.design.name,
            "noise": self.noise.describe(),
            "noise_rms": self.noise_rms,
            "predicted_rms": None if prediction is None else self.bound * math.sqrt(prediction.total),
            "spends": price(self.spends),
        }

    def lines(self) -> tuple[tuple[str, str], ...]:
        prediction = self.predict()
        expected: tuple[tuple[str, str], ...] = ()
        if prediction is not None:
            smoothed = " after the best smoothing" if self.design.smoothing else ""
            error = f"about {self.bound * math.sqrt(prediction.total):.4g} root mean square expected{smoothed}"
            expected = (("error", f"{error}, the worst over {DEFAULT_CLASS.text}"),)
        return (
            ("mechanism", f"{self.design.name}, {self.noise.text}"),
            ("basis", basis_text(self.basis)),
            (
                "noise",
                f"{self.noise_rms:.4g} root mean square before smoothing, {self.noise_rms / self.bound:.1%} of the "
                f"bound {self.bound:g}",
            ),
            *expected,
        )


def calibrated() -> tuple[str, ...]:
    """Mechanisms of the papers whose published noise is larger than privacy needs; Bernstein's is exact already."""
    return tuple(name for name in names_with("calibration", STATISTIC) if name != Bernstein.name)


def make_plan(request: Request) -> Plan:
    """The design that was asked for, or the one with the least predicted error, by public facts alone."""
    if request.mechanism != AUTO:
        return _planned(request, "stated by the user")
    check_used(request, STATISTIC, *SETTINGS)
    pure = Budget(request.budget.epsilon, 0.0)
    # K-norm noise gains next to nothing from delta: it spends none, and the guarantee is pure.
    plans = [
        _planned(replace(request, mechanism=name), "", spends=pure if name == KNorm.name else None)
        for name in own_names(request.budget)
    ]
    best = min(plans, key=lambda plan: _total(plan))
    why = why_own(best.design.name, request.budget)
    return replace(best, reasons=(*best.design.reasons, ("mechanism", why)))


def _planned(request: Request, why: str, *, spends: Budget | None = None) -> Plan:
    spends = spends or request.budget
    request = replace(request, mechanism=as_law(request.mechanism, STATISTIC))
    if isinstance(request.mechanism, str):
        if request.mechanism not in names_for(STATISTIC):
            raise unknown(request.mechanism, STATISTIC, "a mean")
        check_used(request, STATISTIC, *SETTINGS)
        made = DESIGNS.get(request.mechanism)
        design = own_design(request, request.mechanism) if made is None else made(request)
    else:
        own = getattr(request.mechanism, "design", None)
        design = own_design(request, request.mechanism) if own is None else own(request)
    if "calibration" not in settings_of(design.name, STATISTIC):
        check_exact(request.calibration, design.name)
    noise = law_of(design.mechanism, _scale(request, design, spends), design.basis.size + request.counted)
    if request.counted:
        noise = noise.split(1)[1]
    noise = noise.scaled(request.bound / RADIUS / request.n)
    if design.weights is not None:
        noise = noise.weighted(np.array(design.weights))
    return Plan(request, design, noise, spends, (*design.reasons, ("mechanism", why)))


def _scale(request: Request, design: Design, spends: Budget) -> float:
    longest = math.hypot(RADIUS, design.count_weight) if request.counted else 2.0 * RADIUS
    size = design.basis.size + request.counted
    needed = calibrate(design.mechanism, Sensitivity(longest, L2(), "the planned one"), spends, size=size)
    return max(needed, design.least_scale)


def _total(plan: Plan) -> float:
    prediction = plan.predict()
    return math.inf if prediction is None else prediction.total


COLUMNS = ("mechanism", "calibration", "bias", "sampling", "privacy", "total", "ratio", "note")


@dataclass(frozen=True, slots=True)
class Row:
    """One mechanism, and the squared errors predicted for it; None where it cannot be used or predicted."""

    mechanism: str
    calibration: str
    prediction: Prediction | None
    chosen: bool
    note: str = ""

    def order(self) -> tuple[float, str, str]:
        return (math.inf if self.prediction is None else self.prediction.total, self.mechanism, self.calibration)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Mechanisms for one request, best first; errors are squared root mean squares in units of the curve."""

    n: int
    budget: Budget
    bound: float
    within: SmoothnessClass
    entries: tuple[Row, ...]

    @property
    def rows(self) -> tuple[tuple[object, ...], ...]:
        """Plain rows under `COLUMNS`; the ratio is to the least total."""
        found = []
        least = min((row.prediction.total for row in self.entries if row.prediction is not None), default=math.nan)
        for row in self.entries:
            p = row.prediction
            numbers: tuple[object, ...] = (None,) * 5
            if p is not None:
                square = self.bound**2
                numbers = (
                    p.bias * square,
                    p.sampling * square,
                    p.privacy * square,
                    p.total * square,
                    p.total / least,
                )
            note = ("chosen" + (": " if row.note else "") if row.chosen else "") + row.note
            found.append((row.mechanism, row.calibration, *numbers, note))
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data."""
        return {
            "n": self.n,
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "bound": self.bound,
            "class": {"order": self.within.order, "radius": self.within.radius},
            "rows": [dict(zip(COLUMNS, row, strict=True)) for row in self.rows],
        }

    def text(self) -> str:
        """The table for people."""
        head = f"Predicted squared errors for {self.n} units at {self.budget}, worst case over {self.within.text}"
        width = max(13, *(len(row.mechanism) + 2 for row in self.entries))
        lines = [head, "", f"  {'mechanism':<{width}}{'calibration':<13}" + "".join(f"{c:>11}" for c in COLUMNS[2:7])]
        for row in self.rows:
            cells = "".join(f"{'':>11}" if x is None else f"{x:>11.4g}" for x in row[2:7])
            lines.append(f"  {row[0]:<{width}}{row[1]:<13}{cells}  {row[7]}".rstrip())
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


INK, NOISE = "#1b4965", "#9fc5dc"
POINTS = 7  # of each curve of errors


def plot(plan: Plan, figure: Any) -> Any:
    """Three panels; returns the figure. The curve in the third is simulated: no data are known to a plan."""
    if figure is None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(13, 4.2), layout="constrained")
    by_epsilon, by_n, picture = figure.subplots(1, 3)
    epsilons = plan.budget.epsilon * np.geomspace(0.125, 8, POINTS)
    sizes = np.unique(np.rint(plan.n * np.geomspace(0.125, 8, POINTS)).astype(int).clip(1))
    _errors(by_epsilon, [(float(e), _at(plan, epsilon=float(e))) for e in epsilons], "epsilon", plan.budget.epsilon)
    _errors(by_n, [(float(n), _at(plan, n=int(n))) for n in sizes], "number of units", plan.n)
    figure.legend(*by_n.get_legend_handles_labels(), loc="outside right center", fontsize=8, frameon=False)
    _band(picture, plan)
    return figure


def _at(plan: Plan, *, epsilon: float | None = None, n: int | None = None) -> dict[str, float]:
    """Predicted root mean square errors of every mechanism for another epsilon or another number of units."""

    budget = plan.budget if epsilon is None else Budget(epsilon, plan.budget.delta)
    request = replace(plan.request, budget=budget, n=plan.n if n is None else n)
    try:
        ranking = make_plan(request).table()
    except DpfdaError:
        # What was stated does not go with every epsilon and every n; the others do.
        ranking = make_plan(replace(request, mechanism="auto", calibration="exact", basis=None, size=None)).table()
    return {
        f"{row.mechanism}{'' if row.calibration == 'exact' else ', published'}": plan.bound
        * float(np.sqrt(row.prediction.total))
        for row in ranking.entries
        if row.prediction is not None
    }


def _errors(ax: Any, found: list[tuple[float, dict[str, float]]], label: str, now: float) -> None:
    names = sorted({name for _, errors in found for name in errors})
    mechanisms = sorted({name.split(",")[0] for name in names})
    for name in names:
        place = mechanisms.index(name.split(",")[0])
        known = [(x, errors[name]) for x, errors in found if name in errors]
        style = "--" if name.endswith("published") else "-"
        ax.loglog(*zip(*known, strict=True), style, lw=1.4, color=f"C{place}", marker=".", ms=4, label=name)
    ax.axvline(now, color="0.6", lw=0.8)
    # Few labels, in plain numbers: those of a logarithmic axis that is short run into each other.
    shown = [found[place][0] for place in (0, len(found) // 2, -1)]
    ax.set_xticks(shown, [f"{x:g}" for x in shown])
    ax.set_xticks([], minor=True)
    ax.set_xlabel(label)
    ax.set_ylabel("expected error, root mean square")
    ax.grid(alpha=0.25)


def _band(ax: Any, plan: Plan) -> None:
    domain = plan.basis.domain
    ax.set_title("a simulated curve, and what the noise may do to it", fontsize=9)
    if domain.dimension > 1 or not plan.noise.added:
        ax.text(0.5, 0.5, "no band to draw", ha="center", transform=ax.transAxes)
        return
    points = domain.grid(201)
    t = domain.to_unit(points)[:, 0]
    curve: Array = 0.6 * plan.bound * np.sin(2 * np.pi * t) * np.exp(-t)
    deviation = np.sqrt(plan.basis.matrix(points) ** 2 @ plan.noise.variances)
    reach = multiplier(plan.basis, plan.noise, 0.95) * deviation
    ax.fill_between(points[:, 0], curve - reach, curve + reach, color=NOISE, alpha=0.5, lw=0, label="95 % noise band")
    ax.plot(points[:, 0], curve, color=INK, lw=2, label="simulated curve")
    ax.set_xlabel("t")
    ax.grid(alpha=0.25)
    ax.legend(fontsize=8, frameon=False)

"""Come here for plans: choices that are made before any record is touched, and the errors they promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.bases import Basis
from dpfda.errors import DpfdaError, UsageError
from dpfda.mechanisms import Mechanism
from dpfda.norms import L2, Sensitivity
from dpfda.planner import papers, selections
from dpfda.planner.design import Design
from dpfda.planner.own import own_design
from dpfda.planner.prediction import (
    DEFAULT_CLASS,
    Prediction,
    SmoothnessClass,
    linear_minimax,
    worst_bias,
    worst_thresholding,
)
from dpfda.planner.ranking import Ranking, Row
from dpfda.planner.request import Request
from dpfda.privacy import Budget, Noise, calibrate
from dpfda.records import RADIUS

# The names that people type, and who designs them; a new mechanism for the mean is a function and a line here.
DESIGNS: dict[str, Callable[[Request], Design]] = {
    "gaussian": lambda request: own_design(request, "gaussian"),
    "k-norm": lambda request: own_design(request, "k-norm"),
    "laplace": lambda request: own_design(request, "laplace"),
    "gp": papers.gp,
    "iclp-qr": papers.iclp_qr,
    "iclp-ar": papers.iclp_ar,
    "frl": papers.frl,
    "bernstein": papers.bernstein,
    "exponential": selections.exponential,
    "dictionary": selections.dictionary,
}
# Those of the papers whose published noise is larger than privacy needs.
CALIBRATED = ("gp", "iclp-qr", "iclp-ar", "frl")


@dataclass(frozen=True, eq=False)
class Plan:
    """What a release would do, from public facts alone."""

    request: Request
    design: Design
    noise: Noise  # of the coordinates as they are decoded, in the units of the curve, before smoothing
    reasons: tuple[tuple[str, str], ...]

    @property
    def n(self) -> int:
        return int(self.request.n)

    @property
    def budget(self) -> Budget:
        return self.request.budget

    @property
    def bound(self) -> float:
        return self.request.bound

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
        if self.noise.law == "choice":
            return None
        frequencies, noise = self.basis.frequencies, self.noise.variances / self.bound**2
        # The first frequency that is left out; where the index is a place it stands for one.
        dimension = self.basis.domain.dimension
        edge = float(frequencies.max()) + 1 if frequencies.any() else self.basis.size ** (1 / dimension)
        if self.design.name == "bernstein":
            degree = round(self.basis.size ** (1 / dimension)) - 1
            # The Bernstein operator keeps the share prod (1 - i/K) of its eigenfunction of degree k (Kelisky, Rivlin).
            frequencies = np.arange(degree + 1.0)
            kept = np.concatenate([[1.0], np.cumprod(1 - np.arange(degree) / max(degree, 1))])
            bias = worst_bias(kept, frequencies, degree + 1.0, within)
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
        if self.design.weights is not None:
            return np.array(self.design.weights)
        weights = getattr(self.mechanism, "weights", None)  # the exponential mechanism shrinks by its base measure
        return np.ones(self.basis.size) if weights is None else np.asarray(weights(_scale(self.request, self.design)))

    def table(self, within: SmoothnessClass = DEFAULT_CLASS) -> Ranking:
        """All mechanisms for the same request, ranked by their predicted error; reads no data."""
        rows = []
        for name in DESIGNS:
            for calibration in ("exact", "published") if name in CALIBRATED else ("exact",):
                rows.append(self._row(name, calibration, within))
        if not any(row.chosen for row in rows):
            # A mechanism of the user's own, or the simpler bound.
            rows.append(Row(self.design.name, self.request.calibration, self.predict(within), chosen=True))
        return Ranking(self.n, self.budget, self.bound, within, tuple(sorted(rows, key=Row.order)))

    def _row(self, name: str, calibration: str, within: SmoothnessClass) -> Row:
        chosen = name == self.design.name and calibration == self.request.calibration
        # What was stated for one mechanism does not suit the others; what all share is the public facts.
        request = (
            self.request
            if chosen
            else replace(
                self.request, mechanism=name, calibration=calibration, basis=None, size=None, eta=None, penalty=None
            )
        )
        try:
            plan = self if chosen else make_plan(request)
            prediction = plan.predict(within)
        except DpfdaError as error:
            return Row(name, calibration, None, chosen, note=str(error))
        note = "" if prediction is not None else "depends on its candidates"
        return Row(name, calibration, prediction, chosen, note=note)

    def plot(self, figure: Any = None) -> Any:
        """Error against epsilon and against n for every mechanism, and the noise band around a simulated curve."""
        from dpfda.planner.pictures import plot

        return plot(self, figure)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data."""
        prediction = self.predict()
        return {
            "n": self.n,
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "bound": self.bound,
            "basis": self.basis.describe(),
            "mechanism": self.design.name,
            "noise": self.noise.describe(),
            "noise_rms": self.noise_rms,
            "predicted_rms": None if prediction is None else self.bound * math.sqrt(prediction.total),
            "reasons": dict(self.reasons),
        }

    def text(self, *more: tuple[str, str]) -> str:
        """The plan for people, with more lines about what it would be applied to."""
        prediction = self.predict()
        expected = (
            []
            if prediction is None
            else [
                f"  error       at most {self.bound * math.sqrt(prediction.total):.4g} root mean square expected"
                f"{' after smoothing' if self.design.smoothing else ''}, over {DEFAULT_CLASS.text}"
            ]
        )
        lines = [
            f"Plan for {self.n} units at {self.budget}; no values read, nothing charged",
            "",
            f"  mechanism   {self.design.name}, {self.noise.text}",
            f"  basis       {self.basis.describe()['family']}, {self.basis.size} function{'s' * (self.basis.size > 1)}",
            f"  noise       {self.noise_rms:.4g} root mean square before smoothing, "
            f"{self.noise_rms / self.bound:.1%} of the bound {self.bound:g}",
            *expected,
            *(f"  because     {name}: {how}" for name, how in self.reasons),
            *(f"  {name:<11} {what}" for name, what in more),
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


def make_plan(request: Request) -> Plan:
    """The design that was asked for, or the one with the least predicted error, by public facts alone."""
    if request.mechanism != "auto":
        return _planned(request, "stated by the user")
    names = ("k-norm",) if request.budget.pure else ("gaussian", "k-norm")
    plans = [_planned(replace(request, mechanism=name), "") for name in names]
    best = min(plans, key=lambda plan: _total(plan))
    law = {"k-norm": "K-norm", "gaussian": "Gaussian"}[best.design.name]
    why = (
        "pure epsilon asks for K-norm noise"
        if request.budget.pure
        else f"delta > 0 allows Gaussian noise, and {law} noise has the least predicted error"
    )
    return replace(best, reasons=(*best.design.reasons, ("mechanism", why)))


def _planned(request: Request, why: str) -> Plan:
    if isinstance(request.mechanism, str):
        if request.mechanism not in DESIGNS:
            known = ", ".join(repr(known) for known in ("auto", *DESIGNS))
            raise UsageError(f"Unknown mechanism {request.mechanism!r}. Known are {known}.")
        design = DESIGNS[request.mechanism](request)
    else:
        design = own_design(request, request.mechanism)
    if request.calibration != "exact" and design.name not in (*CALIBRATED, "bernstein"):
        raise UsageError(
            f"calibration={request.calibration!r} is for the papers' mechanisms, e.g. 'gp' or 'iclp-qr'; "
            f"{design.name!r} is always calibrated exactly."
        )
    noise = design.mechanism.noise(_scale(request, design), design.basis.size + request.counted)
    if request.counted:
        noise = noise.split_first()[1]
    noise = noise.scaled(request.bound / RADIUS / request.n)
    if design.weights is not None:
        noise = noise.weighted(np.array(design.weights))
    return Plan(request, design, noise, (*design.reasons, ("mechanism", why)))


def _scale(request: Request, design: Design) -> float:
    longest = math.hypot(RADIUS, design.count_weight) if request.counted else 2.0 * RADIUS
    size = design.basis.size + request.counted
    needed = calibrate(design.mechanism, Sensitivity(longest, L2(), "the planned one"), request.budget, size=size)
    return max(needed, design.least_scale)


def _total(plan: Plan) -> float:
    prediction = plan.predict()
    return math.inf if prediction is None else prediction.total

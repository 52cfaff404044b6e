"""The plan of a regression of curves on covariates: which noise, how it is divided, what error."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.bases import Basis
from dpfda.bases.symmetric import packed_size, unpack
from dpfda.mechanisms.base import law_of
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.mechanisms.table import names_for
from dpfda.planning.base import NOISY_FROM, SHOWN_FROM, AnyPlan, Ranked, basis_text, price, ranked
from dpfda.planning.default_design import own_names, why_own
from dpfda.planning.prediction import (
    DEFAULT_CLASS,
    Prediction,
    SmoothnessClass,
    check_class,
    linear_minimax,
    worst_bias,
)
from dpfda.planning.request import Request, check_used
from dpfda.privacy import Budget, calibrate
from dpfda.statistics.regression.covariates import Covariates
from dpfda.statistics.regression.noise import SIGNAL, STATISTIC, RegressionDesign, RegressionSetting, design_of
from dpfda.statistics.regression.perturbation import SHARE, spread
from dpfda.statistics.regression.release import finite_from
from dpfda.statistics.regression.sensitivity import noise_of_means, stated

REFERENCE = "covariates spread evenly over their limits, and coefficients that move curves by half the bound"
OBSERVATION = (
    "each person counts once, with the averages of covariates and curve: coefficients compare people, not visits of "
    "one person"
)
LEVEL = 0.95  # of the bands that a plan speaks of


@dataclass(frozen=True, eq=False)
class RegressionPlan(AnyPlan):
    """A design for a regression, the law of its noise, and what to expect of it, from public facts alone."""

    request: Request
    setting: RegressionSetting
    covariates: Covariates
    design: RegressionDesign
    noise: NoiseLaw  # of the means of z z' and z y', in the units of the curve, before smoothing
    spends: Budget
    reasons: tuple[tuple[str, str], ...]

    @property
    def basis(self) -> Basis:
        return self.design.basis

    @property
    def _rows(self) -> Array:
        """Noise variances of the coordinates of each coefficient's part in a curve, in units of the bound's square."""
        entries = packed_size(self.setting.side)
        products = self.noise.variances[entries:].reshape(self.setting.side, -1) / self.bound**2
        rows: Array = products / self.setting.spread(self.design.lead)[:, None]
        return rows

    @property
    def _turning(self) -> float:
        """What noise in the moments does to curves, in units of the bound's square."""
        spread = self.setting.spread(self.design.lead)
        moments = unpack(self.noise.variances[: packed_size(self.setting.side)])
        return float((1 / spread) @ moments @ self.setting.coefficients(self.design.lead))

    @property
    def noise_rms(self) -> float:
        """The expected root mean square of what the noise does to predicted curves before smoothing, for the reference.

        In products and moments, to first order, as the card counts it for the covariates that there are.
        """
        return self.bound * math.sqrt(float(self._rows.sum()) + self._turning)

    @property
    def band_share(self) -> float:
        """How far noise in the moments reaches against their smallest eigenvalue for the reference; bands need < 1."""
        side = self.setting.side
        of_moments, of_products = self.noise.split(packed_size(side))
        rows = np.sqrt(of_products.variances.reshape(side, -1).sum(axis=1))
        scales = rows / rows.max()
        _, norm = spread(of_moments, scales, 1 - SHARE * (1 - LEVEL))
        return norm / float(np.min(self.setting.spread(self.design.lead) / scales**2))

    @property
    def bands(self) -> str:
        """Whether noise bands will be finite, and from where on if not."""
        share = self.band_share
        if share < 1:
            return f"finite, expected: noise in the moments of covariates reaches {share:.0%} of what would hide them"
        needed = finite_from(share, self.n, self.budget.epsilon if self.spends.pure else None)
        return f"infinite, expected: the noise may hide that covariates are dependent; they could be finite {needed}"

    def predict(self, within: SmoothnessClass = DEFAULT_CLASS) -> Prediction:
        """Expected squared errors of predicted curves for the reference design, in units of the bound's square.

        To first order in the noise; the worst over coefficient functions whose parts in a curve lie in the class.
        """
        check_class(within)
        frequencies = self.basis.frequencies
        edge = float(frequencies.max()) + 1 if frequencies.any() else float(self.basis.size)
        bias, privacy = 0.0, self._turning
        for noise in self._rows:
            if self.design.weights is None and frequencies.any():
                off, kept = linear_minimax(noise, frequencies, edge, within)
            else:
                weights = np.ones(self.basis.size) if self.design.weights is None else np.array(self.design.weights)
                off, kept = worst_bias(weights, frequencies, edge, within), float(noise.sum())
            bias, privacy = bias + off / len(self._rows), privacy + kept
        return Prediction(bias, self.setting.side / self.n, privacy)

    def table(self) -> Ranked:
        """Every mechanism with the root mean square error predicted for it, best first, and a note; reads no data."""

        def error(name: str) -> float:
            mine = name == self.design.name
            plan = self if mine else plan_regression(replace(self.request, mechanism=name), self.covariates)
            return self.bound * math.sqrt(plan.predict().total)

        return ranked(sorted(names_for(STATISTIC)), self.design.name, error)

    @property
    def hidden(self) -> str:
        """Why next to nothing could be seen of coefficients that move curves by half the bound; empty where it could.

        An error near that in predicted curves, noise bands that are expected to be infinite, or a penalty that leaves
        next to nothing.
        """
        left = 1.0 if self.design.weights is None else max(self.design.weights)
        if left < SHOWN_FROM:
            return f"the penalty would leave {left:.1%} of the coefficients"
        # Noise that is small before smoothing hides nothing; what is left then is the finite basis, or few grid points.
        error = min(math.sqrt(self.predict().of_noise), self.noise_rms / self.bound / left)
        share = error / math.sqrt(SIGNAL)
        if share >= NOISY_FROM:
            return (
                f"the error expected in predicted curves, after the best smoothing, would be {share:.0%} of what "
                "coefficients do that move curves by half the bound"
            )
        return "the noise bands of the coefficients would be infinite" if self.band_share >= 1 else ""

    @property
    def title(self) -> str:
        size = self.covariates.size
        return f"a regression on {size} covariate{'s' * (size > 1)} of {self.n} units"

    def facts(self) -> dict[str, Any]:
        return {
            "bound": self.bound,
            "covariates": self.covariates.to_plain(),
            "basis": self.basis.describe(),
            "mechanism": self.design.name,
            "noise": self.noise.describe(),
            "noise_rms": self.noise_rms,
            "predicted_rms": self.bound * math.sqrt(self.predict().total),
            "band_share": self.band_share,
            "bands": self.bands,
            "missing": self.covariates.missing,
            "observation": OBSERVATION,
            "spends": price(self.spends),
        }

    def lines(self) -> tuple[tuple[str, str], ...]:
        smoothed = "" if self.design.weights is not None else " after the best smoothing"
        return (
            ("mechanism", f"{self.design.name}, {self.noise.text}"),
            ("covariates", f"{self.covariates.text}; {self.covariates.missing}"),
            ("observation", OBSERVATION),
            ("basis", f"{basis_text(self.basis)} for each coefficient"),
            (
                "noise",
                f"{self.noise_rms:.4g} root mean square expected in predicted curves before smoothing, "
                f"{self.noise_rms / self.bound:.1%} of the bound {self.bound:g}",
            ),
            (
                "error",
                f"about {self.bound * math.sqrt(self.predict().total):.4g} root mean square expected in predicted "
                f"curves{smoothed}",
            ),
            ("bands", self.bands),
            ("expected", f"for {REFERENCE}"),
        )


def plan_regression(request: Request, covariates: Covariates) -> RegressionPlan:
    """The design that was asked for, or the one with the least predicted error, by public facts alone."""
    check_used(request, STATISTIC, "kernel", "eta", "penalty")
    if request.mechanism != "auto":
        return _planned(request, covariates, "stated by the user")
    plans = [_planned(replace(request, mechanism=name), covariates, "") for name in own_names(request.budget)]
    best = min(plans, key=lambda plan: plan.predict().total)
    why = why_own(best.design.name, request.budget)
    return replace(best, reasons=(*best.design.reasons, ("mechanism", why)))


def _planned(request: Request, covariates: Covariates, why: str) -> RegressionPlan:
    setting = RegressionSetting(
        covariates.size, covariates.intercept, covariates.limits is not None, not request.counted
    )
    design = design_of(request, setting)
    # Pure noise spends no delta.
    spends = Budget(request.budget.epsilon, 0.0) if design.mechanism.pure else request.budget
    size = packed_size(setting.side) + setting.side * design.basis.size
    longest = stated(setting.side, design.basis.size, design.lead, design.weight, replaced=setting.replaced)
    noise = law_of(design.mechanism, calibrate(design.mechanism, longest, spends, size=size), size)
    law = noise_of_means(noise, setting.side, float(request.n), request.bound, design.weights)
    return RegressionPlan(request, setting, covariates, design, law, spends, (*design.reasons, ("mechanism", why)))

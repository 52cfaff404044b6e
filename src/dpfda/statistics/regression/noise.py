"""How the noise of a regression is divided between moments and products, and among coefficients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from dpfda.arrays import Array
from dpfda.bases import Basis
from dpfda.bases.symmetric import packed_size, places
from dpfda.mechanisms import Gaussian, GaussianProcess, KNorm, Laplace, LaplaceProcess, Mechanism
from dpfda.mechanisms.table import as_law, names_for, unknown
from dpfda.planning import papers
from dpfda.planning.default_design import DEFAULT_BASIS, basis_of, default_size, design_weights, optimal_blocks
from dpfda.planning.request import Design, Request
from dpfda.privacy import REPLACE
from dpfda.statistics.regression.sensitivity import STEPS, box_steps, longest_change, stated

STATISTIC = "regression"
SIGNAL = 0.25  # of the bound's square, for which the coefficients of the reference stand together
LARGEST = {True: 96, False: 256}  # coordinates of a coefficient, under pure noise and else
LEFT = 3  # smoothing leaves about one coordinate in three of the noise
LEADS = tuple(round(lead) for lead in np.geomspace(STEPS / 8, STEPS, 16))
WEIGHTS = tuple(float(weight) for weight in np.geomspace(0.1, 20.0, 54))


@dataclass(frozen=True, slots=True)
class RegressionSetting:
    """The public facts about a regression that its noise is shared out by."""

    covariates: int
    intercept: bool
    boxed: bool  # whether each covariate has its own limits, else all of them a common bound
    replaced: bool  # whether neighbours replace a unit, else add or remove one

    @property
    def side(self) -> int:
        return self.covariates + (1 if self.intercept else 0)

    def spread(self, lead: int) -> Array:
        """Mean squares of the scaled covariates of the reference design, led by that of the intercept, (side,)."""
        size = self.covariates
        # Uniform on an interval of half-width h: h^2/3; on the unit ball: 1/(p+2).
        each = (box_steps(size) / STEPS) ** 2 / 3 if self.boxed else 1 / (size + 2)
        return np.array([*(((lead / STEPS) ** 2,) if self.intercept else ()), *((each,) * size)])

    def coefficients(self, lead: int) -> Array:
        """Mean squares of the reference coefficients, each with the same part in a curve, (side,)."""
        squares: Array = SIGNAL / self.side / self.spread(lead)
        return squares

    def moment_weights(self, lead: int) -> Array:
        """What an error in each entry of the moments does to curves, entries in packed order."""
        spread, squares = self.spread(lead), self.coefficients(lead)
        first, second = places(self.side)
        there, back = squares[second] / spread[first], squares[first] / spread[second]
        return np.sqrt(np.where(first == second, there, there + back))

    def product_weights(self, lead: int) -> Array:
        """What an error in a coordinate of each row of the products does to curves, (side,)."""
        weights: Array = 1 / np.sqrt(self.spread(lead))
        return weights

    @property
    def leads(self) -> tuple[int, ...]:
        return LEADS if self.intercept else (0,)


@dataclass(frozen=True, eq=False)
class RegressionDesign:
    """Everything that has to be known to release a regression, chosen without any record."""

    name: str  # as people type it
    basis: Basis
    mechanism: Mechanism
    lead: int  # steps that stand for the intercept
    weight: float  # of the products in the norm of the sensitivity
    weights: tuple[float, ...] | None  # by which decoding multiplies coordinates; None: smoothing comes afterwards
    reasons: tuple[tuple[str, str], ...]


def design_of(request: Request, setting: RegressionSetting) -> RegressionDesign:
    """The design of a mechanism by name, or around a mechanism object."""
    request = replace(request, mechanism=as_law(request.mechanism, STATISTIC))
    name = request.mechanism if isinstance(request.mechanism, str) else request.mechanism.name
    if isinstance(request.mechanism, str) and name not in names_for(STATISTIC):
        raise unknown(name, STATISTIC, "a regression")
    if name == LaplaceProcess.name:
        return _process(request, setting)
    if name == GaussianProcess.name:
        return _gaussian_process(request, setting)
    gaussian = name == Gaussian.name
    alike = like_a_mean(request, setting, pure=not gaussian)
    size = min(default_size(alike, pure=not gaussian), LARGEST[not gaussian])
    basis, why = basis_of(request, size, DEFAULT_BASIS)
    if gaussian:
        lead, weight = best_for_gaussian(setting, max(1.0, basis.size / LEFT))
        mechanism: Mechanism = Gaussian(_shape(setting, np.ones(basis.size), weight))
    else:
        blocks = 1 if name == Laplace.name else None
        lead, weight, sizes, shares = best_blocks(setting, tuple(design_weights(alike, basis).tolist()), blocks)
        mechanism = KNorm(sizes, shares) if name == KNorm.name else Laplace(tuple(1 / share for share in shares))
    if not isinstance(request.mechanism, str):
        mechanism = request.mechanism
        weight = _best_weight(mechanism, setting, lead, basis)
    return RegressionDesign(name, basis, mechanism, lead, weight, None, (("basis", why), *_why(setting, lead, weight)))


def _why(setting: RegressionSetting, lead: int, weight: float) -> Iterator[tuple[str, str]]:
    if setting.intercept:
        yield "intercept", f"led by {lead / STEPS:.3g} against covariates in the unit ball, by a rule"
    yield "products", f"weighed {weight:.3g} against the covariates' moments, by their part in the predicted error"


def like_a_mean(request: Request, setting: RegressionSetting, *, pure: bool) -> Request:
    """The request for a mean with the noise of one coefficient's part in a curve, so that rules for means apply."""
    lead = setting.leads[len(setting.leads) // 2]
    rough = 1 / np.sqrt(setting.spread(lead))
    longest = math.sqrt(1 + (lead / STEPS) ** 2)
    # Under pure noise shares are divided among rows, under Gaussian noise every row has the same.
    factor = longest * (float(rough.sum()) if pure else float(np.linalg.norm(rough))) / math.sqrt(setting.side)
    return replace(request, n=max(1, round(request.n / factor)), neighbours=REPLACE)


def _shape(setting: RegressionSetting, row: Array, weight: float) -> tuple[float, ...]:
    """Deviations of Gaussian noise: less where the norm of the sensitivity counts more.

    `row` are those of the products of one covariate, at least 1.
    """
    first, second = places(setting.side)
    moments = np.where(first == second, 1.0, math.sqrt(0.5)).tolist()
    return (*moments, *np.tile(row / weight, setting.side).tolist())


@lru_cache(maxsize=64)
def best_for_gaussian(setting: RegressionSetting, left: float) -> tuple[int, float]:
    """The lead and the weight of the products with the least predicted error.

    `left` is what remains of a row's noise after smoothing or the penalty, in units of its least variance.
    """
    first, second = places(setting.side)
    found = []
    for lead in setting.leads:
        of_moments = float(np.sum(setting.moment_weights(lead) ** 2 * np.where(first == second, 1.0, 0.5)))
        of_products = float(np.sum(setting.product_weights(lead) ** 2)) * left
        for weight in WEIGHTS:
            longest = longest_change(lead, weight, replaced=setting.replaced)
            found.append(((of_moments + of_products / weight**2) * longest**2, lead, weight))
    _, lead, weight = min(found)
    return lead, weight


@lru_cache(maxsize=64)
def best_blocks(
    setting: RegressionSetting, weights: tuple[float, ...], most: int | None
) -> tuple[int, float, tuple[int, ...], tuple[float, ...]]:
    """The lead, the weight, blocks and shares with the least predicted error of pure noise.

    A block's term is `sqrt((M+1) sum a_j^2)` over its weight in the norm. Shares whose squares are in proportion to
    the terms have the error `(sum of terms)^2 (sensitivity / epsilon)^2`. Moments and products never share a block, nor
    do entries that count once and twice: a block's sensitivity is that of its least entry.
    """
    best: tuple[float, int, float] | None = None
    for lead in setting.leads:
        diagonal, others, products = (sum(part.terms) for part in _parts(setting, lead, weights, most))
        for weight in WEIGHTS:
            longest = longest_change(lead, weight, replaced=setting.replaced)
            total = (diagonal + others / math.sqrt(2) + products / weight) * longest
            if best is None or total < best[0]:
                best = total, lead, weight
    assert best is not None
    _, lead, weight = best
    parts = _parts(setting, lead, weights, most)
    norms = (1.0, math.sqrt(2), weight)
    terms = [(term / norm, norm) for part, norm in zip(parts, norms, strict=True) for term in part.terms]
    total = sum(term for term, _ in terms)
    shares = tuple(math.sqrt(term / total) * norm for term, norm in terms)
    return lead, weight, tuple(size for part in parts for size in part.sizes), shares


@dataclass(frozen=True, slots=True)
class _Part:
    sizes: tuple[int, ...]
    terms: tuple[float, ...]

    @staticmethod
    def of(weights: Array, most: int | None) -> _Part:
        if not len(weights):
            return _Part((), ())
        if most == 1:
            return _Part((1,) * len(weights), tuple((math.sqrt(2) * weights).tolist()))
        return _Part(*optimal_blocks(weights))


def _parts(
    setting: RegressionSetting, lead: int, weights: tuple[float, ...], most: int | None
) -> tuple[_Part, _Part, _Part]:
    """Blocks of the moments' diagonal, of their other entries, and of the products, row after row."""
    moments = setting.moment_weights(lead)
    row = _Part.of(np.array(weights) / math.sqrt(LEFT), most)
    rows = setting.product_weights(lead)
    return (
        _Part.of(moments[: setting.side], most),
        _Part.of(moments[setting.side :], most),
        _Part(row.sizes * setting.side, tuple(float(r) * term for r in rows for term in row.terms)),
    )


def _best_weight(mechanism: Mechanism, setting: RegressionSetting, lead: int, basis: Basis) -> float:
    """The weight under which a mechanism of the user's own needs the least noise."""
    size = packed_size(setting.side) + setting.side * basis.size

    def needed(weight: float) -> float:
        sensitivity = stated(setting.side, basis.size, lead, weight, replaced=setting.replaced)
        return sensitivity.to(mechanism.norm, size).value

    return min((1.0, *WEIGHTS), key=needed)


def _white(design: Design) -> tuple[Array, Array]:
    """The deviations of a process around a penalised mean before the penalty's weights, and these weights."""
    assert isinstance(design.mechanism, Gaussian | Laplace)
    assert design.mechanism.shape is not None
    assert design.weights is not None
    return np.array(design.mechanism.shape), np.array(design.weights)


def _gaussian_process(request: Request, setting: RegressionSetting) -> RegressionDesign:
    """The Gaussian process of Mirshani et al. on the products, and Gaussian noise on the moments of covariates.

    One process for each covariate, with the sensitivity of products and moments together. A row's least deviation
    before the penalty is in its whitest direction, where a curve may lie altogether: there the bound is reached.
    """
    process = papers.gp(replace(like_a_mean(request, setting, pure=False), mechanism=GaussianProcess.name))
    shape, weights = _white(process)
    lead, weight = best_for_gaussian(setting, float(np.sum((shape * weights) ** 2)))
    return RegressionDesign(
        GaussianProcess.name,
        process.basis,
        Gaussian(_shape(setting, shape, weight)),
        lead,
        weight,
        process.weights,
        (*process.reasons, *_why(setting, lead, weight)),
    )


def _process(request: Request, setting: RegressionSetting) -> RegressionDesign:
    """The Laplace process of Lin and Reimherr (Appendix C.2) on the products, and Laplace noise on the moments.

    With the exact sensitivity of both together instead of a split budget: shares add in squares.
    """
    alike = like_a_mean(request, setting, pure=True)
    process = papers.iclp_qr(replace(alike, mechanism=LaplaceProcess.name))
    shape, weights = _white(process)
    side = setting.side
    first, second = places(side)
    norms = np.where(first == second, 1.0, math.sqrt(2))
    best: tuple[float, int, float, float, Array] | None = None
    for lead in setting.leads:
        of_moments = setting.moment_weights(lead)
        error = float(np.sum(setting.product_weights(lead) ** 2) * np.sum((shape * weights) ** 2))
        for weight in WEIGHTS:
            # An entry with error a^2 b^2 and cost 1/(norm b)^2 has its best scale at b^2 = 1/(norm a); products share
            # the scale of the process.
            cost = side * float(np.sum(1 / shape**2)) / weight**2
            total = float(np.sum(of_moments / norms)) + math.sqrt(error * cost)
            total *= longest_change(lead, weight, replaced=setting.replaced)
            if best is None or total < best[0]:
                best = total, lead, weight, (cost / error) ** 0.25, 1 / np.sqrt(norms * of_moments)
    assert best is not None
    _, lead, weight, scale, moments = best
    whole = np.concatenate([moments, np.tile(scale * shape, side)])
    return RegressionDesign(
        LaplaceProcess.name,
        process.basis,
        Laplace(tuple((whole / whole.min()).tolist())),
        lead,
        weight,
        process.weights,
        (*process.reasons, *_why(setting, lead, weight)),
    )

"""The check for authors of statistics passes the package's own sums, and finds faults that were planted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from refusals import refused

from dpfda import bases
from dpfda.bases.lattice import RADIUS, Lattice
from dpfda.curator import check_summary
from dpfda.curator.summary import Public, Summary
from dpfda.errors import UsageError
from dpfda.privacy import ADD_REMOVE, REPLACE, Unit
from dpfda.privacy.norms import L2, Sensitivity
from dpfda.records import smallest_cap
from dpfda.statistics.covariance.summary import ROUGH, Moments
from dpfda.statistics.mean.summary import Mean
from dpfda.statistics.regression.covariates import check_names
from dpfda.statistics.regression.sensitivity import STEPS, scaled
from dpfda.statistics.regression.summary import Regression

WIDTH, BOUND = 24, 2.0
GRID = np.linspace(0, 1, WIDTH)[:, None]
BASES = {"cosine": bases.cosine((0, 1), 4), "legendre": bases.legendre((0, 1), 5)}


def facts(neighbours: str = REPLACE, covariates: int = 0) -> Public:
    unit = Unit("person", neighbours)
    return Public(
        unit=unit,
        n=50 if unit.size_is_public else None,
        planned=50,
        grid=GRID,
        centre=np.full(WIDTH, 0.7),
        cap=smallest_cap(BOUND, WIDTH),
        lattice=Lattice(BOUND),
        count_weight=0 if unit.size_is_public else RADIUS // 2,
        covariates=covariates,
    )


def regression(*, boxed: bool) -> Regression:
    limits = ((-1.0, 5.0),) * 2 if boxed else None
    told = scaled(check_names(None, 2), limits=limits, bound=None if boxed else 3.0, intercept=True)
    return Regression(told, STEPS // 2, 1.0)


SUMMARIES: dict[str, tuple[Summary, int]] = {
    "mean": (Mean(), 0),
    "penalised mean": (Mean(weights=(1.0, 0.5, 0.2, 0.1)), 0),
    "second moments": (Moments(lead=0), 0),
    "moments and mean": (Moments(lead=ROUGH // 3), 0),
    "regression, limits": (regression(boxed=True), 2),
    "regression, norm": (regression(boxed=False), 2),
}


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize("name", SUMMARIES)
def test_sums_of_the_package_keep_their_bounds(name: str, neighbours: str, basis: str) -> None:
    summary, covariates = SUMMARIES[name]
    check_summary(summary, facts(neighbours, covariates), BASES[basis])


class Faulty(Mean):
    """A mean in one of whose duties a fault is planted."""

    __slots__ = ()


class Truncating:
    def clip(self, vectors: Any, out: Any = None) -> Any:
        return np.trunc(vectors)


class Sharing:
    """Scales all units of a batch together."""

    def clip(self, vectors: Any, out: Any = None) -> Any:
        longest = max(float(np.sqrt((vectors**2).sum(axis=0)).max()), RADIUS)
        return np.trunc(vectors * (RADIUS * (1 - 1e-12) / longest))


class Unrounded:
    def clip(self, vectors: Any, out: Any = None) -> Any:
        return Lattice(BOUND).clip(vectors) * 0.5


def changed(change: Callable[[Any], Any]) -> Callable[..., Any]:
    """An encode whose vectors are changed."""

    def encode(self: Mean, public: Public, basis: Any) -> Any:
        inner = Mean().encode(public, basis)

        def encoded(values: Any) -> Any:
            vectors, present = inner(values)
            return change(vectors), present

        return encoded

    return encode


def too_small(self: Mean, public: Public, basis: Any) -> tuple[Sensitivity, ...]:
    return tuple(replace(bound, value=bound.value * 0.8) for bound in Mean().bounds(public, basis))


def second_too_small(self: Mean, public: Public, basis: Any) -> tuple[Sensitivity, ...]:
    return (*Mean().bounds(public, basis), Sensitivity(float(RADIUS), L2(), "wishful"))


def count_forgotten(self: Mean, public: Public, basis: Any) -> tuple[Sensitivity, ...]:
    return (Sensitivity((2.0 if public.unit.size_is_public else 1.0) * RADIUS, L2(), "the count is no matter"),)


FAULTS: dict[str, tuple[str, str, Any]] = {
    "one lattice step": ("bounds", "bounds", lambda self, public, basis: (Sensitivity(1.0, L2(), "trust me"),)),
    "a bound that is too small": ("bounds", "bounds", too_small),
    "one of two bounds": ("bounds", "bounds", second_too_small),
    "the count is forgotten": ("bounds", "bounds", count_forgotten),
    "no clipping": ("bounds", "clipping", lambda self, public: Truncating()),
    "clipping of a batch": ("clipping", "clipping", lambda self, public: Sharing()),
    "clipping without rounding": ("clipping", "clipping", lambda self, public: Unrounded()),
    "the largest of a batch": ("encode", "encode", changed(lambda v: np.rint(v / max(v.max(), 1.0) * 2**28))),
    "the mean of a batch": ("encode", "encode", changed(lambda v: v - np.rint(v.mean(axis=1, keepdims=True)))),
    "the place in a batch": ("encode", "encode", changed(lambda v: v * (1 + np.arange(v.shape[1]) % 2))),
    "whole steps": ("encode", "encode", changed(lambda v: np.rint(v / 16))),
    "units of the curve": ("encode", "encode", changed(lambda v: v / 16 * BOUND / RADIUS)),
    "not finite": ("encode", "encode", changed(lambda v: np.where(v > 2**26, np.inf, v))),
}


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, neighbours: str, monkeypatch: pytest.MonkeyPatch) -> None:
    duty, method, planted = FAULTS[fault]
    monkeypatch.setattr(Faulty, method, planted, raising=False)
    with refused(UsageError, duty):
        check_summary(Faulty(), facts(neighbours), BASES["cosine"])


def test_a_faulty_mean_without_a_fault_passes() -> None:
    check_summary(Faulty(), facts(), BASES["cosine"])


def test_short_vectors_are_allowed_where_that_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Faulty, "encode", FAULTS["whole steps"][2], raising=False)
    check_summary(Faulty(), facts(), BASES["cosine"], least_reach=0)


def test_what_is_no_sum_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Faulty, "adds_vectors", False)
    with refused(UsageError, "summary"):
        check_summary(Faulty(), facts(), BASES["cosine"])

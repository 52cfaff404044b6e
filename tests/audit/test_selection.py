"""Audit of choices, from records to what comes out: an attacker who knows all but one person, and planted faults.

Exponential mechanisms promise more than epsilon: for two neighbours all log likelihood ratios lie in one interval of
length epsilon, and cards and ledgers count on it. So the odds between two events move by at most e^epsilon; that is
attacked, by the two ends of the likelihood ratio. Every bound is Clopper-Pearson at 1e-6 on each side, so a sound
choice fails a test about once in 500,000 runs. The source is the private one; nothing is seeded.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import beta

import dpfda
from dpfda.bases import legendre
from dpfda.bases.lattice import RADIUS
from dpfda.curator import Curator, curator
from dpfda.kernels import Matern
from dpfda.mechanisms import Dictionary, DictionaryDraw, Exponential, FiniteLaplace
from dpfda.mechanisms.choice import rate_of
from dpfda.privacy import Budget
from dpfda.records import as_curves
from dpfda.statistics.private_bound import private_bound
from dpfda.statistics.private_choice import Residuals, private_choice

GRID = np.linspace(0, 1, 21)
PEOPLE, SCANS = 6, 4
UNITS = np.repeat(np.arange(PEOPLE), SCANS)
LEVEL = 1e-6
EPSILON = 2.0
Release = Callable[[np.ndarray], float]
Pair = tuple[np.ndarray, np.ndarray]


def everybody(*levels: float) -> np.ndarray:
    """All scans of all people: constant curves, one level a person."""
    return np.repeat(levels, SCANS)[:, None] * np.ones(len(GRID))


def odds(release: Release, table: np.ndarray, draws: int) -> tuple[float, float]:
    """Bounds on the log odds of a positive against a negative number; zeros count for neither."""
    numbers = [release(table) for _ in range(draws)]
    more, less = sum(x > 0 for x in numbers), sum(x < 0 for x in numbers)
    low = beta.ppf(LEVEL, more, less + 1) if more else 0.0
    high = beta.ppf(1 - LEVEL, more + 1, less) if less else 1.0
    logits = (math.log(p / (1 - p)) if 0 < p < 1 else math.copysign(math.inf, p - 0.5) for p in (low, high))
    return next(logits), next(logits)


def proven_range(release: Release, pair: Pair, draws: int) -> float:
    """The least length of an interval that can hold all log likelihood ratios."""
    one, other = (odds(release, table, draws) for table in pair)
    return max(one[0] - other[1], other[0] - one[1])


@pytest.fixture
def faulty_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: choices at a rate larger by the root of two, as if noise were smaller by it."""
    monkeypatch.setattr(curator, "rate_of", lambda epsilon, spread: rate_of(epsilon, spread) * math.sqrt(2))


def faulty(mechanism: type[Dictionary] | type[Exponential], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same fault in a mechanism: it draws at a scale smaller by the root of two."""
    honest = mechanism.draw
    monkeypatch.setattr(
        mechanism,
        "draw",
        lambda self, coordinates, scale, *, randomness: honest(
            self, coordinates, scale / math.sqrt(2), randomness=randomness
        ),
    )


# A private bound -----------------------------------------------------------------------------------------------------

# Three of six are to lie within it. Within 0.5 lie two people or one, within 1.0 five or four: one misses by one person
# more, the other by one less.
BOUNDS: Pair = (everybody(0.4, 0.4, 0.7, 0.7, 0.7, 3.0), everybody(3.0, 0.4, 0.7, 0.7, 0.7, 3.0))


def small_bound(table: np.ndarray) -> float:
    arguments = {"epsilon": EPSILON, "quantile": 0.5, "candidates": (0.5, 1.0, 1.01), "grid": GRID, "units": UNITS}
    return 1.0 if float(private_bound(table, **arguments, force=True)) == 0.5 else -1.0


@pytest.mark.audit
def test_a_private_bound_keeps_its_guarantee_and_uses_it():
    assert 0.65 * EPSILON <= proven_range(small_bound, BOUNDS, 4000) <= EPSILON


@pytest.mark.audit
@pytest.mark.usefixtures("faulty_rate")
def test_a_private_bound_at_a_rate_larger_by_the_root_of_two_is_caught():
    assert proven_range(small_bound, BOUNDS, 16_000) > EPSILON


@pytest.mark.audit
def test_protecting_a_scan_instead_of_a_person_is_caught():
    def by_scan(table: np.ndarray) -> float:
        arguments = {"epsilon": EPSILON, "quantile": 0.5, "candidates": (0.5, 1.0, 1.01), "grid": GRID}
        return 1.0 if float(private_bound(table, **arguments, force=True)) == 0.5 else -1.0

    assert proven_range(by_scan, BOUNDS, 2000) > EPSILON


# A private choice among settings -------------------------------------------------------------------------------------

# Two functions, and settings that keep one of them each: a person moves from the one to the other.
BASIS = legendre((0, 1), 2)
CURVES = BASIS.matrix(GRID).T  # (2, q)


def with_person(coordinates: tuple[float, float]) -> np.ndarray:
    table = np.repeat([[*coordinates], *[[0.65, 0.65]] * (PEOPLE - 1)], SCANS, axis=0)
    return np.asarray(table @ CURVES)


SETTINGS: Pair = (with_person((0.7, -0.7)), with_person((-0.7, 0.7)))


def first_setting(table: np.ndarray) -> float:
    curves = as_curves(table, grid=GRID, units=UNITS)
    public = dpfda.MeanFunction(epsilon=EPSILON, delta=0.0, bound=1.0).facts(curves)
    selection = Residuals(BASIS, np.eye(2), np.zeros(2))
    return 1.0 if Curator(curves, public, dataset="").choose(selection, budget=Budget(EPSILON, 0.0))[0] == 0 else -1.0


@pytest.mark.audit
def test_a_choice_among_settings_keeps_its_guarantee_and_uses_it():
    assert 0.65 * EPSILON <= proven_range(first_setting, SETTINGS, 4000) <= EPSILON


@pytest.mark.audit
@pytest.mark.usefixtures("faulty_rate")
def test_a_choice_among_settings_at_a_rate_larger_by_the_root_of_two_is_caught():
    assert proven_range(first_setting, SETTINGS, 4000) > EPSILON


@pytest.mark.audit
def test_a_choice_among_estimators_keeps_its_guarantee():
    known = {"epsilon": 1.0, "delta": 0.0, "bound": 1.0, "mechanism": FiniteLaplace(kernel=Matern(1.5, 0.3))}
    candidates = [dpfda.MeanFunction(size=size, **known) for size in (1, 4)]

    def smallest(table: np.ndarray) -> float:
        arguments = {"epsilon": EPSILON, "candidates": candidates, "grid": GRID, "units": UNITS}
        return 1.0 if private_choice(table, **arguments, force=True).index == 0 else -1.0

    assert proven_range(smallest, SETTINGS, 1500) <= EPSILON
    assert proven_range(smallest, (everybody(*[1.0] * 6), everybody(-1.0, *[1.0] * 5)), 1500) <= EPSILON


# The dictionary ------------------------------------------------------------------------------------------------------

# The mean lies between two candidates, and moves from the one towards the other.
BETWEEN: Pair = (everybody(1.0, 0.0, 0.0, 0.0, 0.0, 0.0), everybody(-1.0, 0.0, 0.0, 0.0, 0.0, 0.0))


def upper_candidate(table: np.ndarray) -> float:
    est = dpfda.MeanFunction(
        epsilon=EPSILON,
        delta=0.0,
        bound=1.0,
        mechanism=DictionaryDraw(candidates=[lambda t: 1.0 + 0 * t, lambda t: -1.0 + 0 * t]),
        basis=legendre((0, 1), 2),
        n=len(set(UNITS)),
        force=True,
    )
    return float(est.fit(table, grid=GRID, units=UNITS).release_.noisy[0])


@pytest.mark.audit
def test_a_dictionary_keeps_its_guarantee_and_uses_it():
    assert 0.65 * EPSILON <= proven_range(upper_candidate, BETWEEN, 3000) <= EPSILON


@pytest.mark.audit
def test_a_dictionary_at_a_scale_smaller_by_the_root_of_two_is_caught(monkeypatch):
    faulty(Dictionary, monkeypatch)
    assert proven_range(upper_candidate, BETWEEN, 3000) > EPSILON


# The exponential mechanism for the mean ------------------------------------------------------------------------------

# One person alone, and a flat base measure: the ends of the ball are where the likelihood ratio is most extreme.
ALONE: Pair = (np.ones((SCANS, len(GRID))), -np.ones((SCANS, len(GRID))))
WIDE = 3.0


def at_an_end(table: np.ndarray) -> float:
    """The drawn coordinate, where it lies in the outer tenth on either side; else 0."""
    est = dpfda.MeanFunction(
        epsilon=WIDE,
        delta=0.0,
        bound=1.0,
        mechanism=Exponential(1, RADIUS, (math.inf,)),
        basis=legendre((0, 1), 1),
        smoothing="none",
        n=1,
        force=True,  # one person's release is mostly noise
    )
    drawn = float(est.fit(table, grid=GRID, units=[1] * SCANS).release_.noisy[0])
    assert abs(drawn) <= 1
    return drawn if abs(drawn) > 0.8 else 0.0


@pytest.mark.audit
def test_the_exponential_mechanism_keeps_its_guarantee_and_uses_it():
    assert 0.3 * WIDE <= proven_range(at_an_end, ALONE, 3000) <= WIDE


@pytest.mark.audit
def test_the_exponential_mechanism_at_a_scale_smaller_by_the_root_of_two_is_caught(monkeypatch):
    """What is proven, about 1.1 of what is allowed, has a deviation of 0.08: missed about once in 20,000 runs."""
    faulty(Exponential, monkeypatch)
    assert proven_range(at_an_end, ALONE, 16_000) > WIDE

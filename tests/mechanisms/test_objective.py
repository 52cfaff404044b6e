"""The exponential mechanism in general: its law against quadrature, its envelope, its price, and false statements.

Seeded tests state their level and never fail by chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from itertools import islice
from typing import Any

import numpy as np
import pytest
from refusals import refused
from scipy.stats import chisquare

from dpfda.arrays import Array, Integers
from dpfda.errors import UsageError
from dpfda.mechanisms import Exponential, SeededRandomness, SystemRandomness, concave
from dpfda.mechanisms import concave as envelope
from dpfda.mechanisms.concave import Component, Envelope, Target, best_envelope, draw_below
from dpfda.mechanisms.decision import wide
from dpfda.mechanisms.objective import (
    BLOCK,
    MOST_PLANNED,
    POINTS,
    SPARE_STEPS,
    UTILITY_STEPS,
    Objective,
    Supremum,
    answers,
    bends,
    spread_of,
    utilities,
)
from dpfda.mechanisms.utility_checks import check_declared, planned_acceptances
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import Sensitivity
from dpfda.statistics.maximiser.utilities import RobustDistance, SquaredDistance

LEVEL = 1e-6
CUTS = {1: 1601, 2: 81}  # of each axis in quadratures
FINE = {1: 1601, 2: 801}  # for many draws: near the edge of a disc coarse columns are off by a percent
STEP = 1 / POINTS  # the ball of points has radius 1, as that of the units
Function = Callable[[Array, Array], Array]


def objective(utility: Any, deviations: tuple[float, ...], **changes: Any) -> Objective:
    """A mechanism on the unit ball; deviations of the base measure in units of its radius."""
    known: dict[str, Any] = {
        "utility": utility,
        "limits": utility.range(2.0) if hasattr(utility, "range") else (-1.0, 0.0),
        "prior": tuple(POINTS * deviation for deviation in deviations),
        "unit_step": STEP,
        "step": STEP,
        "candidates": 16,
        "curvature": getattr(utility, "curvature", None),
        "across": getattr(utility, "across", None),
    }
    return Objective(**{**known, **changes})


def steps(units: Array) -> Integers:
    return np.rint(np.asarray(units) / STEP).astype(np.int64).ravel()


def target(mechanism: Objective, units: Array, epsilon: float) -> Target:
    rate = epsilon / spread_of(True)
    return Target(mechanism.total(steps(units)), rate, mechanism.precisions, POINTS)


def bend_of(one: Target) -> Any:
    return one.total.bend  # type: ignore[attr-defined]


def slope(units: Array, point: Array) -> Array:
    """Concave, with a kink and no curvature at all: minus the distance."""
    return np.asarray(-np.sqrt(((units - point) ** 2).sum(axis=1)))


def cloud(n: int, size: int, *, centre: float = 0.2, spread: float = 0.25, seed: int = 3) -> Array:
    units = centre + spread * np.random.default_rng(seed).normal(size=(n, size))
    return units / np.maximum(np.sqrt((units**2).sum(axis=1)), 1.0)[:, None]


def flat(distances: Array) -> Array:
    return np.zeros(np.shape(distances))


# utility, changes, deviations of the base measure, units, epsilon
CASES: dict[str, tuple[Any, dict[str, Any], tuple[float, ...], Array, float]] = {
    "a line, squares": (SquaredDistance(), {}, (1.0,), cloud(40, 1), 1.0),
    "a line, robust": (RobustDistance(0.1), {}, (0.7,), cloud(300, 1), 1.0),
    "a line, hardly any information": (RobustDistance(1.0), {}, (3.0,), cloud(2, 1), 0.5),
    "a line, at its end": (SquaredDistance(), {}, (1.0,), np.ones((400, 1)), 2.0),
    "a line, a kink": (slope, {"limits": (-2.0, 0.0), "curvature": flat}, (0.5,), cloud(30, 1), 2.0),
    "a disc, squares": (SquaredDistance(), {}, (1.0, 0.3), cloud(60, 2), 1.0),
    "a disc, robust": (RobustDistance(0.15), {}, (0.8, 0.5), cloud(200, 2), 1.0),
    "a disc, at its edge": (RobustDistance(0.5), {}, (1.0, 1.0), cloud(200, 2, centre=0.9, spread=0.05), 2.0),
    "a disc, no unit": (SquaredDistance(), {}, (0.6, 0.4), np.zeros((0, 2)), 1.0),
}


def grid_law(one: Target, size: int, cuts: dict[int, int] = CUTS) -> tuple[Integers, Array]:
    """Points of a fine grid of the ball and their stated probabilities, by the definition."""
    axis = np.linspace(-1, 1, cuts[size]) * POINTS
    middle = (axis[1:] + axis[:-1]) / 2
    points = np.stack([part.ravel() for part in np.meshgrid(*[middle] * size, indexing="ij")], axis=1)
    points = np.rint(points[(points**2).sum(axis=1) <= float(POINTS) ** 2]).astype(np.int64)
    logs = np.array(
        [one.rate * one.total(point) - float(one.precisions @ (point.astype(float) ** 2)) for point in points]
    )
    weights = np.exp(logs - logs.max())
    return points, weights / weights.sum()


def cells(
    points: Integers, probabilities: Array, draws: Integers, count: int, cuts_of_axis: dict[int, int] = CUTS
) -> tuple[Array, Array]:
    """Observed numbers and probabilities in cells between quantiles of each coordinate."""
    place = np.zeros(len(points), dtype=np.int64), np.zeros(len(draws), dtype=np.int64)
    for axis in range(points.shape[1]):
        order = np.argsort(points[:, axis], kind="stable")
        sums = np.cumsum(probabilities[order])
        cuts = np.unique(points[order][np.searchsorted(sums, np.arange(1, count) / count), axis])
        # Between two columns of the grid, so that no column is cut.
        gap = POINTS // (cuts_of_axis[points.shape[1]] - 1)
        for where, table in zip(place, (points, draws), strict=True):
            where *= count
            where += np.searchsorted(cuts + gap, table[:, axis])
    most = count ** points.shape[1]
    expected = np.bincount(place[0], weights=probabilities, minlength=most)
    return np.bincount(place[1], minlength=most).astype(np.float64), expected


def p_value(observed: Array, expected: Array) -> float:
    kept = expected * observed.sum() >= 10
    observed, expected = (np.append(x[kept], x[~kept].sum()) for x in (observed, expected * observed.sum()))
    if expected[-1] < 10:
        observed, expected = observed[:-1], expected[:-1]
    return float(chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)


def drawn(one: Target, draws: int, seed: int) -> Integers:
    source, found = SeededRandomness(seed), best_envelope(one, bend_of(one))
    points = (found.draw(one, source) for _ in range(50 * draws))
    kept = np.array(list(islice((point for point in points if point is not None), draws)))
    assert len(kept) == draws, "proposals are hardly ever accepted"
    return kept


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES)
def test_points_have_the_stated_law(case: str) -> None:
    """Chi-square against quadrature of the definition, 800 draws, level 1e-6; the seed is fixed."""
    utility, changes, prior, units, epsilon = CASES[case]
    one = target(objective(utility, prior, **changes), units, epsilon)
    points, probabilities = grid_law(one, len(prior))
    draws = drawn(one, 800, seed=1)
    observed, expected = cells(points, probabilities, draws, 16 if len(prior) == 1 else 5)
    assert p_value(observed, expected) > LEVEL
    assert ((draws**2).sum(axis=1) <= POINTS**2).all()


@pytest.mark.audit
def test_a_rate_larger_by_the_root_of_two_is_caught_by_the_same_check() -> None:
    utility, changes, prior, units, epsilon = CASES["a line, robust"]
    one = target(objective(utility, prior, **changes), units, epsilon)
    faulty = Target(one.total, one.rate * math.sqrt(2), one.precisions, POINTS)
    points, probabilities = grid_law(one, 1)
    assert p_value(*cells(points, probabilities, drawn(faulty, 1500, seed=2), 16)) < LEVEL


@pytest.mark.audit
def test_a_draw_of_the_mechanism_is_one_of_that_law() -> None:
    """From integer coordinates to a point, 40 draws, level 1e-6; scales as they are calibrated."""
    utility, changes, prior, units, _ = CASES["a disc, robust"]
    mechanism = objective(utility, prior, **changes)
    sensitivity = Sensitivity(spread_of(True), Supremum(), "")
    scale = calibrate(mechanism, sensitivity, Budget(1.0, 0.0), size=2)
    source = SeededRandomness(4)
    draws = np.array([mechanism.draw(steps(units), scale, randomness=source) for _ in range(40)])
    points, probabilities = grid_law(target(mechanism, units, 1.0), 2)
    assert p_value(*cells(points, probabilities, draws, 2)) > LEVEL


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES)
def test_many_points_of_the_system_have_the_stated_law(case: str) -> None:
    """The same with 20,000 draws of the private source, level 1e-6 a test, anew in each run."""
    utility, changes, prior, units, epsilon = CASES[case]
    one = target(objective(utility, prior, **changes), units, epsilon)
    found, source, kept = best_envelope(one, bend_of(one)), SystemRandomness(), []
    while len(kept) < 20_000:
        point = found.draw(one, source)
        kept += [] if point is None else [point]
    law = grid_law(one, len(prior), FINE)
    assert p_value(*cells(*law, np.array(kept), 12 if len(prior) == 1 else 4, FINE)) > LEVEL


# The envelope --------------------------------------------------------------------------------------------------------


def excesses(one: Target, found: Envelope, moves: Integers) -> list[float]:
    """How far the envelope lies above the weight at several points of the ball; exact, then rounded."""
    result = []
    for move in moves:
        point = found.place + move
        if not one.inside(point[None])[0]:
            continue
        holding = [component for component in found.components if component.holds(move[None])[0]]
        assert len(holding) == 1, "components share out the ball"
        gain = one.total(point) - found.base
        result.append(float(holding[0].exponent(move) - one.exponent(point, found.place, gain)))
    return result


HARD = {
    **{name: case for name, case in CASES.items() if "no unit" not in name},
    "many coordinates": (RobustDistance(0.3), {}, (0.5, 0.4, 0.3, 0.2, 0.1, 0.05), cloud(500, 6), 1.0),
    "two camps": (RobustDistance(0.05), {}, (1.0, 1.0), np.repeat([[0.6, 0.0], [-0.6, 0.1]], [70, 60], axis=0), 3.0),
    "large epsilon": (RobustDistance(0.5), {}, (1.0, 0.5), cloud(3000, 2), 50.0),
}


@pytest.mark.parametrize("case", HARD)
def test_no_weight_lies_above_the_envelope(case: str) -> None:
    """At points near and far in all directions, and where components meet."""
    utility, changes, prior, units, epsilon = HARD[case]
    one = target(objective(utility, prior, **changes), units, epsilon)
    found = best_envelope(one, bend_of(one))
    rng = np.random.default_rng(5)
    directions = rng.normal(size=(400, len(prior)))
    directions /= np.sqrt((directions**2).sum(axis=1))[:, None]
    lengths = np.geomspace(2.0, 2.0 * POINTS, 400)
    meeting = found.components[0].most * (1 + 1e-6 * rng.normal(size=400))
    moves = np.concatenate([directions * lengths[:, None], directions * meeting[:, None], np.zeros((1, len(prior)))])
    below = excesses(one, found, np.rint(moves).astype(np.int64))
    assert len(below) > 100
    assert min(below) >= 0
    # It touches nearly: not much is lost where most of the mass lies.
    assert below[-1] < 1.0


@pytest.mark.parametrize("knot", [0.05, 0.3])
@pytest.mark.parametrize("across", [True, False])
def test_the_objective_bends_at_least_as_much_as_is_counted_on(knot: float, across: bool) -> None:
    """Second derivatives in closed form, at points within each radius: none is below the diagonal matrix."""
    units, place = cloud(400, 3), np.array([0.25, 0.2, 0.15])
    changes = {} if across else {"across": None}
    total = objective(RobustDistance(knot), (1.0, 1.0, 1.0), **changes).total(steps(units))
    radii = np.array([0.001, 0.02, 0.1, 0.4, 1.5])
    low, high = RobustDistance(knot).range(2.0)
    counted = total.bend(steps(place), radii * POINTS) * (high - low) / UTILITY_STEPS / STEP**2
    assert (np.diff(counted, axis=0) < 0).all()
    rng = np.random.default_rng(16)
    for radius, least in zip(radii, counted, strict=True):
        for way in rng.normal(size=(40, 3)):
            lines = units - (place + radius * way / np.sqrt(way @ way))
            distances = np.sqrt((lines**2).sum(axis=1))
            lines /= distances[:, None]
            k, t = (f(distances) for f in (RobustDistance(knot).curvature, RobustDistance(knot).across))
            second = t.sum() * np.eye(3) - lines.T @ (lines * (t - k)[:, None])
            assert np.linalg.eigvalsh(second - np.diag(least)).min() >= 0
    scalar = RobustDistance(knot).curvature(np.sqrt(((units - place) ** 2).sum(axis=1)) + 0.001).sum()
    assert (counted[0].min() > 1.5 * scalar) == across


def test_the_maximum_of_units_all_alike_is_found_however_narrow_it_is() -> None:
    """Seen from the centre they are a kink: a search at one scale ended where the envelope was e^1300 too high."""
    units = np.tile([0.0634, -0.0003, -0.0596], (1025, 1))
    one = target(objective(RobustDistance(2e-5), (5.0, 0.01, 6.0)), units, 50.0)
    assert best_envelope(one, bend_of(one)).components[0].height < 1


def test_a_utility_that_fails_on_made_up_units_has_no_planned_share() -> None:
    mechanism = objective(raising, (1.0,), curvature=flat)
    assert np.isnan(planned_acceptances(mechanism, 1.0, 100, 1 / spread_of(True))).all()


@pytest.mark.parametrize("start", [0.0, 0.3, 0.9])
def test_an_envelope_around_any_place_is_valid(start: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """However poorly the maximum is found: here it is not even looked for."""
    monkeypatch.setattr(concave, "_maximum", lambda one, bend: np.array([-int(start * POINTS), 0]))
    utility, changes, prior, units, epsilon = CASES["a disc, robust"]
    one = target(objective(utility, prior, **changes), units, epsilon)
    found = best_envelope(one, bend_of(one))
    moves = np.rint(np.random.default_rng(6).normal(size=(600, 2)) * POINTS / 3).astype(np.int64)
    assert min(excesses(one, found, moves)) >= 0


def test_far_proposals_have_their_exact_share() -> None:
    """By 100-digit decimals, and chi-square of 20,000 picks at level 1e-6."""
    near = Component(0.25, np.array([2.0**-20, 3.0**-13]), 5000)
    far = Component(-3.5, np.array([2.0**-24, 2.0**-25]), 2**25, 5000)
    found = Envelope(np.zeros(2, dtype=np.int64), 0, (near, far))
    with localcontext(wide(100)):
        masses = [
            Decimal(part.height).exp() / (Decimal(part.precisions[0]) * Decimal(part.precisions[1])).sqrt()
            for part in (near, far)
        ]
        share = masses[1] / (masses[0] + masses[1])
    low, high = envelope._far_share(near, far, 60)
    assert low <= share <= high
    assert high - low < Decimal(10) ** -50
    assert math.isclose(math.exp(far.log_mass - found.log_mass), float(share), rel_tol=1e-12)
    picked = found.pick(20_000, SeededRandomness(7))
    observed = np.bincount(picked, minlength=2)
    assert chisquare(observed, 20_000 * np.array([1 - float(share), float(share)])).pvalue > LEVEL


def test_a_far_component_without_mass_is_never_picked_and_breaks_nothing() -> None:
    near, far = Component(0.0, np.array([2.0**-20]), 5000), Component(-5000.0, np.array([2.0**-24]), 2**25, 5000)
    assert not Envelope(np.zeros(1, dtype=np.int64), 0, (near, far)).pick(1000, SeededRandomness(8)).any()


def test_laws_too_narrow_for_their_mass_to_be_known_have_one_component() -> None:
    """With a deviation of about a step masses are not those of continuous laws; one component needs none."""
    mechanism, units = objective(RobustDistance(0.3), (1.0,)), np.full((200, 1), 0.25)
    one, other = (target(mechanism, units, epsilon) for epsilon in (1e3, 1e13))
    assert len(best_envelope(one, bend_of(one)).components) == 2
    assert len(best_envelope(other, bend_of(other)).components) == 1


# What the sensitivity rests on ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, -1e300, 0.5, -0.25, 0.0, -1.0])
def test_every_utility_is_within_its_range_whatever_it_returns(value: float) -> None:
    found, failed = utilities(
        lambda units, point: np.full(len(units), value), (-1.0, 0.0), np.zeros((5, 2)), np.zeros(2)
    )
    assert found.dtype == np.int64
    assert (failed == math.isnan(value)).all()
    assert (
        found
        == {
            0.5: UTILITY_STEPS,
            math.inf: UTILITY_STEPS,
            1e300: UTILITY_STEPS,
            0.0: UTILITY_STEPS,
            -0.25: 3 * UTILITY_STEPS // 4,
        }.get(value, 0)
    ).all()


@pytest.mark.filterwarnings("ignore:invalid value encountered", "ignore:divide by zero")
def test_utilities_are_clipped_as_integers_even_where_the_arithmetic_before_fails() -> None:
    """A range whose reciprocal overflows gave `0 * inf`, which as an integer is -2^63; mechanisms refuse it too."""

    def some(units: Array, point: Array) -> Array:
        return np.where(units[:, 0] > 0, 1e-300, 0.0)

    found, _ = utilities(some, (0.0, 1e-300), np.array([[1.0], [-1.0]]), np.zeros(1))
    assert ((found >= 0) & (found <= UTILITY_STEPS)).all()


@pytest.mark.parametrize("width", [1e-200, 1e200])
@pytest.mark.parametrize("radius", [1e-100, 1e100])
def test_the_narrowest_and_the_widest_range_give_draws_within_it(width: float, radius: float) -> None:
    """A scale of 4 range / radius^2: nothing overflows and nothing is lost, at both ends of what is allowed."""

    def scaled(units: Array, point: Array) -> Array:
        return np.asarray(-width * (((units - point) / (2 * radius)) ** 2).sum(axis=1))

    mechanism = objective(
        scaled, (0.5, 0.3), limits=(-width, 0.0), unit_step=radius * STEP, step=radius * STEP, curvature=None
    )
    total = mechanism.total(steps(cloud(5, 2)))
    assert total(steps([0.2, 0.2])) == pytest.approx(
        UTILITY_STEPS * (5 - (((cloud(5, 2) - 0.2) / 2) ** 2).sum()), rel=1e-6
    )
    bent = objective(
        scaled,
        (0.5, 0.3),
        limits=(-width, 0.0),
        unit_step=radius * STEP,
        step=radius * STEP,
        curvature=lambda distances: np.full(np.shape(distances), width / radius / radius / 2),
    ).total(steps(cloud(5, 2)))
    expected = 5 * UTILITY_STEPS / 2 / POINTS**2 if 1e-300 < width / radius / radius < 1e300 else 0.0
    assert bent.bend(np.zeros(2, dtype=np.int64), np.array([1.0])) == pytest.approx(np.full((1, 2), expected), rel=1e-6)


def rare(units: Array) -> Any:
    """Rows that no made-up unit is like."""
    return np.abs(units[:, 0] - 0.123456) < 1e-6


def failing(kind: str) -> Function:
    def fragile(units: Array, point: Array) -> Array:
        values = np.asarray(-((units - point) ** 2).sum(axis=1) / 4)
        if not rare(units).any():
            return values
        if kind == "raises":
            raise RuntimeError("row 17 is odd")
        if kind == "text":
            return np.where(rare(units), "odd", values.astype(str))
        return values[~rare(units)]

    return fragile


KINDS = pytest.mark.parametrize("kind", ["raises", "text", "is too short"])


@KINDS
def test_a_unit_on_which_the_utility_fails_counts_as_the_lowest_and_changes_no_other(kind: str) -> None:
    units = cloud(BLOCK, 2)
    units[[3, 700]] = [[0.123456, 0.1], [0.123456, -0.3]]
    found = answers(failing(kind), units, np.zeros(2))
    assert np.flatnonzero(np.isnan(found)).tolist() == [3, 700]
    usual = quarter(units, np.zeros(2))
    assert np.array_equal(np.delete(found, [3, 700]), np.delete(usual, [3, 700]))
    whole, failed = utilities(failing(kind), (-1.0, 0.0), units, np.zeros(2))
    assert not whole[[3, 700]].any()
    assert np.flatnonzero(failed).tolist() == [3, 700]


@pytest.mark.parametrize("kind", ["raises", "is too short"])
@pytest.mark.parametrize("exact", [True, False], ids=["curvature", "candidates"])
def test_such_units_decide_neither_a_failure_nor_more_than_others(kind: str, exact: bool) -> None:
    """They are flat and do not bend: below the envelope lies what it should, and draws lie around the other units."""
    units = np.concatenate([np.full((20, 2), 0.3), np.full((30, 2), 0.123456)])
    mechanism = objective(failing(kind), (0.5, 0.5), curvature=half if exact else None)
    assert np.isfinite(mechanism.draw(steps(units), spread_of(True), randomness=SeededRandomness(21))).all()
    if exact:
        one = target(mechanism, units, 20.0)
        found = best_envelope(one, bend_of(one))
        assert np.abs(found.place / POINTS - 0.3).max() < 0.1
        moves = np.rint(np.random.default_rng(22).normal(size=(30, 2)) * POINTS / 4).astype(np.int64)
        assert min(excesses(one, found, moves)) >= 0
        assert one.total.failed.sum() == 30  # type: ignore[attr-defined]


def test_a_curvature_that_fails_somewhere_counts_as_none_there() -> None:
    def partial(distances: Array) -> Array:
        if (distances > 1).any():
            raise RuntimeError("too far")
        return np.where(distances > 0.8, math.nan, np.where(distances > 0.6, math.inf, 2.0))

    assert bends(partial, np.array([0.1, 0.7, 0.9])).tolist() == [2.0, 0.0, 0.0]
    assert bends(partial, np.array([0.1, 1.5, 0.7, 0.9])).tolist() == [2.0, 0.0, 0.0, 0.0]
    assert bends(lambda distances: np.ones(7), np.array([0.1, 0.2])).tolist() == [0.0, 0.0]


def test_the_objective_is_the_sum_of_all_utilities_in_any_order_and_of_nothing_else() -> None:
    units = cloud(2 * BLOCK + 17, 3)
    mechanism = objective(SquaredDistance(), (1.0, 1.0, 1.0))
    point = np.array([0.3, -0.2, 0.1])
    total = mechanism.total(steps(units))
    expected = (4 - ((units - point) ** 2).sum(axis=1)).sum() / 4 * UTILITY_STEPS
    assert total(steps(point)) == pytest.approx(expected, rel=1e-6)
    for order in (slice(None, None, -1), np.random.default_rng(9).permutation(len(units))):
        assert mechanism.total(steps(units[order]))(steps(point)) == total(steps(point))


def test_a_utility_always_sees_as_many_units_and_cannot_change_them() -> None:
    seen = []

    def watching(units: Array, point: Array) -> Array:
        seen.append((units.shape, point.shape, units.flags.writeable, point.flags.writeable))
        return -np.ones(len(units))

    mechanism = objective(watching, (1.0, 1.0))
    for n in (1, 5, BLOCK, BLOCK + 1):
        mechanism.total(steps(cloud(n, 2)))(np.zeros(2, dtype=np.int64))
    assert set(seen) == {((BLOCK, 2), (2,), False, False)}
    assert len(seen) == 5


# Neighbours: u is 1 where unit and point have the same sign, so that one unit does all it can.
def same_side(units: Array, point: Array) -> Array:
    return np.asarray((units[:, 0] > 0) == (point[0] > 0), dtype=np.float64)


def log_law(
    units: Array, rate: float, utility: Function = same_side, limits: tuple[float, float] = (0.0, 1.0)
) -> Array:
    """Log probabilities of 400 points of the line."""
    mechanism = objective(utility, (0.5,), limits=limits)
    total = mechanism.total(steps(units))
    points = np.linspace(-0.9975, 0.9975, 400)[:, None]
    logs = np.array([rate * total(steps(point)) for point in points]) - (points[:, 0] ** 2) / (2 * 0.25)
    return np.asarray(logs - np.logaddexp.reduce(logs))


REPLACED = (np.array([[0.5], [0.5], [-0.5]]), np.array([[0.5], [-0.5], [-0.5]]))
ADDED = (np.array([[0.5], [-0.5]]), np.array([[0.5], [-0.5], [-0.5]]))
NEIGHBOURS = pytest.mark.parametrize(
    ("pair", "public"), [(REPLACED, True), (ADDED, False)], ids=["replace-one", "add-or-remove-one"]
)


@NEIGHBOURS
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_log_ratios_of_neighbours_fill_an_interval_of_length_epsilon_and_no_more(
    pair: tuple[Array, Array], public: bool, epsilon: float
) -> None:
    """By enumeration; the rest of epsilon is kept for roundings, six parts in a hundred thousand."""
    rate = epsilon / spread_of(public)
    ratios = log_law(pair[1], rate) - log_law(pair[0], rate)
    assert (1 - 7e-5) * epsilon <= np.ptp(ratios) <= epsilon
    assert np.abs(ratios).max() <= epsilon


@NEIGHBOURS
def test_a_rate_that_forgets_one_direction_breaks_the_guarantee_in_the_same_enumeration(
    pair: tuple[Array, Array], public: bool
) -> None:
    rate = 1.5 / spread_of(public)
    assert np.ptp(log_law(pair[1], rate) - log_law(pair[0], rate)) > 1.4


def test_a_single_ratio_comes_near_epsilon_where_few_points_are_on_one_side() -> None:
    """Pure epsilon itself is nearly used: all but the replaced unit make one side unlikely."""
    rate = 1.0 / spread_of(True)
    sure = np.full((30, 1), 0.5)
    moved = np.concatenate([sure[1:], [[-0.5]]])
    ratios = log_law(moved, rate) - log_law(sure, rate)
    assert 0.98 < np.abs(ratios).max() <= 1.0


def test_a_utility_beyond_its_range_moves_nothing_further_than_stated() -> None:
    """A planted fault that clipping has to catch: utilities a hundred times their range."""
    rate = 1.0 / spread_of(True)
    ratios = log_law(REPLACED[1], rate, lambda units, point: 100 * same_side(units, point)) - log_law(
        REPLACED[0], rate, lambda units, point: 100 * same_side(units, point)
    )
    assert np.ptp(ratios) <= 1.0


def test_the_price_is_the_spread_over_the_scale() -> None:
    mechanism = objective(SquaredDistance(), (1.0,))
    for public, factor in ((True, 2), (False, 1)):
        sensitivity = Sensitivity(spread_of(public), Supremum(), "")
        scale = calibrate(mechanism, sensitivity, Budget(0.5, 0.0), size=1)
        assert scale == pytest.approx(factor * (UTILITY_STEPS + SPARE_STEPS) / 0.5, rel=1e-9)
        assert mechanism.profile(sensitivity, scale).epsilon <= 0.5
        assert mechanism.profile(sensitivity, scale).rho == pytest.approx(0.5**2 / 8, rel=1e-6)
    assert mechanism.noise(3.0, 7).name == "choice"
    assert SPARE_STEPS == 2**26  # one step of rounding for each of 2^25 others, twice over


def test_squares_have_the_law_of_the_exponential_mechanism_for_the_mean() -> None:
    """The older sampler knows the sum alone; log weights of both agree at every point, up to a constant."""
    units, prior, n = cloud(200, 2), (0.8, 0.3), 200
    older = Exponential(n, POINTS, tuple(POINTS * deviation for deviation in prior))
    scale = 8.0 * POINTS**2  # epsilon = 1
    one = target(objective(SquaredDistance(), prior), units, 1 + SPARE_STEPS / UTILITY_STEPS)
    total = steps(units).reshape(-1, 2).sum(axis=0)
    points = steps(np.random.default_rng(10).uniform(-0.7, 0.7, size=(60, 2))).reshape(-1, 2)
    new = [one.rate * one.total(point) - float(one.precisions @ point.astype(float) ** 2) for point in points]
    utility = [-(n * float(b @ b.astype(float)) - 2 * float(b @ total.astype(float))) / scale for b in points]
    old = np.array(utility) - (points.astype(float) ** 2 / (2 * np.array(older.prior) ** 2)).sum(axis=1)
    assert np.ptp(old) > 10
    assert np.ptp(np.array(new) - old) < 1e-4


# Candidates ----------------------------------------------------------------------------------------------------------


def test_base_points_come_from_the_process_cut_to_the_ball() -> None:
    """Chi-square against quadrature at level 1e-6, 3,000 draws."""
    mechanism = objective(SquaredDistance(), (0.9, 0.4))
    one = Target(mechanism.total(np.zeros(0, dtype=np.int64)), 0.0, mechanism.precisions, POINTS)
    draws = mechanism.base_points(3000, SeededRandomness(11))
    assert draws.shape == (3000, 2)
    assert p_value(*cells(*grid_law(one, 2), draws, 5)) > LEVEL


def test_base_points_of_a_process_much_wider_than_the_ball_come_soon_and_fill_it_evenly() -> None:
    """Of a process thirty times as wide one proposal in 10^12 lies in the ball.

    Radii to the power of the dimension are uniform: chi-square at level 1e-6, 1,000 draws.
    """
    draws = objective(SquaredDistance(), (30.0,) * 8).base_points(1000, SeededRandomness(31))
    shares = (np.sqrt((draws**2).sum(axis=1)) / POINTS) ** 8
    assert chisquare(np.histogram(shares, 10, (0.0, 1.0))[0]).pvalue > LEVEL


def test_without_a_curvature_one_of_the_candidates_is_chosen_by_its_exact_weight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Chi-square over four fixed points, 2,000 draws, level 1e-6."""
    points = steps([[-0.8], [-0.1], [0.3], [0.9]]).reshape(-1, 1)
    monkeypatch.setattr(Objective, "base_points", lambda self, size, randomness, rate: points)
    mechanism = objective(SquaredDistance(), (0.5,), curvature=None)
    units, epsilon = cloud(20, 1), 1.5
    total = mechanism.total(steps(units))
    weights = np.exp(epsilon / spread_of(True) * (np.array([total(point) for point in points]) - total(points[2])))
    source, counts = SeededRandomness(12), np.zeros(4)
    for _ in range(2000):
        drawn_one = mechanism.draw(steps(units), spread_of(True) / epsilon, randomness=source)
        counts[int(np.flatnonzero(points[:, 0] == drawn_one[0])[0])] += 1
    assert chisquare(counts, 2000 * weights / weights.sum()).pvalue > LEVEL


def test_candidates_need_no_concavity() -> None:
    mechanism = objective(same_side, (0.5,), limits=(0.0, 1.0))
    point = mechanism.draw(steps(np.full((60, 1), 0.4)), spread_of(True) / 5.0, randomness=SystemRandomness())
    assert point[0] > 0


# False statements ----------------------------------------------------------------------------------------------------


def waves(units: Array, point: Array) -> Array:
    return np.asarray((np.cos(20 * (units[:, 0] - point[0])) + point[0]) / 2)


def upwards(units: Array, point: Array) -> Array:
    return np.asarray((units[:, 0] - point[0]) ** 2 - 1)


FALSE = {
    "a curvature that is not there": (RobustDistance(0.2), {"curvature": lambda r: np.ones(np.shape(r))}, None),
    "a second maximum": (waves, {"limits": (-1.0, 1.0), "curvature": flat}, 0.05 + math.asin(0.05) / 20),
    "a minimum": (upwards, {"curvature": flat}, 0.0),
}


@pytest.mark.parametrize("case", FALSE)
def test_a_false_statement_is_no_failure_and_the_law_is_the_lower_one_of_weight_and_envelope(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure would be an output that some data sets have and their neighbours never. Level 1e-6, 600 draws."""
    utility, changes, place = FALSE[case]
    if place is not None:
        monkeypatch.setattr(concave, "_maximum", lambda one, bend: steps(np.array([place])))
    one = target(objective(utility, (0.3,), **changes), np.full((100, 1), 0.05), 1.0)
    found = best_envelope(one, bend_of(one))
    points, weights = grid_law(one, 1)
    above = np.array(excesses(one, found, points - found.place))
    assert above.min() < 0, "the statement is false, and it shows"
    lower = weights * np.exp(np.minimum(above, 0.0))
    assert p_value(*cells(points, lower / lower.sum(), drawn(one, 600, seed=13), 16)) > LEVEL


def test_a_draw_does_not_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Giving up after a number of proposals would be an output; here 100,008 of them are refused."""
    one = target(objective(SquaredDistance(), (1.0,)), cloud(5, 1), 1.0)
    batches = iter([None] * 12_501)
    point = np.array([7])
    monkeypatch.setattr(Envelope, "draw", lambda self, target, randomness: next(batches, point))
    assert draw_below(one, bend_of(one), SeededRandomness(14)) is point


@pytest.mark.audit
@pytest.mark.parametrize("curvature", [True, False])
def test_draws_from_a_base_measure_much_wider_than_the_ball_end_soon(curvature: bool) -> None:
    changes = {} if curvature else {"curvature": None}
    mechanism = objective(RobustDistance(0.3), (30.0,) * 8, **changes)
    for n in (0, 5):
        assert (mechanism.draw(steps(cloud(n, 8)), spread_of(True), randomness=SystemRandomness()) ** 2).sum() > 0


def test_the_planned_share_of_proposals_is_near_the_one_that_is_accepted() -> None:
    """For units as they are made up; 400 proposals each; a plan is right within a factor of three."""
    for knot, size, n, epsilon in ((1.0, 4, 200, 1.0), (0.1, 2, 400, 4.0)):
        mechanism = objective(RobustDistance(knot), (1 / math.sqrt(size),) * size)
        planned, _ = planned_acceptances(mechanism, 1.0, n, epsilon / spread_of(True))
        units = np.random.default_rng(32).normal(size=(n, size)) * 0.2 / math.sqrt(size)
        one = target(mechanism, units, epsilon)
        found, source, chances = best_envelope(one, bend_of(one)), SeededRandomness(33), []
        for _ in range(400 // envelope.BATCH):
            for index in found.pick(envelope.BATCH, source):
                component = found.components[index]
                move = component.draw(1, source)
                inside = component.holds(move)[0] and one.inside(found.place + move)[0]
                chances.append(math.exp(-excesses(one, found, move)[0]) if inside else 0.0)
        assert planned / 3 < float(np.mean(chances)) < planned * 3


# Mistakes before anything is charged ---------------------------------------------------------------------------------


def in_place(units: Array, point: Array) -> Array:
    units -= point
    return np.asarray(-(units**2).sum(axis=1))


def raising(units: Array, point: Array) -> Array:
    raise RuntimeError("no such curve")


def centred(units: Array, point: Array) -> Array:
    return np.asarray(-((units - units.mean(axis=0) - point) ** 2).sum(axis=1) / 4)


class Counting:
    """Changes from call to call."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, units: Array, point: Array) -> Array:
        self.calls += 1
        return np.asarray(-((units - point) ** 2).sum(axis=1) / 4 / self.calls)


def quarter(units: Array, point: Array) -> Array:
    return np.asarray(-((units - point) ** 2).sum(axis=1) / 4)


def half(distances: Array) -> Array:
    return np.full(np.shape(distances), 0.5)


def single(units: Array, point: Array) -> Array:
    """True in real numbers, computed in single precision."""
    return np.asarray(-((units.astype(np.float32) - point.astype(np.float32)) ** 2).sum(axis=1) / 4)


def far_off(units: Array, point: Array) -> Array:
    """True in real numbers, beside a constant that leaves it no digits."""
    return 1e9 + quarter(units, point)


def times(factor: float) -> Any:
    return lambda distances: factor * RobustDistance(0.3).across(distances)


WRONG: dict[str, tuple[Any, dict[str, Any], str]] = {
    "it raises": (
        raising,
        {},
        r"^The utility fails on made-up units, with RuntimeError: no such curve\. It takes units",
    ),
    "it writes": (in_place, {}, r"^The utility fails on made-up units, with ValueError: .*read-only"),
    "no numbers": (lambda u, b: np.full(len(u), "a"), {}, r"^The utility fails on made-up units, with ValueError"),
    "one number": (lambda u, b: 0.0, {}, r"^The utility of 1024 units must be 1024 numbers, got shape \(\)\.$"),
    "a matrix": (lambda u, b: u, {}, r"^The utility of 1024 units must be 1024 numbers, got shape \(1024, 2\)\.$"),
    "nan": (lambda u, b: np.sqrt(u[:, 0] - 5), {}, r"^The utility of made-up units within the bound is not finite"),
    "elsewhere": (
        lambda u, b: quarter(u, b) - 9,
        {},
        r"^Moved into utility_range=\(-1\.0, 0\.0\), all utilities of made-up",
    ),
    "the others": (centred, {}, r"^The utility of a unit must depend on that unit and the point alone; on made-up"),
    "the calls": (Counting(), {}, r"^The utility of a unit must depend on that unit and the point alone; on made-up"),
    "less curved": (quarter, {"curvature": lambda r: np.full(np.shape(r), 0.51)}, r"^The utility bends less than was"),
    "less curved nearby": (
        lambda u, b: quarter(u, b) + 1e-6 * np.cos(300 * b[0]),
        {"limits": (-1.1, 0.1), "curvature": lambda r: np.full(np.shape(r), 0.42)},
        r"^The utility bends less than was stated",
    ),
    "single precision": (
        single,
        {"curvature": lambda r: np.full(np.shape(r), 0.3)},
        r"^The utility is not concave, or its roundings are too coarse .* Compute it in double precision; subtract",
    ),
    "a large constant": (
        far_off,
        {"limits": (1e9 - 1, 1e9), "curvature": lambda r: np.full(np.shape(r), 0.3)},
        r"^The utility is not concave, or its roundings are too coarse",
    ),
    "across, twice too much": (
        RobustDistance(0.3),
        {"across": times(2.0)},
        r"^The utility bends less than was stated",
    ),
    "across, a tenth too much": (
        RobustDistance(0.3),
        {"across": times(1.1)},
        r"^The utility bends less than was stated",
    ),
    "across, less than along": (
        RobustDistance(0.3),
        {"across": flat},
        r"^The curvature across the line to a unit may not be smaller than that in all directions\.$",
    ),
    "across, growing": (
        RobustDistance(0.3),
        {"across": lambda r: 1 + r},
        r"^The curvature across must be finite, 0 or more, and may not grow with the distance",
    ),
    "across, infinite": (
        RobustDistance(0.3),
        {"across": lambda r: np.full(np.shape(r), math.inf)},
        r"^The curvature across must be finite",
    ),
    "across, broken": (
        RobustDistance(0.3),
        {"across": lambda r: r["a"]},
        r"^The curvature across must be a number or a function of distances, and fails with IndexError: ",
    ),
    "cut off": (
        quarter,
        {"limits": (-0.3, 0.0), "curvature": lambda r: np.full(np.shape(r), 0.5)},
        r"^The utility bends less than was stated, or leaves its range and bends the other way there",
    ),
    "a curvature that grows": (
        quarter,
        {"curvature": lambda r: r},
        r"^The curvature must be finite, 0 or more, and may",
    ),
    "a negative curvature": (
        quarter,
        {"curvature": lambda r: -r},
        r"^The curvature must be finite, 0 or more, and may",
    ),
    "a broken curvature": (
        quarter,
        {"curvature": lambda r: r["a"]},
        r"^The curvature must be a number or a function of distances, and fails with IndexError: ",
    ),
}


@pytest.mark.filterwarnings("ignore:invalid value encountered in sqrt")
@pytest.mark.parametrize("case", WRONG)
def test_a_utility_that_is_none_is_refused_on_made_up_units(case: str) -> None:
    utility, changes, text = WRONG[case]
    with pytest.raises(UsageError, match=text):
        check_declared(objective(utility, (1.0, 0.5), **changes), 1.0)


@pytest.mark.parametrize("knot", [0.03, 0.3, 3.0, 300.0])
@pytest.mark.parametrize("size", [1, 3, 12])
def test_the_utilities_of_the_package_keep_what_they_say(knot: float, size: int) -> None:
    check_declared(objective(RobustDistance(knot), (1.0,) * size), 1.0)
    check_declared(objective(SquaredDistance(), (1.0,) * size), 1.0)


@pytest.mark.parametrize("utility", [SquaredDistance(), RobustDistance(0.2), RobustDistance(2.0)], ids=str)
def test_the_curvature_of_the_package_is_the_least_eigenvalue_of_the_second_derivative(utility: Any) -> None:
    """Against second differences along and across the line to the unit."""
    h = 1e-4
    for distance in (0.0, 0.1, 0.5, 1.9):
        unit = np.array([[distance, 0.0]])
        seconds = [
            -(utility(unit, h * way) + utility(unit, -h * way) - 2 * utility(unit, 0 * way))[0] / h**2
            for way in np.eye(2)
        ]
        assert min(seconds) == pytest.approx(float(utility.curvature(np.array(distance))), rel=1e-4)
        across = getattr(utility, "across", utility.curvature)
        assert seconds[1] == pytest.approx(float(across(np.array(distance))), rel=1e-4)
    low, high = utility.range(2.0)
    assert low == pytest.approx(float(utility(np.array([[2.0]]), np.zeros(1))[0]), rel=1e-12)
    assert high == 0.0


@pytest.mark.parametrize("knot", [0, -1.0, math.inf, math.nan, "a"], ids=str)
def test_a_knot_that_is_none_is_refused(knot: Any) -> None:
    with refused(UsageError, "knot", knot):
        RobustDistance(knot)


@pytest.mark.parametrize(
    ("changes", "about"),
    [
        (
            {"limits": (0.0, 0.0)},
            ("utility_range", (0.0, 0.0)),
        ),
        ({"limits": (0.0, math.inf)}, ("utility_range",)),
        ({"limits": (math.nan, 1.0)}, ("utility_range",)),
        ({"limits": (-1e200, 1e200)}, ("utility_range",)),
        ({"limits": (0.0, 1e-300)}, ("utility_range",)),
        ({"limits": 4.0}, ("utility_range", 4.0)),
        (
            {"prior": ()},
            ("prior",),
        ),
        ({"prior": (63.0,)}, ("prior",)),
        ({"prior": (math.nan,)}, ("prior",)),
        ({"curvature": None, "candidates": 0}, ("candidates", 0)),
    ],
    ids=[
        "empty",
        "infinite",
        "nan range",
        "too wide",
        "too narrow",
        "no pair",
        "no prior",
        "narrow",
        "nan",
        "no candidates",
    ],
)
def test_mechanisms_that_are_none_are_refused(changes: dict[str, Any], about: Any) -> None:
    with refused(UsageError, *about):
        objective(SquaredDistance(), (1.0,), **changes)


def test_units_of_another_length_are_refused() -> None:
    with refused(UsageError, "coordinates", 3):
        objective(SquaredDistance(), (1.0, 1.0)).draw(np.zeros(3, dtype=np.int64), 1.0, randomness=SystemRandomness())


def test_more_units_than_can_be_planned_for_give_a_draw() -> None:
    """Where their number is private, a refusal at some number would tell it."""
    mechanism = objective(same_side, (0.5,), limits=(0.0, 1.0), candidates=1)
    for n in (MOST_PLANNED, MOST_PLANNED + 1):
        drawn_one = mechanism.draw(np.zeros(n, dtype=np.int64), spread_of(False), randomness=SystemRandomness())
        assert drawn_one.shape == (1,)


def test_warnings_of_a_utility_stay_inside() -> None:
    """They are errors in this test run, and would say something about a unit."""

    def noisy(units: Array, point: Array) -> Array:
        import warnings

        warnings.warn("a unit is odd", stacklevel=1)
        return np.asarray(-((units - point) ** 2).sum(axis=1)) + 0 * np.log(units[:, 0] - 2)

    mechanism = objective(noisy, (0.5,), limits=(-4.0, 0.0))
    assert mechanism.draw(steps(cloud(3, 1)), spread_of(True), randomness=SystemRandomness()).shape == (1,)


def test_the_supremum_is_the_largest_change() -> None:
    assert Supremum()([1.0, -3.0, 2.0]) == 3.0
    assert Supremum().over_l2(5) == 1.0

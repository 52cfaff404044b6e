"""A private bound: a quantile of norms that are functions of one unit alone, charged before any record is read."""

from __future__ import annotations

import inspect
import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusals import refused

import dpfda
from dpfda.bases import as_domain
from dpfda.errors import BudgetExceeded, DataError, ReleaseFailed, UsageError
from dpfda.ledger import SessionLedger
from dpfda.mechanisms import SeededRandomness
from dpfda.privacy import Budget
from dpfda.records import Curves, as_curves, exact_sum
from dpfda.statistics.private_bound import (
    GRID,
    BoundChoice,
    NormQuantile,
    bound_order,
    mean_weights,
    preference_of,
    private_bound,
)
from dpfda.statistics.private_choice import choice_order, private_choice

NAN, INF = np.nan, np.inf
POINTS = np.linspace(0, 1, 9)
WEIGHTS = np.array([1, 2, 2, 2, 2, 2, 2, 2, 1]) / 16  # the trapezoid rule
BOUNDS = (0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 10.0)


def counts(table, *, units=None, candidates=BOUNDS, grid=POINTS, domain=(0, 1), centre=None, rows=None, workers=1):
    """How many units lie within each candidate, as the pipeline counts them."""
    curves = as_curves(table, grid=grid, units=units)
    facts = dpfda.MeanFunction(epsilon=1.0, delta=0.0, bound=candidates[-1], domain=domain, centre=centre)
    public = facts.facts(curves)
    selection = NormQuantile(tuple(candidates), 0.5, as_domain(domain), len(public.grid))
    return exact_sum(
        curves,
        selection.encode(public),
        selection.clipping(public),
        units=curves.units,
        size=selection.size,
        sums=selection.sums,
        batch_rows=rows,
        workers=workers,
        progress=False,
    ).tolist()


def sample(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 9)) * rng.lognormal(size=(n, 1))


# The norms -----------------------------------------------------------------------------------------------------------


def test_norms_are_root_mean_squares_over_the_domain():
    table = sample()
    norms = np.sqrt(table**2 @ WEIGHTS)
    assert counts(table) == [int((norms <= bound).sum()) for bound in BOUNDS]


@pytest.mark.parametrize("domain", [(0, 1), (-3, 5)])
def test_norms_do_not_depend_on_the_length_of_the_domain_nor_on_the_order_of_the_grid(domain):
    table, points = sample(), np.linspace(*domain, 9)
    order = np.random.default_rng(1).permutation(9)
    expected = counts(table)
    assert counts(table, grid=points, domain=domain) == expected
    assert counts(table[:, order], grid=points[order], domain=domain) == expected


def test_weights_belong_to_their_points_on_uneven_grids_and_at_repeated_points():
    assert mean_weights(np.array([[0.5], [0.0], [1.0]]), as_domain((0, 1))).tolist() == [0.5, 0.25, 0.25]
    assert mean_weights(np.array([[0.0], [0.0], [1.0]]), as_domain((0, 1))).tolist() == [0.25, 0.25, 0.5]
    box = np.array([[x, y] for x in (0.0, 1.0) for y in (0.0, 2.0, 4.0)])
    assert mean_weights(box, as_domain([(0, 1), (0, 4)])).tolist() == [0.125, 0.25, 0.125] * 2


def test_norms_are_taken_around_the_public_centre():
    table, centre = sample(), np.cos(POINTS)
    assert counts(table + centre, centre=centre) == counts(table)
    assert counts(table + 1e3, centre=1e3) == counts(table)


def test_a_units_norm_is_that_of_its_average_curve():
    table, ids = sample(), np.arange(60) // 4
    averages = table.reshape(15, 4, 9).mean(axis=1)
    norms = np.sqrt(averages**2 @ WEIGHTS)
    expected = [int((norms <= bound).sum()) for bound in BOUNDS]
    assert counts(table, units=ids) == expected
    shuffled = np.random.default_rng(2).permutation(60)
    assert counts(table[shuffled], units=ids[shuffled]) == expected


@pytest.mark.parametrize("rows", [1, 7, 60])
@pytest.mark.parametrize("workers", [1, 3])
def test_counts_do_not_depend_on_batches_nor_on_threads(rows, workers):
    table, ids = sample(), np.random.default_rng(3).integers(0, 20, 60)
    assert counts(table, units=ids, rows=rows, workers=workers) == counts(table, units=ids)
    assert counts(table, rows=rows, workers=workers) == counts(table)


CURVES = arrays(np.float64, 9, elements=st.floats(width=64) | st.floats(-5, 5))


@given(curve=CURVES, other=CURVES)
@settings(derandomize=True, deadline=None, max_examples=80)
def test_replacing_a_unit_by_any_other_moves_no_count_by_more_than_one(curve, other):
    """Also by odd ones; and a unit counts the same wherever and with whomever it stands."""
    rest = sample(5)
    one, moved = (np.array(counts(np.vstack([rest, x]))) for x in (curve, other))
    assert np.abs(one - moved).max() <= 1
    alone = np.array(counts(curve[None]))
    assert set(alone) <= {0, 1}
    assert np.all(np.diff(alone) >= 0)
    assert (one - np.array(counts(rest))).tolist() == alone.tolist()


@pytest.mark.parametrize(
    ("curve", "held"),
    [
        ([NAN] * 9, 7),
        ([0.0] * 9, 7),
        ([INF] * 9, 7),  # no value at all: the centre
        ([1e308, -1e308] * 4 + [1e308], 0),
        ([NAN, 0.4, NAN, NAN, NAN, NAN, NAN, NAN, NAN], 5),  # filled by its only value
        ([10.0] * 9, 1),
        ([0.3] * 9, 6),
        ([10.000001] * 9, 0),
    ],
)
def test_odd_curves_have_a_norm_too(curve, held):
    assert sum(counts([curve])) == held


def test_rows_without_an_identifier_are_in_no_count():
    table = np.full((4, 9), 0.2)
    assert counts(table, units=["p", "q", None, "q"]) == [0, 2, 2, 2, 2, 2, 2]


def test_small_and_large_candidates_are_told_apart_over_nine_decades():
    candidates = [10.0**k for k in range(-4, 6)]
    table = np.array([[c * 1.02] * 9 for c in candidates] + [[c * 0.98] * 9 for c in candidates])
    assert counts(table, candidates=candidates) == [2 * k + 1 for k in range(10)]


# The choice ----------------------------------------------------------------------------------------------------------


def test_the_bound_is_near_the_quantile_and_can_be_stated_in_a_release():
    """Misses by more than 60 units of 3000 have a chance below 64 e^-30, with any source; here a seeded one."""
    rng = np.random.default_rng(4)
    table = rng.normal(size=(3000, 9))
    norms = np.sqrt(table**2 @ WEIGHTS)
    for quantile in (0.5, 0.9, 1.0):
        choice = private_bound(
            table,
            epsilon=1.0,
            quantile=quantile,
            candidates=np.linspace(0.1, 3, 64),
            randomness=SeededRandomness(1),
            force=True,
        )
        best = np.abs([(norms <= c).sum() - quantile * 3000 for c in choice.candidates]).min()
        assert abs((norms <= choice.value).sum() - quantile * 3000) <= best + 60
        assert choice.value in choice.candidates
    release = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=choice.value).fit(table).release_
    assert release.certificate.bound == float(choice)


def test_two_numbers_are_the_ends_of_a_geometric_grid():
    choice = private_bound(np.ones((5, 9)), epsilon=1.0, quantile=0.9, candidates=(0.01, 100), force=True)
    assert len(choice.candidates) == GRID
    assert (choice.candidates[0], choice.candidates[-1]) == (0.01, 100.0)
    assert np.diff(np.log(choice.candidates)) == pytest.approx(math.log(1e4) / 63)


@pytest.mark.audit
def test_the_chosen_bound_has_the_law_of_the_exponential_mechanism():
    """Chi-square at level 1e-6 on 1,000 choices; the seed is fixed."""
    from scipy.stats import chisquare

    table = np.array([[0.2]] * 3 + [[0.8]] * 4 + [[2.5]] * 3) * np.ones(9)
    source = SeededRandomness(5)
    drawn = [
        private_bound(table, epsilon=0.8, quantile=0.5, candidates=BOUNDS, randomness=source, force=True).value
        for _ in range(1000)
    ]
    misses = np.abs(np.array([0, 3, 3, 7, 7, 10, 10]) - 5)
    law = np.exp(-0.4 * misses)
    seen = [drawn.count(bound) for bound in BOUNDS]
    assert chisquare(seen, 1000 * law / law.sum()).pvalue > 1e-6


def test_the_result_is_frozen_and_says_what_it_cost():
    ledger = SessionLedger(cap=Budget(1.0, 0.0))
    choice = private_bound(
        np.ones((50, 9)),
        epsilon=0.75,
        quantile=0.9,
        candidates=BOUNDS,
        dataset="scans",
        ledger=ledger,
        units=range(50),
        force=True,
    )
    assert isinstance(choice, BoundChoice)
    assert (choice.epsilon, choice.quantile, choice.candidates) == (0.75, 0.9, BOUNDS)
    assert [(entry.dataset, entry.what, entry.budget) for entry in ledger.entries] == [
        ("scans", "bound", Budget(0.75, 0.0))
    ]
    with pytest.raises(FrozenInstanceError):
        choice.value = 3.0
    text = choice.text()
    for part in (
        "Card of a choice: bound for 'scans'",
        "pure epsilon = 0.75; for composition 0.07032-zCDP",
        "protects       one unit (neighbours: replace-one)",
        "units          51",
        "exponential mechanism on 7 candidates, drawn exactly",
        f"bound          {choice.value:g}",
        "7 bounds from 0.1 to 10",
        "the number that does is off by at most 14 units",
        "as many lie above the quantile",
        "charged before reading",
        "system, exact sampler",
        "at most 2.12 times more or less likely had this unit been another one",
    ):
        assert part in text or part in " ".join(text.split())
    assert "NOT PRIVATE" not in text
    assert choice.card.to_dict()["neighbours"] == "replace-one"
    with pytest.raises(BudgetExceeded, match=r"left are epsilon 0\.25"):
        private_bound(np.ones((50, 9)), epsilon=0.75, quantile=0.9, candidates=BOUNDS, ledger=ledger, force=True)


def test_a_seeded_choice_is_stamped_and_promises_nothing():
    arguments = {"epsilon": 0.1, "quantile": 0.5, "candidates": BOUNDS}
    one, same = (private_bound(sample(), randomness=SeededRandomness(6), **arguments, force=True) for _ in range(2))
    assert one.value == same.value
    assert one.text().count("NOT PRIVATE") == 2
    assert "nothing was recorded" in one.text()
    assert "promises nothing to anybody" in one.text()
    assert not one.card.private


def test_an_assumed_unit_and_a_large_epsilon_are_on_the_card():
    text = private_bound(sample(), epsilon=800.0, quantile=0.5, candidates=BOUNDS, force=True).text()
    assert "no column of persons was named" in text
    assert "promises next to nothing" in text
    assert "at most e^800 times" in text


# The order of things -------------------------------------------------------------------------------------------------


class Watched:
    """A source that notes every question about its records, and fails where it is told to."""

    width = 9

    def __init__(self, events, fail=None, rows=5):
        self.events, self.fail, self.n = events, fail, rows

    def rows(self):
        self.events.append("rows")
        return self.n

    def identity(self):
        return None

    def batches(self, rows):
        self.events.append("batches")
        if self.fail is not None:
            raise self.fail
        yield np.full((self.n, 9), 123456.789)


class Clerk:
    def __init__(self, events):
        self.events = events

    def charge(self, entry):
        self.events.append("charge")

    def store(self, receipt, output):
        self.events.append("store")

    def burn(self, receipt):
        self.events.append("burn")


def watched(events, fail=None, rows=5, **changes):
    arguments = {"epsilon": 1.0, "quantile": 0.9, "candidates": BOUNDS, "ledger": Clerk(events)}
    return private_bound(Curves(Watched(events, fail, rows), None, None), **{**arguments, **changes}, force=True)


def test_the_charge_comes_before_the_records():
    events = []
    watched(events)
    assert events[: events.index("charge")] == ["rows"]
    assert events.count("charge") == 1
    assert "batches" in events[events.index("charge") :]


@pytest.mark.parametrize("failure", [ValueError("123456.789"), MemoryError(), KeyError(3)], ids=repr)
def test_a_failure_among_the_records_is_one_constant_error_and_the_charge_stays(failure):
    events = []
    with pytest.raises(ReleaseFailed, match=r"^The release failed after records were read\.") as caught:
        watched(events, failure)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert "charge" in events


@pytest.mark.parametrize(
    ("changes", "about"),
    [
        ({"epsilon": 0}, ("epsilon", 0)),
        ({"quantile": 0}, ("quantile", 0)),
        ({"quantile": 1.5}, ("quantile", 1.5)),
        ({"quantile": NAN}, ("quantile", float("nan"))),
        ({"quantile": "median"}, ("quantile", "median")),
        ({"candidates": 3.0}, ("candidates", 3.0)),
        ({"candidates": (1.0,)}, ("candidates", (1.0,))),
        ({"candidates": (2.0, 1.0)}, ("candidates", (2.0, 1.0))),
        ({"candidates": (1.0, 1.0, 2.0)}, ("candidates",)),
        ({"candidates": (0.0, 1.0)}, ("candidates",)),
        ({"candidates": (1.0, INF)}, ("candidates",)),
        ({"candidates": (NAN, 1.0)}, ("candidates",)),
        ({"candidates": np.array([0.1 + 1j, 0.2])}, ("candidates",)),
        ({"candidates": ["0.1", "1"]}, ("candidates",)),
        ({"candidates": (1e-6, 1e6)}, ("candidates", (1e-06, 1000000.0))),
        ({"candidates": ("a", "b")}, ("candidates", ("a", "b"))),
        ({"grid": POINTS}, ("grid",)),
        ({"domain": (1, 0)}, ("sides", (1.0, 0.0))),
        ({"domain": [(0, 1), (0, 1)]}, ("grid",)),
        ({"centre": np.zeros(4)}, ("centre",)),
        ({"randomness": 7}, ("randomness", 7)),
        ({"reading": 4}, ("reading", 4)),
    ],
    ids=str,
)
def test_mistakes_are_refused_before_the_charge(changes, about):
    events = []
    with refused(UsageError, *about):
        watched(events, **changes)
    assert not {"charge", "batches"} & set(events)


def test_no_curves_are_refused_before_the_charge():
    events = []
    with pytest.raises(DataError, match="There are no curves: a release needs at least one"):
        watched(events, rows=0)
    assert "charge" not in events


def test_warnings_and_output_do_not_depend_on_the_records(capfd):
    """An odd unit cannot be told from outside: the same fields, no output, warnings being errors here."""
    rest = sample(30)
    for curve in ([NAN] * 9, [1e308, -1e308, INF] * 3, [0.0] * 9):
        choice = private_bound(np.vstack([rest, curve]), epsilon=1.0, quantile=0.5, candidates=BOUNDS, force=True)
        assert choice.value in BOUNDS
    assert capfd.readouterr() == ("", "")


def test_norms_that_lie_close_together_get_a_bound_close_above_them():
    """All candidates that hold everybody miss the quantile alike; the smallest of them is preferred.

    The next one is e^2 times less likely each: more than four above it come out once in 3,000 draws; seeded.
    """
    table = np.ones((5000, 9)) * np.linspace(0.49, 0.51, 5000)[:, None]
    for seed in range(20):
        choice = private_bound(
            table, epsilon=1.0, quantile=0.95, candidates=(0.01, 1000.0), randomness=SeededRandomness(seed), force=True
        )
        first = next(i for i, candidate in enumerate(choice.candidates) if candidate >= 0.51)
        assert choice.value in choice.candidates[first : first + 5]


@pytest.mark.parametrize(
    ("epsilon", "n", "parts"), [(1.0, 5000, 4 * 64), (0.1, 5000, int(64 * 0.95 * 5000 / 256)), (1.0, 1, 0)]
)
def test_the_preference_for_small_bounds_is_public_and_never_drowns_the_data(epsilon, n, parts):
    assert preference_of(epsilon, 0.95, 64, n) == parts
    assert 64 * preference_of(epsilon, 0.95, 64, n) <= 64 * 0.95 * n / 4


@pytest.mark.parametrize(("choice", "order"), [(private_bound, bound_order), (private_choice, choice_order)])
def test_a_choice_shows_the_arguments_of_its_order(choice, order) -> None:
    shown, taken = inspect.signature(choice), inspect.signature(order)
    assert shown.parameters == taken.parameters
    assert shown.return_annotation != taken.return_annotation
    assert choice.__name__ in ("private_bound", "private_choice")

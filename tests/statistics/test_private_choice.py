"""A private choice among settings: exact scores, their sensitivity, and the order of charge and records."""

from __future__ import annotations

import math
import operator
from dataclasses import FrozenInstanceError, replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy.stats import chisquare

import dpfda
from dpfda.bases import bernstein, cosine
from dpfda.bases.lattice import RADIUS
from dpfda.curator import Curator
from dpfda.errors import DataError, ReleaseFailed, UsageError
from dpfda.kernels import Matern
from dpfda.ledger import SessionLedger
from dpfda.mechanisms import MECHANISMS, DictionaryDraw, FiniteLaplace, SeededRandomness
from dpfda.privacy import ADD_REMOVE, Budget, Unit
from dpfda.records import Curves, as_curves
from dpfda.statistics.private_choice import SHARES, Residuals, private_choice, residuals

N, WIDTH = 2000, 16
GRID = np.linspace(0, 1, WIDTH)
BASIS = cosine((0, 1), 4)
PENALTIES = (1e-8, 1e-6, 1e-4, 1e-2, 1.0)
KNOWN = {"epsilon": 1.0, "delta": 0.0, "bound": 2.0}
KERNEL = Matern(1.5, 0.2)


def penalised(mechanism="iclp-qr", **changes):
    process = MECHANISMS[mechanism].make
    made = [process(kernel=KERNEL, penalty=penalty) for penalty in PENALTIES]
    return [dpfda.MeanFunction(**{**KNOWN, "mechanism": each, **changes}) for each in made]


def sized(*sizes, kernel=KERNEL, **changes):
    process = FiniteLaplace(kernel=kernel)
    return [dpfda.MeanFunction(**{**KNOWN, "mechanism": process, "size": size, **changes}) for size in sizes]


def sample(n=N, seed=0):
    rng = np.random.default_rng(seed)
    return 1 + np.sin(2 * np.pi * GRID) * (0.5 + 0.2 * rng.normal(size=(n, 1))) + 0.1 * rng.normal(size=(n, WIDTH))


def facts(n=N, bound=2.0):
    table = np.zeros((n, WIDTH))
    return dpfda.MeanFunction(**{**KNOWN, "bound": bound}).facts(as_curves(table, grid=GRID, units=None))


# The scores ----------------------------------------------------------------------------------------------------------

WEIGHTS = np.array([[1.0, 0.5, 0.25, 0.0], [0.9, 0.8, 0.7, 0.6], [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
ERRORS = np.array([0.1, 0.0, 0.3, 1.5])
CUTS = np.array([[np.inf] * 4, [np.inf] * 4, [0.3, 0.2, 0.1, 0.05], [0.0] * 4])


def values(selection, total, public):
    """Scores in the units of the curve."""
    scores = selection.scores(np.array(total, dtype=np.int64), public)
    unit = public.lattice.step / public.n / SHARES
    return np.array([(math.sqrt(s) + w) * unit for s, w in zip(scores.squares, scores.wholes, strict=True)])


def test_a_score_is_what_is_left_out_of_the_mean_plus_the_error():
    public = facts()
    mean = np.array([1.2, -0.7, 0.4, 0.1])
    total = np.rint(mean / public.lattice.step * N).astype(np.int64)
    left = np.linalg.norm((1 - WEIGHTS) * mean, axis=1)
    assert values(Residuals(BASIS, WEIGHTS, ERRORS), total, public) == pytest.approx(left + ERRORS, rel=1e-6)
    cut = np.linalg.norm(np.minimum((1 - WEIGHTS) * np.abs(mean), CUTS), axis=1)
    assert values(Residuals(BASIS, WEIGHTS, ERRORS, CUTS), total, public) == pytest.approx(cut + ERRORS, rel=1e-6)


sums = st.lists(st.integers(-(RADIUS * N), RADIUS * N), min_size=4, max_size=4)


@given(total=sums, move=st.lists(st.integers(-RADIUS, RADIUS), min_size=4, max_size=4), cut=st.booleans())
@settings(derandomize=True, deadline=None, max_examples=300)
def test_scores_move_no_further_against_each_other_than_stated(total, move, cut):
    """Exactly, in 80-digit decimals: a move of length v spreads the scores by at most v times SHARES times sqrt 2."""
    selection = Residuals(BASIS, WEIGHTS, ERRORS, CUTS if cut else None)
    one, other = (
        selection.scores(np.array(x, dtype=np.int64), facts())
        for x in (total, [t + m for t, m in zip(total, move, strict=True)])
    )
    assert one.wholes == other.wholes
    with localcontext() as context:
        context.prec = 80
        length = Decimal(sum(m * m for m in move)).sqrt() * SHARES * (1 + Decimal(10) ** -70)
        moved = [Decimal(y).sqrt() - Decimal(x).sqrt() for x, y in zip(one.squares, other.squares, strict=True)]
        assert max(abs(x) for x in moved) <= length
        assert max(moved) - min(moved) <= length * Decimal(2).sqrt()


def test_the_spread_is_stated_for_two_radii_and_rounded_up():
    assert Fraction(Residuals.spread) ** 2 >= 8 * (RADIUS * SHARES) ** 2
    assert Residuals.spread == pytest.approx(math.sqrt(8) * RADIUS * SHARES, rel=1e-15)


def test_the_spread_is_attained_where_two_settings_keep_different_functions():
    selection = Residuals(cosine((0, 1), 2), np.eye(2), np.zeros(2))
    far = RADIUS * N // 2
    step = int(RADIUS * math.sqrt(2))
    before, after = (selection.scores(np.array([far + x, far - x]), facts()) for x in (0, step))
    moved = [math.isqrt(y) - math.isqrt(x) for x, y in zip(before.squares, after.squares, strict=True)]
    assert max(moved) - min(moved) == pytest.approx(selection.spread, rel=1e-6)


def test_wild_thresholds_and_errors_stay_finite():
    selection = Residuals(BASIS, np.zeros((1, 4)), np.array([1e30]), np.full((1, 4), 1e300))
    scores = selection.scores(np.full(4, RADIUS * N // 2), facts())
    assert scores.squares == ((RADIUS * N * SHARES) ** 2,)
    assert scores.wholes == (2**40 * N * SHARES,)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((BASIS, WEIGHTS[:, :3], ERRORS), r"got weights of shape \(4, 3\), 4 errors and 4 functions\."),
        ((BASIS, WEIGHTS, ERRORS[:2]), r"got weights of shape \(4, 4\), 2 errors"),
        ((BASIS, WEIGHTS + 0.1, ERRORS), r"weights between 0 and 1 for each of its functions"),
        ((BASIS, WEIGHTS * np.nan, ERRORS), r"weights between 0 and 1 for each of its functions"),
        ((BASIS, WEIGHTS, ERRORS, -CUTS), r"thresholds of 0 or more"),
        ((BASIS, WEIGHTS, ERRORS, CUTS[:2]), r"thresholds of 0 or more"),
        ((bernstein((0, 1), 4), WEIGHTS, ERRORS), r"Settings need an orthonormal basis"),
        ((BASIS, WEIGHTS, -ERRORS), r"^The error of a setting must be finite, 0 or more, got \["),
        ((BASIS, WEIGHTS, ERRORS * np.nan), r"^The error of a setting must be finite, 0 or more, got \["),
    ],
    ids=["shape", "errors", "above one", "no numbers", "negative cuts", "few cuts", "basis", "negative", "nan"],
)
def test_settings_that_are_none_are_refused(arguments, text):
    with pytest.raises(UsageError, match=text):
        Residuals(*arguments)


# Settings as estimators ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["iclp-qr", "iclp-ar", "gp"])
def test_the_choice_is_near_the_best_penalty(mechanism):
    """The stated accuracy fails with probability below 0.05; with this seed it never does by chance."""
    candidates = penalised(mechanism, delta=1e-3 if mechanism == "gp" else 0.0)
    curves = as_curves(sample(), grid=GRID, units=None)
    plans = [candidate.plan_for(curves) for candidate in candidates]
    selection = residuals(plans)
    mean = selection.basis.coordinates(sample().mean(axis=0), GRID)
    left = np.minimum((1 - selection.weights) * np.abs(mean), selection.thresholds)
    errors = np.linalg.norm(left, axis=1) + selection.errors
    choice = private_choice(
        sample(), epsilon=1.0, candidates=candidates, grid=GRID, randomness=SeededRandomness(1), force=True
    )
    assert errors[choice.index] <= errors.min() + math.log(5 / 0.05) * math.sqrt(8) * 2.0 / N
    assert errors.max() > 5 * errors.min()
    assert choice.estimator is candidates[choice.index]
    assert choice.estimator.fit(sample(), grid=GRID).release_.certificate.epsilon == 1.0


def test_smaller_bases_leave_out_the_rest():
    plans = [candidate.plan(N, grid_size=WIDTH) for candidate in sized(2, 8, 4)]
    selection = residuals(plans)
    assert selection.basis.size == 8
    assert selection.weights.tolist() == [[1.0] * 2 + [0.0] * 6, [1.0] * 8, [1.0] * 4 + [0.0] * 4]
    assert selection.errors.tolist() == [plan.noise_rms for plan in plans]


@pytest.mark.audit
def test_the_choice_has_the_law_of_the_exponential_mechanism():
    """Chi-square at level 1e-6 on 500 choices; the seed is fixed."""
    candidates, table, source = sized(1, 2, 4, 8), sample(40), SeededRandomness(2)
    epsilon = 0.6
    drawn = [
        private_choice(table, epsilon=epsilon, candidates=candidates, grid=GRID, randomness=source, force=True).index
        for _ in range(500)
    ]
    selection = residuals([candidate.plan(40, grid_size=WIDTH) for candidate in candidates])
    mean = selection.basis.coordinates(table.mean(axis=0), GRID)
    errors = np.linalg.norm((1 - selection.weights) * mean, axis=1) + selection.errors
    law = np.exp(-epsilon * errors * 40 / (math.sqrt(8) * 2.0))
    assert chisquare(np.bincount(drawn, minlength=4), 500 * law / law.sum()).pvalue > 1e-6
    assert law.min() > 0.05 * law.max()


def test_the_result_is_frozen_and_says_what_it_cost():
    ledger = SessionLedger()
    choice = private_choice(
        sample(),
        epsilon=0.5,
        candidates=sized(2, 4),
        grid=GRID,
        units=range(N),
        dataset="scans",
        ledger=ledger,
        force=True,
    )
    assert [(entry.dataset, entry.what, entry.budget) for entry in ledger.entries] == [
        ("scans", "choice among settings", Budget(0.5, 0.0))
    ]
    assert operator.index(choice) == choice.index
    with pytest.raises(FrozenInstanceError):
        choice.index = 1
    text = choice.text()
    for part in (
        "Card of a choice: choice among settings for 'scans'",
        "pure epsilon = 0.5; for composition 0.03126-zCDP",
        "exponential mechanism on 2 candidates, drawn exactly",
        f"choice         number {choice.index} of 0 to 1",
        "settings       2, stated by the user, on 4 functions",
        "bound          2, on the root mean square",
        "the error is at most 0.0209 above that of the best setting",
        "charged before reading",
    ):
        assert part in text


def test_a_seeded_choice_is_repeated_and_stamped():
    arguments = {"epsilon": 0.01, "candidates": penalised(), "grid": GRID}
    one, same = (private_choice(sample(), randomness=SeededRandomness(3), **arguments, force=True) for _ in range(2))
    assert one.index == same.index
    assert "NOT PRIVATE" in one.text()


# The order of things -------------------------------------------------------------------------------------------------


class Watched:
    """A source that notes every question about its records, and fails where it is told to."""

    width = WIDTH

    def __init__(self, events, fail=None):
        self.events, self.fail = events, fail

    def rows(self):
        self.events.append("rows")
        return 5

    def identity(self):
        return None

    def batches(self, rows):
        self.events.append("batches")
        if self.fail is not None:
            raise self.fail
        yield np.full((5, WIDTH), 123456.789)


class Clerk:
    def __init__(self, events):
        self.events = events

    def charge(self, entry):
        self.events.append("charge")

    def store(self, receipt, output):
        self.events.append("store")

    def burn(self, receipt):
        self.events.append("burn")


def watched(events, fail=None, **changes):
    arguments = {"epsilon": 1.0, "candidates": sized(2, 4), "ledger": Clerk(events)}
    return private_choice(Curves(Watched(events, fail), None, None), **{**arguments, **changes}, force=True)


def test_the_charge_comes_before_the_records():
    events = []
    watched(events)
    assert set(events[: events.index("charge")]) == {"rows"}
    assert events.count("charge") == 1
    assert "batches" in events[events.index("charge") :]


def test_a_failure_among_the_records_is_one_constant_error_and_the_charge_stays():
    events = []
    with pytest.raises(ReleaseFailed, match=r"^The release failed after records were read\.") as caught:
        watched(events, ValueError("123456.789"))
    assert caught.value.__context__ is None
    assert "charge" in events


OTHER = dpfda.MeanFunction(epsilon=1.0, delta=0.0, bound=2.0, mechanism="k-norm", basis="legendre", size=3)
NEAREST = dpfda.MeanFunction(epsilon=1.0, delta=0.0, bound=2.0, mechanism=DictionaryDraw(candidates=[np.sin]))
ADDED = dpfda.MeanFunction(epsilon=1.0, delta=0.0, bound=2.0, neighbours=ADD_REMOVE, planned_n=5)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"epsilon": -1.0}, "epsilon must be a positive finite number, got -1.0"),
        ({"candidates": []}, r"^candidates must be a list of estimators, .* got \[\]\."),
        ({"candidates": [1, 2]}, r"^candidates must be a list of estimators, .* got \[1, 2\]\."),
        ({"candidates": 3}, r"^candidates must be a list of estimators, .* got 3\."),
        ({"candidates": [*sized(2), *sized(2, bound=3.0)]}, r"^All candidates must have the same bound or limits"),
        ({"candidates": [*sized(2), *sized(2, centre=3.0)]}, r"and the same centre\.$"),
        ({"candidates": [*sized(2), *sized(2, bound=None, limits=(-2, 2))]}, r"^All candidates must have the same"),
        (
            {"candidates": [*sized(2), OTHER]},
            r"differ in weights alone; 'frl' \(mercer\) does not go with 'k-norm' \(legendre\)\.$",
        ),
        ({"candidates": [*sized(2), *sized(2, kernel=Matern(0.5, 0.2))]}, r"one family and kernel"),
        (
            {"candidates": [NEAREST]},
            r"^All candidates must add noise on an orthonormal basis .*'dictionary' \(.*\) does not go with",
        ),
        ({"candidates": [ADDED]}, r"^A private choice needs neighbours='replace-one', .* got 'add-or-remove-one'\."),
        ({"randomness": 7}, "randomness must be None or a source"),
        ({"reading": 4}, "reading must be None or an object such as"),
    ],
    ids=[
        "epsilon",
        "none",
        "numbers",
        "a number",
        "bounds",
        "centres",
        "limits",
        "families",
        "kernels",
        "a dictionary",
        "relation",
        "randomness",
        "reading",
    ],
)
def test_mistakes_are_refused_before_the_charge(changes, text):
    events = []
    with pytest.raises(UsageError, match=text):
        watched(events, **changes)
    assert not {"charge", "batches"} & set(events)


def test_the_curator_refuses_what_a_choice_cannot_be():
    selection = Residuals(BASIS, WEIGHTS, ERRORS)
    curves, public = as_curves(np.zeros((5, WIDTH)), grid=GRID, units=None), facts(5)
    with refused(UsageError, "delta"):
        Curator(curves, public, dataset="scans").choose(selection, budget=Budget(1.0, 1e-6))
    private = replace(public, n=None, unit=Unit("row", ADD_REMOVE))
    with refused(UsageError, "delta"):
        Curator(curves, private, dataset="scans").choose(selection, budget=Budget(1.0, 0.0))
    for n in (0, 2**38 + 1):
        with pytest.raises(DataError, match=rf"^A choice needs between 1 and 2\^38 rows, got {n}\.$"):
            Curator(curves, replace(public, n=n), dataset="scans").choose(selection, budget=Budget(1.0, 0.0))

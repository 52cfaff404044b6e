"""The neighbour contract of densities: no unit moves what is handed to the mechanism further than is stated.

For every named mechanism, both neighbour relations, an interval, a box and stated edges; people lie inside, in the
margin of a line, and so far outside that they are only counted. The moves are integers, roots
are taken with 60 decimals, and nothing is allowed for rounding.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from dpfda.bases import as_domain
from dpfda.bases.lattice import Lattice
from dpfda.curator.summary import Public
from dpfda.errors import UsageError
from dpfda.mechanisms.noise import Noise
from dpfda.privacy import ADD_REMOVE, REPLACE, Budget, Counting, Unit
from dpfda.privacy.norms import L1, L2, BlockNorm
from dpfda.records.labelled import as_points
from dpfda.records.reading import Reading
from dpfda.statistics.density.features import integer_table
from dpfda.statistics.density.plan import DensityRequest, plan_density
from dpfda.statistics.density.summary import Density

N = 40
PLACES = {
    "line": {"domain": as_domain((0.0, 10.0))},
    "line to its edge": {"domain": as_domain((0.0, 10.0)), "outside": "edge"},
    "box": {"domain": as_domain([(0.0, 10.0), (-1.0, 1.0)])},
    "edges": {"domain": as_domain((0.0, 10.0)), "edges": [0, 1, 5, 10]},
}
MECHANISMS = ["auto", "gaussian", "laplace", "k-norm", "gp", "sobolev", "iclp-qr", "frl", "bernstein"]
CASES = [
    (place, mechanism, neighbours)
    for place in PLACES
    for mechanism in MECHANISMS
    for neighbours in (REPLACE, ADD_REMOVE)
    if place != "edges" or mechanism in ("auto", "gaussian", "laplace", "k-norm")
]


def planned(place, mechanism, neighbours):
    delta = 1e-6 if mechanism in ("gaussian", "gp", "sobolev") else 0.0
    wishes = {"bandwidth": 1.0} if mechanism in ("gp", "sobolev", "iclp-qr", "frl", "bernstein") else {}
    if place == "box" and mechanism != "bernstein":
        wishes["size"] = 36
    return plan_density(
        DensityRequest(
            n=N, budget=Budget(1.0, delta), neighbours=neighbours, mechanism=mechanism, **PLACES[place], **wishes
        )
    )


def facts(plan, n=N):
    unit = Unit("person", plan.request.neighbours)
    dimension = plan.cells.domain.dimension
    return Public(
        unit=unit,
        n=n if unit.size_is_public else None,
        counting=Counting.STATED,
        planned=N,
        grid=np.empty((0, dimension)),
        centre=np.empty(0),
        cap=1.0,
        lattice=Lattice(1.0),
        count_weight=0,
        covariates=dimension,
    )


def gathered(plan, people):
    """What is handed to the mechanism, in Python's own integers; people are lists of points."""
    dimension = plan.cells.domain.dimension
    rows = [(who, point) for who, points in enumerate(people) for point in points]
    table = np.array([point for _, point in rows], dtype=float).reshape(len(rows), dimension)
    curves = as_points(table, dimension, units=[who for who, _ in rows])
    public = facts(plan, len(people))
    return [
        int(x)
        for x in Density(plan.features, counted=False).gather(curves, public, plan.basis, Reading(progress=False))
    ]


def norm_of(norm, vector):
    """At least 50 exact decimals of a norm of integers."""
    with localcontext() as context:
        context.prec = 60
        if isinstance(norm, L1):
            return Decimal(sum(abs(x) for x in vector))
        if isinstance(norm, L2):
            return Decimal(sum(x * x for x in vector)).sqrt()
        assert isinstance(norm, BlockNorm)
        ends = [0, *np.cumsum(norm.sizes).tolist()]
        return sum(
            Decimal(weight) * Decimal(sum(x * x for x in vector[start:end])).sqrt()
            for weight, (start, end) in zip(norm.weights, pairwise(ends), strict=True)
        )


def bound(plan):
    (stated,) = Density(plan.features, counted=False).bounds(facts(plan), plan.basis)
    return stated


def corners(plan):
    """People far apart: all over the box, ends and corners among them, little and far outside."""
    lows, highs = np.array(plan.cells.domain.sides).T
    units = (
        np.array(np.meshgrid(*[np.linspace(0, 1, 9 if len(lows) == 1 else 5)] * len(lows), indexing="ij"))
        .reshape(len(lows), -1)
        .T
    )
    inside = lows + units * (highs - lows)
    near = np.array([[0.01], [0.3], [0.9]]) * np.ones(len(lows))  # an eighth of a side is heard, with a bandwidth of 1
    return np.concatenate([inside, highs + near, lows - near, [lows - 1e9, np.full(len(lows), np.inf)]])


@pytest.mark.parametrize(("place", "mechanism", "neighbours"), CASES)
def test_the_worst_people_nearly_reach_the_stated_bound_and_never_pass_it(place, mechanism, neighbours):
    plan = planned(place, mechanism, neighbours)
    others, stated = [[point] for point in corners(plan)[: N - 1]], bound(plan)
    rest = gathered(plan, others)
    alone = [[x - y for x, y in zip(gathered(plan, [*others, [point]]), rest, strict=True)] for point in corners(plan)]
    if neighbours == REPLACE:
        moves = [[x - y for x, y in zip(one, two, strict=True)] for one in alone for two in alone]
    else:
        moves = alone
    # In doubles first, and the ten longest exactly.
    moves.sort(key=lambda move: -stated.norm(move))
    largest = max(norm_of(stated.norm, move) for move in moves[:10])
    assert largest <= Decimal(stated.value)
    assert largest >= Decimal(stated.value) * Decimal("0.9")


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace", "gp"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_person_whatever_moves_the_sum_further(mechanism, neighbours, data):
    """Several points each, missing and infinite coordinates, points on edges, others of all kinds."""
    plan = planned("line", mechanism, neighbours)
    number = st.one_of(
        st.sampled_from([0.0, 10.0, 5.0, -np.inf, np.inf, np.nan, 1e308, 10 / 64]), st.floats(-9, 19, width=32)
    )
    person = st.lists(st.tuples(number), min_size=1, max_size=5)
    others = data.draw(st.lists(person, min_size=0, max_size=4))
    one, two = data.draw(person), data.draw(person)
    first = gathered(plan, [*others, one])
    second = gathered(plan, [*others, two] if neighbours == REPLACE else others or [[]])
    if neighbours == ADD_REMOVE and not others:
        second = [0] * len(first)
    stated = bound(plan)
    assert norm_of(stated.norm, [x - y for x, y in zip(first, second, strict=True)]) <= Decimal(stated.value)


def test_the_published_bound_is_taken_where_it_is_larger():
    request = planned("line", "gp", REPLACE).request
    published = plan_density(
        DensityRequest(
            **{name: getattr(request, name) for name in ("n", "budget", "domain", "neighbours", "mechanism")},
            calibration="published",
        )
    )
    (stated,) = Density(published.features, counted=False).bounds(facts(published), published.basis)
    assert stated.value == published.features.least
    assert "the published bound is taken" in stated.because
    assert published.noise_rms > planned("line", "gp", REPLACE).noise_rms * 0.2


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize("place", PLACES)
def test_without_noise_the_coordinates_of_a_density_come_back(place, neighbours):
    """Probabilities of the steps, from exact sums; a hundred people at known places."""
    plan = planned(place, "laplace", neighbours)
    lows, highs = np.array(plan.cells.domain.sides).T
    people = [[tuple(lows + (highs - lows) * share)] for share in (0.03, 0.03, 0.6, 0.97)] * 25
    sums = np.array(gathered(plan, people), dtype=np.int64)
    law = Noise("radial", (1,) * len(sums), (1.0,) * len(sums))
    decoded = plan.features.decode(sums, law, facts(plan, 100).n)
    assert (decoded.count is None) == (neighbours == REPLACE)
    if decoded.count is not None:
        assert decoded.count.value == pytest.approx(100, rel=1e-6)
    values = plan.basis.evaluate(decoded.noisy, [people[0][0], people[2][0]])
    whole = plan.basis.integrals(lows, highs) @ decoded.noisy / np.prod(highs - lows)
    assert whole == pytest.approx(1.0, abs=1e-5)
    assert values[0] == pytest.approx(2 * values[1], rel=1e-4) or place == "edges"


def test_features_that_cannot_be_a_table_are_refused():
    for features in (np.zeros(3), np.full((2, 2), np.nan), np.ones((2, 5000))):
        with pytest.raises(UsageError, match="A density has 1 to 4096 features of each cell, got an array"):
            integer_table(features)


def test_a_radial_block_is_decoded_with_one_weight():
    law = Noise("radial", (2, 1), (1.0, 3.0))
    assert law.weighted(np.array([2.0, 2.0, 5.0])).scales == (2.0, 15.0)
    with refused(UsageError, "weights", 2):
        law.weighted(np.array([2.0, 3.0, 5.0]))

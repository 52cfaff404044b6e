"""What one record adds to all answers ever given is never longer than its section: in any order, at any distance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from setting import ORDERS, Silence, Watched, law_for, sections_for

from dpfda.kernels import Matern
from dpfda.online.markov import TINY, MarkovEngine
from dpfda.online.specification import FINE, OWN_ERROR

# Points around a record at distances over many orders of magnitude, on both sides, and far away.
offsets = st.one_of(
    st.tuples(st.floats(-32, 2), st.sampled_from([-1.0, 1.0])).map(lambda pair: pair[1] * 10.0 ** pair[0]),
    st.just(0.0),
)


def check_values(engine: Watched, order: float, places: list[float]) -> None:
    """Without noise the answers are the record's section, however close the points have come."""
    exact = Matern(order, rho=0.3)([0.0], places)[0]
    np.testing.assert_allclose([engine.value((place,)) for place in places], exact, rtol=0, atol=1e-9)


def allowed(engine: Watched) -> float:
    """The squared length that `calibrated` makes room for: the relative error, and half a step in each coordinate."""
    return (1 + OWN_ERROR + 0.5 * np.sqrt(len(engine.seen)) / FINE) ** 2


@pytest.mark.parametrize("order", ORDERS)
@given(places=st.lists(offsets, min_size=1, max_size=60, unique=True))
@example(places=[1e-9 * k for k in range(-8, 9)])
@example(places=[0.5**k for k in range(40)] + [-(0.5**k) for k in range(40)])
@settings(max_examples=60, deadline=None)
def test_no_order_of_questions_gets_more_of_a_record_than_its_section(order, places):
    engine = Watched(order, 0.0)
    for place in places:
        engine._add(place)
    assert engine.length <= allowed(engine)
    check_values(engine, order, places)


@pytest.mark.parametrize("order", ORDERS)
@given(places=st.lists(offsets, min_size=20, max_size=80, unique=True), first=st.integers(0, 19))
@settings(max_examples=40, deadline=None)
def test_nor_do_batches(order, places, first):
    engine = Watched(order, 0.0)
    for place in places[:first]:
        engine._add(place)
    engine._add_many(np.sort(np.array(places[first:])))
    assert engine.length <= allowed(engine)
    check_values(engine, order, places)


@pytest.mark.parametrize("order", ORDERS)
def test_a_point_at_the_record_takes_all_of_it_and_leaves_nothing(order):
    """Then the bound is reached: what is tested above is not true for want of anything to add."""
    engine = Watched(order, 0.25)
    for place in (0.0, 1.0, 0.2500001, 0.2499999, 0.25, 0.25 + 1e-9, 0.25 - 1e-12):
        engine._add(place)
    assert engine.length == pytest.approx(1.0, rel=1e-11)


@pytest.mark.parametrize("order", ORDERS)
def test_a_record_outside_the_gap_adds_exactly_nothing(order):
    engine = Watched(order, 0.25)
    engine.extend(np.array([[0.5], [0.9]]))
    before = len(engine.seen)
    engine.extend(np.array([[0.6], [0.7]]))
    assert len(engine.seen) == before


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("way", ["one by one", "at once", "both"])
def test_without_noise_answers_are_the_function_itself(order, way):
    """Whitening and its inverse cancel; to the lattice, whose step is 4e-12 deviations of the noise."""
    kernel = Matern(order, rho=0.2)
    law, sections = law_for(kernel), sections_for(kernel)
    engine = MarkovEngine(law, sections, Silence())
    points = np.random.default_rng(3).permutation(np.linspace(0, 1, 301))[:, None]
    split = {"one by one": 301, "at once": 0, "both": 120}[way]
    for point in points[:split]:
        engine.extend(point[None, :])
    if split < 301:
        engine.extend(points[split:])
    found = np.array([engine.value((point,)) for point in points[:, 0].tolist()])
    exact = kernel(points, sections.points) @ sections.masses * sections.weight
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-10)


def test_a_point_that_doubles_cannot_tell_from_its_neighbour_gets_its_answer():
    kernel = Matern(2.5, rho=1.0)
    for at_once in (False, True):
        engine = MarkovEngine(law_for(kernel), sections_for(kernel), Silence())
        engine.extend(np.array([[0.0], [0.5]]))
        points = np.array([[TINY / 10], [5e-324]])
        if at_once:
            engine._add_many(np.sort(points[:, 0]))
        else:
            engine.extend(points)
        assert {engine.value((point,)) for point in (0.0, TINY / 10, 5e-324)} == {engine.value((0.0,))}

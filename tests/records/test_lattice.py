"""Clipped columns lie inside the public ball in exact arithmetic, whatever the others are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusals import refused

from dpfda.bases.lattice import MOST_UNITS, RADIUS, Lattice, squared_norms
from dpfda.errors import UsageError

LATTICE = Lattice(1.0)
SIZES = st.integers(1, 30)


def square(column):
    """The squared norm in Python's own integers; fails if an entry is not whole."""
    assert all(float(x).is_integer() for x in column)
    return sum(int(x) ** 2 for x in column)


@given(vectors=arrays(np.float64, st.tuples(SIZES, st.integers(1, 6)), elements=st.floats(-1e100, 1e100)))
def test_every_column_lies_in_the_ball_and_is_rounded_towards_zero(vectors):
    clipped = LATTICE.clip(vectors)
    for before, after in zip(vectors.T, clipped.T, strict=True):
        assert square(after) <= RADIUS**2
        assert (np.abs(after) <= np.abs(before)).all()
        assert (after * before >= 0).all()


@given(
    direction=arrays(np.float64, SIZES, elements=st.floats(-1, 1)).filter(lambda v: np.linalg.norm(v) > 1e-3),
    beyond=st.sampled_from([0.0, 1e-16, 1e-15, 1e-13, 1e-12, 1e-11, 1e-9, 1e-6, 1e-3, 1.0, 1e6]),
    sign=st.sampled_from([-1, 1]),
)
def test_columns_just_inside_and_just_outside_the_radius_stay_in_the_ball(direction, beyond, sign):
    length = RADIUS * max(0.0, 1 + sign * beyond)
    vector = direction / np.linalg.norm(direction) * length
    for column in (vector, np.rint(vector), np.ceil(np.abs(vector)), np.rint(vector * 16) / 16):
        after = LATTICE.clip(column[:, None])[:, 0]
        assert square(after) <= RADIUS**2
        # Little is lost: clipping to the sphere, and less than a step (and a shade) in each coordinate.
        inside = column * min(1.0, RADIUS / max(np.linalg.norm(column), 1e-9))
        assert (np.abs(inside - after) < 1 + 1e-4).all()


@given(arrays(np.float64, st.tuples(SIZES, st.just(3)), elements=st.floats(-RADIUS / 8, RADIUS / 8)))
def test_columns_well_inside_change_by_less_than_a_step(vectors):
    assert np.array_equal(LATTICE.clip(vectors), np.trunc(vectors))


@given(arrays(np.float64, st.tuples(SIZES, st.integers(2, 6)), elements=st.floats(-1e12, 1e12)), st.data())
def test_a_column_does_not_depend_on_its_batch(vectors, data):
    order = data.draw(st.permutations(range(vectors.shape[1])))
    whole = LATTICE.clip(np.asfortranarray(vectors[:, order]))
    for place, which in enumerate(order):
        assert np.array_equal(whole[:, place], LATTICE.clip(vectors[:, which : which + 1])[:, 0])


def test_a_column_that_is_not_a_number_counts_as_empty_rather_than_spoil_the_sum():
    vectors = np.array([[1.0, np.nan, 5.0], [2.0, 3.0, 6.0]])
    assert LATTICE.clip(vectors).tolist() == [[1.0, 0.0, 5.0], [2.0, 0.0, 6.0]]


def test_as_many_units_as_are_allowed_cannot_overflow_64_bits():
    assert MOST_UNITS * RADIUS < 2**63
    assert RADIUS**2 < 2**53


def test_squared_norms_of_whole_vectors_are_exact():
    rng = np.random.default_rng(3)
    vectors = np.rint(rng.normal(size=(500, 4)) * RADIUS / 23)
    assert [int(x) for x in squared_norms(vectors)] == [square(column) for column in vectors.T]


@pytest.mark.parametrize("bound", [0, -1.0, np.nan, np.inf, "1", None, [1.0], 10**400])
def test_a_bound_that_is_no_positive_number_is_refused(bound):
    with refused(UsageError, "bound", bound) as caught:
        Lattice(bound)
    assert repr(bound)[:20] in str(caught.value)


@pytest.mark.parametrize("bound", [1e-101, 1e101, 1e300])
def test_a_bound_whose_square_would_leave_the_doubles_is_refused(bound):
    with refused(UsageError, "bound", bound):
        Lattice(bound)

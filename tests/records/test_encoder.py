"""A record's vector depends on that record alone, bit for bit, and every partial sum of its projection is exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from dpfda import bases
from dpfda.bases.lattice import FRACTIONS, Lattice
from dpfda.records import Encoder, smallest_cap
from dpfda.records.memory import ArraySource

WIDTH = 9
ANYTHING = st.floats(width=64) | st.sampled_from([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -5e-324, -0.0, 0.0])


def encoder(grid, *, size=4, bound=1.0, centre=0.0, cap=None, basis=None):
    basis = bases.cosine((0, 1), size) if basis is None else basis
    cap = smallest_cap(bound, len(grid)) if cap is None else cap
    return Encoder.build(basis.projection(grid), grid, np.broadcast_to(centre, grid.shape) + 0.0, cap, Lattice(bound))


REGULAR = encoder(np.linspace(0, 1, WIDTH))
UNSORTED = encoder(np.array([0.5, 0.0, 0.9, 0.1, 0.11, 1.0, 0.3, 0.8, 0.2]), centre=np.linspace(-3, 3, WIDTH))


def interpolated(coder, row):
    """Straight lines through the record's own capped values, written with numpy's interpolation."""
    row = row if coder.order is None else row[coder.order]
    low, high = coder.centre - coder.cap, coder.centre + coder.cap
    known = np.isfinite(row)
    if not known.any():
        return coder.centre
    lines = np.interp(coder.grid, coder.grid[known], np.clip(row, low, high)[known])
    return np.clip(lines, low, high)


# Each record by itself.


@pytest.mark.parametrize("coder", [REGULAR, UNSORTED], ids=["regular", "unsorted"])
@given(rows=arrays(np.float64, st.tuples(st.integers(1, 12), st.just(WIDTH)), elements=ANYTHING), data=st.data())
def test_a_record_has_the_same_vector_alone_and_anywhere_in_any_batch(coder, rows, data):
    order = data.draw(st.permutations(range(len(rows))))
    alone = [coder.encode(row[None, :]) for row in rows]
    for batch in (rows[order], np.asfortranarray(rows[order]), np.repeat(rows[order], 2, axis=0)[::2]):
        vectors, present = coder.encode(batch)
        for place, which in enumerate(order):
            assert np.array_equal(vectors[:, place], alone[which][0][:, 0])
            assert present[place] == alone[which][1][0]


@given(arrays(np.float32, (5, WIDTH), elements=st.floats(width=32)))
def test_single_precision_and_object_records_have_the_vectors_of_their_double_values(rows):
    expected, _ = REGULAR.encode(rows.astype(np.float64))
    for table in (rows, rows.astype(object), np.asfortranarray(rows), [list(map(float, row)) for row in rows]):
        (batch,) = ArraySource(np.asarray(table), None).batches(10)
        assert np.array_equal(REGULAR.encode(batch)[0], expected)


@given(arrays(np.int64, (5, WIDTH)))
def test_whole_numbers_have_the_vectors_of_their_double_values(rows):
    expected, _ = REGULAR.encode(rows.astype(np.float64))
    for table in (rows, rows.astype(object), rows.astype(str)):
        (batch,) = ArraySource(table, None).batches(10)
        assert np.array_equal(REGULAR.encode(batch)[0], expected)


@given(rows=arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=WIDTH), elements=ANYTHING))
def test_no_record_whatever_gives_a_warning_or_anything_but_a_finite_whole_vector(rows):
    # Warnings are errors in this project, and numpy is told to raise as well.
    table = np.full((len(rows), WIDTH), np.nan)
    table[:, : rows.shape[1]] = rows
    with np.errstate(all="raise"):
        vectors, present = UNSORTED.encode(table)
    assert np.isfinite(vectors).all()
    assert np.array_equal(vectors, np.rint(vectors))
    assert np.array_equal(present, np.isfinite(table).any(axis=1))


def test_signalling_nans_and_long_doubles_beyond_range_are_missing_without_a_warning():
    signalling = np.array([[0x7FF0000000000001] * WIDTH], dtype=np.uint64).view(np.float64)
    assert not REGULAR.encode(signalling)[1].any()
    for table in (
        np.full((1, WIDTH), 0x7F800001, dtype=np.uint32).view(np.float32),
        np.full((1, WIDTH), np.longdouble("1e4000")),
        np.array(
            [[1 + 2j, np.complex128(1j), np.complex64(1j), np.ones(1), [1], {}, "x", None, 10**400]], dtype=object
        ),
    ):
        (batch,) = ArraySource(table, None).batches(1)
        assert not REGULAR.encode(batch)[1].any()


def test_a_cell_whose_conversion_fails_in_its_own_way_is_missing():
    class Rude:
        def __float__(self):
            raise RuntimeError("the value is 42")

    (batch,) = ArraySource(np.array([[Rude(), 1.0]], dtype=object), None).batches(1)
    assert np.isnan(batch[0, 0])
    assert batch[0, 1] == 1.0


# Exact arithmetic.


@pytest.mark.parametrize("size", [1, 3, 8])
@pytest.mark.parametrize("width", [1, 2, 7, 100, 5000])
def test_every_partial_sum_stays_below_two_to_53_for_the_worst_values(width, size):
    """Sums of absolute products bound the partial sums of every order; all in Python's own integers."""
    grid = np.linspace(0, 1, width) if width > 1 else np.array([0.4])
    rng = np.random.default_rng(width + size)
    for centre in (np.zeros(width), 3e17 * rng.normal(size=width), rng.normal(size=width)):
        coder = encoder(grid, size=size, centre=centre, cap=33.0)
        signs = np.sign(coder.weights)
        worst = np.concatenate([1e308 * signs, -1e308 * signs, np.where(signs > 0, 1e308, np.nan)])
        columns, _ = coder.repair(worst)
        scaled = np.rint((columns - coder.centre[:, None]) * (2.0**24 / coder.cap))
        whole = [[int(cell) for cell in row] for row in scaled.T]
        weights = [[int(cell) for cell in row] for row in coder.weights]
        vectors, _ = coder.encode(worst)
        for place, record in enumerate(whole):
            for axis, row in enumerate(weights):
                products = [w * v for w, v in zip(row, record, strict=True)]
                assert sum(map(abs, products)) < 2**53
                assert vectors[axis, place] == np.rint(float(sum(products)) * coder.factor)


def test_a_gap_under_a_bending_centre_is_capped_like_any_other_value():
    """A straight line between two values near the centre can lead far away from a centre that bends between them."""
    centre = np.array([0.0, 1e9, 0.0, 0.0])
    coder = encoder(np.linspace(0, 1, 4), size=2, centre=centre)
    columns, _ = coder.repair(np.array([[0.0, np.nan, 0.0, 0.0]]))
    assert columns[:, 0] == pytest.approx([0.0, 1e9 - coder.cap, 0.0, 0.0])


@pytest.mark.parametrize("family", ["beam", "cosine", "fourier", "legendre", "bspline", "bernstein", "reinsch"])
@pytest.mark.parametrize("width", [12, 100, 2000])
def test_vectors_agree_with_the_plain_projection_within_the_error_of_rounding(family, width):
    """Values are off by cap/2^25, weights by their largest row sum over 2^28, the result by 1/32 of a step."""
    grid, bound = np.linspace(0, 1, width), 2.5
    basis = bases.by_name(family, (0, 1), 8)
    matrix = basis.projection(grid)
    coder = encoder(grid, basis=basis, bound=bound, centre=1.0)
    values = 1.0 + np.random.default_rng(0).uniform(-bound, bound, (50, width))
    step = Lattice(bound).step
    vectors, _ = coder.encode(values)
    largest = np.abs(matrix).sum(axis=1).max()
    error = largest * (coder.cap / 2**25 + np.abs(values - 1).sum(axis=1).max() / 2**28) + step / 32
    assert np.abs(vectors * step / FRACTIONS - matrix @ (values - 1).T).max() <= error * (1 + 1e-6)
    assert error < 3e-5 * bound


# Gaps.


@pytest.mark.parametrize("coder", [REGULAR, UNSORTED], ids=["regular", "unsorted"])
@given(row=arrays(np.float64, WIDTH, elements=ANYTHING | st.floats(-20, 20)))
@example(row=np.array([np.nan, 1.0] * 4 + [np.nan]))
def test_gaps_are_filled_by_straight_lines_inside_and_nearest_values_at_the_ends(coder, row):
    columns, present = coder.repair(row[None, :])
    assert columns[:, 0] == pytest.approx(interpolated(coder, row), rel=1e-12, abs=1e-12)
    assert present[0] == np.isfinite(row).any()


@settings(max_examples=50)
@given(
    grid=st.lists(st.floats(0, 1), min_size=2, max_size=8, unique=True).filter(
        lambda g: np.diff(sorted(g)).min() > 1e-6
    ),
    data=st.data(),
)
def test_gaps_are_filled_alike_on_any_irregular_and_unsorted_grid(grid, data):
    coder = encoder(np.array(grid), size=2)
    row = data.draw(arrays(np.float64, len(grid), elements=st.floats(-16, 16) | st.just(np.nan)))
    assert coder.repair(row[None, :])[0][:, 0] == pytest.approx(interpolated(coder, row), abs=1e-9)


def test_an_empty_curve_is_the_centre_and_one_point_a_constant():
    centre = np.array([1.0, 2.0, 4.0])
    coder = encoder(np.array([0.0, 0.5, 1.0]), size=2, centre=centre)
    rows = np.array([[np.nan] * 3, [np.inf, np.nan, -np.inf], [np.nan, 7.0, np.nan]])
    columns, present = coder.repair(rows)
    assert columns.T.tolist() == [[1.0, 2.0, 4.0], [1.0, 2.0, 4.0], [7.0, 7.0, 7.0]]
    assert present.tolist() == [0.0, 0.0, 1.0]
    assert not coder.encode(rows)[0][:, :2].any()


def test_repeated_grid_points_leave_no_division_by_zero():
    coder = encoder(np.array([0.0, 0.5, 0.5, 0.5, 1.0]), size=2)
    columns, _ = coder.repair(np.array([[0.0, 3.0, np.nan, 5.0, np.nan]]))
    assert columns[:, 0].tolist() == [0.0, 3.0, 3.0, 5.0, 5.0]


def test_values_are_moved_to_the_cap_point_by_point_and_infinities_are_gaps():
    coder = encoder(np.linspace(0, 1, 4), size=2, centre=np.array([0.0, 1.0, 2.0, 3.0]), cap=1.0)
    columns, _ = coder.repair(np.array([[1e308, -1e308, 2.25, 3.5], [np.inf, 1.5, 1.5, np.nan]]))
    assert columns.T.tolist() == [[1.0, 0.0, 2.25, 3.5], [1.0, 1.5, 1.5, 2.0]]


@pytest.mark.parametrize("width", [1, 10, 128, 129, 5000])
def test_the_cap_is_a_power_of_two_times_the_bound_that_no_curve_within_the_bound_needs(width):
    cap = smallest_cap(3.0, width) / 3.0
    assert np.log2(cap) == round(np.log2(cap))
    assert cap >= 16
    assert cap >= np.sqrt(2 * width)

"""Points, cells, and the mass of units in them: exact, and each unit by itself."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from dpfda.bases import Domain
from dpfda.bases.cells import cells_between, equal_cells, fine_cells
from dpfda.errors import DataError, UsageError
from dpfda.records.labelled import as_points
from dpfda.records.points import MASS, cell_masses, count_units, whole_counts
from dpfda.records.reading import Reading

LINE = Domain(((0.0, 1.0),))
BOX = Domain(((0.0, 1.0), (-2.0, 2.0)))


def masses(data, cells, *, units=None, counts=None, unknown=True, **reading):
    curves = as_points(data, cells.domain.dimension, units=units, counts=counts)
    return cell_masses(curves, cells, counted=counts is not None, all_counted=unknown, reading=Reading(**reading))


def test_every_point_falls_into_the_cell_around_its_middle():
    cells = equal_cells(BOX, (4, 8))
    assert cells.index(cells.centres).tolist() == list(range(32))


def test_points_outside_the_box_fall_into_the_nearest_cell_and_ends_belong_to_the_last():
    cells = equal_cells(LINE, (4,))
    points = np.array([[-np.inf], [-1.0], [0.0], [0.25], [1.0], [1e300], [np.inf]])
    assert cells.index(points).tolist() == [0, 0, 0, 1, 3, 3, 3]


def test_unequal_cells_lie_between_their_edges_and_a_point_on_an_edge_above_it():
    cells = cells_between([0, 1, 5, 10])
    assert cells.domain == Domain(((0.0, 10.0),))
    assert cells.index(np.array([[0.0], [0.99], [1.0], [4.9], [5.0], [10.0], [70.0]])).tolist() == [0, 0, 1, 1, 2, 2, 2]
    assert cells.centres[:, 0].tolist() == [0.5, 3.0, 7.5]
    assert cells_between([[0, 1, 2], [0, 5, 6, 7]]).shape == (2, 3)


@pytest.mark.parametrize(
    "edges", [[], [1], [0, 0], [1, 0], [0, np.inf], "ab", [[0, 1], [1]], 3, range(5000), [[0, 1], None]], ids=str
)
def test_edges_that_make_no_cells_are_refused(edges):
    with refused(UsageError, "edges", edges):
        cells_between(edges)


def test_a_point_with_a_missing_coordinate_has_no_cell():
    assert equal_cells(BOX, (2, 2)).index(np.array([[0.1, np.nan], [np.nan, np.nan], [0.1, 0.0]])).tolist() == [
        -1,
        -1,
        1,
    ]


@pytest.mark.parametrize("sides", [1, 2, 3, 4, 5, 6])
def test_there_are_never_many_more_than_four_thousand_cells(sides):
    assert 1000 <= fine_cells(Domain(((0.0, 1.0),) * sides)).size <= 4096


def test_more_sides_than_six_are_refused():
    with refused(UsageError, "domain", 7):
        fine_cells(Domain(((0.0, 1.0),) * 7))


def test_rows_without_units_weigh_one_each_and_unreadable_ones_lie_in_the_middle():
    cells = equal_cells(LINE, (4,))
    assert (masses(np.array([0.1, 0.1, 0.9, np.nan]), cells) / MASS).tolist() == [2, 0, 1, 1]


def test_a_unit_spreads_one_mass_over_its_points_and_the_remainder_goes_to_the_lowest_cell():
    cells = equal_cells(LINE, (4,))
    found = masses([0.9, 0.3, 0.1], cells, units=["a", "a", "a"], unknown=False)
    assert found.tolist() == [MASS // 3 + MASS % 3, MASS // 3, 0, MASS // 3]
    assert found.sum() == MASS


def test_points_that_cannot_be_read_leave_their_unit_to_its_other_points():
    cells = equal_cells(LINE, (4,))
    assert (masses([0.1, "x", None, 0.9], cells, units=["a", "a", "b", "b"]) / MASS).tolist() == [1, 0, 1, 1]


def test_a_unit_without_any_readable_point_lies_in_the_middle():
    cells = equal_cells(LINE, (4,))
    assert (masses([0.1, None], cells, units=["a", "b"]) / MASS).tolist() == [1, 0, 2, 0]


@pytest.mark.parametrize(("unknown", "middle"), [(True, 1), (False, 0)], ids=["replaced", "added"])
def test_rows_of_nobody_count_as_one_unit_in_the_middle_only_where_units_are_replaced(unknown, middle):
    cells = equal_cells(LINE, (4,))
    found = masses([0.1, 0.9, 0.9], cells, units=["a", None, None], unknown=unknown)
    assert (found / MASS).tolist() == [1, 0, middle, 0]


def test_counts_stand_for_so_many_rows():
    cells = equal_cells(BOX, (4, 4))
    points = np.array([[0.1, -1.0], [0.9, 1.5], [0.5, 0.0]])
    counts = np.array([3, 0, 1_000_000_007])
    expanded = masses(np.repeat(points, [3, 0, 7], axis=0), cells)
    assert (masses(points, cells, counts=[3, 0, 7]) == expanded).all()
    assert masses(points, cells, counts=counts).sum() == MASS * (3 + 1_000_000_007)


def test_counts_that_make_no_sense_stand_for_nobody_and_fractions_are_rounded_down():
    assert whole_counts(np.array([1.9, np.nan, -3.0, 0.2])).tolist() == [1, 0, 0, 0]
    curves = as_points([0.1, 0.2, 0.3], 1, counts=["7", "many", 2.5])
    assert count_units(curves) == 9


def test_a_frame_may_name_the_columns_of_units_and_counts():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"age": [0.1, 0.9], "who": ["a", "a"], "deaths": [2, 3]})
    cells = equal_cells(LINE, (2,))
    assert (masses(frame[["age", "who"]], cells, units="who") / MASS).tolist() == [0.5, 1.5]
    assert (masses(frame[["age", "deaths"]], cells, counts="deaths") / MASS).tolist() == [2, 3]
    assert (masses(frame["age"], cells) / MASS).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("data", "keywords", "text"),
    [
        (np.zeros((3, 2)), {}, "A point has 1 coordinate.s., one for each side of the domain, got 2 column"),
        (np.zeros(3), {"units": [1, 2, 3], "counts": [1, 2, 3]}, "units and counts exclude each other"),
        (np.zeros(3), {"counts": np.ones((3, 1))}, "counts is one whole number for each row, got 2 dimension"),
        (np.zeros(3), {"counts": [1, 2]}, "Two tables that belong together must have the same number of rows"),
    ],
    ids=["two columns", "units and counts", "a matrix of counts", "too few counts"],
)
def test_points_that_do_not_fit_are_refused(data, keywords, text):
    with pytest.raises(UsageError, match=text):
        as_points(data, 1, **keywords)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(allow_nan=True, allow_infinity=True), st.integers(0, 4)), min_size=1, max_size=30),
    st.sampled_from([64, 70, 2**20]),
)
def test_the_mass_of_all_units_is_exact_whatever_the_batches(rows, batch):
    cells = equal_cells(LINE, (16,))
    data, ids = np.array([value for value, _ in rows]), [str(who) for _, who in rows]
    found = masses(np.repeat(data, 40), cells, units=np.repeat(ids, 40), batch_rows=batch, unknown=False)
    assert found.sum() == MASS * len(set(ids))
    alone = [
        masses(np.repeat(data, 40)[np.repeat(ids, 40) == who], cells, units=[who] * 40 * ids.count(who), unknown=False)
        for who in set(ids)
    ]
    assert (found == np.sum(alone, axis=0)).all()


@pytest.mark.parametrize("kind", ["pandas", "pyarrow", "polars"])
def test_counts_in_a_column_are_read_as_numbers_by_every_kind_of_table(kind):
    """A column of identifiers is read by codes, and counts must never be: one person would change every row."""
    columns = {"age": [0.5, 1.5, 2.5, 3.5], "deaths": [700, 700, 700, 9]}
    table = {
        "pandas": lambda: pytest.importorskip("pandas").DataFrame(columns),
        "pyarrow": lambda: pytest.importorskip("pyarrow").table(columns),
        "polars": lambda: pytest.importorskip("polars").DataFrame(columns),
    }[kind]()
    found = masses(table, equal_cells(Domain(((0.0, 4.0),)), (4,)), counts="deaths")
    assert (found / MASS).tolist() == [700, 700, 700, 9]


def test_a_column_of_counts_must_hold_numbers():
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(DataError, match=r"Column 'deaths' holds date32\[day\], not numbers"):
        as_points(pa.table({"age": [0.5], "deaths": pa.array([7], pa.date32())}), 1, counts="deaths")


@pytest.mark.parametrize(
    "one", [[0.3], "0.3", b"0.3", np.array(0.3), np.array([0.3]), 0.3, (0.3, 9.0)], ids=lambda one: repr(one)[:20]
)
@pytest.mark.parametrize("kind", [list, deque])
def test_one_row_of_a_list_is_read_by_itself_whatever_the_others_are(one, kind):
    assert (masses(kind([0.1, one, 0.9]), equal_cells(LINE, (4,))) / MASS).tolist() == [1, 1, 0, 1]


@pytest.mark.parametrize(
    "one", [1j, "x", None, [], {}, object()], ids=["complex", "word", "none", "list", "dict", "any"]
)
@pytest.mark.parametrize("kind", [list, deque])
def test_a_row_that_is_no_point_lies_in_the_middle_and_is_no_error(one, kind):
    assert (masses(kind([0.1, one, 0.9]), equal_cells(LINE, (4,))) / MASS).tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize("counts", [[1, [2]], deque([1, [2]]), [1, np.array([2, 3])], [1, "x"]], ids=repr)
def test_one_count_that_cannot_be_read_stands_for_nobody_and_is_no_error(counts):
    assert (masses([0.1, 0.9], equal_cells(LINE, (2,)), counts=counts) / MASS).tolist() == [1, 0]


def test_masked_counts_stand_for_nobody():
    counts = np.ma.array([5, 999], mask=[False, True])
    assert (masses([0.1, 0.9], equal_cells(LINE, (2,)), counts=counts) / MASS).tolist() == [5, 0]


def test_points_of_units_cannot_have_counts():
    curves = as_points([0.1, 0.9], 1, units=["a", "b"])
    with refused(UsageError, "units"):
        as_points(curves, 1, counts=[1, 2])


@pytest.mark.parametrize("count", [2.0**33, 1e300, np.inf])
def test_where_their_number_is_private_cells_are_full_before_sums_overflow(count):
    """An overflow would show one person; a full cell moves by at most one with each, as any other."""
    cells = equal_cells(LINE, (2,))
    full = masses(np.full(200, 0.1), cells, counts=np.full(200, count), unknown=False)
    assert full.tolist() == [MASS * (2**38 // 2), 0]
    assert masses([0.1, 0.9], cells, counts=[5, 7], unknown=False).tolist() == [5 * MASS, 7 * MASS]

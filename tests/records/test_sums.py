"""The sum over units is exact: the same 64-bit integers in any order, batch, thread, and from any container or file."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpfda import bases
from dpfda.bases.lattice import FRACTIONS, Lattice
from dpfda.privacy import ADD_REMOVE, REPLACE, Unit
from dpfda.records import Curves, Encoder, as_curves, exact_sum, from_frame, read_curves, smallest_cap
from dpfda.records import fold as sums
from dpfda.records.identity import Identity

WIDTH, SIZE = 11, 5
GRID = np.linspace(0, 1, WIDTH)
LATTICE = Lattice(1.0)
ENCODER = Encoder.build(
    bases.legendre((0, 1), SIZE).projection(GRID), GRID, np.zeros(WIDTH), smallest_cap(1.0, WIDTH), LATTICE
)


REPLACING, ADDING = Unit("unit", REPLACE), Unit("unit", ADD_REMOVE)


def total(curves, *, batch_rows=1000, workers=1, encode=ENCODER.encode):
    return exact_sum(
        curves, encode, LATTICE, units=curves.units, size=SIZE, batch_rows=batch_rows, workers=workers, progress=False
    ).tolist()


def by_hand(table, ids):
    """Person after person: the exact average of the vectors of rows that are not empty, clipped, added up."""
    result = [0] * SIZE
    for person in dict.fromkeys(ids):
        rows = [row for row, one in zip(table, ids, strict=True) if one == person]
        vectors = [[int(x) for x in ENCODER.encode(row[None, :])[0][:, 0]] for row in rows if np.isfinite(row).any()]
        if vectors:
            mean = [Fraction(sum(axis), len(vectors) * FRACTIONS) for axis in zip(*vectors, strict=True)]
            clipped = LATTICE.clip(np.array([[float(x)] for x in mean]))[:, 0]
            result = [a + int(b) for a, b in zip(result, clipped, strict=True)]
    return result


def example(rows=60, people=17, seed=1):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(rows, WIDTH)) * rng.choice([0.1, 1.0, 100.0], size=(rows, 1))
    table[rng.random(table.shape) < 0.1] = np.nan
    table[rng.random(rows) < 0.1] = np.nan
    table[3], table[5, 2] = 1e308, -np.inf
    return table, rng.integers(0, people, rows)


class Plain:
    """A source that leaves rows where they are, as files do."""

    def __init__(self, table, ids=None, empties=False):
        self.table, self.names, self.empties = table, ids, empties
        self.width, self.passes = table.shape[1], 0

    def rows(self):
        return len(self.table)

    def identity(self):
        return None if self.names is None else Identity.of(self.names)

    def batches(self, rows):
        self.passes += 1
        for start in range(0, len(self.table), rows):
            if self.empties:
                yield self.table[:0]
            yield self.table[start : start + rows]


def scattered(table, ids, **kwargs):
    return Curves(Plain(table, ids, **kwargs), None, "person")


# Any order, any batch, any thread, any number of passes.


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("batch_rows", [1, 2, 7, 1000])
def test_batches_and_threads_do_not_change_a_bit(batch_rows, workers):
    table, ids = example()
    expected = by_hand(table, ids)
    order = np.argsort(ids, kind="stable")
    options = {"batch_rows": batch_rows, "workers": workers}
    assert total(as_curves(table, grid=None, units=ids), **options) == expected
    assert total(scattered(table, ids), **options) == expected
    assert total(scattered(table[order], ids[order]), **options) == expected
    assert total(as_curves(table, grid=None, units=None), **options) == by_hand(table, range(len(table)))


@settings(max_examples=30)
@given(order=st.permutations(range(30)), batch_rows=st.integers(1, 31), renamed=st.permutations(range(6)))
def test_the_order_of_rows_and_the_names_of_people_do_not_change_a_bit(order, batch_rows, renamed):
    table, ids = example(30, 6)
    expected = by_hand(table, ids)
    names = [f"person {renamed[i]}" for i in ids]
    moved, names = table[order], np.array(names)[order]
    assert total(as_curves(moved, grid=None, units=names), batch_rows=batch_rows) == expected
    assert total(scattered(moved, names), batch_rows=batch_rows) == expected


@pytest.mark.parametrize("held", [1, SIZE, 3 * SIZE, 2**25])
def test_several_passes_over_scattered_people_give_the_sum_of_one(monkeypatch, held):
    table, ids = example()
    curves = scattered(table, ids)
    assert not curves.units.grouped
    monkeypatch.setattr(sums, "HELD", held)
    assert total(curves, batch_rows=7) == by_hand(table, ids)
    assert curves.source.passes == -(-curves.units.size // max(1, held // SIZE))


@pytest.mark.parametrize("ids", [None, [0, 0, 1, 1, 2, 2], [0, 1, 2, 0, 1, 2]])
def test_empty_batches_are_skipped(ids):
    table, _ = example(6)
    expected = by_hand(table, range(6) if ids is None else ids)
    assert total(scattered(table, ids, empties=True), batch_rows=2) == expected


def test_no_rows_at_all_sum_to_zero():
    for units in (None, np.empty(0, dtype=int), []):
        curves = as_curves(np.empty((0, WIDTH)), grid=None, units=units)
        assert total(curves) == [0] * SIZE
        assert curves.size_under(ADDING) == 0


@settings(max_examples=40)
@given(
    rows=arrays(np.float64, (8, WIDTH), elements=st.floats(width=64)),
    ids=st.lists(st.integers(0, 3), min_size=8, max_size=8),
    batch_rows=st.integers(1, 9),
)
def test_no_values_whatever_make_the_sum_depend_on_batches(rows, ids, batch_rows):
    assert total(scattered(rows, ids), batch_rows=batch_rows) == by_hand(rows, ids)


def test_vectors_beyond_the_exact_doubles_still_add_up_alike_in_any_order():
    """As doubles these sums would round, and where a batch ends would change a person's own vector."""
    rng = np.random.default_rng(0)
    huge = np.rint(rng.normal(size=(SIZE, 40)) * 2.0**51) + rng.integers(0, 2, (SIZE, 40))
    ids = np.repeat([0, 1], 20)

    def encode(values):
        return huge[:, values[:, 0].astype(int)] + 0.0, np.ones(len(values))

    rows = np.tile(np.arange(40.0)[:, None], (1, WIDTH))
    answers = set()
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(40)
        for batch_rows in (1, 3, 40):
            answers.add(tuple(total(scattered(rows[order], ids[order]), batch_rows=batch_rows, encode=encode)))
            grouped = np.concatenate([order[ids[order] == 0], order[ids[order] == 1]])
            answers.add(tuple(total(scattered(rows[grouped], ids[grouped]), batch_rows=batch_rows, encode=encode)))
    assert len(answers) == 1


# One meaning whatever the container.


def test_every_container_and_file_of_the_same_rows_gives_the_same_sum(tmp_path):
    table, ids = example(200, 40)
    table[~np.isfinite(table)] = np.nan
    names = [f"t{i}" for i in range(WIDTH)]
    people = [f"p{i}" for i in ids]
    frame = pd.DataFrame(table, columns=names)
    frame.insert(4, "who", people)
    arrow = pa.table({"who": people, **{name: pa.array(table[:, i], from_pandas=True) for i, name in enumerate(names)}})
    lines = [",".join(["who", *names])]
    for who, row in zip(people, table, strict=True):
        lines.append(",".join([who, *("" if np.isnan(x) else repr(float(x)) for x in row)]))
    (tmp_path / "c.csv").write_text("\n".join(lines))
    pq.write_table(arrow, tmp_path / "c.parquet", row_group_size=33)
    frame.to_csv(tmp_path / "quoted.csv", quoting=1, index=False)

    expected = by_hand(table, people)
    assert expected != [0] * SIZE
    every = {
        "array": as_curves(table, grid=None, units=people),
        "fortran": as_curves(np.asfortranarray(table), grid=None, units=np.array(people)),
        "list": as_curves(table.tolist(), grid=GRID, units=people),
        "ragged": as_curves(
            [[*row, 1.0] if i % 3 else row for i, row in enumerate(table.tolist())], grid=GRID, units=people
        ),
        "pandas": as_curves(frame, grid=None, units="who"),
        "pandas, units beside": as_curves(frame[names], grid=None, units=frame["who"]),
        "pandas, objects": as_curves(frame.astype(object), grid=None, units="who"),
        "pandas, nullable": as_curves(frame.convert_dtypes(), grid=None, units="who"),
        "polars": as_curves(pl.DataFrame(frame), grid=None, units="who"),
        "polars, nulls": as_curves(pl.from_arrow(arrow), grid=None, units="who"),
        "polars, units beside": as_curves(pl.from_arrow(arrow)[names], grid=None, units=pl.Series(people)),
        "arrow": as_curves(arrow, grid=None, units="who"),
        "arrow, pattern": from_frame(arrow, values="t*", unit="who", grid=GRID),
        "pandas, pattern": from_frame(frame, values="t*", unit="who", grid=GRID),
        "csv": read_curves(tmp_path / "c.csv", unit="who"),
        "quoted csv": read_curves(tmp_path / "quoted.csv", values="t*", unit="who", grid=GRID),
        "parquet": read_curves(str(tmp_path / "c.parquet"), values="t*", unit="who"),
        "fda": as_curves(FakeGrid(table), grid=None, units=people),
    }
    for name, curves in every.items():
        for options in ({}, {"batch_rows": 7}, {"batch_rows": 50, "workers": 2}):
            assert total(curves, **options) == expected, name
        assert curves.size_under(REPLACING) == len(set(people)) + 1, name
        assert curves.rows == 200, name


class FakeGrid:
    """What is read of a scikit-fda FDataGrid."""

    def __init__(self, table):
        self.data_matrix = table[:, :, None]
        self.grid_points = (GRID,)
        self.domain_range = ((0.0, 1.0),)


def test_a_surface_of_scikit_fda_is_read_along_its_grid_points():
    surface = FakeGrid(np.zeros((2, 3)))
    surface.data_matrix = np.arange(12.0).reshape(2, 2, 3, 1)
    surface.grid_points = (np.array([0.0, 1.0]), np.array([0.0, 0.5, 1.0]))
    curves = as_curves(surface, grid=None, units=None)
    assert curves.grid.tolist() == [[0, 0], [0, 0.5], [0, 1], [1, 0], [1, 0.5], [1, 1]]
    assert next(curves.batches(5)).tolist() == np.arange(12.0).reshape(2, 6).tolist()


# Persons.


def test_a_person_is_averaged_before_being_clipped_and_empty_rows_do_not_count():
    """Two opposite huge curves cancel; clipped one by one and taken alone they would not."""
    constant = np.ones((1, WIDTH))
    rows = np.concatenate([10 * constant, -10 * constant, np.full((3, WIDTH), np.nan), 0.5 * constant, 0.25 * constant])
    assert total(as_curves(rows[:2], grid=None, units=[7, 7])) == [0] * SIZE
    alone = total(as_curves(rows[5:6], grid=None, units=[7]))
    assert total(as_curves(rows[2:6], grid=None, units=[7] * 4)) == alone
    assert alone[0] == pytest.approx(LATTICE.bound / 2 / LATTICE.step, abs=2)
    pair = total(as_curves(rows[5:], grid=None, units=["a", "a"]))
    assert pair[0] == pytest.approx(0.375 / LATTICE.step, abs=2)


def test_a_person_with_only_empty_rows_counts_as_a_person_at_the_centre():
    rows = np.concatenate([np.full((2, WIDTH), np.nan), np.ones((1, WIDTH))])
    curves = as_curves(rows, grid=None, units=["x", "x", "y"])
    assert curves.size_under(REPLACING) == 3
    assert total(curves) == total(as_curves(rows[2:], grid=None, units=None))
